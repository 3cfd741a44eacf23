"""The runner embedded in a foreign Jupyter kernel: tools, references and snapshots beside cells that the kernel runs.

In: requests in the runner's format. Out: answers in the runner's format, each fetched once. Invariant: the kernel's own
handling of output, input and interrupts is unchanged. Absent on purpose: cells, completion and inspection, for which
Jupyter has messages.
"""

import sys

from . import wire

MIME = "application/vnd.ipycodex.answer+json"


class Host:
    """Stands in for `host.Host`: the parts' interface to the kernel."""

    pty = dark = False
    stdin = "refuse"
    kernel = None
    frames = None

    def send(self, frame, _ordered=True):
        """A display in passing; the kernel shows it."""
        if frame["type"] in ("display", "page"):
            from IPython.display import display

            display(frame["bundle"], raw=True)

    defer = send

    def ask(self, frame):
        return None

    def exit_if_child(self, error=None):
        """A process that user code has forked is the kernel's."""


class Engine:
    """Stands in for the engines: the parts' interface to IPython's shell."""

    def __init__(self, shell, host):
        self.shell, self.host = shell, host
        self.ns = shell.user_ns
        self.sources = {}

    def set_names(self, values):
        self.ns.update(values)

    def execute(self, code, store, silent, count, place):
        """Runs the code of a snapshot, in a copy of the process that has streams of its own."""
        from . import mime, tracebacks

        shown = self.host
        shell = self.shell
        shell.display_pub.publish = lambda data, *args, **keys: shown.send({"type": "display", "bundle": data})
        shell.showtraceback = lambda *args, **keys: None
        values = []
        shell.display_trap.hook = sys.displayhook = values.append
        result = shell.run_cell(code, store_history=False)
        error = result.error_before_exec or result.error_in_exec
        errors = [] if error is None else [error]
        if not errors and values and values[-1] is not None:
            shown.send({"type": "result", "bundle": mime.build_bundle(values[-1], failed=errors.append)[0] or {}})
        for error in errors:
            shown.send(dict(tracebacks.describe(error, {}, False), type="error"))


class Answer:
    """An answer, in a form of its own beside no text."""

    def __init__(self, answer):
        self.answer = answer

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {MIME: self.answer, "text/plain": ""}


host = Host()
engine = Engine(__import__("IPython").get_ipython(), host)
sys.modules[__package__].host = host
sys.modules[__package__].engine = engine
last = None


def take(line):
    """Carries out a request."""
    global last
    last = None
    request = wire.decode(line)
    try:
        answer = KINDS[request["type"]](request)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        answer = {"error": {"ename": type(error).__name__, "evalue": str(error), "traceback": []}}
    last = wire.decode(wire.dump(answer))


def told():
    """The answer to the last request; what lacks one raises."""
    return Answer(last)


def tool(request):
    from . import tools

    use_loop_thread()
    if request["op"] == "describe":
        return {"tools": tools.describe(request["names"], engine.ns)}
    return tools.call(request["name"], request.get("args", {}), engine)


def evaluate(request):
    from . import references

    use_loop_thread()
    isolate_copies()
    return references.evaluate(request["variables"], request["shells"], engine)


def missing(request):
    from . import bindings

    return {"missing": bindings.find_missing(request["sources"], engine.ns)}


def snapshot(request):
    from . import snapshot

    isolate_copies()
    return {"snapshot": snapshot.evaluate(request["code"], bool(request.get("unprotected")), engine, host)}


def set_variables(request):
    for name, value in request["values"].items():
        if value is None:
            engine.ns.pop(name, None)
        else:
            engine.ns[name] = value
    return {"set": True}


KINDS = {"tool": tool, "evaluate": evaluate, "missing": missing, "snapshot": snapshot, "set": set_variables}


def use_loop_thread():
    """The kernel's own loop runs at this moment: what is awaited runs on another one."""
    from . import loop

    loop.run = loop.run_on_thread


def isolate_copies():
    """A copy prints where it is told to: the kernel's streams are sockets that a copy must not touch."""
    from . import snapshot

    if snapshot.isolate_streams is not isolate_from_sockets:
        original_isolate.append(snapshot.isolate_streams)
        snapshot.isolate_streams = isolate_from_sockets


original_isolate = []


def isolate_from_sockets(*given):
    original_isolate[0](*given)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        setattr(sys, name, open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False))
