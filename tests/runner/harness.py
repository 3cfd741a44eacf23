"""A small host for the runner's tests: starts it on pipes or a pty, splits marks from output, collects frames.

Invariant: every wait has a limit, and the process group is gone after `close`. Absent on purpose: anything the real
host decides.
"""

import ctypes
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "python")
LIMIT = 60  # seconds; it bounds a hang and measures nothing
# A program that says itself that it runs: dash misses an interrupt that comes while it starts one.
ENDLESS = """python3 -c "print('on', flush=True); any(iter(lambda: 0, 1))"; exit 7"""
MARK = re.compile(rb"\x1b\]7717;TEST;(\w+)\x07")
staged = tempfile.TemporaryDirectory()
shutil.copytree(SOURCE, os.path.join(staged.name, "python"), ignore=shutil.ignore_patterns("*.parts*", "__pycache__"))
RUNNER = os.path.join(staged.name, "python", "runner.py")


def is_alive(process):
    try:
        with open("/proc/%d/stat" % process) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Engine(object):
    """What the cases of both engines start from; `ipython` names the interpreter of the IPython engine."""

    ipython = None

    def host(self, **options):
        host = Host(ipython=self.ipython, **options)
        self.addCleanup(host.close)
        return host

    def until(self, done):
        deadline = time.monotonic() + LIMIT
        while not done():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def settle(self, host):
        """Waits until the copy of this moment is there, or why there is none."""
        deadline, pause = time.monotonic() + LIMIT, 0.03
        while host.ask("checkpoints", op="list")["checkpoints"]["stale"]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(pause)
            pause = min(1.5 * pause, 1)  # whoever is asked all the time makes none


class Checkpointed(Engine):
    """What the cases with checkpoints start from."""

    def start(self, most=10, **options):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # who loses its parent becomes a child of ours, as under the guard
        host = self.host(**options)
        host.leader = host.pid
        host.cells = 0
        host.ask("checkpoints", op="keep", number=most)
        self.settle(host)
        return host

    def cell(self, host, code, settle=True):
        host.cells += 1
        done = host.run(code, executionCount=host.cells)
        if settle:
            self.settle(host)
        return done

    def step(self, host, op, **fields):
        host.send(type="checkpoints", op=op, **fields)
        seen = host.finish("answer")
        for frame in seen.of("moved"):
            host.leader = frame["pid"]
            self.addCleanup(kill, frame["pid"])
        self.settle(host)
        return seen.last

    def value(self, host, code):
        return host.run(code, silent=False, storeHistory=False).value

    def waiting(self, host):
        """The processes that wait: ours, since the interpreter's parent is this process."""
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            ours = [int(word) for word in file.read().split()]
        return [process for process in ours if process != host.leader and is_alive(process) and script(process)]


def script(process):
    with open("/proc/%d/cmdline" % process, "rb") as file:
        return b"runner.py" in file.read()


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass


class Cell(object):
    """What one request brought: frames, and output as text without marks."""

    def __init__(self, frames, output, words):
        self.frames, self.output, self.words = frames, output, words
        self.last = frames[-1] if frames else {}

    def of(self, kind):
        return [frame for frame in self.frames if frame["type"] == kind]

    @property
    def value(self):
        return self.of("result")[0]["bundle"]["text/plain"]

    @property
    def error(self):
        return self.of("error")[0]["ename"]


