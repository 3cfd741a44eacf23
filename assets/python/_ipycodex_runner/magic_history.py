"""Magics about inputs that ran: those of this interpreter, and those of the record. In and out: see `magics`.

Invariant: the record is opened only for inputs that this interpreter does not have. Absent on purpose: what was said to
the agent.
"""

import os

from .magics import UsageError, confirm, parse_options, split_words


def is_range(text):
    from .record import parse_ranges

    try:
        return bool(list(parse_ranges(text)))
    except ValueError:
        return False


def local_inputs(engine):
    """(session 0, line, text) of what ran here."""
    return [(0, line, text) for line, text in enumerate(engine.inputs) if line and text]


def select_inputs(engine, ranges):
    """The inputs `3`, `1-4`, `2:5` (end excluded), `~2/1-3`, `12/`, or all of this session, as (session, line, text);
    session 0 is this one. Raises UsageError for what is no range or cannot be had."""
    from .record import parse_ranges

    try:
        asked = list(parse_ranges(ranges)) or [(0, 1, None)]
    except ValueError as error:
        raise UsageError("%s: not a range of inputs" % error) from None
    found = []
    for session, start, stop in asked:
        if session:
            found += query_record(engine, lambda record: record.inputs(session, start, stop))
            continue
        stop = len(engine.inputs) if stop is None else min(stop, len(engine.inputs))
        here = {line: engine.inputs[line] for line in range(max(start, 1), stop) if engine.inputs[line]}
        if len(here) < stop - max(start, 1):  # a session that was resumed, a new interpreter; or prompts
            here = dict(
                [row[1:] for row in query_record(engine, lambda record: record.inputs(0, start, stop), False)]
                + list(here.items())
            )
        found += [(0, line, here[line]) for line in sorted(here)]
    return found


def query_record(engine, look, needed=True):
    """Calls `look` with the record. Without a record: an empty list, or a UsageError if `needed`."""
    from .record import Record, Unrecorded

    try:
        with Record(engine.host) as record:
            return look(record)
    except Unrecorded as error:
        if needed:
            raise UsageError(str(error)) from None
        return []


def all_inputs(engine, pattern=None):
    """Inputs of all sessions, those of this one last; those that match `pattern`. The cell that runs is none of
    them."""
    from fnmatch import fnmatchcase

    here = [
        row
        for row in local_inputs(engine)
        if row[1] != engine.current and (pattern is None or fnmatchcase(row[2], pattern))
    ]
    known = {row[1] for row in local_inputs(engine)}

    def look(record):
        rows = record.search("*" if pattern is None else pattern)
        earlier = [row for row in rows if row[0] != record.session]
        return earlier + [(0,) + tuple(row[1:]) for row in rows if row[0] == record.session and row[1] not in known]

    return query_record(engine, look, False) + here


def join_rows(rows):
    return "\n".join(row[2].rstrip("\n") for row in rows)


def parse_history_options(line):
    """({flag: value}, ranges): `-g` takes the words that follow, `-l` a number if one follows."""
    found, ranges, rest = {}, [], split_words(line)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or len(word) < 2:
            ranges.append(word)
            continue
        for letter in word[1:]:
            if letter in "noptru":
                found[letter] = True
            elif letter == "g":
                found["g"] = []
                while rest and not rest[0].startswith("-"):
                    found["g"].append(rest.pop(0))
            elif letter == "l":
                found["l"] = int(rest.pop(0)) if rest and rest[0].isdigit() else None
            elif letter == "f":
                if not rest:
                    raise UsageError("argument -f: expected one argument")
                found["f"] = rest.pop(0)
            else:
                raise UsageError("unrecognized arguments: -%s" % letter)
    return found, " ".join(ranges)


