"""The one event loop: cells with `await` run on it, and between cells the runner waits for requests on it.

In: coroutines of cells, the request pipe. Out: values, request lines. Invariants: the loop is never closed, so
background tasks live on; outside an `await` cell no loop is running, so `asyncio.run()` works. In a kernel such code
finds the loop running all the same, as in ipykernel (`asyncio.create_task()`), but where it runs one itself. Absent on
purpose: `asyncio.run`.
"""

import asyncio
import functools

from .wire import MAIN, get_ident, interrupts

own = None
interrupted = []  # not empty: the running cell was cancelled by an interrupt
shown = None  # the loop that code finds running which does not
lost = []  # what waited with descriptors that a cell has closed: closing it could close what has the number now


def get():
    """The persistent loop; a loop that user code made current before we had one is adopted."""
    global own
    if own is None or own.is_closed():
        current = getattr(getattr(asyncio.get_event_loop_policy(), "_local", None), "_loop", None)
        if current is None or current.is_closed() or current.is_running():
            current = asyncio.new_event_loop()
        own = current
    return own


def reset():
    """For a forked copy: a loop of its own, since the old one's selector is shared with the interpreter."""
    global own, shown
    asyncio._set_running_loop(None)
    shown = None
    own = asyncio.new_event_loop()
    make_current()


def renew(loop):
    """The kernel's list of what the loop waits for is shared with the process it was copied from: it gets its own."""
    old, ends = replace_selector(loop)
    for each in (old,) + ends:
        each.close()


def repair(loop):
    """A cell has closed what the loop waits with: it is made anew, and the tasks go on."""
    global own
    if isinstance(loop, asyncio.SelectorEventLoop):
        lost.append(replace_selector(loop))
    else:
        own = asyncio.new_event_loop()
        make_current()


def replace_selector(loop):
    """Gives a loop a selector and a way to be woken; returns those it had."""
    old, ends = loop._selector, (loop._ssock, loop._csock)
    loop._selector = type(old)()
    for key in list(old.get_map().values()):
        if key.fileobj is not ends[0] and key.fd != ends[0].fileno():
            try:
                loop._selector.register(key.fileobj, key.events, key.data)
            except (OSError, ValueError):
                pass  # closed, too
    loop._internal_fds -= 1
    loop._make_self_pipe()
    return old, ends


def end_idle_threads():
    """Ends the threads that the loop itself keeps for `asyncio.to_thread` while they have nothing to do; it makes
    others when it needs them."""
    executor = getattr(own, "_default_executor", None)
    if not str(getattr(executor, "_thread_name_prefix", "")).startswith("asyncio"):
        return  # there is none, or it is the user's
    if executor._work_queue.empty() and executor._idle_semaphore._value >= len(executor._threads):
        own._default_executor = None
        executor.shutdown(wait=False)
        for thread in list(executor._threads):
            thread.join(0.1)


def make_current():
    """`asyncio.run` leaves no current loop behind."""
    asyncio.set_event_loop(get())


def show_running():
    """The code of a cell finds the loop running; what it schedules waits for the end of the cell."""
    global shown
    if get_ident() != MAIN or asyncio._get_running_loop() is not None:
        return
    if not hasattr(asyncio.run, "hides_the_loop"):
        asyncio.run = asyncio.runners.run = wrap_hidden(asyncio.run)
        base = asyncio.BaseEventLoop
        base.run_forever, base.run_until_complete = wrap_hidden(base.run_forever), wrap_hidden(base.run_until_complete)
        if hasattr(asyncio, "Runner"):
            asyncio.Runner.run = wrap_hidden(asyncio.Runner.run)
    make_current()
    shown = get()
    asyncio._set_running_loop(shown)


def hide_running():
    """Hides the loop from the cell's code; True if it was shown."""
    global shown
    was, shown = shown, None
    if was is None or get_ident() != MAIN or asyncio._get_running_loop() is not was or was.is_running():
        return False
    asyncio._set_running_loop(None)
    return True


