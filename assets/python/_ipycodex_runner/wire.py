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
MAX_PLAIN = 2 << 20  # characters of one `text/plain`: nobody reads more, and every reader of the frame pays for it
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


def clean(value, depth=0):
    """The nearest value that JSON, Unicode and a reader with limits can carry."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int):
        return value if value.bit_length() < 64 else "<int of %d bits>" % value.bit_length()
    if isinstance(value, (dict, list, tuple)) and depth < DEEPEST:
        if isinstance(value, dict):
            return {
                clean(key) if isinstance(key, str) else str(key): clean(item, depth + 1) for key, item in value.items()
            }
        return [clean(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if value is None:
        return value
    return clean(repr(value)[:MAX_PLAIN])


def dump(value):
    """`value` as one line of ASCII JSON that strict readers accept."""
    try:
        text = encode(value)
    except (ValueError, TypeError, RecursionError):
        text = encode(clean(value))
    if "\\ud" in text:
        text = encode(clean(value))
    return text


class Interrupts:
    """When SIGINT may raise. `user` is true while user code runs; `held` counts sections that must not be cut."""

    user = False
    held = 0
    pending = False
    again = False  # an interrupt fell into `uncut` code and is being repeated
    program = None  # tells the program that is waited for of one that is being repeated: it came before that began
    after_again = ()  # called when the repeating is over
    awaited = False  # the host has been told that user code begins, and it does not run yet
    early = False  # an interrupt fell into that moment
    seen = 0  # interrupts that Python has looked at
    bell = None  # a pipe's two ends: its reading end tells the watching thread of signals that Python may sleep through
    cancel = None  # set by the event loop: returns True when it took the interrupt over

    def expect(self):
        """The host will be told that user code begins: from then on an interrupt is meant for that."""
        self.early, self.awaited = False, True

    def begin(self):
        """User code begins."""
        self.pending = False
        self.user = True
        self.awaited = False
        if self.early:
            self.early = False
            raise KeyboardInterrupt

    def make_bell(self):
        """Python writes the number of each signal there the moment it comes, long before it looks at it."""
        self.bell = private_pipe(202)
        for fd in self.bell:
            os.set_blocking(fd, False)
        os.register_at_fork(after_in_child=self.leave_bell)
        signal(SIGURG, is_)  # which does nothing, but ends a system call that sleeps
        self.hang_bell()

    def hang_bell(self):
        """Puts the bell back after a cell; another one that user code hung there stays."""
        if self.bell is not None:
            old = set_wakeup_fd(self.bell[1], warn_on_full_buffer=False)
            if old not in (-1, self.bell[1]):
                set_wakeup_fd(old, warn_on_full_buffer=False)

    def leave_bell(self):
        """A forked child's signals are its own."""
        if self.bell is not None:
            self.bell = None
            set_wakeup_fd(-1)

    def hush(self):
        """The signal is being looked at: nobody has to repeat it."""
        if self.bell is not None:
            try:
                os.read(self.bell[0], 64)
            except OSError:
                pass

    def repeat(self, patience):
        """For the watching thread, when the bell has rung: wakes the main thread until it looks at the interrupt, which
        may have come between its last look and a system call that sleeps. `patience(ms)` waits, and is true when the
        host is gone."""
        # who looks at the signal empties the pipe: a number that is still there has not been looked at
        before = self.seen
        try:
            numbers = os.read(self.bell[0], 512)
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
        while rung and self.seen == before and (self.user or self.awaited) and getsignal(SIGURG) is is_:
            if pause == 100 and getsignal(SIGINT) is not on_sigint:
                break  # another handler does not tell that it was called
            if patience(pause):
                return True
            pthread_kill(MAIN, SIGURG)
            pause = min(pause * 2, 100)
        return False

    def wait(self):
        """Where the interrupt fell it cannot raise: it is repeated until it falls elsewhere."""
        if not self.again:
            self.again = True
            start_new_thread(interrupt_again, ())

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


