"""The lifetime of a graph."""

import copy

import numpy as np

import minigrad as torch

from . import Mistake


class BackwardTwice(Mistake):
    """The same graph is differentiated twice.

    The first backward frees the saved tensors, to release memory as early as possible.
    """

    operation = "MulBackward0"
    numbers = ("second time",)
    remedy = "retain_graph=True"

    def wrong():
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward()
        y.backward()  # <-

    def right():
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()


class GradThenBackward(Mistake):
    """`autograd.grad` is followed by `backward` on the same loss.

    Both pass through the graph, and the first frees the saved tensors.
    """

    operation = "PowBackward0"
    numbers = ("second time",)
    remedy = "retain_graph=True"

    def wrong():
        x = torch.tensor(2.0, requires_grad=True)
        loss = x**3
        torch.autograd.grad(loss, x)
        loss.backward()  # <-

    def right():
        x = torch.tensor(2.0, requires_grad=True)
        loss = x**3
        torch.autograd.grad(loss, x, retain_graph=True)
        loss.backward()


class ForwardOutsideTheLoop(Mistake):
    """The loss is computed once, before the loop that differentiates it.

    Each round needs its own loss, computed with the current parameters.
    """

    operation = "MulBackward0"
    numbers = ("second time", "same line")
    remedy = "inside the loop"

    def wrong():
        w = torch.tensor(2.0, requires_grad=True)
        loss = w * w
        for _ in range(2):
            loss.backward()  # <-

    def right():
        w = torch.tensor(2.0, requires_grad=True)
        for _ in range(2):
            loss = w * w
            loss.backward()


class PredictionOutsideTheLoop(Mistake):
    """Each round computes the loss from a prediction made before the loop.

    The first backward frees the prediction's graph. Debug mode names the line that made the prediction.
    """

    under = "debug"
    operation = "TanhBackward0"
    numbers = ("second time", "(2,)")
    remedy = "inside the loop"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        prediction = w.tanh()  # <-
        for _ in range(2):
            loss = (prediction - 1).pow(2).sum()
            loss.backward()

    def right():
        w = torch.ones(2, requires_grad=True)
        for _ in range(2):
            prediction = w.tanh()
            loss = (prediction - 1).pow(2).sum()
            loss.backward()


