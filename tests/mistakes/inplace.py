"""In-place operations."""

import numpy as np

import minigrad as torch

from . import Mistake


class UpdateOutsideNoGrad(Mistake):
    """A parameter is updated while minigrad records operations.

    The update would become part of the graph, and the parameter a result of it, which no longer gets a `.grad`.
    """

    operation = "sub_"
    numbers = ("leaf", "(2,)")
    remedy = "with torch.no_grad():"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        (w * w).sum().backward()
        w -= 0.1 * w.grad  # <-

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad


class LossThatStartsAsALeaf(Mistake):
    """The sum of the losses starts as a tensor with `requires_grad=True`, and `+=` writes to it.

    A leaf is an end of the graph, so it cannot become the result of an addition.
    """

    operation = "add_"
    numbers = ("leaf", "()")
    remedy = "x = x + ..."

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = torch.tensor(0.0, requires_grad=True)
        for i in range(2):
            loss += w[i] ** 2  # <-
        loss.backward()

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = torch.tensor(0.0)
        for i in range(2):
            loss += w[i] ** 2
        loss.backward()


class ElementOfALeaf(Mistake):
    """An element of a parameter is assigned.

    The assignment is an in-place operation like any other.
    """

    operation = "copy_"
    numbers = ("leaf", "(2,)")
    remedy = "with torch.no_grad():"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        w[0] = 5.0  # <-

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.no_grad():
            w[0] = 5.0


class MaskedAssignmentToALeaf(Mistake):
    """`w[w < 0] = 0` sets the negative entries of a parameter to 0.

    This writes to a leaf. Make a new tensor to cut the entries off in the forward pass and differentiate it.
    """

    operation = "masked_fill_"
    numbers = ("leaf", "(3,)")
    remedy = "torch.where"

    def wrong():
        w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
        w[w < 0] = 0.0  # <-
        w.sum().backward()

    def right():
        w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
        torch.where(w < 0, 0.0, w).sum().backward()


class RowOfALeaf(Mistake):
    """A row of a parameter is modified through a view.

    The view shares the parameter's memory, so the parameter changes as well.
    """

    operation = "mul_"
    numbers = ("view", "leaf", "(2, 2)")
    remedy = "with torch.no_grad():"

    def wrong():
        w = torch.ones(2, 2, requires_grad=True)
        row = w[0]
        row.mul_(2)  # <-

    def right():
        w = torch.ones(2, 2, requires_grad=True)
        with torch.no_grad():
            w[0].mul_(2)


class InitialValuesOfALeaf(Mistake):
    """A parameter gets its initial values while minigrad records operations.

    Drawing random numbers into a leaf writes to it. The functions of `nn.init` switch recording off themselves.
    """

    operation = "normal_"
    numbers = ("leaf", "(2, 3)")
    remedy = "with torch.no_grad():"

    def wrong():
        w = torch.empty(2, 3, requires_grad=True)
        w.normal_(0, 0.01)  # <-

    def right():
        w = torch.empty(2, 3, requires_grad=True)
        torch.nn.init.normal_(w, 0, 0.01)


class LoadIntoALeaf(Mistake):
    """Pretrained values are copied into a parameter while minigrad records operations.

    `copy_` writes to the leaf, and would make it the result of the copy.
    """

    operation = "copy_"
    numbers = ("leaf", "(3,)")
    remedy = "with torch.no_grad():"

    def wrong():
        w = torch.zeros(3, requires_grad=True)
        w.copy_(torch.ones(3))  # <-

    def right():
        w = torch.zeros(3, requires_grad=True)
        with torch.no_grad():
            w.copy_(torch.ones(3))


class TransposeOfALeafInPlace(Mistake):
    """A parameter is transposed in place.

    Methods that end in an underscore change the tensor itself, even those that only change its shape.
    """

    operation = "t_"
    numbers = ("leaf", "(2, 3)")
    remedy = "x.t()"

    def wrong():
        w = torch.ones(2, 3, requires_grad=True)
        w.t_()  # <-

    def right():
        w = torch.ones(2, 3, requires_grad=True)
        return w.t()


