"""`1+1` there and back through a gateway, by the client Jupyter Server has for gateways: URL and TOKEN are arguments.

Says `ready`, then for each line on standard input the median of 20 round trips, in ms.
"""

import asyncio
import statistics
import sys
import time

import websocket
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.gateway.managers import GatewayKernelManager

ROUND_TRIPS = 20


async def main(url, token):
    GatewayClient.instance(url=url, auth_token=token)
    # It sends the token with requests alone.
    connect, headers = websocket.create_connection, {"Authorization": "token " + token}
    websocket.create_connection = lambda address, **options: connect(address, header=headers, **options)
    manager = GatewayKernelManager()
    await manager.start_kernel(kernel_name="python3")
    client = manager.client()
    await client.start_channels()
    await client.wait_for_ready()

    async def once():
        sent = client.execute("1+1")
        while (await client.get_shell_msg(timeout=30))["parent_header"].get("msg_id") != sent:
            pass
        idle = False
        while not idle:
            message = await client.get_iopub_msg(timeout=30)
            if message["parent_header"].get("msg_id") == sent:
                idle = message["content"].get("execution_state") == "idle"

    for _ in range(10):
        await once()
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        for _ in range(ROUND_TRIPS):
            begin = time.perf_counter()
            await once()
            times.append((time.perf_counter() - begin) * 1e3)
        print(statistics.median(times), flush=True)
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


asyncio.run(main(*sys.argv[1:]))
