"""Further faults of `agent.py`: what its first turn does instead of an answer.

Each function gets the module of the agent; true when it has ended the turn itself, or none is to end.
"""
import json, os, signal, time

REASON, COMMAND = "item/reasoning/summaryTextDelta", "item/commandExecution/requestApproval"


def died(agent, how):
    agent.delta("par")
    how()


def mid_reasoning(agent):
    agent.note(REASON, itemId="r1", summaryIndex=0, delta="hm")
    os._exit(0)


def mid_command(agent):
    agent.note("item/started", item={"type": "commandExecution", "id": "e", "command": "make"})
    agent.note("item/commandExecution/outputDelta", itemId="e", delta="half")
    os._exit(5)


def keep_the_pipe(agent, talk):
    """The agent ends; a child of its own keeps its output open."""
    agent.delta("par")
    if os.fork():
        os._exit(7)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while talk:
        agent.raw(b"still here\n")
        time.sleep(0.001)
    agent.sleep_forever()


def loud(agent):
    os.write(2, b"\x1b[31mwhy\x1b[0m\xff\xfe\n" * 100_000)
    os._exit(255)


def after_the_answer(agent):
    call = agent.call
    call(3, "c1", tool="pyrun", arguments={"code": "1"})
    agent.answer_to(3)
    os._exit(0)


def on_interrupt(agent, act):
    agent.delta("par")
    while True:
        message = agent.read()
        if message.get("method") == "turn/interrupt":
            return act(message["id"])


def go_on(agent, mine):
    agent.say({"id": mine, "result": {}})
    while True:
        agent.delta("more ")
        time.sleep(0.01)


def refuse(agent, mine):
    agent.say({"id": mine, "error": {"code": -32600, "message": "no"}})
    agent.sleep_forever()


def stop_itself(agent):
    agent.delta("par")
    os.kill(os.getpid(), signal.SIGSTOP)


def become_cat(agent):
    agent.delta("par")
    os.execv("/bin/cat", ["cat"])


def given_up(agent):
    agent.delta("par")
    agent.note("error", error={"message": "gone"}, willRetry=False)
    agent.sleep_forever()


def end_then(agent, act):
    agent.fine()
    agent.completed()
    act()
    return True


