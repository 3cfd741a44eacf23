"""Dry runs: cells run in a confined copy of the interpreter, and their effects are reported.

In: sources of cells. Out: what they print and show, the names they add, change or delete, the files they try to write,
their duration. Invariants: those of `snapshot`; the copy writes only in a folder of its own, which is removed
afterwards; it is ended at its time limit. Absent on purpose: effects other than on Python's names and files.
"""

import os
from time import perf_counter

from . import confine, file_audit, saved_variables, snapshot, stdlib, truncate, wire

LIMIT = 30  # seconds
MOST_COMPARED = 16 << 20  # bytes of a value that are looked at to see a change in it
MOST_NAMES = 200


def run_trial(cells, unprotected, engine, host):
    """The `trial` of an answer."""
    why = confine.probe()[1]
    if why is not None and not unprotected:
        return {"unprotected": why}
    import tempfile

    file_audit.install()
    folder = tempfile.mkdtemp(prefix="ipycodex-try-")
    began = perf_counter()
    trial = snapshot.run_in_copy(lambda: run(cells, engine, host, folder), host, folder, LIMIT)
    trial["ms"] = round((perf_counter() - began) * 1000, 1)
    return trial


class TrialFrames(snapshot.FrameCollector):
    """Values are shown where they come, like all else."""

    def send(self, frame, _ordered=True):
        if frame["type"] == "result":
            self.show(frame["bundle"])
        else:
            snapshot.FrameCollector.send(self, frame)

    defer = send


def run(cells, engine, host, folder):
    """Runs the cells, in the copy."""
    os.environ["TMPDIR"] = folder
    tempfile = stdlib.get_loaded("tempfile")
    if tempfile is not None:
        tempfile.tempdir = folder
    shown = TrialFrames()
    host.send, host.defer, host.ask = shown.send, shown.defer, lambda frame: None
    before = capture_names(engine)
    file_audit.current = files = []
    resets = []
    for number, cell in enumerate(cells):
        if cell.get("reset"):
            reset_names(engine)
            rerun_setup(engine, shown)
            resets.append(number + 1)
        if engine.execute(cell["code"], False, False, None, None) != "ok":
            break
    file_audit.current = None
    names = diff_names(before, capture_names(engine))
    bundles = [truncate_bundle(part) for part in shown.pictures]
    told = {
        "pictures": bundles,
        "names": names,
        "resets": resets,
        "begun": engine.setup_request is not None,
        "files": [name for name in files if not name.startswith(folder)],
    }
    if shown.error is not None:
        told["error"] = shown.error
    return told


def reset_names(engine):
    """Empties the namespace as in a new interpreter; imported modules stay loaded."""
    own = capture_names(engine)
    for name in list(engine.ns):
        if name in own or name.strip("_").replace("i", "", 1).isdigit():
            del engine.ns[name]
    for name in ("Out", "_oh"):
        if isinstance(engine.ns.get(name), dict):
            engine.ns[name].clear()


def rerun_setup(engine, shown):
    """Runs the start-up files and IPython's profile again."""
    if engine.setup_request is None:
        return
    from . import startup_files

    startup_files.StartupFiles(engine, engine.setup_request).set_up()
    if shown.error is not None:  # a new interpreter goes on, too
        print("start-up failed: %s: %s" % (shown.error["ename"], shown.error["evalue"]))
        shown.error = None


def truncate_bundle(bundle):
    if "text/plain" in bundle:
        bundle["text/plain"] = truncate.truncate(snapshot.strip_escapes(bundle["text/plain"]), wire.MAX_PLAIN)
    return bundle


def capture_names(engine):
    """The value, fingerprint and description of each of the user's names."""
    ns = engine.ns
    return {
        name: (ns[name], fingerprint(ns[name]), describe_value(ns[name])) for name in saved_variables.user_names(engine)
    }


