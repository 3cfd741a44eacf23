"""The code of a cell that is one expression, made without `compile`.

In: the text. Out: the code that `compile` makes in its mode `eval`, or None where that has to do it: an error, a
warning, a tracer. `compile` prepares the types of all syntax trees when it is first called, which is a quarter of the
work of Python's own start; `eval` of a text does not. So the text is evaluated under a trace function, which takes the
code and ends the evaluation before the first instruction. Invariants: nothing of the text runs here; what signal
handlers raise meanwhile arrives. Absent on purpose: statements, whose last value only a tree tells apart.
"""

import sys


class CodeTaken(BaseException):
    """Ends the evaluation."""


class WarningDetector:
    """Stands in for `sys.stderr`, where Python would warn about a text under another name than the cell's."""

    warned = False

    def write(self, text):
        self.warned = True

    def flush(self):
        pass


def read_code(text, filename):
    if text[:1] in " \t" or sys.gettrace() is not None or sys.implementation.name != "cpython":
        return None
    scope, taken, detector, stderr = {"__builtins__": {}}, [], WarningDetector(), sys.stderr

    def take(frame, event, argument):
        if frame.f_globals is scope:
            taken.append(frame.f_code)
        elif frame.f_globals.get("__name__") == "warnings":
            detector.warned = True
        else:
            return  # a signal handler
        raise CodeTaken

    sys.stderr = detector
    try:
        sys.settrace(take)
        eval(text, scope)
    except (CodeTaken, SyntaxError, ValueError, MemoryError):
        pass
    finally:
        sys.settrace(None)
        sys.stderr = stderr
    return rename(taken[0], filename) if taken and not detector.warned else None


def rename(code, filename):
    """The code and all in it, as that of a file."""
    constants = (rename(value, filename) if type(value) is type(code) else value for value in code.co_consts)
    return code.replace(co_filename=filename, co_consts=tuple(constants))
