"""The built-in engine beside IPython's own shell: the same cells, and what a user sees of them."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine, Host  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")

SHELL = """
import json, sys
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from traitlets.config import Config

config = Config()
config.TerminalInteractiveShell.simple_prompt = True
config.InteractiveShell.colors = "nocolor"
config.HistoryManager.enabled = False
shell = TerminalInteractiveShell.instance(config=config)
shell.show_usage = lambda: print("(the overview)")
shell.extension_manager.load_extension("IPython.extensions.storemagic")
for cell in json.load(sys.stdin):
    print("\\1", end="")
    sys.stdout.flush()
    shell.run_cell(cell, store_history=True)
    if shell.rl_next_input:
        print("next input:", shell.rl_next_input)
        shell.rl_next_input = None
    sys.stdout.flush()
"""

CELLS = r"""
f = lambda *a: a
/f
x = 5
/f x 3
/f (1,2),(3,4)
,f x y
,f
;f x  y
;f
  /f x
if x:\n    ,f a b
/
,
;
%
%%
%undefined
%undefined-x
%undefined x y
%undefined(x)
a = %undefined-y
%%undefined
%%undefined-x\nbody
%time?x
!!echo a
b = !echo c
b
nosuch?
?nosuch
f.nosuch?
nosuch.*?
str.*find*?
(_, __, ___)
(_i, _ii, _iii, _i3, In[1], _oh is Out, _ih is In)
1
2
3
(_, __, ___, _35)
%who
%who int
%who nosuch
%who_ls
c, d, e, s, t = 1, 'x' * 80, [1, 2], {1: 2}, (1,)
import sys, math
%whos
%whos list dict
%cd /
%cd -q /usr
%cd -
%cd -0
%cd /tmp
%cd -1
%dhist
%env NOSUCH_VARIABLE
%env AA=1
%env AA
%env BB 2
%set_env CC=3
%env CC={c}
%xdel c
c
%hist 1-3
%hist -n 1-3 5
%hist 2:4
%hist -n 11
%hist -p 11 12
%hist -o 4 35
%hist -n -o 36
%hist -t 1 2
%hist 8 -g *f*
%hist -z
%recall 3
%recall 1-3
%recall x+2
%rep 4
%recall
%reset -f out
_35
%reset_selective -f ^[de]$
%who
%reset -s -f
%who
_i3
def g(x, *a, k=1, **kw):\n    y = 1\n    # so\n\n    return 1 / x\n\nprint(1)
g(0)
class A:\n    def m(self, v):\n        return v.nope\n    @staticmethod\n    def s(): return A().m(1)
A.s()
(lambda q: 1 / q)(0)
[i for i in map(g, [0])]
sum(1 / z for z in [0])
def r(n): raise KeyError(n)
try: r(1)\nexcept KeyError as error: raise ValueError("x") from error
def outer():\n    def inner(a, b):\n        return (a + b + nope)\n    return inner(1, 2)
outer()
async def co(u):\n    return 1 / u
await co(0)
assert False, "why"
%cd -0
%%writefile script.py\nimport sys, os\nVALUE = 42\nprint(__name__, sys.argv, __file__[-9:])\ndef fun(): return VALUE
%%writefile -a script.py\nif 'other' in sys.argv: print(other)\nif 'leaves' in sys.argv: sys.exit(0)
%run script.py
VALUE, fun(), __name__
%run script "a b" s*.py
%run -n script.py
%run -e script.py leaves
%run script.py leaves
other = 7
%run -i script.py other
%load -s fun script.py
%load -r 1-2,4 script.py
%load -r 2:4 script.py
%%capture kept\nprint('p'); display(5); 1 + 1
kept.stdout, kept.stderr, len(kept.outputs)
%%capture --no-stderr kept\nimport sys; print('e', file=sys.stderr)
kept.stdout, kept.stderr
%%capture --bad kept\n1
!cat script.py; exit 3
_exit_code
%%bash --out o --err e\necho hi; echo err >&2
o, e
%%sh\necho sh
!echo {other} $other $$other
found = !echo a; echo b
found, found.s, found.n, found.l
%sx echo a
%alias say echo %s said
say 1
%pdb on
%pdb off
%xmode Verbose
%xmode Minimal
g(0)
%xmode Context
first, second = 1, 'two'
%macro
%macro again 1 36
%macro -q twice 35 36
%macro many
second = 'other'
many = 3
many
%store
%store first second
%store nosuch
%store -d nosuch
%store
first, second = 5, 6
%store -r second nosuch
first, second
%store -r
first
%store second >kept.txt
%store first >>kept.txt
!cat kept.txt
%store -d first
%store
%store -z
%store
lines = str(again).splitlines()
again
twice
"""

SYNTAX = r"""
yield 1
break
continue
return 1
nonlocal x
x = 1\nyield x
x = 1\nglobal x
if 1:\n    break
print('before')\n7\nbreak
x = (yield)
class A:\n    return 1
def g():\n    x = 1\n    global x
def g(a, a): pass
from __future__ import nope
print 1
x = 1\n  y = 2
>>> x = 1\n    >>> x
  >>> x = 2\n>>> x
    >>> for i in range(2):\n    ...     print(i)\n    ...\n    >>> x
    >>> x\n    1\n    >>> x + 1\n    2
>>>x
# so\n>>> 3
x\n>>> x + 1
x\nIn [2]: x + 1
   ...: x = 3\n   ...: x
In [1]: x = 4\n   ...: y = 5\n   ...: \nIn [2]: x
    In [1]: x\n    Out[1]: 3\n\n    In [2]: x + 1
