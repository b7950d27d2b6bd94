"""Saved tensors that have changed are noticed, and those that have not are used."""

import copy

import numpy as np
import pytest

import minigrad as torch
from tests.functions import custom


def test_new_data_does_not_change_tensors_saved_through_an_alias():
    w = torch.tensor([2.0], requires_grad=True)
    old, v = w.detach(), torch.tensor([3.0], requires_grad=True)
    y = old * v
    w.data = torch.tensor([7.0])
    y.backward()
    assert v.grad.tolist() == [2.0]


def test_backward_reads_the_new_data_of_a_saved_tensor():
    w = torch.tensor([2.0], requires_grad=True)
    with torch.no_grad():
        w.add_(1)
    y, version = w * w, w._version
    w.data = torch.tensor([7.0])
    y.backward()
    assert w.grad.tolist() == [14.0] and w._version == version


def test_a_write_to_new_data_is_detected():
    w = torch.tensor([2.0], requires_grad=True)
    y = w * w
    w.data = torch.tensor([7.0])
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="version 1, expected version 0"):
        y.backward()


def test_new_data_of_another_shape_is_detected():
    w = torch.ones(3, requires_grad=True)
    y, z = w * w, w * 2
    w.data = torch.ones(4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    z.sum().backward()  # which has not saved it
    assert w.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("mode", ["arrays", "graph", "debug"])
@pytest.mark.parametrize("layer", [lambda w, x: torch.nn.functional.linear(x, w, torch.zeros(2)), lambda w, x: x @ w.T])
def test_a_view_that_is_saved_keeps_the_numbers_of_forward(layer, mode):
    w, x = torch.arange(6.0).view(2, 3).requires_grad_(), torch.ones(1, 3, requires_grad=True)
    with torch.debug() if mode == "debug" else torch.enable_grad():
        y = layer(w, x)
        w.data = w.data * torch.tensor([0.0, 1.0, 1.0])
        gx, gw = torch.autograd.grad(y, (x, w), torch.ones(1, 2), create_graph=mode == "graph")
    assert gx.tolist() == [[3, 5, 7]] and gw.tolist() == [[1, 1, 1], [1, 1, 1]]
    if mode == "graph":
        assert torch.autograd.grad(gx.sum(), w)[0].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_backward_may_write_to_a_tensor_that_only_its_node_saved():
    Cube = custom(
        "Cube",
        forward=lambda ctx, x: ctx.save_for_backward(3 * x * x) or x**3,
        backward=lambda ctx, g: ctx.saved_tensors[0].mul_(g),
    )
    x = torch.tensor([2.0], requires_grad=True)
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):  # the second time it would be wrong
        y.backward()


@pytest.mark.parametrize("written", ["argument", "result"])
def test_a_backward_may_not_write_to_a_shared_saved_tensor(written):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x if written == "argument" else y)
            return y

        @staticmethod
        def backward(ctx, g):
            (t,) = ctx.saved_tensors
            t.zero_()
            return g

    with pytest.raises(RuntimeError, match=f"saved tensor 0, of shape .1,., .* changes (the|an) {written} of forward"):
        Exp.apply(torch.ones(1, requires_grad=True)).backward()


def test_a_forward_may_write_to_untracked_tensors():
    class Count(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, calls, scratch):
            calls += 1
            scratch.copy_(x)
            return scratch * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x, calls, scratch = torch.ones(2, requires_grad=True), torch.tensor(0), torch.zeros(2)
    with torch.no_grad():
        x.mul_(3)  # written before, not by forward
    for debug in (False, True):
        with torch.debug(debug):
            Count.apply(x, calls, scratch).sum().backward()
    assert calls.item() == 2 and x.grad.tolist() == [4.0, 4.0]


def test_a_forward_may_write_to_an_untracked_parameter():
    Clip = custom("Clip", forward=lambda ctx, x: x.clamp_(-1, 1))
    x = torch.tensor([3.0], requires_grad=True)
    for debug in (False, True):
        with torch.no_grad(), torch.debug(debug):
            assert Clip.apply(x).tolist() == [1.0]


def test_debug_mode_notes_a_tensor_more_than_once():
    with torch.debug():
        x = torch.ones(2, requires_grad=True) * 2
        x += 1
        x *= 2
        with pytest.raises(RuntimeError, match=r"made by \w+ at .*test_saved_tensors"):
            x + torch.ones(3)


def test_copies_are_located_at_the_users_line():
    y = torch.ones(1, requires_grad=True) * 2
    for f in (lambda: copy.deepcopy(y), lambda: copy.deepcopy([y])):
        with pytest.raises(RuntimeError, match="test_saved_tensors.py"):
            f()


@pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
def test_means_by_numpy_are_located_at_the_users_line():
    y = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="test_saved_tensors.py"):
        np.mean([y, y])


def test_an_unpack_hook_keeps_the_dtype():
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.double(), lambda t: t):
        y = x.exp()
    with pytest.raises(RuntimeError, match="float64 for ExpBackward0, not the tensor of shape .2,. and float32"):
        y.sum().backward()


def test_freed_tensors_may_be_requested_during_another_backward():
    freed = torch.ones(1, requires_grad=True).exp()
    freed.backward()
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda g: freed.grad_fn._saved_result)
    with pytest.raises(RuntimeError, match="ExpBackward0: its saved tensors are read after backward has freed them"):
        (x * 2).backward()


@pytest.mark.cpu("compares the contents of arrays in the computer's memory")
@pytest.mark.parametrize("alias", [True, False])
def test_the_line_of_the_write_that_changed_a_saved_column_is_named(alias):
    h = torch.rand(4, 3, requires_grad=True) * 1
    y = h[:, 1] ** 3
    data = h.data
    (data if alias else h.data)[:, 0] = 4.0
    (data if alias else h.data)[:, 1] = 5.0  # this one
    (data if alias else h.data)[:, 2] = 6.0
    with pytest.warns(torch.MinigradWarning) as seen:
        y.sum().backward()
    assert "# this one" in str(seen[0].message)


ROLES = {  # the tensor that a Function saves: its name in the message
    "x": "argument 0 (x), a tensor of shape (2,)",
    "weight": "argument 1 (weight), a tensor of shape (2,)",
    "doubled": "a tensor of shape (2,) that it saved for backward and that is neither an input nor an output",
    "constant": "a tensor of shape (2,) that it saved for backward and that is neither an input nor an output",
    "result": "its own result, a tensor of shape (2,)",
}


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("which", ROLES)
def test_the_message_names_the_role_of_a_modified_tensor_in_the_function(which, separate):
    known = {"x": torch.ones(2, requires_grad=True) * 1, "weight": torch.ones(2), "constant": torch.ones(2)}

    class Scale(torch.autograd.Function):
        if separate:

            @staticmethod
            def forward(x, weight):
                known["doubled"] = x * 2
                return known["doubled"] * weight

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(None, {**known, "x": inputs[0], "weight": inputs[1], "result": output}[which])
        else:

            @staticmethod
            def forward(ctx, x, weight):
                known["doubled"] = x * 2
                result = known["doubled"] * weight
                ctx.save_for_backward(None, {**known, "result": result}[which])
                return result

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1], None

    known["result"] = Scale.apply(known["x"], known["weight"])
    known[which].add_(1)
    with pytest.raises(RuntimeError) as raised:
        known["result"].sum().backward()
    assert f"ScaleBackward: {ROLES[which]}" in str(raised.value)
    assert "has been modified by an inplace operation: it is at version 1, expected version 0" in str(raised.value)
