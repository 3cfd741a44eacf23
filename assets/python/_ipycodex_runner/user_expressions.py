"""Expressions as cells show their values: what a client of Jupyter wants told with the end of a cell.

In: expressions. Out: one entry for each, in order, `{bundle, metadata}` or `{error}`. Invariants: each is evaluated
once, in the live namespace; one that fails says so in its own entry and the others still come; an interrupt ends them
all.
"""

from . import mime
from .wire import clean


def evaluate(expressions, engine):
    return {"expressed": [each(expression, engine) for expression in expressions]}


def each(expression, engine):
    try:
        value = eval(expression.strip(), engine.ns)
        data, metadata = bundle(value, engine)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        engine.host.leave_if_child(error)
        import traceback

        lines = traceback.format_exception(type(error), error, error.__traceback__.tb_next)
        return {"error": {"ename": type(error).__name__, "evalue": str(error), "traceback": lines}}
    carried = {kind: clean(mime.carried(kind, item)) for kind, item in data.items()}
    return {"bundle": carried, "metadata": clean(metadata)}


def bundle(value, engine):
    """The forms of a value; none for one that shows itself."""
    shell = getattr(engine, "shell", None)
    formatter = getattr(shell, "display_formatter", None)
    data, metadata = formatter.format(value) if formatter is not None else mime.bundle(value)
    return data or {}, metadata or {}
