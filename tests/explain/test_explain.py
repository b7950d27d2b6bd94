"""Derivations of known derivatives: steps, numbers, sums, paths, and the words for them."""

import json

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad.explain.steps import Step, Sum
from tests.record.recorded import Square

from .checked import adds_up, printed


def steps(e):
    return [step for step in e.steps if isinstance(step, Step)]


def sums(e):
    return [s for s in e.steps if isinstance(s, Sum)]


def neuron():
    """Return a record of a program whose weight has two uses, and the weight."""
    x, w, b = torch.tensor(2.0), torch.tensor(0.5, requires_grad=True), torch.tensor(-0.3, requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        h = (w * x + b).tanh()
        loss = h * w
        loss.backward()
    return rec, w, h


def test_a_gradient_is_the_sum_over_its_paths():
    rec, w, h = neuron()
    e = torch.explain(w.grad)
    h = h.item()
    assert e.label == "w.grad" and e.count == 2 and [s.name for s in steps(e)] == ["mul", "tanh", "add", "mul", "mul"]
    assert e.numbers == pytest.approx([h + 0.5 * (1 - h * h) * 2])
    assert sums(e)[0].terms == pytest.approx([h, 0.5 * (1 - h * h) * 2])
    assert [path.names for path in e.paths] == [["mul", "tanh", "add", "mul"], ["mul"]]
    adds_up(e)


def test_the_text_has_the_program_line_the_formula_and_the_numbers():
    rec, w, _ = neuron()
    text = str(torch.explain(w.grad))
    assert text.splitlines()[0] == "w.grad = 1.239: 2 paths, 5 steps"
    assert " h = v" in text and ".tanh() " in text and "test_explain.py:" in text
    assert "= 1 - h ** 2" in text and "= 0.5 × 0.6347 = 0.3174" in text
    assert "∂loss/∂w = 0.6044 + 0.6347 = 1.239" in text
    assert printed(text) == 6


def test_a_product_of_matrices_shows_which_entries_contribute():
    x, w = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [2.0, -1.0]], requires_grad=True)
    e = torch.explain((x @ w).square().sum(), w, index=(1, 0))
    last = steps(e)[-1].parts[0]  # dL/dw = x.T @ 2y, y = [[5, -2], [11, -4]]
    assert e.elements == [(1, 0)] and e.numbers == [2 * 10.0 + 4 * 22.0]
    assert [(t.arrived, t.partial, t.index) for t in last.terms] == [(10.0, 2.0, (0, 0)), (22.0, 4.0, (1, 0))]
    assert "10 × 2 + 22 × 4 = 108" in str(e)


def test_the_largest_of_many_elements_is_explained():
    w = torch.tensor([1.0, -7.0, 3.0, 4.0, 5.0], requires_grad=True)
    e = torch.explain(w.square().sum(), w)
    assert e.elements == [(1,)] and e.numbers == [-14.0] and not e.whole
    assert "of 5 elements" in e.notes[0] and "index=(1,)" in e.notes[0]
    assert torch.explain(w.square().sum(), w, index=-1).elements == [(4,)]


def test_many_terms_are_folded_with_their_sum():
    x, w = torch.arange(1.0, 21.0), torch.tensor(2.0, requires_grad=True)
    e = torch.explain((x * w).sum(), w)
    part = steps(e)[-1].parts[0]
    assert part.others == 15 and part.rest == sum(range(1, 16)) and e.numbers == [210.0]
    assert "120 (15 smaller terms) = 210" in str(e)
    adds_up(e)


def test_too_many_paths_are_counted_and_grouped():
    def growing(x):
        for _ in range(12):
            x = x + x * 0.1
        return x

    e = torch.explain(growing, torch.tensor(1.0))
    assert e.count == 2**12 and len(e.paths) <= 70
    assert e.numbers == pytest.approx([1.1**12], rel=1e-5)
    assert "4096 paths; the 5 largest contribute" in str(e)
    adds_up(e)


def test_many_steps_are_folded():
    x = y = torch.tensor(1.0, requires_grad=True)
    for _ in range(100):
        y = y.sin()
    text = str(torch.explain(y, x))
    assert "... 60 more steps ..." in text and len(text.splitlines()) < 140 and "\n100 " in text


def test_a_custom_function_shows_its_name_the_line_of_its_backward_and_its_numbers():
    e = torch.explain(lambda x: Square.apply(x * 3).sum(), torch.tensor([1.0, 2.0]))
    line = Square.backward.__code__.co_firstlineno
    text = str(e)
    assert f"Square.backward, recorded.py:{line}" in text and "Square.backward([1, 1]) = [6, 12]" in text
    assert [s.function for s in steps(e)] == [None, "Square", None]
    assert e.numbers == [18.0, 36.0]
    adds_up(e)


def test_a_custom_functions_partial_is_a_quotient_for_a_single_number():
    e = torch.explain(lambda x: Square.apply(x) * 5, torch.tensor(3.0))
    assert "5 × 6 = 30   (the partial is the quotient of the other two numbers)" in str(e)


