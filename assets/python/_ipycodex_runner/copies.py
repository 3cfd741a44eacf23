"""Forked copies of the interpreter that sleep, and the hand-over of the interpreter's role to one of them.

In: the idle interpreter, without anything that a fork loses. Out: processes that sleep at the same line of the same
program. One process of all runs at a time: it owns the pipes, the terminal, the signals. Invariants: a copy is no child
of the interpreter, so the interpreter's `wait` never finds it, but of the process that started it (the guard); it leads
a session of its own, so no signal for the interpreter reaches it; it sleeps in one system call; it ends with the
interpreter that made it and with the guard, however those end; what is asked of it (`look`) a child of its own
answers, and it sleeps on as it was. A process that handed over is stopped as a whole,
threads too, and continues where it was when it gets the role back. Absent on purpose: the list of copies
(`checkpoints`).
"""

import _signal
import _thread
import fcntl
import os
import sys
import termios
from select import POLLHUP, POLLIN, poll
from time import sleep, time

from . import fork_state, host_watch, wire
from .forks import (
    FORK,
    LOOK,
    PATIENCE,
    STOP,
    Gone,
    drop_child_signals,
    fork,
    has_come,
    is_link_open,
    open_link,
    read,
    receive,
    send,
    signal_to,
)

DEATH_SIGNAL = 1  # of prctl
AGAIN = 20  # ms until a signal is sent again that may have come too soon
TIOCNOTTY = getattr(termios, "TIOCNOTTY", 0x5422)
ALL = set(_signal.valid_signals()) - {_signal.SIGTERM, _signal.SIGKILL, _signal.SIGSTOP, _signal.SIGCONT}

libc = None


class Copy:
    """A sleeping copy."""

    took = 0.0  # ms to make it

    def __init__(self, process, link, steps):
        self.process, self.link, self.steps, self.since = process, link, steps, time()

    def is_alive(self):
        return is_link_open(self.link)

    def end(self):
        send(self.link, {"end": True})
        signal_to(self.process, _signal.SIGCONT)
        self.close()

    def close(self):
        try:
            os.close(self.link)
        except OSError:
            pass


def load_libc():
    global libc
    if libc is None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
    return libc


def make(host, steps):
    """A copy of this process, which waits; in it, when it takes over, what it was told. Raises OSError."""
    load_libc()
    ours, theirs = open_link()
    wire.flush_streams()
    baggage = fork_state.ForkState()
    wire.interrupts.hold()
    before = _signal.pthread_sigmask(_signal.SIG_SETMASK, ALL)
    own = os.getpid()
    try:
        between = fork()
        if between == 0:
            os.close(ours)
            between = os.getpid()
            try:
                if fork():
                    os._exit(0)
            except OSError:
                os._exit(1)
        else:
            os.close(theirs)
            _pid, status = os.waitpid(between, 0)
            drop_child_signals()
            return Copy(wait_until_ready(ours, status), ours, steps), None
    except OSError:
        if os.getpid() == own:
            os.close(ours)
        raise
    finally:
        if os.getpid() == own:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
            wire.interrupts.release()
    try:
        told = wait_as_copy(host, theirs, between, before)
        if "branch" in told:
            from . import descriptors

            descriptors.put(host, told.get("aside") or descriptors.receive_on(theirs)[1])
        host.pty = host.pty and "aside" not in told
        take_over(host, told, baggage)
        if "aside" in told:
            from . import aside

            aside.settle(host, told, theirs, lambda: fork_base(host, before))
        restart_threads(host)
    except BaseException:
        os._exit(1)  # the other process sees the link close
    _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    wire.interrupts.release()
    if "aside" not in told:
        send(theirs, {"mine": os.getpid()})
    return theirs, told


def wait_until_ready(link, status):
    """The copy's process, once it waits."""
    if status:
        raise OSError("could not start a process")
    told = receive(link, PATIENCE)
    if told is None:
        raise OSError("the copy did not come up")
    return told["waits"]


def wait_as_copy(host, link, between, mask):
    """Sleeps until the copy takes over. The copy does not outlive its parent; in a child that answers a look, `mask`
    are the signals blocked."""
    os.setsid()
    while os.getppid() == between:
        sleep(0.0002)
    libc.prctl(DEATH_SIGNAL, _signal.SIGKILL, 0, 0, 0)
    kept = _signal.getsignal(_signal.SIGTERM)
    if kept is not None:
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
    score = set_oom_score("1000")
    send(link, {"waits": os.getpid()})
    told = serve_looks(host, link, mask, lambda: read(link))
    if kept is not None:
        _signal.signal(_signal.SIGTERM, kept)
    set_oom_score(score)
    return told


def serve_looks(host, link, mask, read_next):
    """The message on which the copy takes over; `read_next()` waits for one. Also returns in an interpreter forked from
    it. Ends the process on any other message, and with the link."""
    while True:
        data = read_next()
        while data is not None and data.startswith(LOOK):
            data = look(host, link, data, mask)
        if data is not None and data.startswith(FORK):
            from . import aside

            told = aside.fork(link, data[len(FORK) :])
            if told is not None:
                return told
            continue
        if data is None or data == STOP:
            continue
        told = wire.decode(data.decode("ascii")) if data else {"end": True}
        if "end" in told:
            os._exit(0)
        return told


def fork_base(host, mask):
    """A copy of what both began with, for a merge (`serve_looks`)."""
    ours, theirs = open_link()
    child = fork()
    if child == 0:
        os.close(ours)
        libc.prctl(DEATH_SIGNAL, _signal.SIGKILL, 0, 0, 0)
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        serve_looks(host, theirs, mask, lambda: read(theirs))
        os._exit(0)
    os.close(theirs)
    return Copy(child, ours, 0)


