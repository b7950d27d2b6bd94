"""Training without backward: the derivative along a random direction estimates the gradient.

After PyTorch's tutorial "Forward-mode automatic differentiation" and Baydin and others' "Gradients without backpropagation".
"""

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn as nn
from sklearn.datasets import load_iris
from torch.func import functional_call, jvp


class Softplus(torch.autograd.Function):
    """log(1 + exp(x)) with its own jvp."""

    @staticmethod
    def forward(x):
        return torch.log1p(torch.exp(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * torch.sigmoid(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(Softplus.apply(self.first(x)))


def main():
    torch.manual_seed(0)
    iris = load_iris()
    x = torch.tensor(iris.data, dtype=torch.float32)
    x, y = (x - x.mean(0)) / x.std(0), torch.tensor(iris.target)
    model = Model()
    params = {name: p.detach() for name, p in model.named_parameters()}
    loss_of = lambda params: nn.functional.cross_entropy(functional_call(model, params, (x,)), y)
    for step in range(1, 101):
        direction = {name: torch.randn_like(p) for name, p in params.items()}
        if step % 2:
            with fwAD.dual_level():
                duals = {name: fwAD.make_dual(p, direction[name]) for name, p in params.items()}
                loss, slope = fwAD.unpack_dual(loss_of(duals))
        else:
            loss, slope = jvp(loss_of, (params,), (direction,))
        params = {name: p - 0.01 * slope * direction[name] for name, p in params.items()}
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
