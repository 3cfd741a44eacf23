"""Cell magics: scripts of other languages, capturing, writing files, rich text. In and out: see `magics`."""

import os
import shutil
import sys

from . import system
from .magics import UsageError, parse_options, send_status, split_words


def run_script(shell, program, line, cell):
    """Runs the body through an interpreter on the cell's own streams. Options: `--out NAME`, `--err NAME`,
    `--no-raise-error`."""
    import subprocess

    arguments = split_words(line)
    captured = {}
    raising = True
    rest = []
    while arguments:
        word = arguments.pop(0)
        if word in ("--out", "--err") and arguments:
            captured[word[2:]] = arguments.pop(0)
        elif word == "--no-raise-error":
            raising = False
        else:
            rest.append(word)
    host = shell.engine.host
    if captured:
        pipes = {
            "stdout": subprocess.PIPE if "out" in captured else None,
            "stderr": subprocess.PIPE if "err" in captured else None,
        }
        result = subprocess.run(program + ["-c", cell] + rest, stdin=None if host.pty else subprocess.DEVNULL, **pipes)
        for kind, name in captured.items():
            shell.user_ns[name] = (result.stdout if kind == "out" else result.stderr).decode("utf-8", "replace")
        code = result.returncode
    else:
        code = system.foreground(host, program + ["-c", cell] + rest)
    shell.user_ns["_exit_code"] = code
    if code and raising:
        raise subprocess.CalledProcessError(code, program[-1])


def cell_bash(shell, line, cell, names):
    """Runs the cell with bash. --out NAME, --err NAME: kept there; --no-raise-error."""
    run_script(shell, ["bash"], line, cell)


def cell_sh(shell, line, cell, names):
    """Runs the cell with sh; options as of `%%bash`."""
    run_script(shell, ["sh"], line, cell)


def cell_python(shell, line, cell, names):
    """Runs the cell in a Python of its own; options as of `%%bash`."""
    run_script(shell, [sys.executable], line, cell)


def run_file(shell, program, cell, suffix):
    import subprocess
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=suffix, encoding="utf-8") as file:
        file.write(cell)
        file.flush()
        code = system.foreground(shell.engine.host, program + [file.name])
    shell.user_ns["_exit_code"] = code
    if code:
        raise subprocess.CalledProcessError(code, program[0])


def cell_perl(shell, line, cell, names):
    """Runs the cell with perl."""
    run_file(shell, ["perl"] + split_words(line), cell, ".pl")


def cell_ruby(shell, line, cell, names):
    """Runs the cell with ruby."""
    run_file(shell, ["ruby"] + split_words(line), cell, ".rb")


def cell_script(shell, line, cell, names):
    """Runs the cell with a program: `%%script PROGRAM ARGUMENTS`."""
    program = split_words(line)
    if not program:
        raise UsageError("%%script needs a program")
    if shutil.which(program[0]) is None:
        raise UsageError("`%s` was not found" % program[0])
    run_file(shell, program, cell, ".txt")


class Shown:
    """One display that was captured."""

    def __init__(self, host, bundle, metadata):
        self.host, self.data, self.metadata = host, bundle, metadata or {}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata

    def __repr__(self):
        return self.data.get("text/plain", "<display>")

    def display(self):
        from . import mime

        mime.publish(self.host, self.data, self.metadata)


class Captured:
    """What `%%capture` kept. Called, it shows it."""

    def __init__(self, stdout, stderr, outputs):
        self.stdout, self.stderr, self.outputs = stdout, stderr, outputs

    def __str__(self):
        return self.stdout

    def __call__(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for each in self.outputs:
            each.display()

    show = __call__


def cell_capture(shell, line, cell, names):
    """Keeps what the cell prints and displays, under a name if one is given. --no-stdout, --no-stderr, --no-display:
    that goes on its way."""
    import io

    from . import figures, mime

    given = split_words(line)
    passing = [word for word in given if word.startswith("--")]
    rest = [word for word in given if word not in passing]
    unknown = set(passing) - {"--no-stdout", "--no-stderr", "--no-display"}
    if unknown or len(rest) > 1:
        raise UsageError("unrecognized arguments: %s" % " ".join(sorted(unknown) or rest[1:]))
    engine = shell.engine
    host = engine.host
    saved = sys.stdout, sys.stderr, sys.displayhook, vars(host).get("send")
    storing = engine.storing
    out, err, outputs, send = io.StringIO(), io.StringIO(), [], host.send

    def kept(frame, ordered=True):
        if frame["type"] == "display":
            outputs.append(Shown(host, frame["bundle"], frame["metadata"]))
        else:
            send(frame, ordered)

    def shown(value):
        if value is not None:
            bundle, metadata = mime.build_bundle(value)
            if bundle is not None:
                outputs.append(Shown(host, bundle, metadata))

    if "--no-stdout" not in passing:
        sys.stdout = out
    if "--no-stderr" not in passing:
        sys.stderr = err
    if "--no-display" not in passing:
        sys.displayhook, host.send = shown, kept
        engine.storing = False
    try:
        engine.run(cell, engine.new_filename(engine.current))
        figures.publish(host)
    finally:
        sys.stdout, sys.stderr, sys.displayhook = saved[:3]
        engine.storing = storing
        if saved[3] is None:
            vars(host).pop("send", None)
        else:
            host.send = saved[3]
        if rest:
            shell.user_ns[rest[0]] = Captured(out.getvalue(), err.getvalue(), outputs)


def cell_writefile(shell, line, cell, names):
    """Writes the cell to a file. -a: to its end."""
    flags, rest = parse_options(line, "a")
    if len(rest) != 1:
        raise UsageError("%%writefile needs one file name")
    path = os.path.expanduser(rest[0])
    existed = os.path.exists(path)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a" if "a" in flags else "w", encoding="utf-8") as file:
        file.write(cell)
    print(("Appending to %s" if "a" in flags else "Overwriting %s" if existed else "Writing %s") % path)
    send_status(shell, "writefile", path=path)


def make_mime_magic(mime):
    def show(shell, line, cell, names):
        from . import mime as bundles

        bundles.publish(shell.engine.host, {mime: cell, "text/plain": cell}, {})

    show.__doc__ = "Shows the cell as %s." % mime
    return show


cell_html = make_mime_magic("text/html")
cell_markdown = make_mime_magic("text/markdown")
cell_latex = make_mime_magic("text/latex")
cell_svg = make_mime_magic("image/svg+xml")
cell_javascript = make_mime_magic("application/javascript")


def line_sx(shell, line, names):
    """The lines a shell command prints, as `!!command`."""
    return system.capture(shell.engine.host, line)


def cell_sx(shell, line, cell, names):
    """The lines the cell prints as a shell script."""
    return system.capture(shell.engine.host, line + "\n" + cell)


def make_command(name):
    def line_command(shell, line, names):
        """The program of that name."""
        shell.user_ns["_exit_code"] = system.run(shell.engine.host, (name + " " + line).strip())

    return line_command


for each in ("cat", "clear", "cp", "less", "man", "mkdir", "more", "mv", "rm", "rmdir"):
    globals()["line_" + each] = make_command(each)
