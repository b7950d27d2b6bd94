"""Users' Functions work under every transform and composition, with their own rules and with generated ones."""

import itertools
from types import SimpleNamespace

import pytest

import minigrad as torch
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

from .functions import Cube, ManualCube, NumpySort, NumpyTake, function

F64 = {"dtype": torch.float64}
X = torch.tensor([0.5, -1.5, 2.0], **F64)
W = torch.tensor([1.0, 10.0, 100.0], **F64)
cubes = pytest.mark.parametrize("cube", [Cube, ManualCube])


def sort(x, dim=-1):
    return NumpySort.apply(x, dim)[0]


# ---------------------------------------------------------------------- the document's Functions
@cubes
def test_cube_under_every_transform(cube):
    f = lambda x: cube.apply(x)[0]
    ones = torch.ones(3, **F64)
    assert torch.allclose(grad(lambda x: f(x).sum())(X), 3 * X**2)
    assert torch.allclose(vjp(f, X)[1](W)[0], 3 * X**2 * W)
    assert torch.allclose(jvp(f, (X,), (W,))[1], 3 * X**2 * W)
    assert torch.allclose(linearize(f, X)[1](W), 3 * X**2 * W)
    assert torch.allclose(vmap(f)(X), X**3)
    assert torch.allclose(vmap(vmap(f), 1, 1)(X.expand(2, 3)), X.expand(2, 3) ** 3)
    for jacobian in (jacrev, jacfwd):
        assert torch.allclose(jacobian(f)(X), torch.diag(3 * X**2))
    assert torch.allclose(hessian(lambda x: f(x).sum())(X), torch.diag(6 * X))
    assert torch.allclose(vmap(grad(grad(f)))(X), 6 * X)
    assert torch.allclose(vmap(grad(grad(grad(f))))(X), 6 * ones)
    assert torch.allclose(vmap(lambda x, t: jvp(f, (x,), (t,))[1])(X, W), 3 * X**2 * W)
    assert torch.allclose(grad(lambda x: jvp(f, (x,), (W,))[1].sum())(X), 6 * X * W)
    assert torch.allclose(jvp(grad(lambda x: f(x).sum()), (X,), (W,))[1], 6 * X * W)
    assert torch.allclose(jvp(lambda x: jvp(f, (x,), (x,))[1], (X,), (ones,))[1], 9 * X**2)


@cubes
@pytest.mark.parametrize(
    "pair", list(itertools.product([jacrev, jacfwd], repeat=2)), ids=lambda p: " of ".join(f.__name__ for f in p)
)
def test_second_derivatives_of_both_outputs(cube, pair):
    f = lambda x: cube.apply(x)[0] * cube.apply(x)[1]  # 3 x^5
    outer, inner = pair
    assert torch.allclose(outer(inner(lambda x: f(x).sum()))(X), torch.diag(60 * X**3))


def test_numpy_sort_under_every_transform():
    order = [1, 0, 2]
    wanted = torch.zeros(3, 3, **F64)
    for row, column in enumerate(order):
        wanted[row, column] = 1
    assert grad(lambda x: (sort(x) * W).sum())(X).tolist() == [10.0, 1.0, 100.0]
    assert jvp(sort, (X,), (W,))[1].tolist() == [10.0, 1.0, 100.0]
    assert torch.equal(jacrev(sort)(X), wanted) and torch.equal(jacfwd(sort)(X), wanted)
    assert torch.equal(linearize(sort, X)[1](W), wanted @ W)
    x = torch.randn(4, 3, 2, **F64)
    for dim, in_dim in itertools.product((0, 1, -1, -2), (0, 1, 2)):
        found = vmap(lambda x, d=dim: sort(x, d), in_dim)(x)
        assert torch.equal(found, torch.stack([sort(row, dim) for row in x.unbind(in_dim)]))
    assert torch.equal(vmap(vmap(sort))(x), sort(x))
    f = lambda x: (sort(x) ** 3 * W).sum()
    (second,) = torch.autograd.grad(
        torch.autograd.grad(f(y := X.clone().requires_grad_()), y, create_graph=True)[0].sum(), y
    )
    assert torch.allclose(hessian(f)(X), torch.diag(second))
    assert torch.allclose(vmap(hessian(f))(torch.stack([X, X]))[1], torch.diag(second))


