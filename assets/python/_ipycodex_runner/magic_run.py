"""Magics that run code: timing, files, installing, debugging, reloading, plotting. In and out: see `magics`."""

import os
import sys

from .magics import UsageError, options, status, words


def duration(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            return "%.3g %s" % (seconds / size, unit)


def compiled(shell, text):
    """Code of a magic's argument, line syntax included, and the last expression's code."""
    import _ast

    from . import syntax

    flags = 0x400 | shell.engine.future
    name = shell.engine.new_filename(shell.engine.current)
    try:
        tree = compile(text, name, "exec", flags, True)
    except SyntaxError:
        changed = syntax.transform(text, shell.engine)
        if changed is None:
            raise
        tree = compile(changed, name, "exec", flags, True)
    shell.engine.remember(name, text)
    value = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr) and not text.rstrip().endswith(";"):
        value = compile(_ast.Expression(tree.body.pop().value), name, "eval", shell.engine.future, True)
    return compile(tree, name, "exec", shell.engine.future, True), value


def timed(shell, text, names):
    from time import perf_counter, process_time

    code, value = compiled(shell, text)
    scope = dict(names) if names else None
    result = None
    cpu, wall = process_time(), perf_counter()
    try:
        exec(code, shell.user_ns, scope)
        if value is not None:
            result = eval(value, shell.user_ns, scope)
    finally:
        cpu, wall = process_time() - cpu, perf_counter() - wall
        sys.stdout.flush()
        print("CPU times: total: %s\nWall time: %s" % (duration(cpu), duration(wall)))
        status(shell, "time", seconds=wall)
    return result


def line_time(shell, line, names):
    if not line.strip():
        raise UsageError("%time needs a statement")
    return timed(shell, line, names)


def cell_time(shell, line, cell, names):
    return timed(shell, line + "\n" + cell if line.strip() else cell, names)


