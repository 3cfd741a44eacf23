"""The process state of a script (arguments, `sys.path`) and of a cell (working directory, environment variables).

In: a script's command line, or a request. Out: the changed process. Loaded only where a request needs it.
"""

import os
import sys


def set_up_script(module, script, searches):
    """Sets `sys.argv`, `__file__` and the entry of `sys.path` that a script expects."""
    sys.argv[:] = script
    module.__file__ = os.path.abspath(script[0])
    if searches:
        sys.path.insert(0, os.path.dirname(os.path.realpath(script[0])))


def apply(request):
    """Sets the working directory and the environment variables of a cell."""
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