def test_numpy_take_with_each_combination_of_batched_arguments():
    x, order = torch.randn(4, 3, **F64), torch.stack([torch.randperm(3) for _ in range(4)])
    back = order.argsort(-1)
    for dims in itertools.product((0, None), repeat=2):
        if dims != (None, None):
            args = [t if d == 0 else t[0] for t, d in zip((x, order, back), (*dims, dims[1]))]
            f = lambda x, order, back: NumpyTake.apply(x, order, back, -1)
            found = vmap(f, (*dims, dims[1]))(*args)
            rows = [[a[i] if d == 0 else a for a, d in zip(args, (*dims, dims[1]))] for i in range(4)]
            assert torch.equal(found, torch.stack([f(*row) for row in rows])), dims
            g = grad(lambda x, o=args[1], b=args[2], s=(*dims, dims[1]): (vmap(f, s)(x, o, b) ** 2).sum())(args[0])
            assert torch.allclose(g, 2 * args[0] * (1 if dims[0] == 0 else 4))


# ---------------------------------------------------------------------- the ctx under each transform
def results(make):
    """f under grad, jvp, vmap and their compositions, where f is x -> 3 x^2 by a Function."""
    f = make
    ones = torch.ones(3, **F64)
    return {
        "grad": (grad(lambda x: f(x).sum())(X), 6 * X),
        "grad of grad": (vmap(grad(grad(f)))(X), 6 * ones),
        "jvp": (jvp(f, (X,), (W,))[1], 6 * X * W),
        "jvp of jvp": (jvp(lambda x: jvp(f, (x,), (ones,))[1], (X,), (W,))[1], 6 * W),
        "vmap": (vmap(f)(X), 3 * X**2),
        "grad of vmap": (grad(lambda x: vmap(f)(x).sum())(X), 6 * X),
        "vmap of jvp": (vmap(lambda x, t: jvp(f, (x,), (t,))[1])(X, W), 6 * X * W),
        "vmap of vmap": (vmap(vmap(f))(X.expand(2, 3)), 3 * X.expand(2, 3) ** 2),
        "grad of jvp": (grad(lambda x: jvp(f, (x,), (W,))[1].sum())(X), 6 * W),
        "hessian": (hessian(lambda x: f(x).sum())(X), torch.diag(6 * ones)),
        "jacfwd of jacfwd": (jacfwd(jacfwd(lambda x: f(x).sum()))(X), torch.diag(6 * ones)),
        "jacrev of jacrev": (jacrev(jacrev(lambda x: f(x).sum()))(X), torch.diag(6 * ones)),
    }


def attribute_of_a_number():
    def setup(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    F = function(forward=lambda x, n: n * x**2, setup_context=setup, generate_vmap_rule=True,
                 backward=lambda ctx, g: (2 * ctx.n * ctx.saved_tensors[0] * g, None),
                 jvp=lambda ctx, t, _: 2 * ctx.n * ctx.saved_tensors[0] * t)  # fmt: skip
    return lambda x: F.apply(x, 3)


def attribute_that_is_a_tensor():
    def setup(ctx, inputs, output):
        ctx.x = inputs[0]

    F = function(forward=lambda x: 3 * x**2, setup_context=setup, generate_vmap_rule=True,
                 backward=lambda ctx, g: 6 * ctx.x * g, jvp=lambda ctx, t: 6 * ctx.x * t)  # fmt: skip
    return F.apply


def attribute_that_is_a_derived_tensor_in_a_dictionary():
    def setup(ctx, inputs, output):
        ctx.kept = {"slope": [inputs[0] * 6]}

    F = function(forward=lambda x: 3 * x**2, setup_context=setup, generate_vmap_rule=True,
                 backward=lambda ctx, g: ctx.kept["slope"][0] * g, jvp=lambda ctx, t: ctx.kept["slope"][0] * t)  # fmt: skip
    return F.apply


def saved_tensor_that_is_derived():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0] * 6)
        ctx.save_for_forward(inputs[0] * 6)

    F = function(forward=lambda x: 3 * x**2, setup_context=setup, generate_vmap_rule=True,
                 backward=lambda ctx, g: ctx.saved_tensors[0] * g, jvp=lambda ctx, t: ctx.saved_tensors[0] * t)  # fmt: skip
    return F.apply


