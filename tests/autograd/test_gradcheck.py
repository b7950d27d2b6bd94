"""gradcheck finds what is wrong and says where; gradgradcheck the same for second derivatives."""

import pytest

import minigrad
from minigrad.autograd import GradcheckError, gradcheck, gradgradcheck
from minigrad.errors import MinigradWarning
from tests.functions import custom


def double(*values):
    return minigrad.tensor(values, dtype=minigrad.float64, requires_grad=True)


def function(backward, forward=lambda x: x * x, **methods):
    """Return a Function of one tensor with this backward(x, g)."""
    return custom(
        "Made",
        forward=lambda ctx, x: [ctx.save_for_backward(x), ctx.save_for_forward(x), forward(x)][-1],
        backward=lambda ctx, g: backward(ctx.saved_tensors[0], g),
        **methods,
    ).apply


RIGHT = function(lambda x, g: 2 * x * g)


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_batched_grad": False}], ids=str)
def test_right_gradients_pass(options):
    assert gradcheck(RIGHT, double(1.0, -2.0), **options)
    assert gradcheck(lambda x, y, n: (x * y**n, x.sum()), (double(1.0, 2.0), double(3.0, 4.0), 2), **options)
    assert gradcheck(lambda x: x.reshape(2, 2) @ x.reshape(2, 2).mT, double(1.0, 2.0, 3.0, 4.0), **options)


@pytest.mark.parametrize(
    ("backward", "hint"),
    [
        (lambda x, g: 3 * x * g, "1.5 times"),
        (lambda x, g: -2 * x * g, "signs are opposite"),
        (lambda x, g: None, "is zero"),
        (lambda x, g: 2 * x * g * float("nan"), "nan"),
        (lambda x, g: x + g.flip(0), "look at the formula"),
        (lambda x, g: x**2 * 3 * g, "look at the formula"),  # the zeros beside the diagonal agree in any case
        (lambda x, g: minigrad.where(x == 3.0, 0.0, 2 * x * g), "the other elements agree"),
    ],
)
def test_wrong_gradients_are_described(backward, hint):
    x = double(1.0, 2.0, 3.0)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0") as e:
        gradcheck(function(backward), x)
    text = str(e.value)
    assert hint in text
    assert "numerical:tensor([[2.0000" in text and "analytical:tensor" in text and "differ, most at [" in text
    assert not gradcheck(function(backward), x, raise_exception=False)


def test_the_place_of_the_largest_difference_is_named():
    with pytest.raises(GradcheckError, match=r"most at \[2, 2\] \(input element \[1, 0\], output element 2\)"):
        gradcheck(
            function(lambda x, g: minigrad.where(x == 3.0, 0.0, 2 * x * g)), double(1.0, 2.0, 3.0, 4.0).reshape(2, 2)
        )


def test_transposed_jacobian_is_recognised():
    m = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=minigrad.float64)
    with pytest.raises(GradcheckError, match="transpose"):
        gradcheck(function(lambda x, g: m @ g, lambda x: m @ x), double(1.0, 2.0))


def test_single_precision_warns():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(MinigradWarning, match="float32"):
        assert gradcheck(RIGHT, x, eps=1e-2, atol=1e-2, rtol=1e-2)
    with pytest.warns(MinigradWarning), pytest.raises(GradcheckError, match="double precision"):
        gradcheck(RIGHT, x)


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_batched_grad": True}])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)])
@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_inputs_without_elements_pass(check, shape, options):
    x = minigrad.zeros(shape, dtype=minigrad.float64, requires_grad=True)
    for f in (lambda x: x * x * x, lambda x: x.exp().sum(), lambda x: x.reshape(-1)):
        assert check(f, x, **options)


def test_an_input_without_elements_beside_another():
    x, w = minigrad.zeros(0, 2, dtype=minigrad.float64, requires_grad=True), double([1.0, 2.0], [3.0, 4.0])
    assert gradcheck(minigrad.matmul, (x, w), check_forward_ad=True) and gradgradcheck(minigrad.matmul, (x, w))
    assert gradcheck(RIGHT, double(1.0).expand(1)) and gradcheck(RIGHT, x[:, :1].expand(0, 5))


def test_inputs_that_gradcheck_cannot_check_raise():
    with pytest.raises(ValueError, match="requires_grad"):
        gradcheck(RIGHT, minigrad.ones(2, dtype=minigrad.float64))
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(RIGHT, double(1.0).expand(3))
    with pytest.raises(AssertionError):
        gradcheck(RIGHT, double(1.0), check_backward_ad=False)
    with pytest.raises(AssertionError):
        gradgradcheck(RIGHT, double(1.0), check_rev_over_rev=False)