[ins] In [1]: x
... x
   ... x
def g():\n    '''\n    >>> 1\n    '''\n    return 8\ng()
>>> s = '''\n... >>> a\n... '''\n>>> s
>>> print('a')\na1\n>>> print('b')
del x, y, s, i, g
"""


MODES = r"""
def f(x):\n    y = 1\n    return x / 0
def h():\n    __tracebackhide__ = True\n    f(1)
def m():\n    h()
%xmode Doctest
m()
try:\n    f(1)\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e
try:\n    f(1)\nexcept ZeroDivisionError as e:\n    raise KeyError('two\nlines')
raise ValueError
1 +
%nope
%xmode docs
m()
raise KeyError(1)
%xmode
f(1)
%xmode
m()
try:\n    f(1)\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e
import json; json.loads('{')
%xmode
m()
%xmode --show
m()
%xmode --hide
%xmode
%xmode
%xmode Context
"""

RUNS = r"""
%%writefile say.py\nimport sys\nprint(sys.argv[1:])
!touch a1.txt 'a 2.txt'
%run say.py "a*.txt" 'a?.txt' "a 2.txt" a1* 'x y' no*such
%run say.py "~" ~ a\ 2* \[s-z]*
%run -G say.py a* "a*"
%prun -q 1
%prun -q -D numbers.prof sum(range(3))
%prun -q -T text.txt -D other.prof sum(range(3))
%%prun -q -D cell.prof\nx = 1\nx
!head -1 text.txt; ls
import pstats; pstats.Stats('numbers.prof').total_calls, pstats.Stats('cell.prof').total_calls
s = %prun -q -r sum(range(3))
type(s).__name__, s.total_calls
%prun -q raise SystemExit
%lsmagic -x
j = %lsmagic --json
sorted(j), type(j['line']['time']).__name__, 'bash' in j['cell'], 'nope' in j['line']
"""

TABLES = r"""
import numpy as np, pandas as pd
a = np.zeros((2, 3)); b = np.zeros((200, 300)); c = np.zeros((2000, 300)); d = np.float64(1); e = np.arange(3)
f = pd.DataFrame({'a': [1, 2]}); g = f.a; h = np.ndarray; i = np.array(5)
class Odd:\n    shape = 3\n    dtype = 1\n    def __len__(self): raise ValueError\n    def __str__(self): return 'odd'
class Worse:\n    @property\n    def shape(self): raise RuntimeError\n    def __str__(self): return 'worse'
class Short(list):\n    def __len__(self): raise ValueError
odd, worse, short = Odd(), Worse(), Short()
%whos
%reset -f array
%who
"""


def cells(text):
    return [line.replace("\\n", "\n") for line in text.strip("\n").split("\n")]


def as_seen(cell):
    """What a cell of ours shows, as IPython prints it."""
    seen = cell.output
    for frame in cell.frames:
        kind = frame["type"]
        if kind == "result":
            text = frame["bundle"]["text/plain"]
            seen += "Out[%s]: %s%s\n" % (frame["executionCount"], "\n" if "\n" in text else "", text)
        elif kind == "error":
            seen += "\n".join(frame["traceback"]) + "\n"
        elif kind == "next_input":
            seen += "next input: %s\n" % frame["text"]
        elif kind == "page":
            seen += (
                "(the overview)\n"
                if "built-in engine" in frame["bundle"]["text/plain"]
                else frame["bundle"]["text/plain"]
            )
    return seen


def plain(text):
    """Without what differs from one run to the next, and blanks at the ends of lines."""
    text = re.sub(r"0x[0-9a-f]+|\d+ entries", "…", text.strip()).replace("Lines ", "SList ")
    return [line.rstrip() for line in text.split("\n")]


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class AsIPython(Engine, unittest.TestCase):
    maxDiff = None

    def compare(self, text, host):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = (os.path.join(folder, name) for name in ("ours", "theirs"))
            os.mkdir(ours), os.mkdir(theirs)
            environment = dict(os.environ, IPYTHONDIR=os.path.join(folder, "ipython"), PYTHONWARNINGS="ignore")
            ran = subprocess.run(
                [IPYTHON, "-c", SHELL],
                input=json.dumps(cells(text)),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
                env=environment,
                cwd=theirs,
            )
            host.run("%%cd -q %s" % ours, storeHistory=False)
            own = os.path.join(folder, "ours-ipython")
            host.run("import os; os.environ['IPYTHONDIR'] = %r; del os" % own, storeHistory=False)
            host.run("import os; del _dh[:]; _dh.append(os.getcwd()); del os", storeHistory=False)
            shown = ran.stdout.replace(theirs, ours).split("\1")[1:]
            self.assertEqual(len(shown), len(cells(text)), ran.stdout[-2000:])
            for cell, seen in zip(cells(text), shown):
                with self.subTest(cell):
                    self.assertEqual(plain(as_seen(host.run(cell))), plain(seen))

    def test_the_same_cells_show_the_same(self):
        self.compare(CELLS, self.host())

    def test_what_is_no_code_yet(self):
        self.compare(SYNTAX, self.host())

    def test_how_errors_look(self):
        self.compare(MODES, self.host())

    def test_what_is_run_and_measured(self):
        self.compare(RUNS, self.host())

    def test_tables_and_arrays(self):
        have = [IPYTHON, "-c", "import numpy, pandas"]
        if IPYTHON and subprocess.run(have, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no numpy and pandas there")
        host = Host(ipython=IPYTHON, options=["--no-ipython"])
        self.addCleanup(host.close)
        self.compare(TABLES, host)


if __name__ == "__main__":
    unittest.main()
