"""What becomes of printed text: floods, programs and forks in between, ends without warning, on pipes and on a pty."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
LINES = "for i in range(20000): print(i)\n"
NUMBERS = ["%d" % i for i in range(20000)]


class Both(Engine):
    def test_flood_keeps_its_place(self):
        host = self.host()
        for code, after in (
            ("import subprocess; subprocess.run(['echo', 'end'])", ["end"]),
            ("import os; os.system('echo end')", ["end"]),
            (
                "import os\npid = os.fork()\nif not pid:\n    print('child'); os._exit(0)\nos.waitpid(pid, 0)\n"
                "print('end')",
                ["child", "end"],
            ),
            ("display('end')\nprint('after')", ["after"]),
        ):
            cell = host.run(LINES + code)
            self.assertEqual(cell.last["status"], "ok", cell.frames)
            self.assertEqual(cell.output.split(), NUMBERS + after, code)

    def test_interrupted_flood_loses_and_repeats_nothing(self):
        host = self.host()
        host.send(code="import itertools\nfor i in itertools.count(): print(i)")
        host.wait_output(b"\n50000\n")
        cell = host.stop()
        self.assertTrue(cell.last["cancelled"], cell.frames[-2:])
        lines = cell.output.split()
        self.assertEqual(lines, ["%d" % i for i in range(len(lines))])

    def test_handler_may_print_into_a_flood(self):
        host = self.host()
        host.run(
            "import itertools, signal\ngot = []\ndef note(*given): got.append(1); print('<note>')\n"
            "signal.signal(signal.SIGINT, note)"
        )
        host.send(code="for i in itertools.count():\n    print(i)\n    if len(got) > 4: break")
        host.wait_output(b"0\n")
        cell = host.finish(again=host.interrupt, every=0.02)
        self.assertEqual(cell.last["status"], "ok", cell.frames)
        self.assertIn("<note>", cell.output)  # Python's text layer itself may mix up the line that was interrupted

    def test_huge_write_can_be_interrupted(self):
        host = self.host()
        host.send(code="import sys\nwhile True: sys.stdout.write('x' * (8 << 20))")
        host.wait_output(b"xxxx")
        self.assertTrue(host.stop().last["cancelled"])

    def test_lines_after_a_flood_are_seen_at_once(self):
        host = self.host()
        host.send(code=LINES + "import time; print('last'); time.sleep(60)")
        host.wait_output(b"\nlast\n")
        self.assertTrue(host.stop().last["cancelled"])
        host.send(code="print('first'); print('second'); time.sleep(60)")
        host.wait_output(b"second\n")
        self.assertTrue(host.stop().last["cancelled"])

    def test_last_words(self):
        for terminal in (False, True):
            for code, last in (
                ("import os; print('end'); os._exit(3)", b"end"),
                ("import os; print('end'); os.kill(os.getpid(), 11)", b"Current thread"),
            ):
                host = self.host(terminal=terminal)
                host.send(code=LINES + code)
                output, _status = host.rest()
                self.assertIn(b"\n19999\nend" if not terminal else b"\n19999\r\nend", output)
                self.assertIn(last, output)

    def test_writes_that_hold_everything_up(self):
        code = (
            "import ctypes\nlibc = ctypes.PyDLL(None)\n"
            "libc.write.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)\nleft = 4 << 20\n"
            "while left: left -= libc.write(1, b'x' * left, left)"
        )
        for terminal in (False, True):
            cell = self.host(terminal=terminal).run(code)
            self.assertEqual((len(cell.output), cell.last["status"]), (4 << 20, "ok"))


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
