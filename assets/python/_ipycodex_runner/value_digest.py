"""Digests of the user's names, which tell whether a name has the same value in two forks of one process.

In: a namespace. Out: JSON. Invariants: forks that have not touched a value give it the same digest; a change in place
of anything that can be pickled, of whatever size, gives it another; what cannot be pickled is told apart by type and
address. `identity` differs, too, when an equal object has taken an object's place. Absent on purpose: what follows
from a difference (`merge`); values of names with an underscore in front, as everywhere.
"""

import sys
import types
from collections import deque
from hashlib import blake2b
from itertools import islice
from time import monotonic

from . import saved_variables, trial, value_pickle, watchdog

EACH = 5.0  # seconds in which a value's code must bring something
LONGEST = 300.0  # seconds for one value, its arrays not counted
SLICE = 32 << 20  # bytes that are hashed at once
MOST_PARTS = 100000  # of one container, that are looked at for their identity
MOST_OBJECTS = 200000
SIZE = 16  # bytes of a digest
SLOW = "it took too long to look at"
NESTED = "it is nested too deeply"
ATOMS = frozenset(
    (int, float, complex, str, bytes, bool, range, slice, type(None), type(...), type(NotImplemented), types.ModuleType,
     types.BuiltinFunctionType, types.CodeType)
)  # fmt: skip
SORTABLE = (int, str, bytes)


class HashSink:
    """A file that keeps a hash of what is written to it."""

    def __init__(self):
        self.hash, self.position = blake2b(digest_size=SIZE), 0

    def write(self, data):
        data = memoryview(data)
        for begin in range(0, len(data), SLICE):
            self.hash.update(data[begin : begin + SLICE])
            self.position += 1


class Patience:
    """How long a value's own code may still take: for as long as it brings something."""

    def __init__(self, sink):
        self.sink, self.seen, self.until = sink, None, monotonic() + LONGEST

    def __call__(self):
        position = self.sink.position
        if position == self.seen or monotonic() > self.until:
            return 0
        self.seen = position
        return EACH


class DigestPickler(value_pickle.ValuePickler):
    """Writes what tells a value from others; `refused`: {address: why} of what cannot go to another process."""

    def __init__(self, sink, ns, namespaces, refused, sets=()):
        self.sink, self.refused, self.sets = sink, refused, sets
        value_pickle.ValuePickler.__init__(self, sink, ns, namespaces, self.add_buffer)

    def add_buffer(self, buffer):
        with buffer.raw() as data:
            self.sink.write(b"buffer %d" % data.nbytes)
            self.sink.write(data)

    def persistent_id(self, value):
        kind = type(value)
        if kind is dict:
            return self.namespaces.get(id(value))
        if kind is set or kind is frozenset:
            return self.digest_set(value)
        return None

    def digest_set(self, values):
        """The same for equal sets, whose order depends on how they came to be."""
        if id(values) in self.sets:
            return "a set inside itself"
        sets = self.sets + (id(values),)
        kinds = set(map(type, values))
        if len(kinds) == 1 and kinds.issubset(SORTABLE):
            return type(values).__name__, self.digest_part(sorted(values), sets)
        return type(values).__name__, sorted(self.digest_part(value, sets) for value in values)

    def digest_part(self, value, sets):
        sink = HashSink()
        DigestPickler(sink, self.ns, self.namespaces, self.refused, sets).dump(value)
        self.sink.position += 1
        return sink.hash.digest()

    def refuse(self, value, why, state=None):
        self.refused[str(id(value))] = why
        return repr, (type(value).__name__, id(value)), state

    def reduce_code(self, code):
        parts = (code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
                 code.co_name, code.co_flags, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount,
                 getattr(code, "co_exceptiontable", b""))  # fmt: skip
        return repr, ("code",), parts


def digest_names(engine, names=None):
    """{name: {digest, what, id, identity, refused}} of the user's names, or of these; `refused` is there where a part
    cannot be carried, `slow` where the digest is of the address only."""
    ns = engine.ns
    namespaces = value_pickle.find_namespaces(ns)
    wanted = saved_variables.user_names(engine) if names is None else names
    return {name: digest_value(name, ns[name], ns, namespaces) for name in sorted(wanted) if name in ns}


def digest_value(name, value, ns, namespaces):
    sink, refused = HashSink(), {}
    row = {"what": trial.describe_value(value), "id": None if type(value) in ATOMS else str(id(value))}
    try:
        pickler = DigestPickler(sink, ns, namespaces, refused)
        watchdog.run_within(Patience(sink), pickler.dump, value)
        row["digest"] = sink.hash.hexdigest()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        row["digest"] = "%s at %x" % (watchdog.type_name(value), id(value))
        if isinstance(error, watchdog.TookTooLong):
            refused[str(id(value))], row["slow"] = SLOW, True
        elif isinstance(error, RecursionError):
            refused[str(id(value))], row["slow"] = NESTED, True
        else:
            refused[str(id(value))] = value_pickle.describe_refusal(type(value), error)
    if refused:
        row["refused"] = refused
    row["identity"] = find_identity(name, value)
    return row


def find_identity(name, value):
    """Of all objects that can change within the value, in their order; None: there are none."""
    found = [id(each) for _path, each in walk([(name, value)]) if can_change(type(each))]
    return blake2b(repr(found).encode(), digest_size=SIZE).hexdigest() if found else None


def can_change(kind):
    return not issubclass(kind, (tuple, frozenset, type)) and kind not in (types.FunctionType, types.MethodType)


def walk(roots):
    """(path, object) of all that containers and instances hold, outermost first, each once; the path begins with a
    name, and `get_parts` has its steps."""
    seen, queue = set(), deque(((name,), value) for name, value in roots if type(value) not in ATOMS)
    while queue and len(seen) < MOST_OBJECTS:
        path, value = queue.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield path, value
        queue.extend((path + (step,), part) for step, part in get_parts(value) if type(part) not in ATOMS)


def get_parts(value):
    """(step, part) of what a value holds: by position, by attribute, and, for None, its class when that is a cell's."""
    kind = type(value)
    if issubclass(kind, type):
        if is_of_cell(value):
            for name, part in list(vars(value).items()):
                if name not in value_pickle.CLASS_ATTRIBUTES:
                    yield name, part
        return
    for base in (dict, list, tuple, set, frozenset, deque):
        if issubclass(kind, base):
            items = dict.values(value) if base is dict else base.__iter__(value)
            yield from enumerate(islice(items, MOST_PARTS))
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:
        attributes = None
    if type(attributes) is dict and kind is not types.FunctionType:
        yield from list(attributes.items())
    if is_of_cell(kind):
        yield None, kind


def is_of_cell(kind):
    return kind.__dict__.get("__module__") == "__main__"


def get_at(path, roots, cache):
    """The object at a path of `walk`; `cache` is a dictionary for all calls. Raises LookupError."""
    found = roots[path[0]]
    for end in range(1, len(path)):
        parts = cache.get(path[:end])
        if parts is None:
            parts = cache[path[:end]] = dict(get_parts(found))
        found = parts[path[end]]
    return found
