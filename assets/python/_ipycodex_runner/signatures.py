"""The parameters of a callable with their annotations, resolved as far as possible.

In: a callable and the namespace. Out: parameters, fields of classes. Invariant: an annotation that cannot be resolved
counts as none; it never costs the others theirs. Absent on purpose: schemas (`schema`) and conversions (`arguments`),
which both read this.
"""

import functools
import inspect
import sys
import typing

from . import wire

LITERAL = getattr(typing, "Literal", ())
EMPTY = inspect.Parameter.empty


def annotated_target(function):
    """The function that carries the annotations: of a partial, a class or a callable object."""
    while isinstance(function, (functools.partial, functools.partialmethod)):
        function = function.func
    if isinstance(function, type):
        made = function.__init__ if function.__init__ is not object.__init__ else function.__new__
        return made if made is not object.__new__ else function
    if inspect.isroutine(function):
        return function
    call = getattr(type(function), "__call__", None)
    wrapped = getattr(function, "__wrapped__", None)
    return wrapped if callable(wrapped) else call if call is not None else function


def get_parameters(function, ns):
    """[(parameter, annotation)], or None when the callable does not tell."""
    try:
        signature = inspect.signature(function)
    except Exception:
        return None
    hints = get_annotations(annotated_target(function), ns)
    return [
        (parameter, hints.get(name, resolve(parameter.annotation, ns)))
        for name, parameter in signature.parameters.items()
    ]


def get_return(function, ns):
    """The annotation of what a function returns; EMPTY without one."""
    if isinstance(function, type):
        return EMPTY
    try:
        return get_annotations(annotated_target(function), ns).get("return", EMPTY)
    except Exception:
        return EMPTY


def get_annotations(function, ns):
    """Name to annotation, those that can be resolved."""
    function = inspect.unwrap(function) if callable(function) else function
    try:
        return typing.get_type_hints(function, None, None, **EXTRAS)
    except Exception:
        pass
    scope = dict(ns)
    scope.update(getattr(getattr(function, "__func__", function), "__globals__", {}))
    try:
        written = dict(getattr(function, "__annotations__", None) or {})
    except Exception:
        return {}
    return {name: resolve(hint, scope) for name, hint in written.items()}


EXTRAS = {"include_extras": True} if sys.version_info >= (3, 9) else {}


def resolve(hint, scope):
    """An annotation, resolved when it is a text; EMPTY when it cannot be."""
    if isinstance(hint, str):
        try:
            return eval(hint, dict(scope))
        except Exception:
            return EMPTY
    return hint


