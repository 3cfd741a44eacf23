"""A gateway of Jupyter that a test scripts, with the kernel of `kernel.py` behind its websocket.

`gateway.py` tells its port in a line and serves until its input ends. An address of it is `/NUMBER/FAULT`: each number
is a gateway of its own, and the fault is of the first call that it names (`403 at kernels`). Other faults are words of
cells. What the kernel says while no websocket is open is kept for the next one.
"""
import base64, hashlib, json, os, socket, struct, sys, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import kernel, kernel_faults

V1 = "v1.kernel.websocket.jupyter.org"
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Place:
    """One gateway: its kernel, what it is to do wrong, the open websocket."""

    def __init__(self, fault):
        self.fault, self.lock = fault, threading.Lock()
        self.socket, self.unsent, self.newer = None, [], True
        self.kernels = 0
        self.kernel, self.state = None, "busy"  # as the gateway tells it

    def begin(self):
        self.kernels += 1
        if self.fault.endswith(" at every channels"):
            self.fault = ""
        self.socket, self.unsent = None, []
        self.kernel = Behind(self.out, "")
        self.kernel.place = self

    def plays(self, call):
        """The fault of this call, at the first time, or always."""
        what, _, at = self.fault.partition(" at ")
        if at.removeprefix("every ") != call:
            return ""
        if not at.startswith("every "):
            self.fault = ""
        return what

    def out(self, channel, parts):
        if self.newer:
            parts = [channel.encode()] + parts
            at = 8 * (len(parts) + 2)
            head = struct.pack("<QQ", len(parts) + 1, at)
            for part in parts:
                at += len(part)
                head += struct.pack("<Q", at)
            self.frame(2, head + b"".join(parts))
        else:
            names = ["header", "parent_header", "metadata", "content"]
            whole = {name: json.loads(part) for name, part in zip(names, parts)}
            self.frame(1, json.dumps({**whole, "channel": channel, "buffers": []}).encode())

    def frame(self, opcode, body):
        self.raw(bytes([0x80 | opcode]) + length(len(body)) + body)

    def raw(self, data):
        with self.lock:
            try:
                if self.socket:
                    return self.socket.sendall(data)
            except OSError:
                self.socket = None
            self.unsent.append(data)

    def opened(self, stream):
        with self.lock:
            for data in self.unsent:
                stream.sendall(data)
            self.socket, self.unsent = stream, []

    def cut(self, *data):
        """Sends this and waits until the other side has had enough of it, or closes."""
        stream = self.socket
        for part in data:
            self.raw(part)
        deadline = time.monotonic() + 3
        while self.socket is stream and time.monotonic() < deadline:
            time.sleep(0.01)
        with self.lock:
            if self.socket is stream:
                self.socket = None
        close(stream)


def close(stream):
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def length(size):
    if size < 126:
        return bytes([size])
    return struct.pack(">BH", 126, size) if size < 1 << 16 else struct.pack(">BQ", 127, size)


class Behind(kernel.Kernel):
    """The kernel: it ends as a gateway says that kernels end."""

    def die(self, code):
        self.status("restarting")
        self.sleep()

    def leave(self):
        pass


def cutting(*data):
    return lambda kernel, header: kernel.place.cut(*data)


def sending(*data):
    return lambda kernel, header: [kernel.place.raw(part) for part in data] and None


def half(kernel, header):
    """A message that breaks off."""
    place, stream = kernel.place, kernel.place.socket
    place.raw(b"\x82\x7e\x10\x00" + b"x" * 100)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with place.lock:
        place.socket = None
    close(stream)


def texts(kernel, header):
    for bad in kernel_faults.BAD + [b'{"channel": 7}', b'{"channel": "iopub"}', b'{"channel": "iopub", "header": 7}']:
        if kernel_faults.is_text(bad):
            kernel.place.frame(1, bad)


def binaries(kernel, header):
    for bad in kernel_faults.BAD + [
        bytes(8), b"\xff" * 64, struct.pack("<QQ", 6, 0), struct.pack("<8Q", 6, *[1 << 63] * 7),
        struct.pack("<8Q", 6, *range(70, 63, -1)), struct.pack("<Q", 1 << 60) * 9, struct.pack(">II", 2, 12) * 9,
    ]:
        kernel.place.frame(2, bad)


