"""The module `ipycodex` that cells import."""

import os
import shutil
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class ModuleCase(harness.Engine, unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_files_and_the_environment(self):
        with open(os.path.join(self.folder, "ipycodex.py"), "w") as file:
            file.write("raise ImportError('a stranger')\n")
        host = self.host(cwd=self.folder)
        host.run("import ipycodex")
        for code, expected in [
            ("ipycodex.write('a/b/c.txt', 'one\\r\\ntwo\\nthree').as_posix()", "'a/b/c.txt'"),
            ("ipycodex.read('a/b/c.txt')", r"'one\r\ntwo\nthree'"),
            ("ipycodex.read('a/b/c.txt', 2, 1)", r"'two\n'"),
            ("ipycodex.read('a/b/c.txt', offset=9)", "''"),
            ("ipycodex.write('raw', b'\\xff').read_bytes()", r"b'\xff'"),
            ("ipycodex.env('X_Y'), ipycodex.env('X_Y', 1), ipycodex.env()['X_Y']", "(None, '1', '1')"),
        ]:
            self.assertEqual(host.run(code).value, expected, code)
        self.assertEqual(host.run("ipycodex.display(41)").of("display")[0]["bundle"]["text/plain"], "41")
        for code, error in [
            ("ipycodex.read('gone')", "FileNotFoundError"),
            ("ipycodex.read('raw')", "UnicodeDecodeError"),
            ("ipycodex.read('a/b/c.txt', 0)", "ValueError"),
            ("ipycodex.read('a/b/c.txt', limit='x')", "ValueError"),
            ("ipycodex.write('artifact://cell-1', '')", "ValueError"),
            ("ipycodex.output('cell-1')", "LookupError"),
            ("ipycodex.output()", "TypeError"),
            ("ipycodex.output('../secret')", "ValueError"),
            ("ipycodex.output('cell-1', format='xml')", "ValueError"),
        ]:
            self.assertEqual(host.run(code).error, error, code)

    def test_outputs_are_found_whole(self):
        record = os.path.join(self.folder, "history.sqlite")
        db = sqlite3.connect(record)
        db.execute("CREATE TABLE history (session, line, source, source_raw)")
        db.execute("CREATE TABLE output_history (session INTEGER, line INTEGER, output TEXT)")
        db.executemany("INSERT INTO output_history VALUES (?, ?, ?)", [(7, 1, '{"a": [{"b c": 5}]}'), (8, 1, "other")])
        db.commit()
        db.close()
        with open(os.path.join(self.folder, "tool-3-1.txt"), "w") as file:
            file.write("\x1b[31mred\x1b[0m\x1b]0;t\x07\nsecond\n")
        host = self.host()
        host.run(
            "import ipycodex as i, os; os.environ.update(IPYCODEX_SESSION='7', IPYCODEX_SESSION_FILE=%r, "
            "IPYCODEX_ARTIFACTS_DIR=%r)" % (record, self.folder)
        )
        for code, expected in [
            ("i.output('cell-1')", """'{"a": [{"b c": 5}]}'"""),
            ("i.output(1, format='json')", "{'a': [{'b c': 5}]}"),
            ("i.output('cell-1', query='.a[0][\"b c\"]')", "5"),
            ("i.output('cell-1', query='a[-1]')", "{'b c': 5}"),
            ("i.output('artifact://tool-3-1', format='stripped')", r"'red\nsecond\n'"),
            ("i.output('tool-3-1', offset=2, limit=1)", r"'second\n'"),
            ("i.read('artifact://tool-3-1', 2)", r"'second\n'"),
            ("i.output(1, 'tool-3-1', limit=0)", "['', '']"),
        ]:
            self.assertEqual(host.run(code).value, expected, code)
        for code, error, said in [
            ("i.output(2)", "LookupError", "no output `cell-2`"),
            ("i.output(1, query='.a[1]')", "LookupError", "no `[1]` in `.a`"),
            ("i.output(1, query='.a..b')", "ValueError", "not understood from '..b' on"),
            ("i.output('tool-3-1', query='.a')", "ValueError", "is not JSON"),
            ("i.output(1, query='.a', limit=1)", "ValueError", "cannot be combined with JSON"),
        ]:
            frame = host.run(code).of("error")[0]
            self.assertEqual(frame["ename"], error, code)
            self.assertIn(said, frame["evalue"], code)


@unittest.skipUnless(IPYTHON, "no IPython")
class ModuleWithIpythonCase(ModuleCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
