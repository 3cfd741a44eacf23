"""The genuine standard library and builtins for the runner's own code, whatever files in the user's folder shadow them
and whatever cells assign to a builtin.

In: imports by parts of the runner and by the libraries they call. Out: modules. Invariants: user code imports what
Python would import, and finds its own entries of `sys.modules` and `builtins` when it runs; the parts look builtins up
in a copy of their own. Absent on purpose: changes that cells make inside a module of the standard library.
"""

import os
import sys
from _operator import is_
from _thread import allocate_lock, get_ident

PACKAGE = __package__
OWN = PACKAGE + "/"
external = sys.modules["_frozen_importlib_external"]
builtins = vars(sys.modules["builtins"])
python_import = builtins["__import__"]
PYTHON_BUILTINS = {
    name: value for name, value in builtins.items() if type(value) in (type, type(len)) and name != "input"
}  # `input` is ours to set
MAIN = get_ident()
MISSING = object()
CALLABLE = list(PYTHON_BUILTINS.values())
FOLDER = os.path.dirname(getattr(os, "__file__", ""))
STDLIB_PATHS = [path for path in sys.path if FOLDER and (path == FOLDER or path.startswith(FOLDER + "/lib-"))]
STDLIB_PATHS += [path for path in sys.path if path.endswith((".zip", "/lib-dynload")) and path not in STDLIB_PATHS]
INSTALLED = tuple(path.rstrip("/") + "/" for path in sys.path if path) + (FOLDER + "/", "<frozen ")
PACKAGES = (FOLDER + "/site-packages/", FOLDER + "/dist-packages/")

for_users = set()  # code objects of the runner that import what a user has named
shadowed = set()  # names of the standard library under which user code has imported a file of its own
hidden_modules = {}  # the standard library's modules that stand behind those in `sys.modules`
replaced_builtins = {}  # what cells have made of builtins, while the runner's code runs
thorough = False  # something has failed because of builtins that can be called and do something else
importing = {}  # thread -> imports of the runner's that are under way
lock = allocate_lock()


def module_names():
    """Modules of the standard library that a file of a user's could hide."""
    global NAMES
    if NAMES is None:
        found = getattr(sys, "stdlib_module_names", None)
        if found is None:  # before Python 3.10
            found = {
                entry.partition(".")[0] for path in STDLIB_PATHS if os.path.isdir(path) for entry in os.listdir(path)
            }
        NAMES = frozenset(found).difference(sys.builtin_module_names)
    return NAMES


NAMES = None


def find_spec(name, finders):
    """The spec of a top-level module that the runner imports; None where Python's usual way is the right one."""
    if name in sys.builtin_module_names:
        return None
    ours = get_ident() in importing
    if name not in module_names():
        return find_package(name, finders) if ours else None
    if not ours and not is_for_runner(sys._getframe(2)):
        return find_for_user(name, finders)
    for finder in finders:
        if finder is external.PathFinder:
            return finder.find_spec(name, STDLIB_PATHS)
        if getattr(finder, "__module__", "") == "_frozen_importlib" and finder.find_spec(name) is not None:
            return None
    return None


