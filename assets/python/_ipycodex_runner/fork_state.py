"""State that a fork of the interpreter loses or shares, and the conditions under which no complete copy can be made.

In: the idle interpreter. Out: the reason against a copy (`find_obstacle`); `ForkState`, saved before the fork and
restored by the process that continues. Invariants: no user code runs here; what cannot be determined counts as an
obstacle. Absent on purpose: when copies are made and which process continues (`checkpoints`, `copies`).
"""

import _thread
import os
import stat
import sys
from time import sleep

from . import stdlib

FORK_SAFE = (b"openblas", b"libiomp5", b"libomp", b"mkl_", b"libarrow")  # they end their threads before a fork
DEVICES = ("/dev/nvidia", "/dev/dri/", "/dev/kfd", "/dev/accel")
LISTENS, SOCKET_LEVEL = 30, 1  # SO_ACCEPTCONN, SOL_SOCKET
uncounted = 0  # threads that Python counts since before a fork, and that are gone
SPARE = 64 << 20  # bytes of memory that stay free


class Passing(str):
    """A reason that may be gone in a moment: on a busy machine, threads begin and end late."""


def find_obstacle(host):
    """The reason why no complete copy can be made, worded to follow "no checkpoint: "; None without one."""
    try:
        return (
            check_threads(host)
            or check_children()
            or check_windows()
            or check_event_loop()
            or check_descriptors()
            or check_locks()
            or check_memory()
        )
    except OSError as error:
        return "this system does not show what the interpreter holds (%s)" % error


def check_threads(host):
    threading = stdlib.get_loaded("threading")
    others = []
    loop = sys.modules.get(__package__ + ".loop")
    if loop is not None:
        loop.end_idle_threads()
    if threading is not None:
        main = threading.main_thread()
        others = [thread for thread in threading.enumerate() if thread is not main and thread.is_alive()]
        for thread in others:
            if not thread.name.startswith("IPythonHistory"):
                return "the thread `%s` is running" % thread.name
    if host.requests.has_waiters():
        return "a thread is waiting for input or for an answer from the session"
    host.requests.stop_reader()  # it was there for threads that asked
    safe = None
    for _look in range(50):  # ms: a thread is counted a moment after its start, and a moment after its end
        running = _thread._count() - uncounted
        native = len(os.listdir("/proc/self/task")) - 1 - running
        if native > 0 and safe is None:
            safe = ends_threads_before_fork()
        if running <= len(others) + 1 and (native <= 0 or safe):
            return None
        sleep(0.001)
    if running > len(others) + 1:  # ours watches the host
        return Passing("a thread started with `_thread` is running")
    return Passing("%d native thread(s) are running" % native)


def ends_threads_before_fork():
    with open("/proc/self/maps", "rb") as file:
        maps = file.read()
    return any(name in maps for name in FORK_SAFE)


def check_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    for child in list_children():
        if child == resource_tracker_pid():
            continue
        state, name = process_state(child)
        if state not in ("Z", "X"):
            return "process %d (%s), which it started, is still running" % (child, name)
    return None


