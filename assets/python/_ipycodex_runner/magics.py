"""The table of magics and their dispatch.

In: name, line, cell body, local names. Out: the magic's value. Invariants: an unknown name is IPython's `UsageError`; a
magic's module is imported when it is first called. Absent on purpose: the magics themselves: `magic_files`,
`magic_names`, `magic_run`, `magic_cells`, `magic_stored`.
"""

import importlib

from . import system

LINE = {
    "cd": "magic_files", "pwd": "magic_files", "ls": "magic_files", "ll": "magic_files", "lf": "magic_files",
    "lk": "magic_files", "ldir": "magic_files", "lx": "magic_files", "env": "magic_files", "set_env": "magic_files",
    "load": "magic_files", "edit": "magic_files", "save": "magic_files", "history": "magic_history",
    "hist": "magic_history", "recall": "magic_history", "rep": "magic_history", "pycat": "magic_files",
    "who": "magic_names", "who_ls": "magic_names", "whos": "magic_names", "reset": "magic_names", "xdel": "magic_names",
    "pinfo": "magic_names", "pinfo2": "magic_names", "psearch": "magic_names", "pdoc": "magic_names",
    "psource": "magic_names", "pdef": "magic_names", "pfile": "magic_names", "page": "magic_names",
    "config": "magic_names", "alias": "magic_names", "unalias": "magic_names", "rerun": "magic_history",
    "dhist": "magic_files", "lsmagic": "magic_names", "magic": "magic_names", "exit": "magic_names",
    "quit": "magic_names", "precision": "magic_names", "time": "magic_run", "timeit": "magic_run", "run": "magic_run",
    "pip": "magic_run", "conda": "magic_run", "uv": "magic_run", "debug": "magic_run", "pdb": "magic_run",
    "autoreload": "magic_run", "load_ext": "magic_run", "reload_ext": "magic_run", "matplotlib": "magic_run",
    "pylab": "magic_run", "sx": "magic_cells", "system": "magic_cells", "prun": "magic_run", "tb": "magic_run",
    "xmode": "magic_names", "colors": "magic_names", "automagic": "magic_names", "aimport": "magic_run",
    "gui": "magic_names", "cat": "magic_cells", "cp": "magic_cells", "mv": "magic_cells", "rm": "magic_cells",
    "rmdir": "magic_cells", "mkdir": "magic_cells", "man": "magic_cells", "clear": "magic_cells", "less": "magic_cells",
    "more": "magic_cells", "quickref": "magic_names", "reset_selective": "magic_names",
    "macro": "magic_stored", "store": "magic_stored",
}  # fmt: skip
CELL = {
    "bash": "magic_cells", "sh": "magic_cells", "script": "magic_cells", "python": "magic_cells",
    "python3": "magic_cells", "perl": "magic_cells", "ruby": "magic_cells", "capture": "magic_cells",
    "writefile": "magic_cells", "file": "magic_cells", "html": "magic_cells", "HTML": "magic_cells",
    "markdown": "magic_cells", "latex": "magic_cells", "svg": "magic_cells", "SVG": "magic_cells",
    "javascript": "magic_cells", "js": "magic_cells", "time": "magic_run", "timeit": "magic_run", "debug": "magic_run",
    "prun": "magic_run", "sx": "magic_cells", "!": "magic_cells", "try": "trial",
}  # fmt: skip
NEEDS_IPYTHON = frozenset(
    "alias_magic bookmark code_wrap dirs doctest_mode killbgscripts loadpy logoff logon logstart logstate logstop "
    "notebook popd pprint profile pushd rehashx sc unload_ext".split()
)
added = {"line": {}, "cell": {}}
ALIASES = {
    "file": "writefile", "HTML": "html", "SVG": "svg", "js": "javascript", "python3": "python", "hist": "history",
    "rep": "recall", "quit": "exit", "reload_ext": "load_ext", "pylab": "matplotlib", "system": "sx", "!": "sx",
    "magic": "lsmagic",
}  # fmt: skip


class UsageError(Exception):
    """A magic was called wrongly."""


def register(function, kind, name, automagic):
    """Adds a magic; `automagic` are the names that need no `%`."""
    kinds = ("line", "cell") if kind == "line_cell" else (kind,)
    if "line" in kinds:
        automagic.add(name)
    for each in kinds:
        added[each][name] = function


def unregister(name, automagic):
    del added["line"][name]
    automagic.discard(name)


def find(name, kind):
    """The function of a magic, or None. Built-in ones take (shell, line[, cell], names); added ones are called as
    IPython does."""
    if name in added[kind]:
        return added[kind][name]
    module = (LINE if kind == "line" else CELL).get(name)
    if module is None:
        return None
    module = importlib.import_module("." + module, __package__)
    name = ALIASES.get(name, name)
    return getattr(module, ("line_" if kind == "line" else "cell_") + name)


def run_line(shell, name, line, names):
    function = find(name, "line")
    if function is None:
        if name in NEEDS_IPYTHON:
            raise UsageError("Line magic function `%%%s` needs IPython." % name)
        hint = " But cell magic `%%%%%s` exists." % name if find(name, "cell") else ""
        raise UsageError("Line magic function `%%%s` not found.%s" % (name, hint))
    if name not in ("time", "timeit", "debug", "prun"):
        line = system.expand(line, shell.user_ns, names)
    if name in added["line"]:
        return function(line)
    return function(shell, line, names)


def run_cell(shell, name, line, cell, names):
    function = find(name, "cell")
    if function is None:
        hint = " Did you mean the line magic `%%%s` (one %% instead of two)?" % name if find(name, "line") else ""
        raise UsageError("Cell magic `%%%%%s` not found.%s" % (name, hint))
    if name not in ("time", "timeit", "debug", "prun"):
        line = system.expand(line, shell.user_ns, names)
    if name in added["cell"]:
        return function(line, cell)
    return function(shell, line, cell, names)


def split_words(line):
    """Arguments as a shell splits them. Raises UsageError for unbalanced quotes."""
    import shlex

    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(str(error)) from None


def quoted_words(line):
    """The words of a line that were written with quotes, without these."""
    import re

    raw = re.findall(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""", line)
    return [word for each in raw if "'" in each or '"' in each for word in split_words(each)]


def parse_options(line, flags="", valued="", last=""):
    """({flag: True or value}, rest words): single-letter options before the first word; behind one of `last` there are
    no more."""
    found, rest = {}, split_words(line)
    while rest and rest[0].startswith("-") and len(rest[0]) > 1 and rest[0] != "--":
        letters = rest.pop(0)[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in flags:
                found[letter] = True
            elif letter in valued:
                if not letters and not rest:
                    raise UsageError("option -%s requires argument" % letter)
                found[letter], letters = (letters, "") if letters else (rest.pop(0), "")
                if letter in last:
                    return found, rest
            else:
                raise UsageError("option -%s not recognized" % letter)
    return found, rest


def confirm(question, otherwise):
    """True if the user confirms. Without a user, raises a UsageError that says what to do instead."""
    try:
        return input(question + " (y/[n])? ").strip().lower() in ("y", "yes")
    except EOFError:
        raise UsageError("nobody is here to confirm; %s" % otherwise) from None


def send_status(shell, op, **fields):
    """Tells the host what a magic did."""
    shell.engine.host.send({"type": "status", "event": dict(fields, op=op)})
