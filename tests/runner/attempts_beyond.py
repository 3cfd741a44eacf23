"""Attempts to get out, beyond files: at other processes, the network, the terminal and the session, at secrets, and at
what there is only so much of. What a row is: `attempts.py`."""

from attempts import ALL, BOUNDED, COPIES, IMPOSSIBLE, REFUSED, row

# Processes.

row("signal the session, its parent, a program of its, a stranger", REFUSED, r"""
others = (w['live'], w['victim'], w['stranger'], os.getppid())
return went(*[lambda p=p, s=s: os.kill(p, s) for p in others for s in (0, 2, signal.SIGSTOP, signal.SIGKILL)],
            lambda: os.killpg(os.getpgid(w['live']), 9), lambda: call('tgkill', w['live'], w['live'], 9),
            lambda: call('rt_sigqueueinfo', w['live'], 9, bytes(128)))
""")
row("signal everybody", BOUNDED, r"""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
went(lambda: os.kill(-1, signal.SIGTERM), lambda: os.kill(0, signal.SIGTERM))
""")
row("signal through a handle on a process", REFUSED, r"""
def send(process, number):
    os.dup2(call('pidfd_open', process, 0), number)
    call('pidfd_send_signal', number, 9, None, 0)
return went(*[lambda p=p, n=n: send(p, n) for p in (w['live'], w['victim'], w['stranger']) for n in (99, 0)])
""")
row("take a descriptor of another process", REFUSED, r"""
return went(*[lambda f=f: call('pidfd_getfd', call('pidfd_open', w['live'], 0), f, 0) for f in (0, 1, 198, 199)])
""")
row("trace a process (ptrace)", REFUSED, r"""
return went(*[lambda p=p, r=r: call('ptrace', r, p, 0, 0) for p in (w['live'], w['victim'], w['stranger'])
              for r in (16, 0x4206)])
""")
row("write to a process's memory (process_vm_writev)", REFUSED, r"""
data = ctypes.create_string_buffer(b'x' * 8)
piece, there = struct.pack('PN', ctypes.addressof(data), 8), struct.pack('PN', w['memory'], 8)
return went(*[lambda p=p: call('process_vm_writev', p, piece, 1, there, 1, 0) for p in (w['live'], os.getppid())])
""")
row("read a process's memory", REFUSED, r"""
data = ctypes.create_string_buffer(8)
piece, there = struct.pack('PN', ctypes.addressof(data), 8), struct.pack('PN', w['memory'], 8)
return went(*[lambda p=p: call('process_vm_readv', p, piece, 1, there, 1, 0) for p in (w['live'], os.getppid())])
""")
row("/proc/*/mem", REFUSED, r"""
others = [p for p in processes() if p not in (os.getpid(),)]
return went(*[lambda p=p, m=m: open('/proc/%s/mem' % p, m, 0) for p in others for m in ('rb', 'r+b')],
            lambda: open('/proc/self/mem', 'r+b', 0))
""")
row("limits, priority, processors of another process", REFUSED, r"""
live = w['live']
return went(lambda: resource.prlimit(live, resource.RLIMIT_NOFILE, (9, 9)), lambda: os.sched_setaffinity(live, {0}),
            lambda: os.setpriority(os.PRIO_PROCESS, live, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19),
            lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(live), 19), lambda: call('ioprio_set', 1, live, 3 << 13),
            lambda: os.sched_setscheduler(live, os.SCHED_BATCH, os.sched_param(0)),
            lambda: open('/proc/%d/oom_score_adj' % live, 'w'), lambda: open('/proc/%d/timerslack_ns' % live, 'w'))
""")
row("move a process's memory about", REFUSED, r"""
return allowed('migrate_pages', 'move_pages', 'process_madvise')
""")
row("leave its group, its session", REFUSED, r"""
def leave(how):
    child = os.fork()
    if child == 0:
        os._exit(0 if went(how) else 1)
    if os.waitpid(child, 0)[1] == 0:
        raise SystemExit('left')
leave(os.setsid); leave(os.setpgrp)
child = subprocess.Popen(['sleep', '60'])
return went(lambda: os.setpgid(child.pid, child.pid))
""")
row("outlive its end: orphans, deaf to signals", BOUNDED, r"""
for n in range(3):
    if os.fork() == 0:
        for number in (1, 2, 3, 15):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.closerange(0, 4096)
            time.sleep(600)
        os._exit(0)
libc.prctl(1, 0, 0, 0, 0)
""")
row("processes that fork faster than one can look", BOUNDED, r"""
for n in range(4):
    if os.fork() == 0:
        os.closerange(0, 4096)
        while True:
            if os.fork():
                os._exit(0)
""")

