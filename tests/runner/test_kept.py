"""Variables kept at the end of a session and brought back in another interpreter; both engines."""

import os
import pickle
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")

CELL = """
import os, datetime
class Own: pass
def function(): pass
class Hangs:
    def __reduce__(self):
        while True: pass
number, text, day = 42, 'é\\n', datetime.date(2020, 1, 2)
own, nested, opened = Own(), [1, Own()], open(os.devnull)
large = bytes(101 << 20)
_hidden = 1
last = {'a': [1, 2]}
"""


class Kept(Engine):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(folder.name, "variables")

    def variables(self, host, what, file=None):
        answer = host.ask("variables", op=what, file=file or self.file)
        return answer.get("variables") or answer["error"]["evalue"]

    def names(self, host, what):
        return sorted(row["name"] for row in self.variables(host, what)["rows"])

    def test_each_is_kept_by_itself_and_comes_back(self):
        host = self.host()
        host.run(CELL)
        kept = self.variables(host, "keep")
        self.assertEqual([row["name"] for row in kept["rows"]], ["number", "text", "day", "last"])
        self.assertEqual(kept["rows"][2]["type"], "date")
        self.assertTrue(all(row["bytes"] > 0 for row in kept["rows"]))
        left = dict(kept["left"])
        self.assertEqual(sorted(left), ["large", "nested", "opened", "own"])
        self.assertEqual(left["own"], left["nested"])
        self.assertIn("it needs `Own`, which was defined in a cell and cannot be kept", left["own"])
        self.assertIn("100 MB", left["large"])
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.assertEqual(os.listdir(self.folder), ["variables"])
        other = self.host()
        other.run("text = 'mine'")
        listed = self.variables(other, "list")
        self.assertEqual(listed["rows"], kept["rows"])
        self.assertLess(listed["age"], 60)
        brought = self.variables(other, "bring")
        self.assertEqual([row["name"] for row in brought["rows"]], ["number", "day", "last"])
        self.assertEqual(brought["left"], [["text", "a variable of that name already exists"]])
        self.assertEqual(other.run("(number, text, day.year, last)").value, "(42, 'mine', 2020, {'a': [1, 2]})")

    def test_what_hangs_costs_its_time_and_nobody_else(self):
        host = self.host()
        host.run(CELL.replace("number, text", "first = Hangs()\nnumber, text"))
        kept = self.variables(host, "keep")
        self.assertIn(["first", "it took too long"], kept["left"])
        self.assertEqual([row["name"] for row in kept["rows"]], ["number", "text", "day", "last"])
        self.assertEqual(host.run("number").value, "42")

    def test_what_was_not_brought_back_stays_kept(self):
        host = self.host()
        host.run("a, b = [1], 2")
        self.variables(host, "keep")
        host.run("del a")
        self.assertEqual(self.names(host, "keep"), ["b"])  # this one knows that `a` is gone
        other = self.host()
        other.run("c = 3")
        self.assertEqual(self.names(other, "keep"), ["b", "c"])
        third = self.host()
        self.variables(third, "bring")
        third.run("del b, c")
        self.assertEqual(self.names(third, "keep"), [])
        self.assertFalse(os.path.exists(self.file))

    def test_only_what_is_the_users_alone_is_read(self):
        host = self.host()
        host.run("a = 1")
        self.variables(host, "keep")
        foreign = "the kept variables are not read: others could have written to "
        os.chmod(self.file, 0o640)
        self.assertTrue(self.variables(host, "bring").startswith(foreign))
        os.chmod(self.file, 0o600)
        os.chmod(self.folder, 0o770)
        self.assertTrue(self.variables(host, "list").startswith(foreign))
        os.chmod(self.folder, 0o700)
        link = self.file + ".link"
        os.symlink(self.file, link)
        self.assertIn("cannot be read", self.variables(host, "list", link))
        with open(self.file, "rb") as file:
            whole = file.read()
        for damaged in (b"", whole[:-1], whole[1:], pickle.dumps(1), whole[:-8] + b"\xff" * 8):
            with open(self.file, "wb") as file:
                file.write(damaged)
            self.assertIn("is damaged", self.variables(host, "list"))
        host.run("del a")
        with open(self.file, "wb") as file:
            file.write(whole.replace(b"K\x01.", b"K\x02X"))
        brought = self.variables(host, "bring")
        self.assertEqual((brought["rows"], brought["left"][0][0]), ([], "a"))


class BuiltIn(Kept, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class Ipython(Kept, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
