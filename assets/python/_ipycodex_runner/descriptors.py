"""Descriptors that go to another process, and take the places of those that it has.

In: a socket. Out: a message with descriptors. Absent on purpose: who sends them (`handoff`).
"""

import _socket
import os
import sys

LONGEST = 1 << 16  # bytes of a message
MOST_SENT = 6  # requests, frames, the three standard streams, the socket of the next hand-over


def send(fd, fds):
    """Sends descriptors over a socket that is one of ours."""
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, b"".join(each.to_bytes(4, sys.byteorder) for each in fds))
    link = _socket.socket(fileno=os.dup(fd))
    try:
        link.sendmsg([b"descriptors"], [rights])
    finally:
        link.close()


def receive(link):
    """A message, and the descriptors that came with it; nothing at the end."""
    data, rights, _flags, _address = link.recvmsg(
        LONGEST, _socket.CMSG_SPACE(4 * MOST_SENT), getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
    )
    fds = []
    for level, kind, part in rights:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            fds += [int.from_bytes(part[at : at + 4], sys.byteorder) for at in range(0, len(part) - 3, 4)]
    return data, fds


def receive_on(fd):
    """As `receive`, on a socket that is one of ours."""
    link = _socket.socket(fileno=os.dup(fd))
    try:
        return receive(link)
    finally:
        link.close()


def put(host, fds):
    """In a copy that becomes an interpreter: puts descriptors in the places of those of the process that it was copied
    from."""
    requests, frames, *streams, handoff = fds
    private = [(requests, host.requests.fd), (frames, host.frames.fd), (handoff, host.handoff_fd)]
    private += [(streams[-1 - at], shown) for at, shown in enumerate(reversed(host.frames.outputs))]
    for given, number in private:
        os.dup2(given, number, False)
    for number, given in enumerate(streams):
        os.dup2(given, number)
    for given in fds:
        os.close(given)
