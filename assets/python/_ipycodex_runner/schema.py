"""A callable's JSON schema for an agent. In: a callable. Out: (description, schema). Never raises: what cannot be told is left open.
Absent on purpose: validation of arguments."""

import inspect
import re
import sys
import typing

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", tuple: "array", set: "array", frozenset: "array", dict: "object", type(None): "null"}
GOOGLE = re.compile(r"^\s*(?:Args|Arguments|Parameters|Params):\s*$")
HEADING = re.compile(r"^\s*(?:Returns?|Raises|Yields|Examples?|Notes?|See Also|Attributes):?\s*$")


def of(function):
    try:
        doc = inspect.getdoc(function) or ""
        if not (inspect.isroutine(function) or isinstance(function, type)) and doc == (inspect.getdoc(type(function)) or ""):
            doc = inspect.getdoc(function.__call__) or doc
    except Exception:
        doc = ""
    notes = parameters_in(doc)
    for name, text in comments(function).items():
        notes.setdefault(name, text)
    properties, required, extra = {}, [], False
    try:
        signature = inspect.signature(function)
        target = function if inspect.isroutine(function) or isinstance(function, type) else function.__call__
        try:
            hints = typing.get_type_hints(target.__init__ if isinstance(target, type) else target)
        except Exception:
            hints = {}
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = True
                continue
            hint = hints.get(name, parameter.annotation)
            entry = {} if hint is parameter.empty or isinstance(hint, str) else type_schema(hint, 0)
            if name in notes:
                entry = dict(entry, description=notes[name])
            if parameter.default is parameter.empty:
                required.append(name)
            elif isinstance(parameter.default, (str, int, float, bool)) and parameter.default == parameter.default:
                entry = dict(entry, default=parameter.default)
            properties[name] = entry
    except Exception:
        extra = True
    schema = {"type": "object", "properties": properties, "required": required}
    if extra:
        schema["additionalProperties"] = True
    return doc, schema


def type_schema(hint, depth):
    try:
        return known(hint, depth) if depth < 6 else {}
    except Exception:
        return {}


def known(hint, depth):
    if hint in (typing.Any, object):
        return {}
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if hint is None:
        return {"type": "null"}
    origin, arguments = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if hasattr(hint, "__metadata__"):  # Annotated
        entry = type_schema(hint.__origin__, depth + 1)
        text = next((item for item in hint.__metadata__ if isinstance(item, str)), None)
        return dict(entry, description=text) if text else entry
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        options = [type_schema(item, depth + 1) for item in arguments]
        return {"anyOf": options} if len(options) > 1 else options[0]
    if origin is getattr(typing, "Literal", ()):
        kinds = {SIMPLE.get(type(item)) for item in arguments}
        entry = {"enum": list(arguments)}
        if len(kinds) == 1 and None not in kinds:
            entry["type"] = kinds.pop()
        return entry
    if isinstance(origin, type):
        if issubclass(origin, dict) or origin.__name__ in ("Mapping", "MutableMapping"):
            value = type_schema(arguments[1], depth + 1) if len(arguments) == 2 else {}
            return {"type": "object", "additionalProperties": value} if value else {"type": "object"}
        items = [item for item in arguments if item is not Ellipsis]
        if issubclass(origin, (list, set, frozenset, tuple)) or origin.__name__ in ("Sequence", "Iterable", "Collection"):
            if len(items) == 1:
                return {"type": "array", "items": type_schema(items[0], depth + 1)}
            return {"type": "array"}
    return class_schema(hint, depth)


def class_schema(hint, depth):
    import enum

    if not isinstance(hint, type):
        return {}
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if hasattr(hint, "__dataclass_fields__") or hasattr(hint, "__total__"):
        hints = typing.get_type_hints(hint)
        fields = getattr(hint, "__dataclass_fields__", None)
        if fields is not None:
            missing = sys.modules["dataclasses"].MISSING
            needed = [name for name, field in fields.items() if field.default is missing and field.default_factory is missing and field.init]
        else:
            needed = sorted(getattr(hint, "__required_keys__", hints if hint.__total__ else ()))
        return {"type": "object", "properties": {name: type_schema(item, depth + 1) for name, item in hints.items()}, "required": needed}
    for base, name in SIMPLE.items():
        if issubclass(hint, base):
            return {"type": name}
    return {}


def parameters_in(doc):
    """Descriptions of parameters in a Google, NumPy or Sphinx docstring."""
    found = {name: text.strip() for name, text in re.findall(r":param\s+(?:[\w\[\], ]+\s+)?(\w+):\s*(.+)", doc)}
    lines = doc.split("\n")
    for index, line in enumerate(lines):
        if GOOGLE.match(line):
            section(lines[index + 1 :], re.compile(r"^(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$"), found)
        elif re.match(r"^\s*(?:Other )?Parameters\s*$", line) and index + 1 < len(lines) and set(lines[index + 1].strip()) == {"-"}:
            section(lines[index + 2 :], re.compile(r"^(\s*)\*{0,2}(\w+)(?:\s*:.*)?()$"), found)
    return found


def section(lines, pattern, found):
    margin, name = None, None
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        match = pattern.match(line) if margin is None or indent == margin else None
        if HEADING.match(line) or (margin is not None and indent < margin) or (margin == indent and match is None):
            return
        if match:
            margin, name = indent, match.group(2)
            found[name] = match.group(3).strip()
        elif name:
            found[name] = (found[name] + " " + line.strip()).strip()


def comments(function):
    """`name: int,  # what it is`, when the source can be had."""
    try:
        source = inspect.getsource(function.__init__ if isinstance(function, type) else function)
    except Exception:
        return {}
    found = {}
    for line in source.split("\n"):
        match = re.match(r"^\s*(?:(?:async\s+)?def\s+\w+\s*\(\s*)?\*{0,2}(\w+)\s*(?::[^#=]+)?(?:=[^#]*)?[,)]?[^#]*#\s*(.+)$", line)
        if match:
            found[match.group(1)] = match.group(2).strip()
        if re.search(r":\s*(#.*)?$", line) and "):" in line.replace(" ", "") or "->" in line:
            break
    return found
