"""A forked copy of the interpreter in which an agent tries things: it runs one source after the other, for one turn.

In: sources. Out: their output as it is printed, then the result (`snapshot`). Invariants: those of `snapshot`; at most
one copy exists; it is no child of the interpreter, so the interpreter's `wait` never finds it, and it ends together
with the process that started the interpreter; an interrupt always ends what runs in it; its folder for temporary files
is removed with it.
Absent on purpose: input, a terminal, and a way to move its objects into the live namespace.
"""

import _signal
import os
import select
from time import monotonic, sleep

from . import confine, forks, guard, snapshot, stdlib, truncate, wire

PATIENCE = 4.0  # seconds for what runs to react to an interrupt; the session comes again after 5
FIRST_FD = 216  # descriptors from here on
current = None


class Branch:
    """The copy, as the interpreter sees it."""

    def __init__(self, engine, host):
        import tempfile

        self.owner, self.shown = os.getpid(), host.frames.outputs[0]
        self.folder = tempfile.mkdtemp(prefix="ipycodex-copy-")
        requests, self.requests, self.results, result, self.prints, output = snapshot.open_pipes(3, FIRST_FD)
        self.mark, self.held = host.frames.mark_prefix, b""
        wire.flush_streams()
        try:
            between = forks.fork()
            if between == 0:
                life = lambda: serve(requests, result, engine, host, self.folder)  # noqa: E731
                self.detach(life, host, (requests, result, output))
        except OSError:
            self.close()
            raise
        finally:
            if os.getpid() == self.owner:
                for fd in (requests, result, output):
                    os.close(fd)
        os.waitpid(between, 0)
        self.process = read_greeting(self.results).get("process")
        if self.process is None:
            self.close()
            raise OSError("could not start a process")

    def detach(self, work, host, ends):
        """Runs in the intermediate process, which leaves the copy to the interpreter's own parent."""
        requests, result, output = ends
        try:
            between = os.getpid()
            if forks.fork():
                os._exit(0)
            while os.getppid() == between:
                sleep(0.0002)
            guard.fork_guarded(forks.fork, os.getppid(), self.folder)
            wire.write_all(result, wire.dump({"process": os.getpid()}).encode("ascii") + b"\n")
            snapshot.become_copy(
                work, snapshot.confine_rules(self.folder), host, os.getppid(), result, output, (requests,)
            )  # does not return
        finally:
            os._exit(1)

    def run(self, request):
        """The `snapshot` of an answer."""
        printed, answer = truncate.TruncatedStream(snapshot.MOST_PRINTED), bytearray()
        until = pushed = None
        line = wire.dump(request).encode("ascii") + b"\n"
        while not answer.endswith(b"\n"):
            try:
                if line:
                    line = self.write_part(line)
                self.read_output(answer, printed)
                if until is not None and monotonic() >= until:
                    return self.end_with_error("it did not react to the interrupt", printed)
                if until is not None and (pushed is None or monotonic() >= pushed + 1):
                    pushed = monotonic()
                    os.kill(self.process, _signal.SIGINT)
            except KeyboardInterrupt:
                if until is not None:
                    return self.end_with_error("it was interrupted twice", printed)
                until = monotonic() + PATIENCE
            except (EOFError, OSError):
                return self.end_with_error("it was killed, or its code ended it", printed)
        told = snapshot.read_answer(answer)
        if told is None:
            return self.end_with_error("its code wrote where its results are written", printed)
        self.show(b"", printed)
        told["printed"] = snapshot.strip_escapes(printed.text())
        return told

    def write_part(self, line):
        """Returns what is left to write; nothing when the copy has ended, which may have said why."""
        try:
            return line[os.write(self.requests, line) :]
        except BrokenPipeError:
            return b""

    def read_output(self, answer, printed):
        """Reads output and answer. Raises EOFError when the copy has ended."""
        poller = select.poll()
        for fd in (self.prints, self.results):
            poller.register(fd, select.POLLIN)
        ready = {fd for fd, _event in poller.poll(100)}
        wire.interrupts.hold()  # an interrupt must not lose bytes already read
        try:
            data = os.read(self.prints, 1 << 16) if self.prints in ready else b""
            if data:  # what was printed stands before the answer
                self.show(data, printed)
            elif self.results in ready:
                data = os.read(self.results, 1 << 16)
                answer += data
                if not data or len(answer) > snapshot.MOST_RESULT:
                    raise EOFError
        finally:
            wire.interrupts.release()

    def show(self, data, printed):
        """Shows what the copy printed, but for what the host would take for marks of the interpreter's. What may begin
        one waits for more; without `data` it is shown."""
        seen = (self.held + data).replace(self.mark, b"")
        while self.mark in seen:  # what stood around one
            seen = seen.replace(self.mark, b"")
        kept = max(n for n in range(len(self.mark)) if seen.endswith(self.mark[:n])) if data else 0
        seen, self.held = seen[: len(seen) - kept], seen[len(seen) - kept :]
        printed.add(seen)
        wire.write_all(self.shown, seen)

    def end_with_error(self, how, printed):
        """Ends the copy; the answer says why."""
        self.end()
        why = "the copy ended (%s), and everything in it is lost. The next cell gets a new one" % how
        return {
            "printed": snapshot.strip_escapes(printed.text()),
            "error": {"ename": "ChildProcessError", "evalue": why, "traceback": []},
        }

    def end(self):
        for kill in (os.killpg, os.kill):
            try:
                kill(self.process, _signal.SIGKILL)  # its guard ends what is left
            except OSError:
                pass
        self.close()

    def close(self):
        global current
        current = None
        for fd in (self.requests, self.results, self.prints):
            try:
                os.close(fd)
            except OSError:
                pass
        if os.getpid() == self.owner:
            try:
                os.rmdir(self.folder)  # its guard removes one that is not empty
            except OSError:
                pass


