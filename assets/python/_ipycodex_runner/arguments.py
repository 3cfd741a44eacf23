"""A tool call's JSON arguments as what the function's annotations ask for.

In: a callable and a JSON object. Out: positional and keyword arguments. Invariants: without an annotation a value
passes as it came; what is not of the type that the annotation asks for is made of it where that can mean one thing
only (JSON in a string, `3.0` for an `int`), and else a `TypeError` that names the argument, what was expected and what
came; a string stays one where one is asked for.
"""

import inspect
import re
import sys
import typing

from . import signatures, wire

SHOWN = 80  # characters of a wrong value in a message
BOOLEAN_WORDS = {"true": True, "false": False}
NO_NUMBERS = re.compile(r"[+-]?(?:nan|inf(?:inity)?)\Z", re.I)  # what JSON has no number for


def bind(function, arguments, ns):
    """(positional, keywords) to call `function` with."""
    arguments = parse_arguments(arguments, function, ns)
    parameters = signatures.get_parameters(function, ns)
    if parameters is None:
        return bind_opaque(arguments)
    positional, keywords = [], {}
    for parameter, hint in parameters:
        name = parameter.name
        if parameter.kind is parameter.VAR_POSITIONAL:
            given = arguments.pop(name, None)
            if given is not None:
                given = as_list(given)
                positional += move_to_positional(parameters, keywords, positional)
                positional += [convert(item, hint, "%s[%d]" % (name, index)) for index, item in enumerate(given)]
        elif parameter.kind is parameter.VAR_KEYWORD:
            inner = signatures.parse_json(arguments.pop(name, None), dict)
            if isinstance(inner, dict) and not any(key in keywords or key in arguments for key in inner):
                arguments.update(inner)
            elif inner is not None:
                arguments[name] = inner
            keywords.update((key, convert(value, hint, key)) for key, value in arguments.items())
            arguments = {}
        elif name in arguments:
            value = arguments.pop(name)
            if value is not None or parameter.default is not None:
                value = convert(value, hint, name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                fill_defaults(parameters, positional, parameter)
                positional.append(value)
            else:
                keywords[name] = value
    keywords.update(arguments)  # unknown ones: the call itself complains, in the usual words
    return positional, keywords


def fill_defaults(parameters, positional, until):
    """Defaults of positional-only parameters that were left out before one that was given."""
    for parameter, _hint in parameters[len(positional) :]:
        if parameter is until:
            return
        if parameter.default is parameter.empty:
            raise TypeError("missing a required argument: %r" % parameter.name)
        positional.append(parameter.default)


def move_to_positional(parameters, keywords, positional):
    """Moves the parameters before `*args` to the positional arguments, as a call with `*args` needs."""
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


def bind_opaque(arguments):
    """For a callable that does not tell its parameters: `args` are those by position."""
    return as_list(arguments.pop("args", [])), arguments


def parse_arguments(arguments, function, ns):
    """The JSON object of a call. Raises TypeError."""
    given = signatures.parse_json(arguments, dict)
    if isinstance(given, dict):
        return dict(given)
    found = signatures.get_parameters(function, ns)
    names = ["args"] if found is None else [parameter.name for parameter, _hint in found]
    takes = "no names in it" if not names else "the names " + ", ".join(names)
    raise TypeError("the arguments: expected a JSON object with %s, got %s" % (takes, short_repr(arguments)))


def as_list(given):
    """The values of `*args`."""
    given = signatures.parse_json(given, list)
    return given if isinstance(given, list) else [given]


def short_repr(value):
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def type_error(where, expected, value):
    return TypeError("argument %r: expected %s, got %s" % (where, expected, short_repr(value)))


def convert(value, hint, where):
    """`value` as what the annotation asks for. Raises TypeError."""
    if hint is inspect.Parameter.empty or hint is typing.Any or isinstance(hint, str):
        return value
    if hint is None or hint is type(None):
        if value is None or signatures.parse_json(value, type(None)) is None:
            return None
        raise type_error(where, "null", value)
    if hasattr(hint, "__metadata__"):  # Annotated
        return convert(value, hint.__origin__, where)
    if hasattr(hint, "__supertype__"):  # NewType
        return convert(value, hint.__supertype__, where)
    origin, inner = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if type(hint).__name__ == "TypeAliasType":
        return convert(value, hint.__value__, where)
    if type(hint).__name__ == "TypeVar":
        return convert(value, hint.__bound__, where) if hint.__bound__ else value
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return convert_union(value, inner, where)
    if origin is signatures.LITERAL:
        return convert_literal(value, inner, where)
    if type(hint).__name__ in ("Required", "NotRequired", "_GenericAlias") and getattr(origin, "_name", "") in (
        "Required",
        "NotRequired",
        "ReadOnly",
    ):
        return convert(value, inner[0], where)
    if isinstance(origin, type):
        return convert_generic(value, origin, inner, where, hint)
    if isinstance(hint, type):
        return convert_class(value, hint, where, hint)
    return value


def convert_literal(value, options, where):
    for given in (value, decode_string(value)):
        for item in options:
            plain = signatures.encode_enum(item) if hasattr(item, "_value_") else item
            if plain == given and isinstance(plain, bool) is isinstance(given, bool):
                return item
    raise type_error(where, "one of %s" % ", ".join(map(repr, options[:50])), value)


def decode_string(value):
    """Decodes a string that is JSON; returns any other value, and any other string, unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return wire.decode(value.strip())
    except (ValueError, RecursionError):
        return BOOLEAN_WORDS.get(value.strip().lower(), value)


def convert_union(value, options, where):
    """The first option that is of the kind of the value, else the first that can be made of it."""
    if type(value) in options:
        return value
    complaints = []
    for given in (value, decode_string(value)):
        if type(given) in options:
            return given
        for fitting in (True, False):
            for option in options:
                if option is type(None) or matches(given, option) is not fitting:
                    continue
                try:
                    return convert(given, option, where)
                except (TypeError, ValueError) as error:
                    complaints.append(error)
    if len([option for option in options if option is not type(None)]) == 1:
        raise complaints[0]
    raise type_error(where, " or ".join(signatures.format_annotation(option) for option in options), value)


def matches(value, hint):
    """True when JSON would have the annotation's values as it has this one."""
    if hasattr(hint, "__metadata__"):
        return matches(value, hint.__origin__)
    if hasattr(hint, "__supertype__"):
        return matches(value, hint.__supertype__)
    kind = getattr(hint, "__origin__", hint)
    if kind is signatures.LITERAL:
        return value in hint.__args__
    if not isinstance(kind, type):
        return True
    from . import schema

    if isinstance(value, str):
        return issubclass(kind, str) or (kind.__name__ in schema.TEXTS and not issubclass(kind, (dict, list)))
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, (int, float)):
        return issubclass(kind, (int, float)) and kind is not bool
    if isinstance(value, list):
        return schema.is_array(kind)
    if isinstance(value, dict):
        keyed = issubclass(kind, dict) or kind.__name__ in ("Mapping", "MutableMapping")
        return keyed or signatures.is_record(kind) or signatures.get_own_maker(kind) is not None
    return False


