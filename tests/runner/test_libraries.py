"""The built-in engine and what libraries look for: they take it for Python, whose hooks they set, not for IPython."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

# What `rich.pretty.install()`, `rich.traceback.install()` and `sympy.init_printing()` do.
LIBRARY = """
import builtins, sys
def in_ipython():
    try:
        return get_ipython() is not None
    except NameError:
        return False
def install_printing():
    def hook(value):
        if value is not None:
            builtins._ = None
            print('pretty %r' % (value,))
            builtins._ = value
    if in_ipython():
        from IPython.core.formatters import BaseFormatter
    sys.displayhook = hook
def install_traceback(hook=lambda kind, error, tb: print('pretty %s' % kind.__name__, file=sys.stderr)):
    before, sys.excepthook = sys.excepthook, hook
    return before
def install_broken():
    install_traceback(lambda kind, error, tb: tb.nope)
def install_chained():
    before = install_traceback(lambda *error: (print('seen', file=sys.stderr), before(*error)))
def restore():
    sys.displayhook, sys.excepthook = sys.__displayhook__, sys.__excepthook__
"""


class BuiltIn(Engine, unittest.TestCase):
    def with_library(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, "library.py"), "w") as file:
            file.write(LIBRARY)
        host = self.host()
        host.run("import sys; sys.path.insert(0, %r); import library" % folder.name, storeHistory=False)
        return host

    def test_values_are_shown_by_the_display_hook_and_kept(self):
        host = self.with_library()
        self.assertEqual(host.run("library.in_ipython(), get_ipython() is not None").value, "(False, True)")
        host.run("library.install_printing()")
        for code, shown in (("[1]", "pretty [1]\n"), ("_", "pretty [1]\n"), ("Out[3]", "pretty [1]\n"), ("None", ""),
                            ("'a';", ""), ("import asyncio\nawait asyncio.sleep(0, 'b')", "pretty 'b'\n"),
                            ("_, __", "pretty ('b', [1])\n")):  # fmt: skip
            cell = host.run(code)
            self.assertEqual((cell.output, cell.of("result"), cell.last["status"]), (shown, [], "ok"), code)
        self.assertEqual(host.run("'quiet'", silent=True).output, "")
        self.assertEqual(len(host.run("exit").of("exit_requested")), 1)
        host.run("%%capture kept\n'in'")
        self.assertEqual(host.run("kept.outputs, _").output, "pretty (['in'], ('b', [1]))\n")
        host.run("library.restore()")
        self.assertEqual(host.run("2").value, "2")

    def test_errors_are_shown_by_the_hook_for_them(self):
        host = self.with_library()
        host.run("old = library.install_traceback()")
        for code, shown in (("1/0", "pretty ZeroDivisionError\n"), ("def", "pretty SyntaxError\n"),
                            ("import asyncio\nawait nothing", "pretty NameError\n")):  # fmt: skip
            cell = host.run(code)
            self.assertEqual((cell.output, cell.of("error"), cell.last["status"]), (shown, [], "error"), code)
        for code, name in (("%nope", "UsageError"), ("import sys; sys.exit(2)", "SystemExit")):
            self.assertEqual(host.run(code).error, name)
        self.assertIn("division", host.run("try: 1/0\nexcept ZeroDivisionError: old(*sys.exc_info())").output)
        host.run("library.install_broken()")
        cell = host.run("1/0")
        self.assertEqual(cell.error, "ZeroDivisionError")
        self.assertIn("Error in sys.excepthook: AttributeError", cell.output)
        host.run("sys.excepthook = old; library.install_chained()")
        cell = host.run("1/0")
        self.assertEqual((cell.output, cell.error), ("seen\n", "ZeroDivisionError"))
        host.run("library.restore()")
        cell = host.run("1/0")
        self.assertEqual((cell.output, cell.error), ("", "ZeroDivisionError"))

    def test_scripts_that_are_run_have_the_shell(self):
        host = self.with_library()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as file:
                file.write("get_ipython().run_line_magic('alias', 'say echo said')\n")
            self.assertEqual(host.run("%%run %s\nget_ipython().run_line_magic('say', '')" % path).output, "said\n")

    def test_a_repr_that_raises_shows_its_traceback(self):
        host = self.host()
        host.run(
            "class Bad:\n    def __repr__(self): return 1/0\nclass NoText:\n    def __repr__(self): return 1\n"
            "class Rich(Bad):\n    def _repr_html_(self): return '<b>'\nimport sys"
        )
        for code, name in (("Bad()", "ZeroDivisionError"), ("[Bad()]", "ZeroDivisionError"),
                           ("{'a': (Bad(),)}", "ZeroDivisionError"), ("NoText()", "TypeError"),
                           ("sys.displayhook(Bad())", "ZeroDivisionError"),
                           ("import asyncio\nawait asyncio.sleep(0, Bad())", "ZeroDivisionError")):  # fmt: skip
            cell = host.run(code)
            self.assertEqual((cell.error, cell.of("result"), cell.last["status"]), (name, [], "error"), code)
            if name == "ZeroDivisionError":
                self.assertIn("return 1/0", "\n".join(cell.of("error")[0]["traceback"]), code)
                self.assertNotIn("_runner", "\n".join(cell.of("error")[0]["traceback"]), code)
        self.assertEqual(host.run("type(Out[2]).__name__, type(_5).__name__").value, "('Bad', 'NoText')")
        cell = host.run("display(1, Bad(), 2); print('after')")
        self.assertEqual([frame["type"] for frame in cell.frames], ["started", "display", "error", "display", "done"])
        self.assertEqual(cell.output, "after\n")
        for code in ("Rich()", "display(Rich())"):
            cell = host.run(code)
            shown = (cell.of("result") + cell.of("display"))[0]["bundle"]
            self.assertEqual((shown["text/html"], cell.error), ("<b>", "ZeroDivisionError"))
            self.assertNotIn("unrepr", shown["text/plain"])
        self.assertEqual(host.run("1").value, "1")


if __name__ == "__main__":
    unittest.main()
