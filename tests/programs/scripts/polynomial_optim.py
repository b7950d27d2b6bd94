"""A polynomial fitted to the sine: powers, a linear layer, and RMSprop.

After PyTorch's tutorial "Learning PyTorch with examples: nn and optim".
"""

import math

import torch


def main():
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    p = torch.tensor([1, 2, 3])
    xx = x.unsqueeze(-1).pow(p)
    model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
    loss_fn = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for t in range(1, 401):
        y_pred = model(xx)
        loss = loss_fn(y_pred, y)
        if t % 40 == 0:
            print(f"step {t} loss {loss.item():.6g}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    linear = model[0]
    a, (b, c, d) = linear.bias.item(), linear.weight[0].tolist()
    print(f"Result: y = {a:.3f} + {b:.3f} x + {c:.3f} x^2 + {d:.3f} x^3")


if __name__ == "__main__":
    main()
