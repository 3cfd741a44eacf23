"""The rules of `confine`, call by call: what the system call filter answers, for each machine and each version of
Landlock, what Landlock is told, and what the kernel of this machine makes of it at each version that it has.

The filter is run by a few lines here, so that its other machine and the kernels that are older than this one have
theirs tried, too. The numbers of system calls are those of Linux's own headers. `test_confinement.py` makes the
attempts to get out.
"""

import ctypes
import errno
import importlib.util
import json
import os
import re
import resource
import socket
import stat
import struct
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import RUNNER  # noqa: E402
from test_snapshot import WHY  # noqa: E402

spec = importlib.util.spec_from_file_location("confine", os.path.dirname(RUNNER) + "/_ipycodex_runner/confine.py")
confine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(confine)

INCLUDE = "/usr/include/"
MACHINES = {  # the number of the architecture (AUDIT_ARCH_*), and the headers with the numbers of its calls
    "x86_64": (0xC000003E, ["x86_64-linux-gnu/asm/unistd_64.h", "asm/unistd_64.h"]),
    "aarch64": (0xC00000B7, ["asm-generic/unistd.h"]),
}
LATER = {  # newer than many headers; from here on all machines have the same numbers
    "quotactl_fd": 443, "process_mrelease": 448, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
    "open_tree_attr": 467, "file_setattr": 469,
}  # fmt: skip
OLD_CALLS = "chmod chown lchown utime utimes futimesat ioperm iopl creat open".split()  # aarch64 has none of them
REFUSED = """
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat file_setattr
    setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat
    socket io_uring_setup io_uring_enter io_uring_register ptrace process_vm_writev pidfd_getfd process_madvise
    process_mrelease migrate_pages move_pages setpriority ioprio_set setsid setpgid
    shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr add_key request_key keyctl
    bpf perf_event_open fanotify_init syslog open_by_handle_at
    mount umount2 open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr pivot_root chroot
    unshare setns acct quotactl quotactl_fd swapon swapoff reboot sethostname setdomainname
    settimeofday clock_settime adjtimex clock_adjtime init_module finit_module delete_module
    kexec_load kexec_file_load vhangup ioperm iopl
""".split()
ALLOWED = """
    read write close mmap mprotect munmap brk futex execve execveat wait4 exit_group fork vfork dup dup3 pipe2
    lseek getdents64 statx faccessat readlinkat unlinkat mkdirat renameat2 linkat ftruncate rt_sigaction
    memfd_create pidfd_open getpid getrandom sendto recvfrom process_vm_readv prctl seccomp fchdir chdir uname
""".split()
OWN, OTHER = 4711, 4712  # processes
STREAM, DATAGRAM, RAW, PACKETS, FLAGS = 1, 2, 3, 5, 0o2004000  # of socketpair: SOCK_CLOEXEC, SOCK_NONBLOCK
BY_ARGUMENTS = [  # call, arguments, answer
    ("clone", (17,), "allowed"), ("clone", (0x003D0F00,), "allowed"),
    *[("clone", (17 | flag,), "refused") for flag in [1 << bit for bit in (17, 25, 26, 27, 28, 29, 30)]],
    ("clone3", (), "absent"),
    *[("socketpair", (1, kind), "allowed") for kind in (STREAM, PACKETS, STREAM | FLAGS, PACKETS | FLAGS)],
    *[("socketpair", (1, kind), "refused") for kind in (DATAGRAM, RAW, DATAGRAM | FLAGS)],
    *[("socketpair", (family, STREAM), "refused") for family in (0, 2, 16, 40)],
    # TCGETS, TCGETS2, TIOCGPGRP, TIOCOUTQ, TIOCGWINSZ, FIONREAD, FIONBIO, TIOCGSID, FIONCLEX, FIOCLEX, FIOQSIZE,
    # FIGETBSZ, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP, FICLONE, FICLONERANGE
    *[("ioctl", (2000, request), "allowed") for request in (
        0x5401, 0x802C542A, 0x540F, 0x5411, 0x5413, 0x541B, 0x5421, 0x5429, 0x5450, 0x5451, 0x5460,
        2, 0x80086601, 0x801C581F, 0xC020660B, 0x40049409, 0x4020940D)],
    # TIOCSTI, TCSETS, TIOCSCTTY, TIOCSPGRP, TIOCSWINSZ, TIOCNOTTY, FIOASYNC, FIOSETOWN, FS_IOC_SETFLAGS
    *[("ioctl", (0x5401, request), "refused") for request in (
        0x5412, 0x5402, 0x540E, 0x5410, 0x5414, 0x5422, 0x5452, 0x8901, 0x40086602, 0, 1, 3)],
    # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY
    *[("fcntl", (2000, request), "refused") for request in (8, 10, 15, 1024, 1026)],
    *[("fcntl", (8, request), "allowed") for request in (0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 16, 1025, 1030, 1031)],
    *[(call, (process, 8), "allowed" if process in (0, OWN) else "refused") for process in (0, OWN, OTHER, 1, -1)
      for call in "prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr".split()],
]  # fmt: skip
BY_VERSION = [  # call, arguments, the version from which on Landlock itself decides, and the answer before
    *[(call, (process, 8), 6, "allowed" if process in (0, OWN) else "refused") for process in (0, OWN, OTHER, 1, -1)
      for call in "kill tgkill tkill rt_sigqueueinfo rt_tgsigqueueinfo".split()],
    *[("pidfd_send_signal", (fd, 9), 6, "refused") for fd in (0, OWN, OTHER)],  # any number may be a handle
    ("truncate", (), 3, "refused"), ("creat", (), 3, "refused"), ("openat2", (), 3, "absent"),
    ("open", (0, os.O_RDWR | os.O_TRUNC, 0), 3, "refused"), ("openat", (0, 0, os.O_TRUNC), 3, "refused"),
    ("open", (os.O_TRUNC, os.O_WRONLY, os.O_TRUNC), 3, "allowed"),
    ("openat", (os.O_TRUNC, os.O_TRUNC, os.O_CREAT, os.O_TRUNC), 3, "allowed"),
]  # fmt: skip
VERSIONS = range(1, 8)


