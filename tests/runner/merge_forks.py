"""Three forks of one process, as a session has them when a cell is in the background, without its requests.

In: code for the base, the branch and the prompt. Out: the plan of a merge, and the merge. Invariant: no fork outlives
its test.
"""

import importlib
import json
import os
import random
import sys
import tempfile
import traceback
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import merge_programs as programs  # noqa: E402
from harness import RUNNER  # noqa: E402

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

    def __init__(self, engine):
        self.engine = engine
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

    def statements(self, seed, count, written, read, base):
        """Runs random statements: their trace, the text of each name, the digests."""
        trace = programs.run_statements(random.Random(seed), self.engine.ns, count, written, read)
        return trace.as_json(), self.describe()[0], self.digest(base)

    def describe(self):
        return programs.describe_names(self.engine.ns)

    def value(self, code):
        return repr(eval(code, self.engine.ns))


class Merged(object):
    """A merge: what the base, the branch and the prompt run, and what becomes of it."""

    def __init__(self, folder, base="", branch="", prompt=""):
        self.engine, self.path = Namespace(), os.path.join(folder, "values")
        exec(base, self.engine.ns)
        self.branch, self.prompt = Fork(self.engine), Fork(self.engine)
        self.branch.ask("run", branch)
        self.prompt.ask("run", prompt)

    def plan(self):
        base = Fork(self.engine)
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
            self.assertEqual(merged.prompt.ask("value", "bool(%s)" % check), "True", check)
        return merged
