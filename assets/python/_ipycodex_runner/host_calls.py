"""Calls of user code to the session: `ask`, `tool`, `status`.

In: calls of the module `ipycodex`, from any thread or task of the running cell. Out: `call` frames; the session's
replies as values or exceptions. Invariants: a waiting caller serves the requests of the turn it began (functions,
references, snapshots), so no two sides wait for each other; a call ends with its cell at the latest; a call that nobody
waits for any more is cancelled (`called_off`). Absent on purpose: the meaning of a prompt; cells that run inside cells.
"""

import sys
from _queue import Empty, SimpleQueue
from _thread import allocate_lock, get_ident
from itertools import count

from . import stdlib, structured_ask, wire
from .structured_ask import Error
from .wire import MAIN, interrupts

call_numbers = count(1)
active_calls = {}  # calls of the running cell, by name
lock = allocate_lock()  # held while one of them takes a request, and while they end
CELL_ENDED = "the cell that asked has ended"
serving_threads = []  # threads that serve the turn which a call began
served_requests = set()  # what they served


class Call:
    """A question to the session, from its sending to its reply."""

    def __init__(self, what, wish):
        self.host = sys.modules[__package__].host
        cell = require_cell(self.host, what)
        self.name = "%s!%d" % (cell, next(call_numbers))
        self.wakeups = SimpleQueue()
        self.box = [self]  # as in `requests.Requests`: the waiter, then the reply
        self.frame = dict(wish, type="call", id=cell, call=self.name, waits=get_ident() == MAIN)

    def release(self):
        """The reply is there, or there is something to serve."""
        self.wakeups.put(None)

    def __enter__(self):
        requests = self.host.requests
        with lock:
            if self.host.cell != self.frame["id"]:
                raise with_thread_message(Error(CELL_ENDED), "its cell ended")
            active_calls[self.name] = self
        requests.waiters = requests.waiters + (self,)
        requests.replies[self.name] = self.box
        return self

    def __exit__(self, *error):
        requests = self.host.requests
        requests.replies.pop(self.name, None)
        active_calls.pop(self.name, None)
        requests.waiters = tuple(bell for bell in requests.waiters if bell is not self)
        if len(self.box) == 1:
            self.host.frames.send({"type": "called_off", "call": self.name}, False)
        for other in requests.waiters:
            other.release()  # what this one has not served

    def take_request(self):
        """A request that waits to be served, while the cell runs: what comes later is not this call's."""
        with lock:
            return None if self.name not in active_calls else self.next_request()

    def next_request(self):
        requests = self.host.requests
        if requests.queue is None:
            if get_ident() != MAIN:
                return None  # the main thread reads, and serves
            with requests.lock:
                return requests.lines.pop(0) if requests.lines else None
        try:
            line = requests.queue.get_nowait()
        except Empty:
            return None
        if line is None:
            requests.queue.put(None)
            raise Error("the session has ended")
        return line

    def has_reply(self):
        """Serves the requests that are waiting; then True if the reply has come."""
        while True:
            line = self.take_request()
            if line is not None:
                serve(line)
            else:
                return len(self.box) > 1

    def wait(self):
        requests = self.host.requests
        self.host.frames.send(self.frame)
        while not self.has_reply():
            if requests.queue is not None:
                self.wakeups.get()
            elif get_ident() != MAIN:
                try:
                    self.wakeups.get(True, 0.05)
                except Empty:
                    requests.start_reader_if_idle()
            else:
                with requests.lock:
                    if requests.queue is None and not requests.read_replies() and len(self.box) == 1:
                        raise Error("the session has ended")
        return self.result()

    async def wait_on_loop(self):
        import asyncio

        requests, loop, rung = self.host.requests, asyncio.get_running_loop(), asyncio.Event()
        self.wakeups = LoopWaker(loop, rung)
        self.host.frames.send(self.frame)
        while True:
            rung.clear()
            if self.has_reply():
                return self.result()
            if requests.queue is not None:
                await rung.wait()
            elif get_ident() == MAIN:
                requests.start_reader()
            else:
                await asyncio.sleep(0.05)
                requests.start_reader_if_idle()

    def result(self):
        reply = self.box[1]
        if reply.get("interrupted"):
            raise with_thread_message(KeyboardInterrupt(), "it was stopped")
        if reply.get("ended"):
            raise with_thread_message(Error(CELL_ENDED), "its cell ended")
        if reply.get("error") is not None:
            kind = ValueError if reply["error"].startswith("schema: ") else Error
            raise kind(reply["error"])
        return reply.get("value")


