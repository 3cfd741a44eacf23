"""A thousand random programs whose statements are spread over a branch and the prompt: what they do is merged."""

import gc
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import merge_programs as programs  # noqa: E402
from merge_forks import Case, Fork, Namespace, merge  # noqa: E402

PROGRAMS = 1000


class Programs(Case):
    def test_a_thousand_programs_merge_as_if_they_had_run_one_after_the_other(self):
        self.counts = {"disjoint": 0, "overlapping": 0, "with a conflict": 0}
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        for seed in range(PROGRAMS):
            with self.subTest(seed=seed):
                self.try_program(seed)
        print(self.counts, file=sys.stderr)
        self.assertGreater(self.counts["disjoint"], PROGRAMS * 0.25, self.counts)
        self.assertGreater(self.counts["with a conflict"], PROGRAMS * 0.25, self.counts)

    def try_program(self, seed):
        rng, engine, forks = random.Random(seed), Namespace(), []
        programs.run_statements(rng, engine.ns, rng.randint(5, 12), programs.NAMES, programs.NAMES)
        try:
            self.merge_program(seed, rng, engine, forks)
        finally:
            for fork in forks:
                fork.close()

    def merge_program(self, seed, rng, engine, forks):
        addresses = programs.find_objects([engine.ns[name] for name in programs.NAMES if name in engine.ns])
        common = set(map(str, addresses)) | set(programs.NAMES)
        base, (branch, prompt) = merge.digest_names(engine), (Fork(engine), Fork(engine))
        forks += branch, prompt
        halves = programs.NAMES, programs.NAMES
        if seed % 2:  # each writes names of its own
            halves = programs.NAMES[:4], programs.NAMES[4:]
        told = [(None, programs.describe_names(engine.ns)[0], base)]
        for side, written in zip(forks, halves):
            read = written if rng.random() < 0.7 else programs.NAMES
            told.append(side.ask("statements", rng.random(), rng.randint(1, 6), written, read, base))
        (_none, *traces), texts, tables = zip(*told)
        rows = {row["name"]: row for row in merge.plan(*tables)}
        conflicts, carried, deleted = set(), [], []
        for name, row in rows.items():
            self.assertIn(row["outcome"], ("carried", "conflict"))
            if row["outcome"] == "conflict":
                conflicts.add(name)
            else:
                (deleted if row["branch"] == "deleted" else carried).append(name)
        path = os.path.join(self.folder, str(seed))
        self.assertEqual(branch.ask("pack", carried, merge.find_shared(*tables), path, [])["refused"], {})
        self.assertEqual(prompt.ask("unpack", path, {}, deleted), carried)
        os.unlink(path)
        each, together = prompt.ask("describe")
        (reads, writes), (others_reads, others_writes) = [
            (common.intersection(trace["reads"]), common.intersection(trace["writes"])) for trace in traces
        ]
        note = json.dumps([trace["source"] for trace in traces])
        both = {name for name in writes & others_writes if name in programs.NAMES}
        if writes & (others_reads | others_writes) or reads & others_writes:
            self.counts["overlapping"] += 1
            self.counts["with a conflict"] += bool(conflicts)
            different = {name for name in both if len({text.get(name) for text in texts}) == 3}
            self.assertEqual((different - conflicts, conflicts - both), (set(), set()), note)
            self.assertEqual([name for name in conflicts if texts[1].get(name) == texts[2].get(name)], [], note)
            self.assertEqual({name: each[name] for name in carried}, {name: texts[1][name] for name in carried}, note)
        else:
            self.counts["disjoint"] += 1
            self.assertTrue(writes and others_writes and not conflicts, note)
            forks.append(Fork(engine))
            forks[2].ask("run", "\n".join(traces[0]["source"] + traces[1]["source"]))
            self.assertEqual(together, forks[2].ask("describe")[1], note)


if __name__ == "__main__":
    unittest.main()
