"""Magics about folders, the environment and files. In and out: see `magics`."""

import os
import sys

from .magics import UsageError, confirm, parse_options, send_status


def line_cd(shell, line, names):
    """Goes to a folder: `-` the one before, `-3` the third of `_dh`, `--text` the last one with that text; nothing:
    home. `-q`: no word."""
    folders = shell.engine.folders
    target = line.strip()
    quiet = target == "-q" or target.startswith("-q ")
    target = unquote(target[2:].strip() if quiet else target)
    if target == "-":
        if len(folders) < 2:
            raise UsageError("No previous directory to change to.")
        target = folders[-2]
    elif target.startswith("--"):
        found = [folder for folder in folders[-2::-1] if target[2:] in folder]
        if not found:
            raise UsageError("No matching directory for `%s` in the directory history." % target[2:])
        target = found[0]
    elif target.startswith("-"):
        try:
            target = folders[int(target[1:])]
        except (ValueError, IndexError):
            raise UsageError("Requested directory [%s] does not exist." % target[1:]) from None
    try:
        os.chdir(os.path.expanduser(target or "~"))
    except OSError as error:
        raise UsageError(str(error)) from None
    if folders[-1:] != [os.getcwd()]:
        folders.append(os.getcwd())
    if not quiet:
        print(os.getcwd())
    send_status(shell, "cd", path=os.getcwd())


def unquote(target):
    if len(target) > 1 and target[0] == target[-1] and target[0] in "'\"":
        return target[1:-1]
    if "\\" in target and not os.path.exists(os.path.expanduser(target)):
        import re

        return re.sub(r"\\(.)", r"\1", target)  # as Tab writes a blank
    return target


def line_dhist(shell, line, names):
    """Working directories so far: all, the last `n`, or from `n` to `m`."""
    folders = shell.engine.folders
    try:
        begin, end = ([0, len(folders)], [-int(line or 0), len(folders)], line.split())[min(2, len(line.split()))]
        chosen = range(len(folders))[int(begin) : int(end)]
    except ValueError:
        raise UsageError("%dhist takes no number, one or two") from None
    print("Directory history (kept in _dh)")
    for number in chosen:
        print("%d: %s" % (number, folders[number]))


def line_pwd(shell, line, names):
    """The working directory."""
    return os.getcwd()


def line_ls(shell, line, names):
    """Lists files."""
    from . import system

    colour = " --color=auto" if shell.engine.host.pty and sys.platform.startswith("linux") else ""
    system.run(shell.engine.host, "ls -F%s %s" % (colour, line))


def make_listing(shown, kept):
    def line_listing(shell, line, names):
        line_ls(shell, "-o %s%s" % (line, kept), names)

    line_listing.__doc__ = "Lists %s." % shown
    return line_listing


line_ll = make_listing("files, one a line", "")
line_lf = make_listing("files only", " | grep ^-")
line_lk = make_listing("links only", " | grep ^l")
line_ldir = make_listing("folders only", " | grep /$")
line_lx = make_listing("programs only", " | grep ^-..x")


def line_env(shell, line, names):
    """The environment, one variable of it (`%env NAME`), or sets one (`%env NAME=value`)."""
    if not line.strip():
        return dict(sorted(os.environ.items()))
    if "=" in line or " " in line.strip():
        return line_set_env(shell, line, names)
    if line.strip() not in os.environ:
        raise UsageError("Environment does not have key: %s" % line.strip())
    return os.environ[line.strip()]


def line_set_env(shell, line, names):
    """Sets a variable of the environment: `%set_env NAME=value`."""
    name, sign, value = line.partition("=")
    if not sign:
        name, _blank, value = line.strip().partition(" ")
    name, value = name.strip(), value.strip()
    if not name or any(char.isspace() for char in name):
        raise UsageError("usage: %set_env var val")
    os.environ[name] = value
    print("env: %s=%s" % (name, value))
    send_status(shell, "env", key=name)


def read_source(shell, target, names):
    """Text of a file, a URL, a range of inputs, or an object's source."""
    path = os.path.expanduser(target)
    for candidate in (path, path + ".py"):
        if os.path.isfile(candidate):
            with open(candidate, "rb") as file:
                data = file.read()
            if candidate.endswith(".ipynb"):
                import json

                cells = json.loads(data.decode("utf-8")).get("cells", ())
                return "\n\n".join("".join(cell["source"]) for cell in cells if cell.get("cell_type") == "code")
            from io import BytesIO
            from tokenize import detect_encoding

            try:
                encoding = detect_encoding(BytesIO(data).readline)[0]
            except SyntaxError:
                encoding = "utf-8"
            return data.decode(encoding, "replace")
    if target.startswith(("http://", "https://")):
        from urllib.request import urlopen

        with urlopen(target) as reply:
            return reply.read().decode("utf-8", "replace")
    from . import magic_history

    if magic_history.is_range(target):
        return magic_history.join_rows(magic_history.select_inputs(shell.engine, target)) + "\n"
    try:
        found = eval(target, shell.user_ns, dict(names) or None)
    except Exception:
        raise UsageError("%r: no such file, input or object" % target) from None
    if isinstance(found, str):
        return found
    import inspect

    return inspect.getsource(found)


