"""A client of the kernel: sends, and gathers what comes back, each wait with a limit."""

import contextlib
import json
import queue
import threading
import time

import zmq
from jupyter_client.manager import KernelManager

LIMIT = 40
# The kernel that is spoken with.
NAME = "ipycodex"


class Told:
    """What came of one request."""

    def __init__(self):
        self.messages, self.reply = [], None

    def of(self, kind):
        return [message["content"] for message in self.messages if message["msg_type"] == kind]

    def text(self, name="stdout"):
        return "".join(one["text"] for one in self.of("stream") if one["name"] == name)

    def kinds(self):
        return [message["msg_type"] for message in self.messages]

    def shown(self):
        """The last state of every display, in order."""
        states = {}
        for content in self.of("display_data") + self.of("update_display_data"):
            states[content["transient"].get("display_id", id(content))] = content["data"]
        return list(states.values())


class Client:
    def __init__(self, client):
        self.client = client

    def send(self, code, **how):
        return self.client.execute(code, **how)

    def wait(self, request, answers=(), limit=LIMIT, watch=None):
        """Until the request is idle and answered. `answers`: what is typed when something is asked."""
        told, answers = Told(), list(answers)
        told.asked = []
        idle, end = False, time.monotonic() + limit
        while not (idle and told.reply):
            assert time.monotonic() < end, f"no end: {told.messages[-3:]} {told.reply}"
            with contextlib.suppress(queue.Empty):
                message = self.client.get_iopub_msg(timeout=0.02)
                if message["parent_header"].get("msg_id") == request:
                    message["came"] = time.monotonic()
                    if message["msg_type"] == "status":
                        idle = message["content"]["execution_state"] == "idle"
                    else:
                        assert not idle, f"after idle: {message}"
                        told.messages.append(message)
                        if watch:
                            watch(message)
            if told.reply is None:
                with contextlib.suppress(queue.Empty):
                    message = self.client.get_shell_msg(timeout=0)
                    if message["parent_header"].get("msg_id") == request:
                        told.reply = message["content"]
            if answers or told.asked is not None:
                with contextlib.suppress(queue.Empty):
                    message = self.client.get_stdin_msg(timeout=0)
                    told.asked.append(message["content"])
                    assert answers, f"nobody answers {message['content']}"
                    self.client.input(answers.pop(0))
        return told

    def until_idle(self, request, limit=LIMIT):
        """What comes of a request that has no reply."""
        told, end = Told(), time.monotonic() + limit
        while True:
            assert time.monotonic() < end, f"no end: {told.messages[-3:]}"
            message = self.client.get_iopub_msg(timeout=limit)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] != "status":
                told.messages.append(message)
            elif message["content"]["execution_state"] == "idle":
                return told

    def run(self, code, answers=(), watch=None, **how):
        return self.wait(self.send(code, **how), answers, watch=watch)


def ready(how):
    """A kernel that answers. A port that Jupyter has found free can be taken when the kernel wants it, which ends with
    1 then: another one is started."""
    for last in (False, False, True):
        manager = KernelManager(kernel_name=NAME)
        manager.start_kernel(**how)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=LIMIT)
            return manager, client
        except RuntimeError:
            client.stop_channels()
            if last or manager.provisioner.process.poll() != 1:
                raise
            manager.cleanup_resources()


@contextlib.contextmanager
def kernel(**how):
    """A fresh kernel and a client of it."""
    manager, client = ready(how)
    try:
        yield Client(client), manager
    finally:
        client.stop_channels()
        if manager.has_kernel:
            manager.shutdown_kernel(now=False)


def parts_of(channel, limit=LIMIT):
    """The next message as it came: header, parent, metadata, content; without what a client does to have its words."""
    socket = zmq.Socket.shadow(channel.socket.underlying)
    assert socket.poll(limit * 1000), "nothing comes"
    parts = socket.recv_multipart()
    return parts[parts.index(b"<IDS|MSG>") + 2:]


def drain(channel, last, drained):
    """Reads what everybody sees until the kernel is idle after the request `last`."""
    while True:
        _, parent, _, content = parts_of(channel)[:4]
        if last in parent and b'"idle"' in content:
            drained.set()
            return


def flood(k, manager, wanted, loud, times):
    """10,000 requests, those wanted among them, before an answer is read; and a subscriber that does not read while the
    cell `loud` puts out 100,000 letters so many times. Neither takes the kernel's memory."""
    def size():
        with open(f"/proc/{manager.provisioner.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) >> 10
    before = size()
    session, socket = k.client.session, k.client.shell_channel.socket
    half = (10_000 - len(wanted)) // 2
    wanted = wanted + [("kernel_info_request", {}), ("comm_info_request", {})] * half
    messages = [session.msg(*one) for one in wanted]
    requests = [message["header"]["msg_id"] for message in messages]
    assert len(requests) == 10_000
    drained = threading.Event()
    reader = threading.Thread(target=drain, args=(k.client.iopub_channel, requests[-1].encode(), drained))
    reader.start()
    for message in messages:
        session.send(socket, message)
    for request in requests:
        assert json.loads(parts_of(k.client.shell_channel)[1])["msg_id"] == request
    reader.join()
    assert drained.is_set(), "messages are missing"
    assert size() < before + 100, (before, size())
    # A client that does not read is waited for, not for long, and costs the one who reads nothing.
    deaf = zmq.Context.instance().socket(zmq.SUB)
    deaf.setsockopt(zmq.RCVHWM, 1)
    deaf.setsockopt(zmq.RCVBUF, 4096)
    deaf.setsockopt(zmq.SUBSCRIBE, b"")
    deaf.connect(f"tcp://127.0.0.1:{manager.iopub_port}")
    assert deaf.poll(LIMIT * 1000), "no welcome"
    told = k.wait(k.send(loud), limit=LIMIT)
    assert told.reply["status"] == "ok" and size() < before + 100, (before, size())
    assert told.text().count("x" * 100_000) == times, len(told.text())
    deaf.close(0)
