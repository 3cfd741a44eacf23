"""Start-up before the first cell: IPython's profile (`ipython_profile`), then the user's files.

In: the request `set_up`: the profile, IPython's command line flags, the files, in this order. Out: names in the
namespace; frames of what was printed and of what failed. Invariants: a failure names its file and the next step still
runs, until the user interrupts; no step can ask for input or exit the shell. Absent on purpose: which files exist and
whether the user trusts them, which the host knows.
"""

import os
import sys


class StartupExit:
    """`exit` and `quit` while the shell starts."""

    def __repr__(self):
        return "Use exit() at the prompt"

    def __call__(self, code=None, *_keep):
        raise SystemExit(code)


class StartupFiles:
    def __init__(self, engine, request):
        self.engine, self.host, self.request = engine, engine.host, request

    def set_up(self):
        """Does one step after the other; returns `ok` or `cancelled`."""
        ns, stand_in = self.engine.ns, StartupExit()
        kept = {name: ns[name] for name in ("exit", "quit") if name in ns}
        ns.update(dict.fromkeys(kept, stand_in))
        steps = self.steps()
        try:
            for name, step in steps:
                try:
                    step()
                except KeyboardInterrupt as error:
                    self.host.exit_if_child(error)
                    left = [name for name, _step in steps]
                    rest = "; not run: " + ", ".join(map(abbreviate, left)) if left else ""
                    self.notify("%s was interrupted%s" % (abbreviate(name), rest))
                    return "cancelled"
                except BaseException as error:
                    self.report_failure(name, error)
        finally:
            for name, value in kept.items():
                if ns.get(name) is stand_in:
                    ns[name] = value
        return "ok"

    def steps(self):
        """Names of what is to be done, each with the function that does it."""
        request = self.request
        if hasattr(self.engine, "shell"):
            from . import ipython_profile

            profile = ipython_profile.Profile(self, request)
            yield profile.name, profile.load
            for step in profile.steps():
                yield step
        else:
            for step in self.flag_steps():
                yield step
        for path in request.get("files") or ():
            yield path, lambda: self.run_file(path)

    def flag_steps(self):
        """IPython's command line flags, for the built-in engine."""
        request, shell = self.request, self.engine.get_ipython()
        if request.get("pdb"):
            self.engine.post_mortem = True
        if request.get("matplotlib") is not None:
            backend = request["matplotlib"].replace("auto", "")
            yield "--matplotlib", lambda: shell.run_line_magic("matplotlib", backend)
        for name in request.get("extensions") or ():
            yield "--ext " + name, lambda: shell.run_line_magic("load_ext", name)
        for option in request.get("options") or ():
            self.notify("`%s` has no effect: IPython is not in use" % option)

    def run_file(self, path):
        """Runs a file in the namespace, as a script in its folder; one of IPython's kind (`.ipy`) as cells; what the
        user has agreed to in place of what one of a project holds by now."""
        name, path = path, os.path.abspath(path)
        ns, argv, search = self.engine.ns, sys.argv[:], os.path.dirname(path)
        had = "__file__" in ns
        old = ns.get("__file__")
        ns["__file__"] = path
        sys.argv[:] = [path]
        sys.path.insert(0, search)
        try:
            text = (self.request.get("texts") or {}).get(name)
            if text is not None:
                exec(compile(text, path, "exec", 0, True), ns)
            elif path.endswith(".ipy"):
                with open(path, encoding="utf-8") as file:
                    self.run_cells(file.read(), (path, 1), path)
            else:
                import tokenize

                with tokenize.open(path) as file:
                    exec(compile(file.read(), path, "exec", 0, True), ns)
        finally:
            sys.argv[:] = argv
            if search in sys.path:
                sys.path.remove(search)
            if had:
                ns["__file__"] = old
            elif ns.get("__file__") == path:
                del ns["__file__"]

    def run_cells(self, code, place, name):
        """Runs text with IPython's syntax; its error has been shown by the engine."""
        outcome = self.engine.execute(code, False, False, None, place)
        if outcome == "cancelled":
            raise KeyboardInterrupt
        if outcome == "error":
            self.notify("%s failed; the shell goes on" % abbreviate(name))

    def report_failure(self, name, error):
        self.host.exit_if_child(error)
        if isinstance(error, SystemExit):
            code = "" if error.code in (None, 0) else error.code
            self.notify(
                "%s called exit(%s): the rest of it was not run; the shell continues" % (abbreviate(name), code)
            )
            return
        tb = error.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename != name:
            tb = tb.tb_next
        error.__traceback__ = tb or error.__traceback__
        shell = getattr(self.engine, "shell", None)
        if shell is not None and tb is not None:
            shell.showtraceback((type(error), error, tb), tb_offset=0)
        else:
            from . import tracebacks

            frame = tracebacks.describe(error, {}, self.host.pty)
            frame["type"] = "error"
            self.host.send(frame)
        self.notify("%s failed; the shell goes on" % abbreviate(name))

    def notify(self, text):
        self.host.send({"type": "notice", "text": text})


def abbreviate(name):
    home = os.path.expanduser("~")
    return "~" + name[len(home) :] if home != "/" and name.startswith(home + "/") else name