def look(host, link, data, mask):
    """Has a child answer a look, and stops it when another message comes, which is returned."""
    ended, end = os.pipe()
    child = fork()
    if child == 0:
        try:
            libc.prctl(DEATH_SIGNAL, _signal.SIGKILL, 0, 0, 0)
            os.close(ended)
            from . import look as looks

            send(link, {"look": looks.answer_as_copy(host, data[len(LOOK) :], mask)})
        finally:
            os._exit(0)
    os.close(end)
    poller = poll()
    poller.register(ended, POLLIN)
    poller.register(link, POLLIN)
    came = None
    while (ended, POLLHUP) not in poller.poll(None if came is None else AGAIN):
        if came is None:
            came = read(link)
            poller.unregister(link)
        signal_to(child, _signal.SIGUSR1)  # which may come just before a system call that sleeps
    os.waitpid(child, 0)
    os.close(ended)
    drop_child_signals()
    send(link, {"looked": True})
    return came


def set_oom_score(text):
    """Sets the score that the kernel kills by when memory runs out; returns the old one."""
    try:
        with open("/proc/self/oom_score_adj", "r+") as file:
            before = file.read()
            file.seek(0)
            file.write(text)
            return before
    except OSError:
        return "0"


def hand_over(host, copy, told):
    """Hands the interpreter's role to `copy` and stops; returns the message that resumed this process. Raises Gone when
    the copy cannot take over; nothing has changed then."""
    frames, requests = host.frames, host.requests
    requests.stop_reader()
    told = dict(
        told, synced=frames.synced, buffer=as_text(requests.buffer), lines=[as_text(line) for line in requests.lines]
    )
    baggage = fork_state.ForkState()
    release_terminal(host)
    try:
        send(copy.link, told, True)
        wait_for_takeover(copy)
    except Gone:
        take_terminal(host)
        raise
    libc.prctl(DEATH_SIGNAL, _signal.SIGKILL, 0, 0, 0)
    kept = _signal.getsignal(_signal.SIGTERM)
    if kept is not None:
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
    score = set_oom_score("1000")
    requests.buffer, requests.lines[:] = bytearray(), []
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())

    def read_when_woken():
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        os.kill(os.getpid(), _signal.SIGSTOP)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ALL)
        return read(copy.link) if has_come(copy.link, 0) else None

    told = serve_looks(host, copy.link, before, read_when_woken)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    set_oom_score(score)
    if kept is not None:
        _signal.signal(_signal.SIGTERM, kept)
    take_over(host, told, None)
    baggage.restore_offsets()
    send(copy.link, {"mine": os.getpid()})
    return told


def wait_for_takeover(copy):
    """Waits until the copy has taken over; one that is stopped is woken."""
    left = PATIENCE
    while left > 0:
        signal_to(copy.process, _signal.SIGCONT)
        if receive(copy.link, 0.02) is not None:
            return
        left -= 0.02
    raise Gone


def take_over(host, told, baggage):
    """Makes this process the interpreter."""
    libc.prctl(DEATH_SIGNAL, _signal.SIGTERM, 0, 0, 0)
    frames, requests = host.frames, host.requests
    host.process = frames.pid = os.getpid()
    frames.synced = told["synced"]
    requests.buffer = bytearray(told["buffer"], "latin-1")
    requests.lines[:] = [line.encode("latin-1") for line in told["lines"]]
    take_terminal(host)
    if baggage is not None:
        baggage.restore()


def restart_threads(host):
    """Restarts what a fork loses: the wake-up pipe of interrupts, the thread that watches the host."""
    fork_state.uncounted = _thread._count()
    branch = sys.modules.get(__package__ + ".branch")
    if branch is not None and branch.current is not None:
        branch.current.close()
    interrupts = wire.interrupts
    for fd in interrupts.wakeup_pipe or ():
        try:
            os.close(fd)
        except OSError:
            pass
    try:
        interrupts.open_wakeup_pipe()
    except (OSError, ValueError):
        interrupts.wakeup_pipe = None
    host_watch.start(host)


def release_terminal(host):
    """Gives the terminal up, as the leader of a session does. What was started in it goes on without."""
    if not host.pty:
        return
    kept, front = _signal.getsignal(_signal.SIGHUP), None
    if kept is not None:
        _signal.signal(_signal.SIGHUP, _signal.SIG_IGN)
    try:
        if fork_state.list_children():
            front = fork_foreground_child(host.frames.outputs[0])
        fcntl.ioctl(host.frames.outputs[0], TIOCNOTTY)
    except OSError:
        pass
    finally:
        if kept is not None:
            _signal.signal(_signal.SIGHUP, kept)
        if front is not None:
            os.kill(front, _signal.SIGKILL)
            os.waitpid(front, 0)


def fork_foreground_child(terminal):
    """Forks a child into the foreground, so that it gets the hang-up in place of the user's programs."""
    child = fork()
    if child == 0:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ALL)
        while True:
            _signal.pause()
    os.setpgid(child, child)
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGTTOU})
    try:
        os.tcsetpgrp(terminal, child)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    return child


def take_terminal(host):
    if host.pty:
        try:
            fcntl.ioctl(host.frames.outputs[0], termios.TIOCSCTTY, 0)
        except OSError:
            pass  # the host has closed it


def as_text(data):
    return bytes(data).decode("latin-1")
