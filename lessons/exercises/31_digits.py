"""The exercises of lesson 31."""

import math
import warnings

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.nn import functional as F


@exercise(
    "The loss of one picture is minus the natural logarithm of a probability. Of which digit?",
    "The right digit has the probability 1 / 4, and -log(1 / 4) = log 4.",
)
def digit_surprise(answer):
    """-log(1/4) = log 4: only the probability of the right digit counts."""
    mistakes = {
        math.log(4 / 3): "the picture shows a 3: the loss asks which probability the network gives to the 3",
        -math.log(4): "the loss is minus the logarithm",
        0.25: "that is the probability; the loss is minus its logarithm",
        0.75: "that is the probability of the 5; the loss is minus the logarithm of the probability of the 3",
        2.0: "that is the logarithm to base 2; the loss uses the natural logarithm",
        math.log10(4): "that is the logarithm to base 10; the loss uses the natural logarithm",
    }
    expect.number(answer, math.log(4), mistakes, rtol=5e-3)


@exercise(
    "Go backward from the scores: `hidden @ w2 + b2`. Which gradient does each of its three inputs get?",
    "hidden gets the gradient of the scores times w2, which is zero. w2 gets that gradient times hidden, which is not zero.",
)
def digit_zeros(answer):
    """w2 is zero, so the gradients of w1 and b1 are, too. Its own gradient uses the hidden units, which are not zero."""
    learns = "it gets the hidden units times the gradient of the scores, and neither is zero"
    expect.choice(answer, {"w1", "b1"}, {"w2": learns, "b2": "it gets the gradient of the scores, which is not zero"})


@exercise(
    "Subtract the largest score of each picture from all of its scores before exp.",
    "scores.logsumexp(1) and scores.log_softmax(1) do that for you.",
    "(scores.logsumexp(1) - scores[torch.arange(len(labels)), labels]).mean()",
)
def digit_loss(answer):
    """exp(0) = 1 is then the largest term: nothing overflows, and the sum in the logarithm is at least 1."""
    torch.manual_seed(1)
    scores, labels = torch.randn(6, 10).requires_grad_(), torch.tensor([3, 1, 4, 1, 5, 9])
    expect.computes(answer, F.cross_entropy, (scores, labels))
    large = torch.tensor([[1000.0, 0.0, -1000.0], [-1000.0, -1001.0, -1003.0]], requires_grad=True)
    for labels in (torch.tensor([1, 0]), torch.tensor([0, 2])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about overflow: the message below explains it
            given = answer(large, labels)
            if not bool(given.isfinite()):
                raise Wrong(
                    f"for scores of 1000 and -1000 it gives {given.item()}: exp(1000) overflows, exp(-1000) is 0"
                )
            expect.computes(answer, F.cross_entropy, (large, labels))
