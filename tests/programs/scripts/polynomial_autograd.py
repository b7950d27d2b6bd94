"""A polynomial fitted to the sine, with gradients by autograd and updates by hand.

After PyTorch's tutorial "Learning PyTorch with examples: tensors and autograd".
"""

import math

import torch


def main():
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    weights = [torch.randn((), requires_grad=True) for _ in range(4)]
    learning_rate = 1e-6
    for t in range(1, 501):
        a, b, c, d = weights
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = (y_pred - y).pow(2).sum()
        if t % 50 == 0:
            print(f"step {t} loss {loss.item():.6g}")
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w -= learning_rate * w.grad
                w.grad = None


if __name__ == "__main__":
    main()