uncut = set()  # code objects in which an interrupt waits


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
        interrupts.hush()
        if not interrupts.user:
            interrupts.again = False
            interrupts.early = interrupts.early or interrupts.awaited
        elif interrupts.held:
            interrupts.pending = True
            if interrupts.again:
                interrupts.again = False
                if interrupts.program is not None:
                    interrupts.program()
        elif sys._getframe(1).f_code in uncut:
            interrupts.wait()
        else:
            interrupts.again = False
            if interrupts.cancel is None or not interrupts.cancel():
                return default_int_handler
        return is_  # takes both arguments and does nothing


on_sigint = SigintHandler()


def unraisable(ignored, python=sys.unraisablehook):
    """Python ignores what is raised in callbacks of weak references, in `__del__` and their like, an interrupt too."""
    if ignored.exc_type is KeyboardInterrupt and interrupts.user and get_ident() == MAIN:
        interrupts.wait()
    else:
        python(ignored)


sys.unraisablehook = unraisable


def interrupt_again():
    """Repeats an interrupt until the handler has taken it: one may fall between Python's last look and a system call
    that sleeps."""
    from time import sleep

    pause = 0.002
    while True:
        sleep(pause)
        if not interrupts.again or getsignal(SIGINT) is not on_sigint:
            break
        pthread_kill(MAIN, SIGINT)
        pause = min(pause * 1.2, 0.1)  # the reader of the stream may take its time
    interrupts.again = False
    come_back, interrupts.after_again = interrupts.after_again, ()
    for function in come_back:
        function()


def in_handler(error):
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
            if not in_handler(error):
                raise
            raised = error
        except BaseException as error:
            raised = error
    return raised


def flush(stream):
    try:
        stream.flush()
    except Exception:
        pass  # closed or replaced by the cell: its own affair


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
        self.outputs = [private_copy(1, 200)] if pty else [private_copy(1, 200), private_copy(2, 201)]
        self.pty = pty
        self.waiting = []
        self.ended = None  # the last cell whose end was told

    def forked(self):
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
        """Sends one frame, and those that `later` kept before it; ordered ones come after all output written so far."""
        if self.forked():
            return
        interrupts.hold()
        try:
            with self.lock:
                if ordered:
                    self.synced += 1
                    self.mark(str(self.synced))
                    frame["sync"] = self.synced
                lines = []
                for kept in self.waiting:
                    if ordered:
                        kept["sync"] = self.synced
                    lines.append(line_of(kept))
                del self.waiting[:]
                lines.append(line_of(frame))
                raised = write_all(self.fd, b"".join(lines))
                self.ended = frame.get("id") if frame["type"] == "done" else self.ended
            if raised is not None:
                raise raised
        except BrokenPipeError:
            os._exit(0)
        finally:
            interrupts.release()

    def later(self, frame):
        """Keeps an ordered frame for the next ordered `send`: one write in place of two. Only when no user code runs in
        between."""
        self.waiting.append(frame)

    def program(self, word):
        """Announces that a foreground program owns the terminal (`own`) or has left it (`back`)."""
        if self.pty and not self.forked():
            interrupts.hold()
            try:
                with self.lock:
                    self.mark(word)
            finally:
                interrupts.release()


def line_of(frame):
    bundle = frame.get("bundle")
    for kind in ("metadata", "transient", "code", "data"):
        if frame.get(kind):
            frame[kind] = clean(frame[kind])
    if bundle is not None:
        if any(type(item) is not str for item in bundle.values()):
            bundle = frame["bundle"] = {
                kind: item if type(item) is str else clean(item) for kind, item in bundle.items()
            }
        text = bundle.get("text/plain")
        if type(text) is str and len(text) > MAX_PLAIN:
            from . import cut

            frame["bundle"] = dict(bundle, **{"text/plain": cut.cut(text, MAX_PLAIN)})
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


