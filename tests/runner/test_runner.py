"""What the runner promises, in both engines, on pipes and on a pty. Run: `python3 -m unittest discover tests/runner`.

`IPYCODEX_TEST_IPYTHON` names an interpreter that has IPython; without it those cases are skipped, loudly.
"""

import base64
import os
import re
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


def catches(pid, number):
    """Whether a process that runs has a handler for a signal."""
    with open("/proc/%d/status" % pid) as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


class Both(Engine):
    def test_values_by_cell(self):
        host = self.host()
        for code, value in (("1+1", "2"), ("_ + 1", "3"), ("x = !echo a\nx[0]", "'a'"), ("%pwd", repr(os.getcwd())),
                            ("s = '''\n%nope\n!nope\n'''\n!true\ns", repr("\n%nope\n!nope\n")),
                            ("import asyncio\nawait asyncio.sleep(0, 7)", "7"),
                            ("async def f():\n    return 8\nasyncio.run(f())", "8"),
                            ("'\\ud800'", "'\\ud800'")):  # fmt: skip
            cell = host.run(code)
            self.assertEqual(cell.last["status"], "ok", (code, cell.frames))
            self.assertEqual(cell.value, value, code)
        self.assertFalse(host.run("5;").of("result"))

    def test_numbers_follow_the_host(self):
        host = self.host()
        host.run("'a'", executionCount=1)
        cell = host.run("len(In), Out[1], In[2]", executionCount=4)
        self.assertEqual(cell.value, "(5, 'a', '')")
        self.assertEqual(cell.last["executionCount"], 4)

    def test_output_and_displays_keep_their_order(self):
        host = self.host()
        host.send(code="for i in range(30):\n    print('p%d' % i); display(i)")
        cell = host.finish()
        self.assertEqual([frame["bundle"]["text/plain"] for frame in cell.of("display")], [str(i) for i in range(30)])
        self.assertEqual(cell.output.split(), ["p%d" % i for i in range(30)])

    def test_values_shown_early_keep_their_place(self):
        host = self.host()
        for code in ("import sys\nsys.displayhook(5)\ndisplay(6)", "get_ipython().run_cell('5')\ndisplay(6)"):
            kinds = [frame["type"] for frame in host.run(code).frames if frame["type"] in ("result", "display")]
            self.assertEqual(kinds, ["result", "display"], code)
        cell = host.run("sys.displayhook(5); print('after')\n7")
        self.assertEqual([frame["bundle"]["text/plain"] for frame in cell.of("result")], ["5", "7"])
        self.assertLess(cell.of("result")[0]["sync"], cell.of("result")[1]["sync"])

    def test_failures(self):
        host = self.host()
        for code, name in (
            ("1/0", "ZeroDivisionError"),
            ("def", "SyntaxError"),
            ("%nope", "UsageError"),
            ("import sys; sys.exit(3)", "SystemExit"),
        ):
            cell = host.run(code)
            self.assertEqual((cell.error, cell.last["status"]), (name, "error"))
        self.assertEqual(cell.of("error")[0]["evalue"], "3")
        self.assertEqual(host.run("1").value, "1")

    def test_a_pool_that_cannot_see_the_functions_of_cells_gets_a_hint(self):
        host = self.host()
        host.run("""import concurrent.futures, multiprocessing
def work(): pass
pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn'))""")
        shown = host.run("pool.submit(work).result()").of("error")[0]["traceback"]
        self.assertIn("use the `fork` context", shown[-1])

    def test_no_frame_of_the_runner_is_shown(self):
        host = self.host()
        host.run("import sys, time, traceback")
        for code in (
            "import faulthandler\ntry:\n    display(1, include=3)\nfinally:\n    1/0",
            "get_ipython().ev('1/0')",
            "input()",
            "async def f(): 1/0\nawait f()",
        ):
            shown = "\n".join(host.run(code, allowStdin=False).of("error")[0]["traceback"])
            self.assertNotIn("_runner", shown, code)
            self.assertIn("-> ", shown, code)
        for code in ("try: input()\nexcept EOFError: traceback.print_exc()", "traceback.print_stack()"):
            shown = host.run(code, allowStdin=False).output
            self.assertNotIn("_runner", shown, code)
            self.assertIn(", in <module>", shown, code)
        host.send(
            code="try:\n    print('on', flush=True)\n    time.sleep(60)\n"
                 "except KeyboardInterrupt: traceback.print_exc()"
        )
        host.wait_output(b"on")
        self.assertNotIn("_runner", host.stop().output)

    def test_interrupts(self):
        host = self.host()
        for code in (
            "import time; print('on', flush=True); time.sleep(60)",
            "said = False\nwhile True: said = said or not print('on')",
            "import asyncio\nawait asyncio.sleep(60, print('on'))",
        ):  # the line that says it runs is the one that is stopped: between two statements there is no line to show
            host.send(code=code)
            host.wait_output(b"on")
            cell = host.stop()
            self.assertTrue(cell.last["cancelled"], cell.frames)
            self.assertEqual(cell.error, "KeyboardInterrupt")
            shown = "\n".join(cell.of("error")[0]["traceback"])
            self.assertNotIn("_runner", shown)
            self.assertRegex(shown, "-> %d .*%s" % (code.count("\n") + 1, re.escape(code.split("\n")[-1])))
        host.interrupt()  # while idle: nothing
        self.assertEqual(host.run("2").value, "2")

    def test_input_is_asked_or_refused(self):
        host = self.host()
        host.send(id="in", code="input('who? ')", stdin="ask")
        question = host.frame("input_request")
        self.assertEqual((question["prompt"], question["password"]), ("who? ", False))
        host.send(type="input_reply", id=question["call"], value="me")
        self.assertEqual(host.finish().value, "'me'")
        self.assertEqual(host.run("input()", allowStdin=False).error, "EOFError")

    def test_forked_child_that_returns_leaves(self):
        host = self.host()
        cell = host.run(
            "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('child' if not pid else 'parent')"
        )
        self.assertEqual(len(cell.of("done")), 1)
        self.assertEqual(sorted(cell.output.split()), ["child", "parent"])

    def test_closed_descriptors_come_back(self):
        host = self.host()
        host.run("import os; os.close(1); os.closerange(3, 65)")
        self.assertEqual(host.run("print('back')").output, "back\n")

    def test_a_loop_whose_descriptors_were_closed_goes_on_with_its_tasks(self):
        host = self.host()
        code = "import asyncio, os\ntask = asyncio.ensure_future(asyncio.sleep(0.3, 'slept'))\nawait asyncio.sleep(0)"
        host.run(code)
        host.run("os.closerange(3, 65)\nmine = os.pipe()")  # the numbers are the cell's own now
        self.assertEqual(host.run("await task").value, "'slept'")
        self.assertEqual(host.run("os.write(mine[1], b'ab'), os.read(mine[0], 9)").value, "(2, b'ab')")

    def test_requests_beside_cells(self):
        host = self.host()
        host.run("import os\ndef f(a: int, b='x'):\n    'Adds.'\n    return [a, b]")
        self.assertTrue(host.ask("ping")["pong"])
        self.assertTrue(host.ask("set", values={"q": "v"})["set"])
        self.assertEqual(host.run("q").value, "'v'")
        self.assertEqual(
            host.ask("is_complete", code="for i in x:")["completeness"], {"status": "incomplete", "indent": "    "}
        )
        self.assertIn(
            "path", [item["text"].lstrip(".") for item in host.ask("complete", code="os.pat", pos=6)["completions"]]
        )
        self.assertTrue(host.ask("inspect", name="f", level=0)["inspection"]["found"])
        rows = host.ask("tool", op="describe", names=["f", "zz", "q"])["tools"]
        self.assertEqual(rows[0]["schema"]["properties"], {"a": {"type": "integer"}, "b": {"default": "x"}})
        self.assertEqual(rows[1:], [{"name": "zz", "found": False}, {"name": "q", "callable": False}])
        self.assertEqual(
            host.ask("tool", op="call", name="f", args={"a": 1})["tool"]["bundle"], {"text/plain": '[1, "x"]'}
        )
        self.assertEqual(host.ask("tool", op="call", name="f", args={})["error"]["ename"], "TypeError")
        self.assertEqual(host.ask("nonsense")["error"]["ename"], "ProtocolError")
        os.write(host.requests, b"{broken\n")
        self.assertEqual(host.finish("answer").last["id"], "")

    def test_request_that_meets_an_interrupt_is_not_lost(self):
        host = self.host()
        for _turn in range(3):
            host.send(code="input('?')")
            host.frame("input_request")
            os.kill(host.pid, signal.SIGSTOP)  # what follows is there at once when it goes on
            host.send(code="6 * 7")
            host.interrupt()
            os.kill(host.pid, signal.SIGCONT)
            self.assertTrue(host.frame("done")["cancelled"])
            self.assertEqual(host.frame("result")["bundle"]["text/plain"], "42")
            host.frame("done")

    def test_end_runs_atexit_despite_a_thread(self):
        host = self.host()
        host.run(
            "import atexit, threading, time\natexit.register(print, 'bye')\n"
            "threading.Thread(target=time.sleep, args=(60,)).start()"
        )
        output, code = host.end()
        self.assertIn(b"bye", output)
        self.assertEqual(code, 0)

    def test_end_runs_atexit_when_the_host_urges_it(self):
        host = self.host()
        host.run(
            "import atexit, threading, time\natexit.register(print, 'bye')\n"
            "threading.Thread(target=time.sleep, args=(60,)).start()"
        )
        pid = host.pid
        os.close(host.requests)
        host.requests = None
        while not catches(pid, signal.SIGTERM):
            time.sleep(0.001)
        os.kill(pid, signal.SIGTERM)
        output, code = host.rest()
        self.assertIn(b"bye", output)
        self.assertEqual(code, 0)

    def test_background_task_goes_on_at_the_prompt(self):
        host = self.host()
        cell = host.run(
            "import asyncio\nasync def later():\n    await asyncio.sleep(0.01); print('woke')\n"
            "task = asyncio.create_task(later()); await asyncio.sleep(0)"
        )
        if "woke" not in cell.output:  # on a busy machine the cell takes longer than the task
            host.wait_output(b"woke")

    def test_exit_asks_the_host(self):
        host = self.host()
        for code in ("exit", "quit()"):
            self.assertEqual(len(host.run(code).of("exit_requested")), 1)

    def test_terminal(self):
        host = self.host(terminal=True)
        host.send(code="print('ask'); input()")
        host.wait_output(b"ask")
        host.type(b"yes\n")
        self.assertEqual(host.finish().value, "'yes'")
        host.send(code="import tty, select; tty.setraw(0); print('raw'); _ = select.select([0], [], [])")
        host.wait_output(b"raw")
        host.type(b"ahead")
        self.assertEqual(base64.b64decode(host.finish().last["typeahead"]), b"ahead")
        host.type(b"early")  # no cell runs: the next one must not read it
        host.wait_output(b"early")
        self.assertEqual(base64.b64decode(host.run("1").last["typeahead"]), b"early")
        self.assertEqual(host.run("import termios; bool(termios.tcgetattr(0)[3] & termios.ICANON)").value, "True")
        cell = host.run("!echo own")
        self.assertEqual([word for word in cell.words if not word.isdigit()], ["own", "back"])
        host.send(code="print('go'); import time; time.sleep(60)")
        host.wait_output(b"go")
        self.assertTrue(host.finish(again=lambda: host.type(b"\x03")).last["cancelled"])


