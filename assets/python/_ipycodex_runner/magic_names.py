"""Magics about the namespace: who is there, help, reset, leaving. In and out: see `magics`."""

import sys

from . import magics
from .cells import PLAIN
from .magics import UsageError, confirm, parse_options

IN_A_ROW = 9  # names of `%who`
PARTS = ("in", "out", "dhist", "array")  # of `%reset`
OVERVIEW = """\
The built-in engine: Python with IPython's syntax

  obj?  ?obj      what obj is; obj?? ??obj with its source; *pat*? names that match
  %name           a magic; %lsmagic lists them, %name? says what one does
  %%name          one for the whole cell: %%bash %%time %%capture %%writefile ...
  !command        a shell command; x = !command keeps its lines; {name} and $name are values
  /f a b          f(a, b)       ,f a b     f("a", "b")       ;f a b     f("a b")
  expr;           evaluates and shows nothing
  await expr      at the top level, too

  _  __  ___      the last results; _5 and Out[5] the one of In [5]
  _i  _ii  _iii   the last inputs; _i5 and In[5] that of In [5]; _dh the folders
  %hist           inputs; %hist ~1/ of the session before; %hist -g text of all sessions
  %edit  %load  %save  %recall  %rerun      work with inputs and files
  %run file  %pip install name  %debug      run, install, look at the last error
  %time  %timeit  %prun                     measure
  exit, Ctrl-D    leave

A line that begins with . asks the agent. %ipycodex help lists the commands about that.
"""


def line_quickref(shell, line, names):
    """What the syntax offers, on one page."""
    shell.engine.host.send({"type": "page", "bundle": {"text/plain": OVERVIEW}})


def user_names(shell):
    hidden = set(shell.engine.system_names)
    return sorted(name for name in shell.user_ns if not name.startswith("_") and name not in hidden)


def select_names(shell, line):
    kinds = set(line.split())
    return [name for name in user_names(shell) if not kinds or type(shell.user_ns[name]).__name__ in kinds]


def line_who_ls(shell, line, names):
    """The names of the namespace, those of some types (`%who_ls int str`), as a list."""
    return select_names(shell, line)


def line_who(shell, line, names):
    """The names of the namespace, or those of some types: `%who int str`."""
    found = select_names(shell, line)
    if not found:
        print("No variables match your requested type." if line.strip() else "Interactive namespace is empty.")
        return
    for at in range(0, len(found), IN_A_ROW):
        print("".join(name + "\t " for name in found[at : at + IN_A_ROW]))


def line_whos(shell, line, names):
    """The names of the namespace with types and values, or those of some types."""
    found = select_names(shell, line)
    if not found:
        print("No variables match your requested type." if line.strip() else "Interactive namespace is empty.")
        return
    rows = [(name, type(shell.user_ns[name]).__name__, summarize(shell.user_ns[name])) for name in found]
    first = max([8] + [len(row[0]) for row in rows])
    second = max([4] + [len(row[1]) for row in rows])
    print("%-*s   %-*s    %s" % (first, "Variable", second, "Type", "Data/Info"))
    print("-" * (first + second + 6 + 10))
    for row in rows:
        print("%-*s   %-*s    %s" % (first, row[0], second, row[1], row[2]))


def summarize(value):
    """Describes a value in a few words; exceptions of its own methods are caught."""
    for words in (summarize_array, summarize_container, summarize_text):
        try:
            text = words(value)
        except Exception:
            continue
        if text is not None:
            return text
    return "<object with id %d (str() failed)>" % id(value)


def summarize_text(value):
    text = str.__str__(str(value)).replace("\n", "\\n")
    return text if len(text) < 50 else "%s<...>%s" % (text[:25], text[-25:])


