"""Live functions as tools, in both engines: what they are told to take, what they are given, what becomes of their
values."""

import base64
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine  # noqa: E402

IPYTHON = os.environ.get("IPYCODEX_TEST_IPYTHON")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

TYPES = r"""
import asyncio, base64, dataclasses, datetime, decimal, enum, functools, pathlib, sys, types, typing
from typing import Dict, List, NamedTuple, Optional, Set, Tuple, Union
PNG = base64.b64decode(%r)
class Color(enum.Enum):
    RED = 'red'
    BLUE = 'blue'
@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
@dataclasses.dataclass
class Tree:
    value: int
    kids: "List[Tree]" = dataclasses.field(default_factory=list)
class Pair(NamedTuple):
    a: int
    b: Point = None
class Bad:
    def __repr__(self): raise ValueError
class Seven:
    def __repr__(self): return 7
class Cat:
    "A cat."
    def __call__(self, word: str) -> str:
        "Says it."
        return word
    def loud(self, word: str = 'a'):
        return word.upper()
cat = Cat()
loud = cat.loud
""" % PNG

SCHEMAS = [
    ("def f(city): return city", '{"city": {}}', ["city"], ""),
    ("def f(a: int, b: float = 1.5, *, c: bool = True, d: dict = {}, e: list = ()): 'Doc.'",
     '{"a": {"type": "integer"}, "b": {"type": "number", "default": 1.5}, "c": {"type": "boolean", "default": true}, '
     '"d": {"type": "object", "default": {}}, "e": {"type": "array", "items": {}, "default": []}}', ["a"], "Doc."),
    ("def f(a: 'Optional[int]' = None, b: Union[int, str] = 1) -> int: pass",
     '{"a": {"type": ["integer", "null"], "default": null}, "b": {"type": ["integer", "string"], "default": 1}}', [],
     "Returns: int"),
    ("def f(c: Color = Color.BLUE): pass", '{"c": {"type": "string", "enum": ["red", "blue"], "default": "blue"}}', [],
     ""),
    ("def f(p: Point): pass",
     '{"p": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x"]}}',
     ["p"], ""),
    ("def f(t: Tree): pass", '{"t": {"$ref": "#/$defs/Tree"}}', ["t"], ""),
    ("def f(a: list, b: Optional[list] = None, *c): pass",
     '{"a": {"type": "array", "items": {}}, "b": {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}], '
     '"default": null}, "c": {"type": "array", "items": {}}}', ["a"], ""),
    ("def f(a: Tuple[float, float], b: Tuple[int, str], c: typing.Sequence, d: typing.Iterable[Set]): pass",
     '{"a": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, "b": {"type": "array", '
     '"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": ["integer", "string"]}, "minItems": '
     '2, "maxItems": 2}, "c": {"type": "array", "items": {}}, "d": {"type": "array", "items": {"type": "array", '
     '"items": {}, "uniqueItems": true}}}', ["a", "b", "c", "d"], ""),
    ("def f(a: typing.Literal[1, None], b: Union[str, pathlib.Path], c: typing.Literal['x', 2]): pass",
     '{"a": {"type": ["integer", "null"], "enum": [1, null]}, "b": {"type": "string"}, '
     '"c": {"type": ["string", "integer"], "enum": ["x", 2]}}', ["a", "b", "c"], ""),
    ("def f(s: Set[int], t: Tuple[int, ...], d: Dict[str, float], p: pathlib.Path): pass",
     '{"s": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}, "t": {"type": "array", "items": '
     '{"type": "integer"}}, "d": {"type": "object", "additionalProperties": {"type": '
     '"number"}}, "p": {"type": "string"}}', ["s", "t", "d", "p"], ""),
    ("def f(a: 'Nope', b: 'List[Nope]' = 1, c: 'int' = 2): pass",
     '{"a": {}, "b": {"default": 1}, "c": {"type": "integer", "default": 2}}', ["a"], ""),
    ("def f(a=Bad(), b=float('nan'), c='x' * 10**6, d=10**400, e=Bad): pass",
     '{"a": {}, "b": {}, "c": {}, "d": {}, "e": {}}', [], ""),
    ("def f(a, /, *rest: int, **named): pass", '{"a": {}, "rest": {"type": "array", "items": {"type": "integer"}}}',
     ["a"], ""),
    ("def f(a: int, # the '#' one\n    b='#,(', # two\n    *, c=3):  # three\n    pass",
     '{"a": {"type": "integer", "description": "the \'#\' one"}, "b": {"description": "two", "default": "#,("}, "c": '
     '{"description": "three", "default": 3}}', ["a"], ""),
    ("def f(a, b):\n    '''Sum.\n\n    Args:\n        a (int): first\n            of all\n        b: second\n"
     "    Returns:\n        it\n    '''", '{"a": {"description": "first of all"}, "b": {"description": "second"}}',
     ["a", "b"], None),
    ("def f(a, b) -> int:\n    '''Sum.\n\n    Parameters\n    ----------\n    a : int\n        first\n    b\n"
     "        second\n\n    Returns\n    -------\n    int\n    '''",
     '{"a": {"description": "first"}, "b": {"description": "second"}}', ["a", "b"], None),
    ("def f(a, b):\n    '''Sum.\n\n    :param int a: first\n    :param b: second\n    '''",
     '{"a": {"description": "first"}, "b": {"description": "second"}}', ["a", "b"], None),
    ("f = functools.partial(lambda a, b: a, b=Point(1))", '{"a": {}, "b": {}}', ["a"], None),
    ("f = cat", '{"word": {"type": "string"}}', ["word"], "Says it.\n\nReturns: str"),
    ("f = loud", '{"word": {"type": "string", "default": "a"}}', [], ""),
    ("f = Point", '{"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}}', ["x"], ""),
    ("f = max", '{"args": {"type": "array", "description": "arguments by position", "items": {}}}', [], None),
    ("def g(p: Point): 'In.'\nf = functools.wraps(g)(lambda *a, **k: g(*a, **k))",
     '{"p": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x"]}}',
     ["p"], "In."),
    ("from __future__ import annotations\ndef f(p: List[Point], q: Missing = None): pass",
     '{"p": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": '
     '"integer"}}, "required": ["x"]}}, "q": {"default": null}}', ["p"], ""),
]  # fmt: skip

