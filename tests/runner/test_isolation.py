"""What a copy keeps of what the interpreter has open and has mapped, and how it ends with its parent."""

import ctypes
import fcntl
import mmap
import os
import socket
import stat
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_rules import confine, in_child  # noqa: E402
from test_snapshot import WHY  # noqa: E402

PAGE = mmap.PAGESIZE
libc = confine.load_libc()
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [
    ctypes.c_long]  # fmt: skip
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def leads_nowhere(fd):
    return os.path.samestat(os.fstat(fd), os.stat(os.devnull))


def is_open(fd):
    return os.path.exists("/proc/self/fd/%d" % fd)


def address(piece):
    view = (ctypes.c_char * 112)()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(piece), view, 0)
    return int.from_bytes(view[:8], sys.byteorder)


def row_of(at):
    """What `/proc/self/maps` tells of a place in memory: the rights, the file's inode and its name."""
    with open("/proc/self/maps") as file:
        for row in (line.rstrip("\n").split(None, 5) for line in file):
            begin, end = (int(part, 16) for part in row[0].split("-"))
            if begin <= at < end:
                return row[1], int(row[4]), row[5:]


class Descriptors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(folder.name + "/file", "w") as file:
            file.write("0123456789")

    def opened(self, *fds):
        for fd in fds:
            self.addCleanup(os.close, fd)
        return fds

    def test_files_are_its_own_and_all_else_leads_nowhere(self):
        name = self.folder + "/file"
        file, other, path, folder = self.opened(
            os.open(name, os.O_RDWR), os.open(name, os.O_RDWR), os.open(name, os.O_PATH), os.open(self.folder, 0)
        )
        pipe, left, kept, end = self.opened(*os.pipe(), *(end.detach() for end in socket.socketpair()))
        os.lseek(file, 4, os.SEEK_SET)
        for fd in (file, left):
            os.set_inheritable(fd, True)

        def isolated(listed):
            if not listed:
                os.listdir = mock.Mock(side_effect=OSError)
            before = {fd for fd in range(100) if is_open(fd)}
            confine.isolate({0, 1, 2, kept, *range(end + 1, end + 20)})
            places = [os.lseek(file, 0, os.SEEK_CUR), os.read(file, 3).decode(), os.lseek(other, 0, os.SEEK_CUR)]
            return {
                "files": [fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE for fd in (file, other)] + places,
                "inherited": [os.get_inheritable(fd) for fd in (file, other, pipe, left)],
                "nowhere": [leads_nowhere(fd) for fd in (pipe, left, end, kept)],
                "folder": stat.S_ISDIR(os.fstat(folder).st_mode),
                "gone or new": [fd for fd in range(100) if is_open(fd) != (fd in before)],
            }

        for listed in (True, False):  # whether `/proc` can be read
            self.assertEqual(in_child(lambda: isolated(listed))[0], {
                "files": [os.O_RDONLY, os.O_RDONLY, 4, "456", 0], "inherited": [True, False, False, True],
                "nowhere": [True, True, True, False], "folder": True, "gone or new": [path],
            })  # fmt: skip
        self.assertEqual(os.lseek(file, 0, os.SEEK_CUR), 4)

    @unittest.skipIf(WHY, "files without a name are NOT tried: %s" % WHY)
    def test_files_without_a_name_lead_nowhere_once_it_is_confined(self):
        memory, sealed, file, folder = self.opened(
            os.memfd_create("m"), os.memfd_create("s"), os.open(self.folder + "/file", os.O_RDONLY),
            os.open(self.folder, os.O_RDONLY)
        )  # fmt: skip
        os.set_inheritable(sealed, True)

        def dropped():
            before = os.listdir("/proc/self/fd")
            confine.confine(confine.probe()[0])
            confine.drop_nameless()
            fds = (memory, sealed, file, folder)
            return [leads_nowhere(fd) for fd in fds], [os.get_inheritable(fd) for fd in fds], before == os.listdir(
                "/proc/self/fd")  # fmt: skip

        expected = [[True, True, False, False], [False, True, False, False], True]
        self.assertEqual(in_child(dropped)[0], expected)


