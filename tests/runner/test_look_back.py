"""Looks into the past: values after each cell with a checkpoint, what a look leaves untouched, how it ends."""

import os
import random
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Checkpointed, is_alive  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class Looks(Checkpointed):
    def look(self, host, code, **fields):
        return host.ask("look_back", code=code, **fields)["look_back"]["states"]

    def values(self, host, code, **fields):
        return [state["value"]["text"] for state in self.look(host, code, **fields)]

    def test_values_after_each_cell(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.start(terminal=terminal)
                for code in ("a = [1]", "a.append(2)", "b = a", "del b; a = a[:1]"):
                    self.cell(host, code)
                states = self.look(host, "len(a)")
                self.assertEqual([state["value"]["text"] for state in states], ["not defined", "1", "2", "2", "1"])
                self.assertEqual([state["now"] for state in states], [False] * 4 + [True])
                self.assertEqual(
                    [state["after"]["line"] for state in states[1:]],
                    ["a = [1]", "a.append(2)", "b = a", "del b; a = a[:1]"],
                )
                self.assertEqual(states[2]["value"]["key"], states[3]["value"]["key"])
                self.assertEqual(self.values(host, "b", **{"from": 3, "to": 4}), ["[1, 2]", "not defined"])
                self.assertEqual(self.values(host, "a", **{"from": 2, "to": 2}), ["[1, 2]"])
                self.assertEqual(
                    host.ask("look_back", code="a", **{"from": 9})["error"]["evalue"],
                    "no such cell has run in this interpreter",
                )

    def test_cells_before_a_fork_are_its_own(self):
        host = self.start()
        for number, session in ((1, 0), (2, 0), (3, 0), (2, 1), (3, 1)):
            host.run("a = %d" % (10 * session + number), executionCount=number, session=session)
            self.settle(host)
        forked = {"session": 1, "shared": [[0, 2]]}
        self.assertEqual(self.values(host, "a", **forked, **{"to": 1}), ["not defined", "1"])
        self.assertEqual(self.values(host, "a", **forked, **{"from": 1, "to": 3}), ["1", "2", "3", "12", "13"])
        self.assertEqual(self.values(host, "a", **forked, **{"from": 2}), ["12", "13"])

    def test_a_look_changes_nothing_and_steps_go_on(self):
        host = self.start(terminal=True)
        path = os.path.join(tempfile.mkdtemp(), "x.txt")
        self.cell(host, "a = [1]; f = open(%r, 'w')" % path)
        self.cell(host, "a.append(2)")
        self.cell(host, "a.append(3)")
        waiting = sorted(self.waiting(host))
        self.assertEqual(self.values(host, "a.append(9) or a"), ["not defined", "[1, 9]", "[1, 2, 9]", "[1, 2, 3, 9]"])
        for code in ("f.write('x'), f.flush()", "open(%r, 'w')" % (path + "2"), "__import__('os').kill(1, 9)"):
            self.values(host, code)
        self.assertEqual((os.path.getsize(path), os.path.exists(path + "2")), (0, False))
        for code in ("import os\nos._exit(3)", "import os; os.kill(os.getpid(), 9)", "1/0", "x ="):
            for state in self.look(host, code)[1:]:
                self.assertTrue(state["value"].get("failed"), (code, state))
        self.assertEqual(len({state["value"]["text"] for state in self.look(host, "len(")}), 1)
        self.assertEqual(self.values(host, "print('seen')\na")[1:], ["seen\n[1]", "seen\n[1, 2]", "seen\n[1, 2, 3]"])
        self.assertEqual(sorted(self.waiting(host)), waiting)
        self.step(host, "back", number=3)
        self.assertEqual(self.values(host, "a"), ["not defined", "[1]", "[1, 2]"])
        self.step(host, "back", number=2)
        self.assertEqual(self.values(host, "a"), ["not defined", "[1]"])
        self.assertIn("stepped", self.step(host, "forward"))
        self.assertIn("stepped", self.step(host, "forward"))
        self.assertEqual(self.values(host, "a"), ["not defined", "[1]", "[1, 2]", "[1, 2, 3]"])

    def test_an_interrupt_ends_all_looks_and_leaves_nothing(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                host = self.start(terminal=terminal)
                for number in range(4):
                    self.cell(host, "a = %d" % number)
                waiting = sorted(self.waiting(host))
                tick = "__import__('time').sleep(60) if a < 3 else a"
                for _round in range(5):
                    host.send(type="look_back", code=tick)
                    host.frame("started")
                    self.until(lambda: len(descendants(waiting)) >= 4)
                    began = time.monotonic()
                    host.type(b"\x03") if terminal else host.interrupt()
                    self.assertEqual(host.finish("answer").last["error"]["ename"], "KeyboardInterrupt")
                    self.assertLess(time.monotonic() - began, 1)
                    self.assertEqual(descendants(waiting), [])
                    self.assertEqual(self.values(host, "a"), ["not defined", "0", "1", "2", "3"])
                self.assertEqual(sorted(self.waiting(host)), waiting)
                self.assertIn("stepped", self.step(host, "back", number=3))
                self.assertEqual(self.value(host, "a"), "1")

    def test_looks_end_with_the_interpreter(self):
        host = self.start()
        for number in range(3):
            self.cell(host, "a = %d" % number)
        waiting = sorted(self.waiting(host))
        host.send(type="look_back", code="__import__('time').sleep(60) if 'a' in dir() and a < 2 else 1")
        self.until(lambda: len(descendants(waiting)) >= 4)
        looks = descendants(waiting)
        os.kill(host.leader, 9)
        self.until(lambda: not any(map(is_alive, looks + waiting)))

    def test_a_copy_that_is_gone_or_does_not_answer_is_said(self):
        host = self.start()
        self.cell(host, "import _ipycodex_runner.look as it, _ipycodex_runner.copies as co; it.EACH = 0.5")
        self.cell(host, "co.PATIENCE = 0.2; a = 1")
        self.cell(host, "a = 2")
        self.cell(host, "a = 3")
        slow = "__import__('time').sleep(9) if globals().get('a') == 2 else a"
        self.assertEqual(self.values(host, slow)[3:], ["it took longer than 0.5 s", "3"])
        os.kill(sorted(self.waiting(host))[-2], 9)
        states = self.look(host, "a")
        self.assertEqual([state["value"]["text"] for state in states if "value" in state][-1], "3")
        self.assertEqual(
            [state["why"] for state in states if "why" in state], ["its process was killed by something else"]
        )

    def test_the_middle_between_values_that_differ_is_asked_first(self):
        host = self.start(most=100)
        begin = "it.Looks.begin = lambda looks, index, begin=it.Looks.begin: asked.append(index) or begin(looks, index)"
        clock = "it.monotonic = lambda: len(asked)  # a look takes a second"
        self.cell(host, "import _ipycodex_runner.look_back as it\n%s\n%s" % (begin, clock))
        self.cell(host, "it.WHOLE, it.AT_ONCE, n, asked = 12, 1, 0, []")
        for number in range(30):
            self.cell(host, "n += %d" % (number == 21))
        states = self.look(host, "n")
        known = [(state["after"]["number"], state["value"]["text"]) for state in states[1:] if "value" in state]
        self.assertEqual(len(known), 11)
        self.assertIn((23, "0"), known)
        self.assertIn((24, "1"), known)
        self.assertTrue(any("it was not asked" in state.get("why", "") for state in states))

    def test_where_nothing_protects_the_machine_nothing_runs_unless_told_so(self):
        host = self.start()
        self.cell(host, "import os; os.environ['IPYCODEX_NO_LANDLOCK'] = '1'; a = 1")
        self.cell(host, "a = 2")
        told = host.ask("look_back", code="a")["look_back"]
        self.assertEqual(told, {"unprotected": "IPYCODEX_NO_LANDLOCK is set"})
        self.assertEqual(self.values(host, "a", unprotected=True), ["not defined", "1", "2"])

    def test_values_that_do_not_show_all_are_told_apart(self):
        host = self.start()
        if host.run("import numpy, pandas").of("error"):
            self.skipTest("no tables")
        self.cell(host, "v = numpy.zeros(9999); f = pandas.DataFrame({'x': v})")
        self.cell(host, "v[5000] = 1")
        self.cell(host, "f.loc[5000, 'x'] = 2")
        for name, bad in (("v", 1), ("f", 2)):
            keys = [state["value"]["key"] for state in self.look(host, name)][1:]
            self.assertEqual([n for n in (1, 2) if keys[n] != keys[n - 1]], [bad], (name, keys))

    def test_one_planted_cell_is_found(self):
        chance = random.Random(os.environ.get("IPYCODEX_SEED", "look back"))
        for _round in range(int(os.environ.get("IPYCODEX_PLANTED", "3"))):
            host = self.start()
            count = chance.randrange(4, 10)
            bad = chance.randrange(2, count + 1)
            for number in range(1, count + 1):
                good = chance.choice(("rows = list(rows)", "rows.sort()", "x = len(rows)", "print(rows[:1])"))
                code = "rows = list(range(50))" if number == 1 else "rows = rows[:7]" if number == bad else good
                self.cell(host, code)
            keys = [state["value"]["key"] for state in self.look(host, "len(rows)")]
            changed = [n for n in range(2, count + 1) if keys[n] != keys[n - 1]]
            self.assertEqual(changed, [bad])


def descendants(processes):
    """The processes that descend from these."""
    found = list(processes)
    for process in found:
        try:
            with open("/proc/%d/task/%d/children" % (process, process)) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return [process for process in found[len(processes) :] if is_alive(process)]


class BuiltIn(Looks, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "no interpreter with IPython")
class Ipython(Looks, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