CALLS = [  # definition, arguments, text or the error's beginning
    ("def f(city): return city", {"city": "Brisbane"}, "Brisbane"),
    ("def f(city): return city", {}, "TypeError: f() missing 1 required positional argument: 'city'"),
    ("def f(city): return city", {"town": 1}, "TypeError: f() got an unexpected keyword argument 'town'"),
    ("def f(a, b=2, /, c=3, *rest, d=4, **named): return [a, b, c, rest, d, named]",
     {"a": 1, "c": 9, "rest": [7, 8], "d": 5, "e": 6}, '[1, 2, 9, [7, 8], 5, {"e": 6}]'),
    ("def f(a=1, b=2, /): return [a, b]", {"b": 5}, "[1, 5]"),
    ("def f(*args, **kwargs): return [args, kwargs]", {"args": [1], "kwargs": {"x": 2}}, '[[1], {"x": 2}]'),
    ("f = max", {"args": [3, 5]}, "5"),
    ("def f(p: Point): return repr(p)", {"p": {"x": 1}}, "Point(x=1, y=0)"),
    ("def f(p: 'List[Point]'): return repr(p)", {"p": [{"x": 1}]}, "[Point(x=1, y=0)]"),
    ("def f(p: Dict[str, Point]): return repr(p)", {"p": {"k": {"x": 1}}}, "{'k': Point(x=1, y=0)}"),
    ("def f(p: Optional[Point] = None): return repr(p)", {"p": None}, "None"),
    ("def f(p: Union[int, Point]): return repr(p)", {"p": {"x": 3}}, "Point(x=3, y=0)"),
    ("def f(p: Union[int, str]): return repr(p)", {"p": [1]},
     "TypeError: argument 'p': expected int or str, got [1]"),
    ("def f(p: Point): return 1", {"p": {"x": 1, "z": 2}}, "TypeError: argument 'p': Point has x, y; unknown: z"),
    ("def f(p: Point): return 1", {"p": {}}, "TypeError: argument 'p': Point has x, y; missing: x"),
    ("def f(p: Point): return 1", {"p": "no"}, "TypeError: argument 'p': expected an object with x, y, got 'no'"),
    ("def f(p: List[Point]): return 1", {"p": [{"x": 1}, 5]},
     "TypeError: argument 'p[1]': expected an object with x, y, got 5"),
    ("def f(t: Tree): return repr(t.kids[0].kids)", {"t": {"value": 1, "kids": [{"value": 2}]}}, "[]"),
    ("def f(c: Color): return c.name", {"c": "blue"}, "BLUE"),
    ("def f(c: Color): return c.name", {"c": "RED"}, "RED"),
    ("def f(c: Color): return c.name", {"c": "green"},
     "TypeError: argument 'c': expected one of 'red', 'blue', got 'green'"),
    ("def f(t: Tuple[int, Point], s: Set[int]): return repr([t, s])", {"t": [1, {"x": 2}], "s": [1, 1]},
     "[(1, Point(x=2, y=0)), {1}]"),
    ("def f(t: Tuple[int, int]): return 1", {"t": [1]}, "TypeError: argument 't': expected a list of 2, got [1]"),
    ("def f(p: Pair): return repr(p)", {"p": {"a": 1, "b": {"x": 2}}}, "Pair(a=1, b=Point(x=2, y=0))"),
    ("def f(p: pathlib.Path, b: bytes, q: decimal.Decimal): return repr([p.name, b, q])",
     {"p": "/a/b", "b": "\u00e9", "q": 1.5}, "['b', b'\\xc3\\xa9', Decimal('1.5')]"),
    ("def f(t: datetime.datetime, d: datetime.date): return [t, d]", {"t": "2024-01-02T03:04:05Z", "d": "2024-01-02"},
     '["2024-01-02T03:04:05+00:00", "2024-01-02"]'),
    ("def f(d: datetime.date): return d", {"d": "soon"},
     "TypeError: argument 'd': expected an ISO 8601 date, got 'soon'"),
    ("async def f(a):\n    await asyncio.sleep(0)\n    return a", {"a": 7}, "7"),
    ("f = cat", {"word": "miau"}, "miau"),
    ("f = loud", {}, "A"),
    ("f = functools.partial(lambda a, b: [a, b], b=2)", {"a": 1}, "[1, 2]"),
    ("f = Point", {"x": 1}, '{"x": 1, "y": 0}'),
    ("def f(n):\n    for i in range(n): yield i", {"n": 3}, "[0, 1, 2]"),
    ("async def f():\n    yield 1", {}, "[1]"),
    ("def f():\n    yield 1\n    1/0", {}, "ZeroDivisionError: division by zero"),
    ("f = max", {"args": "[3, 5]"}, "5"),
    ("def f(*names: str): return list(names)", {"names": '["a", "b"]'}, '["a", "b"]'),
    ("def f(**options: int): return options", {"options": '{"x": "2"}'}, '{"x": 2}'),
    ("def f(): return None", {}, "null"),
    ("def f(): return [float('nan'), -float('inf'), {(1, 2): 3}, '\\ud800', 'a\\0']", {},
     '["NaN", "-Infinity", {"(1, 2)": 3}, "\ufffd", "a\\u0000"]'),
    ("def f():\n    l = [1]\n    l.append(l)\n    return l", {}, '[1, "<list: contains itself>"]'),
    ("def f(): return {'p': Point(1), 'c': Color.RED, 's': {1}, 'path': pathlib.Path('/x'), 'b': b'x'}", {},
     '{"p": {"x": 1, "y": 0}, "c": "red", "s": [1], "path": "/x", "b": "b\'x\'"}'),
    ("def f(): return Bad()", {}, "<Bad: repr() raised ValueError>"),
    ("def f(): return [Seven()]", {}, '["<Seven: repr() raised TypeError>"]'),
    ("def f(): return 10**5000", {}, '"<int of 16610 bits>"'),
    ("def f(): raise SystemExit(3)", {}, "SystemExit: 3"),
    ("def f(): raise KeyboardInterrupt", {}, "KeyboardInterrupt: "),
    ("def f():\n    class E(Exception):\n        def __str__(self): raise ValueError\n    raise E", {},
     "E: <unprintable E>"),
    ("def f(): return '\\ud800\\0x'", {}, "\ufffd\x00x"),
    ("f = 5", {}, "TypeError: Non-callable tool(s): f"),
    ("del f", {}, "NameError: Missing tool(s) in user_ns: f"),
]  # fmt: skip


