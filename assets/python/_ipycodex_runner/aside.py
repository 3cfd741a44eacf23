"""An interpreter beside the one at the prompt, for an agent's turn: forked from a waiting copy, and confined.

In: a message of the host on its socket, with the descriptors of the new interpreter, and a folder. Out: one answer there.
Invariants: the copy waits on, and the interpreter at the prompt does not notice; the new one is under the rules of
`confine` before it takes its first request, and changes nothing but files in its folder; where they cannot be set there
is none. It is no child of the interpreter (`copies`), and ends with its request pipe. Absent on purpose: what it has
changed (`merge`).
"""

import _signal
import os
from time import sleep

from . import confine, copies, descriptors, stdlib, wire

LOCKED = 2  # seconds for what else is done with the copies


def ask_for(server, wish, fds):
    """On the watching thread: has the newest copy fork an interpreter. The answer to the host."""
    there = server.checkpointer
    lock = getattr(there, "lock", None)
    if lock is None:
        return {"failed": "nothing has run yet"}
    if not lock.acquire(True, LOCKED):
        return {"failed": "its checkpoints are in use"}
    try:
        copy, why = there.find_present(server)
        if copy is None:
            return {"failed": why}
        told = {"branch": wish["branch"], "folder": wish["folder"], "synced": 0, "buffer": "", "lines": []}
        copies.send(copy.link, told, True, copies.FORK)
        descriptors.send(copy.link, fds)
        return copies.receive(copy.link, copies.PATIENCE) or {"failed": "the process of that checkpoint does not answer"}
    finally:
        lock.release()


def fork(link, message):
    """In a waiting copy: forks it. Returns in the new process what it was told; None in the copy."""
    told = wire.decode(message.decode("ascii"))
    _data, told["aside"] = descriptors.receive_on(link)
    try:
        between = copies.fork()
        if between == 0:
            between = os.getpid()
            try:
                if copies.fork():
                    os._exit(0)
            except OSError:
                os._exit(1)
            os.setsid()
            while os.getppid() == between:
                sleep(0.0002)
            return told
        status = os.waitpid(between, 0)[1]
        copies.drop_child_signals()
        if status:
            raise OSError("could not start a process")
    except OSError as error:
        copies.send(link, {"failed": str(error)})
    for fd in told["aside"]:
        os.close(fd)
    return None


def settle(host, told, link, mask):
    """In the new process: confines it, and tells the interpreter whose checkpoint it comes from."""
    try:
        base = fork_base(host, mask)
        interrupts = wire.interrupts
        kept = {0, 1, 2, host.requests.fd, host.frames.fd, host.handoff_fd, base.link, link, *host.frames.outputs}
        for fd in interrupts.wakeup_pipe or ():
            kept.add(fd)
        confine.load_libc()
        confine.isolate(kept)
        loop = copies.loaded("loop")
        if loop is not None:
            loop.reset()
        why = confine.confine_interpreter([told["folder"]])
        if why is None:
            confine.drop_nameless()
    except Exception as error:
        why = "%s: %s" % (type(error).__name__, error)
    if why is not None:
        copies.send(link, {"failed": "nothing would keep it from changing files: %s" % why})
        os._exit(1)
    host.confined = True
    os.environ["TMPDIR"] = told["folder"]
    tempfile = stdlib.get_loaded("tempfile")
    if tempfile is not None:
        tempfile.tempdir = told["folder"]
    told["base"] = base
    copies.send(link, {"process": os.getpid()})
    os.close(link)


def fork_base(host, mask):
    """A copy of what both began with, for a merge (`copies.serve_looks`)."""
    ours, theirs = copies.open_link()
    child = copies.fork()
    if child == 0:
        os.close(ours)
        copies.libc.prctl(copies.DEATH_SIGNAL, _signal.SIGKILL, 0, 0, 0)
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        copies.serve_looks(host, theirs, mask, lambda: copies.read(theirs))
        os._exit(0)
    os.close(theirs)
    return copies.Copy(child, ours, 0)
