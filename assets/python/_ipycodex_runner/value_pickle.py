"""Pickles in which functions and classes of cells go by value, and known objects by their place.

In: values, and the namespace of the cells. Out: a pickle that a process with the same modules can read, whose functions
have that process's namespace as their globals. Invariants: each function, class and closure cell is made once per
pickler, whatever refers to it; what cannot go raises NotCarriable with a reason for a person. Absent on purpose: which
values go (`merge`); compatibility with another version of Python.
"""

import copyreg
import marshal
import pickle
import sys
import types

from .value_restore import (
    HEAP_TYPE,
    fill_cell,
    fill_class,
    fill_enum,
    fill_function,
    find_type,
    load_code,
    load_module,
    make_cache,
    make_cached_property,
    make_cell,
    make_class,
    make_enum,
    make_function,
    make_method,
    make_named_tuple,
    make_proxy,
    make_type_variable,
)

CLASS_ATTRIBUTES = (  # of Python's own making, some of them when they are first asked for
    "__dict__", "__weakref__", "__slotnames__", "__firstlineno__", "__static_attributes__", "__annotations_cache__",
    "_abc_impl",
)  # fmt: skip
FUNCTION_ATTRIBUTES = ("__defaults__", "__kwdefaults__", "__qualname__", "__module__", "__doc__", "__annotations__")
METHODS = (types.FunctionType, property, classmethod, staticmethod)
ENUM_ATTRIBUTES = ("__doc__", "__module__", "__annotations__")
MEMBER_ATTRIBUTES = ("_value_", "_name_", "__objclass__", "_sort_order_")  # of an enum's member: Python sets them
REASONS = {  # type -> why it cannot be carried
    "coroutine": "a coroutine cannot be carried: it is in the middle of its code",
    "async_generator": "a generator cannot be carried: it is in the middle of its code",
    "frame": "a frame cannot be carried: it belongs to code that runs",
    "traceback": "a traceback cannot be carried: it belongs to code that ran in the branch",
    "socket": "a socket cannot be carried: its connection belongs to the branch",
    "Thread": "a thread cannot be carried: it runs in the branch",
    "Popen": "a program that was started cannot be carried: it is a child of the branch",
    "Connection": "a connection cannot be carried: it belongs to the branch",
    "weakref": "a weak reference cannot be carried",
    "ReferenceType": "a weak reference cannot be carried",
    "memoryview": "a memoryview cannot be carried: it is a view of the branch's memory",
}
REASONED = (
    "builtins",
    "weakref",
    "socket",
    "_socket",
    "threading",
    "subprocess",
    "sqlite3",
    "multiprocessing.connection",
)
LOCKS = ("lock", "RLock", "_RLock", "Lock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier")
NO_NAMESPACE = "a function whose globals are neither the session's nor a module's cannot be carried"
get_name, get_body = type.__dict__["__name__"].__get__, type.__dict__["__dict__"].__get__


class NotCarriable(pickle.PicklingError):
    """A value that has no meaning in another process."""


