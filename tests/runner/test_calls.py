"""What code asks of its session, from the runner's side: who waits, who serves, and how waiting ends."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
ASKS = "import ipycodex, threading\ndef asks(text='x'):\n    try:\n        return ipycodex.ask(text)\n"
ASKS += "    except BaseException as error:\n        return type(error).__name__\n"
THREAD = "said = []; t = threading.Thread(target=lambda: said.append(asks())); t.start(); t.join(); said"
LOOP = "await ipycodex.ask_async('x')"


class CallCase(harness.Engine, unittest.TestCase):
    def asking(self, code, terminal=False):
        """A host with a cell that waits, and the call it waits for."""
        host = self.host(terminal=terminal)
        host.run(ASKS)
        host.send(code=code)
        return host, host.frame("call")

    def test_a_call_says_what_it_wants(self):
        host, call = self.asking("ipycodex.ask('one\\n', {'type': 'object'}, [asks, 'g'])")
        self.assertEqual((call["op"], call["prompt"], call["tools"]), ("ask", "one\n", ["asks", "g"]))
        self.assertTrue(call["waits"])
        self.assertEqual(call["schema"], {"type": "object"})
        host.send(type="call_reply", id=call["call"], value={"text": "", "last": "```json\n{}\n```"})
        self.assertEqual(host.finish().value, "{}")
        host.send(code="ipycodex.tool('notebook', path='x', name=1)")
        call = host.frame("call")
        self.assertEqual((call["op"], call["name"], call["args"]), ("tool", "notebook", {"path": "x", "name": 1}))
        host.send(type="call_reply", id=call["call"], error="no such file")
        self.assertEqual(host.finish().error, "Error")

    def test_who_waits_serves_and_runs_no_cell(self):
        for code in ("asks()", THREAD, LOOP):
            host, call = self.asking(code)
            served = []
            for request in (
                dict(type="set", values={"y": "5"}),
                dict(type="tool", op="call", name="asks", args={}),
                dict(type="evaluate", variables=["y"], shells=[]),
                dict(type="exec", code="print('no')"),
                dict(type="tool", op="describe", names=["asks"]),
                dict(type="nonsense"),
            ):
                host.send(**request)
                served.append(host.frame("answer"))
            self.assertTrue(served[0]["set"], code)
            self.assertIn("Error", str(served[1]), code)
            self.assertIn("'5'", str(served[2]), code)
            self.assertIn("no other can run", served[3]["error"]["evalue"], code)
            self.assertTrue(served[4]["tools"][0]["found"], code)
            self.assertIn("nonsense", served[5]["error"]["evalue"], code)
            host.send(type="call_reply", id=call["call"], value={"text": "said"})
            cell = host.finish()
            self.assertIn("said", cell.value, code)
            self.assertEqual(cell.output, "", code)
            self.assertEqual(host.run("y").value, "'5'", code)

    def test_an_interrupt_calls_it_off(self):
        for terminal in (False, True):
            for code in ("ipycodex.ask('x')", LOOP, THREAD.replace("; said", "")):
                host, call = self.asking(code, terminal)
                cell = host.stop()
                self.assertTrue(cell.last["cancelled"], (code, cell.frames))
                off = [frame["call"] for frame in cell.frames if frame["type"] == "called_off"]
                if code != THREAD.replace("; said", ""):
                    self.assertEqual(off, [call["call"]], (code, cell.frames))
                self.assertEqual(host.run("1 + 1").value, "2", code)

    def test_an_interrupt_at_a_function_that_is_served_ends_the_waiting_too(self):
        host, _call = self.asking("ipycodex.ask('x')", True)
        host.send(type="tool", op="call", name="eval", args={"args": ["__import__('time').sleep(60)"]})
        host.frame("started")
        self.assertTrue(host.stop().last["cancelled"])
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_the_user_stops_it(self):
        for code in ("asks()", THREAD):
            host, call = self.asking(code)
            host.send(type="call_reply", id=call["call"], interrupted=True)
            self.assertIn("KeyboardInterrupt", host.finish().value)

    def test_nobody_waits_longer_than_the_cell(self):
        host, call = self.asking(THREAD.replace("t.join(); said", "__import__('time').sleep(1)"))
        host.finish()
        self.assertEqual(host.run("t.join(); said").value, "['Error']")
        host.send(type="call_reply", id=call["call"], value={"text": "late"})
        self.assertEqual(host.run("asks.__name__").value, "'asks'")

    def test_the_next_cell_is_not_taken_by_a_call_that_learns_late_of_its_end(self):
        # It looks for requests when the next one comes.
        host, _call = self.asking(
            "import time\nfrom queue import SimpleQueue\nfrom _ipycodex_runner import host, host_calls\n"
            "class Late(SimpleQueue):\n    def get(self, *given):\n        super().get(*given)\n"
            "        end = time.monotonic() + 1\n"
            "        while host.requests.queue.empty() and time.monotonic() < end: pass\n"
            "host_calls.SimpleQueue = Late\n" + THREAD.replace("t.join(); said", "time.sleep(0.2)")
        )
        host.finish()
        self.assertEqual(host.run("t.join(); said").value, "['Error']")

    def test_the_end_of_the_host_ends_the_waiting(self):
        for code in ("asks()", THREAD):
            host, _call = self.asking(code)
            self.assertEqual(host.end()[1], 0, code)

    def test_a_status_is_a_line(self):
        host = self.host()
        cell = host.run("import ipycodex\nipycodex.status('a\\n b' + 'c' * 999)\nipycodex.status()")
        self.assertEqual([frame["text"][:5] for frame in cell.of("status")], ["a bcc", ""])


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set")
class CallCaseWithIPython(CallCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