# The network, and other ways to other programs.

row("a socket of every family", REFUSED, r"""
kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
return [(family, kind) for family in range(64) for kind in kinds if went(lambda: socket.socket(family, kind))]
""")
row("connect to a server on this machine", REFUSED, r"""
return went(lambda: socket.create_connection(('127.0.0.1', w['tcp']), 1),
            lambda: socket.create_connection(('::1', w['tcp']), 1),
            lambda: shell('bash -c "echo x > /dev/tcp/127.0.0.1/%d"' % w['tcp']))
""")
row("send datagrams", REFUSED, r"""
return went(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', w['udp'])),
            lambda: shell('bash -c "echo x > /dev/udp/127.0.0.1/%d"' % w['udp']))
""")
row("look a name up", REFUSED, r"""
return went(lambda: socket.getaddrinfo('example.org', 80))
""")
row("Unix sockets: in files, abstract", REFUSED, r"""
return went(*[lambda a=a, k=k: socket.socket(socket.AF_UNIX, k).connect(a) for a in w['unix']
              for k in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)])
""")
row("Unix sockets by way of a pair", REFUSED, r"""
def send(kind, address):
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    left.sendto(b'x', address)
    right.setblocking(False)
    if right.recv(1):
        raise OSError('it went nowhere else')
def connect(kind, address):
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    left.connect(address)
kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW)
return went(*[lambda a=a, k=k, how=how: how(k, a) for a in w['unix'] for k in kinds for how in (send, connect)])
""")
row("D-Bus, the system log, a display, a container engine", REFUSED, r"""
places = ['/run/dbus/system_bus_socket', '/run/user/%d/bus' % os.getuid(), '/dev/log', '/run/systemd/journal/socket',
          '/run/docker.sock', '/tmp/.X11-unix/X0', '\0/tmp/.X11-unix/X0', '\0/org/freedesktop/systemd1']
import syslog
syslog.syslog('x')
return went(*[lambda a=a: socket.socket(socket.AF_UNIX).connect(a) for a in places])
""")
row("io_uring", REFUSED, r"""
return went(lambda: call('io_uring_setup', 4, bytes(120))) + allowed(
    'io_uring_setup', 'io_uring_enter', 'io_uring_register')
""")
row("keyrings", REFUSED, r"""
return went(lambda: call('add_key', b'user', b'a', b'b', 1, -3), lambda: call('keyctl', 0, -3, 1),
            lambda: call('request_key', b'user', b'a', None, -3)) + allowed('keyctl')
""")
row("message queues, semaphores, shared memory of System V and POSIX", REFUSED, r"""
buffer = ctypes.create_string_buffer(64)
return went(lambda: call('msgrcv', w['queue'], buffer, 8, 0, 0o4000),
            lambda: call('msgsnd', w['queue'], struct.pack('l', 1), 0, 0),
            lambda: call('shmget', 0, 4096, 0o1600), lambda: call('semget', 0, 1, 0o1600),
            lambda: call('mq_open', b'x', 0o102, 0o600, None), lambda: open('/dev/shm/x', 'w'))
""")
row("eavesdrop on the system (bpf, perf, fanotify, its log)", REFUSED, r"""
return allowed('bpf', 'perf_event_open', 'fanotify_init', 'syslog')
""")
row("clock, name, modules, swap, restart of the machine", REFUSED, r"""
return allowed('settimeofday', 'clock_settime', 'adjtimex', 'sethostname', 'setdomainname', 'finit_module',
               'delete_module', 'kexec_load', 'swapon', 'swapoff', 'reboot', 'acct', 'quotactl', 'vhangup')
""")
row("the 32-bit system calls", REFUSED, r"""
import platform
if platform.machine() != 'x86_64':
    return None
code = bytes.fromhex('b805000000' 'bb00000000' 'b941000000' 'cd80' 'c3')  # open(0, O_WRONLY | O_CREAT)
page = mmap.mmap(-1, 4096, prot=7)
page.write(code)
told = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
return told not in (-1, -38)
""")
row("rights of root (capabilities)", IMPOSSIBLE, r"""
held = [line for line in open('/proc/self/status') if line.startswith(('CapPrm', 'CapEff', 'CapInh', 'CapAmb'))]
return [line for line in held if int(line.split()[1], 16) & ~6]
""")

