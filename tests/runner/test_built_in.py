"""What the built-in engine makes of the text of cells and of errors; reloaded modules; what magics say."""

import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402


class BuiltIn(Engine, unittest.TestCase):
    def test_what_the_compiler_refuses_late_has_its_line_and_a_caret(self):
        host = self.host()
        for code, line, text, column in (
            ("yield 1", 1, "yield 1", 0), ("x = 1\nreturn x", 2, "return x", 0), ("if 1:\n    break", 2, "break", 0),
            ("x = 1\nprint('run')\ncontinue", 3, "continue", 0), ("'é'; yield 1", 1, "'é'; yield 1", 5),
            ("%pwd\ndef f():\n    x = 1; global x", 3, "x = 1; global x", 7), ("nonlocal x", 1, "nonlocal x", 0),
            ("%time break", 1, "break", 0),
        ):  # fmt: skip
            cell = host.run(code)
            shown = cell.of("error")[0]["traceback"]
            where = next(at for at, row in enumerate(shown) if row.startswith("  Cell In["))
            self.assertTrue(shown[where].endswith(", line %d" % line), (code, shown))
            self.assertEqual(shown[where + 1 : where + 3], ["    " + text, "    " + column * " " + "^"], code)
            self.assertNotIn("During handling", "\n".join(shown), code)
            self.assertEqual(cell.output, "run\n" if "run" in code else "", code)

    def test_the_first_expression_is_compiled_without_trees_and_like_any_other(self):
        host = self.host()
        self.assertEqual(host.run("print('once') or 1").output, "once\n")
        self.assertEqual(host.run("'_ast' in __import__('sys').modules").value, "False")
        self.assertEqual(host.run("[x for x in (1, 2)]").value, "[1, 2]")
        self.assertIn('Cell In[4], line 1', "\n".join(host.run("(lambda: 1 / 0)()").of("error")[0]["traceback"]))
        warned = self.host().run("1 is 1")
        self.assertEqual((warned.value, warned.output.count("SyntaxWarning")), ("True", 1), warned.output)
        self.assertNotIn("<string>", warned.output)
        host.run(
            "from _ipycodex_runner.expressions import read_code\n"
            "def same(text):\n"
            "    ours, python = read_code(text, 'f'), compile(text, 'f', 'eval', 0, True)\n"
            "    inner = [[each.co_filename for each in code.co_consts if hasattr(each, 'co_filename')]\n"
            "             for code in (ours, python)]\n"
            "    return ours == python and inner[0] == inner[1] and ours.co_filename == 'f'"
        )
        for text in ("1+1", "\n\na.b", "(lambda x: [i for i in x])(3)", "f'{a!r}'", "(a := 3)", "(x for x in y)"):
            self.assertEqual(host.run("same(%r)" % text).value, "True", text)
        for text in (" 1", "1 is 1", "1()"):
            self.assertEqual(host.run("read_code(%r, 'f') is None" % text).value, "True", text)

    def test_prompts_that_were_pasted_along(self):
        host = self.host()
        for code, value in (
            (">>> x = 1\n    >>> x", "1"), ("    >>> for i in range(2):\n    ...     x = i\n    ...\n    >>> x", "1"),
            (">>>x", "1"), ("# so\n>>> x + 1", "2"), ("x\nIn [2]: x + 2", "3"), ("In [1]: x = 4\n   ...: x", "4"),
            ("    In [1]: x\n    Out[1]: 3\n\n    In [2]: x + 1", "5"), ("[nav] In [1]: x", "4"),
            ("s = '''\n>>> a\nIn [1]: b\n'''\ns", repr("\n>>> a\nIn [1]: b\n")),
            (">>> s = '''\n... >>> a'''\n>>> s", repr("\n>>> a")),
            ("def f():\n    '>>> 1'\n%pwd\nf.__doc__", "'>>> 1'"),
            ("    >>> %alias say echo\n    >>> [Ellipsis,\n    ... ...]", "[Ellipsis, Ellipsis]"),
        ):  # fmt: skip
            self.assertEqual(host.run(code).value, value, code)
            self.assertEqual(host.ask("is_complete", code=code + "\n")["completeness"]["status"], "complete", code)
        for code, status in (
            ("    >>> x = 1\n    >>> x", "complete"),
            (">>> for i in x:", "incomplete"),
            (">>> )", "invalid"),
        ):
            self.assertEqual(host.ask("is_complete", code=code)["completeness"]["status"], status, code)

    def test_old_objects_follow_a_reloaded_module(self):
        host = self.host()
        with tempfile.TemporaryDirectory() as folder:
            # each version of the file has a time of its own
            def write(name, text, version):
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(text.replace("N", str(version)))
                os.utime(path, (1e9 + version, 1e9 + version))

            shapes = (
                "class Shape:\n    def area(self): return N\n    @property\n    def name(self): return 'shape N'\n"
                "class Slots:\n    __slots__ = ('a',)\n    def area(self): return N\n"
                "class Square(Shape):\n    def twice(self): return 2 * super().area()\ndef f(): return N\nold_N = N\n"
            )
            write("shapes.py", shapes, 1)
            write("client.py", "from shapes import f, Shape\ndef call(): return f(), Shape().area()\n", 1)
            host.run("import sys; sys.path.insert(0, %r); sys.dont_write_bytecode = True" % folder)
            host.run("%load_ext autoreload\n%autoreload 2")
            host.run(
                "import client, shapes; from shapes import Shape, Slots, Square, f\n"
                "shape, slots, square, bound, held = Shape(), Slots(), Square(), Shape().area, [f]\n"
                "class Own(Shape): pass\nown = Own()"
            )
            for version in (1, 2, 3):
                write("shapes.py", shapes, version)
                self.assertEqual(
                    host.run(
                        "[shape.area(), slots.area(), square.twice() // 2, bound(), held[0](), f(), own.area(), "
                        "*client.call()], shape.name, hasattr(shapes, 'old_1')"
                    ).value,
                    repr(([version] * 9, "shape %d" % version, version == 1)),
                )
                self.assertEqual(
                    host.run(
                        "type(shape) is shapes.Shape is Shape, isinstance(slots, Slots), isinstance(square, Shape), "
                        "type(square) is shapes.Square, isinstance(own, Shape)"
                    ).value,
                    repr((True,) * 5),
                )
            write("shapes.py", "class Shape: pass\n1/0", 4)
            self.assertIn("autoreload of shapes failed: ZeroDivisionError", host.run("f()").output)
            self.assertEqual(host.run("shapes.f(), isinstance(shape, shapes.Shape)").value, "(3, True)")
            os.mkdir(os.path.join(folder, "pack"))
            write("pack/__init__.py", "", 1)
            write("pack/part.py", "x = N", 1)
            host.run("import pack.part")
            write("pack/__init__.py", "y = 1", 2)
            self.assertEqual(host.run("pack.y, pack.part.x").value, "(1, 1)")

    def test_every_magic_says_what_it_does(self):
        host = self.host()
        listed = host.run("%lsmagic").output.split()
        self.assertGreater(len(listed), 100)
        for magic in listed:
            if magic.startswith("%") and magic != "%%!":
                shown = host.run(magic + "?").of("page")[0]["bundle"]["text/plain"]
                self.assertRegex(shown, "(?s)^%s\n\n.*[.]" % re.escape(magic))
                self.assertNotIn("Magic of the built-in engine", shown)

    def test_frames_tell_what_their_function_takes(self):
        host = self.host()
        host.run("class A:\n    def m(self, v, *rest, k=1, **more):\n        return v.nope")
        for mode, line in (
            (
                "Context",
                "A.m(self, v, k, *rest, **more)" if sys.version_info >= (3, 11) else "m(self, v, k, *rest, **more)",
            ),
            ("Verbose", "v=1, k=1, *rest=(2,), **more={}"),
        ):
            host.run("%xmode " + mode)
            shown = host.run("A().m(1, 2)").of("error")[0]["traceback"]
            self.assertIn(line, "\n".join(shown))
        shown = host.run("import json; json.loads('{')").of("error")[0]["traceback"]
        self.assertIn("\nFile ", "\n".join(shown))
        host.run("%xmode Context\ndef r(n): return r(n + 1)")
        shown = host.run("r(0)").of("error")[0]["traceback"]
        self.assertLess(len(shown), 30)
        self.assertIn("[... skipping similar frames: r at line 2", "\n".join(shown))


if __name__ == "__main__":
    unittest.main()
