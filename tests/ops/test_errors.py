"""Every error of operations, modules, optimizers and kernels has a remedy and a test, and shapes draw themselves."""

import ast
import importlib
import pkgutil

import pytest

import minigrad as torch
from minigrad.arrays.shapes import sketch
from tests import refusals
from tests.nn import test_errors_modules
from tests.ops import (
    test_errors_indices,
    test_errors_layers,
    test_errors_memory,
    test_errors_numbers,
    test_errors_products,
    test_errors_shapes,
)
from tests.optim import test_errors_optim

TABLES = (
    test_errors_indices,
    test_errors_layers,
    test_errors_memory,
    test_errors_numbers,
    test_errors_products,
    test_errors_shapes,
    test_errors_modules,
    test_errors_optim,
)
PACKAGES = ("minigrad.ops", "minigrad.nn", "minigrad.optim", "minigrad.kernels")
MODULES = [
    m.name
    for package in PACKAGES
    for m in pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".")
    if not m.name.endswith("__main__")
]


ON_THE_PROCESSOR = [m for m in MODULES if ".cuda" not in m]  # the others have tests/kernels/cuda


def tree(module):
    with open(importlib.import_module(module).__file__) as f:
        return ast.parse(f.read())


# ---------------------------------------------------------------------- what stands in the source
def test_every_error_has_a_remedy():
    without = []
    for module in MODULES:
        for call in ast.walk(tree(module)):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            # error(kind, who, what, fix), and the same with a fixed kind: refused(who, what, fix)
            first = {"error": 3, "refused": 2}.get(call.func.id)
            if first is None:
                continue
            fix = call.args[first : first + 1] or [k.value for k in call.keywords if k.arg == "fix"]
            starred = any(isinstance(a, ast.Starred) for a in call.args)  # *no_tensor(...): what, and fix
            if not starred and (not fix or isinstance(fix[0], ast.Constant) and not fix[0].value):
                without.append(f"{module}:{call.lineno}: {ast.unparse(call)}")
    assert not without


# exceptions that are not built by `error`, and why
PLAIN = {
    "minigrad.kernels.operands": "no operand: explain.failed says which argument it is",
    "minigrad.kernels.seal": "no key: caught a few lines above, and told in a warning",
    "minigrad.ops.matmul": "no product: `fit` says what does not fit",
    "minigrad.ops.copy": "out of range: caught a few lines below",
    "minigrad.ops.node_names": "a name that PyTorch has for what some nodes save, as Python says it",
    "minigrad.nn.containers": "a method that the package's own classes define",
    "minigrad.nn.module": "names with an underscore, for which libraries ask every object",
    "minigrad.nn.parallel": "a name that the module does not have, as Python says it",
    "minigrad.nn.state": "a method that is only called where a subclass defines it",
    "minigrad.optim.optimizer": "a method that the package's own classes define",
    "minigrad.optim.stateful": "a method that the package's own classes define",
}


def test_no_other_exceptions_are_raised():
    builtin = {"TypeError", "ValueError", "RuntimeError", "IndexError", "KeyError", "AttributeError", "OverflowError"}
    plain = set()
    for module in ON_THE_PROCESSOR:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Raise) and node.exc is not None:
                name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(name, ast.Name) and name.id in builtin | {"NotImplementedError"}:
                    plain.add(module)
    assert plain == set(PLAIN)


# what no call from outside reaches
UNREACHED = {
    "write generator=minigrad.Generator(device=": "needs a device: tests/kernels/cuda/test_random.py",
    "move one of them": "needs a device: tests/kernels/cuda/test_devices.py",
    "tensors are on the first GPU": "needs a device: tests/kernels/cuda/test_devices.py",
    "leave out pin_memory=True": "needs a device: tests/kernels/cuda/test_pinned.py",
    "pin it only if torch.cuda": "needs a machine without a device: tests/parity/test_create.py",
    "pin_memory', what, 'leave it out'": "needs a device: tests/kernels/cuda/test_pinned.py",
    "a capsule is taken once": "needs a capsule: tests/kernels/cuda/test_exchange.py",
    "not enough memory": "asks for more memory than there is",
    "has no vmap rule": "every operation of the package has one",
    "'as_strided', what, fix": "the write that would raise it is refused before",
}


@pytest.mark.cpu("counts the errors of the processor's code")
@pytest.mark.slow
def test_nearly_every_error_is_raised_by_a_test():
    left, total = None, sum(len(refusals.sites(m)) for m in ON_THE_PROCESSOR)
    for table in TABLES:
        found = refusals.unreached(ON_THE_PROCESSOR, table.CASES, getattr(table, "lend", None))
        left = found if left is None else {place: text for place, text in left.items() if place in found}
    untested = {place: text for place, text in left.items() if not any(words in text for words in UNREACHED)}
    assert len(untested) < 0.02 * total, untested


