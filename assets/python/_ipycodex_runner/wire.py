"""The two private pipes: request lines in, frame lines out, and the marks that order frames against the cell's output.

In: the descriptors and the nonce of the command line. Out: decoded requests, one written line a frame. Invariants: a
frame is one line under one lock and is never cut by an interrupt; a forked child writes nothing here; every string that
leaves decodes as Unicode (lone surrogates become U+FFFD). Absent on purpose: `json`, `threading` and `signal`, which
would double the start time; their C halves are used directly. Protocol version 1.
"""

import os
import sys
from _operator import is_
from _signal import SIGINT, SIGURG, default_int_handler, getsignal, pthread_kill, set_wakeup_fd, signal
from _thread import RLock, allocate_lock, get_ident, start_new_thread

PROTOCOL = 1
MAX_LINE = 64 << 20  # bytes of one frame
MAX_PLAIN = 2 << 20  # characters of one `text/plain`: every reader of the frame pays for more
MAIN = get_ident()

try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner

    class ScannerOptions:
        strict = False
        object_hook = object_pairs_hook = memo = None
        parse_float = float
        parse_int = int
        parse_constant = float

    scan = make_scanner(ScannerOptions)

    def decode(text):
        """The value of one JSON line. Raises ValueError when it is not exactly that."""
        try:
            value, end = scan(text, 0)
        except StopIteration:
            raise ValueError("not JSON") from None
        if text[end:].strip():
            raise ValueError("text after the JSON value")
        return value

    def encode(value):
        encoder = make_encoder({}, repr, encode_basestring_ascii, None, ":", ",", False, False, False)
        return "".join(encoder(value, 0))

except ImportError:  # an interpreter without the C half
    import json

    decode = json.loads

    def encode(value):
        return json.dumps(value, default=repr, allow_nan=False, separators=(",", ":"))


DEEPEST = 60  # levels of a value: the host's reader gives up at 128


