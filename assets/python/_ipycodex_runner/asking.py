"""One `ask`: the prompt, the schema its answer is to fit, a second try when it does not.

In: what was asked, what was said. Out: wishes for the session, then a value. Invariant: what is returned fits the
schema. Absent on purpose: waiting (`calls`).
"""

from . import arguments, fits, wire

SHOWN = 300  # characters of an answer in a message
AGAIN = """Your last answer does not fit the JSON schema that was asked for:
%s
Answer again, with nothing but JSON that fits it. What was asked:

%s"""


class Error(RuntimeError):
    """The session could not do what it was asked; says why."""


Error.__module__ = "ipycodex"


def steps(prompt, schema, tools):
    """Yields wishes, takes what was said, returns the value."""
    if type(prompt) is not str:
        raise TypeError("ask(): expected a prompt, got %r" % (prompt,))
    if not prompt.strip():
        raise ValueError("ask(): the prompt is empty")
    wish = {"op": "ask", "prompt": prompt, "tools": [named(tool) for tool in one_or_more(tools)]}
    if schema is None:
        return (yield wish)["text"]
    wanted = Wanted(schema)
    wish["schema"] = wanted.sent
    said = yield wish
    value, problems = wanted.read(said["last"])
    if problems:
        again = AGAIN % ("\n".join("- " + problem for problem in problems), prompt)
        said = yield dict(wish, prompt=again)
        value, problems = wanted.read(said["last"])
    if problems:
        text = said["last"]
        shown = text if len(text) <= SHOWN else text[:SHOWN] + "…"
        what = "the answer does not fit the schema, at the second try either: %s\nit was: %s"
        raise Error(what % ("; ".join(problems), shown))
    return wanted.made(value)


def one_or_more(tools):
    return [tools] if isinstance(tools, str) or callable(tools) else tools


def named(tool):
    name = tool if isinstance(tool, str) else getattr(tool, "__name__", None)
    if not (isinstance(name, str) and name.isidentifier()):
        raise TypeError("ask(): tools: expected functions or their names, got %r" % (tool,))
    return name


class Wanted:
    """A schema as it was given (JSON schema, or a type), as it is sent, and what is made of an answer."""

    def __init__(self, given):
        self.kind = None
        if isinstance(given, dict):
            import json

            try:
                self.schema = json.loads(json.dumps(given))
            except (TypeError, ValueError) as error:
                raise TypeError("ask(): schema: not JSON: %s" % error) from None
        else:
            self.kind, self.schema = given, shape(given)
        fits.check(self.schema)
        # Models are held to objects; what else is wanted stands in one.
        self.wrapped = self.schema.get("type") != "object"
        sent = tightened(self.schema)
        if self.wrapped:
            root = {key: sent.pop(key) for key in ("$defs", "definitions") if key in sent}
            sent = dict(
                root, type="object", properties={"value": sent}, required=["value"], additionalProperties=False
            )
        self.sent = sent

    def read(self, text):
        """(value, what does not fit)"""
        try:
            value = wire.decode(unfenced(text))
        except ValueError as error:
            return None, ["it is not JSON: %s" % error]
        if self.wrapped and type(value) is dict and list(value) == ["value"]:
            value = value["value"]
        return value, fits.problems(value, self.schema)

    def made(self, value):
        return value if self.kind is None else arguments.converted(value, self.kind, "answer")


def shape(kind):
    import sys

    from . import schema

    found = schema.Shaper(sys.modules[__package__].engine.ns).shape(kind, 0)
    if not found:
        raise TypeError("ask(): schema: expected a JSON schema (a dict) or a type such as list[str], got %r" % (kind,))
    return found


def unfenced(text):
    """The text without the fence that some models put around JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.split("\n", 1)[1][:-3].strip()
    return text


def tightened(schema):
    """As models are held to it: objects have all their properties and no others, where nothing else is said."""
    if type(schema) is not dict:
        return schema
    tight = dict(schema)
    for key in ("properties", "$defs", "definitions"):
        if type(tight.get(key)) is dict:
            tight[key] = {name: tightened(entry) for name, entry in tight[key].items()}
    for key in ("items", "additionalProperties"):
        if key in tight:
            tight[key] = tightened(tight[key])
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if type(tight.get(key)) is list:
            tight[key] = [tightened(entry) for entry in tight[key]]
    if type(tight.get("properties")) is dict:
        tight.setdefault("additionalProperties", False)
        tight.setdefault("required", list(tight["properties"]))
    return tight
