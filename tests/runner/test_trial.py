"""Dry runs: what cells would do is told, and nothing of it happens; both engines."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import RUNNER, Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class Trials(Engine):
    def tried(self, host, *cells):
        cells = [cell if isinstance(cell, dict) else {"code": cell} for cell in cells]
        host.send(type="trial", cells=cells)
        return host.finish("answer").last["snapshot"]

    def test_what_cells_would_do_is_told_and_not_done(self):
        host = self.host()
        path = os.path.join(tempfile.mkdtemp(), "x.txt")
        host.run("a = [1, 2]; b = 'same'; gone = 1; s = {}; same = [1]")
        told = self.tried(
            host,
            "print('hello'); a.append(3); c = 1.5; del gone; s['k'] = 1; same = [1]",
            "a",
            "open(%r, 'w')" % path,
        )
        lines = told["printed"].split("\n")
        self.assertEqual(lines[:2], ["hello", "[1, 2, 3]"])
        self.assertIn("PermissionError", told["printed"])
        for line in (
            "~ a: list of 2 → list of 3",
            "+ c: float",
            "- gone: int",
            "~ s: dict of 0 → dict of 1",
            "tried to write " + path,
        ):
            self.assertIn(line, lines)
        self.assertFalse(any(" same:" in line or " b:" in line for line in lines), lines)
        self.assertIn("your session is unchanged", lines[-1])
        self.assertEqual(host.run("a, gone, s, 'c' in dir()").value, "([1, 2], 1, {}, False)")
        self.assertFalse(os.path.exists(path))

    def test_a_scratch_folder_can_be_written_and_is_gone(self):
        host = self.host()
        write = "import tempfile; f = tempfile.NamedTemporaryFile(delete=False); f.write(b'x'); f.close(); f.name"
        told = self.tried(host, write)
        place = [line for line in told["printed"].split("\n") if "ipycodex-try-" in line][0].strip("'")
        self.assertFalse(os.path.exists(place))
        self.assertIn("+ tempfile: module", told["printed"])

    def test_a_reset_takes_the_names_of_before_away(self):
        host = self.host()
        host.run("import os; a = 1; b = 2", executionCount=1)
        told = self.tried(host, "c = a", {"code": "b = 3\nprint(a)", "reset": True}, "never = 1")
        lines = told["printed"].split("\n")
        for line in (
            "! cell 2 starts a new interpreter: in this dry run the earlier names are gone, but imported modules stay",
            "- a: int",
            "~ b: int → int",
            "- os: module",
        ):
            self.assertIn(line, lines)
        self.assertIn("NameError", told["printed"])
        self.assertNotIn("+ c: int", lines)
        self.assertEqual(host.run("a, b, 'os' in dir()").value, "(1, 2, True)")

    def test_a_reset_begins_as_every_interpreter_does(self):
        host = self.host()
        with tempfile.NamedTemporaryFile("w", suffix=".py") as good, tempfile.NamedTemporaryFile("w") as bad:
            good.write("helper = lambda: 'helps'\nprint('starts')\n")
            bad.write("1 / 0\n")
            for file in (good, bad):
                file.flush()
            host.send(type="set_up", files=[good.name, bad.name])
            host.finish()
            host.run("a = 1; helper = None", executionCount=1)
            told = self.tried(host, {"code": "print(helper())", "reset": True})
        self.assertIn("starts\n", told["printed"])
        self.assertIn("start-up failed: ZeroDivisionError", told["printed"])
        self.assertIn("helps\n", told["printed"])
        self.assertIn("modules stay; start-up files have run", told["printed"])
        self.assertEqual(host.run("a, helper").value, "(1, None)")

    def test_what_shows_and_what_fails(self):
        host = self.host()
        picture = "class P:\n    def _repr_png_(self): return b'\\x89PNG....'\nP()"
        told = self.tried(host, picture, "1 / 0", "never = 1")
        self.assertEqual(len(told["parts"]), 1)
        self.assertIn("image/png", told["parts"][0])
        self.assertIn("ZeroDivisionError", told["printed"])
        self.assertNotIn("never", told["printed"])

    def test_a_cell_of_the_users(self):
        host = self.host()
        host.run("n = 1")
        seen = host.run("%%try\nn = 'two'; print('in the copy')")
        self.assertIn("in the copy\n~ n: int → str of 3\ndry run: ", seen.output)
        self.assertEqual(host.run("n").value, "1")

    def test_its_time_is_over_whatever_it_does_about_it(self):
        host = self.host()
        host.run("import _ipycodex_runner.trial\n_ipycodex_runner.trial.LIMIT = 1")
        deaf = "import signal, time\nsignal.alarm(0); signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\n"
        told = self.tried(host, deaf + "print('on', flush=True)\ntime.sleep(600)")
        self.assertIn("on\nTimeoutError: stopped after 1 s", told["printed"])
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_an_interrupt_ends_it(self):
        host = self.host()
        host.send(type="trial", cells=[{"code": "import time; time.sleep(60)"}])
        host.frame("started")
        answer = host.finish("answer", again=host.interrupt, every=2).last
        self.assertIn("KeyboardInterrupt", str(answer))
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_a_report_that_the_code_wrote_itself_is_none(self):
        host = self.host()
        forged = "os.write(fd, b'{\"names\": 3, \"pictures\": 5}\\n')"
        fds = "(int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) > 2)"
        code = "import os\nfor fd in %s:\n    try: %s\n    except OSError: pass\nos._exit(0)" % (fds, forged)
        answer = self.tried(host, code)
        self.assertIn("dry run: no report", answer["printed"])
        self.assertEqual((answer["bundle"], answer["parts"]), ({}, []))
        self.assertEqual(host.run("1 + 1").value, "2")


class FileAudit(unittest.TestCase):
    """What a dry run is told of files and programs, from Python's own events."""

    @classmethod
    def setUpClass(cls):
        path = os.path.dirname(RUNNER) + "/_ipycodex_runner/file_audit.py"
        spec = importlib.util.spec_from_file_location("file_audit", path)
        cls.audit = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.audit)
        cls.audit.install()

    def setUp(self):
        folder, before = tempfile.TemporaryDirectory(), os.getcwd()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        self.folder = os.getcwd()

    def told(self, work):
        self.audit.current = told = []
        try:
            work()
        except OSError:
            pass
        finally:
            self.audit.current = None
        return [name.replace(self.folder, "@") for name in told]

    def test_what_changes_files_is_told_by_the_name_that_changes(self):
        for told, work in (
            ("@/a", lambda: open("a", "w").close()), ("@/a", lambda: open("a", "r+").close()),
            ("@/a", lambda: open("a", "ab").close()), ("@/b", lambda: open(b"b", "x").close()),
            ("@/c", lambda: pathlib.Path("c").touch()), ("@/a", lambda: os.close(os.open("a", os.O_WRONLY))),
            ("@/a", lambda: os.close(os.open("a", os.O_RDWR))), ("@/a", lambda: os.close(os.open("a", os.O_TRUNC))),
            ("@/a", lambda: os.close(os.open("a", os.O_CREAT))), ("@/d", lambda: os.rename("c", "d")),
            ("@/e", lambda: os.link("d", "e")), ("@/f", lambda: os.symlink("e", "f")), ("@/f", lambda: os.remove("f")),
            ("@/g", lambda: os.mkdir("g")), ("@/g", lambda: os.rmdir("g")), ("@/a", lambda: os.truncate("a", 0)),
            ("@/none/x", lambda: open("none/x", "w")), ("/usr/x", lambda: open("/usr/../usr/x", "r+")),
            ("@/devices", lambda: os.mkdir("devices")), ("@/h", lambda: sys.audit("os.mkdir", pathlib.Path("h"), 0, 0)),
        ):  # fmt: skip
            self.assertEqual(self.told(work), [told])

    def test_what_changes_none_is_not_told(self):
        open("a", "w").close()
        os.mkdir("__pycache__")
        for work in (
            lambda: open("a").close(), lambda: os.close(os.open("a", os.O_RDONLY | os.O_CLOEXEC)), os.listdir,
            lambda: open("__pycache__/x", "w").close(), lambda: open(os.devnull, "w").close(),
            lambda: open("/proc/self/comm", "r+").close(), lambda: os.truncate(os.open("a", os.O_RDONLY), 0),
            lambda: os.chdir("."),
        ):  # fmt: skip
            self.assertEqual(self.told(work), [])

    def test_programs_are_told_by_their_words(self):
        many = ["true"] + ["word"] * 30
        for told, work in (
            ("true a b", lambda: subprocess.run(["true", "a", b"b"])),
            ("/bin/sh -c true a", lambda: subprocess.run("true a", shell=True)),
            (" ".join(many)[:80], lambda: subprocess.run(many)),
            ("true a", lambda: os.system("true a")),
            ("/bin/true", lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)),
        ):
            self.assertEqual(self.told(work)[:1], ["process: " + told])  # some Pythons tell of a second call beneath it
        for told, event in (
            ("", ("os.system", None)),
            ("x", ("os.system", b"x")),
            ("y", ("subprocess.Popen", "y", None)),
            ("z z", ("os.posix_spawn", ["z", "z"])),
        ):
            self.assertEqual(self.told(lambda: sys.audit(*event)), ["process: " + told])

    def test_each_is_told_once_and_of_many_the_first(self):
        names = ["f%d" % n for n in range(self.audit.MOST + 5)]
        told = self.told(lambda: [os.mkdir(name) or os.rmdir(name) for name in names])
        self.assertEqual(told, ["@/" + name for name in names[: self.audit.MOST]])
        self.assertEqual(self.audit.MOST, 100)

    def test_an_event_that_is_none_forbids_nothing(self):
        for event in (("open",), ("open", "a", "w", "flags"), ("os.remove",), ("os.remove", 5), ("os.system", 5)):
            self.assertEqual(self.told(lambda: sys.audit(*event)), [], event)
        sys.audit("open", "a", "w", os.O_WRONLY)
        self.assertIsNone(self.audit.current)


class BuiltIn(Trials, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class Ipython(Trials, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