def line_load(shell, line, names):
    """Puts a file, a URL, inputs (`%load 1-3`) or the source of an object into the next input. -r 1-4,7: these lines;
    -s NAME: these functions and classes."""
    flags, rest = parse_options(line, "yn", "rs")
    if not rest:
        raise UsageError("%load needs a file, a URL, inputs or an object")
    text = read_source(shell, " ".join(rest), names)
    if "r" in flags:
        text = "".join(select_lines(text, flags["r"]))
    if "s" in flags:
        text = select_definitions(text, flags["s"].split(","))
    shell.set_next_input("# %%load %s\n%s" % (line.strip(), text), replace=True)


def line_save(shell, line, names):
    """Writes inputs to a file: `%save NAME 1-4 ~2/3`, all of the session without ranges. -f: over what is there; -a: to
    its end."""
    from . import magic_history

    flags, rest = parse_options(line, "afr")
    if not rest:
        raise UsageError("%save needs a file name and the inputs to save")
    path = os.path.expanduser(rest[0] if rest[0].endswith((".py", ".ipy")) else rest[0] + ".py")
    ranges = " ".join(rest[1:])
    if ranges and not magic_history.is_range(ranges):
        text = read_source(shell, ranges, names)
    else:
        rows = magic_history.select_inputs(shell.engine, ranges)
        text = magic_history.join_rows(rows if ranges else [row for row in rows if row[1] != shell.engine.current])
    if not text:
        raise UsageError("no input to save in %s" % (ranges or "this session"))
    exists = os.path.exists(path)
    if (
        exists
        and not {"a", "f"} & set(flags)
        and not confirm("File `%s` exists. Overwrite" % path, "use -f to overwrite it, or -a to append")
    ):
        print("Operation cancelled.")
        return
    text = text.rstrip("\n") + "\n"
    with open(path, "a" if "a" in flags else "w", encoding="utf-8") as file:
        file.write(text if "a" in flags and exists else "# coding: utf-8\n" + text)
    print("The following commands were written to file `%s`:" % path)
    print(text, end="")
    sys.stdout.flush()


def select_lines(text, ranges):
    """Lines `3`, `1-4` (both ends), `2:5` (end excluded), several with commas."""
    rows = text.splitlines(True)
    for part in ranges.split(","):
        first, sign, last = part.partition("-" if "-" in part else ":")
        try:
            begin = int(first or 1)
            end = begin if not sign else int(last or len(rows)) - (sign == ":" and bool(last))
        except ValueError:
            raise UsageError("%s: not a range of lines" % part) from None
        yield from rows[max(0, begin - 1) : end]


def select_definitions(text, names):
    """The source of the functions and classes of these names."""
    import ast

    rows, found = text.splitlines(True), {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            begin = min([node.lineno] + [each.lineno for each in node.decorator_list])
            found[node.name] = "".join(rows[begin - 1 : node.end_lineno])
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError("no function or class %s there" % ", ".join(missing))
    return "\n".join(found[name] for name in names)


def line_pycat(shell, line, names):
    """Pages a file."""
    shell.engine.host.send({"type": "page", "bundle": {"text/plain": read_source(shell, line.strip(), names)}})


def line_edit(shell, line, names):
    """Opens $EDITOR on a file, inputs, an object's source or nothing; what was written runs."""
    import tempfile

    from . import system

    flags, rest = parse_options(line, "xr", "n")
    target = " ".join(rest)
    path = os.path.expanduser(target)
    temporary = not (target and (os.path.exists(path) or path.endswith(".py")))
    if temporary:
        text = read_source(shell, target, names) if target else ""
        handle, path = tempfile.mkstemp(".py", "ipycodex_edit_")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    if not shell.engine.host.pty:
        with open(path, encoding="utf-8") as file:
            shell.set_next_input(file.read())
        return None
    import shlex

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    code = system.foreground(shell.engine.host, shlex.split(editor) + [path])
    if code:
        raise UsageError("the editor `%s` ended with code %d" % (editor, code))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if temporary:
        os.unlink(path)
    if "x" not in flags and text.strip():
        print("Editing... done. Executing edited code...")
        shell.engine.run(text, path if not temporary else shell.engine.new_filename(shell.engine.current))
    return text if temporary else None