GIVEN = [  # annotation, what the model sends, the value that the function has or what of it is wrong
    ("List[str]", '["a", "b"]', "['a', 'b']"),
    ("list", "[1]", "[1]"),
    ("List[str]", "a", "expected List[str], got 'a'"),
    ("List[str]", {"a": 1}, "expected List[str], got {'a': 1}"),
    ("List[int]", ["1", 2.0], "[1, 2]"),
    ("List[int]", [1, "x"], "expected int, got 'x'"),
    ("Optional[List[str]]", '["a"]', "['a']"),
    ("Optional[List[str]]", "a", "expected List[str], got 'a'"),
    ("typing.Sequence[str]", '["a"]', "['a']"),
    ("typing.Iterable[str]", "ab", "expected Iterable[str], got 'ab'"),
    ("Set[int]", "[1, 1]", "{1}"),
    ("Tuple[int, str]", '[1, "a"]', "(1, 'a')"),
    ("Tuple[float, ...]", ["1", 2], "(1.0, 2.0)"),
    ("tuple", "[1]", "(1,)"),
    ("Dict[str, int]", '{"a": "1"}', "{'a': 1}"),
    ("Dict[int, str]", {"1": "a"}, "{1: 'a'}"),
    ("Dict[int, str]", {"x": "a"}, "expected int, got 'x'"),
    ("dict", "a", "expected dict, got 'a'"),
    ("dict", [1], "expected dict, got [1]"),
    ("bool", "false", "False"),
    ("bool", "True", "True"),
    ("bool", True, "True"),
    ("bool", "no", "expected bool, got 'no'"),
    ("bool", 0, "expected bool, got 0"),
    ("Optional[bool]", "null", "None"),
    ("Optional[bool]", "FALSE", "False"),
    ("int", "3", "3"),
    ("int", 3.0, "3"),
    ("int", "-3", "-3"),
    ("int", 2.5, "expected int, got 2.5"),
    ("int", "2.5", "expected int, got '2.5'"),
    ("int", True, "expected int, got True"),
    ("int", None, "expected int, got None"),
    ("int", "", "expected int, got ''"),
    ("float", 3, "3.0"),
    ("float", "2.5", "2.5"),
    ("float", "-inf", "-inf"),
    ("float", "x", "expected float, got 'x'"),
    ("float", [1], "expected float, got [1]"),
    ("str", "3", "'3'"),
    ("str", "[1]", "'[1]'"),
    ("str", 3, "expected str, got 3"),
    ("str", None, "expected str, got None"),
    ("Optional[str]", "null", "'null'"),
    ("Union[int, str]", "3", "'3'"),
    ("Union[int, float]", 3, "3"),
    ("Union[int, List[int]]", "[3]", "[3]"),
    ("Union[int, List[int]]", "3", "3"),
    ("Union[List[str], Dict[str, str]]", '{"a": "b"}', "{'a': 'b'}"),
    ("Union[List[str], Dict[str, str]]", "a", "expected List[str] or Dict[str, str], got 'a'"),
    ("Union[datetime.date, int]", "2024-01-02", "datetime.date(2024, 1, 2)"),
    ("typing.Literal[1, 'a']", "1", "1"),
    ("typing.Literal[1, 'a']", "a", "'a'"),
    ("typing.Literal[True]", "true", "True"),
    ("typing.Literal[1]", 2, "expected one of 1, got 2"),
    ("enum.IntEnum('Level', 'LOW HIGH')", "2", "<Level.HIGH: 2>"),
    ("Point", '{"x": "1"}', "Point(x=1, y=0)"),
    ("Point", {"x": [1]}, "expected int, got [1]"),
    ("Pair", "[1]", "Pair(a=1, b=None)"),
    ("Pair", [1, None], "Pair(a=1, b=None)"),
    ("Pair", [1, {"x": 1}, 3], "expected a list of at most 2"),
    ("pathlib.PurePath", 3, "expected a string, got 3"),
    ("decimal.Decimal", "2.5", "Decimal('2.5')"),
    ("decimal.Decimal", "x", "expected a number, got 'x'"),
    ("bytes", 3, "expected a string, got 3"),
    ("typing.Any", '["a"]', "'[\"a\"]'"),
    ("object", "3", "'3'"),
    ("'Nope'", "3", "'3'"),
    ("typing.NewType('Age', int)", "3", "3"),
    ("typing.Mapping[str, int]", '{"a": 1}', "{'a': 1}"),
    ("typing.Callable", "x", "'x'"),
    ("type(None)", "null", "None"),
]  # fmt: skip