class ValuePickler(pickle.Pickler):
    """A pickler for values of the namespace `ns`."""

    def __init__(self, file, ns, buffer_callback):
        pickle.Pickler.__init__(self, file, 5, buffer_callback=buffer_callback)
        self.ns, self.reasons = ns, {}

    def find_namespace(self, value):
        """What stands for a dictionary with the names of the cells or of a module; None for any other."""
        if value is self.ns:
            return "namespace", None
        name = value.get("__name__")
        module = sys.modules.get(name) if type(name) is str else None
        return ("namespace", name) if module is not None and vars(module) is value else None

    def refuse(self, value, why, state=None):
        """What stands for a value that cannot go and has this state; here: nothing."""
        raise NotCarriable(why)

    def reducer_override(self, value):
        kind = type(value)
        reduce = REDUCERS.get(kind)
        if reduce is not None:
            return reduce(self, value)
        if issubclass(kind, type):
            return self.reduce_class(value)
        if issubclass(kind, types.ModuleType):
            return self.reduce_module(value)
        named = NAMED_REDUCERS.get((kind.__module__, kind.__qualname__))
        if named is not None:
            return named(self, value)
        if kind in copyreg.dispatch_table:
            return NotImplemented
        if kind not in self.reasons:
            self.reasons[kind] = find_reason(kind)
        if self.reasons[kind] is not None:
            return self.refuse(value, self.reasons[kind])
        try:
            reduced = value.__reduce_ex__(5)
        except Exception as error:
            return self.refuse(value, describe_refusal(kind, error), getattr(value, "__dict__", None))
        if type(reduced) is str and self.find_global(value, reduced) is None:
            return self.refuse(value, "%s that no module has cannot be carried" % with_article(kind))
        return reduced

    def find_global(self, value, name=None):
        """The name of the module where importing finds `value`."""
        where = getattr(value, "__module__", "builtins")
        module = sys.modules.get(where) if type(where) is str else None
        if module is None or vars(module) is self.ns or where == "__main__":
            return None
        found = module
        try:
            for part in (name or value.__qualname__).split("."):
                found = getattr(found, part)
        except AttributeError:
            return None
        return where if found is value else None

    def reduce_module(self, module):
        name = getattr(module, "__name__", None)
        found = type(name) is str and sys.modules.get(name) is module
        if not found or vars(module).get("__spec__") is None and name != "__main__":
            return self.refuse(module, "a module that cannot be imported cannot be carried")
        return load_module, (name,)

    def reduce_generator(self, generator):
        frame = generator.gi_frame
        state = None if frame is None else (frame.f_lasti, dict(frame.f_locals))
        return self.refuse(generator, "a generator cannot be carried: it is in the middle of its code", state)

    def reduce_function(self, function):
        if self.find_global(function) is not None:
            return NotImplemented
        where = function.__globals__
        if self.find_namespace(where) is None:
            return self.refuse(function, NO_NAMESPACE)
        state = {}
        for name in FUNCTION_ATTRIBUTES:
            try:
                state[name] = getattr(function, name)
            except Exception:
                pass  # annotations that are evaluated only now
        made = function.__code__, where, function.__name__, function.__closure__
        return make_function, made, (state, vars(function)), None, None, fill_function

    def reduce_cell(self, cell):
        try:
            content = (cell.cell_contents,)
        except ValueError:
            content = ()
        return make_cell, (), content, None, None, fill_cell

    def reduce_code(self, code):
        return load_code, (marshal.dumps(code),)

    def reduce_class(self, kind):
        if self.find_global(kind) is not None:
            return NotImplemented
        if not kind.__flags__ & HEAP_TYPE:
            names = [name for name, found in vars(types).items() if found is kind]
            return (find_type, (names[0],)) if names else NotImplemented
        enum = sys.modules.get("enum")
        body = get_body(kind)
        if enum is not None and isinstance(kind, enum.EnumMeta):
            return self.reduce_enum(kind, body)
        if kind.__bases__ == (tuple,) and "_fields" in body and "_make" in body:
            return self.reduce_named_tuple(kind, body)
        if "__class__" in body:
            return self.refuse(kind, "a class that hides the type of its instances cannot be carried")
        state = {name: body[name] for name in body if name not in CLASS_ATTRIBUTES and not is_slot(kind, body[name])}
        slots = state.pop("__slots__", None)
        state["__qualname__"] = kind.__qualname__
        return make_class, (type(kind), kind.__name__, kind.__bases__, slots), state, None, None, fill_class

    def reduce_enum(self, kind, body):
        members = [(name, member._value_) for name, member in kind.__members__.items()]
        state = {name: value for name, value in body.items() if name not in kind.__members__
                 and (not name.startswith("_") or name in ENUM_ATTRIBUTES or type(value) in METHODS)}  # fmt: skip
        state["__qualname__"] = kind.__qualname__
        of_members = {}
        for name, member in kind.__members__.items():
            extra = {key: value for key, value in vars(member).items() if key not in MEMBER_ATTRIBUTES}
            if extra:
                of_members[name] = extra
        made = type(kind), kind.__name__, kind.__bases__, members
        return make_enum, made, (state, of_members), None, None, fill_enum

    def reduce_named_tuple(self, kind, body):
        defaults = tuple(getattr(kind, "_field_defaults", {}).values())
        plain = vars(make_named_tuple(kind.__name__, kind._fields, defaults))
        state = {
            name: body[name] for name in body if name == "__doc__" or name not in plain and name not in CLASS_ATTRIBUTES
        }
        state.update(__module__=kind.__module__, __qualname__=kind.__qualname__)
        return make_named_tuple, (kind.__name__, kind._fields, defaults), state, None, None, fill_class

    def reduce_cache(self, value):
        """A function under `functools.lru_cache`, with an empty cache."""
        if self.find_global(value) is not None:
            return NotImplemented
        if hasattr(value, "cache_parameters"):
            options = value.cache_parameters()
        else:
            options = {"maxsize": value.cache_info().maxsize, "typed": False}  # before Python 3.9
        return make_cache, (value.__wrapped__, options["maxsize"], options["typed"])

    def reduce_cached_property(self, value):
        return make_cached_property, (value.func, value.attrname)

    def reduce_type_variable(self, value):
        if self.find_global(value, value.__name__) is not None:
            return NotImplemented
        options = {"bound": value.__bound__, "covariant": value.__covariant__, "contravariant": value.__contravariant__}
        return make_type_variable, (value.__name__, value.__constraints__, options)

    def reduce_sentinel(self, value):
        """A constant that `dataclasses` knows by its identity."""
        for name, found in vars(sys.modules["dataclasses"]).items():
            if found is value:
                return name
        return value.__reduce_ex__(5)


