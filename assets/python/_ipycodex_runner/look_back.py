"""Looks into the past: the value of code after each cell that has a checkpoint, and now.

In: code, a range of cells. Out: a state for each cell in it, with a value, or the reason why there is none. A waiting
copy answers in a child of its own (`copies.look`), the present in a copy made for it, all under the rules of
`snapshot`. Invariants: no copy is changed, or taken over, by a look; where not all can be asked in time, the ends are,
and then what lies between two that differ; an interrupt ends them all, and nothing is left behind. Absent on purpose:
which values differ and how they are shown, which is the host's; states that no process holds any more.
"""

import _signal
import os
from select import POLLIN, poll
from time import monotonic

from . import confine, copies, references, snapshot, truncate, wire

EACH, WHOLE = 10, 30  # seconds: for one state; until no further one is asked
AT_ONCE = 2  # looks that run beside each other
LONGEST = 4000  # characters of a value
LATE = "it was not asked: the %d s for all were over" % WHOLE
SILENT = "its process did not answer a look"
TOO_SOON = "the next cell started before one could be made"
LIBRARIES = ("numpy", "pandas", "polars", "torch")  # whose values do not show all they hold


def answer(request, server, checkpoints):
    """The `look_back` of an answer."""
    why = None if server.host.confined else confine.probe()[1]
    if why is not None and not request.get("unprotected"):
        return {"look_back": {"unprotected": why}}
    begin, end = find_range(checkpoints.log, request)
    checkpoints.drop_dead()
    there = {copy.steps: copy for copy in checkpoints.copies if begin <= copy.steps <= end}
    if end == len(checkpoints.log):
        there[end] = None  # the present
    asked = sorted(there)
    looks = Looks(request["code"], [there[steps] for steps in asked], server, checkpoints)
    looks.run()
    values = {asked[index]: value for index, value in looks.answers.items() if value is not None}
    return {"look_back": {"states": [describe_state(steps, values, checkpoints) for steps in range(begin, end + 1)]}}


def find_range(log, request):
    """The numbers of steps that the states of the range have seen. Raises LookupError."""
    first, last, session = request.get("from"), request.get("to"), request.get("session", 0)
    seen = [
        index + 1
        for index, step in enumerate(log)
        if step.session == session
        and (first is None or step.number >= first)
        and (last is None or step.number <= last)
    ]
    if (first, last) == (None, None):
        return 0, len(log)
    if not seen:
        raise LookupError("no such cell has run in this interpreter")
    return (0 if first is None else seen[0]), (len(log) if last is None else seen[-1])


def describe_state(steps, values, checkpoints):
    log = checkpoints.log
    state = {"now": steps == len(log)}
    if steps:
        step = log[steps - 1]
        state["after"] = {"number": step.number, "line": step.line, "session": step.session}
    if steps in values:
        state["value"] = values[steps]
    elif any(copy.steps == steps for copy in checkpoints.copies):
        state["why"] = LATE
    else:
        state["why"] = checkpoints.reasons.get(steps, TOO_SOON)
    return state


class Looks:
    """The looks of one request; of `places`, copies in their order, None is the present."""

    def __init__(self, code, places, server, checkpoints):
        self.code, self.places, self.server, self.checkpoints = code, places, server, checkpoints
        self.answers = {}  # by index; None: the copy is gone
        self.busy = {}  # index -> when its answer is given up

    def run(self):
        until = monotonic() + WHOLE
        try:
            while True:
                while len(self.busy) < AT_ONCE and monotonic() < until:
                    index = choose(self.answers, self.busy, len(self.places))
                    if index is None:
                        break
                    self.begin(index)
                if not self.busy:
                    return
                self.read()
        finally:
            wire.interrupts.hold()
            try:
                self.stop()
            finally:
                wire.interrupts.release()

    def begin(self, index):
        copy = self.places[index]
        if copy is None:
            engine, host = self.server.engine, self.server.host
            run_apart = run_in_fork if host.confined else snapshot.run_in_copy
            told = run_apart(lambda: evaluate(self.code, engine, host), host, None, EACH)
            if told.get("error", {}).get("ename") == "KeyboardInterrupt":
                raise KeyboardInterrupt
            self.answers[index] = describe_answer(told)
            return
        self.busy[index] = monotonic() + EACH + copies.PATIENCE
        try:
            os.write(copy.link, copies.LOOK + wire.dump({"code": self.code}).encode("ascii"))
        except OSError:
            pass  # it has ended, which reading tells
        self.wake()

    def wake(self):
        """Wakes copies that are stopped, as those are that have handed over; one may have been about to stop."""
        for index in self.busy:
            copies.signal_to(self.places[index].process, _signal.SIGCONT)

    def read(self):
        """Reads one message, or gives those up that are too late."""
        links = {self.places[index].link: index for index in self.busy}
        poller = poll()
        for link in links:
            poller.register(link, POLLIN)
        ready = poller.poll(copies.AGAIN)
        if not ready:
            self.wake()
        wire.interrupts.hold()  # an interrupt must not lose a message
        try:
            for link, _event in ready:
                self.read_from(links[link])
            for index in [index for index, end in self.busy.items() if monotonic() > end]:
                self.give_up(index)
        finally:
            wire.interrupts.release()

    def read_from(self, index):
        try:
            told = copies.receive(self.places[index].link, 0) or {}
        except copies.Gone:
            del self.busy[index]
            self.answers[index] = None
            return self.checkpoints.drop_dead()
        if "look" in told:
            self.answers[index] = told["look"]
        elif "looked" in told:
            del self.busy[index]
            self.answers.setdefault(index, failure("ChildProcessError: the copy ended without a value"))

    def give_up(self, index):
        """Ends a copy that does not answer: a late message would be taken for another."""
        del self.busy[index]
        copy = self.places[index]
        self.answers[index] = None
        self.checkpoints.reasons[copy.steps] = SILENT
        self.checkpoints.end_copy(copy)
        copies.signal_to(copy.process, _signal.SIGKILL)

    def stop(self):
        """Ends the looks that still run."""
        for index in self.busy:
            try:
                os.write(self.places[index].link, copies.STOP)
            except OSError:
                pass
            self.busy[index] = monotonic() + copies.PATIENCE
        while self.busy:
            self.read()


