"""Indices out of range in compiled programs: told by eager code where they are the call's own, else when somebody looks."""

import gc

import pytest

import minigrad as torch
from minigrad.compile import specialization
from minigrad.errors import InternalError, OutsideError
from minigrad.kernels.cuda import machine
from minigrad.kernels.cuda.index_errors import NONE, Outside
from minigrad.kernels.cuda.simulator import SIMULATED

F = torch.nn.functional


def there(*numbers):
    return torch.tensor(numbers, device="cuda")


@pytest.fixture
def finished(monkeypatch):
    """Let a GPU do all its work before the processor looks."""
    look = machine.run_watchers

    def after_all():
        if not SIMULATED:
            machine.current().queue.sync()
        look()

    monkeypatch.setattr(machine, "run_watchers", after_all)


def loss(x, y):
    return F.cross_entropy(x * 2, y)


def picked(x, y):
    return F.nll_loss(x.sin(), y)


def added(x, y):
    return (x * 2).scatter_add(1, y[:, None], x)


def embedded(x, y):
    return F.embedding(y, x).sum()


def indexed(x, y):
    return x[y].sin() + x.gather(0, y[:, None])


@pytest.mark.parametrize("calls", [0, 1, 4])  # before it: launched one by one, captured, replayed
@pytest.mark.parametrize("program", [loss, picked, added, embedded, indexed])
def test_eager_code_names_the_index_of_a_compiled_call(program, calls, finished):
    compiled, x = torch.compile(program), torch.randn(3, 5, device="cuda")
    for _ in range(calls):
        compiled(x, there(1, 0, 2))
    with pytest.raises((IndexError, RuntimeError), match="77") as found:
        compiled(x, there(1, 77, 2))
    assert not isinstance(found.value, OutsideError)
    assert torch.allclose(
        compiled(x, there(1, 0, 2)), program(x, there(1, 0, 2))
    )  # it is no reason to give the program up
    assert "eagerly" not in compiled.explain()


@pytest.mark.parametrize("program", [loss, embedded])
def test_what_eager_code_cannot_repeat_is_an_earlier_calls(program, monkeypatch, finished):
    compiled, x = torch.compile(program), torch.randn(3, 5, device="cuda")
    for _ in range(3):
        compiled(x, there(1, 0, 2))
    with monkeypatch.context() as late:  # a GPU that has not come so far when the processor looks
        late.setattr(machine, "run_watchers", lambda: None)
        compiled(x, there(1, 77, 2))
    with pytest.raises(OutsideError, match="index 77 is out of bounds and was not followed"):
        compiled(x, there(1, 0, 2))
    compiled(x, there(1, 0, 2))


def test_whoever_waits_for_the_device_looks():
    outside = Outside(("pick at net.py:3", "scatter at net.py:4"))
    torch.cuda.synchronize()
    x = torch.ones(2, device="cuda")
    for wait in (torch.cuda.synchronize, x.tolist):
        outside.found[1] = 5
        with pytest.raises(OutsideError, match="scatter at net.py:4: index 5 is out of bounds"):
            wait()
        assert outside.found.tolist() == [NONE, NONE]
        wait()


@pytest.fixture
def invalid():
    """Yield a function that stores an index, as a kernel of an earlier call does."""
    outside = Outside(("pick at net.py:3",))

    def store():
        outside.found[0] = 5

    torch.cuda.synchronize()
    yield store
    outside.found.fill(NONE)


EARLIER = "^pick at net.py:3: index 5 is out of bounds and was not followed"
NOTICING = {
    "randperm": lambda: torch.randperm(3, device="cuda"),
    "tensor": lambda: torch.tensor([1.0], device="cuda"),
    "cpu": lambda: torch.ones(2, device="cuda").cpu(),
    "inv": lambda: torch.linalg.inv(torch.eye(2, device="cuda")),
    "copy_": lambda: torch.ones(2, device="cuda").copy_(torch.ones(2)),
    "item": lambda: torch.ones(2, device="cuda").sum().item(),
}


@pytest.mark.parametrize("name", NOTICING)
def test_an_operation_that_notices_it_is_not_to_blame(name, invalid):
    invalid()
    with pytest.raises(OutsideError, match=EARLIER) as found:
        NOTICING[name]()
    assert not isinstance(found.value, InternalError) and found.value.__cause__ is None
    NOTICING[name]()


def test_a_function_that_notices_it_is_compiled_anyway(invalid):
    compiled, x = torch.compile(lambda x: x.sin() * 2), torch.ones(3, device="cuda")
    invalid()
    with pytest.raises(OutsideError, match=EARLIER):
        for _ in range(3):  # its capture, or one of its calls
            compiled(x)
    assert torch.equal(compiled(x), x.sin() * 2)
    assert "eagerly" not in compiled.explain()


@pytest.mark.parametrize("partly", [False, True])
def test_a_backward_program_that_notices_it_runs_again(partly, invalid):
    compiled = torch.compile(lambda x: (x.sin() * 2, x.exp()))
    x = torch.ones(3, device="cuda", requires_grad=True)
    for _ in range(3):
        sum(y.sum() for y in compiled(x)[: 2 - partly]).backward()
    outs = compiled(x)[: 2 - partly]
    expected = x.cos() * 2 + (0 if partly else x.exp())
    invalid()
    x.grad = None
    with pytest.raises(OutsideError, match=EARLIER):
        torch.autograd.grad(outs, x, [torch.ones_like(x)] * len(outs), retain_graph=True)
    assert torch.allclose(torch.autograd.grad(outs, x, [torch.ones_like(x)] * len(outs))[0], expected)
    assert "eagerly" not in compiled.explain()


def test_the_place_in_the_program_is_said(monkeypatch, finished):
    compiled, x = torch.compile(loss), torch.randn(3, 5, device="cuda")
    compiled(x, there(1, 0, 2))
    monkeypatch.setattr(
        specialization.Specialisation, "failed", lambda program, owner, e, args, kwargs: pytest.fail(str(e))
    )
    with pytest.raises(
        pytest.fail.Exception, match=r"test_outside.py:\d+  return F.cross_entropy\(x \* 2, y\): index 77 is"
    ):
        compiled(x, there(1, 77, 2))


@pytest.mark.skipif(not SIMULATED, reason="the blocks of a GPU's memory cannot be listed")
def test_its_memory_is_given_back():
    place = machine.current()
    before = set(place.blocks)
    outside = Outside(("here",))
    cells = outside.cells
    del outside
    gc.collect()
    assert set(place.blocks) - before == {cells.address}
    del cells
    gc.collect()
    assert set(place.blocks) <= before
