"""The ctx: saving tensors for backward."""

import minigrad as torch

from . import mistake


@mistake("Scale.forward", "save_for_backward", "argument 1", "float", remedy="ctx.factor = factor", says=TypeError)
def number_saved():
    """A number is saved with save_for_backward.

    save_for_backward watches tensors for modifications and frees them. A number needs neither.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)  # - <-
            # + ctx.save_for_backward(x, None)
            # + ctx.factor = factor
            return x * factor

    return Scale.apply(torch.tensor([1.0, 2.0], requires_grad=True), 2.0)


@mistake(
    "Product.forward", "save_for_backward", "argument 0", "list", remedy="save_for_backward(*tensors)", says=TypeError
)
def list_saved():
    """A list of tensors is saved with save_for_backward.

    It takes the tensors one by one.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward([x, y])  # - <-
            # + ctx.save_for_backward(x, y)
            return x * y

    return Product.apply(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2))


@mistake("Step.forward", "argument 0", "ndarray", remedy="ctx.mask = mask", says=TypeError)
def array_saved():
    """A NumPy array is saved with save_for_backward.

    Store arrays as attributes of the ctx.
    """

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask = x.detach().numpy() > 0
            ctx.save_for_backward(mask)  # <-
            return x * torch.from_numpy(mask)

    return Step.apply(torch.tensor([1.0, -2.0], requires_grad=True))


def array_saved_corrected():
    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mask = x.detach().numpy() > 0
            return x * torch.from_numpy(ctx.mask)

        @staticmethod
        def backward(ctx, g):
            return g * torch.from_numpy(ctx.mask)

    Step.apply(torch.tensor([1.0, -2.0], requires_grad=True)).sum().backward()


@mistake("Product.forward", "save_for_backward", "second time", "1 tensor", remedy="ctx.save_for_backward(a, b)")
def saved_twice():
    """save_for_backward is called twice.

    The second call would replace the tensors of the first.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)  # -
            ctx.save_for_backward(y)  # - <-
            # + ctx.save_for_backward(x, y)
            return x * y

    return Product.apply(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2))


@mistake("SquareBackward", "'save_for_backwards'", remedy="ctx.save_for_backward", says=AttributeError)
def save_misspelt():
    """save_for_backward is misspelt.

    The ctx has no method with that name.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backwards(x)  # - <-
            # + ctx.save_for_backward(x)
            # + assert getattr(ctx, "mask", None) is None
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


@mistake("SquareBackward", "'saved_tensor'", remedy="ctx.saved_tensors", says=AttributeError)
def saved_misspelt():
    """saved_tensors is misspelt.

    The property ends in s, even for a single tensor.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor  # - <-
            # + (x,) = ctx.saved_tensors
            return 2 * x * g

    Square.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()


@mistake("SquareBackward", "save_for_backward", remedy="ctx.save_for_backward(x)", says=AttributeError)
def save_assigned():
    """Something is assigned to save_for_backward.

    It is a method: call it with the tensors.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward = x  # - <-
            # + ctx.save_for_backward(x)
            # + ctx.name = ctx.size = "of your own"
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


@mistake("SquareBackward", "saved_tensors", remedy="ctx.save_for_backward(", says=AttributeError)
def saved_tensors_assigned():
    """Tensors are assigned to saved_tensors.

    saved_tensors is read-only: backward reads from it the tensors of save_for_backward.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.saved_tensors = (x,)  # - <-
            # + ctx.save_for_backward(x)
            return x * x

    return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


@mistake("Square.backward", "saved_tensors", "tuple of 1 tensor", remedy="ctx.saved_tensors", says=TypeError)
def saved_tensors_called():
    """saved_tensors is called like a method.

    It is a property, a tuple of tensors.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors()  # - <-
            # + (x,) = ctx.saved_tensors
            return 2 * x * g

    Square.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()


@mistake("mul", "tuple of 1 tensor", remedy="(x,) = ctx.saved_tensors", says=TypeError)
def saved_not_unpacked():
    """The tuple of saved tensors is used like its only tensor.

    saved_tensors is a tuple, even for a single tensor. The comma in `x, = ctx.saved_tensors` unpacks it.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors  # - <=
            return g * x * 2  # - <-
            # + (x,) = ctx.saved_tensors
            # + return 2 * x * g

    Square.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()


@mistake(
    "Product.backward", "saved_tensors", "1 tensor", "expected 2", remedy="ctx.save_for_backward(", says=ValueError
)
def saved_count():
    """backward unpacks a different number of saved tensors than forward has saved.

    saved_tensors holds the tensors of save_for_backward, in the same order.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)  # - <=
            # + ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors  # <-
            return g * y, g * x

    Product.apply(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)).sum().backward()


@mistake("Square.backward", "saved_tensors", "0 tensors", remedy="ctx.save_for_backward(", says=IndexError)
def nothing_saved():
    """backward reads a saved tensor, but forward has saved none.

    saved_tensors holds only the tensors of save_for_backward.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            # + ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0]  # - <-
            # + (x,) = ctx.saved_tensors
            return 2 * x * g

    Square.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()
