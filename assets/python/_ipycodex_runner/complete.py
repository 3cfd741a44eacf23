"""Completion without IPython: attributes of live objects, names, keys, modules, files after a quote or in `!` lines.

In: cell text, position in code points. Out: at most 500 {start, end, text, kind, signature}. Invariant: properties are not run to
follow a chain (static look-up first). Absent on purpose: guessing types of code that has not run.
"""

import builtins
import inspect
import keyword
import re
import types

LIMIT = 500
CHAIN = re.compile(r"((?:[^\W\d]\w*\.)*)((?:[^\W\d]\w*)?)$")
KEY = re.compile(r"((?:[^\W\d]\w*\.)*[^\W\d]\w*)\[(['\"])([^'\"]*)$")
IMPORT = re.compile(r"^\s*(?:import\s+(?:[\w.]+\s*(?:as\s+\w+)?\s*,\s*)*|from\s+)([\w.]*)$")
FROM = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(?:.*,\s*|\(\s*)?(\w*)$")
PATH = re.compile(r"(?:^[!%].*?|['\"])((?:~|\.{0,2})[^\s'\"]*)$")


def complete(engine, code, position):
    line = code[:position].rpartition("\n")[2]
    seen, found = set(), []
    for start, text, kind in candidates(engine, line, position):
        if text not in seen:
            seen.add(text)
            found.append({"start": start, "end": position, "text": text, "kind": kind, "signature": ""})
            if len(found) == LIMIT:
                break
    return found


def candidates(engine, line, position):
    match = FROM.match(line)
    if match:
        return module_members(match.group(1), match.group(2), position)
    match = IMPORT.match(line)
    if match:
        return modules(match.group(1), position)
    match = KEY.search(line)
    if match:
        return keys(engine, match, position)
    match = re.match(r"^\s*(%{1,2})(\w*)$", line)
    if match:
        return magic_names(match, position)
    match = PATH.search(line)
    if match:
        return paths(match.group(1), position)
    owner, prefix = CHAIN.search(line).groups()
    return attributes(engine, owner[:-1], prefix, position) if owner else names(engine, prefix, position)


def kind_of(value):
    if isinstance(value, type):
        return "class"
    if isinstance(value, types.ModuleType):
        return "module"
    return "function" if callable(value) else "instance"


def names(engine, prefix, position):
    start = position - len(prefix)
    for pool in (engine.ns, vars(builtins)):
        for name in sorted(name for name in list(pool) if isinstance(name, str) and name.startswith(prefix)):
            if prefix.startswith("_") or not name.startswith("_"):
                yield start, name, kind_of(pool[name])
    for name in keyword.kwlist:
        if name.startswith(prefix):
            yield start, name, "keyword"


def resolve(engine, dotted):
    """The object of a dotted name, without running properties. Raises LookupError."""
    first, *rest = dotted.split(".")
    if first in engine.ns:
        value = engine.ns[first]
    elif hasattr(builtins, first):
        value = getattr(builtins, first)
    else:
        raise LookupError(dotted)
    for name in rest:
        try:
            static = inspect.getattr_static(value, name)
            if isinstance(static, property):
                raise LookupError(dotted)
        except AttributeError:
            if not isinstance(value, types.ModuleType):
                raise LookupError(dotted) from None
        try:
            value = getattr(value, name)
        except Exception:
            raise LookupError(dotted) from None
    return value


def attributes(engine, owner, prefix, position):
    try:
        value = resolve(engine, owner)
        pool = sorted(name for name in dir(value) if isinstance(name, str) and name.startswith(prefix))
    except Exception:
        return
    for name in sorted(pool, key=lambda name: name.startswith("_")):
        if prefix.startswith("_") or not name.startswith("_"):
            try:
                kind = kind_of(inspect.getattr_static(value, name))
            except Exception:
                kind = ""
            yield position - len(prefix), name, kind


def keys(engine, match, position):
    owner, _quote, prefix = match.groups()
    try:
        value = resolve(engine, owner)
        pool = list(value.keys()) if isinstance(value, dict) else list(getattr(value, "columns", ()))
    except Exception:
        return
    for key in pool:
        if isinstance(key, str) and key.startswith(prefix):
            yield position - len(prefix), key, "key"


def modules(dotted, position):
    import pkgutil
    import sys

    owner, _dot, prefix = dotted.rpartition(".")
    path = None
    if owner:
        module = sys.modules.get(owner)
        path = list(getattr(module, "__path__", ())) if module else []
        if not module:
            try:
                from importlib.util import find_spec

                path = list(find_spec(owner).submodule_search_locations or ())
            except Exception:
                return
    found = {item.name for item in pkgutil.iter_modules(path)}
    if not owner:
        found.update(sys.builtin_module_names)
    for name in sorted(found):
        if name.startswith(prefix):
            yield position - len(prefix), name, "module"


def module_members(dotted, prefix, position):
    import importlib
    import sys

    try:
        module = sys.modules.get(dotted) or importlib.import_module(dotted)
    except Exception:
        return
    for name in sorted(dir(module)):
        if name.startswith(prefix) and (prefix.startswith("_") or not name.startswith("_")):
            yield position - len(prefix), name, kind_of(getattr(module, name, None))
    for _start, name, kind in modules(dotted + "." + prefix, position):
        yield position - len(prefix), name, kind


def magic_names(match, position):
    from . import magics

    marks, prefix = match.groups()
    pool = set(magics.CELL if marks == "%%" else magics.LINE) | set(magics.added["cell" if marks == "%%" else "line"])
    for name in sorted(pool):
        if name.startswith(prefix):
            yield position - len(prefix), name, "magic"


def paths(prefix, position):
    import os

    folder, _slash, start = prefix.rpartition("/")
    base = os.path.expanduser(folder + "/" if _slash else ".")
    try:
        entries = sorted(os.listdir(base))
    except OSError:
        return
    for name in entries:
        if name.startswith(start) and (start.startswith(".") or not name.startswith(".")):
            slash = "/" if os.path.isdir(os.path.join(base, name)) else ""
            yield position - len(start), name + slash, "path"
