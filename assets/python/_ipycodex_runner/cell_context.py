"""The cell that running code belongs to, also after the cell's end: displays of its tasks and threads are the cell's.

In: the start of each cell and of each thread. Out: the id of the request that started the running code. Tasks inherit
the context; a thread gets that of the cell that started it. Invariant: without `asyncio` and `threading` nothing
outlives a cell, so this module is loaded only with one of them. Absent on purpose: printed bytes, whose cell cannot be
determined.
"""

import sys
from _contextvars import ContextVar

cell = ContextVar("ipycodex_cell", default=None)


def on_import(module):
    """`asyncio` or `threading` was imported by the request that runs."""
    host = sys.modules[__package__].host
    enter(host)
    if module.__name__ == "threading":
        patch_threads(module.Thread)
    elif host.kernel is not None and host.cell is not None and __package__ + ".loop" not in sys.modules:
        from . import loop  # which imports it itself where a cell with `await` runs

        loop.show_running()


def enter(host):
    cell.set(host.id)


def patch_threads(thread):
    start, bootstrap = thread.start, thread._bootstrap_inner

    def start_of_cell(self):
        self._ipycodex_cell = cell.get()
        return start(self)

    def bootstrap_of_cell(self):
        cell.set(getattr(self, "_ipycodex_cell", None))
        bootstrap(self)

    start_of_cell.__name__ = start_of_cell.__qualname__ = "start"
    thread.start, thread._bootstrap_inner = start_of_cell, bootstrap_of_cell
