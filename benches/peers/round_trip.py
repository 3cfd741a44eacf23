"""`1+1` there and back through a peer: `kernel` (ipykernel by jupyter_client) or `in-process` (IPython's own shell).

Says `ready`, then for each line on standard input the median of 20 round trips, in ms.
"""

import queue
import statistics
import subprocess
import sys
import time

ROUND_TRIPS = 20


def through_kernel():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
    # What it publishes before our subscription stands is lost.
    subscribed = False
    while not subscribed:
        client.execute("1+1")
        try:
            subscribed = bool(client.get_iopub_msg(timeout=1))
        except queue.Empty:
            pass

    def once():
        sent = client.execute("1+1")
        while client.get_shell_msg(timeout=30)["parent_header"].get("msg_id") != sent:
            pass
        idle = False
        while not idle:
            message = client.get_iopub_msg(timeout=30)
            if message["parent_header"].get("msg_id") == sent:
                idle = message["content"].get("execution_state") == "idle"

    return once


def in_process():
    import contextlib
    import io

    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()

    def once():
        with contextlib.redirect_stdout(io.StringIO()):
            result = shell.run_cell("1+1", store_history=True)
        assert result.result == 2

    return once


def main():
    once = {"kernel": through_kernel, "in-process": in_process}[sys.argv[1]]()
    for _ in range(10):
        once()
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        for _ in range(ROUND_TRIPS):
            begin = time.perf_counter()
            once()
            times.append((time.perf_counter() - begin) * 1e3)
        print(statistics.median(times), flush=True)


main()
