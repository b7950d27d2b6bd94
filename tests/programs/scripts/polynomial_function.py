"""Legendre's third polynomial as a custom Function, in a fit to the sine.

After PyTorch's tutorials "Defining new autograd functions" and "Control flow and weight sharing".
"""

import math
import random

import torch


class LegendrePolynomial3(torch.autograd.Function):
    """P3(x) = (5 x^3 - 3 x) / 2."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.full((), 0.0))
        self.b = torch.nn.Parameter(torch.full((), -1.0))
        self.c = torch.nn.Parameter(torch.full((), 0.0))
        self.d = torch.nn.Parameter(torch.full((), 0.3))
        self.e = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x):
        y = self.a + self.b * LegendrePolynomial3.apply(self.c + self.d * x)
        for exponent in range(4, random.randint(4, 6)):  # zero, one or two terms with a shared weight
            y = y + self.e * (x / math.pi) ** exponent
        return y

    def string(self):
        return f"y = {self.a.item():.3f} + {self.b.item():.3f} P3({self.c.item():.3f} + {self.d.item():.3f} x) + ..."


def main():
    random.seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    model = Model()
    criterion = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-6, momentum=0.9)
    for t in range(1, 401):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if t % 40 == 0:
            print(f"step {t} loss {loss.item():.6g}")
    print(model.string())


if __name__ == "__main__":
    main()
