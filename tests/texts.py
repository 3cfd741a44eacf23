"""The texts that people read: the string literals of `src` and of the Python runner that hold words.

    python3 tests/texts.py          prints each text of the working tree: `FILE: TEXT`
    python3 tests/texts.py main     prints those that were added (+) and removed (-) since the commit `main`

For the review of a change: read each text as a stranger would. Files of tests, SQL and panic messages are left out.
"""

import ast
import re
import subprocess
import sys

LITERAL = re.compile(
    r"""//[^\n]*|\br(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)|"(?P<text>(?:\\.|[^"\\])*)"|'(?:\\.[^']*|[^'\\])'""", re.S
)
HELP = re.compile(r"^\s*/// (.*)$", re.M)
WORDS = re.compile(r"(?<!\S)[a-z,]{2,} \S")
SQL = ("SELECT ", "FROM ", "WHERE ", "CREATE ", "JOIN ", "INTEGER", "ORDER BY")


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE).stdout.decode()


def of_rust(name, code):
    code = code.split("#[cfg(test)]\nmod tests {")[0]
    if name.endswith("args.rs"):
        yield from HELP.findall(code)
    for found in LITERAL.finditer(code):
        text = found["text"] if found["text"] is not None else found["raw"]
        panics = code[: found.start()].rstrip().endswith("expect(")
        if text and not panics and WORDS.search(text) and not any(word in text for word in SQL):
            yield re.sub(r"\\\n\s*", "", text).replace("\n", "\\n")


def of_python(code):
    tree = ast.parse(code)
    blocks = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, blocks) and ast.get_docstring(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            if re.search(r"[a-z]{2,} [a-z`{%]", node.value):
                yield repr(node.value)[1:-1]


def texts(commit):
    listed = git("ls-tree", "-r", "--name-only", commit) if commit else git("ls-files")
    for name in listed.splitlines():
        ours = name.startswith("src/") and name.endswith(".rs") and "/tests" not in name
        if ours or name.startswith("assets/python/") and name.endswith(".py"):
            code = git("show", "%s:%s" % (commit, name)) if commit else open(name, encoding="utf-8").read()
            for text in of_rust(name, code) if ours else of_python(code):
                yield "%s: %s" % (name, text)


revision = sys.argv[1] if len(sys.argv) > 1 else None
try:
    before = set(texts(git("rev-parse", "--verify", "--quiet", revision + "^{commit}").strip())) if revision else None
except subprocess.CalledProcessError:
    print("texts.py: no commit of this repository is called %r" % revision, file=sys.stderr)
    sys.exit(2)
now = set(texts(None))
for text in sorted(now) if before is None else sorted(now ^ before, key=lambda it: it.split(": ", 1)):
    print(text if before is None else "%s %s" % ("+" if text in now else "-", text))
