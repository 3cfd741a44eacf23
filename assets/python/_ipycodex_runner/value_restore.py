"""What makes functions, classes and their parts again from a pickle of `value_pickle`.

In: parts of a value, as its pickle names these functions. Out: the value. Invariant: what is made first is empty, and
filled when all that refers to it can find it. Absent on purpose: what goes into a pickle.
"""

import marshal
import sys
import types

from . import stdlib

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class Silenced:
    """While it is entered, no `__init_subclass__` runs for a new class with these bases: it has run in the branch."""

    def __init__(self, bases):
        self.base = next((base for base in bases if base.__flags__ & HEAP_TYPE), None)

    def __enter__(self):
        self.own = vars(self.base).get("__init_subclass__") if self.base is not None else None
        try:
            type.__setattr__(self.base, "__init_subclass__", classmethod(lambda _class, **_options: None))
        except TypeError:
            self.base = None  # there is none, or it cannot be changed

    def __exit__(self, *_error):
        if self.base is None:
            return
        if self.own is None:
            type.__delattr__(self.base, "__init_subclass__")
        else:
            type.__setattr__(self.base, "__init_subclass__", self.own)


def load_module(name):
    import importlib

    return importlib.import_module(name)


def find_type(name):
    return getattr(types, name)


def load_code(data):
    return marshal.loads(data)


def make_function(code, where, name, closure):
    return types.FunctionType(code, where, name, None, closure)


def fill_function(function, parts):
    state, more = parts
    for name, value in state.items():
        setattr(function, name, value)
    vars(function).update(more)


def make_cell():
    return types.CellType()


def fill_cell(cell, content):
    for value in content:
        cell.cell_contents = value


def make_method(function, owner):
    return types.MethodType(function, owner)


def make_proxy(values):
    return types.MappingProxyType(values)


def make_class(kind, name, bases, slots):
    """A class without its body; no code of a metaclass or a base runs."""
    abc = sys.modules["abc"]
    make = abc.ABCMeta.__new__ if issubclass(kind, abc.ABCMeta) else type.__new__
    with Silenced(bases):
        return make(kind, name, bases, {} if slots is None else {"__slots__": slots})


def fill_class(kind, state):
    for name, value in state.items():
        type.__setattr__(kind, name, value)


def make_enum(kind, name, bases, members):
    body = kind.__prepare__(name, bases)
    for key, value in members:
        body[key] = value
    return kind.__new__(kind, name, bases, body)


def fill_enum(kind, parts):
    state, of_members = parts
    fill_class(kind, state)
    for name, extra in of_members.items():
        vars(kind.__members__[name]).update(extra)


def make_named_tuple(name, fields, defaults):
    import collections

    return collections.namedtuple(name, fields, defaults=defaults)


def make_cache(function, size, typed):
    import functools

    return functools.lru_cache(maxsize=size, typed=typed)(function)


def make_cached_property(function, name):
    import functools

    made = functools.cached_property(function)
    made.attrname = name
    return made


def make_type_variable(name, constraints, options):
    import typing

    return typing.TypeVar(name, *constraints, **options)


stdlib.for_users.add(load_module.__code__)
