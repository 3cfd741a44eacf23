"""Names that a branch takes back to the prompt: what goes, what does not and why; limits on a value's own code, in both
engines."""

import os
import stat
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402
from merge_forks import Case  # noqa: E402
from merge_shapes import SHAPES  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class Shapes(Case):
    def test_functions_and_classes_go_by_value(self):
        self.assert_carried(
            "data = [1]", SHAPES + "measure = lambda x: len(data) + x", "data.append(2); import pickle",
            "child.f() == 2 and child.x == 5 and child.own() is Child and child.other() is Child",
            "type(child.inner) is Child.Inner and isinstance(child, Base) and Base.kept == [Child]",
            "child.method() == 2 and child.method.__self__ is child",
            "repr(point) == 'Point(x=1, y=[])' and point == Point(1) and dataclasses.replace(point, x=3).x == 3",
            "dataclasses.fields(Point)[0].default is dataclasses.MISSING and hash(Frozen()) == hash(Frozen(3))",
            "red is Color.RED and red.low() == 'red' and list(Color) == [Color.RED, Color.BLUE] and Color(1) is red",
            "Color.CRIMSON is red and red < Color.BLUE and Planet.EARTH.weight == 12 and Access.READ in access",
            "access == Access(3) and Pair(1) == (1, 4) and Pair(1)._replace(p=3).p == 3",
            "typed.total() == 5 and repr(typed) == 'Typed(p=1, q=4)' and Typed(2).q == 4",
            "add() == 2 and get() == 2",
            "factorial(5) == 120 and even(10) and inner(5) == 120 and [f() for f in squares.values()] == [0, 1, 4]",
            "Concrete().m() == 'm' and isinstance(Concrete(), Abstract) and Abstract.__abstractmethods__ == {'m'}",
            "slots.get() == 3 and not hasattr(slots, '__dict__')",
            "Lazy().z == 9 and Generic[int]().get() == 3 and type(Made) is Meta and Meta.made == 1",
            "full(1) == 6 and full.tag == 1 and full.__doc__ == 'text' and full.__annotations__ == {'return': int}",
            "measure(1) == 3",
            "all(f.__globals__ is globals() for f in (full, even, inner, Child.f))",
        )  # fmt: skip

    def test_what_neither_side_has_touched_stays_the_prompts_own(self):
        base = (
            SHAPES
            + "data = [[1], {'k': [2]}]\npoint.y = data\nopened = open('/dev/null')\n"
            + "steps = (x for x in data)\nold = [7]"
        )
        branch = """
view = {"d": data, "first": data[0], "deep": data[1]["k"], "y": point.y, "file": opened, "steps": steps, "g": globals()}
other, same, kind, use = Child.__new__(Child), add, Child.Inner, [old]
class Next(Child, need=2): pass
del Base
"""
        self.assert_carried(
            base, branch, "mine = data; new = old; del old",
            "view['d'] is data and view['first'] is data[0] and view['deep'] is data[1]['k'] and view['y'] is point.y",
            "view['file'] is opened and view['steps'] is steps and view['g'] is globals()",
            "type(other) is Child and same is add and kind is Child.Inner and Next.__bases__ == (Child,)",
            "use[0] is new and 'Base' not in globals()",
        )  # fmt: skip

    def test_a_class_that_changed_goes_with_what_is_made_of_it(self):
        merged = self.assert_carried(
            "class A:\n def f(self): return 1\na, b = A(), A()\nheld = [a]\nother = 1",
            "A.f = lambda self: 2", "other = 2",
            "a.f() == b.f() == 2 and type(a) is type(b) is A and held[0] is a",
        )  # fmt: skip
        self.assertEqual(merged.of("carried"), ["A", "a", "b", "held"])

    def test_what_is_equal_counts_as_unchanged(self):
        base = (
            SHAPES
            + "import os\ns = {9, 1, 'x', (2, 3)}\nf = lambda: [n for n in (1, 2.0)]\nd = {'f': f, 's': s, 'p': point}"
        )
        again = "\n\n# elsewhere\ndef full(a, b=2, *, c=3) -> int:\n    'text'\n\n    return a + b + c\nfull.tag = 1\n"
        again += "f()\nrepr(d)\npoint == Point(1)\nfactorial(9)\nlist(Color)\n"
        again += "import pickle, copy\ncopy.deepcopy([child, d, typed])\n"
        merged = self.merged(base, again + "del pickle, copy", "add(); s.add(5); s.discard(5)\ns.add(4)")
        self.assertEqual(merged.rows, {})
        self.assertNotIn("add", merged.shared)
        merged = self.merged("s = {1, 9}", "s = {n for n in (9, 17, 1)}", "s = {n for n in (1, 17, 9)}")
        self.assertEqual(merged.rows, {})  # both the same, in another order

    def test_code_that_differs_is_a_change(self):
        base = "def f(a=1): return a\ndef g(): return 1\ndef h(): return [x for x in (1, 2)]\n"
        base += "k = lambda: 1\nclass C:\n x = 1"
        for branch, changed in (
            ("def f(a=2): return a", ["f"]), ("def g(): return 1.0", ["g"]), ("def g(): return True", ["g"]),
            ("def h(): return [x for x in (1, 3)]", ["h"]), ("k.tag = 1", ["k"]), ("C.x = 2", ["C"]),
            ("class C:\n y = 1", ["C"]), ("class C(dict):\n x = 1", ["C"]), ("f.__defaults__ = (3,)", ["f"]),
        ):  # fmt: skip
            self.assertEqual(self.merged(base, branch).of("carried"), changed, branch)

    def test_a_name_that_was_bound_to_an_equal_object_is_no_longer_an_alias(self):
        self.assert_carried(
            "a = [1]\nb = a\nc = {'a': a}", "b = [1]\nc['a'] = [1]", "", "b is not a and c['a'] is not a"
        )


