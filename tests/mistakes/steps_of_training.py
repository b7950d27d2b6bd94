"""Steps of training that do nothing, or train something else."""

import copy

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import Mistake


class BackwardWithoutParentheses(Mistake):
    """`loss.backward` lacks its parentheses.

    The line names the method but does not call it. No gradient is computed, and `step()` changes nothing.
    """

    says = "method-not-called"
    operation = "backward"
    numbers = ("loss.backward",)
    remedy = "loss.backward()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward  # <-
        optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


class StepWithoutParentheses(Mistake):
    """`optimizer.step` lacks its parentheses.

    The gradients are computed and cleared in each round, and the parameters never change.
    """

    says = "method-not-called"
    operation = "step"
    numbers = ("optimizer.step",)
    remedy = "optimizer.step()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step  # <-

    def right():
        class Counter:
            """A class of the program, whose `step` is a property."""

            n = 0

            @property
            def step(self):
                self.n += 1

        model, counter = nn.Linear(3, 1), Counter()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            counter.step  # noqa: B018
            optimizer.step()


class ZeroGradWithoutParentheses(Mistake):
    """`optimizer.zero_grad` lacks its parentheses.

    Each step follows the sum of all gradients so far.
    """

    says = "method-not-called"
    operation = "zero_grad"
    numbers = ("optimizer.zero_grad",)
    remedy = "optimizer.zero_grad()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad  # <-
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()


class GradZeroWithoutParentheses(Mistake):
    """`w.grad.zero_` lacks its parentheses, in a loop without an optimizer.

    The gradient keeps growing.
    """

    says = "method-not-called"
    operation = "zero_"
    numbers = ("w.grad.zero_",)
    remedy = "w.grad.zero_()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        for _ in range(3):
            (w**2).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad.zero_  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        for _ in range(3):
            (w**2).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad.zero_()


class EvalWithoutParentheses(Mistake):
    """`model.eval` lacks its parentheses.

    The model stays in training mode, and dropout drops elements of its predictions.
    """

    says = "method-not-called"
    operation = "eval"
    numbers = ("model.eval",)
    remedy = "model.eval()"

    def wrong():
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        model(torch.ones(4, 3)).pow(2).mean().backward()
        model.eval  # <-
        with torch.no_grad():
            print(model(torch.ones(2, 3)).shape)

    def right():
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        model(torch.ones(4, 3)).pow(2).mean().backward()
        model.eval()
        with torch.no_grad():
            print(model(torch.ones(2, 3)).shape)


class RetainGradWithoutParentheses(Mistake):
    """`y.retain_grad` lacks its parentheses.

    `backward` does not keep the gradient of `y`, which is not a leaf.
    """

    says = "method-not-called"
    operation = "retain_grad"
    numbers = ("y.retain_grad",)
    remedy = "y.retain_grad()"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad  # <-
        y.sum().backward()

    def right():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad()
        y.sum().backward()
        print(y.grad.sum())


class UpdateOfALoopVariable(Mistake):
    """The update assigns the variable of the loop.

    `p = p - ...` binds the name to a new tensor; the parameter of the model stays as it is.
    """

    says = "loop-variable-update"
    operation = "p"
    numbers = ("gives the loop's variable p a new tensor",)
    remedy = "p -= 0.1 * p.grad"

    def wrong():
        model = nn.Linear(3, 1)
        for _ in range(2):
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p = p - 0.1 * p.grad  # <-

    def right():
        model = nn.Linear(3, 1)
        new = []
        for _ in range(2):
            model.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                for p in model.parameters():
                    p = p - 0.1 * p.grad  # a copy, which is used
                    new.append(p)


class OptimizerOfTheOldModel(Mistake):
    """The model is made again after its optimizer.

    The optimizer still has the parameters of the first model, which never receive a gradient.
    """

    says = "unrelated-parameters"
    operation = "SGD"
    numbers = ("none of its 2 parameters has a gradient", "2 others")
    remedy = "SGD(model.parameters())"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <-
        model = nn.Linear(3, 1)
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model = nn.Sequential(model, nn.ReLU())
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()


class OptimizerOfACopy(Mistake):
    """The optimizer gets the parameters of a copy of the model.

    `copy.deepcopy` copies the parameters, too.
    """

    says = "unrelated-parameters"
    operation = "Adam"
    numbers = ("none of its 2 parameters has a gradient", "which no optimizer has")
    remedy = "make the optimizer of the model that computes the loss"

    def wrong():
        model = nn.Linear(3, 1)
        best = copy.deepcopy(model)
        optimizer = torch.optim.Adam(best.parameters(), lr=0.1)  # <-
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()

    def right():
        generator, critic, spare = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        first = torch.optim.Adam(generator.parameters(), lr=0.1)
        second = torch.optim.Adam(critic.parameters(), lr=0.1)
        third = torch.optim.SGD(spare.parameters(), lr=0.1)
        loss = critic(generator(torch.ones(4, 3)).detach()).pow(2).mean()
        loss.backward()
        for optimizer in (first, second, third):  # each loss trains some of them
            optimizer.step()


