"""vmap: against loops over the examples, its arguments, dtypes, writes, indices, randomness, and what it refuses."""

import pytest

import minigrad as torch
from minigrad import vmap
from minigrad.func import grad, jacrev, jvp

F64 = {"dtype": torch.float64}


def loop(f, *args):
    return torch.stack([f(*rows) for rows in zip(*args)])


def test_agrees_with_a_loop():
    x, y = torch.randn(5, 3, 2, **F64), torch.randn(5, 2, **F64)
    f = lambda x, y: (x @ y).softmax(0).cumsum(0) + x.amax(-1)
    assert torch.allclose(vmap(f)(x, y), loop(f, x, y))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_in_and_out_dims(dim):
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(vmap(lambda x: x * 2, dim, dim)(x), x * 2)
    assert torch.equal(vmap(lambda x: x.sum(), dim)(x), x.movedim(dim, 0).flatten(1).sum(1))


def test_gradients_where_the_batch_is_the_innermost_dimension_in_memory():
    x = torch.randn(2, 3, 4, **F64)
    assert torch.equal(vmap(grad(lambda x: x.T.exp().sum()), in_dims=2, out_dims=2)(x), x.exp())


def test_in_dims_nested_like_the_arguments():
    d = {"a": torch.ones(3, 2), "b": [torch.ones(2, 3), 5]}
    assert (
        vmap(lambda d, y: d["a"] * d["b"][0] * y, ({"a": 0, "b": [1, None]}, None))(d, 2.0).tolist() == [[2.0] * 2] * 3
    )
    assert vmap(lambda p: p[0] * p[1], ((0, 0),))((torch.ones(3), torch.ones(3))).tolist() == [1.0] * 3


def test_out_dims_nested_like_the_results():
    found = vmap(lambda x: {"a": x, "b": (x, 7)}, out_dims={"a": 1, "b": (0, None)})(torch.ones(3, 2))
    assert found["a"].shape == (2, 3) and found["b"][0].shape == (3, 2) and found["b"][1] == 7


@pytest.mark.parametrize("dim", [-3, -2, -1, 0, 1, 2])
def test_out_dims_of_a_result_that_is_the_same_for_all_examples(dim):
    same = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(vmap(lambda x: same, out_dims=dim)(torch.ones(4)), torch.stack([same] * 4, dim))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7])
def test_chunks(chunk_size):
    x = torch.arange(6.0).reshape(2, 3)
    f = lambda x, y: (x * 2, {"sum": x.sum() + y})
    found = vmap(f, (1, None), (-1, 0), chunk_size=chunk_size)(x, torch.tensor(1.0))
    assert torch.equal(found[0], x * 2) and torch.equal(found[1]["sum"], x.sum(0) + 1)
    assert vmap(lambda x: (x, "same"), out_dims=(0, None), chunk_size=chunk_size)(x)[1] == "same"


def test_nested_with_each_combination_of_dims():
    x = torch.arange(24.0).reshape(2, 3, 4)
    for a in range(3):
        for b in range(2):
            found = vmap(vmap(lambda x: x * x, b, b), a, a)(x)
            assert torch.equal(found, x * x), (a, b)


def test_captured_tensors_are_the_same_for_all_examples():
    w = torch.arange(6.0).reshape(3, 2)
    x = torch.randn(5, 2)
    assert torch.allclose(vmap(lambda x: w @ x)(x), x @ w.T)


def test_eager_gradients_flow_through():
    w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    vmap(lambda x: (w @ x).tanh())(x).sum().backward()
    v, y = w.detach().requires_grad_(), x.detach().requires_grad_()
    (y @ v.T).tanh().sum().backward()
    assert torch.allclose(w.grad, v.grad) and torch.allclose(x.grad, y.grad)


