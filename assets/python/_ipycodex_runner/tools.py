"""Live functions as an agent's tools: their description and their calls.

In: names, arguments. Out: descriptions, a bundle or an error. Invariant: a function is looked up at each use;
`describe` raises nothing.
Absent on purpose: which tools an agent may have, which is the host's choice.
"""

import builtins


def lookup(name, ns):
    """The object of a dotted name. Raises NameError."""
    first, *rest = name.split(".")
    if first not in ns and not hasattr(builtins, first):
        raise NameError("Missing tool(s) in user_ns: %s" % name)
    value = ns[first] if first in ns else getattr(builtins, first)
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
        description, parameters = schema.describe(function, ns)
        rows.append({"name": name, "found": True, "description": description, "schema": parameters})
    return rows


def call(name, arguments, engine):
    """The answer to a call: `tool` with a result, or `error`."""
    from . import figures

    open_figures = figures.open_numbers()
    try:
        function = lookup(name, engine.ns)
        if not callable(function):
            raise TypeError("Non-callable tool(s): %s" % name)
        from . import arguments as given
        from . import results

        positional, keywords = given.bind(function, arguments, engine.ns)
        value = function(*positional, **keywords)
        if hasattr(value, "__await__"):
            from . import loop

            value = loop.run(await_value(value))
        elif hasattr(value, "__anext__"):
            from . import loop

            value = loop.run(collect_async(value, results.MOST_ITEMS))
        elif type(value).__name__ == "generator":
            value = results.take_items(value)  # what it raises is the tool's own failure
        return {"tool": results.render(value)}
    except BaseException as error:
        engine.host.exit_if_child(error)
        from . import tracebacks

        return {"error": tracebacks.describe(error, getattr(engine, "sources", {}), False)}
    finally:
        figures.close_except(open_figures)


async def await_value(value):
    return await value


async def collect_async(items, most):
    taken = []
    async for item in items:
        taken.append(item)
        if len(taken) == most:
            taken.append("[… only the first %d items were taken …]" % most)
            break
    return taken
