"""Runs a program on a machine that lacks system calls: `without.py ERRNO CALL,CALL,... PROGRAM ARGUMENTS...`.

A seccomp filter answers these calls, as containers and gVisor do. x86-64 and aarch64.
"""
import ctypes, os, platform, struct, sys

# audit architecture, and numbers of calls
X86, ARM = platform.machine() == "x86_64", platform.machine() == "aarch64"
CALLS = {"clone3": 435, "pidfd_open": 434, "pidfd_send_signal": 424, "pidfd_getfd": 438, "close_range": 436,
         "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446, "io_uring_setup": 425,
         "openat2": 437, "faccessat2": 439, "memfd_create": 319 if X86 else 279,
         "ptrace": 101 if X86 else 117, "userfaultfd": 323 if X86 else 282, "seccomp": 317 if X86 else 277}
refused, names, command = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
if not (X86 or ARM):
    sys.exit("skipped: no numbers of system calls for this machine")


def instruction(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)


LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
program = [instruction(LOAD, 0, 0, 0)]
for name in names:
    program += [instruction(EQUAL, 0, 1, CALLS[name]), instruction(RETURN, 0, 0, 0x00050000 | refused)]
program.append(instruction(RETURN, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(program))
filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.c_void_p(ctypes.addressof(filter_))):
    sys.exit("skipped: no filter can be set: " + os.strerror(ctypes.get_errno()))
os.execvp(command[0], command)
