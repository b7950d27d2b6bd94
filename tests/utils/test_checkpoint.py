"""Activation checkpointing: the same gradients, less memory, and clear errors where a function computes something else."""

import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad import nn
from minigrad.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

STEPS = [
    torch.exp,
    torch.sin,
    torch.tanh,
    torch.relu,
    torch.neg,
    torch.sigmoid,
    lambda h: h * h,
    lambda h: h.T,
    lambda h: h + 1,
]
FORMS = pytest.mark.parametrize("use_reentrant", [False, True])


def leaf(*shape):
    return (torch.arange(1.0, 1.0 + torch.Size(shape).numel()) / 7).reshape(shape).requires_grad_()


def chain(steps):
    def run(x):
        for step in steps:
            x = step(x)
        return x

    return run


def close(a, b):
    assert all(torch.allclose(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


@settings(max_examples=40)
@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=6), st.booleans())
def test_gradients_are_those_without_checkpoint(numbers, use_reentrant):
    run = chain([STEPS[i] for i in numbers])
    x, y = leaf(2, 3), leaf(2, 3)
    run(x).sum().backward()
    checkpoint(run, y, use_reentrant=use_reentrant).sum().backward()
    close([x.grad], [y.grad])


@settings(max_examples=15)
@given(st.integers(1, 7), st.data(), st.booleans())
def test_segments_give_the_same(n, data, use_reentrant):
    steps = [STEPS[i] for i in data.draw(st.lists(st.sampled_from(range(len(STEPS))), min_size=n, max_size=n))]
    x, y = leaf(3, 2), leaf(3, 2)
    chain(steps)(x).sum().backward()
    checkpoint_sequential(steps, data.draw(st.integers(1, n)), y, use_reentrant=use_reentrant).sum().backward()
    close([x.grad], [y.grad])


def block(x, *, parts):
    h = (x * parts["w"]).sin()
    return {"out": [(h * h).exp(), h.sum()]}


def test_grad_keywords_nested_structures_and_second_derivatives_work():
    x, w = leaf(3), leaf(3)
    found = []
    for call in (lambda f, *a, **k: f(*a, **k), lambda f, *a, **k: checkpoint(f, *a, use_reentrant=False, **k)):
        out = call(block, x, parts={"w": w})["out"]
        first = torch.autograd.grad(out[0].sum() * out[1], [x, w], create_graph=True)
        second = torch.autograd.grad((first[0] * first[1]).sum(), [x, w])
        found.append([*first, *second])
    close(*found)


def test_it_runs_once_in_forward_and_once_in_each_backward():
    calls = []

    def run(x):
        calls.append(x)
        return x.exp().sin()

    y = checkpoint(run, leaf(2), use_reentrant=False)
    y.sum().backward(retain_graph=True)
    assert len(calls) == 2
    y.sum().backward()
    assert len(calls) == 3


@pytest.mark.parametrize("size", [3, 1 << 12, 1 << 16])  # from 4096 elements on, gradients come from one compiled pass
def test_it_runs_once_in_backward_however_large_the_tensors_are(size):
    calls, layers = (
        [],
        [torch.tanh, torch.sin, lambda h: h * h, lambda h: h / (2 + h), torch.exp, lambda h: h @ h.T @ h],
    )

    def run(h):
        calls.append(len(calls))
        for layer in layers:
            h = layer(h)
        return h

    x = torch.linspace(-1, 1, size).reshape(1, size).requires_grad_()
    checkpoint(run, x, use_reentrant=False).sum().backward()
    assert calls == [0, 1]


@pytest.mark.parametrize("size", [3, 1 << 12, 1 << 16])
@pytest.mark.parametrize(
    "f", [*STEPS[:3], STEPS[6], lambda h: h / (2 + h), lambda h: h.softmax(0), lambda h: h.sum() * h]
)
def test_hooks_unpack_each_saved_tensor_once(size, f):
    packed, unpacked = [], []

    def pack(t):
        packed.append(t)
        return len(packed) - 1

    x = torch.linspace(-1, 1, size).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda k: unpacked.append(k) or packed[k]):
        y = f(x).sum()
    y.backward()
    assert sorted(unpacked) == list(range(len(packed)))


