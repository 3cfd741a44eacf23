"""The references of a prompt: expressions of the live namespace, and shell commands.

In: expressions and commands. Out: one entry for each, in order. Invariants: each is evaluated once, a name and a call
in the interpreter itself, anything else in a confined copy (`d['k']` may create an entry, `o.a` may run code); one that
uses an undefined name is not evaluated; a failing one has its error in its own entry and the others are still
evaluated; a user's interrupt ends them all.
Absent on purpose: the use of the texts, which is the host's.
"""

import os
import select
import sys
from time import monotonic

from . import figures, pictures, truncate, watchdog
from .wire import interrupts

LONGEST = 8 << 20  # characters of one text: what the host keeps of it
STR_LIMIT = 5  # seconds
DRAWING_LIMIT = 30  # seconds
SHELL_LIMIT = 30  # seconds
# seconds after which a command that has ended is not listened to any more: what it left running may never end
QUIET = 0.2
TOP_LEVEL_AWAIT, COROUTINE = 0x2000, 0x80
MOST_ERRORS = 2000  # characters of a failed command's standard error in the text


def evaluate(variables, shells, engine):
    open_figures = figures.open_numbers()
    try:
        return {
            "variables": [evaluate_variable(expression, engine) for expression in variables],
            "shells": [run_shell(command) for command in shells],
        }
    finally:
        figures.close_except(open_figures)


def evaluate_variable(expression, engine):
    ns = engine.ns
    try:
        code, live, missing = compile_expression(expression.strip(), ns)
    except Exception as error:
        return failure_entry(expression, error)
    if missing:
        return {"expression": expression, "undefined": missing}
    if live:
        return evaluate_code(expression, code, engine)
    from . import snapshot

    entry = snapshot.run_in_copy(lambda: evaluate_code(expression, code, engine), engine.host)
    sys.stdout.write(entry.pop("printed", ""))
    if "error" not in entry:
        return entry
    name, text = entry["error"]["ename"], entry["error"]["evalue"]
    if name == "KeyboardInterrupt":
        raise KeyboardInterrupt
    return {"expression": expression, "type": name, "text": "Error: %s" % text, "failed": True}


def evaluate_code(expression, code, engine):
    try:
        value = eval(code, engine.ns)
        if code.co_flags & COROUTINE or (type(value).__name__ == "coroutine" and "(" in expression):
            from . import loop, tools

            value = loop.run(tools.await_value(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        engine.host.exit_if_child(error)
        return failure_entry(expression, error)
    entry = {"expression": expression, "type": watchdog.type_name(value)}
    try:
        entry["text"] = truncate.truncate(str.__str__(watchdog.run_within(STR_LIMIT, str, value)), LONGEST)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        entry["text"], entry["failed"] = watchdog.describe_failure(error, "str()", STR_LIMIT), True
    try:
        entry["image"] = watchdog.run_within(DRAWING_LIMIT, pictures.data_url, value)
    except Exception:
        pass  # its text stands
    return entry


def failure_entry(expression, error):
    if isinstance(error, SyntaxError):
        error = SyntaxError(error.msg)  # the place means nothing in a line this short
    return {
        "expression": expression,
        "type": type(error).__name__,
        "text": watchdog.describe_failure(error, "it", 0),
        "failed": True,
    }


def compile_expression(expression, ns):
    """The code of an expression, whether it is a name or a call, and the names it uses that do not exist, in order."""
    flags = TOP_LEVEL_AWAIT
    if expression.isidentifier():
        code = compile(expression, "<reference>", "eval", flags, True)
        return code, True, [] if is_defined(expression, ns) else [expression]
    import ast

    tree = compile(expression, "<reference>", "eval", ast.PyCF_ONLY_AST | flags, True)
    bound, used = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            bound.add(node.id) if isinstance(node.ctx, ast.Store) else used.setdefault(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    missing = [name for name in used if name not in bound and not is_defined(name, ns)]
    outermost = tree.body.value if isinstance(tree.body, ast.Await) else tree.body
    return compile(tree, "<reference>", "eval", flags, True), isinstance(outermost, ast.Call), missing


def is_defined(name, ns):
    import builtins

    return name in ns or hasattr(builtins, name) or name in ("True", "False", "None")


def run_shell(command):
    """Standard output of a command, or `Error: …`; of one that failed both."""
    import subprocess

    interrupts.hold()  # an interrupt during the start would leave an unknown process
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        interrupts.release()
        return watchdog.describe_failure(error, "it", 0)
    ended = False
    try:
        interrupts.release()
        output, errors, ended = read_output(process)
    finally:
        if not ended:
            kill_group(process)
        process.stdout.close()
        process.stderr.close()
    text = output.text().rstrip()
    if not ended:
        note = "Error: the command took longer than %d s and was ended" % SHELL_LIMIT
    elif process.returncode:
        note = "Error: %s" % exit_description(process.returncode)
        said = errors.text().strip()
        if said:
            note += ": " + (
                said if len(said) <= MOST_ERRORS else said[: MOST_ERRORS // 2] + " … " + said[-MOST_ERRORS // 2 :]
            )
    else:
        return text
    return text + "\n" + note if text else note


def read_output(process):
    """(output, errors, whether it came to its end in time)."""
    output, errors = truncate.TruncatedStream(LONGEST), truncate.TruncatedStream(2 * MOST_ERRORS)
    streams = {process.stdout.fileno(): output, process.stderr.fileno(): errors}
    deadline = monotonic() + SHELL_LIMIT
    poller = select.poll()
    for fd in streams:
        poller.register(fd, select.POLLIN)
    while streams:
        left = deadline - monotonic()
        if left <= 0:
            return output, errors, False
        ready = poller.poll(min(left, QUIET) * 1000)
        for fd, _event in ready:
            data = os.read(fd, 1 << 16)
            streams[fd].add(data)
            if not data:
                poller.unregister(fd)
                del streams[fd]
        if not ready and process.poll() is not None:
            return output, errors, True
    import subprocess

    try:
        process.wait(max(0.0, deadline - monotonic()))
    except subprocess.TimeoutExpired:
        return output, errors, False
    return output, errors, True


def kill_group(process):
    """Kills a command and all it started."""
    try:
        os.killpg(process.pid, 9)
    except OSError:
        pass
    process.wait()


def exit_description(code):
    if code >= 0:
        return "exit status %d" % code
    import signal

    try:
        return "ended by %s" % signal.Signals(-code).name
    except ValueError:
        return "ended by signal %d" % -code
