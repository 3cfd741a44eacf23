"""Features of the program `ipython` that IPython's bare shell lacks: an editor, aliases, magics of the terminal, its
debugger.

In: calls of IPython's shell and magics. Out: programs on the cell's terminal, prompts of the debugger. Invariants:
nothing is imported before it is used; a program that owns the terminal is announced to the host. Absent on purpose:
prompts, key bindings and history of IPython's own line editor.
"""

import os
import sys

from IPython.core.error import TryNext

from . import system

ALIASES = ("clear", "less", "man", "more")
MAGICS = {  # name -> the module of the class that has it
    "autoindent": ("IPython.terminal.magics", "TerminalMagics"),
    "cpaste": ("IPython.terminal.magics", "TerminalMagics"),
    "paste": ("IPython.terminal.magics", "TerminalMagics"),
    "store": ("IPython.extensions.storemagic", "StoreMagics"),
}


class LazyMagic:
    """A line magic whose class is imported when somebody calls it or reads about it."""

    def __init__(self, shell, name):
        self.shell, self.name = shell, name

    def load(self):
        if self.shell.magics_manager.magics["line"].get(self.name) is self:
            module, kind = MAGICS[self.name]
            __import__(module)
            self.shell.register_magics(getattr(sys.modules[module], kind))
        return self.shell.magics_manager.magics["line"][self.name]

    def __call__(self, line):
        return self.load()(line)

    @property
    def __doc__(self):
        return self.load().__doc__


class Terminal:
    """Comes before `InteractiveShell` among the bases of the engine's shell."""

    debugger_history = None
    autoindent = False
    configured_editor = None

    def init_alias(self):
        super().init_alias()
        for name in ALIASES:
            self.alias_manager.soft_define_alias(name, name)

    def init_magics(self):
        super().init_magics()
        for name in MAGICS:
            self.register_magic_function(LazyMagic(self, name), "line", name)
        self.set_hook("editor", edit, 0)

    @property
    def editor(self):
        return self.configured_editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"

    def set_autoindent(self, value=None):
        self.autoindent = not self.autoindent if value is None else value

    @property
    def debugger_cls(self):
        if sys.modules[__package__].host.stdin == "terminal":
            try:
                from .ipython_debugger import TerminalDebugger

                return TerminalDebugger
            except ImportError:
                pass
        from IPython.core.debugger import Pdb

        return Pdb


def edit(shell, filename, linenum=None, wait=True):
    """The hook `editor`."""
    import shlex

    mark = [] if linenum is None else ["+%d" % int(linenum)]
    if system.foreground(sys.modules[__package__].host, shlex.split(shell.editor) + mark + [filename]):
        raise TryNext
