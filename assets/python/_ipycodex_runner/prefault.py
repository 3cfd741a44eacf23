"""Preparation of memory before and after a fork, so that the fork is fast and no cell pays for page faults.

A fork copies the page tables and leaves each page shared until one process writes to it; that process then copies the
page, in the middle of a cell. Before the fork, large values are moved into huge pages; after it, the pages written to
since the last fork are copied at once. Invariants: no byte changes; all of this happens while no request waits; where
the system lacks a call, the cells pay. Absent on purpose: huge pages for memory already shared with a copy, which would
duplicate it. Documents: proc_pid_pagemap(5), madvise(2).
"""

import os
import re
from errno import EINVAL

PAGE = 4096
POPULATE_WRITE, COLLAPSE = 23, 25  # of madvise, since Linux 5.14 and 6.1
LARGE = 512  # pages of a large one
MOST = 2048  # pages of one mapping: more are data, not the interpreter's own work
AGAIN = 8  # forks between two scans, which find more pages
ANEW = 64  # forks between two without prefaulting, after which a scan finds only pages still written to
AT_ONCE = 64  # pages between two checks for a request
LARGEST = 64 << 20  # bytes of a mapping that is looked through
LEAST = 16 << 20  # bytes of a mapping that is worth it
LONGEST = 1  # s until a copy is made all the same: where free memory is in small pieces, each move takes long
collapsed = set()  # places of large pages
OWN = re.compile(b"\x01+")
EXCLUSIVE = bytes(value & 0x81 == 0x81 for value in range(256))  # present, and mapped by no other process


def find_private_pages():
    """Address and number of pages of each piece that is this process's alone."""
    found = []
    try:
        pages = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return found
    try:
        for begin, end in mappings():
            if end - begin > LARGEST:
                continue
            runs = [match.span() for match in OWN.finditer(private_mask(pages, begin, end))]
            if sum(last - first for first, last in runs) <= MOST:
                found += [(begin + first * PAGE, last - first) for first, last in runs]
    except OSError:
        pass
    finally:
        os.close(pages)
    return found


def mappings():
    """Private memory that can be written to."""
    with open("/proc/self/maps", "rb") as file:
        for line in file:
            if b" rw-p " in line:
                begin, _, end = line.partition(b"-")
                yield int(begin, 16), int(end.split(None, 1)[0], 16)


def private_mask(pages, begin, end):
    """A byte for each page: 1 where it is this process's alone."""
    return os.pread(pages, (end - begin) // PAGE * 8, begin // PAGE * 8)[7::8].translate(EXCLUSIVE)


def collapse_large(libc, goes_on):
    """Puts large values into large pages, once; true when it came to an end, or took long."""
    import ctypes
    from time import monotonic

    until = monotonic() + LONGEST
    size, whole = LARGE * PAGE, b"\x01" * LARGE
    known = set()
    try:
        pages = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        for begin, end in mappings():
            first = -(-begin // size) * size
            for place in range(first, end - size + 1, size) if end - begin >= LEAST else ():
                known.add(place)
                if place in collapsed or private_mask(pages, place, place + size) != whole:
                    continue
                if not goes_on():
                    return False
                if monotonic() > until:
                    return True
                if libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), COLLAPSE) == 0:
                    collapsed.add(place)
                else:
                    return True  # no such pages are left, or there are none here
        collapsed.intersection_update(known)
    except OSError:
        pass
    finally:
        os.close(pages)
    return True


class Prefaulter:
    """The pages that cells write to, looked up now and then: those made the writer's own look written to, until all
    are left shared once."""

    def __init__(self):
        self.forks, self.pieces = 0, ()

    def scan(self):
        """Called before a fork."""
        if self.forks % AGAIN == 1 or self.forks % ANEW in (2, 3, 4):
            self.pieces = find_private_pages()

    def prefault(self, libc, goes_on):
        """Called after a fork. Stops when `goes_on()` is false, or where the system lacks the call."""
        import ctypes

        self.forks += 1
        if self.forks % ANEW == 1:
            return
        for begin, count in self.pieces:
            for first in range(0, count, AT_ONCE):
                address = ctypes.c_void_p(begin + first * PAGE)
                size = ctypes.c_size_t(min(AT_ONCE, count - first) * PAGE)
                if not goes_on() or libc.madvise(address, size, POPULATE_WRITE) and ctypes.get_errno() == EINVAL:
                    return
