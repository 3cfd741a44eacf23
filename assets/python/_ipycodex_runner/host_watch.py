"""The thread that notices the end of the host, and signals that the main thread would sleep through.

In: the request pipe, the wake-up pipe of `wire.interrupts`, the socket for hand-overs of the prompt, which it has
carried out. Out: the exit of this process, 3 s after the host's end.
"""

import os

from . import wire
from .wire import interrupts


def move_high(fd, number):
    """Closed to children, and above what careless code closes."""
    if fd < 100:
        high = wire.duplicate_high(fd, number)
        if high > fd:
            fd, high = high, fd
        if high != fd:
            os.close(high)
    os.set_inheritable(fd, False)
    return fd


def start(host):
    """A busy runner must notice the death of its host: the request pipe hangs up, or the parent is gone."""
    from _thread import allocate_lock, start_new_thread

    request_fd, handoff_fd = host.requests.fd, host.handoff_fd
    parent, rest = os.getppid(), allocate_lock()
    rest.acquire()

    def watch():
        nonlocal handoff_fd
        rest.acquire(True, 0.05)  # what is imported here would hold up the first cell
        from select import poll
        from time import sleep

        try:
            parent_fd, patience = move_high(os.pidfd_open(parent), 204), None
        except (AttributeError, OSError):
            parent_fd, patience = -1, 10_000  # no pidfd before Python 3.9 and Linux 5.3: poll
        hangup, either = poll(), poll()
        for poller in (hangup, either):
            poller.register(request_fd, 0)  # reports hang-up and errors only
            if parent_fd >= 0:
                poller.register(parent_fd, 1)  # readable at its end
        if interrupts.wakeup_pipe is not None:
            either.register(interrupts.wakeup_pipe[0], 1)  # readable
        if handoff_fd is not None:
            either.register(handoff_fd, 1)  # readable
        while True:
            ready = either.poll(patience)
            if any(fd == handoff_fd for fd, _event in ready):
                if not host.answer_handoff():
                    either.unregister(handoff_fd)
                    handoff_fd = None
                continue
            if any(fd in (request_fd, parent_fd) for fd, _event in ready) or (not ready and os.getppid() != parent):
                break
            if ready and interrupts.repeat(hangup.poll):
                break
        sleep(3)  # an idle runner has left by itself
        os._exit(0)

    try:
        start_new_thread(watch, ())
    except RuntimeError:
        pass  # thread limit: the main thread still sees the end of the pipe when idle