def line_history(shell, line, names):
    """Inputs, all of this session or a range (`3`, `1-4`, `~2/1-3`). -n: with their numbers; -o: and results; -p:
    prompts; -t: as Python; -g PATTERN: of all sessions; -l [N]: the last ones of all sessions; -u: each text once; -f
    FILE: written there."""
    flags, ranges = parse_history_options(line)
    engine = shell.engine
    numbered = "n" in flags
    if "g" in flags and not ranges:
        rows = all_inputs(engine, "*%s*" % " ".join(flags["g"]) if flags["g"] else "*")
        numbered = True
    elif "l" in flags:
        rows = all_inputs(engine)
    else:
        rows = select_inputs(engine, ranges)
        if "g" in flags:
            from fnmatch import fnmatch

            rows = [row for row in rows if fnmatch(row[2], "*%s*" % " ".join(flags["g"]))]
            numbered = True
    if "u" in flags:
        rows = list({row[2]: row for row in rows}.values())
    if "l" in flags:
        count = 10 if flags["l"] is None else flags["l"]
        rows = rows[len(rows) - count :] if count < len(rows) else rows
    outputs = load_outputs(engine, rows) if "o" in flags else {}
    lines = []
    for session, number, text in rows:
        if "t" in flags:
            from . import syntax

            text = syntax.transform(text, engine) or text
        text = text.expandtabs(4).rstrip()
        several = "\n" in text
        head = (
            "%4s:%s" % ("%d/%d" % (session, number) if session else number, "\n" if several else " ")
            if numbered
            else ""
        )
        if "p" in flags:
            head += ">>> "
            text = text.replace("\n", "\n... ") + ("\n..." if several else "")
        lines.append(head + text)
        if (session, number) in outputs:
            lines.append(outputs[session, number])
    shown = "".join(text + "\n" for text in lines)
    if "f" not in flags:
        print(shown, end="")
        return
    path = os.path.expanduser(flags["f"])
    if os.path.exists(path) and not confirm(
        "File %r exists. Overwrite?" % path, "name another file, or remove it first"
    ):
        print("Aborting.")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(shown)


def load_outputs(engine, rows):
    """{(session, line): text} of the results that there were."""
    found = {(0, line): repr(value) for line, value in engine.outputs.items()}
    others = {row[:2] for row in rows if tuple(row[:2]) not in found}

    def look(record):
        query = record.db.execute("SELECT session, line, output FROM main.output_history")
        return [((0 if session == record.session else session, line), text) for session, line, text in query]

    if others:
        found.update(item for item in query_record(engine, look, False) if item[0] in others)
    return found


def line_recall(shell, line, names):
    """Puts into the next input: a range of inputs, the value of an expression, or the newest input that holds the text;
    nothing: `_`."""
    engine, text = shell.engine, line.strip()
    if not text:
        found = str(shell.user_ns.get("_", ""))
    elif is_range(text) and select_inputs(engine, text):
        found = join_rows(select_inputs(engine, text))
    else:
        try:
            found = str(eval(text, shell.user_ns))
        except Exception:
            rows = [row for row in all_inputs(engine, "*%s*" % text) if "recall" not in row[2] and "rep" not in row[2]]
            if not rows:
                print("Couldn't evaluate or find in history:", text)
                return
            found = rows[-1][2]
    shell.set_next_input(found.rstrip())


def line_rerun(shell, line, names):
    """Runs inputs again: a range, or the last one; -l N: the last ones; -g TEXT: the newest that holds it."""
    engine = shell.engine
    flags, rest = parse_options(line, "", "lg")
    if "g" in flags:
        text = " ".join([flags["g"]] + rest)
        rows = [row for row in all_inputs(engine, "*%s*" % text) if "rerun" not in row[2]][-1:]
    elif rest:
        rows = select_inputs(engine, " ".join(rest))
    else:
        if not flags.get("l", "1").isdigit():
            raise UsageError("-l takes a number of inputs")
        count = int(flags.get("l", "1"))
        rows = [row for row in all_inputs(engine) if not row[2].lstrip("% ").startswith("rerun")]
        rows = rows[len(rows) - min(count, len(rows)) :]
    if not rows:
        raise UsageError("No lines in history match specification")
    text = join_rows(rows)
    print("=== Executing: ===\n%s\n=== Output: ===" % text, flush=True)
    engine.run(text, engine.new_filename(engine.current))