def test_without_gradients_it_is_the_function():
    with torch.no_grad():
        assert checkpoint(torch.exp, leaf(2), use_reentrant=False).grad_fn is None


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("way", ["argument", "context"])
def test_it_stops_early_where_all_that_is_needed_is_there(early_stop, way):
    reached = []

    def run(x):
        y = x.exp()
        try:
            z = y.sin()
        except Exception:  # what stops it is none
            raise AssertionError from None
        reached.append(1)
        return z + 1

    if way == "argument":
        y = checkpoint(run, leaf(2), use_reentrant=False, early_stop=early_stop)
    else:
        with set_checkpoint_early_stop(early_stop):
            y = checkpoint(run, leaf(2), use_reentrant=False)
    y.sum().backward()
    assert len(reached) == (1 if early_stop else 2)


def test_checkpoints_inside_checkpoints_keep_nothing_of_their_own():
    x, y = leaf(3), leaf(3)
    inner = lambda h: checkpoint(lambda h: h.sin().exp(), h * 2, use_reentrant=False).tanh()
    checkpoint(lambda h: inner(inner(h)) * h, x, use_reentrant=False).sum().backward()
    plain = lambda h: (h * 2).sin().exp().tanh()
    (plain(plain(y)) * y).sum().backward()
    close([x.grad], [y.grad])


def test_a_gradient_that_the_function_takes_itself():
    def run(x):
        y = x.sin().exp()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return g * y

    x, y = leaf(3), leaf(3)
    checkpoint(run, x, use_reentrant=False).sum().backward()
    run(y).sum().backward()
    close([x.grad], [y.grad])


def test_a_custom_function_may_ask_for_its_tensors_several_times():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0]
            return 3 * ctx.saved_tensors[1] * g + 0 * x + 0 * ctx.saved_tensors[0]

    x = leaf(3)
    checkpoint(Cube.apply, x, use_reentrant=False).sum().backward()
    close([x.grad], [3 * x.detach() ** 2])


def test_a_part_of_the_graph_can_be_asked_for():
    kept = []

    def run(x):
        h = x.sin()
        kept.append(h)
        return h.exp().tanh()

    x = leaf(2)
    y = checkpoint(run, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), kept[0])
    expected = kept[0].detach().requires_grad_()
    expected.exp().tanh().sum().backward()
    close([g], [expected.grad])


def test_saved_tensors_can_be_looked_at_outside_of_backward():
    y = checkpoint(lambda x: x.sin().exp(), leaf(2), use_reentrant=False)
    close(y.grad_fn.saved_tensors, [y])
    close(y.grad_fn.saved_tensors, [y])


def test_the_contexts_are_around_the_call_and_the_second_one():
    log = []

    class Log:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *_):
            log.append(f"end of {self.name}")

    x = leaf(2)
    y = checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (Log("first"), Log("again")))
    assert log == ["first", "end of first"]
    y.sum().backward()
    assert log[2:] == ["again", "end of again"]


# ---------------------------------------------------------------------- random numbers
@FORMS
def test_random_numbers_are_the_same_and_those_afterwards_go_on(use_reentrant):
    def run(x):
        return nn.functional.dropout(x.exp(), 0.5).sin()

    found = []
    for call in (lambda x: run(x), lambda x: checkpoint(run, x, use_reentrant=use_reentrant)):
        torch.manual_seed(3)
        x = leaf(20)
        y = call(x)
        between = torch.rand(2)
        y.sum().backward()
        found.append([y.detach(), x.grad, between, torch.rand(2)])
    close(*found)


@FORMS
def test_without_preserving_the_stream_goes_on(use_reentrant):
    run = lambda x: (x * torch.rand(3)).exp()
    torch.manual_seed(0)
    before = [torch.rand(3) for _ in range(3)]
    torch.manual_seed(0)
    checkpoint(run, leaf(3), use_reentrant=use_reentrant, preserve_rng_state=False).sum().backward()
    close([torch.rand(3)], before[2:])


# ---------------------------------------------------------------------- autocast
@FORMS
@pytest.mark.parametrize("forward, back", [(True, False), (False, True)])
def test_autocast_is_on_where_it_was_in_forward(forward, back, use_reentrant):
    dtypes = []

    def run(x, w):
        h = x @ w
        dtypes.append(h.dtype)
        return h.tanh()

    x, w = leaf(3, 3), leaf(3, 3)
    with torch.autocast("cpu", enabled=forward):
        y = checkpoint(run, x, w, use_reentrant=use_reentrant).sum()
    with torch.autocast("cpu", enabled=back):
        y.backward()
    assert dtypes == [torch.bfloat16 if forward else torch.float32] * 2


