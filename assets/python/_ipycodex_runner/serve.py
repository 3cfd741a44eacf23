"""The runner's main loop: takes requests one at a time, runs cells, answers everything else.

In: decoded requests (`requests.Requests`). Out: frames. Invariants: exactly one `done` per accepted `exec` or `set_up`
and one `answer` per other request; user code runs only between `interrupts.user = True` and `False`; the loop itself
survives any request.
Absent on purpose: what a cell or a magic means (`cells`, `ipython`), and anything imported that the first cell does not
need.
"""

import _signal
import os
import sys
from time import perf_counter

from . import host_watch, import_hooks, outputs, stdlib, wire
from .host import NO_PARENT, Host
from .wire import interrupts

LOOKUP_LIMIT = 2  # seconds for a completion or an inspection
# what may change what there is
RUNS_CODE = {"exec", "set_up", "tool", "comm", "evaluate", "express", "set", "variables"}
RECOVERIES = 5  # that fail one after the other
CUT_OFF = b"\na cell has closed the descriptors by which ipycodex drives this interpreter\n"
NO_WAY_ON = b"\nthis interpreter cannot go on: even an error cannot be shown (no memory left?)\n"
NO_IPYTHON = "IPython of %s cannot be loaded (%s); cells run without it"
# what is looked up for the keyboard
LOOKUPS = {"complete", "inspect", "is_complete", "missing"}
# answers that come after all output written so far
ORDERED = {"tool", "evaluate", "express", "snapshot", "trial", "branch", "comm", "variables", "look_back"}


def main(arguments):
    import faulthandler

    package = sys.modules[__package__]
    request_fd, frame_fd, nonce = int(arguments[0]), int(arguments[1]), arguments[2]
    request_fd, frame_fd = host_watch.move_high(request_fd, 198), host_watch.move_high(frame_fd, 199)
    script = arguments[arguments.index("--script") + 1 :] if "--script" in arguments else None
    arguments = arguments[: -len(script) - 1] if script else arguments
    pty, alone = "--pty" in arguments, "--alone" in arguments
    unprotected = confine_process(arguments[arguments.index("--confine") + 1]) if "--confine" in arguments else None
    wire.on_sigint.install()
    faulthandler.enable(2)
    faulthandler.register(_signal.SIGQUIT, 2)
    host = Host(request_fd, frame_fd, nonce, pty)
    host.confined = "--confine" in arguments and unprotected is None
    if "--handoff" in arguments:
        host.answer_handoff = lambda: answer_handoff(host)
        host.handoff_fd = host_watch.move_high(int(arguments[arguments.index("--handoff") + 1]), 197)
    if "--kernel" in arguments:
        host.kernel = arguments[arguments.index("--kernel") + 1]
    package.host = host
    from . import stdin

    if pty:
        from . import terminal

        terminal.save_settings()
        if sys.stdout is not None:
            stdin.open_stdout(True)
    else:
        outputs.use_pipes(alone)
    searches = not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
    module = sys.modules["__main__"] = type(sys)("__main__")
    if script:
        from . import cell_environment

        cell_environment.set_up_script(module, script, searches)
    module.__dict__["__builtins__"] = sys.modules["builtins"]
    import_hooks.watch_imports(package.parts.after_import, pty)
    stdin.watch_imports(package.parts.after_import)
    engine, version = make_engine(host, module, "--no-ipython" in arguments)
    package.engine = engine
    if searches and not alone:
        sys.path.insert(0, "")  # from here on, as in Python's own shell; what the start needs is never looked for there
    host.frames.send(
        {
            "type": "ready",
            "pid": os.getpid(),
            "python": "%d.%d.%d" % sys.version_info[:3],
            "executable": sys.executable,
            "ipython": version,
            "protocol": wire.PROTOCOL,
            "unprotected": unprotected,
            "ms": round((perf_counter() - package.started) * 1000, 3),
        },
        False,
    )
    if host.ipython_error is not None:
        host.frames.send({"type": "notice", "text": NO_IPYTHON % (sys.executable, host.ipython_error)}, False)
    try:
        interrupts.open_wakeup_pipe()
    except (OSError, ValueError):
        interrupts.wakeup_pipe = None  # no descriptors left: an interrupt may have to be pressed twice
    host_watch.start(host)
    if sys.version_info >= (3, 12):
        os.register_at_fork(before=ignore_own_threads)
    package.server = Server(host, engine, package.parts)
    package.server.serve()


