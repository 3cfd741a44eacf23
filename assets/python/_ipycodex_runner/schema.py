"""A callable's JSON schema for an agent. In: a callable and the namespace. Out: (description, schema). Never raises:
what cannot be told is left open. A schema stays small however its types refer to each other. Absent on purpose:
conversion of arguments, which reads the same `signatures`; how readers want schemas, which `definitions` knows."""

import inspect
import re
import typing

from . import definitions, signatures, truncate, watchdog

SIMPLE = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    set: "array",
    frozenset: "array",
    dict: "object",
    type(None): "null",
}
TEXTS = {
    "bytes": {},
    "bytearray": {},
    "Path": {},
    "PurePath": {},
    "PosixPath": {},
    "UUID": {"format": "uuid"},
    "Pattern": {"format": "regex"},
    "datetime": {"format": "date-time"},
    "date": {"format": "date"},
    "time": {"format": "time"},
}
NUMBERS = ("Decimal", "Fraction", "complex", "timedelta")
GOOGLE = re.compile(r"^\s*(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):\s*$")
HEADING = re.compile(
    r"^\s*(?:Returns?|Raises|Yields|Examples?|Notes?|See Also|Attributes|Warnings?|References|Todo):?\s*$"
)
TELLS_RETURN = re.compile(r"(?m)^\s*(?::returns?:|:rtype:|(?:Returns?|Yields?)\b)")
LONGEST_DOC = 10_000  # characters
LONGEST_DEFAULT = 200  # characters
MOST_CHOICES = 200
MOST_NODES = 400  # of one schema
DEEPEST = 8


def describe(function, ns):
    try:
        return watchdog.run_within(5, build_description, function, ns)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "", {"type": "object", "properties": {}, "required": [], "additionalProperties": True}


def build_description(function, ns):
    doc = get_doc(function)
    notes = parse_parameters(doc)
    for name, text in parse_comments(function).items():
        notes.setdefault(name, text)
    found = signatures.get_parameters(function, ns)
    if found is None:
        properties = {"args": {"type": "array", "description": "arguments by position", "items": {}}}
        return doc, {"type": "object", "properties": properties, "required": [], "additionalProperties": True}
    shaper = SchemaBuilder(ns)
    properties, required, extra = {}, [], False
    for parameter, hint in found:
        name = parameter.name
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = True
            continue
        entry = shaper.build(hint, 0)
        if parameter.kind is parameter.VAR_POSITIONAL:
            entry = {"type": "array", "items": entry}
        if notes.get(name):
            entry = dict(entry, description=notes[name])
        if parameter.kind is parameter.VAR_POSITIONAL:
            pass
        elif parameter.default is parameter.empty:
            required.append(name)
        else:
            known, default = encode_default(parameter.default)
            if known:
                entry = dict(entry, default=default)
        properties[name] = entry
    schema = shaper.with_definitions({"type": "object", "properties": properties, "required": required})
    if extra:
        schema["additionalProperties"] = True
    return add_return(doc, function, ns), schema


def get_doc(function):
    """The docstring: the function's, or the one of `__call__` of an object whose class has none for its instances."""
    try:
        if isinstance(function, (signatures.functools.partial,)):
            function = function.func
        doc = inspect.getdoc(function)
        if not (inspect.isroutine(function) or isinstance(function, type)) and doc in (
            None,
            inspect.getdoc(type(function)),
        ):
            doc = inspect.getdoc(type(function).__call__) or doc
            if doc == type(lambda: 0).__call__.__doc__:
                doc = inspect.getdoc(type(function))
        if (
            isinstance(function, type)
            and doc
            and hasattr(function, "__dataclass_fields__")
            and doc.startswith(function.__name__ + "(")
        ):
            doc = None  # the one that `dataclass` makes up
    except Exception:
        return ""
    return truncate.truncate(doc, LONGEST_DOC) if isinstance(doc, str) else ""


def add_return(doc, function, ns):
    hint = signatures.get_return(function, ns)
    if hint in (signatures.EMPTY, None, type(None)) or TELLS_RETURN.search(doc):
        return doc
    line = "Returns: %s" % signatures.format_annotation(hint)[:LONGEST_DEFAULT]
    return doc + "\n\n" + line if doc else line


