"""Debuggers and stacks: which frames are the runner's, how they are kept from Python's own tools (`traceback`, and
`pdb` with IPython's debugger on top of it), and the debugger of the built-in `%debug` and `%pdb`.

In: those modules, right after their import; a traceback or a statement. Out: the same modules, patched; what pdb
prints. Invariants: a stack that a cell prints ends at the cell, and skips the runner's frames in between; a debugger
stops only in the user's code and what that calls, goes from one statement of a cell to the next (they are code objects
of their own), and lets go when the cell ends, or is interrupted while it asks a front-end for a command.
Absent on purpose: colours; faulthandler, which walks the stack in C; `import pdb` before somebody debugs.
"""

import sys

from . import stdlib

OWN = __package__ + "/"
SERVER = OWN + "serve.py"  # what lies outside of it is the start
MACHINERY = ("IPython.", "traitlets.", "runpy")  # modules between the runner and what it runs
SUSPENDS = 0x20 | 0x80 | 0x200  # generators and coroutines: `return` events may be suspensions


def is_own(frame):
    return frame.f_code.co_filename.startswith(OWN)


def hide_from(module):
    """Patches one of the modules that `import_hooks` names."""
    if module.__name__ == "traceback":
        hide_from_traceback(module)
    elif module.__name__ == "pdb":
        hide_from_pdb(module)
    else:
        end_with_interrupt(module.Pdb)


def hide_from_traceback(module):
    def without_own(walk):
        def walk_users(start):
            return walk(start) if start is None else shown(walk(start))

        walk_users.__name__, walk_users.__doc__, walk_users.__wrapped__ = walk.__name__, walk.__doc__, walk
        return walk_users

    def shown(entries):
        for entry in entries:
            if entry[0].f_code.co_filename == SERVER:
                return
            if not is_own(entry[0]):
                yield entry
            if is_cell(entry[0]):
                return

    module.walk_stack = without_own(module.walk_stack)

    def shown_of_error(walk):
        def walk_users(tb):
            return (entry for entry in walk(tb) if not is_own(entry[0]))

        walk_users.__name__, walk_users.__doc__, walk_users.__wrapped__ = walk.__name__, walk.__doc__, walk
        return walk_users

    for name in ("walk_tb", "_walk_tb_with_full_positions"):
        if hasattr(module, name):
            setattr(module, name, shown_of_error(getattr(module, name)))


def is_machinery(frame):
    return is_own(frame) or str(frame.f_globals.get("__name__")).startswith(MACHINERY)


def is_cell(frame):
    """True for the frame of a cell's own code, or of one statement of it."""
    engine = getattr(sys.modules[__package__], "engine", None)
    return (
        engine is not None
        and frame.f_globals is engine.ns
        and frame.f_code.co_name[:1] == "<"
        and frame.f_back is not None
        and is_machinery(frame.f_back)
    )


def is_at_end(frame):
    """True if the cell has no lines after this frame's code."""
    import linecache

    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return frame.f_lineno >= len(lines)


def find_user_chain(frame):
    """The frames from `frame` out to the cell's, or to the thread's first."""
    chain, size = [], 0
    while frame is not None and frame.f_code.co_filename != SERVER:
        chain.append(frame)
        if not is_machinery(frame) and not str(frame.f_globals.get("__name__")).startswith("asyncio."):
            size = len(chain)
        frame = frame.f_back
    return chain[:size]


