"""Arrays and tables that a branch takes back to the prompt: their changes, and the memory they share."""

import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from merge_forks import Case  # noqa: E402


@unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
class Arrays(Case):
    def test_arrays_go_with_the_memory_they_share(self):
        base = "import numpy as np\ndata = np.arange(12.0).reshape(3, 4)\nfortran = np.asfortranarray(data)"
        branch = """
x, y, whole = data[:, 0], data[1], {"d": data, "f": fortran.T}
a = np.arange(6).reshape(2, 3)
b, flipped, fixed = a[1], a[::-1], a[0].view()
fixed.flags.writeable = False
objects, records = np.array([1, "x", [2]], dtype=object), np.array([(1, 2.0)], dtype=[("p", int), ("q", float)])
masked, number, sine, times = np.ma.array([1, 2], mask=[0, 1]), np.float32(1), np.sin, np.array(["2020-01-01"], "M8[D]")
"""
        self.assert_carried(
            base, branch, "",
            "np.shares_memory(x, data) and np.shares_memory(y, data) and whole['d'] is data",
            "(x == [0, 4, 8]).all() and (y == [4, 5, 6, 7]).all() and np.shares_memory(whole['f'], fortran)",
            "np.shares_memory(a, b) and np.shares_memory(a, flipped) and np.shares_memory(a, fixed)",
            "(b == [3, 4, 5]).all() and (flipped == [[3, 4, 5], [0, 1, 2]]).all() and b.flags.writeable",
            "(fixed == [0, 1, 2]).all() and not fixed.flags.writeable and objects[2] == [2] and records['q'][0] == 2.0",
            "masked.sum() == 1 and number == 1 and sine is np.sin and str(times[0]) == '2020-01-01'",
        )  # fmt: skip

    def test_changes_in_place_are_seen(self):
        base = (
            "import numpy as np\na = np.zeros(1000000); v = a[::3]; o = np.array([[1]], dtype=object); o[0, 0] = [1]\n"
        )
        base += "r = np.random.default_rng(1); f = np.asfortranarray(np.ones((2, 3))); e = np.zeros((0, 3))"
        for change, names in (
            ("a[-1] = 1", ["a", "v"]), ("a[1] = 1", ["a"]), ("v[1] = 1", ["a", "v"]), ("o[0, 0].append(2)", ["o"]),
            ("r.random()", ["r"]), ("f[0, 2] = 2", ["f"]), ("e.shape = (3, 0)", ["e"]), ("a.sum(); v.T; f.ravel()", []),
        ):  # fmt: skip
            self.assertEqual(self.merged(base, change).of("carried"), names, change)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas")
    def test_tables(self):
        base = """
import pandas as pd
table = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5], "s": ["x", "y"]})
table["c"] = [3, 4]
days, keyed = pd.date_range("2020", periods=3), table.set_index(["a", "b"])
kinds = pd.Series(["a", "b"], dtype="category")
"""
        reads = "table.values; table.describe(); table.a; str(table); table.groupby('a').sum(); table.loc[0]; days[0]\n"
        reads += "table._consolidate_inplace(); days.is_unique; keyed.loc[1]; table.merge(table); kinds.cat.codes"
        for change, names in (
            (reads, []), ("table.loc[1, 'c'] = 9", ["table"]), ("table.loc[1, 's'] = 'z'", ["table"]),
            ("table['d'] = 1", ["table"]), ("table.index.name = 'i'", ["table"]), ("kinds[0] = 'b'", ["kinds"]),
            ("table.columns = list('wxyz')", ["table"]), ("table.attrs['k'] = 1", ["table"]),
        ):  # fmt: skip
            self.assertEqual(self.merged(base, change).of("carried"), names, change)
        self.assert_carried(
            base, "more = table.assign(z=1); held = [table, days]", "",
            "held[0] is table and held[1] is days and list(more.z) == [1, 1] and list(more.s) == ['x', 'y']",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