def test_under_autocast_nothing_more_is_kept():
    alive = []

    def run(x):
        h = (x @ x).tanh()
        alive.append(weakref.ref(h))
        return h @ h

    with torch.autocast("cpu"):
        y = checkpoint(run, leaf(3, 3), use_reentrant=False)
    assert alive[0]() is None
    y.sum().backward()


# ---------------------------------------------------------------------- memory
@FORMS
def test_what_is_computed_inside_is_freed_before_backward_and_after(use_reentrant):
    alive = []

    def run(x):
        for _ in range(5):
            x = x.exp().tanh()
            alive.append(weakref.ref(x))
        return x.sum()

    gc.disable()  # it is not left to the collector
    try:
        x = leaf(3)
        y = checkpoint(run, x, use_reentrant=use_reentrant)
        assert [ref() for ref in alive] == [None] * 5
        y.backward()
        assert len(alive) > 5
        assert all(ref() is None for ref in alive)
    finally:
        gc.enable()


def arrays_of(shape):
    """Count the living tensors of a shape."""
    return sum(1 for o in gc.get_objects() if isinstance(o, torch.Tensor) and o._layer is None and o._a.shape == shape)


@pytest.mark.parametrize("retain_graph", [False, True])
def test_backward_holds_one_segment_at_a_time(retain_graph):
    shape, most = (3, 1, 41), []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            most.append(arrays_of(shape))
            return g

    step = lambda h: h.exp().tanh().sin().cos()
    segment = lambda h: Counted.apply(step(Counted.apply(step(step(Counted.apply(h))))))
    x = leaf(*shape)
    for _ in range(4):
        x = checkpoint(segment, x, use_reentrant=False)
    gc.collect()
    assert arrays_of(shape) == 4 + 1  # the inputs of four segments and the result, not what their 60 operations gave
    x.sum().backward(retain_graph=retain_graph)
    assert max(most) < 4 + 15  # and then what the operations of one segment gave


def test_the_inputs_are_let_go_with_the_graph():
    x = leaf(3)
    h = x * 2
    kept = weakref.ref(h)
    y = checkpoint(torch.exp, h, use_reentrant=False)
    gc.disable()
    try:
        del h
        assert kept() is not None
        y.sum().backward()
        assert kept() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------------- a function that computes something else
def other_the_second_time(first, second):
    runs = iter([first, second])
    return lambda x: next(runs)(x)


DIFFERENT = [
    (
        lambda x: x.exp().sin().cos(),
        lambda x: x.exp(),
        {},
        ["saved 3 tensors in forward, but 1", "the first missing one"],
    ),
    (
        lambda x: x.exp(),
        lambda x: x.exp().sin(),
        dict(early_stop=False),
        ["saved 1 tensors", "but 2", "first new one"],
    ),
    (lambda x: x.exp(), lambda x: x[:2].exp(), {}, ["saved tensor 0 differs", "shape (3,)", "shape (2,)"]),
    (lambda x: x.exp(), lambda x: x.double().exp(), {}, ["float32", "float64"]),
]


@pytest.mark.parametrize("first, second, options, words", DIFFERENT, ids=[words[0] for *_, words in DIFFERENT])
def test_a_function_that_computes_something_else_is_an_error_with_its_line(first, second, options, words):
    y = checkpoint(other_the_second_time(first, second), leaf(3), use_reentrant=False, **options)
    with pytest.raises(CheckpointError) as raised:
        y.sum().backward()
    text = str(raised.value)
    assert all(word in text for word in words), text
    assert any(f"at {__file__}:{run.__code__.co_firstlineno}" in text for run in (first, second))
    assert "To fix: make the function depend on its arguments alone" in text


def test_debug_lists_all_tensors_of_both_runs():
    run = other_the_second_time(lambda x: x.exp().sin().cos(), lambda x: x.exp().sin())
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(run, leaf(3), use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"in forward 2: shape(?s:.*)recomputed 1: shape"):
        y.sum().backward()


def test_without_the_check_other_shapes_come_to_the_engine():
    run = other_the_second_time(lambda x: x.exp(), lambda x: x.detach()[:1].requires_grad_().exp())
    y = checkpoint(run, leaf(3), use_reentrant=False, determinism_check="none")
    with pytest.raises(RuntimeError, match="shape"):
        y.sum().backward()


