"""`obj?` and `obj??` without IPython. In: a name, or code and a position. Out: {found, bundle}. Never raises for a strange object.
Absent on purpose: colours."""

import inspect as python_inspect
import re

from . import mime

CHAIN = re.compile(r"%{0,2}[^\W\d][\w.]*")


def name_at(code, position):
    """The dotted name at the position, else the function whose brackets enclose it."""
    line = code[:position]
    for match in CHAIN.finditer(code):
        if match.start() <= position <= match.end():
            return match.group().rstrip(".")
    depth = 0
    for index in range(len(line) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(line[index], 0)
        if depth < 0:
            match = re.search(r"[^\W\d][\w.]*\s*$", line[:index])
            return match.group().strip() if match else ""
    return ""


def inspect(engine, code, position, name, level):
    missing = {"found": False, "bundle": {}}
    target = name if name else name_at(code or "", position)
    if not target:
        return missing
    if target.startswith("%"):
        from . import magics

        bare = target.lstrip("%")
        value = magics.find(bare, "cell" if target.startswith("%%") else "line")
        if value is None:
            return missing
        text = "%s\n\n%s" % (target, python_inspect.getdoc(value) or "Magic of the built-in engine.")
        return {"found": True, "bundle": {"text/plain": text}}
    from .complete import resolve

    try:
        value = resolve(engine, target) if "[" not in target else eval(target, engine.ns)
    except Exception:
        return missing
    return {"found": True, "bundle": {"text/plain": "\n".join(fields(target, value, level))}}


def fields(target, value, level):
    rows = []
    if callable(value):
        try:
            rows.append("Signature: %s%s" % (target.rpartition(".")[2], python_inspect.signature(value)))
        except Exception:
            pass
    rows.append("Type:      %s" % type(value).__name__)
    if not callable(value) and not python_inspect.ismodule(value):
        text = mime.plain(value)
        rows.append("String form: %s" % (text if len(text) < 400 else text[:200] + "..." + text[-100:]))
        try:
            rows.append("Length:    %d" % len(value))
        except Exception:
            pass
    try:
        rows.append("File:      %s" % python_inspect.getsourcefile(value))
    except Exception:
        pass
    if level:
        try:
            return rows + ["Source:", python_inspect.getsource(value)]
        except Exception:
            pass
    try:
        doc = python_inspect.getdoc(value)
    except Exception:
        doc = None
    return rows + ["Docstring:", doc or "<no docstring>"]
