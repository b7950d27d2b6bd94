"""A curve that turns back: a network predicts the parameters of a mixture of normal distributions.

After Bishop's "Mixture density networks" as hardmaru and others write it with torch.distributions.
"""

import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, Normal


class MDN(nn.Module):
    def __init__(self, n_hidden=24, n_gaussians=4):
        super().__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi = nn.Linear(n_hidden, n_gaussians)
        self.z_mu = nn.Linear(n_hidden, n_gaussians)
        self.z_sigma = nn.Linear(n_hidden, n_gaussians)

    def forward(self, x):
        h = self.z_h(x)
        components = Normal(self.z_mu(h), nn.functional.softplus(self.z_sigma(h)) + 1e-3)
        return MixtureSameFamily(Categorical(logits=self.z_pi(h)), components)


def main():
    torch.manual_seed(0)
    y = torch.linspace(-3, 3, 300)
    x = (y + 2 * torch.sin(1.5 * y) + 0.2 * torch.randn(300)).unsqueeze(1)
    model = MDN()
    optimizer = torch.optim.RAdam(model.parameters(), lr=0.02)
    for step in range(1, 81):
        loss = -model(x).log_prob(y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    mixture = model(torch.zeros(1, 1))
    sample = mixture.sample((1000,))
    print(f"at 0 the mean is {mixture.mean.item():.2f}, that of a sample {sample.mean().item():.2f}")


if __name__ == "__main__":
    main()