def test_an_input_that_is_written_to_is_an_error():
    x = leaf(3)
    h = x * 2
    y = checkpoint(torch.exp, h, use_reentrant=False)
    h.add_(1)
    with pytest.raises(RuntimeError, match="checkpoint: one of its inputs, .* modified by (?s:.*)last written by add_"):
        y.sum().backward()


def test_a_saved_tensor_that_the_function_itself_overwrites_is_an_error():
    def run(x):
        h = x * 2
        y = h.sin()
        h.add_(1)
        return y * h

    y = checkpoint(run, leaf(3), use_reentrant=False)
    with pytest.raises(RuntimeError, match="modifies a tensor of shape \\(3,\\) in place(?s:.*)last written by add_"):
        y.sum().backward()


@pytest.mark.parametrize("early_stop", [False, True])
def test_forward_mode_goes_through_backward(early_stop):
    def run(x, w):
        y = (x * w).exp()
        return (y * 1).mul_(x).tanh() * w

    def tangents(call):
        with torch.autograd.forward_ad.dual_level():
            x, w = torch.autograd.forward_ad.make_dual(leaf(3), torch.ones(3)), leaf(3)
            grads = torch.autograd.grad(call(x, w).sum(), (x, w))
            return [torch.autograd.forward_ad.unpack_dual(g).tangent for g in grads]

    close(tangents(lambda x, w: checkpoint(run, x, w, use_reentrant=False, early_stop=early_stop)), tangents(run))


# ---------------------------------------------------------------------- transforms and forward mode
def captures():
    """Return functions of two numbers that use tensors from outside, in the operations that save them."""
    torch.manual_seed(0)
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    trained = torch.tensor([[0.3, -0.2], [0.5, 0.1]], requires_grad=True)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    save = lambda f, *args, **kwargs: checkpoint(f, *args, use_reentrant=False, **kwargs)

    class Scaled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, weight):
            return x * weight

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            return g * weight, g * x

        @staticmethod
        def jvp(ctx, x_t, weight_t):
            x, weight = ctx.saved_tensors
            return (0 if x_t is None else x_t * weight) + (0 if weight_t is None else x * weight_t)

    return {
        "matrix": lambda x: (w @ x).sin().sum(),
        "parameter": lambda x: (trained @ x).exp().prod(),
        "network": lambda x: net(x).sum(),
        "cross entropy": lambda x: nn.functional.cross_entropy(w * x, torch.tensor([0, 1])),
        "index": lambda x: (x[torch.tensor([1, 0, 1])] * w.flatten()[:3]).prod(),
        "Function": lambda x: Scaled.apply(x.sin(), w[0]).prod(),
        "nested": lambda x: save(lambda x: save(lambda x: (w @ x).tanh(), x) * w[1], x).prod(),
        "structures": lambda x: save(
            lambda d, *, scale: {"out": [(d["x"] * scale).sin()]}, {"x": x}, scale=w[0]
        )["out"][0].prod(),
    }  # fmt: skip


def forward_over_reverse(f):
    def run(x):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x.clone().requires_grad_(), torch.tensor([1.0, -0.5]))
            y = f(dual)
            (g,) = torch.autograd.grad(y, dual, create_graph=True)
            return [*torch.autograd.forward_ad.unpack_dual(y), *torch.autograd.forward_ad.unpack_dual(g)]

    return run


