"""Inspection of an object: for the inspection key (signature, the parameter at the cursor, doc) and for `obj?` and
`obj??` of the built-in engine.

In: a name, or code and a position. Out: {found, bundle}; the bundle holds plain text, and `INSPECTION`: {name, type,
signature, mark (start and end of a parameter in it, code points) or null, value, doc}. Invariants: never raises for a
strange object; looking at the cursor runs nothing of the user's (`live_objects`). Absent on purpose: colours.
"""

import inspect as python_inspect
import io
import re
import tokenize

from . import live_objects, mime

INSPECTION = "application/vnd.ipycodex.inspection+json"
SOURCE = "application/vnd.ipycodex.source+json"  # [text before, Python source]
SHORT = (int, float, complex, bool, str, bytes, type(None))
SIZED = (list, tuple, dict, set, frozenset)
WORD = re.compile(r"[^\W\d]\w*")
MAGIC = re.compile(r"\s*(%{1,2}[^\W\d]\w*)")


def inspect(engine, code, position, name, level):
    missing = {"found": False, "bundle": {}}
    target, value, call = (name, None, None) if name else find_at_cursor(engine.ns, code or "", position)
    if not target:
        return missing
    if target.startswith("%"):
        doc = get_magic_doc(engine, target)
        look = {"name": target, "type": "magic", "signature": "", "mark": None, "value": "", "doc": doc}
        return (
            {"found": True, "bundle": {"text/plain": "%s\n\n%s" % (target, doc), INSPECTION: look}} if doc else missing
        )
    if name:
        try:
            value = live_objects.evaluate(engine.ns, target) if "[" not in target else eval(target, engine.ns)
        except Exception:
            return missing
        rows, source = build_fields(target, value, level)
        bundle = {"text/plain": "\n".join(rows + ([source] if source else []))}
        if source:
            bundle[SOURCE] = ["\n".join(rows), source]
        return {"found": True, "bundle": bundle}
    look = describe(target, value, call)
    return {
        "found": True,
        "bundle": {"text/plain": look["name"] + look["signature"] + "\n\n" + look["doc"], INSPECTION: look},
    }


def find_at_cursor(ns, code, position):
    """The name at the position and its object; inside the brackets of a call, and unless something that can be called
    stands at the cursor, the function called and where in its arguments the cursor is."""
    line = code[:position].rpartition("\n")[2] + code[position:].partition("\n")[0]
    column = position - (code.rfind("\n", 0, position) + 1)
    match = MAGIC.match(line)
    if match and match.start(1) <= column <= match.end(1):
        return match.group(1), None, None
    word, at_word = "", None
    for each in WORD.finditer(line):
        if each.start() <= column <= each.end():
            word = line[live_objects.expression_start(line[: each.end()]) : each.end()]
            at_word = lookup(ns, word)
    if at_word is not None and live_objects.kind_of(at_word[0]) != "instance":
        return word, at_word[0], None
    for begin, commas, last in reversed(open_calls(code[:position])):
        called = code[
            live_objects.expression_start(code[:begin].rpartition("\n")[2]) + code.rfind("\n", 0, begin) + 1 : begin
        ]
        value = lookup(ns, called) if called else None
        if value is not None:
            keyword = re.match(r"\s*(\w+)\s*=(?!=)", code[last:position])
            return called, value[0], keyword.group(1) if keyword else commas
    return (word, at_word[0], None) if at_word is not None else ("", None, None)


def lookup(ns, text):
    """The object in a tuple, or None."""
    try:
        return (live_objects.evaluate(ns, text),)
    except LookupError:
        return None


def open_calls(before):
    """The brackets open at the end of the text: place, commas so far, where the last argument begins."""
    starts = [0]
    for each in before.splitlines(True):
        starts.append(starts[-1] + len(each))
    stack = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(before).readline):
            if token.type != tokenize.OP:
                continue
            at = starts[token.start[0] - 1] + token.start[1]
            if token.string in "([{":
                stack.append([at, 0, at + 1, token.string])
            elif token.string in ")]}" and stack:
                stack.pop()
            elif token.string == "," and stack:
                stack[-1][1:3] = [stack[-1][1] + 1, at + 1]
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # the text is not finished
    return [each[:3] for each in stack if each[3] == "("]


def describe(target, value, call):
    kind = live_objects.kind_of(value)
    signature = live_objects.signature_of(value)
    return {
        "name": target,
        "type": type(value).__name__ if kind == "instance" else kind,
        "signature": signature,
        "mark": find_parameter(value, signature, call) if call is not None and signature else None,
        "value": short_repr(value),
        "doc": get_doc(value, kind),
    }


def find_parameter(value, signature, call):
    """The span of a parameter in the signature, found by an argument's position or keyword."""
    begin, chosen = 1, None
    try:
        parameters = list(python_inspect.signature(value).parameters.values())
    except Exception:
        return None
    for number, each in enumerate(parameters):
        text = str(each)
        begin = signature.find(text, begin)
        if begin < 0:
            return None
        positional = each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        if (
            each.name == call
            or (positional and number == call)
            or (each.kind == each.VAR_POSITIONAL and type(call) is int and number <= call)
            or (each.kind == each.VAR_KEYWORD and type(call) is str and chosen is None)
        ):
            chosen = [begin, begin + len(text)]
        begin += len(text)
    return chosen


def short_repr(value):
    if type(value) in SHORT:
        text = repr(value) if not isinstance(value, (str, bytes)) or len(value) < 400 else repr(value[:400])
        return text if len(text) <= 200 else text[:197] + "..."
    return "%d items" % len(value) if type(value) in SIZED else ""


def get_doc(value, kind):
    try:
        if kind == "instance":
            return python_inspect.getdoc(type(value)) or ""
        return python_inspect.getdoc(value) or ""
    except Exception:
        return ""


def get_magic_doc(engine, target):
    kind = "cell" if target.startswith("%%") else "line"
    shell = getattr(engine, "shell", None)
    if shell is not None:
        function = shell.find_magic(target.lstrip("%"), kind)
    else:
        from . import magics

        function = magics.find(target.lstrip("%"), kind)
    if function is None:
        return ""
    return python_inspect.getdoc(function) or "Magic of the built-in engine."


def build_fields(target, value, level):
    rows = []
    if callable(value):
        try:
            rows.append("Signature: %s%s" % (target, python_inspect.signature(value)))
        except Exception:
            pass
    rows.append("Type:      %s" % type(value).__name__)
    if not callable(value):
        text = mime.safe_repr(value)
        rows.append("String form: %s" % (text if len(text) < 400 else text[:200] + "..." + text[-100:]))
        try:
            rows.append("Length:    %d" % len(value))
        except Exception:
            pass
    try:
        known = callable(value) or python_inspect.ismodule(value)
        rows.append("File:      %s" % python_inspect.getsourcefile(value if known else type(value)))
    except Exception:
        pass
    if level:
        try:
            return rows + ["Source:"], python_inspect.getsource(value)
        except Exception:
            pass
    try:
        doc = python_inspect.getdoc(value)
    except Exception:
        doc = None
    return rows + ["Docstring:", doc or "<no docstring>"], ""
