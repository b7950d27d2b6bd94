"""Whatever changes between two calls, a compiled function returns what the function itself returns.

Each program is a text that defines things, the expression or the body of a function of `x`, and what then changes: something
that the function reads through a special method, a class, a descriptor or a container, or something that a test would patch.
"""

import builtins
import contextvars
import functools
import math
import operator
import sys
import textwrap

import pytest

import minigrad as torch

from .both import defined
from .interpreted import interpreted

__all__ = ["interpreted"]

PATCHED = [torch, torch.nn.functional, torch.Tensor, torch.nn.Tanh, torch.device]
PATCHED += [builtins, math, operator, functools, sys.modules]

# title: definitions, then what f returns (ARG and KW: of other arguments), then the change
PROGRAMS = {
    "attribute of a list subclass": ("class L(list): k = 1.0\nl = L([2.0])", "x * l[0] + l.k", "l.k = 5.0"),
    "attribute of int subclass": ("class D(int): k = 1.0\nd = D(2)", "x * d.k", "d.k = 5.0"),
    "another int subclass": ("class D(int): k = 1.0\nd = D(2)", "x * d.k", "d = D(2); d.k = 5.0"),
    "attribute of str subclass": ("class D(str): k = 1.0\nd = D('a')", "x * d.k", "d.k = 5.0"),
    "operator of int subclass": (
        "class D(int):\n def __mul__(self, o): return o * 7.0\nd = D(2)",
        "x * (d * 1.0)", "D.__mul__ = lambda s, o: o * 9.0"),
    "operator of int subclass added": ("class D(int): pass\nd = D(2)", "x * (d * 1.0)", "D.__mul__ = lambda s, o: o * 9.0"),
    "eq of str subclass added": (
        "class D(str): pass\nd = D('a')",
        "x * (1.0 if d == 'a' else 2.0)", "D.__eq__ = lambda s, o: False"),
    "bool of list subclass added": (
        "class D(list): pass\nd = D('a')",
        "x * (1.0 if d else 2.0)", "D.__bool__ = lambda s: False"),
    "bool of class added": ("class D: pass\nd = D()", "x * (1.0 if d else 2.0)", "D.__bool__ = lambda s: False"),
    "len of class added": ("class D: pass\nd = D()", "x * (1.0 if d else 2.0)", "D.__len__ = lambda s: 0"),
    "eq of class added": ("class D: pass\nd = D(); e = D()", "x * (1.0 if d == e else 2.0)", "D.__eq__ = lambda s, o: True"),
    "eq of dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass D: k: float\nd = D(1.0); e = D(1.0)",
        "x * (1.0 if d == e else 2.0)", "e.k = 3.0"),
    "index in a list": (
        "import dataclasses\n@dataclasses.dataclass\nclass D: k: float\nd = D(1.0); e = [D(1.0), D(2.0)]",
        "x * (1.0 + e.index(d))", "d.k = 2.0"),
    "str of object": ("class D:\n k = 1.0\n def __str__(self): return str(self.k)\nd = D()", "x * float(str(d))", "d.k = 3.0"),
    "percent": ("class D:\n k = 1.0\n def __repr__(self): return str(self.k)\nd = D()", "x * float('%s' % d)", "d.k = 3.0"),
    "fstring nested": (
        "class D:\n k = 1.0\n def __repr__(self): return str(self.k)\nd = D()",
        "x * float(f'{[[d]]}'[2:-2])", "d.k = 3.0"),
    "hash of object": ("class D:\n k = 1\n def __hash__(self): return self.k\nd = D()", "x * hash(d)", "d.k = 3"),
    "hash in dict": (
        "class D:\n k = 1\n def __hash__(self): return self.k\n def __eq__(self, o): return self.k == o\nd = D()",
        "x * {1: 2.0, 3: 4.0}[d]", "d.k = 3"),
    "property of a metaclass": (
        "class M(type):\n @property\n def k(cls): return table[0]\ntable = [1.0]\nclass A(metaclass=M): pass",
        "x * A.k", "table[0] = 5.0"),
    "attribute of a metaclass": ("class M(type):\n k = 1.0\nclass A(metaclass=M): pass", "x * A.k", "M.k = 5.0"),
    "attribute of a metaclass shadows": (
        "class M(type): pass\nclass A(metaclass=M): k = 1.0",
        "x * A.k", "M.k = property(lambda c: 5.0)"),
    "getattr of a metaclass": (
        "class M(type):\n def __getattr__(cls, n): return table[0]\ntable = [1.0]\nclass A(metaclass=M): pass",
        "x * A.k", "table[0] = 5.0"),
    "getattribute of a metaclass": (
        "class M(type):\n"
        " def __getattribute__(cls, n): return table[0] if n == 'k' else type.__getattribute__(cls, n)\n"
        "table = [1.0]\nclass A(metaclass=M): k = 2.0",
        "x * A.k",
        "table[0] = 5.0"),
    "call of a metaclass": (
        "class M(type):\n def __call__(cls, x): return x * 2\nclass A(metaclass=M): pass",
        "A(x)", "M.__call__ = lambda c, x: x * 3"),
    "abc register": (
        "import abc\nclass A(abc.ABC): pass\nclass B: pass\no = B()",
        "x * (1.0 if isinstance(o, A) else 2.0)", "A.register(B)"),
    "abc register, issubclass": (
        "import abc\nclass A(abc.ABC): pass\nclass B: pass\no = B()",
        "x * (1.0 if issubclass(B, A) else 2.0)", "A.register(B)"),
    "abc register Tensor": (
        "import abc\nclass A(abc.ABC): pass",
        "x * (1.0 if isinstance(x, A) else 2.0)", "A.register(torch.Tensor)"),
    "instancecheck": (
        "class M(type):\n def __instancecheck__(c, o): return table[0]\ntable = [True]\nclass A(metaclass=M): pass\n"
        "o = object()",
        "x * (1.0 if isinstance(o, A) else 2.0)",
        "table[0] = False"),
    "instancecheck added": (
        "class M(type): pass\nclass A(metaclass=M): pass\no = object()",
        "x * (1.0 if isinstance(o, A) else 2.0)", "M.__instancecheck__ = lambda c, o: True"),
    "subclasshook": (
        "import abc\ntable = [True]\nclass A(abc.ABC):\n @classmethod\n"
        " def __subclasshook__(c, o): return hasattr(o, 'm')\nclass B: pass\nclass C(B): pass\no = C()",
        "x * (1.0 if isinstance(o, A) else 2.0)",
        "B.m = 1; A.register(int)"),
    "protocol": (
        "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n k: float\nclass B: pass\no = B()",
        "x * (1.0 if isinstance(o, P) else 2.0)", "o.k = 1.0"),
    "isinstance after class change": (
        "class A: pass\nclass B: pass\no = A()",
        "x * (1.0 if isinstance(o, A) else 2.0)", "o.__class__ = B"),
    "type after class change": (
        "class A: pass\nclass B: pass\no = A()",
        "x * (1.0 if type(o) is A else 2.0)", "o.__class__ = B"),
    "__class__ attribute": ("class A: k = 1.0\nclass B: k = 2.0\no = A()", "x * o.__class__.k", "o.__class__ = B"),
    "type(o).k": ("class A: k = 1.0\nclass B: k = 2.0\no = A()", "x * type(o).k", "o.__class__ = B"),
    "bases change isinstance": (
        "class P: pass\nclass Q: pass\nclass A(P): pass\no = A()",
        "x * (1.0 if isinstance(o, P) else 2.0)", "A.__bases__ = (Q,)"),
    "bases change attribute": (
        "class P: k = 1.0\nclass Q: k = 2.0\nclass A(P): pass\no = A()",
        "x * o.k", "A.__bases__ = (Q,)"),
    "bases change issubclass": (
        "class P: pass\nclass Q: pass\nclass A(P): pass",
        "x * (1.0 if issubclass(A, P) else 2.0)", "A.__bases__ = (Q,)"),
    "a base between adds what super() finds": (
        "class A:\n def f(s, x): return x * 2\nclass B(A): other = 1\nclass C(B):\n def f(s, x): return super().f(x)\nc = C()",
        "c.f(x)", "del B.other; B.f = lambda s, x: x * 7"),
    "__class__ property": (
        "class A:\n @property\n def __class__(self): return table[0]\ntable = [int]\no = A()",
        "x * (1.0 if isinstance(o, int) else 2.0)", "table[0] = float"),
    "class name": ("class A: pass", "x * len(A.__name__)", "A.__name__ = 'ABC'"),
    "builtin abs": ("", "x * abs(-2.0)", "import builtins; builtins.abs = lambda x: 7.0"),
    "math function": ("import math", "x * math.sqrt(4.0)", "math.sqrt = lambda x: 7.0"),
    "math replaced by another of math": ("import math", "x * math.sin(1.0)", "math.sin = math.cos"),
    "import math inside": ("import math as m", "BODY:import math\nreturn x * math.sqrt(4.0)", "m.sqrt = lambda x: 7.0"),
    "from math import inside": (
        "import math as m",
        "BODY:from math import sqrt\nreturn x * sqrt(4.0)", "m.sqrt = lambda x: 7.0"),
    "functools.reduce": (
        "import functools, operator",
        "x * functools.reduce(operator.add, [1.0, 2.0])", "functools.reduce = lambda a, b: 7.0"),
    "torch function": ("", "torch.sin(x)", "torch.sin = torch.cos"),
    "torch function code": ("def other(x): return x * 7", "torch.sigmoid(x)", "torch.sigmoid = other"),
    "Tensor method": ("", "x.sin()", "torch.Tensor.sin = lambda x: x * 7"),
    "Tensor operator": ("", "x * 2.0", "torch.Tensor.__mul__ = lambda a, b: a + 7"),
    "Tensor roperator": ("", "2.0 - x", "torch.Tensor.__rsub__ = lambda a, b: a + 7"),
    "Tensor neg": ("", "-x", "torch.Tensor.__neg__ = lambda a: a + 7"),
    "Tensor comparison": ("", "(x > 0) * x", "torch.Tensor.__gt__ = lambda a, b: a < b"),
    "Tensor getitem": ("", "x[0]", "torch.Tensor.__getitem__ = lambda a, b: a + 7"),
    "Tensor new attribute": ("", "x * (2.0 if hasattr(x, 'foo') else 1.0)", "torch.Tensor.foo = 1"),
    "Module forward": ("m = torch.nn.Sequential(torch.nn.Tanh())", "m(x)", "torch.nn.Tanh.forward = lambda s, x: x * 7"),
    "Tanh __call__": ("m = torch.nn.Sequential(torch.nn.Tanh())", "m(x)", "torch.nn.Tanh.__call__ = lambda s, x: x * 7"),
    "a method of a user's module's object": (
        "class N(torch.nn.Module):\n def half(self, x): return x / 2\n def forward(self, x): return self.half(x)\nm = N()",
        "m(x)", "m.half = lambda x: x * 7"),
    "forward hook": ("m = torch.nn.Tanh()", "m(x)", "m.register_forward_hook(lambda m, i, o: o * 7)"),
    "forward pre hook": ("m = torch.nn.Tanh()", "m(x)", "m.register_forward_pre_hook(lambda m, i: (i[0] * 7,))"),
    "class of a module": ("m = torch.nn.Tanh()", "m(x)", "m.__class__ = torch.nn.ReLU"),
    "OrderedDict order": (
        "import collections\nd = collections.OrderedDict(a=1.0, b=2.0)",
        "x * list(d.values())[0]", "d.move_to_end('a')"),
    "dict with tuple keys, order": ("d = {(1, 2): 1.0, (3, 4): 2.0}", "x * list(d.values())[0]", "d[(1, 2)] = d.pop((1, 2))"),
    "dict key type": ("d = {1: 2.0}\nX = torch.tensor([1, 2, 3])", "X * list(d)[0]", "d.clear(); d[1.0] = 2.0"),
    "set element type": ("d = {1}\nX = torch.tensor([1, 2, 3])", "X * list(d)[0]", "d.clear(); d.add(1.0)"),
    "set order": ("d = {0, 8}", "x * list(d)[0] + list(d)[1]", "d.clear(); d.add(8); d.add(0)"),
    "frozenset order": ("d = frozenset([0, 8])", "x * list(d)[0] + list(d)[1]", "d = frozenset([8, 0])"),
    "default factory": (
        "import collections\nd = collections.defaultdict(lambda: 3.0, a=1.0)",
        "x * d['b']", "d.pop('b', 0); d.default_factory = lambda: 7.0"),
    "__missing__": (
        "class D(dict):\n def __missing__(self, k): return table[0]\ntable = [1.0]\nd = D()",
        "x * d['b']", "table[0] = 4.0"),
    "Counter": ("import collections\nd = collections.Counter('aab')", "x * d['a']", "d['a'] = 5"),
    "namedtuple field replaced": (
        "import collections\nP = collections.namedtuple('P', 'k')\np = P(1.0)",
        "x * p.k", "P.k = property(lambda s: 7.0)"),
    "namedtuple property": (
        "import collections\nclass P(collections.namedtuple('P', 'k')):\n @property\n"
        " def two(self): return self.k * t[0]\nt = [2.0]\np = P(1.0)",
        "x * p.two",
        "t[0] = 5.0"),
    "namedtuple method": (
        "import collections\nclass P(collections.namedtuple('P', 'k')):\n def two(self): return self.k * t[0]\n"
        "t = [2.0]\np = P(1.0)",
        "x * p.two()",
        "t[0] = 5.0"),
    "namedtuple attribute": (
        "import collections\nclass P(collections.namedtuple('P', 'k')): pass\np = P(1.0); p.e = 2.0",
        "x * p.e", "p.e = 5.0"),
    "namedtuple made": (
        "import collections\nclass P(collections.namedtuple('P', 'k')):\n c = 2.0\np = P(1.0)",
        "x * P(3.0).c", "P.c = 5.0"),
    "namedtuple made, property": (
        "import collections\nclass P(collections.namedtuple('P', 'k')):\n @property\n def c(self): return t[0]\nt = [2.0]",
        "x * P(3.0).c", "t[0] = 5.0"),
    "namedtuple argument class attribute": (
        "import collections\nclass P(collections.namedtuple('P', 'k')):\n c = 2.0",
        "ARG:P(x):x.k * x.c", "P.c = 5.0"),
    "namedtuple argument attribute": (
        "import collections\nclass P(collections.namedtuple('P', 'k')): pass\nP1 = lambda x: P(x)",
        "ARG:P1(x):x.k * (2.0 if hasattr(x, 'c') else 1.0)", "def P1(x):\n  p = P(x)\n  p.c = 1\n  return p"),
    "dataclass replaced by property": (
        "import dataclasses\n@dataclasses.dataclass\nclass D: k: float = 1.0\nd = D()",
        "x * d.k", "D.k = property(lambda s: 5.0)"),
    "instance attribute shadowed by a property": (
        "class D: pass\nd = D(); d.k = 1.0",
        "x * d.k", "D.k = property(lambda s: 5.0)"),
    "instance attribute shadowed through a base": (
        "class B: pass\nclass D(B): pass\nd = D(); d.k = 1.0",
        "x * d.k", "B.k = property(lambda s: 5.0)"),
    "enum value": ("import enum\nclass E(enum.Enum): A = 1.0\ne = E.A", "x * e.value", "e._value_ = 5.0"),
    "IntEnum value": ("import enum\nclass E(enum.IntEnum): A = 1\ne = E.A", "x * e.value", "e._value_ = 5"),
    "enum attribute": ("import enum\nclass E(enum.Enum):\n A = 1.0\n B = 2.0\nE.A.k = 1.0", "x * E.A.k", "E.A.k = 5.0"),
    "enum eq": ("import enum\nclass E(enum.Enum):\n A = 1.0\n B = 2.0\ne = E.A", "x * (1.0 if e == E.A else 2.0)", "e = E.B"),
    "property subclass": (
        "class prop(property):\n def __get__(self, o, c=None): return t[0]\nclass D:\n @prop\n"
        " def k(self): return 0.0\nt = [1.0]\nd = D()",
        "x * d.k",
        "t[0] = 5.0"),
    "staticmethod subclass": (
        "class sm(staticmethod):\n def __get__(self, o, c=None): return t[0]\nclass D:\n @sm\n"
        " def k(x): return x * 0.0\nt = [lambda x: x * 2]\nd = D()",
        "d.k(x)",
        "t[0] = lambda x: x * 5.0"),
    "property C getter": (
        "import operator\nclass D:\n k = property(operator.attrgetter('j'))\n j = 1.0\nd = D()",
        "x * d.k", "D.j = 5.0"),
    "cached_property": (
        "import functools\nclass D:\n @functools.cached_property\n def k(self): return t[0]\nt = [1.0]\nd = D()",
        "x * d.k", "t[0] = 5.0; del d.k"),
    "data descriptor": (
        "class K:\n def __get__(self, o, c=None): return t[0]\n def __set__(self, o, v): pass\nclass D: k = K()\n"
        "t = [1.0]\nd = D()",
        "x * d.k",
        "t[0] = 5.0"),
    "callable descriptor": (
        "class K:\n def __get__(self, o, c=None): return t[0]\n def __call__(self): pass\nclass D: k = K()\n"
        "t = [lambda x: x]\nd = D()",
        "d.k(x)",
        "t[0] = lambda x: x * 5.0"),
    "callable descriptor of a class": (
        "class K:\n def __get__(self, o, c=None): return t[0]\n def __call__(self): pass\nclass D: k = K()\nt = [lambda x: x]",
        "D.k(x)", "t[0] = lambda x: x * 5.0"),
    "delete descriptor": (
        "class K:\n def __get__(self, o, c=None): return t[0]\n def __delete__(self, o): pass\nclass D: k = K()\n"
        "t = [1.0]\nd = D(); d.__dict__['k'] = 3.0",
        "x * d.k",
        "t[0] = 5.0"),
    "builtin as class attribute": ("import math\nclass D: k = math.sin\nd = D()", "x * d.k(1.0)", "D.k = math.cos"),
    "inherited class attribute in between": (
        "class A: k = 1.0\nclass B(A): pass\nclass C(B): pass\nd = C()",
        "x * d.k", "B.k = 5.0"),
    "__getattr__": ("class D:\n def __getattr__(self, n): return t[0]\nt = [1.0]\nd = D()", "x * d.k", "t[0] = 5.0"),
    "__getattr__ added": ("class D: pass\nd = D()", "x * getattr(d, 'k', 1.0)", "D.__getattr__ = lambda s, n: 5.0"),
    "__getattribute__": (
        "class D:\n k = 3.0\n"
        " def __getattribute__(self, n): return t[0] if n == 'k' else object.__getattribute__(self, n)\nt = [1.0]\n"
        "d = D()",
        "x * d.k",
        "t[0] = 5.0"),
    "__getattribute__ with instance attribute": (
        "class D:\n def __getattribute__(self, n): return t[0] if n == 'k' else object.__getattribute__(self, n)\n"
        "t = [1.0]\nd = D(); d.k = 2.0",
        "x * d.k",
        "t[0] = 5.0"),
    "__getattribute__ added": ("class D: k = 1.0\nd = D()", "x * d.k", "D.__getattribute__ = lambda s, n: 5.0"),
    "__getattribute__ of a list subclass": (
        "class D(list):\n k = 1.0\n def __getattribute__(self, n): return t[0]\nt = [1.0]\nd = D()",
        "x * d.k", "t[0] = 5.0"),
    "__getattr__ of a dict subclass": (
        "class D(dict):\n def __getattr__(self, n): return self[n]\nd = D(k=1.0)",
        "x * d.k", "d['k'] = 5.0"),
    "attribute dict": (
        "class D(dict):\n def __init__(self, **k):\n   super().__init__(**k)\n   self.__dict__ = self\nd = D(k=1.0)",
        "x * d.k", "d['k'] = 5.0"),
    "__getattr__ of a module": (
        "class N(torch.nn.Module):\n def __getattr__(self, n): return t[0] if n == 'k' else super().__getattr__(n)\n"
        " def forward(self, x): return x * self.k\nt = [1.0]\nm = N()",
        "m(x)",
        "t[0] = 5.0"),
    "property of a subclass of Dropout": (
        "class N(torch.nn.LeakyReLU):\n @property\n def negative_slope(self): return t[0]\n @negative_slope.setter\n"
        " def negative_slope(self, v): pass\nt = [1.0]\nm = N()",
        "m(-x)",
        "t[0] = 5.0"),
    "__getattribute__ of a module": (
        "class N(torch.nn.LeakyReLU):\n"
        " def __getattribute__(self, n): return t[0] if n == 'negative_slope' else super().__getattribute__(n)\n"
        "t = [1.0]\nm = N()",
        "m(-x)",
        "t[0] = 5.0"),
    "class attribute of a subclass of LeakyReLU": (
        "class N(torch.nn.LeakyReLU): pass\nm = N(); del m.negative_slope; N.negative_slope = 1.0",
        "m(-x)", "N.negative_slope = 5.0"),
    "partial state": (
        "import functools\nf0 = lambda k, x: x * k\np = functools.partial(f0, 2.0)",
        "p(x)", "p.__setstate__((f0, (5.0,), {}, {}))"),
    "partialmethod": (
        "import functools\nclass D:\n def m(self, k, x): return x * k\n n = functools.partialmethod(m, 2.0)\nd = D()",
        "d.n(x)", "D.n = functools.partialmethod(D.m, 5.0)"),
    "singledispatch": (
        "import functools\n@functools.singledispatch\ndef g(x): return x * 2",
        "g(x)", "g.register(torch.Tensor, lambda x: x * 5)"),
    "singledispatchmethod": (
        "import functools\nclass D:\n @functools.singledispatchmethod\n def g(self, x): return x * 2\nd = D()",
        "d.g(x)", "D.__dict__['g'].register(torch.Tensor, lambda s, x: x * 5)"),
    "cache of a method": (
        "import functools\nclass D:\n @functools.lru_cache\n def g(self): return t[0]\nt = [1.0]\nd = D()",
        "x * d.g()", "t[0] = 5.0; D.g.cache_clear()"),
    "sys.modules entry": (
        "import sys, types\nsys.modules['minigrad_test_m'] = types.SimpleNamespace(k=1.0)",
        "x * sys.modules['minigrad_test_m'].k", "sys.modules['minigrad_test_m'] = types.SimpleNamespace(k=5.0)"),
    "weakref proxy": ("import weakref\nclass D: k = 1.0\nd = D()\nr = weakref.proxy(d)", "x * r.k", "d.k = 5.0"),
    "module getattr": (
        "import types\nm = types.ModuleType('m')\nm.__getattr__ = lambda n: t[0]\nt = [1.0]",
        "x * m.k", "t[0] = 5.0"),
    "module subclass property": (
        "import types\nclass M(types.ModuleType):\n @property\n def k(self): return t[0]\nm = M('m')\n"
        "m.__dict__['k'] = 3.0\nt = [1.0]",
        "x * m.k",
        "t[0] = 5.0"),
    "module class change": (
        "import types\nclass M(types.ModuleType):\n k = property(lambda s: 5.0)\nm = types.ModuleType('m')\nm.k = 1.0",
        "x * m.k", "m.__class__ = M"),
    "thread local": ("import threading\nd = threading.local(); d.k = 1.0", "x * d.k", "d.k = 5.0"),
    "operator overloads": (
        "class D:\n k = 1.0\n def __add__(self, o): return self.k + o\nd = D()",
        "x * (d + 1.0)", "d.k = 5.0"),
    "call overload replaced": (
        "class D:\n def __call__(self, o): return 2 * o\nd = D()",
        "d(x)", "D.__call__ = lambda s, o: 5 * o"),
    "float overload": ("class D:\n k = 1.0\n def __float__(self): return self.k\nd = D()", "x * float(d)", "d.k = 5.0"),
    "len not a function": (
        "class Len:\n def __get__(self, o, c): return lambda: t[0]\nclass D(list): __len__ = Len()\nt = [1]\nd = D()",
        "x * len(d)", "t[0] = 5"),
    "default dtype": ("", "x * torch.ones(3).div(3)", "torch.set_default_dtype(torch.float64)"),
    "get_default_device": (
        "",
        "x * (1.0 if str(torch.get_default_device()) == 'cpu' else 2.0)", "torch.set_default_device('meta')"),
    "grad mode": ("", "x * (1.0 if torch.is_grad_enabled() else 2.0)", "torch.set_grad_enabled(False)"),
    "hook of a parameter in a step": (
        "p = torch.nn.Parameter(torch.ones(3))",
        "BODY:p.grad = None\n(p * x).sum().backward()\nreturn p.grad * 1", "p.register_hook(lambda g: g * 5)"),
    "user attribute of an argument": (
        "X1 = lambda x: x",
        "ARG:X1(x):x * getattr(x, 'k', 1.0)", "def X1(x):\n  x = x.clone(); x.k = 5.0; return x"),
    "hasattr of an argument": (
        "X1 = lambda x: x",
        "ARG:X1(x):x * (2.0 if hasattr(x, 'k') else 1.0)", "def X1(x):\n  x = x.clone(); x.k = 5.0; return x"),
    "attribute of a global tensor": ("X0 = torch.ones(3); X0.k = 1.0", "x * X0.k", "X0.k = 5.0"),
    "attribute of a global tensor added": ("X0 = torch.ones(3)", "x * getattr(X0, 'k', 1.0)", "X0.k = 5.0"),
    "_base": (
        "B = torch.arange(6.0); X1 = lambda x: B[:3].clone()",
        "ARG:X1(x):x * (1.0 if x._base is None else 2.0)", "X1 = lambda x: B[:3]"),
    "retains_grad": (
        "X1 = lambda x: x.clone().requires_grad_() * 1",
        "ARG:X1(x):x * (1.0 if x.retains_grad else 2.0)",
        "def X1(x):\n  x = x.clone().requires_grad_() * 1\n  x.retain_grad()\n  return x"),
    "stride of size 1": (
        "X1 = lambda x: torch.ones(1, 3)",
        "ARG:X1(x):x * x.stride()[0]", "X1 = lambda x: torch.ones(3, 7).as_strided((1, 3), (11, 1))"),
    "dict argument order": (
        "X1 = lambda x: {'a': x, 'b': x * 2}",
        "ARG:X1(x):list(x.values())[0] * 1", "X1 = lambda x: {'b': x * 2, 'a': x}"),
    "dict argument key type": (
        "X0 = torch.tensor([1, 2]); X1 = lambda x: {1: X0}",
        "ARG:X1(x):x[1] * list(x)[0]", "X1 = lambda x: {1.0: X0}"),
    "keyword order": (
        "K = dict(a=torch.ones(3), b=torch.ones(3) * 2)",
        "KW:K:list(k.values())[0] * 1", "K = dict(b=torch.ones(3) * 2, a=torch.ones(3))"),
    "dict subclass argument": ("class D(dict): k = 1.0\nX0 = D(a=torch.ones(3))", "ARG:X0:x['a'] * x.k", "X0.k = 5.0"),
    "int subclass argument": ("class D(int): k = 1.0\nX0 = D(3); y = torch.ones(3)", "ARG:X0:y * x.k", "X0.k = 5.0"),
    "int subclass argument, another": (
        "class D(int): k = 1.0\nX0 = D(3); y = torch.ones(3)",
        "ARG:X0:y * x.k", "X0 = D(3); X0.k = 5.0"),
    "deque argument maxlen": (
        "import collections\nX0 = collections.deque([torch.ones(3)])",
        "ARG:X0:x[0] * (1.0 if x.maxlen is None else 2.0)", "X0 = collections.deque([torch.ones(3)], maxlen=4)"),
    "match class": (
        "class D:\n def __init__(self): self.k = 1.0\nd = D()",
        "BODY:match d:\n  case D(k=1.0): return x * 1\nreturn x * 2", "d.k = 5.0"),
    "match value": ("class D: k = 1.0\nk = 1.0", "BODY:match k:\n  case D.k: return x * 1\nreturn x * 2", "D.k = 5.0"),
    "closure cell contents": (
        "def make():\n k = 1.0\n def g(x): return x * k\n return g\ng = make()",
        "g(x)", "g.__closure__[0].cell_contents = 5.0"),
    "complex zero": ("k = complex(1.0, 0.0)", "x * (1.0 if str(k.imag) == '0.0' else 2.0)", "k = complex(1.0, -0.0)"),
    "slots attribute deleted": (
        "class D: __slots__ = ('k',)\nd = D(); d.k = 2.0",
        "x * (d.k if hasattr(d, 'k') else 1.0)", "del d.k"),
    "super attribute": ("class A: k = 1.0\nclass B(A):\n def m(self, x): return x * super().k\nd = B()", "d.m(x)", "A.k = 5.0"),
    "super property": (
        "class A:\n @property\n def k(self): return t[0]\nt = [1.0]\nclass B(A):\n"
        " def m(self, x): return x * super().k\nd = B()",
        "d.m(x)",
        "t[0] = 5.0"),
    "custom function added setup_context": (
        "class G(torch.autograd.Function):\n @staticmethod\n def forward(ctx, x): return x * 1\n @staticmethod\n"
        " def backward(ctx, g): return g",
        "G.apply(x)",
        "G.forward = staticmethod(lambda x: x * 5); G.setup_context = staticmethod(lambda ctx, i, o: None)"),
    "no_grad patched": (
        "import contextlib",
        "BODY:with torch.no_grad():\n  y = x.clone().requires_grad_() * 2\nreturn x * (2.0 if y.requires_grad else 1.0)",
        "torch.no_grad = contextlib.nullcontext"),
    "max with an object's lt": (
        "class D:\n def __init__(self, k): self.k = k\n def __lt__(self, o): return self.k < o.k\n"
        " __gt__ = lambda s, o: s.k > o.k\nd = [D(1.0), D(2.0)]",
        "x * max(d).k",
        "d[0].k = 9.0"),
    "exception": (
        "class E(Exception): k = 1.0\ndef g(): raise E",
        "BODY:try:\n  g()\nexcept E as e: return x * e.k", "E.k = 5.0"),
    "callable": ("class D: pass\nd = D()", "x * (1.0 if callable(d) else 2.0)", "D.__call__ = lambda s: 1"),
    "module list subclass iter": (
        "class M(torch.nn.ModuleList): pass\nm = M([torch.nn.Tanh()])",
        "BODY:for l in m: x = l(x)\nreturn x * 1", "M.__iter__ = lambda s: iter(())"),
    "device object": ("", "x * (1.0 if x.device.type == 'cpu' else 2.0)", "torch.device.type = property(lambda s: 'q')"),
}  # fmt: skip