def dead_input(agent):
    """Answers, and never reads again."""
    agent.fine()
    agent.completed()
    os.close(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    agent.sleep_forever()


def late_words(agent):
    agent.delta("late", "m2")
    agent.done("late", "m2")
    agent.note("error", error={"message": "late"}, willRetry=False)
    agent.completed("failed")


def late_question(agent):
    agent.ask("late", COMMAND, command="rm")
    agent.answer_to("late")


def twice(agent):
    agent.completed()
    agent.completed("failed")


def junk_flood(agent):
    for _ in range(200):
        agent.raw(b"log line with words\n" * 50_000)


def blank_flood(agent):
    for _ in range(100):
        agent.raw(b"\n" * 1_000_000)


def endless_line(agent):
    for _ in range(600):
        agent.raw(b"x" * 1_000_000)
    agent.raw(b"\n")


def messages(agent):
    for number in range(3000):
        agent.done("a", "n%d" % number)


def reasoning(agent):
    for _ in range(20_000):
        agent.note(REASON, itemId="r1", summaryIndex=0, delta="hm ")


def parts(agent):
    for number in range(3000):
        agent.note(REASON, itemId="r%d" % number, summaryIndex=number, delta="hm")


def output(agent):
    agent.note("item/started", item={"type": "commandExecution", "id": "e", "command": "make"})
    for _ in range(500):
        agent.note("item/commandExecution/outputDelta", itemId="e", delta="all the words\n" * 5000)
    agent.note("item/completed", item={"type": "commandExecution", "id": "e", "command": "make", "exitCode": 0,
        "aggregatedOutput": "all the words\n" * 100_000, "status": "completed"})


def plans(agent):
    for plan in [7, None, "x", [7], [None], [{"step": 7}], [{"step": "a", "status": "evaporated"}], [{"status": []}],
                 [{"step": "s%d" % number, "status": "pending"} for number in range(2000)], []]:
        agent.note("turn/plan/updated", plan=plan)


def warnings(agent):
    for number in range(2000):
        agent.say({"method": "warning", "params": {"threadId": "T", "message": "careful %d" % number}})
    for odd in [None, 7, [], {"message": None}, {"message": "\x1b[2J"}]:
        agent.say({"method": "configWarning", "params": odd})


def numbers(agent):
    for count in [-1, 2**70, 1.5, "many", 10**400]:
        agent.note("thread/tokenUsage/updated", tokenUsage={"total": {"inputTokens": count, "outputTokens": count,
            "totalTokens": count}, "last": {"inputTokens": count}, "modelContextWindow": count})
        agent.note("item/completed", item={"type": "commandExecution", "id": "e", "command": "x", "exitCode": count,
            "durationMs": count})
        agent.note(REASON, itemId="r", summaryIndex=count, delta="hm")
    agent.raw(b'{"method":"x","params":{"n":NaN,"m":1e999}}\n')


def ids(agent):
    for odd in [None, True, [], {}, 1.5, 2**70, -1, "", "x" * 1_000_000]:
        agent.say({"id": odd, "method": "item/future/ask", "params": {}})
        agent.say({"id": odd, "result": {}})


def two_outcomes(agent):
    agent.say({"id": agent.LAST, "result": {}, "error": {"code": 1, "message": "both"}})
    agent.say({"id": agent.LAST, "method": "item/future/ask", "result": {}})


def twin_keys(agent):
    agent.raw(b'{"method":"error","method":"x","params":{"threadId":"T"},"params":7}\n')


def encodings(agent):
    agent.raw(b"\xef\xbb\xbf" + json.dumps({"method": "x", "params": {}}).encode() + b"\n")
    agent.raw(json.dumps({"method": "turn/completed"}).encode("utf-16") + b"\n")
    agent.raw(b"\xff" * 100_000 + b"\n" + b"\0" * 100_000 + b"\n")


def tools(agent):
    for number, (tool, arguments) in enumerate([("no_such", {}), ("pyrun", [1]), ("pyrun", "1"), ("pyrun", 7),
            ("pyrun", {"code": 7}), ("pyrun", {}), ("run_cells", {"cells": 7}), ("run_cells", {"cells": [7, None]}),
            ("read_output", {"path": ["x"]}), ("load_skill", {"path": 7}), ("notebook", {"code": 1}), ("", {})]):
        agent.call("t%d" % number, "c%d" % number, tool=tool, arguments=arguments)
        agent.answer_to("t%d" % number)


def many_tools(agent):
    for number in range(200):
        agent.call("t%d" % number, "c%d" % number, tool="pyrun", arguments={"code": "1"})
    for number in range(200):
        agent.answer_to("t%d" % number)


def many_questions(agent):
    for number in range(300):
        agent.ask("q%d" % number, COMMAND, command="c%d" % number)


def colours(agent):
    agent.delta("\x1b[2J\x1b]0;title\x07\x9b31m\x1bP", "m0")
    agent.done("\x1b[2J\x1b]0;title\x07\x9b31m\x1bP", "m0")


def kinds(agent):
    for kind in ["commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch", "imageView", "plan",
                 "reasoning", "agentMessage", "contextCompaction", "userMessage", "", 7, None]:
        for rest in [{}, {"id": 7}, {"id": "k", "changes": 7, "action": 7, "summary": 7, "path": "/nowhere", "tool": 7},
                     {"id": "k", "status": 7, "text": 7, "result": 7, "error": 7, "arguments": "{", "server": None}]:
            agent.note("item/started", item={"type": kind, **rest})
            agent.note("item/completed", item={"type": kind, **rest})


def errors_out(agent):
    os.close(2)


def before(act):
    """The turn does this, and then answers as usual."""
    def play(agent):
        act(agent)
        agent.fine()
    return play


FAULTS = {
    "exit mid reasoning": mid_reasoning,
    "exit mid command": mid_command,
    "exit after a tool": after_the_answer,
    "exit with 255 and a loud end": loud,
    "abort mid word": lambda agent: died(agent, os.abort),
    "terminated mid word": lambda agent: died(agent, lambda: os.kill(os.getpid(), signal.SIGTERM)),
    "a child keeps the pipe": lambda agent: keep_the_pipe(agent, False),
    "a child keeps talking": lambda agent: keep_the_pipe(agent, True),
    "exit at the interrupt": lambda agent: on_interrupt(agent, lambda mine: os._exit(6)),
    "the interrupt is refused": lambda agent: on_interrupt(agent, lambda mine: refuse(agent, mine)),
    "the interrupt changes nothing": lambda agent: on_interrupt(agent, lambda mine: go_on(agent, mine)),
    "stopped mid word": stop_itself,
    "another program takes over": become_cat,
    "an error and no end": given_up,
    "exit at the end": lambda agent: end_then(agent, lambda: os._exit(0)),
    "killed after the end": lambda agent: end_then(agent, lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "input closed after the end": dead_input,
    "words after the end": lambda agent: end_then(agent, lambda: late_words(agent)),
    "a question after the end": lambda agent: end_then(agent, lambda: late_question(agent)),
    "the turn ends twice": lambda agent: end_then(agent, lambda: twice(agent)),
    "many questions and the end": before(many_questions),
    **{name: before(act) for name, act in {
        "200 MB of junk": junk_flood, "100 MB of blank lines": blank_flood, "a line of 600 MB": endless_line,
        "3,000 messages": messages, "20,000 thoughts": reasoning, "3,000 parts of thoughts": parts,
        "35 MB of a command": output, "plans of every shape": plans, "2,000 warnings": warnings,
        "numbers out of range": numbers, "ids of every type": ids, "both outcomes": two_outcomes,
        "keys twice": twin_keys, "other encodings": encodings, "tools of every shape": tools,
        "200 tools at once": many_tools, "control characters": colours, "items of every shape": kinds,
        "stderr closed": errors_out}.items()},
}
