"""IPython's terminal debugger in a cell: its prompt reads keys from the cell's own terminal.

In: keys. Out: the prompt and its menu. Invariants: Tab completes names and commands, Ctrl-C gives a fresh prompt; what
is typed is not shared with any history file. Absent on purpose: key bindings that need IPython's own editor.
"""

import sys

from IPython.terminal.debugger import TerminalPdb


class OneShotExecutor:
    """An executor whose threads end with what they run: one that idles would be a thread that copies of the
    interpreter cannot have."""

    def submit(self, function, *arguments):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as executor:
            return executor.submit(function, *arguments)


class TerminalDebugger(TerminalPdb):
    _ptcomp = None

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.thread_executor = OneShotExecutor()

    def pt_init(self, *_options):
        import asyncio
        import types

        from IPython.core.completer import IPCompleter
        from IPython.terminal.ptutils import IPythonPTCompleter
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.output.vt100 import Vt100_Output
        from prompt_toolkit.shortcuts.prompt import CompleteStyle, PromptSession

        shell = self.shell
        completer = IPCompleter(shell=shell, namespace={}, global_namespace={}, parent=shell)
        commands = sorted(name[3:] for name in dir(self) if name.startswith("do_"))
        matcher = types.MethodType(
            lambda _completer, text: [name for name in commands if name.startswith(text)], completer
        )
        completer.custom_matchers.insert(0, matcher)
        self._ptcomp = IPythonPTCompleter(completer)
        if shell.debugger_history is None:
            shell.debugger_history = InMemoryHistory()
        self.pt_loop = asyncio.new_event_loop()
        output = Vt100_Output.from_pty(sys.__stdout__)
        output.enable_cpr = False  # asks the terminal nothing: an answer that came late would be read by the cell
        self.pt_app = PromptSession(
            message=lambda: self.prompt,
            completer=self._ptcomp,
            complete_style=CompleteStyle.MULTI_COLUMN,
            history=shell.debugger_history,
            enable_history_search=True,
            output=output,
        )
