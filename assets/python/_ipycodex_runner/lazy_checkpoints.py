"""What stands in for the checkpoints until they are loaded, so that no first cell waits for that.

In: what the server tells checkpoints. Out: the checkpoints, told all that, once nothing is asked for a moment.
"""

from select import poll

QUIET = 20  # ms


class EarlySteps:
    """Stands in for the checkpoints until nothing is asked for a moment: no first cell waits until they are loaded."""

    def __init__(self):
        self.ran, self.wishes = [], []

    def answer(self, request, server):
        if request["op"] == "keep":
            self.wishes.append(request)
            return {"checkpoints": {}}
        server.steps = self.load(server)
        return server.steps.answer(request)

    def begins(self, kind, request):
        self.ran.append((kind, request))

    def ended(self):
        pass

    def pause(self, server):
        requests = server.host.requests
        if not self.wishes or requests.lines:
            return self
        if requests.queue is not None:
            return self.load(server).pause(server)
        poller = poll()
        poller.register(requests.fd, 1)  # readable
        return self if poller.poll(QUIET) else self.load(server).pause(server)

    def load(self, server):
        from . import checkpoints

        steps = checkpoints.at_first(server)
        for kind, request in self.ran:
            steps.begins(kind, request)
        steps.ended()
        for request in self.wishes:
            steps.answer(request)
        return steps
