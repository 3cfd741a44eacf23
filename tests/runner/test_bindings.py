"""Which names of earlier cells a namespace lacks, in both engines."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class Both(Engine):
    def test_what_binds(self):
        host = self.host()
        for source, expected in (
            ("a = b = 1; c, (d, *e) = x; f += 1", "a b c d e f"),
            ("x: int\ny: int = 1", "y"),
            (
                "import os.path, numpy as np\nfrom re import sub as s, escape\nfrom os import *\n"
                "from __future__ import annotations",
                "os np s escape",
            ),
            ("def f(a=1):\n    b = 2\nclass C:\n    c = 3\nasync def g(): pass", "f C g"),
            (
                "for i in x:\n    if i:\n        j = 1\nelse:\n    k = 2\nwith open('x') as h, z as (p, q): pass",
                "i j k h p q",
            ),
            ("try:\n    a = 1\nexcept E as error:\n    b = 2\nfinally:\n    c = 3", "a b c"),
            ("[q for q in (w := x)]; {k: v for k, v in y}; lambda z: (u := 1); [(n := m) for m in x]", "w n"),
            ("a.b = 1; a[c] = 2; print(a)", ""),
            ("a = 1; b = 2; del a", "b"),
            ("_ = 1; __ = 2; _12 = 3; _i = 4; In = 5; _mine = 6; __name__ = 7", "_mine"),
            ("files = !ls\n%matplotlib inline\nwhere = %pwd\n!echo a=1", "files where"),
            ("%%time\na = 1\nb = !ls", "a b"),
            ("%time a = 1", "a"),
            ("%%capture out --no-stderr\na = 1", "out a"),
            ("%%bash\na=1", ""),
            ("%%timeit\na = 1", ""),
            ("cd /tmp", ""),
            ("await f(); r = await g()", "r"),
            ("a = (", ""),
            ("x = " + "(" * 5000 + ")" * 5000, ""),
            ("'\\d'; a = 1", "a"),
            ("a\0b = 1", ""),
        ):
            names = host.ask("missing", sources=[source])["missing"]
            self.assertEqual(" ".join(names), expected, source[:60])

    def test_order_and_what_is_there(self):
        host = self.host()
        host.run("b = 1\nimport os")
        sources = ["a = 1", "b = 2\nimport os", "c = 3", "a = 4; d = 5", "no python", "del c"]
        self.assertEqual(host.ask("missing", sources=sources)["missing"], ["a", "d"])
        self.assertEqual(host.ask("missing", sources=[])["missing"], [])
        self.assertEqual(host.run("b").value, "1")

    def test_many_cells(self):
        host = self.host()
        sources = ["name_%d = %d" % (n, n) for n in range(2_000)]
        self.assertEqual(len(host.ask("missing", sources=sources)["missing"]), 2_000)


@unittest.skipIf(sys.version_info < (3, 10), "no `match` before Python 3.10")
class Match(Engine, unittest.TestCase):
    def test_patterns(self):
        source = "match x:\n    case {'k': a, **rest}: pass\n    case [b, *c] as d: e = 1"
        self.assertEqual(self.host().ask("missing", sources=[source])["missing"], ["a", "rest", "d", "b", "c", "e"])


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no IPython")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
