"""The engines' interface to the host: frames, questions, the facts known at start.

In: frames. Out: the same, with the id of their request. Invariant: a thread that serves a request sends under that
request's id, all other threads under the id that the main thread serves. Absent on purpose: waiting
(`requests.Requests`, `host_calls`).
"""

import os
import sys

from . import requests, wire
from .wire import interrupts

# of a cell that came in no message of Jupyter; only the front-end knows the name of what it serves
NO_PARENT = {"header": {"msg_id": "ipycodex:this-request"}}


class Host:
    """One for each runner."""

    def __init__(self, request_fd, frame_fd, nonce, pty):
        self.pty = pty
        self.process = os.getpid()  # the one this is; what user code forks is another
        self.frames = wire.Frames(frame_fd, nonce, pty)
        self.requests = requests.Requests(request_fd)
        self.handoff_fd = None  # the socket by which the host hands the prompt over to a copy
        self.ids = {}  # of the request that a thread serves; without one it is the main thread's
        self.cell = None  # the request that is the cell which runs
        self.calls = 0
        self.confined = False  # the process itself can change nothing but files in the folders it may write in
        self.stdin = "terminal" if pty else "refuse"
        self.dark = None  # the terminal the running cell is looked at on is dark: "text"; "pictures" are to fit it, too
        self.interrupts = interrupts
        self.ipython_error = None  # why IPython is not in use though it is there
        self.kernel = None  # the connection file of the kernel whose cells are run
        self.parent = NO_PARENT  # the message that led to the running cell

    @property
    def id(self):
        """The request being served."""
        return self.ids.get(wire.get_ident()) or self.ids.get(wire.MAIN, "")

    @id.setter
    def id(self, name):
        self.ids[wire.get_ident()] = name

    def send(self, frame, ordered=True):
        frame["id"] = self.id
        cell_context = sys.modules.get(__package__ + ".cell_context")
        if cell_context is not None and frame["type"] in ("display", "comm"):
            frame["of"] = cell_context.cell.get()
        self.frames.send(frame, ordered)

    def defer(self, frame):
        frame["id"] = self.id
        self.frames.defer(frame)

    def exit_if_child(self, error=None):
        """A process that user code has forked ends where its cell does, or with its `error`: it never goes on as a
        second runner."""
        if os.getpid() != self.process:
            from . import shutdown

            shutdown.exit_child(error)

    def ask_exit(self, code, keep_kernel=False):
        """`exit` and `quit`: the host ends the interpreter; a forked child ends itself. In a kernel the first argument
        may say whether that is kept."""
        if os.getpid() != self.process:
            raise SystemExit(code)
        if keep_kernel or (code is True and self.kernel is not None):
            self.send({"type": "exit_requested", "keepKernel": True})
        else:
            self.send({"type": "exit_requested", "code": code})

    def ask(self, frame):
        """Sends a question frame and waits for the reply; None when the host is gone, and in a forked child, whom it
        would not hear."""
        if self.frames.is_forked():
            return None
        self.calls += 1
        call = "%s#%d" % (self.id, self.calls)
        frame["call"] = call
        return self.requests.ask(call, lambda: self.send(frame))
