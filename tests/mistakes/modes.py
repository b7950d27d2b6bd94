"""no_grad, inference_mode and detach."""

import numpy as np

import minigrad as torch

from . import Mistake


class ForwardUnderNoGrad(Mistake):
    """The loss is computed under `no_grad`.

    no_grad records nothing, so there is nothing to differentiate afterwards. Debug mode names the operation whose history
    is missing.
    """

    operation = "backward"
    numbers = ("no_grad", "(2,)")
    remedy = "outside"
    under = "debug"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            squares = w * w  # <-
        loss = squares.sum()
        loss.backward()

    def right():
        w = torch.ones(2, requires_grad=True)
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            (w * w).sum()


class DetachInTheMiddle(Mistake):
    """A result is detached on the way to the loss.

    Tensors before `detach()` get no gradient. Debug mode names the line where the history ends.
    """

    operation = "backward"
    numbers = ("detach", "(2,)")
    remedy = "remove .detach() from line"
    under = "debug"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        hidden = (w * 3).detach()  # - <-
        # + hidden = w * 3
        loss = hidden.pow(2).sum()
        loss.backward()
        # + return hidden.detach()


class DataInTheMiddle(Mistake):
    """`.data` of a result is used on the way to the loss.

    It shares the memory but has no history, as after `detach()`: no gradient passes.
    """

    operation = "backward"
    numbers = ("data", "(2,)")
    remedy = "remove .data"
    under = "debug"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        hidden = (w * 3).data  # - <-
        # + hidden = w * 3
        loss = hidden.pow(2).sum()
        loss.backward()


class ArgmaxInLoss(Mistake):
    """A loss is computed from the predicted class.

    `argmax` returns the index of the largest number. An index does not change when the numbers change a little, so it has
    no slope; use a loss for classes.
    """

    operation = "backward"
    numbers = ("argmax", "(4, 3)")
    remedy = "cross_entropy"
    under = "debug"

    def wrong():
        logits = torch.ones(4, 3, requires_grad=True)
        classes = logits.argmax(1)  # <-
        loss = ((classes - torch.tensor([0, 1, 2, 0])) ** 2).float().mean()
        loss.backward()

    def right():
        logits = torch.ones(4, 3, requires_grad=True)
        target = torch.tensor([0, 1, 2, 0])
        torch.nn.functional.cross_entropy(logits, target).backward()
        return (logits.argmax(1) == target).float().mean()


class ComparisonInLoss(Mistake):
    """A loss counts errors with a comparison.

    The result of a comparison jumps between True and False, so it has no slope.
    """

    operation = "backward"
    numbers = ("gt", "(3,)")
    remedy = "sigmoid"
    under = "debug"

    def wrong():
        scores = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
        errors = (scores > 0) != torch.tensor([True, True, False])  # - <-
        errors.float().mean().backward()  # -
        # + target = torch.tensor([1.0, 1.0, 0.0])
        # + torch.nn.functional.binary_cross_entropy_with_logits(scores, target).backward()


class ConvertedToInteger(Mistake):
    """A result is converted to integers on the way to the loss.

    Integers have no small changes, and so no derivatives.
    """

    operation = "backward"
    numbers = ("int64", "(2,)")
    remedy = "floating-point"
    under = "debug"

    def wrong():
        w = torch.tensor([1.5, 2.5], requires_grad=True)
        pixels = (w * 255).long()  # - <-
        loss = pixels.float().sum()  # -
        # + loss = (w * 255).sum()
        loss.backward()


class RoundInTheMiddle(Mistake):
    """A result is rounded on the way to the loss.

    `round` is flat everywhere: its slope is 0, and so is the gradient of everything before it.
    """

    says = "zero-gradient"
    operation = "round"
    numbers = ("(2,)",)
    remedy = "y + (y.round() - y).detach()"
    under = "debug"

    def wrong():
        w = torch.tensor([0.4, 1.4], requires_grad=True)
        levels = (w * 3).round()  # <-
        loss = (levels - 2).pow(2).sum()
        loss.backward()

    def right():
        w = torch.tensor([0.4, 1.4], requires_grad=True)
        y = w * 3
        levels = y + (y.round() - y).detach()
        fraction = y - y.floor()
        loss = (levels - 2).pow(2).sum() + fraction.sum()
        loss.backward()


class SignInTheMiddle(Mistake):
    """The sign of a result is used on the way to the loss.

    `sign` is flat on both sides of 0: the gradient of everything before it is 0.
    """

    says = "zero-gradient"
    operation = "sign"
    numbers = ("(2,)",)
    remedy = "tanh"
    under = "debug"

    def wrong():
        w = torch.tensor([0.4, -1.4], requires_grad=True)
        votes = w.sign()  # - <-
        loss = (votes - 1).pow(2).sum()  # -
        # + loss = (w.tanh() - 1).pow(2).sum() + (w * w.sign()).sum()
        loss.backward()