REDUCERS = {
    types.FunctionType: ValuePickler.reduce_function,
    types.CellType: ValuePickler.reduce_cell,
    types.GeneratorType: ValuePickler.reduce_generator,
    types.CodeType: lambda pickler, value: pickler.reduce_code(value),
    types.MethodType: lambda _pickler, value: (make_method, (value.__func__, value.__self__)),
    types.MappingProxyType: lambda _pickler, value: (make_proxy, (dict(value),)),
    property: lambda _pickler, value: (property, (value.fget, value.fset, value.fdel, value.__doc__)),
    staticmethod: lambda _pickler, value: (staticmethod, (value.__func__,)),
    classmethod: lambda _pickler, value: (classmethod, (value.__func__,)),
}
NAMED_REDUCERS = {  # by module and name of the type, which need not be loaded
    ("functools", "_lru_cache_wrapper"): ValuePickler.reduce_cache,
    ("functools", "cached_property"): ValuePickler.reduce_cached_property,
    ("typing", "TypeVar"): ValuePickler.reduce_type_variable,
    ("dataclasses", "_MISSING_TYPE"): ValuePickler.reduce_sentinel,
    ("dataclasses", "_FIELD_BASE"): ValuePickler.reduce_sentinel,
    ("dataclasses", "_KW_ONLY_TYPE"): ValuePickler.reduce_sentinel,
    ("dataclasses", "_HAS_DEFAULT_FACTORY_CLASS"): ValuePickler.reduce_sentinel,
}


def find_reason(kind):
    """Why no value of this type can go, where that is known beforehand."""
    io = sys.modules["_io"]
    for each in kind.__mro__:
        name, module = each.__name__, each.__module__
        if name in REASONS and module in REASONED:
            return REASONS[name]
        if module in ("_thread", "threading") and name in LOCKS:
            return "a lock cannot be carried: it belongs to the threads of the branch"
    if issubclass(kind, io._IOBase) and not issubclass(kind, (io.StringIO, io.BytesIO)):
        return "an open file cannot be carried: open it again in a cell"
    return None


def with_article(kind):
    name = "class" if issubclass(kind, type) else get_name(kind)
    return ("an " if name[:1] in "aeiouAEIOU" else "a ") + name


def describe_refusal(kind, error):
    return "%s cannot be carried: %s" % (with_article(kind), first_line(error))


def first_line(error):
    try:
        text = str(error).strip().split("\n")[0]
    except Exception:
        text = ""
    return text or type(error).__name__


def is_slot(kind, value):
    return type(value) is types.MemberDescriptorType and value.__objclass__ is kind
