"""`explain(x.grad)` after a plain backward: the freed graph is computed again from its leaves, or it is said why not."""

import gc
import math

import pytest

import minigrad as torch

from .checked import adds_up

AGAIN = "it was recomputed from the leaves"


@pytest.fixture(autouse=True, scope="module")
def from_here():
    """Leave what the tests before have kept alive out of what each question walks through: after thousands, a second."""
    gc.collect()
    gc.freeze()


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values if len(values) != 1 else values[0], dtype=dtype, requires_grad=True)


def explained(x, y):
    """Return the explanation of x.grad after y.backward(), whose numbers are those that x holds."""
    y.backward()
    e = torch.explain(x.grad)
    assert AGAIN in str(e).splitlines()[1] and len(e.notes) == 1 and e.label in ("x.grad", "m.grad")
    adds_up(e)
    return e


def refused(tensor, why):
    with pytest.raises(ValueError, match=why) as caught:
        torch.explain(tensor)
    text = str(caught.value)
    assert "cannot be recomputed from the leaves: " in text and "with torch.record(" in text
    return text


def test_sums_of_products_and_functions():
    x = leaf(1.0, 2.0, 3.0)
    h = x * x + x.exp()
    y = h.sum()
    assert explained(x, y).numbers == pytest.approx([2 * v + math.exp(v) for v in (1.0, 2.0, 3.0)])
    text = str(torch.explain(x.grad))
    assert text.startswith("x.grad = [4.718, 11.39, 26.09]: 3 paths, 6 steps") and "∂y/∂h = 1 × [1, 1, 1]" in text


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: (3.0 - x) * x, 0.0),
        (lambda x: (x - 3) * x, 0.0),
        (lambda x: 2.0 / x, -2.0 / 2.25),
        (lambda x: x / 4, 0.25),
        (lambda x: x**3, 3 * 2.25),
        (lambda x: 2.0**x, math.log(2) * 2**1.5),
        (lambda x: 5 * x * 2, 10.0),
        (lambda x: x * 0.0 + x, 1.0),
    ],
)
def test_python_numbers_keep_their_position(f, slope):
    x = leaf(1.5)
    y = f(x)
    assert explained(x, y).numbers == pytest.approx([slope])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_are_kept_by_nodes_that_are_not_written_out(dtype):
    x = torch.tensor(1.5, dtype=dtype, requires_grad=True)
    y = (x / 4 - 1) * x
    assert explained(x, y).numbers == pytest.approx([2 * 1.5 / 4 - 1])


def test_settings_of_operations_are_kept():
    x = leaf(1.0, -2.0)
    y = torch.addcmul(x, x, x, value=2).sum()
    assert explained(x, y).numbers == [1 + 4 * 1.0, 1 + 4 * -2.0]


def test_shared_parts_are_computed_once():
    x = leaf(0.5)
    h = x.sin()
    y = h * h * h + h
    e = explained(x, y)
    assert e.numbers == pytest.approx([(3 * math.sin(0.5) ** 2 + 1) * math.cos(0.5)]) and e.count == 4


def test_a_network_with_tracked_data_by_each_of_its_leaves():
    torch.manual_seed(0)
    data, w, v, b = [torch.randn(*shape, requires_grad=True) for shape in ((5, 3), (3, 4), (4, 1), (4,))]
    loss = ((data @ w + b).tanh() @ v).relu().square().mean()
    loss.backward()
    for t in (data, w, v, b):
        e = torch.explain(t.grad, index=(1, 0) if t.ndim == 2 else 2)
        assert AGAIN in e.notes[0] and e.numbers == [pytest.approx(t.grad[e.elements[0]].item(), rel=1e-6)]
        adds_up(e)


def test_modules():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 2), torch.nn.Softmax(dim=1))
    data = torch.randn(5, 3, requires_grad=True)
    out = net(data)
    (out * out).sum().sqrt().backward()
    text = refused(net[0].weight.grad, "net.0.weight.grad|x.grad is")
    assert "the last result is gone" in text  # sum and sqrt
    net.zero_grad()
    data.grad = None
    loss = net(data).square().sum()
    loss.backward()
    e = torch.explain(net[0].weight.grad)
    assert e.label == "net.0.weight.grad" and AGAIN in e.notes[0]
    adds_up(e)


def test_views_slices_and_joins():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    m = x.reshape(2, 2).T[1:]
    y = (torch.cat([m.flatten(), x[::2], x.expand(2, 4)[0]]).square() * 0.5).sum()
    assert explained(x, y).numbers == [2.0, 4.0, 6.0, 8.0]


