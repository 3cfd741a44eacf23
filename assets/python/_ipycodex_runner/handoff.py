"""The hand-over of the prompt while a cell runs: the copy from before that cell becomes the interpreter at the prompt,
with descriptors of its own; the process that runs the cell keeps its own and goes on as a branch.

In: a message of the host on its socket, with the new descriptors of the copy. Out: one answer there for each message.
It is handled by the thread that watches the host, so that code that sleeps or waits is no obstacle. Invariants: nothing
of the running cell is stopped or redirected; what is refused has changed nothing; one process at a time has checkpoints
that it may step to. Absent on purpose: what a branch has changed (`merge`).
"""

import _socket
import os
import sys

from . import copies, descriptors, forks, wire

ENDED = "the cell has just ended"
TOO_SOON = "that cell started before a checkpoint could be made"


def answer(host):
    """Handles a message that is there. Returns False at the end of the socket. On the watching thread."""
    link = _socket.socket(fileno=os.dup(host.handoff_fd))
    try:
        data, fds = descriptors.receive(link)
        if not data:
            return False
        try:
            carry_out(sys.modules[__package__].server, wire.decode(data.decode("ascii")), fds, link)
        finally:
            for fd in fds:
                os.close(fd)
        return True
    except OSError:
        return False
    finally:
        link.close()


def carry_out(server, wish, fds, link):
    """Wakes the copy from before the running cell, and answers before the end of that cell can be told; or has an
    interpreter forked beside this one."""
    if "folder" in wish:
        from . import aside

        return link.send(answer_to(lambda: aside.ask_for(server, wish, fds)))
    with server.host.frames.lock:
        link.send(answer_to(lambda: wake_successor(server, wish, fds)))


def answer_to(work):
    try:
        told = work()
    except forks.Gone:
        told = {"failed": "the process of that checkpoint did not take over; nothing has changed"}
    except OSError as error:
        told = {"failed": str(error)}
    return wire.dump(told).encode("ascii")


def wake_successor(server, wish, fds):
    there, request = server.checkpointer, server.request
    if request is None or request.get("id") != wish["id"] or server.host.frames.last_done == wish["id"]:
        return {"failed": ENDED}
    if server.host.requests.has_waiters():
        return {"failed": "it waits for an answer of the session"}
    lock = getattr(there, "lock", None)
    if lock is None:
        return {"failed": TOO_SOON}
    if not lock.acquire(False):
        return {"failed": ENDED}
    try:
        copy, why = there.find_successor()
        if copy is None:
            return {"failed": why}
        forks.send(copy.link, dict(there.describe_handoff(copy), branch=wish["branch"]), True)
        descriptors.send(copy.link, fds)
        copies.wait_for_takeover(copy)
        there.become_branch(copy)
        return {"process": copy.process}
    finally:
        lock.release()
