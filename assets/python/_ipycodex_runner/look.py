"""A look: the value of code in a state of the interpreter, as a text, and a key that is equal for equal values.

In: code. Out: a value, or why there is none. Invariants: those of `snapshot`, under a time limit; of an interpreter
that is confined itself, only a fork changes. Absent on purpose: which states are asked (`look_back`).
"""

import _signal
import os
import re
import sys

from . import confine, forks, references, snapshot, truncate, wire

EACH = 10  # seconds
LONGEST = 4000  # characters of a value
PLACE = re.compile(r" \(<[^()]*, line \d+\)$")  # of a syntax error, which each state numbers in its own way
LIBRARIES = ("numpy", "pandas", "polars", "torch")  # whose values do not show all they hold


def look_at_present(code, engine, host):
    """The value in a fork of this process. Raises KeyboardInterrupt."""
    run_apart = run_in_fork if host.confined else snapshot.run_in_copy
    told = run_apart(lambda: evaluate(code, engine, host), host, None, EACH)
    if told.get("error", {}).get("ename") == "KeyboardInterrupt":
        raise KeyboardInterrupt
    return describe_answer(told)


def run_in_fork(work, host, _folder, limit):
    """As `snapshot.run_in_copy`, in a process that is confined already and cannot be so twice."""
    results, result, prints, output = snapshot.open_pipes(2, 210)
    parent = os.getpid()
    wire.flush_streams()
    child = forks.fork()
    if child == 0:
        try:
            confine.die_with_parent(parent)
            snapshot.isolate_streams(host, result, output, ())
            snapshot.tell(work, host, result)
        finally:
            os._exit(0)
    os.close(result)
    os.close(output)
    printed, found = truncate.TruncatedStream(snapshot.MOST_PRINTED), bytearray()
    try:
        snapshot.read_output(child, results, prints, found, printed, limit)
        told = snapshot.read_answer(found) or failed("ChildProcessError", "the copy ended without a value")
    except TimeoutError as error:
        told = failed("TimeoutError", str(error))
    finally:
        os.kill(child, _signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(results)
        os.close(prints)
    return dict(told, printed=snapshot.strip_escapes(printed.text()))


def failed(name, text):
    return {"error": {"ename": name, "evalue": text, "traceback": []}}


def answer_as_copy(host, data, mask):
    """The answer to a look, in a child of a waiting copy; SIGUSR1 stops it (SIGTERM is for the guard, which is forked
    with the handlers of this process)."""
    interrupts = wire.interrupts
    interrupts.held, interrupts.user = 0, True
    kept = _signal.getsignal(_signal.SIGUSR1)
    _signal.signal(_signal.SIGUSR1, on_stop)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    told = wire.decode(data.decode("ascii"))
    engine = sys.modules[__package__].engine
    if "digest" in told:
        from . import merge

        return merge.write_digests(merge.digest_names(engine), told["digest"])
    code = told["code"]

    def work():
        if kept is not None:
            _signal.signal(_signal.SIGUSR1, kept)
        return evaluate(code, engine, host)

    return describe_answer(snapshot.run_in_copy(work, host, None, EACH))


def on_stop(_number, _frame):
    if not wire.interrupts.held:
        raise KeyboardInterrupt
    wire.interrupts.pending = True


def evaluate(code, engine, host):
    """What `code` gives: the value of an expression, or what it raised; of other code what a cell would show."""
    try:
        compiled, _live, missing = references.compile_expression(code.strip(), engine.ns)
    except Exception:
        return evaluate_cell(code, engine, host)
    if missing:
        return {"undefined": missing}
    shown = snapshot.FrameCollector()
    host.send, host.defer, host.ask = shown.send, shown.defer, lambda frame: None
    value = eval(compiled, engine.ns)
    if compiled.co_flags & references.COROUTINE:
        from . import loop, tools

        value = loop.run(tools.await_value(value))
    formatter = getattr(getattr(engine, "shell", None), "display_formatter", None)
    if formatter is not None:
        text = formatter.formatters["text/plain"](value)
    else:
        from . import mime

        text = mime.format_repr(value)
    return describe_text(text, fingerprint(value), value is None)


def evaluate_cell(code, engine, host):
    told = snapshot.run(code, engine, host)
    if "error" in told:
        return told
    text = told["bundle"].get("text/plain", "")
    return describe_text(text, None, not text)


def describe_text(text, more, empty):
    text = snapshot.strip_escapes(text)
    return {"text": truncate.truncate(text, LONGEST), "key": "%x %s" % (hash(text), more), "empty": empty}


def fingerprint(value):
    """What tells two values apart whose texts are the same, where a text does not show all."""
    if type(value).__module__.partition(".")[0] not in LIBRARIES:
        return None
    from . import trial

    return hash(trial.fingerprint(value))


def describe_answer(told):
    """A value as the host gets it, from the answer of a copy, whose code may have written anything there."""
    if "undefined" in told:
        return {"text": "not defined", "key": "undefined"}
    error = told.get("error")
    if error is not None:
        if error.get("ename") == "TimeoutError" and not error.get("traceback"):
            return failure("it took longer than %g s" % EACH)
        text = PLACE.sub("", str(error.get("evalue")))
        return failure("%s: %s" % (error.get("ename"), truncate.truncate(text, LONGEST)))
    printed = truncate.truncate(told.get("printed", "").rstrip("\n"), LONGEST)
    text = "" if told.get("empty") and printed else str(told.get("text", ""))
    text = "\n".join(part for part in (printed, text) if part)
    return {"text": text, "key": "%s %s" % (told.get("key"), printed)}


def failure(text):
    return {"failed": True, "text": text, "key": text}
