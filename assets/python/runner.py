"""Bootstrap of the Python runner: `python runner.py REQ_FD FRAME_FD NONCE [--no-ipython] [--pty]`.

Owns how the parts in `_ipycodex_runner/` are found and loaded. In: the command line. Out: nothing here; `serve.main` takes over.
Invariant: neither this folder nor this script stays visible to user code (`sys.path`, `__main__`, `sys.argv`).
Code is kept in one marshalled file beside this script, per interpreter, because `PYTHONDONTWRITEBYTECODE` may be set and because
one read beats many. Absent on purpose: anything slow to import, since this file is compiled at every start. Python 3.8-3.13.
"""

import marshal
import os
import sys
from time import perf_counter

START = perf_counter()
PACKAGE = "_ipycodex_runner"


class Parts:
    """Finder and loader of the parts, plus hooks that run right after a named foreign module was imported."""

    def __init__(self, folder):
        bootstrap = sys.modules["_frozen_importlib"]
        external = sys.modules["_frozen_importlib_external"]
        self.folder = folder
        self.make_spec = bootstrap.ModuleSpec
        self.magic = external.MAGIC_NUMBER
        self.cache_file = "%s/%s.parts" % (folder, sys.implementation.cache_tag)
        self.dirty = False
        self.after_import = {}
        self.codes = {}
        try:
            with open(self.cache_file, "rb") as file:
                magic, codes = marshal.loads(file.read())
            if magic == self.magic and type(codes) is dict:
                self.codes = codes
        except Exception:
            pass

    def find_spec(self, name, path=None, target=None):
        if name.startswith(PACKAGE + "."):
            source = "%s/%s/%s.py" % (self.folder, PACKAGE, name[len(PACKAGE) + 1 :])
            return self.make_spec(name, self, origin=source)
        if name in self.after_import:
            for finder in sys.meta_path:
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        if hasattr(spec.loader, "exec_module"):
                            spec.loader = HookedLoader(spec, self.after_import[name])
                        return spec
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name):
        short = name[len(PACKAGE) + 1 :]
        file = "%s/%s/%s.py" % (self.folder, PACKAGE, short)
        stat = os.stat(file)
        stamp = (stat.st_mtime_ns, stat.st_size)
        try:
            if self.codes[short][0] == stamp:
                return marshal.loads(self.codes[short][1])
        except Exception:
            pass
        code = compile(self.get_source(name), "%s/%s.py" % (PACKAGE, short), "exec", 0, True, 0)
        self.codes[short] = (stamp, marshal.dumps(code))
        self.dirty = True
        return code

    def get_source(self, name):
        with open("%s/%s/%s.py" % (self.folder, PACKAGE, name[len(PACKAGE) + 1 :]), "rb") as file:
            return file.read().decode("utf-8")

    def save(self):
        """Writes the code file if parts were compiled; an unwritable folder costs only the next start's time."""
        self.dirty = False
        draft = "%s.%d" % (self.cache_file, os.getpid())
        try:
            with open(draft, "wb") as file:
                file.write(marshal.dumps((self.magic, self.codes)))
            os.replace(draft, self.cache_file)
        except OSError:
            try:
                os.unlink(draft)
            except OSError:
                pass


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


def start():
    folder = os.path.dirname(os.path.abspath(__file__))
    parts = Parts(folder)
    package = type(sys)(PACKAGE)
    package.__path__ = []
    package.__loader__ = parts
    package.parts = parts
    package.started = START
    sys.modules[PACKAGE] = package
    sys.meta_path.insert(0, parts)
    arguments = sys.argv[1:]
    sys.argv[:] = [""]
    if sys.path and sys.path[0] in (folder, os.path.realpath(folder), os.path.dirname(__file__)):
        sys.path[0] = ""
    else:
        sys.path.insert(0, "")
    from _ipycodex_runner import serve

    serve.main(arguments)


start()
