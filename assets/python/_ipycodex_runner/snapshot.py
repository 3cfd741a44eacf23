"""Code run in a forked copy of the interpreter that can change nothing.

In: code as in a cell. Out: what it printed, and its value or its error. Invariants: the interpreter itself is never
touched: the copy has no request, frame or output pipe, no thread, no loop and no terminal of the interpreter's; nothing
runs where nothing can be kept from changing files, unless told so; whatever becomes of the copy, it and all it started
are gone before the answer.
Absent on purpose: a time limit; making the copy's changes last.
"""

import os
import re
import select
import sys
from time import monotonic

from . import confine, figures, forks, guard, pictures, stdlib, truncate, wire

MOST_PRINTED = 1 << 20  # bytes kept, of both ends
MOST_PICTURES = 20
MOST_RESULT = 48 << 20  # bytes
TICK = 20  # ms between two checks whether a copy that has closed its pipes has ended
ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\-_]|)"
)


def evaluate(code, unprotected, engine, host):
    """The `snapshot` of an answer."""
    why = confine.probe()[1]
    if why is not None and not unprotected:
        return {"unprotected": why}
    return run_in_copy(lambda: run(code, engine, host), host)


def run_in_copy(work, host, folder=None, limit=None):
    """The answer of `work()` in a copy, under `confine`'s rules where the machine has them (it may write in `folder`,
    which is removed with it), and what it `printed`; it is ended after `limit` seconds."""
    from . import tracebacks  # noqa: F401  # loaded once here, not in each copy

    wire.flush_streams()
    results, result, prints, output = open_pipes(2, 210)
    parent = os.getpid()
    wire.interrupts.hold()
    try:
        child = forks.fork()
        if child == 0:
            guard.fork_guarded(forks.fork, parent, folder)
            become_copy(work, confine_rules(folder), host, os.getppid(), result, output)  # does not return
    except OSError as error:  # no memory, no processes
        for fd in (results, prints):
            os.close(fd)
        if folder is not None:
            os.rmdir(folder)
        wire.interrupts.release()
        return {"printed": "", "error": {"ename": type(error).__name__, "evalue": str(error), "traceback": []}}
    finally:
        if os.getpid() == parent:
            os.close(result)
            os.close(output)
    printed = truncate.TruncatedStream(MOST_PRINTED)
    answer, status = bytearray(), None
    try:
        try:
            wire.interrupts.release()
            read_output(child, results, prints, answer, printed, limit)
        finally:
            wire.interrupts.hold()
            try:
                status = end_copy(child)
                drain(prints, printed)
            finally:
                wire.interrupts.release()
        snapshot = parse_answer(answer, status)
    except (KeyboardInterrupt, TimeoutError) as error:
        snapshot = {"error": {"ename": type(error).__name__, "evalue": str(error), "traceback": []}}
    finally:
        os.close(results)
        os.close(prints)
    snapshot["printed"] = strip_escapes(printed.text())
    return snapshot


def confine_rules(folder):
    version = confine.probe()[0]
    return version, (folder,) if folder is not None and version >= 3 else ()


def open_pipes(count, number):
    """The ends of so many pipes, reading and writing, high up from `number` on."""
    ends = []
    for _pipe in range(count):
        for fd in os.pipe():
            ends.append(wire.duplicate_high(fd, number + len(ends)))
            if ends[-1] != fd:
                os.close(fd)
            os.set_inheritable(ends[-1], False)
    return ends



def read_output(child, results, prints, answer, printed, limit):
    """Reads until the result is whole or the copy is gone; it may go on after it has closed its end. Raises
    TimeoutError."""
    until = monotonic() + limit if limit else None
    poller = select.poll()
    poller.register(results, select.POLLIN)
    poller.register(prints, select.POLLIN)
    told = True
    while True:
        left = None if until is None else max(until - monotonic(), 0) * 1000
        if left == 0:
            raise TimeoutError("stopped after %d s" % limit)
        for fd, _event in poller.poll(left if told else TICK):
            data = os.read(fd, 1 << 16)
            if not data:
                poller.unregister(fd)
                told = False  # its end of the other pipe may never be closed
            elif fd == prints:
                printed.add(data)
            else:
                answer += data
                if len(answer) > MOST_RESULT or data.endswith(b"\n"):
                    return
        if not told and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return


def end_copy(child):
    """Makes the guard end the copy and all it started. Returns the copy's wait status."""
    try:
        os.kill(child, 15)
    except OSError:
        pass
    return os.waitpid(child, 0)[1]