def is_record(kind):
    """True for a class with named fields: dataclass, named tuple, attrs class, TypedDict."""
    return (
        hasattr(kind, "__dataclass_fields__")
        or hasattr(kind, "__attrs_attrs__")
        or hasattr(kind, "__total__")
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def get_own_schema(kind):
    """The JSON schema that a class makes of itself (pydantic, msgspec); None for any other."""
    if callable(getattr(kind, "model_json_schema", None)):
        return kind.model_json_schema()
    if hasattr(kind, "__fields__") and callable(getattr(kind, "parse_obj", None)):  # pydantic 1
        return kind.schema(ref_template="#/$defs/{model}")
    if hasattr(kind, "__struct_fields__") and "msgspec" in sys.modules:
        return sys.modules["msgspec"].json.schema(kind)
    return None


def get_own_maker(kind):
    """The function that makes a value of such a class from JSON; None for any other class."""
    if callable(getattr(kind, "model_validate", None)):
        return kind.model_validate
    if hasattr(kind, "__fields__") and callable(getattr(kind, "parse_obj", None)):  # pydantic 1
        return kind.parse_obj
    if hasattr(kind, "__struct_fields__") and "msgspec" in sys.modules:
        return lambda value: sys.modules["msgspec"].convert(value, kind)
    return None


def get_fields(kind, ns):
    """[(name, annotation, whether it has to be given)] of a record."""
    scope = dict(ns)
    scope.update(vars(sys.modules.get(kind.__module__, object)) if kind.__module__ in sys.modules else {})
    hints = {}
    for base in reversed(kind.__mro__):
        written = vars(base).get("__annotations__")
        if written is None and sys.version_info >= (3, 14):
            try:
                written = base.__annotations__
            except Exception:
                written = None
        hints.update(written or {})
    try:
        hints.update(typing.get_type_hints(kind, scope, None, **EXTRAS))
    except Exception:
        hints = {name: resolve(hint, scope) for name, hint in hints.items()}
    if hasattr(kind, "__dataclass_fields__"):
        import dataclasses

        none = dataclasses.MISSING
        rows = [
            (field.name, field.default is none and field.default_factory is none)
            for field in kind.__dataclass_fields__.values()
            if field.init and getattr(field, "_field_type", None) is not dataclasses._FIELD_CLASSVAR
        ]
    elif hasattr(kind, "__attrs_attrs__"):
        rows = [
            (field.alias if hasattr(field, "alias") else field.name.lstrip("_"), str(field.default).endswith("NOTHING"))
            for field in kind.__attrs_attrs__
            if field.init
        ]
    elif hasattr(kind, "__total__"):
        needed = getattr(kind, "__required_keys__", hints if kind.__total__ else ())
        rows = [(name, name in needed) for name in hints]
    else:
        rows = [(name, name not in kind._field_defaults) for name in kind._fields]
    return [(name, hints.get(name, EMPTY), needed) for name, needed in rows]


def encode_enum(member):
    """The JSON form of an enum member: its value if JSON can hold it, else its name."""
    value = member.value
    return value if is_json_scalar(value) else member.name


def is_json_scalar(value):
    """True for a value JSON carries as it is, everywhere."""
    if isinstance(value, float):
        return value - value == 0
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 1 << 53
    return value is None or isinstance(value, (str, bool))


def format_annotation(hint):
    """An annotation as one writes it."""
    if isinstance(hint, type) and not getattr(hint, "__args__", None):
        return hint.__name__
    try:
        return str(hint).replace("typing.", "").replace("__main__.", "")
    except Exception:
        return "?"


def make_from_text(kind, value):
    if not isinstance(value, str):
        raise TypeError("not a string")
    return kind(value)


def make_number(kind, value):
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError("not a number")
    return kind(str(value)) if kind.__name__ != "complex" or isinstance(value, str) else kind(value)


def make_timedelta(kind, value):
    if isinstance(value, str):
        value = float(value)
    return kind(seconds=make_number(float, value))


def make_bytes(kind, value):
    if not isinstance(value, (str, list)):
        raise TypeError("not a string")
    return kind(value.encode("utf-8") if isinstance(value, str) else value)


def make_from_iso(kind, value):
    if isinstance(value, bool):
        raise TypeError("not a string")
    if isinstance(value, str) and value.endswith("Z") and sys.version_info < (3, 11):
        value = value[:-1] + "+00:00"
    if isinstance(value, (int, float)) and hasattr(kind, "fromtimestamp") and hasattr(kind, "hour"):
        return kind.fromtimestamp(value)
    return kind.fromisoformat(value)


def make_pattern(_kind, value):
    import re

    if not isinstance(value, str):
        raise TypeError("not a string")
    return re.compile(value)


def parse_json(value, kind):
    """Decodes a string that is JSON of this type; returns any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        found = wire.decode(value.strip())
    except (ValueError, RecursionError):
        return value
    return found if type(found) is kind else value


def require_list(value, *kinds):
    """The list (or object) that a value is, or that a string of JSON holds."""
    for kind in kinds:
        found = parse_json(value, kind)
        if type(found) is kind:
            return found
    raise TypeError("not a list")


def make_array(kind, value):
    import numpy

    return numpy.asarray(require_list(value, list))


def make_series(kind, value):
    return kind(require_list(value, list, dict))


TEXTS = (
    ("pathlib", "Path"),
    ("pathlib", "PurePath"),
    ("pathlib", "PosixPath"),
    ("pathlib._local", "Path"),
    ("uuid", "UUID"),
)
MAKERS = {  # (module, class): (what is expected, how it is made)
    **{name: ("a string", make_from_text) for name in TEXTS},
    ("datetime", "datetime"): ("an ISO 8601 date and time", make_from_iso),
    ("datetime", "date"): ("an ISO 8601 date", make_from_iso),
    ("datetime", "time"): ("an ISO 8601 time", make_from_iso),
    ("datetime", "timedelta"): ("a number of seconds", make_timedelta),
    ("decimal", "Decimal"): ("a number", make_number),
    ("fractions", "Fraction"): ("a number", make_number),
    ("builtins", "complex"): ("a number", make_number),
    ("builtins", "bytes"): ("a string", make_bytes),
    ("builtins", "bytearray"): ("a string", make_bytes),
    ("re", "Pattern"): ("a regular expression", make_pattern),
    ("numpy", "ndarray"): ("a list of numbers", make_array),
    ("pandas.core.frame", "DataFrame"): ("a table: list of objects, or object of lists", make_series),
    ("pandas.core.series", "Series"): ("a list of values", make_series),
    ("pandas", "DataFrame"): ("a table: list of objects, or object of lists", make_series),
    ("pandas", "Series"): ("a list of values", make_series),
}
