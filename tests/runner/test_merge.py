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
