"""Hooks on the import of foreign modules; the part of the runner that handles a module is loaded with it.

In: the table of hooks that run after an import. Out: the parts, called with the module, at once for modules that every
interpreter of this environment has imported already. Absent on purpose: what the parts do.
"""

import sys


def watch_imports(hooks, pty):
    hooks_of = {
        "comm": install_comms,
        "asyncio": track_cells,
        "threading": track_cells,
        "traceback": hide_frames,
        "pdb": hide_frames,
        "IPython.core.debugger": hide_frames,
    }
    if pty:
        hooks_of["pandas"] = fit_pandas
        hooks_of["multiprocessing.resource_tracker"] = keep_resource_tracker
    for name, follow in hooks_of.items():
        if name in sys.modules:
            follow(sys.modules[name])
        else:
            hooks[name] = follow


def install_comms(comm):
    from . import comms

    comms.install(comm)


def track_cells(module):
    from . import cell_context

    cell_context.on_import(module)


def hide_frames(module):
    from . import debug

    debug.hide_from(module)


def fit_pandas(pandas):
    from . import pandas_display

    pandas_display.fit_width(pandas)


def keep_resource_tracker(module):
    """Has the tracker start, and stay, with the hang-up blocked that it gets when an interpreter dies on its terminal:
    then it has to clean up."""
    signals = getattr(module, "_IGNORED_SIGNALS", None)
    if isinstance(signals, tuple):
        module._IGNORED_SIGNALS = (*signals, module.signal.SIGHUP)
