"""An exception as an `error` frame: name, text, and IPython-like traceback lines with the code around each frame.

In: the exception, the sources of cells. Out: {ename, evalue, traceback}. Invariants: never raises; no frame of the
runner is shown, not in chained exceptions either; a syntax error of a cell shows only the caret part. Coloured only
when asked; what is no character (half of a surrogate pair) is written as its escape.
"""

import linecache
import os
import re
import traceback

from . import stdlib
from .debug import is_own

CONTEXT = 2  # lines shown above and below the failing one
RED, GREEN, CYAN, RESET = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
REPEATS = 3
MODES = ("Plain", "Context", "Verbose", "Minimal", "Docs", "Doctest")
mode = "Context"  # of `%xmode`
hides = True  # frames that ask for it
MAX_FRAMES = 60
RUNPY = ("<frozen runpy>", os.path.join(os.path.dirname(os.__file__), "runpy.py"))
MAX_VALUE = 200  # characters of a value in Verbose mode
WORD = re.compile(r"[^\W\d]\w*")


def prepare(error, sources):
    """Leaves the user's part of the traceback, and lets every reader of it find the sources of cells."""
    with stdlib.GenuineModules():
        strip(error)
        linecache.cache.update(sources)
        if isinstance(error, SyntaxError) and error.text is None and error.filename and error.lineno:
            add_source_line(error)


def add_source_line(error):
    """The line of a syntax error that the compiler has found, which knows none of cells and counts in bytes."""
    error.text = linecache.getline(error.filename, error.lineno) or None
    if error.text and not error.text.isascii():
        line = error.text.encode("utf-8")
        for name in ("offset", "end_offset"):
            at = getattr(error, name, None)
            if at and at > 0:
                setattr(error, name, len(line[: at - 1].decode("utf-8", "ignore")) + 1)


def describe(error, sources, colour):
    for everything in (False, True):
        try:
            with stdlib.GenuineModules(everything):
                prepare(error, sources)
                lines = render(error, sources, colour)
            break
        except Exception:
            lines = ["%s: %s" % (type(error).__name__, error_text(error))]
    hint = spawn_hint(lines)
    if hint:
        lines.append(hint)
    return {"ename": type(error).__name__, "evalue": error_text(error), "traceback": [escape(line) for line in lines]}


def error_text(error):
    if isinstance(error, SystemExit):
        return "" if error.code is None else escape(str(error.code))
    try:
        return escape(str(error))
    except Exception:
        return "<unprintable %s>" % type(error).__name__


def escape(text):
    """`text` with lone surrogates as Python's `repr` spells them."""
    if text.isascii():
        return text
    pairs_joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return pairs_joined.encode("utf-8", "backslashreplace").decode()


def spawn_hint(lines):
    text = "\n".join(lines[-8:])
    if "Can't get attribute" in text and "<module '__main__'" in text or "BrokenProcessPool" in text:
        return (
            "hint: process pools that `spawn` cannot see functions defined in cells; use the `fork` context or put "
            "them in a module"
        )
    return ""


def render(error, sources, colour):
    paint = (lambda code, text: code + text + RESET) if colour else (lambda code, text: text)
    lines = []
    render_chain(error, sources, paint, lines, set())
    return lines


def render_chain(error, sources, paint, lines, seen):
    seen.add(id(error))
    cause, context = error.__cause__, error.__context__
    between = [] if mode in ("Plain", "Doctest") else [""]
    if cause is not None and id(cause) not in seen:
        render_chain(cause, sources, paint, lines, seen)
        lines += ["", "The above exception was the direct cause of the following exception:"] + between
        return render_one(error, sources, paint, lines, False)
    elif context is not None and not error.__suppress_context__ and id(context) not in seen:
        render_chain(context, sources, paint, lines, seen)
        lines += ["", "During handling of the above exception, another exception occurred:"] + between
        return render_one(error, sources, paint, lines, False)
    render_one(error, sources, paint, lines)


