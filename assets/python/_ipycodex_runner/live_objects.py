"""Look-up in live objects without running their code. In: the namespace, the text of an expression. Out: objects, their
kinds, their signatures. Invariant: no property, descriptor, `__getattr__`, `__getitem__` or call of the user's runs to
reach an object; where one would be needed, LookupError is raised. Absent on purpose: inference about code that has not
run.
"""

import ast
import builtins
import inspect
import sys
import types

ROUTINES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)
BINDING = ROUTINES + (staticmethod, classmethod, types.GetSetDescriptorType, types.MemberDescriptorType)
CONTAINERS = {
    ast.List: [],
    ast.ListComp: [],
    ast.Tuple: (),
    ast.Dict: {},
    ast.DictComp: {},
    ast.Set: set(),
    ast.SetComp: set(),
    ast.JoinedStr: "",
}


def lookup_name(ns, name):
    """The object of a plain name."""
    if name in ns:
        return ns[name]
    space = vars(builtins)
    if name in space:
        return space[name]
    raise LookupError(name)


def get_attribute(owner, name):
    """`owner.name`."""
    if isinstance(owner, types.ModuleType):
        space = object.__getattribute__(owner, "__dict__")
        if name in space:
            return space[name]
        try:
            return sys.modules["%s.%s" % (space.get("__name__"), name)]
        except KeyError:
            raise LookupError(name) from None
    static = inspect.getattr_static(owner, name, LookupError)
    if static is LookupError:
        raise LookupError(name)
    if isinstance(static, type) or not hasattr(type(static), "__get__"):
        return static
    if type(static) not in BINDING:
        raise LookupError(name)
    if isinstance(owner, type):
        return static.__get__(None, owner) if owner is not type else static
    try:
        return static.__get__(owner, type(owner))
    except Exception:
        raise LookupError(name) from None


def evaluate(ns, text):
    """The object of an expression of names, attributes, constants and items of plain containers."""
    try:
        return evaluate_node(ns, ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise LookupError(text) from None


def evaluate_node(ns, node):
    if isinstance(node, ast.Name):
        return lookup_name(ns, node.id)
    if isinstance(node, ast.Attribute):
        return get_attribute(evaluate_node(ns, node.value), node.attr)
    if isinstance(node, ast.Subscript):
        return get_item(evaluate_node(ns, node.value), node.slice)
    if type(node) in CONTAINERS:
        return CONTAINERS[type(node)]
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise LookupError("not an expression that can be looked at") from None


def get_item(owner, index):
    index = getattr(index, "value", index) if type(index).__name__ == "Index" else index  # Python 3.8
    try:
        key = ast.literal_eval(index)
        if isinstance(owner, dict) and type(owner).__getitem__ is dict.__getitem__:
            return dict.__getitem__(owner, key)
        if type(owner) in (list, tuple, str, bytes):
            return owner[key]
    except Exception:
        pass
    raise LookupError("no such item")


def expression_start(line):
    """Where the expression that ends at the end of `line` begins: names, dots, and brackets or strings that belong to
    them."""
    at = len(line)
    while at:
        char = line[at - 1]
        if char in ")]}":
            at = matching_bracket(line, at - 1)
            if at < 0:
                return len(line)
        elif char in "'\"":
            quote = line[at - 3 : at] if line[at - 3 : at] == 3 * char else char
            at = line.rfind(quote, 0, at - len(quote))
            if at < 0:
                return len(line)
        elif char == "." or char == "_" or char.isalnum():
            at -= 1
        else:
            break
    return at


def matching_bracket(line, at):
    """The place of the bracket that the one at `at` closes; -1 when there is none. Brackets in strings do not count."""
    depth, quote = 0, ""
    while at >= 0:
        char = line[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in ")]}":
            depth += 1
        elif char in "([{":
            depth -= 1
            if not depth:
                return at
        at -= 1
    return -1


def kind_of(value):
    """`class`, `module`, `function`, `property`, `instance`. Of a static look-up too: descriptors are what they
    make."""
    if isinstance(value, type):
        return "class"
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, ROUTINES + (staticmethod, classmethod)):
        return "function"
    if (
        isinstance(value, (property, types.GetSetDescriptorType, types.MemberDescriptorType))
        or type(value).__name__ == "cached_property"
    ):
        return "property"
    return "function" if callable(value) else "instance"


def signature_of(value, bound=False):
    """`(a, b=1)`, or an empty text. `bound`: a function of a class seen on an instance, whose first parameter is
    taken."""
    if isinstance(value, (staticmethod, classmethod)):
        bound = isinstance(value, classmethod)
        value = value.__func__
    if isinstance(value, type):
        if type(value).__call__ is not type.__call__:
            return ""
    elif not isinstance(value, ROUTINES):
        return ""
    try:
        signature = inspect.signature(value)
        if bound and isinstance(value, (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
            signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        return str(signature)
    except Exception:
        return ""
