"""A caught error lets go of its operands at once: no frame of its traceback holds the error itself.

A loop that tries a smaller batch after each error would else keep each failed batch until the collector of cycles runs.
"""

import ast
import gc
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

import minigrad as torch
from minigrad import func, nn
from tests.functions import custom
from tests.garbage import calls, operations, outcome

F = nn.functional


class Scaled(torch.autograd.Function):
    """A user's Function that goes wrong in the place that `fault` names."""

    @staticmethod
    def forward(ctx, x, fault):
        ctx.fault = fault
        ctx.save_for_backward(x)
        if fault == "an attribute of the ctx":
            return x * ctx.factor
        if fault == "an attribute of a tensor":
            return x.sun()
        return x.view(7) if fault == "an operation" else x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return {
            "a shape": lambda: (g[:3], None),
            "a number of gradients": lambda: (g, g, g),
            "a type": lambda: ("g", None),
            "a product": lambda: (g @ x.reshape(10, 100), None),
            "an exception": lambda: 1 / 0,
        }[ctx.fault]()

    @staticmethod
    def jvp(ctx, t, _):
        return t[:3]

    @staticmethod
    def vmap(info, in_dims, x, fault):
        return x


Fixed = custom("Fixed", forward=lambda ctx, x: x * 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x)


def summed(f):
    """Return a function that runs backward through the sum of f."""
    return lambda x: f(x.requires_grad_()).sum().backward()


def twice(x):
    y = (x.requires_grad_() ** 2).sum()
    y.backward()
    y.backward()


def stale(x):
    y = x.requires_grad_() * 2
    z = y**2
    y.add_(1)
    z.sum().backward()


def hooked(hook):
    def run(x):
        y = x.requires_grad_() * 2
        y.register_hook(hook)
        y.sum().backward()

    return run


def traced(f):
    return lambda x: torch.compile(f, fullgraph=True)(x)


META = {"device": "meta"}
ERRORS = {
    "add": lambda x: x + torch.ones(7),
    "matmul": lambda x: x @ torch.ones(7, 2),
    "view": lambda x: x.view(7),
    "index": lambda x: x[5000],
    "index by a tensor": lambda x: x[torch.tensor([5000])],
    "mask": lambda x: x[torch.ones(3) > 0],
    "assign": lambda x: x.__setitem__(slice(0, 3), torch.ones(2)),
    "in place on a leaf": lambda x: x.requires_grad_().add_(1),
    "in place of a shape": lambda x: x.add_(torch.ones(2)),
    "cat": lambda x: torch.cat([x, torch.ones(2, 2)]),
    "conv2d": lambda x: F.conv2d(x.reshape(1, 1, 10, 100), torch.ones(1, 3, 3, 3)),
    "linear": lambda x: F.linear(x, torch.ones(2, 3)),
    "cross_entropy": lambda x: F.cross_entropy(x.reshape(10, 100), torch.arange(10) + 200),
    "mse_loss": lambda x: F.mse_loss(x, torch.ones(7)),
    "inv": lambda x: torch.linalg.inv(x[:9].reshape(3, 3) * 0),
    "a wrong type": lambda x: x + "a",
    "a misspelt method": lambda x: x.summ(),
    "a misspelt keyword": lambda x: torch.softmax(x, dims=0),
    "bool": bool,
    "numpy": lambda x: x.requires_grad_().numpy(),
    "too large": lambda x: x.expand(10**9, 1000).clone(),
    "two devices": lambda x: x + torch.ones(1000, **META),
    "equal on two devices": lambda x: torch.equal(x, torch.ones(1000, **META)),
    "meshgrid on two devices": lambda x: torch.meshgrid(x, torch.ones(2, **META)),
    "grid_sample on two devices": lambda x: F.grid_sample(x.reshape(1, 1, 10, 100), torch.ones(1, 2, 2, 2, **META)),
    "module": lambda x: Net()(x),
    "module with too many arguments": lambda x: Net()(x, x),
    "backward of no scalar": lambda x: (x.requires_grad_() * 2).backward(),
    "backward twice": twice,
    "backward after a write": stale,
    "backward of no graph": lambda x: x.sum().backward(),
    "grad of an unused tensor": lambda x: torch.autograd.grad(
        x.requires_grad_().sum(), torch.ones(2, requires_grad=True)
    ),
    "hook of another shape": hooked(lambda g: g[:3]),
    "hook without arguments": hooked(lambda: None),
    "hook that raises": hooked(lambda g: 1 / 0),
    "a module's hook without arguments": lambda x: func.functional_call(Net(), {"nothing": x}, (x,)),
    **{
        f"forward: {fault}": lambda x, fault=fault: Scaled.apply(x, fault)
        for fault in ("an operation", "an attribute of the ctx", "an attribute of a tensor")
    },
    **{
        f"backward: {fault}": summed(lambda x, fault=fault: Scaled.apply(x, fault))
        for fault in ("a shape", "a number of gradients", "a type", "a product", "an exception")
    },
    "jvp": lambda x: func.jvp(lambda x: Scaled.apply(x, ""), (x,), (x,)),
    "vmap": lambda x: func.vmap(lambda x: Scaled.apply(x, ""))(x),
    "apply with too many arguments": lambda x: Scaled.apply(x, 1, 2, 3),
    "no backward": summed(Fixed.apply),
    "no jvp": lambda x: func.jvp(Fixed.apply, (x,), (x,)),
    "no vmap": lambda x: func.vmap(Fixed.apply)(x),
    "inside grad": lambda x: func.grad(lambda x: (x + torch.ones(7)).sum())(x),
    "inside jvp": lambda x: func.jvp(lambda x: x + torch.ones(7), (x,), (x,)),
    "inside vmap": lambda x: func.vmap(lambda x: x.view(7))(x),
    "item inside vmap": lambda x: func.vmap(lambda x: x.item())(x),
    "inside jacrev": lambda x: func.jacrev(lambda x: x.view(7))(x),
    "inside jacfwd": lambda x: func.jacfwd(lambda x: x.view(7))(x),
    "inside compile": traced(lambda x: x + torch.ones(7)),
    "compile of item": traced(lambda x: x * x[0].item()),
    "compile of a condition": traced(lambda x: x if x.sum() > 0 else -x),
    "compile of an effect": traced(lambda x: print(x)),
    "backward inside compile": summed(lambda x: torch.compile(lambda x: Scaled.apply(x, "a shape"))(x)),
    "gradcheck": lambda x: torch.autograd.gradcheck(Fixed.apply, (x.double().requires_grad_(),)),
    "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(lambda x: x.view(7), x, use_reentrant=False),
}


