"""Comms: objects of the interpreter and of a front-end exchange messages, with buffers; through the package `comm`, as
widgets do.

In: the package, when it is imported; messages of the front-end, between cells. Out: `comm` frames. Invariants: a comm
that a front-end opens and nobody takes is closed; a message for one that is gone is dropped. Absent on purpose: what
the messages mean.
"""

import sys
from binascii import a2b_base64, b2a_base64

installed = None  # the package, once its makers are ours


class FrontEnd:
    """Whom a comm speaks to. A widget that shows output names the request whose output it takes."""

    @staticmethod
    def get_parent():
        """The request being served."""
        return sys.modules[__package__].host.parent


def install(comm):
    """Comms made from here on reach the front-end."""
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
    """A message of the front-end."""
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