def test_a_function_is_explained_for_the_requested_input():
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def f(a, b):
        return (a * b.exp()).sum()

    for of in ("b", 1):
        e = torch.explain(f, a, b, of=of)
        assert np.allclose(e.numbers, (a * b.exp()).tolist()) and str(e).startswith("∂f/∂b = ")
    assert str(torch.explain(f, a, b)).startswith("∂f/∂a = ")


def test_a_transforms_gradient_is_explained_as_such():
    e = torch.explain(torch.func.grad(lambda x: (x * x * x).sum()), torch.tensor([1.0, 2.0]))
    assert e.numbers == [3.0, 12.0] and e.label.startswith("the result of") and e.count == 3
    adds_up(e)
    e = torch.explain(torch.func.vmap(torch.func.grad(lambda x: x * x)), torch.tensor([1.0, 2.0]))
    assert e.numbers == [2.0, 4.0]


def test_a_transform_of_a_transform_is_explained_by_the_last_derivative():
    e = torch.explain(torch.func.grad(torch.func.grad(lambda x: x * x * x)), torch.tensor(2.0))
    assert e.numbers == [12.0] and e.label.startswith("the result of")
    adds_up(e)


def test_a_function_that_runs_backward_itself_is_explained_by_its_result():
    slope = torch.func.grad(torch.func.grad(lambda x: x * x * x))
    e = torch.explain(lambda x: slope(x) * 1.0, torch.tensor(2.0))
    assert e.numbers == [6.0] and "runs backward itself" in e.notes[0]
    adds_up(e)


def test_tangents_are_explained_forward():
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    e = torch.explain(lambda a, b: (a * b).sum(), a, b, tangents=(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])))
    assert e.kind == "tangent" and e.numbers == [5.0] and [s.name for s in steps(e)] == ["mul", "sum"]
    assert "a_t = [1, 0]" in str(e) and [path.names for path in e.paths] == [["mul", "sum"]] * 2
    adds_up(e)


def test_a_recorded_tangent_is_found():
    with torch.record(passes=("forward",)) as rec, forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
        t = forward_ad.unpack_dual(x.exp() * x).tangent
    e = torch.explain(t)
    assert rec and e.kind == "tangent" and np.allclose(e.numbers, t.tolist())
    adds_up(e)


def test_nan_is_shown_in_the_step_that_produces_it():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    text = str(torch.explain(torch.where(x > 0, x.sqrt(), x).sum(), x))
    assert "[0, 1] × [inf, 0.5] = [nan, 0.5]" in text


def test_one_element_of_a_gradient_that_is_nan_is_derived_by_products():
    points = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        (points * points).sum(-1).sqrt().sum().backward()
    text = str(torch.explain(points.grad, index=(1, 0)))
    assert rec and "1 × inf = inf" in text and "inf × 0 = nan" in text and ".backward(" not in text


def test_a_partial_of_0_is_shown_as_such():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    assert "[1, 1] × [0, 1] = [0, 1]" in str(torch.explain(x.relu().sum(), x))


def test_a_change_by_a_hook_has_no_steps():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        h = x * 2
        h.register_hook(lambda g: g * 10)
        (h * h).sum().backward()
    e = torch.explain(x.grad)
    assert rec and e.numbers == [80.0, 160.0] and "no step computes this: a hook set it" in str(e)
    adds_up(e)


def test_overwritten_memory_counts_with_its_old_values():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        h = x * 2
        h.mul_(x)
        h[0] = h[1] * 3
        h.sum().backward()
    e = torch.explain(x.grad)
    assert rec and e.numbers == [0.0, 32.0] and "[0, 4] × [2, 4] = [0, 16]" in str(e)
    adds_up(e)


def test_an_explanation_is_plain_data_too():
    _, w, _ = rec = neuron()
    data = json.loads(json.dumps(torch.explain(w.grad).to_dict()))
    assert rec and data["count"] == 2 and data["label"] == "w.grad" and data["record"]["schema"] == "minigrad.record/1"
    assert {step["name"] for step in data["steps"] if "parts" in step} == {"mul", "tanh", "add"}


def test_the_part_of_the_record_has_only_operations_that_lead_to_the_number():
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    with torch.record(passes=("forward", "backward")) as rec:
        unused = b.exp()
        (a * b).sin().backward()
    record = torch.explain(a.grad).record
    assert rec and unused is not None and [op["name"] for op in record["ops"]] == ["mul", "sin"]
    assert [len(op["edges"]) for op in record["ops"]] == [1, 1]


@pytest.mark.parametrize("index", [(5,), (0, 0), "x", 2])
def test_a_missing_element_is_refused(index):
    with pytest.raises(IndexError, match=r"explain: there is no element .* in a tensor of shape \(2,\)"):
        torch.explain(lambda x: x.sum(), torch.ones(2), index=index)


