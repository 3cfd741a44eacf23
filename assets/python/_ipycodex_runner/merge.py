"""Names that a branch of the interpreter takes back to the prompt.

In: digests of the names in the common state, the branch and the prompt (`value_digest`); names to carry. Out: what
becomes of each name; a file with values, written in the branch and read at the prompt. Invariants: the plan depends on
the digests only; carried values that share an object share it afterwards, also with what neither side has touched; a
value that cannot go does not keep others; the prompt's namespace changes as a whole or not at all; since unpickling
runs code, only a file that nobody but the user could have written is read. Absent on purpose: processes, and who
chooses between two values of one name.

The file: HEAD; one pickle per name, which share a memo; the buffers of arrays; the index, JSON; its length, 8 bytes
little-endian.
"""

import os
import pickle

from . import array_views, saved_variables, stdlib, watchdog, wire
from .value_digest import (
    Patience,
    can_change,
    describe_failure,
    digest_names,  # noqa: F401  # for whoever merges
    get_at,
    get_path,
    is_same,
    walk,
)
from .value_pickle import ValuePickler, first_line

HEAD = b"ipycodex merge 1\n"
ALIGNED = 64  # bytes
PLAIN = (tuple, frozenset)


def write_digests(digests, path):
    """Writes them as JSON, a whole file or none."""
    draft = path + ".new~"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(fd, "w") as file:
        file.write(wire.dump(digests))
    os.replace(draft, path)


class MergeError(Exception):
    """A value could not be read; the namespace is unchanged."""

    def __init__(self, name, why):
        Exception.__init__(self, "`%s` cannot be carried: %s" % (name, why) if name else why)
        self.name = name


def plan(base, theirs, ours):
    """One row for each name that the branch has changed and the prompt has not changed to the same: `outcome` is
    `carried`, `conflict` or `refused` (with `why`), `branch` and `prompt` say what each did (None: nothing); `was`,
    `now` and `mine` describe the values."""
    shared = find_shared(base, theirs, ours)
    reached = {base[name]["id"] for name in shared if not base[name].get("slow")}
    rows = []
    for name in sorted(set(base) | set(theirs)):
        was, now, mine = base.get(name), theirs.get(name), ours.get(name)
        branch, prompt = compare(was, now), compare(was, mine)
        if branch is None and not (now and now.get("slow")):
            continue
        if prompt is not None and has_same_value(now, mine):
            continue
        row = {"name": name, "branch": branch, "prompt": prompt}
        row.update((key, it["what"]) for key, it in (("was", was), ("now", now), ("mine", mine)) if it is not None)
        refused = () if now is None else [why for at, why in now.get("refused", {}).items() if at not in reached]
        if refused:
            row.update(outcome="refused", why=min(refused))
        else:
            row["outcome"] = "carried" if prompt is None else "conflict"
        rows.append(row)
    return rows


def find_shared(base, theirs, ours):
    """{name: (path in the branch, path at the prompt)} of the values in `base` that neither side has changed."""
    there, here = find_kept(base, theirs), find_kept(base, ours)
    return {name: (there[name], here[name]) for name in sorted(base) if name in there and name in here}


def find_kept(base, table):
    kept = {}
    for row in table.values():
        kept.update(row.get("holds", {}))
    kept.update((name, [name]) for name in base if is_same(base[name], table.get(name)))
    return kept


def compare(before, after):
    """What became of a name: added, changed, deleted, or None."""
    if before is None:
        return None if after is None else "added"
    if after is None:
        return "deleted"
    return None if is_same(before, after) else "changed"


def has_same_value(one, other):
    """True for two that are gone, or equal without doubt."""
    if one is None or other is None:
        return one is other
    return one["digest"] == other["digest"] and not one.get("refused")


class CountedFile:
    """A file that says how much was written, and whether writing failed."""

    def __init__(self, file):
        self.file, self.position, self.failed = file, 0, None

    def write(self, data):
        try:
            self.file.write(data)
        except OSError as error:
            self.failed = error
            raise
        self.position += memoryview(data).nbytes


class CarryPickler(ValuePickler):
    """Writes values; what both processes have goes as its path. `known`: {address: place}; `old`: {address: name}."""

    def __init__(self, file, ns, shared, known, old, arrays):
        self.file, self.shared, self.known, self.old, self.arrays, self.buffers = file, shared, known, old, arrays, []
        self.name, self.found = None, {}
        ValuePickler.__init__(self, file, ns, self.buffers.append)

    def persistent_id(self, value):
        address = id(value)
        if address in self.old:
            self.found.setdefault(self.name, set()).add(self.old[address])
        place = self.known.get(address)
        if place is not None:
            name, *steps = get_path(place)
            return "at", (*self.shared[name][1], *steps)
        return self.find_namespace(value) if type(value) is dict else None

    def reducer_override(self, value):
        view = array_views.reduce_view(value, self.arrays) if self.arrays else None
        return ValuePickler.reducer_override(self, value) if view is None else view

    def get_outdated(self):
        return {name: sorted(found) for name, found in self.found.items()}


