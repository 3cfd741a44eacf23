"""Debuggers, questions, Ctrl-C and endings, on pipes and on a pty, in both engines; strange values; a code folder that
cannot be written."""

import os
import re
import shutil
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from harness import ENDLESS, Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class Both(Engine):
    terminal = False

    def talk(self, host, code, *steps):
        """Runs a cell that asks: each step is (what it prints or asks, what is answered; None for the end of the
        file)."""
        host.send(code=code, stdin="terminal" if self.terminal else "ask")
        for prompt, answer in steps:
            if self.terminal:
                host.wait_output(prompt.encode())
                host.type(b"\x04" if answer is None else answer.encode() + b"\n")
                host.forget(prompt.encode())
            else:
                question = host.frame("input_request")
                self.assertIn(prompt, question["prompt"])
                host.send(
                    type="input_reply", id=question["call"], **({"eof": True} if answer is None else {"value": answer})
                )
        cell = host.finish()
        cell.output = re.sub(r"\x1b\[\??[0-9;]*[a-zA-Z]", "", cell.output)
        return cell

    def host(self, **options):
        return Engine.host(self, terminal=self.terminal, **options)

    def test_leaving_a_debugger_is_no_failure(self):
        host = self.host()
        for code in ("breakpoint()\nx = 1", "import pdb; pdb.set_trace()\nx = 1",
                     "def f():\n    breakpoint()\n    return 1\nf()\n1 / 0",
                     "import asyncio\nasync def g():\n    breakpoint()\nawait g()\n1 / 0"):  # fmt: skip
            for answer in ("q", None):
                cell = self.talk(host, code, ("db", answer))
                self.assertEqual(cell.last["status"], "ok", (code, answer, cell.frames))
                self.assertFalse(cell.of("error"), (code, answer))
                self.assertNotIn("BdbQuit", cell.output)
            self.assertEqual(host.run("v = 2\nv").value, "2")

    def test_debuggers(self):
        host = self.host()
        self.assertIn("past", self.talk(host, "breakpoint()\nx = 1\nprint('past')", ("db", "c")).output)
        at_call = not self.ipython and sys.version_info >= (3, 13)  # there a debugger stops at the call, not after it
        seen = self.talk(
            host,
            "breakpoint()\nx = 1\nprint('past')",
            ("db", "w"),
            ("db", "u"),
            *[("db", "n")] * (1 + at_call),
            ("db", "p x"),
            ("db", "c"),
        ).output
        self.assertRegex(seen, r"(?s)\(2\)<module>.*\(3\)<module>.*\n1\n")
        self.assertIn(
            "(1)<module>", self.talk(host, "breakpoint()", ("db", "w"), *[("db", "n")] * (1 + at_call)).output
        )
        for code in ("breakpoint()", "import pdb; pdb.set_trace()\nx = 1"):
            self.assertNotIn(
                "runner",
                self.talk(
                    host,
                    code,
                    ("db", "w"),
                    ("db", "u"),
                    ("db", "s"),
                    *[("db", "s")] * ((code != "breakpoint()") + at_call),
                ).output,
            )
        host.send(code="print('on')\nwhile True: pass")
        host.wait_output(b"on")
        self.assertTrue(host.stop().last["cancelled"])
        host.run("def g(a): return 1 / a")
        host.run("g(0)")
        self.assertIn("0\n", self.talk(host, "%debug", ("db", "p a"), ("db", "q")).output)
        host.run("%pdb on")
        self.assertEqual(self.talk(host, "g(0)", ("db", "q")).error, "ZeroDivisionError")

    def test_questions(self):
        host = self.host()
        self.assertEqual(
            self.talk(host, "import getpass\ngetpass.getpass('word: ')", ("word: ", "secret")).value, "'secret'"
        )
        self.assertEqual(self.talk(host, "input('p> ')", ("p> ", None)).error, "EOFError")
        self.assertEqual(
            self.talk(host, "from getpass import getpass\nask = input\ngetpass('more: ')", ("more: ", "hush")).value,
            "'hush'",
        )
        self.assertEqual(
            host.run(
                "import inspect\ninspect.signature(getpass).parameters['prompt'].default, callable(getpass)"
            ).value,
            "('Password: ', True)",
        )
        self.assertNotIn(
            "_ipycodex_runner",
            host.run("import traceback\ntry: getpass(1, 2, 3, 4)\nexcept TypeError: traceback.print_exc()").output,
        )
        self.assertEqual(
            self.talk(
                host,
                "import sys\nprint('now', flush=True)\nsys.stdin.readline()",
                ("now" if self.terminal else "", "line"),
            ).value,
            "'line\\n'",
        )

    def test_names_bound_early(self):
        """What a cell imported serves a tool, which owns no terminal, and what a tool bound serves a cell."""
        host = self.host()
        host.run(
            "from getpass import getpass\nask = input\ndef f():\n    global late\n    late = input\n"
            "    return [getpass('key: '), ask('name: ')]"
        )
        for round in range(2):
            host.send(type="tool", op="call", name="f", args={}, stdin="ask")
            for password in (True, False):
                question = host.frame("input_request")
                self.assertEqual(question["password"], password)
                self.assertIn(question["prompt"], ("key: ",) if password else ("name: ", ""))  # Python's own prints it
                host.send(type="input_reply", id=question["call"], value="word%d" % round)
            cell = host.finish("answer")
            self.assertEqual(str(cell.last["tool"]).count("word%d" % round), 2, cell.last)
            self.assertEqual(
                self.talk(
                    host, "late('p> '), ask('q> '), getpass('r> ')", ("p> ", "a"), ("q> ", "b"), ("r> ", "c")
                ).value,
                "('a', 'b', 'c')",
            )
        self.assertEqual(host.ask("tool", op="call", name="f", args={}, stdin="refuse")["error"]["ename"], "EOFError")

    def test_interrupted_program(self):
        host = self.host()
        host.send(code="!" + ENDLESS)
        host.wait_output(b"on\r\n" if self.terminal else b"on\n")
        if self.terminal:
            host.type(b"\x03")
        else:
            host.interrupt()
        self.assertTrue(host.finish().last["cancelled"])
        # Whoever sent it: the program's end tells, where Python has not looked at its own signal yet.
        self.assertTrue(host.run('!exec python3 -c "import os; os.kill(os.getpid(), 2)"').last["cancelled"])
        self.assertEqual(host.run("!exit 130\n_exit_code").value, "130")

    def test_stack_on_quit(self):
        host = self.host()
        host.send(code="import time\nprint('on')\ntime.sleep(60)")
        host.wait_output(b"on")
        if self.terminal:
            host.type(b"\x1c")
        else:
            os.kill(host.pid, signal.SIGQUIT)
        host.wait_output(b"runner.py")
        self.assertTrue(host.stop().last["cancelled"])

    def test_handler_of_the_user_stays(self):
        host = self.host()
        host.run("import signal\ngot = []\nsignal.signal(signal.SIGINT, lambda *given: got.append(1))")
        host.send(code="print('on')\nwhile not got: pass")
        host.wait_output(b"on\r\n" if self.terminal else b"on\n")
        self.assertEqual(host.stop().last["status"], "ok")

    def test_strange_values(self):
        host = self.host()
        self.assertEqual(host.run("print('a\\ud800b')").output, "a\\ud800b\n")
        self.assertEqual(host.run("class S:\n    def __repr__(self): return '\\ud800x'\nS()").value, "\ufffdx")
        error = host.run("raise ValueError('\\ud8ff \\ud83d\\ude00')").of("error")[0]
        self.assertEqual(error["evalue"], "\\ud8ff 😀")
        self.assertIn("\\ud8ff 😀", error["traceback"][-1])
        host.send(code="import time\nclass H:\n    def __repr__(self):\n        print('on'); time.sleep(60)\nH()")
        host.wait_output(b"on")
        self.assertTrue(host.stop().last["cancelled"])
        long = host.run("'x' * 3000000 + 'end'").value
        self.assertRegex(
            long[1_000_000:-1_000_000], "3,000,005 characters, 1 line in all; 902,853 in the middle are left out"
        )
        self.assertTrue(long.endswith("xend'"), long[-20:])
        host.run("class B:\n    def __repr__(self): 1 / 0\nB()")
        self.assertEqual(host.run("def f(): f()\nf()").error, "RecursionError")
        host.run("import os, tempfile\nfolder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)")
        cell = host.run("1 + 1")
        self.assertEqual((cell.value, cell.last["cwd"]), ("2", None))

    def test_ends(self):
        for code, status, words in (
            ("import os; os._exit(7)", 7, b""),
            ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV, b"most recent call first"),
        ):
            host = self.host()
            host.send(code=code)
            output, ended = host.rest()
            self.assertEqual(ended, status)
            self.assertIn(words, output)


