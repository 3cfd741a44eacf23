"""What a prompt refers to, in both engines: each evaluated once, in order, and none of them able to hold the prompt
up."""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine, is_alive  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")


class Both(Engine):
    def values(self, host, *variables):
        answer = host.ask("evaluate", variables=list(variables), shells=[])
        return [entry.get("undefined") or "%s %s" % (entry["type"], entry["text"]) for entry in answer["variables"]]

    def shells(self, host, *shells):
        return host.ask("evaluate", variables=[], shells=list(shells))["shells"]

    def test_expressions(self):
        host = self.host()
        host.run(
            "x = 41\nclass Bad:\n    def __str__(self): raise ValueError('no')\nclass Seven:\n"
            "    def __str__(self): return 7\nclass Odd(str):\n    def __str__(self): return 'odd'\n"
            "bad, seven, odd = Bad(), Seven(), Odd('even')\nasync def later(): return 8\n"
            "def leaves(): raise SystemExit(2)\nimport asyncio\nd = {'k': [1]}\nclass O: a = 1\no = O()\n"
            "nul = 'a\\0b'\nlone = '\\ud800'"
        )
        for expression, expected in (
            ("x", "int 41"),
            (" x ", "int 41"),
            ("x + 1", "int 42"),
            ("[y for y in range(2)]", "list [0, 1]"),
            ("(lambda a: a)(x)", "int 41"),
            ("[z := 3, z][1]", "int 3"),
            ("nope", ["nope"]),
            ("f(nope, other)", ["f", "nope", "other"]),
            ("x.real + missing.real", ["missing"]),
            ("1/0", "ZeroDivisionError Error: ZeroDivisionError: division by zero"),
            ("x.nope", "AttributeError Error: AttributeError: 'int' object has no attribute 'nope'"),
            ("bad", "Bad Error: ValueError: no"),
            ("seven", "Seven Error: TypeError: __str__ returned non-string (type int)"),
            ("odd", "Odd odd"),
            ("later()", "int 8"),
            ("leaves()", "SystemExit Error: SystemExit: 2"),
            ("nul", "str a\0b"),
            ("lone", "str \ufffd"),
            ("None", "NoneType None"),
            ("x = 1", None),
            ("(", None),
            ("", None),
            ("a\0b", None),
            ("(lambda: x)()", "int 41"),
            ("await later()", "int 8"),
            ("await asyncio.sleep(0, x) + 1", "int 42"),
            ("d['k']", "list [1]"),
            ("o.a", "int 1"),
            ("q" * 1_000_000, ["q" * 1_000_000]),
        ):
            (value,) = self.values(host, expression)
            if expected is None:
                self.assertRegex(value, "^(SyntaxError|ValueError) Error: ", expression)
            else:
                self.assertEqual(value, expected, expression[:50])
        self.assertEqual(host.run("x").value, "41")

    def test_only_calls_change_anything(self):
        host = self.host()
        host.run(
            "import collections, os\nd = collections.defaultdict(list)\nl = [1, 2]\nclass O:\n    reads = 0\n"
            "    @property\n    def a(self):\n        O.reads += 1\n        print('read')\n"
            "        return self\n    def __str__(self): return 'O %d' % O.reads\n    @property\n"
            "    def dies(self): os._exit(3)\n    @property\n    def naps(self):\n"
            "        import time; time.sleep(1000)\no = O()"
        )
        self.assertEqual(
            self.values(host, "d['k']", "[n := 1, l.pop()]", "o.a", "o.a is o", "len(d)", "l.pop()", "l"),
            ["list []", "list [1, 2]", "O O 1", "bool True", "int 0", "int 2", "list [1]"],
        )
        self.assertEqual(host.run("(dict(d), l, O.reads, 'n' in globals())").value, "({}, [1], 0, False)")
        self.assertEqual(
            self.values(host, "o.dies"),
            ["ChildProcessError Error: the copy of the interpreter ended without a result, with exit code 3"],
        )
        host.send(type="evaluate", variables=["o.naps"], shells=[])
        host.frame("started")
        self.assertEqual(host.finish("answer", again=host.interrupt).last["error"]["ename"], "KeyboardInterrupt")
        self.assertEqual(host.run("l").value, "[1]")

    def test_what_fails_says_so(self):
        host = self.host()
        host.run("class Bad:\n    def __str__(self): raise ValueError('no')\nbad, d = Bad(), {}")
        for expression, text in (
            ("1 +* 1", "SyntaxError: invalid syntax"),
            ("d['z']", "KeyError: 'z'"),
            ("d.pop('z')", "KeyError: 'z'"),
            ("bad", "ValueError: no"),
            ("[bad][0]", "ValueError: no"),
            ("d", None),
            ("d or 1", None),
        ):
            (entry,) = host.ask("evaluate", variables=[expression], shells=[])["variables"]
            self.assertEqual(entry["text"] if entry.get("failed") else None, text and "Error: " + text, expression)

    def test_each_runs_once_in_order(self):
        host = self.host()
        host.run("seen = []\ndef note(n):\n    seen.append(n)\n    print('noted', n)\n    return n")
        self.assertEqual(
            self.values(host, "note(1)", "note(2)", "note(absent)", "note(3)"), ["int 1", "int 2", ["absent"], "int 3"]
        )
        self.assertEqual(host.run("seen").value, "[1, 2, 3]")

    def test_huge_texts_tell_their_size(self):
        host = self.host()
        host.run("big = 'x\\n' * (40 << 20)")
        (value,) = self.values(host, "big")
        self.assertLess(len(value), 9_000_000)
        head, told, tail = value[len("str ") :].partition("\n[… 83,886,080 characters, 41,943,040 lines in all; ")
        missing, words, tail = tail.partition(" in the middle are left out; print a slice to see it …]\n")
        self.assertTrue(told and words, value[len(value) // 2 - 200 :][:400])
        self.assertEqual(len(head) + len(tail) + int(missing.replace(",", "")), 83_886_080)

    def test_a_text_that_hangs_is_given_up(self):
        host = self.host()
        host.run(
            "import time\nclass Spin:\n    def __str__(self):\n        while True: pass\nclass Nap:\n"
            "    def __str__(self): time.sleep(1000)\nspin, nap = Spin(), Nap()"
        )
        began = time.monotonic()
        self.assertEqual(
            self.values(host, "spin", "nap", "1"),
            ["Spin Error: str() took longer than 5 s", "Nap Error: str() took longer than 5 s", "int 1"],
        )
        self.assertGreater(time.monotonic() - began, 9)
        self.assertEqual(host.run("1").value, "1")

    def test_commands(self):
        host = self.host()
        host.run("import os\nos.environ['WORD'] = 'w'\nos.chdir('/')")
        for command, expected in (
            ("pwd; echo $WORD; echo no >&2", "/\nw"),
            ("printf 'a \\n\\n'", "a"),
            ("echo out; echo why >&2; exit 3", "out\nError: exit status 3: why"),
            ("exit 4", "Error: exit status 4"),
            ("kill -9 $$", "Error: ended by SIGKILL"),
            ("cat", ""),
            ("sleep 1000 & echo on", "on"),
            ("printf '\\377'", "\ufffd"),
            ("a\0b", "Error: ValueError: embedded null byte"),
        ):
            self.assertEqual(self.shells(host, command), [expected], command)
        (value,) = self.shells(host, "yes | head -c 20000000")
        self.assertLess(len(value), 9_000_000)
        self.assertIn("[… 20,000,000 characters, 10,000,000 lines in all;", value)
        host.run(
            "os.mkdir('/tmp/ipycodex-gone-%d' % os.getpid()); os.chdir('/tmp/ipycodex-gone-%d' % os.getpid()); "
            "os.rmdir(os.getcwd())"
        )
        self.assertEqual(self.shells(host, "echo here"), ["here"])

    def test_interrupts_end_them(self):
        host = self.host()
        host.run("import time\ndef naps(): time.sleep(1000)")
        for fields in (
            {"variables": ["naps()", "1"], "shells": []},
            {"variables": [], "shells": ["sleep 1234 & sleep 1235"]},
        ):
            host.send(type="evaluate", **fields)
            host.frame("started")
            cell = host.finish("answer", again=host.interrupt)
            self.assertEqual(cell.last["error"]["ename"], "KeyboardInterrupt")
        self.assertEqual(host.run("1").value, "1")

    def test_an_interrupt_while_a_command_starts_leaves_no_process(self):
        host = self.host()
        host.run("""import os, signal, subprocess
started = []
class Popen(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        started.append(self.pid)
        os.kill(os.getpid(), signal.SIGINT)
subprocess.Popen = Popen""")
        answer = host.ask("evaluate", variables=[], shells=["sleep 1236"])
        self.assertEqual(answer["error"]["ename"], "KeyboardInterrupt")
        process = int(host.run("started[0]").value)
        self.addCleanup(lambda: is_alive(process) and os.kill(process, 9))
        self.until(lambda: not is_alive(process))


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class WithIPython(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
