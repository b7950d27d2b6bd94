"""The node of a compiled call: what it keeps for its backward, who can see that, and how gradients flow through it."""

import pytest

import minigrad as torch
from minigrad.compile.api import compile

from .both import T, same


def program(x, w, b):
    """Its backward reads inputs, a result, and what is neither."""
    h = (x @ w).tanh()
    return (h * b).sigmoid(), h.exp().sum()


def arguments():
    return T(5, 4), T(4, 3).requires_grad_(), torch.tensor(0.7, requires_grad=True)


def loss(outs):
    return (outs[0] ** 2).sum() * outs[1]


def gradients(run, args, **options):
    return torch.autograd.grad(loss(run(*args)), args[1:], **options)


def test_gradients_by_numbers_and_by_arrays():
    args = arguments()
    for found, expected in zip(gradients(compile(program), args), gradients(program, args), strict=True):
        same(found, expected)


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_result_that_is_not_used_has_no_gradient(chosen):
    args, compiled = arguments(), compile(program)
    for run in (program, compiled):
        found = torch.autograd.grad(run(*args)[chosen].sum(), args[1:], allow_unused=True)
        if run is program:
            expected = found
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None) or not a.abs().max()
        if b is not None:
            same(a, b)


def test_a_gradient_that_does_not_lie_in_order():
    x, g = T(4, 3).requires_grad_(), T(3, 4).mT
    outs = [run(x) for run in (compile(torch.tanh), torch.tanh)]
    same(*[torch.autograd.grad(o, x, g)[0] for o in outs])


def test_what_is_saved_can_be_seen_and_is_used_afterwards():
    args = arguments()
    outs = compile(program)(*args)
    node = outs[0].grad_fn
    kept = node.saved_tensors
    assert len(kept) > 2 and any(t is args[0] or t is args[1] for t in kept)
    assert [t.shape for t in node.saved_tensors] == [t.shape for t in kept]
    found = torch.autograd.grad(loss(outs), args[1:])
    for a, b in zip(found, gradients(program, args), strict=True):
        same(a, b)
    with pytest.raises(RuntimeError, match="after backward has freed them"):
        node.saved_tensors  # noqa: B018


def test_a_kept_graph_gives_the_same_again_and_a_freed_one_says_so():
    args = arguments()
    value = loss(compile(program)(*args))
    first, second = (torch.autograd.grad(value, args[1:], retain_graph=keep) for keep in (True, False))
    for a, b in zip(first, second, strict=True):
        assert (a == b).all()
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(value, args[1:])


def test_hooks_see_all_that_is_saved():
    args, packed, unpacked = arguments(), [], []
    compiled = compile(program)
    compiled(*args)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (packed.append(t), t * 1)[1], lambda t: (unpacked.append(t), t)[1]
    ):
        value = compiled(*args)
    found = torch.autograd.grad(loss(value), args[1:])
    assert packed and len(unpacked) == len(packed)
    for a, b in zip(found, gradients(program, args), strict=True):
        same(a, b)


def test_what_was_computed_and_saved_must_not_be_written_to():
    args = arguments()
    outs = compile(program)(*args)
    inputs = [id(t) for t in args]
    made = next(t for t in outs[0].grad_fn.saved_tensors if id(t) not in inputs and t.grad_fn is None)
    made.mul_(2)
    with pytest.raises(RuntimeError, match="modified"):
        loss(outs).backward()


def test_inference_tensors_cannot_be_saved():
    with torch.inference_mode():
        x = T(5, 4) * 1
    args = arguments()
    for run in (program, compile(program)):
        with pytest.raises(RuntimeError, match=r"[Ii]nference tensors cannot be saved"):
            run(x, *args[1:])


def test_a_saved_input_that_was_written_to_raises():
    x = T(3).requires_grad_()
    y = x * 1
    z = compile(lambda a: a * a)(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified"):
        z.sum().backward()


def test_a_saved_result_that_was_written_to_raises():
    x = T(3).requires_grad_()
    for f in (lambda a: a.sigmoid(), lambda a: (a > 0, a * 2, a.exp())):
        for run in (f, compile(f)):
            outs = run(x)
            y = outs[-1] if isinstance(outs, tuple) else outs
            y.detach().mul_(2)
            with pytest.raises(RuntimeError, match="its own result"):
                y.sum().backward()


def test_of_results_some_of_which_lost_what_they_need_the_others_have_gradients():
    def f(x):
        y = x * 1
        z = y.cos()
        y += 1
        return z, y

    for g in (f, compile(f)):
        x = T(3).requires_grad_()
        assert torch.autograd.grad(g(x)[1].sum(), x)[0].tolist() == [1, 1, 1]
        with pytest.raises(RuntimeError, match="CosBackward0: one of its inputs"):
            torch.autograd.grad(g(x)[0].sum(), x)