# ---------------------------------------------------------------------- dtypes are those of single examples
@pytest.mark.parametrize(
    "f, kinds, wanted",
    [
        (torch.mul, ("float64", "float32"), "float32"),  # a 0-d float64 does not widen
        (torch.mul, ("int64", "float32"), "float32"),
        (torch.mul, ("float32", "int64"), "float32"),
        (torch.mul, ("int64", "int8"), "int8"),
        (torch.add, ("bool", "int8"), "int8"),
        (torch.atan2, ("float64", "float32"), "float32"),
        (lambda s, x: torch.where(x > 0, s, x), ("float64", "float32"), "float32"),
        (lambda s, x: torch.lerp(x, x, s), ("float32", "float32"), "float32"),
        (lambda s, x: x.add(s, alpha=2), ("float64", "float32"), "float32"),
    ],
)
def test_a_batched_0d_tensor_promotes_as_a_0d_one(f, kinds, wanted):
    s, x = (torch.ones(size, dtype=getattr(torch, k)) for size, k in zip(((3,), (3, 2)), kinds))
    assert f(s[0], x[0]).dtype == vmap(f)(s, x).dtype == getattr(torch, wanted)
    assert vmap(f, (0, None))(s, x[0]).dtype == vmap(f, (None, 0))(s[0], x).dtype == getattr(torch, wanted)


def test_an_unbatched_0d_tensor_beside_a_batched_one():
    assert vmap(lambda s: s * torch.tensor(1.0, **F64))(torch.ones(3)).dtype == torch.float64


def test_gradients_of_converted_operands_keep_their_dtypes():
    s, x = torch.ones(3, **F64), torch.ones(3, 2)
    gs, gx = grad(lambda s, x: vmap(torch.mul)(s, x).sum(), (0, 1))(s, x)
    assert (gs.dtype, gx.dtype) == (torch.float64, torch.float32) and gs.tolist() == [2.0] * 3


# ---------------------------------------------------------------------- writes
@pytest.mark.parametrize(
    "write, shapes",
    [
        (lambda x, y: x.add_(y), ((2,), ())),
        (lambda x, y: x.mul_(y), ((3, 2), (2,))),
        (lambda x, y: x[0].mul_(y), ((3, 2), (2,))),
        (lambda x, y: x.__setitem__((slice(None), 0), y), ((3, 2), (3,))),
        (lambda x, y: x.__setitem__(torch.tensor([0, 2]), y), ((3, 2), (2, 2))),
        (lambda x, y: x.__setitem__(x > 0, y), ((3, 2), ())),
        (lambda x, y: x.masked_fill_(x > 0, y), ((3, 2), ())),
        (lambda x, y: x.index_add_(0, torch.tensor([0, 0]), y), ((3, 2), (2, 2))),
        (lambda x, y: x.T.copy_(y), ((3, 2), (2, 3))),
        (lambda x, y: x.addcmul_(y, y, value=2), ((3, 2), (3, 1))),
        (lambda x, y: x.clamp_(y), ((3,), (3,))),
        (lambda x, y: x.fill_(y), ((3,), ())),
        (lambda x, y: x.lerp_(y, 0.5), ((3,), (3,))),
        (lambda x, y: x.diagonal().sub_(y), ((2, 2), (2,))),
    ],
)
@pytest.mark.parametrize("dims", [(0, 0), (-1, 0), (1, -1), (0, None)])
def test_writes_equal_those_of_a_loop(write, shapes, dims):
    size, random = 4, torch.Generator(torch.get_default_device()).manual_seed(0)

    def made(shape, d):
        shape = list(shape)
        if d is not None:
            shape.insert(d if d >= 0 else len(shape) + 1 + d, size)
        return torch.randn(*shape, generator=random, **F64) if shape else torch.randn((), generator=random, **F64)

    if dims[0] == 1 and not shapes[0]:
        pytest.skip("no such dimension")
    x, y = made(shapes[0], dims[0]), made(shapes[1], dims[1])

    def f(x, y):
        x = x.clone()
        write(x, y)
        return x

    found = vmap(f, dims)(x, y)
    pick = lambda t, d, i: t if d is None else t.select(d, i)
    wanted = torch.stack([f(pick(x, dims[0], i), pick(y, dims[1], i)) for i in range(size)])
    assert torch.allclose(found, wanted, 1e-12, 1e-14)  # a GPU may round x + y * z once or twice


def test_writes_change_the_argument():
    x = torch.ones(2, 3)
    vmap(lambda r: r[1:].mul_(5), in_dims=1)(x)
    assert x.tolist() == [[1.0] * 3, [5.0] * 3]


def test_a_longer_operand_cannot_be_written():
    with pytest.raises(RuntimeError, match="broadcast shape"):
        vmap(lambda x, y: x.clone().add_(y))(torch.ones(2), torch.ones(2, 2))


def test_writing_a_batched_value_into_an_unbatched_tensor_is_refused():
    shared = torch.zeros(3)
    with pytest.raises(RuntimeError, match="(?s)copy_.*same for all examples.*new_zeros"):
        vmap(lambda x: shared.__setitem__(0, x))(torch.ones(2))
    assert shared.tolist() == [0.0] * 3


