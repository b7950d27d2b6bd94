"""Modules, losses and optimizers."""

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import Mistake


class StepAfterClearing(Mistake):
    """`optimizer.step()` runs after `zero_grad()` has cleared the gradients.

    The order is: clear, forward, backward, step. Without gradients `step()` changes nothing.
    """

    says = "step-without-gradients"
    operation = "SGD"
    numbers = ("2 parameters",)
    remedy = "loss.backward()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(4, 3)).mean().backward()
        optimizer.zero_grad()
        optimizer.step()  # <-

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        for _ in range(3):  # only lists the rates
            optimizer.step()
            schedule.step()
        optimizer.zero_grad()
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()


class BackwardForgotten(Mistake):
    """A loss is computed, but `backward` is never called.

    No gradient is computed, and `step()` changes nothing.
    """

    says = "step-without-gradients"
    operation = "Adam"
    numbers = ("2 parameters",)
    remedy = "loss.backward()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        loss = model(torch.ones(4, 3)).mean()
        optimizer.step()  # <-
        print(loss.item())

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        loss = model(torch.ones(4, 3)).mean()
        loss.backward()
        optimizer.step()


class GradientsNotCleared(Mistake):
    """`zero_grad()` is forgotten between two steps.

    backward adds to existing gradients, so the second step follows the sum of both.
    """

    says = "gradients-not-cleared"
    operation = "SGD"
    numbers = ("2 of 2 parameters",)
    remedy = "optimizer.zero_grad()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(4, 3)).mean().backward()
            optimizer.step()  # <-

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for clear in (
            optimizer.zero_grad,
            lambda: optimizer.zero_grad(set_to_none=False),
            model.zero_grad,
            lambda: [p.grad.data.zero_() for p in model.parameters()],
            lambda: [p.grad.detach().zero_() for p in model.parameters()],
            lambda: [p.grad.fill_(0) for p in model.parameters()],
        ):
            for _ in range(2):  # the gradient of two batches
                model(torch.ones(4, 3)).mean().backward()
            optimizer.step()
            clear()


class ReplacedAfterOptimizer(Mistake):
    """A layer is replaced after the optimizer was made.

    The optimizer has the parameters of the old layer and never updates those of the new one.
    """

    says = "replaced-parameter"
    operation = "SGD"
    numbers = ("1.weight", "(1, 2)")
    remedy = "make the optimizer after"

    def wrong():
        model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model[1] = nn.Linear(2, 5)  # <-
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()

    def right():
        model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
        model[1] = nn.Linear(2, 5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model[1] = nn.Linear(2, 4)
        optimizer.add_param_group({"params": model[1].parameters()})
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()


class ParameterReplacedAfterOptimizer(Mistake):
    """A parameter is replaced after the optimizer was made.

    The optimizer has the old parameter, which the model no longer uses. Write to the parameter instead, or make the
    optimizer later.
    """

    says = "replaced-parameter"
    operation = "Adam"
    numbers = ("weight", "(1, 3)")
    remedy = "make the optimizer after"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        model.weight = nn.Parameter(torch.zeros(1, 3))  # <-
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        nn.init.zeros_(model.weight)
        model(torch.ones(4, 3)).mean().backward()
        optimizer.step()


class LayersInList(Mistake):
    """Layers are kept in a plain list.

    A module finds its parts through attributes. It does not look into lists, so these layers are never trained, saved or
    moved.
    """

    says = "unregistered-parameters"
    operation = "SGD"
    numbers = ("Net.layers", "4 parameters")
    remedy = "nn.ModuleList"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]
                self.head = nn.Linear(3, 1)

        torch.optim.SGD(Net().parameters(), lr=0.1)  # <-

    def right():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
                self.head = nn.Linear(3, 1)
                self.all = [*self.layers, self.head]
                self.teacher = [nn.Linear(3, 1).requires_grad_(False)]
                self.extra = [nn.Linear(3, 1)]

        net = Net()
        torch.optim.SGD([{"params": net.parameters()}, {"params": net.extra[0].parameters()}], lr=0.1)


