"""Modules of others that parts of the runner follow from their import on: what a part does is loaded with the module.

In: the hooks that run after an import. Out: the parts, called with the module; at once with what every interpreter of
this environment has imported already. Absent on purpose: what the parts do.
"""

import sys


def watch_imports(hooks, pty):
    hooks_of = {"comm": reach_the_front_end, "asyncio": know_the_cell, "threading": know_the_cell}
    if pty:
        hooks_of["pandas"] = fit_tables
    for name, follow in hooks_of.items():
        if name in sys.modules:
            follow(sys.modules[name])
        else:
            hooks[name] = follow


def reach_the_front_end(comm):
    from . import comms

    comms.install(comm)


def know_the_cell(module):
    from . import cell_context

    cell_context.watch(module)


def fit_tables(pandas):
    from . import pandas_display

    pandas_display.fit(pandas)