class RequiresGradOfTheLoss(Mistake):
    """A loss without a history is made to require grad.

    `backward` works again, but it differentiates the loss by itself. The parameters get no gradient.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("none of its 2 parameters has a gradient", "argmax", "requires_grad of the loss itself")
    remedy = "cross_entropy(logits, target)"

    def wrong():
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        prediction = model(torch.ones(4, 3)).argmax(1)  # <-
        loss = F.mse_loss(prediction.float(), torch.zeros(4))
        loss.requires_grad = True
        loss.backward()
        optimizer.step()

    def right():
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = F.cross_entropy(model(torch.ones(4, 3)), torch.zeros(4, dtype=torch.int64))
        loss.backward()
        optimizer.step()


class LossMadeOfANumber(Mistake):
    """The loss is a new tensor, made of the number of the loss.

    `requires_grad=True` makes it a leaf, not a result of the model.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("none of its 2 parameters has a gradient", "item")
    remedy = "compute with the tensor itself"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        value = model(torch.ones(2, 3)).pow(2).mean().item()  # <-
        loss = torch.tensor(value, requires_grad=True)
        loss.backward()
        optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


class OutputUnderNoGrad(Mistake):
    """The output is computed under `no_grad`, and the loss is made to require grad.

    The error of `backward` is gone, and so is the training.
    """

    says = "parameter-cut-off"
    operation = "SGD"
    numbers = ("under no_grad", "requires_grad of the loss itself")
    remedy = "compute it outside of the block"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.no_grad():
            output = model(torch.ones(2, 3))  # <-
        loss = output.pow(2).mean().requires_grad_()
        loss.backward()
        optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


class FakeDetachedForTheGenerator(Mistake):
    """The generator of a GAN is trained with detached images.

    Detach them for the loss of the discriminator only.
    """

    says = "parameter-cut-off"
    operation = "Adam"
    numbers = ("none of its 2 parameters has a gradient", "detach")
    remedy = "remove .detach()"

    def wrong():
        generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
        optimizer = torch.optim.Adam(generator.parameters())
        fake = generator(torch.ones(4, 2)).detach()  # <-
        loss = F.binary_cross_entropy_with_logits(discriminator(fake), torch.ones(4, 1))
        loss.backward()
        optimizer.step()

    def right():
        generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
        optimizer = torch.optim.Adam(generator.parameters())
        fake = generator(torch.ones(4, 2))
        loss = F.binary_cross_entropy_with_logits(discriminator(fake), torch.ones(4, 1))
        loss.backward()
        optimizer.step()


class NothingLeftToOptimize(Mistake):
    """All parameters are frozen before the optimizer filters them.

    The filter leaves nothing.
    """

    says = ValueError
    operation = "SGD"
    numbers = ("empty parameter list", "requires_grad is switched off")
    remedy = "leave a part of the parameters trainable"

    def wrong():
        model = nn.Linear(3, 1)
        for p in model.parameters():
            p.requires_grad = False  # <-
        torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)

    def right():
        model = nn.Linear(3, 1)
        model.bias.requires_grad = False
        torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)


class TrainedInEvalMode(Mistake):
    """After the first evaluation the model stays in eval mode.

    From the second epoch on, dropout drops nothing and batch normalization does not learn its statistics.
    """

    says = "trained-in-eval-mode"
    operation = "SGD"
    numbers = ("1 of its 4 modules", "Dropout")
    remedy = "call model.train()"

    def wrong():
        def evaluated(model):
            model.eval()  # <-
            with torch.no_grad():
                return model(torch.ones(2, 3)).mean().item()

        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).mean().backward()
            optimizer.step()
            evaluated(model)

    def right():
        def trained(model, optimizer):
            for _ in range(2):
                optimizer.zero_grad()
                model(torch.ones(4, 3)).pow(2).mean().backward()
                optimizer.step()
                model.eval()
                model(torch.ones(4, 3))
                model.train()

        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        trained(model, optimizer)
        model[1].eval()  # fine-tuning with the statistics as they are
        optimizer.zero_grad()
        model(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()
        plain = nn.Linear(3, 1)  # eval mode makes no difference
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
        plain(torch.ones(4, 3)).sum().backward()
        optimizer.step()
        plain.eval()
        optimizer.zero_grad()
        plain(torch.ones(4, 3)).sum().backward()
        optimizer.step()
        frozen = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)).eval()  # from the first step on
        optimizer = torch.optim.SGD(frozen.parameters(), lr=0.1)
        frozen(torch.ones(4, 3)).sum().backward()
        optimizer.step()


