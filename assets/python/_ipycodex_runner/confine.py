"""The sandbox of a copy of the interpreter: Landlock, a seccomp filter, no capabilities, and descriptors replaced by
`/dev/null`.

In: the process itself, which is to be the copy. Out: nothing; or a reason why this machine cannot. Invariants: after
`confine` no file can be written, made, removed or renamed, no file's mode, owner or times changed, no device opened, no
socket made that reaches anybody else, no process outside signalled, traced or slowed down, and no process started from
here leaves its group; `/dev/null` can be written. What the user's code had open is read through descriptors of the
copy's own; its pipes, sockets, devices and files without a name lead nowhere; memory it shares with others is private,
or is gone. When memory runs out, the copy goes first. Absent on purpose: limits on reading, memory and time, and on
what fills the folders that may be written in. Documents: landlock(7), seccomp(2), capabilities(7); Linux's system call
tables. Every attempt to get out that was thought of: `tests/runner/attempts.py`.
"""

import ctypes
import os
import stat
import struct

libc = None

WRITE_FILE, READ_FILE, TRUNCATE, IOCTL_DEV, REFER = 1 << 1, 1 << 2, 1 << 14, 1 << 15, 1 << 13
WRITES = WRITE_FILE | sum(1 << bit for bit in range(4, 13))  # also REMOVE_* and MAKE_*
DEVICES = 1 << 6 | 1 << 11 | IOCTL_DEV  # MAKE_CHAR, MAKE_BLOCK
READABLE = ("null", "zero", "full", "random", "urandom", "shm")  # of /dev: opening others may do something
NO_NEW_PRIVILEGES, SET_SECCOMP, DEATH_SIGNAL = 38, 22, 1  # of prctl
CAPABILITIES, CAPABILITIES_KEPT = 0x20080522, 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH

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
    "msgrcv": (70, 188), "mq_timedreceive": (243, 183), "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "fanotify_init": (300, 262), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "pivot_root": (155, 41), "chroot": (161, 51), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "syslog": (103, 116), "vhangup": (153, 58), "ioperm": (173, None), "iopl": (172, None),
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
}
BY_HANDLE = {"pidfd_send_signal": (424, 424)}  # 0 and the caller's own number may be handles of others, too
TRUNCATING = {"truncate": (76, 45), "openat2": (437, 437), "creat": (85, None)}
OPENING = {"open": ((2, None), 1), "openat": ((257, 56), 2)}  # and the argument that holds the flags
IOCTLS = (
    0x5401, 0x802C542A, 0x540F, 0x5411, 0x5413, 0x541B, 0x5421, 0x5429, 0x5450, 0x5451, 0x5460,  # TCGETS to FIOQSIZE
    2, 0x80086601, 0x801C581F, 0xC020660B, 0x40049409, 0x4020940D,  # FIGETBSZ, FS_IOC_GETFLAGS to FICLONERANGE
)  # fmt: skip
ALLOWED = {"ioctl": ((16, 29), 1, IOCTLS)}  # the argument, and its values that alone are allowed
REFUSED = {"fcntl": ((72, 25), 1, (8, 10, 15, 1024, 1026))}  # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY
CLONE, CLONE3, NAMESPACES = (56, 220), (435, 435), 0x7E020000  # clone3's flags are out of a filter's sight
SOCKETPAIR, UNIX, CONNECTED = (53, 199), 1, (1, 5)  # SOCK_STREAM, SOCK_SEQPACKET: others can send to an address


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
    libc.setrlimit(4, struct.pack("QQ", 0, 0))  # no core files
    apply_landlock(version, folders)
    drop_capabilities()
    apply_seccomp(version)


def confine_interpreter(folders):
    """Puts an interpreter under the rules before it runs anything; gives why it cannot. One that may write somewhere
    is refused on kernels whose Landlock knows nothing of truncation: a filter cannot tell where a file is."""
    version, why = probe()
    if why is None and folders and version < 3:
        why = "the Linux kernel has Landlock version %d, which cannot keep files from being truncated" % version
    if why is None:
        prefer_oom_kill()
        try:
            confine(version, folders)
        except OSError as error:
            why = "the rules could not be set (%s)" % error
    return why


