"""An exception as an `error` frame: name, text, and IPython-like traceback lines with the code around each frame.

In: the exception, the sources of cells. Out: {ename, evalue, traceback}. Invariants: never raises; no frame of the runner is shown, not
in chained exceptions either; a syntax error of a cell shows only the caret part. Coloured only when asked.
"""

import linecache
import os
import sys
import traceback

from .debug import own

CONTEXT = 2  # lines shown above and below the failing one
RED, GREEN, CYAN, BOLD, RESET = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
REPEATS = 3
MODES = ("Context", "Plain", "Minimal")
mode = "Context"  # of `%xmode`
MAX_FRAMES = 60


def describe(error, sources, colour):
    try:
        strip(error)
        linecache.cache.update(sources)
        lines = render(error, sources, colour)
    except Exception:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        lines = "".join(lines).splitlines()
    hint = spawn_hint(lines)
    if hint:
        lines.append(hint)
    return {"ename": type(error).__name__, "evalue": value_text(error), "traceback": lines}


def value_text(error):
    if isinstance(error, SystemExit):
        return "" if error.code is None else str(error.code)
    try:
        return str(error)
    except Exception:
        return "<unprintable %s>" % type(error).__name__


def spawn_hint(lines):
    text = "\n".join(lines[-8:])
    if "Can't get attribute" in text and "<module '__main__'" in text or "BrokenProcessPool" in text:
        return "hint: process pools that `spawn` cannot see functions defined in cells; use the `fork` context or put them in a module"
    return ""


def render(error, sources, colour):
    paint = (lambda code, text: code + text + RESET) if colour else (lambda code, text: text)
    lines = []
    chain(error, sources, paint, lines, set())
    return lines


def chain(error, sources, paint, lines, seen):
    seen.add(id(error))
    cause, context = error.__cause__, error.__context__
    if cause is not None and id(cause) not in seen:
        chain(cause, sources, paint, lines, seen)
        lines += ["", "The above exception was the direct cause of the following exception:", ""]
    elif context is not None and not error.__suppress_context__ and id(context) not in seen:
        chain(context, sources, paint, lines, seen)
        lines += ["", "During handling of the above exception, another exception occurred:", ""]
    one(error, sources, paint, lines)


def one(error, sources, paint, lines):
    name = type(error).__name__
    text = value_text(error)
    if isinstance(error, SyntaxError) and error.__traceback__ is None:
        for line in traceback.format_exception_only(type(error), error):
            part = line.rstrip("\n").split("\n")
            for piece in part:
                lines.append(paint(RED, piece) if piece.startswith(name) else place(piece, sources, paint))
        return
    if name == "UsageError":
        lines.append(paint(RED, name) + ": " + text)
        return
    if mode == "Minimal":
        lines.append(paint(RED, name) + ": " + text)
        return
    lines.append(paint(RED, "-" * 75))
    lines.append(paint(RED, name) + " " * max(1, 75 - len(name) - 33) + "Traceback (most recent call last)")
    show_frames(all_frames(error.__traceback__), sources, paint, lines)
    for line in traceback.format_exception_only(type(error), error):
        line = line.rstrip("\n")
        head, colon, rest = line.partition(":")
        qualified = head.rpartition(".")[2] == name
        lines.extend(((paint(RED, name) + colon + rest) if qualified else line).split("\n"))
    for index, inner in enumerate(getattr(error, "exceptions", ()) if isinstance(error, BaseException) else ()):
        if isinstance(inner, BaseException) and index < 10:
            lines.append("  +---------------- %d ----------------" % (index + 1))
            part = []
            chain(inner, sources, paint, part, {id(error)})
            lines.extend("  | " + line for line in part)


def all_frames(tb):
    frames = []
    while tb is not None:
        frames.append((tb.tb_frame, tb.tb_lineno, tb.tb_lasti))
        tb = tb.tb_next
    return frames


def strip(error, seen=None):
    """Takes the runner's frames out of the traceback of an exception and of all that hang on it."""
    seen = set() if seen is None else seen
    while isinstance(error, BaseException) and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = user_part(error.__traceback__)
        for inner in getattr(error, "exceptions", ()) if hasattr(error, "derive") else ():
            strip(inner, seen)
        strip(error.__cause__, seen)
        error = error.__context__


def user_part(tb):
    """A traceback without the runner's frames, and without the event loop's on the way to the cell. The links of the one given are changed."""
    entries = []
    begun = False
    while tb is not None:
        if own(tb.tb_frame):
            if not begun:
                del entries[:]
        else:
            begun = begun or not in_asyncio(tb.tb_frame)
            entries.append(tb)
        tb = tb.tb_next
    below = None
    for tb in reversed(entries):
        if tb.tb_next is not below:
            tb.tb_next = below
        below = tb
    return below


def in_asyncio(frame):
    return "/asyncio/" in frame.f_code.co_filename


def show_frames(frames, sources, paint, lines):
    if len(frames) > MAX_FRAMES:
        hidden = len(frames) - MAX_FRAMES
        head, tail = frames[: MAX_FRAMES // 2], frames[-MAX_FRAMES // 2 :]
        show_frames(head, sources, paint, lines)
        lines += ["", "    ... %d more frames ..." % hidden, ""]
        frames = tail
    previous, repeats = None, 0
    for frame, number, _last in frames:
        key = (frame.f_code, number)
        repeats = repeats + 1 if key == previous else 0
        previous = key
        if repeats >= REPEATS:
            if repeats == REPEATS:
                lines.append("    ... the same frame again ...")
            continue
        show_frame(frame, number, sources, paint, lines)


def show_frame(frame, number, sources, paint, lines):
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    shown = cell_name(file) if file in sources else short_path(file)
    where = paint(GREEN, "%s:%d" % (shown, number) if file not in sources else "%s, line %d" % (shown, number))
    inside = "" if function == "<module>" else ", in " + paint(CYAN, function + "()")
    lines.append(where + inside)
    source = linecache.getlines(file, frame.f_globals)
    around = CONTEXT if mode == "Context" else 0
    for current in range(max(1, number - around), min(len(source), number + around) + 1):
        text = source[current - 1].rstrip("\n")
        if current == number:
            lines.append(paint(GREEN, "----> %d " % current if current < 10 else "---> %d " % current) + text)
        else:
            lines.append("%7d " % current + text)
    lines.append("")


def cell_name(file):
    return "Cell In[%s]" % file[6:-1] if file.startswith("<cell ") else file


def short_path(file):
    home = os.path.expanduser("~")
    return "~" + file[len(home) :] if home != "/" and file.startswith(home + "/") else file


def place(line, sources, paint):
    stripped = line.strip()
    if stripped.startswith('File "'):
        file, _quote, rest = stripped[6:].partition('"')
        if file in sources:
            return paint(GREEN, "  " + cell_name(file) + rest)
    return line