class Host(object):
    record = None  # (path, session)

    def __init__(self, terminal=False, ipython=None, options=(), cwd=None, inherited=()):
        request, self.requests = os.pipe()
        self.frames, frame = os.pipe()
        for fd in (request, frame):
            os.set_inheritable(fd, True)
        python = ipython or sys.executable
        command = (
            [python, RUNNER, str(request), str(frame), "TEST"]
            + ([] if ipython else ["--no-ipython"])
            + (["--pty"] if terminal else [])
            + list(options)
        )
        if terminal:
            self.pid, master = pty.fork()
            if self.pid == 0:
                os.execv(python, command)
            self.streams = [master]
            self.process = None
        else:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(request, frame) + tuple(inherited),
                start_new_session=True,
                cwd=cwd,
            )
            self.pid = self.process.pid
            self.streams = [self.process.stdout.fileno(), self.process.stderr.fileno()]
        os.close(request)
        os.close(frame)
        self.raw = {fd: bytearray() for fd in self.streams}
        self.old = {}
        self.lines = b""
        self.number = 0
        self.pending = []
        self.ended = False
        self.ready = self.frame("ready")

    def pump(self, deadline, pause=None):
        """Reads once from whatever is there, or returns at `pause`."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise AssertionError(
                "nothing came in time; output so far: %r" % {fd: data[-2000:] for fd, data in self.raw.items()}
            )
        if pause is not None:
            left = max(0, min(left, pause - time.monotonic()))
        watched = list(self.streams) + ([] if self.ended else [self.frames])
        for fd in select.select(watched, (), (), left)[0]:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:
                data = b""
            if fd != self.frames:
                self.raw[fd] += data  # a bytearray: grows in place
                if not data:
                    self.streams.remove(fd)
            elif data:
                self.lines += data
                *lines, self.lines = self.lines.split(b"\n")
                self.pending += [json.loads(line.decode("ascii")) for line in lines]
            else:
                self.ended = True

    def take(self, frame):
        """A frame as the host takes it: it answers at once where the record is."""
        if frame["type"] == "record_request":
            path, session = self.record or (None, None)
            self.send(type="record_reply", id=frame["call"], path=path, session=session)
        return frame

    def frame(self, kind):
        deadline = time.monotonic() + LIMIT
        while True:
            for index, frame in enumerate(self.pending):
                if frame["type"] == kind:
                    return self.pending.pop(index)
            if self.ended:
                raise AssertionError("the runner ended; output: %r" % self.raw)
            self.pump(deadline)

    def send(self, **request):
        self.number += 1
        request.setdefault("id", str(self.number))
        os.write(self.requests, json.dumps(request).encode() + b"\n")
        return request["id"]

    def seen(self, mark):
        return all(b"\x1b]7717;TEST;%d\x07" % mark in data for data in self.raw.values())

    def stop(self):
        """Ctrl-C until the cell ends: Python itself can sleep through one that comes between its last look and the
        system call."""
        return self.finish(again=self.interrupt, every=5)  # a second one may fall into what the first is shown with

    def finish(self, last="done", again=None, every=0.5):
        """Frames until `last`, with all output that came before it. `again` is called every so many seconds."""
        frames = []
        deadline = time.monotonic() + LIMIT
        due = 0
        while not frames or frames[-1]["type"] != last:
            while not self.pending and not self.ended:
                if again and time.monotonic() >= due:
                    again()
                    due = time.monotonic() + every
                self.pump(deadline, due if again else None)
            if not self.pending:
                raise AssertionError("the runner ended; output: %r" % self.raw)
            frames.append(self.take(self.pending.pop(0)))
        for fd, data in self.old.items():
            self.raw[fd] = data + self.raw[fd]
        self.old = {}
        while frames[-1].get("sync") and not self.seen(frames[-1]["sync"]):
            self.pump(deadline)
        data = b"".join(self.raw[fd] for fd in sorted(self.raw))
        self.raw = {fd: bytearray() for fd in self.raw}
        words = [word.decode() for word in MARK.findall(data)]
        return Cell(frames, MARK.sub(b"", data).replace(b"\r\n", b"\n").decode("utf-8", "replace"), words)

    def run(self, code, **options):
        self.send(code=code, **options)
        return self.finish()

    def ask(self, kind, **fields):
        self.send(type=kind, **fields)
        return self.finish("answer").last

    def wait_output(self, text):
        deadline = time.monotonic() + LIMIT
        while not any(text in data for data in self.raw.values()):
            self.pump(deadline)

    def forget(self, text):
        """Lets `wait_output` look only at what follows the first `text`."""
        for fd, data in self.raw.items():
            if text in data:
                self.old[fd] = self.old.get(fd, b"") + data[: data.index(text) + len(text)]
                self.raw[fd] = data[data.index(text) + len(text) :]

    def interrupt(self):
        os.killpg(self.pid, signal.SIGINT)

    def type(self, data):
        os.write(self.streams[0], data)

    def end(self):
        """Lets the runner see the end of the pipe; returns its last output and exit code."""
        os.close(self.requests)
        self.requests = None
        return self.rest()

    def rest(self):
        """The output up to the runner's end, without marks, and its exit code."""
        deadline = time.monotonic() + LIMIT
        while not self.ended:
            self.pump(deadline)
        while self.streams:
            self.pump(deadline)
        if self.process:
            code = self.process.wait(LIMIT)
        else:
            status = os.waitpid(self.pid, 0)[1]
            code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if self.process:
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                stream.close()
        self.process = self.pid = None
        return MARK.sub(b"", b"".join(self.raw.values())), code

    def close(self):
        if self.pid:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                pass
            self.process.wait() if self.process else os.waitpid(self.pid, 0)
        for fd in [self.frames] + ([self.requests] if self.requests is not None else []):
            os.close(fd)
        if self.process:
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                stream.close()
