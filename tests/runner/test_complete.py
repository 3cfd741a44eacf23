"""Completion and inspection at the cursor, in both engines: the same forms, live objects only, nothing of the user's
run."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
SETTING = """
import os, json, sys
ran = []
class Thing:
    size: int = 1
    @property
    def prop(self):
        ran.append('prop'); return 'text'
    def __getattr__(self, name):
        ran.append(name); raise AttributeError(name)
    def __getitem__(self, key):
        ran.append('item'); return 1
    def __repr__(self):
        ran.append('repr'); return 'thing'
    def act(self, first, second=2, *rest, key=None, **more):
        'Acts.\\n\\nAt length.'
    @staticmethod
    def still(a): pass
    @classmethod
    def made(cls, b): pass
thing = Thing()
table = {'alpha': {'inner': [1]}, "it's": 2, 'ключ': 3, 7: 4, 'alps': 5}
figure_one, figure_two = 1, 'two'
数値 = 3
def falls(a, b=2):
    'Falls down.'
"""
KEYS = r"""
class Frame:
    columns = ['col 1', 'col 2', 'a[0] x']
Frame.__module__ = 'pandas'
frame = Frame()
d = {'a b': 1, 'a c d': 2, "it's": 3, 'q"t': 4, 'b\\s': 5, 'ünï cö': 6, 'x[1]': 7, 'end ': 8, ('t u', 'v w', 'z'): 9,
     5: 1, 55: 2, 'c': {'n m': 1}, b'by te': 3, 'ta\tx': 1, 'o\'"x': 1, 'e\\\'f': 1}
