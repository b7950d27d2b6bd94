"""Attention in which most words have weight zero: 1.5-entmax and sparsemax as custom Functions.

After deep-spin's entmax.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function


def _make_ix_like(X, dim):
    d = X.size(dim)
    rho = torch.arange(1, d + 1, device=X.device, dtype=X.dtype)
    view = [1] * X.dim()
    view[0] = -1
    return rho.view(view).transpose(0, dim)


class SparsemaxFunction(Function):
    @staticmethod
    def forward(ctx, X, dim=-1):
        ctx.dim = dim
        max_val, _ = X.max(dim=dim, keepdim=True)
        X = X - max_val
        topk, _ = torch.sort(X, dim=dim, descending=True)
        topk_cumsum = topk.cumsum(dim) - 1
        support = _make_ix_like(topk, dim) * topk > topk_cumsum
        support_size = support.sum(dim=dim).unsqueeze(dim)
        tau = topk_cumsum.gather(dim, support_size - 1) / support_size.to(X.dtype)
        output = torch.clamp(X - tau, min=0)
        ctx.save_for_backward(support_size, output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        supp_size, output = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[output == 0] = 0
        v_hat = grad_input.sum(dim=ctx.dim) / supp_size.to(output.dtype).squeeze(ctx.dim)
        return torch.where(output != 0, grad_input - v_hat.unsqueeze(ctx.dim), grad_input), None


class Entmax15Function(Function):
    @staticmethod
    def forward(ctx, X, dim=0):
        ctx.dim = dim
        max_val, _ = X.max(dim=dim, keepdim=True)
        X = (X - max_val) / 2
        Xsrt, _ = torch.sort(X, dim=dim, descending=True)
        rho = _make_ix_like(X, dim)
        mean = Xsrt.cumsum(dim) / rho
        mean_sq = (Xsrt**2).cumsum(dim) / rho
        delta = (1 - rho * (mean_sq - mean**2)) / rho
        tau = mean - torch.sqrt(torch.clamp(delta, 0))
        support_size = (tau <= Xsrt).sum(dim).unsqueeze(dim)
        Y = torch.clamp(X - tau.gather(dim, support_size - 1), min=0) ** 2
        ctx.save_for_backward(Y)
        return Y

    @staticmethod
    def backward(ctx, dY):
        (Y,) = ctx.saved_tensors
        gppr = Y.sqrt()
        dX = dY * gppr
        q = dX.sum(ctx.dim) / gppr.sum(ctx.dim)
        dX -= q.unsqueeze(ctx.dim) * gppr
        return dX, None


class Reader(nn.Module):
    """Attends to the letters of a word and tells which of them is marked by its neighbour."""

    def __init__(self, n_tokens, d, attend):
        super().__init__()
        self.embedding, self.attend = nn.Embedding(n_tokens, d), attend
        self.key, self.value, self.query = nn.Conv1d(d, d, 3, padding=1), nn.Linear(d, d), nn.Parameter(torch.randn(d))
        self.out = nn.Linear(d, n_tokens)

    def forward(self, ids):
        x = self.embedding(ids)
        scores = self.key(x.transpose(1, 2)).transpose(1, 2) @ self.query / 4
        self.weights = self.attend(scores)
        return self.out((self.weights.unsqueeze(-1) * self.value(x)).sum(1))


def main():
    torch.manual_seed(0)
    attend = lambda x: 0.5 * Entmax15Function.apply(x, -1) + 0.5 * SparsemaxFunction.apply(x, -1)
    model = Reader(8, 16, attend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(1, 61):
        ids = torch.randint(1, 8, (32, 9))
        place = torch.randint(0, 8, (32, 1))
        ids.scatter_(1, place, 0)  # the mark stands in front of what is asked for
        target = ids.gather(1, place + 1).squeeze(1)
        loss = F.cross_entropy(model(ids), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            zeros = (model.weights == 0).float().mean().item()
            print(f"step {step} zeros {zeros:.2f} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
