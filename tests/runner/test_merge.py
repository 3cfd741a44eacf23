"""Names that a branch takes back to the prompt: three forks of one process, as in a session, without its requests; the
limits on a value's own code in both engines."""

import gc
import importlib
import json
import os
import random
import stat
import sys
import tempfile
import traceback
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import merge_programs as programs  # noqa: E402
from harness import RUNNER, Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
PROGRAMS = 1000
package = types.ModuleType("_ipycodex_runner")
package.__path__ = [os.path.dirname(RUNNER) + "/_ipycodex_runner"]
sys.modules["_ipycodex_runner"] = package
merge = importlib.import_module("_ipycodex_runner.merge")


class Namespace(object):
    """What the code needs of an engine."""

    def __init__(self):
        self.ns = {"__name__": "__main__"}

    def set_names(self, values):
        self.ns.update(values)


class Fork(object):
    """A fork of this process that calls functions of its own when asked."""

    def __init__(self, engine, folder):
        self.engine, self.folder = engine, folder
        request, self.requests = os.pipe()
        self.replies, reply = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.requests)
            os.close(self.replies)
            self.serve(os.fdopen(request), reply)
        os.close(request)
        os.close(reply)
        self.lines = os.fdopen(self.replies)

    def serve(self, requests, reply):
        try:
            for name, arguments in iter(lambda: json.loads(requests.readline()), None):
                try:
                    answer = {"value": getattr(self, name)(*arguments)}
                except BaseException:
                    answer = {"error": traceback.format_exc()}
                os.write(reply, json.dumps(answer).encode() + b"\n")
        finally:
            os._exit(0)

    def ask(self, name, *arguments):
        os.write(self.requests, json.dumps([name, arguments]).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def close(self):
        os.write(self.requests, b"null\n")  # other forks have this end of the pipe, too
        os.close(self.requests)
        self.lines.close()
        os.waitpid(self.pid, 0)

    def run(self, code):
        exec(code, self.engine.ns)

    def digest(self, base=None):
        return merge.digest_names(self.engine, None, base)

    def pack(self, names, shared, path, outdated):
        return merge.pack(self.engine, names, shared, path, outdated)

    def unpack(self, path, renames, deleted):
        return merge.unpack(self.engine, path, renames, deleted)

    def statements(self, seed, count, written, read):
        return programs.run_statements(random.Random(seed), self.engine.ns, count, written, read).as_json()

    def describe(self):
        return programs.describe_names(self.engine.ns)

    def value(self, code):
        return repr(eval(code, self.engine.ns))


class Merged(object):
    """A merge: what the base, the branch and the prompt run, and what becomes of it."""

    def __init__(self, folder, base="", branch="", prompt=""):
        self.engine, self.path = Namespace(), os.path.join(folder, "values")
        exec(base, self.engine.ns)
        self.branch, self.prompt = Fork(self.engine, folder), Fork(self.engine, folder)
        self.branch.ask("run", branch)
        self.prompt.ask("run", prompt)

    def plan(self):
        base = Fork(self.engine, None)
        tables = [base.ask("digest")]
        base.close()
        tables += [side.ask("digest", tables[0]) for side in (self.branch, self.prompt)]
        self.rows = {row["name"]: row for row in merge.plan(*tables)}
        self.shared = merge.find_shared(*tables)
        self.outdated = [name for name in tables[2] if name not in self.shared and name not in self.rows]
        return self

    def of(self, outcome):
        return [name for name, row in self.rows.items() if row["outcome"] == outcome]

    def carry(self, names=None, renames=None):
        wanted = self.of("carried") if names is None else names
        deleted = [name for name in wanted if self.rows[name]["branch"] == "deleted"]
        values = [name for name in wanted if name not in deleted]
        self.packed = self.branch.ask("pack", values, self.shared, self.path, self.outdated)
        self.names = self.prompt.ask("unpack", self.path, renames, deleted)
        return self

    def close(self):
        self.branch.close()
        self.prompt.close()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def merged(self, *code):
        merged = Merged(self.folder, *code)
        self.addCleanup(merged.close)
        return merged.plan()

    def assert_carried(self, base, branch, prompt, *checks):
        """All that the branch did is carried, and each of these is true at the prompt."""
        merged = self.merged(base, branch, prompt)
        self.assertEqual(merged.of("carried"), list(merged.rows), merged.rows)
        merged.carry()
        self.assertEqual(merged.packed["refused"], {})
        for check in checks:
            self.assertEqual(merged.prompt.ask("value", check), "True", check)
        return merged


SHAPES = """
import abc, collections, dataclasses, enum, functools, typing
class Base:
    kept = []
    def f(self): return 1
    def __init_subclass__(cls, need, **more): Base.kept.append(cls)
class Child(Base, need=1):
    x = property(lambda self: 5)
    def f(self): return super().f() + 1
    @classmethod
    def own(cls): return cls
    @staticmethod
    def other(): return Child
    class Inner: pass
child = Child()
child.inner, child.method = Child.Inner(), child.f
@dataclasses.dataclass
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)
point = Point(1)
@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 3
class Color(enum.Enum):
    RED = 1
    CRIMSON = 1
    BLUE = 2
    def low(self): return self.name.lower()
    def __lt__(self, other): return self.value < other.value
red = Color.RED
class Planet(enum.Enum):
    EARTH = (6, 2)
    def __init__(self, mass, size): self.weight = mass * size
class Access(enum.Flag):
    READ = 1
    WRITE = 2
access = Access.READ | Access.WRITE
Pair = collections.namedtuple("Pair", "p q", defaults=[4])
class Typed(typing.NamedTuple):
    p: int
    q: int = 4
    def total(self): return self.p + self.q
typed = Typed(1)
def count():
    now = 0
    def add():
        nonlocal now
        now += 1
        return now
    return add, lambda: now
add, get = count()
add()
@functools.lru_cache(None)
def factorial(n): return n * factorial(n - 1) if n else 1
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def outer():
    def inner(n): return 1 if n == 0 else n * inner(n - 1)
    return inner
inner = outer()
class Abstract(abc.ABC):
    @abc.abstractmethod
    def m(self): pass
class Concrete(Abstract):
    def m(self): return "m"
class Slots:
    __slots__ = ("__a", "b")
    def __init__(self): self.__a, self.b = 1, 2
    def get(self): return self.__a + self.b
slots = Slots()
class Lazy:
    @functools.cached_property
    def z(self): return 9
T = typing.TypeVar("T")
class Generic(typing.Generic[T]):
    def get(self): return 3
class Meta(type):
    made = 0
    def __new__(meta, name, bases, body):
        Meta.made += 1
        return type.__new__(meta, name, bases, body)
class Made(metaclass=Meta): pass
def full(a, b=2, *, c=3) -> int:
    "text"
    return a + b + c
full.tag = 1
squares = {n: (lambda m: lambda: m * m)(n) for n in range(3)}
"""


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
        base = SHAPES + "data = [[1], {'k': [2]}]\npoint.y = data\nopened = open('/dev/null')\nsteps = iter(x for x in data)\nold = [7]"
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
        base = SHAPES + "import os\ns = {9, 1, 'x', (2, 3)}\nf = lambda: [n for n in (1, 2.0)]\nd = {'f': f, 's': s, 'p': point}"
        again = "\n\n# elsewhere\ndef full(a, b=2, *, c=3) -> int:\n    'text'\n\n    return a + b + c\nfull.tag = 1\n"
        again += "f()\nrepr(d)\npoint == Point(1)\nfactorial(9)\nlist(Color)\nimport pickle, copy\ncopy.deepcopy([child, d, typed])\n"
        merged = self.merged(base, again + "del pickle, copy", "add(); s.add(5); s.discard(5)\ns.add(4)")
        self.assertEqual(merged.rows, {})
        self.assertNotIn("add", merged.shared)
        merged = self.merged("s = {1, 9}", "s = {n for n in (9, 17, 1)}", "s = {n for n in (1, 17, 9)}")
        self.assertEqual(merged.rows, {})  # both the same, in another order

    def test_code_that_differs_is_a_change(self):
        base = "def f(a=1): return a\ndef g(): return 1\ndef h(): return [x for x in (1, 2)]\nk = lambda: 1\nclass C:\n x = 1"
        for branch, changed in (
            ("def f(a=2): return a", ["f"]), ("def g(): return 1.0", ["g"]), ("def g(): return True", ["g"]),
            ("def h(): return [x for x in (1, 3)]", ["h"]), ("k.tag = 1", ["k"]), ("C.x = 2", ["C"]),
            ("class C:\n y = 1", ["C"]), ("class C(dict):\n x = 1", ["C"]), ("f.__defaults__ = (3,)", ["f"]),
        ):  # fmt: skip
            self.assertEqual(self.merged(base, branch).of("carried"), changed, branch)

    def test_a_name_that_was_bound_to_an_equal_object_is_no_longer_an_alias(self):
        self.assert_carried("a = [1]\nb = a\nc = {'a': a}", "b = [1]\nc['a'] = [1]", "", "b is not a and c['a'] is not a")


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
        row = {"name": "cut", "outcome": "conflict", "branch": "deleted", "prompt": "changed", "was": "int", "mine": "int"}
        self.assertEqual(merged.rows["cut"], row)
        row = {"name": "gone", "outcome": "carried", "branch": "deleted", "prompt": None, "was": "int", "mine": "int"}
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
        self.assertEqual(merged.prompt.ask("value", "(fine, Raises.__name__, 'step' in globals())"), "([1], 'Raises', False)")

    def test_what_cannot_be_carried_and_was_not_touched_is_no_row(self):
        base = "import threading\nlock, opened, held = threading.Lock(), open('/dev/null'), [open('/dev/null')]\ngen = iter(x for x in 'ab')"
        self.assertEqual(self.merged(base, "", "").rows, {})
        merged = self.merged(base, "held.append(1)\nnext(gen)", "")
        self.assertEqual(merged.of("refused"), ["gen", "held"])

    def test_values_that_hold_what_the_prompt_has_changed_are_named(self):
        merged = self.merged("data = [[1]]; other = [2]", "view = {'d': data, 'o': other}; first = data[0]", "data[0].append(2)")
        merged.carry()
        self.assertEqual(merged.packed["outdated"], {"first": ["data"], "view": ["data"]})
        self.assertEqual(merged.prompt.ask("value", "(view['d'], view['o'] is other, first is view['d'][0])"), "([[1]], True, True)")

    def test_an_array_of_some_size_is_not_copied_in_memory(self):
        size = 200 << 20
        base = "import resource\nbig = bytearray(%d)\nfrom pickle import PickleBuffer\nclass Array:\n" % size
        base += " def __init__(self, data): self.data = data\n def __reduce__(self): return Array, (PickleBuffer(self.data),)\n"
        base += "array = Array(big)\ndel big"
        merged = self.merged(base, "array.data[5] = 7\npeak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss", "")
        self.assertEqual(merged.of("carried"), ["array", "peak"])
        merged.carry()
        self.assertGreater(merged.packed["bytes"], size)
        grown = merged.branch.ask("value", "(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) >> 10")
        self.assertLess(int(grown), 100)  # MB
        self.assertEqual(merged.prompt.ask("value", "(array.data[5], len(array.data), type(array.data))")[:14], "(7, %d," % size)

    def test_changes_in_place_are_seen_whatever_the_size(self):
        base = "big = list(range(100000)); tree = {str(n): [n] for n in range(20000)}; data = bytearray(20 << 20)"
        for change, name in (("big[-1] = 0", "big"), ("tree['19999'].append(1)", "tree"), ("data[-1] = 1", "data")):
            self.assertEqual(self.merged(base, change, "").of("carried"), [name])

    def test_the_file_is_the_users_alone_and_wholly_read_or_not_at_all(self):
        merged = self.merged("n = 1", "class Bad:\n def __reduce__(self): return (print, (1, 2), None, 5)", "")
        merged.branch.ask("run", "class Late:\n def __init__(self): self.a = 1\n def __setstate__(self, state): 1 / 0\nlate = Late(); n = 2; z = [1]")
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
        merged.branch.ask("run", "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))")
        with self.assertRaisesRegex(AssertionError, "File too large"):
            merged.carry(["big"])
        self.assertFalse(os.path.exists(merged.path))


class Programs(Case):
    def test_a_thousand_programs_merge_as_if_they_had_run_one_after_the_other(self):
        self.counts = {"disjoint": 0, "disjoint, both wrote": 0, "overlapping": 0, "with a conflict": 0}
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        for seed in range(PROGRAMS):
            with self.subTest(seed=seed):
                self.try_program(seed)
        print(self.counts, file=sys.stderr)
        self.assertGreater(self.counts["disjoint, both wrote"], PROGRAMS * 0.25, self.counts)
        self.assertGreater(self.counts["with a conflict"], PROGRAMS * 0.25, self.counts)

    def try_program(self, seed):
        rng = random.Random(seed)
        engine, path = Namespace(), os.path.join(self.folder, str(seed))
        programs.run_statements(rng, engine.ns, rng.randint(5, 12), programs.NAMES, programs.NAMES)
        addresses = set(map(str, programs.find_objects([engine.ns[name] for name in programs.NAMES if name in engine.ns])))
        reached = {name: set(map(str, programs.find_objects(engine.ns[name])))
                   for name in programs.NAMES if name in engine.ns}  # fmt: skip
        halves = programs.NAMES, programs.NAMES
        if seed % 2:  # each writes names of its own
            halves = programs.NAMES[:4], programs.NAMES[4:]
        forks = branch, prompt = [Fork(engine, None), Fork(engine, None)]
        try:
            parts = []
            for side, half in zip((branch, prompt), halves):
                read = half if rng.random() < 0.7 else programs.NAMES
                parts.append(side.ask("statements", rng.random(), rng.randint(1, 6), half, read))
            table = [merge.digest_names(engine)]
            table += [side.ask("digest", table[0]) for side in (branch, prompt)]
            rows, shared = merge.plan(*table), merge.find_shared(*table)
            texts = programs.describe_names(engine.ns)[0], branch.ask("describe")[0], prompt.ask("describe")[0]
            conflicts = {row["name"] for row in rows if row["outcome"] == "conflict"}
            carried = [row["name"] for row in rows if row["outcome"] == "carried" and row["branch"] != "deleted"]
            deleted = [row["name"] for row in rows if row["outcome"] == "carried" and row["branch"] == "deleted"]
            self.assertEqual([row for row in rows if row["outcome"] == "refused"], [])
            packed = branch.ask("pack", carried, shared, path, [])
            self.assertEqual(packed["refused"], {})
            self.assertEqual(prompt.ask("unpack", path, {}, deleted), carried)
            each, together = prompt.ask("describe")
            first, second = [{"reads": (addresses | set(programs.NAMES)).intersection(part["reads"]),
                              "writes": (addresses | set(programs.NAMES)).intersection(part["writes"])}
                             for part in parts]  # fmt: skip
            note = json.dumps([part["source"] for part in parts])
            if first["writes"] & (second["reads"] | second["writes"]) or first["reads"] & second["writes"]:
                self.counts["overlapping"] += 1
                self.counts["with a conflict"] += bool(conflicts)
                both = {name for name in first["writes"] & second["writes"] if name in programs.NAMES}
                different = {name for name in both if len({text.get(name) for text in texts}) == 3}
                self.assertEqual(different - conflicts, set(), note)
                self.assertEqual(conflicts - both, set(), note)
                for name in carried:
                    self.assertEqual(each[name], texts[1][name], note)
            else:
                self.counts["disjoint"] += 1
                self.counts["disjoint, both wrote"] += bool(first["writes"] and second["writes"])
                self.assertEqual(conflicts, set(), note)
                forks.append(Fork(engine, None))
                forks[2].ask("run", "\n".join(parts[0]["source"] + parts[1]["source"]))
                self.assertEqual(together, forks[2].ask("describe")[1], note)
        finally:
            for fork in forks:
                fork.close()


if __name__ == "__main__":
    unittest.main()
