"""Signals that are the user's: what their handlers raise at the prompt, and who else handles SIGINT."""

import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import LIMIT, Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
RAISES = """import signal, sys
def rings(number, frame):
    %s
signal.signal(signal.SIGUSR1, rings)
v = 41"""
RAISED = {
    "raise ValueError('of the handler')": "ValueError: of the handler",
    "raise TimeoutError('of the handler')": "TimeoutError: of the handler",
    "raise OSError(9, 'of the handler')": "of the handler",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "sys.exit(3)": "SystemExit: 3",
    "1 / 0": "ZeroDivisionError",
}
FAILS = """import os, signal, sys
def fails(*_): raise %s
%s = fails
signal.signal(signal.SIGALRM, fails)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)"""
# What a cell leaves behind, and what is said of it.
HOPELESS = {
    "import os; os.close(199)": b"closed the descriptors",
    "import os; os.closerange(3, 1000)": b"closed the descriptors",
    # Every error meets another one while it is shown.
    FAILS % ("RuntimeError", "sys.modules['_ipycodex_runner.outputs'].print_error"): b"cannot go on",
    # There is no memory left even to look what there is.
    FAILS % ("MemoryError", "os.fstat"): b"cannot go on",
}


class Both(Engine):
    def rings(self, host, shown):
        """Sends the signal until what it raises is seen: one that falls into the showing of another is not shown."""
        deadline, due = time.monotonic() + LIMIT, 0
        while not any(shown in data for data in host.raw.values()):
            if time.monotonic() >= due:
                os.kill(host.pid, signal.SIGUSR1)
                due = time.monotonic() + 5
            host.pump(deadline, due)
        host.forget(shown)

    def test_what_a_handler_raises_at_the_prompt_is_shown(self):
        for loop in ("", "import asyncio; await asyncio.sleep(0)"):
            host = self.host()
            host.run(loop)
            for statement, shown in RAISED.items():
                host.run(RAISES % statement)
                for _time in range(2):
                    self.rings(host, shown.encode())
                    host.ask("ping")  # it has been shown, and the next request is waited for
                self.assertEqual(host.run("v + 1").value, "42", statement)
            self.assertEqual(host.run("import os; os.kill(os.getpid(), 10); 5").error, "ZeroDivisionError")

    def test_a_runner_that_can_neither_serve_nor_say_so_ends(self):
        for code, why in HOPELESS.items():
            host = self.host()
            host.send(code=code)
            output, status = host.rest()
            self.assertEqual((status, why in output), (1, True), (code, output[-2000:]))

    def test_a_handler_that_raises_cuts_no_frame(self):
        host = self.host()
        host.run("import signal, os\ndef rings(*_): raise ValueError('again')\nsignal.signal(signal.SIGALRM, rings)")
        host.run("big = 'x' * (1 << 20)\nseen = 0")
        for _time in range(10):
            cell = host.run("signal.setitimer(signal.ITIMER_REAL, 0.01);\n"
                            "try:\n    for _ in range(30): display(big)\nexcept ValueError: pass")  # fmt: skip
            self.assertEqual(cell.last["type"], "done")
        self.assertEqual(host.run("len(big)").value, str(1 << 20))

    def test_asyncio_run_cancels_on_an_interrupt(self):
        host = self.host()
        code = (
            "import asyncio, signal\nasync def work():\n    print('on', flush=True)\n"
            "    try: await asyncio.sleep(600)\n"
            "    except asyncio.CancelledError: return 7\nasyncio.run(work())"
        )
        for _time in range(2):
            host.send(code=code)
            host.wait_output(b"on")
            cell = host.stop()
            if sys.version_info >= (3, 11):
                self.assertEqual(cell.value, "7")
            else:
                self.assertTrue(cell.last["cancelled"])
            host.send(code="print('on', flush=True)\nwhile True: pass")
            host.wait_output(b"on")
            self.assertTrue(host.stop().last["cancelled"])

    def test_an_interrupt_that_found_no_place_ends_with_its_cell(self):
        host = self.host()
        host.run(
            "import sys, threading, time\nbegun, ended = threading.Event(), threading.Event()\n"
            "interrupts = sys.modules['_ipycodex_runner.wire'].interrupts\n"
            "time.sleep, interrupts.after_repeat = lambda _seconds: begun.wait(), (ended.set,)\ninterrupts.wait()"
        )
        cell = host.run("begun.set(), ended.wait()\n6")
        self.assertEqual(cell.value, "6")

    def test_sigint_has_pythons_own_handler_for_all_to_see(self):
        host = self.host()
        look = "import signal\nh = signal.getsignal(signal.SIGINT)\n"
        self.assertEqual(host.run(look + "h is signal.default_int_handler, repr(h)").value,
                         "(True, '<built-in function default_int_handler>')")  # fmt: skip
        self.assertEqual(host.run("h(2, None)").error, "KeyboardInterrupt")
        host.run("signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGINT, h)")
        host.send(code="print('on', flush=True)\nwhile True: pass")
        host.wait_output(b"on")
        self.assertTrue(host.stop().last["cancelled"])

    def test_trio_cancels_on_an_interrupt(self):
        host = self.host()
        if host.run("import trio").of("error"):
            self.skipTest("trio is not there")
        host.send(code="async def work():\n    print('on', flush=True)\n    await trio.sleep(600)\ntrio.run(work)")
        host.wait_output(b"on")
        self.assertTrue(host.stop().last["cancelled"])
        self.assertEqual(host.run("v = 2\nv").value, "2")


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
