"""A polynomial fitted to the sine, with gradients computed by hand.

After PyTorch's tutorial "Learning PyTorch with examples: tensors".
"""

import math

import torch


def main():
    dtype = torch.float
    device = torch.device("cpu")
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000, device=device, dtype=dtype)
    y = torch.sin(x)
    a, b, c, d = (torch.randn((), device=device, dtype=dtype) for _ in range(4))
    learning_rate = 1e-6
    for t in range(1, 501):
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = (y_pred - y).pow(2).sum().item()
        if t % 50 == 0:
            print(f"step {t} loss {loss:.6g}")
        grad_y_pred = 2.0 * (y_pred - y)
        grad_a = grad_y_pred.sum()
        grad_b = (grad_y_pred * x).sum()
        grad_c = (grad_y_pred * x**2).sum()
        grad_d = (grad_y_pred * x**3).sum()
        a -= learning_rate * grad_a
        b -= learning_rate * grad_b
        c -= learning_rate * grad_c
        d -= learning_rate * grad_d
    print(f"Result: y = {a.item():.3f} + {b.item():.3f} x + {c.item():.3f} x^2 + {d.item():.3f} x^3")


if __name__ == "__main__":
    main()
