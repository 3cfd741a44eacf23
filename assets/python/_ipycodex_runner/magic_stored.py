"""Magics that keep: `%macro`, inputs under a name; `%store`, values on disk. In and out: see `magics`.

Values lie where IPython's `%store` has them (a pickle each, in `db/autorestore` of its default profile), so that both
find the other's. Invariant: a value on disk is whole or the one before. Absent on purpose: restoring at the start.
"""

import os

from . import stdlib
from .magics import UsageError, parse_options


class Macro:
    """Inputs that run when their name is a cell."""

    runs_as_cell = True

    def __init__(self, code):
        self.value = "\n".join(code.splitlines()) + "\n"

    def __str__(self):
        return self.value

    def __repr__(self):
        return "IPython.macro.Macro(%r)" % self.value

    def __add__(self, other):
        if isinstance(other, (Macro, str)):
            return Macro(self.value + str(other))
        return NotImplemented


def line_macro(shell, line, names):
    """Keeps inputs under a name (`%macro name 1-3 5`); the name as a cell runs them. -q: says nothing. Alone: lists
    the macros."""
    from .magic_files import read_source

    flags, rest = parse_options(line, "rq")
    if not rest:
        return sorted(name for name, value in shell.user_ns.items() if isinstance(value, Macro))
    if len(rest) == 1:
        raise UsageError("%macro insufficient args; usage '%macro name n1-n2 n3-4...")
    name, source = rest[0], " ".join(rest[1:])
    macro = Macro(read_source(shell, source, names))
    shell.user_ns[name] = macro
    if "q" not in flags:
        print("Macro `%s` created. To execute, type its name (without quotes)." % name)
        print("=== Macro contents: ===")
        print(macro, end=" ")


def folder():
    home = os.environ.get("IPYTHONDIR") or os.path.join(os.path.expanduser("~"), ".ipython")
    return os.path.join(home, "profile_default", "db", "autorestore")


def stored_names():
    try:
        return sorted(name for name in os.listdir(folder()) if name.isidentifier())
    except OSError:
        return []


def load(name):
    """Raises KeyError for what is not stored, and whatever its pickle raises."""
    import pickle

    try:
        file = open(os.path.join(folder(), name), "rb")
    except OSError:
        raise KeyError(name) from None
    with file:
        return pickle.load(file)


stdlib.for_users.add(load.__code__)


def save(name, value):
    import pickle

    data = pickle.dumps(value, protocol=2)
    os.makedirs(folder(), mode=0o700, exist_ok=True)
    path = os.path.join(folder(), name)
    with open(path + ".new~", "wb") as file:
        file.write(data)
    os.replace(path + ".new~", path)


def line_store(shell, line, names):
    """Keeps values on disk for later sessions (`%store x y`), shared with IPython. -r: brings them back, all or some;
    -d NAME: forgets one; -z: all; `%store x >file`, `>>file`: writes the value as text. Alone: what is kept."""
    flags, rest = parse_options(line, "drz")
    if "d" in flags:
        if not rest:
            raise UsageError("You must provide the variable to forget")
        try:
            os.remove(os.path.join(folder(), rest[0]))
        except FileNotFoundError:
            pass
    elif "z" in flags:
        for name in stored_names():
            os.remove(os.path.join(folder(), name))
    elif "r" in flags:
        restore(shell, rest)
    elif not rest:
        print_stored()
    elif len(rest) > 1 and rest[1].startswith(">"):
        write(shell, rest[0], rest[1] if rest[1].strip(">") else rest[1] + "".join(rest[2:3]), names)
    else:
        for name in rest:
            if not store(shell, name):
                return


def restore(shell, wanted):
    for name in wanted or stored_names():
        try:
            shell.user_ns[name] = load(name)
        except KeyError:
            print("no stored variable or alias %s" % name)
        except Exception as error:
            print("Unable to restore variable '%s', ignoring (use %%store -d to forget!)" % name)
            print("The error was:", type(error))


def print_stored():
    kept = stored_names()
    size = max([len("autorestore/" + name) for name in kept] or [0])
    print("Stored variables and their in-db values:")
    for name in kept:
        try:
            shown = repr(load(name))
        except Exception:
            shown = repr("<unavailable>")
        print("%-*s -> %s" % (size, name, shown[:50]))


def write(shell, expression, target, names):
    path = os.path.expanduser(target.lstrip(">").lstrip())
    with open(path, "a" if target.startswith(">>") else "w", encoding="utf-8") as file:
        value = eval(expression, shell.user_ns, names)
        print("Writing '%s' (%s) to file '%s'." % (expression, type(value).__name__, path))
        if isinstance(value, str):
            file.write(value if value.endswith("\n") else value + "\n")
        else:
            from pprint import pprint

            pprint(value, file)


def store(shell, name):
    """False where it is said that this cannot be kept."""
    import inspect
    import pickle

    if name not in shell.user_ns:
        raise UsageError("Unknown variable '%s'" % name)
    value = shell.user_ns[name]
    if getattr(inspect.getmodule(value), "__name__", "") == "__main__":
        print(
            "Warning:%s is %s\nProper storage of interactively declared classes (or instances\nof those classes) is "
            "not possible! Only instances\nof classes in real modules on file system can be %%store'd.\n"
            % (name, value)
        )
        return False
    try:
        save(name, value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UsageError("'%s' (%s) cannot be stored: %s" % (name, type(value).__name__, error)) from None
    print("Stored '%s' (%s)" % (name, type(value).__name__))
    return True
