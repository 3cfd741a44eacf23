"""The built-in engine: runs cells without IPython, with its syntax and its names.

In: cell source. Out: frames for values and errors; the namespace. Invariants: valid Python is never rewritten (a cell
is looked at for `%`, `!` and `?` only after it failed to compile); the last expression is shown, unless the cell ends
in `;`; `sys.displayhook` and `sys.excepthook` show values and errors, also those that users and libraries put there.
Libraries do not take this engine for IPython: they find no `get_ipython` among the builtins.
Absent on purpose: magics, tracebacks, rich values, completion: modules of their own, loaded on first use.
"""

import builtins
import os
import sys

from . import stdlib, wire

ONLY_AST = 0x400
TOP_LEVEL_AWAIT = 0x2000
COROUTINE = 0x80
PLAIN = (int, float, str, bool, complex, bytes)

AUTOMAGIC = set(
    "cd pwd ls ll lf lk ldir lx env set_env load edit save history hist recall rep rerun dhist who who_ls whos reset "
    "reset_selective pinfo pinfo2 "
    "pdoc pdef pfile psource psearch pycat page lsmagic magic quickref time timeit prun tb run pip conda uv debug pdb "
    "autoreload aimport load_ext "
    "reload_ext matplotlib pylab gui xdel cat cp mv rm rmdir mkdir man less more clear alias unalias config precision "
    "xmode colors automagic store macro "
    "sx system".split()
)  # and what users register


class ExitCommand:
    """`exit` and `quit`: called, or just named as a cell."""

    def __init__(self, name, engine):
        self.name, self.engine = name, engine

    def __repr__(self):
        return "Use %s() or %%%s or Ctrl-D to leave" % (self.name, self.name)

    def __call__(self, code=None, *, keep_kernel=False):
        self.engine.host.ask_exit(code, keep_kernel)


