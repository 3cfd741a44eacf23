"""Schemas of a hundred types, as `ask(schema=...)` and tools send them, against a real validator. It needs the packages
that `needed` names; `python3 test_schemas.py --write` writes the file that the tests of strict schemas read."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Engine, Host  # noqa: E402

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "answer_schemas.jsonl")
TYPES = '''
import collections, dataclasses, datetime, decimal, enum, pathlib, re, typing, uuid
from collections import OrderedDict, defaultdict, deque
from typing import Annotated, Any, Dict, List, Literal, NamedTuple, NewType, Optional, Sequence, Set, Tuple
from typing import TypedDict, Union
import attr, msgspec, numpy, numpy.typing, pandas, pydantic
class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
class Mixed(enum.Enum):
    A = 1
    B = "b"
@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
@dataclasses.dataclass
class Line:
    start: Point
    end: Point
    tags: List[str] = dataclasses.field(default_factory=list)
    name: Optional[str] = None
@dataclasses.dataclass
class Tree:
    value: int
    kids: "List[Tree]" = dataclasses.field(default_factory=list)
@dataclasses.dataclass
class Ping:
    pong: "Optional[Pong]" = None
@dataclasses.dataclass
class Pong:
    ping: Optional[Ping] = None
@dataclasses.dataclass
class Loose:
    data: dict
    other: Any = None
class Pair(NamedTuple):
    a: int
    b: str = "b"
class Movie(TypedDict):
    name: str
    year: int
class Draft(TypedDict, total=False):
    name: str
    year: int
@attr.s(auto_attribs=True)
class Box:
    width: float
    label: str = ""
class Struct(msgspec.Struct):
    name: str
    at: Tuple[float, float] = (0.0, 0.0)
class Inner(pydantic.BaseModel):
    a: int
class Person(pydantic.BaseModel):
    name: str
    inner: Inner
    inners: List[Inner] = []
    by_name: Dict[str, Inner] = {}
    at: Tuple[float, str] = (0.0, "")
    nick: Optional[str] = None
class Node(pydantic.BaseModel):
    value: int
    next: Optional["Node"] = None
class Limited(pydantic.BaseModel):
    n: int = pydantic.Field(ge=1, le=5)
    s: str = pydantic.Field(min_length=2, max_length=4, pattern="^[a-z]+$")
    l: List[int] = pydantic.Field(min_length=1, max_length=3)
class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int
class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int
class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    good: bool = True
class Pet(pydantic.BaseModel):
    pet: Union[Cat, Dog] = pydantic.Field(discriminator="kind")
@pydantic.dataclasses.dataclass
class Dated:
    day: datetime.date
    times: List[datetime.time] = dataclasses.field(default_factory=list)
'''
P, Q = {"x": 1}, {"x": 1, "y": 2}
ROWS = [  # type, values that fit, values that do not
    ("str", ["", "a"], [1, None, ["a"]]),
    ("int", [0, -3, 3.0], [2.5, "3", None, True]),
    ("float", [1, 2.5], ["1", None]),
    ("bool", [True, False], [0, "true"]),
    ("None", [None], [0, ""]),
    ("list", [[], [1, "a", [None], {"a": {"b": [1]}}]], [{}, "a"]),
    ("dict", [{}, {"a": 1, "b": [{"c": None}]}], [[], "a"]),
    ("tuple", [[], [1, "a"]], [{}, 1]),
    ("set", [[], [1, "a"]], [{}, [1, 1]]),
    ("frozenset", [[1, 2]], [[1, 1]]),
    ("deque", [[1]], [{}]),
    ("bytes", ["a"], [1]),
    ("complex", [1.5], ["a"]),
    ("List[str]", [[], ["a", "b"]], [["a", 1], "a"]),
    ("List[int]", [[1, 2]], [["1"], [1.5]]),
    ("List[float]", [[1, 2.5]], [["1"]]),
    ("List[bool]", [[True]], [[1]]),
    ("List[Any]", [[1, "a", {"k": []}]], ["a"]),
    ("List[list]", [[[1], ["a"]]], [[1]]),
    ("List[List[int]]", [[[1], []]], [[["a"]], [1]]),
    ("List[dict]", [[{}, {"a": 1}]], [[1]]),
    ("List[Optional[int]]", [[1, None]], [["a"]]),
    ("List[Point]", [[P, Q], []], [[{}], [{"x": "a"}]]),
    ("Set[int]", [[1, 2]], [[1, 1], ["a"]]),
    ("Set[str]", [["a"]], [["a", "a"]]),
    ("Sequence[float]", [[1.5]], [["a"]]),
    ("typing.Iterable[str]", [["a"]], ["a"]),
    ("typing.Collection[int]", [[1]], [["a"]]),
    ("typing.AbstractSet[int]", [[1, 2]], [[1, 1]]),
    ("Tuple[int, ...]", [[], [1, 2, 3]], [["a"]]),
    ("Tuple[float, float]", [[1, 2.5]], [[1], [1, 2, 3], ["a", 1]]),
    ("Tuple[int, str]", [[1, "a"]], [["a", 1], [1], [1, "a", 2]]),
    ("Tuple[int, str, Point]", [[1, "a", P]], [[1, "a", {}], [1, "a"]]),
    ("Tuple[int, Optional[str]]", [[1, None], [1, "a"]], [[1]]),
    ("Tuple[Tuple[int, str], List[int]]", [[[1, "a"], [2]]], [[[1, 1], [2]]]),
    ("Tuple[Point]", [[P]], [[], [P, P]]),
    ("List[Tuple[str, int]]", [[["a", 1]], []], [[[1, "a"]]]),
    ("Dict[str, int]", [{}, {"a": 1, "b": 2}], [{"a": "x"}, []]),
    ("Dict[str, str]", [{"key": "value", "value": "key"}], [{"a": 1}]),
    ("Dict[str, Any]", [{"a": [1, {"b": None}]}], [1]),
    ("Dict[str, list]", [{"a": [1]}], [{"a": 1}]),
    ("Dict[str, List[int]]", [{"a": [1]}], [{"a": ["x"]}]),
    ("Dict[str, Dict[str, float]]", [{"a": {"b": 1.5}}], [{"a": 1}]),
    ("Dict[str, Tuple[int, str]]", [{"a": [1, "b"]}], [{"a": [1]}]),
    ("Dict[str, Point]", [{"a": P}], [{"a": {}}]),
    ("Dict[str, Optional[int]]", [{"a": None}], [{"a": "x"}]),
    ("Dict[int, str]", [{"1": "a"}], [{"1": 1}]),
    ("List[Dict[str, int]]", [[{"a": 1}, {}]], [[{"a": "x"}]]),
    ("OrderedDict", [{"b": 1, "a": 2}], [[]]),
    ("typing.DefaultDict[str, int]", [{"a": 1}], [{"a": "x"}]),
    ("typing.Mapping[str, float]", [{"a": 1.5}], [{"a": "x"}]),
    ("Optional[int]", [1, None], ["a"]),
    ("Optional[str]", ["a", None], [1]),
    ("Optional[list]", [[1], None], [1]),
    ("Optional[Dict[str, int]]", [{"a": 1}, None], [1]),
    ("Optional[Point]", [P, None], [{}]),
    ("Union[int, str]", [1, "a"], [None, 1.5]),
    ("Union[int, List[int]]", [1, [1]], ["a", ["a"]]),
    ("Union[Point, Pair]", [Q, {"a": 1, "b": "x"}], [{"z": 1}]),
    ("Union[List[str], Dict[str, str]]", [["a"], {"a": "b"}, [], {}], ["a"]),
    ("Union[Dict[str, int], int, None]", [{"a": 1}, 1, None], ["a"]),
    ("Union[Tuple[int, str], str]", [[1, "a"], "a"], [[1]]),
    ("Literal['a', 'b']", ["a"], ["c", 1]),
    ("Literal[1, 2]", [1], [3, "1"]),
    ("Literal['a', 1, None]", ["a", 1, None], ["b"]),
    ("Literal[True]", [True], [False, 1]),
    ("Color", ["red"], ["RED", "green", 1]),
    ("Level", [1, 2], [3, "1"]),
    ("Mixed", [1, "b"], ["A"]),
    ("List[Color]", [["red", "blue"]], [["green"]]),
    ("Dict[str, Color]", [{"a": "red"}], [{"a": "x"}]),
    ("datetime.datetime", ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05"], ["soon", 5]),
    ("datetime.date", ["2024-01-02"], ["soon"]),
    ("datetime.time", ["03:04:05"], ["soon"]),
    ("datetime.timedelta", [1.5], ["soon"]),
    ("uuid.UUID", ["12345678-1234-5678-1234-567812345678"], ["x"]),
    ("pathlib.Path", ["/a"], [1]),
    ("decimal.Decimal", [1.5], ["a"]),
    ("re.Pattern", ["a+"], ["(", 1]),
    ("numpy.ndarray", [[1, 2.5], [[1], [2]]], ["a"]),
    ("numpy.typing.NDArray[numpy.float64]", [[1.5]], ["a"]),
    ("pandas.Series", [[1, 2]], [1]),
    ("Annotated[int, 'how many']", [1], ["a"]),
    ("Annotated[List[str], 'names']", [["a"]], ["a"]),
    ("NewType('Age', int)", [1], ["a"]),
    ("Point", [P, Q], [{}, {"x": "a"}, 1]),
    ("Line", [{"start": P, "end": Q}, {"start": P, "end": P, "tags": ["a"], "name": None}], [{"start": P}]),
    ("Tree", [{"value": 1}, {"value": 1, "kids": [{"value": 2, "kids": []}]}], [{"value": 1, "kids": [{}]}]),
    ("List[Tree]", [[{"value": 1, "kids": []}]], [[{"kids": []}]]),
    ("Ping", [{}, {"pong": {"ping": {"pong": None}}}], [{"pong": 1}]),
    ("Loose", [{"data": {"a": 1}, "other": [1]}, {"data": {}}], [{"data": 1}]),
    ("Pair", [{"a": 1}, {"a": 1, "b": "c"}], [{"b": "c"}]),
    ("Movie", [{"name": "a", "year": 1}], [{"name": "a"}]),
    ("Draft", [{}, {"year": 1}], [{"year": "a"}]),
    ("List[Draft]", [[{}, {"name": "a"}]], [[{"name": 1}]]),
    ("Box", [{"width": 1.5}, {"width": 1, "label": "a"}], [{}]),
    ("Struct", [{"name": "a"}, {"name": "a", "at": [1, 2]}], [{"name": "a", "at": [1]}]),
    ("List[Struct]", [[{"name": "a"}]], [[{}]]),
    ("Inner", [{"a": 1}], [{}]),
    ("Person", [
        {"name": "a", "inner": {"a": 1}},
        {"name": "a", "inner": {"a": 1}, "inners": [{"a": 2}], "by_name": {"x": {"a": 3}},
         "at": [1, "b"], "nick": None},
    ], [{"name": "a", "inner": {}}, {"name": "a", "inner": {"a": 1}, "at": ["b", 1]}]),
    ("Optional[Person]", [None, {"name": "a", "inner": {"a": 1}}], [1]),
    ("Dict[str, Person]", [{"p": {"name": "a", "inner": {"a": 1}}}], [{"p": {"name": "a"}}]),
    ("Tuple[Person, Inner]", [[{"name": "a", "inner": {"a": 1}}, {"a": 1}]], [[{"a": 1}, {"a": 1}]]),
    ("Node", [{"value": 1}, {"value": 1, "next": {"value": 2, "next": None}}], [{"value": 1, "next": {}}]),
    ("List[Node]", [[{"value": 1}]], [[{}]]),
    ("Limited", [{"n": 1, "s": "ab", "l": [1]}], [{"n": 9, "s": "ab", "l": [1]}, {"n": 1, "s": "A", "l": []}]),
    ("Open", [{"a": 1}, {"a": 1, "more": 2, "b": [1]}], [{"b": 1}]),
    ("Pet", [{"pet": {"kind": "cat", "lives": 9}}, {"pet": {"kind": "dog"}}], [{"pet": {"kind": "cow"}}]),
    ("Dated", [{"day": "2024-01-02", "times": ["03:04:05"]}], [{"day": "soon"}]),
    ("pydantic.create_model('Made', a=(int, ...), b=(List[float], [1.0]))",
     [{"a": 1}, {"a": 1, "b": [2]}], [{"b": []}]),
]  # fmt: skip


def needed():
    try:
        import attr, jsonschema, msgspec, numpy, pandas, pydantic  # noqa: E401, F401
    except ImportError as error:
        return str(error)
    return ""


def parts(schema):
    """All parts of a schema."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("items", "additionalProperties"):
        yield from parts(schema.get(key))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(key, ()):
            yield from parts(part)
    for key in ("properties", "$defs"):
        for part in schema.get(key, {}).values():
            yield from parts(part)


