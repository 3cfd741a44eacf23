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

from . import saved_variables, stdlib, trial, value_pickle, watchdog

EACH = 5.0  # seconds in which a value's code must bring something
LONGEST = 300.0  # seconds for one value
SLICE = 32 << 20  # bytes that are hashed at once
MOST_PARTS = 100000  # of one container, that are looked at for their identity
MOST_OBJECTS = 200000
SIZE = 16  # bytes of a digest
ATOMS = frozenset(
    (int, float, complex, str, bytes, bool, range, slice, type(None), type(...), type(NotImplemented), types.ModuleType,
     types.BuiltinFunctionType, types.CodeType)
)  # fmt: skip
SHOWN = (int, float, complex, str, bytes, bool, type(None))
SHORT = 40  # characters
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

    def __init__(self, sink, ns, refused, sets=()):
        self.sink, self.refused, self.sets = sink, refused, sets
        value_pickle.ValuePickler.__init__(self, sink, ns, self.add_buffer)

    def add_buffer(self, buffer):
        with buffer.raw() as data:
            self.sink.write(b"buffer %d" % data.nbytes)
            self.sink.write(data)

    def persistent_id(self, value):
        kind = type(value)
        if kind is dict:
            return self.find_namespace(value)
        if kind is set or kind is frozenset:
            return self.digest_set(value)
        return None

    def reducer_override(self, value):
        kind = type(value)
        if str(value_pickle.get_body(kind).get("__module__")).partition(".")[0] != "pandas":
            return value_pickle.ValuePickler.reducer_override(self, value)
        if kind.__name__ == "DataFrame":
            return repr, ("DataFrame",), list_columns(value)
        return drop_cache(value_pickle.ValuePickler.reducer_override(self, value))

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
        DigestPickler(sink, self.ns, self.refused, sets).dump(value)
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


def list_columns(table):
    """What a DataFrame holds, however its columns are put together in memory, which reading changes."""
    columns = [table.iloc[:, number]._values for number in range(table.shape[1])]
    return table.columns, table.index, columns, table.attrs, table.flags.allows_duplicate_labels


def drop_cache(reduced):
    """Of an array of pandas', without what reading has put beside the values."""
    if type(reduced) is not tuple or len(reduced) < 3 or type(reduced[2]) is not tuple:
        return reduced
    state = tuple(part for part in reduced[2] if type(part) is not dict or list(part) != ["_cache"])
    return reduced[:2] + (state,) + reduced[3:]


def digest_names(engine, names=None, base=None):
    """{name: {what, id, digest, identity}} of the user's names, or of these. `refused`, {address: why}, is there where
    a part cannot be carried; `slow` where the value could not be looked at; `holds`, {name of `base`: path}, where the
    name holds what another had in the table `base`, unchanged."""
    ns = engine.ns
    wanted = sorted(saved_variables.user_names(engine) if names is None else names)
    rows = {name: digest_value(ns[name], ns) for name in wanted if name in ns}
    if base is not None:
        find_held(rows, base, ns)
    return rows


def find_held(rows, base, ns):
    """Where the objects are now whose names have changed."""
    moved = {row["id"]: name for name, row in base.items() if row["id"] and not is_same(row, rows.get(name))}
    for place, value in walk([(name, ns[name]) for name in rows] if moved else ()):
        name = moved.get(str(id(value)))
        if name is not None:
            path = get_path(place)
            row = rows[path[0]] if len(path) == 1 else digest_value(value, ns)
            if is_same(base[name], row):
                rows[path[0]].setdefault("holds", {})[name] = path


def is_same(one, other):
    return other is not None and one["digest"] == other["digest"] and one["identity"] == other["identity"]


def describe(value):
    """A short value itself, of others type and size."""
    if type(value) in SHOWN:
        text = repr(value)
        if len(text) <= SHORT:
            return text
    return trial.describe_value(value)


def digest_value(value, ns):
    sink, refused = HashSink(), {}
    row = {"what": watchdog.type_name(value), "id": None if type(value) in ATOMS else str(id(value)), "identity": None}

    def look():
        row["what"] = describe(value)
        row["identity"] = find_identity(value)
        DigestPickler(sink, ns, refused).dump(value)

    try:
        watchdog.run_within(Patience(sink), look)
        row["digest"] = sink.hash.hexdigest()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        row["digest"] = "%s at %x" % (watchdog.type_name(value), id(value))
        row["slow"] = isinstance(error, (watchdog.TookTooLong, RecursionError))
        refused[str(id(value))] = describe_failure(type(value), error)
    if refused:
        row["refused"] = refused
    return row


def describe_failure(kind, error):
    """Why a value of this type cannot be carried."""
    if isinstance(error, value_pickle.NotCarriable):
        return str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, watchdog.TookTooLong):
        return "it took too long to look at"
    return value_pickle.describe_refusal(kind, error)


def find_identity(value):
    """Of all objects that can change within the value, in their order; None: there are none."""
    found = [id(each) for _place, each in walk([(None, value)]) if can_change(type(each))]
    return blake2b(repr(found).encode(), digest_size=SIZE).hexdigest() if found else None


def can_change(kind):
    return not issubclass(kind, (tuple, frozenset, type)) and kind not in (types.FunctionType, types.MethodType)


def walk(roots):
    """(place, value) of all that containers and instances hold, outermost first, each once."""
    seen, queue = set(), deque(((None, name), value) for name, value in roots if type(value) not in ATOMS)
    while queue and len(seen) < MOST_OBJECTS:
        place, value = queue.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield place, value
        queue.extend(((place, step), part) for step, part in get_parts(value) if type(part) not in ATOMS)


def get_path(place):
    """The steps to a place of `walk`: a name, and those of `get_parts`."""
    path = []
    while place is not None:
        place, step = place
        path.append(step)
    return path[::-1]


def get_parts(value):
    """(step, part) of what a value holds: by position; where its class is the user's, by attribute, and, for None, that
    class. What libraries keep in their objects may be caches, which reading changes."""
    kind = type(value)
    if issubclass(kind, type):
        if is_users(value):
            for name, part in list(value_pickle.get_body(value).items()):
                if name not in value_pickle.CLASS_ATTRIBUTES:
                    yield name, part
        return
    for base in (dict, list, tuple, set, frozenset, deque):
        if issubclass(kind, base):
            items = dict.values(value) if base is dict else base.__iter__(value)
            yield from enumerate(islice(items, MOST_PARTS))
    if is_users(kind):
        try:
            attributes = object.__getattribute__(value, "__dict__")
        except Exception:
            attributes = None
        if type(attributes) is dict:
            yield from list(attributes.items())
        yield None, kind


def is_users(kind):
    """True for a class that was defined in a cell or in a file of the user's."""
    module = value_pickle.get_body(kind).get("__module__")
    if type(module) is not str:
        return False
    if module == "__main__" or kind is types.SimpleNamespace:
        return True
    try:
        file = getattr(sys.modules.get(module), "__file__", None)
    except Exception:
        return False
    return type(file) is str and not file.startswith(stdlib.INSTALLED)


def get_at(path, roots, cache):
    """The value at a path; `cache` is a dictionary for all calls. Raises LookupError."""
    path = tuple(path)
    found = roots[path[0]]
    for end in range(1, len(path)):
        parts = cache.get(path[:end])
        if parts is None:
            parts = cache[path[:end]] = dict(get_parts(found))
        found = parts[path[end]]
    return found