class OutOfTracked(Mistake):
    """The result of an operation on tracked tensors is written into `out=`.

    minigrad does not record such a write, so the gradient would end there.
    """

    operation = "add"
    numbers = ("out",)
    remedy = "without out="

    def wrong():
        w = torch.ones(3, requires_grad=True)
        y = torch.empty(3)
        torch.add(w, 1.0, out=y)  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        y = torch.empty(3)
        with torch.no_grad():
            torch.add(w, 1.0, out=y)
        return torch.add(w, 1.0)


class SavedResultChanged(Mistake):
    """The result of `exp` is modified in place before backward.

    The derivative of exp is its own result, which exp saves without a copy.
    """

    operation = "ExpBackward0"
    numbers = ("(2,)", "version 1", "add_")
    remedy = "x = x + ..."

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        y += 1  # <-
        y.sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        y = y + 1
        y.sum().backward()


class SavedInputChanged(Mistake):
    """A tensor is modified in place after another operation has used it.

    The square needs its input for the derivative, but the input has new values.
    """

    operation = "PowBackward0"
    numbers = ("(2,)", "version 1", "add_")
    remedy = "x = x + ..."

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y**2
        y += 1  # <-
        (y + z).sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y**2
        y = y + 1
        (y + z).sum().backward()


class ReluInPlaceAfterSigmoid(Mistake):
    """An activation with `inplace=True` follows an operation that needs its own result.

    The sigmoid's derivative needs its result, which the activation overwrites.
    """

    operation = "SigmoidBackward0"
    numbers = ("(2,)", "relu_")
    remedy = "inplace=True"

    def wrong():
        x = torch.tensor([1.0, -2.0], requires_grad=True)
        h = x.sigmoid()
        h = torch.nn.functional.relu(h, inplace=True)  # <-
        h.sum().backward()

    def right():
        x = torch.tensor([1.0, -2.0], requires_grad=True)
        h = x.sigmoid()
        h = torch.nn.functional.relu(h)
        h.sum().backward()


class MaskedSoftmax(Mistake):
    """Entries of a softmax are set to 0 in place.

    The softmax needs its result for the derivative. Mask the scores before the softmax; then the remaining entries also sum
    to 1.
    """

    operation = "SoftmaxBackward0"
    numbers = ("(3,)", "masked_fill_")
    remedy = "clone()"

    def wrong():
        scores = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        p = scores.softmax(-1)
        p[torch.tensor([True, False, False])] = 0.0  # <-
        p[1].backward()

    def right():
        scores = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        mask = torch.tensor([True, False, False])
        p = scores.masked_fill(mask, -float("inf")).softmax(-1)
        p[1].backward()


class StatesInOneBuffer(Mistake):
    """The states of a recurrence are written one by one into a buffer.

    Each product saves the previous state, a view of the buffer, and the next assignment modifies the buffer's memory.
    """

    operation = "MulBackward0"
    numbers = ("copy_", "version")
    remedy = "torch.stack"

    def wrong():
        w = torch.tensor(0.5, requires_grad=True)
        states = torch.ones(3)
        for t in range(1, 3):
            states[t] = states[t - 1] * w  # <-
        states.sum().backward()

    def right():
        w = torch.tensor(0.5, requires_grad=True)
        states = [torch.tensor(1.0)]
        for t in range(1, 3):
            states.append(states[t - 1] * w)
        torch.stack(states).sum().backward()


class DetachedAlias(Mistake):
    """A detached tensor is modified in place, as if `detach()` made a copy.

    `detach()` returns another tensor on the same memory.
    """

    operation = "TanhBackward0"
    numbers = ("(2,)", "zero_")
    remedy = "x.detach().clone()"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.tanh()
        shown = y.detach()
        shown.zero_()  # <-
        y.sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.tanh()
        shown = y.detach().clone()
        shown.zero_()
        y.sum().backward()


class RowOfASavedTensor(Mistake):
    """A row of a result is modified, and with it the result that an operation has saved.

    Indexing with a number or a slice returns a view, which shares the memory.
    """

    operation = "ExpBackward0"
    numbers = ("(2, 2)", "zero_")
    remedy = "clone()"

    def wrong():
        x = torch.ones(2, 2, requires_grad=True)
        y = x.exp()
        first = y[0]
        first.zero_()  # <-
        y.sum().backward()

    def right():
        x = torch.ones(2, 2, requires_grad=True)
        y = x.exp()
        first = y[0].clone()
        first.zero_()
        y.sum().backward()


