"""Programs of vmap, modules and custom Functions under torch.func and minigrad.func; see test_func.py."""

import pytest
import torch

import minigrad
from tests.functions import custom

from .harness import Raised, differences, run
from .test_func import block


def alike(examples):
    """Return True if all examples are the same."""
    return bool((examples == examples[0]).all())


ARGUMENTS = {
    "in_dims": lambda t: t.vmap(lambda x, y: x * y, (0, None))(t.ones(3), t.ones(2)),
    "negative in_dims": lambda t: t.vmap(lambda x: x.sum(), -1)(t.ones(3, 2)),
    "nested in_dims": lambda t: t.vmap(lambda d: d["a"] * d["b"], ({"a": 0, "b": 1},))(
        {"a": t.ones(3), "b": t.ones(2, 3)}
    ),
    "a number beside": lambda t: t.vmap(lambda x, y: x * y, (0, None))(t.ones(3), 2),
    "keyword": lambda t: t.vmap(lambda x, s=1: x * s)(t.ones(3), s=2),
    "batched keyword": lambda t: t.vmap(lambda x, s=1: x * s)(t.ones(3, 2), s=t.ones(3, 2)),
    "out_dims": lambda t: t.vmap(lambda x: (x, x * 2), out_dims=(0, 1))(t.ones(3, 2)),
    "negative out_dims": lambda t: t.vmap(lambda x: x, out_dims=-1)(t.ones(3, 2)),
    "out_dims None": lambda t: t.vmap(lambda x: (x, t.ones(2)), out_dims=(0, None))(t.ones(3, 2)),
    "out_dims in a tuple": lambda t: t.vmap(lambda x: x, out_dims=(0,))(t.ones(3, 2)),
    "out_dims in a dictionary": lambda t: t.vmap(lambda x: {"a": x}, out_dims={"a": 1})(t.ones(3, 2)),
    "nested results": lambda t: t.vmap(lambda x: {"a": x, "b": (x * 2, [x])})(t.ones(3)),
    "chunks": lambda t: t.vmap(lambda x: (x, x * 2), out_dims=(0, -1), chunk_size=2)(t.ones(3, 2)),
    "constant results": lambda t: t.vmap(lambda x: t.ones(2))(t.ones(3)),
    "size 0": lambda t: t.vmap(lambda x: x * 2)(t.ones(0, 2)),
    "nested vmap": lambda t: t.vmap(t.vmap(lambda x, y: x * y, (0, None)), (None, 0))(t.ones(3), t.ones(2)),
    "len": lambda t: t.vmap(lambda x: x * len(x))(t.ones(3, 2)),
    "iteration": lambda t: t.vmap(lambda x: sum(r for r in x))(t.ones(3, 2)),
    "dtypes of 0-d examples": lambda t: t.vmap(lambda s, x: s * x)(t.ones(3, dtype=t.float64), t.ones(3, 2)),
    "dtypes of a captured 0-d tensor": lambda t: t.vmap(lambda s: s * t.tensor(1.0, dtype=t.float64))(t.ones(3)),
    "index": lambda t: t.vmap(lambda x, i: x[i])(t.arange(6.0).reshape(2, 3), t.tensor([0, 2])),
    "index of a captured": lambda t: t.vmap(lambda i: t.arange(6.0).reshape(3, 2)[i])(t.tensor([[0, 2], [1, 1]])),
    "split": lambda t: t.vmap(lambda x: t.split(x, 2))(t.ones(2, 3)),
    "one_hot": lambda t: t.vmap(lambda x: t.nn.functional.one_hot(x, 5))(t.tensor([0, 1, 2])),
    "is_grads_batched": block("""
x = t.ones(3, requires_grad=True)
return t.autograd.grad(x**2, x, t.eye(3), is_grads_batched=True)"""),
}
ARGUMENT_ERRORS = {
    "no arguments": lambda t: t.vmap(lambda: t.ones(2))(),
    "a 0-d argument": lambda t: t.vmap(lambda x: x)(t.tensor(1.0)),
    "a number": lambda t: t.vmap(lambda x, y: x * y)(t.ones(3), 2),
    "nothing batched": lambda t: t.vmap(lambda x: x, (None,))(t.ones(3)),
    "in_dims None": lambda t: t.vmap(lambda x: x, None)(t.ones(3)),
    "other sizes": lambda t: t.vmap(lambda x, y: x * y)(t.ones(3), t.ones(4)),
    "too few in_dims": lambda t: t.vmap(lambda x, y: x * y, (0,))(t.ones(3), t.ones(3)),
    "fractional in_dims": lambda t: t.vmap(lambda x: x, 0.5)(t.ones(3)),
    "in_dims as a list": lambda t: t.vmap(lambda x, y: x * y, [0, 0])(t.ones(3), t.ones(3)),
    "in_dims with other keys": lambda t: t.vmap(lambda d: d["a"], ({"a": 0},))({"a": t.ones(3), "b": t.ones(3)}),
    "in_dims out of range": lambda t: t.vmap(lambda x: x, 1)(t.ones(3)),
    "negative in_dims out of range": lambda t: t.vmap(lambda x: x, -3)(t.ones(3, 2)),
    "a number as result": lambda t: t.vmap(lambda x: 2.0)(t.ones(3)),
    "None as result": lambda t: t.vmap(lambda x: None)(t.ones(3)),
    "a number beside the result": lambda t: t.vmap(lambda x: (x, 2.0))(t.ones(3)),
    "out_dims None of what is batched": lambda t: t.vmap(lambda x: x, out_dims=None)(t.ones(3, 2)),
    "too many out_dims": lambda t: t.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(t.ones(3, 2)),
    "out_dims out of range": lambda t: t.vmap(lambda x: x, out_dims=2)(t.ones(3, 2)),
    "out_dims as text": lambda t: t.vmap(lambda x: x, out_dims="a")(t.ones(3, 2)),
    "fractional out_dims": lambda t: t.vmap(lambda x: x, out_dims=0.5)(t.ones(3, 2)),
    "randomness": lambda t: t.vmap(lambda x: x, randomness="foo")(t.ones(3, 2)),
    "chunk size": lambda t: t.vmap(lambda x: x, chunk_size=0)(t.ones(3, 2)),
    "item": lambda t: t.vmap(lambda x: x.item() * x)(t.ones(3)),
    "item under grad": lambda t: t.vmap(t.func.grad(lambda x: x * x.item()))(t.ones(3)),
    "if": lambda t: t.vmap(lambda x: x if x > 0 else -x)(t.ones(3)),
    "float": lambda t: t.vmap(lambda x: float(x) * x)(t.ones(3)),
    "int": lambda t: t.vmap(lambda x: int(x) * x)(t.ones(3)),
    "numpy": lambda t: t.vmap(lambda x: x.numpy())(t.ones(3)),
    "tolist": lambda t: t.vmap(lambda x: x.tolist())(t.ones(3)),
    "list index": lambda t: t.vmap(lambda x: [0, 1, 2][x])(t.ones(3).long()),
    "slice": lambda t: t.vmap(lambda x, i: x[i:])(t.ones(2, 3), t.tensor([0, 1])),
    "arange": lambda t: t.vmap(lambda n: t.arange(n))(t.tensor([2, 3])),
    "nonzero": lambda t: t.vmap(lambda x: x.nonzero())(t.ones(3, 2)),
    "where of one argument": lambda t: t.vmap(lambda x: t.where(x > 0))(t.ones(3, 2)),
    "mask": lambda t: t.vmap(lambda x: x[x > 0])(t.ones(3, 2)),
    "masked_select": lambda t: t.vmap(lambda x: t.masked_select(x, x > 0))(t.ones(3, 2)),
    "unique": lambda t: t.vmap(lambda x: t.unique(x))(t.ones(3, 2)),
    "equal": lambda t: t.vmap(lambda x: x if t.equal(x, x) else x)(t.ones(3, 2)),
    "allclose": lambda t: t.vmap(lambda x: x if t.allclose(x, x) else x)(t.ones(3, 2)),
    "in": lambda t: t.vmap(lambda x: x if 1.0 in x else x)(t.ones(3, 2)),
    "an escaped tensor": block("kept = []\nt.vmap(lambda x: (kept.append(x), x)[1])(t.ones(2))\nreturn kept[0] + 1"),
}
RANDOM = {
    "different": lambda t: list(t.vmap(lambda x: t.rand(2), randomness="different")(t.ones(3)).shape),
    "rand, the same": lambda t: alike(t.vmap(lambda x: t.rand(4), randomness="same")(t.ones(3))),
    "dropout, the same": lambda t: alike(t.vmap(t.nn.functional.dropout, randomness="same")(t.ones(3, 99))),
    "dropout, different": lambda t: alike(t.vmap(t.nn.functional.dropout, randomness="different")(t.ones(3, 99))),
    "rand_like, the same": lambda t: alike(t.vmap(t.rand_like, randomness="same")(t.ones(3, 99))),
    "rand_like, different": lambda t: alike(t.vmap(t.rand_like, randomness="different")(t.ones(3, 99))),
    "randperm, different": lambda t: alike(t.vmap(lambda x: t.randperm(99), randomness="different")(t.ones(3))),
    "poisson, different": lambda t: alike(
        t.vmap(lambda x: t.poisson(t.full((99,), 4.0)), randomness="different")(t.ones(3))
    ),
}
RANDOM_ERRORS = {
    "error": lambda t: t.vmap(lambda x: x + t.rand(2))(t.ones(3, 2)),
    "error by dropout": lambda t: t.vmap(lambda x: t.nn.functional.dropout(x))(t.ones(3, 2)),
    "poisson of different means": lambda t: t.vmap(t.poisson, randomness="same")(t.ones(3, 2)),
    "in place": lambda t: (lambda y: t.vmap(lambda x: x + y.normal_(), randomness="different")(t.ones(3, 4)))(
        t.zeros(4)
    ),
}
MODULES = {
    "functional_call": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), {"weight": t.ones(2, 2), "bias": t.ones(2)}, (t.ones(2),)
    ),
    "one argument": lambda t: t.func.functional_call(
        t.nn.Linear(2, 1), {"weight": t.ones(1, 2), "bias": t.ones(1)}, t.ones(2)
    ),
    "keywords": lambda t: t.func.functional_call(
        t.nn.Linear(2, 1), {"weight": t.ones(1, 2), "bias": t.ones(1)}, kwargs={"input": t.ones(2)}
    ),
    "two dictionaries": lambda t: t.func.functional_call(
        t.nn.Linear(2, 1), ({"weight": t.ones(1, 2)}, {"bias": t.ones(1)}), (t.ones(2),)
    ),
    "the module is left alone": block("""
m = t.nn.Linear(2, 2)
w = m.weight
try:
    t.func.functional_call(m, {"weight": t.ones(2, 2)}, (t.ones(3),))
except RuntimeError:
    pass
return m.weight is w"""),
    "buffers": block("""
bn = t.nn.BatchNorm1d(2)
buffers = {k: v.clone() for k, v in bn.named_buffers()}
t.func.functional_call(bn, buffers, (t.arange(8.0).reshape(4, 2),))
return buffers, bn.running_mean"""),
    "tied weights": block("""
class Twice(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = t.nn.Linear(1, 1, bias=False)
        self.b = self.a
    def forward(self, x):
        return self.a(self.b(x))
three, two = t.full((1, 1), 3.0), t.full((1, 1), 2.0)
tied = t.func.functional_call(Twice(), {"a.weight": three}, (t.ones(1),))
return tied, t.func.functional_call(Twice(), {"a.weight": three, "b.weight": two}, (t.ones(1),), tie_weights=False)"""),
    "stack_module_state": block("""
p, b = t.func.stack_module_state([t.nn.BatchNorm1d(2) for _ in range(3)])
return {k: [list(v.shape), v.requires_grad, v.is_leaf] for k, v in p.items()}, {k: list(v.shape) for k, v in b.items()}"""),
    "batch_norm without statistics": lambda t: t.vmap(t.nn.BatchNorm1d(3, track_running_stats=False))(
        t.arange(24.0).reshape(2, 4, 3)
    ).detach(),
    "batch_norm in evaluation": lambda t: t.vmap(t.nn.BatchNorm1d(3).eval())(t.ones(2, 4, 3)).detach(),
}
MODULE_ERRORS = {
    "a number": lambda t: t.func.functional_call(t.nn.Linear(2, 2), {"weight": 3}, (t.ones(3),)),
    "missing and strict": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), {"weight": t.ones(2, 2)}, (t.ones(2),), strict=True
    ),
    "unknown and strict": lambda t: t.func.functional_call(
        t.nn.Linear(1, 1), {"weight": t.ones(1, 1), "bias": t.ones(1), "q": t.ones(2)}, (t.ones(1),), strict=True
    ),
    "in two dictionaries": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), ({"weight": t.ones(2, 2)}, {"weight": t.ones(2)}), (t.ones(2),)
    ),
    "modules of two kinds": lambda t: t.func.stack_module_state([t.nn.Linear(2, 3), t.nn.ReLU()]),
    "modules in two modes": lambda t: t.func.stack_module_state([t.nn.Linear(2, 3), t.nn.Linear(2, 3).eval()]),
    "no modules": lambda t: t.func.stack_module_state([]),
    "batch_norm of captured statistics": lambda t: t.vmap(t.nn.BatchNorm1d(3))(t.ones(2, 4, 3)),
    "batch_norm of captured statistics under grad": block("""
bn = t.nn.BatchNorm1d(3)
return t.func.grad(lambda x: bn(x).sum())(t.ones(4, 3))"""),
}