def private_pipe(number):
    """Both ends of a pipe, high up, closed to children."""
    ends = os.pipe()
    high = tuple(private_copy(fd, number + index) for index, fd in enumerate(ends))
    for fd in ends:
        if fd not in high:
            os.close(fd)
    for fd in high:
        os.set_inheritable(fd, False)
    return high


def private_copy(fd, number):
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


class Requests:
    """Reader of request lines. The main thread reads them itself until another thread has to wait for an answer of the
    host; from then on a reader thread hands them out, until it is stopped."""

    def __init__(self, fd):
        self.fd = fd
        self.got = []  # what was read and not yet looked at
        self.buffer = b""
        self.lines = []
        self.queue = None
        self.lock = RLock()  # held by whoever reads the pipe
        self.replies = {}
        self.bells = ()  # of those who serve requests while they wait

    def read_more(self):
        """Reads once; False at the end of the stream."""
        try:
            if not self.got:
                # kept before a signal handler runs, which may raise
                self.got.extend(map(os.read, (self.fd,), (1 << 16,)))
        except OSError as error:
            if in_handler(error):
                raise
            return False
        data = self.got[0]
        if not data:
            return False
        del self.got[:]
        if b"\n" not in data:
            self.buffer += data
            return True
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        self.lines.extend(line for line in lines if line.strip())
        return True

    def next_line(self):
        """The next line, blocking; None at the end."""
        if self.queue is not None:
            return self.queue.get()
        with self.lock:
            while not self.lines:
                if not self.read_more():
                    return None
            return self.lines.pop(0)

    def parse(self, line):
        """The request in a line, or None after it was handed to the caller that waits for it. Raises ValueError."""
        value = decode(line.decode("utf-8", "replace").strip())
        if type(value) is not dict:
            raise ValueError("a request is a JSON object")
        if value.get("type") in ("input_reply", "call_reply", "record_reply"):
            box = self.replies.pop(value.get("id"), None)
            if box is not None:
                box.append(value)
                box[0].release()
            return None
        return value

    def start_thread(self):
        from . import reader

        with self.lock:
            if self.queue is None:
                self.thread = reader.Reader(self, private_pipe(206))

    def stop_thread(self):
        """The main thread, which calls this, reads again."""
        with self.lock:
            if self.queue is not None:
                self.thread.stop()

    def is_asked(self):
        """Somebody waits for an answer of the host."""
        return bool(self.replies or self.bells)

    def wake(self):
        """Replaced by the event loop while it waits for requests."""

    def ask(self, call, send):
        """Sends a question and waits for the reply with that id; None at the end of the stream. Requests that come in
        between stay for later. An interrupt ends the waiting before anything is taken from the stream, or after it."""
        box = [allocate_lock()]
        box[0].acquire()
        self.replies[call] = box
        try:
            send()
            if get_ident() != MAIN:
                while not box[0].acquire(True, 0.05):
                    self.start_thread_when_free()
                return box[1] if len(box) > 1 else None
            while len(box) == 1 and self.queue is None:
                with self.lock:
                    if not self.take_replies() and len(box) == 1:
                        return None
            if len(box) == 1:
                box[0].acquire()
            return box[1] if len(box) > 1 else None
        finally:
            self.replies.pop(call, None)

    def take_replies(self):
        """Waits for more of the stream and hands out the replies in it; requests stay in `lines`. False at the end."""
        from select import poll

        poller = poll()
        poller.register(self.fd, 1)  # POLLIN; the end of the stream is always told
        poller.poll()
        interrupts.hold()
        try:
            alive = self.read_more()
            self.lines[:] = [line for line in self.lines if not self.is_reply(line)]
        finally:
            interrupts.release()
        return alive

    def is_reply(self, line):
        """True after a reply was handed to the caller that waits for it."""
        try:
            return b'_reply"' in line and self.parse(line) is None
        except ValueError:
            return False

    def start_thread_when_free(self):
        """From another thread: while the main thread waits for requests it hands replies out itself, and holds the
        lock."""
        if self.queue is None and self.lock.acquire(False):
            try:
                self.start_thread()
            finally:
                self.lock.release()
