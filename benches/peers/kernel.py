"""Measures a kernel of Jupyter from a client: `kernel.py WHAT NAME` prints one figure.

start       ms from its start to the reply to kernel_info
round_trip  ms from an execute_request of `1+1` to its reply and the state idle, median of 200
interrupt   ms from an interrupt_request to the reply of the cell it stops, median of 10
printed     MB/s of 50 MB that a cell prints in lines of 1 kB
memory      MB that it and its children hold after ten cells
deaf        MB that it and its children held at most, while 500 MB were printed and none of it was read
slow        the same, while 100 MB were printed and read at 10 MB/s
kept        MB of 100 that were printed and reached that reader
"""

import contextlib
import glob
import queue
import statistics
import sys
import time

from jupyter_client.manager import KernelManager

LIMIT = 60

# In MB.
PRINTS = "import sys\nfor _ in range({} * 1000): sys.stdout.write('x' * 999 + chr(10))"


def ran(client, code):
    """Runs a cell to its reply and to the state idle; the characters it printed."""
    request, idle, printed = client.execute(code), False, 0
    while not idle:
        message = client.get_iopub_msg(timeout=LIMIT)
        if message["parent_header"].get("msg_id") == request:
            idle = message["content"].get("execution_state") == "idle"
            printed += len(message["content"].get("text", ""))
    while client.get_shell_msg(timeout=LIMIT)["parent_header"].get("msg_id") != request:
        pass
    return printed


def started(name):
    manager = KernelManager(kernel_name=name)
    begin = time.perf_counter()
    manager.start_kernel()
    client = manager.client()
    client.start_channels(hb=False)
    request, told = client.kernel_info(), False
    while not told:
        with contextlib.suppress(queue.Empty):
            told = client.get_shell_msg(timeout=0.001)["parent_header"].get("msg_id") == request
    took = (time.perf_counter() - begin) * 1e3
    # Until it hears what the kernel publishes: a subscription takes its time, and what was said before is lost.
    while True:
        try:
            client.get_iopub_msg(timeout=0.5)
            return manager, client, took
        except queue.Empty:
            client.kernel_info()


def round_trip(client, _):
    for _ in range(20):
        ran(client, "1+1")
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        ran(client, "1+1")
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def interrupt(client, manager):
    times = []
    for _ in range(10):
        request = client.execute("import time; print('on', flush=True); time.sleep(60)")
        while client.get_iopub_msg(timeout=LIMIT)["msg_type"] != "stream":
            pass
        time.sleep(0.3)
        begin = time.perf_counter()
        manager.interrupt_kernel()
        while client.get_shell_msg(timeout=LIMIT)["parent_header"].get("msg_id") != request:
            pass
        times.append(time.perf_counter() - begin)
        ran(client, "1")
    return statistics.median(times) * 1e3


def printed(client, _):
    ran(client, "line = 'x' * 1023 + chr(10)")
    begin = time.perf_counter()
    told = ran(client, "import sys\nfor _ in range(50 * 1024): sys.stdout.write(line)")
    assert told == 50 * 1024 * 1024, told
    return 50 / (time.perf_counter() - begin)


def memory(client, manager):
    for _ in range(10):
        ran(client, "1+1")
    return sum(held(process) for process in family(manager.provisioner.process.pid)) / 1024


def deaf(client, manager):
    request = client.execute(PRINTS.format(500))
    while client.get_shell_msg(timeout=10 * LIMIT)["parent_header"].get("msg_id") != request:
        pass
    return peak(manager)


def slow(client, manager):
    read_slowly(client)
    return peak(manager)


def kept(client, _):
    return read_slowly(client) / 1e6


def read_slowly(client):
    """The characters that came before the cell was over, and nothing more was on its way."""
    client.execute(PRINTS.format(100))
    came = 0
    with contextlib.suppress(queue.Empty):
        while True:
            message = client.get_iopub_msg(timeout=3)
            characters = len(message["content"].get("text", ""))
            came += characters
            time.sleep(characters / 10e6)
    return came


def peak(manager):
    return sum(highest(process) for process in family(manager.provisioner.process.pid)) / 1024


def family(process):
    children = []
    # A child is listed with the thread that started it.
    for listed in glob.glob(f"/proc/{process}/task/*/children"):
        with open(listed) as file:
            children += file.read().split()
    return [process] + [one for child in children for one in family(int(child))]


def held(process):
    """What would be free without it, in kB."""
    with open(f"/proc/{process}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def highest(process):
    """The most it ever held, in kB; what it shares is counted for each."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


what, name = sys.argv[1:]
manager, client, took = started(name)
try:
    print(took if what == "start" else globals()[what](client, manager))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
