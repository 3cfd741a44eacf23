"""The attempts of `attempts.py`, made in the places where an agent's code runs beside a live session; then the session,
and all that is around it, has to be as it was.

Short by default: each attempt in one of the places, in turn, but for `fresh`. `IPYCODEX_ATTEMPTS`: `all` makes each of
them in all the places, a part of a name those of that name; then a table is printed.
"""

import builtins
import ctypes
import itertools
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attempts  # noqa: E402
import attempts_beyond  # noqa: E402
from harness import LIMIT, Engine, Host, is_alive  # noqa: E402
from test_snapshot import WHY, below  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
CHOICE = os.environ.get("IPYCODEX_ATTEMPTS", "")  # empty, `all`, or a part of a row's name
SECRET = "ATTEMPTS_SECRET_TOKEN"
TOLD = re.compile(r"@(raised|ended|value) (.*)")
NOTHING = ("None", "[]", "False")
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(36, 1, 0, 0, 0)  # who loses its parent becomes a child of ours, as under the guard

MADE = """%sw, own = %r, %s
def attempt():
    os.write(1, b'@begins ')
    begins(%r)
%s
try:
    told = attempt()
except Exception as error:
    print('@raised', type(error).__name__, error)
except BaseException as error:
    print('@ended', type(error).__name__)
else:
    print('@value', repr(told))
"""

# What the live session has open, and how it looks at all of it afterwards.
OPENS = """
import ctypes, fcntl, mmap, multiprocessing, os, resource, select, signal, socket, subprocess, sys, tempfile
import threading, time
home = %(home)r
victim = subprocess.Popen(['sleep', '1000'], start_new_session=True)
class Buffer(ctypes.Structure):
    _fields_ = [('at', ctypes.c_void_p), ('rest', ctypes.c_char * 96)]
def address(piece):
    view = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(piece), ctypes.byref(view), 0)
    return view.at
rw, log = open(home + '/rw', 'r+b', buffering=0), open(home + '/log', 'ab', buffering=0)
rw.seek(3)
locked = open(home + '/locked', 'r+b', buffering=0); fcntl.flock(locked, fcntl.LOCK_EX)
memory = os.memfd_create('of the session'); os.write(memory, b'whole' * 1000)
shared, nameless = mmap.mmap(rw.fileno(), 4096), mmap.mmap(-1, 4096)
readable, of_memory = mmap.mmap(rw.fileno(), 4096, prot=mmap.PROT_READ), mmap.mmap(memory, 4096)
readable_memory = mmap.mmap(memory, 4096, prot=mmap.PROT_READ)
large = mmap.mmap(-1, 300 << 20)
nameless[:5] = b'whole'
read_end, write_end = os.pipe()
left, right = socket.socketpair()
to_world, server = socket.create_connection(('127.0.0.1', %(tcp)d)), socket.create_server(('127.0.0.1', 0))
server.setblocking(False)
event = os.eventfd(1) if hasattr(os, 'eventfd') else os.pipe()[1]
semaphore = multiprocessing.Semaphore(1)
folder = os.open(home, os.O_RDONLY)
handle = os.pidfd_open(victim.pid) if hasattr(os, 'pidfd_open') else event
master, slave = os.openpty()
x = [41]
def looks():
    with open('/proc/%%d/stat' %% victim.pid) as stat, open('/proc/self/oom_score_adj') as score:
        of_victim, own_score = stat.read().split()[2:6], score.read()
    fcntl.flock(rw, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.flock(rw, fcntl.LOCK_UN)
    with open(home + '/locked') as other:
        try:
            holds = fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holds = True
    pieces = [piece[:9] for piece in (shared, nameless, readable, of_memory, readable_memory, large)]
    return (x, rw.tell(), log.tell(), pieces, os.pread(memory, 9, 0), os.fstat(memory).st_size, holds,
        select.select([read_end, left, right, server, master, slave], [], [], 0)[0], semaphore.get_value(),
        os.getcwd(), dict(os.environ) == environment, os.getpgid(0), os.getsid(0), victim.poll(), of_victim,
        [os.getpriority(os.PRIO_PROCESS, process) for process in (0, victim.pid)], own_score,
        os.sched_getaffinity(0), os.sched_getscheduler(0), [resource.getrlimit(n) for n in range(16)],
        signal.getsignal(signal.SIGTERM), threading.active_count(), len(os.listdir('/proc/self/fd')))
environment = dict(os.environ)
# The runner watches its host from a moment after the start on: by a descriptor like `handle`.
for _ in range(200):
    links = [os.path.realpath('/proc/self/fd/' + each) for each in os.listdir('/proc/self/fd')]
    if sum(link.endswith('[pidfd]') for link in links) != 1:
        break
    time.sleep(0.01)
"""


