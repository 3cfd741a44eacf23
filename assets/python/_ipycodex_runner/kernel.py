"""What libraries look for to detect a Jupyter kernel: `get_ipython().kernel` with its comms, the parent message of the
cell, the application's settings, the name of the shell's class, a running event loop.

In: the connection file, the message of each cell. Out: these under ipykernel's names. Invariant: nothing of this is
loaded outside a kernel. Absent on purpose: sockets and sessions, which the host owns.
"""

import sys


def host():
    return sys.modules[__package__].host


class Kernel:
    """`get_ipython().kernel`."""

    implementation = "ipycodex"
    language = "python"
    eventloop = None

    def __init__(self, shell):
        self.shell = shell

    def __repr__(self):
        return "<the kernel of ipycodex>"

    @property
    def user_ns(self):
        return self.shell.user_ns

    @property
    def user_module(self):
        return self.shell.user_module

    @property
    def execution_count(self):
        return self.shell.execution_count

    @property
    def comm_manager(self):
        import comm

        return comm.get_comm_manager()

    def get_parent(self, channel=None):
        return host().parent

    _parent_header = property(get_parent)


class KernelMixin:
    """Comes first among the bases of a shell that runs in a kernel."""

    made = None

    @property
    def kernel(self):
        if self.made is None:
            self.made = Kernel(self)
        return self.made

    def get_parent(self):
        return host().parent

    def set_parent(self, parent):
        host().parent = parent

    parent_header = property(get_parent, set_parent)


class ShellModule(type(sys)):
    """The module of ipykernel's shell, with ours in it; what else is asked for is ipykernel's, if that is installed."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec

        import ipykernel

        spec = PathFinder.find_spec(self.__name__, ipykernel.__path__)
        real = module_from_spec(spec)
        spec.loader.exec_module(real)
        self.__dict__.update(dict(vars(real), **vars(self)))
        return object.__getattribute__(self, name)


def shell_class(base):
    """The class of IPython's shell; its name and its module are what libraries go by."""
    name = "ipykernel.zmqshell"
    kind = type(base)("ZMQInteractiveShell", (KernelMixin, base), {"__module__": name})
    module = sys.modules[name] = ShellModule(name)
    module.ZMQInteractiveShell = kind
    return kind


def app_settings():
    """The settings of ipykernel's application, which libraries read."""
    return {"connection_file": host().kernel}


def parse_parent(request):
    """The message of a client that a cell came in."""
    told = request["parent"]
    header = told["header"]
    return {
        "header": header,
        "msg_id": header.get("msg_id"),
        "msg_type": header.get("msg_type"),
        "parent_header": {},
        "metadata": told["metadata"],
        "content": dict(told["content"], code=request["code"]),
    }


def wrap_with_loop(work):
    """A cell's work; code without `await` finds the loop running in it, as in ipykernel, where what it schedules goes
    on between the cells."""

    def with_loop_running():
        if "asyncio" not in sys.modules:
            return work()  # once the cell imports it, `cell_context` shows the loop
        from . import loop

        loop.show_running()
        try:
            return work()
        finally:
            loop.hide_running()

    return with_loop_running