def convert_generic(value, origin, inner, where, hint):
    if origin is type or not inner:
        return convert_class(value, origin, where, hint)
    from . import schema

    if issubclass(origin, tuple):
        value = require_json(value, list, where, hint)
        if len(inner) == 2 and inner[1] is Ellipsis:
            inner = inner[:1] * len(value)
        inner = () if inner == ((),) else inner
        if len(inner) != len(value):
            raise type_error(where, "a list of %d" % len(inner), value)
        return tuple(
            convert(item, kind, "%s[%d]" % (where, index)) for index, (item, kind) in enumerate(zip(value, inner))
        )
    if schema.is_array(origin) and len(inner) == 1:
        value = require_json(value, list, where, hint)
        items = [convert(item, inner[0], "%s[%d]" % (where, index)) for index, item in enumerate(value)]
        return convert_class(items, origin, where, hint)
    if is_mapping(origin) and inner:
        value = require_json(value, dict, where, hint)
        keys, items = (inner[0], inner[1]) if len(inner) == 2 else (inner[0], typing.Any)
        pairs = (
            (convert(key, keys, "%s[%r]" % (where, key)), convert(item, items, "%s[%r]" % (where, key)))
            for key, item in value.items()
        )
        return convert_class(dict(pairs), origin, where, hint)
    made = convert_class(value, origin, where, hint)
    kinds = getattr(inner[-1], "__args__", ())  # of `NDArray[float64]`
    if hasattr(made, "astype") and kinds and isinstance(kinds[0], type):
        try:
            return made.astype(kinds[0])
        except (TypeError, ValueError):
            raise type_error(where, signatures.format_annotation(hint), value) from None
    return made


def is_mapping(kind):
    return issubclass(kind, dict) or (
        kind.__module__ in ("collections.abc", "_collections_abc", "typing")
        and kind.__name__ in ("Mapping", "MutableMapping")
    )