class Memory(unittest.TestCase):
    def unshared(self, at, size=PAGE):
        """The rights to some memory, its file's inode and its beginning, once it is a child's own; what the child
        writes is not seen here."""

        def unshare():
            confine.unshare_memory()
            letters, inode, _name = row_of(at)
            if "w" in letters:
                ctypes.memset(at, 120, 5)
            return letters, inode, "r" in letters and ctypes.string_at(at, 5).decode()

        before = ctypes.string_at(at, size)
        found = in_child(unshare)[0]
        self.assertEqual(ctypes.string_at(at, size), before)
        return found

    def mapped(self, file, rights):
        """The second page of a file, mapped without a descriptor for it."""
        at = libc.mmap(None, PAGE, rights, mmap.MAP_SHARED, file, PAGE)
        self.addCleanup(libc.munmap, ctypes.c_void_p(at), ctypes.c_size_t(PAGE))
        return at

    def test_what_has_no_file_is_copied_with_its_rights(self):
        for protection, letters, seen in ((3, "rw-p", "xxxxx"), (1, "r--p", "whole"), (7, "rwxp", "xxxxx"),
                                          (5, "r-xp", "whole")):  # fmt: skip
            piece = mmap.mmap(-1, 2 * PAGE)
            piece[:5] = b"whole"
            piece[PAGE : PAGE + 3] = b"end"
            libc.mprotect(address(piece), 2 * PAGE, protection)
            self.assertEqual(self.unshared(address(piece), 2 * PAGE), [letters, 0, seen])
            self.assertEqual(in_child(lambda: (confine.unshare_memory(), piece[PAGE : PAGE + 3].decode()))[0][1], "end")

    def test_what_is_too_large_is_taken_away(self):
        self.assertLess(confine.SHARED_COPIED, 1 << 30)
        for size, letters in ((4 * PAGE, "rw-p"), (5 * PAGE, "---p")):
            piece = mmap.mmap(-1, size)
            with mock.patch.object(confine, "SHARED_COPIED", 4 * PAGE):
                self.assertEqual(self.unshared(address(piece), size)[:2], [letters, 0])

    def test_what_has_a_file_is_mapped_anew_from_it(self):
        memory = os.memfd_create("of the session")
        self.addCleanup(os.close, memory)
        with tempfile.TemporaryFile() as gone, tempfile.NamedTemporaryFile(suffix=" a file") as named:
            for file in (memory, gone.fileno(), named.fileno()):
                os.write(file, b"first".ljust(PAGE) + b"whole".ljust(PAGE))
                for protection, letters, seen in ((3, "rw-p", "xxxxx"), (1, "r--p", "whole"), (5, "r-xp", "whole")):
                    found = self.unshared(self.mapped(file, protection))
                    self.assertEqual(found, [letters, os.fstat(file).st_ino, seen], file)
            inode, at = os.fstat(named.fileno()).st_ino, self.mapped(named.fileno(), 1)
            with open(os.devnull) as null:
                os.dup2(null.fileno(), named.fileno())  # its name is all there is
            self.assertEqual(self.unshared(at), ["r--p", inode, "whole"])

    def test_another_file_is_not_taken_for_the_one_that_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            name = folder + "/file (deleted)"  # as `/proc/self/maps` names what has been `file`
            with open(folder + "/file", "w+b", buffering=0) as file, open(name, "wb") as other:
                for written in (file, other):
                    written.write((b"first" if written is file else b"wrong").ljust(PAGE))
                    written.write((b"whole" if written is file else b"wrong").ljust(PAGE))
                at = self.mapped(file.fileno(), 1)
                os.unlink(file.name)
            self.assertEqual(row_of(at)[2], [name])
            self.assertEqual(self.unshared(at), ["r--p", 0, "whole"])

    def test_what_is_its_own_stays(self):
        piece = mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE)
        piece[:5] = b"whole"
        self.assertEqual(in_child(lambda: (confine.unshare_memory(), piece[:5].decode()))[0][1], "whole")


class Parent(unittest.TestCase):
    def test_a_copy_ends_with_its_parent(self):
        signalled = ctypes.c_int()

        def follow():
            confine.die_with_parent(os.getppid())
            confine.libc.prctl(2, ctypes.byref(signalled), 0, 0, 0)
            return signalled.value

        self.assertEqual(in_child(follow), (9, 0))
        self.assertEqual(in_child(lambda: confine.die_with_parent(os.getppid() + 1)), (None, 1 << 8))


if __name__ == "__main__":
    unittest.main()
