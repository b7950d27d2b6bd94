"""Weights keep a property during training: unit norm, a bounded slope, symmetry, orthogonality.

After PyTorch's tutorial "Parametrizations", in double precision.
"""

import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from sklearn.datasets import load_wine
from torch.nn.utils.parametrizations import spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


class Skew(nn.Module):
    def forward(self, X):
        A = X.triu(1)
        return A - A.transpose(-1, -2)


class MatrixExponential(nn.Module):
    """Rotations, by skew-symmetric matrices."""

    def forward(self, X):
        return torch.matrix_exp(X)


class Positive(nn.Module):
    """Positive numbers, by their logarithms."""

    def forward(self, X):
        return X.exp()

    def right_inverse(self, Y):
        return Y.abs().log()


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    wine = load_wine()
    x, y = torch.tensor(wine.data), torch.tensor(wine.target)
    x = (x - x.mean(0)) / x.std(0)
    symmetric, rotation, scale = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16, bias=False)
    parametrize.register_parametrization(symmetric, "weight", Symmetric())
    parametrize.register_parametrization(rotation, "weight", Skew())
    parametrize.register_parametrization(rotation, "weight", MatrixExponential())
    parametrize.register_parametrization(scale, "weight", Positive())
    model = nn.Sequential(
        weight_norm(nn.Linear(13, 16)),
        nn.Tanh(),
        rotation,
        symmetric,
        nn.Tanh(),
        scale,
        nn.LayerNorm(16),
        spectral_norm(nn.Linear(16, 3)),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(1, 31):
        batch = torch.randint(len(y), (64,))
        with parametrize.cached():
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    Q, W, S = rotation.weight, symmetric.weight, model[-1].weight
    print("orthogonal:", torch.allclose(Q.T @ Q, torch.eye(16)), "symmetric:", torch.allclose(W, W.T))
    print(f"largest singular value {torch.linalg.svdvals(S)[0].item():.2f}")
    parametrize.remove_parametrizations(symmetric, "weight", leave_parametrized=True)
    print("parametrized still:", parametrize.is_parametrized(symmetric), "and", parametrize.is_parametrized(scale))


if __name__ == "__main__":
    main()
