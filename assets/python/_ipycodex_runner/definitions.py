"""JSON schemas in the form that every reader accepts: definitions at the root, arrays with `items`, enums with a type.

In: JSON schemas, also those of other libraries. Out: the same, normalized, with every `$ref` resolvable.
Invariants: a name stands for one schema; for readers that ignore `prefixItems`, the items are described in `items` too.
Absent on purpose: annotations (`schema`).
"""

import re

ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
DEFINITION_KEYS = ("$defs", "definitions")
REFERENCE = re.compile(r"#/(?:\$defs|definitions)/([^/]+)\Z")
NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class Definitions:
    """The schemas of one root that are referred to, by name."""

    def __init__(self):
        self.known = {}

    def unique_name(self, wanted, taken=()):
        """A name like `wanted` that nothing has, and that is none of these."""
        wanted, name, number = sanitize_name(wanted), sanitize_name(wanted), 1
        while name in self.known or name in taken:
            number += 1
            name = "%s_%d" % (wanted, number)
        return name

    def reserve(self, wanted):
        """A name for a schema that is still being made, and a reference to it."""
        name = self.unique_name(wanted)
        self.known[name] = {}
        return name, make_reference(name)

    def hoist(self, schema, wanted):
        """The schema without definitions of its own: they are these now, under names that no other schema has."""
        own = {}
        for home in DEFINITION_KEYS:
            own.update(schema.get(home) or {})
        body = {key: value for key, value in schema.items() if key not in DEFINITION_KEYS}
        if any(part.get("$ref") == "#" for part in list_parts(schema)):
            own[wanted] = body
            body = make_reference(wanted)
        names = {}
        for old in own:
            name = sanitize_name(old)
            names[old] = self.unique_name(old, names.values()) if name in names.values() else name
        while True:
            made = {
                names[old]: normalize(entry, lambda part: redirect_reference(part, names, wanted))
                for old, entry in own.items()
            }
            clashes = [old for old in own if self.known.get(names[old], made[names[old]]) != made[names[old]]]
            if not clashes:
                self.known.update(made)
                return normalize(body, lambda part: redirect_reference(part, names, wanted))
            for old in clashes:
                names[old] = self.unique_name(old, names.values())


def sanitize_name(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "T"


def redirect_reference(part, names, root):
    """The part with its reference as it is to be, when it has one."""
    reached = part.get("$ref")
    if not isinstance(reached, str):
        return part
    found = REFERENCE.match(reached)
    old = root if reached == "#" else found and found.group(1).replace("~1", "/").replace("~0", "~")
    return dict(part, **make_reference(names[old])) if old in names else part


def list_parts(schema):
    """All parts of a schema."""
    found = []
    normalize(schema, lambda part: found.append(part) or part)
    return found


def make_reference(name):
    return {"$ref": "#/$defs/" + name}


def normalize(schema, change=lambda node: node, depth=0):
    """A copy of the schema in which arrays have `items` and choices a type; `change` sees each part of it."""
    if not isinstance(schema, dict) or depth > 100:
        return schema
    node = dict(change(schema))
    for key in ONE:
        if isinstance(node.get(key), dict):
            node[key] = normalize(node[key], change, depth + 1)
    for key in LISTS:
        if isinstance(node.get(key), list):
            node[key] = [normalize(entry, change, depth + 1) for entry in node[key]]
    for key in NAMED:
        if isinstance(node.get(key), dict):
            node[key] = {name: normalize(entry, change, depth + 1) for name, entry in node[key].items()}
    if isinstance(node.get("items"), list):  # the tuples of older drafts
        node["prefixItems"] = [normalize(entry, change, depth + 1) for entry in node["items"]]
        node["items"] = node.pop("additionalItems", True)
    kinds = node.get("type")
    if kinds == "array" or (isinstance(kinds, list) and "array" in kinds) or "prefixItems" in node:
        if not isinstance(node.get("items"), dict):
            node = add_items(node)
    values = [node["const"]] if "const" in node else node.get("enum")
    if isinstance(values, list) and values and "type" not in node:
        node = dict(type=json_types(values), **node)
    return node


def add_items(node):
    first = node.get("prefixItems") or []
    if not first:
        return dict(node, items={})
    closed = node.get("items") is False or node.get("maxItems", len(first) + 1) <= len(first)
    node = dict(node, maxItems=min(len(first), node.get("maxItems", len(first)))) if closed else node
    if closed and all(entry == first[0] for entry in first):
        node = {key: value for key, value in node.items() if key != "prefixItems"}
    return dict(node, items=any_of(first) if closed else {})


def any_of(options):
    """The schema that accepts what one of the options accepts."""
    options = [option for index, option in enumerate(options) if option not in options[:index]]
    if {} in options:
        return {}
    if len(options) == 1:
        return options[0]
    if all(list(option) == ["type"] and isinstance(option["type"], str) for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def json_types(values):
    kinds = ["null" if value is None else NAMES.get(type(value), "string") for value in values]
    kinds = [kind for index, kind in enumerate(kinds) if kind not in kinds[:index]]
    return kinds[0] if len(kinds) == 1 else kinds