def drain(prints, printed):
    """Reads the rest of the output without waiting: a program that escaped may hold the pipe open."""
    os.set_blocking(prints, False)
    try:
        while True:
            data = os.read(prints, 1 << 16)
            if not data:
                return
            printed.add(data)
    except OSError:
        pass


def parse_answer(answer, status):
    found = read_answer(answer)
    if found is not None:
        return found
    if len(answer) > MOST_RESULT:
        why = "the result is larger than %d MiB" % (MOST_RESULT >> 20)
    elif os.WIFSIGNALED(status):
        why = "the copy of the interpreter was ended by signal %d (%s)" % (
            os.WTERMSIG(status),
            signal_name(os.WTERMSIG(status)),
        )
    else:
        why = "the copy of the interpreter ended without a result, with exit code %d" % os.WEXITSTATUS(status)
    return {"error": {"ename": "ChildProcessError", "evalue": why, "traceback": []}}


def read_answer(line):
    """The answer in a line of a copy's, whose code may have written anything there; None: it is none. That nothing
    protects the machine is not for the copy to say: the user would be asked whether it may go on without."""
    try:
        found = wire.sanitize(wire.decode(line.decode("ascii"))) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        found = None
    return None if type(found) is not dict or "unprotected" in found else found


def signal_name(number):
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return "?"


def strip_escapes(text):
    return ESCAPES.sub("", text) if "\x1b" in text else text


def become_copy(work, rules, host, parent, result, output, kept=()):
    """The whole life of the copy; of the interpreter's descriptors it has those in `kept`."""
    try:

        def work_confined():
            os.setsid()
            confine.die_with_parent(parent)
            isolate_streams(host, result, output, kept)
            confine.prefer_oom_kill()
            if rules[0]:
                confine.confine(*rules)
                confine.drop_nameless()
            figures.close_except(set())  # the interpreter's: not to be shown as if this code had drawn them
            wire.interrupts.held = 0
            wire.interrupts.user = True
            return work()

        tell(work_confined, host, result)
    finally:
        os._exit(0)


def tell(work, host, result):
    """Writes what `work()` answers, or raises."""
    host.process = os.getpid()
    try:
        answer = work()
    except BaseException as error:
        answer = {"error": {"ename": type(error).__name__, "evalue": str(error), "traceback": []}}
    wire.flush_streams()
    if host.process != os.getpid():
        os._exit(0)  # a child that user code has forked
    wire.write_all(result, wire.dump(answer).encode("ascii") + b"\n")


def isolate_streams(host, result, output, kept):
    """Streams of its own; nothing of the interpreter's."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(output, 1)
    os.dup2(output, 2)
    confine.isolate({0, 1, 2, result, *kept})
    from . import stdin

    stdin.installed or stdin.install()
    host.stdin = "refuse"
    host.pty = False
    if stdlib.get_loaded("asyncio") is not None:
        from . import loop

        loop.reset()
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None or getattr(stream, "closed", False):
            setattr(sys, name, open(fd, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False))


class FrameCollector:
    """Collects the frames of the engine in place of the host."""

    def __init__(self):
        self.value, self.pictures, self.error = {}, [], None

    def send(self, frame, _ordered=True):
        kind = frame["type"]
        if kind == "error":
            self.error = {
                "ename": frame["ename"],
                "evalue": frame["evalue"],
                "traceback": [strip_escapes(line) for line in frame["traceback"]],
            }
        elif kind == "result":
            self.value = frame["bundle"]
        elif kind in ("display", "page"):
            self.show(frame["bundle"])

    defer = send

    def show(self, bundle):
        """A display in passing: a picture is kept, a text printed where it stands."""
        kinds = [kind for kind in bundle if kind.startswith("image/") and kind != "image/svg+xml"]
        if kinds:
            if len(self.pictures) < MOST_PICTURES:
                self.pictures.append(
                    pictures.limit_images({kinds[0]: bundle[kinds[0]], "text/plain": bundle.get("text/plain", "")})
                )
        else:
            print(bundle.get("text/plain", ""))


def run(code, engine, host):
    shown = FrameCollector()
    host.send, host.defer, host.ask = shown.send, shown.defer, lambda frame: None
    engine.execute(code, False, False, None, None)
    if shown.error is not None:
        return {"error": shown.error}
    bundle = pictures.limit_images(shown.value)
    if "text/plain" in bundle:
        bundle["text/plain"] = truncate.truncate(strip_escapes(bundle["text/plain"]), wire.MAX_PLAIN)
    if not shown.pictures:
        return {"bundle": bundle}
    if not bundle and len(shown.pictures) == 1:
        return {"bundle": shown.pictures[0]}
    parts = ([bundle] if bundle else []) + shown.pictures
    return {"bundle": bundle or shown.pictures[0], "parts": parts}
