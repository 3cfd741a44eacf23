"""Files of a user's folder with the names of the standard library's modules, and builtins that cells have replaced: the
runner's own work goes on as if they were not there, and cells find what Python would give them.
"""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
FOLDER = os.path.dirname(os.__file__)
# what a part of the runner may import, itself or by what it calls; all at once are in the way of nothing of its own
NAMES = sorted(
    name.partition(".")[0]
    for name in os.listdir(FOLDER)
    if not name.startswith(("_", "site", "encodings", "this.", "antigravity", "LICENSE", "config", "idlelib", "test"))
)
TOLD = """traceback types re enum contextlib functools collections operator keyword linecache select signal subprocess
threading ast dis warnings selectors token tokenize inspect json asyncio tempfile random pickle""".split()
KINDS = {
    "a value": ("%s.py", "mine = 1\n"),
    "an error": ("%s.py", "raise RuntimeError('this file is not to be imported')\n"),
    "a package": ("%s/__init__.py", "mine = 1\n"),
}
BUILTINS = (
    "del builtins.len",
    "builtins.print = None",
    "len = open = isinstance = print = str = 3",
    "builtins.open = lambda *_: 1 / 0",
    "del builtins.__import__",
    "builtins.__import__ = None",
    "builtins.isinstance = None",
    "builtins.isinstance = lambda *_: 1 / 0",
    "builtins.getattr = builtins.hasattr = builtins.str = builtins.repr = 5",
    "del builtins.BaseException, builtins.Exception, builtins.OSError, builtins.KeyError",
    "del builtins.__build_class__, builtins.super, builtins.property",
    "builtins.dict = builtins.list = builtins.set = builtins.sorted = None",
    "del __builtins__",
    "__builtins__ = {}",
    "__builtins__ = None",
)
LOOK = dict(code="v * 2", unprotected=True)


class Both(Engine):
    def folder(self, names, kind):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        file, text = KINDS[kind]
        for name in names:
            path = os.path.join(folder, file % name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write(text)
        return folder

    def goes_through(self, host, what):
        """All that the runner does, once."""
        failed = host.run("1 / 0")
        self.assertEqual([frame["ename"] for frame in failed.of("error")], ["ZeroDivisionError"], what)
        self.assertIn("1 / 0", "".join(failed.of("error")[0]["traceback"]).replace("\x1b[39m", ""), what)
        self.assertEqual(host.run("v + 1").value, "42", what)
        self.assertIn("bit_length", str(host.ask("complete", code="v.bit_l", pos=7)), what)
        self.assertTrue(host.ask("inspect", code="v", pos=1, name="v")["inspection"]["found"], what)
        self.assertIn("int", str(host.run("v?").frames), what)
        looked = host.ask("snapshot", **LOOK)
        self.assertEqual(looked["snapshot"]["bundle"]["text/plain"], "82", (what, looked))
        self.assertEqual(host.ask("is_complete", code="for i in v:")["completeness"]["status"], "incomplete", what)
        if what != "imported":  # IPython's own code finds then what cells have imported
            self.assertEqual(host.run("%timeit -n1 -r1 v").last["status"], "ok", what)
        self.assertEqual(host.run("w = v\n!true\nw").value, "41", what)

    def test_files_named_as_modules_of_the_library(self):
        for kind in KINDS:
            host = self.host(cwd=self.folder(NAMES, kind))
            host.run("v = 41")
            self.goes_through(host, kind)

    def test_a_step_back_beside_such_files(self):
        host = self.host(cwd=self.folder(NAMES, "an error"))
        host.ask("checkpoints", op="keep", number=3)
        host.run("v = 41", executionCount=1)
        self.settle(host)
        host.run("v = 0", executionCount=2)
        self.settle(host)
        stepped = host.ask("checkpoints", op="back", number=2, session=0)
        self.assertIn("stepped", str(stepped))
        self.assertEqual(host.run("v").value, "41")

    def test_what_cells_import_is_theirs(self):
        """Also where it then stands in `sys.modules` in the library's place."""
        host = self.host(cwd=self.folder(TOLD, "a value"))
        host.run("v = 41")
        host.run("import sys\ngot = {}")
        for name in TOLD:
            cell = host.run(
                "had = '%s' in sys.modules\nimport %s\ngot['%s'] = %s\n'mine' in vars(%s), had" % ((name,) * 5)
            )
            self.assertIn(cell.value, ("(True, False)", "(False, True)"), name)
        host.ask("complete", code="v.bit_l", pos=7, engine="jedi")
        self.goes_through(host, "imported")
        # A library that the runner still loads, in a thread of its own, finds its own modules meanwhile.
        others = "[name for name in got if sys.modules.get(name) is not got[name]]"
        self.until(lambda: host.run(others).value == "[]")

    def test_modules_are_hidden_until_the_last_thread_has_left(self):
        """One that loads for long stays within while the other comes and goes, and cells import files meanwhile."""
        host = self.host(cwd=self.folder(["sched", "wave"], "a value"))
        host.run("import sys\ngenuine = sys.modules[[name for name in sys.modules if name.endswith('.stdlib')][0]]")
        host.run("def stand():\n    return [sys.modules.get(each.__name__) is each for each in (sched, wave)]")
        host.run("import sched\nfirst, second = genuine.GenuineModules(), genuine.GenuineModules()")
        self.assertIn("mine", host.run("vars(sched)").value)
        host.run("with first:\n    import wave\n    with second:\n        between = stand()\n    after = stand()")
        self.assertEqual(host.run("between, after, stand()").value, "([False, False], [False, False], [True, True])")
        host.run("second.__enter__()\nfirst.__enter__()\nsecond.__exit__()\nbetween = stand()\nfirst.__exit__()")
        self.assertEqual(host.run("between, stand()").value, "([False, False], [True, True])")
        host.run("first.threads.append(0)\nwith first:\n    genuine.drop_other_threads()")
        self.assertEqual(host.run("stand()").value, "[True, True]", "in a fork, the other thread is not")

    def test_replaced_builtins(self):
        host = self.host()
        host.run("v = 41\nimport builtins\nkept = dict(vars(builtins))")
        for change in BUILTINS:
            if self.ipython and "BaseException" in change:
                continue  # IPython's own code needs them while a cell runs
            host.run(change)
            self.assertEqual(host.run("1 / 0").last["status"], "error", change)
            cell = host.run("v + 1")
            self.assertTrue(cell.of("result"), (change, cell.frames))
            self.assertEqual(cell.value, "42", change)
            self.assertIn("completions", host.ask("complete", code="v.bit_l", pos=7), change)
            if change == "del builtins.len":
                self.assertEqual(host.run("len([1])").error, "NameError")
            self.assertEqual(host.run("builtins.__dict__.update(kept)").last["status"], "ok", change)


class Builtin(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON

    def test_ipython_is_in_use(self):
        for kind in KINDS:
            packages = ["traitlets", "pygments", "decorator", "jedi", "argcomplete", "wcwidth", "prompt_toolkit"]
            host = self.host(cwd=self.folder(NAMES + packages, kind))
            self.assertTrue(host.ready["ipython"], (kind, host.pending))


if __name__ == "__main__":
    unittest.main()
