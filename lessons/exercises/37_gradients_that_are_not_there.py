"""The exercises of lesson 37."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.autograd import Function


@exercise(
    "Forward computes the values: Round gives 1.",
    "Backward ignores Round: the slope is 2 * (3 * 1 - 1) * 3.",
)
def straight_gradient(answer):
    """Forward rounds 1.3 to 1, and backward multiplies by 2 * 2, by 3 and by the invented 1."""
    mistakes = {
        0.0: "that is the true derivative, but Round.backward invents another one",
        17.4: "forward computes with the rounded number, 1, not with 1.3",
        4.0: "the factor 3 has a derivative, too",
        6.0: "the derivative of the square is 2 * (3 * 1 - 1)",
    }
    expect.number(answer, 12.0, mistakes)


class Limited(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x < 0, -1.0, 1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, grad_output, 0.0)


@exercise(
    "forward has to save x, since backward asks where it is between -1 and 1.",
    "torch.where(condition, grad_output, 0.0) chooses element by element; the condition is x.abs() <= 1.",
    "torch.sign(0) is 0. Use torch.where(x < 0, -1.0, 1.0).",
)
def StraightSign(answer):
    """Inside the limits the gradient passes unchanged, outside it stops."""
    points = [torch.tensor(x, requires_grad=True) for x in ([0.5, -0.3, 2.0, -1.5], [1.0, -1.0, 0.0], 0.7)]
    expect.function(answer, Limited, *[(x,) for x in points])


@exercise(
    "1 - exp(-rate * z) = u, so exp(-rate * z) = 1 - u.",
    "Take the logarithm of both sides, and divide by -rate.",
)
def waiting_time(answer):
    """Noise and rate are separate now: the derivative with respect to the rate is -z / rate."""
    for value in (2.0, 0.5):
        rate = torch.tensor(value, requires_grad=True)
        u = torch.tensor([0.1, 0.5, 0.9])
        given = answer(rate, u)
        if given is None:
            raise Wrong("waiting_time returns None: is there a return?")
        if isinstance(given, torch.Tensor) and torch.allclose(given, -(1 - u).log() * rate):
            raise Wrong("the sample is multiplied by the rate: a larger rate means shorter waiting times")
        expect.tensor(given, -(1 - u).log() / value, f"the result for the rate {value} and u = 0.1, 0.5, 0.9")
        if not given.requires_grad:
            raise Wrong("the sample does not require grad: something cut the graph")
        (by_rate,) = torch.autograd.grad(given.sum(), rate)
        expect.tensor(by_rate, (1 - u).log().sum() / value**2, "the gradient of the rate")


@exercise(
    "The estimate is the reward times the derivative of log p(b).",
    "Bernoulli(logits=logit).log_prob(b) is log p(b), with a graph to logit.",
    "Multiply by the rewards and take the mean. Let autograd do the derivative.",
)
def score_loss(answer):
    """Rewarded results become more probable: the gradient of log p(b) with respect to the logit is b - p."""
    b = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0])
    rewards = torch.tensor([2.0, -1.0, 0.5, 0.0, 3.0])
    for value in (0.4, -1.0):
        logit = torch.tensor(value, requires_grad=True)
        loss = answer(logit, b, rewards)
        if loss is None:
            raise Wrong("score_loss returns None: is there a return?")
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise Wrong("the loss has to be one number: take the mean")
        if not loss.requires_grad:
            raise Wrong("the loss does not require grad: use log p(b), which depends on logit")
        (given,) = torch.autograd.grad(loss, logit)
        wanted = (rewards * (b - torch.tensor(value).sigmoid())).mean()
        if torch.allclose(given, wanted * len(b)):
            raise Wrong("the gradient is the sum of the estimates: take the mean")
        if torch.allclose(given, -wanted):
            raise Wrong("the gradient has the wrong sign: it has to be the derivative of the mean reward")
        expect.tensor(given, wanted, "the gradient of logit")
