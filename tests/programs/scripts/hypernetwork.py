"""One network computes the weights of another, which draws digits from coordinates.

After Ha and others' "HyperNetworks" and vsitzmann's siren, by torch.func's functional_call and vmap.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.func import functional_call, vmap


class Sine(nn.Module):
    def __init__(self, w0=1.0):
        super().__init__()
        self.w0 = w0

    def forward(self, x):
        return torch.sin(self.w0 * x)


class HyperNetwork(nn.Module):
    """A vector for each picture, and a linear layer for each weight of the network that draws it."""

    def __init__(self, target, n_pictures, latent=12):
        super().__init__()
        self.codes = nn.Embedding(n_pictures, latent)
        self.body = nn.Sequential(nn.Linear(latent, 32), nn.ReLU())
        self.shapes = {name: p.shape for name, p in target.named_parameters()}
        self.heads = nn.ModuleDict({n.replace(".", "_"): nn.Linear(32, s.numel()) for n, s in self.shapes.items()})
        for name, p in target.named_parameters():
            head = self.heads[name.replace(".", "_")]
            nn.init.uniform_(head.weight, -0.02, 0.02)
            head.bias.data.copy_(p.detach().flatten())  # begin at the weights that the network had

    def forward(self, index):
        h = self.body(self.codes(index))
        return {n: self.heads[n.replace(".", "_")](h).view(-1, *s) for n, s in self.shapes.items()}


def main():
    torch.manual_seed(0)
    images = torch.tensor(load_digits().images[:20] / 16, dtype=torch.float32).flatten(1)
    axis = torch.linspace(-1, 1, 8)
    coordinates = torch.cartesian_prod(axis, axis)
    siren = nn.Sequential(nn.Linear(2, 16), Sine(5.0), nn.Linear(16, 16), Sine(), nn.Linear(16, 1))
    hyper = HyperNetwork(siren, len(images))
    draw = vmap(lambda weights: functional_call(siren, weights, (coordinates,)).squeeze(-1))
    optimizer = torch.optim.Adam(hyper.parameters(), lr=3e-3)
    for step in range(1, 61):
        index = torch.randperm(len(images))[:10]
        loss = nn.functional.mse_loss(draw(hyper(index)), images[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
