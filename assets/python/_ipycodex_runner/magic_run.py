"""Magics that run code: timing, files, installing, debugging, reloading, plotting. In and out: see `magics`."""

import os
import sys

from . import stdlib
from .magics import UsageError, parse_options, send_status, split_words


def format_duration(seconds, digits=3):
    if seconds >= 60:
        parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
        return " ".join("%d%s" % part for part in parts if part[0] >= 1)
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("μs", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            return "%.*g %s" % (digits, seconds / size, unit)


class Clock:
    """Prints how long the `with` block took."""

    def __enter__(self):
        from time import perf_counter

        self.now, self.before = perf_counter, cpu_times()
        self.began = perf_counter()

    def __exit__(self, *_error):
        self.wall = self.now() - self.began
        user, system = (after - before for after, before in zip(cpu_times(), self.before))
        sys.stdout.flush()
        print(
            "CPU times: user %s, sys: %s, total: %s\nWall time: %s"
            % (
                format_duration(user),
                format_duration(system),
                format_duration(user + system),
                format_duration(self.wall),
            )
        )


def cpu_times():
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime


def parse_leading_options(line, valued, flags, repeated=""):
    """({option: value or True}, rest) of a line whose rest is code: options are read by hand, the rest is left as it
    is. Those in `repeated` have lists of values; one in quotes may have blanks."""
    found = {}
    while line.startswith("-") and line[1:2].isalpha():
        option, _blank, line = line.partition(" ")
        line = line.lstrip()
        letter, value = option[1], option[2:]
        if letter in valued:
            if not value and line[:1] in ("'", '"') and line[:1] in line[1:]:
                value, _quote, line = line[1:].partition(line[0])
                line = line.lstrip()
            elif not value:
                value, _blank, line = line.partition(" ")
                line = line.lstrip()
            if not value:
                raise UsageError("option -%s requires argument" % letter)
            if letter in repeated:
                found.setdefault(letter, []).append(value)
            else:
                found[letter] = value
        elif set(option[1:]) <= set(flags):
            found.update(dict.fromkeys(option[1:], True))
        else:
            raise UsageError("option %s not recognized" % option)
    return found, line


def compile_text(shell, text, whole=False):
    """Code of a magic's argument, line syntax included, and the last expression's code, unless all is in one."""
    import _ast

    from . import syntax

    flags = 0x400 | shell.engine.future_flags
    name = shell.engine.new_filename(shell.engine.current)
    try:
        tree = compile(text, name, "exec", flags, True)
    except SyntaxError:
        changed = syntax.transform(text, shell.engine)
        if changed is None:
            raise
        tree = compile(changed, name, "exec", flags, True)
    shell.engine.cache_source(name, text)
    value = None
    if not whole and tree.body and isinstance(tree.body[-1], _ast.Expr) and not text.rstrip().endswith(";"):
        value = compile(_ast.Expression(tree.body.pop().value), name, "eval", shell.engine.future_flags, True)
    return compile(tree, name, "exec", shell.engine.future_flags, True), value


def run_timed(shell, text, names):
    code, value = compile_text(shell, text)
    scope = dict(names) if names else None
    result, clock = None, Clock()
    try:
        with clock:
            exec(code, shell.user_ns, scope)
            if value is not None:
                result = eval(value, shell.user_ns, scope)
    finally:
        send_status(shell, "time", seconds=clock.wall)
    return result


def line_time(shell, line, names):
    """Runs a statement once and says how long it took."""
    return run_timed(shell, line, names)


def cell_time(shell, line, cell, names):
    """Runs the cell once and says how long it took."""
    return run_timed(shell, line + "\n" + cell, names)


class TimeitResult:
    """The runs of `%timeit`: seconds for one loop each."""

    def __init__(self, loops, runs, digits=3):
        self.loops, self.all_runs, self.digits = loops, runs, digits
        self.timings = [run / loops for run in runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / len(self.timings)
        self.stdev = (sum((one - self.average) ** 2 for one in self.timings) / len(self.timings)) ** 0.5

    def __str__(self):
        runs = len(self.timings)
        return "%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)" % (
            format_duration(self.average, self.digits), format_duration(self.stdev, self.digits), runs,
            "" if runs == 1 else "s", format(self.loops, ","), "" if self.loops == 1 else "s",
        )  # fmt: skip

    def _repr_pretty_(self, printer, cycle):
        printer.text("<TimeitResult : %s>" % self)

    def __repr__(self):
        return "<TimeitResult : %s>" % self


def run_timeit(shell, line, setup_and_body, names):
    import timeit

    flags, rest = parse_leading_options(line, "nrp", "qotcv")
    try:
        numbers = {letter: int(value) for letter, value in flags.items() if letter in "nrp"}
    except ValueError:
        raise UsageError("-n, -r and -p take a number") from None
    if not rest and setup_and_body is None:
        raise UsageError("%timeit needs a statement")
    setup, body = (rest or "pass", setup_and_body) if setup_and_body is not None else ("pass", rest)
    from . import syntax

    body = syntax.transform(body, shell.engine) or body
    scope = dict(shell.user_ns, **names) if names else shell.user_ns
    from time import process_time

    timer = timeit.Timer(body, setup, *([process_time] if "c" in flags else []), globals=scope)
    loops, repeats = numbers.get("n", 0), numbers.get("r", 7)
    if not loops:
        for power in range(10):
            loops = 10**power
            if timer.timeit(loops) >= 0.2:
                break
    result = TimeitResult(loops, timer.repeat(repeats, loops), numbers.get("p", 3))
    if "q" not in flags:
        if result.best and result.worst > 4 * result.best and result.worst > 1e-6:
            print(
                "The slowest run took %.2f times longer than the fastest: something may be cached, or the machine is "
                "busy." % (result.worst / result.best)
            )
        print(result)
    send_status(shell, "timeit", seconds=result.average)
    return result if "o" in flags else None


def line_timeit(shell, line, names):
    """Runs a statement often and says how long one run takes. -n N: loops; -r N: runs; -o: as a value; -q: says
    nothing; -p N: digits; -c: processor time."""
    return run_timeit(shell, line.strip(), None, names)


def cell_timeit(shell, line, cell, names):
    """Runs the cell often, its first line once as set-up; options as of `%timeit`."""
    return run_timeit(shell, line.strip(), cell, names)


def line_run(shell, line, names):
    """Runs a file as a script, or with -m a module, and takes its names over, also when it fails. -i: in this
    namespace; -n: its `__name__` is not `__main__`; -e: what it exits with does not matter; -t: how long it takes; -p:
    profiled, with the options of `%prun`; -d: in the debugger; -G: `*` stays `*`, as it does in quotes."""
    flags, rest = parse_options(line, "ineptdGrq", "mDTls", last="m")
    if "p" in flags:
        check_keys(flags)
    if "m" in flags:
        rest = rest[1:] if rest[:1] == ["--"] else rest
        with ScriptEnvironment(
            [flags["m"]] + (rest if "G" in flags else expand_arguments(rest, line)), None, sys.modules["__main__"]
        ):
            return run_script(shell, flags, lambda: run_module(shell, flags["m"]), None, None)
    if not rest:
        raise UsageError("%run needs a file")
    target = os.path.expanduser(rest[0])
    if not os.path.exists(target) and os.path.exists(target + ".py"):
        target += ".py"
    if not os.path.isfile(target):
        raise UsageError("File `%s` not found." % target)
    if target.endswith((".ipy", ".ipynb")):
        from .magic_files import read_source

        shell.engine.run(read_source(shell, target, names), target)
        return
    path = os.path.abspath(target)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", 0, True)
    module = shell.user_module
    if "i" not in flags:
        module = type(sys)("__main__" if "n" not in flags else os.path.splitext(os.path.basename(target))[0])
    scope = vars(module)
    scope["__file__"] = path
    scope.setdefault("get_ipython", shell.engine.get_ipython)  # scripts made of notebooks call it
    scope.setdefault("__builtins__", sys.modules["builtins"])
    arguments = rest[1:] if "G" in flags else expand_arguments(rest[1:], line)
    with ScriptEnvironment(
        [target] + arguments, os.path.dirname(path), module if "n" not in flags else sys.modules["__main__"]
    ):
        try:
            run_script(shell, flags, lambda: exec(code, scope), code, scope)
        finally:
            if "i" in flags:
                del scope["__file__"]
            else:
                adopt_names(shell, scope)


def expand_arguments(given, line):
    """Arguments with `~` and, outside of quotes, patterns of file names replaced."""
    from glob import glob, has_magic

    from .magics import quoted_words

    kept, result = quoted_words(line), []
    for word in given:
        path = os.path.expanduser(word)
        if word in kept:
            kept.remove(word)
            result.append(path)
        else:
            result += (sorted(glob(path)) if has_magic(path) else []) or [path]
    return result


def run_module(shell, name):
    import runpy

    adopt_names(shell, runpy.run_module(name, None, "__main__", True))


stdlib.for_users.add(run_module.__code__)


def adopt_names(shell, scope):
    shell.user_ns.update(
        (name, value) for name, value in scope.items() if not (name.startswith("__") and name.endswith("__"))
    )


class ScriptEnvironment:
    """Sets `sys` up for a script and restores it afterwards."""

    def __init__(self, argv, folder, main):
        self.argv, self.folder, self.main = argv, folder, main

    def __enter__(self):
        self.before = list(sys.argv), list(sys.path), sys.modules["__main__"]
        sys.argv[:] = self.argv
        if self.folder is not None:
            sys.path.insert(0, self.folder)
        sys.modules["__main__"] = self.main

    def __exit__(self, *_error):
        sys.argv[:], sys.path[:], sys.modules["__main__"] = self.before


def run_script(shell, flags, run, code, scope):
    """Runs a script in the way its options say."""
    from . import debug

    try:
        if "p" in flags:
            run_profiled(lambda profile: profile.runcall(run), flags)
        elif "d" in flags and code is not None:
            debug.run(code, scope)
        elif "t" in flags:
            with Clock():
                run()
        else:
            run()
    except SystemExit as error:
        shell.engine.host.exit_if_child(error)
        if error.code not in (None, 0) and "e" not in flags:
            from . import tracebacks

            error.__traceback__ = None
            shell.engine.host.send(dict(tracebacks.describe(error, {}, shell.engine.host.pty), type="error"))


def line_pip(shell, line, names):
    """Runs pip (or uv) for this Python; what it installs can be imported at once."""
    import importlib
    import importlib.util
    import shutil

    from . import system

    arguments = split_words(line)
    command = [sys.executable, "-m", "pip"] + arguments
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        command = ["uv", "pip"] + arguments + (["--python", sys.executable] if arguments[:1] != ["--version"] else [])
    if (
        arguments[:1] == ["uninstall"]
        and not {"-y", "--yes"} & set(arguments)
        and not shell.engine.host.pty
        and "uv" != command[0]
    ):
        command.append("-y")
    before = set(sys.modules)
    code = system.foreground(shell.engine.host, command)
    if code:
        raise UsageError("pip ended with code %d" % code)
    importlib.invalidate_caches()
    if arguments[:1] == ["install"]:
        names = {
            word.split("[")[0].split("=")[0].split("<")[0].split(">")[0].replace("-", "_").lower()
            for word in arguments[1:]
            if not word.startswith("-")
        }
        changed = sorted(
            name for name in before if name.split(".")[0].lower() in names and not name.startswith("_ipycodex")
        )
        for name in changed:
            del sys.modules[name]
    send_status(shell, "pip", arguments=arguments)


def line_uv(shell, line, names):
    """Runs uv."""
    from . import system

    system.run(shell.engine.host, "uv " + line)


def line_conda(shell, line, names):
    """Runs conda."""
    from . import system

    system.run(shell.engine.host, "conda " + line)


def line_pdb(shell, line, names):
    """The debugger starts after an error: on, off, or nothing for the other way round."""
    known = {"on": True, "1": True, "off": False, "0": False, "": not getattr(shell.engine, "post_mortem", False)}
    wanted = known.get(line.strip().lower())
    if wanted is None:
        raise UsageError("%pdb takes `on`, `off`, or no argument, which toggles it")
    shell.engine.post_mortem = wanted
    print("Automatic pdb calling has been turned", "ON" if wanted else "OFF")


def line_debug(shell, line, names):
    """Opens the debugger at the last error, or on a statement."""
    from . import debug

    if line.strip():
        debug.run(line, shell.user_ns)
        return
    if getattr(sys, "last_traceback", None) is None:
        raise UsageError("No traceback has been produced, nothing to debug.")
    debug.post_mortem(sys.last_traceback)


def cell_debug(shell, line, cell, names):
    """Runs the cell in the debugger."""
    from . import debug

    debug.run(cell, shell.user_ns)


def line_tb(shell, line, names):
    """The last traceback again."""
    if getattr(sys, "last_value", None) is None:
        raise UsageError("No previous exception.")
    from . import tracebacks

    print("\n".join(tracebacks.describe(sys.last_value, shell.engine.sources, shell.engine.host.pty)["traceback"]))


def line_autoreload(shell, line, names):
    """Reloads changed modules before each cell: 0 never, 1 those of `%aimport`, 2 all, now at once."""
    from . import reload

    reload.set_mode(shell.engine, line.strip())


def line_aimport(shell, line, names):
    """Imports modules that `%autoreload 1` reloads; `-name` takes one out."""
    from . import reload

    reload.aimport(shell, line)


def line_load_ext(shell, line, names):
    """Loads an IPython extension."""
    name = line.strip()
    if name == "autoreload":
        return
    if not name:
        raise UsageError("%load_ext needs a module")
    from . import reload

    module = reload.import_named(name)
    if not hasattr(module, "load_ipython_extension"):
        raise UsageError("The %s module is not an IPython extension." % name)
    module.load_ipython_extension(shell)


def line_matplotlib(shell, line, names):
    """Where figures are drawn: inline (nothing is the same), qt, tk, ...; --list tells them."""
    backend = line.strip().strip("'\"")
    if backend in ("--list", "-l"):
        print("Available matplotlib backends: ['agg', 'inline', 'qt', 'tk', 'gtk3', 'gtk4', 'wx', 'osx']")
        return
    chosen = {
        "": "Agg",
        "inline": "Agg",
        "agg": "Agg",
        "qt": "QtAgg",
        "qt5": "Qt5Agg",
        "tk": "TkAgg",
        "gtk": "GTK3Agg",
        "gtk3": "GTK3Agg",
        "gtk4": "GTK4Agg",
        "wx": "WXAgg",
        "osx": "MacOSX",
    }.get(backend.lower(), backend)
    import matplotlib

    matplotlib.use(chosen)
    os.environ["MPLBACKEND"] = chosen  # also of programs started from here


def run_profiled(run, found):
    """Runs under the profiler, then does what the options of `%prun` say. Gives the numbers with -r."""
    import cProfile
    import pstats
    from io import StringIO

    profile, left = cProfile.Profile(), ""
    try:
        run(profile)
    except SystemExit:
        left = "*** SystemExit exception caught in code being profiled."
    finally:
        text = StringIO()
        numbers = pstats.Stats(profile, stream=text).strip_dirs().sort_stats(*sort_keys(found))
        numbers.print_stats(*map(parse_limit, as_list(found, "l") or ["40"]))
        numbers.stream = sys.stdout
        text = text.getvalue().rstrip()
        if "q" not in found:
            print(text)
        if left:
            print(left)
        if "D" in found:
            file = os.path.expanduser(found["D"])
            profile.dump_stats(file)
            print("\n*** Profile stats marshalled to file %r.%s" % (file, left))
        if "T" in found:
            file = os.path.expanduser(found["T"])
            with open(file, "w", encoding="utf-8") as output:
                output.write(text)
            print("\n*** Profile printout saved to text file %r.%s" % (file, left))
    return numbers if "r" in found else None


def as_list(found, letter):
    value = found.get(letter, [])
    return value if isinstance(value, list) else [value]


def parse_limit(text):
    """A number of lines, a part of them, or what they have to contain."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def sort_keys(found):
    return as_list(found, "s") or ["time"]


def check_keys(found):
    """Raises UsageError for what nothing can be sorted by."""
    from pstats import Stats

    known = sorted(Stats.sort_arg_dict_default)
    for key in sort_keys(found):
        if not any(each.startswith(key) for each in known):
            raise UsageError("-s takes %s, not %r" % (", ".join(known), key))


def prun(shell, line, body):
    found, rest = parse_leading_options(line, "lDTs", "qr", repeated="ls")
    check_keys(found)
    text = rest if body is None else rest + "\n" + body
    code = compile_text(shell, text, whole=True)[0]
    return run_profiled(lambda profile: profile.runctx(code, shell.user_ns, shell.user_ns), found)


def line_prun(shell, line, names):
    """Profiles a statement. -l N: at most so many lines, or those that contain a text; -s KEY: sorted by it; -q: shows
    nothing; -D FILE: keeps the numbers, for `pstats`; -T FILE: keeps the text; -r: gives the numbers."""
    return prun(shell, line, None)


def cell_prun(shell, line, cell, names):
    """Profiles the cell; options as of `%prun`."""
    return prun(shell, line, cell)