class World:
    """What an attempt might reach: files, processes, sockets."""

    def __init__(self, base):
        self.base, self.home, self.own = base, base + "/home", base + "/own"
        self.temporary = base + "/tmp"
        for folder in (self.home, self.own, self.temporary, self.home + "/empty"):
            os.mkdir(folder)
        for name in ("marker", "rw", "log", "locked"):
            with open(os.path.join(self.home, name), "w") as file:
                file.write("whole, as it was\n" * 300)
        try:
            os.setxattr(self.home + "/marker", "user.kept", b"kept")
        except OSError:
            pass
        self.stranger = subprocess.Popen(["sleep", "1000"])
        self.tcp, self.udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.sockets, self.unix = [self.tcp, self.udp], []
        for number, kind in enumerate((socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)):
            for name in ("%s/s%d" % (base, number), "\0attempts-%d-%d" % (os.getpid(), number)):
                made = socket.socket(socket.AF_UNIX, kind)
                made.bind(name)
                if kind != socket.SOCK_DGRAM:
                    made.listen()
                self.sockets.append(made)
                self.unix.append(name)
        self.queue = libc.msgget(0, 0o1600)
        libc.msgsnd(self.queue, b"\1\0\0\0\0\0\0\0whole", 5, 0)

    def described(self, live, victim):
        return {
            "home": self.home, "marker": self.home + "/marker", "text": "whole, as it was\n" * 300, "live": live,
            "victim": victim, "stranger": self.stranger.pid, "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1], "unix": self.unix, "queue": self.queue, "secret": SECRET,
        }  # fmt: skip

    def looks(self):
        files = []
        for at, folders, names in os.walk(self.home):
            for name in sorted(folders + names):
                path = os.path.join(at, name)
                found = os.lstat(path)
                kept = (found.st_mode, found.st_uid, found.st_nlink, found.st_ino, found.st_mtime_ns, found.st_size)
                attributes = [(each, os.getxattr(path, each)) for each in os.listxattr(path)]
                with open(path if name in names else os.devnull, "rb") as file:
                    files.append((name, kept, attributes, zlib.crc32(file.read())))
        with open("/proc/sysvipc/msg") as file:
            queues = [row.split()[2:8] for row in file if row.split()[1] == str(self.queue)]
        system = [os.uname()[:5]]
        for path in ("/proc/sys/kernel/core_pattern", "/proc/self/mountinfo"):
            with open(path) as file:
                system.append(zlib.crc32(file.read().encode()))
        heard = select.select(self.sockets, (), (), 0)[0]
        nice = os.getpriority(os.PRIO_PROCESS, self.stranger.pid)
        return files, queues, system, heard, self.stranger.poll(), nice, os.listdir(self.temporary)

    def empty_own(self):
        for entry in os.scandir(self.own):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)

    def close(self):
        self.stranger.kill()
        self.stranger.wait()
        for each in self.sockets:
            each.close()
        libc.msgctl(self.queue, 0, None)