class DataOfASavedTensor(Mistake):
    """A result is modified through `.data`.

    The version counter does not see such a write, so backward continues with wrong numbers. Only debug mode compares the
    numbers themselves.
    """

    under = "debug"
    operation = "ExpBackward0"
    numbers = ("(2,)", ".data")
    remedy = "with torch.no_grad():"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        y.data[0] = 0.0  # <-
        y.sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        y.sum().backward()
        y.data[0] = 0.0


class DataAssignedBeforeBackward(Mistake):
    """A parameter gets new values through `w.data = ...` between the forward pass and backward.

    The derivative of the loss belongs to the old values, which are gone.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", ".data")
    remedy = "after backward"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        w.data = w.data * 0.5  # <-
        loss.backward()

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        old = w.detach()
        fixed = (old * torch.ones(2, requires_grad=True)).sum()
        loss = (w * w).sum()
        loss.backward()
        w.data = w.data * 0.5
        (w * w).sum().backward()
        fixed.backward()  # of the old memory, which is unchanged


class NumpyAlias(Mistake):
    """The NumPy array of a tensor is modified before backward.

    `numpy()` returns the tensor's own memory, and minigrad does not see NumPy's writes.
    """

    under = "debug"
    operation = "SinBackward0"
    numbers = ("(2,)", "numpy()")
    remedy = ".numpy().copy()"

    def wrong():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.sin()
        shown = x.detach().numpy()  # <-
        shown *= 10
        y.sum().backward()

    def right():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.sin()
        shown = x.detach().numpy().copy()
        shown *= 10
        y.sum().backward()


class ReusedArray(Mistake):
    """The array behind a tensor from `from_numpy` is refilled before backward.

    The tensor shares the array's memory, so the next batch overwrites the one that the loss was computed from.
    """

    under = "debug"
    operation = "MulBackward0"
    numbers = ("(2,)", "from_numpy")
    remedy = "torch.tensor(array)"

    def wrong():
        batch = np.array([1.0, 2.0], np.float32)
        w = torch.ones(2, requires_grad=True)
        x = torch.from_numpy(batch)  # <-
        loss = (w * x).sum()
        batch[:] = [3.0, 4.0]
        loss.backward()

    def right():
        batch = np.array([1.0, 2.0], np.float32)
        w = torch.ones(2, requires_grad=True)
        x = torch.tensor(batch)
        loss = (w * x).sum()
        batch[:] = [3.0, 4.0]
        loss.backward()


class UpdateBeforeBackward(Mistake):
    """A parameter is updated under no_grad between the forward pass and backward.

    no_grad keeps the update out of the graph, but the product has saved the parameter, which now has new values.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", "version 1", "mul_")
    remedy = "after backward"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        with torch.no_grad():
            w.mul_(0.5)  # <-
        loss.backward()

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            w.mul_(0.5)


