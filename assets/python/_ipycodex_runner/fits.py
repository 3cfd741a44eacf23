"""Whether a JSON value fits a JSON schema, and what of it does not.

In: a value, a schema. Out: lines that name the place, what was expected and what was there. Invariant: what is
reported does not fit. Absent on purpose: formats, references to other documents, `if`; they are not checked.
"""

MOST = 5  # lines
DEEPEST = 100
SHOWN = 60  # characters of a value
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")


def problems(value, schema):
    found = []
    look(value, schema, schema, "answer", found, 0)
    return found[:MOST]


def check(schema):
    """Raises ValueError for what cannot be a schema."""
    kinds = schema.get("type", [])
    for kind in kinds if type(kinds) is list else [kinds]:
        if kind not in TYPES:
            raise ValueError("schema: expected a JSON type (%s), got %r" % (", ".join(TYPES), kind))
    properties = schema.get("properties", {})
    if type(properties) is not dict:
        raise ValueError("schema: properties: expected an object, got %r" % (properties,))
    for part in list(properties.values()) + [schema.get("items")]:
        if type(part) is dict:
            check(part)


def shown(value):
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def is_of(value, kind):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "number": number,
        "integer": number and (isinstance(value, int) or value.is_integer()),
        "boolean": isinstance(value, bool),
        "null": value is None,
    }.get(kind, True)


def same(one, other):
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def target(root, reference):
    node = root
    for step in reference.lstrip("#/").split("/") if reference != "#" else []:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if type(node) is dict else None
    return node if reference.startswith("#") and type(node) is dict else {}


def look(value, schema, root, where, found, depth):
    """Adds what does not fit to `found`."""
    if schema is False:
        found.append("%s: nothing is allowed here, got %s" % (where, shown(value)))
    if type(schema) is not dict or depth > DEEPEST or len(found) >= MOST:
        return
    inner = lambda value, schema, where=where: look(value, schema, root, where, found, depth + 1)  # noqa: E731
    fits = lambda entry: not fails(value, entry, root, where, depth + 1)  # noqa: E731
    if "$ref" in schema:
        inner(value, target(root, str(schema["$ref"])))
    kinds = schema.get("type", [])
    kinds = kinds if type(kinds) is list else [kinds]
    if kinds and not any(is_of(value, kind) for kind in kinds):
        found.append("%s: expected %s, got %s" % (where, " or ".join(kinds), shown(value)))
        return
    if "enum" in schema and not any(same(value, item) for item in schema["enum"]):
        found.append("%s: expected one of %s, got %s" % (where, shown(schema["enum"]), shown(value)))
    if "const" in schema and not same(value, schema["const"]):
        found.append("%s: expected %s, got %s" % (where, shown(schema["const"]), shown(value)))
    for entry in schema.get("allOf", ()):
        inner(value, entry)
    if "anyOf" in schema and not any(map(fits, schema["anyOf"])):
        found.append("%s: fits none of the %d forms allowed, got %s" % (where, len(schema["anyOf"]), shown(value)))
    if "oneOf" in schema and sum(map(fits, schema["oneOf"])) != 1:
        found.append("%s: does not fit exactly one of the forms allowed, got %s" % (where, shown(value)))
    if "not" in schema and fits(schema["not"]):
        found.append("%s: has a form that is not allowed, got %s" % (where, shown(value)))
    if isinstance(value, dict):
        of_object(value, schema, where, found, inner)
    elif isinstance(value, list):
        of_array(value, schema, where, found, inner)
    elif isinstance(value, str):
        of_text(value, schema, where, found)
    elif is_of(value, "number"):
        of_number(value, schema, where, found)


def fails(value, schema, root, where, depth):
    found = []
    look(value, schema, root, where, found, depth)
    return found


def bounds(size, schema, least, most, what, where, found):
    if size < schema.get(least, 0):
        found.append("%s: expected at least %s %s, got %d" % (where, schema[least], what, size))
    if size > schema.get(most, size):
        found.append("%s: expected at most %s %s, got %d" % (where, schema[most], what, size))


def of_object(value, schema, where, found, inner):
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            found.append("%s: `%s` is missing" % (where, name))
    rest = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            inner(item, properties[name], "%s.%s" % (where, name))
        elif rest is False:
            found.append("%s: `%s` is not among its properties" % (where, name))
        else:
            inner(item, rest, "%s.%s" % (where, name))
    bounds(len(value), schema, "minProperties", "maxProperties", "properties", where, found)


def of_array(value, schema, where, found, inner):
    bounds(len(value), schema, "minItems", "maxItems", "items", where, found)
    first = schema.get("prefixItems", [])
    for index, item in enumerate(value):
        entry = first[index] if index < len(first) else schema.get("items", True)
        inner(item, entry, "%s[%d]" % (where, index))
    if schema.get("uniqueItems") and any(same(item, other) for n, item in enumerate(value) for other in value[:n]):
        found.append("%s: expected items that differ, got %s" % (where, shown(value)))


def of_text(value, schema, where, found):
    bounds(len(value), schema, "minLength", "maxLength", "characters", where, found)
    if "pattern" in schema:
        import re

        try:
            fits = re.search(schema["pattern"], value)
        except re.error:
            return  # a pattern of another dialect
        if not fits:
            found.append("%s: expected a text like %s, got %s" % (where, schema["pattern"], shown(value)))


def of_number(value, schema, where, found):
    for key, fits, words in (
        ("minimum", lambda limit: value >= limit, "at least"),
        ("maximum", lambda limit: value <= limit, "at most"),
        ("exclusiveMinimum", lambda limit: value > limit, "more than"),
        ("exclusiveMaximum", lambda limit: value < limit, "less than"),
        ("multipleOf", lambda limit: not limit or (value / limit) == int(value / limit), "a multiple of"),
    ):
        if key in schema and not fits(schema[key]):
            found.append("%s: expected %s %s, got %s" % (where, words, schema[key], shown(value)))
