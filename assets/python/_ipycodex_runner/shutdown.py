"""The exit of a script, and of the runner: the steps of Python's own exit, for the runner with a time limit.

In: the exit code. Out: nothing; the runner's exit does not return. Invariants: non-daemon threads are joined for one
second or until the host's SIGTERM, whichever comes first, then `atexit` runs; then the process ends without finalising
the interpreter.
"""

import _signal
import os
import sys

from . import stdlib, wire

THREADS_GET = 1.0  # seconds
AFTER_TERM = 0.5  # seconds; the host kills a second after its SIGTERM


class DeadlineReached(BaseException):
    pass


def exit_runner(code):
    parts = sys.modules[__package__].parts
    if parts.dirty:
        parts.save()
    end_of_patience = ExitDeadline(code)
    if _signal.getsignal(_signal.SIGTERM) is _signal.SIG_DFL:
        _signal.signal(_signal.SIGTERM, end_of_patience)
    sys.modules[__package__].host.frames.send({"type": "leaving"}, False)  # from here on the host counts the time
    threading = stdlib.get_loaded("threading")
    if threading is not None and has_other_threads(threading):
        wait_for_threads(threading, end_of_patience)
    atexit = sys.modules.get("atexit")
    if atexit is not None:
        try:
            atexit._run_exitfuncs()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
    wire.flush_streams()
    os._exit(code)


def exit_child(error, lines=None):
    """The end of a forked child, as Python's: `error` is what its cell raised, if anything; `lines` show it."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code
        if code is None:
            code = 0
        elif not isinstance(code, int):
            print_error(str(code))
            code = 1
    elif error is not None:
        from . import tracebacks

        code = 1
        sources = getattr(sys.modules[__package__].engine, "sources", {})
        print_error("\n".join(lines or tracebacks.describe(error, sources, False)["traceback"]))
    try:
        finish_script()
    except BaseException as late:
        sys.excepthook(type(late), late, late.__traceback__)
    wire.flush_streams()
    if isinstance(error, KeyboardInterrupt):
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    os._exit(code & 0xFF)


def print_error(text):
    try:
        print(text, file=sys.stderr)
    except Exception:
        pass  # the cell closed or replaced the stream


def finish_script():
    """Python's own end of a script: joins its threads, however long they take, then runs the exit handlers."""
    threading = stdlib.get_loaded("threading")
    if threading is not None:
        threading._shutdown()
    if "atexit" in sys.modules:
        sys.modules["atexit"]._run_exitfuncs()


class ExitDeadline:
    """The SIGTERM handler at exit: stops waiting for threads, and gives exit handlers `AFTER_TERM` to finish."""

    waiting = False  # for threads

    def __init__(self, code):
        self.code = code

    def __call__(self, signal, frame):
        _signal.signal(_signal.SIGALRM, self.on_timeout)
        _signal.setitimer(_signal.ITIMER_REAL, AFTER_TERM)
        if self.waiting:
            self.waiting = False
            raise DeadlineReached

    def on_timeout(self, signal, frame):
        if self.waiting:
            self.waiting = False
            raise DeadlineReached
        wire.flush_streams()
        os._exit(self.code)


def has_other_threads(threading):
    main = threading.main_thread()
    return any(not thread.daemon and thread is not main for thread in threading.enumerate())


def wait_for_threads(threading, end_of_patience):
    try:
        _signal.signal(_signal.SIGALRM, end_of_patience.on_timeout)
        _signal.setitimer(_signal.ITIMER_REAL, THREADS_GET)
        end_of_patience.waiting = True
        threading._shutdown()
        end_of_patience.waiting = False
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    except DeadlineReached:
        pass
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        end_of_patience.waiting = False
