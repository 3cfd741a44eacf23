"""An agent of the Agent Client Protocol (version 1): a thousand deltas a second, until it is cancelled."""

import json
import select
import sys
import time


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def stream():
    """Sends deltas until the client says anything: a cancellation."""
    begin = time.monotonic()
    number = 0
    while not select.select([sys.stdin], [], [], max(0, begin + number / 1000 - time.monotonic()))[0]:
        end = "\n\n" if number % 50 == 49 else " "
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "delta" + end}}
        send(method="session/update", params={"sessionId": "s", "update": chunk})
        number += 1


def main():
    results = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
        "session/new": {"sessionId": "s"},
        "session/prompt": {"stopReason": "cancelled"},
    }
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        if request["method"] == "session/prompt":
            stream()
        send(id=request["id"], result=results.get(request["method"], {}))


main()
