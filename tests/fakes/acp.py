"""An agent of the Agent Client Protocol (version 1).

`acp.py [FAULT]` does what the words of each prompt name (`think`, `plan`, `read`, `run`, `permission`, `slow`, …; any
other word it says), or plays one fault. Standard library only.
"""
import json, os, subprocess, sys, time

sys.dont_write_bytecode = True
import acp_faults

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
out, lines = sys.stdout.buffer, sys.stdin.buffer
LOG = os.environ.get("ACP_LOG")
state = {"id": 100, "session": None, "prompts": 0, "held": [], "authenticated": False, "mode": "code", "model": "small",
         "servers": []}


def say(message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    out.flush()


def read():
    if state["held"]:
        return state["held"].pop(0)
    line = lines.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    if LOG:
        with open(LOG, "a") as log:
            log.write(line.decode())
    return message


def update(what, **fields):
    params = {"sessionId": state["session"], "update": {"sessionUpdate": what, **fields}}
    say({"method": "session/update", "params": params})


def text(words, **fields):
    update("agent_message_chunk", content={"type": "text", "text": words}, **fields)


class Cancelled(Exception):
    pass


def ask(method, **params):
    """A request of ours; its answer."""
    state["id"] += 1
    mine = "r%d" % state["id"]
    say({"id": mine, "method": method, "params": {"sessionId": state["session"], **params}})
    return wait(mine)


def wait(mine):
    while True:
        message = read()
        if message.get("id") == mine and "method" not in message:
            return message.get("result", message.get("error"))
        if message.get("method") == "session/cancel":
            raise Cancelled
        state["held"].append(message)


def options(*kinds):
    return [{"optionId": "o-" + kind, "name": kind.replace("_", " "), "kind": kind} for kind in kinds]


MODES = {"currentModeId": "code", "availableModes": [{"id": "code", "name": "Code"}, {"id": "plan", "name": "Plan"}]}


MODELS = {"currentModelId": "small", "availableModels": [{"modelId": "small", "name": "Small"},
                                                        {"modelId": "large", "name": "Large"}]}


def call_mcp(server, tool, arguments):
    """A call of a tool of a server we were told of; the client hears of it from us, too."""
    ours = [each for each in state["servers"] if each["name"] == server][0]
    variables = {**os.environ, **{each["name"]: each["value"] for each in ours["env"]}}
    running = subprocess.Popen([ours["command"], *ours["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=variables)
    asked = []

    def send(**message):
        running.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        running.stdin.flush()

    def request(method, **params):
        asked.append(method)
        send(id=len(asked), method=method, params=params)
        while True:
            answer = json.loads(running.stdout.readline())
            if answer.get("method") == "elicitation/create":
                send(id=answer["id"], result={"action": "decline"})
            elif answer.get("id") == len(asked):
                return answer.get("result", answer.get("error"))

    request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "fake", "version": "1"})
    names = [each["name"] for each in request("tools/list")["tools"]]
    told = {"toolCallId": "m1", "title": "mcp__%s__%s" % (server, tool), "kind": "execute", "rawInput": arguments}
    update("tool_call", status="in_progress", **told)
    result = request("tools/call", name=tool, arguments=arguments)
    said = result["content"][0]["text"] if "content" in result else result["message"]
    block = {"type": "content", "content": {"type": "text", "text": said}}
    update("tool_call_update", toolCallId="m1", status="completed", content=[block])
    running.stdin.close()
    running.wait()
    return "%s of %s: %s " % (tool, " ".join(names), said)


def perform(blocks):
    words = " ".join(block.get("text", "<%s>" % block["type"]) for block in blocks)
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    # The conversation before it may be a text of its own, as may files that go with it.
    own = [text for text in texts if "<conversation-history>" not in text and not text.startswith("<file ")] or texts
    last = next((text for text in reversed(own) if "<user-request>" in text), own[0])
    request = last.split("<user-request>")[-1].split("</user-request>")[0]
    for word in request.split():
        if word in acp_faults.WORDS:
            acp_faults.WORDS[word](sys.modules[__name__])
        elif word in acp_faults.ENDS:
            return word
        elif word == "think":
            update("agent_thought_chunk", content={"type": "text", "text": "hm"}, messageId="t")
        elif word == "plan":
            for first in ["in_progress", "completed"]:
                update("plan", entries=[{"content": "look", "status": first}, {"content": "tell", "status": "pending"}])
                time.sleep(0.3)
        elif word == "read":
            text(json.dumps(ask("fs/read_text_file", path=os.path.abspath("a.txt"), line=2, limit=1)))
        elif word == "write":
            text(json.dumps(ask("fs/write_text_file", path=os.path.abspath("new/b.txt"), content="written\n")))
        elif word == "broken":
            text(json.dumps(ask("fs/write_text_file", path=os.path.abspath("n.ipynb"), content="{")))
        elif word == "elicit":
            schema = {"type": "object", "properties": {"colour": {"type": "string", "title": "Colour", "oneOf": [
                {"const": "Red", "title": "Red"}, {"const": "Blue", "title": "Blue"}]}}}
            text(json.dumps(ask("elicitation/create", mode="form", message="Which?", requestedSchema=schema)))
        elif word == "titled":
            update("tool_call", toolCallId="c9", title="Runs the tests", kind="execute", status="in_progress",
                   rawInput={"command": "pytest -q"})
            update("tool_call_update", toolCallId="c9", status="completed")
        elif word == "tool":
            update("tool_call", toolCallId="c10", title="Deploy", kind="other", status="in_progress")
            ask("session/request_permission", toolCall={"toolCallId": "c10"},
                options=options("allow_once", "reject_once"))
            update("tool_call_update", toolCallId="c10", status="failed")
        elif word == "outside":
            text(json.dumps(ask("fs/write_text_file", path="/tmp/outside-of-it.txt", content="x")))
        elif word == "peek":
            found = ask("fs/read_text_file", path=os.path.abspath(__file__))
            missing = ask("fs/read_text_file", path="/no/such/file")
            text("%s %s" % (found["content"].split()[0:2], missing["code"]))
        elif word == "permission":
            update("tool_call", toolCallId="c1", title="touch x", kind="execute", status="pending",
                   rawInput={"command": "touch x"})
            answer = ask("session/request_permission", toolCall={"toolCallId": "c1"},
                         options=options("allow_always", "allow_once", "reject_once"))
            chosen = answer["outcome"].get("optionId")
            status = "completed" if chosen and "allow" in chosen else "failed"
            update("tool_call_update", toolCallId="c1", status=status)
            text("chosen: %s" % chosen)
        elif word == "nothing":
            text(json.dumps(ask("session/request_permission", toolCall={"toolCallId": "c2"}, options=[])))
        elif word == "withdraw":
            state["id"] += 1
            mine = "r%d" % state["id"]
            say({"id": mine, "method": "session/request_permission", "params": {"sessionId": state["session"],
                "toolCall": {"toolCallId": "c3", "title": "no more"}, "options": options("allow_once")}})
            say({"method": "$/cancel_request", "params": {"requestId": mine}})
            text(json.dumps(wait(mine).get("code")))
        elif word == "run":
            made = ask("terminal/create", command="echo out; test -t 1 && echo tty; exit 3")
            if "terminalId" not in made:
                text(json.dumps(made))
                continue
            # What it shows may come before its call.
            time.sleep(0.1 if FAULT == "late calls" else 0)
            update("tool_call", toolCallId="c4", title="echo", kind="execute", status="in_progress",
                   content=[{"type": "terminal", "terminalId": made["terminalId"]}])
            status = ask("terminal/wait_for_exit", terminalId=made["terminalId"])
            shown = ask("terminal/output", terminalId=made["terminalId"])
            update("tool_call_update", toolCallId="c4", status="failed")
            ask("terminal/release", terminalId=made["terminalId"])
            gone = ask("terminal/output", terminalId=made["terminalId"])
            text("%s %r %s" % (status["exitCode"], shown["output"], gone["code"]))
        elif word == "edit":
            diff = [{"type": "diff", "path": "/p/a.py", "oldText": "1\n", "newText": "2\n"}]
            update("tool_call", toolCallId="c5", title="Edit a.py", kind="edit", status="in_progress", content=diff)
            update("tool_call_update", toolCallId="c5", status="completed")
        elif word == "long":
            block = {"type": "content", "content": {"type": "text", "text": "first <line>\n" + "x" * 600}}
            update("tool_call", toolCallId="c8", title="Look", kind="search", status="completed", content=[block])
        elif word == "picture":
            dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
            update("agent_message_chunk", content={"type": "image", "mimeType": "image/png", "data": dot})
        elif word == "later":
            update("of_the_future", x=1)
        elif word == "servers":
            text(json.dumps(state["servers"]))
        elif word.startswith("mcp:"):
            _, tool, arguments = word.split(":", 2)
            text(call_mcp("ipycodex", tool, json.loads(arguments)))
        elif word.startswith("server:"):
            _, server, tool = word.split(":")
            text(call_mcp(server, tool, {}))
        elif word == "slow":
            text("begun")
            wait("never")
        elif word == "deaf":
            text("begun")
            time.sleep(1000)
        elif word == "commands":
            update("available_commands_update", availableCommands=[{"name": "review", "description": "look over it"},
                                                                   {"name": "compact", "description": "shorten it"}])
        elif word == "mode":
            text(state["mode"])
        elif word == "model":
            text(state["model"])
        elif word == "blocks":
            text(json.dumps([block["type"] for block in blocks]))
        elif word == "all":
            text(words)
        elif word == "session":
            text(state["session"])
        elif word == "invented":
            say({"id": 999, "result": {"stopReason": "end_turn"}})
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "of another"}}
            say({"method": "session/update", "params": {"sessionId": "another", "update": chunk}})
            say({"id": "q", "method": "from/the_future", "params": {}})
            text(json.dumps(wait("q")["code"]))
        elif word == "loud":
            text("x" * 100_000)
        elif word == "big":
            text("x" * 100_000_000)
        elif word == "large":
            text("x" * 20_000_000)
        elif word == "noise":
            out.write(b"a log line\n\xff\xfe{]\n[1]\n")
            out.flush()
        elif word == "die":
            print("Traceback: why", file=sys.stderr)
            os._exit(3)
        elif word == "die-asking":
            say({"id": "p", "method": "session/request_permission", "params": {"sessionId": state["session"],
                "toolCall": {"toolCallId": "c6", "title": "x"}, "options": options("allow_once")}})
            time.sleep(0.2)
            os._exit(3)
        elif word == "fail":
            raise RuntimeError("the model is away")
        elif word == "limit":
            return "max_tokens"
        else:
            text(word + " ")
    return "end_turn"


