"""Comms: messages with buffers between objects of the interpreter and a front-end, through the package `comm`, as
widgets use it.

In: the package, at its import; messages of the front-end, between cells. Out: `comm` frames. Invariants: a comm that
the front-end opens and no target accepts is closed; a message for an unknown comm is dropped. Absent on purpose: the
meaning of the messages.
"""

import sys
from binascii import a2b_base64, b2a_base64

installed = None  # the package, once its makers are ours


class FrontEnd:
    """The `kernel` of a comm. A widget that captures output reads the current request from it."""

    @staticmethod
    def get_parent():
        """The request being served."""
        return sys.modules[__package__].host.parent


def install(comm):
    """Makes the package create comms that send to the front-end."""
    global installed
    from comm.base_comm import BaseComm, CommManager

    class Comm(BaseComm):
        kernel = FrontEnd

        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
            send_comm(msg_type[len("comm_") :], self.comm_id, data, metadata, buffers, keys.get("target_name"))

        def handle_msg(self, msg):
            if "IPython" in sys.modules:
                super().handle_msg(msg)  # which tells IPython's events
            elif self._msg_callback:
                self._msg_callback(msg)

    manager = CommManager()
    comm.create_comm = Comm
    comm.get_comm_manager = lambda: manager
    installed = comm


def send_comm(what, name, data=None, metadata=None, buffers=None, target=None):
    package = sys.modules[__package__]
    frame = {"type": "comm", "op": what, "comm": name, "data": data or {}, "metadata": metadata or {}}
    if target is not None:
        frame["target"] = target
    frame["buffers"] = [b2a_base64(bytes(part), newline=False).decode("ascii") for part in buffers or ()]
    package.host.send(frame)


def on_message(request):
    """Delivers a message of the front-end to its comm."""
    what, name = request["op"], request["comm"]
    if installed is None:
        if what == "open":
            send_comm("close", name)
        return {"comm": False}
    content = {"comm_id": name, "target_name": request.get("target", ""), "data": request.get("data") or {}}
    buffers = [a2b_base64(part) for part in request.get("buffers") or ()]
    message = {"content": content, "metadata": request.get("metadata") or {}, "buffers": buffers}
    getattr(installed.get_comm_manager(), "comm_" + what)(None, None, message)
    return {"comm": True}