class Outcomes(Case):
    def test_each_name_has_its_outcome(self):
        base = "a = [1]; b = a; c = {'k': 1}; gone = 1; both = 1; mine = 1; theirs = 1; equal = 1; kept = 1; cut = 1"
        branch = "a.append(2); del gone, cut; both = 2; theirs = 2; equal = 2; new = 1; apart = 1; c['k'] = 2"
        prompt = "both = 3; mine = 2; equal = 2; apart = 2; cut = 5; c['k'] = 3; own = 1"
        merged = self.merged(base, branch, prompt)
        self.assertEqual(merged.of("carried"), ["a", "b", "gone", "new", "theirs"])
        self.assertEqual(merged.of("conflict"), ["apart", "both", "c", "cut"])
        row = {"name": "c", "outcome": "conflict", "branch": "changed", "prompt": "changed"}
        self.assertEqual(merged.rows["c"], dict(row, was="dict of 1", now="dict of 1", mine="dict of 1"))
        row = {
            "name": "cut",
            "outcome": "conflict",
            "branch": "deleted",
            "prompt": "changed",
            "was": "1",
            "mine": "5",
        }
        self.assertEqual(merged.rows["cut"], row)
        row = {"name": "gone", "outcome": "carried", "branch": "deleted", "prompt": None, "was": "1", "mine": "1"}
        self.assertEqual(merged.rows["gone"], row)
        row = {"name": "a", "outcome": "carried", "branch": "changed", "prompt": None}
        self.assertEqual(merged.rows["a"], dict(row, was="list of 1", now="list of 2", mine="list of 1"))
        self.assertEqual(list(merged.shared), ["kept"])
        merged.carry(merged.of("carried") + ["c", "apart"], {"c": "c_12"})
        state = "(a is b, a, c, c_12, apart, both, mine, theirs, own, 'gone' in globals(), cut)"
        self.assertEqual(
            merged.prompt.ask("value", state), "(True, [1, 2], {'k': 3}, {'k': 2}, 1, 3, 2, 2, 1, False, 5)"
        )

    def test_a_class_defined_on_both_sides_goes_under_two_names(self):
        text = "class A:\n def f(self): return %d\n%s = A()"
        merged = self.merged("", text % (1, "a"), text % (2, "b"))
        self.assertEqual((merged.of("carried"), merged.of("conflict")), (["a"], ["A"]))
        merged.carry(["A", "a"], {"A": "A_12"})
        checks = "(a.f(), b.f(), A().f(), A_12().f(), type(a) is A_12, type(b) is A)"
        self.assertEqual(merged.prompt.ask("value", checks), "(1, 2, 2, 1, True, True)")

    def test_what_belongs_to_the_branch_is_refused_with_its_reason(self):
        branch = """
import threading, socket, os, sys, subprocess, sqlite3, types
class Raises:
    def __reduce__(self): raise ValueError("not me\\nsecond line")
class Ends:
    def __reduce__(self): raise SystemExit
class Lies:
    def __reduce__(self): return "nothing"
class Strange:
    def __getstate__(self): return {"a": opened}
opened, step, lock, pair = open(os.devnull), (n for n in [1]), threading.Lock(), socket.socketpair()
thread, program, base = threading.Thread(), subprocess.Popen(["true"]), sqlite3.connect(":memory:")
program.wait()
async def run(): pass
task = run()
task.close()
inside, raises, ends, lies, strange = {"k": [opened]}, Raises(), Ends(), Lies(), Strange()
try: 1 / 0
except ZeroDivisionError as error: frame = error.__traceback__
made, view = types.ModuleType("made"), memoryview(b"x")
deep = []
for n in range(100000): deep = [deep]
exec("def apart(): pass", {}, globals())
fine = [1]
"""
        merged = self.merged("", branch, "")
        why = {name: merged.rows[name]["why"].partition(":")[0] for name in merged.of("refused")}
        cannot = " cannot be carried"
        self.assertEqual(why, {
            "opened": "an open file" + cannot, "step": "a generator" + cannot, "lock": "a lock" + cannot,
            "pair": "a socket" + cannot, "thread": "a thread" + cannot, "base": "a connection" + cannot,
            "program": "a program that was started" + cannot, "task": "a coroutine" + cannot,
            "inside": "an open file" + cannot, "raises": "a Raises" + cannot, "ends": "an Ends" + cannot,
            "lies": "a Lies that no module has" + cannot, "strange": "an open file" + cannot,
            "frame": "a traceback" + cannot, "made": "a module that cannot be imported" + cannot,
            "view": "a memoryview" + cannot, "deep": "it is nested too deeply",
            "apart": "a function whose globals are neither the session's nor a module's" + cannot,
        })  # fmt: skip
        self.assertEqual(merged.rows["raises"]["why"], "a Raises cannot be carried: not me")
        merged.carry(list(merged.rows))
        self.assertEqual(sorted(merged.packed["refused"]), sorted(why))
        self.assertEqual({why.partition(":")[0] for why in merged.packed["refused"].values()}, set(why.values()))
        self.assertEqual(
            merged.prompt.ask("value", "(fine, Raises.__name__, 'step' in globals())"), "([1], 'Raises', False)"
        )

    def test_strange_values_break_nothing(self):
        branch = """
import ctypes, sys, types
class Meta(type):
    def __getattribute__(kind, name): raise RuntimeError(name)
class Hidden(metaclass=Meta): pass
class Proxy:
    @property
    def __class__(self): raise RuntimeError
    def __getattr__(self, name): raise RuntimeError(name)
class Closed:
    def __getattribute__(self, name): raise RuntimeError(name)
class Odd(list):
    def __len__(self): raise RuntimeError
    def __iter__(self): raise RuntimeError
class Unnamed: __module__ = [1]
class Wrong:
    def __reduce__(self): return 5
class Structure(ctypes.Structure): _fields_ = [("a", ctypes.c_int)]
class Lazy(types.ModuleType):
    def __getattr__(self, name): raise RuntimeError(name)
lazy = sys.modules["lazy"] = Lazy("lazy")
hidden, proxy, closed, odd, unnamed, wrong = Hidden(), Proxy(), Closed(), Odd("a"), Unnamed(), Wrong()
struct = Structure()
cycle, table, pair, sets, more = [], {}, ([],), {frozenset({1, 2}), frozenset({3})}, ...
cycle.append(cycle)
table["t"] = table
pair[0].append(pair)
class Holder:
    def __init__(self): self.own = {self}
holder = Holder()
"""
        merged = self.merged("", branch, "")
        refused = [
            "Hidden",
            "Proxy",
            "Structure",
            "closed",
            "hidden",
            "lazy",
            "odd",
            "proxy",
            "struct",
            "unnamed",
            "wrong",
        ]
        self.assertEqual(merged.of("refused"), refused)
        merged.carry(list(merged.rows))
        self.assertEqual(sorted(merged.packed["refused"]), refused)
        checks = "(cycle[0] is cycle, table['t'] is table, pair[0][0] is pair, holder.own == {holder}, more, sets)"
        text = "(True, True, True, True, Ellipsis, {frozenset({1, 2}), frozenset({3})})"
        self.assertEqual(eval(merged.prompt.ask("value", checks), {"Ellipsis": ...}), eval(text))

    def test_what_cannot_be_carried_and_was_not_touched_is_no_row(self):
        base = "import threading\nlock, opened, held = threading.Lock(), open('/dev/null'), [open('/dev/null')]\n"
        base += "gen = (x for x in 'ab')"
        self.assertEqual(self.merged(base, "", "").rows, {})
        merged = self.merged(base, "held.append(1)\nnext(gen)", "")
        self.assertEqual(merged.of("refused"), ["gen", "held"])

    def test_values_that_hold_what_the_prompt_has_changed_are_named(self):
        merged = self.merged(
            "data = [[1]]; other = [2]", "view = {'d': data, 'o': other}; first = data[0]", "data[0].append(2)"
        )
        merged.carry()
        self.assertEqual(merged.packed["outdated"], {"first": ["data"], "view": ["data"]})
        self.assertEqual(
            merged.prompt.ask("value", "(view['d'], view['o'] is other, first is view['d'][0])"), "([[1]], True, True)"
        )

    def test_an_array_of_some_size_is_not_copied_in_memory(self):
        size = 200 << 20
        base = "import resource\nbig = bytearray(%d)\nfrom pickle import PickleBuffer\nclass Array:\n" % size
        base += " def __init__(self, data): self.data = data\n"
        base += " def __reduce__(self): return Array, (PickleBuffer(self.data),)\n"
        base += "array = Array(big)\ndel big"
        merged = self.merged(base, "array.data[5] = 7\npeak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss", "")
        self.assertEqual(merged.of("carried"), ["array", "peak"])
        merged.carry()
        self.assertGreater(merged.packed["bytes"], size)
        grown = merged.branch.ask("value", "(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) >> 10")
        self.assertLess(int(grown), 100)  # MB
        self.assertEqual(
            merged.prompt.ask("value", "(array.data[5], len(array.data), type(array.data))")[:14], "(7, %d," % size
        )

    def test_changes_in_place_are_seen_whatever_the_size(self):
        base = "big = list(range(100000)); tree = {str(n): [n] for n in range(20000)}; data = bytearray(20 << 20)"
        for change, name in (("big[-1] = 0", "big"), ("tree['19999'].append(1)", "tree"), ("data[-1] = 1", "data")):
            self.assertEqual(self.merged(base, change, "").of("carried"), [name])

    def test_the_file_is_the_users_alone_and_wholly_read_or_not_at_all(self):
        merged = self.merged("n = 1")
        merged.branch.ask(
            "run",
            "class Late:\n def __init__(self): self.a = 1\n def __setstate__(self, state): 1 / 0\n"
            "late, n, z = Late(), 2, [1]",
        )
        merged.plan().carry(["n", "z"])
        self.assertEqual(stat.S_IMODE(os.stat(merged.path).st_mode), 0o600)
        with self.assertRaisesRegex(AssertionError, "FileExistsError"):
            merged.carry(["n"])
        os.unlink(merged.path)
        os.symlink("/dev/null", merged.path)
        with self.assertRaisesRegex(AssertionError, "FileExistsError"):
            merged.carry(["n"])
        os.unlink(merged.path)
        merged.prompt.ask("run", "n = 1; del z")
        with self.assertRaisesRegex(AssertionError, "`late` cannot be carried: division by zero"):
            merged.carry(["late", "n", "z", "Late"])
        self.assertEqual(merged.prompt.ask("value", "(n, 'z' in globals(), 'Late' in globals())"), "(1, False, False)")
        with open(merged.path, "rb") as file:
            whole = file.read()
        for damaged in (b"", whole[:-1], whole[1:], whole[:-8] + b"\xff" * 8):
            with open(merged.path, "wb") as file:
                file.write(damaged)
            with self.assertRaisesRegex(AssertionError, "is damaged"):
                merged.prompt.ask("unpack", merged.path, {}, [])
        os.chmod(merged.path, 0o640)
        with self.assertRaisesRegex(AssertionError, "others could have written"):
            merged.prompt.ask("unpack", merged.path, {}, [])

    def test_no_room_leaves_no_file(self):
        merged = self.merged("", "import resource, signal; big = bytes(5 << 20)", "")
        merged.branch.ask(
            "run",
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))",
        )
        with self.assertRaisesRegex(AssertionError, "File too large"):
            merged.carry(["big"])
        self.assertFalse(os.path.exists(merged.path))


