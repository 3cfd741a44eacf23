"""IPython's line syntax turned into Python: `%magic`, `%%magic`, `!cmd`, `x = !cmd`, `x = %magic`, `obj?`, `?`, `/f x`,
`,f x`, `;f x`.

In: cell text that is not Python. Out: Python text with the same number of lines, or None when there is nothing of it.
Invariant: only a line that begins a statement is looked at; what lies in strings, brackets or behind a trailing
backslash of Python code is never touched. Absent on purpose: what the magics do (`magics`), and expansion of variables,
which happens when they run.
"""

import re

# at the end of whatever else the line begins with
HELP = re.compile(r"(%{0,2}(?!\d)[\w*]+(?:\[[^\]\n]*\]|\.[\w*]+)*)\s*(\?{1,2})\s*;?$")
ASSIGN = re.compile(r"([^=!%?#]+?)\s*=\s*([!%])(?!=)(.*)", re.DOTALL)
MAGIC = re.compile(r"%\s*([^\W\d][\w.]*)(?:\s+(.*))?", re.DOTALL)
WORD = re.compile(r"([^\W\d]\w*)(?:[ \t]+(?![=,.(\[:<>*/+|&^-]+\s)(.*))?", re.DOTALL)
STEP = re.compile(r"[^'\"#()\[\]{}\\]+|'''|\"\"\"|\\.|.", re.DOTALL)
SHELL = "get_ipython()"
# prompts of Python and IPython, and those of the lines that go on after one
PROMPT = re.compile(r"[ \t]*(?:>>>[ \t]?|(?:\[(?:nav|ins)\] )?In \[\d+\]: |\.{3,}:[ ]?)")
GOES_ON = re.compile(r"[ \t]*\.\.\.[ \t]?")


class Lexer:
    """Follows Python's strings and brackets from line to line."""

    def __init__(self):
        self.quote = ""  # of the string that is open
        self.depth = 0  # open brackets
        self.continued = False  # the line before ended in a backslash

    def at_statement(self):
        return not self.quote and not self.depth and not self.continued

    def feed(self, line):
        """Takes one physical line; returns True if it ends in `;` outside strings."""
        position, last = 0, ""
        self.continued = False
        while position < len(line):
            if self.quote:
                position = self.skip_string(line, position)
                last = "'"
                continue
            piece = STEP.match(line, position).group()
            position += len(piece)
            if piece == "#":
                break
            if piece in ("'", '"', "'''", '"""'):
                self.quote = piece
            elif piece in "([{":
                self.depth += 1
            elif piece in ")]}":
                self.depth = max(0, self.depth - 1)
            elif piece == "\\\n":
                self.continued = True
            if piece.strip():
                last = piece.strip()[-1]
        if len(self.quote) == 1 and not line.endswith("\\\n"):
            self.quote = ""  # an unfinished string: Python will complain
        return last == ";"

    def skip_string(self, line, position):
        size = len(self.quote)
        while position < len(line):
            if line[position] == "\\":
                position += 2
            elif line.startswith(self.quote, position):
                self.quote = ""
                return position + size
            else:
                position += 1
        return position


def ends_in_semicolon(text):
    lexer, ends = Lexer(), False
    for line in text.splitlines(True):
        code = line.strip() and not (lexer.at_statement() and line.lstrip().startswith("#"))
        found = lexer.feed(line)
        if code:
            ends = found
    return ends


def transform(code, engine):
    """Python text for `code`, or None if it holds no line syntax. `engine.is_magic(name)` decides about magics without
    `%`."""
    text = dedent(strip_prompts(code))
    if not text.endswith("\n"):
        text += "\n"
    cell = transform_cell_magic(text)
    if cell is not None:
        return cell
    lines = text.splitlines(True)
    lexer = Lexer()
    result = []
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if lexer.at_statement() and line.strip():
            taken, size = line, 1
            while taken.endswith("\\\n") and index - 1 + size < len(lines):
                taken = taken[:-2] + lines[index - 1 + size]
                size += 1
            replaced = transform_statement(taken.rstrip("\n"), engine)
            if replaced is not None:
                result.append(replaced + "\n" * size)
                index += size - 1
                continue
        result.append(line)
        lexer.feed(line)
    changed = "".join(result)
    return None if changed in (code, code + "\n") else changed