def test_arguments_that_cannot_be_explained_are_refused_with_a_fix():
    with pytest.raises(TypeError, match="neither a tensor nor a function[^$]*explain\\(x.grad\\)"):
        torch.explain(3)
    with pytest.raises(TypeError, match="at most one other tensor"):
        torch.explain(torch.ones(1), 3)
    with pytest.raises(ValueError, match="'c' has no gradient here; available: a"):
        torch.explain(lambda a: a.sum(), torch.ones(2), of="c")
    with pytest.raises(ValueError, match="1 tangents for 2 inputs"):
        torch.explain(torch.add, torch.ones(2), torch.ones(2), tangents=(torch.ones(2),))


LINES = ["{a} * {b}", "{a} + {b}.sin()", "({a} - {b}).tanh()", "{a}.exp() * 0.1", "{a} @ {b}.T @ {a}", "{a} * {b}[:1]",
         "torch.softmax({a}, 1)", "{a}.cumsum(0)", "torch.cat([{a}[:1], {b}[1:]])", "{a} / (1 + {b} * {b})",
         "{a}.flip(1) + {b}", "torch.maximum({a}, {b})", "{a} - {a}.mean(1, keepdim=True)",
         "{a}.reshape(3, 2).reshape(2, 3) * {b}"]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_add_up(seed):
    random = np.random.default_rng(seed)
    x, y = (torch.tensor(random.standard_normal((2, 3)), requires_grad=True) for _ in "xy")
    made = {"x": x, "y": y}
    with torch.record(passes=("forward", "backward")) as rec:
        for i in range(random.integers(3, 9)):
            a, b = random.choice(list(made), 2)
            made[f"v{i}"] = eval(random.choice(LINES).format(a=a, b=b), {**made, "torch": torch})
        (made[f"v{i}"] * x + y).sum().backward()
    assert rec
    for t in (x, y):
        e = torch.explain(t.grad, index=(int(random.integers(2)), int(random.integers(3))))
        assert e.numbers == pytest.approx([t.grad.numpy()[e.elements[0]]]) and e.count >= 1
        adds_up(e)
        adds_up(torch.explain(t.grad))


@pytest.mark.parametrize(
    "shape, said", [((2,), "[1, 1]"), ((3, 4), "shape (3, 4), all 1"), ((30, 40), "shape (30, 40), all 1")]
)
def test_the_derivation_starts_from_one_number_for_equal_elements(shape, said):
    text = str(torch.explain(lambda x: x * 2, torch.ones(*shape)))
    assert f"∂result/∂result = {said}   (the derivation starts here)" in text


def test_values_of_a_loop_have_different_names_in_formulas():
    def f(x):
        for _ in range(3):
            x = torch.logsumexp(torch.stack([x, 2 * x]), 0)
        return x

    e = torch.explain(f, torch.tensor(0.3, requires_grad=True))
    adds_up(e)
    assert "x[2]" in str(e) and all("x[2]" not in step.formula for step in steps(e))


# ---------------------------------------------------------------------- inside custom Functions
class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        slope = 3 * x**2
        ctx.save_for_backward(x, slope)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        x, slope = ctx.saved_tensors
        half = grad / 2
        return Doubled.apply(half) * slope

    @staticmethod
    def jvp(ctx, x_t):
        return x_t * ctx.saved_tensors[0]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return torch.tensor(a.numpy() * 2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


def told(text, first):
    lines = [line.split("test_explain.py")[-1].strip() for line in str(text).splitlines()]
    return [line.partition("  ")[2] if line.startswith(":") else line for line in lines[lines.index(first) :]]


def test_an_explanation_continues_into_backward_line_by_line():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert told(torch.explain(lambda x: Cubed.apply(x).sum(), x), "grad = [1, 1]")[:11] == [
        "grad = [1, 1]",
        "slope = [3, 12]   (saved)",
        "half = grad / 2",
        "half = grad / 2 = [0.5, 0.5]",
        "return Doubled.apply(half) * slope",
        "v2 = Doubled.apply(half) = [1, 1]",
        "a = [0.5, 0.5]",
        "return torch.tensor(a.numpy() * 2)",
        "v2 = [1, 1]",
        "v3 = v2 * slope = [3, 12]",
        "∂result/∂x = Cubed.backward([1, 1]) = [3, 12]",
    ]


def test_an_explanation_of_a_tangent_continues_into_jvp():
    x = torch.tensor([1.0, 2.0])
    found = torch.explain(Cubed.apply, x, tangents=(torch.tensor([1.0, 10.0]),))
    assert told(found, "x_t = [1, 10]")[:4] == [
        "x_t = [1, 10]",
        "x = [1, 2]   (saved)",
        "return x_t * ctx.saved_tensors[0]",
        "v1 = x_t * x = [1, 20]",
    ]


def test_of_takes_the_names_that_a_picture_shows():
    w = torch.tensor(0.5, requires_grad=True)

    def loss(x):
        h = x
        for _ in range(3):
            h = torch.tanh(h * w)
        return (h * 2).sum()

    for name in ("h[2]", "v0", "w"):
        assert str(torch.explain(loss, torch.ones(2), of=name)).startswith(f"∂loss/∂{name} = ")
    params = {"w": w}
    found = torch.explain(lambda x: (params["w"] * x).sum(), torch.ones(2), of='params["w"]')
    assert '∂params["w"] = 2' in str(found)