def require_json(value, kind, where, hint):
    """A list, or a dict, also one that a string holds. Raises TypeError."""
    value = signatures.parse_json(value, kind)
    if type(value) is not kind:
        raise type_error(where, signatures.format_annotation(hint), value)
    return value


def convert_scalar(value, kind, where, hint):
    """A `bool`, `int`, `float` or `str`, or of a class of these."""
    if issubclass(kind, str):
        if not isinstance(value, str):
            raise type_error(where, signatures.format_annotation(hint), value)
        return value if kind is str else kind(value)
    given = decode_string(value)
    if kind is bool:
        if isinstance(given, bool):
            return given
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        if issubclass(kind, float):
            return given if type(given) is kind else kind(given)
        if isinstance(given, int) or given.is_integer():
            return int(given) if kind is int else kind(int(given))
    elif issubclass(kind, float) and isinstance(given, str) and NO_NUMBERS.match(given.strip()):
        return kind(given)
    raise type_error(where, signatures.format_annotation(hint), value)


def convert_class(value, kind, where, hint):
    import enum

    from . import schema

    if kind is object:
        return value
    if issubclass(kind, enum.Enum):
        return convert_enum(value, kind, where)
    if signatures.is_record(kind):
        return convert_record(value, kind, where)
    if issubclass(kind, (str, int, float)):
        return convert_scalar(value, kind, where, hint)
    if is_mapping(kind):
        value = require_json(value, dict, where, hint)
        made = {"defaultdict": lambda value: kind(None, value)}.get(kind.__name__, kind)
        return made(value) if issubclass(kind, dict) and kind is not dict else value
    if schema.is_array(kind):
        value = require_json(value, list, where, hint)
        try:
            if schema.is_abstract(kind):
                return set(value) if schema.is_set(kind) else iter(value) if kind.__name__ == "Iterator" else value
            return value if kind is list else kind(value)
        except TypeError:
            raise type_error(where, "a list of hashable values", value) from None
    try:
        if isinstance(value, kind):
            return value
    except TypeError:
        return value  # a protocol that cannot be checked
    own = signatures.get_own_maker(kind)
    if own is not None:
        given = signatures.parse_json(value, dict)
        try:
            return own(given)
        except ValueError as error:
            problem = type_error(where, kind.__name__, value)
            raise TypeError("%s: %s" % (problem, " ".join(str(error).split()))) from None
    maker = signatures.MAKERS.get((kind.__module__, kind.__qualname__))
    if maker is None:
        return value
    expected, make = maker
    try:
        return make(kind, value)
    except Exception as error:
        problem = type_error(where, expected, value)
        raise TypeError("%s (%s)" % (problem, error)) from None


def convert_enum(value, kind, where):
    for given in (value, decode_string(value)):
        for member in kind:
            if member.value == given and isinstance(given, bool) is isinstance(member.value, bool):
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
    raise type_error(
        where, "one of %s" % ", ".join(repr(signatures.encode_enum(member)) for member in list(kind)[:50]), value
    )


def convert_record(value, kind, where):
    """A dataclass, a named tuple, an attrs class or a TypedDict of a JSON object."""
    fields = signatures.get_fields(kind, sys.modules["__main__"].__dict__)
    value = signatures.parse_json(value, dict)
    if issubclass(kind, tuple) and isinstance(signatures.parse_json(value, list), list):
        value = signatures.parse_json(value, list)
        if len(value) > len(fields):
            raise type_error(where, "a list of at most %d" % len(fields), value)
        value = dict(zip((name for name, _hint, _needed in fields), value))
    if not isinstance(value, dict):
        raise type_error(where, "an object with %s" % ", ".join(name for name, _hint, _needed in fields), value)
    hints = {name: hint for name, hint, _needed in fields}
    unknown = [key for key in value if key not in hints]
    missing = [name for name, _hint, needed in fields if needed and name not in value]
    typed = issubclass(kind, dict)
    if (unknown and not typed) or missing:
        problem = "unknown: %s" % ", ".join(unknown) if unknown and not typed else "missing: %s" % ", ".join(missing)
        raise TypeError("argument %r: %s has %s; %s" % (where, kind.__name__, ", ".join(hints), problem))
    given = {
        key: (
            None
            if item is None and defaults_to_none(kind, key)
            else convert(item, hints.get(key, typing.Any), "%s.%s" % (where, key))
        )
        for key, item in value.items()
    }
    return given if typed else kind(**given)


def defaults_to_none(kind, field):
    """True for a field whose default is None, whatever its annotation says."""
    defaults = getattr(kind, "_field_defaults", None)
    return (getattr(kind, field, field) if defaults is None else defaults.get(field, field)) is None
