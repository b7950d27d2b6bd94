"""Mistakes in models that no number shows: parameters that are none, zeros that stay, modes and methods without effect."""

import math

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from . import mistake

X = torch.ones(4, 3)


@mistake("Net.w", "(3, 2)", remedy="self.w = nn.Parameter(...)", says="parameter-of-result")
def scaled_parameter_of_a_module():
    """A parameter is scaled after it is made.

    `nn.Parameter(...) * 0.1` is the result of a product. The module does not register it, and the optimizer does not get it.
    """

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = nn.Parameter(torch.zeros(2))
            self.w = nn.Parameter(torch.ones(3, 2)) * 0.1  # - <-
            # + self.w = nn.Parameter(torch.ones(3, 2) * 0.1)
            # + self.scaled = self.w * 0.1

    torch.optim.SGD(Net().parameters(), lr=0.1)


@mistake("SGD", "(5, 3)", remedy="decoder.weight = encoder.weight", says="shared-memory")
def tied_weight_is_a_new_parameter():
    """A tied weight is a new Parameter of the same memory.

    Each of the two has a gradient and a state, and each step writes to the same numbers twice.
    """
    encoder, decoder = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    decoder.weight = nn.Parameter(encoder.weight)  # - <=
    # + decoder.weight = encoder.weight
    # + heads = torch.ones(2, 3)
    # + parts = [nn.Parameter(heads[0]), nn.Parameter(heads[1])]  # different parts of one memory
    # + torch.optim.SGD(parts, lr=0.1)
    model = nn.Sequential(encoder, decoder)
    torch.optim.SGD(model.parameters(), lr=0.1)  # <-


@mistake(
    "SGD",
    "(8, 3) and (1, 8)",
    remedy="random weights",
    says="all-weights-zero",
    unlocated="the step has written to the weights since",
)
def all_weights_zero():
    """All weights begin at zero.

    The gradient of each weight is multiplied by the other one, so both stay zero.
    """
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    for p in net.parameters():  # -
        nn.init.zeros_(p)  # - <=
    # + nn.init.zeros_(net[2].weight)  # one of them may be zero
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    (net(X) - 1).pow(2).mean().backward()
    optimizer.step()  # <-


@mistake("dropout", "Net is in eval mode", remedy="training=self.training", says="dropout-in-eval")
def functional_dropout_in_eval():
    """Functional dropout drops elements in eval mode.

    `F.dropout` does not know the module's mode; its argument `training` is True unless it is given.
    """

    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5)  # - <-
            # + if self.training:
            # +     x = F.dropout(x, 0.5)
            # + x = F.dropout(x, 0.5, True)  # always
            # + return F.dropout(x, 0.5, training=self.training)

    Net().eval()(X)


@mistake("dropout2d", "(3, 4)", "first two dimensions", remedy="use feature_dropout", says="dropout-dimensions")
def dropout_of_channels_without_channels():
    """Dropout of images acts on a batch of vectors.

    `dropout2d` takes the first two dimensions as examples and channels. In a batch of vectors every number is a channel.
    """
    x = torch.ones(3, 4)
    y = F.dropout2d(x, 0.5)  # - <-
    # + y = F.dropout(x, 0.5)
    y.sum()


@mistake("requires_grad", "== False", remedy="p.requires_grad = False", says="compared-not-assigned")
def frozen_by_a_comparison():
    """Two equals signs compare, one assigns.

    The line computes an answer and forgets it, and the layer is trained.
    """
    model = nn.Linear(3, 1)
    for p in model.parameters():
        p.requires_grad == False  # noqa: B015, E712  # - <-
    # +     p.requires_grad = True
    # +     assert p.requires_grad == True  # noqa: E712
    model(X).sum().backward()


@mistake("log_softmax", "the 4 examples", "the 3 classes", remedy="dim=1", says="softmax-dimension")
def softmax_over_the_batch():
    """The softmax normalises over the batch.

    The probabilities of the classes of one example do not add up to 1, and the loss rewards scores that mean nothing.
    """
    scores, labels = torch.ones(4, 3, requires_grad=True), torch.tensor([0, 2, 1, 1])
    logarithms = F.log_softmax(scores, dim=0)  # - <-
    # + logarithms = F.log_softmax(scores, dim=-1)
    F.nll_loss(logarithms, labels).backward()


@mistake("Square.backward", ".grad", remedy="return the gradient", says="gradient-stored")
def gradient_stored_by_backward():
    """A backward assigns the gradient itself.

    It returns None, so the engine passes zero to the operations before it.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            x.grad = 2 * grad_output * x  # - <-
            return None  # -
            # + return 2 * grad_output * x

    a = torch.ones(2, requires_grad=True)
    Square.apply(a * 3).sum().backward()


@mistake("normal", "(2,)", remedy="randn_like", says="zero-gradient")
def mean_of_normal():
    """`torch.normal` has no gradient for its mean.

    The drawn numbers are a constant to autograd, and the gradient of the mean is zero.
    """
    mean, scale = torch.ones(2, requires_grad=True), torch.ones(2)
    z = torch.normal(mean, scale)  # - <-
    # + z = mean + scale * torch.randn_like(scale)
    # + z = z + z * torch.normal(mean, scale)  # noise beside a gradient
    (z**2).sum().backward()


@mistake(
    "Double.backward", "is never called", remedy="put forward and backward into a Function", says="backward-of-module"
)
def backward_of_a_module():
    """A Module defines backward.

    Gradients come from the operations of its forward; autograd calls the backward of Functions alone.
    """

    class Double(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return (self.w * x).sum()

        def backward(self, grad_output):  # - <-
            return 2 * grad_output  # -

        # + def backward(self, retain_graph=False):  # without a gradient: a method of the program
        # +     self.forward(X).backward(retain_graph=retain_graph)

    model = Double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(X).backward()
    optimizer.step()


@mistake("params", "which SGD reads", remedy="params = list(model.parameters())", says="iterator-used-up")
def iterator_of_parameters_used_twice():
    """An iterator of parameters is used twice.

    The optimizer reads it to its end, and the clipping sees no parameters.
    """
    model = nn.Linear(3, 1)
    params = model.parameters()  # - <-
    # + params = list(model.parameters())
    optimizer = torch.optim.SGD(params, lr=0.1)
    model(X).sum().backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()


@mistake("clip_grad_norm_", "Linear.parameters()", remedy="list(model.parameters())", says="iterator-used-up")
def clipping_of_a_used_iterator():
    """The parameters to clip come from an iterator that a function has read.

    There is nothing left to clip.
    """

    def trained(params):
        return torch.optim.SGD(params, lr=0.1)

    model = nn.Linear(3, 1)
    params = model.parameters()
    # + params = [*params]
    optimizer = trained(params)
    model(X).sum().backward()
    nn.utils.clip_grad_norm_(params, 1.0)  # - <-
    # + nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()


@mistake("math.exp", "()", remedy="torch.exp(rate)", says="number-from-math")
def function_of_math_in_a_model():
    """A function of Python's math computes with a parameter.

    It takes the number out of the tensor, so the parameter gets no gradient through it.
    """
    rate, x = torch.tensor(0.5, requires_grad=True), torch.ones(2, requires_grad=True)
    scale = math.exp(rate)  # - <-
    # + scale = torch.exp(rate)
    (scale * x).sum().backward()