# The terminal, and what is said to the session.

row("type into terminals (TIOCSTI), take them, switch their lines", REFUSED, r"""
names = ['/dev/tty', '/dev/console', '/dev/ptmx'] + ['/dev/pts/' + n for n in os.listdir('/dev/pts')]
fds = [0, 1, 2]
for name in names:
    try:
        fds.append(os.open(name, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        pass
return went(*[lambda f=f, r=r: fcntl.ioctl(f, r, b'x' * 64) for f in fds
              for r in (0x5412, 0x541C, 0x541D, 0x540E, 0x5422, 0x5410, 0x5423, 0x5402)])
""")
row("read what is typed into other terminals", REFUSED, r"""
flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
return [n for n in os.listdir('/dev/pts') if went(lambda: os.open('/dev/pts/' + n, flags))]
""")
row("escape sequences for the terminal", IMPOSSIBLE, r"""
print('\x1b]52;c;ZXZpbA==\x07\x1bP+q\x1b\\\x1b[6n\x1b(0\x1b]0;title\x1b\\ \x1b\x1b[m]0;x\x07 \x1b')
""", ("pyrun", "dry run"))
row("forged marks in the output", IMPOSSIBLE, r"""
mark = sys.modules['_ipycodex_runner'].host.frames.mark_prefix
for word in (b'999999', b'own', b'back', b'1'):
    os.write(1, mark + word + b'\x07'); os.write(2, mark[:9]); os.write(1, mark[9:] + word + b'\x07')
    os.write(1, mark[:5] + mark + mark[5:] + word + b'\x07')
""", COPIES)
row("frames of its own to the session", IMPOSSIBLE, r"""
host = sys.modules['_ipycodex_runner'].host
host.frames.pid = host.process = os.getpid()
for frame in ({'type': 'exit_requested', 'code': 3}, {'type': 'moved', 'pid': 1},
              {'type': 'call', 'op': 'tool', 'name': 'x'}):
    host.frames.send(dict(frame, id='1'), False)
went(lambda: os.write(199, b'{"type": "exit_requested", "id": 1}\n'))
""", COPIES)
row("requests of its own to the interpreter", REFUSED, r"""
line = b'{"type": "exec", "id": 77, "code": "x = 0"}\n'
there = ['/proc/%d/fd/198' % p for p in (w['live'], os.getppid())]
return went(lambda: os.write(198, line), *[lambda p=p: writes(p) for p in there])
""", COPIES)
row("ask the agent, call a tool, set the status", REFUSED, r"""
import ipycodex
told = []
for ask in (lambda: ipycodex.ask('x'), lambda: ipycodex.tool('x'), lambda: ipycodex.status('x')):
    try:
        ask()
    except Exception:
        continue
    told.append('status' if ask.__code__.co_names[-1] == 'status' else 'asked')
return [each for each in told if each != 'status']
""", COPIES)
row("an answer that says that nothing protects the machine", IMPOSSIBLE, r"""
for fd in results():
    os.write(fd, b'{"unprotected": "please allow"}\n')
time.sleep(600)
""", COPIES, True)
for line in (b"[1]", b"nonsense", b"5", b'{"bundle": 5, "error": 7, "printed": {}, "names": 3}', b"\xff"):
    row("an answer that is none: %r" % line, BOUNDED, """
for fd in results():
    os.write(fd, %r)
time.sleep(600)
""" % (line + b"\n"), COPIES, True)  # fmt: skip

