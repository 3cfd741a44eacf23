"""Cell magics: scripts of other languages, capturing, writing files, rich text. In and out: see `magics`."""

import os
import shutil
import sys

from . import system
from .magics import UsageError, options, status, words


def script(shell, program, line, cell):
    """Runs the body through an interpreter on the cell's own streams. Options: `--out NAME`, `--err NAME`, `--no-raise-error`."""
    import subprocess

    arguments = words(line)
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
        pipes = {"stdout": subprocess.PIPE if "out" in captured else None, "stderr": subprocess.PIPE if "err" in captured else None}
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
    script(shell, ["bash"], line, cell)


def cell_sh(shell, line, cell, names):
    script(shell, ["sh"], line, cell)


def cell_python(shell, line, cell, names):
    script(shell, [sys.executable], line, cell)


def with_file(shell, program, cell, suffix):
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
    with_file(shell, ["perl"] + words(line), cell, ".pl")


def cell_ruby(shell, line, cell, names):
    with_file(shell, ["ruby"] + words(line), cell, ".rb")


def cell_script(shell, line, cell, names):
    program = words(line)
    if not program:
        raise UsageError("%%script needs a program")
    if shutil.which(program[0]) is None:
        raise UsageError("`%s` was not found" % program[0])
    with_file(shell, program, cell, ".txt")


class Captured:
    """What `%%capture` kept. Called, it shows it."""

    def __init__(self, stdout, stderr):
        self.stdout, self.stderr = stdout, stderr
        self.outputs = []

    def __str__(self):
        return self.stdout

    def __call__(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    show = __call__


def cell_capture(shell, line, cell, names):
    import io

    rest = [word for word in words(line) if not word.startswith("--")]
    engine = shell.engine
    saved = sys.stdout, sys.stderr, engine.show, sys.displayhook
    out, err = io.StringIO(), io.StringIO()
    sys.stdout, sys.stderr = out, err
    sys.displayhook = lambda value: None if value is None else out.write(repr(value) + "\n")
    try:
        engine.run(cell, engine.new_filename(engine.current))
    finally:
        sys.stdout, sys.stderr, _show, sys.displayhook = saved
        if rest:
            shell.user_ns[rest[0]] = Captured(out.getvalue(), err.getvalue())


def cell_writefile(shell, line, cell, names):
    flags, rest = options(line, "a")
    if len(rest) != 1:
        raise UsageError("%%writefile needs one file name")
    path = os.path.expanduser(rest[0])
    existed = os.path.exists(path)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a" if "a" in flags else "w", encoding="utf-8") as file:
        file.write(cell)
    print(("Appending to %s" if "a" in flags else "Overwriting %s" if existed else "Writing %s") % path)
    status(shell, "writefile", path=path)


def shown_as(mime):
    def show(shell, line, cell, names):
        from . import mime as bundles

        bundles.publish(shell.engine.host, {mime: cell, "text/plain": cell}, {})

    return show


cell_html = shown_as("text/html")
cell_markdown = shown_as("text/markdown")
cell_latex = shown_as("text/latex")
cell_svg = shown_as("image/svg+xml")
cell_javascript = shown_as("application/javascript")


def line_sx(shell, line, names):
    return system.capture(shell.engine.host, line)


def cell_sx(shell, line, cell, names):
    return system.capture(shell.engine.host, line + "\n" + cell)


def command(name):
    def line_command(shell, line, names):
        """The program of that name."""
        shell.user_ns["_exit_code"] = system.run(shell.engine.host, (name + " " + line).strip())

    return line_command


for each in ("cat", "clear", "cp", "less", "man", "mkdir", "more", "mv", "rm", "rmdir"):
    globals()["line_" + each] = command(each)
