"""The guard of a copy: a process between the copy and its parent that kills everything the copy leaves behind.

In: the end of the copy; SIGTERM; the end of the guard's own parent. Out: nothing that the copy started still runs, and
the copy's folder is gone; then the guard exits with the copy's status. Invariants: neither a second fork nor `setsid`
hides a process from the guard, since orphans below it become its children; processes that fork faster than one can look
are killed at once, by their group, which they cannot leave where the copy is confined; all signals but SIGKILL and
SIGSTOP are blocked until the guard waits for them. Absent on purpose: what the copy may do (`confine`). Document:
prctl(2), PR_SET_CHILD_SUBREAPER.
"""

import _signal
import os
from time import monotonic

from . import confine

SUBREAPER, DEATH_SIGNAL = 36, 1  # of prctl
KILL_LIMIT = 5.0  # seconds until what does not die of SIGKILL is given up
TICK = 0.01  # seconds between two checks of the remaining processes
ALL = set(_signal.valid_signals()) - {_signal.SIGKILL, _signal.SIGSTOP}


def fork_guarded(fork, parent, folder=None):
    """Returns in a child of this process, which becomes the child's guard and does not return. `parent` is whose end is
    the guard's; `folder` is removed in the end."""
    os.setsid()
    libc = confine.load_libc()
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    before = _signal.pthread_sigmask(_signal.SIG_SETMASK, ALL)
    libc.prctl(DEATH_SIGNAL, _signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    try:
        child = fork()
    except OSError:
        os._exit(1)
    if child == 0:
        for number in (_signal.SIGTERM, _signal.SIGCHLD):
            while _signal.sigtimedwait({number}, 0):
                pass  # the guard's
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        return
    try:
        status = guard(child)
        if folder is not None:
            remove_folder(folder)
        exit_as(status)
    finally:
        os._exit(1)


def guard(child):
    for name in os.listdir("/proc/self/fd"):
        try:
            os.close(int(name))
        except OSError:
            pass  # that of the list
    status = None
    while status is None:
        number = _signal.sigwait({_signal.SIGCHLD, _signal.SIGTERM})
        status = reap(child)[0]
        if number == _signal.SIGTERM:
            kill_group(child)
            break
    until = monotonic() + KILL_LIMIT
    while monotonic() < until:
        for process in descendants(os.getpid()):
            try:
                os.kill(process, _signal.SIGKILL)
            except OSError:
                pass
        found, alone = reap(child)
        status = found if status is None else status
        if alone:
            break
        _signal.sigtimedwait({_signal.SIGCHLD}, TICK)
    return _signal.SIGKILL if status is None else status


def reap(child):
    """The status of `child`, if it has ended; whether nothing is left. Its group is killed before it is reaped, while
    the id is still its own."""
    status = None
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return status, True
        if ended is None:
            return status, False
        if ended.si_pid == child:
            kill_group(child)
            status = os.waitpid(child, 0)[1]
        else:
            os.waitpid(ended.si_pid, 0)


def kill_group(child):
    try:
        os.killpg(child, _signal.SIGKILL)
    except OSError:
        pass  # it has none yet


def descendants(process):
    """The processes that descend from one."""
    found, looked_at = [process], 0
    while looked_at < len(found):
        threads = "/proc/%d/task" % found[looked_at]
        try:
            for thread in os.listdir(threads):
                with open("%s/%s/children" % (threads, thread)) as file:
                    found += [int(word) for word in file.read().split()]
        except OSError:
            pass  # it has ended
        looked_at += 1
    return found[1:]


def remove_folder(folder):
    """Removes a folder that nobody changes any more, however deep and whatever its rights."""
    try:
        os.chdir(folder)
        levels = [remove_files()]  # the folders that are left, from the outermost level to where we are
        while levels:
            if levels[-1]:
                os.chmod(levels[-1][-1], 0o700)
                os.chdir(levels[-1][-1])
                levels.append(remove_files())
            else:
                levels.pop()
                os.chdir("..")
                if levels:
                    os.rmdir(levels[-1].pop())
        os.rmdir(folder)
    except OSError:
        pass  # as far as the system lets us


def remove_files():
    """Removes the files of the working directory; returns the names of its folders."""
    folders = []
    for entry in list(os.scandir(".")):
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            os.unlink(entry.name)
    return folders


def exit_as(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != _signal.SIGKILL:
            _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
