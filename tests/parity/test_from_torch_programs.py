"""viz.from_torch: a record has the numbers that PyTorch computes, whatever the program, and the program is not changed."""

import numpy as np
import pytest
import torch

import viz

from .torch_programs import PLAIN, assert_adds_up, assert_holds_together, made, weight

nn, F = torch.nn, torch.nn.functional


def grown(record, outs, leaves):
    """By how much the sum of the results grows with all leaves, by the tangents, and by PyTorch's gradients."""
    document = record.to_dict()
    tangents = {v: t for op in document["ops"] if op["phase"] == "forward" for v, t in op["tangents"].items()}
    given = [np.sum(weight(document, tangents[str(v)])) for v in document["outputs"] if str(v) in tangents]
    roots = [o for o in outs if o.requires_grad]
    grads = torch.autograd.grad(roots, leaves, [torch.ones_like(o) for o in roots], allow_unused=True)
    return sum(given), sum(float(g.double().sum()) for g in grads if g is not None)


STOPS = (
    "old function",
    "penalty",
    "third derivative",
    "grad",
    "grad in vmap",
    "hessian",
    "jvp",
)  # where no tangent can be whole


@pytest.mark.parametrize("name", PLAIN)
def test_a_record_holds_together_and_adds_up(name):
    if name == "meta":
        pytest.skip("it has no numbers")
    f, *args = made(name)
    record = viz.from_torch(f, *args)
    document = record.to_dict()
    assert_holds_together(document)
    if name != "hessian":  # its backward is differentiated forward: what flows there belongs to no operation
        assert_adds_up(document)
    assert any(op["phase"] == "forward" for op in document["ops"])
    f, *args = made(name)
    args = torch.utils._pytree.tree_map_only(torch.Tensor, grown_from, args)
    torch.manual_seed(1)
    outs = torch.utils._pytree.tree_leaves(f(*args))
    leaves = [t for t in (*torch.utils._pytree.tree_leaves(args), *getattr(f, "parameters", list)()) if t.requires_grad]
    if not any(o.requires_grad for o in outs):
        assert document["program"]["passes"] == ["forward"]
        return
    torch.manual_seed(1)
    f, *args = made(name)
    torch.manual_seed(1)
    by_tangents, by_gradients = grown(viz.from_torch(f, *args), outs, leaves)
    assert name in STOPS or np.isclose(by_tangents, by_gradients, rtol=1e-4, atol=1e-6)


def grown_from(t):
    """Return the tensor that from_torch differentiates by where nothing requires grad."""
    return t.detach().requires_grad_() if t.is_floating_point() else t


@pytest.mark.parametrize("name", PLAIN)
def test_recording_changes_nothing(name):
    results = []
    for record in (False, True):
        f, *args = made(name)
        kept = []

        def noted(*args, f=f, kept=kept):
            kept[:] = torch.utils._pytree.tree_leaves(f(*args))
            return kept

        noted.__self__ = f
        viz.from_torch(noted, *args) if record else noted(*args)
        state = {k: v.clone() for k, v in getattr(f, "state_dict", dict)().items()}
        leaves = [t for t in torch.utils._pytree.tree_leaves(args) if t.requires_grad]
        results.append(([o.detach() for o in kept], state, [t.grad for t in leaves], torch.get_rng_state()))
        assert all(type(t) is torch.Tensor and t._backward_hooks is None for t in leaves)
    (outs, state, grads, random), (outs2, state2, grads2, random2) = results
    assert len(outs) == len(outs2) and all(a.is_meta or torch.equal(a, b) for a, b in zip(outs, outs2))
    assert state.keys() == state2.keys() and all(torch.equal(state[k], state2[k]) for k in state)
    assert grads == grads2 and torch.equal(random, random2)


@pytest.mark.parametrize("name", PLAIN)
def test_a_record_can_be_drawn(name):
    f, *args = made(name)
    record = viz.from_torch(f, *args)
    drawing = viz.draw(record, passes=tuple(record.program["passes"]))
    assert drawing.svg().startswith("<svg") and drawing.text() and drawing.json()