class ParametersInList(Mistake):
    """Parameters are kept in a plain list.

    A module finds its parameters through attributes, and does not look into lists, so there is nothing to optimize.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("Net.weights", "2 parameters")
    remedy = "nn.ParameterList"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))]

        torch.optim.SGD(Net().parameters(), lr=0.1)  # <-

    def right():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))])

        torch.optim.SGD(Net().parameters(), lr=0.1)


class UsedUpParameters(Mistake):
    """The parameters are counted before they are passed to the optimizer.

    `parameters()` returns an iterator, which yields each parameter once and is then empty.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("used up",)
    remedy = "list(model.parameters())"

    def wrong():
        parameters = nn.Linear(3, 1).parameters()
        sum(p.numel() for p in parameters)
        torch.optim.SGD(parameters, lr=0.1)  # <-

    def right():
        parameters = list(nn.Linear(3, 1).parameters())
        sum(p.numel() for p in parameters)
        torch.optim.SGD(parameters, lr=0.1)


class ModelGivenToOptimizer(Mistake):
    """The optimizer gets the model instead of its parameters."""

    __doc__ += "\n\n    An optimizer updates tensors, and does not look for them itself."
    says = TypeError
    operation = "SGD"
    numbers = ("Linear",)
    remedy = "model.parameters()"

    def wrong():
        model = nn.Linear(3, 1)
        torch.optim.SGD(model, lr=0.1)  # <-

    def right():
        model = nn.Linear(3, 1)
        torch.optim.SGD(model.parameters(), lr=0.1)


class ParametersNotCalled(Mistake):
    """The optimizer gets the method `parameters` instead of its result.

    The parentheses are missing.
    """

    says = TypeError
    operation = "Adam"
    numbers = ("parameters",)
    remedy = "model.parameters()"

    def wrong():
        model = nn.Linear(3, 1)
        torch.optim.Adam(model.parameters)  # <-

    def right():
        model = nn.Linear(3, 1)
        torch.optim.Adam(model.parameters())


class ParametersInsideList(Mistake):
    """The iterator of the parameters is put into a list.

    `[model.parameters()]` is a list with one iterator in it, not a list of parameters.
    """

    says = TypeError
    operation = "SGD"
    numbers = ("generator",)
    remedy = "[*a.parameters(), *b.parameters()]"

    def wrong():
        a, b = nn.Linear(3, 1), nn.Linear(3, 1)
        torch.optim.SGD([a.parameters(), b.parameters()], lr=0.1)  # <-

    def right():
        a, b = nn.Linear(3, 1), nn.Linear(3, 1)
        torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)


class OptimizerOfResult(Mistake):
    """The optimizer gets the result of an operation.

    Scaling a tensor that requires grad returns a result, which gets no `.grad`. Scale first, then call `requires_grad_()`.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("mul", "(3,)")
    remedy = "requires_grad_()"

    def wrong():
        w = torch.ones(3, requires_grad=True) * 0.1
        torch.optim.SGD([w], lr=0.1)  # <-

    def right():
        w = (torch.ones(3) * 0.1).requires_grad_()
        torch.optim.SGD([w], lr=0.1)


class LossGivenToStep(Mistake):
    """The loss is passed to `step`.

    `step` reads the gradients from the parameters. It accepts only a function that recomputes the loss.
    """

    says = TypeError
    operation = "SGD"
    numbers = ("Tensor",)
    remedy = "loss.backward()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = (w * w).sum()
        optimizer.step(loss)  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = (w * w).sum()
        loss.backward()
        optimizer.step()


class NegativeRate(Mistake):
    """The learning rate is negative.

    The optimizer already goes against the gradient, with a positive rate; `maximize=True` goes along it.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("-0.1",)
    remedy = "maximize=True"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        torch.optim.SGD([w], lr=-0.1)  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        torch.optim.SGD([w], lr=0.1, maximize=True)