def function(t, **methods):
    """Return a Function x -> 2 x; methods are replaced, or with None left out."""
    methods = {
        "forward": lambda x: x * 2,
        "setup_context": lambda ctx, inputs, output: None,
        "backward": lambda ctx, g: g * 2,
        "jvp": lambda ctx, tangent: tangent * 2,
    } | methods
    return custom("Scale", t, **methods)


FUNCTION_ERRORS = {
    f"{name} under {transform}": lambda t, methods=methods, transform=transform: {
        "grad": lambda f: t.func.grad(lambda x: f(x).sum())(t.ones(3)),
        "vmap": lambda f: t.vmap(f)(t.ones(3)),
        "jvp": lambda f: t.func.jvp(f, (t.ones(3),), (t.ones(3),)),
    }[transform](function(t, **methods).apply)
    for name, methods, transforms in [
        ("combined form", {"setup_context": None, "forward": lambda ctx, x: x * 2}, ("grad", "vmap", "jvp")),
        ("no backward", {"backward": None}, ("grad",)),
        ("no jvp", {"jvp": None}, ("jvp",)),
        ("no rule", {}, ("vmap",)),
        ("both rules", {"generate_vmap_rule": True, "vmap": lambda info, dims, x: (x * 2, 0)}, ("vmap",)),
        ("a rule that returns no pair", {"vmap": lambda info, dims, x: x * 2}, ("vmap",)),
        ("a rule with a tuple of dims for one output", {"vmap": lambda info, dims, x: (x * 2, (0,))}, ("vmap",)),
        ("a rule with too few dims", {"vmap": lambda info, dims, x: ((x * 2, x), (0,))}, ("vmap",)),
        ("a rule with a dim out of range", {"vmap": lambda info, dims, x: (x * 2, 1)}, ("vmap",)),
        ("too many gradients", {"backward": lambda ctx, g: (g, g)}, ("grad",)),
        ("a gradient of another shape", {"backward": lambda ctx, g: g[:2]}, ("grad",)),
        ("a tangent of another shape", {"jvp": lambda ctx, v: v[:2]}, ("jvp",)),
        ("two tangents", {"jvp": lambda ctx, v: (v, v)}, ("jvp",)),
    ]
    for transform in transforms
}