def test_an_output_that_depends_on_the_input_without_requiring_grad_is_found():
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: (x * x).detach(), double(1.0))
    assert gradcheck(lambda x: minigrad.ones(2), double(1.0))


def test_nondeterministic_backward_is_found():
    noisy = function(lambda x, g: 2 * x * g + 1e-9 * minigrad.rand(x.shape, dtype=x.dtype))
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(noisy, double(1.0))
    assert gradcheck(noisy, double(1.0), nondet_tol=1e-6)


def test_inputs_keep_values_versions_and_grads():
    x = double(1.0, 2.0)
    assert gradcheck(RIGHT, x)
    assert (x.tolist(), x.grad, x._version) == ([1.0, 2.0], None, 0)

    def fails(t):
        if t.detach().numpy()[0] > 1:
            raise KeyError("moved")
        return t * t

    with pytest.raises(KeyError):
        gradcheck(fails, x)
    assert x.tolist() == [1.0, 2.0]


def test_forward_mode():
    right = function(lambda x, g: 2 * x * g, jvp=lambda ctx, t: 2 * ctx.saved_tensors[0] * t)
    wrong = function(lambda x, g: 2 * x * g, jvp=lambda ctx, t: 3 * ctx.saved_tensors[0] * t)
    x = double(1.0, 2.0)
    assert gradcheck(right, x, check_forward_ad=True)
    with pytest.raises(GradcheckError, match=r"in forward mode|jvp"):
        gradcheck(wrong, x, check_forward_ad=True)
    assert gradcheck(minigrad.tanh, x, check_forward_ad=True, check_backward_ad=False)


def test_batched_gradients_and_tangents():
    x = double(1.0, 2.0)
    assert gradcheck(lambda t: (t.exp(), t.sum()), x, check_batched_grad=True)
    assert gradcheck(minigrad.tanh, x, check_forward_ad=True, check_batched_forward_grad=True)
    inner = function(lambda x, g: g)  # has no vmap rule

    Careless = custom("Careless", forward=lambda ctx, x: x * 1, backward=lambda ctx, g: inner(g) * 0 + g)

    with pytest.raises(GradcheckError, match="batched gradients"):
        gradcheck(Careless.apply, x, check_batched_grad=True)


def test_missing_gradients_of_further_outputs():
    Two = custom(
        "Two",
        forward=lambda ctx, x: ctx.set_materialize_grads(False) or (x * 2, x * 3),
        backward=lambda ctx, a, b: (0 if a is None else a * 2) + (0 if b is None else b * 3),
    )
    assert gradcheck(Two.apply, double(1.0))


@pytest.mark.parametrize("options", [{}, {"check_fwd_over_rev": True}], ids=str)
def test_second_derivatives(options):
    x = double(0.5, 2.0)
    assert gradgradcheck(lambda t: t.exp() * t, x, **options)
    assert gradgradcheck(lambda a, b: (a * b, a / b), (x, double(3.0, 4.0)), **options)
    careless = function(lambda x, g: 2 * x.detach() * g)
    assert gradcheck(careless, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(careless, x, **{**options, "check_fwd_over_rev": False})
    assert gradgradcheck(RIGHT, x, minigrad.ones(2, dtype=minigrad.float64, requires_grad=True))
    assert gradgradcheck(RIGHT, x, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize(
    "f, x, slopes",
    [
        (lambda x: minigrad.where(x < 0, -x, x), [0.0, 2.0], "the slope is -1 from the left and 1 from the right"),
        (lambda x: x.relu(), [-1.0, 0.0], "the slope is 0 from the left and 1 from the right"),
        (lambda x: x.sort().values, [2.0, 1.0, 1.0], "from the left and"),
    ],
)
def test_a_kink_is_reported_with_its_two_slopes(f, x, slopes):
    with pytest.raises(RuntimeError) as e:
        gradcheck(f, minigrad.tensor(x, dtype=minigrad.float64, requires_grad=True))
    assert "there is a kink" in str(e.value) and slopes in str(e.value)


def test_rounding_errors_in_float32_are_no_kink():
    for seed in range(12):
        minigrad.manual_seed(seed)
        with pytest.warns(MinigradWarning, match="rounding errors"), pytest.raises(GradcheckError) as e:
            gradcheck(minigrad.exp, minigrad.randn(3, requires_grad=True))
        assert "kink" not in str(e.value) and "the input is minigrad.float32" in e.value.remedy


def test_a_wrong_formula_of_a_curved_function_is_no_kink():
    wrong = function(lambda x, g: g * (4 * x**3 + x), lambda x: x**4)
    with pytest.raises(RuntimeError) as e:
        gradcheck(wrong, minigrad.tensor([100.0, -3.0], dtype=minigrad.float64, requires_grad=True))
    assert "there is a kink" not in str(e.value)
