"""Faults of `acp.py`: at its start, and as words of a prompt. Each function gets the module of the agent."""
import os, signal, sys, time

PERMISSION = "session/request_permission"


def quit_loudly(agent):
    sys.stderr.write("\x1b[31mwhy\x1b[0m\n" * 10_000)
    sys.stderr.flush()
    os._exit(9)


def mid_thought(agent):
    agent.update("agent_thought_chunk", content={"type": "text", "text": "hm"}, messageId="t")
    os._exit(3)


def mid_tool(agent):
    agent.update("tool_call", toolCallId="z", title="make", kind="execute", status="in_progress")
    os._exit(3)


def at_a_cancel(agent):
    agent.text("begun")
    try:
        agent.wait("never")
    except agent.Cancelled:
        os._exit(3)


def past_a_cancel(agent):
    agent.text("begun")
    while True:
        agent.text("more ")
        time.sleep(0.01)


def stop(agent):
    agent.text("begun")
    os.kill(os.getpid(), signal.SIGSTOP)


def keep_the_pipe(agent):
    agent.text("begun")
    if os.fork():
        os._exit(7)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)


def close_output(agent):
    agent.text("begun")
    agent.out.close()
    os.close(1)
    time.sleep(1000)


def updates(agent):
    for kind in ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update",
                 "plan", "available_commands_update", "current_mode_update", "session_info_update", "usage_update", 7]:
        for rest in [{}, {"content": 7}, {"content": [7]}, {"content": {"type": "text", "text": 7}},
                     {"content": {"type": "image", "data": "%%", "mimeType": "image/png"}},
                     {"entries": 7}, {"entries": [7, {"content": 7, "status": "x"}]},
                     {"toolCallId": 7}, {"toolCallId": "q", "status": "evaporated", "kind": 7, "title": 7},
                     {"toolCallId": "q", "content": [{"type": "diff"}, {"type": "terminal", "terminalId": "none"}]},
                     {"toolCallId": "q", "locations": 7, "rawInput": [7], "rawOutput": 7},
                     {"availableCommands": [7, {"name": 7}]}, {"currentModeId": 7}, {"title": 7}]:
            agent.update(kind, **rest)
    for params in [None, 7, [], {}, {"sessionId": 7}, {"sessionId": agent.state["session"]},
                   {"sessionId": agent.state["session"], "update": 7}]:
        agent.say({"method": "session/update", "params": params})


def permissions(agent):
    for params in [{}, {"toolCall": 7}, {"toolCall": {}, "options": 7}, {"toolCall": {}, "options": [7, {}]},
                   {"toolCall": {"toolCallId": "p"}, "options": [{"optionId": 7, "name": 7, "kind": "x"}]}]:
        agent.ask(PERMISSION, **params)


def files(agent):
    os.mkfifo("pipe")
    for path in [7, None, "", "relative", "/dev/zero", "/dev/stdin", os.path.abspath("pipe"), "/", "/proc/self/mem",
                 "/nul\0byte", "/" + "x" * 5000]:
        for line in [-1, 2**70, "x", None]:
            agent.ask("fs/read_text_file", path=path, line=line, limit=line)
        agent.ask("fs/write_text_file", path=path, content=7)


def terminals(agent):
    for params in [{}, {"command": 7}, {"command": ""}, {"command": "true", "args": 7, "env": 7, "cwd": 7},
                   {"command": "true", "cwd": "/nowhere"}, {"command": "/nowhere"}, {"command": "\0"},
                   {"command": "true", "outputByteLimit": -1}, {"command": "true", "env": [{"name": "=", "value": 7}]}]:
        made = agent.ask("terminal/create", **params)
        agent.ask("terminal/release", terminalId=made.get("terminalId", "none"))
    for method in ["output", "wait_for_exit", "kill", "release", "of_the_future"]:
        for terminal in ["none", 7, None]:
            agent.ask("terminal/" + method, terminalId=terminal)
    flood = agent.ask("terminal/create", command="yes", outputByteLimit=100).get("terminalId")
    for method in ["output", "kill", "kill", "wait_for_exit", "release", "release"]:
        agent.ask("terminal/" + method, terminalId=flood)


def elicitations(agent):
    for params in [{}, {"mode": 7}, {"mode": "form", "requestedSchema": 7},
                   {"mode": "url", "url": "file:///etc/passwd"},
                   {"mode": "form", "message": 7, "requestedSchema": {"type": "object", "properties": 7}}]:
        agent.ask("elicitation/create", **params)


def calls(agent):
    for number in range(2000):
        agent.update("tool_call", toolCallId="n%d" % number, title="look %d" % number, kind="read", status="completed")


def thoughts(agent):
    for _ in range(20_000):
        agent.update("agent_thought_chunk", content={"type": "text", "text": "hm "}, messageId="t")


def ids(agent):
    for odd in [None, True, [], 1.5, 2**70, -1, "", "x" * 1_000_000]:
        agent.say({"id": odd, "method": "from/the_future", "params": {}})
        agent.say({"id": odd, "result": {}})


def unasked(agent):
    for number in range(200):
        agent.say({"id": "u%d" % number, "method": PERMISSION, "params": {"sessionId": agent.state["session"],
            "toolCall": {"toolCallId": "c", "title": "x"}, "options": agent.options("allow_once", "reject_once")}})


def stderr_flood(agent):
    for _ in range(1000):
        os.write(2, b"\x1b[31mERROR\x1b[0m log line\n" * 400)


WORDS = {"quit-loudly": quit_loudly, "mid-thought": mid_thought, "mid-tool": mid_tool, "at-a-cancel": at_a_cancel,
         "past-a-cancel": past_a_cancel, "stop": stop, "keep-the-pipe": keep_the_pipe, "close-output": close_output,
         "updates": updates, "permissions": permissions, "files": files, "terminals": terminals,
         "elicitations": elicitations, "calls": calls, "thoughts": thoughts, "ids": ids, "unasked": unasked,
         "stderr-flood": stderr_flood}

# The result of session/prompt, when it is not as it should be.
ENDS = {"null-end": None, "number-end": 7, "list-end": [1], "odd-end": {"stopReason": "evaporated"},
        "empty-end": {}, "typed-end": {"stopReason": 7, "usage": "many"}}


def at_start(fault, method, mine, agent):
    """Plays a fault of the first start at a request; true when the request is answered by it."""
    what, _, at = fault.partition(" at ")
    if at != method:
        return False
    open("played", "w").close()
    if what == "exit":
        os._exit(3)
    elif what == "silence":
        time.sleep(1000)
    elif what == "error":
        agent.say({"id": mine, "error": "no"})
    elif what == "null":
        agent.say({"id": mine, "result": None})
    elif what == "number":
        agent.say({"id": mine, "result": {"protocolVersion": "one", "sessionId": 7, "authMethods": 7}})
    return True