def with_thread_message(error, why):
    """Returns the error; a thread that ends with it prints one line in place of a traceback."""
    if get_ident() == MAIN:
        return error
    import threading

    known = threading.excepthook
    if not hasattr(known, "of_ipycodex"):

        def hook(arguments, /):
            line = getattr(arguments.exc_value, "thread_message", None)
            if line is None:
                return known(arguments)
            name = getattr(arguments.thread, "name", "a thread")
            print("%s was still waiting for an answer when %s" % (name, line), file=sys.stderr)

        hook.of_ipycodex = True
        threading.excepthook = hook
    error.thread_message = why
    return error


class LoopWaker:
    """Wakes a task that waits on the event loop."""

    def __init__(self, loop, rung):
        self.loop, self.event = loop, rung

    def put(self, _nothing):
        try:
            self.loop.call_soon_threadsafe(self.event.set)
        except RuntimeError:
            pass  # the loop is closed: no task waits


def require_cell(host, what):
    """The id of the running cell. Raises an error that says why no call is possible."""
    if getattr(host, "frames", None) is None:
        raise Error("%s does not work in a Jupyter kernel: it needs the interpreter of ipycodex itself" % what)
    if host.frames.is_forked():
        raise Error(
            "%s cannot be called in a forked process: only the cell's own process is connected to the session" % what
        )
    cell_context = sys.modules.get(__package__ + ".cell_context")
    if get_ident() in serving_threads or (cell_context is not None and cell_context.cell.get() in served_requests):
        raise Error("%s cannot be called here: the agent is waiting for this function to return" % what)
    if host.cell is None:
        raise Error("%s works only while a cell is running, and not in a function that the agent calls" % what)
    return host.cell


def serve(line):
    """Carries out a request of the turn that a call began."""
    package = sys.modules[__package__]
    host, server = package.host, package.server
    try:
        request = host.requests.parse(line)
    except Exception as error:
        return server.refuse("", "%s: %s" % (type(error).__name__, error))
    if request is None:
        return None
    kind, name, main = request.get("type", "exec"), request.get("id", ""), get_ident() == MAIN
    kept, seen = host.stdin, interrupts.seen
    serving_threads.append(get_ident())
    served_requests.add(name)
    host.id = name
    set_cell_context(name)
    try:
        if kind == "exit":
            requeue(host.requests, line)
            raise Error("the session ends")
        if kind in server.handlers:
            server.answer(server.handlers[kind], request)
        elif kind in ("exec", "set_up"):
            server.refuse(name, "a cell waits for the answer to a prompt, and no other can run before it has ended")
        else:
            server.refuse(name, "unknown request type: %r" % (kind,))
    finally:
        serving_threads.remove(get_ident())
        set_cell_context(host.cell)
        if main:
            host.id, host.stdin = host.cell, kept
            interrupts.user = True
            stdlib.return_builtins()
        else:
            del host.ids[get_ident()]
    if main and interrupts.seen != seen:
        raise KeyboardInterrupt  # meant for all that runs here
    return None


def set_cell_context(request):
    """Threads that are started now belong to this request."""
    cell_context = sys.modules.get(__package__ + ".cell_context")
    if cell_context is not None:
        cell_context.cell.set(request)


def requeue(requests, line):
    if requests.queue is not None:
        requests.queue.put(line)
    else:
        requests.lines.insert(0, line)


def on_cell_end():
    """Ends all calls of the cell; threads that still wait get an error."""
    with lock:
        calls = list(active_calls.values())
        active_calls.clear()
    for call in calls:
        call.box.append({"ended": True})
        call.release()


def ask(prompt, schema, tools):
    steps, said = structured_ask.converse(prompt, schema, tools), None
    while True:
        try:
            wish = steps.send(said)
        except StopIteration as end:
            return end.value
        with Call("ask()", wish) as call:
            said = call.wait()


async def ask_async(prompt, schema, tools):
    steps, said = structured_ask.converse(prompt, schema, tools), None
    while True:
        try:
            wish = steps.send(said)
        except StopIteration as end:
            return end.value
        with Call("ask_async()", wish) as call:
            said = await call.wait_on_loop()


def tool(name, arguments):
    if type(name) is not str:
        raise TypeError("tool(): expected the name of a tool, got %r" % (name,))
    clean = wire.decode(wire.dump(arguments))
    with Call("tool()", {"op": "tool", "name": name, "args": clean}) as call:
        return call.wait()


def status(text):
    host = sys.modules[__package__].host
    if getattr(host, "frames", None) is None:
        raise Error("status() does not work in a Jupyter kernel; use print() instead")
    host.send({"type": "status", "text": " ".join(str(text).split())[:200]})
