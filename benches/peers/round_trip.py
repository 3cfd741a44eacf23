"""`1+1` there and back through a peer: `kernel` (ipykernel by jupyter_client) or `in-process` (IPython's own shell).

Says `ready`, then for each line on standard input the median of 20 round trips, in ms. `cells N` runs it N times in
process and says nothing. `serve` says `ready`, then for each line the value of that cell in IPython; its history is in
memory, as ours is: the thread that writes it to a file would hold up the next cell.
"""

import os
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


def serve():
    import contextlib
    import io

    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    shell = InteractiveShell.instance(config=config)
    print("ready", flush=True)
    for line in sys.stdin:
        with contextlib.redirect_stdout(io.StringIO()):
            result = shell.run_cell(line.strip(), store_history=True)
        print(result.result, flush=True)


def run_cells(count):
    once = in_process()
    for _ in range(count):
        once()
    os._exit(0)


def main():
    if sys.argv[1] == "serve":
        return serve()
    if sys.argv[1] == "cells":
        return run_cells(int(sys.argv[2]))
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
