"""An interpreter beside the one at the prompt, for an agent's turn: forked from a waiting copy, and confined.

In: a message of the host on its socket, with the descriptors of the new interpreter, and a folder. Out: one answer
there. Invariants: the copy waits on, and the interpreter at the prompt does not notice; the new one is under the rules
of `confine` before it takes its first request, and changes nothing but files in its folder; where they cannot be set
there is none. It is no child of the interpreter (`copies`), and ends with its request pipe. Absent on purpose: what it
has changed (`merge`).
"""

import os
import sys
from time import monotonic, sleep

from . import confine, descriptors, forks, stdlib, wire

LOCKED = 2  # seconds until a copy is made, or such a request answered
USE = ("checkpoints", "look_back")  # requests that talk to copies


def ask_for(server, wish, fds):
    """On the watching thread: has the newest copy fork an interpreter. The answer to the host."""
    there = server.checkpointer
    lock = getattr(there, "lock", None)
    if lock is None:
        return {"failed": "nothing has run yet"}
    deadline = monotonic() + LOCKED
    while (server.request or {}).get("type") in USE and monotonic() < deadline:
        sleep(0.005)
    if (server.request or {}).get("type") in USE or not lock.acquire(True, LOCKED):
        return {"failed": "its checkpoints are in use"}
    try:
        copy, why = there.find_present(server)
        if copy is None:
            return {"failed": why}
        told = {"branch": wish["branch"], "folder": wish["folder"], "synced": 0, "buffer": "", "lines": []}
        forks.send(copy.link, told, True, forks.FORK)
        descriptors.send(copy.link, fds)
        answer = forks.receive(copy.link, forks.PATIENCE)
        return answer or {"failed": "the process of that checkpoint does not answer"}
    finally:
        lock.release()


def fork(link, message):
    """In a waiting copy: forks it. Returns in the new process what it was told; None in the copy."""
    told = wire.decode(message.decode("ascii"))
    _data, told["aside"] = descriptors.receive_on(link)
    try:
        between = forks.fork()
        if between == 0:
            between = os.getpid()
            try:
                if forks.fork():
                    os._exit(0)
            except OSError:
                os._exit(1)
            os.setsid()
            while os.getppid() == between:
                sleep(0.0002)
            return told
        status = os.waitpid(between, 0)[1]
        forks.drop_child_signals()
        if status:
            raise OSError("could not start a process")
    except OSError as error:
        forks.send(link, {"failed": str(error)})
    for fd in told["aside"]:
        os.close(fd)
    return None


def settle(host, told, link, fork_base):
    """In the new process: confines it, and tells the interpreter whose checkpoint it comes from. `fork_base()` makes a
    copy of what both began with, which is confined, too: code here can reach the link to it."""
    try:
        kept = {0, 1, 2, host.requests.fd, host.frames.fd, host.handoff_fd, link, *host.frames.outputs}
        confine.load_libc()
        confine.isolate(kept.union(wire.interrupts.wakeup_pipe or ()))
        loop = sys.modules.get(__package__ + ".loop")
        if loop is not None:
            loop.reset()
        why = confine.confine_interpreter([told["folder"]])
        if why is None:
            confine.drop_nameless()
            told["base"] = fork_base()
    except Exception as error:
        why = "%s: %s" % (type(error).__name__, error)
    if why is not None:
        forks.send(link, {"failed": "nothing would keep it from changing files: %s" % why})
        os._exit(1)
    host.confined = True
    os.environ["TMPDIR"] = told["folder"]
    tempfile = stdlib.get_loaded("tempfile")
    if tempfile is not None:
        tempfile.tempdir = told["folder"]
    forks.send(link, {"process": os.getpid()})
    os.close(link)
