"""Invertible coupling layers turn a normal distribution into two moons.

After senya-ashukha's "real-nvp-pytorch" and Dinh and others' "Density estimation using Real NVP".
"""

import torch
from sklearn.datasets import make_moons
from torch import distributions, nn


class RealNVP(nn.Module):
    def __init__(self, nets, nett, masks, prior):
        super().__init__()
        self.prior = prior
        self.register_buffer("mask", masks)
        self.t = nn.ModuleList([nett() for _ in range(len(masks))])
        self.s = nn.ModuleList([nets() for _ in range(len(masks))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, n):
        return self.g(self.prior.sample((n,)))


def net(last):
    layers = [nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 2)]
    return nn.Sequential(*layers, *last)


def main():
    torch.manual_seed(0)
    masks = torch.tensor([[0, 1], [1, 0]] * 2, dtype=torch.float32)
    prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    flow = RealNVP(lambda: net([nn.Tanh()]), lambda: net([]), masks, prior)
    optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad], lr=3e-3)
    points, _ = make_moons(600, noise=0.05, random_state=0)
    points = torch.from_numpy(points).to(torch.float32)
    for step in range(1, 51):
        batch = points[torch.randint(len(points), (100,))]
        loss = -flow.log_prob(batch).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    with torch.no_grad():
        z, _ = flow.f(points)
        print("inverse is off by at most", f"{(flow.g(z) - points).abs().max().item():.0e}")
        print("mean of samples", [round(v, 1) for v in flow.sample(500).mean(0).tolist()])


if __name__ == "__main__":
    main()
