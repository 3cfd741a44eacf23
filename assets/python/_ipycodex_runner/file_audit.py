"""The files that code writes and the programs it starts, as Python's audit events report them (PEP 578).

In: audit events. Out: names in the list `current`. Invariants: an event costs one name comparison while nobody listens;
only texts of the user's are stored. Absent on purpose: writes of C libraries that bypass Python's calls.
"""

import os
import sys

MOST = 100  # names stored
current = None  # the list of the running code; None: events are ignored
CHANGING = {
    "os.remove": 0,
    "os.rename": 1,
    "os.mkdir": 0,
    "os.rmdir": 0,
    "os.truncate": 0,
    "os.link": 1,
    "os.symlink": 1,
}
STARTING = ("subprocess.Popen", "os.system", "os.posix_spawn")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
NOT_FILES = ("/dev/", "/proc/")
installed = False


def install():
    global installed
    if not installed:
        installed = True
        sys.addaudithook(on_event)


def on_event(event, arguments):
    if current is not None and (event == "open" or event in CHANGING or event in STARTING):
        try:
            record_event(event, arguments)
        except Exception:
            pass  # an audit hook that raises forbids what it hears of


def record_event(event, arguments):
    if event == "open":
        path, _mode, flags = arguments
        if not isinstance(flags, int) or not flags & WRITING:
            return
    elif event in STARTING:
        what = arguments[1] if event == "subprocess.Popen" and arguments[1] else arguments[0]
        text = os.fsdecode(what) if isinstance(what, (str, bytes)) else " ".join(map(os.fsdecode, what or ()))
        return add_name("process: " + text[:80])
    else:
        path = arguments[CHANGING[event]]
    if isinstance(path, (str, bytes, os.PathLike)):
        path = os.fsdecode(path)
        if "__pycache__" not in path and not path.startswith(NOT_FILES):
            add_name(os.path.abspath(path))


def add_name(name):
    if name not in current and len(current) < MOST:
        current.append(name)
