"""A tool call's JSON arguments as what the function's annotations ask for.

In: a callable and a JSON object. Out: positional and keyword arguments. Invariants: a value that the annotation asks
nothing special for passes as it came; what cannot be converted is a `TypeError` or `ValueError` that names the
argument, what was expected and what came.
Absent on purpose: checking plain types (`int`, `str`): the function knows better what it can take.
"""

import inspect
import sys
import typing

from . import signatures

SHOWN = 80  # characters of a wrong value in a message


def bound(function, arguments, ns):
    """(positional, keywords) to call `function` with."""
    arguments = dict(arguments)
    parameters = signatures.parameters(function, ns)
    if parameters is None:
        return spread(arguments)
    positional, keywords = [], {}
    for parameter, hint in parameters:
        name = parameter.name
        if parameter.kind is parameter.VAR_POSITIONAL:
            given = arguments.pop(name, None)
            if given is not None:
                given = given if isinstance(given, list) else [given]
                positional += take_over(parameters, keywords, positional)
                positional += [converted(item, hint, "%s[%d]" % (name, index)) for index, item in enumerate(given)]
        elif parameter.kind is parameter.VAR_KEYWORD:
            inner = arguments.pop(name, None)
            if isinstance(inner, dict) and not any(key in keywords or key in arguments for key in inner):
                arguments.update(inner)
            elif inner is not None:
                arguments[name] = inner
            keywords.update((key, converted(value, hint, key)) for key, value in arguments.items())
            arguments = {}
        elif name in arguments:
            value = converted(arguments.pop(name), hint, name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                fill(parameters, positional, parameter)
                positional.append(value)
            else:
                keywords[name] = value
    keywords.update(arguments)  # unknown ones: the call itself complains, in the usual words
    return positional, keywords


def fill(parameters, positional, until):
    """Defaults of positional-only parameters that were left out before one that was given."""
    for parameter, _hint in parameters[len(positional) :]:
        if parameter is until:
            return
        if parameter.default is parameter.empty:
            raise TypeError("missing a required argument: %r" % parameter.name)
        positional.append(parameter.default)


def take_over(parameters, keywords, positional):
    """What stands before `*args` has to be passed by position when there are any."""
    moved = []
    for parameter, _hint in parameters[len(positional) :]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            break
        if parameter.name in keywords:
            moved.append(keywords.pop(parameter.name))
        elif parameter.default is not parameter.empty:
            moved.append(parameter.default)
        else:
            raise TypeError("missing a required argument: %r" % parameter.name)
    return moved


def spread(arguments):
    """For a callable that does not tell its parameters: `args` are those by position."""
    positional = arguments.pop("args", [])
    return positional if isinstance(positional, list) else [positional], arguments


def wrong(where, expected, value):
    shown = repr(value)
    if len(shown) > SHOWN:
        shown = shown[:SHOWN] + "…"
    return TypeError("argument %r: expected %s, got %s" % (where, expected, shown))


def converted(value, hint, where):
    """`value`, or what the annotation asks for in its place."""
    if hint is inspect.Parameter.empty or hint is typing.Any or isinstance(hint, (str, type(None))):
        return value
    if hasattr(hint, "__metadata__"):  # Annotated
        return converted(value, hint.__origin__, where)
    if hasattr(hint, "__supertype__"):  # NewType
        return converted(value, hint.__supertype__, where)
    origin, inner = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if type(hint).__name__ == "TypeAliasType":
        return converted(value, hint.__value__, where)
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return of_union(value, inner, where)
    if origin is signatures.LITERAL:
        if not any(value == item and isinstance(value, bool) is isinstance(item, bool) for item in inner):
            raise wrong(where, "one of %s" % ", ".join(map(repr, inner[:50])), value)
        return value
    if type(hint).__name__ in ("Required", "NotRequired", "_GenericAlias") and getattr(origin, "_name", "") in (
        "Required",
        "NotRequired",
        "ReadOnly",
    ):
        return converted(value, inner[0], where)
    if isinstance(origin, type):
        return of_generic(value, origin, inner, where)
    if isinstance(hint, type):
        return of_class(value, hint, where)
    return value


def of_union(value, options, where):
    """The first option that takes the value as it is, else the first that can be made of it."""
    if value is None and type(None) in options:
        return None
    plain = [option for option in options if isinstance(option, type) and option in signatures.JSON_TYPES]
    if any(isinstance(value, signatures.JSON_TYPES[option]) for option in plain) or len(plain) == len(options):
        return value
    complaints = []
    for option in options:
        if option in plain:
            continue
        try:
            return converted(value, option, where)
        except (TypeError, ValueError) as error:
            complaints.append(error)
    if len(complaints) == 1 and all(option is type(None) for option in plain):
        raise complaints[0]
    raise wrong(where, " or ".join(signatures.named(option) for option in options), value)


def of_generic(value, origin, inner, where):
    if origin is type or not inner:
        return of_class(value, origin, where)
    if issubclass(origin, tuple) and isinstance(value, list):
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(converted(item, inner[0], "%s[%d]" % (where, index)) for index, item in enumerate(value))
        if len(inner) != len(value):
            raise wrong(where, "a list of %d" % len(inner), value)
        return tuple(
            converted(item, kind, "%s[%d]" % (where, index)) for index, (item, kind) in enumerate(zip(value, inner))
        )
    if isinstance(value, list) and len(inner) == 1:
        items = [converted(item, inner[0], "%s[%d]" % (where, index)) for index, item in enumerate(value)]
        return of_class(items, origin, where)
    if isinstance(value, dict) and len(inner) == 2:
        pairs = (
            (converted(key, inner[0], where), converted(item, inner[1], "%s[%r]" % (where, key)))
            for key, item in value.items()
        )
        return of_class(dict(pairs), origin, where)
    return of_class(value, origin, where)


def of_class(value, kind, where):
    import collections
    import enum

    try:
        if type(value) is kind or (isinstance(value, kind) and kind not in (object,)):
            return value
    except TypeError:
        return value  # a protocol that cannot be checked
    if isinstance(value, list) and kind in (tuple, set, frozenset, collections.deque):
        try:
            return kind(value)
        except TypeError:
            raise wrong(where, "a list of hashable values", value) from None
    if issubclass(kind, enum.Enum):
        return of_enum(value, kind, where)
    if signatures.is_record(kind):
        return of_record(value, kind, where)
    if hasattr(kind, "model_validate"):  # pydantic
        return kind.model_validate(value)
    maker = signatures.MAKERS.get((kind.__module__, kind.__qualname__))
    if maker is None or value is None:
        return value
    expected, make = maker
    try:
        return make(kind, value)
    except Exception as error:
        problem = wrong(where, expected, value)
        raise TypeError("%s (%s)" % (problem, error)) from None


def of_enum(value, kind, where):
    for member in kind:
        if member.value == value and isinstance(value, bool) is isinstance(member.value, bool):
            return member
    if isinstance(value, str):
        if value in kind.__members__:
            return kind.__members__[value]
        for name, member in kind.__members__.items():
            if value == "%s.%s" % (kind.__name__, name):
                return member
    try:
        return kind(value)  # flags, and enums with a way of their own
    except Exception:
        pass
    raise wrong(
        where, "one of %s" % ", ".join(repr(signatures.enum_value(member)) for member in list(kind)[:50]), value
    )


def of_record(value, kind, where):
    """A dataclass, a named tuple, an attrs class or a TypedDict of a JSON object."""
    fields = signatures.fields(kind, sys.modules["__main__"].__dict__)
    if isinstance(value, list) and issubclass(kind, tuple):
        value = dict(zip((name for name, _hint, _needed in fields), value))
    if not isinstance(value, dict):
        raise wrong(where, "an object with %s" % ", ".join(name for name, _hint, _needed in fields), value)
    hints = {name: hint for name, hint, _needed in fields}
    unknown = [key for key in value if key not in hints]
    missing = [name for name, _hint, needed in fields if needed and name not in value]
    typed = issubclass(kind, dict)
    if (unknown and not typed) or missing:
        problem = "unknown: %s" % ", ".join(unknown) if unknown and not typed else "missing: %s" % ", ".join(missing)
        raise TypeError("argument %r: %s has %s; %s" % (where, kind.__name__, ", ".join(hints), problem))
    given = {key: converted(item, hints.get(key, typing.Any), "%s.%s" % (where, key)) for key, item in value.items()}
    return given if typed else kind(**given)
