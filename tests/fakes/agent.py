"""An app-server that misbehaves: `agent.py FAULT` plays one fault in its first turn of its first process, then behaves.

Standard library only. Speaks the subset of the protocol (0.169.0) that the client uses. The file `first` in the working
directory remembers that the fault was played.
"""
import json, os, signal, sys, threading, time

sys.dont_write_bytecode = True
from agent_faults import FAULTS

FAULT = sys.argv[1]
FIRST = not os.path.exists("first")
open("first", "w").close()
out = sys.stdout.buffer
lines = sys.stdin.buffer


def raw(data):
    out.write(data)
    out.flush()


def say(message):
    raw(json.dumps(message).encode() + b"\n")


def at(fault):
    return FIRST and FAULT == fault


def sleep_forever():
    while True:
        time.sleep(1000)


def read():
    line = lines.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


THREAD, TURN = "T", 0


def turn_id():
    return "U%d" % TURN


def note(method, **params):
    say({"method": method, "params": {"threadId": THREAD, "turnId": turn_id(), **params}})


def delta(text, item="m1"):
    note("item/agentMessage/delta", itemId=item, delta=text)


def done(text, item="m1"):
    note("item/completed", item={"type": "agentMessage", "id": item, "text": text})


def completed(status="completed", error=None):
    say({"method": "turn/completed",
        "params": {"threadId": THREAD, "turn": {"id": turn_id(), "status": status, "error": error}}})


def call(request_id, call_id, tool="weather", arguments=None):
    say({"method": "item/tool/call", "id": request_id, "params": {
        "threadId": THREAD, "turnId": turn_id(), "callId": call_id, "tool": tool, "arguments": arguments}})


def ask(request_id, method, **params):
    say({"id": request_id, "method": method,
        "params": {"threadId": THREAD, "turnId": turn_id(), "itemId": "i", **params}})


def answer_to(request_id):
    while True:
        message = read()
        if message.get("id") == request_id and "method" not in message:
            return message


def fine():
    delta("fi")
    delta("ne")
    done("fine")


