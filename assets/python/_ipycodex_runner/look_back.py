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

from . import confine, copies, forks, look, wire

WHOLE = 30  # seconds until no further state is asked
AT_ONCE = 2  # looks that run beside each other
LATE = "it was not asked: the %d s for all were over" % WHOLE
SILENT = "its process did not answer a look"
TOO_SOON = "the next cell started before one could be made"


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
    below = dict(request.get("shared", ()))
    seen = [
        index + 1
        for index, step in enumerate(log)
        if (step.session == session or step.number < below.get(step.session, 0))
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
            self.answers[index] = look.look_at_present(self.code, self.server.engine, self.server.host)
            return
        self.busy[index] = monotonic() + look.EACH + forks.PATIENCE
        try:
            os.write(copy.link, forks.LOOK + wire.dump({"code": self.code}).encode("ascii"))
        except OSError:
            pass  # it has ended, which reading tells
        self.wake()

    def wake(self):
        """Wakes copies that are stopped, as those are that have handed over; one may have been about to stop."""
        for index in self.busy:
            forks.signal_to(self.places[index].process, _signal.SIGCONT)

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
            told = forks.receive(self.places[index].link, 0) or {}
        except forks.Gone:
            del self.busy[index]
            self.answers[index] = None
            return self.checkpoints.drop_dead()
        if "look" in told:
            self.answers[index] = told["look"]
        elif "looked" in told:
            del self.busy[index]
            self.answers.setdefault(index, look.failure("ChildProcessError: the copy ended without a value"))

    def give_up(self, index):
        """Ends a copy that does not answer: a late message would be taken for another."""
        del self.busy[index]
        copy = self.places[index]
        self.answers[index] = None
        self.checkpoints.reasons[copy.steps] = SILENT
        self.checkpoints.end_copy(copy)
        forks.signal_to(copy.process, _signal.SIGKILL)

    def stop(self):
        """Ends the looks that still run."""
        for index in self.busy:
            try:
                os.write(self.places[index].link, forks.STOP)
            except OSError:
                pass
            self.busy[index] = monotonic() + forks.PATIENCE
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