def encode_default(value):
    """(True, what JSON calls it) of a default that can be told in a few words."""
    import enum

    if isinstance(value, enum.Enum):
        value = signatures.encode_enum(value)
    if isinstance(value, (list, tuple, dict)) and not value:
        return True, type(value)() if not isinstance(value, tuple) else []
    if (
        type(value) in (str, int, float, bool, type(None))
        and signatures.is_json_scalar(value)
        and not (isinstance(value, str) and len(value) > LONGEST_DEFAULT)
    ):
        return True, value
    return False, None


class SchemaBuilder:
    """Schemas of annotations, of limited size altogether."""

    def __init__(self, ns):
        self.ns = ns
        self.nodes = 0
        self.reserve = []  # classes being described
        self.named = {}  # of those, the ones that refer to themselves: name and reference
        self.hoisted = {}  # classes that describe themselves, and how
        self.definitions = definitions.Definitions()

    def with_definitions(self, schema):
        """The schema with all that it refers to."""
        known = self.definitions.known
        return dict(schema, **{"$defs": dict(known)}) if known else schema

    def build(self, hint, depth):
        self.nodes += 1
        if hint is signatures.EMPTY or isinstance(hint, str) or depth > DEEPEST or self.nodes > MOST_NODES:
            return {}
        try:
            return self.build_known(hint, depth + 1)
        except Exception:
            return {}

    def build_known(self, hint, depth):
        if hint in (typing.Any, object):
            return {}
        if hint in SIMPLE:
            return build_simple(hint, SIMPLE[hint])
        if hint is None:
            return {"type": "null"}
        if hasattr(hint, "__metadata__"):  # Annotated
            entry = self.build(hint.__origin__, depth)
            texts = (
                (
                    item
                    if isinstance(item, str)
                    else getattr(item, "description", None) or getattr(item, "documentation", None)
                )
                for item in hint.__metadata__
            )
            text = next((item for item in texts if isinstance(item, str)), None)
            return dict(entry, description=text) if text else entry
        if hasattr(hint, "__supertype__"):  # NewType
            return self.build(hint.__supertype__, depth)
        if type(hint).__name__ == "TypeAliasType":
            return self.build(hint.__value__, depth)
        if type(hint).__name__ == "TypeVar":
            return self.build(hint.__bound__, depth) if hint.__bound__ else {}
        origin, inner = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
        if origin is typing.Union or type(hint).__name__ == "UnionType":
            options = [self.build(item, depth) for item in inner]
            return definitions.any_of(options)
        if origin is signatures.LITERAL:
            return build_enum(list(inner))
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            return self.build(inner[0], depth)
        if isinstance(origin, type):
            return self.build_generic(origin, inner, depth)
        return self.build_class(hint, depth) if isinstance(hint, type) else {}

    def build_generic(self, origin, inner, depth):
        if issubclass(origin, dict) or origin.__name__ in ("Mapping", "MutableMapping"):
            value = self.build(inner[1], depth) if len(inner) == 2 else {}
            return {"type": "object", "additionalProperties": value} if value else {"type": "object"}
        if issubclass(origin, tuple) and inner and Ellipsis not in inner and inner != ((),):
            return definitions.normalize(
                {
                    "type": "array",
                    "prefixItems": [self.build(item, depth) for item in inner],
                    "items": False,
                    "minItems": len(inner),
                    "maxItems": len(inner),
                }
            )
        items = [item for item in inner if item is not Ellipsis]
        if is_array(origin):
            entry = {"type": "array", "items": {}}
            if len(items) == 1 and type(items[0]).__name__ != "TypeVar":
                entry["items"] = self.build(items[0], depth)
            if is_set(origin):
                entry["uniqueItems"] = True
            return entry
        return self.build_class(origin, depth)

    def build_class(self, kind, depth):
        import enum

        if issubclass(kind, enum.Enum):
            return build_enum([signatures.encode_enum(member) for member in kind])
        if signatures.is_record(kind):
            return self.build_record(kind, depth)
        if kind not in self.hoisted:
            own = signatures.get_own_schema(kind)
            self.hoisted[kind] = None if own is None else self.definitions.hoist(own, kind.__name__)
        if self.hoisted[kind] is not None:
            return dict(self.hoisted[kind])
        for base, name in SIMPLE.items():
            if issubclass(kind, base):
                return build_simple(kind, name)
        if (kind.__module__, kind.__qualname__) in signatures.MAKERS:
            if kind.__name__ in TEXTS:
                return dict({"type": "string"}, **TEXTS[kind.__name__])
            if kind.__name__ in ("ndarray", "Series"):
                return {"type": "array", "items": {}}
            return {"type": "number"} if kind.__name__ in NUMBERS else {}
        if is_array(kind):
            return {"type": "array", "items": {}}
        return {"type": "object"} if kind.__name__ in ("Mapping", "MutableMapping") else {}

    def build_record(self, kind, depth):
        if kind in self.reserve:
            if kind not in self.named:
                self.named[kind] = self.definitions.reserve(kind.__name__)
            return dict(self.named[kind][1])
        self.reserve.append(kind)
        try:
            rows = signatures.get_fields(kind, self.ns)[:MOST_CHOICES]
            entry = {
                "type": "object",
                "properties": {name: self.build(hint, depth) for name, hint, _needed in rows},
                "required": [name for name, _hint, needed in rows if needed],
            }
            if kind not in self.named:
                return entry
            name, reference = self.named[kind]
            self.definitions.known[name] = entry
            return dict(reference)
        finally:
            self.reserve.pop()