# ---------------------------------------------------------------------- drawings and origins
@pytest.mark.parametrize(
    ("call", "drawing"),
    [
        (lambda: torch.ones(5, 3) + torch.ones(5), "input   5 3\nother     5\n          ^"),
        (lambda: torch.ones(7, 2, 3) @ torch.ones(7, 4, 5), "input   7 2 3\nother   7   4 5\n            ^"),
        (lambda: torch.ones(3) @ torch.ones(4, 5), "input   3\nother   4 5\n        ^"),
        (lambda: torch.cat([torch.ones(2, 3), torch.ones(2, 4)]), "first      2 3\nnumber 1   2 4\n             ^"),
        (
            lambda: torch.nn.Linear(784, 10)(torch.ones(32, 1, 28, 28)),
            "input    32 1 28  28\nweight        10 784\n                   ^",
        ),
        (
            lambda: torch.nn.Conv2d(3, 16, 3)(torch.ones(8, 1, 32, 32)),
            "input     8 1 32 32\nweight   16 3  3  3\n            ^",
        ),
        (
            lambda: torch.nn.functional.cross_entropy(torch.ones(8, 10, 5), torch.zeros(8, 4, dtype=torch.long)),
            "input    8 10 5\ntarget   8    4\n              ^",
        ),
        (lambda: torch.ones(2, 3).expand(4, 3), "input   2 3\nsize    4 3\n        ^"),
        (
            lambda: torch.ones(2, 3).gather(1, torch.zeros(3, 2, dtype=torch.long)),
            "input   2 3\nindex   3 2\n        ^",
        ),
    ],
)
def test_shapes_that_do_not_fit_draw_themselves(call, drawing):
    with pytest.raises(torch.MinigradError) as raised:
        call()
    assert drawing in "\n".join(raised.value.notes)


def test_a_drawing_may_have_gaps_and_no_mark():
    assert sketch({"a": (), "bc": (10, 2)}, []) == "a\nbc   10 2"


def test_the_operations_that_made_the_tensors_are_named():
    x = torch.ones(5, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"input: made by mul; `with torch.debug\(\):` shows the line"):
        (x * 2) @ torch.ones(4, 3)


def test_in_debug_mode_their_lines_are_named():
    with torch.debug():
        x = torch.ones(5, 3) * 2  # the line
        with pytest.raises(RuntimeError, match=r"input: made by mul at .*test_errors.py:\d+: x = .*# the line"):
            x @ torch.ones(4, 3)
        with pytest.raises(RuntimeError, match=r"input: made by mul at .*test_errors.py:\d+: x = .*# the line"):
            torch.nn.functional.linear(x, torch.ones(4, 2))


# ---------------------------------------------------------------------- what is computed for the remedy does
def test_the_remedies_for_shapes_are_right():
    x, y = torch.ones(5, 3), torch.ones(5)
    with pytest.raises(RuntimeError, match=r"write other.unsqueeze\(-1\)"):
        x + y
    assert (x + y.unsqueeze(-1)).shape == x.shape
    with pytest.raises(RuntimeError, match=r"transpose torch.ones\(4, 3\): x @ torch.ones\(4, 3\).mT"):
        x @ torch.ones(4, 3)
    with pytest.raises(RuntimeError, match=r"transpose x: x.mT @ torch.ones\(5, 4\)"):
        x @ torch.ones(5, 4)
    images = torch.ones(2, 1, 4, 4)
    with pytest.raises(RuntimeError, match=r"write input.flatten\(1\)"):
        torch.nn.Linear(16, 3)(images)
    assert torch.nn.Linear(16, 3)(images.flatten(1)).shape == (2, 3)
    with pytest.raises(RuntimeError, match=r"write input.movedim\(-1, -3\)"):
        torch.nn.Conv2d(3, 4, 3)(torch.ones(2, 8, 8, 3))
    assert torch.nn.Conv2d(3, 4, 3)(torch.ones(2, 8, 8, 3).movedim(-1, -3)).shape == (2, 4, 6, 6)


# ---------------------------------------------------------------------- under transforms
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + torch.ones(7),
        lambda x: x.reshape(5),
        lambda x: torch.cat([x, torch.ones(2, 2)]),
        lambda x: x.sum(4),
    ],
)
def test_under_transforms_it_is_the_same_error(f):
    x = torch.ones(4, 3)
    for g in (torch.func.vmap(f), torch.func.grad(lambda x: f(x).sum()), torch.func.jacfwd(f)):
        with pytest.raises((RuntimeError, IndexError)) as raised:
            g(x)
        e = raised.value
        assert isinstance(e, torch.MinigradError)
        assert e.remedy
        assert "test_errors.py" in str(e)