def test_several_outputs():
    x = leaf(3.0, 1.0, 2.0)
    low, high = x.split([1, 2])
    most, places = high.max(0)
    running = x.cummax(0)[0]
    y = (low * 5).sum() + most * most + (running * running).sum()
    assert explained(x, y).numbers == [5.0 + 18.0, 0.0, 4.0] and places.item() == 1
    m = leaf([2.0, 0.5], [0.25, 3.0])
    q, r = torch.linalg.qr(m)
    y = r.square().sum()
    assert explained(m, y).numbers == pytest.approx([4.0, 1.0, 0.5, 6.0]) and q is not None


def test_in_place_writes_before_the_result():
    x = leaf(1.0, 2.0)
    h = x * x
    h += x
    h.sin_()
    y = h.sum()
    assert explained(x, y).numbers == pytest.approx([(2 * v + 1) * math.cos(v * v + v) for v in (1.0, 2.0)])


def test_a_result_whose_gradient_was_retained():
    x = leaf(1.0, 2.0)
    h = x.exp()
    h.retain_grad()
    y = (h * h).sum()
    y.backward()
    e = torch.explain(h.grad)
    assert e.label == "h.grad" and e.numbers == pytest.approx((2 * h).tolist())
    adds_up(e)


def test_gradients_that_are_not_finite():
    x = leaf(0.0, 4.0)
    y = (x.sqrt() * 0.0).sum()
    y.backward()
    e = torch.explain(x.grad)
    assert AGAIN in e.notes[0] and math.isnan(e.numbers[0]) and "[0, 0] × [inf, 0.25]" in str(e)


def test_among_numbers_that_are_not_finite_the_one_that_differs_is_named():
    x = leaf(0.0, 4.0, 0.0)
    h = x.log()
    loss = (h * h).sum()
    loss.backward()
    with torch.no_grad():
        x[1] = 5
    refused(x.grad, r"element \[1\] of the log of shape \(3,\) is 1.38629, but the current leaves give 1.60944")


def test_explaining_twice_changes_nothing():
    x, calls = leaf(2.0), []
    h = x * x
    h.register_hook(lambda g: calls.append(g))
    y = h * x
    y.backward()
    first, grad = str(torch.explain(x.grad)), x.grad
    with torch.no_grad():
        assert str(torch.explain(x.grad)) == first
    assert x.grad is grad and grad.item() == 12.0 and len(calls) == 1
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with torch.no_grad():
        x += 1
    refused(x.grad, "a leaf has changed")


def test_the_graph_with_the_numbers_is_chosen_among_several():
    x = leaf(3.0)
    h = x * x
    metric = h * 100
    y = h * x
    y.backward()
    later = h.exp()
    e = torch.explain(x.grad)
    assert e.numbers == [27.0] and AGAIN in e.notes[0] and metric is not later
    with torch.no_grad():
        x -= 1
    refused(x.grad, "the mul of shape")  # though the graph of `later` leads to x as well


def test_an_accumulated_gradient_of_the_data_does_not_matter():
    x, w = leaf(1.0, 2.0), leaf(0.5)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.step()
        optimizer.zero_grad()
        loss = (w * x).square().sum()
        loss.backward()
    e = torch.explain(w.grad)
    assert AGAIN in e.notes[0] and e.numbers == pytest.approx([10 * w.item()])
    refused(x.grad, r"element \[[01]\] of x.grad is .*several backward calls")


# ---------------------------------------------------------------------- what cannot be had again
def test_an_untracked_operand_of_an_intermediate_is_lost():
    x, data = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    y = (x * 2 * data).sum()
    y.backward()
    text = refused(x.grad, r"argument 2 of the mul of shape \(2,\) is lost: it does not require grad")
    assert "the backward at" in text


def test_an_optimizers_step_changes_leaves():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    assert torch.explain(w.grad).numbers == [2.0, 4.0]
    torch.optim.SGD([w], lr=1e-3).step()
    refused(w.grad, r"the sum of shape \(\) is 5, but the current leaves give 4.98002.*optimizer.step")
    del loss


def test_a_change_of_another_leaf_is_detected_although_the_number_is_the_same():
    w, v = leaf(-1.0), leaf(3.0)
    loss = w.relu() * v + v * v
    loss.backward()
    assert torch.explain(w.grad).numbers == [0.0]
    kept = loss.grad_fn
    del loss
    v.data -= 0.1 * v.grad
    refused(w.grad, r"the .grad of another tensor of shape \(\) is 6, but the current leaves give 4.8")
    assert kept is not None


