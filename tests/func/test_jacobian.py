"""jacrev, jacfwd and hessian: closed forms, agreement with each other and with eager mode, trees, arguments."""

import pytest

import minigrad as torch
from minigrad.func import hessian, jacfwd, jacrev, vmap
from tests.functions import custom

F64 = {"dtype": torch.float64}
both = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])


@both
def test_closed_form(jacobian):
    a, x = torch.randn(3, 2, **F64), torch.randn(2, **F64)
    assert torch.allclose(jacobian(lambda x: (a @ x).sin())(x), (a @ x).cos()[:, None] * a)


@both
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (3, 0)])
def test_shapes_and_agreement_with_eager_mode(jacobian, shape):
    x = torch.randn(*shape, **F64) if shape else torch.tensor(0.3, **F64)
    f = lambda x: torch.stack([x, x * x.sum()]).tanh()
    found = jacobian(f)(x)
    assert found.shape == (2, *shape, *shape)
    assert torch.allclose(found, torch.autograd.functional.jacobian(f, x))


@both
def test_argnums_and_trees(jacobian):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    f = lambda x, d: {"p": x * d["y"], "s": (x.sum(),)}
    found = jacobian(f, argnums=(1, 0))(x, {"y": y})
    assert found["p"][0]["y"].tolist() == [[1.0, 0.0], [0.0, 2.0]] and found["p"][1].tolist() == [
        [3.0, 0.0],
        [0.0, 4.0],
    ]
    assert found["s"][0][0]["y"].tolist() == [0.0, 0.0] and found["s"][0][1].tolist() == [1.0, 1.0]
    assert torch.equal(jacobian(f, argnums=-2)(x, {"y": y})["p"], found["p"][1])


@both
def test_aux_and_keyword_arguments(jacobian):
    found, aux = jacobian(lambda x, k=1: (x * k, {"x": x}), has_aux=True)(torch.tensor([1.0, 2.0]), k=3)
    assert found.tolist() == [[3.0, 0.0], [0.0, 3.0]] and (aux["x"] + 0).tolist() == [1.0, 2.0]


@both
def test_dtype_is_kept(jacobian):
    assert jacobian(torch.sin)(torch.ones(2)).dtype == torch.float32
    assert jacobian(lambda x: x * torch.ones(2, **F64))(torch.ones(2)).dtype == torch.float64 or jacobian is jacrev


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, 9])
def test_chunks(chunk_size):
    x = torch.randn(2, 2, **F64)
    assert torch.allclose(jacrev(lambda x: x @ x, chunk_size=chunk_size)(x), jacfwd(lambda x: x @ x)(x))


def test_the_function_is_run_once_by_jacrev():
    calls = []
    jacrev(lambda x: (calls.append(1), x * 2)[1])(torch.ones(5))
    assert calls == [1]


def test_randomness():
    f = lambda x: x * torch.rand(2)
    assert jacrev(f)(torch.ones(2)).diagonal().min() > 0
    with pytest.raises(RuntimeError, match="randomness"):
        jacfwd(f)(torch.ones(2))
    assert jacfwd(f, randomness="same")(torch.ones(2)).diagonal().min() > 0


def test_hessian_of_a_quadratic_form():
    a, x = torch.randn(3, 3, **F64), torch.randn(3, **F64)
    assert torch.allclose(hessian(lambda x: x @ a @ x)(x), a + a.T)


def test_hessian_by_two_arguments():
    x, y = torch.tensor([1.0, 2.0], **F64), torch.tensor([3.0, 4.0], **F64)
    (xx, xy), (yx, yy) = hessian(lambda x, y: (x * x * y**3).sum(), argnums=(0, 1))(x, y)
    for found, wanted in [(xx, 2 * y**3), (xy, 6 * x * y**2), (yx, 6 * x * y**2), (yy, 6 * x * x * y)]:
        assert torch.allclose(found, torch.diag(wanted))


def test_all_compositions_that_give_a_hessian_agree():
    f = lambda x: (x.tanh().cumsum(0) * x.flip(0)).prod() + x.norm() ** 3
    x = torch.tensor([0.3, -0.7, 1.1], **F64)
    ways = [outer(inner(f))(x) for outer in (jacrev, jacfwd) for inner in (jacrev, jacfwd)]
    for found in [*ways, hessian(f)(x), torch.autograd.functional.hessian(f, x)]:
        assert torch.allclose(found, ways[0])


def test_hessian_per_example():
    x = torch.randn(4, 2, **F64)
    found = vmap(hessian(lambda x: (x**3).sum()))(x)
    assert torch.allclose(found, vmap(torch.diag)(6 * x))


@pytest.mark.parametrize("transform", [jacrev, jacfwd, hessian])
def test_refusals(transform):
    with pytest.raises((RuntimeError, ValueError), match="minigrad.int64"):
        transform(lambda x: x.sum())(torch.ones(2).long())
    with pytest.raises(RuntimeError, match="results of the function to be tensors, got int"):
        transform(lambda x: 2)(torch.ones(2))
    with pytest.raises(RuntimeError, match="argnums=1"):
        transform(lambda x: x, 1)(torch.ones(2))
    with pytest.raises(ValueError, match="chunk_size"):
        jacrev(torch.sin, chunk_size=0)


def test_the_jacobian_of_a_single_number_is_one_pull_back_which_may_read_values():
    Cube = custom(
        "Cube",
        forward=lambda x: x**3,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        backward=lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2 if g.sum().item() else None,
    )
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    by_x, by_y = jacrev(lambda x, y: Cube.apply(x).sum() * 2, argnums=(0, 1))(x, y)
    assert by_x.tolist() == [6.0, 24.0] and by_y.tolist() == [0.0]
    kept, aux = jacrev(lambda x: ((x * x).sum().reshape(1, 1), x), has_aux=True)(x)
    assert kept.tolist() == [[[2.0, 4.0]]] and aux is not None
    with pytest.raises(RuntimeError, match="no single value|item"):
        jacrev(Cube.apply)(x)