def saved_output():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])

    F = function(forward=lambda x: (3 * x**2, 6 * x), setup_context=setup, generate_vmap_rule=True,
                 backward=lambda ctx, g, h: ctx.saved_tensors[0] * g + 6 * h,
                 jvp=lambda ctx, t: (ctx.saved_tensors[0] * t, 6 * t))  # fmt: skip
    return lambda x: F.apply(x)[0]


def several_inputs_and_none():
    def setup(ctx, inputs, output):
        x, y, ctx.none, ctx.text = inputs
        ctx.save_for_backward(x, None, y)
        ctx.save_for_forward(x, None, y)

    def backward(ctx, g):
        x, nothing, y = ctx.saved_tensors
        assert nothing is None and ctx.none is None and ctx.text == "s"
        first, second, *rest = ctx.needs_input_grad
        assert not any(rest)
        return 3 * y * g if first else None, 3 * x * g if second else None, None, None

    def tangent(ctx, tx, ty, none, text):
        assert none is None and text is None
        x, _, y = ctx.saved_tensors
        return 3 * y * tx + 3 * x * ty

    F = function(forward=lambda x, y, none, text: 3 * x * y, setup_context=setup, backward=backward, jvp=tangent,
                 generate_vmap_rule=True)  # fmt: skip
    return lambda x: F.apply(x, x, None, "s")


def functions_in_backward_and_jvp():
    inner = function("Times", forward=lambda x, y: x * y, generate_vmap_rule=True,
                     setup_context=lambda ctx, i, o: (ctx.save_for_backward(*i), ctx.save_for_forward(*i)),
                     backward=lambda ctx, g: (ctx.saved_tensors[1] * g, ctx.saved_tensors[0] * g),
                     jvp=lambda ctx, a, b: a * ctx.saved_tensors[1] + b * ctx.saved_tensors[0])  # fmt: skip
    F = function(forward=lambda x: 3 * x**2, generate_vmap_rule=True,
                 setup_context=lambda ctx, i, o: (ctx.save_for_backward(*i), ctx.save_for_forward(*i)),
                 backward=lambda ctx, g: inner.apply(ctx.saved_tensors[0] * 6, g),
                 jvp=lambda ctx, t: inner.apply(t, 6 * ctx.saved_tensors[0]))  # fmt: skip
    return F.apply


def functions_in_forward():
    F = function(forward=lambda x: Cube.apply(x)[1], generate_vmap_rule=True,
                 setup_context=lambda ctx, i, o: (ctx.save_for_backward(*i), ctx.save_for_forward(*i)),
                 backward=lambda ctx, g: 6 * ctx.saved_tensors[0] * g,
                 jvp=lambda ctx, t: 6 * ctx.saved_tensors[0] * t)  # fmt: skip
    return F.apply


