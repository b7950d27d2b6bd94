"""Programs of function transforms under torch.func and minigrad.func: the same values, or the same kind of exception.

A program is a lambda of the module to use as `torch`.
"""

import collections

import pytest
import torch

import minigrad

from .harness import Raised, differences, run

Pair = collections.namedtuple("Pair", "u v")


def block(source):
    """Return a program of several lines, which ends in `return`."""
    names = {"Pair": Pair}
    lines = ["def program(t):", *(f"    {line}" for line in source.strip("\n").splitlines())]
    exec("\n".join(lines), names)
    return names["program"]


REVERSE = {
    "grad": lambda t: t.func.grad(lambda x: (x * x).sum())(t.tensor([1.0, 2.0])),
    "grad of grad of grad": lambda t: t.func.grad(t.func.grad(t.func.grad(lambda x: x**4)))(t.tensor(2.0)),
    "negative argnums": lambda t: t.func.grad(lambda x, y: x * x * y, argnums=-1)(t.tensor(3.0), t.tensor(2.0)),
    "several argnums": lambda t: t.func.grad(lambda x, y: x * x * y, argnums=(0, -1))(t.tensor(3.0), t.tensor(2.0)),
    "aux": lambda t: t.func.grad(lambda x: (x * x, {"a": x * 2, "b": (x,)}), has_aux=True)(t.tensor(3.0)),
    "value and aux": lambda t: t.func.grad_and_value(lambda x: (x * x, x + 1), has_aux=True)(t.tensor(3.0)),
    "keyword argument": lambda t: t.func.grad(lambda x, y: (x * y).sum())(t.ones(2), y=t.ones(2)),
    "dictionary": lambda t: t.func.grad(lambda d: (d["a"] * d["b"]).sum())({"a": t.ones(2), "b": t.tensor(2.0)}),
    "nested": lambda t: t.func.grad(lambda d: (d["a"][0] * d["a"][1]).sum())({"a": [t.ones(2), t.tensor(2.0)]}),
    "named tuple": lambda t: list(t.func.grad(lambda p: (p.u * p.v).sum())(Pair(t.ones(2), t.ones(2)))),
    "write to arguments that are not differentiated by": block("""
def f(x, y, d):
    y.mul_(2)
    d["n"][0].add_(x.detach())
    d["i"].sub_(1)
    return (x * y * d["n"])[d["i"]].sum()
y, n, i = t.ones(2), t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([1, 2])
x = t.tensor([1.0, 3.0])
found = [transform(f)(x, y, {"n": n, "i": i + 0}) for transform in (t.func.grad, t.func.jacrev, t.func.jacfwd, t.func.hessian)]
found += [t.func.grad(lambda x, y: f(x, y, {"n": n + 0, "i": i + 0}))(x, y=y)]
return found, y, n
"""),
    "write to what tanhshrink has read": block("""
def f(x):
    v = x * 1
    y = t.nn.functional.tanhshrink(v)
    v.mul_(3)
    return (y * y * v).sum()
return t.func.grad(f)(t.ones(2)), t.func.hessian(f)(t.ones(2))
"""),
    "write to what binary_cross_entropy_with_logits has read": block("""
def f(x):
    v = x * 1
    y = t.nn.functional.binary_cross_entropy_with_logits(v, t.ones(2) * 0.25)
    v.mul_(3)
    return (y * y * v).sum()
return t.func.grad(f)(t.ones(2)), t.func.hessian(f)(t.ones(2))
"""),
    "unused argument": lambda t: t.func.grad(lambda x, y: x.sum(), argnums=(0, 1))(t.ones(2), t.ones(3)),
    "constant function": lambda t: t.func.grad(lambda x: t.tensor(2.0))(t.ones(2)),
    "size 0": lambda t: t.func.grad(lambda x: x.sum())(t.ones(0)),
    "detach": lambda t: t.func.grad(lambda x: x * x.detach())(t.tensor(3.0)),
    "item": lambda t: t.func.grad(lambda x: x * x.item())(t.tensor(3.0)),
    "tolist": lambda t: t.func.grad(lambda x: x.sum() * x.tolist()[0])(t.ones(3)),
    "if": lambda t: t.func.grad(lambda x: x * 2 if x > 0 else x)(t.tensor(3.0)),
    "vjp": lambda t: (lambda p: (p[0], p[1](t.tensor(1.0)), p[1](t.tensor(2.0))))(
        t.func.vjp(lambda x: x**2, t.tensor(3.0))
    ),
    "vjp of several results": lambda t: t.func.vjp(lambda x: (x * 2, x * 3), t.ones(2))[1]((t.ones(2), t.ones(2))),
    "vjp of a dictionary": lambda t: t.func.vjp(lambda x: {"a": x * 2}, t.ones(2))[1]({"a": t.ones(2)}),
    "vjp with aux": lambda t: t.func.vjp(lambda x: (x * 2, x.sum()), t.ones(2), has_aux=True)[::2],
    "vjp of the identity": lambda t: t.func.vjp(lambda x: x, t.tensor(3.0))[1](t.tensor(2.0)),
    "vjp of an eager tensor": block("""
x = t.tensor(3.0, requires_grad=True)
value, pull = t.func.vjp(lambda x: x**3, x)
(g,) = pull(t.tensor(1.0))
g.backward()
return value.requires_grad, x.grad"""),
    "an eager tensor in a closure": block("""
w = t.ones(2, requires_grad=True)
t.func.grad(lambda x: (x * w * w).sum())(t.ones(2)).sum().backward()
return w.grad"""),
    "autograd.grad inside": lambda t: t.func.grad(
        lambda x: t.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum()
    )(t.ones(2)),
    "what is tracked inside": block("""
seen = []
def f(x):
    seen.append([x.requires_grad, x.is_leaf, (x * 2).requires_grad, x.detach().requires_grad])
    return x
t.func.grad(f)(t.tensor(3.0))
return seen"""),
    "a perturbation that must not be confused": lambda t: t.func.grad(
        lambda x: x * t.func.grad(lambda y: x + y)(t.tensor(2.0))
    )(t.tensor(1.0)),
    "an exception inside leaves nothing behind": block("""
def f(x):
    raise KeyError
try:
    t.func.grad(f)(t.tensor(3.0))
except KeyError:
    pass
return t.func.grad(lambda x: x * x)(t.tensor(3.0))"""),
}
REVERSE_ERRORS = {
    "vjp twice without its graph": block("""
_, pull = t.func.vjp(lambda x: x**2, t.tensor(3.0))
return pull(t.tensor(1.0), retain_graph=False), pull(t.tensor(2.0))"""),
    "no scalar": lambda t: t.func.grad(lambda x: x * 2)(t.ones(3)),
    "no tensor": lambda t: t.func.grad(lambda x: 3.0)(t.ones(3)),
    "integer input": lambda t: t.func.grad(lambda x: x.sum().double())(t.ones(3).long()),
    "number as input": lambda t: t.func.grad(lambda x: x * x)(3.0),
    "None in a dictionary": lambda t: t.func.grad(lambda d: d["a"].sum())({"a": t.ones(2), "c": None}),
    "argnums out of range": lambda t: t.func.grad(lambda x: x * x, argnums=1)(t.tensor(3.0)),
    "argnums twice": lambda t: t.func.grad(lambda x, y: x * y, argnums=(1, -1))(t.tensor(3.0), t.tensor(2.0)),
    "argnums as text": lambda t: t.func.grad(lambda x: x * x, argnums="x")(t.tensor(3.0)),
    "no argnums": lambda t: t.func.grad(lambda x: x * x, argnums=())(t.tensor(3.0)),
    "aux is missing": lambda t: t.func.grad(lambda x: x * x, has_aux=True)(t.tensor(3.0)),
    "three values for aux": lambda t: t.func.grad(lambda x: (x * x, 1, 2), has_aux=True)(t.tensor(3.0)),
    "vjp of no tensor": lambda t: t.func.vjp(lambda x: 3, t.ones(2)),
    "vjp of None beside": lambda t: t.func.vjp(lambda x: (x * 2, None), t.ones(2)),
    "vjp by nothing": lambda t: t.func.vjp(lambda: 3),
    "vjp by a number": lambda t: t.func.vjp(lambda x, n: x * n, t.ones(2), 3),
    "vjp by an integer tensor": lambda t: t.func.vjp(lambda x: x.double(), t.ones(2).long()),
    "vjp of an integer tensor": lambda t: t.func.vjp(lambda x: (x * 2, x.long()), t.ones(2)),
    "cotangent of another shape": lambda t: t.func.vjp(lambda x: x * 2, t.ones(2))[1](t.ones(3)),
    "cotangent that would broadcast": lambda t: t.func.vjp(lambda x: x * 2, t.ones(2))[1](t.ones(1)),
    "cotangent in a tuple": lambda t: t.func.vjp(lambda x: x * 2, t.ones(2))[1]((t.ones(2),)),
    "two cotangents": lambda t: t.func.vjp(lambda x: (x, x), t.ones(2))[1](t.ones(2), t.ones(2)),
    "write to a captured tensor": block("y = t.zeros(2)\nreturn t.func.grad(lambda x: y.add_(x).sum())(t.ones(2))"),
    "write to an input": lambda t: t.func.grad(lambda x: x.mul_(2).sum())(t.ones(2)),
    "numpy": lambda t: t.func.grad(lambda x: t.tensor(x.numpy()).sum())(t.ones(3)),
    "backward inside": block("""
w = t.ones(2, requires_grad=True)
def f(x):
    (x * w).sum().backward()
    return x.sum()
return t.func.grad(f)(t.ones(2))"""),
}
FORWARD = {
    "jvp": lambda t: t.func.jvp(lambda x: x**3, (t.tensor(2.0),), (t.tensor(1.0),)),
    "jvp of jvp": lambda t: t.func.jvp(
        lambda x: t.func.jvp(lambda x: x**3, (x,), (t.tensor(1.0),))[1], (t.tensor(2.0),), (t.tensor(1.0),)
    ),
    "nested primals": lambda t: t.func.jvp(
        lambda d: {"out": d["a"] * d["b"]}, ({"a": t.ones(2), "b": t.ones(2)},), ({"a": t.ones(2), "b": t.zeros(2)},)
    ),
    "independent result": lambda t: t.func.jvp(lambda x: (x, t.ones(2)), (t.ones(2),), (t.ones(2),)),
    "integer result": lambda t: t.func.jvp(lambda x: x.long(), (t.ones(2),), (t.ones(2),)),
    "aux": lambda t: t.func.jvp(lambda x: (x * 2, x), (t.ones(2),), (t.ones(2),), has_aux=True),
    "write to an input": block("""
x = t.ones(2)
return t.func.jvp(lambda x: x.mul_(2), (x,), (t.ones(2),)), x"""),
    "write to a view's base after the view": block("""
def f(x):
    b = t.zeros(3)
    v = b[0:1]
    b[0] = x * 2
    return v * 3
return t.func.jvp(f, (t.tensor(2.0),), (t.tensor(1.0),))"""),
    "write of floats into integers": block("""
def f(x):
    b = t.zeros(3).long()
    b[0] = x
    return b * x
return t.func.jvp(f, (t.tensor(2.0),), (t.tensor(1.0),))"""),
    "linearize": lambda t: (lambda p: (p[0], p[1](t.ones(2))))(t.func.linearize(lambda x: x.sin(), t.ones(2))),
    "linearize of a dictionary": lambda t: (lambda p: p[1](t.ones(2), t.ones(2)))(
        t.func.linearize(lambda x, y: {"a": x * y, "b": (x.sum(),)}, t.ones(2), t.ones(2))
    ),
    "jacfwd": lambda t: t.func.jacfwd(lambda x: x.sin())(t.ones(2)),
    "jacrev": lambda t: t.func.jacrev(lambda x: x.sin())(t.ones(2, 1)),
    "jacrev of a tree": lambda t: t.func.jacrev(lambda x, y: {"a": x * y, "b": (x.sum(),)}, argnums=(0, 1))(
        t.ones(2), t.ones(2)
    ),
    "jacfwd of a tree": lambda t: t.func.jacfwd(lambda x, y: {"a": x * y, "b": (x.sum(),)}, argnums=(0, 1))(
        t.ones(2), t.ones(2)
    ),
    "jacrev by a dictionary": lambda t: t.func.jacrev(lambda d: d["a"] * d["b"])({"a": t.ones(2), "b": t.ones(2)}),
    "jacrev with aux": lambda t: t.func.jacrev(lambda x: (x * x, x + 1), has_aux=True)(t.ones(2)),
    "jacfwd with aux": lambda t: t.func.jacfwd(lambda x: (x * x, x + 1), has_aux=True)(t.ones(2)),
    "jacrev in chunks": lambda t: t.func.jacrev(lambda x: x * x, chunk_size=2)(t.ones(3)),
    "jacrev of size 0": lambda t: t.func.jacrev(lambda x: x * x)(t.ones(0)),
    "jacfwd of size 0": lambda t: t.func.jacfwd(lambda x: x * x)(t.ones(0)),
    "jacrev of a constant": lambda t: t.func.jacrev(lambda x: t.ones(2))(t.ones(3)),
    "jacfwd of a constant": lambda t: t.func.jacfwd(lambda x: t.ones(2))(t.ones(3)),
    "hessian by two arguments": lambda t: t.func.hessian(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(
        t.ones(2), t.ones(2)
    ),
    "a dual tensor from outside": block("""
fw = t.autograd.forward_ad
with fw.dual_level():
    d = fw.make_dual(t.ones(2), t.ones(2))
    found = t.func.grad(lambda x: (x**3).sum())(d), t.vmap(lambda x: x**3)(d)
    return [list(fw.unpack_dual(f)) for f in found]"""),
}
FORWARD_LAYOUTS = {  # a tangent whose memory has another order than its primal's
    "reshape": lambda t: t.func.jvp(lambda x: x.reshape(6), (t.ones(2, 3),), (t.arange(6.0).reshape(3, 2).mT,)),
    "a written view": block("""
def f(x):
    x.view(6).mul_(2)
    return x
return t.func.jvp(f, (t.ones(2, 3),), (t.arange(6.0).reshape(3, 2).mT,))"""),
    "a written view of a constant": block("""
def f(x):
    y = t.ones(3, 2).mT.clone()
    y.mT.view(6)[1:4].copy_(x)
    return y
return t.func.jvp(f, (t.ones(3),), (t.tensor([2.0, 3.0, 1.0]),))"""),
    "a tangent of a vmap": lambda t: t.func.vmap(
        lambda v: t.func.jvp(lambda x: x.view(6), (t.ones(2, 3),), (v,)), in_dims=1
    )(t.arange(12.0).reshape(2, 2, 3)),
    "a matrix used straight and transposed": block("""
def f(c):
    m = c.reshape(3, 2)
    return (m * t.arange(6.0).reshape(3, 2)).sum() + (m.mT**2 * t.arange(6.0).reshape(2, 3)).sum()
c = t.arange(6.0)
return t.func.jvp(t.func.grad(f), (c,), (c,)), t.func.hessian(f)(c)"""),
    "a write with a transposed gradient": block("""
def f(x):
    y = x * 1
    y.view(6).mul_(x.flatten())
    return (y.mT * t.arange(6.0).reshape(3, 2)).sum()
x = t.ones(2, 3)
return t.func.grad(f)(x), t.func.hessian(f)(x), t.func.jacfwd(f)(x)"""),
}
FORWARD_ERRORS = {
    "lists": lambda t: t.func.jvp(lambda x: x * 2, [t.ones(2)], [t.ones(2)]),
    "no tuple": lambda t: t.func.jvp(lambda x: x * 2, t.ones(2), t.ones(2)),
    "nothing": lambda t: t.func.jvp(lambda: t.ones(2), (), ()),
    "another shape": lambda t: t.func.jvp(lambda x: x * 2, (t.ones(2),), (t.ones(3),)),
    "integers": lambda t: t.func.jvp(lambda x: x * 2, (t.ones(2).long(),), (t.ones(2).long(),)),
    "another structure": lambda t: t.func.jvp(lambda x: x * 2, (t.ones(2),), ((t.ones(2),),)),
    "too many tangents": lambda t: t.func.jvp(lambda x: x * 2, (t.ones(2),), (t.ones(2), t.ones(2))),
    "a number": lambda t: t.func.jvp(lambda x: x * 2, (2.0,), (t.ones(2),)),
    "a result that is no tensor": lambda t: t.func.jvp(lambda x: 2, (t.ones(2),), (t.ones(2),)),
    "strict": lambda t: t.func.jvp(lambda x: t.ones(2), (t.ones(2),), (t.ones(2),), strict=True),
    "strict and detached": lambda t: t.func.jvp(lambda x: x.detach(), (t.ones(2),), (t.ones(2),), strict=True),
    "write to a captured tensor": block("""
y = t.zeros(2)
return t.func.jvp(lambda x: y.add_(x).sum(), (t.ones(2),), (t.ones(2),))"""),
    "random numbers under jacfwd": lambda t: t.func.jacfwd(lambda x: x * t.rand(2))(t.ones(2)),
    "jacrev of integers": lambda t: t.func.jacrev(lambda x: x * 2)(t.ones(2).long()),
    "jacfwd of integers": lambda t: t.func.jacfwd(lambda x: x * 2)(t.ones(2).long()),
    "hessian of integers": lambda t: t.func.hessian(lambda x: x.sum())(t.ones(2).long()),
    "jacrev of no tensor": lambda t: t.func.jacrev(lambda x: 2)(t.ones(2)),
    "jacfwd of no tensor": lambda t: t.func.jacfwd(lambda x: 2)(t.ones(2)),
    "jacrev with a chunk size of 0": lambda t: t.func.jacrev(lambda x: x, chunk_size=0)(t.ones(3)),
    "linearize at another shape": lambda t: t.func.linearize(lambda x: x.sin(), t.ones(2))[1](t.ones(3)),
    "linearize with too many": lambda t: t.func.linearize(lambda x: x.sin(), t.ones(2))[1](t.ones(2), t.ones(2)),
}
GRAD_MODES = {
    "no_grad inside": block("""
def f(x):
    with t.no_grad():
        c = x**2
    return x**2 - c
x = t.tensor(3.0)
return t.func.grad(f)(x), t.func.jvp(f, (x,), (x,))"""),
    "no_grad outside": block("with t.no_grad():\n    return t.func.grad(lambda x: x**2)(t.tensor(3.0))"),
    "no_grad between": block("""
def f(x):
    with t.no_grad():
        g = t.func.grad(lambda y: y**3)(x)
    return g * x
return t.func.grad(f)(t.tensor(3.0))"""),
    "no_grad inside both": block("""
def g(x, y):
    with t.no_grad():
        c = x * y
    return x * y - c * y
return t.func.grad(lambda x: t.func.grad(g, 1)(x, x))(t.tensor(3.0))"""),
    "enable_grad inside": block("""
def f(x):
    with t.no_grad(), t.enable_grad():
        c = x**2
    return x**2 - c
return t.func.grad(f)(t.tensor(3.0))"""),
    "set_grad_enabled inside": block("""
def f(x):
    t.set_grad_enabled(False)
    c = x**2
    t.set_grad_enabled(True)
    return x**2 - c
return t.func.grad(f)(t.tensor(3.0))"""),
    "inference_mode outside": block(
        "with t.inference_mode():\n    return t.func.grad(lambda x: x**2)(t.tensor(3.0)) * 1"
    ),
}
IN_PLACE = {
    "a buffer": block("""
def f(x):
    b = t.zeros(3)
    b[1] = x
    b[0] += x * x
    return b.sum()
return t.func.grad(f)(t.tensor(3.0))"""),
    "a clone and its input": block("""
x = t.ones(2)
return t.func.grad(lambda x: (x.clone().mul_(x) * x).sum())(x), x"""),
    "an index that is a 0-d tensor": block("""
def f(x):
    y = x * 1
    y[t.tensor(1)].mul_(5)
    return (y * y).sum()
return t.func.grad(f)(t.ones(3))"""),
    "vmap writes to its input": block("x = t.ones(2, 3)\nreturn t.vmap(lambda x: x.mul_(2))(x), x"),
    "vmap writes to a view": block("""
x = t.ones(2, 3)
def f(r):
    r[1:].mul_(2)
    return r.clone()
return t.vmap(f, in_dims=1)(x), x"""),
    "vmap of operands of lower rank": lambda t: t.vmap(lambda x, y: x.add_(y))(t.ones(3, 2), t.ones(3)),
    "vmap of operands of higher rank": lambda t: t.vmap(lambda x, y: x.add_(y), (0, 1))(t.ones(3), t.ones(2, 3)),
    "vmap writes to what is not batched": block("y = t.zeros(2)\nreturn t.vmap(lambda x: y.add_(x))(t.ones(3, 2))"),
    "vmap writes a constant": block("""
y = t.zeros(2)
def f(x):
    y.add_(1)
    return x + y
return t.vmap(f)(t.ones(3, 2)), y"""),
    "vmap of setitem": block("""
def f(x, i, v):
    y = x.clone()
    y[i] = v
    return y
return t.vmap(f)(t.arange(6.0).reshape(2, 3), t.tensor([0, 2]), t.tensor([10.0, 11.0]))"""),
    "vmap of a buffer": block("""
def f(x):
    y = t.zeros(3)
    y[0] = x
    return y
return t.vmap(f)(t.arange(2.0))"""),
    "vmap of a batched buffer": block("""
def f(x):
    y = x.new_zeros(3)
    y[0] = x
    return y
return t.vmap(f)(t.arange(2.0))"""),
}
THEMES = {
    "reverse": REVERSE,
    "reverse errors": REVERSE_ERRORS,
    "forward": FORWARD,
    "forward, layouts": FORWARD_LAYOUTS,
    "forward errors": FORWARD_ERRORS,
    "grad modes": GRAD_MODES,
    "in place": IN_PLACE,
}
CASES = [(f"{theme}: {name}", program) for theme, programs in THEMES.items() for name, program in programs.items()]


def compare(program):
    """Return the differences between the two libraries, and PyTorch's result."""
    wanted, found = run(program, torch), run(program, minigrad)
    return differences(wanted, found), wanted


@pytest.mark.parametrize("name, program", CASES, ids=[name for name, _ in CASES])
def test_transforms_agree_with_torch(name, program):
    lines, wanted = compare(program)
    assert not lines, "\n".join(lines)
    assert isinstance(wanted, Raised) == ("error" in name) or "in place" in name, f"torch: {wanted!r}"
