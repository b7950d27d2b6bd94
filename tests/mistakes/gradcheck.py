"""Checks of gradients with gradcheck."""

import minigrad as torch
from minigrad.autograd import gradcheck, gradgradcheck

from . import mistake

float64 = torch.float64


@mistake("gradcheck", "input 0", "float32", remedy=".double()", says="gradcheck-float32")
def gradcheck_float32():
    """gradcheck in single precision.

    It subtracts two nearly equal numbers and divides by 1e-6, which uses up all seven digits of float32.
    """
    x = torch.tensor([0.5, 2.0], requires_grad=True)  # -
    gradcheck(lambda x: x * x, x, raise_exception=False)  # - <-
    # + x = torch.tensor([0.5, 2.0]).double().requires_grad_()
    # + gradcheck(lambda x: x * x, x)


@mistake("gradcheck", "requires_grad=True", remedy=".requires_grad_()", says=ValueError)
def nothing_to_check():
    """No input of gradcheck requires grad.

    It checks the gradients of inputs that require grad, and there are none.
    """
    gradcheck(torch.sin, torch.ones(2, dtype=float64))  # - <-
    # + gradcheck(torch.sin, torch.ones(2, dtype=float64).requires_grad_())


@mistake("gradcheck", "input 0", "stride 0", remedy="clone()")
def overlapping_input():
    """An input of gradcheck is an expanded tensor.

    Its elements share memory: changing one of them changes all.
    """
    x = torch.ones(1, dtype=float64).expand(3).requires_grad_()  # - <=
    # + x = torch.ones(1, dtype=float64).expand(3).clone().requires_grad_()
    gradcheck(torch.sin, x)  # <-


@mistake(
    "gradcheck",
    "output 0",
    "input 0",
    "input element [1]",
    "numerical 6",
    "analytical 3",
    "0.5 times",
    remedy="backward",
)
def wrong_factor():
    """backward misses a factor.

    gradcheck compares with finite differences, and shows the largest difference.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x  # - <-
            # + return g * 2 * x

    gradcheck(Square.apply, torch.tensor([1.0, 3.0], dtype=float64, requires_grad=True))


@mistake("gradcheck", "input 0", "signs are opposite", remedy="a minus")
def wrong_sign():
    """backward has the wrong sign.

    The derivative of the cosine is minus the sine.
    """

    class Cos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.cos()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.sin()  # - <-
            # + return -g * x.sin()

    gradcheck(Cos.apply, torch.tensor([1.0, 3.0], dtype=float64, requires_grad=True))


@mistake("gradcheck", "input 1", "zero", remedy="None that backward returns")
def gradient_missing():
    """backward returns None for an input that the output depends on.

    None means that the derivative is zero.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, None  # - <-
            # + return g * y, g * x

    x = torch.tensor([1.0, 3.0], dtype=float64, requires_grad=True)
    gradcheck(Product.apply, (x, x.detach().clone().requires_grad_()))


@mistake(
    "gradcheck",
    "input element [1]",
    "numerical 0.5",
    "analytical 0",
    remedy="kink",
    unlocated="the slopes differ at a number that the function allows",
)
def kink():
    """gradcheck at a kink.

    The absolute value has no derivative at 0: the central difference averages both sides to 0, and the value that backward
    returns is a convention.
    """
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=float64, requires_grad=True)  # - <=
    # + x = torch.tensor([-1.0, 0.5, 2.0], dtype=float64, requires_grad=True)
    gradcheck(torch.relu, x)  # <-


@mistake("gradcheck", "input 0", remedy="multiply by the incoming gradient")
def gradient_not_multiplied():
    """backward does not multiply by the incoming gradient.

    The chain rule has two factors: the incoming gradient and the derivative of the Function. An incoming gradient of 1
    hides the mistake.
    """

    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return x.cos()  # - <-
            # + return g * x.cos()

    gradcheck(Sin.apply, torch.tensor(1.0, dtype=float64, requires_grad=True))


