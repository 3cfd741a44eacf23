"""Truncation of long texts, in the wording that the host uses for its own truncation.

In: a text and a limit in code points. Out: head, a line with the true sizes, tail. Invariant: work and memory are
proportional to the limit, not to the text, apart from one count of newlines. Absent on purpose: the host's limits.
"""

MARKER = "[… {:,} characters, {:,} {} in all; {:,} in the middle are left out; print a slice to see it …]"
CONTINUING = bytes(range(0x80, 0xC0))  # bytes that begin no character


def truncate(text, limit):
    """`text`, or its two ends with at most `limit` code points of it."""
    if len(text) <= limit:
        return text
    lines = text.count("\n") + (not text.endswith("\n"))
    return join_ends(text[: limit // 2], text[len(text) - limit // 2 :], len(text), lines)


def join_ends(head, tail, characters, lines):
    """The two ends of a text of that many characters and lines."""
    newline = head.rfind("\n")
    if newline >= len(head) // 2:
        head = head[:newline]
    newline = tail.find("\n")
    if 0 <= newline <= len(tail) // 2:
        tail = tail[newline + 1 :]
    missing = max(0, characters - len(head) - len(tail))
    return "%s\n%s\n%s" % (head, MARKER.format(characters, lines, "line" if lines == 1 else "lines", missing), tail)


class TruncatedStream:
    """The two ends of a stream of bytes, and how much came between."""

    def __init__(self, limit):
        self.half = limit // 2  # bytes
        self.head, self.tail = bytearray(), bytearray()
        self.size = self.characters = self.lines = 0

    def add(self, data):
        self.size += len(data)
        self.characters += len(data.translate(None, CONTINUING))
        self.lines += data.count(b"\n")
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.half:
            del self.tail[: -self.half]

    def text(self):
        """All of it, or its ends around the true sizes."""
        if self.size <= 2 * self.half:
            return bytes(self.head + self.tail).decode("utf-8", "replace")
        head, tail = bytes(self.head), bytes(self.tail[-self.half :])
        ended = tail.endswith(b"\n")
        head, tail = head.decode("utf-8", "ignore"), tail.decode("utf-8", "ignore")
        return join_ends(head, tail, self.characters, self.lines + (not ended))
