"""An agent of the Agent Client Protocol (version 1) that answers at once, and tells a datagram socket of it.

Argument: the socket's path, which hears when a prompt, a chunk or an end passes. Says `answerN.` for the Nth prompt,
counted from 0.
"""

import json
import socket
import sys

WATCHER = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def tell(name):
    WATCHER.sendto(name.encode(), sys.argv[1])


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main():
    prompts = 0
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if "id" not in request or method is None:
            continue
        if method == "session/prompt":
            tell("session/prompt")
            chunk = {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": f"answer{prompts}."},
            }
            tell("delta")
            send(method="session/update", params={"sessionId": "s", "update": chunk})
            prompts += 1
            tell("completed")
        results = {
            "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
            "session/new": {"sessionId": "s"},
            "session/prompt": {"stopReason": "end_turn"},
        }
        send(id=request["id"], result=results.get(method, {}))


main()