class ComputedInInit(Mistake):
    """A module computes a tensor from its parameters in `__init__` and uses it in each forward.

    The first backward frees the tensor's graph, and the tensor would not follow updates of the parameters.
    """

    operation = "ExpBackward0"
    numbers = ("second time", "(2,)")
    remedy = "compute that result again"

    def wrong():
        class Scale(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.log = torch.nn.Parameter(torch.zeros(2))
                self.scale = self.log.exp()

            def forward(self, x):
                return self.scale * x

        model = Scale()
        for _ in range(2):
            model(torch.ones(2)).sum().backward()  # <-

    def right():
        class Scale(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.log = torch.nn.Parameter(torch.zeros(2))

            def forward(self, x):
                return self.log.exp() * x

        model = Scale()
        for _ in range(2):
            model(torch.ones(2)).sum().backward()


class HiddenStateNotDetached(Mistake):
    """The hidden state of one batch is passed to the next with its whole history.

    The second backward reaches through it into the first batch's graph, which is freed.
    """

    operation = "TanhBackward0"
    numbers = ("second time", "(3,)")
    remedy = "h = h.detach()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        h = torch.zeros(3)
        for _ in range(2):
            h = torch.tanh(w * h + 1)
            loss = h.sum()
            loss.backward()  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        h = torch.zeros(3)
        for _ in range(2):
            h = torch.tanh(w * h.detach() + 1)
            loss = h.sum()
            loss.backward()


class HiddenStateOfAnLSTM(Mistake):
    """The state of an LSTM, a tuple of two tensors, is passed to the next batch with its history.

    Detach both tensors.
    """

    operation = "Backward0"
    numbers = ("second time",)
    remedy = "detach()"

    def wrong():
        lstm = torch.nn.LSTM(2, 3)
        state = None
        for _ in range(2):
            out, state = lstm(torch.ones(4, 1, 2), state)
            out.sum().backward()  # <-

    def right():
        lstm = torch.nn.LSTM(2, 3)
        state = None
        for _ in range(2):
            out, state = lstm(torch.ones(4, 1, 2), state)
            out.sum().backward()
            state = tuple(s.detach() for s in state)


class StateOfAnLstmInTraining(Mistake):
    """The state of an LSTM goes from batch to batch with its history.

    The second `backward` would pass through the first batch, whose saved tensors are freed. The error names the line that
    passes the state on.
    """

    operation = "MulBackward0"
    numbers = ("trying to backward through the graph a second time", "(1, 2, 4)")
    remedy = "h = h.detach()"

    def wrong():
        rnn, fc, h = torch.nn.LSTM(3, 4), torch.nn.Linear(4, 1), None
        optimizer = torch.optim.SGD([*rnn.parameters(), *fc.parameters()], lr=0.1)
        for _ in range(2):
            out, h = rnn(torch.ones(5, 2, 3), h)  # <-
            loss = fc(out).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def right():
        rnn, fc, h = torch.nn.LSTM(3, 4), torch.nn.Linear(4, 1), None
        optimizer = torch.optim.SGD([*rnn.parameters(), *fc.parameters()], lr=0.1)
        for _ in range(2):
            out, h = rnn(torch.ones(5, 2, 3), h)
            h = [t.detach() for t in h]
            loss = fc(out).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


class GrowingStateRetained(Mistake):
    """retain_graph=True hides that a hidden state is never detached.

    There is no error any more, but each backward passes through all batches so far: every round is slower than the last,
    and memory finally runs out.
    """

    says = "growing-graph"
    operation = "backward"
    numbers = ("operations", "rounds")
    remedy = "h = h.detach()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        h = torch.zeros(3)
        for _ in range(20):
            h = torch.tanh(w * h + 1)
            h.sum().backward(retain_graph=True)  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        features = w.tanh()  # one graph for all rounds does not grow
        h = torch.zeros(3)
        for _ in range(20):
            h = torch.tanh(w * h.detach() + 1)
            (h * features).sum().backward(retain_graph=True)
        losses, h = [], torch.zeros(3)
        for _ in range(20):
            h = torch.tanh(w * h + 1)
            losses.append(h.sum())
        for loss in losses:  # each goes further back, but nothing is added in between
            loss.backward(retain_graph=True)


class GrowingTotalRetained(Mistake):
    """The sum of all losses so far is differentiated in each round, with retain_graph=True.

    Each round passes through all earlier ones again, and adds their gradients again.
    """

    says = "growing-graph"
    operation = "backward"
    numbers = ("operations", "rounds", "earlier losses")
    remedy = "after the loop"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        total = 0
        for i in range(20):
            total = total + (w * i).pow(2).sum()
            total.backward(retain_graph=True)  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        total = 0
        for i in range(20):
            total = total + (w * i).pow(2).sum()
        total.backward(retain_graph=True)


class StepWithARetainedState(Mistake):
    """A hidden state is never detached, retain_graph=True hides it, and an optimizer updates the parameters in between.

    backward reaches an earlier round, whose parameters have been overwritten. A different way to write the update does not
    help: this backward should not reach the earlier round.
    """

    operation = "MulBackward0"
    numbers = ("(3,)", "version", "earlier round")
    remedy = "h = h.detach()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        h = torch.ones(3)
        for _ in range(3):
            h = torch.tanh(w * h)
            h.sum().backward(retain_graph=True)  # <-
            optimizer.step()

    def right():
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        h = torch.ones(3)
        for _ in range(3):
            h = torch.tanh(w * h.detach())
            optimizer.zero_grad()
            h.sum().backward()
            optimizer.step()


class RunningTotalDifferentiated(Mistake):
    """Losses are added up in a loop, and the sum so far is differentiated in each round.

    The sum contains the losses of earlier rounds, whose graphs are already freed.
    """

    operation = "PowBackward0"
    numbers = ("second time", "earlier loss")
    remedy = "after the loop"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        loss = 0
        for i in range(2):
            loss = loss + (w * i).pow(2).sum()
            loss.backward()  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        loss = 0
        for i in range(2):
            loss = loss + (w * i).pow(2).sum()
        loss.backward()


class TotalThatKeepsGraphs(Mistake):
    """Losses are added up for a report, as tensors, after their backward.

    The sum is tracked, so it keeps the graphs of all rounds, and memory grows.
    """

    says = "kept-graph"
    operation = "add_"
    numbers = ("()",)
    remedy = "loss.item()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        total = 0
        for i in range(3):
            loss = (w * i).pow(2).sum()
            loss.backward()
            total += loss  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        total, exact, both = 0, torch.tensor(0.0), 0
        for i in range(3):
            loss = (w * i).pow(2).sum()
            both += loss
            loss.backward(retain_graph=True)
            total += loss.item()
            exact += loss.detach()
        both.backward()


class TotalBeforeBackward(Mistake):
    """A loss is added to a running total for a report just before its backward.

    When the next loss is added, the total still holds the graph of the previous round.
    """

    says = "kept-graph"
    operation = "add_"
    numbers = ("()",)
    remedy = "loss.item()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        total = torch.tensor(0.0)
        for i in range(3):
            loss = (w * i).pow(2).mean()
            total += loss  # <-
            loss.backward()

    def right():
        w = torch.ones(3, requires_grad=True)
        total = torch.tensor(0.0)
        for i in range(3):
            loss = (w * i).pow(2).mean()
            total += loss.detach()
            loss.backward()
        summed = torch.tensor(0.0)
        for i in range(3):
            summed += (w * i).pow(2).mean()
        summed.backward()


class MeanOfTrackedLosses(Mistake):
    """Losses are collected as tensors, and NumPy computes their mean.

    The list holds the graphs of all rounds, and NumPy cannot record its part.
    """

    operation = "numpy"
    numbers = ("requires grad",)
    remedy = "loss.item()"

    def wrong():
        w = torch.ones(3, requires_grad=True)
        losses = []
        for i in range(2):
            loss = (w * i).pow(2).sum()
            loss.backward()
            losses.append(loss)
        return np.mean(losses)  # <-

    def right():
        w = torch.ones(3, requires_grad=True)
        losses = []
        for i in range(2):
            loss = (w * i).pow(2).sum()
            loss.backward()
            losses.append(loss.item())
        return np.mean(losses)


class TwoLossesOneTrunk(Mistake):
    """Two losses that share a part of the graph are differentiated one after the other.

    The first backward frees the shared part.
    """

    operation = "ExpBackward0"
    numbers = ("second time", "(2,)", "two results")
    remedy = "(loss1 + loss2).backward()"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        shared = w.exp()
        loss1, loss2 = shared.sum(), (shared * shared).sum()
        loss1.backward()
        loss2.backward()  # <-

    def right():
        w = torch.ones(2, requires_grad=True)
        shared = w.exp()
        loss1, loss2 = shared.sum(), (shared * shared).sum()
        (loss1 + loss2).backward()


class FakeNotDetached(Mistake):
    """The discriminator's loss runs back into the generator, which then has its own loss.

    The first backward frees the generator's graph. The discriminator needs the samples only as data.
    """

    operation = "TanhBackward0"
    numbers = ("second time", "(2,)")
    remedy = ".detach()"

    def wrong():
        generator = torch.ones(2, requires_grad=True)
        discriminator = torch.ones(2, requires_grad=True)
        fake = generator.tanh()
        (discriminator * fake).sum().backward()
        (1 - discriminator * fake).sum().backward()  # <-

    def right():
        generator = torch.ones(2, requires_grad=True)
        discriminator = torch.ones(2, requires_grad=True)
        fake = generator.tanh()
        (discriminator * fake.detach()).sum().backward()
        (1 - discriminator * fake).sum().backward()


class RowsOfAJacobian(Mistake):
    """The elements of a result are differentiated one by one.

    Each call passes through the same graph, which the first call frees.
    """

    operation = "SinBackward0"
    numbers = ("second time", "(3,)")
    remedy = "retain_graph=True"

    def wrong():
        x = torch.ones(3, requires_grad=True)
        y = x.sin()
        return [torch.autograd.grad(y[i], x) for i in range(3)]  # <-

    def right():
        x = torch.ones(3, requires_grad=True)
        y = x.sin()
        return [torch.autograd.grad(y[i], x, retain_graph=True) for i in range(3)]


class SecondBackwardOfAFunction(Mistake):
    """A graph with a custom Function is differentiated twice.

    The tensors of `save_for_backward` are freed as for any other operation.
    """

    operation = "SquareBackward"
    numbers = ("second time",)
    remedy = "retain_graph=True"

    def wrong():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g

        y = Square.apply(torch.tensor(3.0, requires_grad=True))
        y.backward()
        y.backward()  # <-

    def right():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g

        y = Square.apply(torch.tensor(3.0, requires_grad=True))
        y.backward(retain_graph=True)
        y.backward()


class SavedTensorReadTooLate(Mistake):
    """The saved tensors of a node are read after backward.

    By then they are freed.
    """

    operation = "ExpBackward0"
    numbers = ("freed", "_saved_result")
    remedy = "retain_graph=True"

    def wrong():
        y = torch.tensor(1.0, requires_grad=True).exp()
        y.backward()
        return y.grad_fn._saved_result  # <-

    def right():
        y = torch.tensor(1.0, requires_grad=True).exp()
        y.backward(retain_graph=True)
        return y.grad_fn._saved_result


class CopyOfAResult(Mistake):
    """A result is deep-copied, to keep the best values of a training run.

    A copy would need the whole graph of the result.
    """

    operation = "deepcopy"
    numbers = ("mul", "(2,)")
    remedy = ".detach().clone()"

    def wrong():
        w = torch.ones(2, requires_grad=True)
        best = w * 2
        return copy.deepcopy(best)  # <-

    def right():
        w = torch.ones(2, requires_grad=True)
        best = w * 2
        return copy.deepcopy(w), best.detach().clone()


class NodeCalledWithAWrongShape(Mistake):
    """A node of the graph is called with a gradient of another shape than its output.

    A node computes the gradients of its inputs from those of its outputs, which have the shapes of the outputs.
    """

    operation = "MmBackward0"
    numbers = ("gradient 0 has shape (4, 3)", "output 0 has shape (2, 4)")
    remedy = "pass a gradient of shape (2, 4)"

    def wrong():
        a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4, requires_grad=True)
        (a @ b).grad_fn(torch.ones(4, 3))  # <-

    def right():
        a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4, requires_grad=True)
        (a @ b).grad_fn(torch.ones(2, 4))