def sanitize(value, depth=0):
    """The nearest value that JSON, Unicode and a reader with limits can carry."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int):
        return value if value.bit_length() < 64 else "<int of %d bits>" % value.bit_length()
    if isinstance(value, (dict, list, tuple)) and depth < DEEPEST:
        if isinstance(value, dict):
            return {
                sanitize(key) if isinstance(key, str) else str(key): sanitize(item, depth + 1)
                for key, item in value.items()
            }
        return [sanitize(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if value is None:
        return value
    return sanitize(repr(value)[:MAX_PLAIN])


def dump(value):
    """`value` as one line of ASCII JSON that strict readers accept."""
    try:
        text = encode(value)
    except (ValueError, TypeError, RecursionError):
        text = encode(sanitize(value))
    if "\\ud" in text:
        text = encode(sanitize(value))
    return text


class Interrupts:
    """When SIGINT may raise. `user` is true while user code runs; `held` counts sections that must not be cut."""

    user = False
    held = 0
    pending = False
    repeating = False  # an interrupt fell into `uninterruptible` code and is being repeated
    notify_program = None  # sends a repeated interrupt to the program being waited for: the first came before its start
    after_repeat = ()  # called when the repeating is over
    expected = False  # the host knows that user code begins, and it does not run yet
    early = False  # an interrupt fell into that moment
    seen = 0  # interrupts that Python has looked at
    wakeup_pipe = (
        None  # a pipe's two ends: its reading end tells the watching thread of signals that Python may sleep through
    )
    cancel = None  # set by the event loop: returns True when it took the interrupt over

    def expect(self):
        """The host will be told that user code begins: from then on an interrupt is meant for that."""
        self.early, self.expected = False, True

    def begin(self):
        """User code begins. What interrupted other code before, and found no place there, is over."""
        self.pending = self.repeating = False
        self.user = True
        self.expected = False
        if self.early:
            self.early = False
            raise KeyboardInterrupt

    def open_wakeup_pipe(self):
        """Python writes the number of each signal there the moment it comes, long before it looks at it."""
        self.wakeup_pipe = open_private_pipe(202)
        for fd in self.wakeup_pipe:
            os.set_blocking(fd, False)
        os.register_at_fork(after_in_child=self.drop_wakeup_fd)
        signal(SIGURG, is_)  # which does nothing, but ends a system call that sleeps
        self.install_wakeup_fd()

    def install_wakeup_fd(self):
        """Installs the wake-up descriptor again after a cell, unless user code has set another."""
        if self.wakeup_pipe is not None:
            old = set_wakeup_fd(self.wakeup_pipe[1], warn_on_full_buffer=False)
            if old not in (-1, self.wakeup_pipe[1]):
                set_wakeup_fd(old, warn_on_full_buffer=False)

    def drop_wakeup_fd(self):
        """Drops the pipe in a forked child, whose signals are its own."""
        if self.wakeup_pipe is not None:
            self.wakeup_pipe = None
            set_wakeup_fd(-1)

    def drain_wakeup_pipe(self):
        """Empties the pipe: Python handles the signal, so nobody has to repeat it."""
        if self.wakeup_pipe is not None:
            try:
                os.read(self.wakeup_pipe[0], 64)
            except OSError:
                pass

    def repeat(self, patience):
        """For the watching thread, when the bell has rung: wakes the main thread until it looks at the interrupt, which
        may have come between its last look and a system call that sleeps. `patience(ms)` waits, and is true when the
        host is gone."""
        # the signal handler empties the pipe: a number still there belongs to an unhandled signal
        before = self.seen
        try:
            numbers = os.read(self.wakeup_pipe[0], 512)
        except (OSError, TypeError):
            return False
        rung = SIGINT in numbers
        for pause in (2, 20, 200, 1000) if set(numbers).difference((SIGINT, SIGURG)) else ():  # ms
            if getsignal(SIGURG) is not is_:
                break
            if patience(pause):
                return True
            pthread_kill(MAIN, SIGURG)
        pause = 2
        while rung and self.seen == before and (self.user or self.expected) and getsignal(SIGURG) is is_:
            if pause == 100 and getsignal(SIGINT) is not on_sigint:
                break  # another handler does not tell that it was called
            if patience(pause):
                return True
            pthread_kill(MAIN, SIGURG)
            pause = min(pause * 2, 100)
        return False

    def wait(self):
        """Repeats an interrupt that came in code where it cannot raise, until it comes elsewhere."""
        if not self.repeating:
            self.repeating = True
            start_new_thread(repeat_interrupt, ())

    def hold(self):
        if get_ident() == MAIN:
            self.held += 1

    def release(self):
        if get_ident() == MAIN:
            self.held -= 1
            if self.pending and not self.held:
                self.pending = False
                if self.user:
                    raise KeyboardInterrupt


interrupts = Interrupts()


uninterruptible = set()  # code objects in which an interrupt waits


class SigintHandler:
    """What Python calls on SIGINT, and what libraries find as `signal.default_int_handler`: they handle SIGINT
    themselves only where that does. `__call__` is a property that picks the C function to be called, so that what it
    raises has no frame of the runner in its traceback."""

    def __init__(self):
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(self, name, getattr(default_int_handler, name, None))

    def __repr__(self):
        return repr(default_int_handler)

    def install(self):
        for name in ("_signal", "signal"):
            if name in sys.modules:
                sys.modules[name].default_int_handler = self
        signal(SIGINT, self)

    @property
    def __call__(self):
        interrupts.seen += 1
        interrupts.drain_wakeup_pipe()
        if not interrupts.user:
            interrupts.repeating = False
            interrupts.early = interrupts.early or interrupts.expected
        elif interrupts.held:
            interrupts.pending = True
            if interrupts.repeating:
                interrupts.repeating = False
                if interrupts.notify_program is not None:
                    interrupts.notify_program()
        elif sys._getframe(1).f_code in uninterruptible:
            interrupts.wait()
        else:
            interrupts.repeating = False
            if interrupts.cancel is None or not interrupts.cancel():
                return default_int_handler
        return is_  # takes both arguments and does nothing


on_sigint = SigintHandler()


def on_unraisable(ignored, python=sys.unraisablehook):
    """Python ignores what is raised in callbacks of weak references, in `__del__` and their like, an interrupt too."""
    if ignored.exc_type is KeyboardInterrupt and interrupts.user and get_ident() == MAIN:
        interrupts.wait()
    else:
        python(ignored)


sys.unraisablehook = on_unraisable


def repeat_interrupt():
    """Repeats an interrupt until the handler has taken it: one may fall between Python's last look and a system call
    that sleeps."""
    from time import sleep

    pause = 0.002
    while True:
        sleep(pause)
        if not interrupts.repeating or getsignal(SIGINT) is not on_sigint:
            break
        pthread_kill(MAIN, SIGINT)
        pause = min(pause * 1.2, 0.1)  # the reader of the stream may take its time
    interrupts.repeating = False
    come_back, interrupts.after_repeat = interrupts.after_repeat, ()
    for function in come_back:
        function()


def raised_in_handler(error):
    """True for what was not raised by the system call that its handler surrounds, but in the midst of it."""
    return error.__traceback__.tb_next is not None


def write_all(fd, data):
    """Writes every byte, also when user code made the stream non-blocking. Returns what a signal handler has raised
    meanwhile."""
    view, written, raised = memoryview(data), [], None
    while True:
        try:
            while sum(written) < len(view):
                # no handler runs between the write and the keeping of its count
                written.extend(map(os.write, (fd,), (view[sum(written) :],)))
            break
        except BlockingIOError:
            import select

            select.select((), (fd,), (), 1)
        except OSError as error:
            if not raised_in_handler(error):
                raise
            raised = error
        except BaseException as error:
            raised = error
    return raised


def flush(stream):
    try:
        stream.flush()
    except Exception:
        pass  # the cell closed or replaced the stream


def flush_streams():
    """Pushes Python's buffered output out, also of streams that a cell put in place of the real ones."""
    for ours, cells in ((sys.__stdout__, sys.stdout), (sys.__stderr__, sys.stderr)):
        flush(cells)
        if cells is not ours:
            flush(ours)


