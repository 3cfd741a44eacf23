"""Magics about folders, the environment, files and the history of inputs. In and out: see `magics`."""

import os
import sys

from .magics import UsageError, options, status

earlier = []  # working directories left behind


def line_cd(shell, line, names):
    target = line.strip()
    quiet = target.startswith("-q")
    target = target[2:].strip() if quiet else target
    if len(target) > 1 and target[0] == target[-1] and target[0] in "'\"":
        target = target[1:-1]
    elif "\\" in target and not os.path.exists(os.path.expanduser(target)):
        import re

        target = re.sub(r"\\(.)", r"\1", target)  # as Tab writes a blank
    if target == "-":
        if not earlier:
            raise UsageError("No previous directory to change to.")
        target = earlier[-1]
    try:
        before = os.getcwd()
    except OSError:
        before = None
    os.chdir(os.path.expanduser(target or "~"))
    if before and before != os.getcwd():
        earlier.append(before)
    if not quiet:
        print(os.getcwd())
    status(shell, "cd", path=os.getcwd())


def line_dhist(shell, line, names):
    """Working directories so far, the current one last."""
    print("Directory history")
    for number, path in enumerate(earlier + [os.getcwd()]):
        print("%d: %s" % (number, path))


def line_rerun(shell, line, names):
    """Runs inputs again: a range, or the last one."""
    before = [item for item in selected(shell.engine, line.split()) if not item[1].lstrip("% ").startswith("rerun")]
    chosen = before if line.strip() else before[-1:]
    if not chosen:
        raise UsageError("no input to run again")
    text = "\n".join(item[1].rstrip("\n") for item in chosen)
    print("=== Executing: ===\n%s\n=== Output: ===" % text, flush=True)
    shell.engine.run(text, shell.engine.new_filename(shell.engine.current))


def line_pwd(shell, line, names):
    return os.getcwd()


def line_ls(shell, line, names):
    from . import system

    colour = " --color=auto" if shell.engine.host.pty and sys.platform.startswith("linux") else ""
    system.run(shell.engine.host, "ls -F%s %s" % (colour, line))


def line_ll(shell, line, names):
    line_ls(shell, "-l " + line, names)


def line_env(shell, line, names):
    if not line.strip():
        return dict(sorted(os.environ.items()))
    if "=" in line or " " in line.strip():
        return line_set_env(shell, line, names)
    if line.strip() not in os.environ:
        raise UsageError("Environment does not have key: %s" % line.strip())
    return os.environ[line.strip()]


def line_set_env(shell, line, names):
    name, sign, value = line.partition("=")
    if not sign:
        name, _blank, value = line.strip().partition(" ")
    name, value = name.strip(), value.strip()
    if not name or any(char.isspace() for char in name):
        raise UsageError("usage: %set_env var val")
    os.environ[name] = value
    print("env: %s=%s" % (name, value))
    status(shell, "env", key=name)


def selected(engine, ranges):
    """Inputs `3`, `1-4`, `2:5` (end excluded) or all, as (number, text)."""
    inputs = engine.inputs
    if not ranges:
        return [(number, text) for number, text in enumerate(inputs) if number and text]
    found = []
    for part in ranges:
        dash = "-" if "-" in part else ":" if ":" in part else None
        try:
            if dash:
                first, last = part.split(dash, 1)
                end = (int(last) if last else len(inputs) - 1) + (1 if dash == "-" or not last else 0)
                numbers = range(int(first or 1), end)
            else:
                numbers = (int(part),)
        except ValueError:
            raise UsageError("%s: not a range of inputs" % part) from None
        found += [(number, inputs[number]) for number in numbers if 0 < number < len(inputs)]
    return found


def line_history(shell, line, names):
    flags, rest = options(line, "notpu", "lgf")
    engine = shell.engine
    if "g" in flags:
        from fnmatch import fnmatch

        pattern = "*%s*" % " ".join([flags["g"]] + rest)
        chosen = [item for item in selected(engine, ()) if fnmatch(item[1], pattern)]
    elif "l" in flags:
        chosen = selected(engine, ())[-int(flags["l"]) :]
    else:
        chosen = selected(engine, rest)
    lines = []
    for number, text in chosen:
        lines.append(("%d: " % number if "n" in flags else "") + text.rstrip("\n"))
        if "o" in flags and number in engine.outputs:
            lines.append(repr(engine.outputs[number]))
    if "f" in flags:
        with open(os.path.expanduser(flags["f"]), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    elif lines:
        print("\n".join(lines))


def source_of(shell, target, names):
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
    if target[:1].isdigit():
        return "\n".join(text.rstrip("\n") for _number, text in selected(shell.engine, target.split())) + "\n"
    try:
        found = eval(target, shell.user_ns, dict(names) or None)
    except Exception:
        raise UsageError("%r: no such file, input or object" % target) from None
    if isinstance(found, str):
        return found
    import inspect

    return inspect.getsource(found)


def line_load(shell, line, names):
    flags, rest = options(line, "yn", "rs")
    if not rest:
        raise UsageError("%load needs a file, a URL, inputs or an object")
    text = source_of(shell, " ".join(rest), names)
    if "r" in flags:
        first, _dash, last = flags["r"].replace(":", "-").partition("-")
        rows = text.splitlines(True)
        text = "".join(rows[int(first or 1) - 1 : int(last) if last else None])
    shell.set_next_input("# %%load %s\n%s" % (line.strip(), text))


def line_recall(shell, line, names):
    if not line.strip():
        shell.set_next_input(str(shell.user_ns.get("_", "")))
    else:
        shell.set_next_input("\n".join(text.rstrip("\n") for _number, text in selected(shell.engine, line.split())))


def line_pycat(shell, line, names):
    shell.engine.host.send({"type": "page", "bundle": {"text/plain": source_of(shell, line.strip(), names)}})


def line_edit(shell, line, names):
    """Opens $EDITOR on a file, inputs, an object's source or nothing; what was written runs."""
    import tempfile

    from . import system

    flags, rest = options(line, "xr", "n")
    target = " ".join(rest)
    path = os.path.expanduser(target)
    temporary = not (target and (os.path.exists(path) or path.endswith(".py")))
    if temporary:
        text = source_of(shell, target, names) if target else ""
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


def line_save(shell, line, names):
    flags, rest = options(line, "afr")
    if not rest:
        raise UsageError("%save needs a file name and the inputs to save")
    path = os.path.expanduser(rest[0] if rest[0].endswith((".py", ".ipy")) else rest[0] + ".py")
    ranges = rest[1:]
    chosen = selected(shell.engine, ranges)
    if not ranges:
        chosen = [item for item in chosen if item[0] != shell.engine.current]
    if not chosen:
        raise UsageError("no input to save in %s" % " ".join(ranges))
    if os.path.exists(path) and not {"a", "f"} & set(flags):
        raise UsageError("File `%s` exists. Use -f to overwrite or -a to append." % path)
    text = "".join(item[1].rstrip("\n") + "\n" for item in chosen)
    with open(path, "a" if "a" in flags else "w", encoding="utf-8") as file:
        file.write(text if "a" in flags else "# coding: utf-8\n" + text)
    print("The following commands were written to file `%s`:" % path)
    print(text, end="")


