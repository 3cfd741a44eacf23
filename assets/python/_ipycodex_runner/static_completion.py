"""Static completion, for a second Tab: the names that the unfinished code itself binds, and jedi's completions where
jedi can be imported.

In: the completions found by `complete`. Out: the same and more. Invariants: the caller waits at most `PATIENCE`; jedi
works on a thread of its own, and a late result is used by the next request for the same place; jedi is told to run no
code. Its first completion takes seconds, so a first Tab starts a small one in the background. Absent on purpose: jedi
before the first Tab.
"""

import ast
import re
import sys

from . import stdlib

PATIENCE = 0.15
DELAY = 0.3  # seconds between a first Tab and the work it gives jedi
LIMIT = 500
SIGNATURES = 40  # of jedi's finds get a signature
WORD = re.compile(r"([^\W\d]\w*)?$")


def complete(ns, code, position, found):
    """`found` and what a longer look adds; types and signatures are filled in."""
    known = {item["text"]: item for item in found}
    for item in complete_names(code, position) + complete_with_jedi(ns, code, position):
        shown = known.get(item["text"])
        if shown is None:
            if len(known) < LIMIT:
                known[item["text"]] = item
        else:
            for name in ("kind", "signature", "type"):
                shown[name] = shown[name] or item[name]
    return list(known.values())


def complete_names(code, position):
    """Names the code binds anywhere, for a bare word."""
    before = code[:position]
    prefix = WORD.search(before).group()
    start = position - len(prefix)
    if before[:start].rstrip(" \t").endswith(".") or not prefix:
        return []
    names = sorted(
        name for name in find_bound_names(code[:start] + code[position:]) if name.startswith(prefix) and name != prefix
    )
    return [
        {"start": start, "end": position, "text": name, "kind": kind, "signature": "", "type": ""}
        for name, kind in ((name, "statement") for name in names)
    ]


def find_bound_names(code, top=False):
    """The names a piece of code binds; unfinished code is read line by line."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return find_bound_by_lines(code)
    names = set()
    for node in tree.body if top else ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        for target in (
            ast.walk(node) if top and isinstance(node, (ast.Assign, ast.AnnAssign, ast.Try, ast.If)) else [node]
        ):
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                names.add(target.id)
            elif top and isinstance(target, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(target.name)
    names.discard("*")
    return names


def find_bound_by_lines(code):
    names = set()
    for line in code.split("\n"):
        match = re.match(r"\s*(?:async\s+)?(?:def|class)\s+([^\W\d]\w*)\s*(?:\(([^)]*))?", line)
        if match:
            names.add(match.group(1))
            if not line.lstrip().startswith("class"):
                names.update(re.findall(r"(?:^|,)\s*\*{0,2}([^\W\d]\w*)", match.group(2) or ""))
            continue
        match = re.match(r"\s*(?:async\s+)?for\s+(.+?)\s+in\b", line)
        if match:
            names.update(re.findall(r"[^\W\d]\w*", match.group(1)))
        names.update(re.findall(r"\bas\s+([^\W\d]\w*)", line))
        match = re.match(r"\s*(?:from\s+\S+\s+)?import\s+(.+)", line)
        if match:
            names.update(re.findall(r"(?:^|,)\s*([^\W\d]\w*)", match.group(1)))
        match = re.match(r"\s*([^\W\d][\w, ]*?)\s*(?::[^=]+)?=[^=]", line)
        if match:
            names.update(re.findall(r"[^\W\d]\w*", match.group(1)))
        names.update(re.findall(r"([^\W\d]\w*)\s*:=", line))
    return names


def run_no_code_to_unwrap():
    """`inspect.unwrap`, by which jedi looks for the source of a value, asks the value's own `__getattr__`."""
    import inspect
    from types import SimpleNamespace

    from jedi.inference.compiled import mixed

    def unwrap(value):
        for _ in range(100):
            try:
                value = inspect.getattr_static(value, "__wrapped__")
            except AttributeError:
                break
        return value

    if getattr(mixed, "inspect", None) is inspect:
        mixed.inspect = SimpleNamespace(**dict(vars(inspect), unwrap=unwrap))


class JediRequest:
    """jedi's look at one place, on a thread of its own."""

    latest = None

    def __init__(self, ns, code, position, place=None):
        import threading

        self.place = place
        self.found = []
        self.ns, self.code, self.position = dict(ns), code, position
        self.thread = threading.Thread(target=self.run, name="jedi", daemon=True)
        self.thread.start()

    def run(self):
        if self.place is None:
            import time

            time.sleep(DELAY)
        try:
            self.found = self.complete()
        except Exception:
            pass  # jedi gives up on some code; nothing more is found then
        self.ns = None

    def complete(self):
        import jedi

        run_no_code_to_unwrap()
        interpreter = jedi.Interpreter(self.code, [self.ns])
        state = interpreter._inference_state
        state.allow_unsafe_executions = state.allow_descriptor_getattr = False
        before = self.code[: self.position]
        line = before.count("\n") + 1
        column = self.position - (before.rfind("\n") + 1)
        found = []
        for each in interpreter.complete(line, column):
            if each.name.startswith("_") and not WORD.search(before).group().startswith("_"):
                continue
            typed = len(each.name_with_symbols) - len(each.complete or "")
            kind = "instance" if each.type == "statement" else each.type
            signature = ""
            if kind in ("function", "class") and len(found) < SIGNATURES:
                signatures = each.get_signatures()
                text = signatures[0].to_string() if signatures else ""
                signature = text[text.find("(") :] if "(" in text else ""
            text = each.name_with_symbols
            found.append(
                {
                    "start": self.position - typed,
                    "end": self.position,
                    "text": text,
                    "kind": kind,
                    "signature": signature,
                    "type": "",
                }
            )
            if len(found) == LIMIT:
                break
        return found


def complete_with_jedi(ns, code, position):
    if not has_jedi() or code.lstrip()[:1] in ("%", "!"):
        return []
    work = JediRequest.latest
    if work is None or work.place != (code, position):
        if work is not None and work.place is not None and work.thread.is_alive():
            return []  # it is still busy with another place; one at a time
        work = JediRequest.latest = JediRequest(ns, code, position, (code, position))
    work.thread.join(PATIENCE)
    return [] if work.thread.is_alive() else work.found


def warm_up():
    """Starts one small jedi completion in the background, since the first one is slow; not where cells would find
    modules of the library instead of their own files meanwhile."""
    if JediRequest.latest is None and not stdlib.shadowed and has_jedi():
        JediRequest.latest = JediRequest({}, "''.", 3)


def has_jedi():
    if "jedi" in sys.modules:
        return True
    try:
        from importlib.util import find_spec

        return find_spec("jedi") is not None
    except Exception:
        return False