def summarize_array(value):
    """Arrays, tensors and tables: what has a shape of its own."""
    if (
        isinstance(value, type)
        or type(value).__name__ == "module"
        or not isinstance(value.shape, tuple)
        or not (value.shape or type(value).__name__ == "ndarray")
    ):
        return None
    if type(value).__name__ in ("DataFrame", "Series") or not hasattr(value, "dtype"):
        return "Shape: %s" % (tuple(value.shape),)
    size = 1
    for each in value.shape:
        size *= each
    taken = value.nbytes
    large = (
        "" if taken < 100000 else " (%s kb)" % (taken / 1024) if taken < 1 << 20 else " (%s Mb)" % (taken / (1 << 20))
    )
    return "%s: %d elems, type `%s`, %d bytes%s" % ("x".join(map(str, value.shape)), size, value.dtype, taken, large)


def summarize_container(value):
    return "n=%d" % len(value) if type(value) in (list, tuple, dict) else None


def line_reset(shell, line, names):
    """Removes all variables. -f: without asking; -s: `In` and `Out` stay; `in`, `out`, `dhist`, `array`: only these."""
    flags, rest = parse_options(line, "fs")
    unknown = [part for part in rest if part.lower() not in PARTS]
    if unknown:
        raise UsageError("Don't know how to reset %s; expected one of %s" % (unknown[0], ", ".join(PARTS)))
    engine = shell.engine
    if "f" not in flags:
        if not confirm("Once deleted, variables cannot be recovered. Proceed", "use %reset -f"):
            print("Nothing done.")
            return
    for part in rest:
        reset_part(shell, part.lower())
    if rest:
        return
    if "s" in flags:
        for name in user_names(shell):
            del shell.user_ns[name]
        return
    for name in list(shell.user_ns):
        if not (name.startswith("__") and name.endswith("__")):
            del shell.user_ns[name]
    engine.outputs.clear()
    engine.inputs[1:] = ["" for _text in engine.inputs[1:]]
    engine.last_value = ""
    engine.install_names()
    magics.send_status(shell, "reset")


def reset_part(shell, part):
    engine, ns = shell.engine, shell.user_ns
    if part == "out":
        print("Flushing output cache (%d entries)" % len(engine.outputs))
        for number in engine.outputs:
            ns.pop("_%d" % number, None)
        engine.outputs.clear()
        engine.last_value = ns["_"] = ns["__"] = ns["___"] = ""
    elif part == "in":
        print("Flushing input history")
        for number in range(1, len(engine.inputs)):
            ns.pop("_i%d" % number, None)
        engine.inputs[1:] = ["" for _text in engine.inputs[1:]]
        ns["_i"] = ns["_ii"] = ns["_iii"] = ""
    elif part == "dhist":
        del engine.folders[:-1]
    else:
        numpy = sys.modules.get("numpy")
        for name in user_names(shell) if numpy else ():
            if isinstance(ns[name], numpy.ndarray):
                del ns[name]


def line_reset_selective(shell, line, names):
    """Removes the names that match a regular expression; -f: without asking."""
    import re

    flags, rest = parse_options(line, "f")
    try:
        pattern = re.compile(" ".join(rest))
    except re.error as error:
        raise UsageError("%s: %s" % (" ".join(rest), error)) from None
    if not rest:
        raise UsageError("%reset_selective needs a regular expression; %reset -s removes all variables")
    found = [name for name in user_names(shell) if pattern.search(name)]
    if (
        "f" not in flags
        and found
        and not confirm("%s: deleted, they cannot be recovered. Proceed" % ", ".join(found), "use %reset_selective -f")
    ):
        print("Nothing done.")
        return
    for name in found:
        del shell.user_ns[name]


def line_xdel(shell, line, names):
    """Removes a name, and results that are the same object."""
    name = " ".join(parse_options(line, "n")[1])
    if name not in shell.user_ns:
        raise UsageError("name '%s' is not defined" % name)
    value = shell.user_ns.pop(name)
    if isinstance(value, PLAIN):
        return  # `Out` has many that are the same, and they hold no memory
    outputs = shell.engine.outputs
    for number in [number for number, kept in outputs.items() if kept is value]:
        del outputs[number]
        shell.user_ns.pop("_%d" % number, None)
    for each in ("_", "__", "___"):
        if shell.user_ns.get(each) is value:
            shell.user_ns[each] = ""


