"""The standard streams. `input()` and `sys.stdin` when nobody types: the host asks the user, or refuses at once.
`sys.stdout`: lines leave as they are printed, and in a flood of them into a pipe in blocks.

In: `Host.stdin` of the running cell: `terminal`, `ask` or `refuse`; printed text. Out: `input_request` frames, bytes on
fd 1. Invariants: no read blocks without an answer coming; no printed line waits longer than `TICK`, none is passed by
the output of a program that was started after it; an interrupt neither loses nor repeats a byte; a signal handler may
print at any time; a name that user code bound early (`from getpass import getpass`, `ask = input`) does what the
running code may do. Absent on purpose: `getpass`'s own file handling; blocks on a terminal, where other writers are
seen at once.
"""

import _thread
import builtins
import io
import sys
from time import perf_counter

from . import stdlib, wire
from .wire import interrupts

REFUSED = "input() is not available here: this cell runs without a user who could answer"

python_input = builtins.input
python_stdin = sys.stdin
installed = False


def host():
    return sys.modules[__package__].host


def set_mode(mode):
    """On a terminal: the real thing or ours, as the cell wants it."""
    if mode == "terminal":
        if installed:
            uninstall()
    elif not installed:
        install()


def detach_terminal(mode):
    """`set_mode` for code that owns no terminal: what reads fd 0 itself (C code, programs) finds it empty. Returns what
    `restore_fd0` takes."""
    import os

    set_mode(mode)
    try:
        kept = os.dup(0)
    except OSError:
        kept = None
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
    except OSError:
        pass
    return kept


def restore_fd0(kept):
    import os

    if kept is not None:
        os.dup2(kept, 0)
        os.close(kept)


def install():
    global installed
    installed = True
    builtins.input = ask_input
    sys.stdin = AskedStdin()


def uninstall():
    global installed
    installed = False
    builtins.input = python_input
    sys.stdin = python_stdin


def watch_imports(hooks):
    """`getpass` is ours from its import on."""
    hooks["getpass"] = patch_getpass
    if "getpass" in sys.modules:
        patch_getpass(sys.modules["getpass"])


def patch_getpass(module):
    module.getpass = Getpass(module.getpass)


class Getpass:
    """`getpass.getpass`. `__call__` is a property that picks the function at the moment of the call: on a terminal
    Python's own, with no frame of the runner above it."""

    def __init__(self, python_getpass):
        self.__wrapped__ = python_getpass
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(self, name, getattr(python_getpass, name, None))

    @property
    def __call__(self):
        return ask_password if installed else self.__wrapped__

    def __repr__(self):
        return repr(self.__wrapped__)


def ask_password(prompt="Password: ", stream=None, **_options):
    return ask(str(prompt), True)


def ask_input(prompt="", /):
    if installed and isinstance(sys.stdin, AskedStdin):
        return ask(str(prompt), False)
    return python_input(prompt)  # of a stream that user code put in its place, too


def ask(prompt, password):
    """One line from the user. EOFError when refused, at their end of file, or when the host is gone."""
    here = host()
    if here.stdin == "refuse":
        raise EOFError(REFUSED)
    reply = here.ask({"type": "input_request", "prompt": prompt, "password": password})
    if reply is None or reply.get("eof"):
        raise EOFError("EOF when reading a line")
    if reply.get("error"):
        raise EOFError(str(reply["error"]))
    return str(reply.get("value", ""))


class AskedStdin:
    """`sys.stdin` whose lines come from the host."""

    name, mode, encoding, errors, newlines, closed = "<stdin>", "r", "utf-8", "strict", None, False

    def readline(self, size=-1):
        try:
            line = ask("", False) + "\n"
        except EOFError:
            if host().stdin == "refuse":
                raise
            return ""
        return line

    def __iter__(self):
        return iter(self.readline, "")

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def readlines(self, hint=-1):
        return list(self)

    def read(self, size=-1):
        return self.readline() if size is not None and size >= 0 else "".join(self)

    def fileno(self):
        return 0

    def isatty(self):
        return False

    def readable(self):
        return True

    def writable(self):
        return False

    seekable = writable

    def flush(self):
        pass

    close = flush


TICK = 0.005  # seconds
CHUNK = 1 << 18  # bytes of one write: between two, an interrupt may raise
FLOOD = 256  # writes, within two ticks
# of `os`: what follows must not pass, or lose, a block
STARTERS = ("system", "_exit", "abort", "posix_spawn", "posix_spawnp", "execv", "execve", "kill")