@pytest.fixture
def unpatched():
    """Restore what a program patches."""
    before = [(owner, dict(owner if owner is sys.modules else vars(owner))) for owner in PATCHED]
    yield
    for owner, known in before:
        now = owner if owner is sys.modules else vars(owner)
        for name in [name for name, value in now.items() if value is not known.get(name)]:
            if owner is sys.modules:
                owner.pop(name) if name not in known else owner.update({name: known[name]})
            else:
                setattr(owner, name, known[name]) if name in known else delattr(owner, name)
    torch.set_default_dtype(torch.float32)


def result(name, argument, scope):
    """Return the outcome of a call: the numbers and their dtype, or the class of an error."""
    try:
        out = eval(f"{name}({argument})", scope)
    except Exception as e:
        return type(e)
    return out.dtype, [pytest.approx(a, rel=1e-5) for a in out.detach().flatten().tolist()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("unpatched", "interpreted")
@pytest.mark.parametrize("title", PROGRAMS)
def test_a_compiled_function_is_never_stale(title):
    contextvars.copy_context().run(check, *PROGRAMS[title])  # grad mode is a variable of a context


def check(text, body, change):
    argument, parameter = "x", "x"
    if body.startswith(("ARG:", "KW:")):
        kind, argument, body = body.split(":", 2)
        argument, parameter = (f"**{argument}", "**k") if kind == "KW" else (argument, "x")
    body = textwrap.indent(body[5:], "    ") if body.startswith("BODY:") else f"    return {body}"
    scope = {"torch": torch, "x": torch.tensor([1.0, 2.0, 3.0]), "__name__": "program"}
    defined(f"{text}\ndef f({parameter}):\n{body}\n", scope)
    scope["compiled"] = torch.compile(scope["f"])
    before = result("f", argument, scope)
    for _ in range(2):
        assert result("compiled", argument, scope) == before
    exec(change, scope)
    found = result("compiled", argument, scope)
    after = result("f", argument, scope)
    assert found == after == result("compiled", argument, scope) and after != before