def resource_tracker_pid():
    """Started once by `multiprocessing`, and shared with all that a fork makes: a copy goes on with it."""
    module = stdlib.get_loaded("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None)


def list_children():
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        return [int(word) for word in file.read().split()]


def process_state(process):
    try:
        with open("/proc/%d/stat" % process, errors="replace") as file:
            head, _, rest = file.read().rpartition(")")
        return rest.split()[0], head.partition("(")[2]
    except (OSError, IndexError):
        return "X", ""


def check_windows():
    """GUI toolkits talk to a display server that knows one process."""
    tkinter = stdlib.get_loaded("tkinter")
    if tkinter is not None and getattr(tkinter, "_default_root", None) is not None:
        return "a Tk window is open"
    for name in ("PyQt5", "PyQt6", "PySide2", "PySide6"):
        widgets = sys.modules.get(name + ".QtWidgets")
        if widgets is not None and widgets.QApplication.instance() is not None:
            return "a Qt application is running"
    for name in ("gi.repository.Gtk", "wx"):
        if name in sys.modules:
            return "a graphical toolkit (%s) is loaded" % name.rpartition(".")[2]
    return None


def check_event_loop():
    loop = sys.modules.get(__package__ + ".loop")
    if loop is None or loop.own is None or loop.own.is_closed():
        return None
    import asyncio

    if not isinstance(loop.own, asyncio.SelectorEventLoop):
        return "its event loop is not one of asyncio's own (%s)" % type(loop.own).__module__
    return None


def check_descriptors():
    for fd, target in list_descriptors():
        if target.startswith("socket:"):
            if is_listening(fd):
                return "a socket is listening (descriptor %d)" % fd
        elif target.startswith(DEVICES):
            return "a GPU is in use (%s)" % target
    return None


def list_descriptors():
    """Number and target of each descriptor that is not ours."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        if int(name) < 198 or int(name) > 400:
            try:
                found.append((int(name), os.readlink("/proc/self/fd/" + name)))
            except OSError:
                pass  # the one that lists them
    return found


def is_listening(fd):
    import _socket

    other = _socket.socket(fileno=os.dup(fd))
    try:
        return bool(other.getsockopt(SOCKET_LEVEL, LISTENS))
    except OSError:
        return False
    finally:
        other.close()


def count_connections():
    """The number of sockets connected to other machines or processes, Unix sockets aside."""
    count = 0
    for fd, target in list_descriptors():
        if target.startswith("socket:"):
            import _socket

            other = _socket.socket(fileno=os.dup(fd))
            try:
                count += other.family != _socket.AF_UNIX and bool(other.getpeername())
            except OSError:
                pass
            finally:
                other.close()
    return count


def check_locks():
    """A fork's child does not hold the locks of its parent: a database in the middle of its work."""
    mine = str(os.getpid())
    try:
        with open("/proc/locks") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    for row in rows:
        if len(row) > 5 and row[1] == "POSIX" and row[4] == mine:
            inode = int(row[5].rpartition(":")[2])
            return "it holds a lock on a file%s" % describe_inode(inode)
    return None


def describe_inode(inode):
    for fd, target in list_descriptors():
        try:
            if os.fstat(fd).st_ino == inode:
                return " (%s)" % target
        except OSError:
            pass
    return ""


def check_memory():
    """A copy needs what both write to twice."""
    own = memory_by_kind("/proc/self/smaps_rollup").get("Anonymous", 0) if resident_bytes() > SPARE else 0
    left = available_memory()
    if own and left is not None and own + SPARE > left:
        return "the interpreter holds %s, and %s of memory is left" % (format_size(own), format_size(left))
    return None


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def memory_by_kind(path):
    """Bytes by kind, from a `smaps_rollup`; empty where there is none."""
    found = {}
    try:
        with open(path) as file:
            for line in file:
                words = line.split()
                if len(words) == 3 and words[2] == "kB":
                    found[words[0][:-1]] = int(words[1]) << 10
    except OSError:
        pass
    return found


def available_memory():
    """Bytes that can be had without swapping: of the machine, of the group of processes; None: nobody knows."""
    left = []
    try:
        with open("/proc/meminfo") as file:
            left = [int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable")]
    except OSError:
        pass
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            with open(limit) as file:
                most = file.read().strip()
            with open(used) as file:
                left += [int(most) - int(file.read())] if most.isdigit() else []
        except OSError:
            pass
    return max(min(left), 0) if left else None


def format_size(number):
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return "%d %s" % (number, unit)
        number /= 1000
    return "%.1f GB" % number


class ForkState:
    """State saved before a fork and restored in a copy that takes over."""

    def __init__(self):
        random = stdlib.get_loaded("random")
        inst = getattr(random, "_inst", None)
        self.random = inst and inst.getstate()  # a fork's child is seeded anew
        self.save_offsets()

    def save_offsets(self):
        """Saves the offsets of open files, which a fork's child shares."""
        self.offsets = []
        for fd, _target in list_descriptors():
            try:
                if fd > 2 and stat.S_ISREG(os.fstat(fd).st_mode):
                    self.offsets.append((fd, os.lseek(fd, 0, os.SEEK_CUR)))
            except OSError:
                pass

    def restore_offsets(self):
        for fd, place in self.offsets:
            try:
                os.lseek(fd, place, os.SEEK_SET)
            except OSError:
                pass

    def restore(self):
        """Restores the state in a copy that takes over."""
        if self.random is not None:
            stdlib.get_loaded("random")._inst.setstate(self.random)
        self.restore_offsets()
        loop = sys.modules.get(__package__ + ".loop")
        if loop is not None and loop.own is not None and not loop.own.is_closed():
            loop.renew(loop.own)
        shell = getattr(sys.modules[__package__].engine, "shell", None)
        history = getattr(shell, "history_manager", None)
        if getattr(history, "save_thread", None) is not None:
            history.save_thread = type(history.save_thread)(history)
            history.save_thread.start()
