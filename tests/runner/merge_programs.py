"""Random programs over eight names, what each statement reads and writes, and a text that is equal for equal states.

In: a random generator and a namespace. Out: statements, run one by one, and their effects. Invariants: every statement
is chosen from what the names hold at that moment, so none fails; effects are kept as names and as addresses of objects
that can change: who reads a name reads all that it reaches, who changes an object writes all names that reach it; the
texts are made without the code that is tested. Absent on
purpose: who runs what (`test_merge`).
"""

import types

NAMES = "abcdefgh"


class Trace:
    """What statements have read and written: names, and addresses."""

    def __init__(self):
        self.source, self.reads, self.writes = [], set(), set()

    def as_json(self):
        return {"source": self.source, "reads": sorted(map(str, self.reads)), "writes": sorted(map(str, self.writes))}


def run_statements(rng, ns, count, written, read):
    """Runs so many statements that bind `written` names and read `read` ones; the trace of them."""
    trace = Trace()
    for _each in range(count):
        source, names, bound, changed = make_statement(rng, ns, written, read)
        for name in names:
            trace.reads.add(name)
            trace.reads.update(find_objects(ns[name]))
        trace.writes.update(bound)
        for value in changed:
            trace.writes.add(id(value))
            trace.writes.update(name for name in NAMES if name in ns and id(value) in find_objects(ns[name]))
        trace.source.append(source)
        exec(source, ns)
    return trace


def make_statement(rng, ns, written, read):
    """(source, names it reads, names it binds or deletes, objects it changes in place)."""
    while True:
        target, number = rng.choice(written), rng.randrange(100)
        known = [name for name in read if name in ns]
        name = rng.choice(known) if known else None
        value = ns.get(name)
        made = rng.choice(FORMS)(target, number, name, value, ns)
        if made is not None and (not made[3] or name in written):
            return made


def literal(target, number, _name, _value, _ns):
    texts = str(number), "'w%d'" % number, "[%d, [2]]" % number, "{'k': %d}" % number, "(%d, [3])" % number, "[]"
    return "%s = %s" % (target, texts[number % len(texts)]), (), (target,), ()


def append(_target, number, name, value, _ns):
    return ("%s.append(%d)" % (name, number), (name,), (), (value,)) if type(value) is list else None


def append_other(target, _number, name, value, ns):
    return (
        ("%s.append(%s)" % (name, target), (name, target), (), (value,))
        if type(value) is list and target in ns
        else None
    )


def update(_target, number, name, value, _ns):
    return ("%s['k%d'] = %d" % (name, number % 3, number), (name,), (), (value,)) if type(value) is dict else None


def function(target, number, _name, _value, _ns):
    return "def %s(n=%d):\n    return n + %d" % (target, number, number % 7), (), (target,), ()


def counter(target, number, _name, _value, _ns):
    source = "def %s(step):\n    count = [%d]\n    def add():\n        count[0] += step\n        return count[0]\n"
    source += "    return add\n"
    return source % (target, number) + "%s = %s(%d)" % (target, target, number % 5), (), (target,), ()


def kind(target, number, _name, _value, _ns):
    source = "class %s:\n    level = %d\n    def get(self):\n        return self.level + %d"
    return source % (target, number, number % 9), (), (target,), ()


def derived(target, number, name, value, _ns):
    source = "class %s(%s):\n    def get(self):\n        return super().get() + %d" % (target, name, number)
    return (source, (name,), (target,), ()) if isinstance(value, type) and target != name else None


def call(target, _number, name, value, _ns):
    if isinstance(value, type):
        return "%s = %s()" % (target, name), (name,), (target,), ()
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return "%s = %s()" % (target, name), (name,), (target,), [each for each in cells if type(each) is list]
    return ("%s = %s.get()" % (target, name), (name,), (target,), ()) if is_instance(value) else None


def attribute(_target, number, name, value, _ns):
    if is_instance(value) or isinstance(value, (type, types.FunctionType)):
        return "%s.level = %d" % (name, number), (name,), (), (value,)
    return None


def alias(target, _number, name, _value, _ns):
    return None if name is None else ("%s = %s" % (target, name), (name,), (target,), ())


def hold(target, number, name, _value, _ns):
    source = ("%s = [%s]", "%s = {'v': %s}", "%s = (%s, 1)")[number % 3]
    return None if name is None else (source % (target, name), (name,), (target,), ())


def delete(target, _number, _name, _value, ns):
    return ("del %s" % target, (), (target,), ()) if target in ns else None


def compute(target, number, name, value, _ns):
    if type(value) is int:
        return "%s = %s %% 1000 + %d" % (target, name, number), (name,), (target,), ()
    if type(value) is list:
        return (
            ("%s = %s + [%d]" if number % 2 else "%s = len(%s) + %d") % (target, name, number),
            (name,),
            (target,),
            (),
        )
    return ("%s = dict(%s)" % (target, name), (name,), (target,), ()) if type(value) is dict else None


FORMS = (literal, literal, append, append, append_other, update, update, function, counter, kind, derived, call, call,
         attribute, alias, alias, hold, hold, delete, compute, compute)  # fmt: skip


def is_instance(value):
    return type(value).__module__ == "__main__" and isinstance(type(value), type) and hasattr(value, "get")


def list_parts(value):
    """What a value of these programs holds, by keys."""
    if type(value) in (list, tuple):
        return list(enumerate(value))
    if type(value) is dict:
        return list(value.items())
    if isinstance(value, type) and value.__module__ == "__main__":
        kept = [(name, part) for name, part in vars(value).items() if not name.startswith("__") or name == "__init__"]
        return kept + list(enumerate(value.__bases__))
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return list(enumerate(cells)) + list(vars(value).items())
    if is_instance(value):
        return list(vars(value).items()) + [("class", type(value))]
    return []


def find_objects(value):
    """The addresses of all that can change and can be reached."""
    found, left = {}, [value]
    while left:
        value = left.pop()
        if id(value) not in found:
            found[id(value)] = value
            left += [part for _key, part in list_parts(value)]
    return {address for address, each in found.items() if not isinstance(each, (int, str, tuple))}


def describe_names(ns):
    """The text of each name's value, and one of them all, in which equal objects and one object differ."""
    each = {name: describe(ns[name], {}) for name in NAMES if name in ns}
    seen = {}
    return each, {name: describe(ns[name], seen) for name in NAMES if name in ns}


def describe(value, seen):
    if isinstance(value, (int, str)):
        return repr(value)
    if id(value) in seen:
        return "#%s" % seen[id(value)]
    if type(value) in (list, dict) or is_instance(value):
        seen[id(value)] = len(seen)
        label = "%s#%d" % (type(value).__name__, seen[id(value)])
    elif isinstance(value, types.FunctionType):
        if "closure %d" % id(value) in seen:  # it reaches itself
            return "function"
        seen["closure %d" % id(value)] = True
        code = value.__code__
        label = repr((value.__name__, code.co_code, code.co_names, value.__defaults__, [
            each for each in code.co_consts if not isinstance(each, types.CodeType)]))  # fmt: skip
        text = label + describe_parts(value, seen)
        del seen["closure %d" % id(value)]
        return text
    else:
        label = getattr(value, "__name__", type(value).__name__)
        if "inside %d" % id(value) in seen:
            return label
        seen["inside %d" % id(value)] = True
        text = label + describe_parts(value, seen)
        del seen["inside %d" % id(value)]
        return text
    return label + describe_parts(value, seen)


def describe_parts(value, seen):
    return "(%s)" % ", ".join("%s: %s" % (key, describe(part, seen)) for key, part in list_parts(value))
