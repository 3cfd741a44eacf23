"""An MCP server that asks the user: its tool `survey` elicits what the file named first says, and answers what it got.

Standard library only; stdio, MCP 2025-06-18 as codex 0.169.0 speaks it.
"""
import json, sys

ELICITED = json.load(open(sys.argv[1]))


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


while True:
    message = read()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say(
            {
                "id": number,
                "result": {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "asker", "version": "1"},
                },
            }
        )
    elif method == "tools/list":
        say(
            {
                "id": number,
                "result": {
                    "tools": [
                        {
                            "name": "survey",
                            "description": "Asks the user",
                            "inputSchema": {"type": "object", "properties": {"why": {"type": "string"}}},
                            "annotations": {"readOnlyHint": False, "destructiveHint": True},
                        }
                    ]
                },
            }
        )
    elif method == "tools/call":
        say({"id": "ask", "method": "elicitation/create", "params": ELICITED})
        answer = read()
        while answer.get("id") != "ask" or "method" in answer:
            answer = read()
        say(
            {
                "id": number,
                "result": {"content": [{"type": "text", "text": "survey says " + json.dumps(answer.get("result"))}]},
            }
        )
    elif number is not None:
        say({"id": number, "error": {"code": -32601, "message": "unknown"}})