class Attempts(Engine):
    def setUp(self):
        self.begin()

    def begin(self):
        """A world of its own, which ends with the cleanups."""
        base = tempfile.mkdtemp(prefix="attempts-")
        self.addCleanup(shutil.rmtree, base, True)
        self.world = World(base)
        self.addCleanup(self.world.close)
        self.scratch, self.numbers = None, itertools.count(os.getpid())

    def session(self):
        """The live session, with all that it has open."""
        os.environ[SECRET] = SECRET
        os.environ["TMPDIR"] = self.world.temporary
        try:
            host = self.host()
        finally:
            del os.environ[SECRET], os.environ["TMPDIR"]
        opened = dict(home=self.world.home, tcp=self.world.tcp.getsockname()[1])
        cell = host.run(OPENS % opened)
        self.assertEqual(cell.last["status"], "ok", cell.frames)
        self.world.tcp.accept()[0].detach()  # its connection, kept open
        self.victim, self.memory = map(int, host.run("victim.pid, address(nameless)").value.strip("()").split(","))
        self.addCleanup(os.kill, self.victim, signal.SIGKILL)
        host.ask("snapshot", code="1")  # what is opened once is open from here on
        host.run("looks()")
        return host

    def interpreter(self, place):
        """An interpreter that writes in a folder, or nowhere, as the agent's do; or one that is `free`."""
        folders = '["%s"]' % self.world.own if place == "scratch" else "[]"
        options = [] if place == "free" else ["--confine", folders]
        return Host(ipython=self.ipython, options=options, cwd=self.world.own)

    def code(self, code, place):
        w = dict(self.world.described(self.live.pid, self.victim), memory=self.memory)
        own = "os.environ['TMPDIR']" if place in attempts.COPIES else repr(self.world.own)
        body = "\n".join("    " + line for line in code.strip("\n").split("\n"))
        return MADE % (attempts.PRELUDE, w, own, self.name, body)

    def make(self, place, code, endless):
        """Makes an attempt. Returns what it printed, and its error."""
        if place not in attempts.COPIES:
            return self.make_in_scratch(place, code, endless)
        host = self.live
        if place == "pyrun":
            host.send(type="snapshot", code=code)
        elif place == "dry run":
            host.send(type="trial", cells=[{"code": code}])
        else:
            host.send(type="branch", op="run", fresh=True, code=code)
        if endless:
            self.until(lambda: host.pending and host.pending[-1]["type"] == "answer" or self.begun(host))
        cell = host.finish("answer", again=host.interrupt if endless else None, every=0.5)
        forged = [word for word in cell.words if word not in {str(frame.get("sync")) for frame in cell.frames}]
        self.assertEqual(forged, [], "marks that the session would take for its own")
        self.assertLessEqual({frame["type"] for frame in cell.frames}, {"started", "answer", "status"})
        told = cell.last.get("snapshot", {})
        self.assertNotIn("unprotected", told)
        printed = told.get("printed", "")
        self.assertNotIn("\x1b", printed)
        return printed if isinstance(printed, str) else "", cell.last.get("error") or told.get("error")

    def begun(self, host):
        """One of the processes has named itself: the attempt has begun. Meanwhile the session's output is read."""
        if not host.ended:
            host.pump(time.monotonic() + LIMIT, time.monotonic() + 0.01)
        for process in below(os.getpid()):
            try:
                with open("/proc/%d/comm" % process) as file:
                    if file.read().strip() == self.name:
                        return True
            except OSError:
                pass
        return False

    def make_in_scratch(self, place, code, endless):
        host = self.scratch
        if host is None or host.ended or place == "fresh":
            self.end_scratch()
            host = self.scratch = self.interpreter(place)
        try:
            host.send(code=code)
            signals = []  # an interrupt, and if that does not help, what the session does after five seconds

            def stop():
                signals.append(signal.SIGINT if len(signals) < 2 else signal.SIGKILL)
                os.killpg(host.pid, signals[-1])

            if endless:
                self.until(lambda: self.begun(host))
            cell = host.finish(again=stop if endless else None, every=0.5)
        except (AssertionError, OSError) as error:
            if not host.ended and "ended" not in str(error):
                raise
            printed = b"".join(bytes(data) for data in host.raw.values()).decode("utf-8", "replace")
            self.end_scratch()
            return printed, "the interpreter ended"
        return cell.output, None

    def end_scratch(self):
        if self.scratch is not None:
            self.scratch.close()
            self.scratch = None

    def judge(self, promise, endless, printed, error):
        """What became of it."""
        if not endless:
            self.assertIn("@begins", printed, error)
        kind, text = told(printed, error)
        if promise == attempts.BOUNDED:
            return promise, text
        if kind == "raised":
            self.assertTrue(issubclass(getattr(builtins, text.split(" ")[0], OSError), OSError), text)
            return promise, text
        fails = endless if kind == "ended" else text in NOTHING
        return (promise if fails else "escaped"), text

    def attempt(self, entry, place, before):
        began, self.name = time.monotonic(), "attempt %d" % next(self.numbers)
        outcome, text = self.judge(
            entry.promise, entry.endless, *self.make(place, self.code(entry.code, place), entry.endless)
        )
        if place in attempts.COPIES:
            self.live.ask("branch", op="end")
            self.until(lambda: self.alone())
        elif place == "fresh" or entry.promise == attempts.BOUNDED:
            self.end_scratch()
            self.until(lambda: self.alone())
        self.assertNotEqual(outcome, "escaped", text)
        self.until(lambda: os.listdir(self.world.temporary) == [])
        self.world.empty_own()
        self.assertEqual(self.looks(), before)
        return outcome, time.monotonic() - began

    def alone(self):
        """Nothing runs but the session, what it started, and the stranger."""
        for process in below(os.getpid()):
            if not is_alive(process):
                try:
                    os.waitpid(process, os.WNOHANG)
                except OSError:
                    pass
        kept = {self.live.pid, self.victim, self.world.stranger.pid} | self.known
        return {each for each in below(os.getpid()) if is_alive(each)} <= kept

    def looks(self):
        cell = self.live.run("looks()")
        self.assertEqual(cell.of("error"), [])
        return cell.value, self.world.looks()

    def make_all(self, chosen):
        """Makes those attempts that are chosen; returns what became of each."""
        self.live = self.session()
        self.known = set(below(os.getpid()))
        table = []
        for place in attempts.ALL:
            before = self.looks()
            for number, entry in enumerate(attempts.ROWS):
                if place in entry.places and chosen(number, entry, place):
                    with self.subTest(place=place, attempt=entry.name):
                        outcome = ("ESCAPED", 0.0)
                        try:
                            outcome = self.attempt(entry, place, before)
                        finally:
                            table.append((entry.name, place) + outcome)
            self.end_scratch()
            self.until(self.alone)
        return table

    def test_nothing_gets_out(self):
        if CHOICE:
            table = self.make_all(lambda _number, entry, _place: CHOICE in entry.name or CHOICE == "all")
            report("IPython" if self.ipython else "built in", table)
        else:
            self.make_all(in_turn)

    def test_what_is_refused_succeeds_where_nothing_confines(self):
        """A row whose code is wrong is refused everywhere."""
        if CHOICE != "all":
            self.skipTest("a part of the long form")
        for entry in attempts.ROWS:
            left_out = entry.name in attempts_beyond.HARMFUL | attempts_beyond.VAIN
            if left_out or entry.promise != attempts.REFUSED or "scratch" not in entry.places:
                continue
            with self.subTest(attempt=entry.name):
                self.doCleanups()
                self.begin()
                self.live, self.name = self.session(), "attempt %d" % next(self.numbers)
                before = self.world.looks()
                kind, text = told(*self.make("free", self.code(entry.code, "free"), entry.endless))
                self.end_scratch()
                achieved = kind == "value" and text not in NOTHING or self.world.looks() != before
                self.assertTrue(achieved, (kind, text))

    def test_memory_that_runs_out_takes_the_copy(self):
        if CHOICE != "all":
            self.skipTest("a part of the long form")
        self.live = self.session()
        group = limited_group(600 << 20)
        if group is None:
            self.skipTest("no control group can be made here")
        self.addCleanup(os.rmdir, group)
        self.addCleanup(move_to_group, os.path.dirname(group), self.live.pid)
        move_to_group(group, self.live.pid)
        fills = "pieces = []\nwhile True: pieces.append(b'x' * (1 << 20))"
        before = self.live.run("looks()").value
        for request in ({"type": "snapshot", "code": fills}, {"type": "trial", "cells": [{"code": fills}]},
                        {"type": "branch", "op": "run", "code": fills}):  # fmt: skip
            self.live.send(**request)
            told = self.live.finish("answer").last["snapshot"]
            self.assertRegex(str(told), "SIGKILL|it was killed", request)
            self.assertEqual(self.live.run("looks()").value, before)


