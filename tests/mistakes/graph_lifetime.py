"""The lifetime of a graph."""

import copy

import minigrad as torch

from . import mistake


@mistake("MulBackward0", "second time", remedy="retain_graph=True")
def backward_twice():
    """The same graph is differentiated twice.

    The first backward frees the saved tensors, to release memory as early as possible.
    """
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    # + y.backward(retain_graph=True)
    y.backward()
    y.backward()  # - <-


@mistake("PowBackward0", "second time", remedy="retain_graph=True")
def grad_then_backward():
    """`autograd.grad` is followed by `backward` on the same loss.

    Both pass through the graph, and the first frees the saved tensors.
    """
    x = torch.tensor(2.0, requires_grad=True)
    loss = x**3
    torch.autograd.grad(loss, x)  # - <=
    # + torch.autograd.grad(loss, x, retain_graph=True)
    loss.backward()  # <-


@mistake("MulBackward0", "second time", "same line", remedy="inside the loop")
def forward_outside_the_loop():
    """The loss is computed once, before the loop that differentiates it.

    Each round needs its own loss, computed with the current parameters.
    """
    w = torch.tensor(2.0, requires_grad=True)
    loss = w * w  # - <=
    for _ in range(2):
        # + loss = w * w
        loss.backward()  # <-


@mistake("TanhBackward0", "second time", "(2,)", remedy="inside the loop", under="debug")
def prediction_outside_the_loop():
    """Each round computes the loss from a prediction made before the loop.

    The first backward frees the prediction's graph. Debug mode names the line that made the prediction.
    """
    w = torch.ones(2, requires_grad=True)
    prediction = w.tanh()  # - <-
    for _ in range(2):
        # + prediction = w.tanh()
        loss = (prediction - 1).pow(2).sum()
        loss.backward()


@mistake("ExpBackward0", "second time", "(2,)", remedy="compute that result again")
def computed_in_init():
    """A module computes a tensor from its parameters in `__init__` and uses it in each forward.

    The first backward frees the tensor's graph, and the tensor would not follow updates of the parameters.
    """

    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.log = torch.nn.Parameter(torch.zeros(2))
            self.scale = self.log.exp()  # - <=

        def forward(self, x):
            return self.scale * x  # -
            # + return self.log.exp() * x

    model = Scale()
    for _ in range(2):
        model(torch.ones(2)).sum().backward()  # <-


@mistake("ExpBackward0", "second time", "(2,)", "two results", remedy="(loss1 + loss2).backward()")
def two_losses_one_trunk():
    """Two losses that share a part of the graph are differentiated one after the other.

    The first backward frees the shared part.
    """
    w = torch.ones(2, requires_grad=True)
    shared = w.exp()
    loss1, loss2 = shared.sum(), (shared * shared).sum()
    loss1.backward()  # -
    loss2.backward()  # - <-
    # + (loss1 + loss2).backward()


@mistake("TanhBackward0", "second time", "(2,)", remedy=".detach()")
def fake_not_detached():
    """The discriminator's loss runs back into the generator, which then has its own loss.

    The first backward frees the generator's graph. The discriminator needs the samples only as data.
    """
    generator = torch.ones(2, requires_grad=True)
    discriminator = torch.ones(2, requires_grad=True)
    fake = generator.tanh()
    (discriminator * fake).sum().backward()  # - <=
    # + (discriminator * fake.detach()).sum().backward()
    (1 - discriminator * fake).sum().backward()  # <-


@mistake("SinBackward0", "second time", "(3,)", remedy="retain_graph=True")
def rows_of_a_jacobian():
    """The elements of a result are differentiated one by one.

    Each call passes through the same graph, which the first call frees.
    """
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    return [torch.autograd.grad(y[i], x) for i in range(3)]  # - <-
    # + return [torch.autograd.grad(y[i], x, retain_graph=True) for i in range(3)]


@mistake("SquareBackward", "second time", remedy="retain_graph=True")
def second_backward_of_a_function():
    """A graph with a custom Function is differentiated twice.

    The tensors of `save_for_backward` are freed as for any other operation.
    """

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
    # + y.backward(retain_graph=True)
    y.backward()
    y.backward()  # - <-


@mistake("ExpBackward0", "freed", "_saved_result", remedy="retain_graph=True")
def saved_tensor_read_too_late():
    """The saved tensors of a node are read after backward.

    By then they are freed.
    """
    y = torch.tensor(1.0, requires_grad=True).exp()
    y.backward()  # -
    # + y.backward(retain_graph=True)
    return y.grad_fn._saved_result  # <-


@mistake("deepcopy", "mul", "(2,)", remedy=".detach().clone()")
def copy_of_a_result():
    """A result is deep-copied, to keep the best values of a training run.

    A copy would need the whole graph of the result.
    """
    w = torch.ones(2, requires_grad=True)
    best = w * 2
    return copy.deepcopy(best)  # - <-
    # + return copy.deepcopy(w), best.detach().clone()


@mistake(
    "MmBackward0", "gradient 0 has shape (4, 3)", "output 0 has shape (2, 4)", remedy="pass a gradient of shape (2, 4)"
)
def node_called_with_a_wrong_shape():
    """A node of the graph is called with a gradient of another shape than its output.

    A node computes the gradients of its inputs from those of its outputs, which have the shapes of the outputs.
    """
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4, requires_grad=True)
    (a @ b).grad_fn(torch.ones(4, 3))  # - <-
    # + (a @ b).grad_fn(torch.ones(2, 4))
