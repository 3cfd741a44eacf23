"""A kernel of Jupyter that a test scripts: standard library only; ZMTP 3.0, version 5.3 of the messages.

`kernel.py CONNECTION_FILE FAULT`: the fault is of the first start; others are code of cells (`kernel_faults.py`). Any
other code is `echo`, or an expression of Python. `gateway.py` has the same kernel behind a websocket.
"""
import hashlib, hmac, json, os, queue, signal, socket, struct, sys, threading, time, uuid

import kernel_faults

INFO = {"status": "ok", "protocol_version": "5.3", "implementation": "fake", "implementation_version": "1",
        "language_info": {"name": "fake", "version": "1", "mimetype": "text/plain", "file_extension": ".x"},
        "banner": "fake", "help_links": []}


class Kernel:
    """What a kernel does with a request, whatever carries its messages: `out(channel, parts)`, JSON in four parts."""

    words = kernel_faults.WORDS

    def __init__(self, out, fault):
        self.out, self.fault, self.count = out, fault, 0
        self.session, self.answers = uuid.uuid4().hex, queue.Queue()
        self.stopped = threading.Event()
        self.stays = self.deaf = False
        self.omits = set()

    def parts(self, kind, content, parent, **more):
        header = {"msg_id": uuid.uuid4().hex, "session": self.session, "username": "fake", "msg_type": kind,
                  "date": "2026-01-01T00:00:00Z", "version": "5.3"}
        return [json.dumps(part).encode() for part in ({**header, **more}, parent or {}, {}, content)]

    def say(self, channel, kind, content, parent=None):
        self.out(channel, self.parts(kind, content, parent))

    def status(self, state, parent=None):
        self.say("iopub", "status", {"execution_state": state}, parent)

    def text(self, text, parent=None):
        self.say("iopub", "stream", {"name": "stdout", "text": text}, parent)

    def sleep(self):
        """Until it is interrupted."""
        while not self.stopped.wait(0.01):
            pass

    def heard(self, channel, header, content):
        kind = header.get("msg_type", "")
        if kind == "shutdown_request":
            if not self.stays:
                self.say(channel, "shutdown_reply", {"status": "ok", "restart": False}, header)
                self.leave()
        elif kind == "interrupt_request":
            self.interrupt()
            self.say(channel, "interrupt_reply", {"status": "ok"}, header)
        elif channel == "stdin":
            self.answers.put(content)
        elif kind == "kernel_info_request" and kernel_faults.at_start(self, channel, header):
            pass
        else:
            self.omits = set()
            self.status("busy", header)
            self.answer(channel, kind, header, content)
            if "idle" not in self.omits:
                self.status("idle", header)

    def answer(self, channel, kind, header, content):
        if kind == "execute_request":
            self.stopped.clear()
            self.execute(header, content)
        elif kind == "kernel_info_request":
            self.say(channel, "kernel_info_reply", INFO, header)
        elif kind == "is_complete_request":
            self.say(channel, "is_complete_reply", {"status": "complete"}, header)
        elif kind == "complete_request":
            self.say(channel, "complete_reply", {"status": "ok", "matches": [], "cursor_start": 0, "cursor_end": 0,
                                                 "metadata": {}}, header)
        elif kind.endswith("_request"):
            self.say(channel, kind[:-7] + "reply", {"status": "ok"}, header)

    def execute(self, header, content):
        code = content.get("code", "").strip()
        self.count += 1
        word, _, rest = code.partition(" ")
        if word in self.words:
            self.words[word](self, header)
        if word in self.words or word == "echo":
            self.text(rest + "\n", header)
        else:
            shown = {"text/plain": str(eval(code, {}))}
            self.say("iopub", "execute_result", {"execution_count": self.count, "data": shown, "metadata": {}}, header)
        if "reply" not in self.omits:
            self.say("shell", "execute_reply", {"status": "ok", "execution_count": self.count, "user_expressions": {},
                                                "payload": []}, header)

    def interrupt(self, *_):
        if not self.deaf:
            self.stopped.set()

    def leave(self):
        os._exit(0)

    def die(self, code):
        os._exit(code)


class Zmtp:
    """The sockets of a connection file, each with the peers that have greeted it."""

    KINDS = {"shell": b"ROUTER", "control": b"ROUTER", "stdin": b"ROUTER", "iopub": b"XPUB", "hb": b"REP"}

    def __init__(self, info, heard):
        self.key, self.heard = info["key"].encode(), heard
        self.peers = {name: [] for name in Zmtp.KINDS}
        self.lock = threading.Lock()
        self.listeners = {}
        for name in Zmtp.KINDS:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((info["ip"], info[name + "_port"]))
            listener.listen(16)
            self.listeners[name] = listener

    def start(self):
        for name in Zmtp.KINDS:
            threading.Thread(target=self.accept, args=(name,), daemon=True).start()

    def accept(self, name):
        while True:
            peer, _ = self.listeners[name].accept()
            threading.Thread(target=self.serve, args=(name, peer), daemon=True).start()

    def serve(self, name, peer):
        try:
            kernel_faults.greet(self, name, peer)
            ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(Zmtp.KINDS[name])) + Zmtp.KINDS[name]
            peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
            self.read(peer, 64)
            peer.sendall(bytes([4, len(ready)]) + ready)
            parts = []
            while True:
                flags = self.read(peer, 1)[0]
                size = struct.unpack(">Q", self.read(peer, 8))[0] if flags & 2 else self.read(peer, 1)[0]
                body = self.read(peer, size)
                if flags & 4:
                    with self.lock:
                        self.peers[name].append(peer)
                    continue
                parts.append(body)
                if not flags & 1:
                    whole, parts = parts, []
                    if name in ("shell", "control", "stdin") and b"<IDS|MSG>" in whole:
                        at = whole.index(b"<IDS|MSG>")
                        self.heard(name, json.loads(whole[at + 2]), json.loads(whole[at + 5]))
        except (OSError, EOFError):
            pass

    def read(self, peer, size):
        found = b""
        while len(found) < size:
            part = peer.recv(min(size - len(found), 1 << 16))
            if not part:
                raise EOFError
            found += part
        return found

    def sign(self, parts):
        return hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode()

    def out(self, name, parts, sign=None):
        head = [b"topic"] if name == "iopub" else []
        self.frames(name, head + [b"<IDS|MSG>", self.sign(parts[:4]) if sign is None else sign] + parts)

    def frames(self, name, frames):
        self.raw(name, b"".join(
            struct.pack(">BQ", 2 | (at < len(frames) - 1), len(frame)) + frame for at, frame in enumerate(frames)))

    def raw(self, name, data):
        with self.lock:
            for peer in self.peers[name]:
                try:
                    peer.sendall(data)
                except OSError:
                    pass

    def close(self, name):
        for peer in self.peers[name]:
            peer.shutdown(socket.SHUT_RDWR)


def main():
    info = json.load(open(sys.argv[1]))
    fault = kernel_faults.before(sys.argv[2])
    orders = queue.Queue()

    def heard(channel, header, content):
        if channel == "shell":
            orders.put((channel, header, content))
        else:
            kernel.heard(channel, header, content)

    wire = Zmtp(info, heard)
    kernel = Kernel(wire.out, fault)
    kernel.wire = wire
    wire.kernel = kernel
    signal.signal(signal.SIGINT, kernel.interrupt)
    if os.environ.pop("FAKE_AGAIN", None):
        threading.Thread(target=lambda: (time.sleep(1), kernel.status("starting")), daemon=True).start()
    wire.start()
    while True:
        kernel.heard(*orders.get())


if __name__ == "__main__":
    main()