def unused_output_without_materialized_gradients():
    def setup(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    def backward(ctx, g, h):
        assert h is None
        return None if g is None else 6 * ctx.saved_tensors[0] * g

    F = function(forward=lambda x: (3 * x**2, x * 1), setup_context=setup, backward=backward, generate_vmap_rule=True,
                 jvp=lambda ctx, t: (6 * ctx.saved_tensors[0] * t, t * 1))  # fmt: skip
    return lambda x: F.apply(x)[0]


def written_in_place():
    F = function(forward=lambda x: x.mul_(3), setup_context=lambda ctx, i, o: ctx.mark_dirty(i[0]),
                 backward=lambda ctx, g: 3 * g, jvp=lambda ctx, t: t.mul_(3), generate_vmap_rule=True)  # fmt: skip
    return lambda x: F.apply(x * x)


def not_differentiable_output():
    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    F = function(forward=lambda x: (3 * x**2, x.sign()), setup_context=setup, generate_vmap_rule=True,
                 backward=lambda ctx, g, h: 6 * ctx.saved_tensors[0] * g,
                 jvp=lambda ctx, t: (6 * ctx.saved_tensors[0] * t, None))  # fmt: skip

    def f(x):
        y, sign = F.apply(x)
        return y * sign * sign  # as sign is constant, its derivative does not count

    return f


def keyword_arguments_and_defaults():
    def forward(x, n=3):
        return n * x**2

    F = function(forward=forward, generate_vmap_rule=True,
                 setup_context=lambda ctx, i, o: (ctx.save_for_backward(i[0]), ctx.save_for_forward(i[0])),
                 backward=lambda ctx, g: (6 * ctx.saved_tensors[0] * g, None),
                 jvp=lambda ctx, t, _: 6 * ctx.saved_tensors[0] * t)  # fmt: skip
    return lambda x: F.apply(x=x)


MAKERS = [
    attribute_of_a_number,
    attribute_that_is_a_tensor,
    attribute_that_is_a_derived_tensor_in_a_dictionary,
    saved_tensor_that_is_derived,
    saved_output,
    several_inputs_and_none,
    functions_in_backward_and_jvp,
    functions_in_forward,
    unused_output_without_materialized_gradients,
    written_in_place,
    not_differentiable_output,
    keyword_arguments_and_defaults,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_under_every_transform(make):
    for transform, (found, wanted) in results(make()).items():
        assert torch.allclose(found, wanted), transform


def test_a_gradient_of_a_wrong_shape_is_refused_in_the_shapes_of_one_example():
    F = function(forward=lambda x, row: x * row, generate_vmap_rule=True, backward=lambda ctx, g: (g, g[:, :3]))
    with pytest.raises(RuntimeError, match=r"gradient 1 has shape \(4, 3\), and argument row has shape \(4,\)"):
        grad(lambda row: vmap(F.apply)(torch.ones(4, 4, 4), row).sum())(torch.ones(4, 4))


# ---------------------------------------------------------------------- in place, outputs, gradients
def in_place(**more):
    return function("Double", forward=lambda x: x.mul_(2), setup_context=lambda ctx, i, o: ctx.mark_dirty(i[0]),
                    jvp=lambda ctx, t: t.mul_(2), **more)  # fmt: skip


@pytest.mark.parametrize("more", [{"generate_vmap_rule": True}, {}])
def test_mark_dirty_gives_the_same_tensor_back(more):
    def f(x):
        y = x * x
        v = y[:1]
        z = in_place(**more).apply(y)
        assert z is y
        return y.sum() + v.sum()

    assert torch.allclose(grad(f)(X), 4 * X + torch.tensor([4 * X[0].item(), 0.0, 0.0], **F64))
    assert torch.allclose(jvp(f, (X,), (W,))[1], (4 * X * W).sum() + 4 * X[0] * W[0])
    assert torch.allclose(vmap(grad(f))(torch.stack([X, 2 * X]))[1], 2 * grad(f)(X))


def test_mark_dirty_of_a_view():
    def f(x):
        y = x * x
        in_place(generate_vmap_rule=True).apply(y[1:])
        return y.sum()

    wanted = torch.tensor([2.0, 4.0, 4.0], **F64) * X
    assert torch.allclose(grad(f)(X), wanted) and torch.allclose(jvp(f, (X,), (torch.ones(3, **F64),))[1], wanted.sum())


def test_mark_dirty_of_a_tensor_whose_view_is_another_argument():
    F = function(forward=lambda x, view: x.mul_(2), setup_context=lambda ctx, i, o: ctx.mark_dirty(i[0]),
                 backward=lambda ctx, g: (2 * g, 100 + 0 * g))  # fmt: skip

    def f(x):
        y = x * 1
        view = y[:]
        F.apply(y, view)
        return (view * view).sum()

    assert torch.allclose(grad(f)(X), 8 * X + 100)


def test_mark_dirty_of_an_input_or_a_captured_tensor_is_refused():
    captured = torch.ones(3)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        grad(lambda x: in_place().apply(x).sum())(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"Double \(mark_dirty\).*captured.*grad"):
        grad(lambda x: (x * in_place().apply(captured)).sum())(torch.ones(3))


def test_gradients_of_unbatched_inputs_add_up():
    F = function(forward=lambda x, w: x * w, generate_vmap_rule=True,
                 setup_context=lambda ctx, i, o: ctx.save_for_backward(*i),
                 backward=lambda ctx, g: (ctx.saved_tensors[1] * g, ctx.saved_tensors[0] * g))  # fmt: skip
    x, w = torch.randn(3, 2, **F64), torch.randn(2, **F64)
    gx, gw = grad(lambda x, w: vmap(F.apply, (0, None))(x, w).sum(), (0, 1))(x, w)
    assert torch.allclose(gx, w.expand(3, 2)) and torch.allclose(gw, x.sum(0))
    gx, gw = grad(lambda x, w: vmap(F.apply, (1, None), 1)(x, w).sum(), (0, 1))(x.T, w)
    assert torch.allclose(gx, w.expand(3, 2).T) and torch.allclose(gw, x.sum(0))


def test_outputs_that_are_the_same_for_all_examples():
    F = function(
        forward=lambda x, w: (x * 2, w * 3), generate_vmap_rule=True, backward=lambda ctx, g, h: (2 * g, 3 * h)
    )
    x, w = torch.ones(4), torch.tensor(5.0)
    a, b = vmap(F.apply, (0, None))(x, w)
    assert a.tolist() == [2.0] * 4 and b.tolist() == [15.0] * 4
    assert grad(lambda w: vmap(F.apply, (0, None))(x, w)[1].sum())(w).item() == 12.0


def test_several_outputs_keep_their_container():
    for kind in (tuple, list):
        F = function(forward=lambda x, kind=kind: kind([x * 2, x * 3]), generate_vmap_rule=True,
                     backward=lambda ctx, g, h: (2 * g + 3 * h, None), jvp=lambda ctx, t, _: (t * 2, t * 3))  # fmt: skip
        a, b = vmap(F.apply)(torch.ones(2))
        assert (a.tolist(), b.tolist()) == ([2.0, 2.0], [3.0, 3.0])
        assert grad(lambda x: sum(o.sum() for o in F.apply(x)))(torch.ones(2)).tolist() == [5.0, 5.0]
        assert [t.tolist() for t in jvp(F.apply, (torch.ones(2),), (torch.ones(2),))[1]] == [[2.0, 2.0], [3.0, 3.0]]


STRUCTURES = {
    "a dict": lambda x: {"double": x * 2},
    "a nested tuple": lambda x: (x * 2, (x * 3,)),
    "a dict beside a tensor": lambda x: (x * 2, {"triple": [x * 3]}),
    "a set": lambda x: {x * 2},
    "an object": lambda x: SimpleNamespace(double=x * 2),
    "a generator": lambda x: (x * n for n in (2, 3)),
}
RUNS = {
    "backward": lambda f: f(torch.ones(3, requires_grad=True)),
    "grad": lambda f: grad(lambda x: (f(x), x.sum())[1])(torch.ones(3)),
    "jvp": lambda f: jvp(lambda x: (f(x), x)[1], (torch.ones(3),), (torch.ones(3),)),
    "vmap": lambda f: vmap(lambda x: (f(x), x)[1])(torch.ones(3)),
    "vmap under grad": lambda f: grad(lambda x: vmap(lambda x: (f(x), x)[1])(x).sum())(torch.ones(3)),
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("run", RUNS)
def test_tensors_in_a_structure_are_refused_where_they_would_lose_their_history(run, structure):
    """PyTorch returns them untracked: their gradients are missing, under func.grad zero."""
    forward = STRUCTURES[structure]
    F = function(forward=forward, jvp=lambda ctx, t: (t * 2, None), generate_vmap_rule=True)
    output = r"Scale.forward: returns a \w+ that (contains|may yield) tensors as output \d"
    with pytest.raises(TypeError, match=output + r"(.|\n)*test_custom_functions(.|\n)*as a tuple"):
        RUNS[run](F.apply)


def test_jvp_gets_zeros_for_inputs_without_a_tangent():
    seen = []

    def tangent(ctx, a, b):
        seen.append((a, b))
        return a * 1 + b * 1

    F = function(forward=lambda x, y: x + y, jvp=tangent)
    assert jvp(lambda x: F.apply(x, torch.ones(2)), (torch.ones(2),), (torch.ones(2),))[1].tolist() == [1.0, 1.0]
    assert seen[0][1].tolist() == [0.0, 0.0]


def test_eager_gradients_through_a_function_inside_a_transform():
    w = torch.tensor(2.0, **F64, requires_grad=True)
    g = grad(lambda x: (Cube.apply(x * w)[0]).sum())(X)  # 3 x^2 w^3
    assert torch.allclose(torch.autograd.grad(g.sum(), w)[0], (9 * X**2 * w**2).sum())
    v = vmap(lambda x: Cube.apply(x * w)[0])(X)
    assert torch.allclose(torch.autograd.grad(v.sum(), w)[0], (3 * X**3 * w**2).sum())


def test_a_function_that_calls_a_transform():
    F = function(forward=lambda x: grad(lambda y: (y**3).sum())(x), generate_vmap_rule=True,
                 setup_context=lambda ctx, i, o: ctx.save_for_backward(*i),
                 backward=lambda ctx, g: vjp(lambda x: 3 * x**2, *ctx.saved_tensors)[1](g)[0])  # fmt: skip
    assert torch.allclose(F.apply(X), 3 * X**2)
    assert torch.allclose(grad(lambda x: F.apply(x).sum())(X), 6 * X)
    assert torch.allclose(vmap(grad(grad(F.apply)))(X), torch.full((3,), 6.0, **F64))


def test_rules_that_call_other_transforms():
    def rule(info, in_dims, x):
        return vmap(lambda x: x * 2, in_dims[0], in_dims[0])(x), in_dims[0]

    assert vmap(function(vmap=rule).apply, 1, 1)(torch.ones(2, 3)).tolist() == [[2.0] * 3] * 2


def test_nested_generated_rules_save_their_own_dimensions():
    F = function(forward=lambda x, y: x.gather(-1, y), generate_vmap_rule=True,
                 setup_context=lambda ctx, i, o: ctx.save_for_backward(i[1]),
                 backward=lambda ctx, g: (F.apply(g, ctx.saved_tensors[0].argsort(-1)), None),
                 jvp=lambda ctx, t, _: F.apply(t, ctx.saved_tensors[0]))  # fmt: skip
    x, order = torch.randn(3, **F64), torch.stack([torch.randperm(3) for _ in range(2)])
    f = lambda x, order: hessian(lambda x: (F.apply(x, order) ** 2 * W).sum())(x)
    found = vmap(f, (None, 0))(x, order)
    assert torch.allclose(found, torch.stack([torch.diag(2 * W[o.argsort()]) for o in order]))