def choose(answers, busy, count):
    """The index of the next to ask: the ends, the last first; then the middle of the widest gap, of those between
    values that differ before all others. None: all are asked."""
    taken = sorted({*answers, *busy})
    for index in (count - 1, 0):
        if index >= 0 and index not in taken:
            return index
    gaps = []
    for before, after in zip(taken, taken[1:]):
        if after - before > 1:
            ends = [answers.get(before), answers.get(after)]
            differ = None not in ends and ends[0]["key"] != ends[1]["key"]
            gaps.append((differ, after - before, (before + after) // 2))
    return max(gaps)[2] if gaps else None


def run_in_fork(work, host, _folder, limit):
    """As `snapshot.run_in_copy`, in a process that is confined already and cannot be so twice."""
    results, result, prints, output = snapshot.open_pipes(2, 210)
    parent = os.getpid()
    wire.flush_streams()
    child = snapshot.fork()
    if child == 0:
        try:
            confine.die_with_parent(parent)
            snapshot.isolate_streams(host, result, output, ())
            snapshot.tell(work, host, result)
        finally:
            os._exit(0)
    os.close(result)
    os.close(output)
    printed, found = truncate.TruncatedStream(snapshot.MOST_PRINTED), bytearray()
    try:
        snapshot.read_output(child, results, prints, found, printed, limit)
        told = snapshot.read_answer(found) or failed("ChildProcessError", "the copy ended without a value")
    except TimeoutError as error:
        told = failed("TimeoutError", str(error))
    finally:
        copies.signal_to(child, _signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(results)
        os.close(prints)
    return dict(told, printed=snapshot.strip_escapes(printed.text()))


def failed(name, text):
    return {"error": {"ename": name, "evalue": text, "traceback": []}}


# in a copy


def answer_as_copy(host, link, data, mask):
    """Answers a look in a child of a waiting copy; SIGUSR1 stops it (SIGTERM is for the guard, which is forked with the
    handlers of this process)."""
    interrupts = wire.interrupts
    interrupts.held, interrupts.user = 0, True
    kept = _signal.getsignal(_signal.SIGUSR1)
    _signal.signal(_signal.SIGUSR1, on_stop)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    code = wire.decode(data.decode("ascii"))["code"]
    import sys

    engine = sys.modules[__package__].engine

    def work():
        if kept is not None:
            _signal.signal(_signal.SIGUSR1, kept)
        return evaluate(code, engine, host)

    copies.send(link, {"look": describe_answer(snapshot.run_in_copy(work, host, None, EACH))})


def on_stop(_number, _frame):
    if not wire.interrupts.held:
        raise KeyboardInterrupt
    wire.interrupts.pending = True


def evaluate(code, engine, host):
    """What `code` gives: the value of an expression, or what it raised; of other code what a cell would show."""
    try:
        compiled, _live, missing = references.compile_expression(code.strip(), engine.ns)
    except Exception:
        return evaluate_cell(code, engine, host)
    if missing:
        return {"undefined": missing}
    shown = snapshot.FrameCollector()
    host.send, host.defer, host.ask = shown.send, shown.defer, lambda frame: None
    value = eval(compiled, engine.ns)
    if compiled.co_flags & references.COROUTINE:
        from . import loop, tools

        value = loop.run(tools.await_value(value))
    formatter = getattr(getattr(engine, "shell", None), "display_formatter", None)
    if formatter is not None:
        text = formatter.formatters["text/plain"](value)
    else:
        from . import mime

        text = mime.format_repr(value)
    return describe_text(text, fingerprint(value), value is None)


def evaluate_cell(code, engine, host):
    told = snapshot.run(code, engine, host)
    if "error" in told:
        return told
    text = told["bundle"].get("text/plain", "")
    return describe_text(text, None, not text)


def describe_text(text, more, empty):
    text = snapshot.strip_escapes(text)
    return {"text": truncate.truncate(text, LONGEST), "key": "%x %s" % (hash(text), more), "empty": empty}


def fingerprint(value):
    """What tells two values apart whose texts are the same, where a text does not show all."""
    if type(value).__module__.partition(".")[0] not in LIBRARIES:
        return None
    from . import trial

    return hash(trial.fingerprint(value))


def describe_answer(told):
    """A value as the host gets it, from the answer of a copy, whose code may have written anything there."""
    if "undefined" in told:
        return {"kind": "undefined", "text": "not defined", "key": "undefined"}
    error = told.get("error")
    if error is not None:
        if error.get("ename") == "TimeoutError" and not error.get("traceback"):
            return failure("it took longer than %g s" % EACH)
        return failure("%s: %s" % (error.get("ename"), truncate.truncate(str(error.get("evalue")), LONGEST)))
    printed = truncate.truncate(told.get("printed", "").rstrip("\n"), LONGEST)
    text = "" if told.get("empty") and printed else str(told.get("text", ""))
    text = "\n".join(part for part in (printed, text) if part)
    return {"kind": "value", "text": text, "key": "%s %s" % (told.get("key"), printed)}


def failure(text):
    return {"kind": "error", "text": text, "key": text}
