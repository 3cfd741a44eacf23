"""The host's requests: lines of a private pipe, with replies to questions among them.

In: the descriptor of the pipe. Out: decoded requests. Invariants: one thread reads at a time; a request that comes
while a caller waits for a reply is kept for later; data already read survives an exception of a signal handler. Absent
on purpose: the meaning of a request (`serve`).
"""

import os
from _thread import RLock, allocate_lock, get_ident

from . import wire
from .wire import MAIN, interrupts


class Requests:
    """Reader of request lines. The main thread reads them itself until another thread has to wait for an answer of the
    host; from then on a reader thread hands them out, until it is stopped."""

    def __init__(self, fd):
        self.fd = fd
        self.unparsed = []  # what was read and not yet looked at
        self.buffer = bytearray()  # of a line whose end has not come; grows in place
        self.lines = []
        self.queue = None
        self.lock = RLock()  # held by the thread that reads the pipe
        self.replies = {}
        self.waiters = ()  # of those who serve requests while they wait

    def read_more(self):
        """Reads once; False at the end of the stream."""
        try:
            if not self.unparsed:
                # stored before a signal handler runs, which may raise
                self.unparsed.extend(map(os.read, (self.fd,), (1 << 16,)))
        except OSError as error:
            if wire.raised_in_handler(error):
                raise
            return False
        data = self.unparsed[0]
        if not data:
            return False
        del self.unparsed[:]
        if b"\n" not in data:
            self.buffer += data
            return True
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        self.lines.extend(line for line in lines if line.strip())
        return True

    def next_line(self):
        """The next line, blocking; None at the end."""
        if self.queue is not None:
            return self.queue.get()
        with self.lock:
            while not self.lines:
                if not self.read_more():
                    return None
            return self.lines.pop(0)

    def parse(self, line):
        """The request in a line, or None after it was handed to the caller that waits for it. Raises ValueError."""
        value = wire.decode(line.decode("utf-8", "replace").strip())
        if type(value) is not dict:
            raise ValueError("a request is a JSON object")
        if value.get("type") in ("input_reply", "call_reply", "record_reply"):
            box = self.replies.pop(value.get("id"), None)
            if box is not None:
                box.append(value)
                box[0].release()
            return None
        return value

    def start_reader(self):
        from . import reader

        with self.lock:
            if self.queue is None:
                self.thread = reader.Reader(self, wire.open_private_pipe(206))

    def stop_reader(self):
        """The main thread, which calls this, reads again."""
        with self.lock:
            if self.queue is not None:
                self.thread.stop()

    def has_waiters(self):
        """Somebody waits for an answer of the host."""
        return bool(self.replies or self.waiters)

    def wake(self):
        """Replaced by the event loop while it waits for requests."""

    def ask(self, call, send):
        """Sends a question and waits for the reply with that id; None at the end of the stream. Requests that come in
        between stay for later. An interrupt ends the waiting before anything is taken from the stream, or after it."""
        box = [allocate_lock()]
        box[0].acquire()
        self.replies[call] = box
        try:
            send()
            if get_ident() != MAIN:
                while not box[0].acquire(True, 0.05):
                    self.start_reader_if_idle()
                return box[1] if len(box) > 1 else None
            while len(box) == 1 and self.queue is None:
                with self.lock:
                    if not self.read_replies() and len(box) == 1:
                        return None
            if len(box) == 1:
                box[0].acquire()
            return box[1] if len(box) > 1 else None
        finally:
            self.replies.pop(call, None)

    def read_replies(self):
        """Waits for more of the stream and hands out the replies in it; requests stay in `lines`. False at the end."""
        from select import poll

        poller = poll()
        poller.register(self.fd, 1)  # POLLIN; the end of the stream is always told
        poller.poll()
        interrupts.hold()
        try:
            alive = self.read_more()
            self.lines[:] = [line for line in self.lines if not self.dispatch_reply(line)]
        finally:
            interrupts.release()
        return alive

    def dispatch_reply(self, line):
        """True after a reply was handed to the caller that waits for it."""
        try:
            return b'_reply"' in line and self.parse(line) is None
        except ValueError:
            return False

    def start_reader_if_idle(self):
        """From another thread: while the main thread waits for requests it hands replies out itself, and holds the
        lock."""
        if self.queue is None and self.lock.acquire(False):
            try:
                self.start_reader()
            finally:
                self.lock.release()