def read_greeting(fd):
    """The copy's first message, which holds its process id. What follows it stays in the pipe: a copy that fails early
    may have said so already."""
    data = b""
    while not data.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            return {}
        data += byte
    return wire.decode(data.decode("ascii"))


def serve(requests, result, engine, host, folder):
    """The copy's main loop: one request after the other."""
    os.environ["TMPDIR"] = folder
    tempfile = stdlib.get_loaded("tempfile")
    if tempfile is not None:
        tempfile.tempdir = folder
    buffer = b""
    while True:
        wire.interrupts.user = False
        while b"\n" not in buffer:
            data = os.read(requests, 1 << 16)
            if not data:
                os._exit(0)
            buffer += data
        line, _, buffer = buffer.partition(b"\n")
        request = wire.decode(line.decode("ascii"))
        answer = run_request(request, engine, host)
        wire.flush_streams()
        wire.write_all(result, wire.dump(answer).encode("ascii") + b"\n")


def run_request(request, engine, host):
    try:
        wire.interrupts.begin()
        if request.get("cwd") is not None:
            os.chdir(request["cwd"])
        return snapshot.run(request["code"], engine, host)
    except BaseException as error:
        return {"error": {"ename": type(error).__name__, "evalue": str(error), "traceback": []}}
    finally:
        wire.interrupts.user = False


def answer(request, engine, host):
    """Carries out a request."""
    global current
    if current is not None and (request["op"] == "end" or request.get("fresh")):
        current.end()
    if request["op"] == "end":
        return {"snapshot": {"printed": ""}}
    why = confine.probe()[1]
    if why is not None and not request.get("unprotected"):
        return {"snapshot": {"unprotected": why}}
    from . import tracebacks  # noqa: F401  # loaded once here, not in each copy

    wire.interrupts.hold()
    try:
        if current is None:
            current = Branch(engine, host)
    except OSError as error:
        told = {"ename": type(error).__name__, "evalue": "could not make a copy: %s" % error, "traceback": []}
        return {"snapshot": {"printed": "", "error": told}}
    finally:
        wire.interrupts.release()
    return {"snapshot": current.run(request)}
