"""Checkpoints: copies of the interpreter taken between cells, and the steps back to them and forward again.

In: requests `checkpoints` (keep, list, back, forward), each request that runs code, the idle moments. Out: answers. A
copy is made after a cell, when no request comes for a moment, so no cell waits for it; where no copy could be made, the
reason is stored. Invariants: the log and the copies of a process are those of the moment it was copied; processes that
were stepped back over stay stopped until new code runs. Absent on purpose: files and other processes, which are not
restored: the answer lists what the cells wrote (`file_audit`).
"""

import os
from _thread import allocate_lock
from select import POLLIN, poll
from time import perf_counter, time

from . import copies, file_audit, fork_state, forks, prefault

QUIET = 20  # ms without a request before a copy is made
TRIES = 5  # while threads are in the way
LINE = 60  # characters of a cell that name it
MEASURED = 4  # copies that are measured in one idle moment
PAGE = 4096
NONE_KEPT = "no checkpoints are kept: `%ipycodex checkpoints 10` keeps ten"
KILLED = "its process was killed by something else"
THINNED = "it was thinned out: the further back, the fewer are kept"
ELSEWHERE = (
    "in this interpreter, only another session has run In [%d]: "
    "`%%ipycodex resume` goes to it, and then `%%ipycodex back %d` works"
)


class Step:
    """A cell that has run."""

    def __init__(self, number, code, session):
        lines = code.strip().split("\n")
        more = len(lines) > 1 or len(lines[0]) > LINE
        self.number, self.line = number, lines[0][:LINE] + (" …" if more else "")
        self.session = session  # whose number it is
        self.wrote = []

    def to_json(self):
        return {"number": self.number, "line": self.line, "session": self.session, "wrote": self.wrote}