class Frames:
    """Writer of frames and marks."""

    def __init__(self, fd, nonce, pty):
        self.fd = fd
        self.pid = os.getpid()
        self.lock = RLock()
        self.mark_prefix = ("\x1b]7717;%s;" % nonce).encode("ascii")
        self.synced = 0
        self.outputs = [duplicate_high(1, 200)] if pty else [duplicate_high(1, 200), duplicate_high(2, 201)]
        self.pty = pty
        self.deferred = []
        self.last_done = None  # id of the last cell whose `done` was sent

    def is_forked(self):
        return os.getpid() != self.pid

    def mark(self, word):
        """Flushes and writes one mark to each output stream."""
        flush_streams()
        data = self.mark_prefix + word.encode("ascii") + b"\x07"
        for fd in self.outputs:
            try:
                write_all(fd, data)
            except OSError:
                pass  # the host is gone: the frame pipe will tell

    def send(self, frame, ordered=True):
        """Sends one frame, and those that `defer` kept before it; ordered ones come after all output written so far."""
        if self.is_forked():
            return
        interrupts.hold()
        try:
            with self.lock:
                if ordered:
                    self.synced += 1
                    self.mark(str(self.synced))
                    frame["sync"] = self.synced
                lines = []
                for kept in self.deferred:
                    if ordered:
                        kept["sync"] = self.synced
                    lines.append(encode_frame(kept))
                del self.deferred[:]
                lines.append(encode_frame(frame))
                raised = write_all(self.fd, b"".join(lines))
                self.last_done = frame.get("id") if frame["type"] == "done" else self.last_done
            if raised is not None:
                raise raised
        except BrokenPipeError:
            os._exit(0)
        finally:
            interrupts.release()

    def defer(self, frame):
        """Keeps an ordered frame for the next ordered `send`: one write in place of two. Only when no user code runs in
        between."""
        self.deferred.append(frame)

    def announce_program(self, word):
        """Announces that a foreground program owns the terminal (`own`) or has left it (`back`)."""
        if self.pty and not self.is_forked():
            interrupts.hold()
            try:
                with self.lock:
                    self.mark(word)
            finally:
                interrupts.release()


def encode_frame(frame):
    bundle = frame.get("bundle")
    for kind in ("metadata", "transient", "code", "data"):
        if frame.get(kind):
            frame[kind] = sanitize(frame[kind])
    if bundle is not None:
        if any(type(item) is not str for item in bundle.values()):
            bundle = frame["bundle"] = {
                kind: item if type(item) is str else sanitize(item) for kind, item in bundle.items()
            }
        text = bundle.get("text/plain")
        if type(text) is str and len(text) > MAX_PLAIN:
            from . import truncate

            frame["bundle"] = dict(bundle, **{"text/plain": truncate.truncate(text, MAX_PLAIN)})
    data = dump(frame).encode("ascii") + b"\n"
    if len(data) <= MAX_LINE:
        return data
    small = {
        key: value
        for key, value in frame.items()
        if key not in ("bundle", "metadata", "transient", "traceback", "tool", "error", "data", "buffers")
    }
    note = "[%d bytes: more than one frame can carry (%d)]" % (len(data), MAX_LINE)
    if "bundle" in frame:
        small["bundle"] = {"text/plain": note}
    elif frame.get("type") == "answer":
        small["error"] = {"ename": "ProtocolError", "evalue": note, "traceback": []}
    else:
        small["traceback"] = [note]
    return dump(small).encode("ascii") + b"\n"


def open_private_pipe(number):
    """Both ends of a pipe, high up, closed to children."""
    ends = os.pipe()
    high = tuple(duplicate_high(fd, number + index) for index, fd in enumerate(ends))
    for fd in ends:
        if fd not in high:
            os.close(fd)
    for fd in high:
        os.set_inheritable(fd, False)
    return high


def duplicate_high(fd, number):
    """A duplicate of an output stream high up, where code that closes descriptors does not hit it."""
    try:
        os.fstat(number)
    except OSError:
        try:
            return os.dup2(fd, number, False)
        except OSError:
            pass
    try:
        return os.dup(fd)
    except OSError:
        return fd
