"""`autograd.functional`: vjp, jvp, jacobian, hessian, hvp, vhp with their arguments and refusals."""

from tests.parity.harness import attempt, gives, leaf
from tests.parity.makers import square_function


@gives([[[[1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]], [[1.0, 2.0], [3.0, 4.0]]])
def jacobian_of_one_argument(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return torch.autograd.functional.jacobian(lambda t: t.exp().sum(1), torch.zeros(2, 2) + x * 0), x


@gives([[[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]], [[1.0, 1.0], [2.0, 2.0]]])
def jacobian_of_several_arguments_and_outputs(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    return torch.autograd.functional.jacobian(lambda a, b: (a * b, (a + 2 * b).sum()), (x, y))


@gives([[2, 3], [3, 2, 2, 3], [3, 2, 3]])
def jacobian_shapes(torch):
    x = torch.zeros(2, 3)
    shapes = [
        torch.autograd.functional.jacobian(f, x).shape for f in (lambda t: t.sum(), lambda t: t.t(), lambda t: t[0])
    ]
    return [list(s) for s in shapes]


@gives([[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], RuntimeError])
def jacobian_of_an_independent_output(torch):
    functional = torch.autograd.functional
    x = torch.ones(2)
    constant = lambda t: torch.zeros(3)
    return functional.jacobian(constant, x), attempt(functional.jacobian, constant, x, strict=True)


@gives([[[3.0, 0.0], [0.0, 12.0]], [[3.0, 0.0], [0.0, 12.0]], [6.0, 12.0]])
def jacobian_with_create_graph(torch):
    x = leaf(torch, [1.0, 2.0])
    j = torch.autograd.functional.jacobian(lambda t: t**3, x, create_graph=True)
    plain = torch.autograd.functional.jacobian(lambda t: t**3, x)
    j.sum().backward()
    return j, plain, x.grad


@gives(RuntimeError)
def jacobian_strict_of_constant_derivative(torch):
    functional = torch.autograd.functional
    x = torch.ones(2)
    return attempt(functional.jacobian, lambda t: 2 * t, x, strict=True, create_graph=True)


@gives([[[7.0, 1.0, 1.0], [2.0, 8.0, 2.0], [3.0, 3.0, 9.0]], [[7.0, 1.0, 1.0], [2.0, 8.0, 2.0], [3.0, 3.0, 9.0]]])
def jacobian_vectorized(torch):
    x = torch.tensor([1.0, 2.0, 3.0])
    reverse = torch.autograd.functional.jacobian(lambda t: t * t.sum(), x, vectorize=True)
    forward = torch.autograd.functional.jacobian(lambda t: t * t.sum(), x, vectorize=True, strategy="forward-mode")
    return reverse, forward


@gives([TypeError, TypeError, True, RuntimeError])
def jacobian_argument_checks(torch):
    functional = torch.autograd.functional
    x = torch.ones(2)
    return [
        attempt(functional.jacobian, lambda t: t, 3.0),
        attempt(functional.jacobian, lambda t: 3.0, x),
        isinstance(attempt(functional.jacobian, lambda t: t, x, strategy="sideways"), Exception),
        attempt(functional.jacobian, lambda t: t, x, strict=True, vectorize=True),
    ]


@gives([[6.0, 1.0], [1.0, 12.0]])
def hessian_of_one_argument(torch):
    x = torch.tensor([1.0, 2.0])
    return torch.autograd.functional.hessian(lambda t: (t**3).sum() + t[0] * t[1], x)


@gives([[[[6.0, 0.0], [0.0, 6.0]], [[2.0], [4.0]]], [[[2.0, 4.0]], [[0.0]]]])
def hessian_of_two_arguments(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    return torch.autograd.functional.hessian(lambda a, b: (a * a).sum() * b.sum(), (x, y))


@gives([[[0.0, 0.0], [0.0, 0.0]], RuntimeError, [[6.0, 0.0], [0.0, 12.0]], [[6.0, 0.0], [0.0, 12.0]], RuntimeError])
def hessian_strict_and_vectorized(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    linear, cubic = lambda t: t.sum(), lambda t: (t**3).sum()
    return [
        functional.hessian(linear, x),
        attempt(functional.hessian, linear, x, strict=True),
        functional.hessian(cubic, x, vectorize=True),
        functional.hessian(cubic, x, vectorize=True, outer_jacobian_strategy="forward-mode").detach(),
        attempt(functional.hessian, lambda t: t * 2, x),
    ]


@gives([[[12.0, 0.0], [0.0, 48.0]], [24.0, 48.0]])
def hessian_with_create_graph(torch):
    x = leaf(torch, [1.0, 2.0])
    h = torch.autograd.functional.hessian(lambda t: (t**4).sum(), x, create_graph=True)
    h.sum().backward()
    return h, x.grad


@gives([[[1.0, 4.0], [6.0, 16.0]], [[3.0, [1.0, 4.0]], [8.0, 18.0]]])
def vjp_of_one_and_two_outputs(torch):
    functional = torch.autograd.functional
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    return functional.vjp(lambda t: t * t, x, v), functional.vjp(lambda t: (t.sum(), t * t), x, (torch.tensor(2.0), v))


@gives([[5.0, [2.0, 4.0]], RuntimeError])
def vjp_without_vector(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    return functional.vjp(lambda t: (t * t).sum(), x), attempt(functional.vjp, lambda t: t * t, x)


@gives([RuntimeError, [[1.0, 1.0], [0.0, 0.0]], RuntimeError])
def vjp_checks(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    return [
        attempt(functional.vjp, lambda t: t * t, x, torch.ones(3)),
        functional.vjp(lambda t: torch.ones(2), x, torch.ones(2)),
        attempt(functional.vjp, lambda t: torch.ones(2), x, torch.ones(2), strict=True),
    ]


@gives([[[1.0, 4.0], [10.0, 24.0]], [[3.0, 8.0], [16.0, 26.0]]])
def jvp_of_one_and_two_arguments(torch):
    functional = torch.autograd.functional
    x, y, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])
    return functional.jvp(lambda t: t**2, x, v), functional.jvp(lambda a, b: a * b, (x, y), (v, torch.ones(2)))


@gives([[[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]], RuntimeError, RuntimeError, [[1.0, 1.0], [0.0, 0.0]], RuntimeError])
def jvp_without_vector_and_checks(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    return [
        functional.jvp(lambda t: t * torch.ones(3), torch.tensor([2.0])),
        attempt(functional.jvp, lambda t: t * 2, x),
        attempt(functional.jvp, lambda t: t * 2, x, torch.ones(3)),
        functional.jvp(lambda t: torch.ones(2), x, x),
        attempt(functional.jvp, lambda t: torch.ones(2), x, x, strict=True),
    ]


CUBED = [[1.0, 8.0], [9.0, 48.0], [18.0, 48.0]]


@gives({"vjp": CUBED, "jvp": CUBED, "vhp": [17.0, [12.0, 48.0], [24.0, 48.0]]})
def products_with_create_graph(torch):
    cube, power = lambda t: t**3, lambda t: (t**4).sum()
    results = {}
    for name, f, v in (("vjp", cube, [3.0, 4.0]), ("jvp", cube, [3.0, 4.0]), ("vhp", power, [1.0, 1.0])):
        x = leaf(torch, [1.0, 2.0])
        out, product = getattr(torch.autograd.functional, name)(f, x, torch.tensor(v), create_graph=True)
        product.sum().backward()
        results[name] = [out, product, x.grad]
    return results


@gives([[13.0, [2.0, -10.0]], [13.0, [2.0, -10.0]]])
def hvp_and_vhp(torch):
    functional = torch.autograd.functional
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
    f = lambda t: (t**3).sum() + t[0] * t[1] ** 2
    return functional.hvp(f, x, v), functional.vhp(f, x, v)


@gives([[15.0, [[10.0, 8.0], [2.0]]], [15.0, [[10.0, 8.0], [2.0]]]])
def hvp_and_vhp_of_two_arguments(torch):
    functional = torch.autograd.functional
    inputs = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    vectors = torch.tensor([1.0, 0.0]), torch.tensor([2.0])
    f = lambda a, b: (a**2).sum() * b.sum()
    return functional.hvp(f, inputs, vectors), functional.vhp(f, inputs, vectors)


@gives(
    [
        RuntimeError,
        RuntimeError,
        RuntimeError,
        RuntimeError,
        [3.0, [0.0, 0.0]],
        RuntimeError,
        RuntimeError,
        RuntimeError,
        RuntimeError,
        [3.0, [0.0, 0.0]],
    ]
)
def hvp_and_vhp_checks(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    results = []
    for product in (functional.hvp, functional.vhp):
        results += [
            attempt(product, lambda t: t * 2, x, x),
            attempt(product, lambda t: (t * t).sum(), x, torch.ones(3)),
            attempt(product, lambda t: t.sum(), x, x, strict=True),
            attempt(product, lambda t: (t * t).sum(), x),
            product(lambda t: t.sum(), x, x),
        ]
    return results


@gives([[[3.0, 0.0], [0.0, 4.0]], None, None, True])
def inputs_are_left_alone(torch):
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    j = torch.autograd.functional.jacobian(lambda t: t * w, x)
    return j, x.grad, w.grad, x.requires_grad


@gives([[[2.0, 0.0], [0.0, 4.0]], [[12.0, 0.0], [0.0, 48.0]]])
def jacobian_through_a_custom_function(torch):
    x, square = torch.tensor([1.0, 2.0]), square_function(torch).apply
    functional = torch.autograd.functional
    return functional.jacobian(square, x), functional.hessian(lambda t: square(square(t)).sum(), x)


@gives([[2.0, 0.0], [0.0, 4.0]])
def functional_under_no_grad(torch):
    x = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        return torch.autograd.functional.jacobian(lambda t: t * t, x)