def find_for_user(name, finders):
    """Finds a module as Python would; records the name if it shadows the standard library."""
    for finder in finders:
        spec = finder.find_spec(name, None, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            if (spec.origin or "/").startswith("/") and not is_stdlib_path(spec.origin or "/"):
                shadowed.add(name)
            return spec
    return None


def find_package(name, finders):
    """Finds a package that the runner imports, never in the working directory."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    for finder in finders:
        if finder is external.PathFinder:
            path = [entry for entry in sys.path if entry not in ("", ".", here)]
            spec = finder.find_spec(name, path)
        else:
            spec = finder.find_spec(name, None, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    if external.PathFinder.find_spec(name) is None:
        return None
    raise ModuleNotFoundError("No module named %r" % name, name=name)


def is_for_runner(frame):
    """True if a part of the runner imports, or what that calls in a library; False for user code and what that
    calls."""
    inner = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OWN):
            return frame.f_code not in for_users
        if not file.startswith(INSTALLED):
            return "/IPython/" in inner  # a magic
        frame, inner = frame.f_back, file
    return False


def is_genuine(name, module):
    """False for a module that has the name of one of the standard library and is another."""
    if name.partition(".")[0] not in shadowed or module is None:
        return True
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None) or getattr(module, "__file__", None) or ""
    return not origin.startswith("/") or is_stdlib_path(origin)


def is_loading(module):
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


def is_stdlib_path(origin):
    return origin.startswith(tuple(path + "/" for path in STDLIB_PATHS)) and not origin.startswith(PACKAGES)


def get_loaded(name):
    """A module of the standard library, if it was imported."""
    module = sys.modules.get(name)
    if module is None or not shadowed or is_genuine(name, module):
        return module
    return hidden_modules.get(name)


def import_for_runner(name, globals=None, locals=None, fromlist=(), level=0):
    """`__import__` of the runner's parts."""
    whole = name if not level else PACKAGE + "." + name if name else PACKAGE
    module = sys.modules.get(whole)
    if (
        module is not None
        and (not shadowed or is_genuine(whole, module))
        and not is_loading(module)
    ):
        if not fromlist:
            return module if "." not in name else sys.modules[name.partition(".")[0]]
        for each in fromlist:
            if not hasattr(module, each):
                break
        else:
            return module
    thread = get_ident()
    importing[thread] = importing.get(thread, 0) + 1
    try:
        try:
            with GenuineModules():
                return python_import(name, globals, locals, fromlist, level)
        except Exception:
            if not shadowed and not find_changed(True):  # a cell may have imported a file of its own meanwhile
                raise
            with GenuineModules(True):
                return python_import(name, globals, locals, fromlist, level)
    finally:
        importing[thread] -= 1
        if not importing[thread]:
            del importing[thread]


class GenuineModules:
    """While any thread has entered it, modules and builtins are the real ones: builtins that lack or cannot be called,
    or, with `everything`, all that were replaced."""

    threads = []  # those that have entered it, as often as they have
    users_modules = {}  # what stands in `sys.modules` again when the last thread has left
    builtins = ()

    def __init__(self, everything=False):
        self.everything = everything

    def __enter__(self):
        with lock:
            self.threads.append(get_ident())
            if self.everything or len(self.threads) == 1:
                self.builtins = find_changed(self.everything)
                builtins.update((name, PYTHON_BUILTINS[name]) for name in self.builtins)
            for name in tuple(shadowed):
                module = sys.modules.get(name)
                if is_genuine(name, module) or (get_ident() != MAIN and is_loading(module)):
                    continue  # Python's import takes it out of `sys.modules` at its end and puts it back
                self.users_modules.setdefault(name, sys.modules.pop(name))
                if name in hidden_modules:
                    sys.modules[name] = hidden_modules[name]

    def __exit__(self, *_error):
        with lock:
            self.threads.remove(get_ident())
            if not self.threads:
                for name in self.users_modules:
                    if name in sys.modules and is_genuine(name, sys.modules[name]):
                        hidden_modules[name] = sys.modules[name]
                sys.modules.update(self.users_modules)
                self.users_modules.clear()
            restore_builtins(self.builtins)


def drop_other_threads():
    """In a forked process, where the others are not."""
    GenuineModules.threads[:] = [each for each in GenuineModules.threads if each == get_ident()]


def find_changed(everything):
    """The builtins that cells have taken away, or put something in place of that is of no use, or `everything` they
    have changed: name -> what is there."""
    if all(map(is_, CALLABLE, map(builtins.get, PYTHON_BUILTINS))):
        return {}
    found = {}
    for name, value in PYTHON_BUILTINS.items():
        now = builtins.get(name, MISSING)
        if now is not value and (
            everything or now is MISSING or not callable(now) or (type(value) is type and not isinstance(now, type))
        ):
            found[name] = now
    return found


def restore_builtins(values):
    for name in values:
        if builtins.get(name) is PYTHON_BUILTINS[name]:
            if values[name] is MISSING:
                del builtins[name]
            else:
                builtins[name] = values[name]


def repair_builtins(everything=False):
    """Restores builtins that libraries need, before the runner's code runs."""
    global thorough
    thorough = everything or thorough
    found = find_changed(thorough)
    if not found:
        return
    builtins.update((name, PYTHON_BUILTINS[name]) for name in found)
    replaced_builtins.update(found)


def return_builtins(but=()):
    """Puts the cells' own builtins back before a cell runs, except `but`."""
    if replaced_builtins:
        found = {name: replaced_builtins.pop(name) for name in list(replaced_builtins) if name not in but}
        restore_builtins(found)
