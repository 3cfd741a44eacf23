"""`input()` and `sys.stdin` when nobody types into fd 0: the host asks the user, or refuses at once.

In: `Host.stdin` of the running cell: `terminal`, `ask` or `refuse`. Out: `input_request` frames. Invariant: no read blocks without
an answer coming. Absent on purpose: `getpass`'s own file handling; it is replaced when it is imported.
"""

import builtins
import sys

REFUSED = "input() is not available here: this cell runs without a user who could answer"

python_input = builtins.input
python_stdin = sys.stdin
installed = False


def host():
    return sys.modules[__package__].host


def arrange(mode):
    """On a terminal: the real thing or ours, as the cell wants it."""
    if mode == "terminal":
        if installed:
            uninstall()
    elif not installed:
        install()


def install():
    global installed
    installed = True
    builtins.input = ask_input
    sys.stdin = AskedStdin()
    hooks = sys.modules[__package__].parts.after_import
    hooks["getpass"] = patch_getpass
    if "getpass" in sys.modules:
        patch_getpass(sys.modules["getpass"])


def uninstall():
    global installed
    installed = False
    builtins.input = python_input
    sys.stdin = python_stdin
    sys.modules[__package__].parts.after_import.pop("getpass", None)
    module = sys.modules.get("getpass")
    if module is not None and hasattr(module, "python_getpass"):
        module.getpass = module.python_getpass


def patch_getpass(module):
    if not hasattr(module, "python_getpass"):
        module.python_getpass = module.getpass
    module.getpass = ask_password


def ask_password(prompt="Password: ", stream=None, **_options):
    return ask(prompt, True)


def ask_input(prompt="", /):
    return ask(str(prompt), False)


def ask(prompt, password):
    """One line from the user. EOFError when refused, at their end of file, or when the host is gone."""
    here = host()
    if here.stdin == "refuse":
        raise EOFError(REFUSED)
    reply = here.ask({"type": "input_request", "prompt": prompt, "password": password})
    if reply is None or reply.get("eof"):
        raise EOFError("EOF when reading a line")
    if reply.get("error"):
        raise EOFError(str(reply["error"]))
    return str(reply.get("value", ""))


class AskedStdin:
    """`sys.stdin` whose lines come from the host."""

    name, mode, encoding, errors, newlines, closed = "<stdin>", "r", "utf-8", "strict", None, False

    def readline(self, size=-1):
        try:
            line = ask("", False) + "\n"
        except EOFError:
            if host().stdin == "refuse":
                raise
            return ""
        return line

    def __iter__(self):
        return iter(self.readline, "")

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def readlines(self, hint=-1):
        return list(self)

    def read(self, size=-1):
        return self.readline() if size is not None and size >= 0 else "".join(self)

    def fileno(self):
        return 0

    def isatty(self):
        return False

    def readable(self):
        return True

    def writable(self):
        return False

    seekable = writable

    def flush(self):
        pass

    close = flush
