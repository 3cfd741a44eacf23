"""Prints the texts of the Python files below a folder that hold words: `FILE: TEXT` each."""

import ast
import os
import re
import sys

for folder, _, files in sorted(os.walk(sys.argv[1])):
    for name in sorted(files):
        if not name.endswith(".py"):
            continue
        tree = ast.parse(open(os.path.join(folder, name), encoding="utf-8").read())
        docs = set()
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                first = node.body[0] if node.body else None
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    docs.add(id(first.value))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                if re.search(r"[a-z]{2,} [a-z`{%]", node.value):
                    print("assets/python/%s: %s" % (name, repr(node.value)[1:-1]))
