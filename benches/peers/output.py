"""50 MB through ipykernel and jupyter_client: `lines` of 80 bytes or one `write`.

Says `ready`, then for each line on standard input the MB/s from the start of the cell to idle.
"""

import queue
import subprocess
import sys
import time

from jupyter_client.manager import start_new_kernel

BYTES = 80 * 655_360
CODE = {
    "lines": "for _ in range(655360): print('x' * 79)",
    "write": "import sys\n_ = sys.stdout.write(('x' * 79 + '\\n') * 655360)",
}


def main():
    manager, client = start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
    # What it publishes before our subscription stands is lost.
    subscribed = False
    while not subscribed:
        client.execute("None")
        try:
            subscribed = bool(client.get_iopub_msg(timeout=1))
        except queue.Empty:
            pass
    print("ready", flush=True)
    for _ in sys.stdin:
        sent = client.execute(CODE[sys.argv[1]])
        total, begin = 0, None
        while True:
            message = client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != sent:
                continue
            if message["msg_type"] == "execute_input":
                begin = time.perf_counter()
            elif message["msg_type"] == "stream":
                total += len(message["content"]["text"])
            elif message["content"].get("execution_state") == "idle":
                break
        assert total == BYTES, total
        print(total / 1e6 / (time.perf_counter() - begin), flush=True)


main()