def numbers(machine):
    """The numbers of a machine's system calls, by their names; None: its headers are not here."""
    for header in MACHINES[machine][1]:
        if os.path.exists(INCLUDE + header):
            with open(INCLUDE + header) as file:
                found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", file.read(), re.MULTILINE)
            return dict(LATER, **{name: int(number) for name, number in found})
    return None


class Kernel:
    """Stands in for the C library: writes down what it is asked, and fails at what it is told to."""

    version = 7

    def __init__(self, fails=None):
        self.fails, self.asked, self.filter, self.rules = fails, [], None, {}

    def answer(self, *asked):
        self.asked.append(asked)
        if asked[: len(self.fails or "never")] == self.fails:
            ctypes.set_errno(1)
            return -1
        return 0

    def prctl(self, *arguments):
        if arguments[0] == 22:
            count, address = struct.unpack("HP", arguments[2])
            self.filter = list(struct.iter_unpack("HBBI", ctypes.string_at(address, 8 * count)))
            arguments = arguments[:2]
        return self.answer("prctl", *arguments)

    def syscall(self, number, *arguments):
        if number == 445:
            rules, kind, rule, flags = arguments
            rights, place = struct.unpack("=Qi", rule)
            path = os.readlink("/proc/self/fd/%d" % place)
            self.rules[path] = self.rules.get(path, 0) | rights  # as Linux does
            arguments = kind, flags
        elif number == 446:
            arguments = arguments[1:]
        else:
            arguments = tuple(each.value if isinstance(each, ctypes.c_size_t) else each for each in arguments)
        told = self.answer("syscall", number, *arguments)
        if number != 444 or told < 0:
            return told
        return self.version if arguments[0] is None else os.open(os.devnull, os.O_RDONLY)

    def setrlimit(self, *arguments):
        return self.answer("setrlimit", *arguments)

    def capget(self, header, sets):
        ctypes.memset(sets, 255, 24)
        return self.answer("capget", header)

    def capset(self, header, sets):
        return self.answer("capset", header, struct.unpack("6I", sets))