# ---------------------------------------------------------------------- indices
@pytest.mark.parametrize(
    "index",
    [
        lambda i, j: i,
        lambda i, j: (i, j),
        lambda i, j: (slice(None), j),
        lambda i, j: (i, slice(0, 1)),
        lambda i, j: (..., j),
        lambda i, j: (None, i),
        lambda i, j: (i, slice(None), j),
        lambda i, j: (torch.stack([i, j]),),
        lambda i, j: (torch.stack([i, j]), j),
        lambda i, j: (0, i),
        lambda i, j: (slice(None), torch.stack([i, i]), torch.tensor([0, 1])),
    ],
)
@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (-1, 0)])
def test_batched_indices(index, dims):
    shape = {0: (3, 2, 2, 2), None: (2, 2, 2), -1: (2, 2, 2, 3)}[dims[0]]
    x, i, j = torch.randn(*shape, **F64), torch.tensor([0, 1, -1]), torch.tensor([1, 1, 0])
    f = lambda x, i, j: x[index(i, j)]
    pick = lambda k: x if dims[0] is None else x.select(dims[0], k)
    wanted = torch.stack([f(pick(k), i[k], j[k]) for k in range(3)])
    assert torch.equal(vmap(f, (*dims, 0))(x, i, j), wanted)

    def write(x, i, j, v):
        y = x.clone()
        y[index(i, j)] = v
        return y

    v = torch.tensor([5.0, 6.0, 7.0], **F64)
    wanted = torch.stack([write(pick(k), i[k], j[k], v[k]) for k in range(3)])
    if dims[0] is not None:
        assert torch.equal(vmap(write, (*dims, 0, 0))(x, i, j, v), wanted)


def test_gradient_of_batched_indices():
    x, i = torch.randn(3, 4, **F64), torch.tensor([[0, 0], [1, 2], [3, 0]])
    found = grad(lambda x: vmap(lambda x, i: x[i] ** 2)(x, i).sum())(x)
    assert torch.allclose(found, grad(lambda x: sum((x[k][i[k]] ** 2).sum() for k in range(3)))(x))


def test_a_0d_index_made_inside_another_transform_is_a_number():
    def f(x):
        y = x * 1
        y[torch.tensor(1)].mul_(5)  # a view, as x[1] is
        return (y * y).sum()

    x = torch.ones(3)
    assert grad(f)(x).tolist() == [2.0, 50.0, 2.0] and jvp(f, (x,), (x,))[1].item() == 54.0


# ---------------------------------------------------------------------- randomness
DRAWS = [
    lambda x: torch.rand(3),
    lambda x: torch.randn_like(x),
    lambda x: torch.randint(1000, (3,)),
    lambda x: torch.randperm(50),
    lambda x: torch.nn.functional.dropout(torch.ones(50)),
    lambda x: torch.nn.functional.dropout(x.expand(50)),
    lambda x: torch.bernoulli(torch.full((50,), 0.5)),
    lambda x: torch.normal(torch.zeros(3), 1.0),
    lambda x: torch.multinomial(torch.ones(50), 20),
    lambda x: torch.poisson(torch.full((50,), 5.0)),
    lambda x: x.clone().uniform_(),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_randomness(draw):
    x = torch.ones(3, 1)
    with pytest.raises(RuntimeError, match='randomness="different".*randomness="same"'):
        vmap(draw)(x)
    same = vmap(draw, randomness="same")(x)
    assert (same == same[0]).all()
    different = vmap(draw, randomness="different")(x)
    assert not (different == different[0]).all()


def test_randomness_of_each_level():
    inner = vmap(lambda x: torch.rand(4), randomness="same")
    found = vmap(inner, randomness="different")(torch.ones(3, 2))
    assert found.shape == (3, 2, 4) and torch.equal(found[:, 0], found[:, 1]) and not torch.equal(found[0], found[1])


def test_info_has_the_randomness():
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append((info.batch_size, info.randomness))
            return x * 1, in_dims[0]

    vmap(F.apply, randomness="different")(torch.ones(3))
    assert seen == [(3, "different")]


# ---------------------------------------------------------------------- what cannot be
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * x.sum().item(),
        lambda x: x * float(x[0]),
        lambda x: [1, 2][x[0].long()],
        lambda x: x * x.tolist()[0],
        lambda x: x if 1.0 in x else x,
        lambda x: x[: x[0].long()],
        lambda x: torch.arange(x[0].long()),
        lambda x: x.reshape(x[0].long(), 2),
    ],
)
def test_values_that_differ_between_examples_are_no_python_numbers(f):
    with pytest.raises(RuntimeError, match=r"(?s)this tensor has one for each of 3 examples.*torch\.where"):
        vmap(f)(torch.ones(3, 2))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.nonzero(),
        lambda x: torch.argwhere(x),
        lambda x: torch.where(x > 0),
        lambda x: x[x > 0],
        lambda x: torch.masked_select(x, x > 0),
        lambda x: torch.unique(x),
        lambda x: torch.bincount(x.long()),
        lambda x: torch.nn.functional.one_hot(x.long()),
    ],
)
def test_shapes_that_depend_on_values_are_refused(f):
    with pytest.raises(RuntimeError, match="shape of the result depends on the values|vmap"):
        vmap(f)(torch.ones(3, 2))


