"""Tells whether a cell is complete. In: cell text. Out: status and the indent of the next line. Line syntax counts as
complete lines. Absent on purpose: running code.
"""

from . import syntax


class NoMagics:
    def is_magic(self, name):
        return False


def check(code):
    import codeop
    import warnings

    if not code.strip():
        return "complete", ""
    code = syntax.strip_prompts(code)
    if code.lstrip().startswith("%%"):
        return ("complete" if code.endswith("\n") or "\n" not in code else "incomplete"), ""
    text = syntax.transform(code, NoMagics()) or code
    last = code.rstrip("\n").rpartition("\n")[2]
    indent = last[: len(last) - len(last.lstrip())]
    if code.endswith("\\"):
        return "incomplete", indent
    compiler = codeop.Compile()
    compiler.flags |= 0x2000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = codeop._maybe_compile(compiler, text, "<input>", "exec")
        except (SyntaxError, ValueError, OverflowError):
            return "invalid", ""
    opens = last.split("#")[0].rstrip().endswith(":")
    if result is None:
        return "incomplete", indent + "    " if opens else indent
    if "\n" in code.rstrip("\n") and indent and not code.endswith("\n"):
        return "incomplete", indent
    return ("incomplete", indent + "    ") if opens and not code.endswith("\n") else ("complete", "")
