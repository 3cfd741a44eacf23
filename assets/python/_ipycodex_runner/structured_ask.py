"""The dialogue of one `ask`: the prompt, the schema of the answer, and a second try when the answer does not fit.

In: the arguments of `ask`, the session's replies. Out: requests to the session, then a value. Invariant: the returned
value fits the schema and has the requested type. Absent on purpose: waiting (`host_calls`); how a model is held to a
schema, and the check of an answer against it, which the session does.
"""

from . import arguments, wire

SHOWN = 300  # characters of an answer in a message
RETRY = """Your last answer does not fit the JSON schema that was asked for:
%s
Answer again, with nothing but JSON that fits it. What was asked:

%s"""


class Error(RuntimeError):
    """The session could not do what it was asked; says why."""


Error.__module__ = "ipycodex"


def converse(prompt, schema, tools):
    """Yields requests, is sent replies, returns the value."""
    if type(prompt) is not str:
        raise TypeError("ask(): expected a prompt, got %r" % (prompt,))
    if not prompt.strip():
        raise ValueError("ask(): the prompt is empty")
    wish = {"op": "ask", "prompt": prompt, "tools": [tool_name(tool) for tool in as_tools(tools)]}
    if schema is None:
        return (yield wish)["text"]
    wanted = AnswerFormat(schema)
    wish["schema"] = wanted.schema
    said = yield wish
    value, problems = wanted.parse(said)
    if problems:
        again = RETRY % ("\n".join("- " + problem for problem in problems), prompt)
        said = yield dict(wish, prompt=again)
        value, problems = wanted.parse(said)
    if problems:
        text = said["last"]
        shown = text if len(text) <= SHOWN else text[:SHOWN] + "…"
        what = "the answer does not fit the schema, at the second try either: %s\nit was: %s"
        raise Error(what % ("; ".join(problems), shown))
    return value


def as_tools(tools):
    return [tools] if isinstance(tools, str) or callable(tools) else tools


def tool_name(tool):
    name = tool if isinstance(tool, str) else getattr(tool, "__name__", None)
    if not (isinstance(name, str) and name.isidentifier()):
        raise TypeError("ask(): tools: expected functions or their names, got %r" % (tool,))
    return name


class AnswerFormat:
    """The requested format of an answer: a JSON schema, or a type and its schema."""

    def __init__(self, given):
        self.kind, self.schema = None, given
        if isinstance(given, dict):
            import json

            try:
                self.schema = json.loads(json.dumps(given))
            except (TypeError, ValueError) as error:
                raise TypeError("ask(): schema: not JSON: %s" % error) from None
        else:
            self.kind, self.schema = given, schema_from_type(given)

    def parse(self, said):
        """(value, what does not fit); the session has looked whether it fits the schema."""
        if said.get("problems"):
            return None, said["problems"]
        try:
            value = wire.decode(strip_fence(said["last"]))
        except ValueError as error:
            return None, ["answer: it is not JSON: %s" % error]
        if self.kind is None:
            return value, []
        try:
            return arguments.convert(value, self.kind, "answer"), []
        except (TypeError, ValueError) as error:
            return None, [str(error)]


def schema_from_type(kind):
    import sys

    from . import schema

    shaper = schema.SchemaBuilder(sys.modules[__package__].engine.ns)
    found = shaper.with_definitions(shaper.build(kind, 0))
    if not found:
        raise TypeError("ask(): schema: expected a JSON schema (a dict) or a type such as list[str], got %r" % (kind,))
    return found


def strip_fence(text):
    """The text without the fence that some models put around JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.split("\n", 1)[1][:-3].strip()
    return text
