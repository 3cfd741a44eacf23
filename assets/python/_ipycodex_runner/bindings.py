"""Names that cells of an earlier interpreter bound at their top level and that this interpreter lacks.

In: sources of cells in the order they ran, and the namespace. Out: names in the order they were first bound.
Invariants: no code runs; a source that cannot be parsed contributes nothing; the answer comes within `TIME_LIMIT`
(sources not reached by then contribute nothing either).
Absent on purpose: names bound by `import *`, `exec`, `%run` or `global` in a function, which the source does not show.
"""

import ast
import re
from time import monotonic

from . import syntax

TIME_LIMIT = 2  # seconds
OF_THE_SHELL = re.compile(r"_*|_i+|_i?\d+|In|Out|__\w+__")
WITH_A_BODY = ("time", "prun", "capture")  # magics whose text runs in the namespace


def find_missing(sources, ns):
    bound = BindingCollector()
    limit = monotonic() + TIME_LIMIT
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in sources:
            if monotonic() > limit:
                break
            bound.collect(source)
    return [name for name in bound.names if name not in ns and not OF_THE_SHELL.fullmatch(name)]


class MagicNames:
    """The interface that `syntax.transform` needs to recognise magics without `%`."""

    def is_magic(self, name):
        from .cells import AUTOMAGIC

        return name in AUTOMAGIC


class BindingCollector(ast.NodeVisitor):
    def __init__(self):
        self.names = {}  # in order

    def collect(self, source):
        before = dict(self.names)
        try:
            self.visit(parse_source(source))
        except Exception:  # no Python, or too deep
            self.names = before

    def add(self, name):
        self.names.setdefault(name)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self.add(node.id)
        elif isinstance(node.ctx, ast.Del):
            self.names.pop(node.id, None)

    def visit_FunctionDef(self, node):
        self.add(node.name)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node):
        pass

    def visit_comprehension(self, node):
        self.visit(node.iter)
        for condition in node.ifs:
            self.visit(condition)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_Import(self, node):
        for alias in node.names:
            self.add(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node):
        if node.module != "__future__":
            for alias in node.names:
                if alias.name != "*":
                    self.add(alias.asname or alias.name)

    def visit_ExceptHandler(self, node):
        for statement in node.body:  # its own name is gone at the end of it
            self.visit(statement)

    def visit_MatchAs(self, node):
        if getattr(node, "name", None):
            self.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        self.generic_visit(node)
        if node.rest:
            self.add(node.rest)

    def visit_Call(self, node):
        self.generic_visit(node)
        texts = [
            argument.value
            for argument in node.args
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ]
        kind = getattr(node.func, "attr", "")
        if kind in ("run_cell_magic", "run_line_magic") and texts and texts[0] in WITH_A_BODY:
            if texts[0] == "capture":
                for word in texts[1].split():
                    if word.isidentifier():
                        self.add(word)
            elif kind == "run_line_magic":
                self.collect(texts[-1])
            if kind == "run_cell_magic":
                self.collect(texts[-1])


def parse_source(source):
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        text = syntax.transform(source, MagicNames())
        if text is None:
            raise
        return ast.parse(text)