"""


def shown(item):
    return " ".join(part for part in (item["text"], item["kind"], item["signature"] or item["type"]) if part)


class Both(Engine):
    def texts(self, host, code, position=None, engine="plain"):
        position = len(code) if position is None else position
        answer = host.ask("complete", code=code, pos=position, engine=engine)
        for item in answer["completions"]:
            self.assertLessEqual(item["start"], position, item)
            self.assertEqual(item["end"], position, item)
        return answer["completions"]

    def look(self, host, code, position=None):
        found = host.ask("inspect", code=code, pos=len(code) if position is None else position)["inspection"]
        return found["bundle"].get("application/vnd.ipycodex.inspection+json") if found["found"] else None

    def test_what_is_found_and_what_it_is(self):
        host = self.host()
        host.run(SETTING)
        for code, start, expected in (
            ("json.du", 5, ["dump function (obj, fp, *, skipkeys=False", "dumps function (obj, *, skipkeys=False"]),
            ("os.pa", 3, ["pardir instance str", "path module", "pathsep instance str"]),
            ("figu", 0, ["figure_one instance int", "figure_two instance str"]),
            ("x = thing.a", 10, ["act function (first, second=2, *rest, key=None, **more)"]),
            ("thing.pr", 6, ["prop property"]),
            ("thing.st", 6, ["still function (a)"]),
            ("thing.ma", 6, ["made function (b)"]),
            ("Thing.ac", 6, ["act function (self, first, second=2, *rest, key=None, **more)"]),
            ("fal", 0, ["falls function (a, b=2)"]),
            ("Thi", 0, ["Thing class ()"]),
            ("数", 0, ["数値 instance int"]),
            ("table['al", 7, ["alpha'] key", "alps'] key"]),
            ('table["ключ', 7, ['ключ"] key']),
            ("table[7", 6, ["7] key"]),
            ("table['alpha']['in", 16, ["inner'] key"]),
            ("table['alpha']['inner'].appe", 24, ["append function (object, /)"]),
            ("'x'.casef", 4, ["casefold function ()"]),
            ("f'{figure_o", 3, ["figure_one instance int"]),
            ("falls(1, b", 9, ["b= param"]),
            ("import colors", 7, ["colorsys module"]),
            ("import xml.dom.minid", 15, ["minidom module"]),
            ("from json import du", 17, ["dump function", "dumps function"]),
            ("%time", 0, ["%time magic", "%timeit magic"]),
            ("%%writef", 0, ["%%writefile magic"]),
            ("for row in table:\n    figure_o", 22, ["figure_one instance int"]),
            ("impor", 0, ["import keyword"]),
            ("figure_nope", 0, []),
        ):
            with self.subTest(code=code):
                items = self.texts(host, code)
                rows = [shown(item) for item in items]
                for row in expected:
                    self.assertTrue(any(each.startswith(row) for each in rows), (row, rows[:20]))
                if not expected:
                    self.assertEqual(rows, [])
                self.assertTrue(all(item["start"] == start for item in items), items[:5])
        self.assertEqual(host.run("ran").value, "[]")

    def test_keys_are_whole_and_can_be_read(self):
        host = self.host()
        host.run(KEYS)
        for code, lines in (
            ('d["a ', ['d["a b"]', 'd["a c d"]']), ("d['a c ", ["d['a c d']"]), ('é = d["a b', ['é = d["a b"]']),
            ('d ["a b', ['d ["a b"]']), ('d[ "a b', ['d[ "a b"]']), ('f(d["a b"], d["a b', ['f(d["a b"], d["a b"]']),
            ('d["it', ['d["it\'s"]']), ("d['it", ["d['it\\'s']"]), ('d["it\\\'', ['d["it\\\'s"]']),
            ('d["it\'', ['d["it\'s"]']), ('d["q', ['d["q\\"t"]']), ("d['q\"", ["d['q\"t']"]), ('d["b', ['d["b\\\\s"]']),
            ('d["b\\\\', ['d["b\\\\s"]']), ('d["o', ['d["o\'\\"x"]']), ('d["e\\\\', ['d["e\\\\\'f"]']),
            ('d["ta', ['d["ta\\tx"]']),
            ('d["ünï ', ['d["ünï cö"]']), ('d["x[', ['d["x[1]"]']), ('d["end ', ['d["end "]']),
            ('d[r"a b', ['d[r"a b"]']),
            ('d[r"b', []), ('d[b"by ', ['d[b"by te"]']), ('d["c"]["n ', ['d["c"]["n m"]']), ('d["t ', ['d["t u"']),
            ('d["t u", "v ', ['d["t u", "v w"']), ('d["t u", "v w", "', ['d["t u", "v w", "z"]']), ('d[f"a ', []),
            ('frame["col ', ['frame["col 1"]', 'frame["col 2"]']), ('frame["a[0', ['frame["a[0] x"]']),
            ('frame[["col 1", "col ', ['frame[["col 1", "col 1"', 'frame[["col 1", "col 2"']),
            ('frame["', ['frame["col 1"]', 'frame["col 2"]', 'frame["a[0] x"]']), ("f'{d[\"a b", ["f'{d[\"a b\"]"]),
            ("d[5", ["d[5]", "d[55]"]),
        ):  # fmt: skip
            with self.subTest(code=code):
                items = self.texts(host, code)
                self.assertEqual([code[: item["start"]] + item["text"] for item in items], lines)
                self.assertTrue(all(item["kind"] == "key" for item in items), items[:3])
        self.assertEqual([item["text"] for item in self.texts(host, 'd["a c "]', 7)], ["a c d"])
        self.assertEqual([item["text"] for item in self.texts(host, 'd["a c ]', 7)], ['a c d"'])

    def test_symbols_and_their_names(self):
        host = self.host()
        greek = "GREEK SMALL LETTER ALPHA"
        for code, first, count in (
            (r"\alpha", "α", 1), (r"x = \alp", r"x = \alpha", 1), (r"\α", r"\alpha", 1), ("\\" + greek, "α", 1),
            ("é = \\" + greek[:-2], "é = \\" + greek, None), (r"\greek small letter alpha", "α", 1),
            (r"\SNOWMAN", r"\SNOWMAN", 2), ("\\☃", r"\SNOWMAN", 1), (r"x\hat", "x\u0302", 1),
            (r"\al", r"\aleph", 2), (r"\Alpha + \bet", r"\Alpha + \beta", None), ("y = '\\beta", "y = 'β", 1),
            (r"\bfx", "𝐱", 1), (r"\nothing of the kind", None, 0), ("\\", None, None), (r"'\\'", None, None),
        ):  # fmt: skip
            with self.subTest(code=code):
                items = [item for item in self.texts(host, code) if item["kind"] == "symbol"]
                if first:
                    self.assertEqual(code[: items[0]["start"]] + items[0]["text"], first)
                if count is not None:
                    self.assertEqual(len(items), count)

    def test_in_a_string_only_keys_and_files_are_offered(self):
        host = self.host()
        host.run("table = {'alpha': 1}\nlist_of = [1]")
        for code, texts in (
            ('nosuch["', []), ("x = nosuch['a", []), ('nosuch["x"]["', []), ('list_of["', []), ('table["alpha"]["', []),
            ('table["', ['alpha"]']),
            ('"abs', []), ("print('pri", []), ('f("tab', []), ("r'impor", []), ('"""tab', []), ("f'{tab", ["table"]),
            ('f\'{table["al', ['alpha"]']),
        ):  # fmt: skip
            found = host.ask("complete", code=code, pos=len(code), engine="plain")["completions"]
            self.assertEqual([item["text"] for item in found], texts, code)
        for code in ('open("/tm', '"/tm', "x = '/tm"):
            found = host.ask("complete", code=code, pos=len(code), engine="plain")["completions"]
            self.assertTrue(any(item["text"].endswith("tmp/") for item in found), code)

    def test_nothing_is_run_to_follow_a_chain(self):
        host = self.host()
        host.run(SETTING)
        for code in (
            "thing.prop.",
            "thing.prop.up",
            "thing['a'].",
            "thing.nope.x",
            "thing.",
            "thing.prop(",
            "Thing.prop.",
        ):
            self.texts(host, code)
            self.look(host, code)
        self.assertEqual(host.run("ran").value, "[]")

    def test_what_follows_the_cursor_is_kept_in_mind(self):
        host = self.host()
        host.run(SETTING)
        self.assertIn("alpha", [item["text"] for item in self.texts(host, "table['al']", 9)])
        self.assertIn("alpha'", [item["text"] for item in self.texts(host, "table['al]", 9)])
        self.assertIn("figure_one", [item["text"] for item in self.texts(host, "print(figu) + 1", 10)])

    def test_odd_objects_and_huge_namespaces(self):
        host = self.host()
        host.run(
            "class Liar:\n    def __dir__(self): raise ValueError('no')\nclass Odd:\n"
            "    def __dir__(self): return ['ok', '\\ud800']\nliar, odd = Liar(), Odd()\n"
            "globals().update({'name_%d' % n: n for n in range(20000)})\nglobals()[7] = 1\n"
            "wide = type('Wide', (), {'m%d' % n: (lambda self: 0) for n in range(3000)})()"
        )
        self.assertEqual(self.texts(host, "liar."), [])
        self.assertEqual([item["text"] for item in self.texts(host, "odd.o")], ["ok"])
        self.assertEqual(len(self.texts(host, "name_")), 500)
        self.assertEqual(len(self.texts(host, "wide.m")), 500)
        for code in (
            "",
            "(",
            ")",
            "'",
            '"""',
            "x.",
            ".",
            "..",
            "[",
            "d[",
            "a.b.c.d[",
            "\\",
            "lambda: ",
            "}{",
            "f'{",
            "ünï",
            "a" * 2000 + ".",
        ):
            self.texts(host, code)
            self.look(host, code)
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_a_look_that_never_ends_is_ended(self):
        host = self.host()
        host.run(
            "import time\nclass Slow:\n    def __dir__(self): time.sleep(600)\nclass Busy:\n    def __dir__(self):\n"
            "        while True: pass\nslow, busy = Slow(), Busy()"
        )
        for code in ("slow.", "busy."):
            host.ask("complete", code=code, pos=5)
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_modules_are_not_imported_to_be_looked_into(self):
        host = self.host()
        with open(os.path.join(self.folder(), "heavy_part.py"), "w") as file:
            file.write("import builtins\nbuiltins.heavy = True\nclass Heavy: pass\ndef hoist(a): pass\nHIGH = 1\n")
        host.run("import sys\nsys.path.insert(0, %r)" % self.folder())
        self.assertEqual([item["text"] for item in self.texts(host, "import heavy_")], ["heavy_part"])
        if not self.ipython:  # IPython imports what stands after `from`
            self.assertEqual([item["text"] for item in self.texts(host, "from heavy_part import h")], ["hoist"])
            self.assertEqual(host.run("'heavy' in vars(__import__('builtins'))").value, "False")

    def folder(self):
        if not hasattr(self, "kept"):
            import tempfile

            self.kept = tempfile.TemporaryDirectory()
            self.addCleanup(self.kept.cleanup)
        return self.kept.name

    def test_a_second_look_sees_the_unfinished_cell(self):
        host = self.host()
        host.run(SETTING)
        code = "def outer(first_part, *others):\n    zebra_crossing = 1\n    for zed in others:\n        ze"
        self.assertEqual([item["text"] for item in self.texts(host, code)], [])
        deep = [item["text"] for item in self.texts(host, code, engine="jedi")]
        self.assertEqual(deep[:2], ["zebra_crossing", "zed"])
        deep = [item["text"] for item in self.texts(host, code[:-2] + "first_", engine="jedi")]
        self.assertEqual(deep, ["first_part"])
        self.texts(host, "thing.prop.", engine="jedi")
        self.assertEqual(host.run("ran").value, "[]")

    def test_the_deeper_look_is_warm_when_it_comes(self):
        host = self.host()
        host.run(SETTING)
        host.run("import sys, time")
        if not host.run("__import__('importlib.util').util.find_spec('jedi') is not None").value == "True":
            self.skipTest("there is no jedi")
        self.assertEqual(host.run("'jedi' in sys.modules").value, "False")
        self.texts(host, "thi")
        ready = "end = time.time() + 20\nwhile time.time() < end and 'jedi.api' not in sys.modules: time.sleep(0.05)"
        host.run(ready)
        self.assertEqual(host.run("'jedi' in sys.modules").value, "True")

    def test_the_object_at_the_cursor(self):
        host = self.host()
        host.run(SETTING)
        for code, position, name, marked in (
            ("falls", None, "falls", None),
            ("falls(1, ", None, "falls", "b=2"),
            ("falls(b=", None, "falls", "b=2"),
            ("falls(figure_one", None, "falls", "a"),
            ("falls(\n    1,\n    [2, 3", None, "falls", "b=2"),
            ("thing.act(1, 2, 3, 4", None, "thing.act", "*rest"),
            ("thing.act(key=3", None, "thing.act", "key=None"),
            ("thing.act(other=3", None, "thing.act", "**more"),
            ("print(falls", None, "falls", None),
            ("falls(1)\nfigure_one + 2", 12, "figure_one", None),
            ("falls(1) + json.dumps", 3, "falls", None),
            ("x = json.dumps(figure_one, ", None, "json.dumps", None),
            ("%timeit", None, "%timeit", None),
            ("数値", None, "数値", None),
        ):
            with self.subTest(code=code):
                look = self.look(host, code, position)
                self.assertIsNotNone(look)
                self.assertEqual(look["name"], name)
                if marked:
                    begin, end = look["mark"]
                    self.assertEqual(look["signature"][begin:end], marked)
        self.assertEqual(self.look(host, "falls")["doc"], "Falls down.")
        self.assertEqual(self.look(host, "thing.act(")["signature"], "(first, second=2, *rest, key=None, **more)")
        self.assertEqual(
            (self.look(host, "figure_two")["type"], self.look(host, "figure_two")["value"]), ("str", "'two'")
        )
        self.assertEqual(self.look(host, "thing")["value"], "")
        for code in ("", "nope", "1 + ", "nope(", "'falls'"[:3]):
            self.assertIsNone(self.look(host, code), code)
        self.assertEqual(host.run("ran").value, "[]")
        json.dumps(self.look(host, "thing"))


class BuiltIn(Both, unittest.TestCase):
    def test_source_comes_apart_from_what_is_said_of_it(self):
        host = self.host()
        host.run(SETTING)
        page = host.run("falls??").of("page")[0]["bundle"]
        before, source = page["application/vnd.ipycodex.source+json"]
        self.assertTrue(source.startswith("def falls(a, b=2):"), source)
        self.assertIn("Signature: falls(a, b=2)", before)
        self.assertNotIn("application/vnd.ipycodex.source+json", host.run("falls?").of("page")[0]["bundle"])


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