class StdoutFile(io.FileIO):
    """fd 1. Sees how fast lines come."""

    writes = 0
    since = 0.0
    flooding = False
    stream = None
    patched = False
    lock = _thread.RLock()  # held during a flush; reentrant for signal handlers

    def write(self, data):
        # `wire.on_sigint` does not raise in here: the count would be lost, and what is written would be written again
        self.writes += 1
        if not self.writes % FLOOD and not self.flooding:
            self.measure_rate()
        count = file_write(self, data if len(data) <= CHUNK else data[:CHUNK])
        if interrupts.repeating:
            self.yield_to_interrupt()
        return count

    def yield_to_interrupt(self):
        """An interrupt waits: until it is through, `write` is Python's own, in which it may raise. Nothing else would
        let it through in a cell that does nothing but print."""
        self.write = super().write
        interrupts.after_repeat += (self.restore_method,)

    def restore_method(self):
        self.__dict__.pop("write", None)

    def measure_rate(self):
        now = perf_counter()
        if now - self.since < 2 * TICK:
            self.flooding = True
            try:
                wire.start_new_thread(self.flush_periodically, ())
            except RuntimeError:
                self.flooding = False  # thread limit: line by line, then
        self.since = now

    def flush_periodically(self):
        """Runs in a thread of its own while the flood lasts: blocks, flushed at every tick."""
        from time import sleep

        stream = self.stream
        try:
            self.patch_starters()
            with self.lock:
                stream.reconfigure(line_buffering=False)
            while True:
                before = self.writes
                sleep(TICK)
                with self.lock:
                    stream.flush()
                    if self.writes - before < 2:
                        stream.reconfigure(line_buffering=True)
                        stream.flush()  # printed while `reconfigure` flushed
                        break
        except Exception:
            pass  # closed by the cell
        finally:
            self.since = 0.0
            self.flooding = False

    def flush_pending(self):
        """Everything printed is out, before something else writes or ends the process."""
        if self.flooding:
            with self.lock:  # `flush_periodically` may have taken a block that it has not written
                wire.flush(self.stream)

    def before_fork(self):
        """A child must not inherit a stream in the middle of a flush: nobody would ever finish it."""
        self.lock.acquire()
        self.flush_pending()

    def after_fork(self):
        try:
            self.lock.release()
        except RuntimeError:
            pass  # the fork began before `patch_starters`

    def in_child(self):
        """A forked child has no `flush_periodically`."""
        self.after_fork()
        self.flooding = False
        try:
            self.stream.reconfigure(line_buffering=True)
        except Exception:
            pass

    def patch_starters(self):
        if self.patched:
            return
        self.patched = True
        import os

        os.register_at_fork(before=self.before_fork, after_in_parent=self.after_fork, after_in_child=self.in_child)
        for name in STARTERS:
            if hasattr(os, name):
                setattr(os, name, self.flush_before(getattr(os, name)))
        hooks = sys.modules[__package__].parts.after_import
        hooks["subprocess"] = self.patch_subprocess
        subprocess = stdlib.get_loaded("subprocess")
        if subprocess is not None:
            self.patch_subprocess(subprocess)

    def patch_subprocess(self, module):
        module.Popen._execute_child = self.flush_before(module.Popen._execute_child)

    def flush_before(self, function):
        def settle_first(*arguments, **options):
            self.flush_pending()
            return function(*arguments, **options)

        settle_first.__name__, settle_first.__doc__, settle_first.__wrapped__ = (
            getattr(function, "__name__", ""),
            function.__doc__,
            function,
        )
        return settle_first


class Buffer(io.BufferedWriter):
    """Takes what a signal handler prints while the interrupted code is in the middle of a write; Python's own refuses
    it (`reentrant call`).

    `wire.on_sigint` does not raise in `flush`: Python's `input` calls it, and forgets what it raises."""

    pending = ()

    def write(self, data):
        try:
            return buffer_write(self, data)
        except RuntimeError as error:
            if "reentrant" not in str(error):
                raise
        self.pending += (bytes(data),)
        return len(data)

    def flush(self):
        try:
            buffer_flush(self)
            while self.pending:
                late, self.pending = self.pending, ()
                buffer_write(self, b"".join(late))
                buffer_flush(self)
        except RuntimeError as error:
            if "reentrant" not in str(error):
                raise
        if interrupts.repeating:  # as in `StdoutFile`: a cell that does nothing but print must let it through
            self.flush = super().flush
            interrupts.after_repeat += (self.restore_method,)

    def restore_method(self):
        self.__dict__.pop("flush", None)


file_write = io.FileIO.write
buffer_write, buffer_flush = io.BufferedWriter.write, io.BufferedWriter.flush
wire.uninterruptible.update(
    function.__code__
    for function in (StdoutFile.write, StdoutFile.measure_rate, StdoutFile.yield_to_interrupt, Buffer.flush)
)


def open_stdout(pty):
    """Puts a `Buffer` under `sys.stdout`, and a `StdoutFile` under that where lines go into a pipe."""
    old = sys.stdout
    raw = io.FileIO(1, "wb", closefd=False) if pty else StdoutFile(1, "wb", closefd=False)
    stream = io.TextIOWrapper(Buffer(raw, 1 << 16), old.encoding, "backslashreplace", None, True)
    stream.mode = "w"
    if pty:
        raw.name = "<stdout>"
    else:
        raw.stream = stream
    sys.stdout = sys.__stdout__ = stream