MADE = """
import json
from _ipycodex_runner import schema
def made(hint):
    builder = schema.SchemaBuilder(globals())
    return builder.with_definitions(builder.build(hint, 0))
print(json.dumps([made(hint) for hint in [%s]]))
"""


def rows(host):
    """The rows with their schemas, made there."""
    assert host.run(TYPES).last["status"] == "ok"
    made = json.loads(host.run(MADE % ", ".join(hint for hint, _fit, _misfit in ROWS)).output)
    for (hint, fit, misfit), schema in zip(ROWS, made):
        yield {"type": hint, "schema": schema, "fit": fit, "misfit": misfit}


def text(row):
    return json.dumps(row, ensure_ascii=False, default=str) + "\n"


@unittest.skipIf(needed(), needed())
class SchemaCase(Engine, unittest.TestCase):
    def test_a_real_validator_takes_them_and_values_of_them(self):
        import jsonschema

        for row in rows(self.host()):
            schema, where = row["schema"], row["type"]
            jsonschema.Draft202012Validator.check_schema(schema)
            tool = {"type": "object", "properties": {"a": {k: v for k, v in schema.items() if k != "$defs"}}}
            tool["$defs"] = schema.get("$defs", {})
            for validator, value in (
                (jsonschema.Draft202012Validator(schema), lambda value: value),
                (jsonschema.Draft202012Validator(tool), lambda value: {"a": value}),
                (jsonschema.Draft7Validator(schema), lambda value: value),
            ):
                for fit in row["fit"]:
                    validator.validate(value(fit))
            for part in parts(schema):
                kinds = part.get("type", [])
                if "array" in (kinds if isinstance(kinds, list) else [kinds]) or "prefixItems" in part:
                    self.assertIsInstance(part.get("items"), dict, where)
                if "enum" in part or "const" in part:
                    self.assertIn("type", part, where)
                self.assertFalse("$defs" in part and part is not schema, where)

    def test_calls_with_values_of_them_and_with_their_texts(self):
        host = self.host()
        self.assertEqual(host.run(TYPES).last["status"], "ok")
        for hint, fit, misfit in ROWS:
            self.assertEqual(host.run("def f(a: %s): return repr(a)" % hint).last["status"], "ok", hint)
            for value in fit:
                plain = host.ask("tool", op="call", name="f", args={"a": value})
                self.assertIn("tool", plain, (hint, value))
                if isinstance(value, (list, dict)):
                    again = host.ask("tool", op="call", name="f", args={"a": json.dumps(value)})
                    if hint != "Union[Tuple[int, str], str]":  # there it is a text
                        self.assertEqual(plain["tool"], again.get("tool"), (hint, value))
            for value in misfit:
                answer = host.ask("tool", op="call", name="f", args={"a": value})
                if "error" in answer:
                    self.assertEqual(answer["error"]["ename"], "TypeError", (hint, value))
                    self.assertTrue(answer["error"]["evalue"].startswith("argument "), (hint, value))

    def test_the_file_holds_them(self):
        with open(FILE, encoding="utf-8") as file:
            how = "python3 test_schemas.py --write renews it"
            self.assertEqual(file.read(), "".join(map(text, rows(self.host()))), how)


if __name__ == "__main__":
    if "--write" in sys.argv:
        with open(FILE, "w", encoding="utf-8") as out:
            out.writelines(map(text, rows(Host())))
    else:
        unittest.main()