def hide_from_pdb(module):
    debugger = module.Pdb
    set_trace, stop_here, dispatch_call, dispatch_return, user_return, get_stack = (
        getattr(debugger, name)
        for name in ("set_trace", "stop_here", "dispatch_call", "dispatch_return", "user_return", "get_stack")
    )

    def set_trace_to_cell(self, frame=None, *arguments, **options):
        frame = frame or sys._getframe(1)
        while frame.f_back is not None and is_own(frame):
            frame = frame.f_back
        chain = find_user_chain(frame)
        self.within = {id(each) for each in chain if each is frame or not is_machinery(each)}
        set_trace(self, frame, *arguments, **options)
        if chain:
            self.botframe = chain[-1]
            while frame is not None:
                if id(frame) not in self.within:
                    frame.f_trace = None
                frame = frame.f_back

    def stop_in_users(self, frame):
        """False for the runner's functions and what they call."""
        within, bottom, outer = getattr(self, "within", ()), self.botframe, frame
        if frame is not bottom and id(frame) not in within and is_machinery(frame):
            return False
        while outer is not None and outer is not bottom and id(outer) not in within:
            if is_own(outer):
                return False
            outer = outer.f_back
        return stop_here(self, frame)

    def call_of_cell(self, frame, argument):
        """The next statement of a cell takes the place of the one before."""
        bottom = self.botframe
        stepping = self.stopframe is None or (
            self.stopframe is bottom and self.stoplineno != -1 and bottom.f_code.co_flags & SUSPENDS
        )
        if bottom is not None and bottom is not frame and stepping and is_cell(frame):
            self.set_step()
            self.botframe = frame
            self.within = {id(frame)}
            return self.trace_dispatch
        return dispatch_call(self, frame, argument)

    def return_from_cell(self, frame, argument):
        result = dispatch_return(self, frame, argument)
        if not frame.f_code.co_flags & SUSPENDS:
            getattr(self, "within", set()).discard(id(frame))
        if (
            frame is self.botframe
            and not self.quitting
            and not frame.f_code.co_flags & SUSPENDS
            and (is_at_end(frame) or not is_cell(frame))
        ):
            self.set_continue()
        return result

    def stop_at_return(self, frame, value):
        if is_at_end(frame) or not is_cell(frame):
            user_return(self, frame, value)

    def leaving(function):
        def leave(self, argument):
            # since Python 3.14 it would ask whether the process is to be killed, which it is not here
            mode, self.mode = getattr(self, "mode", None), None
            try:
                return function(self, argument)
            finally:
                self.mode = mode

        leave.__name__, leave.__doc__ = function.__name__, function.__doc__
        return leave

    def users_stack(self, frame, tb):
        stack, index = get_stack(self, frame, tb)
        shown = [entry for entry in stack if not is_own(entry[0])]
        if not shown:
            return stack, index
        return shown, max(0, sum(not is_own(entry[0]) for entry in stack[: index + 1]) - 1)

    if sys.version_info >= (3, 14):
        for name in ("do_quit", "do_q", "do_exit", "do_EOF"):
            setattr(debugger, name, leaving(getattr(debugger, name)))
    end_with_interrupt(debugger)
    debugger.set_trace, debugger.stop_here, debugger.get_stack = set_trace_to_cell, stop_in_users, users_stack
    debugger.dispatch_call, debugger.dispatch_return, debugger.user_return = (
        call_of_cell,
        return_from_cell,
        stop_at_return,
    )


def end_with_interrupt(debugger):
    """An interrupt ends a debugger that asks a front-end for its commands: it would ask again, for ever."""
    read_commands = debugger._cmdloop

    def read_until_interrupt(self):
        if sys.modules[__package__].host.stdin == "terminal":
            return read_commands(self)
        try:
            self.allow_kbdint = True
            self.cmdloop()
        except KeyboardInterrupt:
            self.message("--KeyboardInterrupt--")
            self.set_continue()
            sys.settrace(None)
            raise
        finally:
            self.allow_kbdint = False

    debugger._cmdloop = read_until_interrupt


def new_debugger():
    from pdb import Pdb

    debugger = Pdb(nosigint=True, readrc=False)
    debugger.prompt = "ipdb> "
    debugger.use_rawinput = True
    return debugger


def post_mortem(traceback):
    debugger = new_debugger()
    debugger.reset()
    debugger.interaction(None, traceback)
    sys.stdout.flush()


def run(statement, ns):
    new_debugger().run(statement, ns)


def is_quit(error):
    """True for what a debugger raises where the user leaves it: no failure of the code."""
    bdb = stdlib.get_loaded("bdb")
    return bdb is not None and isinstance(error, bdb.BdbQuit)


def end_stepping():
    """A debugger that still steps when the cell has ended would step through the runner; one that waits for its
    breakpoints stays."""
    debugger = getattr(sys.gettrace(), "__self__", None)
    if hasattr(debugger, "stopframe") and not debugger.breaks:
        sys.settrace(None)