def then(what, rest=None):
    """Breaks the websocket, with this for the call that comes next."""
    def play(kernel, header):
        kernel.place.fault = what
        (rest or cutting())(kernel, header)
    return play


def always(what):
    """From here on this for a call, and the kernel works."""
    def play(kernel, header):
        kernel.place.fault = what
        kernel.text("begun\n", header)
        kernel.sleep()
        kernel.omits.add("reply")
        kernel.say("shell", "execute_reply", {"status": "error", "ename": "KeyboardInterrupt"}, header)
    return play


def state(what):
    def play(kernel, header):
        kernel.status(what)
        kernel.sleep()
    return play


def leaving(what):
    def play(kernel, header):
        kernel.place.fault = what
    return play


def replaced(kernel, header):
    """Another kernel takes its place: the request is lost, and so is what that one publishes before it has answered
    `kernel_info_request` twice."""
    kernel.place.state = "idle"
    kernel.omits.update(["reply", "idle"])
    out, answered = kernel.out, []

    def unheard(channel, parts):
        if channel != "iopub" or len(answered) > 1:
            out(channel, parts)
        if b"kernel_info_reply" in parts[0]:
            answered.append(parts)

    kernel.out = unheard


PINGS = b"\x89\x04ping" * 50_000
WORDS = {
    "masked": cutting(b"\x82\x85\1\2\3\4hello"), "fragmented-ping": cutting(b"\x09\x01x", b"\x80\x01y"),
    "long-ping": cutting(b"\x89\x7e\x01\x00" + b"x" * 256), "reserved-bits": cutting(b"\xf2\x01x"),
    "unknown-opcode": cutting(b"\x83\x01x"), "unknown-control": cutting(b"\x8b\x01x"),
    "endless-frame": cutting(b"\x82\x7f" + struct.pack(">Q", 1 << 62)),
    "large-frame": cutting(b"\x82\x7f" + struct.pack(">Q", (512 << 20) + 1)),
    "negative-frame": cutting(b"\x82\x7f" + b"\xff" * 8),
    "many-fragments": cutting(*[b"\x02\x7f" + struct.pack(">Q", 1 << 20) + b"x" * (1 << 20)]
                              + [b"\x00\x7f" + struct.pack(">Q", 1 << 20) + b"x" * (1 << 20)] * 513),
    "no-beginning": cutting(b"\x80\x01x"), "two-beginnings": cutting(b"\x02\x01x", b"\x02\x01y"),
    "bad-text": cutting(b"\x81\x02\xff\xfe"), "half": half, "closes": cutting(b"\x88\x00"),
    "closes-oddly": cutting(b"\x88\x01x"), "closes-in-words": cutting(b"\x88\x7d\x03\xe8" + b"\x1b[31m" * 24 + b"xxx"),
    "closes-in-no-words": cutting(b"\x88\x04\x03\xe8\xff\xfe"), "closes-of-the-future": cutting(b"\x88\x02\xff\xff"),
    "hangs-up": cutting(), "texts": texts, "binaries": binaries, "pings": sending(PINGS),
    "pongs": sending(b"\x8a\x04pong" * 50_000), "fragments": sending(b"\x02\x00" + b"\x00\x00" * 100_000 + b"\x80\x00"),
    "gone": then("404 at state"), "gone-dead": state("dead"), "gone-restarting": state("restarting"),
    "not-again": then("500 at every channels"), "refused-again": then("401 at channels"),
    "slow-again": then("slow at channels"), "strange-again": then("wrong key at channels"),
    "garbage-again": then("garbage at channels"), "silent-again": then("silence at channels"),
    "deep-state": then("deep at state"), "number-state": then("number at state"), "500-state": then("500 at state"),
    "replaced": replaced,
    "no-interrupt": always("500 at every interrupt"), "slow-interrupt": always("silence at every interrupt"),
    "lost-interrupt": always("404 at every interrupt"), "no-end": leaving("500 at every end"),
    "slow-end": leaving("slow at every end"), "silent-end": leaving("silence at every end"),
    "garbage-end": leaving("garbage at every end"),
}
Behind.words = {**kernel_faults.WORDS, **WORDS}

