"""Bootstrap of the Python runner: `python runner.py REQ_FD FRAME_FD NONCE [--no-ipython] [--pty]`.

Owns nothing but the first step: it runs `_ipycodex_runner/__init__.py`, from the code file beside this script when that
fits the interpreter and the source. Kept short because Python compiles it at every start. Python 3.8-3.13.
"""

import marshal
import os
import sys
from time import perf_counter

started = perf_counter()
folder = os.path.dirname(os.path.abspath(__file__))
source = folder + "/_ipycodex_runner/__init__.py"
cache = "%s/%s.parts" % (folder, sys.implementation.cache_tag)
magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
head = b""
stat = os.stat(source)
stamp = (stat.st_mtime_ns, stat.st_size)
try:
    with open(cache, "rb", 0) as file:
        head = file.read(81920)
    found, index, code = marshal.loads(memoryview(head)[8:]) if head[:4] == magic else (0, 0, 0)
except Exception:
    found = None
if found != stamp:
    head, index = b"", {}
    with open(source, "rb") as file:
        code = compile(file.read(), "_ipycodex_runner/__init__.py", "exec", 0, True, 0)
exec(
    code,
    {
        "__name__": "_ipycodex_runner.start",
        "__builtins__": vars(__builtins__).copy(),
        "given": (folder, cache, magic, stamp, code, index, head, started),
    },
)