def test_sizes_that_differ_are_named():
    with pytest.raises(ValueError, match=r"input 0 has 3 \(in dimension 0\), input 1 has 4 \(in dimension 1\)"):
        vmap(lambda x, y: x, (0, 1))(torch.ones(3), torch.ones(2, 4))


@pytest.mark.parametrize(
    "in_dims, text",
    [
        (None, "NoneType"),
        ((None, None), "all in_dims are None"),
        ((0, 0.5), "0.5"),
        ((0, {"a": 0}), "structure of the inputs"),
    ],
)
def test_wrong_in_dims(in_dims, text):
    with pytest.raises(ValueError, match=text):
        vmap(lambda x, y: x, in_dims)(torch.ones(3), torch.ones(3))


def test_wrong_out_dims():
    with pytest.raises(ValueError, match="must be an int"):
        vmap(lambda x: x, out_dims="a")(torch.ones(3))
    with pytest.raises(ValueError, match="must only return tensors, got float"):
        vmap(lambda x: 2.0)(torch.ones(3))


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x, w: x + w, "(3,) and (4,)"),
        (lambda x, w: x.mul_(w), "(3,) and (4,)"),
        (lambda x, w: torch.dot(x, w), "(3,)"),
        (lambda x, w: torch.nn.functional.linear(x, w.reshape(1, 4)), "(3,)"),
        (lambda x, w: torch.cat([x.reshape(1, 3), w.reshape(1, 4)]), "(1, 3)"),
        (lambda x, w: grad(lambda x: (x + w).sum())(x), "(3,) and (4,)"),
    ],
)
def test_errors_have_the_shapes_of_one_example(f, shapes):
    x, w = torch.ones(5, 3), torch.ones(4)
    with pytest.raises(RuntimeError) as e:
        vmap(f, (0, None))(x.clone(), w)
    assert shapes in str(e.value) and "vmap (a batch of 5)" in str(e.value), e.value
    with pytest.raises(RuntimeError) as e:
        vmap(vmap(f, (0, None)), (1, None))(torch.ones(5, 2, 3), w)
    assert shapes in str(e.value) and "vmap (a batch of 2) > vmap (a batch of 5)" in str(e.value), e.value


def test_an_escaped_batched_tensor_names_its_vmap():
    kept = []
    vmap(lambda x: (kept.append(x * 2), x)[1])(torch.ones(3))
    for use in (lambda: kept[0] + 1, lambda: kept[0].sum(), lambda: vmap(lambda y: y + kept[0])(torch.ones(3))):
        with pytest.raises(RuntimeError, match="(?s)vmap: .*escaped.*return it"):
            use()


def test_jacrev_of_a_vmap_in_chunks():
    x = torch.randn(3, 2, **F64)
    f = lambda x: vmap(torch.cumsum, (0, None))(x, 0)
    assert torch.allclose(jacrev(f, chunk_size=4)(x), jacrev(f)(x))


def test_a_write_through_a_view_of_a_sum_of_differently_batched_tensors_is_kept():
    """NumPy's order of memory for such a sum had the batch between an example's dimensions, so that `flatten` was a copy."""

    def f(y):
        v = y + y.sum(0)
        v.flatten().mul_(0)
        return v

    ys = torch.arange(36.0).reshape(2, 2, 3, 3)
    for in_dim in range(4):
        assert not torch.vmap(f, in_dims=in_dim)(ys).any()
