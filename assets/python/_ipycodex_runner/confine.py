"""The sandbox of a copy of the interpreter: Landlock, a seccomp filter, and descriptors replaced by `/dev/null`.

In: the process itself, which is to be the copy. Out: nothing; or a reason why this machine cannot. Invariants: after
`confine` no file can be written, made, removed or renamed, no file's mode, owner or times changed, no socket made, no
process outside signalled or traced, and no process started from here leaves its group; `/dev/null` can be written. What
the user's code had open is read through descriptors of the copy's own; its pipes, sockets and devices lead nowhere;
memory it shares with others is private. Absent on purpose: limits on reading, memory and time. Documents: landlock(7),
seccomp(2); Linux's system call tables.
"""

import ctypes
import os
import stat
import struct

libc = None

WRITE_FILE, TRUNCATE, IOCTL_DEV, REFER = 1 << 1, 1 << 14, 1 << 15, 1 << 13
WRITES = WRITE_FILE | sum(1 << bit for bit in range(4, 13))  # also REMOVE_* and MAKE_*
NO_NEW_PRIVILEGES, SET_SECCOMP, DEATH_SIGNAL = 38, 22, 1  # of prctl

# name: (x86_64, aarch64)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
DENIED = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469), "socket": (41, 198),
    "io_uring_setup": (425, 425), "ptrace": (101, 117), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgctl": (71, 187), "semget": (64, 190), "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "mount": (165, 40), "umount2": (166, 39), "unshare": (272, 97), "setns": (308, 268), "acct": (163, 89),
    "reboot": (169, 142), "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "swapon": (167, 224), "swapoff": (168, 225), "setsid": (112, 157), "setpgid": (109, 154),
}  # fmt: skip
OWN_ONLY = {  # the first argument is a process: 0, the caller itself
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
SIGNALLING = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
TRUNCATING = {"truncate": (76, 45), "openat2": (437, 437), "creat": (85, None)}
OPENING = {"open": ((2, None), 1), "openat": ((257, 56), 2)}  # and the argument that holds the flags
IOCTL, CHANGES_ATTRIBUTES = (16, 29), (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR


def probe():
    """(Landlock's version, None), or (0, why nothing can be kept from changing files)."""
    if os.environ.get("IPYCODEX_NO_LANDLOCK"):
        return 0, "IPYCODEX_NO_LANDLOCK is set"
    machine = os.uname().machine
    if machine not in MACHINES or struct.calcsize("P") != 8:
        return 0, "no system call filter for this machine (%s)" % machine
    load_libc()
    version = libc.syscall(444, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return 0, "the Linux kernel does not offer Landlock (%s)" % os.strerror(ctypes.get_errno())
    if libc.prctl(21, 0, 0, 0, 0) < 0:
        return 0, "the Linux kernel does not offer seccomp (%s)" % os.strerror(ctypes.get_errno())
    return version, None


def load_libc():
    global libc
    if libc is None:
        libc = ctypes.CDLL(None, use_errno=True)
    return libc


def die_with_parent(parent):
    """The copy does not outlive its guard, however that ends."""
    load_libc().prctl(DEATH_SIGNAL, 9, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def confine(version, folders=()):
    """Puts the calling process, of one thread, under the rules for good; files in `folders` can be changed.
    Raises OSError."""
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    apply_landlock(version, folders)
    apply_seccomp(version)


def confine_interpreter(folders):
    """Puts an interpreter under the rules before it runs anything; gives why it cannot. One that may write somewhere
    is refused on kernels whose Landlock knows nothing of truncation: a filter cannot tell where a file is."""
    version, why = probe()
    if why is None and folders and version < 3:
        why = "the Linux kernel has Landlock version %d, which cannot keep files from being truncated" % version
    if why is None:
        try:
            confine(version, folders)
        except OSError as error:
            why = "the rules could not be set (%s)" % error
    return why


def check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def apply_landlock(version, folders=()):
    files = (
        WRITES | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0) | (IOCTL_DEV if version >= 5 else 0)
    )
    # TCP; abstract sockets and signals
    attributes = struct.pack("QQQ", files, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = check(libc.syscall(444, attributes, ctypes.c_size_t(len(attributes)), 0))
    try:
        null = os.open(os.devnull, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", (WRITE_FILE | TRUNCATE | IOCTL_DEV) & files, null)
        check(libc.syscall(445, rules, 1, rule, 0))
        os.close(null)
        for folder in folders:
            try:
                place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # what is not there cannot be written in
            check(libc.syscall(445, rules, 1, struct.pack("=Qi", files, place), 0))
            os.close(place)
        check(libc.syscall(446, rules, 0))
    finally:
        os.close(rules)


def apply_seccomp(version):
    column, architecture = MACHINES[os.uname().machine]
    refuse, absent, allow = 0x00050000 | 1, 0x00050000 | 38, 0x7FFF0000  # EPERM, ENOSYS
    program = []

    def step(code, value, yes=0, no=0):
        program.append(struct.pack("HBBI", code, yes, no, value))

    def load(offset):
        step(0x20, offset)

    def answer(value):
        step(0x06, value)

    def numbered(calls):
        return [numbers[column] for numbers in calls.values() if numbers[column] is not None]

    load(4)
    step(0x15, architecture, 1, 0)
    answer(refuse)
    load(0)
    if column == 0:
        step(0x35, 0x40000000, 0, 1)  # the x32 calls
        answer(refuse)
    for number in numbered(DENIED):
        step(0x15, number, 0, 1)
        answer(refuse)
    step(0x15, IOCTL[column], 0, 5)
    load(24)
    for request in CHANGES_ATTRIBUTES:
        step(0x15, request, 0, 1)
        answer(refuse)
    load(0)
    own = dict(OWN_ONLY, **(SIGNALLING if version < 6 else {}))
    for number in numbered(own):
        step(0x15, number, 0, 5)
        load(16)
        step(0x15, 0, 2, 0)
        step(0x15, os.getpid(), 1, 0)
        answer(refuse)
        answer(allow)
    if version < 3:
        for name, numbers in TRUNCATING.items():
            if numbers[column] is not None:
                step(0x15, numbers[column], 0, 1)
                answer(absent if name == "openat2" else refuse)
        for numbers, argument in OPENING.values():
            if numbers[column] is not None:
                step(0x15, numbers[column], 0, 4)
                load(16 + 8 * argument)
                step(0x45, os.O_TRUNC, 0, 1)
                answer(refuse)
                answer(allow)
    answer(allow)
    code = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HP", len(program), ctypes.addressof(code))
    check(libc.prctl(SET_SECCOMP, 2, header, 0, 0))


def isolate(kept):
    """Cuts the copy off from what the interpreter has open, but for the descriptors in `kept`."""
    try:
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        descriptors = range(3, 65536)
    null = os.open(os.devnull, os.O_RDONLY)
    for fd in descriptors:
        if fd in kept or fd == null:
            continue
        try:
            replace_descriptor(fd, null)
        except OSError:
            try:
                os.close(fd)
            except OSError:
                pass
    os.close(null)
    unshare_memory()


def replace_descriptor(fd, null):
    """Reopens a regular file read-only, at the same position but with an offset of its own; replaces anything else by
    `/dev/null`."""
    kind = os.fstat(fd).st_mode
    if stat.S_ISDIR(kind):
        return
    heir = os.get_inheritable(fd)
    if not stat.S_ISREG(kind):
        os.dup2(null, fd, heir)
        return
    copy = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.lseek(copy, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(copy, fd, heir)
    finally:
        os.close(copy)


SHARED_COPIED = 256 << 20  # bytes of memory without a file that are copied; larger pieces can only be read


def unshare_memory():
    """Memory shared with other processes or files becomes the copy's own."""
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    try:
        with open("/proc/self/maps", "rb") as file:
            rows = [line.split(None, 5) for line in file if b" rw-s " in line or b" rwxs " in line]
    except OSError:
        return
    for row in rows:
        begin, end = (int(part, 16) for part in row[0].split(b"-"))
        path = os.fsdecode(row[5].rstrip(b"\n")) if len(row) > 5 else ""
        unshare_mapping(begin, end - begin, path, int(row[2], 16), int(row[4]))


def unshare_mapping(begin, size, path, offset, inode):
    read, read_write, private_there, anonymous = 1, 3, 0x2 | 0x10, 0x20
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(fd)
            if found.st_ino != inode or not stat.S_ISREG(found.st_mode):
                raise OSError
            if libc.mmap(begin, size, read_write, private_there, fd, offset) == begin:
                return
        finally:
            os.close(fd)
    except (OSError, ValueError):
        pass
    if path.startswith("/dev/") and not path.startswith("/dev/shm/") and not path.startswith("/dev/zero"):
        return  # a device: its driver does not share it with a fork's child
    if size <= SHARED_COPIED:
        data = ctypes.string_at(begin, size)
        if libc.mmap(begin, size, read_write, private_there | anonymous, -1, 0) == begin:
            ctypes.memmove(begin, data, size)
            return
    libc.mprotect(begin, size, read)