@pytest.fixture
def no_collector():
    gc.collect()
    gc.freeze()  # what was there before is walked no more
    gc.disable()
    yield
    gc.enable()


def held_after(f):
    """Return True if a tensor is alive after f has raised an error about it, which was caught."""
    with suppress(Exception):  # the first time it may load libraries, which keep their own errors
        f(torch.ones(1000))
    return failed(f)() is not None


def failed(f):
    """Return a weak reference to the tensor of a call that raises."""
    x = torch.ones(1000)
    alive, raised = weakref.ref(x), False
    try:
        f(x)
    except Exception:
        raised = True
    assert raised
    return alive


@pytest.mark.cpu("is about Python's references")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_keeps_no_operand(name, no_collector):
    assert not held_after(ERRORS[name])


def test_an_error_keeps_no_variable_that_its_program_deletes(no_collector):
    """Neither does the search for the user's names and lines, which reads the variables of running functions."""
    x = torch.ones(3, requires_grad=True)
    alive = weakref.ref(x)
    with suppress(RuntimeError):
        x.add_(1)
    del x
    assert alive() is None
    y = torch.ones(3)
    alive = weakref.ref(y)
    with suppress(RuntimeError):
        y.sum().backward()
    del y
    assert alive() is None


@pytest.mark.cpu("is about Python's references")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["add", "softmax", "gather", "where"])
def test_an_error_about_a_wrong_argument_is_in_no_cycle(name, no_collector):
    """A sample of the calls with garbage; the collector would find an exception in a cycle."""
    if (entry := operations().get(name)) is None:
        pytest.skip("there is no such function")
    function, sample, names = entry
    for text in list(calls(name, function, sample))[::23]:
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            failed = outcome(function, text, names, 10) is not None
            gc.collect()
        finally:
            gc.set_debug(0)
        kept = [type(o) for o in gc.garbage if issubclass(type(o), BaseException)]
        gc.garbage.clear()
        assert not (failed and kept), text


def raised_variables(f):
    """Yield the `raise name` of a function whose frame would hold the exception: no handler's name, and never deleted."""
    stored = {n.id for n in ast.walk(f) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    local = stored | {a.arg for a in [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs]}

    def visit(node, dropped):
        if isinstance(node, ast.Raise) and isinstance(node.exc, (ast.Name, ast.Call)):
            raised = node.exc
            while isinstance(raised, ast.Call) and isinstance(raised.func, ast.Attribute):
                raised = raised.func.value if raised.func.attr == "with_traceback" else None
            if isinstance(raised, ast.Name) and raised.id in local - dropped:
                yield node.lineno
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                continue
            names = {child.name} if isinstance(child, ast.ExceptHandler) and child.name else set()
            for end in child.finalbody if isinstance(child, ast.Try) else ():
                names |= {n.id for n in ast.walk(end) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
            yield from visit(child, dropped | names)

    yield from visit(f, set())


def test_no_function_raises_an_exception_that_its_own_variable_keeps():
    found = []
    for file in Path(torch.__file__).parent.rglob("*.py"):
        for f in ast.walk(ast.parse(file.read_text())):
            if isinstance(f, ast.FunctionDef):
                found += [f"{file}:{line}" for line in raised_variables(f)]
    assert not found
    wrong = ast.parse("def f(x):\n    if e := g(x):\n        raise e\n").body[0]
    assert list(raised_variables(wrong)) == [3]