def diff_names(before, after):
    found = []
    for name in sorted(set(before) | set(after)):
        old, new = before.get(name), after.get(name)
        if old is None:
            found.append({"name": name, "change": "added", "now": new[2]})
        elif new is None:
            found.append({"name": name, "change": "deleted", "was": old[2]})
        elif old[0] is not new[0] and (old[1] is None or old[1] != new[1]) or old[1] != new[1]:
            found.append({"name": name, "change": "changed", "was": old[2], "now": new[2]})
    return found[:MOST_NAMES]


def fingerprint(value):
    """A key that is equal for equal values; None where comparing is too expensive."""
    try:
        size = getattr(value, "nbytes", None)
        if type(value).__module__.partition(".")[0] in ("numpy", "pandas") or isinstance(size, int):
            if hasattr(value, "tobytes") and size <= MOST_COMPARED:
                return type(value), describe_value(value), hash(value.tobytes())
        if callable(value) or type(value).__name__ == "module":
            return type(value), id(value)
        import pickle

        limited = HashingFile()
        pickle.Pickler(limited, 4).dump(value)
        return type(value), limited.digest
    except BaseException:
        return None


class HashingFile:
    """A file that keeps a hash of what is written to it, and takes no more than is looked at."""

    digest = left = None

    def __init__(self):
        self.digest, self.left = 0, MOST_COMPARED

    def write(self, data):
        self.left -= len(data)
        if self.left < 0:
            raise ValueError("too large")
        self.digest = hash((self.digest, bytes(data)))


def describe_value(value):
    """Type and size."""
    name = type(value).__name__
    try:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return "%s %s" % (name, " × ".join(map(str, shape)) or "scalar")
        if isinstance(value, (str, bytes, bytearray, list, tuple, dict, set, frozenset)):
            return "%s of %d" % (name, len(value))
    except Exception:
        pass
    return name


def format_report(trial):
    """The lines of text below the output of a dry run."""
    lines = [
        "! cell %d starts a new interpreter: in this dry run the earlier names are gone, but imported modules stay%s"
        % (number, "; start-up files have run" if trial.get("begun") else "")
        for number in trial.get("resets", ())
    ]
    signs = {"added": "+", "changed": "~", "deleted": "-"}
    for change in trial.get("names", ()):
        what = " → ".join(change[key] for key in ("was", "now") if key in change)
        lines.append("%s %s: %s" % (signs[change["change"]], change["name"], what))
    for name in trial.get("files", ()):
        started = name.startswith("process: ")
        lines.append(("tried to start " + name[9:]) if started else "tried to write " + name)
    if "names" in trial and not trial["names"]:
        lines.append("no names would change")
    lines.append("dry run: %.0f ms in a copy; your session is unchanged" % trial.get("ms", 0))
    return "\n".join(lines)


def answer(request, engine, host):
    """The answer to a request: as of a look (`snapshot`), what is told being printed last."""
    trial = run_trial(request["cells"], bool(request.get("unprotected")), engine, host)
    if "unprotected" in trial:
        return {"snapshot": trial}
    parts = trial.get("pictures")
    parts = parts if isinstance(parts, list) else []
    return {"snapshot": {"printed": format_text(trial), "bundle": parts[0] if parts else {}, "parts": parts}}


def format_text(trial):
    lines = trial["printed"]
    error = trial.get("error")
    try:
        if error is not None:
            lines += "\n".join(error["traceback"] or ["%s: %s" % (error["ename"], error["evalue"])]) + "\n"
        report = format_report(trial)
    except (AttributeError, KeyError, TypeError):
        report = "dry run: no report, since the code wrote where its results are written; your session is unchanged"
    return lines + ("" if lines.endswith("\n") or not lines else "\n") + report


def show(code, engine, host):
    """`%%try`: a person's cell."""
    trial = run_trial([{"code": code}], False, engine, host)
    if "unprotected" in trial:
        print("not run: %s, so nothing would keep the cell from changing files" % trial["unprotected"])
        return
    for bundle in trial.get("pictures", ()):
        host.send({"type": "display", "bundle": bundle, "metadata": {}})
    print(format_text(trial))


def cell_try(shell, _line, cell, _names):
    """The same in the built-in engine: runs the cell in a copy that can change nothing, and tells what it would do."""
    show(cell, shell.engine, shell.engine.host)