class Checkpoints:
    def __init__(self, server):
        self.server, self.host = server, server.host
        self.limit = 0
        self.log = []  # steps, oldest first
        self.copies = []  # by the number of steps they have seen
        self.reasons = {}  # number of steps -> why there is no copy
        self.memory = {}  # process -> bytes it holds alone, when last measured
        self.turn = 0  # which of the older copies are measured next
        self.stale = True  # what runs has changed since the last copy
        self.prefaulter = prefault.Prefaulter()
        self.lock = allocate_lock()  # held while copies are made, and while the prompt is handed over
        self.left = None  # of a branch: the copies, the limit and the score that it had at the prompt
        self.bases = {}  # branch -> a copy of the state that it and the process at the prompt began with
        self.link = None  # to the process that `forward` leads to
        self.forward_processes = []  # that process and all others that have seen more than this one

    # requests

    def answer(self, request, server=None):
        """Handles a request. After a step, another process may send the answer."""
        what = request.get("op")
        if what == "keep":
            self.set_limit(int(request["number"] or 0))
            return {"checkpoints": self.to_json()}
        if what == "back":
            return self.back(request)
        if what == "forward":
            return self.forward(request)
        self.measure()
        return {"checkpoints": self.to_json()}

    def set_limit(self, most):
        self.limit = most
        self.thin_out()
        if not most:
            file_audit.current = None
        elif not self.stale and not self.has_newest():
            self.stale = True

    def on_begin(self, kind, request):
        """Called before code runs or names are set."""
        self.stale = True
        if kind in ("set", "evaluate", "express"):
            return
        self.drop_forward()
        if kind == "exec" and request.get("executionCount") is not None and not request.get("silent"):
            step = Step(request["executionCount"], request["code"], request.get("session", 0))
            self.log.append(step)
            file_audit.current = step.wrote if self.limit else None

    def on_end(self):
        file_audit.current = None

    # in the moments between

    def on_idle(self, server):
        """Makes a copy if no request comes for `QUIET` ms. In the copy, this returns when it has taken over."""
        tries = 0
        while self.stale and self.limit and self.is_quiet(server.loop, QUIET):
            if not prefault.collapse_large(copies.load_libc(), lambda: self.is_quiet(None, 0)):
                continue  # a request has come, or had come and gone
            self.stale = False
            tries += 1
            with self.lock:
                has_taken_over = self.make_copy()
            if not has_taken_over and tries < TRIES:
                self.stale = isinstance(self.reasons.get(len(self.log)), fork_state.Passing)
        return self

    def make_copy(self):
        """Makes a copy of the current state. Returns True in the copy, once it has taken over and has answered."""
        self.drop_dead()
        now = len(self.log)
        for copy in [copy for copy in self.copies if copy.steps == now]:
            self.end_copy(copy)
        self.reasons.pop(now, None)
        why = fork_state.find_obstacle(self.host)
        if why is None:
            began = perf_counter()
            self.prefaulter.scan()
            try:
                made, told = copies.make(self.host, now)
            except (OSError, forks.Gone) as error:
                why = str(error)
            else:
                if told is not None:
                    self.on_takeover(made, told)
                    return True
                self.copies.append(made)
                made.took = round((perf_counter() - began) * 1000, 2)
                self.prefaulter.prefault(copies.libc, lambda: self.is_quiet(None, 0))
        if why is not None:
            self.reasons[now] = why
        self.thin_out()
        self.measure(True)
        return False

    def is_quiet(self, loop, patience):
        """True if no request comes for so many ms; the user's tasks run meanwhile."""
        requests = self.host.requests
        if requests.queue is not None:
            return requests.queue.empty()
        if requests.lines:
            return False
        if loop is None or not patience:
            poller = poll()
            poller.register(requests.fd, POLLIN)
            return not poller.poll(patience)
        loop.make_current()
        own, came = loop.get(), []

        def readable():
            came.append(True)
            own.stop()

        timer = own.call_later(patience / 1000, own.stop)
        try:
            own.add_reader(requests.fd, readable)
            own.run_forever()
        except BaseException as error:
            loop.recover(own, error)
        finally:
            own.remove_reader(requests.fd)
            timer.cancel()
        return not came

    def measure(self, beside=False):
        """Measures the memory that only the copies use: of all, or with `beside` of the newest and in turn of the
        others, until a request comes. Drops copies when they use more than a quarter of the available memory."""
        for copy in self.pick_some() if beside else list(self.copies):
            if beside and not self.is_quiet(None, 0):
                return
            self.memory[copy.process] = fork_state.memory_by_kind("/proc/%d/smaps_rollup" % copy.process).get(
                "Private_Dirty", 0
            )
        total = sum(self.memory.get(copy.process, 0) for copy in self.copies)
        left = fork_state.available_memory()
        while self.copies and left is not None and total > (left + total) // 4:
            copy = self.choose_dispensable()
            total -= self.memory.get(copy.process, 0)
            self.reasons[copy.steps] = "it was dropped to free memory"
            self.end_copy(copy)

    def pick_some(self):
        """The newest copies, whose memory changes most, and as many others in turn."""
        newest, others = self.copies[-MEASURED // 2 :], self.copies[: -MEASURED // 2]
        begin = self.turn % len(others) if others else 0
        self.turn = begin + MEASURED // 2
        return newest + others[begin : self.turn]

    def choose_dispensable(self):
        """The copy that holds most, measured by what history loses with it: the cells from the copy before it to the
        one after it, which count less the longer ago they ran."""
        now = len(self.log)

        def rank(index):
            copy = self.copies[index]
            before = self.copies[index - 1].steps if index else -1
            lost = self.copies[index + 1].steps - before
            return (self.memory.get(copy.process, 0) + PAGE) * (now - copy.steps + 1) / lost

        return self.copies[max(range(len(self.copies) - 1), key=rank, default=-1)]

    def thin_out(self):
        """Ends copies so that the last `limit` cells keep theirs, and those before them about every 2nd, 4th, 8th …, at
        most eight of a distance and two of the larger ones."""
        now, last = len(self.log), None
        unit = max(min(self.limit, 10) * 4 // 5, 1)
        for copy in list(self.copies):
            over = now - copy.steps - self.limit
            level = ((over - 1) // unit).bit_length() + 1 if over > 0 else 0
            if not self.limit:
                self.end_copy(copy)
            elif level and last is not None and last >> level == copy.steps >> level:
                self.reasons[copy.steps] = THINNED
                self.end_copy(copy)
            else:
                last = copy.steps

    def end_copy(self, copy):
        copy.end()
        self.copies.remove(copy)
        self.memory.pop(copy.process, None)

    def drop_dead(self):
        for copy in [copy for copy in self.copies if not copy.is_alive()]:
            copy.close()
            self.copies.remove(copy)
            self.reasons.setdefault(copy.steps, KILLED)

    def has_newest(self):
        return self.copies and self.copies[-1].steps == len(self.log)

    # steps

    def to_json(self):
        self.drop_dead()
        there = {copy.steps: copy for copy in self.copies}
        rows = []
        for index, step in enumerate(self.log):
            copy = there.get(index)
            if copy is not None:
                memory = self.memory.get(copy.process, 0)
                rows.append(dict(step.to_json(), age=round(time() - copy.since, 1), memory=memory, took=copy.took))
        missing = [
            dict(step.to_json(), why=self.reasons.get(index, "that cell started before one could be made"))
            for index, step in enumerate(
                self.log[-self.limit :] if self.limit else [], max(len(self.log) - self.limit, 0)
            )
            if index not in there
        ]
        return {
            "rows": rows,
            "missing": missing,
            "thinned": sum(why == THINNED for why in self.reasons.values()),
            "forward": self.link is not None,
            "most": self.limit,
            "stale": self.stale,
        }

    def back(self, request):
        number, session = request.get("number"), request.get("session", 0)
        numbered = [index for index, step in enumerate(self.log) if number is None or step.number == number]
        steps = [index for index in numbered if number is None or self.log[index].session == session]
        if not self.limit:
            return {"failed": NONE_KEPT}
        if not self.log:
            return {"failed": "no cell has run in this interpreter"}
        if not numbered:
            return {"failed": "In [%d] has not run in this interpreter" % number}
        if not steps:
            return {"failed": ELSEWHERE % (number, number)}
        self.drop_dead()
        target = steps[-1]
        found = [copy for copy in self.copies if copy.steps == target]
        if not found:
            return {"failed": self.explain_missing(target, session)}
        copy = found[0]
        over = self.log[target:]
        told = {
            "id": request.get("id"),
            "over": [step.to_json() for step in over],
            "behind": [os.getpid()]
            + [other.process for other in self.copies if other.steps > target]
            + self.forward_processes,
            "connections": fork_state.count_connections(),
            "held": list(self.memory.items()),
            "most": self.limit,
            "reasons": [(steps, why) for steps, why in self.reasons.items() if steps < target],
        }
        return self.hand_over(copy, told, request)

    def explain_missing(self, target, session):
        step = self.log[target]
        why = self.reasons.get(target, "that cell started before one could be made")
        near = [self.log[copy.steps] for copy in self.copies if copy.steps < len(self.log)]
        near = [step.number for step in near if step.session == session]
        near.sort(key=lambda number: (abs(number - step.number), number))
        rest = "; there are no checkpoints at the moment"
        if near:
            rest = "; there is one before In [%s]" % "] and In [".join(str(number) for number in sorted(near[:2]))
        return "there is no checkpoint before In [%d]: %s%s" % (step.number, why, rest)

    def forward(self, request):
        if self.link is None or not forks.is_link_open(self.link):
            return {"failed": "there is nothing to go forward to: no step back was made, or code has run since"}
        copy = copies.Copy(self.forward_processes[0], self.link, 0)
        return self.hand_over(copy, {"id": request.get("id"), "returns": True, "most": self.limit}, request)

    def hand_over(self, copy, told, request):
        """Hands over to `copy`. When this process resumes, it answers the request that brought it back."""
        try:
            told = copies.hand_over(self.host, copy, told)
        except forks.Gone:
            return {"failed": "the process of that checkpoint did not take over; nothing has changed"}
        request["id"] = told["id"]
        back = copy.link == self.link
        if back:
            self.limit = told["most"]
            return self.report_step(told, told["over"])
        over = [step.to_json() for step in self.log[copy.steps :]]
        copy.since = time()
        return self.report_step(told, over)

    def on_takeover(self, link, told):
        """Called in a copy that takes over the interpreter's role; it learns what has been ended since it was made."""
        if "aside" in told:
            return self.on_aside(told)
        self.reasons.update(told["reasons"])
        self.drop_dead()
        if "branch" in told:
            return self.on_handoff(link, told)
        self.link, self.forward_processes, self.limit = link, told["behind"], told["most"]
        self.memory = dict(told["held"])
        self.stale = True  # a copy of this state is made for the next step back, once idle
        self.host.id = told["id"]
        self.host.send(dict(self.report_step(told, told["over"]), type="answer"))

    def report_step(self, told, over):
        """The `stepped` part of an answer, after a `moved` frame that tells the host the new process id."""
        self.host.frames.send({"type": "moved", "pid": os.getpid()}, False)
        try:
            folder = os.getcwd()
        except OSError:
            folder = None
        return {
            "stepped": {
                "over": over,
                "forward": self.link is not None,
                "connections": told.get("connections", 0),
                "cwd": folder,
                "there": self.to_json(),
            }
        }

    # the prompt changes hands while a cell runs

    def make_sure(self):
        """Makes a copy of this moment where there is none; returns why there is none. A copy that takes over returns
        here, too: nobody waits for what it answers then."""
        if not self.limit:
            return NONE_KEPT
        if self.stale or not self.has_newest():
            with self.lock:
                self.stale = False
                self.make_copy()
        return None if self.has_newest() else self.reasons.get(len(self.log), "it ended at once")

    def find_successor(self):
        """The copy from before the running cell; without one, why."""
        self.drop_dead()
        before = len(self.log) - 1
        found = [copy for copy in self.copies if copy.steps == before]
        if found:
            return found[0], None
        if not self.limit:
            return None, NONE_KEPT
        step = self.log[before] if self.log else None
        return None, self.explain_missing(before, step.session) if step else "nothing has run yet"

    def find_present(self, server):
        """The copy of this moment, or from before the running cell; without one, why."""
        request = server.request or {}
        ends = request.get("id") == self.host.frames.last_done
        if request.get("executionCount") is not None and not request.get("silent") and not ends:
            return self.find_successor()
        self.drop_dead()
        if self.has_newest() and not self.stale:
            return self.copies[-1], None
        return None, self.reasons.get(len(self.log), "there is no checkpoint of this moment")

    def describe_handoff(self, copy):
        """What that copy has to know."""
        return {
            "synced": 0,
            "buffer": "",
            "lines": [],
            "held": list(self.memory.items()),
            "most": self.limit,
            "reasons": [(steps, why) for steps, why in self.reasons.items() if steps < copy.steps],
        }

    def become_branch(self, successor):
        """The process at the prompt has the copies from here on. When memory runs out, it is not the one to go."""
        self.copies.remove(successor)
        os.close(successor.link)
        self.left = self.copies, self.limit, copies.set_oom_score("500")
        self.copies, self.limit = [], 0
        file_audit.current = None

    def on_handoff(self, link, told):
        """In the copy that is at the prompt from here on."""
        os.close(link)
        self.limit, self.memory, self.stale = told["most"], dict(told["held"]), True
        try:
            base, woken = copies.make(self.host, len(self.log))
        except (OSError, forks.Gone):
            return  # a merge of that branch will say so
        if woken is not None:
            os._exit(0)
        self.bases[told["branch"]] = base

    def on_aside(self, told):
        """In an interpreter beside the one at the prompt, which has no checkpoints but that of its beginning."""
        self.copies, self.limit, self.memory, self.stale = [], 0, {}, False
        self.link, self.forward_processes, self.left = None, [], None
        self.bases = {told["branch"]: told["base"]}
        file_audit.current = None

    def return_to_prompt(self):
        """In a branch whose cell has ended: the process that was at the prompt is gone."""
        if self.left is not None:
            (self.copies, self.limit, score), self.left = self.left, None
            copies.set_oom_score(score)
            self.drop_dead()
            self.reasons[len(self.log) - 1] = "it was at the prompt while In [%d] ran in the background" % (
                self.log[-1].number
            )
            self.stale = True

    def forget(self, branch):
        """Ends the copy that only a merge of this branch needs."""
        base = self.bases.pop(branch, None)
        if base is not None:
            base.end()

    def drop_forward(self):
        """Kills the processes that were stepped back over: new code is about to run."""
        if self.link is None:
            return
        for process in self.forward_processes:
            forks.signal_to(process, 9)
        try:
            os.close(self.link)
        except OSError:
            pass
        self.link, self.forward_processes = None, []


def create(server):
    """Installs the audit hook and returns empty checkpoints."""
    file_audit.install()
    return Checkpoints(server)
