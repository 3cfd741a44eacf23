"""Schemas as every reader takes them: definitions at the root, arrays with `items`, choices with a type.

In: JSON schemas, also those that other libraries make. Out: the same, complete, with `$ref`s that lead somewhere.
Invariants: a name stands for one schema; readers that know no `prefixItems` are told of the items all the same.
Absent on purpose: annotations (`schema`).
"""

import re

ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
HOMES = ("$defs", "definitions")
REFERENCE = re.compile(r"#/(?:\$defs|definitions)/([^/]+)\Z")
NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class Definitions:
    """The schemas of one root that are referred to, by name."""

    def __init__(self):
        self.known = {}

    def free(self, wanted, taken=()):
        """A name like `wanted` that nothing has, and that is none of these."""
        wanted, name, number = plain(wanted), plain(wanted), 1
        while name in self.known or name in taken:
            number += 1
            name = "%s_%d" % (wanted, number)
        return name

    def open(self, wanted):
        """A name for a schema that is still being made, and a reference to it."""
        name = self.free(wanted)
        self.known[name] = {}
        return name, reference(name)

    def hoist(self, schema, wanted):
        """The schema without definitions of its own: they are these now, under names that no other schema has."""
        own = {}
        for home in HOMES:
            own.update(schema.get(home) or {})
        body = {key: value for key, value in schema.items() if key not in HOMES}
        if any(part.get("$ref") == "#" for part in parts(schema)):
            own[wanted] = body
            body = reference(wanted)
        names = {}
        for old in own:
            name = plain(old)
            names[old] = self.free(old, names.values()) if name in names.values() else name
        while True:
            made = {names[old]: complete(entry, lambda part: led(part, names, wanted)) for old, entry in own.items()}
            clashes = [old for old in own if self.known.get(names[old], made[names[old]]) != made[names[old]]]
            if not clashes:
                self.known.update(made)
                return complete(body, lambda part: led(part, names, wanted))
            for old in clashes:
                names[old] = self.free(old, names.values())


def plain(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "T"


def led(part, names, root):
    """The part with its reference as it is to be, when it has one."""
    reached = part.get("$ref")
    if not isinstance(reached, str):
        return part
    found = REFERENCE.match(reached)
    old = root if reached == "#" else found and found.group(1).replace("~1", "/").replace("~0", "~")
    return dict(part, **reference(names[old])) if old in names else part


def parts(schema):
    """All parts of a schema."""
    found = []
    complete(schema, lambda part: found.append(part) or part)
    return found


def reference(name):
    return {"$ref": "#/$defs/" + name}


def complete(schema, change=lambda node: node, depth=0):
    """A copy of the schema in which arrays have `items` and choices a type; `change` sees each part of it."""
    if not isinstance(schema, dict) or depth > 100:
        return schema
    node = dict(change(schema))
    for key in ONE:
        if isinstance(node.get(key), dict):
            node[key] = complete(node[key], change, depth + 1)
    for key in LISTS:
        if isinstance(node.get(key), list):
            node[key] = [complete(entry, change, depth + 1) for entry in node[key]]
    for key in NAMED:
        if isinstance(node.get(key), dict):
            node[key] = {name: complete(entry, change, depth + 1) for name, entry in node[key].items()}
    if isinstance(node.get("items"), list):  # the tuples of older drafts
        node["prefixItems"] = [complete(entry, change, depth + 1) for entry in node["items"]]
        node["items"] = node.pop("additionalItems", True)
    kinds = node.get("type")
    if kinds == "array" or (isinstance(kinds, list) and "array" in kinds) or "prefixItems" in node:
        if not isinstance(node.get("items"), dict):
            node = with_items(node)
    values = [node["const"]] if "const" in node else node.get("enum")
    if isinstance(values, list) and values and "type" not in node:
        node = dict(type=kinds_of(values), **node)
    return node


def with_items(node):
    first = node.get("prefixItems") or []
    if not first:
        return dict(node, items={})
    closed = node.get("items") is False or node.get("maxItems", len(first) + 1) <= len(first)
    node = dict(node, maxItems=min(len(first), node.get("maxItems", len(first)))) if closed else node
    if closed and all(entry == first[0] for entry in first):
        node = {key: value for key, value in node.items() if key != "prefixItems"}
    return dict(node, items=any_of(first) if closed else {})


def any_of(options):
    """What fits one of them."""
    options = [option for index, option in enumerate(options) if option not in options[:index]]
    if {} in options:
        return {}
    if len(options) == 1:
        return options[0]
    if all(list(option) == ["type"] and isinstance(option["type"], str) for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def kinds_of(values):
    kinds = ["null" if value is None else NAMES.get(type(value), "string") for value in values]
    kinds = [kind for index, kind in enumerate(kinds) if kind not in kinds[:index]]
    return kinds[0] if len(kinds) == 1 else kinds
