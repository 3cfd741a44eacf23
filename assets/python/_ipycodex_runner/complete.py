"""Completion: attributes of live objects, names, parameters, keys, modules, magics, symbols after a backslash, files
after a quote or in `!` lines; and the same from IPython's own completer, in the same form.

In: cell text, position in code points. Out: at most 500 {start, end, text, kind, signature, type, everywhere}.
Invariants: nothing of the user's runs to follow a chain (`live_objects`); modules are not imported to be looked into;
describing what was found takes bounded time. Absent on purpose: guessing types of code that has not run
(`static_completion`).
"""

import builtins
import inspect
import keyword
import os
import re
import sys
from time import perf_counter

from . import key_completion, live_objects, stdlib

LIMIT = 500
SIGNATURE_LIMIT = 0.02  # seconds for the signatures of one answer
WORD = re.compile(r"[^\W\d]\w*$")
IMPORT = re.compile(r"^\s*(?:import\s+(?:[\w.]+\s*(?:as\s+\w+)?\s*,\s*)*|from\s+)([\w.]*)$")
FROM = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(?:.*,\s*|\(\s*)?(\w*)$")
MAGIC = re.compile(r"^\s*(%{1,2})(\w*)$")
PATH = re.compile(r"[^\s'\"]*$")
OFFERED = ("In", "Out", "get_ipython", "exit", "quit", "open", "__builtins__")  # by the engines
UNKNOWN = object()  # in place of an object that is not to be looked at


class CompletionList:
    """Collects what is found, each text once."""

    def __init__(self, code, position):
        self.code, self.position = code, position
        self.found, self.seen = [], set()
        self.until = None

    def add(self, start, text, kind, value=UNKNOWN, bound=False):
        """True when there is room for no more."""
        if text in self.seen:
            return False
        self.seen.add(text)
        signature = type_name = ""
        everywhere = value is not UNKNOWN and (text in OFFERED or vars(builtins).get(text, UNKNOWN) is value)
        if value is not UNKNOWN:
            kind = kind or live_objects.kind_of(value)
            if kind == "instance":
                type_name = type(value).__name__
            elif kind in ("function", "class") and self.has_time():
                signature = live_objects.signature_of(value, bound)
        self.found.append(
            {
                "start": start,
                "end": self.position,
                "text": text,
                "kind": kind,
                "signature": signature,
                "type": type_name,
                "everywhere": everywhere,
            }
        )
        return len(self.found) >= LIMIT

    def has_time(self):
        if self.until is None:
            self.until = perf_counter() + SIGNATURE_LIMIT
        return perf_counter() < self.until

    def close_key(self, text, quote, last=True):
        """A key with what has to follow it; the bracket, too, where it is the last one."""
        rest = self.code[self.position :]
        if quote:
            if rest.startswith(quote):
                return text
            text += quote
        return text + "]" if last and not rest.startswith("]") else text


def complete(ns, code, position):
    """Completes for the built-in engine."""
    answer = CompletionList(code, position)
    line = code[:position].rpartition("\n")[2]
    for candidate in find_candidates(ns, answer, line, position):
        if answer.add(*candidate):
            break
    return answer.found


def find_candidates(ns, answer, line, position):
    match = FROM.match(line)
    if match:
        return complete_members(match.group(1), match.group(2), position)
    match = IMPORT.match(line)
    if match:
        return complete_modules(match.group(1), position)
    match = MAGIC.match(line)
    if match:
        return complete_magics(match, position)
    here = key_completion.find_context(line)
    if here is not None:
        found = list(complete_keys(ns, answer, here, line, position))
        if found or here.quote:
            return found
    if "\\" in line:
        from . import symbols

        at, names = symbols.complete(line) or (0, ())
        if names:
            return [(position - len(line) + at, name, "symbol") for name in names]
    if key_completion.find_open_string(line) or line[:1] in ("!", "%") and "/" in PATH.search(line).group():
        return complete_paths(PATH.search(line).group(), position)
    prefix = WORD.search(line)
    prefix = prefix.group() if prefix else ""
    before = line[: len(line) - len(prefix)]
    if before.endswith("."):
        return complete_attributes(ns, before[:-1], prefix, position)
    return complete_words(ns, before, prefix, position)


def filter_names(names, prefix):
    """The names with that prefix, sorted; private ones only for a prefix that begins with `_`."""
    fitting = (name for name in names if isinstance(name, str) and name.startswith(prefix))
    return sorted(name for name in fitting if prefix.startswith("_") or not name.startswith("_"))


def complete_words(ns, before, prefix, position):
    start = position - len(prefix)
    for name in complete_parameters(ns, before, prefix):
        yield start, name + "=", "param"
    for pool in (ns, vars(builtins)):
        for name in filter_names(list(pool), prefix):
            yield start, name, "", pool.get(name, UNKNOWN)
    for name in keyword.kwlist:
        if name.startswith(prefix):
            yield start, name, "keyword"


def complete_parameters(ns, before, prefix):
    """Names that can be given in the call the cursor stands in."""
    at = live_objects.matching_bracket(before + ")", len(before))
    if at < 1 or before[at] != "(":
        return []
    try:
        called = live_objects.evaluate(ns, before[live_objects.expression_start(before[:at]) : at])
        if not live_objects.signature_of(called):
            return []
        known = inspect.signature(called).parameters.values()
    except Exception:
        return []
    given = set(re.findall(r"(\w+)\s*=[^=]", before[at:]))
    return [
        each.name
        for each in known
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        and each.name.startswith(prefix)
        and each.name not in given
    ]


def resolve_owner(ns, before):
    """Evaluates the expression before a dot or bracket. Raises LookupError."""
    text = before[live_objects.expression_start(before) :]
    if not text:
        raise LookupError("no expression")
    return live_objects.evaluate(ns, text)


def complete_attributes(ns, before, prefix, position):
    try:
        owner = resolve_owner(ns, before)
        names = filter_names(dir(owner), prefix)
    except Exception:
        return
    start, bound = position - len(prefix), is_instance(owner)
    for name in names:
        yield start, name, "", static_attribute(owner, name), bound


def is_instance(owner):
    return not isinstance(owner, (type, type(sys)))


def static_attribute(owner, name):
    try:
        return inspect.getattr_static(owner, name)
    except Exception:
        return UNKNOWN


def complete_keys(ns, answer, here, line, position):
    start = position - len(line) + here.begin
    try:
        for text, last in key_completion.complete_keys(ns, line, here):
            yield start, answer.close_key(text, here.quote, last), "key"
    except Exception:
        return  # an owner that cannot be looked at


module_cache = {}  # folder -> (time of its last change, names of modules in it)


def complete_modules(dotted, position):
    owner, _dot, prefix = dotted.rpartition(".")
    found = set() if owner else set(sys.builtin_module_names)
    for folder in sys.path if not owner else search_path(owner):
        found.update(list_modules(folder))
    for name in filter_names(found, prefix):
        yield position - len(prefix), name, "module"


def list_modules(folder):
    import pkgutil

    try:
        changed = os.stat(folder or ".").st_mtime_ns
    except (OSError, ValueError):
        return ()
    if folder in module_cache and module_cache[folder][0] == changed and folder:
        return module_cache[folder][1]
    names = [item.name for item in pkgutil.iter_modules([folder or "."])]
    module_cache[folder] = changed, names
    return names


def search_path(dotted):
    """The folders of a package; nothing is imported."""
    spec = find_spec(dotted)
    return list(spec.submodule_search_locations or ()) if spec else ()


def find_spec(dotted):
    from importlib.machinery import PathFinder

    module = sys.modules.get(dotted)
    if getattr(module, "__spec__", None):
        return module.__spec__
    path, spec, name = None, None, ""
    for part in dotted.split("."):
        name = name + "." + part if name else part
        try:
            spec = PathFinder.find_spec(name, path)
        except Exception:
            return None
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec


def complete_members(dotted, prefix, position):
    start = position - len(prefix)
    module = sys.modules.get(dotted)
    if module is None and (
        dotted in sys.builtin_module_names or stdlib.is_stdlib_path(getattr(find_spec(dotted), "origin", None) or "")
    ):
        try:
            module = __import__(dotted, fromlist=["*"])
        except Exception:
            pass
    if module is not None:
        for name in filter_names(dir(module), prefix):
            yield start, name, "", static_attribute(module, name)
    else:
        for name in filter_names(read_bound_names(dotted), prefix):
            yield start, name, ""
    for _start, name, kind in complete_modules(dotted + "." + prefix, position):
        yield start, name, kind


def read_bound_names(dotted):
    """Names that the source of a module binds, which is not imported for it."""
    from . import static_completion

    spec = find_spec(dotted)
    try:
        with open(spec.origin, "rb") as file:
            return static_completion.find_bound_names(file.read(1 << 20).decode("utf-8", "replace"), top=True)
    except Exception:
        return ()


def complete_magics(match, position):
    from . import magics

    marks, prefix = match.groups()
    start = position - len(marks) - len(prefix)
    for mark, own, kind in (("%", magics.LINE, "line"), ("%%", magics.CELL, "cell")):
        if mark.startswith(marks):
            for name in filter_names(set(own) | set(magics.added[kind]), prefix):
                yield start, mark + name, "magic"


def complete_paths(prefix, position):
    folder, slash, begin = prefix.rpartition("/")
    base = os.path.expanduser(folder + "/" if slash else ".")
    try:
        entries = sorted(os.listdir(base))
    except OSError:
        return
    for name in entries:
        if name.startswith(begin) and (begin.startswith(".") or not name.startswith(".")):
            mark = "/" if os.path.isdir(os.path.join(base, name)) else ""
            yield position - len(begin), name + mark, "path"


KINDS = {"magic": "magic", "path": "path", "param": "param", "dict key": "key"}


def complete_with_ipython(shell, code, position):
    """Completions of IPython's completer, without jedi, in the runner's format."""
    from IPython.core.completer import provisionalcompleter, rectify_completions

    completer = shell.Completer
    answer = CompletionList(code, position)
    look = ObjectLookup(shell.user_ns, code, position)
    here, opened = key_completion.find_context(look.line), key_completion.find_open_string(look.line)
    if here is not None and here.quote:
        for candidate in complete_keys(shell.user_ns, answer, here, look.line, position):
            if answer.add(*candidate):
                break
        if answer.found:
            return answer.found
    if "\\" in look.line and getattr(completer, "backslash_combining_completions", True):
        from . import symbols

        at, names = symbols.complete(look.line) or (0, ())
        for name in names:
            answer.add(look.first + at, name, "symbol")
        if names:
            return answer.found
    fits = allowed_kinds(look.line, here, opened)
    chosen, completer.use_jedi = completer.use_jedi, False
    try:
        with provisionalcompleter():
            for item in rectify_completions(code, completer.completions(code, position)):
                start, text, kind = item.start, item.text, KINDS.get(item.type, "")
                if text.startswith(".") and code[start : start + 1] == ".":
                    start, text = start + 1, text[1:]
                if kind == "magic" and not code[start:position] or fits and kind not in fits:
                    continue
                dot = 0 if kind else code.rfind(".", start, position) + 1
                if dot and text.startswith(code[start:dot]):
                    start, text = dot, text[dot - start :]
                if kind == "key":
                    begin = look.first + opened[0] if opened else start
                    if begin < start:  # IPython begins after the last blank in it
                        start, text = begin, code[begin:start] + text
                    text = answer.close_key(text, opened[1] if opened else "")
                if not kind and keyword.iskeyword(text) and code[start - 1 : start] != ".":
                    kind = "keyword"
                if answer.add(start, text, kind, *look.resolve(start, text, kind)):
                    break
    finally:
        completer.use_jedi = chosen
    if not answer.found and not MAGIC.match(look.line):
        return complete(shell.user_ns, code, position)  # a name that is no text stops IPython's own
    return answer.found


def allowed_kinds(line, here, opened):
    """The kinds that make sense at the end of the line, or None: in a string IPython offers names and magics too."""
    if here is not None and here.quote:
        return ("key",)
    return ("key", "path") if opened and line.lstrip()[:1] not in ("!", "%") else None


class ObjectLookup:
    """The objects of names that were found; the owner before the dot is looked up once."""

    def __init__(self, ns, code, position):
        self.ns, self.line = ns, code[:position].rpartition("\n")[2]
        self.first = position - len(self.line)
        self.owners = {}

    def resolve(self, start, text, kind):
        """Arguments for `Answer.add`: the object, and whether it is seen on an instance."""
        if kind:
            return ()
        before = self.line[: max(0, start - self.first)]
        if FROM.match(self.line):
            before = FROM.match(self.line).group(1) + "."
        elif IMPORT.match(self.line):
            return (sys,)  # a module
        elif not before.endswith("."):
            return (self.ns[text],) if text in self.ns else (vars(builtins).get(text, UNKNOWN),)
        if before not in self.owners:
            try:
                self.owners[before] = (
                    sys.modules[before[:-1]] if FROM.match(self.line) else resolve_owner(self.ns, before[:-1])
                )
            except Exception:
                self.owners[before] = UNKNOWN
        owner = self.owners[before]
        return (static_attribute(owner, text), is_instance(owner)) if owner is not UNKNOWN else ()