def confine_process(folders):
    """Keeps this process from changing anything but files in `folders` (JSON), before any code of others runs; why it
    cannot, if so."""
    import json

    from . import confine

    return confine.confine_interpreter(json.loads(folders))


def ignore_own_threads():
    """Python warns of forks beside threads; ours take no locks that a child could miss. Beside the user's own it shall
    warn."""
    threading = stdlib.get_loaded("threading")
    if threading is None or threading.active_count() <= 1:
        import warnings

        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)


def answer_handoff(host):
    """Hands the prompt over, on the watching thread. True while more may come."""
    try:
        from . import handoff

        return handoff.answer(host)
    except Exception:
        os.close(host.handoff_fd)  # the host reads its end as a no
        return False


def make_engine(host, module, plain):
    """IPython's shell when it can be had, else the built-in engine."""
    if not plain:
        finder = sys.modules["_frozen_importlib_external"].PathFinder
        try:
            if finder.find_spec("IPython") is not None:
                from . import ipython

                return ipython.start(host, module)
        except Exception as error:  # a broken or ancient IPython must not cost the user the shell
            if os.environ.get("MPLBACKEND", "").startswith("module://matplotlib_inline"):
                del os.environ["MPLBACKEND"]
            host.ipython_error = "%s: %s" % (type(error).__name__, error)
    os.environ.setdefault("MPLBACKEND", "Agg")
    from . import cells

    return cells.Engine(host, module), None


def give_up(why):
    """Ends a process that can neither serve nor say so: as it is, it would try for ever."""
    try:
        os.write(2, why)
    finally:
        os._exit(1)


