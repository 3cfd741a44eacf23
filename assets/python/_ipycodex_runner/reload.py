"""`%autoreload`: modules whose file changed are reloaded before a cell runs.

In: mode 0 (off), 1 (only those of `%aimport`), 2 (all). Out: reloaded modules; functions and classes that were already
imported by name get the new code, whichever version they are; instances get the new class. Invariant: a module that
fails to reload is named and keeps its old state. Absent on
purpose: the standard library and installed packages are watched too, as in IPython, but only by their time stamp.
"""

import gc
import importlib
import os
import sys
import types
import weakref

from . import stdlib
from .magics import UsageError

mode = 0
explicit_modules = set()
stamps = {}
versions = {}  # (module, name) -> weak references to the functions and classes that were there
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
            explicit_modules.discard(name[1:])
        else:
            explicit_modules.add(name)
            module = import_named(name)
            shell.user_ns[name.split(".")[0]] = sys.modules[name.split(".")[0]]
            stamp_of(module)


def import_named(name):
    """A module that the user has named: one of theirs comes first."""
    return importlib.import_module(name)


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
        if (
            name == "__main__"
            or not isinstance(module, types.ModuleType)
            or (mode == 1 and name not in explicit_modules)
        ):
            continue
        if only_new and name in stamps:
            continue
        stamp = stamp_of(module)
        if stamp is None:
            continue
        before = stamps.get(name)
        stamps[name] = stamp
        if before is not None and before != stamp:
            reload_module(name, module)


def reload_module(name, module):
    old = dict(module.__dict__)
    for key, value in old.items():
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == name:
            known = versions.setdefault((name, key), [])
            known[:] = [each for each in known if each() is not None and each() is not value] + [weakref.ref(value)]
    module.__dict__.clear()  # what the file no longer has is gone
    module.__dict__.update(__name__=name, __loader__=old.get("__loader__"), __spec__=old.get("__spec__"))
    try:
        importlib.reload(module)
    except BaseException as error:
        module.__dict__.clear()
        module.__dict__.update(old)
        if isinstance(error, KeyboardInterrupt):
            raise
        print("[autoreload of %s failed: %s: %s]" % (name, type(error).__name__, error), file=sys.stderr)
        return
    renewed = []
    for key, value in old.items():
        if isinstance(value, types.ModuleType) and value.__name__ == "%s.%s" % (name, key):
            module.__dict__.setdefault(key, value)  # a part of the package, imported by somebody else
        after = module.__dict__.get(key)
        for each in versions.get((name, key), ()):
            before = each()
            if before is not None and after is not None and before is not after:
                update_object(before, after)
                renewed.append((before, after))
    rebind(renewed)


stdlib.for_users.update((import_named.__code__, reload_module.__code__))


def update_object(before, after):
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
                update_object(current, value)
            elif key not in ("__dict__", "__weakref__", "__module__", "__slots__"):
                try:
                    setattr(before, key, value)
                except (AttributeError, TypeError):
                    pass


def rebind(renewed):
    """Puts the new objects where the old ones are in the namespace, and gives instances and subclasses of the old
    classes the new ones."""
    after = {id(before): new for before, new in renewed}
    ns = sys.modules["__main__"].__dict__
    for name, value in list(ns.items()):
        if id(value) in after:
            ns[name] = after[id(value)]
    classes = {id(before): new for before, new in renewed if isinstance(before, type) and isinstance(new, type)}
    if not classes:
        return
    for each in gc.get_objects():
        kind = type(each)
        try:
            if id(kind) in classes:
                object.__setattr__(each, "__class__", classes[id(kind)])
            elif isinstance(each, type) and any(id(base) in classes for base in each.__bases__):
                each.__bases__ = tuple(classes.get(id(base), base) for base in each.__bases__)
        except (TypeError, AttributeError):
            pass  # the new one is laid out otherwise