def page(shell, target, level):
    from . import inspection

    found = inspection.inspect(shell.engine, None, 0, target, level)
    if not found["found"]:
        print("Object `%s` not found." % target)
    else:
        shell.engine.host.send({"type": "page", "bundle": found["bundle"]})


def line_pinfo(shell, line, names):
    """What an object is, as `obj?`."""
    page(shell, line.strip(), 0)


def line_pinfo2(shell, line, names):
    """What an object is, with its source, as `obj??`."""
    page(shell, line.strip(), 1)


def find_object(shell, line):
    """The object a line names. Raises UsageError."""
    try:
        return eval(line, shell.user_ns)
    except Exception:
        raise UsageError("Object `%s` not found." % line.strip()) from None


def make_part_magic(about):
    """A magic that shows one thing about an object; what raises TypeError or OSError has none."""

    def show(shell, line, names):
        try:
            text = about(find_object(shell, line))
        except (TypeError, ValueError, OSError):
            text = None
        if text is None:
            print("%s: nothing to show for `%s`" % (about.__doc__, line.strip()))
        else:
            shell.engine.host.send({"type": "page", "bundle": {"text/plain": text}})

    show.__doc__ = "Shows the %s of an object." % about.__doc__
    return show


def doc(value):
    """docstring"""
    import inspect

    return inspect.getdoc(value)


def source(value):
    """source"""
    import inspect

    return inspect.getsource(value)


def file(value):
    """file"""
    import inspect

    with open(inspect.getsourcefile(value), encoding="utf-8", errors="replace") as text:
        return text.read()


def line_pdef(shell, line, names):
    """Prints how a callable is called."""
    import inspect

    try:
        print("%s%s" % (line.strip().rpartition(".")[2], inspect.signature(find_object(shell, line))))
    except (TypeError, ValueError):
        print("no signature found for %s" % line.strip())


line_pdoc, line_psource, line_pfile = make_part_magic(doc), make_part_magic(source), make_part_magic(file)


def line_page(shell, line, names):
    """Pages an object: its `str` with -r, else as it is shown."""
    from . import mime

    raw = line.startswith("-r ")
    value = find_object(shell, line[3:] if raw else line)
    shell.engine.host.send({"type": "page", "bundle": {"text/plain": str(value) if raw else mime.safe_repr(value)}})


def line_psearch(shell, line, names):
    """Names that match a pattern: `%psearch a*`, `%psearch module.*x*`."""
    from fnmatch import fnmatchcase

    owner, _dot, pattern = line.strip().rpartition(".")
    if owner:
        try:
            pool = dir(eval(owner, shell.user_ns))
        except Exception:
            pool = []
    else:
        import builtins

        pool = set(shell.user_ns) | set(dir(builtins))
    prefix = owner + "." if owner else ""
    for name in sorted(pool):
        if fnmatchcase(name, pattern) and (pattern.startswith("_") or not name.startswith("_")):
            print(prefix + name)


def line_lsmagic(shell, line, names):
    """The magics there are; --json: as a value, {kind: {name: class}}."""
    given = line.split()
    unknown = [word for word in given if word not in ("-j", "--json")]
    if unknown:
        raise UsageError("unrecognized arguments: %s" % " ".join(unknown))
    if given:
        known = {"line": magics.LINE, "cell": magics.CELL}
        return {
            kind: {name: owner_class(magics.added[kind].get(name)) for name in sorted({**table, **magics.added[kind]})}
            for kind, table in known.items()
        }
    print("Available line magics:")
    print("  ".join("%" + name for name in sorted(set(magics.LINE) | set(magics.added["line"]))))
    print("\nAvailable cell magics:")
    print("  ".join("%%" + name for name in sorted(set(magics.CELL) | set(magics.added["cell"]))))