class LossNotScalar(Mistake):
    """backward is called on a tensor of many losses.

    It starts from one number. For several, it would need a weight for each.
    """

    operation = "backward"
    numbers = ("(4, 1)",)
    remedy = ".sum()"

    def wrong():
        model = nn.Linear(3, 1)
        loss = model(torch.ones(4, 3)) ** 2
        loss.backward()  # <-

    def right():
        model = nn.Linear(3, 1)
        loss = (model(torch.ones(4, 3)) ** 2).mean()
        loss.backward()


class SoftmaxBeforeCrossEntropy(Mistake):
    """Probabilities are passed to `cross_entropy`.

    It applies the softmax itself. After a second softmax the probabilities cannot come near 0 or 1, and learning is slow.
    """

    says = "softmax-twice"
    operation = "cross_entropy"
    numbers = ("softmax",)
    remedy = "logits"

    def wrong():
        logits = torch.zeros(4, 3, requires_grad=True)
        target = torch.tensor([0, 1, 2, 0])
        F.cross_entropy(logits.softmax(1), target).backward()  # <-

    def right():
        logits = torch.zeros(4, 3, requires_grad=True)
        target = torch.tensor([0, 1, 2, 0])
        F.cross_entropy(logits, target).backward()
        F.cross_entropy(logits.log_softmax(1), target).backward()
        F.nll_loss(logits.log_softmax(1), target).backward()


class SoftmaxBeforeNll(Mistake):
    """Probabilities are passed to `nll_loss`.

    It expects their logarithms and only picks the one of the right class. It does not compute a logarithm.
    """

    says = "probabilities-as-logarithms"
    operation = "nll_loss"
    numbers = ("softmax",)
    remedy = "log_softmax"

    def wrong():
        logits = torch.zeros(4, 3, requires_grad=True)
        target = torch.tensor([0, 1, 2, 0])
        F.nll_loss(logits.softmax(1), target).backward()  # <-

    def right():
        logits = torch.zeros(4, 3, requires_grad=True)
        target = torch.tensor([0, 1, 2, 0])
        F.nll_loss(logits.log_softmax(1), target).backward()
        F.nll_loss(logits.softmax(1).log(), target).backward()


class SoftmaxInKlDiv(Mistake):
    """Probabilities are passed to `kl_div` as its input.

    The input has to be log-probabilities; only the target is probabilities.
    """

    says = "probabilities-as-logarithms"
    operation = "kl_div"
    numbers = ("softmax",)
    remedy = "log_softmax"

    def wrong():
        logits = torch.zeros(4, 3, requires_grad=True)
        target = torch.ones(4, 3) / 3
        F.kl_div(logits.softmax(1), target, reduction="batchmean").backward()  # <-

    def right():
        logits = torch.zeros(4, 3, requires_grad=True)
        target = torch.ones(4, 3) / 3
        F.kl_div(logits.log_softmax(1), target, reduction="batchmean").backward()


class SigmoidBeforeLogits(Mistake):
    """Probabilities are passed to `binary_cross_entropy_with_logits`.

    It applies the sigmoid itself.
    """

    says = "sigmoid-twice"
    operation = "binary_cross_entropy_with_logits"
    numbers = ("sigmoid",)
    remedy = "logits"

    def wrong():
        logits = torch.zeros(4, requires_grad=True)
        F.binary_cross_entropy_with_logits(logits.sigmoid(), torch.ones(4)).backward()  # <-

    def right():
        logits = torch.zeros(4, requires_grad=True)
        F.binary_cross_entropy_with_logits(logits, torch.ones(4)).backward()
        F.binary_cross_entropy(logits.sigmoid(), torch.ones(4)).backward()


class LogitsInBce(Mistake):
    """Logits are passed to `binary_cross_entropy`.

    It takes probabilities, between 0 and 1.
    """

    operation = "binary_cross_entropy"
    numbers = ("-1", "3")
    remedy = "binary_cross_entropy_with_logits"

    def wrong():
        logits = torch.tensor([-1.0, 3.0], requires_grad=True)
        F.binary_cross_entropy(logits, torch.ones(2))  # <-

    def right():
        logits = torch.tensor([-1.0, 3.0], requires_grad=True)
        F.binary_cross_entropy_with_logits(logits, torch.ones(2))


