"""Forked processes of the runner, and the links by which they talk.

In: a process without locks held. Out: forks of it; sockets that carry whole messages. Invariants: no fork warns of our
own threads; a message is sent whole or not at all. Absent on purpose: what the processes are for (`copies`, `aside`).
"""

import _signal
import fcntl
import os
from select import POLLIN, poll

from . import wire
from .stdlib import GenuineModules, drop_other_threads

PATIENCE = 5.0  # seconds for another process to answer
LIMIT = os.sysconf("SC_OPEN_MAX")  # below 0: none
FIRST_FD = min(230, LIMIT // 2) if LIMIT > 0 else 230  # descriptors from here on
LOOK, FORK, STOP = b"look ", b"fork ", b"stop"  # how messages begin that are not for a copy itself


class Gone(Exception):
    """The other process has ended."""


def fork():
    import warnings

    with GenuineModules(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads beside the fork: only ours are there, and they hold nothing
        child = os.fork()
        if not child:
            drop_other_threads()
        return child


def drop_child_signals():
    """Takes the signals of children that were not the user's."""
    while _signal.sigtimedwait({_signal.SIGCHLD}, 0):
        pass


def open_link():
    """Two ends that carry whole messages, out of the reach of code that closes descriptors."""
    import _socket

    ends = []
    for end in _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET):
        end.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, 1 << 20)
        fd = fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST_FD)
        end.close()
        ends.append(fd)
    return ends


def send(link, message, must=False, head=b""):
    try:
        os.write(link, head + wire.dump(message).encode("ascii"))
    except OSError:
        if must:
            raise Gone from None


def receive(link, seconds):
    """A message that is there or comes within `seconds`; None: none. Raises Gone at the end."""
    if not has_come(link, seconds):
        return None
    data = read(link)
    if not data:
        raise Gone
    return wire.decode(data.decode("ascii"))


def read(link):
    """A whole message; nothing at the end."""
    try:
        return os.read(link, 1 << 20)
    except OSError:
        return b""


def has_come(link, seconds):
    poller = poll()
    poller.register(link, POLLIN)
    return bool(poller.poll(seconds * 1000))


def is_link_open(link):
    poller = poll()
    poller.register(link, 0)
    return not poller.poll(0)


def signal_to(process, number):
    try:
        os.kill(process, number)
    except OSError:
        pass
