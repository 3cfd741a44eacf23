"""The end of the runner: what Python would do at exit, with a limit on what can hang.

In: the exit code. Out: nothing; does not return. Invariant: non-daemon threads get a second, then `atexit` runs, then the process
ends without finalising the interpreter.
"""

import _signal
import os
import sys

from . import wire

THREADS_GET = 1.0  # seconds


class TimeUp(BaseException):
    pass


def leave(code):
    parts = sys.modules[__package__].parts
    if parts.dirty:
        parts.save()
    threading = sys.modules.get("threading")
    if threading is not None and has_company(threading):
        wait_for_threads(threading)
    atexit = sys.modules.get("atexit")
    if atexit is not None:
        try:
            atexit._run_exitfuncs()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
    wire.flush_streams()
    os._exit(code)


def has_company(threading):
    main = threading.main_thread()
    return any(not thread.daemon and thread is not main for thread in threading.enumerate())


def wait_for_threads(threading):
    def up(_signal, _frame):
        raise TimeUp

    try:
        _signal.signal(_signal.SIGALRM, up)
        _signal.setitimer(_signal.ITIMER_REAL, THREADS_GET)
        threading._shutdown()
    except TimeUp:
        pass
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
