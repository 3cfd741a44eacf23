"""What the engines see of the outside: frames, questions to the host, the facts of the start.

In: frames. Out: the same, with the request they belong to. Invariant: a thread that serves a request sends as that
request, all others as what the main thread serves. Absent on purpose: who waits (`wire.Requests`, `calls`).
"""

import sys

from . import wire
from .wire import interrupts


class Host:
    """One for each runner."""

    def __init__(self, request_fd, frame_fd, nonce, pty):
        self.pty = pty
        self.frames = wire.Frames(frame_fd, nonce, pty)
        self.requests = wire.Requests(request_fd)
        self.ids = {}  # of the request that a thread serves; without one it is the main thread's
        self.cell = None  # the request that is the cell which runs
        self.calls = 0
        self.stdin = "terminal" if pty else "refuse"
        self.dark = None  # the terminal the running cell is looked at on is dark: "text"; "pictures" are to fit it, too
        self.interrupts = interrupts

    @property
    def id(self):
        """The request being served."""
        return self.ids.get(wire.get_ident()) or self.ids.get(wire.MAIN, "")

    @id.setter
    def id(self, name):
        self.ids[wire.get_ident()] = name

    def send(self, frame, ordered=True):
        frame["id"] = self.id
        late = sys.modules.get(__package__ + ".late")
        if late is not None and frame["type"] in ("display", "comm"):
            frame["of"] = late.cell.get()
        self.frames.send(frame, ordered)

    def later(self, frame):
        frame["id"] = self.id
        self.frames.later(frame)

    def ask(self, frame):
        """Sends a question frame and waits for the reply; None when the host is gone."""
        self.calls += 1
        call = "%s#%d" % (self.id, self.calls)
        frame["call"] = call
        return self.requests.ask(call, lambda: self.send(frame))
