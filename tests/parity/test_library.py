"""Custom operators (torch.library) beside PyTorch's: results, gradients, versions, and which declarations are refused."""

import uuid

import pytest
import torch

import minigrad


def operator(lib, fn, **options):
    """Return an operator under a new name: PyTorch keeps operators for the whole process."""
    fn.__annotations__ = {n: lib.Tensor if a is T else a for n, a in fn.__annotations__.items()}
    options = {"mutates_args": ()} | options
    return lib.library.custom_op(f"parity::op{uuid.uuid4().hex}", fn, **options)


class T:
    """Stands for the library's Tensor in annotations."""


def run_pair(lib):
    def pair(x: T, k: int = 2, *, s: float = 3.0) -> tuple[lib.Tensor, lib.Tensor]:
        return x * k * s, x.sum()

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.by = inputs[1] * keyword_only_inputs["s"]
        seen.append((inputs[1], keyword_only_inputs, [o.tolist() for o in output]))

    seen = []
    op = operator(lib, pair)
    op.register_autograd(lambda ctx, g, h: (g * ctx.by + h, None), setup_context=setup)
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y, total = op(x, k=5)
    op(x.detach())
    (y.sum() + 2 * total).backward()
    return x.grad.tolist(), y.tolist(), y.requires_grad, seen[0]


def run_change(lib):
    def change(x: T) -> None:
        x.add_(1)

    w = lib.ones(2, requires_grad=True)
    x = w * 2
    before, _ = x._version, operator(lib, change, mutates_args={"x"})(x)
    x.sum().backward()
    return x.tolist(), x._version - before, w.grad.tolist()


def run_batch(lib):
    def twice(x: T) -> T:
        return x * 2

    return lib.vmap(operator(lib, twice))(lib.ones(3, 2)).tolist()


def run_meta(lib):
    def rows(x: T) -> T:
        return x.sum(1)

    op = operator(lib, rows)
    op.register_fake(lambda x: x.new_empty(x.shape[0]))
    return tuple(op(lib.ones(4, 3, device="meta")).shape), op(lib.ones(2, 3)).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("run", [run_pair, run_change, run_batch, run_meta])
def test_an_operator_computes_what_pytorchs_does(run):
    assert run(minigrad) == run(torch)


def refusals(lib):
    """Yield the kinds of the errors of faulty operators."""

    def same(x: T) -> T:
        return x

    def bare(x): ...
    def starred(*x: T) -> T: ...
    def new(x: T) -> T:
        return x * 2

    def change(x: T) -> None: ...

    leaf = lib.ones(2, requires_grad=True)
    for faulty in (
        lambda: operator(lib, same)(leaf.detach()),
        lambda: operator(lib, bare),
        lambda: operator(lib, starred),
        lambda: operator(lib, new, mutates_args=("y",)),
        lambda: lib.library.custom_op("bare", new, mutates_args=()),
        lambda: operator(lib, new)(leaf).sum().backward(),
        lambda: operator(lib, new)(lib.ones(1, device="meta")),
        lambda: operator(lib, new, device_types="cuda")(lib.ones(1)),
        lambda: operator(lib, change, mutates_args=("x",)).register_autograd(new),
    ):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            faulty()
        yield next(k.__name__ for k in (NotImplementedError, ValueError, RuntimeError) if isinstance(caught.value, k))


def test_faulty_operators_raise_as_in_pytorch():
    assert list(refusals(minigrad)) == list(refusals(torch))