def told(printed, error):
    """How the code of an attempt ended, and with what."""
    found = TOLD.search(printed)
    return found.groups() if found else ("ended", str(error))


def in_turn(number, entry, place):
    """Whether the short form makes it there; what `fresh` is, `scratch` is in less time."""
    places = [each for each in entry.places if each != "fresh"]
    return place == places[number % len(places)]


def move_to_group(group, process):
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(process))


def limited_group(most):
    """A control group that holds no more memory; None: there is none."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = "%s/attempts-%d" % (root, os.getpid())
        try:
            os.mkdir(group)
            with open("%s/%s" % (group, limit), "w") as file:
                file.write(str(most))
            return group
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    return None


def report(engine, table):
    print("\n%d attempts, engine: %s" % (len({row[0] for row in table}), engine), file=sys.stderr)
    kinds = ("refused", "bounded", "impossible", "ESCAPED")
    print("%-10s %s  seconds" % ("place", " ".join("%10s" % kind for kind in kinds)), file=sys.stderr)
    for place in attempts.ALL:
        rows = [row for row in table if row[1] == place]
        counts = [sum(row[2] == kind for row in rows) for kind in kinds]
        seconds = sum(row[3] for row in rows)
        print("%-10s %s  %7.1f" % (place, " ".join("%10d" % count for count in counts), seconds), file=sys.stderr)


@unittest.skipIf(WHY, "attempts are NOT made: %s" % WHY)
class BuiltIn(Attempts, unittest.TestCase):
    pass


@unittest.skipIf(WHY, "attempts are NOT made: %s" % WHY)
@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class WithIPython(Attempts, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
