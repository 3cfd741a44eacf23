"""`%autoreload`: modules whose file changed are reloaded before a cell runs.

In: mode 0 (off), 1 (only those of `%aimport`), 2 (all). Out: reloaded modules; functions and classes that were already
imported by name get the new code. Invariant: a module that fails to reload is named and keeps its old state. Absent on
purpose: the standard library and installed packages are watched too, as in IPython, but only by their time stamp.
"""

import importlib
import os
import sys
import types

from .magics import UsageError

mode = 0
wanted = set()
stamps = {}
hooked = False


def set_mode(engine, line):
    global mode, hooked
    word = line.split()[0] if line.split() else ""
    chosen = {"": 2, "0": 0, "off": 0, "1": 1, "explicit": 1, "2": 2, "all": 2, "complete": 2, "3": 2, "now": mode}.get(
        word
    )
    if chosen is None:
        raise UsageError("%%autoreload takes 0, 1, 2 or now, not %r" % line)
    mode = chosen
    if not hooked:
        hooked = True
        scan(True)
        engine.before_cell.append(lambda: scan(False))
        engine.after_cell.append(lambda: scan(True))
    elif not word or word == "now":
        scan(False)


def aimport(shell, line):
    for name in line.replace(",", " ").split():
        if name.startswith("-"):
            wanted.discard(name[1:])
        else:
            wanted.add(name)
            module = importlib.import_module(name)
            shell.user_ns[name.split(".")[0]] = sys.modules[name.split(".")[0]]
            stamp_of(module)


def stamp_of(module):
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return None
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return None


def scan(only_new):
    """Notes the stamps of new modules; unless `only_new`, reloads those that changed."""
    if not mode:
        return
    for name, module in list(sys.modules.items()):
        if name == "__main__" or not isinstance(module, types.ModuleType) or (mode == 1 and name not in wanted):
            continue
        if only_new and name in stamps:
            continue
        stamp = stamp_of(module)
        if stamp is None:
            continue
        before = stamps.get(name)
        stamps[name] = stamp
        if before is not None and before != stamp:
            renew(name, module)


def renew(name, module):
    old = dict(module.__dict__)
    try:
        importlib.reload(module)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        module.__dict__.update(old)
        print("[autoreload of %s failed: %s: %s]" % (name, type(error).__name__, error), file=sys.stderr)
        return
    for key, before in old.items():
        after = module.__dict__.get(key)
        if after is not before and getattr(before, "__module__", None) == name:
            update(before, after)
            rebind(key, before, after)


def update(before, after):
    """Puts the new code into the old object, so that references elsewhere see it."""
    if isinstance(before, types.FunctionType) and isinstance(after, types.FunctionType):
        if before.__code__.co_freevars == after.__code__.co_freevars:
            for part in ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__dict__", "__annotations__"):
                try:
                    setattr(before, part, getattr(after, part))
                except (AttributeError, TypeError, ValueError):
                    pass
    elif isinstance(before, type) and isinstance(after, type):
        for key in list(before.__dict__):
            if key not in after.__dict__ and not key.startswith("__"):
                try:
                    delattr(before, key)
                except (AttributeError, TypeError):
                    pass
        for key, value in list(after.__dict__.items()):
            current = before.__dict__.get(key)
            if isinstance(current, types.FunctionType) and isinstance(value, types.FunctionType):
                update(current, value)
            elif key not in ("__dict__", "__weakref__", "__module__", "__slots__"):
                try:
                    setattr(before, key, value)
                except (AttributeError, TypeError):
                    pass


def rebind(key, before, after):
    ns = sys.modules["__main__"].__dict__
    for name, value in list(ns.items()):
        if value is before and after is not None and not isinstance(before, type(sys)):
            ns[name] = after
