"""The ctx: saving tensors for backward."""

import minigrad as torch

from . import Mistake


class NumberSaved(Mistake):
    """A number is saved with save_for_backward.

    save_for_backward watches tensors for modifications and frees them. A number needs neither.
    """

    says = TypeError
    operation = "Scale.forward"
    numbers = ("save_for_backward", "argument 1", "float")
    remedy = "ctx.factor = factor"

    def wrong():
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.save_for_backward(x, factor)  # - <-
                # + ctx.save_for_backward(x, None)
                # + ctx.factor = factor
                return x * factor

        return Scale.apply(torch.tensor([1.0, 2.0], requires_grad=True), 2.0)


class ListSaved(Mistake):
    """A list of tensors is saved with save_for_backward.

    It takes the tensors one by one.
    """

    says = TypeError
    operation = "Product.forward"
    numbers = ("save_for_backward", "argument 0", "list")
    remedy = "save_for_backward(*tensors)"

    def wrong():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward([x, y])  # - <-
                # + ctx.save_for_backward(x, y)
                return x * y

        return Product.apply(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2))


class ArraySaved(Mistake):
    """A NumPy array is saved with save_for_backward.

    Store arrays as attributes of the ctx.
    """

    says = TypeError
    operation = "Step.forward"
    numbers = ("argument 0", "ndarray")
    remedy = "ctx.mask = mask"

    def wrong():
        class Step(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                mask = x.detach().numpy() > 0
                ctx.save_for_backward(mask)  # <-
                return x * torch.from_numpy(mask)

        return Step.apply(torch.tensor([1.0, -2.0], requires_grad=True))

    def right():
        class Step(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mask = x.detach().numpy() > 0
                return x * torch.from_numpy(ctx.mask)

            @staticmethod
            def backward(ctx, g):
                return g * torch.from_numpy(ctx.mask)

        Step.apply(torch.tensor([1.0, -2.0], requires_grad=True)).sum().backward()


class SavedTwice(Mistake):
    """save_for_backward is called twice.

    The second call would replace the tensors of the first.
    """

    operation = "Product.forward"
    numbers = ("save_for_backward", "second time", "1 tensor")
    remedy = "ctx.save_for_backward(a, b)"

    def wrong():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x)  # -
                ctx.save_for_backward(y)  # - <-
                # + ctx.save_for_backward(x, y)
                return x * y

        return Product.apply(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2))


class SaveMisspelt(Mistake):
    """save_for_backward is misspelt.

    The ctx has no method with that name.
    """

    says = AttributeError
    operation = "SquareBackward"
    numbers = ("'save_for_backwards'",)
    remedy = "ctx.save_for_backward"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backwards(x)  # - <-
                # + ctx.save_for_backward(x)
                # + assert getattr(ctx, "mask", None) is None
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


class SavedMisspelt(Mistake):
    """saved_tensors is misspelt.

    The property ends in s, even for a single tensor.
    """

    says = AttributeError
    operation = "SquareBackward"
    numbers = ("'saved_tensor'",)
    remedy = "ctx.saved_tensors"

    def wrong():
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


class SaveAssigned(Mistake):
    """Something is assigned to save_for_backward.

    It is a method: call it with the tensors.
    """

    says = AttributeError
    operation = "SquareBackward"
    numbers = ("save_for_backward",)
    remedy = "ctx.save_for_backward(x)"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward = x  # - <-
                # + ctx.save_for_backward(x)
                # + ctx.name = ctx.size = "of your own"
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


class SavedTensorsAssigned(Mistake):
    """Tensors are assigned to saved_tensors.

    saved_tensors is read-only: backward reads from it the tensors of save_for_backward.
    """

    says = AttributeError
    operation = "SquareBackward"
    numbers = ("saved_tensors",)
    remedy = "ctx.save_for_backward("

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.saved_tensors = (x,)  # - <-
                # + ctx.save_for_backward(x)
                return x * x

        return Square.apply(torch.tensor([1.0, 2.0], requires_grad=True))


class SavedTensorsCalled(Mistake):
    """saved_tensors is called like a method.

    It is a property, a tuple of tensors.
    """

    says = TypeError
    operation = "Square.backward"
    numbers = ("saved_tensors", "tuple of 1 tensor")
    remedy = "ctx.saved_tensors"

    def wrong():
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


class SavedNotUnpacked(Mistake):
    """The tuple of saved tensors is used like its only tensor.

    saved_tensors is a tuple, even for a single tensor. The comma in `x, = ctx.saved_tensors` unpacks it.
    """

    says = TypeError
    operation = "mul"
    numbers = ("tuple of 1 tensor",)
    remedy = "(x,) = ctx.saved_tensors"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                x = ctx.saved_tensors  # -
                return g * x * 2  # - <-
                # + (x,) = ctx.saved_tensors
                # + return 2 * x * g

        Square.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()


class SavedCount(Mistake):
    """backward unpacks a different number of saved tensors than forward has saved.

    saved_tensors holds the tensors of save_for_backward, in the same order.
    """

    says = ValueError
    operation = "Product.backward"
    numbers = ("saved_tensors", "1 tensor", "expected 2")
    remedy = "ctx.save_for_backward("

    def wrong():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x)  # -
                # + ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, g):
                x, y = ctx.saved_tensors  # <-
                return g * y, g * x

        Product.apply(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)).sum().backward()


class NothingSaved(Mistake):
    """backward reads a saved tensor, but forward has saved none.

    saved_tensors holds only the tensors of save_for_backward.
    """

    says = IndexError
    operation = "Square.backward"
    numbers = ("saved_tensors", "0 tensors")
    remedy = "ctx.save_for_backward("

    def wrong():
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