class OneClass(Mistake):
    """`cross_entropy` is used with a single output.

    The softmax of one number is always 1, so the loss is always 0 and the model learns nothing.
    """

    says = "one-class"
    operation = "cross_entropy"
    numbers = ("(4, 1)",)
    remedy = "binary_cross_entropy_with_logits"

    def wrong():
        scores = torch.ones(4, 1, requires_grad=True)
        F.cross_entropy(scores, torch.zeros(4, dtype=torch.int64)).backward()  # <-

    def right():
        scores = torch.ones(4, 1, requires_grad=True)
        F.binary_cross_entropy_with_logits(scores, torch.zeros(4, 1)).backward()


class LossMadeOfTensors(Mistake):
    """The prediction is passed to the constructor of a loss.

    `nn.MSELoss(...)` creates a loss with its settings. Pass the tensors in a second call.
    """

    operation = "MSELoss"
    numbers = ("(4,)",)
    remedy = "MSELoss()(input, target)"

    def wrong():
        prediction, target = torch.zeros(4, requires_grad=True), torch.ones(4)
        return nn.MSELoss(prediction, target)  # <-

    def right():
        prediction, target = torch.zeros(4, requires_grad=True), torch.ones(4)
        nn.CrossEntropyLoss(torch.ones(3))
        return nn.MSELoss()(prediction, target), F.mse_loss(prediction, target)


class ActivationMadeOfTensor(Mistake):
    """A tensor is passed to the constructor of an activation.

    `nn.ReLU(...)` creates a layer with its settings. Pass the tensor in a second call.
    """

    says = TypeError
    operation = "ReLU"
    numbers = ("(4,)",)
    remedy = "ReLU()(input)"

    def wrong():
        x = torch.zeros(4, requires_grad=True)
        return nn.ReLU(x)  # <-

    def right():
        x = torch.zeros(4, requires_grad=True)
        return nn.ReLU()(x), x.relu(), nn.ReLU(inplace=True)


class SuperInitForgotten(Mistake):
    """`super().__init__()` is forgotten.

    It creates the dicts in which a module keeps its parts.
    """

    says = AttributeError
    operation = "Net"
    numbers = ("'layer'",)
    remedy = "super().__init__()"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(3, 1)  # <-

        Net()

    def right():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 1)

        Net()


class SuperInitForgottenWithoutParts(Mistake):
    """`super().__init__()` is forgotten in a module without parts.

    The mistake shows only when the module is called.
    """

    says = AttributeError
    operation = "Scale"
    remedy = "super().__init__()"

    def wrong():
        class Scale(nn.Module):
            def __init__(self, factor):
                self.factor = factor

            def forward(self, x):
                return self.factor * x

        Scale(2.0)(torch.ones(2))  # <-

    def right():
        class Scale(nn.Module):
            def __init__(self, factor):
                super().__init__()
                self.factor = factor

            def forward(self, x):
                return self.factor * x

        Scale(2.0)(torch.ones(2))


class ForwardMisspelt(Mistake):
    """`forward` is misspelt.

    Calling a module calls its `forward`.
    """

    says = NotImplementedError
    operation = "Net"
    numbers = ("foward",)
    remedy = "def forward(self, input)"

    def wrong():
        class Net(nn.Module):
            def foward(self, x):
                return x * 2

        Net()(torch.ones(2))  # <-

    def right():
        class Net(nn.Module):
            def forward(self, x):
                return x * 2

        Net()(torch.ones(2))


class TensorAsParameter(Mistake):
    """A plain tensor replaces a parameter.

    A module recognizes parameters by their type.
    """

    says = TypeError
    operation = "Linear"
    numbers = ("'weight'",)
    remedy = "nn.Parameter"

    def wrong():
        model = nn.Linear(3, 1)
        model.weight = torch.zeros(1, 3)  # <-

    def right():
        model = nn.Linear(3, 1)
        model.weight = nn.Parameter(torch.zeros(1, 3))