class LayerMadeInForward(Mistake):
    """`forward` makes a layer.

    Each call gets new random weights, which no optimizer knows.
    """

    says = "layer-in-forward"
    operation = "Net.forward"
    numbers = ("nn.Linear(4, 1)", "in every call")
    remedy = "in __init__: self.linear = nn.Linear(4, 1)"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(3, 4)

            def forward(self, x):
                return nn.Linear(4, 1)(self.first(x))  # <-

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()

    def right():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(3, 4), None

            def forward(self, x):
                h = self.first(x)
                if self.second is None:
                    self.second = nn.Linear(4, 1)
                assert isinstance(self.second, nn.Linear)
                return self.second(h)

        net = Net()
        net(torch.ones(1, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()


class TensorInsteadOfParameter(Mistake):
    """A weight of a module is a plain tensor, not an `nn.Parameter`.

    It receives gradients, but `parameters()` does not contain it.
    """

    says = "unregistered-parameters"
    operation = "SGD"
    numbers = ("Net.scale", "(3,)")
    remedy = "self.scale = nn.Parameter"

    def wrong():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(3, requires_grad=True)  # <-
                self.fc = nn.Linear(3, 1)

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net.fc(torch.ones(2, 3) * net.scale).sum().backward()
        optimizer.step()

    def right():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(3))
                self.mean = torch.ones(3)
                self.penalty = self.scale * 2
                self.shift = torch.zeros(3, requires_grad=True)
                self.fc = nn.Linear(3, 1)

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        other = torch.optim.SGD([net.shift], lr=0.01)
        net.fc(torch.ones(2, 3) * net.scale + net.shift).sum().backward()
        optimizer.step()
        other.step()


class OptimizerMadeInTheLoop(Mistake):
    """Each round makes a new optimizer.

    Adam keeps averages of the gradients. A new one starts without them, so every step has the size of the first.
    """

    says = "optimizer-in-loop"
    operation = "Adam"
    numbers = ("2 parameters", "3 so far")
    remedy = "make the optimizer once"

    def wrong():
        model = nn.Linear(3, 1)
        for _ in range(4):
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)  # <-
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).mean().backward()
            optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        for rate in (0.1, 0.01, 0.001, 0.0001):
            optimizer = torch.optim.Adam(model.parameters(), lr=rate)
            for _ in range(2):
                optimizer.zero_grad()
                model(torch.ones(4, 3)).pow(2).mean().backward()
                optimizer.step()
        for _ in range(4):
            model = nn.Linear(3, 1)  # another model each time
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
            model(torch.ones(4, 3)).pow(2).mean().backward()
            optimizer.step()
        for _ in range(4):
            torch.optim.Adam(model.parameters(), lr=0.1)


class ClippedAfterTheStep(Mistake):
    """Gradients are clipped after the step that uses them.

    The step has followed the full gradients.
    """

    says = "clip-after-step"
    operation = "clip_grad_norm_"
    numbers = ("2 gradients",)
    remedy = "between loss.backward() and optimizer.step()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(nn.utils.clip_grad_norm_(model.parameters(), float("inf")))  # only the norm


class ClearedBeforeTheStep(Mistake):
    """`zero_grad()` stands between `backward` and the step.

    The step finds no gradients. The warning names the line that clears them.
    """

    says = "step-without-gradients"
    operation = "Adam"
    numbers = ("2 parameters", "zero_grad() has cleared the gradients")
    remedy = "optimizer.zero_grad(), loss = ..., loss.backward(), optimizer.step()"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(2):
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.zero_grad()  # <-
            optimizer.step()

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(2):
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


class ClosureWithoutLoss(Mistake):
    """The closure for LBFGS returns nothing.

    The optimizer compares the losses that the closure returns.
    """

    says = TypeError
    operation = "LBFGS"
    numbers = ("returns None",)
    remedy = "return loss"

    def wrong():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)

        def closure():  # <-
            optimizer.zero_grad()
            model(torch.ones(4, 3)).pow(2).mean().backward()

        optimizer.step(closure)

    def right():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            return loss

        optimizer.step(closure)


