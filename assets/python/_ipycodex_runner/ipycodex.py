"""The module `ipycodex` of every interpreter: what cells can ask of the shell they run in.

In: calls of user code, the variables `IPYCODEX_SESSION`, `IPYCODEX_SESSION_FILE` and `IPYCODEX_ARTIFACTS_DIR`. Out:
values. Invariant: nothing is written but what `env` and `write` are asked to. Loaded by its own name on first import,
in front of any package of that name. Absent on purpose: waiting for the session, which `host_calls` does.
"""

import json as _json
import os as _os
import re as _re
import sys as _sys

__all__ = ["Error", "ask", "ask_async", "display", "env", "output", "read", "status", "tool", "write"]

_ADDRESS = "artifact://"
_ID = _re.compile(r"[a-z0-9-]{1,80}\Z")
_STEP = _re.compile(r"""\.?([^\W\d]\w*)|\[(-?\d+)\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]""")
_ESCAPES = _re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)


def __getattr__(name):
    if name == "Error":
        from _ipycodex_runner.structured_ask import Error

        return Error
    raise AttributeError("module 'ipycodex' has no attribute %r" % name)


def ask(prompt, schema=None, tools=()):
    """Asks the agent, and waits for its answer: a text; with `schema` (a JSON schema, or a type such as `list[str]`, a
    dataclass, a pydantic model) data that fits it. The turn is shown, recorded and part of the conversation.

    `tools`: functions (or their names) that the agent may call for this answer. The prompt is sent as it is: marks in
    it, as in ``$`x` ``, refer to nothing. Raises `ipycodex.Error`, which says why, where there is no answer, and
    `KeyboardInterrupt` where the user stops it. In code that the agent runs it is answered beside the turn: without the
    conversation, without functions."""
    from _ipycodex_runner import host_calls

    return host_calls.ask(prompt, schema, tools)


async def ask_async(prompt, schema=None, tools=()):
    """As `ask`, for code that must not hold up its event loop: `await ipycodex.ask_async(…)`. Prompts of one session
    are answered one after the other."""
    from _ipycodex_runner import host_calls

    return await host_calls.ask_async(prompt, schema, tools)


def tool(name, /, **arguments):
    """Calls a tool of the session (`load_skill`, `read_output`, …) as the agent would; its result, as text."""
    from _ipycodex_runner import host_calls

    return host_calls.tool(name, arguments)


def status(text=""):
    """Shows a line that tells how far the cell is, in place of the one before; it is kept nowhere."""
    from _ipycodex_runner import host_calls

    return host_calls.status(text)


def display(*values, **options):
    """Shows values as the last value of a cell is shown; takes what IPython's `display` takes."""
    engine = _sys.modules["_ipycodex_runner"].engine
    if hasattr(engine, "shell"):
        from IPython.display import display
    else:
        display = engine.display
    return display(*values, **options)


def env(key=None, value=None):
    """The value of an environment variable, or None; with `value`, sets it first; without `key`, all of them."""
    if key is None:
        return dict(sorted(_os.environ.items()))
    if value is not None:
        _os.environ[key] = str(value)
    return _os.environ.get(key)


def read(path, offset=1, limit=None):
    """The text of a file, from line `offset` on (the first is 1), at most `limit` lines. `artifact://ID` is the output
    of that id."""
    if str(path).startswith(_ADDRESS):
        return output(str(path), offset=offset, limit=limit)
    with open(_os.path.expanduser(path), encoding="utf-8", newline="") as file:
        return _lines(file.read(), offset, limit)


def write(path, content):
    """Writes a text (or bytes) to a file, makes the folders above it, and returns the path."""
    if str(path).startswith(_ADDRESS):
        raise ValueError("%s cannot be written: outputs are kept as they were shown" % path)
    from pathlib import Path

    path = Path(path).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, (bytes, bytearray, memoryview)):
        path.write_bytes(content)
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(str(content))
    return path


def output(*ids, format="raw", query=None, offset=1, limit=None):
    """What was shown under an id: `cell-12` (or 12) for a cell of this session, or the id that stands in a shortened
    text (`tool-7-1`, `artifact://tool-7-1`). Of several ids, a list.

    `format`: "raw" as it is kept; "stripped" without terminal escapes; "json" parsed. `query` picks from JSON, as in
    `.key[0]["other key"]`. `offset` and `limit` count lines, from 1."""
    if not ids:
        raise TypeError("output() needs an id, such as 'cell-12'")
    if format not in ("raw", "json", "stripped"):
        raise ValueError("format: expected 'raw', 'json' or 'stripped', got %r" % (format,))
    found = [_output(name, format, query, offset, limit) for name in ids]
    return found[0] if len(ids) == 1 else found


def _output(name, format, query, offset, limit):
    name = "cell-%d" % name if type(name) is int else str(name)
    name = name[len(_ADDRESS) :] if name.startswith(_ADDRESS) else name
    if not _ID.match(name):
        raise ValueError("%r is not the id of an output, such as `cell-12`" % name)
    text = _kept(name)
    if text is None:
        text = _recorded(name)
    if text is None:
        raise LookupError("there is no output `%s` in this session" % name)
    if format == "stripped":
        text = _ESCAPES.sub("", text)
    if format != "json" and query is None:
        return _lines(text, offset, limit)
    if (offset, limit) != (1, None):
        raise ValueError("offset and limit count lines of text: they cannot be combined with JSON")
    try:
        value = _json.loads(text)
    except ValueError as error:
        raise ValueError("the output `%s` is not JSON: %s" % (name, error)) from None
    return value if query is None else _picked(value, query)


def _kept(name):
    """The text of a shortened output."""
    folder = _os.environ.get("IPYCODEX_ARTIFACTS_DIR")
    if not folder:
        return None
    try:
        with open(_os.path.join(folder, name + ".txt"), encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _recorded(name):
    """What a cell showed that needed no shortening."""
    path, session = _os.environ.get("IPYCODEX_SESSION_FILE"), _os.environ.get("IPYCODEX_SESSION")
    line = name[len("cell-") :]
    if not (path and session and name.startswith("cell-") and line.isdigit()):
        return None
    from _ipycodex_runner import record

    db = record.connect(record.RecordLocation(path, session))
    try:
        select = "SELECT output FROM output_history WHERE session = ? AND line = ?"
        rows = db.execute(select, (session, line)).fetchall()
    finally:
        db.close()
    return "\n".join(row[0] for row in rows) if rows else None


def _lines(text, offset, limit):
    for what, number, least in (("offset", offset, 1), ("limit", 0 if limit is None else limit, 0)):
        if type(number) is not int or number < least:
            raise ValueError("%s: expected a whole number from %d on, got %r" % (what, least, number))
    if offset == 1 and limit is None:
        return text
    end = None if limit is None else offset - 1 + limit
    return "".join(text.splitlines(keepends=True)[offset - 1 : end])


def _picked(value, query):
    position, so_far = 0, ""
    while position < len(query):
        match = _STEP.match(query, position)
        if query == ".":
            break
        if match is None:
            raise ValueError("query: not understood from %r on; expected something like `.key[0]`" % query[position:])
        name, index, quoted = match.groups()
        step = int(index) if index else name or _unquoted(quoted)
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            raise LookupError("query: there is no `%s` in `%s`" % (match.group(), so_far or ".")) from None
        position, so_far = match.end(), so_far + match.group()
    return value


def _unquoted(text):
    from ast import literal_eval

    return literal_eval(text)