def turn():
    """Plays the turn of the fault; true when it has ended the turn itself."""
    if FIRST and FAULT in FAULTS:
        return FAULTS[FAULT](sys.modules[__name__])
    if at("exit mid word"):
        delta("par")
        os._exit(0)
    elif at("exit mid tool"):
        call(0, "c1")
        os._exit(4)
    elif at("killed mid word"):
        delta("par")
        os.kill(os.getpid(), signal.SIGKILL)
    elif at("stdout closed"):
        delta("par")
        out.close()
        os.close(1)
        sleep_forever()
    elif at("deaf to interrupt"):
        delta("par")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sleep_forever()
    elif at("junk lines"):
        raw(b"\x1b]0;title\x07Last login: today\n\n   \n{}\n[]\n[1]\n7\n\"text\"\nnull\n{\"id\":1}\n"
            b"{\"id\":1.5,\"result\":1}\nnpm avertissement\n{\"method\":7}\n")
        fine()
    elif at("partial line then pause"):
        line = json.dumps({"method": "item/agentMessage/delta",
            "params": {"threadId": THREAD, "turnId": turn_id(), "itemId": "m1", "delta": "fine"}}).encode() + b"\n"
        for start in range(0, len(line), 40):
            raw(line[start:start + 40])
            time.sleep(0.05)
    elif at("byte by byte"):
        for byte in json.dumps({"method": "item/agentMessage/delta",
            "params": {"threadId": THREAD, "turnId": turn_id(), "itemId": "m1", "delta": "fine"}}).encode() + b"\n":
            raw(bytes([byte]))
    elif at("duplicate response"):
        for _ in range(3):
            say({"id": LAST, "result": {"thread": {"id": "other"}, "turn": {"id": "other"}}})
        say({"id": LAST, "error": {"code": 1, "message": "late"}})
        say({"id": 4711, "result": {}})
        say({"id": "4711", "error": None, "result": None})
        fine()
    elif at("duplicate request"):
        call(0, "c1")
        call(0, "c2")
        answer = answer_to(0)
        done(answer["result"]["contentItems"][0]["text"])
    elif at("unknown request"):
        say({"id": "x", "method": "item/future/ask", "params": {"threadId": THREAD, "turnId": turn_id()}})
        error = answer_to("x")["error"]
        done("fine" if error["code"] == -32601 else repr(error))
    elif at("request without params"):
        say({"id": 9, "method": "item/tool/call"})
        error = answer_to(9)["error"]
        done("fine" if error["code"] == -32602 else repr(error))
    elif at("request of another turn"):
        say({"id": 9, "method": "item/tool/call",
            "params": {"threadId": "else", "turnId": "U0", "callId": "c", "tool": "weather", "arguments": {}}})
        done("fine" if "error" in answer_to(9) else "bad")
    elif at("malformed approvals"):
        command, edit = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
        for method, params in [
            (command, {}), (command, {"command": None}), (command, {"command": ["rm"]}), (command, {"command": ""}),
            (edit, {}), (edit, {"itemId": "never told"}), (edit, {"itemId": 7}),
            ("item/permissions/requestApproval", {"permissions": {}}),
            ("item/permissions/requestApproval", {"permissions": 7}),
            ("item/tool/requestUserInput", {"questions": []}), ("item/tool/requestUserInput", {"questions": "none"}),
            ("mcpServer/elicitation/request", {}),
            ("mcpServer/elicitation/request", {"mode": "form", "requestedSchema": []}),
            ("mcpServer/elicitation/request", {"mode": "openai/userVerification"}),
        ]:
            ask("x", method, **params)
            if "error" not in answer_to("x"):
                done(method)
        fine()
    elif at("approvals under one id"):
        ask(0, "item/commandExecution/requestApproval", command="first")
        ask(0, "item/commandExecution/requestApproval", command="second")
        done(answer_to(0)["result"]["decision"])
    elif at("a question with unknown fields"):
        ask("q", "item/tool/requestUserInput", future=[1], questions=[
            {"id": "a", "question": "Why?", "options": None, "future": {}},
            {"id": "b", "options": [{"label": "x", "future": 1}]}])
        done(json.dumps(answer_to("q")["result"], sort_keys=True))
    elif at("a command of 1 MB"):
        ask(0, "item/commandExecution/requestApproval", command="x" * 1000000, cwd="/")
        done(answer_to(0)["result"]["decision"])
    elif at("bad text in a command"):
        params = (b'{"threadId":"T","turnId":"%s","itemId":"i","cwd":"/",'
            b'"command":"rm \\u0000\\ud83d\\u202e\xff\\u001b[2J\\n"}') % turn_id().encode()
        raw(b'{"id":0,"method":"item/commandExecution/requestApproval","params":' + params + b"}\n")
        done(answer_to(0)["result"]["decision"])
    elif at("a question is withdrawn"):
        for number in range(3):
            ask(number, "item/commandExecution/requestApproval", command="c%d" % number)
        for number in [1, 7, None, "x"]:
            say({"method": "serverRequest/resolved", "params": {"threadId": THREAD, "requestId": number}})
        delta("fi")
        decisions = [answer_to(0), answer_to(2)]
        done("fine")
    elif at("the turn ends with a question open"):
        ask(0, "item/commandExecution/requestApproval", command="c")
        fine()
    elif at("an exit with a question open"):
        ask(0, "item/commandExecution/requestApproval", command="c")
        os._exit(0)
    elif at("an elicitation that names no turn"):
        say({"id": 5, "method": "mcpServer/elicitation/request",
            "params": {"threadId": THREAD, "turnId": None, "serverName": "s",
            "mode": "form", "message": "m",
            "requestedSchema": {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}}})
        done(json.dumps(answer_to(5)["result"]["content"]))
    elif at("unknown notifications"):
        say({"method": "future/thing", "params": {"threadId": THREAD, "x": [1]}})
        say({"method": "future/other"})
        note("item/started", item={"type": "futureItem", "id": "f"})
        note("item/completed", item={"type": "futureItem", "id": "f", "text": 7})
        fine()
    elif at("wrong types"):
        note("item/agentMessage/delta", itemId="m1", delta=7)
        note("item/agentMessage/delta", itemId=[], delta={})
        note("item/started", item=None)
        note("item/started", item="m1")
        note("item/completed", item={"type": 7})
        note("item/completed", item={"type": "commandExecution", "id": 7, "exitCode": "none"})
        note("error", error="text", willRetry="yes")
        note("thread/tokenUsage/updated", tokenUsage="many")
        say({"method": "turn/started", "params": {"threadId": THREAD, "turn": 7}})
        say({"method": "item/agentMessage/delta", "params": [1, 2]})
        say({"method": "item/agentMessage/delta", "params": "text"})
        fine()
    elif at("null fields"):
        note("item/started", item={"type": "commandExecution", "id": "e", "command": None, "cwd": None})
        note("item/commandExecution/outputDelta", itemId=None, delta=None)
        note("item/completed",
            item={"type": "commandExecution", "id": "e", "command": "", "cwd": None, "aggregatedOutput": None,
                "exitCode": None, "status": None})
        note("item/completed", item={"type": "fileChange", "changes": None, "status": "completed"})
        note("item/completed", item={"type": "reasoning", "id": None, "summary": None})
        note("item/completed", item={"type": "webSearch", "query": None, "action": None})
        note("thread/tokenUsage/updated",
            tokenUsage={"total": None, "last": {"inputTokens": None}, "modelContextWindow": None})
        call("n", "c1", tool=None, arguments=None)
        answer_to("n")
        fine()
    elif at("64 MB line"):
        done("x" * (64 * 1024 * 1024))
    elif at("100,000 deltas"):
        chunk = b"".join(json.dumps({"method": "item/agentMessage/delta",
            "params": {"threadId": THREAD, "turnId": turn_id(), "itemId": "m1",
                "delta": "ab "}}).encode() + b"\n" for _ in range(1000))
        for _ in range(100):
            raw(chunk)
    elif at("invalid UTF-8"):
        raw(b'{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"%s","itemId":"m1",'
            b'"delta":"fi\xff\xc3ne"}}\n' % turn_id().encode())
    elif at("lone surrogate"):
        raw(b'{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"%s","itemId":"m1",'
            b'"delta":"fi\\ud83dne"}}\n' % turn_id().encode())
    elif at("NUL bytes"):
        raw(b"\0\0\0\n")
        fine()
    elif at("CRLF"):
        raw(b'{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"%s","itemId":"m1","delta":"fine"}'
            b'}\r\n' % turn_id().encode())
    elif at("deep nesting"):
        raw(b"[" * 1000000 + b"\n")
        raw(b'{"method":"x","params":' + b"[" * 1000 + b"]" * 1000 + b"}\n")
        fine()
    elif at("other turns end"):
        say({"method": "turn/completed",
            "params": {"threadId": "else", "turn": {"id": turn_id(), "status": "completed"}}})
        say({"method": "turn/completed", "params": {"threadId": THREAD, "turn": {"id": "U0", "status": "failed"}}})
        say({"method": "item/agentMessage/delta",
            "params": {"threadId": "else", "turnId": "V", "itemId": "m1", "delta": "foreign"}})
        fine()
    elif at("retry is progress"):
        note("error", error={"message": "Reconnecting... 1/5", "codexErrorInfo": None}, willRetry=True)
        fine()
    elif at("restarted text"):
        delta("hal", "m0")
        note("error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
        fine()
    elif at("not streamed"):
        done("fine")
    elif at("items never end"):
        note("item/started", item={"type": "commandExecution", "id": "e", "command": "x"})
        note("item/started", item={"type": "agentMessage", "id": "m0", "text": ""})
        fine()
    elif at("stderr flood"):
        for _ in range(1000):
            os.write(2, b"\x1b[31mERROR\x1b[0m log line\n" * 400)
        fine()
    elif at("failed without reason"):
        completed("failed")
        return True
    elif at("unknown status"):
        completed("evaporated")
        return True
    elif at("error info of another shape"):
        completed("failed", {"message": "a\nb\x1b[31m", "codexErrorInfo": {"future": 7}, "additionalDetails": None})
        return True
    elif at("end without id"):
        say({"method": "turn/completed", "params": {"turn": {"status": "completed"}}})
        say({"method": "turn/completed", "params": {"threadId": THREAD, "turn": {"id": "", "status": "failed"}}})
        fine()
    else:
        fine()
    return False


if at("exit before hello"):
    sys.stderr.write("\x1b[31mcannot find my home\x1b[0m\n\n")
    sys.exit(3)
if at("help text and exit"):
    raw(b"Usage: tool [OPTIONS]\n  --help\n")
    sys.exit(0)
if at("deaf"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep_forever()
LAST = None
while True:
    message = read()
    method, LAST = message.get("method"), message.get("id")
    if LAST is None:
        continue
    if method is None:
        continue
    if at("silent " + method):
        continue
    if at("exit at " + method):
        os._exit(0)
    if at("null result of " + method):
        say({"id": LAST, "result": None})
        FIRST = False
    elif at("error of " + method):
        say({"id": LAST, "error": "no"})
        FIRST = False
    elif at("number for id of " + method):
        say({"id": LAST, "result": {"thread": {"id": 7}, "turn": {"id": 7}}})
        FIRST = False
    elif method == "model/list" and FAULT == "models on pages":
        cursor = int(message["params"].get("cursor") or 0)
        model = {"model": "m%d" % cursor, "description": "a\nb", "hidden": cursor == 1, "isDefault": cursor == 0,
            "future": 1,
            "supportedReasoningEfforts": [{"reasoningEffort": "low"}, {"reasoningEffort": "high"}],
            "defaultReasoningEffort": "low"}
        say({"id": LAST, "result": {"data": [model], "nextCursor": str(cursor + 1) if cursor < 2 else None}})
    elif method == "model/list" and FAULT == "models without end":
        say({"id": LAST, "result": {"data": [], "nextCursor": "again"}})
    elif method == "account/rateLimits/read" and FAULT == "limits":
        say({"method": "account/rateLimits/updated",
            "params": {"rateLimits": {"limitId": "codex", "primary": {"usedPercent": 50, "windowDurationMins": 300}}}})
        say({"id": LAST,
            "result": {"rateLimits": {"limitId": "codex",
                "primary": {"usedPercent": 12, "windowDurationMins": 300, "resetsAt": 9}, "secondary": None}}})
    elif method == "account/read" and "limits" in FAULT.lower():
        say({"id": LAST,
            "result": {"account": {"type": "chatgpt", "email": "a@b", "planType": "plus"}, "requiresOpenaiAuth": True}})
    elif method == "account/read" and FAULT == "logged out":
        say({"id": LAST, "result": {"account": None, "requiresOpenaiAuth": True}})
    elif method == "account/read":
        say({"id": LAST, "result": {"account": None, "requiresOpenaiAuth": False}})
    elif method == "thread/start":
        THREAD = "T"
        say({"id": LAST, "result": {"thread": {"id": THREAD}}})
    elif method == "turn/start":
        TURN += 1
        if at("end before the answer"):
            FIRST = False
            fine()
            completed()
            say({"id": LAST, "result": {"turn": {"id": turn_id()}}})
            continue
        say({"id": LAST, "result": {"turn": {"id": turn_id()}}})
        ended = turn()
        FIRST = False
        if not ended:
            completed()
    else:
        say({"id": LAST, "result": {}})
