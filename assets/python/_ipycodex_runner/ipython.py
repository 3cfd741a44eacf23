"""The IPython engine: IPython's `InteractiveShell`, its output turned into frames.

In: cell source. Out: frames. Invariants: the user's history file and configuration are left alone; nothing is read from
or drawn on a terminal by IPython itself, but for its debugger's prompt. Absent on purpose: IPython's prompt, pager and
history store. For IPython 7.13-9.
"""

import contextlib
import opcode
import os
import sys
import warnings

from . import debug, mime, stdlib, system
from .cells import PLAIN, suppresses_output

os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

import IPython  # noqa: E402
from IPython.core.compilerop import CachingCompiler  # noqa: E402
from IPython.core.displayhook import DisplayHook  # noqa: E402
from IPython.core.displaypub import DisplayPublisher  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from IPython.core.profiledir import ProfileDir  # noqa: E402
from traitlets import Type  # noqa: E402
from traitlets.config import Config  # noqa: E402


from .ipython_history import RecordedHistory  # noqa: E402
from .ipython_terminal import Terminal  # noqa: E402

GROUP = getattr(sys.modules["builtins"], "BaseExceptionGroup", ())
# methods of the shell that libraries replace in order to show errors themselves
SHOWS_ERRORS = {"showtraceback", "showsyntaxerror", "_showtraceback"}
# what calls the display hook in a cell's code
SHOWS = opcode.opmap.get("PRINT_EXPR", opcode.opmap.get("CALL_INTRINSIC_1"))


def host():
    return sys.modules[__package__].host


def start(here, module):
    """The engine and IPython's version."""
    return Engine(here, module), IPython.__version__


def encode_bundle(bundle):
    return {kind: mime.encode(kind, value) for kind, value in bundle.items()}


class FrameDisplayHook(DisplayHook):
    """A cell's value as a `result` frame; `_` and `Out` are kept by the base class."""

    @property
    def prompt_count(self):
        return self.shell.cell_number

    def __call__(self, result=None):
        with stdlib.GenuineModules(stdlib.thorough):
            self.show(result)

    def show(self, result):
        self.check_for_underscore()
        if type(result) is FrameExit:
            result()
            return
        if result is None or self.quiet():
            return
        self.start_displayhook()
        bundle, metadata = self.format_plain(result) if type(result) in PLAIN else (None, None)
        if bundle is None:
            bundle, metadata = self.compute_format_data(result)
        storing = self.shell.storing
        if storing:
            self.update_user_ns(result)
            self.fill_exec_result(result)
            if bundle:
                self.log_output(bundle)
        if bundle and not self.shell.silent:
            number = self.shell.cell_number if storing else None
            bundle, metadata = encode_bundle(bundle), metadata or {}
            frame = {"type": "result", "bundle": bundle, "metadata": metadata, "executionCount": number}
            frame = mime.attach_dark_variant(frame)
            if self.ends_cell(sys._getframe(2)):
                host().defer(frame)
            else:
                host().send(frame)
        if "matplotlib.pyplot" in sys.modules and mime.is_figure(result):
            sys.modules["matplotlib.pyplot"].close(result)  # shown: not to be shown again as a figure left open

    printers = None  # of all formatters but that of `text/plain`: the dicts in which users register theirs

    def format_plain(self, value):
        """The bundle of a value whose type has no rich form of its own, unless somebody gave it one: looking for one in
        every formatter is what a short cell spends most of its time on."""
        formatter = self.shell.display_formatter
        formatters = formatter.formatters
        if self.printers is None or len(self.printers) != 3 * len(formatters):
            rich = [each for kind, each in formatters.items() if kind != "text/plain"] + [
                formatter.ipython_display_formatter
            ]
            self.printers = [
                dicts
                for each in rich
                for dicts in (each.type_printers, each.singleton_printers, each.deferred_printers)
            ]
        kinds = type(value).__mro__
        for dicts in self.printers:
            if dicts and (
                id(value) in dicts or any(kind in dicts or (kind.__module__, kind.__name__) in dicts for kind in kinds)
            ):
                return None, None
        text = formatters["text/plain"](value)
        return {} if text is None else {"text/plain": text}, {}  # None: it has shown what went wrong

    def ends_cell(self, frame):
        """True when nothing can be printed between this value and the end of the request: the cell's last expression
        shows it."""
        shell = self.shell
        callbacks = shell.events.callbacks
        return (
            shell.depth == 1
            and shell.ast_node_interactivity == "last_expr"
            and "matplotlib.pyplot" not in sys.modules
            and all(getattr(each, "__self__", None) is shell.display_pub for each in callbacks["post_execute"])
            and not callbacks["post_run_cell"]
            and frame.f_globals is shell.user_ns
            and frame.f_code.co_code[frame.f_lasti] == SHOWS
        )

    def quiet(self):
        return suppresses_output(self.shell.source) if ";" in self.shell.source else False


class FramePublisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_options):
        mime.publish(host(), encode_bundle(data), metadata, transient, update)

    def clear_output(self, wait=False):
        mime.clear_output(host(), wait)


def wrap_format_for_dark(formatter):
    """IPython's way from a value to its forms; figures get theirs for a dark terminal on it."""
    usual = formatter.format

    def format(value, include=None, exclude=None):
        data, metadata = usual(value, include, exclude)
        if "image/png" in data and mime.is_figure(value):
            made = mime.encode("image/png", data["image/png"])
            mime.add_dark_variant(value, lambda: formatter.formatters["image/png"](value), made)
        return data, metadata

    return format


class Compiler(CachingCompiler):
    """Cells that stand in a file are compiled under its name, at their lines there."""

    place = None  # (file, first line) of the running cell
    fresh = None  # the same, until that cell is compiled: it may run others

    def cache(self, *arguments, **options):
        if self.fresh is None:
            return super().cache(*arguments, **options)
        self.fresh = None
        return self.place[0]

    def ast_parse(self, source, filename="<unknown>", symbol="exec"):
        if self.place is not None and filename == self.place[0]:
            source = "\n" * (self.place[1] - 1) + source
        return super().ast_parse(source, filename, symbol)


class Shell(Terminal, InteractiveShell):
    compiler_class = Type(Compiler)
    displayhook_class = Type(FrameDisplayHook)
    display_pub_class = Type(FramePublisher)
    cell_number = 1
    storing = True
    silent = False
    source = ""
    code_reached = False  # the running cell's code was
    depth = 0  # of `run_cell` calls: a cell may run others

    def run_cell(self, *arguments, **options):
        self.depth += 1
        try:
            return super().run_cell(*arguments, **options)
        finally:
            self.depth -= 1

    async def run_code(self, *arguments, **options):
        """The cell's own code: it finds what cells have made of builtins, IPython does not."""
        self.code_reached = True
        stdlib.return_builtins(("__import__",))  # which is called on the way to the cell's code
        try:
            return await super().run_code(*arguments, **options)
        finally:
            stdlib.repair_builtins()

    def _ipython_dir_changed(self, change):
        """The folder is not made."""

    def init_virtualenv(self):
        """The host has chosen the environment."""

    def init_history(self):
        self.history_manager = RecordedHistory(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_readline(self):
        pass

    def init_sys_modules(self):
        self._main_mod_cache = {}
        sys.modules[self.user_module.__name__] = self.user_module

    def init_io(self):
        pass

    def _tee(self, channel=None):
        return contextlib.nullcontext()

    def enable_gui(self, gui=None):
        """Figures are shown inline; windows need the loop of their toolkit, which matplotlib runs in `show()`."""

    def ask_exit(self):
        host().ask_exit(None)

    def system(self, command):
        command = self.var_expand(command, depth=1)
        try:
            self.user_ns["_exit_code"] = system.run(host(), command)
        except KeyboardInterrupt as error:
            # where the program was when it was stopped tells nothing
            error._render_traceback_ = lambda: ["KeyboardInterrupt"]
            raise

    system_raw = system_piped = system

    def set_next_input(self, text, replace=False):
        host().send({"type": "next_input", "text": text, "replace": bool(replace)})

    def _showtraceback(self, etype, evalue, stb):
        lines = stb if isinstance(stb, list) else [str(stb)]
        from . import tracebacks

        lines = tracebacks.escape("\n".join(str(line) for line in lines)).split("\n")
        hint = tracebacks.spawn_hint(lines)
        if hint:
            lines.append(hint)
        if os.getpid() != host().process:
            from . import shutdown

            shutdown.exit_child(evalue, lines)
        name = getattr(etype, "__name__", str(etype))
        host().send({"type": "error", "ename": name, "evalue": tracebacks.error_text(evalue), "traceback": lines})
        self.failed = failure_status(etype)

    failed = None

    def _get_exc_info(self, exc_tuple=None):
        """The exception to show, and to store for the debugger, without the runner's frames."""
        from . import tracebacks

        etype, value, tb = super()._get_exc_info(exc_tuple)
        tb = tracebacks.user_part(tb)
        if isinstance(value, BaseException):
            tracebacks.strip(value)
        sys.last_traceback = tb
        return etype, value, tb

    def showtraceback(self, exc_tuple=None, *arguments, **options):
        stdlib.repair_builtins()
        etype, value, tb = self._get_exc_info(exc_tuple)
        if etype is not None and etype.__name__ == "CancelledError":
            from . import loop

            if loop.interrupted:  # IPython catches errors inside the coroutine, before `loop.run` can name the cause
                exc_tuple = (KeyboardInterrupt, KeyboardInterrupt(), tb)
        if etype is not None and issubclass(etype, SystemExit):
            self._showtraceback(etype, value, ["SystemExit: %s" % ("" if value.code is None else value.code)])
            return
        if contains_group(value):  # which IPython prints itself
            import traceback

            self._showtraceback(etype, value, "".join(traceback.format_exception(etype, value, tb)).splitlines())
            if self.call_pdb:
                self.debugger(force=True)
            return
        # before it is shown, which another Ctrl-C may cut off; what IPython prints itself is not shown again
        self.failed = self.failed or failure_status(etype)
        super().showtraceback(exc_tuple, *arguments, **options)

    def show_usage_error(self, error):
        self._showtraceback(type(error), error, ["UsageError: %s" % error])


def failure_status(kind):
    return "cancelled" if kind is not None and issubclass(kind, KeyboardInterrupt) else "error"


def contains_group(error):
    while error is not None and not isinstance(error, GROUP):
        error = error.__context__
    return error is not None


def page(_shell, data, start=0, screen_lines=0, pager_cmd=None):
    """The hook `show_in_pager`."""
    bundle = dict(data) if isinstance(data, dict) else {"text/plain": str(data)}
    bundle = bundle.get("data", bundle) if "data" in bundle and "text/plain" not in bundle else bundle
    host().send({"type": "page", "bundle": encode_bundle(bundle)})


class FrameExit:
    """`exit` and `quit`: IPython calls them when they are all a cell holds."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "Use %s() or Ctrl-D to leave" % self.name

    def __call__(self, code=None, *_keep, keep_kernel=False):
        host().ask_exit(code, keep_kernel)


def theme_name(theme):
    """The name IPython has for it."""
    former = {"neutral": "Neutral", "linux": "Linux", "nocolor": "NoColor"}
    return theme if IPython.version_info[0] >= 9 else former[theme]


class Engine:
    """The same interface as `cells.Engine`."""

    def __init__(self, here, module):
        self.host = here
        self.module = module
        self.count = 0
        self.warmed = False
        config = Config()
        config.HistoryManager.enabled = True  # what there is of it; left open, `sqlite3` would be imported to find out
        config.HistoryManager.hist_file = ":memory:"
        self.colours = config.InteractiveShell.colors = theme_name("neutral" if here.pty else "nocolor")
        config.InteractiveShell.autoindent = False
        config.Completer.use_jedi = False
        config.InteractiveShellApp = Config()
        hook = sys.excepthook
        kind = Shell
        if here.kernel is not None:
            from . import kernel

            kind = kernel.shell_class(Shell)
            config.IPKernelApp.update(kernel.app_settings())
        shell = self.shell = kind.instance(
            config=config,
            user_module=module,
            user_ns=module.__dict__,
            ipython_dir=ipython_folder(),
            profile_dir=Profile(location=os.path.join(ipython_folder(), "profile_default")),
        )
        shell.register_magic_function(self.dry_run, "cell", "try")
        sys.excepthook = hook
        self.ns = shell.user_ns
        shell.set_hook("show_in_pager", page, 99)
        shell.display_formatter.format = wrap_format_for_dark(shell.display_formatter)
        shell.loop_runner = run_on_loop
        shell.loop_runner_map = dict(shell.loop_runner_map, asyncio=(run_on_loop, True))
        shell.ns_table["user_global"] = shell.user_ns
        for name in ("exit", "quit"):
            shell.user_ns[name] = shell.user_ns_hidden[name] = FrameExit(name)
        sys.displayhook = shell.displayhook
        sys.breakpointhook = self.breakpoint
        warnings.filterwarnings("ignore", "To exit: use", UserWarning)  # on SystemExit; IPython's own shell, not ours

    def dry_run(self, _line, cell):
        """Runs the cell in a copy of the interpreter that can change nothing, and tells what it would do."""
        from . import trial

        trial.show(cell, self, self.host)

    def breakpoint(self, *arguments, **options):
        frame = sys._getframe(1)
        name = os.environ.get("PYTHONBREAKPOINT")
        if name == "0":
            return
        if name:
            sys.__breakpointhook__(*arguments, **options)
            return
        self.shell.debugger_cls(nosigint=True).set_trace(frame)

    def set_names(self, values):
        self.ns.update(values)

    def get_ipython(self):
        return self.shell

    def on_idle(self):
        """Renders one exception while nobody waits: the first one costs up to half a second of imports. The magic that
        the colours of a dark terminal need is one of those that IPython loads late."""
        from select import select

        if self.warmed:
            return True
        if self.host.requests.lines or select([self.host.requests.fd], [], [], 0.05)[0]:
            return False
        self.warmed = True
        try:
            1 / 0
        except ZeroDivisionError:
            shell = self.shell
            try:
                shell.InteractiveTB.structured_traceback(*sys.exc_info(), tb_offset=0)
                shell.find_line_magic("colors")
            except Exception:
                pass
        return True

    def match_background(self):
        """Errors and sources come in colours that can be read on a dark ground where it is one, while nobody has
        chosen others."""
        dark, shell = self.host.dark, self.shell
        wanted = theme_name("linux" if dark else "neutral")
        if self.host.pty and wanted != self.colours == shell.colors:
            self.colours = wanted
            shell.run_line_magic("colors", wanted)
            # What IPython 8 has for the code around an error, by one of two names; 8.12 has a fixed one.
            for name in ("tb_highlight_style", "_tb_highlight_style"):
                setattr(shell.InteractiveTB, name, "monokai" if dark else "default")

    def execute(self, code, store, silent, number, place):
        self.shell.code_reached = False
        stdlib.repair_builtins()
        try:
            return self.run_as_cell(code, store, silent, number, place)
        except Exception:
            if self.shell.code_reached or not stdlib.find_changed(True):
                raise
            stdlib.repair_builtins(True)
            return self.run_as_cell(code, store, silent, number, place)

    def run_as_cell(self, code, store, silent, number, place):
        shell = self.shell
        if not silent:
            self.match_background()
        shell.compile.place = shell.compile.fresh = place
        number = self.count + 1 if number is None else number
        shell.cell_number, shell.storing, shell.silent, shell.source = number, store, silent, code
        shell.failed = None
        if store:
            self.pad_inputs(number)
        shell.execution_count = number
        result = shell.run_cell(code, store_history=store, silent=silent and not store)
        self.host.exit_if_child(result.error_in_exec or result.error_before_exec)
        if "matplotlib.pyplot" in sys.modules:
            from . import figures

            if not figures.is_shown_by_ipython():
                figures.publish(self.host)
        if store:
            self.count = number
            shell.execution_count = number + 1
        if result.success and shell.failed is None:
            return "ok"
        if shell.failed is None:
            error = result.error_in_exec or result.error_before_exec
            if isinstance(error, KeyboardInterrupt):
                return "cancelled"
            if isinstance(error, shell.custom_exceptions) or SHOWS_ERRORS & set(vars(shell)):
                return "error"  # shown by the user's own handler, or by a library that took IPython's place there
            return "ok" if debug.is_quit(error) else self.fail(error)
        return shell.failed

    def fail(self, error):
        """An error that IPython did not show (silent cells)."""
        from . import tracebacks

        frame = tracebacks.describe(error, {}, False)
        frame["type"] = "error"
        self.host.send(frame)
        return "error"

    def pad_inputs(self, number):
        """The host numbers prompts too: `In[n]` must stay the cell that was shown as `In [n]`."""
        history = self.shell.history_manager
        for kept in (history.input_hist_parsed, history.input_hist_raw):
            while len(kept) < number:
                kept.append("")
            del kept[number:]

    def run(self, code, filename):
        self.shell.run_cell(code, store_history=False)

    def complete(self, code, position):
        from . import complete

        return complete.complete_with_ipython(self.shell, code, position)

    def inspect(self, code, position, name, level):
        if name is None:
            from . import inspection

            return inspection.inspect(self, code, position, None, level)
        try:
            bundle = self.shell.object_inspect_mime(name, detail_level=level)
        except KeyError:
            return {"found": False, "bundle": {}}
        return {"found": True, "bundle": encode_bundle(bundle)}

    def is_complete(self, code):
        status, indent = self.shell.input_transformer_manager.check_complete(code)
        return status, " " * (indent or 0)


class Profile(ProfileDir):
    """IPython's folder, of which nothing is made before something is put there (`%store`, for one)."""

    def _location_changed(self, change):
        self.startup_dir = os.path.join(self.location, "startup")

    def check_nothing(self, change=None):
        pass

    check_log_dir = check_startup_dir = check_security_dir = check_pid_dir = check_static_dir = check_nothing


def ipython_folder():
    return os.environ.get("IPYTHONDIR") or os.path.expanduser("~/.ipython")


def run_on_loop(coroutine):
    from . import loop

    return loop.run(coroutine)
