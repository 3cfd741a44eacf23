"""An app-server that answers at once, and tells a datagram socket when a turn, a delta or an end passes.

Argument: the socket's path; what follows (`app-server --listen stdio://`) is ignored. Speaks as much of the protocol
of Codex 0.169.0 as a client needs for a turn with one delta: `answerN.` for the Nth turn, counted from 0.
"""

import json
import socket
import sys

WATCHER = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
THREAD = "00000000-0000-7000-8000-000000000001"


def tell(name):
    WATCHER.sendto(name.encode(), sys.argv[1])


def send(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def notify(method, **params):
    send(method=method, params=params)


def thread():
    return {
        "id": THREAD, "sessionId": THREAD, "name": None, "preview": "", "ephemeral": True, "modelProvider": "mock",
        "createdAt": 1, "updatedAt": 1, "status": {"type": "idle"}, "path": None, "cwd": "/",
        "cliVersion": "0.169.0", "source": "appServer", "turns": [],
    }


def turn(number, status):
    return {"id": f"turn{number}", "items": [], "status": status, "error": None}


def play(number):
    whole = f"answer{number}."
    known = {"threadId": THREAD, "turnId": f"turn{number}"}
    item = {"type": "agentMessage", "id": f"item{number}", "text": ""}
    notify("turn/started", threadId=THREAD, turn=turn(number, "inProgress"))
    notify("item/started", item=item, **known)
    tell("delta")
    notify("item/agentMessage/delta", itemId=item["id"], delta=whole, **known)
    notify("item/completed", item={**item, "text": whole}, **known)
    tell("completed")
    notify("turn/completed", threadId=THREAD, turn=turn(number, "completed"))


def main():
    turns = 0
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if "id" not in request or method is None:
            continue
        if method == "turn/start":
            tell("turn/start")
        results = {
            "initialize": {
                "userAgent": "fake/0.169.0",
                "codexHome": "/",
                "platformFamily": "unix",
                "platformOs": "linux",
            },
            "account/read": {"account": None, "requiresOpenaiAuth": False},
            "thread/start": {
                "thread": thread(),
                "model": "mock",
                "modelProvider": "mock",
                "cwd": "/",
                "approvalPolicy": "never",
                "sandbox": {"type": "dangerFullAccess"},
                "reasoningEffort": "low",
            },
            "turn/start": {"turn": turn(turns, "inProgress")},
            "model/list": {"data": [], "nextCursor": None},
        }
        send(id=request["id"], result=results.get(method, {}))
        if method == "turn/start":
            play(turns)
            turns += 1


main()
