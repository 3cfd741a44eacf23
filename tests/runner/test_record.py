"""Earlier inputs: the record as both engines read it."""

import os
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")

SESSIONS = {  # number -> inputs by line
    1: {1: "a = 1", 2: ".what is a?", 3: "print('one')\na", 4: "%ipycodex model x"},
    2: {1: "b = 2", 2: "%%ipycodex\nwhy?", 3: "def f():\n    return 3", 4: "%time b"},
    4: {1: "c = 4", 2: "a = 1"},
}


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


class Recorded(Engine):
    """`host` has a record of three earlier sessions; the running one has the number `session`."""

    session = 5

    def host(self, **options):
        host = super().host(**options)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a record?.sqlite")
        self.db = sqlite3.connect(self.path)
        self.addCleanup(self.db.close)
        self.db.executescript(
            """PRAGMA journal_mode = wal;
            CREATE TABLE sessions (
                session integer primary key autoincrement, start timestamp, end timestamp, num_cmds integer, remark text
            );
            CREATE TABLE history (
                session integer, line integer, source text, source_raw text, PRIMARY KEY (session, line)
            );
            CREATE TABLE output_history (session integer, line integer, output text, PRIMARY KEY (session, line));"""
        )
        for session, inputs in SESSIONS.items():
            self.db.execute(
                "INSERT INTO sessions VALUES (?, '2026-01-02 03:04:05.000006', '2026-01-02 04:04:05.000006', ?, '')",
                (session, len(inputs)),
            )
            for line, text in inputs.items():
                self.note(session, line, text)
        self.db.execute("INSERT INTO output_history VALUES (2, 4, '2')")
        self.db.commit()
        host.record = self.path, self.session
        return host

    def note(self, session, line, text):
        self.db.execute("INSERT INTO history VALUES (?, ?, ?, ?)", (session, line, text, text))
        self.db.commit()


class Both(Recorded):
    def test_the_door(self):
        host = self.host()
        host.run(
            "import sys\nfrom _ipycodex_runner.record import Record, Unrecorded, parse_ranges\n"
            "host = sys.modules['_ipycodex_runner'].host"
        )
        for ask, rows in (
            ("inputs(-1)", [(4, 1, "c = 4"), (4, 2, "a = 1")]),
            ("inputs(2, 2, 5)", [(2, 3, SESSIONS[2][3]), (2, 4, "%time b")]),
            ("inputs(1)", [(1, 1, "a = 1"), (1, 3, SESSIONS[1][3])]),
            ("inputs(3)", []),
            ("tail(3)", [(2, 4, "%time b"), (4, 1, "c = 4"), (4, 2, "a = 1")]),
            ("search('*a*1*')", [(1, 1, "a = 1"), (4, 2, "a = 1")]),
            ("search('*a*1*', True)", [(4, 2, "a = 1")]),
            ("search('*', False, 2)", [(4, 1, "c = 4"), (4, 2, "a = 1")]),
        ):
            self.assertEqual(
                host.run("with Record(host) as record: rows = record.%s\nrows" % ask).value, repr(rows), ask
            )
        host.run("with Record(host) as record: record.db.execute('DELETE FROM main.history')")
        self.assertEqual(self.db.execute("SELECT count(*) FROM history").fetchone(), (10,))

    def test_without_a_record(self):
        host = self.host()
        host.run(
            "import sys\nfrom _ipycodex_runner.record import Record, Unrecorded\n"
            "host = sys.modules['_ipycodex_runner'].host"
        )
        for record in (None, (os.path.join(os.path.dirname(self.path), "gone", "x"), 5), (__file__, 5)):
            host.record = record
            self.assertEqual(
                host.run("try: Record(host)\nexcept Unrecorded as error: print('said')").output, "said\n", record
            )

    def test_ranges(self):
        host = self.host()
        host.run("from _ipycodex_runner.record import parse_ranges")
        for text, found in (
            ("", []),
            ("3 1-4 2:5 7-", [(0, 3, 4), (0, 1, 5), (0, 2, 5), (0, 7, None)]),
            ("~2/ ~4/4- 12/1-3", [(-2, 1, None), (-4, 4, None), (12, 1, 4)]),
            ("~8/5-~6/4", [(-8, 5, None), (-7, 1, None), (-6, 1, 5)]),
            ("1/2-3/4", [(1, 2, None), (2, 1, None), (3, 1, 5)]),
        ):
            self.assertEqual(host.run("list(parse_ranges(%r))" % text).value, repr(found), text)
        for text in ("x", "1-4x", "~", "-", "-3", "~1/2-~3/4"):
            self.assertEqual(host.run("list(parse_ranges(%r))" % text).error, "ValueError", text)