class Server:
    def __init__(self, host, engine, parts):
        self.host, self.engine, self.parts = host, engine, parts
        engine.setup_request = None  # the last request `set_up`
        self.on_idle = getattr(engine, "on_idle", None)
        self.request = None  # the one that is being carried out
        self.raised = None  # by a signal handler, outside of a cell
        self.unrecovered = 0  # errors since one was shown
        self.loop = None  # the module `loop`, once asyncio is in use
        self.checkpointer = None  # checkpoints, once they are wanted; first what ran before there was time to load them
        self.handlers = {
            "complete": self.complete,
            "inspect": self.inspect,
            "is_complete": self.is_complete,
            "tool": self.tool,
            "evaluate": self.evaluate,
            "express": self.express,
            "missing": self.missing,
            "snapshot": self.snapshot,
            "ping": lambda request: {"pong": True},
            "set": self.set,
            "comm": self.comm,
            "checkpoints": self.checkpoints,
            "look_back": self.look_back,
            "trial": self.trial,
            "branch": self.branch,
            "background": self.background,
            "variables": self.variables,
        }

    def serve(self):
        while True:
            try:
                self.serve_all()
                break
            except BaseException as error:  # of a signal handler
                self.raised = error
                try:
                    if not self.is_connected():
                        give_up(CUT_OFF)
                except MemoryError:
                    give_up(NO_WAY_ON)
                if self.unrecovered >= RECOVERIES:
                    give_up(NO_WAY_ON)
        branch = sys.modules.get(__package__ + ".branch")
        if branch is not None and branch.current is not None:
            branch.current.end()
        if self.parts.dirty or not sys.modules.keys().isdisjoint(("threading", "atexit")):
            from . import shutdown

            shutdown.exit_runner(0)
        wire.flush_streams()  # there is nothing to wait for and nothing to run at exit
        os._exit(0)

    def is_connected(self):
        """False when a cell has closed what it is driven by: nothing could be received, or told."""
        try:
            os.fstat(self.host.requests.fd)
            os.fstat(self.host.frames.fd)
        except OSError:
            return False
        return True

    def serve_all(self):
        goes_on = True
        while goes_on:
            if self.raised is not None:
                error, self.raised = self.raised, None
                self.unrecovered += 1
                self.recover(error)
                self.unrecovered = 0
            goes_on = self.serve_one()

    def serve_one(self):
        """Waits for a request and carries it out. False at the end."""
        requests = self.host.requests
        if self.parts.dirty:
            self.parts.save()
        if self.on_idle is not None and self.on_idle():
            self.on_idle = None
        if self.loop is None and stdlib.get_loaded("asyncio") is not None:
            from . import loop

            self.loop = loop
        if self.checkpointer is not None:
            self.checkpointer = self.checkpointer.on_idle(self)
        line = requests.next_line() if self.loop is None else self.loop.next_line(requests)
        if line is None:
            return False
        try:
            request = requests.parse(line)
        except ValueError as error:
            self.refuse("", "%s: %s" % (type(error).__name__, error))
            return True
        if request is None:
            return True
        kind = request.get("type", "exec")
        if kind == "exit":
            return False
        self.request, self.host.id, self.host.parent = request, request.get("id", ""), NO_PARENT
        cell_context = sys.modules.get(__package__ + ".cell_context")
        if cell_context is not None:
            cell_context.enter(self.host)
        if self.checkpointer is not None and kind in RUNS_CODE:
            self.checkpointer.on_begin(kind, request)
        if kind in ("exec", "set_up"):
            self.execute(request)
        elif kind == "take_back":
            self.take_back()
        elif kind in self.handlers:
            self.answer(self.handlers[kind], request)
        else:
            self.refuse(self.host.id, "unknown request type: %r" % (kind,))
        self.request = None
        return True

    def recover(self, error):
        """What a signal handler of the user's has raised outside of a cell is shown; the request that it has cut off
        is ended."""
        self.host.exit_if_child(error)
        stdlib.repair_builtins(True)
        outputs.print_error(error, self.engine, self.host)
        request = self.request
        if request is None or request.get("id", "") == self.host.frames.last_done:
            pass
        elif request.get("type", "exec") in ("exec", "set_up"):
            self.finish(request, "error", perf_counter(), b"")
        elif request.get("type") != "take_back":
            self.refuse(self.host.id, "%s, raised by a signal handler" % type(error).__name__)
        self.request = None

    def take_back(self):
        """Sends what was typed between the end of a cell and the moment the host saw it."""
        from . import terminal

        self.host.send({"type": "typed", "typeahead": terminal.encode_typeahead(terminal.restore())})

    def refuse(self, name, text):
        error = {"ename": "ProtocolError", "evalue": text, "traceback": []}
        self.host.frames.send({"type": "answer", "id": name, "error": error}, False)

    def answer(self, action, request):
        try:
            if request.get("type") in LOOKUPS:
                with stdlib.GenuineModules():
                    payload = action(request)
            else:
                payload = action(request)
        except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit) as error:
            self.host.exit_if_child(error)
            payload = {"error": {"ename": type(error).__name__, "evalue": error_text(error), "traceback": []}}
        self.host.exit_if_child()
        payload["type"] = "answer"
        self.host.id = request.get("id", "")
        self.host.send(payload, request.get("type") in ORDERED)

    def complete(self, request):
        engine, code, position = self.engine, request["code"], request["pos"]

        def look():
            from . import static_completion

            found = engine.complete(code, position)
            if request.get("engine") == "jedi":
                found = static_completion.complete(engine.ns, code, position, found)
            elif found:
                static_completion.warm_up()
            return found

        return {"completions": self.run_with_limit(look)}

    def inspect(self, request):
        arguments = request.get("code"), request.get("pos", 0), request.get("name"), request.get("level", 0)
        return {"inspection": self.run_with_limit(lambda: self.engine.inspect(*arguments))}

    def run_with_limit(self, look):
        """Runs a look-up under a time limit: `__dir__` and docs of objects may never end, and the cells wait."""
        from . import watchdog

        return self.run_user_code(lambda: watchdog.run_within(LOOKUP_LIMIT, look), False)

    def is_complete(self, request):
        status, indent = self.engine.is_complete(request["code"])
        return {"completeness": {"status": status, "indent": indent}}

    def tool(self, request):
        from . import tools

        if request["op"] == "describe":
            return self.run_user_code(lambda: {"tools": tools.describe(request["names"], self.engine.ns)})
        return self.run_beside_cells(request, lambda: tools.call(request["name"], request.get("args", {}), self.engine))

    def evaluate(self, request):
        from . import references

        return self.run_beside_cells(
            request, lambda: references.evaluate(request["variables"], request["shells"], self.engine)
        )

    def express(self, request):
        from . import user_expressions

        return self.run_beside_cells(request, lambda: user_expressions.evaluate(request["expressions"], self.engine))

    def missing(self, request):
        from . import bindings

        return {"missing": bindings.find_missing(request["sources"], self.engine.ns)}

    def snapshot(self, request):
        from . import snapshot

        look = lambda: {
            "snapshot": snapshot.evaluate(request["code"], bool(request.get("unprotected")), self.engine, self.host)
        }  # noqa: E731
        return self.run_beside_cells(request, look)

    def checkpoints(self, request):
        if self.checkpointer is None:
            from . import lazy_checkpoints

            self.checkpointer = lazy_checkpoints.LazyCheckpoints()
        return self.checkpointer.answer(request, self)

    def background(self, request):
        from . import background

        return self.run_user_code(lambda: background.answer(request, self), False)

    def look_back(self, request):
        from . import checkpoints, look_back

        there = self.checkpointer
        if there is None:
            there = checkpoints.Checkpoints(self)  # none are wanted: only the present can be asked
        elif not isinstance(there, checkpoints.Checkpoints):
            there = self.checkpointer = there.load(self)
        return self.run_beside_cells(request, lambda: look_back.answer(request, self, there))

    def trial(self, request):
        from . import trial

        look = lambda: trial.answer(request, self.engine, self.host)  # noqa: E731
        return self.run_beside_cells(request, look)

    def branch(self, request):
        from . import branch

        return self.run_beside_cells(request, lambda: branch.answer(request, self.engine, self.host))

    def variables(self, request):
        from . import saved_variables

        return self.run_beside_cells(request, lambda: saved_variables.answer(request, self.engine))

    def run_beside_cells(self, request, function):
        """Runs user code outside cells. It owns no terminal, so reads from one are refused or answered by the host."""
        host = self.host
        if wire.get_ident() != wire.MAIN:
            host.send({"type": "started"})
            return function()  # for a thread that waits for a turn (`host_calls`): the terminal is the main thread's
        host.stdin = "ask" if request.get("stdin") == "ask" else "refuse"
        interrupts.expect()
        if not host.pty:
            host.send({"type": "started"})
            return self.run_user_code(function)
        from . import stdin

        kept = stdin.detach_terminal(host.stdin)
        try:
            host.send({"type": "started"})
            return self.run_user_code(function)
        finally:
            stdin.restore_fd0(kept)

    def comm(self, request):
        from . import comms

        return self.run_beside_cells(request, lambda: comms.on_message(request))

    def set(self, request):
        values = request["values"]
        self.engine.set_names({name: value for name, value in values.items() if value is not None})
        for name in values:
            if values[name] is None:
                self.engine.ns.pop(name, None)
        return {"set": True}

    def run_user_code(self, function, theirs=True):
        """Calls `function` with interrupts on, and with what cells have made of builtins if it is `theirs`. An
        interrupt that arrives in the last moment is dropped with the flag."""
        if wire.get_ident() != wire.MAIN:
            return function()  # for a thread that waits for a turn (`host_calls`): signals are the main thread's
        restore_sigint()
        self.engine.ns.setdefault("__builtins__", sys.modules["builtins"])  # else `exec` would put the runner's there
        if theirs:
            stdlib.return_builtins()
        try:
            interrupts.begin()
            return function()
        finally:
            interrupts.user = False
            stdlib.repair_builtins()
            if sys.gettrace() is not None:
                from . import debug

                debug.end_stepping()

    def execute(self, request):
        host = self.host
        began = perf_counter()
        silent = bool(request.get("silent", False))
        store = bool(request.get("storeHistory", not silent))
        host.stdin = request.get("stdin") or ("terminal" if host.pty else "ask")
        host.dark = request.get("dark")
        if request.get("type") == "set_up" or not request.get("allowStdin", True):
            host.stdin = "refuse"
        typed = b""
        if host.pty:
            from . import stdin, terminal

            typed = terminal.restore()
            stdin.set_mode(host.stdin)
            if "pandas" in sys.modules:
                import_hooks.fit_pandas(sys.modules["pandas"])
        interrupts.expect()
        host.cell = host.id
        if "parent" in request:
            from . import kernel

            host.parent = kernel.parse_parent(request)
        host.send({"type": "started"})
        try:
            if request.get("cwd") is not None or request.get("env"):
                from . import cell_environment

                cell_environment.apply(request)
            place = (request["filename"], request["line"]) if "filename" in request else None
            if request.get("type") == "set_up":
                from . import startup_files

                self.engine.setup_request = request
                work = startup_files.StartupFiles(self.engine, request).set_up
            else:
                count = request.get("executionCount")
                work = lambda: self.engine.execute(request["code"], store, silent, count, place)  # noqa: E731
            if host.kernel is not None:
                from . import kernel

                work = kernel.wrap_with_loop(work)
            outcome = self.run_user_code(work)
            if request.get("last"):
                from . import shutdown

                self.run_user_code(shutdown.finish_script)
        except KeyboardInterrupt:
            # the interrupt fell between the cell's own handlers
            host.send({"type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": ["KeyboardInterrupt"]})
            outcome = "cancelled"
        except BaseException as error:
            self.host.exit_if_child(error)
            from . import tracebacks

            host.send(dict(tracebacks.describe(error, {}, False), type="error"))
            outcome = "error"
        self.host.exit_if_child()
        self.finish(request, outcome, began, typed)

    def finish(self, request, outcome, began, typed):
        """The end of a cell."""
        host, frames = self.host, self.host.frames
        host.cell, host.id = None, request.get("id", "")
        host_calls = sys.modules.get(__package__ + ".host_calls")
        if hasattr(host_calls, "on_cell_end"):  # a thread may be importing it
            host_calls.on_cell_end()
        if self.checkpointer is not None:
            self.checkpointer.on_end()
        host.dark = None
        done = {
            "type": "done",
            "status": "ok" if outcome == "ok" else "error",
            "executionCount": self.engine.count,
            "cancelled": outcome == "cancelled",
        }
        outputs.repair_streams(frames)
        if host.pty:
            from . import terminal

            done["typeahead"] = terminal.encode_typeahead(typed + terminal.restore())
        try:
            done["cwd"] = os.getcwd()
        except OSError:
            done["cwd"] = None
        done["ms"] = round((perf_counter() - began) * 1000, 3)
        host.send(done)
        self.request = None


def error_text(error):
    try:
        return str(error)
    except Exception:
        return "<unprintable %s>" % type(error).__name__


def restore_sigint():
    """Debuggers leave their own SIGINT handler behind; one that the user set stays."""
    interrupts.install_wakeup_fd()
    current = _signal.getsignal(_signal.SIGINT)
    if current is wire.on_sigint:
        return
    owner = type(getattr(current, "__self__", None))
    if current is wire.default_int_handler or any(base.__name__ == "Bdb" for base in owner.__mro__):
        _signal.signal(_signal.SIGINT, wire.on_sigint)
