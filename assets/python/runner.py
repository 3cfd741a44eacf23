"""Bootstrap of the Python runner: `python runner.py REQ_FD FRAME_FD NONCE [--no-ipython] [--pty]`.

Runs `_ipycodex_runner/__init__.py`, from the code file beside this script when that fits the interpreter; whether it
fits the source is looked at there. Kept short because Python compiles it at every start. Python 3.8-3.13.
"""

import marshal
import sys
from time import perf_counter

started, folder, head, kept = perf_counter(), __file__[: -len("/runner.py")], b"", None
cache = "%s/%s.parts" % (folder, sys.implementation.cache_tag)
magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
try:
    with open(cache, "rb", 0) as file:
        head = file.read(1 << 18)
    kept = marshal.loads(memoryview(head)[8:]) if head[:4] == magic else None
except Exception:
    pass
if kept is None:
    with open(folder + "/_ipycodex_runner/__init__.py", "rb") as file:
        head, kept = b"", (None, {}, compile(file.read(), "_ipycodex_runner/__init__.py", "exec", 0, True, 0))
scope = {"__name__": "_ipycodex_runner.start", "__builtins__": vars(__builtins__).copy()}
exec(kept[2], dict(scope, given=(folder, cache, magic, kept, head, started)))