def prefer_oom_kill():
    """When memory runs out, this process goes, not the interpreter."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def drop_capabilities():
    """Of root's rights those to read and write any file stay: Landlock knows them."""
    header, sets = struct.pack("Ii", CAPABILITIES, 0), ctypes.create_string_buffer(24)
    check(libc.capget(header, sets))
    effective, permitted = (each & CAPABILITIES_KEPT for each in struct.unpack_from("II", sets))
    check(libc.capset(header, struct.pack("6I", effective, permitted, 0, 0, 0, 0)))


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
    attributes = struct.pack("QQQ", files | READ_FILE, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = check(libc.syscall(444, attributes, ctypes.c_size_t(len(attributes)), 0))
    allowed = [(os.devnull, (WRITE_FILE | TRUNCATE | IOCTL_DEV) & files)]
    allowed += [(folder, files & ~DEVICES) for folder in folders]
    allowed += [("/dev/" + name, READ_FILE) for name in READABLE]
    # symbolic links lead to what has a rule of its own
    allowed += [(entry.path, READ_FILE) for entry in os.scandir("/") if not entry.is_symlink() and entry.name != "dev"]
    try:
        for path, rights in allowed:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # what is not there cannot be reached
            check(libc.syscall(445, rules, 1, struct.pack("=Qi", rights, place), 0))
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
    for number in numbered(dict(DENIED, **(BY_HANDLE if version < 6 else {}))):
        step(0x15, number, 0, 1)
        answer(refuse)
    def by_argument(number, argument, values, listed, other):
        step(0x15, number, 0, 2 * len(values) + 2)
        load(16 + 8 * argument)
        for value in values:
            step(0x15, value, 0, 1)
            answer(listed)
        answer(other)

    for numbers, argument, values in ALLOWED.values():
        by_argument(numbers[column], argument, values, allow, refuse)
    for numbers, argument, values in REFUSED.values():
        by_argument(numbers[column], argument, values, refuse, allow)
    for number in numbered(dict(OWN_ONLY, **(SIGNALLING if version < 6 else {}))):
        by_argument(number, 0, (0, os.getpid()), allow, refuse)
    step(0x15, CLONE3[column], 0, 1)
    answer(absent)
    step(0x15, CLONE[column], 0, 4)
    load(16)
    step(0x45, NAMESPACES, 0, 1)
    answer(refuse)
    answer(allow)
    step(0x15, SOCKETPAIR[column], 0, 8)
    load(16)
    step(0x15, UNIX, 0, 4)
    load(24)
    step(0x54, 0xF)
    step(0x15, CONNECTED[0], 2, 0)
    step(0x15, CONNECTED[1], 1, 0)
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


def drop_nameless():
    """Files that lie in no folder (memfd) are none of Landlock's concern: those that could still be opened for writing
    are replaced by `/dev/null`. For a process that is confined."""
    null = os.open(os.devnull, os.O_RDONLY)
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_CLOEXEC))
                os.dup2(null, fd, os.get_inheritable(fd))
        except OSError:
            pass
    os.close(null)


SHARED_COPIED = 256 << 20  # bytes of memory that are copied; larger pieces without a file are taken away
PRIVATE_THERE, ANONYMOUS = 0x2 | 0x10, 0x20  # of mmap


def unshare_memory():
    """Memory shared with other processes or files becomes the copy's own: also what can only be read, since code may
    ask for the right to write to it."""
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    try:
        with open("/proc/self/maps", "rb") as file:
            rows = [row for row in (line.split(None, 5) for line in file) if row[1].endswith(b"s")]
        files = {os.stat("/proc/self/fd/" + fd).st_ino: "/proc/self/fd/" + fd for fd in list_open()} if rows else {}
    except OSError:
        return
    for row in rows:
        begin, end = (int(part, 16) for part in row[0].split(b"-"))
        rights = sum(bit for bit, letter in ((1, b"r"), (2, b"w"), (4, b"x")) if letter in row[1])
        inode = int(row[4])
        for path in ([os.fsdecode(row[5].rstrip(b"\n"))] if len(row) > 5 else []) + [files.get(inode)]:
            if path is not None and map_privately(begin, end - begin, rights, path, int(row[2], 16), inode):
                break
        else:
            copy_memory(begin, end - begin, rights)


def list_open():
    """The names of the descriptors that are open."""
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)]


def map_privately(begin, size, rights, path, offset, inode):
    try:
        found = os.stat(path)
        if found.st_ino != inode or not stat.S_ISREG(found.st_mode):
            return False
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return False
    try:
        return libc.mmap(begin, size, rights, PRIVATE_THERE, fd, offset) == begin
    finally:
        os.close(fd)


def copy_memory(begin, size, rights):
    """Replaces a piece of memory by a copy of it; by nothing where it is too large, or no memory (a device's)."""
    data = b""
    if size <= SHARED_COPIED:
        try:
            with open("/proc/self/mem", "rb", 0) as memory:
                memory.seek(begin)
                data = memory.read(size)
        except (OSError, ValueError, OverflowError):
            pass
    if len(data) < size:
        libc.mmap(begin, size, 0, PRIVATE_THERE | ANONYMOUS, -1, 0)
    elif libc.mmap(begin, size, 3, PRIVATE_THERE | ANONYMOUS, -1, 0) == begin:
        ctypes.memmove(begin, data, size)
        libc.mprotect(begin, size, rights)
