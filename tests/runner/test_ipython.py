"""What people of the program `ipython` find in the engine that has IPython."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ENDLESS, Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
LIST = "{kind: sorted(get_ipython().magics_manager.lsmagic()[kind]) for kind in ('line', 'cell')}"


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class IPythonProgram(Engine, unittest.TestCase):
    ipython = IPYTHON

    def test_every_magic_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, IPYTHONDIR=folder)
            command = [
                IPYTHON,
                "-m",
                "IPython",
                "--simple-prompt",
                "--no-banner",
                "--quick",
                "-c",
                "print('MAGICS', %s)" % LIST,
            ]
            said = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, universal_newlines=True, check=True
            ).stdout
        theirs = eval(re.search("MAGICS (.*)", said).group(1))
        ours = eval(self.host().run("print(%s)" % LIST).output)
        for kind in theirs:
            self.assertGreater(len(theirs[kind]), 20)
            self.assertEqual(set(theirs[kind]) - set(ours[kind]), set(), kind)

    def test_magics_that_are_imported_late(self):
        host = self.host()
        for name in ("store", "paste", "cpaste", "autoindent"):
            self.assertIn(name, host.run("%" + name + "?").of("page")[0]["bundle"]["text/plain"], name)
        self.assertEqual(host.run("autoindent").output, "Automatic indentation is: ON\n")
        host.send(code="%cpaste -q", stdin="ask")
        for line in ("> q = 6", "--"):
            host.send(type="input_reply", id=host.frame("input_request")["call"], value=line)
        host.finish()
        self.assertEqual(host.run("q").value, "6")

    def test_aliases(self):
        host = self.host()
        self.assertIn("\n", host.run("ls -l /").output)
        for name in ("clear", "less", "man", "more"):
            self.assertEqual(host.run("get_ipython().alias_manager.get_alias(%r).cmd" % name).value, "'%s'" % name)

    def test_an_error_is_told_once(self):
        host = self.host()
        told = [
            "%nosuch",
            "%%nosuch\nx",
            "%cd -nowhere",
            "x = 1\n%nosuch",
            "get_ipython().run_line_magic('nosuch', '')",
        ]
        if sys.version_info >= (3, 11):
            told += [
                "raise ExceptionGroup('several', [ValueError(1), OSError(2)])",
                "try:\n    raise ExceptionGroup('one', [ValueError(1)])\nexcept Exception:\n    1/0",
            ]
        for code in told:
            cell = host.run(code)
            if code == "%cd -nowhere":
                continue  # IPython prints that
            self.assertEqual((cell.output, len(cell.of("error")), cell.last["status"]), ("", 1, "error"), code)
        host.run(
            "def shown(self, kind, error, trace, tb_offset=None): print('mine', kind.__name__)\n"
            "get_ipython().set_custom_exc((KeyError,), shown)"
        )
        cell = host.run("{}['k']")
        self.assertEqual((cell.output, cell.of("error"), cell.last["status"]), ("mine KeyError\n", [], "error"))
        if sys.version_info >= (3, 11):
            cell = host.run("10**5000")  # more digits than Python writes
            self.assertEqual([frame["ename"] for frame in cell.of("error")], ["ValueError"])
        # as `rich.traceback.install()` does
        host.run(
            "shell = get_ipython()\nshell._showtraceback = lambda kind, *_rest: print('theirs', kind.__name__)\n"
            "shell.showsyntaxerror = lambda *_rest, **_options: print('theirs', 'SyntaxError')"
        )
        for code, name in (("1/0", "ZeroDivisionError"), ("1 +", "SyntaxError")):
            cell = host.run(code)
            self.assertEqual((cell.output, cell.of("error"), cell.last["status"]), ("theirs %s\n" % name, [], "error"))

    def test_a_cell_that_was_interrupted_is_that_though_its_traceback_is_interrupted_too(self):
        host = self.host()
        host.run("def cut(*_, **__): raise KeyboardInterrupt\nget_ipython().InteractiveTB.structured_traceback = cut")
        self.assertTrue(host.run("raise KeyboardInterrupt").last["cancelled"])
        self.assertFalse(host.run("1 / 0").last["cancelled"])

    def test_edit(self):
        with tempfile.TemporaryDirectory() as folder:
            editor = os.path.join(folder, "an editor")
            with open(editor, "w") as file:
                file.write("#!/bin/sh\nprintf '\\nedited = 6 * 7\\n' >> \"$1\"\n")
            os.chmod(editor, 0o700)
            os.environ["VISUAL"] = "'%s'" % editor
            try:
                host = self.host()
            finally:
                del os.environ["VISUAL"]
            host.run("before = 1")
            self.assertIn("done. Executing edited code...", host.run("%edit 1").output)
            self.assertEqual(host.run("edited, before").value, "(42, 1)")
            host.run("import os; os.environ['VISUAL'] = 'false'")
            self.assertIn("Could not open editor", host.run("%edit 1").output)

    def test_a_program_that_is_stopped(self):
        host = self.host(terminal=True)
        host.run("endless = %r\ndef deep(): get_ipython().system(endless)" % ENDLESS)
        for code in ("!" + ENDLESS, "deep()"):
            host.send(code=code)
            host.wait_output(b"on\r\n")
            host.type(b"\x03")
            cell = host.finish()
            self.assertTrue(cell.last["cancelled"], code)
            self.assertEqual(cell.of("error")[0]["traceback"], ["KeyboardInterrupt"], code)

    def test_the_debuggers_prompt(self):
        host = self.host(terminal=True)
        host.run("def f(first_name):\n    1/0")
        host.run("f(3)")
        host.send(code="%debug")
        for typed, seen in (
            (b"", b"ipdb>"),
            (b"\x03", b"--KeyboardInterrupt--"),
            (b"", b"ipdb>"),
            (b"first_\t", b"name"),
            (b"\x15tbr\t", b"eak"),
            (b"\x15p first_name * 14\r", b"42\r\n"),
        ):
            host.type(typed)
            host.wait_output(seen)
            host.forget(seen)
        host.type(b"q\r")
        self.assertEqual(host.finish().last["status"], "ok")
        self.assertEqual(host.run("1").value, "1")
        output, code = host.end()
        self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
