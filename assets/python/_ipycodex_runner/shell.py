"""The object `get_ipython()` returns without IPython: magics, shell commands, and the namespace, under IPython's names.

In: calls written by `syntax`, or by users and libraries. Out: effects, captured lines. Invariant: names and meanings
are IPython's, as far as they exist here. Absent on purpose: configuration, extensions with traits, events beyond the
cell hooks.
"""

import sys

from . import magics, system


class Events:
    def __init__(self, engine):
        self.hooks = {
            "pre_run_cell": engine.before_cell,
            "pre_execute": engine.before_cell,
            "post_run_cell": engine.after_cell,
            "post_execute": engine.after_cell,
        }

    def register(self, event, function):
        self.hooks[event].append(function)

    def unregister(self, event, function):
        self.hooks[event].remove(function)


class Shell:
    def __init__(self, engine):
        self.engine = engine
        self.user_ns = self.user_global_ns = engine.ns
        self.user_module = engine.module
        self.events = Events(engine)
        self.colors = "Linux" if engine.host.pty else "NoColor"
        self.config = getattr(self, "config", {})

    @property
    def execution_count(self):
        return self.engine.current

    def run_line_magic(self, name, line, _stack_depth=1):
        return magics.run_line(self, name, line, caller_names(_stack_depth))

    def run_cell_magic(self, name, line, cell):
        return magics.run_cell(self, name, line, cell, caller_names(1))

    def magic(self, text):
        name, _blank, line = text.lstrip("%").partition(" ")
        return magics.run_line(self, name, line.strip(), caller_names(1))

    def system(self, command):
        """Runs a command in the foreground; its exit code goes to `_exit_code`."""
        command = system.expand(command, self.user_ns, caller_names(1))
        self.user_ns["_exit_code"] = system.run(self.engine.host, command)

    system_raw = system_piped = system

    def getoutput(self, command, split=True, depth=0):
        """The command's output as lines (a list with `.n`, `.s`, `.returncode`), or as text."""
        command = system.expand(command, self.user_ns, caller_names(1))
        lines = system.capture(self.engine.host, command)
        return lines if split else lines.n

    def var_expand(self, text, depth=0):
        return system.expand(text, self.user_ns, caller_names(1 + depth))

    def ev(self, expression):
        return eval(expression, self.user_ns)

    def ex(self, statements):
        exec(statements, self.user_ns)

    def push(self, variables, interactive=True):
        if isinstance(variables, str):
            variables = variables.split()
        if isinstance(variables, (list, tuple)):
            caller = sys._getframe(1)
            variables = {name: eval(name, caller.f_globals, caller.f_locals) for name in variables}
        self.user_ns.update(variables)

    def run_cell(self, code, store_history=False, silent=False, **_options):
        """Runs cell text inside the running cell. Exceptions propagate."""
        self.engine.run(code, self.engine.new_filename(self.engine.current))

    def show_usage(self):
        magics.run_line(self, "quickref", "", {})

    def set_next_input(self, text, replace=False):
        self.engine.host.send({"type": "next_input", "text": text, "replace": bool(replace)})

    def ask_exit(self):
        self.engine.ask_exit()

    def find_line_magic(self, name):
        return magics.find(name, "line")

    def find_cell_magic(self, name):
        return magics.find(name, "cell")

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        magics.register(function, magic_kind, magic_name or function.__name__, self.engine.automagic)

    def showtraceback(self, *_arguments, **_options):
        error = sys.exc_info()[1]
        if error is not None:
            self.engine.fail(error)

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        return magics.run_line(self, "matplotlib", gui or "", {})


def shell_class(host):
    """In a kernel it has what libraries look for, but for the name of the class: whoever finds that imports IPython."""
    if host.kernel is None:
        return Shell
    from . import kernel

    return type("Shell", (kernel.KernelMixin, Shell), {"config": {"IPKernelApp": kernel.app_settings()}})


def caller_names(depth):
    """Local names where a magic was written, for expansion; empty at the top level."""
    try:
        frame = sys._getframe(depth + 1)
    except ValueError:
        return {}
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