@mistake("gradcheck", "input 0", "output 0", "different values", remedy="save the random numbers in forward")
def random_backward():
    """backward draws random numbers.

    Each call then gives a different gradient for the same numbers, and none of them belongs to the forward that ran.
    """

    class Dropout(torch.autograd.Function):
        @staticmethod
        # + def forward(ctx, x, mask):
        # +     ctx.save_for_backward(mask)
        # +     return x * mask
        def forward(ctx, x):  # -
            return x * 1.0  # -

        @staticmethod
        def backward(ctx, g):
            return g * torch.rand(g.shape, dtype=g.dtype)  # - <-
            # + (mask,) = ctx.saved_tensors
            # + return g * mask, None

    gradcheck(Dropout.apply, torch.ones(3, dtype=float64, requires_grad=True))  # -
    # + x, mask = torch.ones(3, dtype=float64, requires_grad=True), torch.tensor([1.0, 0.0, 1.0]).double()
    # + gradcheck(Dropout.apply, (x, mask))


@mistake("gradcheck", "output 0", "twice", "same inputs", remedy="manual_seed")
def random_forward():
    """gradcheck of a function that draws random numbers.

    Finite differences compare two calls, whose random numbers differ by more than the step.
    """
    x = torch.ones(8, dtype=float64, requires_grad=True)
    gradcheck(lambda x: torch.nn.functional.dropout(x, 0.5) * x, x)  # <-


def random_forward_corrected():
    def dropped(x):
        torch.manual_seed(0)
        return torch.nn.functional.dropout(x, 0.5) * x

    gradcheck(dropped, torch.ones(8, dtype=float64, requires_grad=True))


@mistake("gradcheck", "output 0", "input 0", "does not require grad", remedy="detach()")
def detached_output():
    """gradcheck of a function that loses the history of its input.

    The output depends on the input, but gets no gradient.
    """
    x = torch.ones(2, dtype=float64, requires_grad=True)
    gradcheck(lambda x: x.detach() * 2, x)  # - <-
    # + gradcheck(lambda x: x * 2, x)


@mistake("gradcheck", "forward mode", "input 0", "0.5 times", remedy="a factor in jvp")
def wrong_jvp():
    """backward is right, but jvp is not.

    gradcheck checks jvp only with `check_forward_ad=True`.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, x_t):
            return x_t * 1  # - <-
            # + return x_t * 2

    x = torch.ones(2, dtype=float64, requires_grad=True)
    gradcheck(Double.apply, x, check_forward_ad=True)


@mistake("gradcheck", "input 0", "transposed", remedy="transpose")
def transposed():
    """backward forgets to transpose.

    The gradient of a product with a matrix is a product with its transpose; for a square matrix the shapes do not reveal
    the mistake.
    """

    class Apply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, matrix):
            ctx.save_for_backward(matrix)
            return matrix @ x

        @staticmethod
        def backward(ctx, g):
            (matrix,) = ctx.saved_tensors
            return matrix @ g, None  # - <-
            # + return matrix.T @ g, None

    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=float64)
    gradcheck(Apply.apply, (torch.ones(2, dtype=float64, requires_grad=True), matrix))


@mistake(
    "gradcheck", "input 0", remedy="detach()", unlocated="the check compares numbers, and does not read the Function"
)
def wrong_second_derivative():
    """The gradient is right, but its derivative is not.

    backward is differentiated like any other program. A second derivative misses the parts that it hides from autograd;
    gradgradcheck finds them.
    """

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x.detach() ** 2  # - <=
            # + return g * 3 * x**2

    gradgradcheck(Cube.apply, torch.ones(2, dtype=float64, requires_grad=True))  # <-


@mistake("gradcheck", "a tensor of shape (2,)", remedy="gradcheck(f, x)", says=TypeError)
def gradcheck_of_a_value():
    """gradcheck gets the value of the function instead of the function.

    It calls the function many times, on slightly changed inputs.
    """
    x = torch.ones(2, dtype=float64, requires_grad=True)
    gradcheck(torch.sin(x), x)  # - <-
    # + gradcheck(torch.sin, x)


@mistake("gradcheck", "output 0", "float", remedy="item()", says=TypeError)
def gradcheck_of_a_number():
    """gradcheck of a function that returns a Python number.

    A number has no gradient. There would be nothing to check, and the check would pass.
    """
    x = torch.ones(2, dtype=float64, requires_grad=True)
    gradcheck(lambda x: (x * x).sum().item(), x)  # - <-
    # + gradcheck(lambda x: (x * x).sum(), x)
