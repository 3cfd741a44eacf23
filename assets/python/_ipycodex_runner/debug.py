"""The debugger of `%debug` and `%pdb`: Python's own, on the cell's terminal or through the host's input.

In: a traceback or a statement. Out: what pdb prints. Invariant: the runner's frames are not entered. Absent on purpose: colours.
"""

import pdb
import sys

from . import tracebacks


class Debugger(pdb.Pdb):
    def __init__(self):
        super().__init__(nosigint=True, readrc=False)
        self.prompt = "ipdb> "
        self.use_rawinput = True


def post_mortem(traceback):
    first = traceback
    while first is not None and tracebacks.own(first.tb_frame):
        first = first.tb_next
    debugger = Debugger()
    debugger.reset()
    debugger.interaction(None, first or traceback)
    sys.stdout.flush()


def run(statement, ns):
    Debugger().run(statement, ns)