def prompt(message):
    state["prompts"] += 1
    try:
        reason = perform(message["params"]["prompt"])
    except Cancelled:
        update("agent_message_chunk", content={"type": "text", "text": "late"})
        reason = "cancelled"
    except RuntimeError as error:
        error = {"code": -32603, "message": "Internal error", "data": {"details": str(error)}}
        return say({"id": message["id"], "error": error})
    if reason in acp_faults.ENDS:
        return say({"id": message["id"], "result": acp_faults.ENDS[reason]})
    usage = {"inputTokens": 10, "cachedReadTokens": 4, "outputTokens": 2, "thoughtTokens": 1, "totalTokens": 12}
    say({"id": message["id"], "result": {"stopReason": reason, "usage": usage}})
    update("session_info_update", title="A title")


def log_in():
    """Our other face: a login in a terminal, kept in the file named by ACP_LOGIN."""
    name = input("who are you? ")
    with open(os.environ["ACP_LOGIN"], "w") as login:
        login.write(name)
    sys.exit(0 if name else 3)


def main():
    if sys.argv[-1] == "--login":
        log_in()
    if FAULT == "terminal login":
        state["authenticated"] = os.path.exists(os.environ["ACP_LOGIN"])
    if FAULT == "gone at once" and not os.path.exists("played"):
        open("played", "w").close()
        sys.exit("\x1b[31mno home\x1b[0m")
    if FAULT == "silent":
        time.sleep(1000)
    while FAULT == "starts when told" and not os.path.exists("start"):
        time.sleep(0.02)
    if FAULT == "no key":
        node = "a.mjs:1\nthrow e\n^\n\nError: no key: set KEY\n    at a.mjs:1:7\n\nNode.js v20.20.2\n"
        sys.exit(sys.stderr.write(node) and 1)
    if FAULT == "stdout logs":
        print("starting up…", flush=True)
    while True:
        message = read()
        method, mine, params = message.get("method"), message.get("id"), message.get("params") or {}
        result = {}
        faulty = " at " in FAULT and not os.path.exists("played")
        if faulty and acp_faults.at_start(FAULT, method, mine, sys.modules[__name__]):
            continue
        if method == "initialize":
            if FAULT == "another version":
                params["protocolVersion"] = 2
            able = {"loadSession": True, "promptCapabilities": {"image": FAULT != "blind", "embeddedContext": True},
                    "sessionCapabilities": {"resume": {}, "list": {}, "close": {}}}
            if FAULT in ("forks", "forks not"):
                able["sessionCapabilities"]["fork"] = {}
            if FAULT == "bare":
                able = {}
            if FAULT == "load only":
                able = {"loadSession": True}
            tui = {"id": "tui", "name": "In the terminal", "type": "terminal", "args": ["--login"]}
            ways = {"login": [{"id": "key", "name": "A key"}], "terminal login": [tui]}
            result = {"protocolVersion": params["protocolVersion"], "agentCapabilities": able,
                      "authMethods": ways.get(FAULT, [])}
        elif method == "authenticate":
            state["authenticated"] = params["methodId"] == "key"
        elif method == "session/new":
            if "login" in FAULT and not state["authenticated"]:
                say({"id": mine, "error": {"code": -32000, "message": "Authentication required"}})
                continue
            if FAULT == "nonsense session":
                say({"id": mine, "result": [1]})
                continue
            say({"method": "_auth/status_update", "params": {"authStatus": 1}})
            state["servers"] = params["mcpServers"]
            state["session"] = "s%d-%d" % (os.getpid(), state["prompts"])
            result = {"sessionId": state["session"], "modes": MODES, "models": MODELS}
        elif method == "session/resume":
            state["servers"] = params["mcpServers"]
            state["session"] = params["sessionId"]
        elif method == "session/fork":
            if FAULT == "forks not":
                say({"id": mine, "error": {"code": -32002, "message": "no such session"}})
                continue
            state["session"] = "fork of " + params["sessionId"]
            result = {"sessionId": state["session"], "modes": MODES, "models": MODELS}
        elif method == "session/load":
            state["session"] = params["sessionId"]
            update("user_message_chunk", content={"type": "text", "text": "old"})
            text("old answer")
        elif method == "session/list":
            kept = {"sessionId": "s1", "cwd": params["cwd"], "title": "hello there", "updatedAt": "2026-11-21"}
            result = {"sessions": [kept]}
        elif method == "session/set_mode":
            state["mode"] = params["modeId"]
        elif method == "session/set_model":
            state["model"] = params["modelId"]
        elif method == "session/prompt":
            prompt(message)
            continue
        if mine is not None:
            say({"id": mine, "result": result})


main()
