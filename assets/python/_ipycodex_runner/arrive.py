"""Loads parts of the runner into a foreign Jupyter kernel. The host sends this file there as code, once.

In: `sources`, the text of each part by name. Out: the package, whose parts are compiled from those texts on first use,
and the module `ipycodex`, unless another module of that name exists.
"""

import sys

PACKAGE = "_ipycodex_runner"


class Texts:
    """Finder and loader of the parts."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name == "ipycodex" or (name.startswith(PACKAGE + ".") and short_of(name) in self.sources):
            return sys.modules["_frozen_importlib"].ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "ipycodex":
            from _ipycodex_runner import embedded  # noqa: F401  # what the module asks for the session's ways
        short = short_of(module.__name__)
        code = compile(self.sources[short], "%s/%s.py" % (PACKAGE, short), "exec", 0, True)
        exec(code, module.__dict__)


def short_of(name):
    return name[len(PACKAGE) + 1 :] if name.startswith(PACKAGE + ".") else name


if PACKAGE not in sys.modules:
    package = type(sys)(PACKAGE)
    package.__path__ = []
    sys.modules[PACKAGE] = package
    sys.meta_path.append(Texts(sources))  # noqa: F821