NO_OBJECTS = [[1], [["a", 1]], "x", "[1]", 3, None, True, ""]


class Both(Engine):
    def start(self):
        host = self.host()
        self.assertEqual(host.run(TYPES).last["status"], "ok")
        return host

    def call(self, host, name="f", **arguments):
        answer = host.ask("tool", op="call", name=name, args=arguments)
        if "error" in answer:
            return "%s: %s" % (answer["error"]["ename"], answer["error"]["evalue"])
        return answer["tool"]["bundle"]["text/plain"]

    def test_schemas(self):
        import json

        host = self.start()
        for code, properties, required, description in SCHEMAS:
            self.assertEqual(host.run(code).last["status"], "ok", code)
            row = host.ask("tool", op="describe", names=["f"])["tools"][0]
            self.assertEqual(row["schema"]["properties"], json.loads(properties), code)
            self.assertEqual(row["schema"]["required"], required, code)
            if description is not None:
                self.assertEqual(row["description"], description, code)

    def test_describing_never_fails(self):
        host = self.start()
        for code in (
            "class Meta(type):\n    def __getattr__(cls, name): raise RuntimeError\nclass f(metaclass=Meta):\n"
            "    def __init__(self, a): pass",
            "class F:\n    @property\n    def __signature__(self): 1/0\n    @property\n    def __doc__(self): 1/0\n"
            "    def __call__(self): pass\nf = F()",
            "def f(a): pass\nf.__annotations__ = 5 if False else {'a': Bad()}",
            "def f(a): pass\nf.__doc__ = 'x' * 10**6",
            "def f(): pass\nf.__wrapped__ = f",
            "import enum\nf = lambda a: a\nf.__annotations__ = {'a': enum.Enum('Big', [str(n) for n in range(5000)])}",
            "ns = {}\nfor n in range(40): exec('import dataclasses\\n@dataclasses.dataclass\\nclass C%d:\\n' % n + "
            "''.join('    a%d: \"C%d\"\\n' % (m, (n * 7 + m) % 40) for m in range(8)), ns)\ndef f(a: ns['C0']): pass",
        ):
            self.assertEqual(host.run(code).last["status"], "ok", code)
            row = host.ask("tool", op="describe", names=["f"])["tools"][0]
            self.assertLess(len(str(row)), 60_000, code)
            self.assertEqual(row["schema"]["type"], "object", code)
        rows = host.ask("tool", op="describe", names=["x" * 10**6, "PNG", "sum", "loud.nope"])["tools"]
        self.assertEqual([row.get("found", row.get("callable")) for row in rows], [False, False, True, False])

    def test_calls(self):
        host = self.start()
        for code, arguments, expected in CALLS:
            self.assertEqual(host.run(code).last["status"], "ok", code)
            self.assertEqual(
                (
                    self.call(host, **arguments)[: len(expected)]
                    if "Error: argument" in expected
                    else self.call(host, **arguments)
                ),
                expected,
                code,
            )
        self.assertEqual(host.run("1").value, "1")

    def test_an_argument_comes_in_the_type_of_its_annotation(self):
        host = self.start()
        for annotation, given, expected in GIVEN:
            self.assertEqual(host.run("def f(a: %s): return repr(a)" % annotation).last["status"], "ok", annotation)
            told = self.call(host, a=given)
            if expected.startswith("expected "):
                self.assertRegex(told, r"^TypeError: argument .a.*: ", (annotation, given))
                self.assertIn(expected, told, (annotation, given))
            else:
                self.assertEqual(told, expected, (annotation, given))
        host.run("def f(a, b: int = None): return repr([a, b])")
        self.assertEqual(self.call(host, a="[1]", b=None), "['[1]', None]")

    def test_arguments_that_are_no_object_are_told(self):
        host = self.start()
        for code, names in (
            ("def f(a, b=1): return a", "the names a, b"),
            ("def f(): return 1", "no names"),
            ("f = max", "the names args"),
        ):
            host.run(code)
            for given in NO_OBJECTS:
                answer = host.ask("tool", op="call", name="f", args=given)
                self.assertEqual(answer["error"]["ename"], "TypeError", (code, given))
                expected = "expected a JSON object with %s" % names
                self.assertIn(expected, answer["error"]["evalue"], (code, given))
        host.run("def f(a): return a")
        answer = host.ask("tool", op="call", name="f", args='{"a": 1}')
        self.assertEqual(answer["tool"]["bundle"]["text/plain"], "1")

    def test_definitions_stand_at_the_root(self):
        host = self.start()
        host.run(
            "def model(name, schema):\n"
            "    return type(name, (), {'model_json_schema': staticmethod(lambda: schema)})\n"
            "place = {'type': 'object', 'properties': {'at': {'prefixItems': [{'type': 'number'}] * 2, 'type': "
            "'array', 'minItems': 2, 'maxItems': 2}}}\n"
            "other = {'type': 'object', 'properties': {'up': {'$ref': '#'}, 'enum': {'$ref': '#/$defs/Place'}}, "
            "'$defs': {'Place': {'enum': [1, None]}}}\n"
            "A = model('A', {'properties': {'p': {'$ref': '#/$defs/Place'}}, '$defs': {'Place': place}})\n"
            "B = model('B', {'$ref': '#/definitions/B[int]', 'definitions': {'Place': place, 'B[int]': {'items': "
            "[{'$ref': '#/definitions/Place'}], 'type': 'array'}}})\n"
            "C = model('C', other)\n"
            "def f(a: A, b: List[B], c: Optional[C] = None, d: A = None, t: Tree = None): pass"
        )
        schema = host.ask("tool", op="describe", names=["f"])["tools"][0]["schema"]
        defs, given = schema["$defs"], schema["properties"]
        place = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
        self.assertEqual(given["a"], {"properties": {"p": {"$ref": "#/$defs/Place"}}})
        self.assertEqual(defs["Place"], {"type": "object", "properties": {"at": place}})
        self.assertEqual(given["b"]["items"], {"$ref": "#/$defs/B_int_"})
        self.assertEqual(defs["B_int_"], {"type": "array", "prefixItems": [{"$ref": "#/$defs/Place"}], "items": {}})
        self.assertEqual(given["c"]["anyOf"][0], {"$ref": "#/$defs/C"})
        self.assertEqual(defs["C"]["properties"], {"up": {"$ref": "#/$defs/C"}, "enum": {"$ref": "#/$defs/Place_2"}})
        self.assertEqual(defs["Place_2"], {"type": ["integer", "null"], "enum": [1, None]})
        self.assertEqual(given["d"], dict(given["a"], default=None))
        kids = defs["Tree"]["properties"]["kids"]
        self.assertEqual(kids, {"type": "array", "items": {"$ref": "#/$defs/Tree"}})

    def test_large_results_tell_their_size(self):
        host = self.start()
        host.run(
            "def text(): return 'x\\n' * (30 << 20)\ndef items(): return list(range(2_000_000))\ndef endless():\n"
            "    while True: yield 1"
        )
        text = self.call(host, "text")
        self.assertIn("[… 62,914,560 characters, 31,457,280 lines in all;", text)
        self.assertLess(len(text), 9 << 20)
        text = self.call(host, "items")
        self.assertIn("[… 2,000,000 items in all;", text)
        self.assertTrue(text.startswith("[0, 1,") and text.endswith("1999999]"))
        self.assertIn("only the first 10000 items", self.call(host, "endless"))

    def test_a_value_that_hangs_is_given_up(self):
        host = self.start()
        host.run(
            "import time\nclass Hang:\n    def __repr__(self):\n        while True: time.sleep(100)\n"
            "def f(): return Hang()"
        )
        self.assertEqual(self.call(host), "Error: showing the result took longer than 10 s")
        self.assertEqual(host.run("1").value, "1")

    def test_pictures(self):
        host = self.start()
        host.run(
            "class Offers:\n    def _repr_png_(self): return PNG\n"
            "class Mimes:\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'image/png': "
            "base64.b64encode(PNG).decode(), 'text/html': '<p>'}\n"
            "figure = types.ModuleType('matplotlib.figure')\n"
            "class Figure:\n    dpi = 100\n    def get_size_inches(self): return (1, 1)\n"
            "    def savefig(self, file, **options): file.write(PNG)\n"
            "figure.Figure = Figure\nsys.modules['matplotlib.figure'] = figure\n"
            "class Axes:\n    figure = Figure()\n"
            "def one(what): return {'bytes': PNG, 'offers': Offers(), 'mimes': Mimes(), 'figure': Figure(), 'axes': "
            "Axes()}[what]\n"
            "def many(): return ['before', PNG, Offers(), 'after']\n"
            "def inside(): return {'a': PNG, 'n': [1, Figure()]}\n"
            "def none(): return Figure\n"
            "def crowd(): return [PNG] * 30"
        )
        for what in ("bytes", "offers", "mimes", "figure", "axes"):
            answer = host.ask("tool", op="call", name="one", args={"what": what})
            self.assertEqual(answer["tool"]["bundle"].get("image/png"), PNG, what)
            self.assertTrue(answer["tool"]["bundle"]["text/plain"])
        tool = host.ask("tool", op="call", name="many", args={})["tool"]
        self.assertEqual(
            [part.get("image/png") or part["text/plain"] for part in tool["parts"]], ["before", PNG, PNG, "after"]
        )
        self.assertEqual(tool["bundle"]["image/png"], PNG)
        tool = host.ask("tool", op="call", name="inside", args={})["tool"]
        self.assertEqual(tool["parts"][0]["text/plain"], '{"a": "[picture 1]", "n": [1, "[picture 2]"]}')
        self.assertEqual([part.get("image/png") for part in tool["parts"]], [None, PNG, PNG])
        self.assertNotIn("image/png", host.ask("tool", op="call", name="none", args={})["tool"]["bundle"])
        parts = host.ask("tool", op="call", name="crowd", args={})["tool"]["parts"]
        self.assertEqual(sum("image/png" in part for part in parts), 20)
        self.assertEqual(base64.b64decode(PNG)[:4], b"\x89PNG")

    def test_interrupts_end_tools(self):
        host = self.start()
        host.run(
            "import time, subprocess\ndef naps(): time.sleep(1000)\nasync def waits(): await asyncio.sleep(1000)\n"
            "def runs(): subprocess.run(['sleep', '1000'])\ndef spins():\n    while True: pass"
        )
        for name in ("naps", "waits", "runs", "spins"):
            host.send(type="tool", op="call", name=name, args={})
            host.frame("started")
            cell = host.finish("answer", again=host.interrupt)
            self.assertEqual(cell.last["error"]["ename"], "KeyboardInterrupt", name)
        self.assertEqual(host.run("1").value, "1")


class BuiltIn(Both, unittest.TestCase):
    pass


@unittest.skipUnless(IPYTHON, "IPYCODEX_TEST_IPYTHON names no interpreter with IPython")
class IPythonEngine(Both, unittest.TestCase):
    ipython = IPYTHON


if __name__ == "__main__":
    unittest.main()