def pack(engine, names, shared, path, outdated=()):
    """Writes the values of `names` to a new file; `shared` is as of `find_shared`, `outdated` are names that only the
    prompt has changed. Returns the `names` in the file, why others are `refused`, which `outdated` ones each holds the
    value of, and its `bytes`. Raises OSError; there is no file then."""
    known = {}
    there = list(walk([(name, get_at(path, engine.ns, {})) for name, (path, _here) in shared.items()]))
    for place, value in there:
        if type(value) not in PLAIN or value:
            known.setdefault(id(value), place)
    old = {id(value): name for name in outdated if name in engine.ns for value in list_values(engine.ns, [name])
           if can_change(type(value)) and id(value) not in known}  # fmt: skip
    refused = {name: "it is not defined in the branch" for name in names if name not in engine.ns}
    names = sorted(name for name in names if name in engine.ns)
    arrays = array_views.find_references([value for _place, value in there], list_values(engine.ns, names))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(fd, "wb") as file:
            while True:
                pickler = CarryPickler(CountedFile(file), engine.ns, shared, known, old, arrays)
                failed = write_values(pickler, names)
                if failed is None:
                    break
                names.remove(failed[0])
                refused[failed[0]] = failed[1]
                file.seek(0)
                file.truncate()
            return {"names": names, "refused": refused, "outdated": pickler.get_outdated(), "bytes": file.tell()}
    except BaseException:
        os.unlink(path)
        raise


def list_values(ns, names):
    """All values that the walk from these names comes to."""
    return [value for _place, value in walk([(name, ns[name]) for name in names])]


def write_values(pickler, names):
    """Writes the whole file, or returns the name that cannot go, and why."""
    counted = pickler.file
    counted.write(HEAD)
    for name in names:
        try:
            pickler.name = name
            watchdog.run_within(Patience(counted), pickler.dump, pickler.ns[name])
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if counted.failed is not None:
                raise counted.failed from None
            return name, describe_failure(type(pickler.ns[name]), error)
    buffers = []
    for buffer in pickler.buffers:
        counted.write(bytes(-counted.position % ALIGNED))
        with buffer.raw() as data:
            buffers.append([counted.position, data.nbytes, data.readonly])
            counted.write(data)
    index = saved_variables.to_json({"names": names, "buffers": buffers})
    counted.write(index + len(index).to_bytes(8, "little"))
    return None


class CarryUnpickler(pickle.Unpickler):
    def __init__(self, file, ns, buffers):
        pickle.Unpickler.__init__(self, file, buffers=buffers)
        self.ns, self.places = ns, {}

    def persistent_load(self, pid):
        kind, where = pid
        if kind == "at":
            return get_at(where, self.ns, self.places)
        if where is None:
            return self.ns
        return load_namespace(where)


def load_namespace(name):
    import importlib

    return vars(importlib.import_module(name))


def unpickle(unpickler):
    return unpickler.load()


stdlib.for_users.update((unpickle.__code__, load_namespace.__code__))


def unpack(engine, path, renames=None, deleted=()):
    """Reads all values of the file, then sets them, each under its name or what `renames` has for it, and deletes these
    names. Returns the names that were set. Raises MergeError."""
    values = {} if path is None else read_values(engine, path)
    values = {(renames or {}).get(name, name): value for name, value in values.items()}
    engine.set_names(values)
    for name in deleted:
        if name not in values:
            engine.ns.pop(name, None)
    return sorted(values)


def read_values(engine, path):
    name = None
    try:
        file = saved_variables.open_private(path, "the carried values")
        with file:
            index = saved_variables.read_json(file, path, HEAD)
            buffers = [read_buffer(file, *each) for each in index["buffers"]]
            file.seek(len(HEAD))
            unpickler, values = CarryUnpickler(file, engine.ns, buffers), {}
            for name in index["names"]:
                values[name] = unpickle(unpickler)
            return values
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise MergeError(name, first_line(error)) from error


def read_buffer(file, at, size, readonly):
    data = bytearray(size)
    file.seek(at)
    if file.readinto(data) != size:
        raise ValueError("the file is damaged")
    return memoryview(data).toreadonly() if readonly else data
