"""An app-server that plays a script of questions: `asks.py SCRIPT.json`.

Standard library only. The script is a list of turns, each a list of steps:
  {"ask": method, "params": {...}}     a request; its answer becomes a line of `answers.jsonl`
  {"call": tool, "arguments": {...}}   a tool call; likewise
  {"note": method, "params": {...}}    a notification
  {"text": "..."}                      a piece of the answer
  {"pieces": ["...", {"until": name}]} an answer, piece by piece; between them, waits for files
  {"until": name}                      waits for this file
Every turn ends with the text "turn over". An interrupt ends a turn at once.
"""
import json, os, queue, sys, threading, time

with open(sys.argv[1]) as file:
    TURNS = json.load(file)
out = sys.stdout.buffer
inbox = queue.Queue()


def say(message):
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


class Interrupted(Exception):
    pass


class Turn:
    def __init__(self, number):
        self.id = "U%d" % number
        self.names = {"threadId": "T", "turnId": self.id}

    def note(self, method, params):
        say({"method": method, "params": {**self.names, **params}})

    def text(self, text, item):
        self.note("item/agentMessage/delta", {"itemId": item, "delta": text})

    def ask(self, request, method, params):
        say({"id": request, "method": method, "params": {**self.names, **params}})
        while True:
            message = self.hear()
            if message.get("id") == request and "method" not in message:
                break
        with open("answers.jsonl", "a") as file:
            file.write(json.dumps(message.get("result", message.get("error"))) + "\n")
        if message.get("result", {}).get("decision") == "cancel":
            while True:
                self.hear()

    def hear(self):
        message = inbox.get()
        if message.get("method") == "turn/interrupt":
            say({"id": message["id"], "result": {}})
            raise Interrupted
        if "method" in message and message.get("id") is not None:
            say({"id": message["id"], "result": {}})
        return message

    def play(self, steps):
        for number, step in enumerate(steps):
            if "ask" in step:
                self.ask("q%s%d" % (self.id, number), step["ask"], step["params"])
            elif "call" in step:
                call = {"callId": "c%s%d" % (self.id, number), "tool": step["call"], "arguments": step["arguments"]}
                self.ask("q%s%d" % (self.id, number), "item/tool/call", call)
            elif "note" in step:
                self.note(step["note"], step["params"])
            elif "text" in step or "pieces" in step:
                item, pieces = "t%d" % number, step.get("pieces") or [step["text"]]
                for piece in pieces:
                    if isinstance(piece, dict):
                        self.play([piece])
                    else:
                        self.text(piece, item)
                pieces = [piece for piece in pieces if isinstance(piece, str)]
                self.note("item/completed", {"item": {"type": "agentMessage", "id": item, "text": "".join(pieces)}})
            elif "until" in step:
                while not os.path.exists(step["until"]):
                    time.sleep(0.01)

    def run(self, steps):
        status = "completed"
        try:
            self.play(steps)
            self.text("turn over", "m2")
            self.note("item/completed", {"item": {"type": "agentMessage", "id": "m2", "text": "turn over"}})
        except Interrupted:
            status = "interrupted"
        say(
            {
                "method": "turn/completed",
                "params": {"threadId": "T", "turn": {"id": self.id, "status": status, "error": None}},
            }
        )


def read():
    for line in sys.stdin.buffer:
        inbox.put(json.loads(line))
    os._exit(0)


threading.Thread(target=read, daemon=True).start()
count = 0
while True:
    message = inbox.get()
    method, request = message.get("method"), message.get("id")
    if method is None or request is None:
        continue
    if method == "account/read":
        say({"id": request, "result": {"account": None, "requiresOpenaiAuth": False}})
    elif method == "thread/start":
        say({"id": request, "result": {"thread": {"id": "T"}}})
    elif method == "turn/start":
        count += 1
        turn = Turn(count)
        say({"id": request, "result": {"turn": {"id": turn.id}}})
        turn.run(TURNS[count - 1] if count <= len(TURNS) else [])
    else:
        say({"id": request, "result": {}})