class BuiltInOnPipes(Both, unittest.TestCase):
    def test_code_folder_that_cannot_be_written(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(harness.SOURCE, folder + "/python", ignore=shutil.ignore_patterns("*.parts*", "__pycache__"))
        # in the way of the code file, also for root
        os.mkdir("%s/python/%s.parts" % (folder, sys.implementation.cache_tag))
        kept, harness.RUNNER = harness.RUNNER, folder + "/python/runner.py"
        try:
            for _start in range(2):
                self.assertEqual(self.host().run("1+1").value, "2")
        finally:
            harness.RUNNER = kept
        # A draft is there while an interpreter tries.
        self.until(lambda: not [name for name in os.listdir(folder + "/python") if "parts." in name])

    def test_code_file_cut_or_strange(self):
        self.host().run("1")
        parts = "%s/%s.parts" % (os.path.dirname(harness.RUNNER), sys.implementation.cache_tag)
        with open(parts, "rb") as file:
            whole = file.read()
        for data in (b"", whole[:100], whole[: len(whole) // 2], b"x" * 200, whole[:4] + b"\xff" * 300):
            with open(parts, "wb") as file:
                file.write(data)
            self.assertEqual(self.host().run("x = 1\n%pwd").value, repr(os.getcwd()), data[:20])

    def test_words_without_percent(self):
        host = self.host()
        host.run("cd /tmp")
        self.assertEqual(host.run("pwd").value, "'/tmp'")
        self.assertIn("tmp", host.run("ls /").output)
        self.assertEqual(host.run("ls = 12; tmp = 3\nls /tmp").value, "4.0")


class BuiltInOnTerminal(Both, unittest.TestCase):
    terminal = True


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPythonOnPipes(Both, unittest.TestCase):
    ipython = IPYTHON


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPythonOnTerminal(Both, unittest.TestCase):
    ipython = IPYTHON
    terminal = True


if __name__ == "__main__":
    unittest.main()
