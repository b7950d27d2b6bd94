"""Three quantiles of a noisy curve at once, with the pinball loss and points for a test.

After the scripts for probabilistic forecasts that use PyTorch, such as those of "Quantile regression" in deep learning courses.
"""

import argparse

import torch
from torch import nn


class PinballLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.register_buffer("quantiles", torch.tensor(quantiles))

    def forward(self, predicted, target):
        error = target.unsqueeze(-1) - predicted
        return torch.maximum(self.quantiles * error, (self.quantiles - 1) * error).mean()


class Quantiles(nn.Module):
    """Quantiles that do not cross: the lowest one, and positive steps from each to the next."""

    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 32), nn.ELU(), nn.Linear(32, 32), nn.ELU())
        self.head = nn.Linear(32, n)

    def forward(self, x):
        out = self.head(self.body(x))
        steps = nn.functional.softplus(out[..., 1:])
        return torch.cat([out[..., :1], steps], -1).cumsum(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quantiles", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    torch.manual_seed(0)
    x = torch.rand(400, 1) * 4 - 2
    y = torch.sin(2 * x[:, 0]) + (0.1 + 0.2 * x[:, 0].abs()) * torch.randn(400)
    model, criterion = Quantiles(len(args.quantiles)), PinballLoss(args.quantiles)
    optimizer = torch.optim.Adamax(model.parameters(), lr=0.02)
    for step in range(1, args.steps + 1):
        loss = criterion(model(x[:300]), y[:300])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    with torch.no_grad():
        below = (y[300:, None] <= model(x[300:])).float().mean(0)
    print("share of points below each quantile:", [round(b, 2) for b in below.tolist()])


if __name__ == "__main__":
    main()
