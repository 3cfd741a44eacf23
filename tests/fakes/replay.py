"""Plays the agent's side of a recorded session: `replay.py FILE [METHOD…]`.

A request of the recorded client is waited for (any request of that method, whatever its words), then what the agent
said next follows, with the ids of the running client in its answers. Answers of the client are waited for, too. The
recorded client's requests of these METHODs are left out, and what was said until its next one.
"""
import json, sys

ours = {}
waiting = []


def read():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def client(wanted):
    """Waits for what the recorded client said."""
    while True:
        for at, message in enumerate(waiting):
            same = message.get("method") == wanted.get("method")
            if same and (wanted.get("method") or message.get("id") == wanted.get("id")):
                if wanted.get("method") and "id" in wanted:
                    ours[json.dumps(wanted["id"])] = message["id"]
                return waiting.pop(at)
        waiting.append(read())


left_out = False
for line in open(sys.argv[1]):
    entry = json.loads(line)
    message = entry.get("message")
    if entry["direction"] == "client->agent":
        left_out = message.get("method") in sys.argv[2:]
    if left_out:
        continue
    if entry["direction"] == "client->agent":
        client(message)
    elif entry["direction"] == "agent->client":
        if "method" not in message:
            message["id"] = ours[json.dumps(message["id"])]
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
while True:
    read()
