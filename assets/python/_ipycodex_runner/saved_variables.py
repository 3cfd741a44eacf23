"""The user's variables, saved when a session ends and restored when it is resumed.

In: requests `variables` (keep, list, bring) that name a file. Out: names, types and sizes; what is left out, and why.
Each variable is a pickle of its own: one that cannot be pickled or takes too long does not affect the others; an object
shared by two variables becomes two objects. Invariants: the file is complete or the previous one; since unpickling runs
code, only a file that nobody but the user could have written is read; an existing name is not overwritten; saved
variables that were not restored stay in the file. Absent on purpose: functions, classes and modules, which their code
defines again, and the decision to save or restore.

The file: HEAD; the pickles; the index, JSON, [{name, type, at, bytes}]; its length, 8 bytes little-endian.
"""

import os
import pickle
import stat
from time import monotonic, time

from . import stdlib, watchdog

HEAD = b"ipycodex variables 1\n"
PATIENCE = 0.8  # seconds for all; the end of a session waits for it
MOST = 100 << 20  # bytes of all
MOST_INDEX = 16 << 20
CODE = (type, type(lambda: 0), type(len), type(os))  # classes, functions, modules
WHY = 80  # characters of a reason
known = set()  # files of which this interpreter has all that was in them


class LimitExceeded(Exception):
    """There is no room left, or no time."""


class LimitedFile:
    """A file that takes so much, for so long."""

    def __init__(self, file):
        self.file, self.until = file, monotonic() + PATIENCE

    def write(self, data):
        size = memoryview(data).nbytes
        if self.file.tell() + size > MOST:
            raise LimitExceeded("all of them together would be more than %d MB" % (MOST >> 20))
        if monotonic() > self.until:
            raise LimitExceeded("it took too long")
        self.file.write(data)


class Pickler(pickle.Pickler):
    """Refuses what names something of the session: no other interpreter could find it."""

    def reducer_override(self, value):
        if isinstance(value, CODE[:2]) and getattr(value, "__module__", None) == "__main__":
            why = "it needs `%s`, which was defined in a cell and cannot be kept"
            raise pickle.PicklingError(why % value.__qualname__)
        return NotImplemented


def user_names(engine):
    """The user's names."""
    system = getattr(engine, "system_names", ())
    hidden = getattr(getattr(engine, "shell", None), "user_ns_hidden", ())
    return [name for name in list(engine.ns) if not name.startswith("_") and name not in system and name not in hidden]


def answer(request, engine):
    does = {"keep": save, "list": list_saved, "bring": restore}[request["op"]]
    return {"variables": does(request["file"], engine)}


def save(path, engine):
    draft = path + ".new~"
    try:
        os.unlink(draft)
    except FileNotFoundError:
        pass
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    rows, left = [], []
    try:
        with open(fd, "wb") as file:
            file.write(HEAD)
            room = LimitedFile(file)
            for name in user_names(engine):
                value = engine.ns.get(name)
                if not isinstance(value, CODE):
                    save_one(name, value, room, rows, left)
            if path not in known:
                carry_over(path, engine, room, rows, left)
            index = to_json(rows)
            file.write(index + len(index).to_bytes(8, "little"))
        if rows:
            os.replace(draft, path)
        elif os.path.exists(path):
            os.unlink(path)
    finally:
        if os.path.exists(draft):
            os.unlink(draft)
    known.add(path)
    return to_answer(rows, left, 0)


def save_one(name, value, room, rows, left):
    """Keeps one of them, or says why not."""
    at = room.file.tell()
    try:
        patience = max((room.until - monotonic()) / 2, 0.01)
        watchdog.run_within(patience, lambda: Pickler(room, protocol=4).dump(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        room.file.seek(at)
        room.file.truncate()
        left.append([name, reason(error)])
    else:
        rows.append({"name": name, "type": watchdog.type_name(value), "at": at, "bytes": room.file.tell() - at})


def carry_over(path, engine, room, rows, left):
    """Copies variables from the old file that were saved earlier and never restored."""
    try:
        file, found = open_saved(path)
    except (OSError, ValueError):
        return
    with file:
        for old in found:
            if old["name"] not in engine.ns:
                at = room.file.tell()
                file.seek(old["at"])
                try:
                    room.write(file.read(old["bytes"]))
                except LimitExceeded as error:
                    left.append([old["name"], str(error)])
                else:
                    rows.append(dict(old, at=at))


def list_saved(path, engine):
    file, found = open_saved(path)
    with file:
        return to_answer(found, [], max(0, int(time() - os.fstat(file.fileno()).st_mtime)))


def unpickle(file):
    return pickle.load(file)


stdlib.for_users.add(unpickle.__code__)


def restore(path, engine):
    file, found = open_saved(path)
    rows, left = [], []
    with file:
        for old in found:
            name = old["name"]
            if name in engine.ns:
                left.append([name, "a variable of that name already exists"])
                continue
            try:
                file.seek(old["at"])
                engine.set_names({name: unpickle(file)})
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                left.append([name, reason(error)])
            else:
                rows.append(old)
    if not left:
        known.add(path)
    return to_answer(rows, left, 0)


def open_saved(path):
    """The file and its index; ValueError where it is not one that only this user could have written."""
    file = open_private(path)
    try:
        return file, read_index(file, path)
    except BaseException:
        file.close()
        raise


def open_private(path, what="the kept variables"):
    """A file that only this user could have written. Raises ValueError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise ValueError("%s cannot be read: %s" % (what, error)) from None
    file = open(fd, "rb")
    try:
        facts, folder = os.fstat(fd), os.stat(os.path.dirname(path))
        own = facts.st_uid == folder.st_uid == os.geteuid()
        if not (own and stat.S_ISREG(facts.st_mode)) or facts.st_mode & 0o077 or folder.st_mode & 0o022:
            raise ValueError("%s are not read: others could have written to %s" % (what, path))
        return file
    except BaseException:
        file.close()
        raise


def read_index(file, path):
    try:
        return [{"name": str(it["name"]), "type": str(it["type"]), "at": int(it["at"]), "bytes": int(it["bytes"])}
                for it in read_json(file, path, HEAD)]  # fmt: skip
    except (ValueError, KeyError, TypeError):
        raise ValueError("the kept variables cannot be read: %s is damaged" % path) from None


def read_json(file, path, head):
    """The index at the end of a file that begins with `head`. Raises ValueError."""
    import json

    try:
        if file.read(len(head)) != head:
            raise ValueError
        size = os.fstat(file.fileno()).st_size
        file.seek(size - 8)
        length = int.from_bytes(file.read(8), "little")
        if length > min(MOST_INDEX, size):
            raise ValueError
        file.seek(size - 8 - length)
        return json.loads(file.read(length))
    except (OSError, ValueError):
        raise ValueError("%s is damaged" % path) from None


def to_json(rows):
    import json

    return json.dumps(rows).encode()


def to_answer(rows, left, age):
    return {"age": age, "rows": [{key: it[key] for key in ("name", "type", "bytes")} for it in rows], "left": left}


def reason(error):
    if isinstance(error, watchdog.TookTooLong):
        return "it took too long"
    try:
        text = str(error).strip().split("\n")[0]
    except Exception:
        text = ""
    text = text or type(error).__name__
    return text if len(text) <= WHY else text[: WHY - 1] + "…"
