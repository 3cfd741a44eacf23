"""The reference client at work: what it sees of a server, one line each.

Arguments: a mode, then the server's command line. `auto` and `legacy` work in a session without a terminal; `watch` and
`watch-legacy` wait for a new tool in a shell (the file `ready` says that they do) and call it.
"""

import asyncio
import os
import pathlib
import sys

from mcp import Client, StdioServerParameters


async def work(client):
    print("version", client.protocol_version)
    tools = await client.list_tools()
    print("tools", *[tool.name for tool in tools.tools])
    seen = await client.call_tool("pyrun", {"code": "6 * 7"})
    print("pyrun", seen.content[0].text, seen.is_error)
    told = []

    async def progress(so_far, total, message):
        told.append(message)

    cells = {"cells": [{"code": "x = 42\nx", "title": "keeps it"}]}
    ran = await client.call_tool("run_cells", cells, progress_callback=progress)
    print("run_cells", "42" in ran.content[0].text and told == ["In [1] keeps it"])
    print("kept", (await client.call_tool("pyrun", {"code": "x"})).content[0].text)
    try:
        await client.call_tool("no_such_tool", {})
    except Exception as refusal:
        print("unknown tool", "refused" if "no_such_tool" in str(refusal) else refusal)
    try:
        hanging = {"cells": [{"code": "while True: pass"}]}
        await asyncio.wait_for(client.call_tool("run_cells", hanging), 2)
    except TimeoutError:
        print("cancelled")
    print("after", (await client.call_tool("pyrun", {"code": "1 + 1"})).content[0].text)


async def call_new(client):
    tools = {tool.name for tool in (await client.list_tools()).tools}
    print("changed", *(tools - {"pyrun", "look_back", "run_cells", "read_output", "notebook", "load_skill"}))
    told = await client.call_tool("weather", {"city": "Rome"})
    print("weather", told.content[0].text)


async def main():
    mode, program, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ), cwd=os.getcwd())
    changed = asyncio.Event()

    async def hear(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            changed.set()

    legacy = mode in ("legacy", "watch-legacy")
    async with Client(server, mode="legacy" if legacy else "auto", message_handler=hear) as client:
        if mode in ("auto", "legacy"):
            return await work(client)
        await client.list_tools()
        ready = pathlib.Path("ready")
        if legacy:
            ready.touch()
            await asyncio.wait_for(changed.wait(), 50)
            return await call_new(client)
        async with client.listen(tools_list_changed=True) as events:
            ready.touch()
            async for _ in events:
                return await call_new(client)


asyncio.run(main())
