"""What users have at home: IPython's profile, and files of their own, before the first cell."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")

CONFIG = """
c.InteractiveShellApp.extensions = ["mine"]
c.InteractiveShellApp.exec_lines.append("line = 5")
c.InteractiveShellApp.exec_lines.append("import nowhere_to_be_found")
c.InteractiveShellApp.exec_lines.append("2 + 2")
c.TerminalIPythonApp.exec_files = ["extra.py"]
c.InteractiveShell.ast_node_interactivity = "all"
c.TerminalInteractiveShell.xmode = "Minimal"
c.TerminalInteractiveShell.confirm_exit = False
c.TerminalInteractiveShell.editor = "ed -s"
c.InteractiveShell.autocall = 2
c.InteractiveShell.cache_size = 7
c.InteractiveShell.colour = "red"
c.InteractiveShell.pdb = 17.5
c.AliasManager.user_aliases = [("greet", "echo hello")]
c.PlainTextFormatter.float_precision = "%.2f"
c.Completer.use_jedi = True
c.HistoryManager.enabled = False
c.Later.word = "kept"
"""

EXTENSION = """
from traitlets import Unicode
from traitlets.config import Configurable
class Later(Configurable):
    word = Unicode("default").tag(config=True)
def load_ipython_extension(shell):
    shell.push({"extension": Later(parent=shell).word})
