"""The Python runner's parts, and how they are found and loaded. `runner.py` executes this file under another name and
makes no package of it: the package object is made here.

In: what `runner.py` read (`given`). Out: `serve.main` takes over. Invariant: neither the folder nor the script stays
visible to user code (`sys.path`, `__main__`, `sys.argv`). Code of all parts is kept in one file beside the script, per
interpreter, because `PYTHONDONTWRITEBYTECODE` may be set and because one read beats many. That file: the interpreter's
4-byte magic number; the length of the index, 4 bytes, little-endian; the marshalled index (stamp of this file, {part:
(stamp, offset, size)}, code of this file); the marshalled code of the parts, first loaded first. Offsets are counted
from the end of the index. Absent on purpose: slow imports.

`wire` and `serve` speak the protocol, `cells` and `ipython` are the two engines, everything else is loaded on first
use; `ipycodex` is what cells import by that name.
Layers, lowest first: stdlib <- reader <- wire, debug, truncate, record, cell_context, comms, host_watch <- requests,
loop, terminal, stdin, watchdog, outputs, expressions <- dark_figures <- mime <- figures, tracebacks, pandas_display,
cell_environment <- import_hooks, system, syntax, magics, pictures, signatures, live_objects, symbols <-
static_completion, key_completion <- complete, inspection <- cells / ipython (on kernel, ipython_history,
ipython_terminal, ipython_debugger) <- arguments, schema, results <- tools, references, saved_variables, snapshot (on
confine, guard) and trial (on it and saved_variables), value_restore <- value_pickle <- value_digest (on trial) <- merge
(on array_views and saved_variables), startup_files (on ipython_profile), checkpoints (on copies <- fork_state, and
file_audit; lazy_checkpoints before it) <- serve.
"""

import marshal
import os
import sys

PACKAGE = "_ipycodex_runner"
HEAD = 1 << 18  # bytes of the code file that are read at once


class Parts:
    """Finder and loader of the parts, plus hooks that run right after a named foreign module was imported."""

    def __init__(self, folder, cache, magic, stamp, code, index, head):
        self.make_spec = sys.modules["_frozen_importlib"].ModuleSpec
        self.folder, self.cache, self.magic = folder, cache, magic
        self.stamp, self.code, self.index, self.head = stamp, code, index, head
        self.base = 8 + int.from_bytes(head[4:8], "little")
        self.fresh = {}  # part -> (stamp, marshalled code), compiled in this process
        self.dirty = not head
        self.after_import = {}
        self.builtins = dict(__builtins__)  # the parts' own
        self.stdlib = None  # the part of that name

    def find_spec(self, name, path=None, target=None):
        if name == "ipycodex" or name.startswith(PACKAGE + "."):
            source = "%s/%s/%s.py" % (self.folder, PACKAGE, short_of(name))
            return self.make_spec(name, self, origin=source)
        others = [finder for finder in sys.meta_path if finder is not self]
        stdlib = self.stdlib
        spec = stdlib.find_spec(name, others) if path is None and stdlib is not None else None
        if name not in self.after_import:
            return spec
        for finder in others:
            if spec is None and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
        if hasattr(getattr(spec, "loader", None), "exec_module") and (
            stdlib is None or name not in stdlib.module_names() or stdlib.is_stdlib_path(spec.origin or "")
        ):
            spec.loader = HookedLoader(spec, self.after_import[name])
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__dict__["__builtins__"] = self.builtins
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name):
        short = short_of(name)
        stat = os.stat("%s/%s/%s.py" % (self.folder, PACKAGE, short))
        stamp = (stat.st_mtime_ns, stat.st_size)
        try:
            if self.index[short][0] == stamp:
                return marshal.loads(self.kept(short))
        except Exception:
            pass
        code = compile(self.get_source(name), "%s/%s.py" % (PACKAGE, short), "exec", 0, True, 0)
        self.fresh[short] = (stamp, marshal.dumps(code))
        self.dirty = True
        return code

    def kept(self, short):
        """The marshalled code of a part in the code file."""
        _stamp, offset, size = self.index[short]
        offset += self.base
        if offset + size <= len(self.head):
            return memoryview(self.head)[offset : offset + size]
        with open(self.cache, "rb") as file:
            if file.read(self.base) != self.head[: self.base]:
                raise ValueError("another process has rewritten the code file")
            file.seek(offset)
            return file.read(size)

    def get_source(self, name):
        with open("%s/%s/%s.py" % (self.folder, PACKAGE, short_of(name)), "rb") as file:
            return file.read().decode("utf-8")

    def save(self):
        """Writes the code file if parts were compiled; an unwritable folder costs only the next start's time."""
        self.dirty = False
        draft = "%s.%d" % (self.cache, os.getpid())
        try:
            whole = b""
            if self.head:
                with open(self.cache, "rb") as file:
                    whole = file.read()
                if not whole.startswith(self.head[: self.base]):
                    return  # another process has written since: it knows more
            index, blobs, offset = {}, [], 0
            for short in list(self.index) + [short for short in self.fresh if short not in self.index]:
                if short in self.fresh:
                    stamp, data = self.fresh[short]
                else:
                    stamp, begin, size = self.index[short]
                    data = whole[self.base + begin : self.base + begin + size]
                index[short] = (stamp, offset, len(data))
                blobs.append(data)
                offset += len(data)
            table = marshal.dumps((self.stamp, index, self.code))
            with open(draft, "wb") as file:
                file.write(b"".join([self.magic, len(table).to_bytes(4, "little"), table] + blobs))
            os.replace(draft, self.cache)
            self.index, self.fresh, self.base = index, {}, 8 + len(table)
            with open(self.cache, "rb", 0) as file:
                self.head = file.read(HEAD)
        except OSError:
            try:
                os.unlink(draft)
            except OSError:
                pass


def short_of(name):
    """The file of a module; `ipycodex` is one of ours for everybody."""
    return name[len(PACKAGE) + 1 :] if name.startswith(PACKAGE + ".") else name


class HookedLoader:
    """Stands in for a module's loader during its import, then calls the hook with the module."""

    def __init__(self, spec, hook):
        self.spec, self.loader, self.hook = spec, spec.loader, hook

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.spec.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.hook(module)


def start(folder, cache, magic, kept, head, started):
    source = folder + "/_ipycodex_runner/__init__.py"
    stat = os.stat(source)
    stamp, (since, index, code) = (stat.st_mtime_ns, stat.st_size), kept
    if since not in (None, stamp):  # this is code of an earlier source
        with open(source, "rb") as file:
            code = compile(file.read(), "_ipycodex_runner/__init__.py", "exec", 0, True, 0)
        return exec(code, dict(globals(), given=(folder, cache, magic, (None, {}, code), b"", started)))
    parts = Parts(folder, cache, magic, stamp, code, index, head)
    package = type(sys)(PACKAGE)
    package.__path__ = []
    package.__loader__ = parts
    package.parts = parts
    package.started = started
    sys.modules[PACKAGE] = package
    sys.meta_path.insert(0, parts)
    arguments = sys.argv[1:]
    sys.argv[:] = [""]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]  # the script's folder; `serve` puts the working directory there
    from _ipycodex_runner import stdlib

    parts.stdlib = stdlib
    parts.builtins["__import__"] = stdlib.import_for_runner
    from _ipycodex_runner import serve

    serve.main(arguments)


start(*given)  # noqa: F821