class TimeitResult:
    """The runs of `%timeit`: seconds for one loop each."""

    def __init__(self, loops, runs):
        self.loops, self.all_runs = loops, runs
        self.timings = [run / loops for run in runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / len(self.timings)
        self.stdev = (sum((one - self.average) ** 2 for one in self.timings) / len(self.timings)) ** 0.5

    def __str__(self):
        runs = len(self.timings)
        return "%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)" % (
            duration(self.average), duration(self.stdev), runs, "" if runs == 1 else "s", format(self.loops, ","), "" if self.loops == 1 else "s",
        )  # fmt: skip

    def _repr_pretty_(self, printer, cycle):
        printer.text("<TimeitResult : %s>" % self)

    def __repr__(self):
        return "<TimeitResult : %s>" % self


def measured(shell, line, setup_and_body, names):
    import timeit

    flags, rest = {}, line
    while rest.startswith("-"):
        option, _blank, rest = rest.partition(" ")
        rest = rest.lstrip()
        letter, value = option[1:2], option[2:]
        if letter in "nrp" and letter:
            if not value:
                value, _blank, rest = rest.partition(" ")
                rest = rest.lstrip()
            flags[letter] = int(value)
        elif letter in "qo" and letter:
            flags.update(dict.fromkeys(option[1:], True))
        else:
            raise UsageError("option -%s not recognized" % letter)
    setup, body = (rest or "pass", setup_and_body) if setup_and_body is not None else ("pass", rest)
    from . import syntax

    body = syntax.transform(body, shell.engine) or body
    scope = dict(shell.user_ns, **names) if names else shell.user_ns
    timer = timeit.Timer(body, setup, globals=scope)
    loops, repeats = flags.get("n", 0), flags.get("r", 7)
    if not loops:
        for power in range(10):
            loops = 10**power
            if timer.timeit(loops) >= 0.2:
                break
    result = TimeitResult(loops, timer.repeat(repeats, loops))
    if "q" not in flags:
        print(result)
    status(shell, "timeit", seconds=result.average)
    return result if "o" in flags else None


def line_timeit(shell, line, names):
    return measured(shell, line.strip(), None, names)


def cell_timeit(shell, line, cell, names):
    return measured(shell, line.strip(), cell, names)


def line_run(shell, line, names):
    import runpy

    flags, rest = options(line, "ineptd", "m")
    if "m" in flags:
        target, run = flags["m"], runpy.run_module
    else:
        if not rest:
            raise UsageError("%run needs a file")
        target, run = os.path.expanduser(rest.pop(0)), runpy.run_path
        if not os.path.exists(target) and os.path.exists(target + ".py"):
            target += ".py"
        if not os.path.isfile(target):
            raise UsageError("File `%s` not found." % target)
    if target.endswith((".ipy", ".ipynb")):
        from .magic_files import source_of

        shell.engine.run(source_of(shell, target, names), target)
        return
    initial = {name: value for name, value in shell.user_ns.items() if not name.startswith("__")} if "i" in flags else None
    saved_argv, saved_path, saved_main = list(sys.argv), list(sys.path), sys.modules["__main__"]
    sys.argv[:] = [target] + rest
    if "m" not in flags:
        sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
    try:
        result = run(target, initial, "__main__" if "n" not in flags else os.path.splitext(os.path.basename(target))[0], **({"alter_sys": True} if "m" in flags else {}))
        shell.user_ns.update((name, value) for name, value in result.items() if not (name.startswith("__") and name.endswith("__")))
    except SystemExit as error:
        if error.code not in (None, 0):
            print("SystemExit: %s" % (error.code,), file=sys.stderr)
    finally:
        sys.argv[:], sys.path[:] = saved_argv, saved_path
        sys.modules["__main__"] = saved_main


def line_pip(shell, line, names):
    import importlib
    import importlib.util
    import shutil

    from . import system

    arguments = words(line)
    command = [sys.executable, "-m", "pip"] + arguments
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        command = ["uv", "pip"] + arguments + (["--python", sys.executable] if arguments[:1] != ["--version"] else [])
    if arguments[:1] == ["uninstall"] and not {"-y", "--yes"} & set(arguments) and not shell.engine.host.pty and "uv" != command[0]:
        command.append("-y")
    before = set(sys.modules)
    code = system.foreground(shell.engine.host, command)
    if code:
        raise UsageError("pip ended with code %d" % code)
    importlib.invalidate_caches()
    if arguments[:1] == ["install"]:
        names = {word.split("[")[0].split("=")[0].split("<")[0].split(">")[0].replace("-", "_").lower() for word in arguments[1:] if not word.startswith("-")}
        changed = sorted(name for name in before if name.split(".")[0].lower() in names and not name.startswith("_ipycodex"))
        for name in changed:
            del sys.modules[name]
    status(shell, "pip", arguments=arguments)


def line_uv(shell, line, names):
    from . import system

    system.run(shell.engine.host, "uv " + line)


def line_conda(shell, line, names):
    from . import system

    system.run(shell.engine.host, "conda " + line)


def line_pdb(shell, line, names):
    wanted = {"on": True, "1": True, "off": False, "0": False}.get(line.strip().lower(), not getattr(shell.engine, "post_mortem", False))
    shell.engine.post_mortem = wanted
    print("Automatic pdb calling has been turned", "ON" if wanted else "OFF")


def line_debug(shell, line, names):
    from . import debug

    if line.strip():
        debug.run(line, shell.user_ns)
        return
    if getattr(sys, "last_traceback", None) is None:
        raise UsageError("No traceback has been produced, nothing to debug.")
    debug.post_mortem(sys.last_traceback)


def cell_debug(shell, line, cell, names):
    from . import debug

    debug.run(cell, shell.user_ns)


def line_tb(shell, line, names):
    if getattr(sys, "last_value", None) is None:
        raise UsageError("No previous exception.")
    from . import tracebacks

    print("\n".join(tracebacks.describe(sys.last_value, shell.engine.sources, shell.engine.host.pty)["traceback"]))


def line_autoreload(shell, line, names):
    from . import reload

    reload.set_mode(shell.engine, line.strip())


def line_aimport(shell, line, names):
    from . import reload

    reload.aimport(shell, line)


def line_load_ext(shell, line, names):
    import importlib

    name = line.strip()
    if name == "autoreload":
        return
    if not name:
        raise UsageError("%load_ext needs a module")
    module = importlib.import_module(name)
    if not hasattr(module, "load_ipython_extension"):
        raise UsageError("The %s module is not an IPython extension." % name)
    module.load_ipython_extension(shell)


def line_matplotlib(shell, line, names):
    backend = line.strip().strip("'\"")
    if backend in ("--list", "-l"):
        print("Available matplotlib backends: ['agg', 'inline', 'qt', 'tk', 'gtk3', 'gtk4', 'wx', 'osx']")
        return
    chosen = {"": "Agg", "inline": "Agg", "agg": "Agg", "qt": "QtAgg", "qt5": "Qt5Agg", "tk": "TkAgg", "gtk": "GTK3Agg", "gtk3": "GTK3Agg", "gtk4": "GTK4Agg", "wx": "WXAgg", "osx": "MacOSX"}.get(backend.lower(), backend)
    import matplotlib

    matplotlib.use(chosen)
    os.environ["MPLBACKEND"] = chosen  # also of programs started from here


def profiled(shell, text):
    import cProfile
    import pstats

    profile = cProfile.Profile()
    try:
        profile.runctx(text, shell.user_ns, shell.user_ns)
    finally:
        pstats.Stats(profile).sort_stats("time").print_stats(40)


def line_prun(shell, line, names):
    profiled(shell, line)


def cell_prun(shell, line, cell, names):
    profiled(shell, line + "\n" + cell)
