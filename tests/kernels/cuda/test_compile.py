"""minigrad.compile on a device runs the processor's test programs, and some for its kernels alone."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.func.tree import flatten
from tests.compile import random_programs
from tests.compile.both import T, function_of
from tests.compile.test_compile import PROGRAMS, F
from tests.compile.test_compile_half import HALVES, check
from tests.compile.test_compile_random import compare, moved
from tests.floats import some


def same(here, there, tolerance=1e-4):
    """Check that the device's tensor has the processor's numbers."""
    assert there.is_cuda and (here.dtype, here.shape) == (there.dtype, there.shape)
    here, there = here.detach().numpy(), there.detach().cpu().numpy()
    np.testing.assert_allclose(there, here, tolerance, tolerance)


@pytest.mark.parametrize("text", PROGRAMS)
def test_values_and_gradients_are_those_of_the_processor(text):
    names = ("x", "w", "b")[: len(args := PROGRAMS[text]())]
    f = function_of(f"lambda {', '.join(names)}: {text}", {"torch": torch, "F": F, "relu": F.relu})
    compiled, found = torch.compile(f), []
    for run, device in ((f, "cpu"), (compiled, "cuda"), (compiled, "cuda"), (compiled, "cuda")):
        with torch.device(device):
            tracked = [a.clone().to(device).requires_grad_() for a in args]
            outs = [t for t in flatten(run(*tracked))[0] if isinstance(t, torch.Tensor)]
            loss = sum((t * t.detach().cos()).sum() for t in outs)
            found.append([*outs, *torch.autograd.grad(loss, tracked)])
    for again in found[1:]:
        for a, b in zip(found[0], again, strict=True):
            same(a, b)
    assert "eagerly" not in compiled.explain()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", some(range(16), 2))
def test_random_programs(seed):
    compare(seed, "cuda")


# ---------------------------------------------------------------------- whole steps
def step(x, y, w, b, rate):
    loss = F.cross_entropy((x @ w).relu() @ b, y)
    gradients = torch.autograd.grad(loss, [w, b])
    with torch.no_grad():
        w.sub_(rate * gradients[0])
        b.sub_(rate * gradients[1])
    return loss


def trained(run, device):
    """Return the losses of a few steps with other data and another rate each, and the weights in the end."""
    random, losses = np.random.default_rng(0), []
    w, b = [torch.tensor(random.standard_normal(s).astype("f4")).to(device).requires_grad_() for s in [(5, 6), (6, 4)]]
    for i in range(5):
        x, y = torch.tensor(random.standard_normal((3, 5)).astype("f4")), torch.tensor(random.integers(0, 4, 3))
        losses.append(run(x.to(device), y.to(device), w, b, 0.1 + 0.01 * i))
    return [*losses, w, b]


def test_a_step_is_captured_once_and_replayed_with_other_data_and_rates():
    compiled = torch.compile(step)
    for a, b in zip(trained(step, "cpu"), trained(compiled, "cuda"), strict=True):
        same(a, b)
    assert "its kernels are captured once and replayed" in compiled.explain()
    assert "step_0[grid, block](" in compiled.source()
    assert "np.matmul(x, w)" in compiled.source()


def test_a_module_with_its_parameters_on_the_device():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
    x = T(3, 4)
    wanted = model(x)
    model.to("cuda")
    compiled = torch.compile(lambda x: model(x))
    for _ in range(3):
        same(wanted, compiled(x.to("cuda")))
    assert "rows" in compiled.explain() and "eagerly" not in compiled.explain()


def test_random_numbers_are_drawn_anew_at_each_call():
    compiled = torch.compile(lambda x: x * torch.rand(64, device="cuda"))
    x, found = torch.ones(64, device="cuda"), []
    for _ in range(3):
        found.append(compiled(x).cpu().numpy())
    assert not np.array_equal(found[1], found[2])
    assert "launched one by one, because it draws random numbers" in compiled.explain()


def test_the_processor_and_the_device_have_programs_of_their_own():
    compiled = torch.compile(lambda x: x.sin() * 2)
    x = T(5)
    for device in ("cpu", "cuda", "cpu", "cuda", "cpu", "cuda"):
        made = compiled(x.to(device))
        assert made.device.type == device
        np.testing.assert_allclose(made.cpu().numpy(), x.sin().numpy() * 2, 1e-5)


def test_a_program_that_moves_tensors_runs_eagerly_and_says_so():
    compiled = torch.compile(lambda x: x.sin().cuda() * 2)
    with pytest.warns(torch.MinigradWarning, match="tensors on different devices"):
        assert compiled(T(5)).is_cuda


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["exp", "abs", "cuda", "threads", "part", "<lambda>"])
def test_a_program_may_have_the_name_of_what_it_computes(name):
    def program(x):
        return (x.exp() + x.abs() * x.sum(0)).exp()

    program.__name__ = name
    x = torch.tensor([[0.5, -1.0]])
    same(program(x), torch.compile(program)(x.cuda()))


@pytest.mark.parametrize("f", [lambda x: x * x.numel(), lambda x: x / x.shape[0], lambda x: x - x.numel() * x * len(x)])
def test_elements_beside_the_size_of_their_array(f):
    """The function of one element is given the size of the array that it was taken from."""
    compiled = torch.compile(f)
    for n in (5, 8, 11):
        x = torch.arange(float(n))
        same(f(x), compiled(x.cuda()))
    assert "eagerly" not in compiled.explain()


SUMS = {  # of columns, with arithmetic that they share with rows, or with other sums
    "rows": lambda d: torch.cat([(d * d).sum(0), d.softmax(1).sum(0)]),
    "rows, and kept": lambda d: (d, (d * d).sum(0), (d * d.sum(1, keepdim=True)).sum(0)),
    "other columns": lambda d: ((d * d).reshape(2, 3, 4).sum(0), d.reshape(2, 3, 4).sum((0, 2))),
    "both": lambda d: ((d * d).sum(0), (d.exp() * d).sum(0), d.amax(1), d.exp() / d.sum(1, keepdim=True)),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_columns_beside_others(name):
    def f(x, m):
        return SUMS[name](x - m)

    x, m = T(6, 4), T(6, 1)
    compiled = torch.compile(f)
    here, there = f(x, m), compiled(x.cuda(), m.cuda())
    for a, b in zip(flatten(here)[0], flatten(there)[0], strict=True):
        same(a, b)


def test_a_difference_that_rows_and_columns_read_is_not_stored():
    f = torch.compile(lambda x, m: ((d := x - m).square().sum(1), d.exp().sum(1), (d * 2).sum(0)))
    f(T(6, 4).cuda(), T(6, 1).cuda())
    assert "d = empty" not in f.source() and f.source().count("d_i = x[i0, i1] - m[i0, 0]") == 2


# ---------------------------------------------------------------------- halves
@pytest.mark.slow
@HALVES
@pytest.mark.parametrize("text", PROGRAMS)
def test_halves_are_read_as_float32_and_rounded(text, dtype):
    assert "eagerly" not in check(text, dtype, "cuda").explain()


@pytest.mark.filterwarnings("ignore")
@HALVES
@pytest.mark.parametrize("seed", some(range(2004, 2020), 4))
def test_random_programs_of_halves_have_the_dtypes_of_eager_code(seed, dtype):
    program = random_programs.write(seed, torch)
    f, make = program.function(torch), program.arguments(torch)
    compiled = torch.compile(f)
    halves = lambda: [a.detach().to(dtype).requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor)
                      and a.is_floating_point() else a for a in make()]  # fmt: skip
    with np.errstate(all="ignore"):
        wanted, *found = [
            random_programs.outcome(torch, run, moved(halves(), "cuda")) for run in (f, compiled, compiled, compiled)
        ]
    kinds = lambda results: [None if t is None else (t.dtype, t.shape) for t in results]
    assert all(kinds(again) == kinds(wanted) for again in found), program.source
    assert "failed" not in compiled.explain(), program.source


@HALVES
def test_a_chain_of_halves_is_one_kernel(dtype):
    f = torch.compile(lambda x, w: ((x * w).tanh() + x.sigmoid()).sum(1) * w[:4])
    x, w = torch.randn(4, 5, device="cuda").to(dtype), torch.randn(5, device="cuda").to(dtype)
    out = f(x, w)
    assert out.dtype is dtype and f.source().count("[grid, block]") == 1 and "call:" not in f.explain()


@HALVES
def test_what_is_written_is_rounded(dtype):
    def f(x, y):
        x.mul_(y).add_(1.0)
        return x * 3

    x, y = torch.randn(4, 5, device="cuda").to(dtype), torch.randn(4, 5, device="cuda").to(dtype)
    here = x.clone()
    for run, given in ((f, here), (torch.compile(f), x)):
        run(given, y)
    assert x.dtype is dtype
    np.testing.assert_allclose(x.float().cpu().numpy(), here.float().cpu().numpy(), 0.01, 0.01)


def test_two_kinds_of_halves_meet_in_float32():
    f = torch.compile(lambda x, y: (x + y, x.half() * y.half(), (x * 2).bfloat16(), x > y))
    x, y = torch.randn(6, device="cuda").half(), torch.randn(6, device="cuda").bfloat16()
    both, product, other, greater = f(x, y)
    assert [t.dtype for t in (both, product, other)] == [torch.float32, torch.float16, torch.bfloat16]
    assert torch.equal(both, x + y) and torch.equal(greater, x > y) and torch.equal(product, x * y.half())
    assert torch.equal(other, (x * 2).bfloat16())
