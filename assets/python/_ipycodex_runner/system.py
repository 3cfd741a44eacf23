"""Programs started from cells: in the foreground on the cell's own streams, or captured.

In: command text. Out: exit codes, lines. Invariants: a foreground program keeps the terminal until it ends, Ctrl-C is
its business first (as under a shell: only its death by SIGINT interrupts the cell); the host hears when it begins and
ends.
Absent on purpose: job control.
"""

import os
import re
import signal
import sys

from . import wire

KILLED_BY_INTERRUPT = -signal.SIGINT
SAYS_INTERRUPTED = 130  # how a shell reports that for what ran in it


class Lines(list):
    """The lines of a captured command. `.n` is the text, `.s` the lines joined by blanks, `.p` paths."""

    returncode = 0

    @property
    def n(self):
        return "\n".join(self)

    nlstr = n

    @property
    def s(self):
        return " ".join(self)

    spstr = s

    @property
    def l(self):
        return list(self)

    @property
    def p(self):
        from pathlib import Path

        return [Path(line) for line in self if os.path.exists(line)]

    def grep(self, pattern, prune=False):
        found = re.compile(pattern, re.IGNORECASE)
        return Lines(line for line in self if bool(found.search(line)) != prune)

    def fields(self, *numbers):
        rows = [line.split() for line in self]
        if not numbers:
            return rows
        return Lines(" ".join(row[number] for number in numbers if -len(row) <= number < len(row)) for row in rows)


def shell_program():
    return os.environ.get("SHELL") or "/bin/sh"


def wait(process):
    """Waits as a shell does: an interrupt goes to the program; if that is what ends it, the cell is interrupted too.
    That it ended so is proof enough: on a busy machine it may have ended before Python has looked at its own signal."""
    wire.interrupts.hold()
    interrupted = False
    wire.interrupts.notify_program = interrupt_group
    try:
        code = process.wait()
        interrupted = wire.interrupts.pending
        wire.interrupts.pending = False
    finally:
        wire.interrupts.notify_program = None
        wire.interrupts.release()
    if code == KILLED_BY_INTERRUPT or (interrupted and code == SAYS_INTERRUPTED):
        raise KeyboardInterrupt
    return code


def interrupt_group():
    """An interrupt for all that runs in front, as the host sends it."""
    try:
        os.kill(-os.getpid(), signal.SIGINT)
    except OSError:
        pass  # the runner leads no group, so the host sends it no signal


def foreground(host, command, **options):
    """Runs a program on the cell's own streams; returns its exit code (negative: killed by that signal)."""
    import subprocess

    wire.flush_streams()
    host.frames.announce_program("own")
    try:
        process = subprocess.Popen(command, **options)
        return wait(process)
    finally:
        host.frames.announce_program("back")


def run(host, command):
    """`!command`."""
    if not os.path.exists(shell_program()):
        return foreground(host, command, shell=True)
    return foreground(host, command, shell=True, executable=shell_program())


def capture(host, command):
    """`x = !command`: standard output and errors as lines."""
    import subprocess

    wire.flush_streams()
    process = subprocess.Popen(
        command,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=None if host.pty else subprocess.DEVNULL,
    )
    try:
        data = process.communicate()[0]
    except BaseException:
        process.terminate()
        process.wait()
        raise
    lines = Lines(data.decode(sys.getfilesystemencoding(), "replace").splitlines())
    lines.returncode = process.returncode
    return lines


NAME = re.compile(r"\$([^\W\d]\w*(?:\.[^\W\d]\w*)*)")


def expand(text, ns, names=()):
    """Replaces `{expression}` and `$name` by their values; what does not evaluate stays, for the shell."""
    if "{" not in text and "$" not in text:
        return text
    scope = dict(names) if names else {}
    result, position, quoted, doubled = [], 0, False, 0
    while position < len(text):
        char = text[position]
        if text.startswith("{{", position) or (doubled and text.startswith("}}", position)):
            doubled += 1 if char == "{" else -1
            result.append(char)
            position += 2
            continue
        if char == "{" and text[position - 1 : position] != "$":
            end = find_closing(text, position)
            value = evaluate(text[position + 1 : end], ns, scope) if end > position + 1 else None
            if value is not None:
                result.append(value)
                position = end + 1
                continue
        elif char == "$" and not quoted:
            if text.startswith("$$", position):
                result.append("$")
                match = NAME.match(text, position + 1)
                position = match.end() if match else position + 2
                if match:
                    result.append(match.group(1))
                continue
            match = NAME.match(text, position)
            value = lookup(match.group(1), ns, scope) if match else None
            if value is not None:
                result.append(value)
                position = match.end()
                continue
        elif char == "'":
            quoted = not quoted
        result.append(char)
        position += 1
    return "".join(result)


def find_closing(text, position):
    depth = 0
    for index in range(position, len(text)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if not depth:
                return index
    return -1


def evaluate(expression, ns, scope):
    """The text of `{expression!conversion:format}`, or None."""
    try:
        return str(eval(expression.strip(), ns, scope or None))
    except SyntaxError:
        pass
    except Exception:
        return None
    try:
        from _string import formatter_parser

        (_text, field, form, conversion), *rest = formatter_parser("{%s}" % expression)
        if rest or field is None:
            return None
        value = eval(field.strip(), ns, scope or None)
        value = {"r": repr, "s": str, "a": ascii}.get(conversion, lambda same: same)(value)
        return format(value, form)
    except Exception:
        return None


def lookup(dotted, ns, scope):
    """The text of `$name` or `$name.attribute`; an unknown name is the shell's own variable. A trailing part that is no
    attribute stays text."""
    first, *rest = dotted.split(".")
    if first in scope:
        value = scope[first]
    elif first in ns:
        value = ns[first]
    else:
        return None
    for index, part in enumerate(rest):
        try:
            value = getattr(value, part)
        except Exception:
            return "%s.%s" % (value, ".".join(rest[index:]))
    try:
        return str(value)
    except Exception:
        return None
