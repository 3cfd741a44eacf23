"""Live functions as tools: what they take, and calls of them.

In: names, arguments. Out: descriptions, a bundle or an error. Invariant: looked up at each use; nothing raises out of `describe`.
Absent on purpose: which tools an agent may have, which is the host's choice.
"""

import sys

from . import mime


def lookup(name, ns):
    """The object of a dotted name. Raises NameError."""
    first, *rest = name.split(".")
    if first not in ns:
        raise NameError("Missing tool(s) in user_ns: %s" % name)
    value = ns[first]
    for part in rest:
        value = getattr(value, part)
    return value


def describe(names, ns):
    from . import schema

    rows = []
    for name in names:
        try:
            function = lookup(name, ns)
        except Exception:
            rows.append({"name": name, "found": False})
            continue
        if not callable(function):
            rows.append({"name": name, "callable": False})
            continue
        description, parameters = schema.of(function)
        rows.append({"name": name, "found": True, "description": description, "schema": parameters})
    return rows


def call(name, arguments, engine):
    """The answer to a call: `tool` with a bundle, or `error`."""
    try:
        function = lookup(name, engine.ns)
        if not callable(function):
            raise TypeError("Non-callable tool(s): %s" % name)
        value = function(**arguments)
        if hasattr(value, "__await__"):
            from . import loop

            value = loop.run(awaited(value))
        return {"tool": {"bundle": result(value)}}
    except BaseException as error:
        from . import tracebacks

        return {"error": tracebacks.describe(error, getattr(engine, "sources", {}), False)}


async def awaited(value):
    return await value


def result(value):
    if isinstance(value, str):
        return {"text/plain": value}
    if isinstance(value, (bytes, bytearray)):
        kind = mime.image_type(bytes(value[:16]))
        if kind:
            return {kind: mime.carried(kind, value), "text/plain": "[%s]" % kind}
    if not isinstance(value, (type(None), bool, int, float, list, tuple, dict)):
        found = image(value)
        if found:
            return found
    import json

    try:
        return {"text/plain": json.dumps(value, ensure_ascii=False, default=repr)}
    except Exception:
        return {"text/plain": mime.plain(value)}


def image(value):
    data, metadata = {}, {}
    mime.collect(value, data, metadata, None, None)
    for kind in ("image/png", "image/jpeg"):
        if data.get(kind):
            return {kind: mime.carried(kind, data[kind]), "text/plain": mime.plain(value)}
    if hasattr(value, "save") and "PIL.Image" in sys.modules:
        from io import BytesIO

        buffer = BytesIO()
        try:
            value.save(buffer, "PNG")
            return {"image/png": mime.carried("image/png", buffer.getvalue()), "text/plain": mime.plain(value)}
        except Exception:
            pass
    return None