class StepBeforeBackward(Mistake):
    """An optimizer steps before the backward of another loss that depends on the same parameters.

    The second loss was computed with the old parameters, which the step overwrites.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", "version 1")
    remedy = "after backward"

    def wrong():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([3.0, 4.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        first, second = (w**2).sum(), (w * v).sum()
        first.backward()
        optimizer.step()  # <-
        second.backward()

    def right():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([3.0, 4.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        first, second = (w**2).sum(), (w * v).sum()
        first.backward()
        second.backward()
        optimizer.step()


class WriteToExpanded(Mistake):
    """An expanded tensor is modified in place.

    All its rows share one memory, so there is only one row to write to.
    """

    operation = "add_"
    numbers = ("(3, 2)", "expanded")
    remedy = "clone()"

    def wrong():
        bias = torch.zeros(2)
        rows = bias.expand(3, 2)
        rows += 1  # <-

    def right():
        bias = torch.zeros(2)
        rows = bias.expand(3, 2).clone()
        rows += 1


class ResultThatDoesNotFit(Mistake):
    """A larger tensor is added to a smaller one in place.

    Broadcasting would make the result larger, but the memory cannot grow.
    """

    operation = "add_"
    numbers = ("[2]", "[3, 2]")
    remedy = "x = x + ..."

    def wrong():
        total = torch.zeros(2)
        total += torch.ones(3, 2)  # <-

    def right():
        total = torch.zeros(2)
        total = total + torch.ones(3, 2)
        total += torch.ones(2)


class FractionsIntoIntegers(Mistake):
    """Fractions are added to a tensor of integers in place.

    An integer tensor cannot hold decimals.
    """

    operation = "add_"
    numbers = ("float32", "int64")
    remedy = ".float()"

    def wrong():
        count = torch.tensor([1, 2])
        count += 0.5  # <-

    def right():
        count = torch.tensor([1, 2]).float()
        count += 0.5


class WriteToAViewMadeUnderNoGrad(Mistake):
    """A view is made under no_grad, and written to when minigrad records again.

    The view has no place in the graph, so its base would not get the history of the write.
    """

    operation = "mul_"
    numbers = ("view", "no_grad", "(2,)")
    remedy = "clone()"

    def wrong():
        w = torch.tensor(3.0, requires_grad=True)
        states = torch.ones(2, 2)
        with torch.no_grad():
            first = states[0]
        first.mul_(w)  # <-

    def right():
        w = torch.tensor(3.0, requires_grad=True)
        states = torch.ones(2, 2)
        first = states[0]
        first.mul_(w)
        states.sum().backward()


class WriteToAnInferenceTensor(Mistake):
    """A tensor made under inference_mode is modified outside of it.

    Such tensors count no writes, which makes them fast, so minigrad could not notice this one.
    """

    operation = "add_"
    numbers = ("inference", "(2,)")
    remedy = "clone()"

    def wrong():
        with torch.inference_mode():
            x = torch.ones(2)
        x += 1  # <-

    def right():
        with torch.inference_mode():
            x = torch.ones(2)
        x = x.clone()
        x += 1


class DetachAViewInPlace(Mistake):
    """A view is detached in place.

    It would leave the graph while its base, which shares the memory, stays there.
    """

    operation = "detach_"
    numbers = ("view", "(2,)")
    remedy = ".detach()"

    def wrong():
        x = torch.ones(2, 2, requires_grad=True) * 2
        x[0].detach_()  # <-

    def right():
        x = torch.ones(2, 2, requires_grad=True) * 2
        return x[0].detach()


class ForgottenMarkDirty(Mistake):
    """The forward of a Function modifies its input in place without mark_dirty.

    The input has new values but its old place in the graph, so later results would get gradients as if nothing had
    happened.
    """

    operation = "Double"
    numbers = ("(2,)", "mul_", "argument 0")
    remedy = "ctx.mark_dirty("

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)  # <-
                return x

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = torch.ones(2, requires_grad=True) * 1
        Double.apply(x).sum().backward()

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, calls):
                ctx.mark_dirty(x)
                calls += 1  # nothing is differentiated with respect to it
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2, None

        x = torch.ones(2, requires_grad=True) * 1
        calls = torch.tensor(0)
        Double.apply(x, calls).sum().backward()
        with torch.no_grad():
            Double.apply(torch.ones(2), calls)


class NumpyWriteInForward(Mistake):
    """A forward written in NumPy modifies the array of its argument.

    The array is the memory of the input itself. Only debug mode compares the numbers before and after.
    """

    under = "debug"
    operation = "Shift"
    numbers = ("(2,)", "argument 0")
    remedy = ".numpy().copy()"

    def wrong():
        class Shift(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                a = x.numpy()  # <-
                a += 1
                return torch.from_numpy(a)

            @staticmethod
            def backward(ctx, g):
                return g

        Shift.apply(torch.ones(2, requires_grad=True)).sum().backward()

    def right():
        class Shift(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                a = x.numpy().copy()
                a += 1
                return torch.from_numpy(a)

            @staticmethod
            def backward(ctx, g):
                return g

        Shift.apply(torch.ones(2, requires_grad=True)).sum().backward()


class LeafIntoAnInplaceFunction(Mistake):
    """An in-place Function is applied to a parameter.

    The parameter would become its result. Like every in-place operation, the Function needs a tensor that is not a leaf.
    """

    operation = "Double"
    numbers = ("leaf", "(2,)")
    remedy = "clone()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = torch.ones(2, requires_grad=True)
        Double.apply(x)  # <-

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = torch.ones(2, requires_grad=True)
        Double.apply(x.clone()).sum().backward()


class ResultOfAFunctionChanged(Mistake):
    """The result of a custom Function is modified in place, although the Function has saved it for backward.

    `save_for_backward` saves the tensor itself. When backward reads it, it has new values.
    """

    operation = "ExpBackward"
    numbers = ("(2,)", "version 1", "mul_")
    remedy = "clone()"

    def wrong():
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return g * y

        y = Exp.apply(torch.ones(2, requires_grad=True))
        y.mul_(2)  # <-
        y.sum().backward()

    def right():
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return g * y

        y = Exp.apply(torch.ones(2, requires_grad=True))
        (y * 2).sum().backward()


class GradientChangedInBackward(Mistake):
    """A backward modifies its incoming gradient.

    The same memory may be the gradient of other tensors, which would change too.
    """

    operation = "DoubleBackward"
    numbers = ("gradient 0", "(2,)", "mul_")
    remedy = "clone()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                g *= 2  # <-
                return g

        Double.apply(torch.ones(2, requires_grad=True)).sum().backward()

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                g = g * 2
                g += 0
                return g

        Double.apply(torch.ones(2, requires_grad=True)).sum().backward()


class GradientChangedByNumpy(Mistake):
    """A backward written in NumPy modifies the array of its gradient.

    The array is the memory of the gradient itself. Only debug mode compares the numbers before and after.
    """

    under = "debug"
    operation = "DoubleBackward"
    numbers = ("gradient 0", "(2,)")
    remedy = ".numpy().copy()"

    def wrong():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                a = g.numpy()  # <-
                a *= 2
                return torch.from_numpy(a)

        y = Double.apply(torch.ones(2, requires_grad=True))
        (y * 3).sum().backward()

    def right():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                a = g.numpy().copy()
                a *= 2
                return torch.from_numpy(a)

        y = Double.apply(torch.ones(2, requires_grad=True))
        (y * 3).sum().backward()


class SavedTensorChangedInBackward(Mistake):
    """A backward uses a saved input as scratch memory.

    `ctx.saved_tensors` returns the input itself: the caller's tensor, perhaps the training data, has new values after
    backward.
    """

    operation = "SquareBackward"
    numbers = ("saved tensor 0", "(2,)", "mul_")
    remedy = "clone()"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return x.mul_(2) * g  # <-

        Square.apply(torch.ones(2, requires_grad=True)).sum().backward()

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                slope = 2 * x  # no other code uses it, so backward may write to it
                ctx.save_for_backward(x, slope)
                return x * x

            @staticmethod
            def backward(ctx, g):
                _, slope = ctx.saved_tensors
                return slope.mul_(g)

        Square.apply(torch.ones(2, requires_grad=True)).sum().backward()


class ParameterChangedInAHook(Mistake):
    """A hook updates a parameter while backward still needs it.

    Products deeper in the graph have saved the parameter, and need it for their derivatives.
    """

    operation = "MulBackward0"
    numbers = ("(2,)", "mul_")
    remedy = "after backward"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        y = w * torch.ones(2, requires_grad=True)

        def decay(g):
            with torch.no_grad():
                w.mul_(0.9)  # <-

        y.register_hook(decay)
        y.sum().backward()

    def right():
        w = torch.ones(2, requires_grad=True)
        y = w * torch.ones(2, requires_grad=True)
        y.sum().backward()
        with torch.no_grad():
            w.mul_(0.9)


class PackHookThatWrites(Mistake):
    """The pack hook of saved_tensors_hooks modifies the tensor to save.

    It receives the tensor itself, with which the program continues to compute.
    """

    operation = "saved_tensors_hooks"
    numbers = ("(2,)", "mul_")
    remedy = "clone()"

    def wrong():
        def pack(t):
            return t.mul_(0.5)  # <-

        x = torch.ones(2, requires_grad=True) * 1
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):
            x.exp()

    def right():
        x = torch.ones(2, requires_grad=True) * 1
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone().mul_(0.5), lambda t: t * 2):
            x.exp().sum().backward()
