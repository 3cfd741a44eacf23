"""A cell with functions and classes of all shapes."""

SHAPES = """
import abc, collections, dataclasses, enum, functools, typing
class Base:
    kept = []
    def f(self): return 1
    def __init_subclass__(cls, need, **more): Base.kept.append(cls)
class Child(Base, need=1):
    x = property(lambda self: 5)
    def f(self): return super().f() + 1
    @classmethod
    def own(cls): return cls
    @staticmethod
    def other(): return Child
    class Inner: pass
child = Child()
child.inner, child.method = Child.Inner(), child.f
@dataclasses.dataclass
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)
point = Point(1)
@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 3
class Color(enum.Enum):
    RED = 1
    CRIMSON = 1
    BLUE = 2
    def low(self): return self.name.lower()
    def __lt__(self, other): return self.value < other.value
red = Color.RED
class Planet(enum.Enum):
    EARTH = (6, 2)
    def __init__(self, mass, size): self.weight = mass * size
class Access(enum.Flag):
    READ = 1
    WRITE = 2
access = Access.READ | Access.WRITE
Pair = collections.namedtuple("Pair", "p q", defaults=[4])
class Typed(typing.NamedTuple):
    p: int
    q: int = 4
    def total(self): return self.p + self.q
typed = Typed(1)
def count():
    now = 0
    def add():
        nonlocal now
        now += 1
        return now
    return add, lambda: now
add, get = count()
add()
@functools.lru_cache(None)
def factorial(n): return n * factorial(n - 1) if n else 1
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def outer():
    def inner(n): return 1 if n == 0 else n * inner(n - 1)
    return inner
inner = outer()
class Abstract(abc.ABC):
    @abc.abstractmethod
    def m(self): pass
class Concrete(Abstract):
    def m(self): return "m"
class Slots:
    __slots__ = ("__a", "b")
    def __init__(self): self.__a, self.b = 1, 2
    def get(self): return self.__a + self.b
slots = Slots()
class Lazy:
    @functools.cached_property
    def z(self): return 9
T = typing.TypeVar("T")
class Generic(typing.Generic[T]):
    def get(self): return 3
class Meta(type):
    made = 0
    def __new__(meta, name, bases, body):
        Meta.made += 1
        return type.__new__(meta, name, bases, body)
class Made(metaclass=Meta): pass
def full(a, b=2, *, c=3) -> int:
    "text"
    return a + b + c
full.tag = 1
squares = {n: (lambda m: lambda: m * m)(n) for n in range(3)}
"""