def render_one(error, sources, paint, lines, ruled=True):
    name = type(error).__name__
    text = error_text(error)
    if isinstance(error, SyntaxError) and error.__traceback__ is None:
        lines.extend(render_syntax_error(error, sources, paint))
        return
    if name == "UsageError":
        lines.append(paint(RED, name) + ": " + text)
        return
    if mode == "Minimal" or (error.__traceback__ is None and not ruled):
        lines.append(paint(RED, name) + ": " + text)
        return
    if mode == "Doctest":
        lines += ["Traceback (most recent call last):", "    ..."]
    elif mode == "Docs":
        show_first(all_frames(error.__traceback__), sources, paint, lines)
    elif mode == "Plain":
        lines.append("Traceback (most recent call last):")
        show_frames(all_frames(error.__traceback__), sources, paint, lines)
    else:
        if ruled:
            lines.append(paint(RED, "-" * 75))
        lines.append(paint(RED, name) + " " * max(1, 75 - len(name) - 33) + "Traceback (most recent call last)")
        show_frames(all_frames(error.__traceback__), sources, paint, lines)
    if isinstance(error, SyntaxError):
        lines.extend(render_syntax_error(error, sources, paint))
    for line in () if isinstance(error, SyntaxError) else traceback.format_exception_only(type(error), error):
        line = line.rstrip("\n")
        head, colon, rest = line.partition(":")
        qualified = head.rpartition(".")[2] == name
        lines.extend(((paint(RED, name) + colon + rest) if qualified else line).split("\n"))
    for index, inner in enumerate(getattr(error, "exceptions", ()) if isinstance(error, BaseException) else ()):
        if isinstance(inner, BaseException) and index < 10:
            lines.append("  +---------------- %d ----------------" % (index + 1))
            part = []
            if inner.__traceback__ is None:
                render_one(inner, sources, paint, part, False)
            else:
                render_chain(inner, sources, paint, part, {id(error)})
            lines.extend("  | " + line for line in part)