def confined(version, folders=(), machine="x86_64", fails=None):
    """What a kernel is asked by a process that confines itself."""
    kernel, system = Kernel(fails), ("Linux", "here", "7", "#1", machine)
    with mock.patch.multiple(confine.os, getpid=lambda: OWN, uname=lambda: os.uname_result(system)):
        with mock.patch.object(confine, "libc", kernel):
            confine.confine(version, folders)
    return kernel


def verdict(program, architecture, number, arguments):
    """The filter's answer to a system call."""
    arguments = [each & (1 << 64) - 1 for each in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data, at, word = struct.pack("=IIQ6Q", number, architecture, 0, *arguments), 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == 0x20:
            word = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            word &= value
        elif code == 0x06:
            return {0x7FFF0000: "allowed", 0x50001: "refused", 0x50026: "absent"}[value]
        else:
            at += yes if {0x15: word == value, 0x35: word >= value, 0x45: word & value}[code] else no


@unittest.skipUnless(any(map(numbers, MACHINES)), "the filter is NOT tried: Linux's headers are not here")
class Filter(unittest.TestCase):
    def each(self):
        """For each machine and version: the numbers of the calls, and a function that asks the filter."""
        for machine, (architecture, _headers) in MACHINES.items():
            known = numbers(machine)
            for version in (2, 3, 5, 6) if known else ():  # on both sides of what changes
                program = confined(version, machine=machine).filter

                def ask(name, *arguments, known=known, program=program, architecture=architecture):
                    return verdict(program, architecture, known[name], arguments)

                self.where = "%s, version %d: %%s" % (machine, version)

                yield known, version, ask

    def there(self, calls, known):
        """Those of the calls that the machine has."""
        missing = {call for call in calls if call not in known}
        self.assertLessEqual(missing, set(OLD_CALLS) | {"fork", "vfork"})
        return [call for call in calls if call in known]

    def test_what_is_refused_and_what_is_allowed_whatever_the_arguments(self):
        for known, _version, ask in self.each():
            for answer, calls in ("refused", REFUSED), ("allowed", ALLOWED):
                calls = self.there(calls, known)
                self.assertEqual([call for call in calls if ask(call) != answer], [], self.where % answer)
                self.assertEqual([call for call in calls if ask(call, *[-1] * 6) != answer], [], self.where % answer)

    def test_what_depends_on_the_arguments(self):
        for _known, _version, ask in self.each():
            for call, arguments, answer in BY_ARGUMENTS:
                self.assertEqual(ask(call, *arguments), answer, self.where % repr((call, arguments)))

    def test_what_depends_on_the_version(self):
        for known, version, ask in self.each():
            for call, arguments, since, before in BY_VERSION:
                if call in known:
                    answer = before if version < since else "allowed"
                    self.assertEqual(ask(call, *arguments), answer, self.where % repr((call, arguments)))

    def test_calls_of_other_architectures_are_refused(self):
        for machine, (architecture, _headers) in MACHINES.items():
            program = confined(7, machine=machine).filter
            for other in (0x40000003, 0x40000028, architecture ^ 1):  # i386, arm
                self.assertEqual(verdict(program, other, 39, ()), "refused", machine)
        program = confined(7).filter
        self.assertEqual(verdict(program, 0xC000003E, 0x3FFFFFFF, ()), "allowed")
        for number in (0x40000000, 0x40000027, 0x40000200):  # x32
            self.assertEqual(verdict(program, 0xC000003E, number, ()), "refused")

    def test_no_call_is_answered_that_is_not_meant(self):
        for known, version, ask in self.each():
            listed = {*REFUSED, *(row[0] for row in BY_ARGUMENTS + BY_VERSION)}
            others = [name for name, number in known.items() if name not in listed and number < 600]
            same = {known[name] for name in listed if name in known}
            wrong = [name for name in others if known[name] not in same and ask(name) != "allowed"]
            self.assertEqual(wrong, [], self.where % version)


class Landlock(unittest.TestCase):
    FILES = {1: 0x1FF6, 2: 0x3FF6, 3: 0x7FF6, 4: 0x7FF6, 5: 0xFFF6, 6: 0xFFF6, 7: 0xFFF6}  # all but EXECUTE, READ_DIR
    READ, OVERWRITE, DEVICES = 1 << 2, 1 << 1 | 1 << 14 | 1 << 15, 1 << 6 | 1 << 11 | 1 << 15

    def test_what_is_handled_and_where_what_is_allowed(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            for version in VERSIONS:
                kernel, files = confined(version, (folder, folder + "/none")), self.FILES[version]
                made = [asked[2:] for asked in kernel.asked if asked[:2] == ("syscall", 444)]
                words = 1 if version < 4 else 2 if version < 6 else 3
                self.assertEqual(made, [(struct.pack("QQQ", files, 3, 3)[: 8 * words], 8 * words, 0)], version)
                expected = {folder: files & ~self.DEVICES & ~self.READ}
                expected["/dev/null"] = self.READ | files & self.OVERWRITE
                for name in ("zero", "full", "random", "urandom", "shm"):
                    expected["/dev/" + name] = self.READ
                for name in os.listdir("/"):
                    if name != "dev" and not os.path.islink("/" + name):
                        expected["/" + name] = self.READ
                expected = {path: rights for path, rights in expected.items() if os.path.exists(path)}
                self.assertEqual(kernel.rules, expected, version)
                ways = {asked[2:] for asked in kernel.asked if asked[:2] == ("syscall", 445)}
                self.assertEqual(ways, {(1, 0)})

    def test_all_that_is_asked_of_the_kernel_in_its_order(self):
        before = os.listdir("/proc/self/fd")
        asked = [each for each in confined(7).asked if each[1] != 445]
        header = struct.pack("Ii", 0x20080522, 0)
        self.assertEqual(asked, [
            ("prctl", 38, 1, 0, 0, 0), ("setrlimit", 4, bytes(16)),
            ("syscall", 444, struct.pack("QQQ", self.FILES[7] | self.READ, 3, 3), 24, 0), ("syscall", 446, 0),
            ("capget", header), ("capset", header, (6, 6, 0, 0, 0, 0)), ("prctl", 22, 2),
        ])  # fmt: skip
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_a_rule_that_cannot_be_set_is_an_error(self):
        for fails in (("prctl", 38), ("syscall", 444), ("syscall", 445), ("syscall", 446), ("capget",), ("capset",),
                      ("prctl", 22)):  # fmt: skip
            with self.assertRaises(OSError, msg=fails):
                confined(7, fails=fails)


# What a process under the rules tries, by what has to become of it; it may write in `at.own`.
FORBIDDEN = {
    "write": lambda at: os.open(at.marker, os.O_WRONLY),
    "truncate": lambda at: os.truncate(at.marker, 0),
    "truncate in opening": lambda at: os.open(at.marker, os.O_RDONLY | os.O_TRUNC),
    "make": lambda at: os.open(at.home + "/new", os.O_WRONLY | os.O_CREAT),
    "make a folder": lambda at: os.mkdir(at.home + "/new"),
    "make a link": lambda at: os.symlink("x", at.home + "/new"),
    "make a pipe": lambda at: os.mkfifo(at.home + "/new"),
    "make a device": lambda at: os.mknod(at.own + "/new", stat.S_IFCHR | 0o600, os.makedev(1, 3)),
    "remove": lambda at: os.unlink(at.marker),
    "remove a folder": lambda at: os.rmdir(at.home + "/empty"),
    "rename": lambda at: os.rename(at.marker, at.home + "/other"),
    "take": lambda at: os.rename(at.marker, at.own + "/taken"),
    "put": lambda at: os.rename(at.own + "/given", at.home + "/given"),
    "link": lambda at: os.link(at.marker, at.own + "/linked"),
    "change the mode": lambda at: os.chmod(at.marker, 0o777),
    "signal": lambda at: os.kill(at.other, 0),
    "signal a thread": lambda at: at.call(234, 131, at.other, at.other, 0),
    "signal by a handle": lambda at: at.call(424, 424, at.handle(), 0, None, 0),
    "signal by a handle that is 0": lambda at: at.call(424, 424, os.dup2(at.handle(), 0), 0, None, 0),
    "open a device": lambda at: os.open("/dev/ptmx", os.O_RDONLY),
    "a socket": lambda at: socket.socket(),
    "a core file": lambda at: at.core(),
}
PERMITTED = {
    "read": lambda at: os.read(os.open(at.marker, os.O_RDONLY), 5),
    "read devices": lambda at: [os.read(os.open("/dev/" + name, 0), 1) for name in ("zero", "urandom", "null")],
    "write to nowhere": lambda at: os.write(os.open("/dev/null", os.O_WRONLY), b"x"),
    "truncate nowhere": lambda at: at.version < 3 or os.open("/dev/null", os.O_WRONLY | os.O_TRUNC),
    "make in its folder": lambda at: os.write(os.open(at.own + "/a", os.O_RDWR | os.O_CREAT), b"x"),
    "truncate in its folder": lambda at: at.version < 3 or os.truncate(at.own + "/a", 0),
    "rename in its folder": lambda at: os.rename(at.own + "/a", at.own + "/b"),
    "folders in its folder": lambda at: (os.mkdir(at.own + "/d"), os.rmdir(at.own + "/d")),
    "move between its folders": lambda at: at.version < 2 or (
        os.mkdir(at.own + "/e"), os.rename(at.own + "/b", at.own + "/e/b")),
    "links, pipes, socket files in its folder": lambda at: (
        os.symlink("x", at.own + "/s"), os.mkfifo(at.own + "/p"), os.mknod(at.own + "/k", stat.S_IFSOCK | 0o600)),
    "signal itself": lambda at: (os.kill(0, 0), os.kill(os.getpid(), 0)),
    "a child": lambda at: os.waitpid(os.fork() or os._exit(0), 0),
    "a pair of sockets": lambda at: [end.close() for end in socket.socketpair()],
    "the size of a terminal": lambda at: os.get_terminal_size(at.terminal),
}  # fmt: skip


class Place:
    """What a process under the rules may reach, and what it may not."""

    def __init__(self, version, base):
        self.version, self.home, self.own, self.marker = version, base, base + "/own", base + "/marker"
        self.other, self.terminal = os.getppid(), os.openpty()[1]
        for folder in (self.own, base + "/empty"):
            os.mkdir(folder)
        for name in (self.marker, self.own + "/given"):
            with open(name, "w") as file:
                file.write("whole")

    def call(self, x86_64, aarch64, *arguments):
        number = aarch64 if os.uname().machine == "aarch64" else x86_64
        return confine.check(confine.libc.syscall(number, *arguments))

    def handle(self):
        return self.call(434, 434, self.other, 0)  # pidfd_open

    def core(self):
        if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0):
            raise OSError


def in_child(work):
    """What `work()` returns in a child of this process, and the child's wait status."""
    answer, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = work()
        except BaseException as error:
            found = repr(error)
        try:
            os.write(told, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(told)
    with open(answer) as file:
        found = json.loads(file.read() or "null")
    return found, os.waitpid(child, 0)[1]


def tried(version, base):
    """The names of what goes under the rules of that version."""
    went, at = [], Place(version, base)
    confine.confine(version, (at.own,))
    for name, attempt in (*PERMITTED.items(), *FORBIDDEN.items()):
        try:
            attempt(at)
            went.append(name)
        except OSError:
            pass
    return went


@unittest.skipIf(WHY, "what the kernel makes of the rules is NOT tried: %s" % WHY)
class EachVersion(unittest.TestCase):
    def test_what_the_kernel_makes_of_it(self):
        for version in range(1, min(confine.probe()[0], 7) + 1):
            with self.subTest(version=version), tempfile.TemporaryDirectory() as base:
                self.assertEqual(in_child(lambda: tried(version, base)), (list(PERMITTED), 0))
                with open(base + "/marker") as file:
                    self.assertEqual(file.read(), "whole")

    def test_an_interpreter_is_put_under_them(self):
        def confined():
            why = confine.confine_interpreter([])
            with open("/proc/self/oom_score_adj") as file:
                return why, file.read(), os.access("/dev/null", os.W_OK), tried_to_write()

        def tried_to_write():
            try:
                os.open("/tmp", os.O_TMPFILE | os.O_WRONLY)
            except OSError as error:
                return error.errno

        self.assertEqual(in_child(confined)[0], [None, "1000\n", True, errno.EACCES])


class Reasons(unittest.TestCase):
    """Why a machine cannot."""

    def probed(self, version=7, machine="x86_64", size=8, fails=None, **variables):
        kernel, system = Kernel(fails), ("Linux", "here", "7", "#1", machine)
        with mock.patch.multiple(confine.os, environ=variables, uname=lambda: os.uname_result(system)):
            with mock.patch.object(confine.struct, "calcsize", lambda _kind: size):
                with mock.patch.object(confine, "libc", kernel), mock.patch.object(kernel, "version", version):
                    return confine.probe(), kernel.asked

    def test_what_is_asked(self):
        for version in VERSIONS:
            asked = [("syscall", 444, None, 0, 1), ("prctl", 21, 0, 0, 0, 0)]
            self.assertEqual(self.probed(version), ((version, None), asked))
        self.assertEqual(self.probed(machine="aarch64")[0], (7, None))
        for reason, found in (
            ("IPYCODEX_NO_LANDLOCK is set", self.probed(IPYCODEX_NO_LANDLOCK="1")),
            ("no system call filter for this machine (riscv64)", self.probed(machine="riscv64")),
            ("no system call filter for this machine (x86_64)", self.probed(size=4)),
            ("the Linux kernel does not offer Landlock (%s)" % os.strerror(1), self.probed(fails=("syscall",))),
            ("the Linux kernel does not offer seccomp (%s)" % os.strerror(1), self.probed(fails=("prctl",))),
        ):
            self.assertEqual(found[0], (0, reason))
        self.assertEqual(self.probed(0)[0][0], 0)

    def test_the_library_is_loaded_when_it_is_needed_and_tells_why_it_fails(self):
        def asked():
            confine.libc = None
            found = confine.probe()
            try:
                confine.check(confine.libc.prctl(-1, 0, 0, 0, 0))
            except OSError as error:
                return *found, error.errno

        self.assertEqual(in_child(asked)[0], [*confine.probe(), errno.EINVAL])

    def test_an_interpreter_that_may_write_needs_landlock_3(self):
        def refused(version, folders, why=None, **more):
            put = mock.Mock(**more)
            parts = {"probe": lambda: (version, why), "confine": put, "prefer_oom_kill": mock.Mock()}
            with mock.patch.multiple(confine, **parts):
                return confine.confine_interpreter(folders), put.call_args and put.call_args[0]

        self.assertEqual(refused(0, [], "none"), ("none", None))
        self.assertEqual(refused(0, ["a"], "none"), ("none", None))
        for version in (1, 2):
            why, confined = refused(version, ["a"])
            self.assertRegex(why, "has Landlock version %d, which cannot keep .* truncated$" % version)
            self.assertIsNone(confined)
            self.assertEqual(refused(version, []), (None, (version, [])))
        self.assertEqual(refused(3, ["a"]), (None, (3, ["a"])))
        self.assertEqual(refused(3, [], side_effect=OSError("x"))[0], "the rules could not be set (x)")


if __name__ == "__main__":
    unittest.main()