class BuiltIn(Both, unittest.TestCase):
    def test_history_of_all_sessions(self):
        host = self.host()
        for session, line, text in ((5, 1, "resumed = 1"), (5, 2, ".why?")):
            self.note(session, line, text)
        for line, text in ((3, "a = 5"), (4, "print(a)")):
            host.run(text, executionCount=line)
        for magic, shown in (
            ("%hist", "resumed = 1\na = 5\nprint(a)\n%hist\n"),
            ("%hist -n 1-4", "   1: resumed = 1\n   3: a = 5\n   4: print(a)\n"),
            ("%hist -n 1-2", "   1: resumed = 1\n"),
            ("%hist -g a = ", " 1/1: a = 1\n 4/2: a = 1\n   3: a = 5\n"),
            ("%hist -g a = 1 -u", " 4/2: a = 1\n"),
            ("%hist -g nothing like that", ""),
            ("%hist ~1/", "c = 4\na = 1\n"),
            ("%hist -n ~1/1", " 4/1: c = 4\n"),
            ("%hist -n 1/3 ~1/2 3", " 1/3:\nprint('one')\na\n 4/2: a = 1\n   3: a = 5\n"),
            ("%hist -o 2/4", "%time b\n2\n"),
            ("%hist -l 3", "resumed = 1\na = 5\nprint(a)\n"),
            ("%rerun ~1/2", "=== Executing: ===\na = 1\n=== Output: ===\n"),
            ("%rerun -g print(a", "=== Executing: ===\nprint(a)\n=== Output: ===\n1\n"),
        ):
            self.assertEqual(host.run(magic, executionCount=5).output, shown, magic)
        for magic, text in (
            ("%recall ~4/1", "a = 1"),
            ("%recall c =", "c = 4"),
            ("%load ~1/1", "# %load ~1/1\nc = 4\n"),
        ):
            self.assertEqual(host.run(magic, executionCount=5).of("next_input")[0]["text"], text, magic)
        with tempfile.TemporaryDirectory() as folder:
            for magic, text in (
                ("%%save %s/x 4/1-2 3", "# coding: utf-8\nc = 4\na = 1\na = 5\n"),
                ("%%hist -f %s/x.py 4/1", None),
                ("%%save %s/x 1", None),
                ("%%save -a %s/x 1/1", "a = 1\n"),
            ):
                before = read(folder + "/x.py")
                cell = host.run(magic % folder, executionCount=5, allowStdin=False)
                self.assertEqual(
                    cell.of("error")[0]["ename"] if cell.of("error") else None, None if text else "UsageError", magic
                )
                self.assertEqual(read(folder + "/x.py"), before + (text or ""), magic)
        for magic in ("%hist ~1/2-1x", "%hist 1-x"):
            self.assertEqual(host.run(magic).error, "UsageError", magic)

    def test_history_without_a_record(self):
        host = self.host()
        host.record = None
        host.run("a = 1")
        self.assertEqual(host.run("%hist -g a").output, "   1: a = 1\n")
        self.assertEqual(host.run("%hist ~1/").error, "UsageError")


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON

    def test_the_magics_of_history(self):
        host = self.host()
        host.run("z = 26", executionCount=3)
        self.note(5, 1, "early = 1")  # before this interpreter
        for line, text in ((3, "z = 26"), (4, "%hist")):
            self.note(5, line, text)
        for code, printed in (
            ("%hist -n", "   1: early = 1\n   3: z = 26\n   4: %hist -n\n"),
            ("%hist ~1/", "c = 4\na = 1\n"),
            ("%hist -n ~1/1-2", " 4/1: c = 4\n 4/2: a = 1\n"),
            ("%hist 1/3-2/1", "print('one')\na\nb = 2\n"),
            ("%hist -g a = 1", " 1/1: a = 1\n 4/2: a = 1\n"),
            ("%hist -u -g a = 1", " 4/2: a = 1\n"),
            ("%hist -l 3", "a = 1\nearly = 1\nz = 26\n"),
            ("%hist -o 2/4", "%time b\n2\n"),
        ):
            self.assertEqual(host.run(code, executionCount=4).output, printed, code)
        self.assertEqual(host.run("%rerun ~1/1").output, "=== Executing: ===\nc = 4\n=== Output: ===\n")
        for code in ("%macro m 2/3 ~1/2", "m"):
            host.run(code)
        self.assertEqual(host.run("c, a, f()").value, "(4, 1, 3)")
        self.assertEqual(host.run("%recall 1/3").of("next_input")[0]["text"], SESSIONS[1][3])
        target = os.path.join(os.path.dirname(self.path), "saved.py")
        host.run("%%save %s 2/1 ~1/1-2" % target)
        with open(target) as file:
            self.assertEqual(file.read(), "# coding: utf-8\nb = 2\nc = 4\na = 1\n")
        self.assertIn("c = 4", host.run("%load ~1/1").of("next_input")[0]["text"])
        self.assertEqual(self.db.execute("SELECT count(*) FROM history").fetchone(), (13,), "nothing was written")

    def test_magics_without_a_record(self):
        host = self.host()
        host.record = None
        host.run("y = 1")
        self.assertEqual(host.run("%hist").output, "y = 1\n%hist\n")
        for code in ("%hist -g y", "%hist ~1/", "%hist -l 2"):
            cell = host.run(code)
            self.assertEqual((cell.error, cell.output), ("UsageError", ""), code)


if __name__ == "__main__":
    unittest.main()