class Limits(Engine):
    """A value's own code has so much time, in the interpreter of a session."""

    def test_a_value_that_takes_too_long_is_refused_and_the_others_go(self):
        host = self.host()
        host.run("""
import os, tempfile, time, _ipycodex_runner.value_digest
_ipycodex_runner.value_digest.EACH = 1.0
from _ipycodex_runner import merge
class Hangs:
    def __reduce__(self):
        while True: pass
class Slow:
    def __reduce__(self):
        time.sleep(0.4)
        return list, ([bytes(1 << 20)],)
class Endless:
    def __reduce__(self):
        return list, (), None, iter(lambda: time.sleep(0.05), 1)
engine = type("E", (), {"ns": globals()})
fine, hangs, slow, endless = [1], Hangs(), [Slow() for n in range(3)], Endless()
table = merge.digest_names(engine, ["fine", "hangs", "slow", "endless"])
path = tempfile.mkdtemp() + "/values"
packed = merge.pack(engine, ["fine", "hangs", "slow"], {}, path)
""")
        self.assertEqual(
            host.run("{name: row.get('slow', False) for name, row in table.items()}").value,
            "{'endless': True, 'fine': False, 'hangs': True, 'slow': False}",
        )
        self.assertEqual(
            host.run("(packed['names'], packed['refused'])").value,
            "(['fine', 'slow'], {'hangs': 'it took too long to look at'})",
        )
        self.assertEqual(
            host.run("[row['outcome'] for row in merge.plan(table, table, table)]").value, "['refused', 'refused']"
        )

    def test_an_interrupt_ends_it(self):
        host = self.host()
        host.run(
            "class Hangs:\n def __reduce__(self):\n  print('on', flush=True)\n  while True: pass\n"
            "from _ipycodex_runner import merge"
        )
        host.send(code="merge.digest_names(type('E', (), {'ns': {'x': Hangs()}}))")
        host.wait_output(b"on")
        self.assertEqual(host.stop().error, "KeyboardInterrupt")
        self.assertEqual(host.run("1 + 1").value, "2")

    def test_cells_of_a_session_merge(self):
        host = self.host()
        host.run("data, n = [1], 1\nclass A:\n    def f(self): return 1\ndef add(a): return a + n\na = A()")
        host.run("""
import json, os, sys, tempfile
from _ipycodex_runner import merge
CODE = '''
def twice(x): return add(x) * 2
class B(A):
    def f(self): return super().f() + n
b, d, n = B(), {'d': data}, 5
'''
names, path = ["A", "B", "a", "add", "b", "d", "data", "n", "twice"], tempfile.mkdtemp() + "/values"
engine, (answer, end) = sys.modules["_ipycodex_runner"].engine, os.pipe()
ours = merge.digest_names(engine, names)
if os.fork() == 0:
    exec(CODE, globals())
    theirs = merge.digest_names(engine, names, ours)
    merge.pack(engine, ["B", "b", "d", "n", "twice"], merge.find_shared(ours, theirs, ours), path)
    os.write(end, json.dumps(theirs).encode())
    os._exit(0)
os.close(end)
theirs = json.load(os.fdopen(answer))
os.wait()
""")
        rows = host.run("[(row['name'], row['outcome']) for row in merge.plan(ours, theirs, ours)]").value
        self.assertEqual(eval(rows), [(name, "carried") for name in ("B", "b", "d", "n", "twice")])
        self.assertEqual(host.run("merge.unpack(engine, path)").value, "['B', 'b', 'd', 'n', 'twice']")
        state = "(twice(1), b.f(), isinstance(b, A), d['d'] is data, n, twice.__globals__ is globals())"
        self.assertEqual(host.run(state).value, "(12, 6, True, True, 5, True)")

    def test_names_of_the_session_itself_are_not_the_users(self):
        host = self.host()
        host.run("a = 1\ndef f(): return a\nfrom _ipycodex_runner import merge")
        host.run("import sys; engine = sys.modules['_ipycodex_runner'].engine; table = merge.digest_names(engine)")
        self.assertEqual(host.run("sorted(table)").value, "['a', 'engine', 'f', 'merge', 'sys']")
        self.assertEqual(host.run("'refused' in table['f']").value, "False")


class BuiltIn(Limits, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class Ipython(Limits, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