PLACES = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def call(self):
        path = urllib.parse.urlsplit(self.path).path
        _, number, fault, *rest = urllib.parse.unquote(path).split("/")
        place = PLACES.setdefault(number, Place(fault.replace("_", " ")))
        rest = "/".join(rest).removeprefix("api/")
        size = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(size)
        method, last = self.command, rest.split("/")[-1]
        if rest == "kernelspecs":
            call, answer = "kernelspecs", {"default": "fake", "kernelspecs": {"fake": {"name": "fake", "spec": {}}}}
        elif rest == "kernels":
            call, answer = "kernels", {"id": "one", "name": "fake"}
        elif last == "channels":
            call, answer = "channels", None
        elif last == "interrupt":
            call, answer = "interrupt", {}
        else:
            call, answer = "end" if method == "DELETE" else "state", {"id": "one", "execution_state": place.state}
        what = place.plays(call)
        if what and what != "no protocol" and what != "wrong key" and what != "other protocol":
            return self.wrong(what)
        if call == "kernels":
            place.begin()
        elif call == "interrupt":
            place.kernel.interrupt()
        if call == "channels":
            return self.carry(place, what)
        self.answer(200, json.dumps(answer).encode())

    do_GET = do_POST = do_DELETE = call

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wrong(self, what):
        self.close_connection = True
        bodies = {"html": b"<html>\x1b[31mhello</html>", "deep": b"[" * 100_000, "list": b"[7]", "null": b"null",
                  "number": b'{"kernelspecs": 7, "id": 7, "execution_state": 7}', "path": b'{"id": "../../x"}',
                  "bytes": b"\xff\xfe", "empty": b"", "object": b"{}"}
        if what.isdigit():
            self.answer(int(what), b'{"message": "no \x1b[31m"}', Location=self.path)
        elif what in bodies:
            self.answer(200, bodies[what])
        elif what == "garbage":
            self.wfile.write(b"SSH-2.0-OpenSSH\r\n" * 100)
        elif what == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        elif what == "silence":
            time.sleep(100)
        elif what == "slow":
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
                self.wfile.write(bytes([byte]))
                time.sleep(0.5)
        elif what == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while True:
                self.wfile.write(b"x" * 100_000)
        elif what == "endless head":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.wfile.write(b"X: " + b"x" * 10_000 + b"\r\n")
        elif what == "loud head":
            self.answer(200, b"{}", **{"X-%d" % number: "x" for number in range(1000)})

    def carry(self, place, what):
        key = self.headers["Sec-WebSocket-Key"].encode()
        accept = base64.b64encode(hashlib.sha1(key + (b"x" if what == "wrong key" else GUID)).digest())
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += b"Sec-WebSocket-Accept: " + accept + b"\r\n"
        asked = V1 in self.headers.get("Sec-WebSocket-Protocol", "")
        if what == "no protocol":
            place.fault = what + " at channels"
        place.newer = asked and what == ""
        if place.newer or what == "other protocol":
            head += b"Sec-WebSocket-Protocol: " + (V1 if place.newer else "of.the.future").encode() + b"\r\n"
        stream = self.connection
        stream.sendall(head + b"\r\n")
        self.close_connection = True
        if asked and not place.newer:
            # The client asks again, for the older form.
            return
        place.opened(stream)
        while True:
            flags, size = self.rfile.read(2)
            size &= 127
            if size > 125:
                size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
            mask, body = self.rfile.read(4), bytearray(self.rfile.read(size))
            body = bytes(byte ^ mask[at % 4] for at, byte in enumerate(body))
            if flags & 15 == 8:
                with place.lock:
                    place.socket = None if place.socket is stream else place.socket
                return
            if flags & 15 in (1, 2):
                self.take(place, flags & 15, body)

    def take(self, place, opcode, body):
        if opcode == 2:
            count = struct.unpack_from("<Q", body)[0]
            ends = struct.unpack_from("<%dQ" % count, body, 8)
            parts = [body[start:end] for start, end in zip(ends, ends[1:])]
            channel, header, content = parts[0].decode(), json.loads(parts[1]), json.loads(parts[4])
        else:
            whole = json.loads(body)
            channel, header, content = whole["channel"], whole["header"], whole["content"]
        # Beside the reading, so that an interrupt is heard.
        threading.Thread(target=place.kernel.heard, args=(channel, header, content), daemon=True).start()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