def dedent(code):
    first = next((line for line in code.splitlines() if line.strip()), "")
    margin = first[: len(first) - len(first.lstrip())]
    if not margin:
        return code
    return "".join(line[len(margin) :] if line.startswith(margin) else line for line in code.splitlines(True))


def strip_prompts(code):
    """Code that was pasted together with its prompts, without them. In strings they stay, unless the string begins on a
    line with a prompt."""
    if ">>>" not in code and "In [" not in code and "...:" not in code:
        return code
    lexer, lines, seen, prompted, quoted = Lexer(), [], False, False, False
    for line in dedent(code).splitlines(True):
        inside = bool(lexer.quote)
        match = None
        if quoted or not inside:
            match = PROMPT.match(line)
            seen = seen or match is not None
            prompted = prompted or match is not None and ">" in match.group()
            match = match or (GOES_ON.match(line) if prompted else None)
        lines.append(line[match.end() :] if match else line)
        lexer.feed(lines[-1])
        if not inside:
            quoted = match is not None
    return dedent("".join(lines)) if seen else code


def transform_cell_magic(text):
    start = text.lstrip()
    if not start.startswith("%%"):
        return None
    first, _newline, body = start.partition("\n")
    helped = HELP.match(first)
    if helped and not body.strip():
        return help_call(*helped.groups())
    name, _blank, line = first[2:].strip().partition(" ")
    return "%s.run_cell_magic(%r, %r, %r)" % (SHELL, name, line.strip(), body)


def transform_statement(line, engine):
    """Python for one line that begins a statement, or None."""
    indent = line[: len(line) - len(line.lstrip())]
    body = line.strip()
    if body.startswith("!"):
        return indent + transform_shell(body)
    if body.startswith("?"):
        target = body.strip("?; \t")
        return indent + (
            help_call(target, "??" if body.startswith("??") else "?") if target else SHELL + ".show_usage()"
        )
    if body.endswith(("?", "?;")) and "#" not in body:
        match = HELP.search(body)
        if match:
            return indent + help_call(*match.groups())
    if body.startswith("%"):
        return indent + transform_magic(body)
    if body.startswith(("/", ",", ";")):
        return indent + CALLS[body[0]](*body[1:].partition(" ")[::2])
    match = ASSIGN.fullmatch(body)
    if match and is_target(match.group(1)):
        target, kind, rest = match.groups()
        return "%s%s = %s" % (
            indent,
            target,
            "%s.getoutput(%r)" % (SHELL, rest) if kind == "!" else transform_magic("%" + rest),
        )
    match = WORD.fullmatch(body)
    if match and engine.is_magic(match.group(1)) and not is_python(body):
        return "%s%s.run_line_magic(%r, %r)" % (indent, SHELL, match.group(1), match.group(2) or "")
    return None


def transform_shell(body):
    if body.startswith("!!"):
        return "%s.getoutput(%r)" % (SHELL, body[2:])
    return "%s.system(%r)" % (SHELL, body[1:])


def transform_magic(body):
    match = MAGIC.fullmatch(body)
    # not a magic's name: the error comes when the line runs
    name, line = match.groups() if match else body[1:].partition(" ")[::2]
    return "%s.run_line_magic(%r, %r)" % (SHELL, name, (line or "").strip())


def help_call(target, marks):
    name = "psearch" if "*" in target else "pinfo2" if marks == "??" else "pinfo"
    return "%s.run_line_magic(%r, %r)" % (SHELL, name, target)


def quote_call(name, *arguments):
    return "%s(%s)" % (name, ", ".join(map(repr, arguments)))


CALLS = {
    # alone it stays the error it is
    "/": lambda name, line: "%s(%s)" % (name, ", ".join(line.split())) if name else "/",
    ",": lambda name, line: quote_call(name, *line.split() or [""]),
    ";": lambda name, line: quote_call(name, line),
}


def is_python(text):
    try:
        compile(text, "<line>", "exec", 0x400)
    except (SyntaxError, ValueError):
        return False
    return not text.isidentifier()


def is_target(text):
    try:
        compile(text + " = 0", "<target>", "exec", 0x400)
    except (SyntaxError, ValueError):
        return False
    return True
