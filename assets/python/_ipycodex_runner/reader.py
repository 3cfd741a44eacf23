"""The thread that reads requests while a thread other than the main one waits for an answer of the host.

In: the request pipe. Out: requests in `queue`, in order; replies to their waiters. Invariants: no line is lost when the
thread is stopped; the end of the stream is reported to every waiter. Absent on purpose: when it is started and stopped
(`requests.Requests`, `fork_state`).
"""

import os
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread
from select import POLLIN, poll


class Reader:
    """Whoever makes or stops one holds the lock of the requests. `pipe`: it is told to stop by that."""

    def __init__(self, requests, pipe):
        self.requests, self.ended = requests, allocate_lock()
        self.stop_fd, self.wake_fd = pipe
        requests.queue = SimpleQueue()
        for line in requests.lines:
            requests.queue.put(line)
        del requests.lines[:]
        self.ended.acquire()
        start_new_thread(self.run, ())

    def stop(self):
        """Called by the main thread, which gets the lines read and not yet taken."""
        requests = self.requests
        os.write(self.wake_fd, b"x")
        self.ended.acquire()
        for fd in (self.stop_fd, self.wake_fd):
            os.close(fd)
        while not requests.queue.empty():
            line = requests.queue.get()
            if line is not None:  # the end of the stream is found again
                requests.lines.append(line)
        requests.queue = None

    def run(self):
        try:
            self.dispatch()
        finally:
            self.ended.release()

    def dispatch(self):
        requests, poller = self.requests, poll()
        for fd in (requests.fd, self.stop_fd):
            poller.register(fd, POLLIN)  # the end of the stream is always told
        while True:
            if any(fd == self.stop_fd for fd, _event in poller.poll()):
                return
            if not requests.read_more():
                break
            lines, requests.lines = requests.lines, []
            for line in lines:
                if not requests.dispatch_reply(line):
                    requests.queue.put(line)
                    requests.wake()
                    for bell in requests.waiters:
                        bell.release()
        requests.queue.put(None)
        requests.wake()
        for box in list(requests.replies.values()):
            box[0].release()