WAYS = {
    "grad": torch.func.grad,
    "grad of grad": lambda f: torch.func.grad(lambda x: torch.func.grad(f)(x).sin().sum()),
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(0.7))[0],
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (torch.tensor([1.0, -0.5]),))[1],
    "jvp of grad": lambda f: lambda x: torch.func.jvp(torch.func.grad(f), (x,), (torch.tensor([1.0, -0.5]),))[1],
    "jacrev": lambda f: torch.func.jacrev(lambda x: torch.stack([f(x), f(2 * x)])),
    "hessian": torch.func.hessian,
    "vmap": lambda f: lambda x: torch.func.vmap(f)(torch.stack([x, 2 * x, 3 * x])),
    "vmap of grad": lambda f: lambda x: torch.func.vmap(torch.func.grad(f))(torch.stack([x, 2 * x, 3 * x])),
    "grad of vmap": lambda f: torch.func.grad(lambda x: torch.func.vmap(f)(torch.stack([x, 2 * x, 3 * x])).sin().sum()),
    "forward over reverse": forward_over_reverse,
    "functional.hessian": lambda f: lambda x: torch.autograd.functional.hessian(f, x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", captures())
def test_transforms_and_forward_mode_give_what_they_give_without_checkpoint(program, way):
    f, x = captures()[program], torch.tensor([0.4, -0.6])
    found = [WAYS[way](g)(x) for g in (f, lambda x: checkpoint(f, x, use_reentrant=False))]
    close(*[r if isinstance(r, list) else [r] for r in found])


def test_gradients_of_captured_parameters_pass_through_a_transform():
    w, x = torch.tensor([[0.3, -0.2], [0.5, 0.1]], requires_grad=True), torch.tensor([0.4, -0.6])
    found = []
    for call in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
        run = lambda x, call=call: call(lambda x: (w @ x).sin().prod(), x)
        penalty = torch.func.grad(run)(x).square().sum() + torch.func.vmap(run)(torch.stack([x, 2 * x, 3 * x])).sum()
        found.append(torch.autograd.grad(penalty, w))
    close(*found)


@pytest.mark.parametrize("way", ["grad", "vmap of grad"])
def test_random_numbers_in_a_transform_are_those_without_checkpoint(way):
    f, x = lambda x: nn.functional.dropout(x * torch.tensor([1.0, 2.0]), 0.5).sin().sum(), torch.tensor([0.4, -0.6])
    found, seen = [], ({"randomness": "same"} if "vmap" in way else {})
    for g in (f, lambda x: checkpoint(f, x, use_reentrant=False)):
        torch.manual_seed(1)
        run = torch.func.grad(g)
        found.append([run(x) if not seen else torch.func.vmap(run, **seen)(torch.stack([x, 2 * x])), torch.rand(2)])
    close(*found)


def test_a_transform_inside_the_function_works():
    w, found = leaf(2, 2), []
    for call in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
        x = leaf(2)
        run = lambda x: torch.func.vmap(torch.func.grad(lambda z: (w @ z).sin().sum()))(torch.stack([x, 2 * x]))
        found.append(torch.autograd.grad(call(run, x).square().sum(), [x, w]))
    close(*found)


# ---------------------------------------------------------------------- arguments
REFUSED = [
    (dict(use_reentrant=True, w=1), "unexpected keyword arguments: w"),
    (dict(use_reentrant=True, debug=True), "only supported when use_reentrant=False"),
    (dict(use_reentrant=True, context_fn=lambda: ()), "only supported when use_reentrant=False"),
    (dict(use_reentrant=False, determinism_check="all"), "but got 'all'"),
]


@pytest.mark.parametrize("options, words", REFUSED, ids=[words for _, words in REFUSED])
def test_arguments_that_a_form_does_not_take_are_refused(options, words):
    with pytest.raises(ValueError, match="To fix: ") as raised:
        checkpoint(torch.exp, leaf(2), **options)
    assert words in str(raised.value)


@pytest.mark.parametrize("segments", [0, 3])
def test_there_is_a_function_for_each_segment(segments):
    with pytest.raises(ValueError, match=f"2 functions cannot be divided into {segments} segments"):
        checkpoint_sequential([torch.exp, torch.sin], segments, leaf(2), use_reentrant=False)


# ---------------------------------------------------------------------- the older form
def test_the_older_form_reaches_parameters_inside():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    net(leaf(5, 3)).sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    checkpoint_sequential(net, 2, leaf(5, 3), use_reentrant=True).sum().backward()
    close([p.grad for p in net.parameters()], expected)


@pytest.mark.parametrize("call", [lambda y, x: torch.autograd.grad(y, x), lambda y, x: y.backward(inputs=[x])])
def test_the_older_form_works_with_backward_alone(call):
    x = leaf(3)
    y = checkpoint(torch.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="does not work with grad\\(\\)(?s:.*)write use_reentrant=False"):
        call(y, x)


def test_the_older_form_has_no_second_derivative():
    x = leaf(3)
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward(create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable|twice"):
        torch.autograd.grad(x.grad.sum(), x)


def test_the_older_form_needs_an_output_with_a_gradient():
    y = checkpoint(lambda x: x.detach(), leaf(3), use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of the outputs requires grad"):
        y.sum().backward()


def test_the_older_form_takes_and_gives_several():
    x, w = leaf(3), leaf(3)
    a, b = checkpoint(lambda x, k, w: (x * w * k, x.exp()), x, 2, w, use_reentrant=True)
    (a * b).sum().backward()
    found = x.grad, w.grad
    x.grad = w.grad = None
    (x * w * 2 * x.exp()).sum().backward()
    close(found, (x.grad, w.grad))