class IntegersAsParameter(Mistake):
    """A parameter is made of integers.

    Derivatives are about small changes, which integers do not have.
    """

    operation = "requires_grad_"
    numbers = ("int64",)
    remedy = "float"

    def wrong():
        return nn.Parameter(torch.tensor([1, 2]))  # <-

    def right():
        return nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([1, 2]), requires_grad=False)


class ListInSequential(Mistake):
    """A list of layers is given to `Sequential`.

    It takes the layers one by one.
    """

    says = TypeError
    operation = "Sequential"
    numbers = ("list",)
    remedy = "Sequential(*layers)"

    def wrong():
        layers = [nn.Linear(3, 2), nn.ReLU()]
        return nn.Sequential(layers)  # <-

    def right():
        layers = [nn.Linear(3, 2), nn.ReLU()]
        return nn.Sequential(*layers)


class WrongInputSize(Mistake):
    """The input of a layer has a different size than the layer expects."""

    __doc__ += "\n\n    The last dimension of the input of `nn.Linear(8, 2)` has to be 8."
    operation = "linear"
    numbers = ("(4, 3)", "(2, 8)")
    remedy = "8"

    def wrong():
        return nn.Linear(8, 2)(torch.ones(4, 3))  # <-

    def right():
        return nn.Linear(8, 2)(torch.ones(4, 8))


class BatchOfOne(Mistake):
    """Batch normalisation is trained with a batch of one example.

    One number has a spread of 0, by which it cannot be divided. The last batch of an epoch is often that small.
    """

    says = ValueError
    operation = "batch_norm"
    numbers = ("(1, 3)",)
    remedy = "eval()"

    def wrong():
        model = nn.BatchNorm1d(3)
        model(torch.ones(1, 3))  # <-

    def right():
        model = nn.BatchNorm1d(3)
        model.eval()
        model(torch.ones(1, 3))


class ScheduleBeforeOptimizer(Mistake):
    """The schedule steps before the optimizer.

    The first learning rate is then never used.
    """

    says = "schedule-before-step"
    operation = "StepLR"
    remedy = "optimizer.step()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        (w * w).sum().backward()
        schedule.step()  # <-
        optimizer.step()

    def right():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        (w * w).sum().backward()
        optimizer.step()
        schedule.step()


class ParameterTwice(Mistake):
    """A parameter is in an optimizer's list twice.

    Each step updates it twice, as with twice the learning rate.
    """

    says = "repeated-parameter"
    operation, numbers, remedy = "SGD", ("several times",), "dict.fromkeys"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        return torch.optim.SGD([w, w], lr=0.1)  # <-

    def right():
        w = torch.ones(2, requires_grad=True)
        return torch.optim.SGD([w], lr=0.1)


class CheckpointWithoutForm(Mistake):
    """`checkpoint` is called without `use_reentrant`.

    It then uses the older form, as PyTorch does, which does not support `grad`, keyword arguments and second derivatives.
    """

    says = "checkpoint-form"
    operation = "checkpoint"
    numbers = ("use_reentrant is missing",)
    remedy = "use_reentrant=False"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        torch.utils.checkpoint.checkpoint(torch.exp, x).sum().backward()  # <-

    def right():
        x = torch.ones(3, requires_grad=True)
        torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).sum().backward()


class CheckpointWithoutGradient(Mistake):
    """A checkpoint of the older form gets no argument that requires grad.

    The checkpoint is a Function of its arguments. Parameters that it only captures do not count, so no tensor inside gets a
    gradient.
    """

    says = "checkpoint-without-grad"
    operation = "checkpoint"
    numbers = ("none of the arguments requires grad",)
    remedy = "use_reentrant=False"

    def wrong():
        model = nn.Linear(3, 1)
        torch.utils.checkpoint.checkpoint(model, torch.ones(4, 3), use_reentrant=True)  # <-

    def right():
        model = nn.Linear(3, 1)
        torch.utils.checkpoint.checkpoint(model, torch.ones(4, 3), use_reentrant=False).sum().backward()
        assert model.weight.grad is not None