def render_syntax_error(error, sources, paint):
    """The location of a syntax error with a caret, and its message."""
    pieces = [
        piece for line in traceback.format_exception_only(type(error), error) for piece in line.rstrip("\n").split("\n")
    ]
    marks = [at for at, piece in enumerate(pieces) if piece.strip() and not piece.strip(" ^")]
    for at in marks:
        pieces[at] = pieces[at][: pieces[at].index("^") + 1]
    if not marks and error.text and error.text.strip() and len(pieces) > 2:
        pieces.insert(2, "    ^")  # Python marks no line that is indented wrongly
    name = type(error).__name__
    return [paint(RED, piece) if piece.startswith(name) else render_location(piece, sources, paint) for piece in pieces]


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
    """A traceback without the runner's frames, and without the event loop's on the way to the cell. The links of the
    one given are changed."""
    entries = []
    begun = between = False
    while tb is not None:
        if is_own(tb.tb_frame):
            between = True
            if not begun:
                del entries[:]
        elif between and tb.tb_frame.f_code.co_filename in RUNPY:
            pass  # `%run -m`
        else:
            between = False
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
    """The frames, those of a long row of the same one only at its ends, and without those that hide."""
    show, gap = (show_plain, []) if mode == "Plain" else (show_frame, [""])
    at = hidden = 0
    while at < len(frames):
        if mode != "Plain" and at < len(frames) - 1 and is_hidden(frames[at][0]):
            hidden, at = hidden + 1, at + 1
            continue
        if hidden:
            lines += ["    [... skipping hidden %d frame]" % hidden, ""]
            hidden = 0
        code, number = frames[at][0].f_code, frames[at][1]
        end = at + 1
        while end < len(frames) and frames[end][0].f_code is code and frames[end][1] == number:
            end += 1
        if end - at > REPEATS:
            for frame, _number, _last in frames[at : at + REPEATS - 1]:
                show(frame, number, sources, paint, lines)
            lines += [
                "    [... skipping similar frames: %s at line %d (%d times)]"
                % (code.co_name, number, end - at - REPEATS)
            ] + gap
            at = end - 1
        if at == MAX_FRAMES // 2 and len(frames) > MAX_FRAMES:
            at = len(frames) - MAX_FRAMES // 2
            lines += ["    [... skipping %d frames]" % (at - MAX_FRAMES // 2)] + gap
        show(frames[at][0], frames[at][1], sources, paint, lines)
        at += 1


def is_hidden(frame):
    name = "__tracebackhide__"
    return hides and name in frame.f_code.co_varnames and bool(frame.f_locals.get(name))


def show_plain(frame, number, sources, paint, lines):
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    where = "%s, line %d" % (cell_name(file), number) if file in sources else "%s:%d" % (short_path(file), number)
    lines.append("  %s%s" % ("" if file in sources else "File ", paint(GREEN, where)) + function_suffix(function))
    source = linecache.getline(file, number, frame.f_globals).strip()
    if source:
        lines.append("    " + source)


def function_suffix(name):
    return "" if name == "<module>" else " in " + name


def show_first(frames, sources, paint, lines):
    """The frame a traceback begins with, and how many follow."""
    frame, number, _last = frames[0]
    file = frame.f_code.co_filename
    where = "%s, line %d" % (cell_name(file), number) if file in sources else "File %s:%d" % (short_path(file), number)
    lines.append("Traceback (most recent call last): " + paint(GREEN, where) + describe_call(frame, paint))
    lines += ["", "->  " + linecache.getline(file, number, frame.f_globals).strip()]
    if len(frames) > 1:
        lines += ["", "    [... %d skipped frames]" % (len(frames) - 1), ""]


def show_frame(frame, number, sources, paint, lines):
    file = frame.f_code.co_filename
    where = "%s, line %d" % (cell_name(file), number) if file in sources else "%s:%d" % (short_path(file), number)
    lines.append(("" if file in sources else "File ") + paint(GREEN, where) + describe_call(frame, paint))
    source = [line.rstrip("\n") for line in linecache.getlines(file, frame.f_globals)]
    if 0 < number <= len(source):
        shown = context_lines(source, number, frame.f_code) if mode in ("Context", "Verbose") else [number]
        margin = min((indent_of(source[each - 1]) for each in shown if source[each - 1].strip()), default=0)
        for each in shown:
            text = source[each - 1][margin:]
            mark = (
                paint(GREEN, "%s> %d " % ("-" * max(1, 5 - len(str(each))), each)) if each == number else "%7d " % each
            )
            lines.append(mark + text)
    if mode == "Verbose":
        used = frame.f_code.co_names + frame.f_code.co_varnames + frame.f_code.co_freevars
        words = set(WORD.findall(source[number - 1])) if 0 < number <= len(source) else set()
        for name in sorted(words.intersection(used).intersection(frame.f_locals)):
            lines.append("        %s = %s" % (name, short_repr(frame.f_locals[name])))
    lines.append("")


def describe_call(frame, paint):
    """`, in A.f(self, x, *rest)`: the function a frame is of, and what it takes; in Verbose mode with what it was
    given."""
    code = frame.f_code
    if code.co_name == "<module>":
        return ""
    import inspect

    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rest = code.co_varnames[len(taken) :]
    stars = [star for star, flag in (("*", inspect.CO_VARARGS), ("**", inspect.CO_VARKEYWORDS)) if code.co_flags & flag]
    parameters = [("", name) for name in taken] + list(zip(stars, rest))
    if mode == "Verbose":
        known = frame.f_locals
        words = [
            "%s%s=%s" % (star, name, short_repr(known[name]) if name in known else "<undefined>")
            for star, name in parameters
        ]
    else:
        words = [star + name for star, name in parameters]
    name = code.co_name if code.co_name.startswith("<") else getattr(code, "co_qualname", code.co_name)
    return ", in " + paint(CYAN, "%s(%s)" % (name, ", ".join(words)))


def short_repr(value):
    try:
        text = repr(value).replace("\n", " ")
    except Exception:
        return "<unprintable>"
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "..."


def context_lines(source, number, code):
    """The lines to show with one: those near it that belong to the same function, but for blank ones."""
    first, last, outside = 1, len(source), -1
    if code.co_name != "<module>" and code.co_firstlineno <= number:
        first = code.co_firstlineno
        outside = indent_of(source[first - 1])
    above = [each for each in range(number - 1, first - 1, -1) if source[each - 1].strip()][:CONTEXT]
    below = []
    for each in range(number + 1, last + 1):
        text = source[each - 1].strip()
        if len(below) == CONTEXT or (text and indent_of(source[each - 1]) <= outside and text[0] not in ")]}"):
            break
        if text:
            below.append(each)
    return above[::-1] + [number] + below


def indent_of(line):
    return len(line) - len(line.lstrip())


def cell_name(file):
    return "Cell In[%s]" % file[6:-1].partition(".")[0] if file.startswith("<cell ") else file


def short_path(file):
    home = os.path.expanduser("~")
    return "~" + file[len(home) :] if home != "/" and file.startswith(home + "/") else file


def render_location(line, sources, paint):
    stripped = line.strip()
    if stripped.startswith('File "'):
        file, _quote, rest = stripped[6:].partition('"')
        if file in sources:
            return paint(GREEN, "  " + cell_name(file) + rest)
    return line
