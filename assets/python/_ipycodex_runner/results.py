"""A tool's value as a model gets it: text, JSON, pictures.

In: any object. Out: {"bundle": {MIME: data}} and, for several pictures or texts and pictures mixed, `parts`, a list of
bundles in order. Invariants: `text/plain` is always there and is at most `LONGEST` code points; JSON is valid
everywhere (no NaN, no endless structure); a value whose own methods raise or hang says so in its place; at most
`MOST_PICTURES` pictures. Absent on purpose: what the host cuts further; exceptions of the tool, which are no results.
"""

import itertools
import json
import sys

from . import mime, pictures, truncate, watchdog

LONGEST = 8 << 20  # code points of a text
SLICE = 50_000  # items of a long container that are turned into JSON at a time
MOST_SLICES = 20  # of a container written whole
MOST_ITEMS = 10_000  # that are taken from a generator
MOST_PICTURES = 20
TIME_LIMIT = 10  # seconds for all of a result: `repr()`, drawing
ROWS, COLUMNS = 40, 20  # of a table


def render(value):
    try:
        return watchdog.run_within(TIME_LIMIT, build_result, value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {"bundle": {"text/plain": watchdog.describe_failure(error, "showing the result", TIME_LIMIT)}}


def build_result(value):
    writer = JsonWriter()
    if isinstance(value, str):
        return {"bundle": {"text/plain": truncate.truncate(str.__str__(value), LONGEST)}}
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(item, str) or writer.is_picture(item) for item in value)
        and writer.pictures
    ):
        return build_mixed(value)
    own = writer.render_picture(value)
    if own is not None:
        if isinstance(own, dict):
            return {"bundle": dict(own, **{"text/plain": describe_picture(value)})}
        return {"bundle": {"text/plain": own}}
    text = format_table(value) or get_markdown(value)
    if text is None:
        text = writer.to_text(value)
    bundle = {"text/plain": truncate.truncate(text, LONGEST)}
    if not writer.pictures:
        return {"bundle": bundle}
    parts = [bundle] + writer.pictures
    return {"bundle": dict(writer.pictures[0], **bundle), "parts": parts}