class WeightsOfAllPairs(Mistake):
    """The losses of the examples are a column, and their weights a row.

    Broadcasting multiplies each loss with each weight, so all examples count the same.
    """

    says = "broadcast-loss"
    operation = "mul"
    numbers = ("(4, 1)", "(4,)", "16 products")
    remedy = "weights.reshape(4, 1)"

    def wrong():
        model, x, y, weights = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1), torch.arange(4.0)
        loss = ((model(x) - y) ** 2 * weights).mean()  # <-
        loss.backward()

    def right():
        model, x, y, weights = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1), torch.arange(4.0)
        loss = ((model(x) - y) ** 2 * weights.reshape(4, 1)).mean()
        loss.backward()
        u = torch.ones(4, requires_grad=True)
        (u[:, None] * weights).sum().backward()  # an outer product
        (u.unsqueeze(1) * weights).mean().backward()
        points = weights[:, None]
        ((u - points) ** 2).mean().backward()  # distances of all pairs
        (u[:, None] - weights).abs().mean().backward()
        (model(x) * torch.ones(4, 4)).sum().backward()
        column = torch.ones(4, 1, requires_grad=True)
        (column * weights).sum().backward()  # a matrix of rank 1


class MaskOfAllPairs(Mistake):
    """The losses of the examples are a column, and the mask of the valid ones a row.

    Every loss is counted, as often as the mask is true.
    """

    says = "broadcast-loss"
    operation = "mul"
    numbers = ("(4, 1)", "16 products instead of 4")
    remedy = "mask.reshape(4, 1)"

    def wrong():
        model, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1)
        mask = torch.tensor([True, False, True, True])
        losses = F.binary_cross_entropy_with_logits(model(x), y, reduction="none")
        loss = (losses * mask).sum() / mask.sum()  # <-
        loss.backward()

    def right():
        model, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.zeros(4, 1)
        mask = torch.tensor([True, False, True, True])
        losses = F.binary_cross_entropy_with_logits(model(x), y, reduction="none").squeeze(1)
        loss = (losses * mask).sum() / mask.sum()
        loss.backward()


class TargetsOfMinusOne(Mistake):
    """The targets of a binary cross-entropy are -1 and 1.

    They are probabilities. With a target of -1 the loss falls without end.
    """

    says = "targets-outside"
    operation = "binary_cross_entropy_with_logits"
    numbers = ("2 of 4 targets", "from -1 to 1")
    remedy = "(target + 1) / 2"

    def wrong():
        model = nn.Linear(3, 1)
        y = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
        loss = F.binary_cross_entropy_with_logits(model(torch.ones(4, 3)), y)  # <-
        loss.backward()

    def right():
        model = nn.Linear(3, 1)
        y = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
        loss = F.binary_cross_entropy_with_logits(model(torch.ones(4, 3)), (y + 1) / 2)
        loss.backward()
        F.soft_margin_loss(model(torch.ones(4, 3)), y).backward()
        F.binary_cross_entropy_with_logits(model(torch.ones(4, 3)), torch.full((4, 1), 0.9)).backward()


class TargetsOfPixels(Mistake):
    """The targets of a binary cross-entropy are pixels from 0 to 255.

    Scale them to probabilities.
    """

    says = "targets-outside"
    operation = "binary_cross_entropy_with_logits"
    numbers = ("2 of 3 targets", "from 0 to 255")
    remedy = "pass targets between 0 and 1"

    def wrong():
        pixels = torch.tensor([[0.0, 255.0, 128.0]])
        decoder, criterion = nn.Linear(2, 3), nn.BCEWithLogitsLoss()
        loss = criterion(decoder(torch.ones(1, 2)), pixels)
        loss.backward()  # <-

    def right():
        pixels = torch.tensor([[0.0, 255.0, 128.0]])
        decoder, criterion = nn.Linear(2, 3), nn.BCEWithLogitsLoss()
        loss = criterion(decoder(torch.ones(1, 2)), pixels / 255)
        loss.backward()


class ScoresInNllLoss(Mistake):
    """`nll_loss` receives the scores of a layer.

    It takes logarithms of probabilities. The negative score falls without end.
    """

    says = "scores-as-logarithms"
    operation = "nll_loss"
    numbers = ("values up to 2",)
    remedy = "cross_entropy(logits, target)"

    def wrong():
        scores, criterion = torch.tensor([[2.0, -1.0], [0.5, 1.0]], requires_grad=True), nn.NLLLoss()
        loss = criterion(scores * 1, torch.tensor([0, 1]))  # <-
        loss.backward()

    def right():
        scores, criterion = torch.tensor([[2.0, -1.0], [0.5, 1.0]], requires_grad=True), nn.NLLLoss()
        loss = criterion(scores.log_softmax(1), torch.tensor([0, 1]))
        loss.backward()
        F.cross_entropy(scores, torch.tensor([0, 1])).backward()
