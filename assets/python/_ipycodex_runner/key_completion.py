"""Completion of keys at the cursor: `d["al`, `d[7`, `d["a", "b`, `df[["one", "tw`.

In: the namespace, a line up to the cursor. Out: the whole key as it is to be written, from the start of its string on.
Invariants: no user code runs to find the owner (`live_objects`); the typed part of a key is kept as it was typed.
Absent on purpose: the closing bracket, which the caller adds, since only it sees the text after the cursor.
"""

import ast
import re

from . import live_objects

BARE = re.compile(r"[\[,]\s*([\w.+-]*)$")
LETTERS = re.compile(r"(?<!\w)[rRuUbBfFtT]{0,2}$")
QUOTES = re.compile("(['\"])")


def find_open_string(line):
    """(where its content begins, its quote) of the string that is open at the end of the line, or None. The field of an
    f-string is none."""
    strings = []  # [begin, quote, formatted, brackets open in its field]
    at = 0
    while at < len(line):
        char = line[at]
        top = strings[-1] if strings else None
        if top and not top[3]:
            if char == "\\":
                at += 1
            elif line.startswith(top[1], at):
                at += len(top[1]) - 1
                strings.pop()
            elif char == "{" and top[2]:
                if line.startswith("{{", at):
                    at += 1
                else:
                    top[3] = 1
        elif char in "'\"":
            quote = 3 * char if line.startswith(3 * char, at) else char
            formatted = re.search(r"\b[rR]?[fFtT][rR]?$", line[:at]) is not None
            at += len(quote) - 1
            strings.append([at + 1, quote, formatted, 0])
        elif top:
            top[3] += (char in "([{") - (char in ")]}")
        elif char == "#":
            return None
        at += 1
    return tuple(strings[-1][:2]) if strings and not strings[-1][3] else None


class KeyContext:
    """A key that is being written."""

    def __init__(self, owner, before, begin, quote="", letters="", listed=False):
        self.owner = owner  # the text of what is indexed
        self.before = before  # the text of the items before it
        self.begin = begin  # where the key begins, in the line
        self.quote, self.letters = quote, letters.lower()
        self.listed = listed  # in a list of keys, `df[["one", "`


def find_context(line):
    """The key at the end of a line, or None."""
    opened = find_open_string(line)
    if opened is None:
        match = BARE.search(line)
        return build_context(line[: match.start() + 1], match.start(1)) if match else None
    begin, quote = opened
    head = line[: begin - len(quote)]
    match = LETTERS.search(head)
    letters = match.group() if match else ""
    return build_context(head[: len(head) - len(letters)], begin, quote, letters)


def build_context(head, begin, quote="", letters=""):
    head = head.rstrip()
    at = -1
    if head.endswith("["):
        at = len(head) - 1
    elif head.endswith(","):
        at = live_objects.matching_bracket(head + "]", len(head))
    if at < 0 or head[at] != "[":
        return None
    owner = head[:at].rstrip()
    listed = owner.endswith("[")
    if listed:
        owner = owner[:-1].rstrip()
    owner = owner[live_objects.expression_start(owner) :]
    return KeyContext(owner, head[at + 1 :], begin, quote, letters, listed) if owner else None


def complete_keys(ns, line, here):
    """(the key as it is written, True where it ends the index) for each that fits."""
    typed = line[here.begin :]
    for key, last in matching_keys(ns, here):
        text = complete_key(key, typed, here)
        if text is not None:
            yield text, last


def matching_keys(ns, here):
    """(key, True where nothing can follow it in the index)."""
    owner = here.owner
    if owner.endswith((".loc", ".at")):
        table = live_objects.evaluate(ns, owner.rpartition(".")[0])
        if is_pandas(table):
            pool = list_keys(table) if here.before.strip() else list(table.index)
            return [(key, bool(here.before.strip()) or not hasattr(table, "columns")) for key in pool]
    value = live_objects.evaluate(ns, owner)
    if here.listed:
        return [(key, False) for key in list_keys(value)] if is_pandas(value) else []
    given = ()
    if here.before.strip():
        try:
            given = ast.literal_eval("(%s)" % here.before.strip())
        except (SyntaxError, ValueError):
            return []
    pool = []
    for key in list_keys(value):
        if type(key) is tuple and key[: len(given)] == given and len(key) > len(given):
            if here.quote or given:
                pool.append((key[len(given)], len(given) > 0 and len(key) == len(given) + 1))
        elif not given:
            pool.append((key, True))
    return pool


def is_pandas(value):
    return type(value).__module__.split(".")[0] == "pandas"


def list_keys(value):
    """Keys of a mapping that keeps them as a dict does; of others only what they offer by IPython's protocol."""
    if isinstance(value, dict):
        return list(dict.keys(value))
    offered = getattr(type(value), "_ipython_key_completions_", None)
    if offered is not None:
        return list(offered(value))
    module = type(value).__module__
    if module == "os":
        return list(value)
    if module.split(".")[0] == "pandas":
        return list(value.columns if hasattr(value, "columns") else value.index)
    if module.split(".")[0] == "numpy":
        return list(value.dtype.names or ())
    return []


def complete_key(key, typed, here):
    """The key as it goes on from what was typed, or None."""
    if not here.quote:
        simple = type(key) in (str, int, float, bool, bytes) and repr(key).startswith(typed)
        return repr(key) if simple else None
    raw = "r" in here.letters
    if type(key) is not (bytes if "b" in here.letters else str) or {"f", "t"} & set(here.letters):
        return None
    try:
        said = ast.literal_eval(here.letters + here.quote + typed + here.quote)
    except (SyntaxError, ValueError):
        return None  # it ends in the middle of an escape
    if not key.startswith(said):
        return None
    rest = key[len(said) :]
    text = quote_part(rest, here.quote[0])
    if raw and text != (rest.decode("latin-1") if type(rest) is bytes else rest):
        return None
    return typed + text


def quote_part(part, quote):
    """A part of a text or of bytes as it stands between such quotes."""
    text = part if isinstance(part, str) else part.decode("latin-1")
    pieces = []
    for piece in QUOTES.split(text):
        if piece in ("'", '"'):
            pieces.append("\\" + piece if piece == quote else piece)
        elif isinstance(part, str):
            pieces.append(repr(piece)[1:-1])
        else:
            pieces.append(repr(piece.encode("latin-1"))[2:-1])
    return "".join(pieces)
