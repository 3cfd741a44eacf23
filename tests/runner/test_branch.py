"""The copy of the interpreter that an agent tries things in: what it keeps and what it leaves alone; both engines."""

import ctypes
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine, is_alive  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # who loses its parent becomes a child of ours, as under the guard


class Branches(Engine):
    def tried(self, host, code, **fields):
        return host.ask("branch", op="run", code=code, **fields)["snapshot"]

    def value(self, host, code, **fields):
        return self.tried(host, code, **fields)["bundle"]["text/plain"]

    def copies(self, host):
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            ours = [int(word) for word in file.read().split()]
        return [process for process in ours if process != host.pid and is_alive(process)]

    def test_it_keeps_what_it_did_until_it_ends(self):
        host = self.host()
        host.run("a = [1]; open")
        self.assertEqual(self.tried(host, "a.append(2); print('hello'); import json")["printed"], "hello\n")
        self.assertEqual(self.value(host, "a, json.dumps(a)"), "([1, 2], '[1, 2]')")
        host.run("a.append(5)")
        self.assertEqual(self.value(host, "a"), "[1, 2]")
        self.assertEqual(self.value(host, "a", fresh=True), "[1, 5]")
        self.assertEqual(len(self.copies(host)), 1)
        host.ask("branch", op="end")
        self.until(lambda: not self.copies(host))
        self.assertEqual(host.run("a, 'json' in dir()").value, "([1, 5], False)")

    def test_what_it_prints_is_seen_at_once(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.host(terminal=terminal)
                host.run("a = 1")
                host.send(type="branch", op="run", code="print('step', a); __import__('time').sleep(60)")
                host.wait_output(b"step 1")
                host.interrupt()
                seen = host.finish("answer").last
                self.assertEqual(seen["snapshot"]["printed"], "step 1\n")
                self.assertEqual(seen["snapshot"]["error"]["ename"], "KeyboardInterrupt")

    def test_it_can_write_in_a_folder_of_its_own_alone(self):
        host = self.host()
        place = self.value(host, "import tempfile, os; f = tempfile.NamedTemporaryFile(); f.write(b'x'); f.name")
        self.assertIn("ipycodex-copy-", place)
        self.assertEqual(self.tried(host, "open('/tmp/not-here', 'w')")["error"]["ename"], "PermissionError")
        self.assertEqual(self.tried(host, "import socket; socket.socket()")["error"]["ename"], "PermissionError")
        host.ask("branch", op="end")
        self.until(lambda: not os.path.exists(os.path.dirname(place.strip("'"))))

    def test_it_goes_where_it_is_sent_and_the_interpreter_stays(self):
        host = self.host()
        self.assertEqual(self.value(host, "import os; os.getcwd()", cwd="/usr"), "'/usr'")
        self.assertEqual(self.tried(host, "1", cwd="/no/such")["error"]["ename"], "FileNotFoundError")
        self.assertNotEqual(host.run("import os; os.getcwd()").value, "'/usr'")

    def test_an_interrupt_ends_what_runs_and_keeps_the_copy(self):
        host = self.host()
        self.tried(host, "n = 1")
        host.send(type="branch", op="run", code="n = 2; print('on', flush=True)\nimport time; time.sleep(60)")
        host.frame("started")
        time.sleep(0.5)
        answer = host.finish("answer", again=host.interrupt, every=4).last["snapshot"]
        self.assertEqual(answer["error"]["ename"], "KeyboardInterrupt")
        self.assertEqual(answer["printed"], "on\n")
        self.assertEqual(self.value(host, "n"), "2")
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_what_does_not_react_is_given_up(self):
        host = self.host()
        self.tried(host, "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)")
        host.send(type="branch", op="run", code="time.sleep(60)")
        host.frame("started")
        time.sleep(0.5)
        answer = host.finish("answer", again=host.interrupt, every=1).last["snapshot"]
        self.assertIn("interrupted twice", answer["error"]["evalue"])
        self.until(lambda: not self.copies(host))

    def test_its_end_is_told_and_the_next_one_is_as_the_interpreter_is(self):
        host = self.host()
        host.run("n = 1")
        for code in ("n = 5; print('last'); import os; os._exit(3)", "import os, signal; os.kill(os.getpid(), 9)"):
            told = self.tried(host, code)
            self.assertIn("and everything in it is lost", told["error"]["evalue"])
            self.assertEqual(self.value(host, "n"), "1")

    def test_it_is_no_child_and_ends_with_the_interpreter(self):
        host = self.host()
        self.tried(host, "1")
        look = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
        self.assertEqual(host.run(look).output, "none\n")
        self.assertEqual(len(self.copies(host)), 1)
        os.kill(host.pid, signal.SIGKILL)
        self.until(lambda: not self.copies(host))

    def test_long_output_and_programs_of_its_own(self):
        host = self.host()
        told = self.tried(host, "for n in range(200000): print(n)\n'x' * 3000000")
        self.assertLess(len(told["printed"]), 2 << 20)
        self.assertIn("199999\n", told["printed"])
        told = self.tried(host, "import subprocess; print(subprocess.run(['echo', 'by'], capture_output=True).stdout)")
        self.assertEqual(told["printed"], "b'by\\n'\n")

    def test_checkpoints_are_made_beside_it(self):
        host = self.host()
        host.ask("checkpoints", op="keep", number=5)
        self.settle(host)
        host.run("a = 1", executionCount=1)
        self.value(host, "a")
        self.settle(host)
        host.run("a = 2", executionCount=2)
        self.settle(host)
        rows = host.ask("checkpoints", op="list")["checkpoints"]["rows"]
        self.assertEqual([row["number"] for row in rows], [1, 2])
        host.send(type="checkpoints", op="back", number=2)
        seen = host.finish("answer")
        self.assertIn("stepped", seen.last)
        self.addCleanup(os.kill, seen.of("moved")[0]["pid"], signal.SIGKILL)
        self.assertEqual(self.value(host, "a"), "1")


class BuiltIn(Branches, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class Ipython(Branches, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
