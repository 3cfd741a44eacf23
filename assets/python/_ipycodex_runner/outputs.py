"""The cell's standard streams: their set-up without a terminal, their repair after each cell, and errors printed
outside cells.

In: descriptors 0, 1 and 2. Out: `sys.stdin`, `sys.stdout`, `sys.stderr`. Absent on purpose: buffering (`stdin`).
"""

import os
import sys


def use_pipes(alone):
    """Three pipes: nobody types, so fd 0 reads as empty for C code and children, unless it is a script's own; lines
    leave as they are printed."""
    if not alone:
        try:
            fd = os.open(os.devnull, os.O_RDONLY)
            os.dup2(fd, 0)
            if fd > 2:
                os.close(fd)
        except OSError:
            pass
    if sys.stderr is not None:
        sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")
    from . import stdin

    if sys.stdout is not None:
        stdin.open_stdout(False)
    if not alone:
        stdin.install()


def repair_streams(frames):
    """Gives the next cell its descriptors back when this one closed them."""
    for fd, copy in ((1, frames.outputs[0]), (2, frames.outputs[-1])):
        try:
            os.fstat(fd)
        except OSError:
            try:
                os.dup2(copy, fd)
            except OSError:
                pass
    for name, fd in (("__stdout__", 1), ("__stderr__", 2)):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            fresh = open(fd, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
            setattr(sys, name, fresh)
            if getattr(sys, name[2:-2]) in (None, stream):
                setattr(sys, name[2:-2], fresh)


def print_error(error, engine, host):
    """Prints an error that was raised outside a cell."""
    try:
        from . import tracebacks

        lines = tracebacks.describe(error, getattr(engine, "sources", {}), host.pty)["traceback"]
        print("\n".join(lines), file=sys.stderr)
        sys.stderr.flush()
    except Exception:
        pass  # the cell closed or replaced the stream