def product(t):
    """Return a Function x * y whose backward leaves it to the engine to sum gradients down to the inputs' shapes."""
    return function(
        t,
        forward=lambda x, y: x * y,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        backward=lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
        jvp=None,
        generate_vmap_rule=True,
    )


BROADCAST = {  # a matrix times a row for each example; a batch of 3 could be taken for a dimension of the example
    f"{name}, {n} examples": lambda t, n=n, dims=dims, f=f: f(
        t,
        t.vmap(product(t).apply, dims),
        t.arange(n * 9.0).reshape(n, 3, 3).movedim(0, dims[0]),
        t.arange(n * 3.0).sin().reshape(n, 3).movedim(0, dims[1] or 0)[(0,) * (dims[1] is None)],
    )
    for n in (1, 2, 3)
    for dims in ((0, 0), (1, 0), (2, 1), (0, None))
    for name, f in {
        f"grad, in_dims={dims}": lambda t, f, x, y: t.func.grad(lambda x, y: (f(x, y) ** 2).sum(), (0, 1))(x, y),
        f"vjp, in_dims={dims}": lambda t, f, x, y: (lambda out, pull: pull(out))(*t.func.vjp(f, x, y)),
        f"backward, in_dims={dims}": lambda t, f, x, y: t.autograd.grad(
            (f(x.requires_grad_(), y.requires_grad_()) ** 2).sum(), (x, y)
        ),
        f"second derivatives, in_dims={dims}": lambda t, f, x, y: t.func.grad(
            lambda y: (t.func.grad(lambda y: (f(x, y) ** 2).sum())(y) * y).sum()
        )(y),
        f"another vmap, in_dims={dims}": lambda t, f, x, y: t.func.grad(
            lambda x, y: (t.vmap(f)(x, y) ** 2).sum(), (0, 1)
        )(t.stack([x, x + 1, x]), t.stack([y, y, y + 1])),
    }.items()
}
THEMES = {
    "arguments": ARGUMENTS,
    "argument errors": ARGUMENT_ERRORS,
    "random": RANDOM,
    "random errors": RANDOM_ERRORS,
    "modules": MODULES,
    "module errors": MODULE_ERRORS,
    "function errors": FUNCTION_ERRORS,
    "inputs of two ranks": BROADCAST,
}
CASES = [(f"{theme}: {name}", program) for theme, programs in THEMES.items() for name, program in programs.items()]


@pytest.mark.parametrize("name, program", CASES, ids=[name for name, _ in CASES])
def test_transforms_agree_with_torch(name, program):
    wanted, found = run(program, torch), run(program, minigrad)
    lines = differences(wanted, found)
    assert not lines, "\n".join(lines)
    assert isinstance(wanted, Raised) == ("errors" in name), f"torch: {wanted!r}"