def owner_class(magic):
    """The class that a magic is a method of."""
    owner = getattr(magic, "__self__", None)
    return "Other" if owner is None else type(owner).__name__


def line_exit(shell, line, names):
    """Leaves."""
    shell.engine.ask_exit(int(line) if line.strip().lstrip("-").isdigit() else None)


def line_precision(shell, line, names):
    """Digits after the point, or a format, for floats that are shown; nothing: as Python shows them."""
    text = line.strip().strip("'\"")
    chosen = "%%.%df" % int(text) if text.isdigit() else text
    try:
        chosen % 3.14 if chosen else ""
    except (TypeError, ValueError):
        raise UsageError("%s is neither a number of digits nor a format" % text) from None
    shell.engine.float_format = chosen or None
    return chosen or "%r"


def line_xmode(shell, line, names):
    """How tracebacks look: Plain (as Python's), Context, Verbose (with values), Minimal (only the error), Docs (one
    frame) or Doctest (none, for doctests); nothing: the next one. --show, --hide: frames with `__tracebackhide__`."""
    from . import tracebacks

    if line.strip() in ("--show", "--hide"):
        tracebacks.hides = line.strip() == "--hide"
        return
    chosen = (
        line.strip().capitalize()
        or tracebacks.MODES[(tracebacks.MODES.index(tracebacks.mode) + 1) % len(tracebacks.MODES)]
    )
    if chosen not in tracebacks.MODES:
        raise UsageError("%%xmode takes %s here" % ", ".join(tracebacks.MODES))
    tracebacks.mode = chosen
    print("Exception reporting mode:", chosen)


def line_config(shell, line, names):
    """IPython's settings. What figures look like is accepted and has no effect, for the sake of notebooks."""
    if not line.strip():
        print(
            "%config needs IPython. These settings have magics of their own: %precision, %xmode, %pdb, %autoreload, "
            "%matplotlib."
        )
    elif line.startswith("InlineBackend."):
        print("%%config %s: no effect without IPython" % line.split("=")[0].strip())
    else:
        raise UsageError("%%config %s needs IPython" % line.split("=")[0].strip())


def line_alias(shell, line, names):
    """`%alias name command`: a magic that runs a command; `%s` are its arguments, `%l` the whole line, otherwise the
    line follows."""
    name, _blank, command = line.strip().partition(" ")
    if not name:
        print("\n".join("%-12s %s" % (each, text) for each, text in sorted(aliases.items())) or "No aliases.")
        return
    if not command:
        if name not in aliases:
            raise UsageError("Undefined alias: `%s`" % name)
        print(aliases[name])
        return
    if name in magics.LINE:
        raise UsageError("The name %s can't be aliased because it is a magic." % name)
    aliases[name] = command.strip()
    magics.register(lambda rest: shell.system(fill_alias(name, rest)), "line", name, shell.engine.automagic)


def fill_alias(name, rest):
    command = aliases[name]
    if "%l" in command:
        return command.replace("%l", rest)
    count = command.count("%s")
    if not count:
        return "%s %s" % (command, rest)
    given = rest.split(None, count - 1) if count > 1 else [rest]
    if len(given) < count:
        raise UsageError("Alias `%s` takes %d arguments, %d given." % (name, count, len(given)))
    for each in given:
        command = command.replace("%s", each, 1)
    return command


def line_unalias(shell, line, names):
    """Removes an alias."""
    name = line.strip()
    if aliases.pop(name, None) is None:
        raise UsageError("Undefined alias: `%s`" % name)
    magics.unregister(name, shell.engine.automagic)


aliases = {}  # name -> command


def accept_setting(shell, line, names):
    """For notebooks written for IPython: a setting that has no meaning here."""


line_colors = line_automagic = line_gui = accept_setting