def test_gradients_of_two_calls():
    x = leaf(2.0)
    y, z = x * x, x * 3 * x
    y.backward()
    z.backward()
    refused(
        x.grad,
        "x.grad is 16, but the current leaves give 12: several backward calls .* at .*z.backward",
    )


def test_a_gradient_that_was_written_to():
    w = leaf(3.0, 4.0)
    loss = (w * w).sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    refused(
        w.grad, r"element \[1\] of x.grad is 0.8, but the current leaves give 8: mul_ wrote to it at .*clip_grad_norm_"
    )


def test_a_gradient_that_started_from_other_numbers():
    x = leaf(2.0)
    y = x * x
    y.backward(torch.tensor(3.0, dtype=torch.float64))
    refused(x.grad, "x.grad is 12, but the current leaves give 4.*a gradient other than 1")


def test_a_hook_that_has_replaced_a_gradient():
    x = leaf(2.0)
    h = x * 3
    h.register_hook(lambda g: g * 2)
    y = h * h
    y.backward()
    refused(x.grad, "x.grad is 72, but the current leaves give 36.*a hook took part")


def test_users_functions_do_not_run_again():
    calls = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append(x)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(2.0)
    y = Square.apply(x) * x
    y.backward()
    refused(x.grad, r"the Square of shape \(\) cannot run again")
    assert len(calls) == 1


def test_random_numbers_are_not_drawn_again():
    x = leaf(*[1.0] * 20)
    y = torch.nn.functional.dropout(x, 0.5).square().sum()
    y.backward()
    refused(x.grad, "argument 2 of the mul of shape")


def test_freed_leaves():
    x = leaf(2.0)
    y = x * leaf(3.0)
    y.backward()
    gc.collect()
    refused(x.grad, r"the leaf of shape \(\) that the mul of shape \(\) reads is gone")
    z = x * x
    x.grad = None
    z.backward()
    x.data = torch.tensor([1.0, 2.0])
    x.grad = torch.tensor([4.0, 4.0])
    with pytest.raises((RuntimeError, ValueError), match="the graph is gone"):  # of the leaf that had another shape
        torch.explain(x.grad)


def test_writes_outside_the_graph_are_detected():
    x = leaf(2.0)
    h = x * 1.5
    y = h * h
    with torch.no_grad():
        h += 1
    z = h * h
    del y
    z.backward()
    refused(x.grad, r"the mul of shape \(\) is 4, but the current leaves give 3.*or the result has")


def test_leaves_whose_shapes_no_longer_match():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * w).sum()
    y.backward()
    x.data = torch.ones(3, dtype=torch.float64)
    refused(w.grad, r"the leaf of shape \(2,\) that the mul of shape \(2,\) reads is no longer a leaf")


def test_the_derivative_of_a_tensor_by_another_after_backward():
    x = leaf(1.0, 2.0)
    h = x.exp()
    y = (h * h).sum()
    (x * 5).sum().backward()
    y.backward()
    for by, numbers in ((x, 2 * h * h), (h, 2 * h)):
        e = torch.explain(y, by)
        assert e.numbers == pytest.approx(numbers.tolist()) and AGAIN in e.notes[0] and "∂y/∂h" in str(e)
        adds_up(e)
    x.data += 1
    with pytest.raises(
        ValueError, match="retain_graph=True.*cannot be recomputed from the leaves: element .1. of the exp of shape"
    ):
        torch.explain(y, x)


def test_programs_that_cannot_run_again():
    x = leaf(1.0, -2.0)
    whole = x * x
    whole[0] = x[1]
    compiled = torch.compile(lambda t: (t * t).sum())
    for y, why in (
        (whole.sum(), r"the view_scatter of shape \(2,\) cannot run again"),
        (compiled(x), r"the CompiledFunction of shape \(\) cannot run again"),
        (x[torch.tensor([0, 0])].square().sum(), r"argument 3 of the take of shape \(2,\)"),
    ):
        x.grad = None
        y.backward()
        refused(x.grad, why)


def test_known_lines_are_named():
    x = leaf(1.0, 2.0)
    with torch.autograd.detect_anomaly():
        y = torch.clamp(x, 0.0, torch.tensor(1.5, dtype=torch.float64)).sum()
        y.backward()
    refused(x.grad, r"of the clamp of shape \(2,\) at .*test_recompute.py.* y = torch.clamp")


def test_objects_left_alive_by_other_code_are_not_searched():
    class Touchy:
        @property
        def __class__(self):
            raise AssertionError("asked")

    bystander = [Touchy()]
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward()
    assert torch.explain(x.grad).numbers == [6.0] and bystander
