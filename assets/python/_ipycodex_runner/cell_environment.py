"""Where code stands: what a script finds of itself, the working directory and the environment of a cell.

In: a script's words, or a request. Out: the process, arranged. Loaded where one of them asks for something.
"""

import os
import sys


def set_up_script(module, script, searches):
    """What a script finds of itself: its name, its arguments, the modules beside it."""
    sys.argv[:] = script
    module.__file__ = os.path.abspath(script[0])
    if searches:
        sys.path.insert(0, os.path.dirname(os.path.realpath(script[0])))


def apply(request):
    """Working directory and environment of a cell."""
    cwd = request.get("cwd")
    if cwd is not None:
        os.chdir(cwd)
        if "" not in sys.path[:1]:
            sys.path[:] = [cwd] + [entry for entry in sys.path if entry != cwd]
    for name, value in (request.get("env") or {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