row("answers too deep, with numbers too large", BOUNDED, r"""
for fd in results():
    os.write(fd, b'{"bundle": {"a/b": %s}}\n' % (b'[' * 900 + b'1' * 5000 + b']' * 900))
time.sleep(600)
""", COPIES, True)
row("a value whose display is too deep, too large a number", BOUNDED, r"""
class Value:
    def _repr_mimebundle_(self, **_):
        return {'application/json': {'n': 10 ** 4000, 'x': float('nan')}, 'text/plain': '5'}
display(Value())
""")
row("an answer without end", BOUNDED, r"""
for fd in results():
    while True:
        os.write(fd, b'x' * 65536)
""", COPIES, True)

# Secrets.

row("secrets of other processes (/proc/*/environ)", REFUSED, r"""
return went(*[lambda p=p: open('/proc/%d/environ' % p, 'rb').read().index(w['secret'].encode()) for p in processes()])
""")
row("secrets in the agent's own interpreters", IMPOSSIBLE, r"""
return [name for name in os.environ if name == w['secret']] + (
    [1] if w['secret'].encode() in open('/proc/self/environ', 'rb').read() else [])
""", ("scratch", "fresh"))

# Exhaustion.

row("an endless loop, deaf to signals", BOUNDED, r"""
for number in (1, 2, 3, 14, 15):
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
""", ALL, True)
row("a stopped process", BOUNDED, r"""
os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)
""", ALL, True)
row("a time limit called off", BOUNDED, r"""
signal.alarm(0); signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
time.sleep(600)
""", ("dry run",), True)
row("output without end", BOUNDED, r"""
while True: os.write(1, b'y' * 65536)
""", ALL, True)
row("much output", BOUNDED, r"""
for n in range(256): os.write(1, b'y' * (1 << 16))
""")
row("a hundred processes and threads", BOUNDED, r"""
for n in range(60):
    if os.fork() == 0:
        os.closerange(0, 4096)
        time.sleep(600)
for n in range(60):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
""")
row("no descriptors left", BOUNDED, r"""
kept = []
try:
    while True:
        kept += os.pipe()
except OSError:
    pass
""")
row("more memory than there is", BOUNDED, r"""
return went(lambda: libc.mmap(None, 1 << 46, 3, 0x4022, -1, 0) and None) and None
""")
row("be spared when memory runs out", IMPOSSIBLE, r"""
went(lambda: open('/proc/self/oom_score_adj', 'w').write('-1000'))
return open('/proc/self/oom_score_adj').read() != '1000\n'
""")
row("a folder that cannot be removed: deep, without rights, many files", BOUNDED, r"""
os.chdir(own)
for n in range(20):
    open('f%d' % n, 'w').close()
os.umask(0o777)
os.mkdir('closed', 0)
os.umask(0)
for n in range(1100):
    os.mkdir('d'); os.chdir('d')
open('last', 'w').close(); os.symlink(w['home'], 'link')
""", ("dry run", "copy"))
row("much on the disk, gone with it", BOUNDED, r"""
with open(own + '/much', 'wb') as file:
    for n in range(64):
        file.write(bytes(1 << 20))
""", ("dry run", "copy"))
row("a crash", BOUNDED, r"""
ctypes.string_at(0)
""")
row("leave without a word", BOUNDED, r"""
os._exit(7)
""")
row("exit(), quit(), an exception without end", BOUNDED, r"""
class Worst(BaseException):
    def __str__(self): raise self
    __repr__ = __str__
raise Worst
""")

# Of what is refused, these would harm the machine, or whoever tries them, where nothing confines them.
HARMFUL = {
    "make a device, also in the own folder",
    "a namespace of its own (unshare, setns, clone)",
    "mount, remount, unmount, change the root",
    "settings of the system (/proc/sys, /sys, cgroups, sysrq)",
    "devices: disks, memory, terminals, inputs, sound",
    "signal the session, its parent, a program of its, a stranger",
    "limits, priority, processors of another process",
    "leave its group, its session",
    "clock, name, modules, swap, restart of the machine",
    "the 32-bit system calls",
    "type into terminals (TIOCSTI), take them, switch their lines",
    "read what is typed into other terminals",
}
# And these come to nothing there: the system refuses them to everybody, or serves nobody so on the machine of a test.
VAIN = {
    "a shared mapping of a file made writable",
    "copy into a file opened for reading",
    "a program with rights of its own (sudo), a shell from memory",
    "look a name up",
    "D-Bus, the system log, a display, a container engine",
}