def build_mixed(items):
    """A list of texts and pictures: each a part, in order."""
    writer, parts = JsonWriter(), []
    for item in items:
        if isinstance(item, str):
            parts.append({"text/plain": truncate.truncate(str.__str__(item), LONGEST // len(items) or 1)})
            continue
        own = writer.render_picture(item)
        if isinstance(own, dict):
            writer.pictures.append(own)
        parts.append(
            dict(own, **{"text/plain": describe_picture(item)})
            if isinstance(own, dict)
            else {"text/plain": own or "[not shown]"}
        )
    whole = dict(next((part for part in parts if len(part) > 1), {}))
    whole["text/plain"] = truncate.truncate("\n".join(part["text/plain"] for part in parts), LONGEST)
    return {"bundle": whole, "parts": parts}


def describe_picture(value):
    """A short text for a picture."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "[%s, %d bytes]" % (mime.image_type(bytes(value[:16])), len(value))
    try:
        text = repr(value)
    except Exception:
        text = ""
    return text if isinstance(text, str) and 0 < len(text) <= 200 else "<%s>" % watchdog.type_name(value)


def format_table(value):
    """Text of a pandas object: all of a small one, the ends of a large one and its shape."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    try:
        if isinstance(value, pandas.DataFrame):
            return value.to_string(max_rows=ROWS, max_cols=COLUMNS, max_colwidth=200, show_dimensions=True)
        if isinstance(value, pandas.Series):
            return value.to_string(max_rows=ROWS, name=True, dtype=True, length=True)
    except Exception:
        return mime.safe_repr(value)
    return None


def get_markdown(value):
    """Markdown of an object that offers it."""
    if isinstance(value, type) or not mime.has_method(value, "_repr_markdown_"):
        return None
    try:
        text = mime.split_metadata(value._repr_markdown_())[0]
    except Exception:
        return None
    return text if isinstance(text, str) else None


class JsonWriter:
    """Writes JSON, and takes the pictures out of it."""

    def __init__(self):
        self.pictures = []
        self.left_out = 0
        self.open = set()  # ids of the objects being written by `encode_other`

    def is_picture(self, value):
        """True for a picture; it is counted, not drawn."""
        try:
            found = pictures.is_picture(value)
        except Exception:
            return False
        if found:
            self.pictures.append(None)
        return found

    def render_picture(self, value):
        """A bundle of a picture, a text in its place, or None for a value that is no picture."""
        try:
            found = pictures.render(value)
        except pictures.TooLarge as error:
            return "[%s]" % error
        except KeyboardInterrupt:
            raise
        except Exception as error:
            return (
                "[a picture that could not be drawn: %s]" % watchdog.describe_failure(error, "drawing", TIME_LIMIT)
                if pictures.find_figure(value) is not None
                else None
            )
        if found is None:
            return None
        if len(self.pictures) >= MOST_PICTURES:
            self.left_out += 1
            return "[picture left out: more than %d]" % MOST_PICTURES
        return {found[0]: found[1]}

    def to_text(self, value):
        """JSON of a value, or its `repr` when that is all there is of it."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.encode_other(value)
        if type(value) in (list, tuple, dict) and len(value) > SLICE:
            return self.encode_long(value)
        if not isinstance(value, (list, tuple, dict, int, float, type(None))):
            value = self.encode_other(value)
            if isinstance(value, str):
                return value
        return self.encode(value)

    def encode(self, value):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, default=self.encode_other)
        except KeyboardInterrupt:
            raise
        except Exception:
            pass  # NaN, keys that are no strings, cycles, depth, a number of too many digits
        del self.pictures[:]
        try:
            return json.dumps(
                self.sanitize(value, 0, set()), ensure_ascii=False, allow_nan=False, default=self.encode_other
            )
        except KeyboardInterrupt:
            raise
        except Exception:
            return truncate.truncate(mime.safe_repr(value), LONGEST)

    def encode_long(self, value):
        """A container of very many items, written in pieces of which the ends are kept."""
        if len(value) > MOST_SLICES * SLICE:
            return self.encode_ends(value)
        items = iter(value.items() if type(value) is dict else value)
        opening, closing = "{}" if type(value) is dict else "[]"
        head, tail, size, first = "", "", 1, True
        while True:
            piece = list(itertools.islice(items, SLICE))
            if not piece:
                break
            text = self.encode(dict(piece) if type(value) is dict else piece)[1:-1]
            text = (opening if first else ", ") + text
            first = False
            size += len(text)
            if len(head) < LONGEST // 2:
                room = LONGEST // 2 - len(head)
                head, text = head + text[:room], text[room:]
            tail = (tail + text)[-LONGEST // 2 :]
        tail += closing
        return head + tail if size <= len(head) + len(tail) else truncate.join_ends(head, tail, size, 1)

    def encode_ends(self, value):
        """The first and the last items of a container that has millions."""
        note = "[… {:,} items in all; the middle is left out; print a slice to see it …]".format(len(value))
        if type(value) is dict:
            return self.encode(dict(itertools.islice(value.items(), SLICE))) + "\n" + note
        return "%s\n%s\n%s" % (self.encode(list(value[:SLICE])), note, self.encode(list(value[-SLICE:])))

    def encode_other(self, value):
        """Encodes a value that JSON lacks a form for: as plain data, a reference to a picture, or its `repr`."""
        if id(value) in self.open:
            return "<%s: contains itself>" % watchdog.type_name(value)
        own = self.render_picture(value)
        if isinstance(own, dict):
            self.pictures.append(dict(own, **{"text/plain": describe_picture(value)}))
            return "[picture %d]" % len(self.pictures)
        if own is not None:
            return own
        text = format_table(value)
        if text is not None:
            return text
        try:
            found = to_plain_data(value)
        except KeyboardInterrupt:
            raise
        except Exception:
            found = None
        if found is not None:
            return found[0]
        return truncate.truncate(safe_repr(value), LONGEST)

    def sanitize(self, value, depth, above):
        """Plain data that JSON takes; what contains itself is cut off."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, float):
            return (
                value if value - value == 0 else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
            )
        if isinstance(value, int):
            return int(value) if value.bit_length() < 1000 else "<int of %d bits>" % value.bit_length()
        if id(value) in above or depth > 200:
            return "<%s: contains itself>" % watchdog.type_name(value) if id(value) in above else safe_repr(value)
        above = above | {id(value)}
        if isinstance(value, dict):
            return {self.encode_key(key): self.sanitize(item, depth + 1, above) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.sanitize(item, depth + 1, above) for item in value]
        found = self.encode_other(value)
        return found if isinstance(found, (str, bool, type(None))) else self.sanitize(found, depth + 1, above)

    @staticmethod
    def encode_key(key):
        return key if isinstance(key, (str, int, bool, type(None))) else safe_repr(key)


def to_plain_data(value):
    """(plain data,) of a value that stands for some, else None."""
    import datetime
    import enum
    import os

    if isinstance(value, type):
        return None
    if isinstance(value, (set, frozenset)) or type(value).__name__ in ("dict_keys", "dict_values", "deque", "range"):
        return (list(value),)
    if type(value).__name__ in ("mappingproxy", "OrderedDict", "defaultdict", "Counter", "ChainMap", "UserDict"):
        return (dict(value),)
    if isinstance(value, enum.Enum):
        return (value.value,)
    if isinstance(value, os.PathLike):
        return (os.fspath(value),)
    if isinstance(value, (datetime.date, datetime.time)):
        return (value.isoformat(),)
    if type(value).__module__ in ("decimal", "uuid", "fractions"):
        return (str(value),)
    fields = getattr(value, "__dataclass_fields__", None)
    if isinstance(fields, dict):
        return ({name: getattr(value, name) for name, field in fields.items() if hasattr(value, name)},)
    if hasattr(value, "__attrs_attrs__"):
        return ({field.name: getattr(value, field.name) for field in value.__attrs_attrs__},)
    if callable(getattr(value, "model_dump", None)):
        return (value.model_dump(mode="json"),)
    if type(value).__module__ == "numpy":
        return from_numpy(value)
    if hasattr(value, "__next__") and hasattr(value, "__iter__"):
        return (take_items(value),)
    return None


def from_numpy(value):
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return (value.item(),)
    if getattr(value, "size", MOST_ITEMS) < 1000:
        return (value.tolist(),)
    return ("array of shape %s, %s\n%s" % ("x".join(map(str, value.shape)), value.dtype, value),)


def take_items(iterator):
    """The items of a generator; only so many of an endless one."""
    items = list(itertools.islice(iterator, MOST_ITEMS))
    if len(items) == MOST_ITEMS:
        items.append("[… only the first %d items were taken …]" % MOST_ITEMS)
    return items


def safe_repr(value):
    """`repr`, of whatever answers to it."""
    try:
        return repr(value)
    except KeyboardInterrupt:
        raise
    except Exception as error:
        return "<%s: repr() raised %s>" % (watchdog.type_name(value), type(error).__name__)