class EncoderDetached(Mistake):
    """The features of one part are detached before the next.

    The second part is trained, the first never gets a gradient, and the loss still goes down. The warning names the
    parameters that were used but are cut off.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("0.weight", "0.bias", "detach", "(2, 3)")
    remedy = "remove .detach() from line"
    under = "debug"

    def wrong():
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))  # -
        # + model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1), torch.nn.Linear(2, 1))
        # + model[0].bias.requires_grad = False  # frozen, and head number 2 is not used
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        features = model[0](torch.ones(4, 3)).detach()  # - <-
        # + features = model[0](torch.ones(4, 3))
        model[1](features).sum().backward()
        # + features.detach().mean()
        optimizer.step()


class ForwardOfEncoderUnderNoGrad(Mistake):
    """A trainable part of the model runs under `no_grad`.

    Its parameters never get a gradient, while those of the other part do.
    """

    says = "parameter-cut-off"
    operation = "Adam"
    numbers = ("0.weight", "no_grad")
    remedy = "outside"
    under = "debug"

    def wrong():
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
        # + for p in model[0].parameters():
        # +     p.requires_grad_(False)
        optimizer = torch.optim.Adam(model.parameters())
        with torch.no_grad():
            features = model[0](torch.ones(4, 3))  # <-
        model[1](features).sum().backward()
        optimizer.step()


class NoGradAsStatement(Mistake):
    """`torch.no_grad()` is a statement on its own line.

    It creates a switch and throws it away: recording continues. Use it as `with torch.no_grad():`, or as a decorator.
    """

    says = "mode-not-entered"
    operation = "no_grad"
    remedy = "with torch.no_grad():"

    def wrong():
        x = torch.ones(2, requires_grad=True)
        torch.no_grad()  # <-
        return x * 2

    def right():
        x = torch.ones(2, requires_grad=True)
        unused = torch.no_grad()
        del unused
        torch.set_grad_enabled(True)
        with torch.no_grad():
            return x * 2


class InferenceModeAsStatement(Mistake):
    """`torch.inference_mode()` is a statement on its own line.

    It creates a switch and throws it away: recording continues.
    """

    says = "mode-not-entered"
    operation = "inference_mode"
    remedy = "with torch.inference_mode():"

    def wrong():
        model = torch.nn.Linear(2, 1)
        torch.inference_mode()  # - <-
        return model(torch.ones(1, 2))  # -
        # + with torch.inference_mode():
        # +     return model(torch.ones(1, 2))


class WithoutCall(Mistake):
    """`with torch.no_grad:` lacks its parentheses.

    `no_grad` is a class; call it to create the switch.
    """

    says = TypeError
    operation = "no_grad"
    remedy = "with torch.no_grad():"

    def wrong():
        # + with torch.no_grad():
        with torch.no_grad:  # - <-
            pass


class DecoratorWithoutFlag(Mistake):
    """`@torch.set_grad_enabled` is used without its flag.

    It needs True to record, or False not to.
    """

    says = TypeError
    operation = "set_grad_enabled"
    numbers = ("predict",)
    remedy = "set_grad_enabled(False)"

    def wrong():
        @torch.set_grad_enabled  # <-
        def predict(x):
            return x * 2

    def right():
        @torch.no_grad
        def predict(x):
            return x * 2

        @torch.set_grad_enabled(False)
        def other(x):
            return x * 2

        x = torch.ones(2, requires_grad=True)
        assert not predict(x).requires_grad and not other(x).requires_grad


class InferenceTensorSaved(Mistake):
    """A tensor from `inference_mode` is used in training.

    Such tensors do not count writes, so backward could not know if the numbers are still right. Under `no_grad` writes are
    counted.
    """

    operation = "save_for_backward"
    numbers = ("(2,)",)
    remedy = "clone()"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        with torch.inference_mode():
            features = torch.ones(2) * 3
        return (w * features).sum()  # - <-
        # + return (w * features.clone()).sum()


class InferenceTensorAsParameter(Mistake):
    """A tensor from `inference_mode` is set to require grad.

    It can never be part of a graph; a copy can.
    """

    operation = "requires_grad_"
    remedy = "clone()"

    def wrong():
        with torch.inference_mode():
            w = torch.ones(2) * 3
        w.requires_grad_()  # - <-
        # + w.clone().requires_grad_()


class NumPyOfTracked(Mistake):
    """A tensor that requires grad is converted to a NumPy array.

    NumPy does not record how its numbers were computed, so no gradient could flow back.
    """

    operation = "numpy"
    numbers = ("(3,)",)
    remedy = "detach().numpy()"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        return (x * 2).numpy()  # - <-
        # + return (x * 2).detach().numpy()


class NumPyFunction(Mistake):
    """A NumPy function is called on a tensor that requires grad.

    NumPy does not record how its numbers were computed. minigrad has the function under the same name.
    """

    operation = "sin"
    numbers = ("(3,)",)
    remedy = "torch.sin"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        return np.sin(x)  # - <-
        # + return torch.sin(x), np.sin(x.detach())


class ClassDecorated(Mistake):
    """A class is decorated with `no_grad`.

    The switch applies while a function runs.
    """

    says = TypeError
    operation = "no_grad"
    numbers = ("Evaluator",)
    remedy = "methods"

    def wrong():
        @torch.no_grad()  # <-
        class Evaluator:
            pass

    def right():
        class Evaluator:
            @torch.no_grad()
            def run(self, x):
                return x * 2

        Evaluator().run(torch.ones(2, requires_grad=True))
