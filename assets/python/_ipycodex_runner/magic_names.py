"""Magics about the namespace: who is there, help, reset, leaving. In and out: see `magics`."""

from . import magics
from .magics import UsageError, options


def user_names(shell):
    hidden = set(shell.engine.system_names)
    return sorted(name for name in shell.user_ns if not name.startswith("_") and name not in hidden)


def chosen(shell, line):
    kinds = set(line.split())
    return [name for name in user_names(shell) if not kinds or type(shell.user_ns[name]).__name__ in kinds]


def line_who_ls(shell, line, names):
    return chosen(shell, line)


def line_who(shell, line, names):
    found = chosen(shell, line)
    if not found:
        print("No variables match your requested type." if line.strip() else "Interactive namespace is empty.")
    else:
        print("\t ".join(found))


def line_whos(shell, line, names):
    found = chosen(shell, line)
    if not found:
        print("No variables match your requested type." if line.strip() else "Interactive namespace is empty.")
        return
    rows = [(name, type(shell.user_ns[name]).__name__, summary(shell.user_ns[name])) for name in found]
    first = max([8] + [len(row[0]) for row in rows])
    second = max([4] + [len(row[1]) for row in rows])
    print("%-*s   %-*s   %s" % (first, "Variable", second, "Type", "Data/Info"))
    print("-" * (first + second + 6 + 9))
    for row in rows:
        print("%-*s   %-*s   %s" % (first, row[0], second, row[1], row[2]))


def summary(value):
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return "%s: %s elems, type `%s`" % ("x".join(map(str, value.shape)), getattr(value, "size", "?"), value.dtype)
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return "n=%d" % len(value)
    try:
        text = str(value).replace("\n", "\\n")
    except Exception:
        text = "<unprintable>"
    return text if len(text) <= 50 else "%s<...>%s" % (text[:25], text[-20:])


def line_reset(shell, line, names):
    flags, rest = options(line, "fs")
    engine = shell.engine
    if "f" not in flags:
        try:
            answer = input("Once deleted, variables cannot be recovered. Proceed (y/[n])? ")
        except EOFError:
            raise UsageError("nobody here to confirm; use %reset -f") from None
        if not answer.strip().lower().startswith("y"):
            print("Nothing done.")
            return
    for name in list(shell.user_ns):
        if not (name.startswith("__") and name.endswith("__")):
            del shell.user_ns[name]
    if "s" not in flags:
        engine.outputs.clear()
        engine.inputs[1:] = ["" for _text in engine.inputs[1:]]
    engine.last = None
    engine.install_names()
    magics.status(shell, "reset")


def line_xdel(shell, line, names):
    shell.user_ns.pop(line.strip(), None)


def page(shell, target, level):
    from . import inspection

    found = inspection.inspect(shell.engine, None, 0, target, level)
    if not found["found"]:
        print("Object `%s` not found." % target)
    else:
        shell.engine.host.send({"type": "page", "bundle": found["bundle"]})


def line_pinfo(shell, line, names):
    page(shell, line.strip(), 0)


def line_pinfo2(shell, line, names):
    page(shell, line.strip(), 1)


line_pdoc = line_pinfo
line_psource = line_pinfo2


def line_psearch(shell, line, names):
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
    print("Available line magics:")
    print("  ".join("%" + name for name in sorted(set(magics.LINE) | set(magics.added["line"]))))
    print("\nAvailable cell magics:")
    print("  ".join("%%" + name for name in sorted(set(magics.CELL) | set(magics.added["cell"]))))


def line_exit(shell, line, names):
    shell.engine.ask_exit(int(line) if line.strip().lstrip("-").isdigit() else None)


def accepted(shell, line, names):
    """For notebooks written for IPython: a setting that has no meaning here."""


line_xmode = line_colors = line_automagic = line_precision = line_gui = accepted
