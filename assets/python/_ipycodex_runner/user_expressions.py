"""Jupyter's `user_expressions`: expressions that a client wants evaluated at the end of a cell.

In: expressions. Out: one entry for each, in order, `{bundle, metadata}` or `{error}`. Invariants: each is evaluated
once, in the live namespace; a failing one has its error in its own entry and the others are still evaluated; an
interrupt ends them all.
"""

from . import mime
from .wire import sanitize


def evaluate(expressions, engine):
    return {"expressed": [evaluate_one(expression, engine) for expression in expressions]}


def evaluate_one(expression, engine):
    try:
        value = eval(expression.strip(), engine.ns)
        data, metadata = build_bundle(value, engine)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        engine.host.exit_if_child(error)
        import traceback

        lines = traceback.format_exception(type(error), error, error.__traceback__.tb_next)
        return {"error": {"ename": type(error).__name__, "evalue": str(error), "traceback": lines}}
    carried = {kind: sanitize(mime.encode(kind, item)) for kind, item in data.items()}
    return {"bundle": carried, "metadata": sanitize(metadata)}


def build_bundle(value, engine):
    """The forms of a value; none for one that shows itself."""
    shell = getattr(engine, "shell", None)
    formatter = getattr(shell, "display_formatter", None)
    data, metadata = formatter.format(value) if formatter is not None else mime.build_bundle(value)
    return data or {}, metadata or {}
