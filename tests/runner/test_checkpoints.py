"""Checkpoints: what a step back takes back, what it carries, what it cannot; both engines."""

import os
import random
import signal
import statistics
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Checkpointed, is_alive, kill  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
os.environ["PYTHONHASHSEED"] = "0"  # two interpreters show a set in the same order


class Steps(Checkpointed):
    def test_idle_threads_of_libraries_are_no_obstacle(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.start(terminal=terminal)
                self.cell(host, "import asyncio, time")
                self.cell(host, "def work(x): return x + 1")
                if sys.version_info >= (3, 9):
                    self.assertEqual(self.cell(host, "await asyncio.to_thread(work, 1)").value, "2")
                self.cell(host, "await asyncio.get_running_loop().run_in_executor(None, work, 2)")
                if terminal:
                    host.send(code="breakpoint()", executionCount=host.cells + 1, stdin="terminal")
                    host.cells += 1
                    host.wait_output(b"db")
                    host.type(b"c\n")
                    host.finish()
                    self.settle(host)
                self.cell(host, "x = 5")
                self.assertIn("stepped", self.step(host, "back", number=host.cells, session=0))
                if sys.version_info >= (3, 9):
                    self.assertEqual(self.cell(host, "await asyncio.to_thread(work, 2)").value, "3")

    def test_a_native_thread_is_an_obstacle_unless_it_ends_in_a_moment(self):
        host = self.start()
        self.cell(host, "import ctypes; library, thread = ctypes.CDLL(None), ctypes.c_ulong()")
        lives = "_ = library.pthread_create(ctypes.byref(thread), None, library.usleep, ctypes.c_void_p(%d))"  # us
        self.cell(host, lives % 100_000)
        self.cell(host, "a = 1")
        self.assertIn("stepped", self.step(host, "back", number=host.cells))
        self.cell(host, lives % 60_000_000)
        self.cell(host, "a = 2")
        self.assertIn("1 native thread(s) are running", self.step(host, "back", number=host.cells)["failed"])

    def test_a_step_takes_back_names_values_and_places(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.start(terminal=terminal)
                self.cell(host, "import os, random; a = [1]; random.seed(7)")
                self.cell(host, "a.append(2); os.environ['A'] = 'x'; os.chdir('/'); r = random.random(); a")
                stepped = self.step(host, "back")["stepped"]
                self.assertEqual([step["number"] for step in stepped["over"]], [2])
                state = "a, os.environ.get('A'), os.getcwd() == %r, 'r' in dir(), random.random(), Out"
                self.assertEqual(
                    self.value(host, state % stepped["cwd"]),
                    "([1], None, True, False, %r, {})" % random.Random(7).random(),
                )

    def test_a_thread_that_has_asked_is_no_obstacle_once_it_has_its_answer(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.start(terminal=terminal)
                self.cell(host, "a = [1]")
                host.send(code=ASKING, executionCount=2, stdin="ask")
                host.cells = 2
                asked = host.frame("input_request")
                host.send(type="input_reply", id=asked["call"], value="two")
                host.finish()
                self.settle(host)
                self.cell(host, "a.append(3)")
                self.assertEqual(self.value(host, "a"), "[1, 'two', 3]")
                for before, state in ((3, "[1, 'two']"), (2, "[1]")):
                    self.assertIn("stepped", self.step(host, "back", number=before))
                    self.assertEqual(self.value(host, "a"), state)
                host.send(code=ASKING, executionCount=2, stdin="ask")
                asked = host.frame("input_request")
                host.send(type="input_reply", id=asked["call"], value="more")
                host.finish()
                self.assertEqual(self.value(host, "a"), "[1, 'more']")

    def test_numbers_and_the_way_forward_and_the_terminal(self):
        host = self.start(terminal=True)
        for code in ("a = 1", "a = 2; b = [1]", "b.append(a); a = 3", "a"):
            self.cell(host, code)
        self.step(host, "back", number=3)
        answer = self.step(host, "back", number=1)
        self.assertEqual([step["number"] for step in answer["stepped"]["over"]], [1, 2])
        self.assertEqual([step["number"] for step in self.step(host, "forward")["stepped"]["over"]], [1, 2])
        self.assertEqual([step["number"] for step in self.step(host, "forward")["stepped"]["over"]], [3, 4])
        self.assertIn("nothing to go forward", self.step(host, "forward")["failed"])
        self.assertEqual(self.value(host, "a, b"), "(3, [1, 2])")
        look = "open('/dev/tty').isatty(), __import__('os').tcgetpgrp(0)"
        self.assertEqual(self.value(host, look), "(True, %d)" % host.leader)

    def test_a_number_is_one_of_the_session_that_asks(self):
        host = self.start(most=3)
        for code, number, session in (("a = 1", 1, 0), ("a = 2", 2, 0), ("a = 3", 1, 1), ("a = 4", 3, 0)):
            host.run(code, executionCount=number, session=session)
            self.settle(host)
        self.assertIn("stepped", self.step(host, "back", number=1))
        self.step(host, "forward")
        refused = self.step(host, "back", number=2, session=1)["failed"]
        self.assertIn("only another session has run In [2]", refused)
        self.assertIn("In [9] has not run", self.step(host, "back", number=9, session=1)["failed"])
        over = self.step(host, "back", number=2)["stepped"]["over"]
        self.assertEqual([(step["number"], step["session"]) for step in over], [(2, 0), (1, 1), (3, 0)])
        self.step(host, "forward")
        self.step(host, "back", number=1, session=1)
        self.assertEqual(self.value(host, "a"), "2")

    def test_what_was_stepped_over_is_gone_when_code_runs(self):
        host = self.start()
        for code in ("a = 1", "a = 2", "a = 3"):
            self.cell(host, code)
        old = host.leader
        self.step(host, "back", number=2)
        self.assertTrue(is_alive(old))
        self.cell(host, "a += 10")
        self.assertIn("nothing to go forward", self.step(host, "forward")["failed"])
        self.until(lambda: not is_alive(old))
        self.assertEqual(self.value(host, "a"), "11")
        self.assertIn("stepped", self.step(host, "back"))
        self.assertEqual(self.value(host, "a"), "1")

    def test_tasks_and_an_interrupt_go_with_it(self):
        host = self.start(terminal=True)
        self.cell(host, "import asyncio; n = 0")
        self.cell(host, COUNTING)
        self.cell(host, "task = asyncio.ensure_future(count()); await asyncio.sleep(0)")
        self.cell(host, "task.cancel(); await asyncio.sleep(0.05); m = n")
        self.step(host, "back")
        self.assertEqual(self.value(host, "task.done()"), "False")
        before = int(self.value(host, "n"))
        host.run("await asyncio.sleep(0.1)", storeHistory=False)
        self.assertGreater(int(self.value(host, "n")), before)
        host.send(code="import time; time.sleep(60)")
        time.sleep(0.5)
        host.type(b"\x03")
        self.assertTrue(host.finish().last["cancelled"])

    def test_what_a_copy_cannot_carry_is_said(self):
        for code, why in OBSTACLES:
            with self.subTest(why=why):
                host = self.start()
                self.cell(host, "a = 1")
                self.cell(host, code)
                self.cell(host, "a = 2")
                refused = self.step(host, "back")["failed"]
                self.assertIn(why, refused)
                self.assertIn("there is one before In [1] and In [2]", refused)
                self.step(host, "back", number=2)
                self.assertEqual(self.value(host, "a"), "1")
                host.run("p.kill() if 'p' in dir() else None", storeHistory=False)

    def test_files_and_programs_are_told(self):
        host = self.start()
        path = os.path.join(tempfile.mkdtemp(), "x.txt")
        self.cell(host, "f = open(%r, 'w'); f.write('one'); f.flush()" % path)
        self.cell(host, "f.write('two'); f.close(); import os; os.system('true'); open(%r).read()" % path)
        self.cell(host, "os.rename(%r, %r)" % (path, path + "2"))
        over = self.step(host, "back", number=2)["stepped"]["over"]
        self.assertEqual([step["wrote"] for step in over], [["process: true"], [path + "2"]])
        self.assertEqual(self.value(host, "f.tell()"), "3")

    def test_the_further_back_the_fewer_are_kept(self):
        host = self.start(most=2)
        for number in range(1, 25):
            self.cell(host, "a = %d" % number)
        there = host.ask("checkpoints", op="list")["checkpoints"]
        kept = [row["number"] for row in there["rows"]]
        self.assertEqual((kept[0], kept[-2:]), (1, [23, 24]))
        distances = [after - before for before, after in zip(kept, kept[1:])]
        self.assertEqual(distances, sorted(distances, reverse=True))
        self.assertEqual((len(kept) + there["thinned"], len(kept) <= 8), (24, True), kept)
        self.until(lambda: len(self.waiting(host)) == len(kept) + 1)  # the thinned ones end by themselves
        waiting = self.waiting(host)
        gone = next(number for number in range(2, 23) if number not in kept)
        for _process in range(2):  # also in a copy that was made when that one was still there
            why = self.step(host, "back", number=gone)["failed"]
            self.assertIn("no checkpoint before In [%d]: it was thinned out" % gone, why)
            self.step(host, "back", number=kept[-3])
        self.assertEqual(self.value(host, "a"), str(kept[-3] - 1))
        self.assertIn("stepped", self.step(host, "back", number=1))
        self.assertEqual(self.value(host, "'a' in dir()"), "False")
        host.ask("checkpoints", op="keep", number=0)
        self.until(lambda: not any(is_alive(process) for process in waiting if process != host.leader))
        self.assertIn("no checkpoints are kept", host.ask("checkpoints", op="back")["failed"])

    def test_where_copies_hold_too_much_those_go_that_hold_much_and_say_little(self):
        host = self.start()
        self.cell(host, "import _ipycodex_runner.fork_state as state; kept = state.available_memory")
        self.cell(host, "a = bytearray(b'x') * (30 << 20)")
        for number in range(6):
            self.cell(host, "a[:] = bytes([%d]) * len(a)" % number)
        self.cell(host, "state.available_memory = lambda: 200 << 20")
        there = host.ask("checkpoints", op="list")["checkpoints"]
        numbers = [row["number"] for row in there["rows"]]
        self.assertEqual((numbers[0], numbers[-1]), (1, 9), numbers)
        self.assertTrue(3 <= len(numbers) < 9, numbers)
        self.assertLess(sum(row["memory"] for row in there["rows"]), 120 << 20)
        self.assertTrue(all(none["why"] == "it was dropped to free memory" for none in there["missing"]))

    def test_an_idle_moment_measures_few_of_many_copies(self):
        host = self.start()
        self.cell(host, "import _ipycodex_runner.fork_state as state; old = state.memory_by_kind; looks = []")
        self.cell(host, "state.memory_by_kind = lambda path: looks.append(path) or old(path)")
        for number in range(30):
            self.cell(host, "looks.clear()")
        self.cell(host, "looks.clear()", settle=False)
        time.sleep(0.5)  # nothing is asked meanwhile
        self.assertIn(self.value(host, "len(looks)"), ("4", "5"))

    def test_a_copy_that_was_ended_from_outside(self):
        host = self.start()
        for code in ("a = 1", "a = 2"):
            self.cell(host, code)
        for process in self.waiting(host):
            os.kill(process, signal.SIGKILL)
            self.until(lambda: not is_alive(process))
        self.assertIn("killed by something else", self.step(host, "back")["failed"])
        self.assertEqual(self.value(host, "a"), "2")

    def test_copies_end_with_the_interpreter_however_it_ends(self):
        for end in ("import os; os.kill(os.getpid(), 9)", "import os; os._exit(3)"):
            host = self.start()
            for code in ("a = 1", "a = 2", "a = 3"):
                self.cell(host, code)
            waiting = self.waiting(host)
            self.assertEqual(len(waiting), 4)
            host.send(code=end)
            self.until(lambda: not any(map(is_alive, waiting)))

    def test_idle_copies_use_no_time(self):
        host = self.start()
        for code in ("a = 1", "a = 2"):
            self.cell(host, code)
        before = [used(process) for process in self.waiting(host)]
        time.sleep(0.5)
        self.assertEqual([used(process) for process in self.waiting(host)], before)

    def test_a_cell_after_a_checkpoint_writes_to_pages_of_its_own(self):
        host = self.start()
        self.cell(host, "held = bytearray(b'x') * (20 << 20)")
        faults = []
        for _round in range(9):
            before = faulted(host.leader)
            host.run("1 + 1")
            faults.append(faulted(host.leader) - before)
            time.sleep(0.4)  # nothing is asked meanwhile
        # Some 65 when each page is copied as it is written to, as most often at first.
        self.assertLess(statistics.median(faults[4:]), 20, faults)

    def test_the_tracker_that_spawned_programs_share_is_no_obstacle(self):
        host = self.start()
        self.cell(host, "import multiprocessing as m\nwith m.get_context('spawn').Pool(1) as p: r = p.map(abs, [-1])")
        self.cell(host, "a = 1")
        self.cell(host, "a = 2")
        self.assertIn("stepped", self.step(host, "back"))
        again = "with m.get_context('spawn').Pool(1) as p: r = p.map(abs, [-3])"
        self.cell(host, again)
        self.assertEqual(self.value(host, "a, r"), "(1, [3])")

    def test_a_connection_to_a_database_goes_along(self):
        host = self.start()
        path = os.path.join(tempfile.mkdtemp(), "x.db")
        self.cell(host, "import sqlite3; c = sqlite3.connect(%r); m = sqlite3.connect(':memory:')" % path)
        self.cell(host, "_ = m.execute('create table t(x)'); _ = c.execute('create table t(x)'); c.commit()")
        self.cell(host, "_ = c.execute('insert into t values (1)'); _ = m.execute('insert into t values (1)')")
        self.cell(host, "c.commit()")
        self.assertIn("it holds a lock on a file", self.step(host, "back")["failed"])
        self.step(host, "back", number=3)
        self.cell(host, "_ = c.execute('insert into t values (2)'); c.commit()")
        look = "[d.execute('select * from t').fetchall() for d in (c, m)], *c.execute('pragma integrity_check')"
        self.assertEqual(self.value(host, look), "([[(1,), (2,)], []], ('ok',))")

    def test_what_is_registered_for_the_exit_is_what_was_by_then(self):
        host = self.start()
        self.cell(host, "import atexit; atexit.register(print, 'one')")
        self.cell(host, "atexit.register(print, 'two')")
        self.step(host, "back")
        host.send(type="exit")
        host.wait_output(b"one")
        self.until(lambda: not is_alive(host.leader))
        self.assertNotIn(b"two", b"".join(host.raw.values()))

    def test_a_thousand_cells(self):
        host = self.start()
        for number in range(1000):
            self.cell(host, "a = %d" % number, settle=number > 985)
        there = host.ask("checkpoints", op="list")["checkpoints"]
        self.assertEqual([row["number"] for row in there["rows"]][-10:], list(range(991, 1001)))
        self.assertLess(len(self.waiting(host)), 32)
        self.step(host, "back", number=995)
        self.assertEqual(self.value(host, "a"), "993")

    def test_an_interrupt_in_the_middle_of_a_step_changes_nothing(self):
        host = self.start(terminal=True)
        for code in ("a = 1", "a = 2", "a = 3", "a = 4"):
            self.cell(host, code)
        for number in (4, 3):
            # A key that interrupts throws away what was printed a moment ago, the mark of the answer, too.
            mode = termios.tcgetattr(host.streams[0])
            mode[3] |= termios.NOFLSH
            termios.tcsetattr(host.streams[0], termios.TCSANOW, mode)
            host.send(type="checkpoints", op="back", number=number)
            for pause in (0, 0.0005, 0.001, 0.002, 0.005):
                time.sleep(pause)
                os.write(host.streams[0], b"\x03")
            seen = host.finish("answer")
            self.assertIn("stepped", seen.last)
            host.leader = seen.of("moved")[0]["pid"]
            self.addCleanup(kill, host.leader)
            self.settle(host)
            self.assertEqual(self.value(host, "a"), str(number - 1))

    def test_where_descriptors_have_no_limit_steps_work(self):
        host = self.host()
        host.leader, host.cells = host.pid, 0
        host.run("import os; old = os.sysconf; os.sysconf = lambda name: -1 if name == 'SC_OPEN_MAX' else old(name)")
        host.ask("checkpoints", op="keep", number=10)
        self.cell(host, "x = 1")
        self.cell(host, "x = 2")
        self.assertIn("stepped", self.step(host, "back", number=2, session=0))
        self.assertEqual(self.value(host, "x"), "1")

    def test_what_a_task_raises_in_the_pause_before_a_copy_is_shown(self):
        host = self.start()
        code = """import asyncio, sys
def fails():
    frame = sys._getframe()
    while frame and frame.f_code.co_name != 'is_quiet': frame = frame.f_back
    if frame: raise SystemExit('of the task')
    loop.call_soon(fails)
loop = asyncio.get_event_loop_policy().get_event_loop()
loop.call_soon(fails);"""
        self.cell(host, "import asyncio; await asyncio.sleep(0)")
        host.send(code=code, executionCount=2)
        host.wait_output(b"SystemExit: of the task\n")
        output = host.finish().output
        self.assertEqual(host.run("6", executionCount=3).value, "6")
        self.assertNotIn("AttributeError", output)

    def test_where_memory_is_short_that_is_said(self):
        host = self.start()
        self.cell(host, "import _ipycodex_runner.fork_state as state; state.available_memory = lambda: 1 << 27")
        self.cell(host, "a = bytearray(b'x') * (200 << 20)")
        self.cell(host, "a = 1")
        self.assertIn("of memory is left", self.step(host, "back")["failed"])
        self.assertEqual(self.value(host, "a"), "1")

    def test_a_cell_that_forks_and_a_pool(self):
        host = self.start()
        self.cell(host, "import os\nif os.fork() == 0: os._exit(0)\nos.wait(); a = 1")
        self.cell(host, POOL)
        self.cell(host, "a, b = 0, 0")
        self.step(host, "back")
        self.assertEqual(self.value(host, "a, b"), "(1, [1, 2])")

    def test_names_after_steps_are_those_of_the_first_cells_alone(self):
        chance = random.Random(os.environ.get("IPYCODEX_SEED", "checkpoints"))
        for _round in range(3):
            host = self.start(most=20)
            if host.run("import numpy, pandas").of("error"):
                choices, state = CELLS, STATE
            else:
                choices, state = CELLS + TABLES, "%s, %s" % (STATE, TABLES_STATE)
            cells = [FIRST] + [chance.choice(choices) for _ in range(8)]
            for code in cells:
                self.cell(host, code)
            for _step in range(3):
                to = chance.randrange(2, len(cells) + 1)
                self.assertIn("stepped", self.step(host, "back", number=to))
                alone = self.host()
                alone.run("import numpy, pandas")
                for code in cells[: to - 1]:
                    alone.run(code)
                self.assertEqual(self.value(host, state), self.value(alone, state), (cells, to))
                cells[to - 1 :] = []
                host.cells = len(cells)
                for code in [chance.choice(choices) for _ in range(3)]:
                    cells.append(code)
                    self.cell(host, code)


ASKING = """
import threading
def work():
    a.append(input('? '))
t = threading.Thread(target=work); t.start(); t.join()
"""
COUNTING = """
async def count():
    global n
    while True:
        n += 1
        await asyncio.sleep(0.01)
"""
POOL = """
import multiprocessing as m
with m.get_context('fork').Pool(2) as pool:
    b = pool.map(abs, [-1, -2])
pool.join()
"""
THREAD = """
import threading, time
t = threading.Thread(target=time.sleep, args=(60,), daemon=True, name='mine')
t.start()
"""
LOCK = """
import fcntl, tempfile
f = tempfile.TemporaryFile()
fcntl.lockf(f, fcntl.LOCK_EX)
"""
OBSTACLES = [
    (THREAD, "thread `mine`"),
    ("import subprocess; p = subprocess.Popen(['sleep', '60'])", "(sleep), which it started, is still running"),
    ("import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()", "a socket is listening"),
    (LOCK, "a lock on a file"),
]
FIRST = "a = []; d = {}; n = 0; import random, decimal, datetime; random.seed(1); g = (i for i in range(99))"
CELLS = [
    "a.append(len(a))",
    "a = a[::-1] + [n]",
    "d[len(d)] = dict(d)",
    "d.clear()",
    "n += 1",
    "del n; n = 5",
    "n = random.random()",
    "b = bytearray(b'x' * 1000); b[n % 3 if isinstance(n, int) else 0] = 65",
    "s = {1, 2, 3} | set(a[:2]); t = tuple(s)",
    "class K:\n    z = 1\nk = K(); k.w = a",
    "a = a + [next(g)]",
    "x = decimal.Decimal('1.5') * 2; y = datetime.date(2020, 1, 1)",
    "raise ValueError(a.append('raised'))",
    "len(a)",
    "import os; os.environ['N'] = str(len(a))",
]
TABLES = [
    "v = numpy.arange(200000.0); v[::7] = len(a)",
    "v = numpy.random.default_rng(len(a)).normal(size=(300, 300)); v = v @ v",
    "v[:] = 1 if 'v' in globals() else 0",
    "f = pandas.DataFrame({'x': range(1000), 'y': [str(len(a))] * 1000})",
    "f = pandas.DataFrame({'x': a + [1]}).assign(z=3); f.loc[0, 'x'] = 99",
    "f['w'] = f['x'].cumsum() if 'f' in globals() and len(f) else 1",
]
TABLES_STATE = (
    "globals().get('v') is not None and v.tobytes()[::999], globals().get('f') is not None and f.to_csv(index=False)"
)
STATE = (
    "(a, d, n, repr(globals().get('b')), globals().get('s'), globals().get('x'), globals().get('y'), "
    "hasattr(globals().get('k'), 'w'), __import__('os').environ.get('N'), random.getstate()[1][::100], "
    "g.gi_frame.f_locals.get('i'), "
    "sorted(name for name in globals() if not name.startswith('_')), sorted(Out))"
)


def used(process):
    with open("/proc/%d/stat" % process) as file:
        return file.read().rpartition(")")[2].split()[11:13]


def faulted(process):
    with open("/proc/%d/stat" % process) as file:
        return int(file.read().rpartition(")")[2].split()[7])


class BuiltIn(Steps, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class Ipython(Steps, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
