"""The gradients that backward returns: shape, kind and dtype."""

import minigrad as torch

from . import mistake


@mistake(
    "Matmul.backward", "gradient 0", "(3, 4)", "(2, 3)", "argument 1, w", remedy="in the order of forward(ctx, x, w)"
)
def gradients_swapped():
    """backward returns the gradients in a different order than forward takes its arguments.

    The first gradient belongs to the first argument, and so on.
    """

    class Matmul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return x.T @ g, g @ w.T  # - <-
            # + return g @ w.T, x.T @ g

    Matmul.apply(torch.ones(2, 3, requires_grad=True), torch.ones(3, 4, requires_grad=True)).sum().backward()


@mistake("Linear.backward", "gradient 1", "(3, 4)", "(4, 3)", "argument w", remedy=".T")
def gradient_transposed():
    """The gradient of a matrix is returned transposed.

    A gradient has the shape of its argument.
    """

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w.T

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w, x.T @ g  # - <-
            # + return g @ w, g.T @ x

    Linear.apply(torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)).sum().backward()


@mistake("RowSum.backward", "gradient 0", "(2,)", "(2, 3)", "argument x", remedy="shape (2, 3)")
def gradient_of_outputs_shape():
    """backward returns a gradient with the shape of the output.

    The incoming gradient has the shape of the output, and the returned gradient the shape of the input: here each element
    of a row has the same gradient.
    """

    class RowSum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.sum(1)

        @staticmethod
        def backward(ctx, g):
            return g  # - <-
            # + return g[:, None].expand(ctx.shape)

    RowSum.apply(torch.ones(2, 3, requires_grad=True)).sum().backward()


@mistake("Scale.backward", "gradient 0", "()", "(3,)", remedy="shape (3,)")
def gradient_summed():
    """backward returns one number for a whole tensor.

    Each element of the input has its own gradient.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            x, factor = ctx.saved_tensors
            return (g * factor).sum(), (g * x).sum()  # - <-
            # + return g * factor, g * x  # minigrad sums the second to the shape of factor

    x, factor = torch.ones(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    Scale.apply(x, factor).sum().backward()


@mistake("BatchMean.backward", "gradient 0", "(5, 3)", "(4, 3)", remedy="shape (4, 3)")
def gradient_not_reduced():
    """backward of a mean over the batch forgets the batch.

    Each row has its own gradient; together they have the shape of the input.
    """

    class BatchMean(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            # + ctx.shape = x.shape
            return x.mean(0)

        @staticmethod
        def backward(ctx, g):
            return g.expand(5, 3) / 5  # - <-
            # + return g.expand(ctx.shape) / ctx.shape[0]

    BatchMean.apply(torch.ones(4, 3, requires_grad=True)).sum().backward()


@mistake("Relu.backward", "gradient 0", "bool", "float32", remedy="mask * grad_output", says="gradient-dtype")
def boolean_gradient():
    """backward returns a condition instead of a gradient.

    Multiply a slope of 0 or 1 by the incoming gradient: that is the chain rule.
    """

    class Relu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return x > 0  # - <-
            # + return (x > 0) * grad_output

    (3 * Relu.apply(torch.tensor([1.0, -1.0], requires_grad=True))).sum().backward()


@mistake("Half.backward", "gradient 0", "int64", "float32", remedy=".to(grad_output.dtype)", says="gradient-dtype")
def integer_gradient():
    """backward returns a tensor of integers.

    The decimals are lost before the gradient goes on.
    """

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, g):
            return (g / 2).long()  # - <-
            # + return g.double() / 2  # another floating-point dtype is converted to the input's

    Half.apply(torch.tensor([1.0, -1.0], requires_grad=True)).sum().backward()


@mistake("Double.backward", "gradient 0", "NumPy array", "(2,)", remedy="from_numpy")
def array_returned():
    """backward returns a NumPy array.

    Gradients are tensors.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.from_numpy(x.detach().numpy() * 2)

        @staticmethod
        # + @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g.numpy() * 2  # - <-
            # + return torch.from_numpy(g.numpy() * 2)

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


@mistake("Double.backward", "gradient 0", "float", remedy="grad_output")
def number_returned():
    """backward returns a number.

    Gradients are tensors: the slope times the incoming gradient.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2.0  # - <-
            # + return g * 2

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


@mistake("Product.backward", "gradient 0", "list", remedy="return grad_x, grad_y")
def list_in_tuple():
    """backward nests its gradients.

    Return them side by side, in the order of forward's arguments.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return [g * y, g * x], None  # - <-
            # + grad_x, grad_y = g * y, g * x
            # + return grad_x, grad_y

    Product.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()


@mistake("Double.backward", "gradient 0", "dict", remedy="return grad_x")
def dict_of_gradients():
    """backward returns a dict of gradients.

    Gradients are matched by position, not by name.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return {"x": g * 2}  # - <-
            # + return g * 2

    Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


@mistake("Square.backward", "grad_output", "gradient 0", remedy="multiply", says="gradient-unused")
def chain_rule_forgotten():
    """backward returns the slope without the incoming gradient.

    It has to return the gradient of the loss: the slope of this step times the incoming gradient.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 2 * x  # <-

    (3 * Square.apply(torch.ones(2, requires_grad=True))).sum().backward()


def chain_rule_forgotten_corrected():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x, x.detach()

        @staticmethod
        def backward(ctx, grad_output, unused):
            (x,) = ctx.saved_tensors
            return 2 * x * grad_output

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.sign()

        @staticmethod
        def backward(ctx, grad_output):
            return torch.zeros(ctx.shape)  # its slope is zero everywhere

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(*args):
            return -args[1]

    x = torch.ones(2, requires_grad=True)
    (Square.apply(x)[0] + Step.apply(x) + Reverse.apply(x)).sum().backward()