"""


class Files(harness.Engine):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.environ["IPYTHONDIR"] = os.path.join(self.folder, "ipython")
        os.makedirs(os.environ["IPYTHONDIR"])
        self.addCleanup(os.environ.pop, "IPYTHONDIR")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def set_up(self, host, **request):
        host.send(type="set_up", **request)
        return host.finish()

    def said(self, cell):
        return [frame["text"] for frame in cell.of("notice")]


class HomeCase(Files, unittest.TestCase):
    def test_files_run_in_order_and_what_fails_says_where(self):
        self.write("beside.py", "value = 40\n")
        first = self.write(
            "first.py", "import beside, sys\nx = beside.value\nprint('first', sys.argv, __file__)\n'not shown'\n"
        )
        bad = self.write("bad.py", "def f():\n    return 1 / 0\nf()\nx = 0\n")
        broken = self.write("broken.py", "x = (\n")
        leaving = self.write("leaving.py", "y = x\nexit(3)\ny = 0\n")
        asking = self.write("asking.py", "input('what? ')\n")
        cells = self.write("cells.ipy", "z = !echo two\n%cd /\n")
        gone = os.path.join(self.folder, "gone.py")
        host = self.host()
        cell = self.set_up(host, files=[first, bad, broken, leaving, asking, cells, gone])
        self.assertEqual((cell.last["status"], cell.of("result")), ("ok", []), cell.frames)
        self.assertIn("first ['%s'] %s\n" % (first, first), cell.output)
        names = ["ZeroDivisionError", "SyntaxError", "EOFError", "FileNotFoundError"]
        self.assertEqual([frame["ename"] for frame in cell.of("error")], names)
        trace = "\n".join(cell.of("error")[0]["traceback"])
        self.assertIn("%s:2" % bad, trace)
        self.assertNotIn("_ipycodex_runner", trace)
        failed = " failed; the shell goes on"
        left = " called exit(3): the rest of it was not run; the shell continues"
        expected = [bad + failed, broken + failed, leaving + left, asking + failed, gone + failed]
        self.assertEqual(self.said(cell), expected)
        names = "x, y, z[0], '__file__' in globals(), __import__('sys').argv"
        self.assertEqual(host.run(names).value, "(40, 40, 'two', False, [''])")
        self.assertEqual(host.run("1 + 1").last["executionCount"], 2)
        self.assertEqual(len(host.run("exit").of("exit_requested")), 1)

    def test_an_interrupt_stops_it_and_the_rest_is_named(self):
        slow = self.write("slow.py", "import time\nprint('waiting')\ntime.sleep(60)\n")
        other = self.write("other.py", "x = 1\n")
        host = self.host()
        host.send(type="set_up", files=[slow, other])
        host.wait_output(b"waiting")
        cell = host.stop()
        self.assertTrue(cell.last["cancelled"])
        self.assertEqual(self.said(cell), ["%s was interrupted; not run: %s" % (slow, other)])
        self.assertEqual(host.run("'x' in globals()").value, "False")

    def test_flags(self):
        self.write("mine.py", "def load_ipython_extension(shell):\n    shell.user_ns['loaded'] = 1\n")
        host = self.host(cwd=self.folder)
        cell = self.set_up(host, pdb=True, extensions=["mine", "nowhere"], options=["--InteractiveShell.xmode=Minimal"])
        self.assertEqual(host.run("loaded").value, "1")
        self.assertEqual(cell.of("error")[0]["ename"], "ModuleNotFoundError")
        if self.ipython:
            self.assertEqual(host.run("get_ipython().xmode, get_ipython().call_pdb").value, "('Minimal', True)")
        else:
            self.assertIn("`--InteractiveShell.xmode=Minimal` has no effect: IPython is not in use", self.said(cell))


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class IPythonHomeCase(HomeCase):
    ipython = IPYTHON

    def profile(self, name="default"):
        self.write("ipython/profile_%s/ipython_config.py" % name, CONFIG)
        self.write("ipython/profile_%s/startup/10-a.py" % name, "a = 1\n")
        self.write("ipython/profile_%s/startup/20-b.ipy" % name, "b = !echo shell\n")
        self.write("ipython/extra.py", "extra = a + 1\n")
        self.write("mine.py", EXTENSION)

    def test_a_profile_counts_and_what_has_no_effect_is_said_once(self):
        self.profile()
        host = self.host(cwd=self.folder)
        told = os.path.join(self.folder, "told")
        cell = self.set_up(host, profile="default", told=told)
        self.assertEqual(host.run("extension, line, a, b[0], extra").value, "('kept', 5, 1, 'shell', 2)", cell.frames)
        self.assertEqual(cell.of("result")[0]["bundle"]["text/plain"], "4")
        said = self.said(cell)
        self.assertEqual(said[0], "IPython has no setting `InteractiveShell.colour`")
        self.assertRegex(said[1], "`InteractiveShell.pdb` cannot be set: .*17.5")
        self.assertRegex(said[2], "no effect here: HistoryManager.enabled, TerminalInteractiveShell.confirm_exit ")
        self.assertEqual(said[3:], ["`import nowhere_to_be_found` of exec_lines failed; the shell goes on"])
        lines = [line for line in cell.of("error")[0]["traceback"] if line]
        self.assertEqual(lines, ["ModuleNotFoundError: No module named 'nowhere_to_be_found'"])
        self.assertEqual(len(host.run("1\n2").of("result")), 2)
        self.assertEqual(host.run("1 / 3").value, "0.33")
        self.assertEqual(host.run("len 'abc'").value, "3")
        self.assertIn("hello", host.run("greet").output)
        names = "s = get_ipython(); (s.editor, s.Completer.use_jedi, s.displayhook.cache_size)"
        self.assertEqual(host.run(names).value, "('ed -s', False, 7)")
        self.assertNotIn("extra", host.run("%who").output)
        again = self.host(cwd=self.folder)
        said = self.said(self.set_up(again, profile="default", told=told))
        self.assertFalse([text for text in said if "no effect" in text])

    def test_other_profiles_and_none(self):
        self.profile("sci")
        config = "c.InteractiveShell.xmode = 'Plain'\nraise ValueError('half way')\n"
        self.write("ipython/profile_sci/ipython_config.py", config)
        host = self.host()
        cell = self.set_up(host, profile="sci")
        self.assertEqual((host.run("a").value, cell.of("error")[0]["ename"]), ("1", "ValueError"))
        path = os.path.join(os.environ["IPYTHONDIR"], "profile_sci", "ipython_config.py")
        self.assertEqual(self.said(cell), [path + " failed; the shell goes on"])
        self.assertIn("ipython_config.py:2", "\n".join(cell.of("error")[0]["traceback"]))
        self.assertEqual(host.run("get_ipython().xmode").value, "'Context'")
        host = self.host()
        text = "there is no IPython profile `other` in %s; the profiles there are sci" % os.environ["IPYTHONDIR"]
        self.assertEqual(self.said(self.set_up(host, profile="other")), [text])
        host = self.host()
        self.assertEqual(self.said(self.set_up(host, profile=None)), [])
        self.assertEqual(host.run("a").error, "NameError")

    def test_settings_that_flood_leave_or_sleep_do_not_cost_the_shell(self):
        self.profile()
        self.write("ipython/profile_default/ipython_config.py", "print('flood' * 2_000_000)\nexit()\n")
        host = self.host()
        cell = self.set_up(host, profile="default")
        self.assertEqual((host.run("a").value, len(cell.output) > 10_000_000), ("1", True))
        self.assertIn("ipython_config.py called exit(): the rest of it was not run", self.said(cell)[0])
        self.write("ipython/profile_default/ipython_config.py", "import time\nprint('asleep')\ntime.sleep(60)\n")
        host = self.host()
        host.send(type="set_up", profile="default")
        host.wait_output(b"asleep")
        cell = host.stop()
        self.assertTrue(cell.last["cancelled"])
        self.assertEqual(host.run("6 * 7").value, "42")


if __name__ == "__main__":
    unittest.main()
