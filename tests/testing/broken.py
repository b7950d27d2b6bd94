"""Broken Functions, each with the row of `check` that has to find it, words of the remedy, and its line.

`@broken(row, remedy, line, *args)` enters a class.  The repaired class lacks the lines that end in `# -`, and has the lines in
comments `# + ...` (tests/marks.py).  The same text runs with PyTorch (tests/parity/test_check.py).
"""

import numpy as np

import minigrad as torch

Function = torch.autograd.Function
once_differentiable = torch.autograd.function.once_differentiable
FUNCTIONS = {}

x = torch.tensor([1.0, 2.0, -2.0])
y = torch.tensor([0.5, 1.5, 2.0])
matrix = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
weight = torch.tensor(2.0, requires_grad=True)
drawer = []


def broken(row, remedy, line, *args):
    def enter(cls):
        FUNCTIONS[cls.__name__] = (cls, row, remedy, line, args)
        return cls

    return enter


# ---------------------------------------------------------------------- right Functions, of which broken ones change a part
class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Product(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x


class DoubleAndSquare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * 2, x * x

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        (x,) = ctx.saved_tensors
        return grad_a * 2 + grad_b * 2 * x


# ---------------------------------------------------------------------- wrong derivatives
@broken("gradients", "return -gradient", "return grad * x.sin()", x)
class WrongSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.sin()  # -
        # + return -grad * x.sin()


@broken("gradients", "multiply by 2 for x", "return grad * x", x)
class HalfOfIt(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x  # -
        # + return grad * 2 * x


@broken("gradients", "return grad_x, grad_y", "return grad * x * x, grad * 2 * x * y", x, y)
class Swapped(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * x * x, grad * 2 * x * y  # -
        # + return grad * 2 * x * y, grad * x * x


@broken("gradients", "grad_output *", "return 2 * x", x)
class WithoutUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x  # -
        # + return grad * 2 * x


@broken("gradients", "grad_output *", "return 2 * x", x)
class SumWithoutUpstream(Function):
    """Right where the incoming gradient is 1, as it is after loss.backward()."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x  # -
        # + return grad * 2 * x


@broken("gradients", "instead of None or 0 for y", "return grad * y, None", x, y)
class NothingForY(Product):
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, None  # -
        # + return grad * y, grad * x


@broken("gradients", "grad_b * (derivative of output 1", "return grad_a * 2", x)
class SecondOutputForgotten(DoubleAndSquare):
    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return grad_a * 2  # -
        # + (x,) = ctx.saved_tensors
        # + return grad_a * 2 + grad_b * 2 * x


@broken("gradients", "instead of None or 0 for x", "def backward", x)
class NoReturn(Double):
    @staticmethod
    def backward(ctx, grad):
        grad * 2  # -
        # + return grad * 2


@broken("jvp", "multiply by", "return tangent * 3", x)
class WrongJvp(Double):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3  # -
        # + return tangent * 2


@broken("jvp", "linear in the tangents", "return tangent_x * y + tangent_x * tangent_y", x, y)
class ProductOfTangents(Product):
    @staticmethod
    def jvp(ctx, tangent_x, tangent_y):
        x, y = ctx.saved_tensors
        return tangent_x * y + tangent_x * tangent_y + x * tangent_y  # -
        # + return tangent_x * y + x * tangent_y


@broken("second derivatives", "@once_differentiable", "return torch.tensor(grad.detach().numpy()", x)
class NumpyInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    # + @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.tensor(grad.detach().numpy() * 2 * x.detach().numpy())


@broken("second derivatives", "one more output", "(double,) = ctx.saved_tensors", x)
class SavedInBetween(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)  # -
        # + ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (double,) = ctx.saved_tensors  # -
        return grad * double  # -
        # + (x,) = ctx.saved_tensors
        # + return grad * 2 * x


# ---------------------------------------------------------------------- wrong returns
@broken("gradients returned", "return grad_x, grad_y", "return grad", x, y)
class OneOfTwo(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, grad):
        return grad  # -
        # + return grad, grad


@broken("gradients returned", "return grad_x, None", "return grad * ctx.n", x, 2)
class NoneForgotten(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        return x * n

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.n  # -
        # + return grad * ctx.n, None


@broken("gradients returned", "with the shape", "return grad * torch.ones(3, 2", matrix)
class WrongShape(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.ones(3, 2, dtype=grad.dtype)  # -
        # + return grad * torch.ones(ctx.shape, dtype=grad.dtype)


@broken("dtypes", ".to(x.dtype)", "return (grad * 2).float()", x)
class WrongDtype(Double):
    @staticmethod
    def backward(ctx, grad):
        return (grad * 2).float()  # -
        # + return grad * 2


@broken("gradients returned", "as_tensor", "return grad.detach().numpy() * 2", x)
class ArrayReturned(Double):
    @staticmethod
    def backward(ctx, grad):
        return grad.detach().numpy() * 2  # -
        # + return grad * 2


@broken("tangents returned", "return tangent_0, tangent_1", "return tangent * 2", x)
class OneTangent(DoubleAndSquare):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2  # -
        # + (x,) = ctx.saved_tensors
        # + return tangent * 2, tangent * 2 * x


@broken("forward", "flat", "return x * 2, [x * 3]", x)
class ListInside(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, [x * 3]  # -
        # + return x * 2, x * 3

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return grad_a * 2  # -
        # + return grad_a * 2 + grad_b * 3


@broken("needs_input_grad", "needs_input_grad[1]", "grad * x if ctx.needs_input_grad[0]", x, y)
class WrongPlace(Product):
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x if ctx.needs_input_grad[0] else None  # -
        # + return grad * y, grad * x if ctx.needs_input_grad[1] else None


@broken("unused outputs", "is not None", "return grad_a * 2 + grad_b * 3", x)
class NoZeros(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return grad_a * 2 + grad_b * 3  # -
        # + parts = [g * n for g, n in ((grad_a, 2), (grad_b, 3)) if g is not None]
        # + return sum(parts[1:], parts[0])


# ---------------------------------------------------------------------- the form
@broken("methods", "def backward", "def backwards", x)
class Misspelt(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    # + def backward(ctx, grad):
    def backwards(ctx, grad):  # -
        return grad * 2


@broken("methods", "@staticmethod", "def backward(ctx, grad)", x)
class NotStatic(Double):
    # + @staticmethod
    def backward(ctx, grad):
        return grad * 2


@broken("captured tensors", "pass it as an argument", "return x * weight", x)
class Captures(Function):
    @staticmethod
    def forward(ctx, x):
        return x * weight  # -
        # + return x * 2.0

    @staticmethod
    def backward(ctx, grad):
        return grad * weight  # -
        # + return grad * 2.0


# ---------------------------------------------------------------------- what is kept and changed
@broken("tensors on ctx", "instead of ctx.x", "ctx.x = x", x)
class InputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # -
        # + ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.x  # -
        # + (x,) = ctx.saved_tensors
        # + return grad * 2 * x


@broken("tensors on ctx", "instead of ctx.out", "ctx.out = out", x)
class OutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.out = out  # -
        # + ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.out  # -
        # + (out,) = ctx.saved_tensors
        # + return grad * out


@broken("memory freed", "instead of a list", "drawer.append(out)", x)
class KeepsAll(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        drawer.append(out)  # -
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * out


@broken("backward twice", "no state", "ctx.n += 1", x)
class CountsItsCalls(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = 1
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        result = grad * ctx.n  # -
        ctx.n += 1  # -
        return result  # -
        # + return grad * ctx.n


@broken("backward twice", "no random numbers", "torch.rand(x.shape)", torch.ones(20))
class DrawsAgain(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)  # -
        return x * (torch.rand(x.shape) > 0.5)  # -
        # + mask = torch.rand(x.shape) > 0.5
        # + ctx.save_for_backward(mask)
        # + return x * mask

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors  # -
        return grad * (torch.rand(x.shape) > 0.5)  # -
        # + (mask,) = ctx.saved_tensors
        # + return grad * mask


@broken("in-place marks", "ctx.mark_dirty(x)", "x.mul_(2)", x)
class Unmarked(Double):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        # + ctx.mark_dirty(x)
        return x


@broken("in-place marks", "remove mark_dirty(x)", "ctx.mark_dirty(x)", x)
class MarkedForNothing(Double):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)  # -
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


@broken("in-place marks", "return x", "return x * 1", x)
class MarkedAndNotReturned(Unmarked):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 1  # -
        # + return x


@broken("writes in backward", "grad_output.clone()", "return grad.mul_(2)", x)
class ChangesTheGradient(Double):
    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(2)  # -
        # + return grad * 2


@broken("writes in backward", "x.clone()", "return out.mul_(grad)", x)
class ChangesWhatIsSaved(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out * 1  # -
        # + return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return out.mul_(grad)  # -
        # + return grad * out


@broken("outputs' memory", "clone()", "return torch.from_numpy(x.detach().numpy())", x)
class SharedMemory(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.detach().numpy())  # -
        # + return torch.from_numpy(x.detach().numpy()).clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


@broken("threads", "belongs on its ctx", "OnTheClass.kept = float(x.sum())", x)
class OnTheClass(Function):
    kept = 0.0

    @staticmethod
    def forward(ctx, x):
        OnTheClass.kept = float(x.sum())  # -
        ctx.shape = x.shape  # -
        # + ctx.save_for_backward(x)
        return (x.sum() ** 2) / 2

    @staticmethod
    def backward(ctx, grad):
        return grad * OnTheClass.kept * torch.ones(ctx.shape, dtype=grad.dtype)  # -
        # + (x,) = ctx.saved_tensors
        # + return grad * x.sum() * torch.ones_like(x)


@broken("determinism", "pass it as an argument", "Counter.n += 1", x)
class Counter(Function):
    n = 0

    @staticmethod
    def forward(ctx, x):
        Counter.n += 1  # -
        return x + Counter.n  # -
        # + return x + 1

    @staticmethod
    def backward(ctx, grad):
        return grad


# ---------------------------------------------------------------------- other inputs
@broken("layouts", "contiguous()", "memory = x.detach().numpy()", matrix)
class ReadsTheMemory(Function):
    @staticmethod
    def forward(ctx, x):
        memory = x.detach().numpy()  # -
        flat = np.lib.stride_tricks.as_strided(memory, (memory.size,), (memory.itemsize,))  # -
        return torch.tensor(flat.reshape(memory.shape) * 2)  # -
        # + return torch.tensor(x.contiguous().detach().numpy() * 2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


@broken("no elements", "dim", "x.max()", x)
class NotForEmpty(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x * (x.max() / x.max())  # -
        # + return grad * 2 * x


@broken("dtypes", ".to(x.dtype)", "return torch.tensor(np.float64(2.0)", x)
class TooPrecise(Double):
    @staticmethod
    def forward(ctx, x):
        return torch.tensor(np.float64(2.0) * x.detach().numpy().astype("float64"))  # -
        # + return x * 2


@broken("dtypes", "subtract", "return (x + 1e6) ** 2 - 1e12", torch.ones(1))
class Cancels(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x + 1e6) ** 2 - 1e12  # -
        # + return x * (x + 2e6)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * (x + 1e6)


# ---------------------------------------------------------------------- vmap and the transforms
@broken("vmap", "x.movedim(x_dim, 0)", "return SumOfRows.apply(x), 0", matrix)
class SumOfRows(Function):
    @staticmethod
    def forward(x):
        return x.sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):
        return grad.unsqueeze(-1).expand(ctx.shape)

    @staticmethod
    def vmap(info, in_dims, x):
        return SumOfRows.apply(x), 0  # -
        # + return SumOfRows.apply(x.movedim(in_dims[0], 0)), 0


@broken("vmap", "vmap staticmethod", "return torch.tensor(np.sin(x.numpy()))", x)
class NumpyForward(Function):
    generate_vmap_rule = True  # -

    @staticmethod
    def forward(x):
        return torch.tensor(np.sin(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    # + @staticmethod
    # + def vmap(info, in_dims, x):
    # +     return NumpyForward.apply(x), in_dims[0]


@broken("methods", "generate_vmap_rule = False", "def vmap", x)
class TwoRules(NumpyForward):
    # + generate_vmap_rule = False
    @staticmethod
    def vmap(info, in_dims, x):
        return TwoRules.apply(x), in_dims[0]


@broken("func.vmap", "vmap staticmethod", "return torch.tensor(grad.numpy() * np.cos(x.numpy()))", x)
class NumpyUnderVmap(NumpyForward):
    generate_vmap_rule = False

    @staticmethod
    @once_differentiable  # -
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.tensor(grad.numpy() * np.cos(x.numpy()))  # -
        # + return grad * x.cos()

    @staticmethod
    def vmap(info, in_dims, x):
        return NumpyUnderVmap.apply(x), in_dims[0]


@broken("randomness", "draw once", "return IgnoresTheOption.apply(x)", torch.ones(3))
class IgnoresTheOption(Function):
    @staticmethod
    def forward(x):
        return x * torch.rand(x.shape)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x):
        if info.randomness == "error":
            raise RuntimeError("random numbers under vmap")
        return IgnoresTheOption.apply(x), in_dims[0]  # -
        # + x = x.movedim(in_dims[0], 0)
        # + return x * torch.rand(x.shape if info.randomness == "different" else x.shape[1:]), 0
