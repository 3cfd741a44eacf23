"""The record of all sessions, for code that asks for earlier inputs: `%history`, `%recall`, ranges like `~2/1-3`.

In: the host, which says where the record is and which session runs. Out: rows (session, line, source). Invariants:
nothing is written; nothing is asked or imported before somebody wants an input that is not of this interpreter, and
nothing stays open; the table `history` has cells only, since what was said to the agent, and `%ipycodex`, are no code.
Absent on purpose: this interpreter's own inputs, which the engines have.
"""

import re

CELLS = """CREATE TEMP VIEW history AS SELECT session, line, source, source_raw FROM main.history
    WHERE ltrim(source_raw, char(10)) NOT GLOB '.*' AND ltrim(source_raw, char(10, 37)) NOT GLOB 'ipycodex*'"""
RANGE = re.compile(r"(?:(~?)(\d+)/)?(\d+)?(?:([-:])(?:(~?)(\d+)/)?(\d*))?$")


class Unrecorded(Exception):
    """There is no record to be read; says why."""


class RecordLocation:
    """The path of the record, and the number of the running session."""

    def __init__(self, path, session):
        self.path, self.session = path, session


def locate(host):
    """Asks the host, whose answer may change: a session may be resumed, or get its number late."""
    told = host.ask({"type": "record_request"}) or {}
    if not told.get("path"):
        raise Unrecorded("this session is not recorded, and without a record there are no earlier inputs")
    return RecordLocation(told["path"], told["session"])


def connect(where):
    """A connection that can only read, with IPython's tables."""
    try:
        import sqlite3
    except ImportError:
        raise Unrecorded("earlier inputs cannot be read: this Python was built without the `sqlite3` module") from None
    from urllib.parse import quote

    try:
        db = sqlite3.connect("file:%s?mode=ro" % quote(where.path), uri=True)
        db.execute(CELLS)
    except sqlite3.Error as error:
        raise Unrecorded("%s cannot be read: %s" % (where.path, error)) from None
    return db


class Record:
    """The record at this moment. `session` is the number of the one that runs, `db` the connection, which names
    IPython's tables."""

    def __init__(self, host):
        where = locate(host)
        self.session, self.db = where.session, connect(where)

    def number(self, session):
        """The number of a session that may be given relative to this one: 0, -1, …"""
        return session if session > 0 else self.session + session

    def inputs(self, session, start=1, stop=None):
        """The inputs of a session from line `start` on, those from `stop` on left out."""
        end = 1 << 62 if stop is None else stop
        return self.db.execute(
            "SELECT session, line, source_raw FROM history WHERE session = ? AND line >= ? AND line < ? ORDER BY line",
            (self.number(session), start, end),
        ).fetchall()

    def tail(self, count):
        """The last inputs of all sessions, the newest last: those of this one come after all others."""
        rows = self.db.execute(
            "SELECT session, line, source_raw FROM history ORDER BY session = ? DESC, session DESC, line DESC LIMIT ?",
            (self.session, count),
        )
        return rows.fetchall()[::-1]

    def search(self, pattern, unique=False, count=None):
        """Inputs of all sessions that match a pattern with `*` and `?`, oldest first; `unique`: each text once, where
        it came last."""
        latest, group = (", max(session * 131072 + line)", "GROUP BY source_raw") if unique else ("", "")
        rows = self.db.execute(
            "SELECT session, line, source_raw%s FROM history WHERE source_raw GLOB ? %s ORDER BY session DESC, line "
            "DESC LIMIT ?" % (latest, group),
            (pattern, -1 if count is None else count),
        )
        return [row[:3] for row in rows.fetchall()[::-1]]

    def close(self):
        self.db.close()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()


def parse_ranges(text):
    """IPython's ranges as (session, start, stop): `3`, `1-4`, `2:5` (end excluded), `~2/`, `12/1-3`, `~8/5-~6/2`;
    session 0 is this one, negative ones count back, stop None is its end. Raises ValueError that names what is no
    range."""
    for word in text.split():
        match = RANGE.match(word)
        if not match or not (match.group(2) or match.group(3)):
            raise ValueError(word)
        back, session, start, sign, last_back, last_session, end = match.groups()
        first = int(session or 0) * (-1 if back else 1)
        last = first if last_session is None else int(last_session) * (-1 if last_back else 1)
        if last < first:
            raise ValueError(word)
        if start is None:
            stop = None
        elif sign is None:
            stop = int(start) + 1
        elif not end:
            stop = None
        else:
            stop = int(end) + (1 if sign == "-" else 0)
        if first == last:
            yield first, int(start or 1), stop
        else:
            yield first, int(start or 1), None
            for session in range(first + 1, last):
                yield session, 1, None
            yield last, 1, stop
