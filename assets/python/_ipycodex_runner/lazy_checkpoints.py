"""Stands in for `checkpoints` until that module is loaded, so that no first cell waits for the import.

In: the calls that the server makes to checkpoints. Out: the real checkpoints, with those calls replayed, once no
request has come for a moment.
"""

from select import poll

QUIET = 20  # ms


class LazyCheckpoints:
    """Stands in for the checkpoints until nothing is asked for a moment: no first cell waits until they are loaded."""

    def __init__(self):
        self.begun, self.requests = [], []

    def answer(self, request, server):
        if request["op"] == "keep":
            self.requests.append(request)
            return {"checkpoints": {}}
        server.checkpointer = self.load(server)
        return server.checkpointer.answer(request)

    def on_begin(self, kind, request):
        self.begun.append((kind, request))

    def on_end(self):
        pass

    def on_idle(self, server):
        requests = server.host.requests
        if not self.requests or requests.lines:
            return self
        if requests.queue is not None:
            return self.load(server).on_idle(server)
        poller = poll()
        poller.register(requests.fd, 1)  # readable
        return self if poller.poll(QUIET) else self.load(server).on_idle(server)

    def load(self, server):
        from . import checkpoints

        steps = checkpoints.create(server)
        for kind, request in self.begun:
            steps.on_begin(kind, request)
        steps.on_end()
        for request in self.requests:
            steps.answer(request)
        return steps
