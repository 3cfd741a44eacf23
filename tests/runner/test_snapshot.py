"""Looks at the namespace that change nothing, in both engines, on pipes and on a pty."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine, is_alive  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


def running(seconds):
    """Whether a `sleep` of that many seconds runs."""
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                if file.read() == b"sleep\0%s\0" % seconds.encode():
                    return True
        except OSError:
            pass
    return False


def unavailable():
    """Why the kernel of this machine cannot protect anything."""
    code = "import sys; sys.path.insert(0, %r)\nimport confine\nprint(confine.probe()[1] or '')"
    folder = os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "python", "_ipycodex_runner"
    )
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    return (
        subprocess.run([sys.executable, "-c", code % folder], stdout=subprocess.PIPE, env=environment)
        .stdout.decode()
        .strip()
    )


def below(process):
    found = [process]
    for each in found:
        try:
            with open("/proc/%d/task/%d/children" % (each, each)) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found[1:]


class Both(Engine):
    terminal = False

    def start(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        host = self.host(terminal=self.terminal)
        cell = host.run(
            "import os, sys, mmap, socket, threading, time\nfolder = %r\nos.chdir(folder)\nx = 41" % folder.name
        )
        self.assertEqual(cell.last["status"], "ok", cell.frames)
        self.folder = folder.name
        return host

    def look(self, host, code, **options):
        snapshot = host.ask("snapshot", code=code, **options)["snapshot"]
        if "error" in snapshot:
            return "%s: %s" % (snapshot["error"]["ename"], snapshot["error"]["evalue"])
        return snapshot.get("unprotected") or (snapshot["printed"], snapshot["bundle"].get("text/plain"))

    def test_values_prints_and_syntax(self):
        host = self.start()
        for code, expected in (
            ("x", ("", "41")),
            ("print(x); x = 5; x + 1", ("41\n", "6")),
            ("x;", ("", None)),
            ("import asyncio\nawait asyncio.sleep(0, 7)", ("", "7")),
            ("!echo a; echo b >&2", ("a\nb\n", None)),
            ("%pwd", ("", repr(self.folder))),
            ("a = !echo b\na[0]", ("", "'b'")),
            ("display(3); print(4)", ("3\n4\n", None)),
            ("os.write(1, b'raw\\n'); print('last')", ("raw\nlast\n", None)),
            ("thread = threading.Thread(target=print, args=('t',)); thread.start(); thread.join()", ("t\n", None)),
            ("print('\\x1b[31mred\\x1b[0m')", ("red\n", None)),
            ("'\\ud800'", ("", "'\\ud800'")),
            ("", ("", None)),
            ("1/0", "ZeroDivisionError: division by zero"),
            ("def", "SyntaxError: invalid syntax"),
            ("sys.exit(3)", "SystemExit: 3"),
            ("exit()", ("", None)),
        ):
            told = self.look(host, code)
            self.assertEqual(told[: len(expected)] if isinstance(told, str) else told, expected, code)
        self.assertEqual(host.run("x").value, "41")
        lines = host.ask("snapshot", code="def f():\n    1/0\nf()")["snapshot"]["error"]["traceback"]
        self.assertIn("1/0", "\n".join(lines))
        self.assertNotIn("\x1b", "\n".join(lines))
        self.assertNotIn("snapshot.py", "\n".join(lines))

    def test_nothing_lasts(self):
        host = self.start()
        host.run(
            "with open('old', 'w') as f: f.write('old')\n"
            "file = open('rw', 'w+b', buffering=0); file.write(b'0123'); file.seek(1)\n"
            "memory = mmap.mmap(-1, 4096); memory[:2] = b'ab'\nmapped = mmap.mmap(file.fileno(), 4)\n"
            "left, right = socket.socketpair()\nread_end, write_end = os.pipe()"
        )
        for code, refusal in (
            ("open('new', 'w')", "PermissionError"),
            ("open('old', 'a')", "PermissionError"),
            ("os.truncate('old', 0)", "PermissionError"),
            ("os.remove('old')", "PermissionError"),
            ("os.rename('old', 'older')", "PermissionError|OSError"),
            ("os.link('old', 'older')", "PermissionError|OSError"),
            ("os.symlink('old', 'older')", "PermissionError"),
            ("os.mkdir('d')", "PermissionError"),
            ("os.mkfifo('p')", "PermissionError"),
            ("os.chmod('old', 0)", "PermissionError"),
            ("os.utime('old', (0, 0))", "PermissionError"),
            ("os.setxattr('old', 'user.a', b'b')", "PermissionError"),
            ("os.kill(os.getppid(), 9)", "PermissionError"),
            ("os.setsid()", "PermissionError"),
            ("import resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (9, 9))", "PermissionError"),
            ("socket.socket()", "PermissionError"),
            ("socket.socket(socket.AF_UNIX)", "PermissionError"),
            ("import subprocess; subprocess.run('echo > new', shell=True, check=True)", "CalledProcessError"),
            ("import subprocess; subprocess.run(['chmod', '000', 'old'], check=True)", "CalledProcessError"),
            ("file.write(b'x')", "OSError|UnsupportedOperation"),
            ("left.send(b'x')", "OSError"),
            ("os.write(write_end, b'x')", "OSError"),
            ("open('/dev/tty', 'w')", "OSError|PermissionError"),
        ):
            self.assertRegex(str(self.look(host, code)), "^(%s): " % refusal, code)
        for code, expected in (
            ("file.read()", ("", "b'123'")),
            ("memory[:2] = b'zz'; memory[:2]", ("", "b'zz'")),
            ("mapped[:2] = b'zz'; mapped[:2]", ("", "b'zz'")),
            ("x = 1; os.environ['NEW'] = '1'; os.chdir('/'); sys.path.append('p'); os.umask(0); x", ("", "1")),
            ("open(os.devnull, 'w').write('x')", ("", "1")),
            ("try: os.kill(-1, 15)\nexcept OSError: pass", ("", None)),
            ("sorted(os.listdir('.'))", ("", "['old', 'rw']")),
        ):
            self.assertEqual(self.look(host, code), expected, code)
        cell = host.run(
            "x, 'NEW' in os.environ, os.getcwd() == folder, 'p' in sys.path, file.tell(), memory[:2], mapped[:2], "
            "open('old').read(), sorted(os.listdir('.')), os.stat('old').st_mode & 0o777"
        )
        self.assertEqual(
            cell.value,
            "(41, False, True, False, 1, b'ab', b'01', 'old', ['old', 'rw'], %d)"
            % (os.stat(os.path.join(self.folder, "old")).st_mode & 0o777),
        )
        self.assertEqual(
            host.run("left.send(b'ok'), right.recv(9), os.write(write_end, b'ok'), os.read(read_end, 9)").value,
            "(2, b'ok', 2, b'ok')",
        )
        self.assertFalse(host.run("!echo on").of("error"))

    def test_ends_that_are_none(self):
        host = self.start()
        for code, expected in (
            ("os._exit(7)", "ChildProcessError: the copy of the interpreter ended without a result, with exit code 7"),
            (
                "os.kill(os.getpid(), 9)",
                "ChildProcessError: the copy of the interpreter was ended by signal 9 (SIGKILL)",
            ),
            (
                "import ctypes; ctypes.string_at(0)",
                "ChildProcessError: the copy of the interpreter was ended by signal 11 (SIGSEGV)",
            ),
            (
                "os.closerange(3, 300)",
                "ChildProcessError: the copy of the interpreter ended without a result, with exit code 0",
            ),
            ("class Big:\n    def __repr__(self): return 'x' * (3 << 20)\nBig()", None),
            ("if os.fork() == 0: os._exit(0)\nx", ("", "41")),
            ("os.fork(); 5", None),
            ("input()", "EOFError: "),
            ("import getpass; getpass.getpass()", "EOFError: "),
            ("os.read(0, 9)", ("", "b''")),
        ):
            told = self.look(host, code)
            if expected is not None:
                self.assertEqual(told[: len(expected)] if isinstance(told, str) else told, expected, code)
        printed = self.look(host, "import sys\nfor n in range(64): sys.stdout.write('y' * (1 << 20))")[0]
        self.assertIn("[… 67,108,864 characters, 1 line in all;", printed)
        self.assertLess(len(printed), 2 << 20)
        self.assertEqual(host.run("x").value, "41")

    def test_an_interrupt_ends_it_and_all_it_started(self):
        host = self.start()
        first, second = "%d.1" % os.getpid(), "%d.2" % os.getpid()
        programs = "subprocess.run('sleep %s & trap \"\" INT TERM; sleep %s', shell=True)" % (second, second)
        for rest in (
            programs,
            "while True: pass",
            "import signal; signal.signal(2, lambda *a: None); p.wait()\nwhile True: pass",
        ):
            host.send(
                type="snapshot",
                code="import subprocess; print('in'); p = subprocess.Popen(['sleep', %r])\n%s" % (first, rest),
            )
            while not running(first):
                self.assertFalse(host.pending, host.pending)
                time.sleep(0.01)
            host.interrupt()
            cell = host.finish("answer")
            self.assertEqual(cell.last["snapshot"]["error"]["ename"], "KeyboardInterrupt", rest)
            self.assertIn(cell.last["snapshot"]["printed"], ("in\n", ""), rest)
            for seconds in (first, second):
                while running(seconds):
                    time.sleep(0.01)
        self.assertEqual(host.run("x").value, "41")

    def test_what_it_leaves_running_is_ended(self):
        host = self.start()
        self.assertEqual(
            self.look(host, "import subprocess; p = subprocess.Popen(['sleep', '7732']); 'done'"), ("", "'done'")
        )
        self.assertEqual(self.look(host, "for n in range(50): os.fork() or time.sleep(7732)\n'done'"), ("", "'done'"))
        self.assertEqual(host.run("os.waitpid(-1, os.WNOHANG) if False else 6").value, "6")

    def test_what_escapes_it_is_ended_however_it_ends(self):
        """A session of its own where that is allowed, deaf to signals, and no child of the copy's any more."""
        escapes = (
            "import os, signal, sys, time\n"
            "for _ in range(3):\n"
            "    if os.fork() == 0:\n"
            "        try: os.setsid()\n"
            "        except PermissionError: pass\n"
            "        for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)\n"
            "        if os.fork() == 0:\n"
            "            os.write(1, b'left %d\\n' % os.getpid()); time.sleep(600)\n"
            "        time.sleep(600 * (_ % 2)); os._exit(0)\n"
            "for _ in range(500):\n"
            "    time.sleep(0.01)\n"
        )
        for end, ended in (("", None), ("os.kill(os.getpid(), 9)", "SIGKILL"), ("os._exit(3)", "exit code 3"),
                           ("1 / 0", "ZeroDivisionError"), ("# where nothing confines it", None)):  # fmt: skip
            host, unprotected = self.host(), end.startswith("#")
            if unprotected:
                host.run("import os; os.environ['IPYCODEX_NO_LANDLOCK'] = '1'")
            code = escapes.replace("500", "50") + end
            answer = host.ask("snapshot", code=code, unprotected=unprotected)["snapshot"]
            self.assertIn(ended or "", str(answer.get("error")), end)
            left = [int(line.split()[1]) for line in answer["printed"].splitlines()]
            self.assertEqual(len(left), 3, answer)
            self.assertEqual([process for process in left if is_alive(process)], [], end)
            self.assertEqual(host.run("x = 4\nx").value, "4")
        host = self.host()
        host.run("x = 41")
        host.send(type="snapshot", code=escapes + "os.kill(%d, 9); time.sleep(600)" % host.pid, unprotected=True)
        with open("/proc/%d/task/%d/children" % (host.pid, host.pid)) as file:
            self.until(lambda: file.seek(0) == 0 and file.read().split())
            guard = int((file.seek(0), file.read())[1].split()[0])
        self.until(lambda: len(below(guard)) >= 6)
        copies = below(guard)
        os.kill(host.pid, 9)
        self.until(lambda: not any(map(is_alive, copies + [guard])))

    def test_pictures(self):
        host = self.start()
        host.run(
            "import base64\nclass P:\n"
            "    def _repr_png_(self): return "
            "base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5"
            "ErkJggg==')"
        )
        for code, kinds in (
            ("P()", ["image/png"]),
            ("display(P())", ["image/png"]),
            ("display(P()); display(P()); 5", [None, "image/png", "image/png"]),
        ):
            snapshot = host.ask("snapshot", code=code)["snapshot"]
            parts = snapshot.get("parts", [snapshot["bundle"]])
            self.assertEqual(["image/png" if "image/png" in part else None for part in parts], kinds, code)

    def test_threads_and_loops_of_the_interpreter_stay_its_own(self):
        host = self.start()
        host.run(
            "import asyncio\nticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n"
            "        await asyncio.sleep(0.005)\ntask = asyncio.ensure_future(tick())\nawait asyncio.sleep(0.02)\n"
            "thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True); thread.start()"
        )
        for _turn in range(5):
            cell = host.ask("snapshot", code="await asyncio.sleep(0.01)\nthreading.active_count()")["snapshot"]
            self.assertEqual(cell["printed"], "")
            self.assertEqual(cell["bundle"]["text/plain"], "1")
        cell = host.run(
            "before = len(ticks)\nwhile len(ticks) <= before + 3: await asyncio.sleep(0.005)\nthread.is_alive()"
        )
        self.assertEqual(cell.value, "True")

    def test_where_the_rules_cannot_be_set_nothing_runs(self):
        host = self.start()
        host.run(
            "from _ipycodex_runner import confine, snapshot\ndef fails(*_): raise OSError('none here')\n"
            "kept, confine.apply_seccomp, probe = confine.apply_seccomp, fails, confine.probe\n"
            # A copy that stays is asked when it has ended already.
            "import select\nfrom _ipycodex_runner import branch\nrun = branch.Branch.run\ndef late(self, request):\n"
            "    ends = select.poll(); ends.register(self.requests, 0); ends.poll(); return run(self, request)\n"
            "branch.Branch.run = late"
        )
        code = "open(%r, 'w').close(); 7" % os.path.join(self.folder, "made")
        self.assertEqual(self.look(host, code), "OSError: none here")
        for request in ({"type": "trial", "cells": [{"code": code}]}, {"type": "branch", "op": "run", "code": code}):
            host.send(**request)
            self.assertIn("none here", str(host.finish("answer").last), request)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "made")))
        host.run("confine.apply_seccomp = kept")
        self.assertEqual(self.look(host, "x"), ("", "41"))
        rules = (
            "[(setattr(confine, 'probe', lambda: (v, None)), snapshot.confine_rules(f))[1] for v in (0, 2, 3, 7) "
            "for f in (None, 'f')]"
        )
        expected = "[(0, ()), (0, ()), (2, ()), (2, ()), (3, ()), (3, ('f',)), (7, ()), (7, ('f',))]"
        self.assertEqual(" ".join(host.run(rules).value.split()), expected)

    def test_where_no_process_can_be_made_it_says_so_and_leaves_nothing(self):
        host = self.start()
        host.run(
            "import tempfile\nfrom _ipycodex_runner import forks\ntempfile.tempdir = folder\n"
            "def fails(): raise OSError('no more of them')\nkept, forks.fork = forks.fork, fails"
        )
        # But for the handle on the host, which a thread opens at its own time.
        held = "sum('pidfd' not in os.path.realpath('/proc/self/fd/' + fd) for fd in os.listdir('/proc/self/fd'))"
        before = host.run(held).value
        for request in ({"type": "snapshot", "code": "x"}, {"type": "trial", "cells": [{"code": "x"}]}):
            host.send(**request)
            told = host.finish("answer").last["snapshot"]
            if request["type"] == "snapshot":
                error = {"ename": "OSError", "evalue": "no more of them", "traceback": []}
                self.assertEqual(told, {"printed": "", "error": error})
            self.assertIn("no more of them", str(told))
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(host.run(held).value, before)
        host.run("forks.fork = kept")
        self.assertEqual(self.look(host, "x"), ("", "41"))

    def test_without_a_stream_it_has_one(self):
        host = self.start()
        host.run("kept, sys.stdout = sys.stdout, None")
        self.assertEqual(self.look(host, "print('\xe9'); x"), ("\xe9\n", "41"))
        host.run("sys.stdout = kept")

    def test_without_protection_it_is_asked_for(self):
        host = self.start()
        host.run("os.environ['IPYCODEX_NO_LANDLOCK'] = '1'")
        self.assertEqual(self.look(host, "open('made', 'w').close(); 7"), "IPYCODEX_NO_LANDLOCK is set")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "made")))
        self.assertEqual(self.look(host, "open('made', 'w').close(); 7", unprotected=True), ("", "7"))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "made")))


WHY = unavailable()


@unittest.skipIf(WHY, "snapshots are NOT tested: %s" % WHY)
class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipIf(WHY, "snapshots are NOT tested: %s" % WHY)
class BuiltInOnTerminal(Both, unittest.TestCase):
    terminal = True


@unittest.skipIf(WHY, "snapshots are NOT tested: %s" % WHY)
@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


@unittest.skipIf(WHY, "snapshots are NOT tested: %s" % WHY)
@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class WithIPythonOnTerminal(Both, unittest.TestCase):
    ipython = IPYTHON
    terminal = True


if __name__ == "__main__":
    unittest.main()
