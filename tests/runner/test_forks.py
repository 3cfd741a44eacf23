"""Processes that cells fork: each ends as Python would end it, and none becomes a second runner."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
CELL = """import os, sys, atexit
pid = os.fork()
if not pid:
    %s
'%%d %%d' %% (pid, os.waitpid(pid, 0)[1]) if pid else None"""
EXIT = 256
ENDS = (  # what the child does, its status, what is seen of it
    ("pass", 0, ""),
    ("sys.exit()", 0, ""),
    ("sys.exit(3)", 3 * EXIT, ""),
    ("raise SystemExit(True)", EXIT, ""),
    ("sys.exit('this is why')", EXIT, "this is why"),
    ("exit(4)", 4 * EXIT, ""),
    ("os._exit(5)", 5 * EXIT, ""),
    ("1 / 0", EXIT, "ZeroDivisionError: division by zero"),
    ("print('buffered', end=''); sys.exit(2)", 2 * EXIT, "buffered"),
    ("raise KeyboardInterrupt", signal.SIGINT, "KeyboardInterrupt"),
    ("atexit.register(print, 'at its exit'); sys.exit(6)", 6 * EXIT, "at its exit"),
    ("input()", EXIT, "EOFError"),
    ("get_ipython().run_cell('sys.exit(7)')", 7 * EXIT, ""),
    ("sys.stdout.close(); sys.exit(8)", 8 * EXIT, ""),
)


class Both(Engine):
    def test_how_a_child_ends(self):
        host = self.host()
        for code, status, seen in ENDS:
            cell = host.run(CELL % code)
            pid, found = cell.value.strip("'").split()
            self.assertEqual(int(found), status, (code, cell.output))
            self.assertIn(seen, cell.output, code)
            if not seen:
                self.assertNotIn("Traceback", cell.output, code)
            self.assertEqual(len(cell.of("done")), 1)
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_a_child_of_a_function_an_agent_calls(self):
        host = self.host()
        host.run('def parts() -> int:\n    "Forks."\n    import os, sys\n    pid = os.fork()\n'
                 "    if not pid: sys.exit(3)\n    return os.waitpid(pid, 0)[1]")  # fmt: skip
        self.assertIn("768", str(host.ask("tool", op="call", name="parts", args={})))
        self.assertIn("768", str(host.ask("evaluate", variables=["parts()"], shells=[])))
        self.assertEqual(host.run("parts()").value, "768")

    def test_a_child_of_a_look(self):
        host = self.host()
        host.run("v = 41")
        for code in ("sys.exit(3)", "1 / 0", "pass"):
            answer = host.ask("snapshot", code=CELL % code, unprotected=True)["snapshot"]
            self.assertIn(" ", answer["bundle"]["text/plain"], answer)
        self.assertEqual(host.run("v").value, "41")


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