class Engine:
    automagic = AUTOMAGIC

    def __init__(self, host, module):
        self.host = host
        self.module = module
        self.ns = module.__dict__
        self.count = 0  # number of the last stored cell
        self.current = 0  # number of the cell that runs
        self.inputs = [""]
        self.raw_inputs = self.inputs
        self.outputs = {}
        self.sources = {}  # file name -> linecache entry
        self.file_count = 0
        self.future_flags = 0  # flags of `from __future__` imports in effect
        self.storing = False
        self.last_value = ""  # what we put under `_`
        self.folders = current_folder()  # of `%cd`, the first one first
        self.float_format = None  # of `%precision`
        self.shell_object = None
        self.before_cell = []
        self.after_cell = []
        self.system_names = {}
        sys.displayhook = self.show
        self.python_excepthook, sys.excepthook = sys.excepthook, self.show_error
        self.failing = None  # the error that ended the cell, while it is shown
        hooks = sys.modules[__package__].parts.after_import
        hooks["linecache"] = self.fill_linecache
        hooks["matplotlib.pyplot"] = self.show_figures_inline
        self.install_names()

    def install_names(self):
        self.system_names = {
            "In": self.inputs,
            "_ih": self.inputs,
            "Out": self.outputs,
            "_oh": self.outputs,
            "_dh": self.folders,
            "get_ipython": self.get_ipython,
            "exit": ExitCommand("exit", self),
            "quit": ExitCommand("quit", self),
        }
        self.ns.update(self.system_names, _="", __="", ___="", _i="", _ii="", _iii="")
        builtins.display = self.display

    def get_ipython(self):
        """The shell object, a small counterpart of IPython's."""
        if self.shell_object is None:
            from . import shell

            self.shell_object = shell.shell_class(self.host)(self)
        return self.shell_object

    def display(self, *values, **options):
        """Shows values richly, in the order of the output."""
        from . import mime

        return mime.display(self.host, values, **options)

    def set_names(self, values):
        self.ns.update(values)

    def ask_exit(self, code=None):
        self.host.ask_exit(code)

    def execute(self, code, store, silent, number, place):
        """Runs one cell; `place`: the file it stands in, and its first line there. Returns `ok`, `error` or
        `cancelled`."""
        if number is None:
            number = self.count + 1
        self.current = number
        self.storing = store
        self.silent = silent
        if store:
            self.store_input(number, code)
        filename, line = place or (self.new_filename(number), None)
        try:
            try:
                for hook in self.before_cell:
                    hook()
                self.run(code, filename, True, line)
            finally:
                self.finish_cell()
        except KeyboardInterrupt as error:
            self.fail(error)
            return "cancelled"
        except BaseException as error:
            from . import debug

            if not debug.is_quit(error):
                self.fail(error)
                return "error"
        finally:
            if store:
                self.count = number
        self.host.exit_if_child()
        return "ok"

    def new_filename(self, number):
        name = "<cell %d>" % number
        while name in self.sources:
            self.file_count += 1
            name = "<cell %d.%d>" % (number, self.file_count)
        return name

    def run(self, code, filename, outermost=False, line=None):
        """Compiles and runs cell text in the namespace, showing the last value. `outermost`: nothing follows in this
        request; `line`: where the text begins in a file of that name."""
        flags = ONLY_AST | TOP_LEVEL_AWAIT | self.future_flags
        if ">>>" in code or "In [" in code or "...:" in code:
            from . import syntax

            code = syntax.strip_prompts(code)
        if code[:1].isalpha() and "\n" not in code.strip() and self.calls_magic(code):
            code = "%" + code.strip()
        if outermost and code.strip().isidentifier():
            named = self.ns.get(code.strip())
            if getattr(type(named), "runs_as_cell", False):
                code = named.value
        text = code if code.endswith("\n") else code + "\n"
        above = ""
        if line is None:
            self.cache_source(filename, text)
        else:
            above = "\n" * (line - 1)
        if len(code) < 200 and "\n" not in code and "\\" not in code and not suppresses_output(code):
            value = self.compile_value(above + text, filename)
            if value is not None:
                self.show_value(value, outermost)
                return
        tree = None
        try:
            tree = compile(above + text, filename, "exec", flags, True)
        except (SyntaxError, ValueError):
            from . import syntax

            text = syntax.transform(code, self)
            if text is None:
                raise
        if tree is None:
            tree = compile(above + text, filename, "exec", flags, True)
        self.run_tree(tree, text, filename, outermost)

    def calls_magic(self, line):
        """True for a line that calls a magic without `%` though it reads as Python: `pwd`, `ls /tmp`, `cd -`. As Python
        it could only fail, unless it binds the name."""
        name, _blank, rest = line.strip().partition(" ")
        rest = rest.lstrip()
        return (
            name in self.automagic
            and self.is_magic(name)
            and not (rest[:1] in ("=", ":", ",", ".") and rest or rest[1:2] == "=")
        )

    def is_magic(self, name):
        """True if a bare word means a magic, as IPython's automagic has it: no variable hides it."""
        return name in self.automagic and name not in self.ns and not hasattr(builtins, name)

    def compile_value(self, text, filename):
        """The code of a one-line expression, None for anything else: most short cells need no syntax tree, whose first
        one is slow."""
        try:
            if "_ast" not in sys.modules and not self.future_flags:
                from . import expressions

                code = expressions.read_code(text, filename)
                if code is not None:
                    return code
            return compile(text, filename, "eval", TOP_LEVEL_AWAIT | self.future_flags, True)
        except (SyntaxError, ValueError, MemoryError):
            return None

    def show_value(self, value, outermost):
        """Evaluates a cell that is one expression."""
        if value.co_flags & COROUTINE:
            from . import loop

            loop.run(self.run_async(None, value, outermost))
        else:
            self.show_last(eval(value, self.ns), outermost)

    def run_tree(self, tree, text, filename, outermost=False):
        body = tree.body
        if not body:
            return
        if "__future__" in text:
            self.collect_future_flags(tree, filename)
        import _ast

        flags = TOP_LEVEL_AWAIT | self.future_flags
        shows = type(body[-1]) is _ast.Expr and not (";" in text and suppresses_output(text))
        try:
            parts = [self.compile_parts(tree, body, shows, filename, flags)]
        except SyntaxError:
            # what the parser leaves to the compiler; statements before it run, as IPython has it
            parts = None
        if parts is None:
            parts = (
                self.compile_parts(tree, [node], shows and node is body[-1], filename, flags) for node in list(body)
            )
        for code, value in parts:
            if (code is not None and code.co_flags & COROUTINE) or (value is not None and value.co_flags & COROUTINE):
                from . import loop

                loop.run(self.run_async(code, value, outermost))
                continue
            if code is not None:
                exec(code, self.ns)
            if value is not None:
                self.show_last(eval(value, self.ns), outermost)

    def compile_parts(self, tree, nodes, shows, filename, flags):
        """(code of statements, that of the last one's value if it `shows`); None for what there is not."""
        import _ast

        value = None
        if shows:
            nodes = nodes[:-1]
            last = tree.body[-1]
            value = compile(_ast.Expression(last.value), filename, "eval", flags, True)
        code = None
        if nodes:
            code = compile(type(tree)(nodes, tree.type_ignores), filename, "exec", flags, True)
        return code, value

    async def run_async(self, code, value, outermost):
        if code is not None:
            pending = eval(code, self.ns)
            if code.co_flags & COROUTINE:
                await pending
        if value is not None:
            result = eval(value, self.ns)
            if value.co_flags & COROUTINE:
                result = await result
            self.show_last(result, outermost)

    def collect_future_flags(self, tree, filename):
        import __future__
        import _ast

        module = type(tree)(
            [node for node in tree.body if type(node) is _ast.ImportFrom and node.module == "__future__"], []
        )
        flags = compile(module, filename, "exec", self.future_flags, True).co_flags
        for name in __future__.all_feature_names:
            self.future_flags |= flags & getattr(__future__, name).compiler_flag

    def cache_source(self, filename, text):
        """Keeps a cell's source for tracebacks and `inspect`."""
        entry = (len(text), None, text.splitlines(True), filename)
        self.sources[filename] = entry
        linecache = stdlib.get_loaded("linecache")
        if linecache is not None:
            linecache.cache[filename] = entry

    def show_figures_inline(self, pyplot):
        from . import figures

        figures.replace_show(pyplot, self.host)

    def fill_linecache(self, linecache):
        linecache.cache.update(self.sources)

    def store_input(self, number, code):
        while len(self.inputs) < number:
            self.inputs.append("")
        del self.inputs[number:]
        self.inputs.append(code)
        ns = self.ns
        ns["_iii"], ns["_ii"], ns["_i"] = ns.get("_ii", ""), ns.get("_i", ""), self.inputs[number - 1]
        ns["_i%d" % number] = code

    def show_last(self, value, outermost):
        """Shows a cell's value; the frame leaves together with `done` when nothing can come between them."""
        hook = sys.displayhook
        if type(value) is ExitCommand or hook in (self.show, sys.__displayhook__):
            self.show(value, outermost and not (self.after_cell or "matplotlib.pyplot" in sys.modules))
            return
        if value is not None and self.storing:
            self.store_output(self.current, value)
        if not self.silent:
            hook(value)

    def show(self, value, last=False):
        """The display hook. Raises what the value's own `__repr__` raises."""
        if value is None:
            return
        if type(value) is ExitCommand:
            value()
            return
        number = self.current if self.storing else None
        if self.storing:
            self.store_output(number, value)
        kind = type(value)
        metadata, rich, errors = {}, dict, []
        if kind in PLAIN:
            bundle = {"text/plain": self.float_format % value if kind is float and self.float_format else repr(value)}
        else:
            from . import mime

            bundle, metadata = mime.build_bundle(value, failed=errors.append)
            rich = mime.attach_dark_variant
        if bundle is not None and not self.silent:
            frame = rich({"type": "result", "bundle": bundle, "metadata": metadata, "executionCount": number})
            if last and not errors:
                self.host.defer(frame)
            else:
                self.host.send(frame)
        if errors:
            raise errors[0]

    def store_output(self, number, value):
        ns = self.ns
        if value is not self.outputs:
            self.outputs[number] = value
            ns["_%d" % number] = value
            if "_" not in ns or ns["_"] is self.last_value:
                ns["___"], ns["__"], ns["_"] = ns.get("__", ""), ns.get("_", ""), value
                self.last_value = value

    def finish_cell(self):
        """Publishes open figures and runs the hooks after a cell's code."""
        if "matplotlib.pyplot" in sys.modules:
            from . import figures

            figures.publish(self.host)
        for hook in self.after_cell:
            hook()

    def fail(self, error):
        """Shows the error that ended a cell."""
        self.host.exit_if_child(error)
        stdlib.repair_builtins()
        from . import tracebacks

        tracebacks.prepare(error, self.sources)
        self.ns.pop("__exception__", None)
        hook = self.show_error
        if not isinstance(error, SystemExit) and type(error).__name__ != "UsageError":
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
            hook = sys.excepthook if sys.excepthook is not sys.__excepthook__ else hook
        before, self.failing = self.failing, error
        try:
            if hook == self.show_error:
                self.send_error(error)
            else:
                self.call_excepthook(hook, error)
        finally:
            self.failing = before
        if (
            getattr(self, "post_mortem", False)
            and isinstance(error, Exception)
            and type(error).__name__ != "UsageError"
            and error.__traceback__ is not None
        ):
            from . import debug

            debug.post_mortem(error.__traceback__)

    def send_error(self, error):
        from . import tracebacks

        self.host.send(dict(tracebacks.describe(error, self.sources, self.host.pty), type="error"))

    def call_excepthook(self, hook, error):
        """Calls the excepthook of a user or a library, as Python does."""
        wire.flush_streams()
        try:
            hook(type(error), error, error.__traceback__)
        except SystemExit:
            pass
        except Exception as problem:
            print("Error in sys.excepthook: %s: %s" % (type(problem).__name__, problem), file=sys.stderr)
            self.send_error(error)
        wire.flush_streams()

    def show_error(self, kind, error, tb):
        """The hook for errors; what did not end the cell is shown as Python shows it."""
        if error is not None and error is self.failing:
            self.send_error(error)
        else:
            self.python_excepthook(kind, error, tb)

    def complete(self, code, position):
        from . import complete

        return complete.complete(self.ns, code, position)

    def inspect(self, code, position, name, level):
        from . import inspection

        return inspection.inspect(self, code, position, name, level)

    def is_complete(self, code):
        from . import completeness

        return completeness.check(code)


def current_folder():
    try:
        return [os.getcwd()]
    except OSError:
        return []


def suppresses_output(text):
    """True if the last statement ends in `;`, blanks and comments aside."""
    stripped = text.rstrip()
    if stripped.endswith(";") and "#" not in stripped[stripped.rfind("\n") + 1 :]:
        return True
    if "#" not in text:
        return False
    from . import syntax

    return syntax.ends_in_semicolon(text)