def wrap_hidden(function):
    """Wraps a function that runs a loop itself, so that it finds none running."""

    @functools.wraps(function)
    def alone(*arguments, **options):
        if get_ident() != MAIN or not hide_running():
            return function(*arguments, **options)
        try:
            return function(*arguments, **options)
        finally:
            show_running()

    alone.hides_the_loop = True
    return alone


def run(coroutine):
    was_shown = get_ident() == MAIN and hide_running()
    try:
        return run_alone(coroutine)
    finally:
        if was_shown:
            show_running()


def run_alone(coroutine):
    """Runs a cell's coroutine to its end. An interrupt cancels it where it waits, or breaks into running Python
    code."""
    if get_ident() != MAIN or asyncio._get_running_loop() is not None:
        return run_on_thread(coroutine)
    make_current()
    loop = get()
    ends = []  # the error that left the coroutine: before Python 3.11 a task does not keep its traceback
    task = loop.create_task(record_cancellation(coroutine, ends))
    del interrupted[:]

    def cancel():
        if asyncio.current_task(loop) is not None or interrupted:
            return False
        interrupted.append(True)
        loop.call_soon_threadsafe(task.cancel)
        return True

    interrupts.cancel = cancel
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError as error:
        if interrupted:
            raise KeyboardInterrupt().with_traceback((ends or [error])[0].__traceback__) from None
        raise
    except (KeyboardInterrupt, SystemExit):
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(asyncio.wait([task], timeout=1))
            except BaseException:
                pass
        elif not task.cancelled():
            task.exception()  # seen: no complaint at garbage collection
        raise
    finally:
        interrupts.cancel = None


def run_on_thread(coroutine):
    """Runs the coroutine on a loop of its own in a new thread, where the one loop cannot be used."""
    import threading

    ends = []

    def work():
        try:
            ends.append((asyncio.run(coroutine), None))
        except BaseException as error:
            ends.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.05)  # an interrupt is taken between two
    value, error = ends[0]
    if error is not None:
        raise error
    return value


async def record_cancellation(coroutine, ends):
    try:
        return await coroutine
    except asyncio.CancelledError as error:
        ends.append(error)
        raise


def next_line(requests):
    """The next request line, letting background tasks run meanwhile; None at the end of the stream."""
    hide_running()
    make_current()
    if requests.queue is not None:
        return next_queued(requests)
    with requests.lock:
        while not requests.lines:
            loop, ended = get(), []

            def readable():
                try:
                    if not requests.read_more():
                        ended.append(True)
                finally:
                    if requests.lines or requests.unparsed or ended:
                        loop.stop()

            try:
                if requests.unparsed:
                    readable()
                else:
                    loop.add_reader(requests.fd, readable)
                    loop.run_forever()
            except BaseException as error:
                recover(loop, error)
            finally:
                loop.remove_reader(requests.fd)
            if ended and not requests.lines:
                return None
        return requests.lines.pop(0)


def recover(loop, error):
    """Handles an exception that ended the loop: its descriptors were closed, or a task failed. Raises it again if it
    came from a signal handler."""
    from . import tracebacks

    frames = [frame for frame, _line, _last in tracebacks.all_frames(error.__traceback__)]
    ours = [tracebacks.in_asyncio(frame) or frame.f_code.co_filename.endswith("/selectors.py") for frame in frames]
    if isinstance(error, OSError) and error.errno is not None and (ours[-1] or tracebacks.is_own(frames[-1])):
        repair(loop)
    elif any(ours[at] and frame.f_code.co_name == "_run" for at, frame in enumerate(frames)):
        tracebacks.strip(error)
        loop.call_exception_handler({"message": "a background task failed", "exception": error})
    else:
        raise error


def next_queued(requests):
    requests.wake = lambda: get().call_soon_threadsafe(get().stop)
    try:
        while requests.queue.empty():
            loop = get()
            try:
                loop.run_forever()
            except BaseException as error:
                recover(loop, error)
    finally:
        del requests.wake
    return requests.queue.get()
