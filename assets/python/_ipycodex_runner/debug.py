"""The debugger of `%debug` and `%pdb`: Python's own, on the cell's terminal or through the host's input.

In: a traceback or a statement. Out: what pdb prints. Invariant: the runner's frames are not entered (`frames` sees to that).
Absent on purpose: colours.
"""

import pdb
import sys


class Debugger(pdb.Pdb):
    def __init__(self):
        super().__init__(nosigint=True, readrc=False)
        self.prompt = "ipdb> "
        self.use_rawinput = True


def post_mortem(traceback):
    debugger = Debugger()
    debugger.reset()
    debugger.interaction(None, traceback)
    sys.stdout.flush()


def run(statement, ns):
    Debugger().run(statement, ns)
