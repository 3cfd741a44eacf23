"""A time limit for a value's own methods: `str()`, `repr()`, drawing.

In: a function and seconds. Out: its value, or `TookTooLong`. Invariants: an interrupt of the user's stays a
`KeyboardInterrupt`; no signal handler or timer of the user's changes. Absent on purpose: stopping C code that never
checks for signals, which is impossible.
"""

from _signal import SIGINT, getsignal
from _thread import allocate_lock, start_new_thread

from .wire import MAIN, interrupts, on_sigint

RETRY = 1.0  # seconds to the next push, for code that swallowed one


class TookTooLong(Exception):
    """The function was stopped at its limit."""


def run_within(seconds, function, *arguments):
    """`function(*arguments)`, interrupted after `seconds`, or, where that is a function, when it returns 0: it is asked
    how long to wait until it is asked again. Only on the main thread, with interrupts on."""
    if getsignal(SIGINT) is not on_sigint or not interrupts.user:
        return function(*arguments)  # the user handles SIGINT: not ours to send
    over = allocate_lock()
    over.acquire()
    state = []
    try:
        start_new_thread(interrupt_after, (seconds, over, state))
    except RuntimeError:
        return function(*arguments)  # thread limit
    try:
        try:
            return function(*arguments)
        finally:
            stop_timer(over, state)
    except (Exception, KeyboardInterrupt):
        if "pushed" in state:
            raise TookTooLong from None
        raise
    finally:
        state.append("over")


def stop_timer(over, state):
    """Ends the watching thread; a push on its way does not reach the code that follows."""
    interrupts.hold()
    try:
        state.append("over")
        over.release()
        if "pushed" in state:
            interrupts.pending = False
    finally:
        interrupts.release()


def interrupt_after(seconds, over, state):
    from _signal import pthread_kill

    ask = seconds if callable(seconds) else None
    seconds = ask() if ask is not None else seconds
    while not over.acquire(True, seconds):
        if "over" in state:
            return
        if ask is not None and "pushed" not in state:
            more = ask()
            if more:
                seconds = more
                continue
        state.append("pushed")
        pthread_kill(MAIN, SIGINT)
        seconds = RETRY


def type_name(value):
    """The name of a value's type, whatever its metaclass makes of attributes."""
    return type.__dict__["__name__"].__get__(type(value))


def describe_failure(error, doing, seconds):
    """The text shown in place of one that could not be computed."""
    if isinstance(error, TookTooLong):
        return "Error: %s took longer than %d s" % (doing, seconds)
    try:
        text = str(error)
    except Exception:
        text = "<unprintable>"
    name = type(error).__name__
    return "Error: %s: %s" % (name, text) if text else "Error: %s" % name