class BuiltIn(Both, unittest.TestCase):
    def test_magics(self):
        host = self.host()
        for code in (
            "%time 1",
            "%timeit -n 2 -r 2 1",
            "%env HOME",
            "%who",
            "%whos",
            "%%bash\necho hi",
            "%%capture c\nprint(1)",
            "%history -n",
            "cd .",
            "%%time\n1",
        ):
            self.assertEqual(host.run(code).last["status"], "ok", code)

    def test_lines_that_are_no_python(self):
        host = self.host()
        host.run("f = lambda *a: a\nd = {'k': f}")
        for code, value in (
            ("/f 1 2", "(1, 2)"),
            (",f a  b", "('a', 'b')"),
            (";f a  b", "('a  b',)"),
            (",f it's", '("it\'s",)'),
            ("if f:\n    x = 1\n    /f x\nf(x)", "(1,)"),
            ("_ih is In, _oh is Out", "(True, True)"),
        ):
            self.assertEqual(host.run(code).value, value, code)
        self.assertEqual(host.run("f(1, [d?").of("page")[0]["bundle"]["text/plain"].split()[:2], ["Type:", "dict"])
        for code in ("?", "??", "%quickref"):
            self.assertIn("/f a b", host.run(code).of("page")[0]["bundle"]["text/plain"], code)
        for code in (
            "%undefined-x",
            "%undefined(x)",
            "a = %undefined-y",
            "%",
            "%%",
            "%%undefined-x\nbody",
            "%reset -f nonsense",
            "%cd /nowhere",
            "%cd -99",
        ):
            self.assertEqual(host.run(code).error, "UsageError", code)
        for code in ("/", "x = /f", "1 +? 2"):
            self.assertEqual(host.run(code).error, "SyntaxError", code)
        self.assertEqual(host.run("%reset -f out\nf is not None and Out").value, "{}")

    def test_scripts(self):
        host = self.host()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "script.py"), "w") as file:
                file.write(
                    "import sys\nimport sibling\nvalue = sys.argv[1:]\nif 'fails' in value:\n    1/0\n"
                    "if value == ['leaves']:\n    sys.exit(3)\nlater = True\n"
                )
            for name in ("sibling.py", "a1.txt", "a2.txt"):
                open(os.path.join(folder, name), "w").close()
            host.run("import os, sys; os.chdir(%r); folder = os.getcwd()" % folder)
            shown = host.run("%run script.py fails").of("error")[0]["traceback"]
            self.assertIn("File %s/script.py:5" % host.run("print(folder, end='')").output, shown)
            self.assertNotIn("runpy", "\n".join(shown))
            self.assertEqual(
                host.run("value, 'later' in globals(), sys.argv, folder in sys.path").value,
                "(['fails'], False, [''], False)",
            )
            for line, value in (
                ("a?.txt", "['a1.txt', 'a2.txt']"),
                ("-G", None),
                ("'x y' b*", "['x y', 'b*']"),
                ("'a?.txt' a?.txt", "['a?.txt', 'a1.txt', 'a2.txt']"),
            ):
                host.run("%run " + ("-G script.py a?.txt" if line == "-G" else "script.py " + line))
                self.assertEqual(host.run("value").value, value or "['a?.txt']", line)
            self.assertEqual(host.run("%run script.py leaves").of("error")[0]["evalue"], "3")
            self.assertEqual(host.run("%run -e script.py leaves").output, "")
            self.assertIn("Wall time", host.run("%run -t script.py").output)
            self.assertIn("function calls", host.run("%run -p script.py").output)
            self.assertIn("usage", host.run("%run -m json.tool --help").output)
            self.assertNotIn("runpy", "\n".join(host.run("%run -m script fails").of("error")[0]["traceback"]))
            self.assertEqual(host.run("%load -s nothing script.py").error, "UsageError")

    def test_what_is_captured(self):
        host = self.host()
        cell = host.run("%%capture kept\nprint('p'); display(3); 4")
        self.assertEqual((cell.output, cell.of("display"), cell.of("result")), ("", [], []))
        self.assertEqual(host.run("kept.stdout, kept.outputs").value, "('p\\n', [3, 4])")
        self.assertEqual(len(host.run("kept()").of("display")), 2)
        self.assertEqual(len(host.run("%%capture --no-display kept\ndisplay(3)").of("display")), 1)
        self.assertEqual(host.run("%%capture kept\ndisplay(3)\n1/0").error, "ZeroDivisionError")
        self.assertEqual(len(host.run("display(3)").of("display")), 1)

    def test_options_of_magics(self):
        host = self.host()
        self.assertRegex(host.run("%time 1").output, "CPU times: user .+, sys: .+, total: .+\nWall time: .+\n")
        shown = host.run("%%time\nx = 1\n1/0").of("error")[0]["traceback"]
        self.assertEqual(
            [line for line in shown if line.startswith("Cell In")], ["Cell In[2], line 1", "Cell In[2], line 3"]
        )
        self.assertRegex(host.run("%timeit -n1 -r1 -t -p 2 1").output, "per loop")
        self.assertIn("to 2 due to restriction", host.run("%prun -l 2 sum(range(3))").output)
        self.assertIn("{built-in method builtins.sum}", host.run("%prun -l sum -s cumulative sum(range(3))").output)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "two words.prof")
            self.assertIn("two words.prof", host.run("%%prun -q -D '%s' 1/0" % file).output)
            self.assertTrue(os.path.exists(file))
        host.run("%pdb on")
        for code in (
            "%timeit",
            "%timeit -n x 1",
            "%pdb maybe",
            "%autoreload 9",
            "%prun -s nosuch 1",
            "%prun -D",
            "%load -r x script.py",
            "%%capture a b\n1",
        ):
            self.assertEqual(host.run(code, allowStdin=False).error, "UsageError", code)
        host.run("%pdb off")
        host.run("1/0")
        self.assertEqual(host.run("%nothing_of_the_kind").error, "UsageError")
        self.assertIn("ZeroDivisionError: division by zero", host.run("%tb").output)

    def test_tables_of_names(self):
        host = self.host()
        host.run(
            "class Odd:\n    shape = 3\n    def __len__(self): raise ValueError\n"
            "    def __str__(self): raise ValueError\nclass Array:\n    shape, dtype, nbytes = (2, 3), 'float64', 48\n"
            "odd, array, n = Odd(), Array(), [1]"
        )
        rows = host.run("%whos").output.split("\n")
        self.assertIn("array      Array    2x3: 6 elems, type `float64`, 48 bytes", rows)
        self.assertIn("n          list     n=1", rows)
        self.assertRegex(rows[-2], "odd        Odd      <object with id .*")

    def test_magics_that_show_or_change_something(self):
        host = self.host()
        host.run("def f(a, b=2):\n    'Doc.'\n    return a")
        for code, shown in (("%pdef f", "f(a, b=2)\n"), ("%alias say echo said", ""), ("say {1+1}", "said 2\n"),
                            ("%alias two echo a%sb%s", ""), ("%two x y", "axby\n"),
                            ("%xmode plain", "Exception reporting mode: Plain\n"), ("z = 1; print(z)", "1\n"),
                            ("%rerun", "=== Executing: ===\nz = 1; print(z)\n=== Output: ===\n1\n"),
                            ("rerun", "=== Executing: ===\nz = 1; print(z)\n=== Output: ===\n1\n")):  # fmt: skip
            self.assertEqual(host.run(code).output, shown, code)
        for code, page in (
            ("%pdoc f", "Doc."),
            ("%psource f", "def f(a, b=2):\n    'Doc.'\n    return a\n"),
            ("%page -r 'a'", "a"),
        ):
            self.assertEqual(host.run(code).of("page")[0]["bundle"], {"text/plain": page}, code)
        host.run("%precision 2")
        self.assertEqual(
            (host.run("3.14159").value, host.run("%precision").value, host.run("0.5").value), ("3.14", "'%r'", "0.5")
        )
        for code in (
            "%store not_there",
            "%config A.b = 1",
            "two x",
            "%unalias none",
            "%precision x",
            "%xmode Loud",
            "%pdef none",
            "%rerun 99",
        ):
            self.assertEqual(host.run(code).error, "UsageError", code)


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON is not set: the IPython engine is NOT tested")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