ARRAYS = (
    "Sequence",
    "MutableSequence",
    "Iterable",
    "Collection",
    "Set",
    "MutableSet",
    "AbstractSet",
    "Iterator",
    "Reversible",
)


def is_abstract(kind):
    return kind.__module__ in ("collections.abc", "_collections_abc", "typing") and kind.__name__ in ARRAYS


def is_array(kind):
    import collections

    return is_abstract(kind) or issubclass(kind, (list, tuple, set, frozenset, collections.deque))


def build_simple(kind, name):
    entry = definitions.normalize({"type": name})
    return dict(entry, uniqueItems=True) if is_set(kind) else entry


def is_set(kind):
    return issubclass(kind, (set, frozenset)) or kind.__name__ in ("Set", "MutableSet", "AbstractSet")


def build_enum(values):
    values = [
        (
            signatures.encode_enum(value)
            if hasattr(value, "_member_map_") or hasattr(type(value), "__members__")
            else value
        )
        for value in values
    ]
    values = [value for value in values if signatures.is_json_scalar(value)]
    entry = {"type": definitions.json_types(values)} if values else {}
    if 0 < len(values) <= MOST_CHOICES:
        entry["enum"] = values
    return entry


def parse_parameters(doc):
    """Descriptions of parameters in a Google, NumPy or Sphinx docstring."""
    found = {name: text.strip() for name, text in re.findall(r":param\s+(?:[\w\[\], ]+\s+)?(\w+):\s*(.+)", doc)}
    lines = doc.split("\n")
    for index, line in enumerate(lines):
        if GOOGLE.match(line):
            parse_section(lines[index + 1 :], re.compile(r"^(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$"), found)
        elif (
            re.match(r"^\s*(?:Other )?Parameters\s*$", line)
            and index + 1 < len(lines)
            and set(lines[index + 1].strip()) == {"-"}
        ):
            parse_section(lines[index + 2 :], re.compile(r"^(\s*)\*{0,2}(\w+)(?:\s*:.*)?()$"), found)
    return found


def parse_section(lines, pattern, found):
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


def parse_comments(function):
    """`name: int,  # what it is`, when the source can be had: the comment that ends a parameter's line."""
    import io
    import tokenize

    found = {}
    try:
        source = inspect.getsource(inspect.unwrap(signatures.annotated_target(function)))
        if "#" not in source:
            return {}
        depth, name, fresh, begun, line = 0, None, False, False, 0
        for token in tokenize.generate_tokens(io.StringIO(inspect.cleandoc("\n" + source) + "\n").readline):
            text = token.string
            if not begun:
                begun = token.type == tokenize.NAME and text == "def"
                continue
            if token.type == tokenize.OP and text in "([{":
                depth += 1
                fresh = fresh or depth == 1
            elif token.type == tokenize.OP and text in ")]}":
                depth -= 1
            elif depth == 1 and text == ",":
                fresh = True
            elif depth == 1 and fresh and token.type == tokenize.NAME:
                name, fresh, line = text, False, token.start[0]
            elif token.type == tokenize.COMMENT and name and token.start[0] >= line and name not in found:
                if token.line[: token.start[1]].strip():
                    found[name] = text.lstrip("# ").strip()
            elif depth == 0 and text == "->":
                name = None  # what follows is about the result
            elif token.type == tokenize.NEWLINE:
                break
    except Exception:
        pass
    return {name: text for name, text in found.items() if text}
