"""A cell in the background: the prompt passes to the copy from before the cell, which goes on; both engines."""

import array
import json
import os
import pty
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import LIMIT, Checkpointed, Host, is_alive, kill  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


def oom_score(process):
    """How much sooner than others the kernel kills that process when memory runs out."""
    with open("/proc/%d/oom_score_adj" % process) as file:
        return int(file.read())


class Successor(Host):
    """The host of a copy that gets the prompt. `ends`: the descriptors for the copy."""

    def __init__(self, terminal):
        request, self.requests = os.pipe()
        self.frames, frame = os.pipe()
        if terminal:
            master, slave = pty.openpty()
            self.streams, streams = [master], [slave, os.dup(slave), os.dup(slave)]
        else:
            (out, their_out), (err, their_err) = os.pipe(), os.pipe()
            self.streams, streams = [out, err], [os.open(os.devnull, os.O_RDONLY), their_out, their_err]
        self.ends = [request, frame] + streams
        self.raw = {fd: bytearray() for fd in self.streams}
        self.old, self.lines, self.number, self.pending, self.ended = {}, b"", 1000, [], False
        self.pid = None

    def close(self):
        if self.pid:
            kill(self.pid)
        for fd in [self.frames, self.requests] + self.streams:
            os.close(fd)


class Background(Checkpointed):
    def begin(self, terminal=False):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.set_inheritable(True)
        number = theirs.fileno()
        host = self.start(terminal=terminal, options=["--handoff", str(number)], inherited=[number])
        theirs.close()
        host.handoff, host.terminal = ours, terminal
        self.addCleanup(ours.close)
        return host

    def begin_aside(self, host, cell=None):
        """The host of an interpreter beside this one and its folder, or why there is none."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return self.hand_over(host, cell, folder=folder), folder

    def hand_over(self, host, cell, branch=1, **more):
        """The host of the copy that has the prompt from here on, or why none has."""
        front = Successor(host.terminal)
        self.addCleanup(front.close)
        front.handoff, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(front.handoff.close)
        rights = array.array("i", front.ends + [theirs.fileno()])
        told = json.dumps(dict(more, id=cell, branch=branch)).encode()
        host.handoff.sendmsg([told], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        for fd in front.ends:
            os.close(fd)
        theirs.close()
        self.assertTrue(select.select([host.handoff], [], [], LIMIT)[0])
        answer = json.loads(host.handoff.recv(1 << 16).decode())
        if "failed" in answer:
            return answer["failed"]
        front.pid = front.leader = answer["process"]
        front.cells, front.terminal = host.cells, host.terminal
        return front

    def test_the_prompt_goes_on_with_what_was_there_before_the_cell(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.begin(terminal)
                self.cell(host, "import time; a = [1]")
                cell = host.send(
                    code="a.append(2); print('on'); time.sleep(1); print('off'); b = 3; a", executionCount=2
                )
                host.cells = 2
                host.wait_output(b"on")
                front = self.hand_over(host, cell)
                self.assertEqual(self.value(front, "a, 'b' in dir()"), "([1], False)")
                self.assertGreater(oom_score(host.pid), oom_score(front.pid))
                self.settle(front)
                self.cell(front, "a.append(7)")
                self.assertEqual(self.value(front, "a"), "[1, 7]")
                done = host.finish()
                self.assertIn("off", done.output)
                self.assertEqual(done.value, "[1, 2]")
                self.assertEqual(self.value(host, "a, b"), "([1, 2], 3)")
                self.assertIn("stepped", self.step(front, "back", number=3))
                self.assertEqual(self.value(front, "a"), "[1]")

    def test_an_interpreter_beside_the_prompt_has_its_values_and_can_change_nothing(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.begin(terminal)
                self.cell(host, "import os, asyncio; a = [1]; await asyncio.sleep(0)")
                aside, folder = self.begin_aside(host)
                inside = os.path.join(folder, "out.txt")
                attempt = "try:\n open(%r, 'w')\nexcept OSError as error: print(type(error).__name__)"
                self.assertEqual(self.cell(aside, attempt % "/var/tmp/x", False).output, "PermissionError\n")
                write = "a.append(2); b = len(a); await asyncio.sleep(0); print('p', file=open(%r, 'w'))"
                self.cell(aside, write % inside, False)
                with open(inside) as file:
                    self.assertEqual(file.read(), "p\n")
                # Nor by the copy of what both began with, to which it has a link.
                base = "import os, sys; there = sys.modules['_ipycodex_runner'].server.checkpointer.bases[1]"
                digest = "%s; os.write(there.link, b'look {\"digest\": \"%s\"}'); print(os.read(there.link, 1000))"
                for path, written in ((folder + ".elsewhere", False), (os.path.join(folder, "x"), True)):
                    self.assertIn("look", self.cell(aside, digest % (base, path), False).output)
                    self.assertEqual(os.path.exists(path), written)
                self.assertEqual(self.value(aside, "a, b"), "([1, 2], 2)")
                self.assertEqual(self.value(host, "a, 'b' in dir()"), "([1], False)")
                self.assertIn("stepped", self.step(host, "back", number=1))
                self.assertEqual(self.value(aside, "a"), "[1, 2]", "it does not depend on the checkpoint")
                aside.interrupt()

    def test_it_waits_for_a_look_into_the_past(self):
        host = self.begin()
        self.cell(host, "a = 1")
        host.send(type="look_back", code="__import__('time').sleep(0.3)")
        aside, _folder = self.begin_aside(host)
        self.assertEqual(self.value(aside, "a"), "1", aside)
        self.assertIn("look_back", host.finish("answer").last)

    def test_it_is_forked_while_a_cell_runs_and_its_names_are_merged(self):
        host = self.begin(True)
        self.cell(host, "import time; a, b = [1], 1")
        cell = host.send(code="a.append(2); print('on'); time.sleep(1); 5", executionCount=2)
        host.cells = 2
        host.wait_output(b"on")
        aside, folder = self.begin_aside(host, cell)
        self.assertEqual(self.value(aside, "a"), "[1]", "as before the running cell")
        self.cell(aside, "b, c = 2, 3; print('more'); 1 / 0", False)
        base, theirs, values = (os.path.join(folder, name) for name in ("base", "theirs", "values"))
        self.assertEqual(aside.ask("background", op="base", branch=1, path=base)["background"], {})
        told = aside.ask("background", op="digest", base=base, path=theirs)["background"]["rows"]
        self.assertEqual({row["name"]: row["change"] for row in told}, {"b": "changed", "c": "added"})
        self.assertEqual(host.finish().value, "5")
        plan = host.ask("background", op="plan", base=base, theirs=theirs)["background"]
        self.assertEqual([row["conflict"] for row in plan["rows"]], [False, False])
        names = [row["name"] for row in plan["rows"]]
        aside.ask("background", op="pack", names=names, shared=plan["shared"], outdated=plan["outdated"], path=values)
        host.ask("background", op="unpack", path=values, renames={}, deleted=[])
        self.assertEqual(self.value(host, "a, b, c"), "([1, 2], 2, 3)")
        pid = aside.pid
        os.close(aside.requests)
        aside.requests = os.open(os.devnull, os.O_WRONLY)
        until = time.monotonic() + LIMIT
        while is_alive(pid) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertFalse(is_alive(pid), "it ends with its request pipe")

    def test_without_a_checkpoint_or_protection_none_is_forked(self):
        host = self.begin()
        self.cell(host, "import os; os.environ['IPYCODEX_NO_LANDLOCK'] = '1'")
        self.assertIn("nothing would keep it from changing files", self.begin_aside(host)[0])
        host.ask("checkpoints", op="keep", number=0)
        self.assertIn("checkpoint", self.begin_aside(host)[0])


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class WithIPython(Background, unittest.TestCase):
    ipython = IPYTHON


class BuiltIn(Background, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
