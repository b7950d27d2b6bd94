"""Rotary positions, RMS norm and gated feed-forward layers, on sums of two numbers.

After labml's annotated "Rotary positional embeddings" and "SwiGLU"; data after minGPT's adder.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryPositionalEmbeddings(nn.Module):
    def __init__(self, d: int, base: int = 10_000):
        super().__init__()
        self.base, self.d = base, d
        self.cos_cached, self.sin_cached = None, None

    def _build_cache(self, x: torch.Tensor):
        if self.cos_cached is not None and x.shape[0] <= self.cos_cached.shape[0]:
            return
        theta = 1.0 / (self.base ** (torch.arange(0, self.d, 2).float() / self.d))
        idx_theta = torch.einsum("n,d->nd", torch.arange(x.shape[0]).float(), theta)
        idx_theta2 = torch.cat([idx_theta, idx_theta], dim=1)
        self.cos_cached = idx_theta2.cos()[:, None, None, :]
        self.sin_cached = idx_theta2.sin()[:, None, None, :]

    def _neg_half(self, x: torch.Tensor):
        d_2 = self.d // 2
        return torch.cat([-x[:, :, :, d_2:], x[:, :, :, :d_2]], dim=-1)

    def forward(self, x: torch.Tensor):
        self._build_cache(x)
        x_rope, x_pass = x[..., : self.d], x[..., self.d :]
        x_rope = x_rope * self.cos_cached[: x.shape[0]] + self._neg_half(x_rope) * self.sin_cached[: x.shape[0]]
        return torch.cat((x_rope, x_pass), dim=-1)


class RotaryLayer(nn.Module):
    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads, d_k = heads, d_model // heads
        self.norm1, self.norm2 = nn.RMSNorm(d_model), nn.RMSNorm(d_model)
        self.query, self.key, self.value = (nn.Linear(d_model, d_model) for _ in range(3))
        self.rotary = RotaryPositionalEmbeddings(d_k // 2)
        self.output = nn.Linear(d_model, d_model)
        self.gate, self.up = nn.Linear(d_model, 2 * d_model, bias=False), nn.Linear(d_model, 2 * d_model, bias=False)
        self.down = nn.Linear(2 * d_model, d_model, bias=False)

    def forward(self, x, mask):
        z = self.norm1(x)  # (seq, batch, d_model)
        q, k, v = (lin(z).view(*x.shape[:2], self.heads, -1) for lin in (self.query, self.key, self.value))
        q, k = self.rotary(q), self.rotary(k)
        scores = torch.einsum("ibhd,jbhd->ijbh", q, k) * q.shape[-1] ** -0.5
        attn = scores.masked_fill(mask[:, :, None, None] == 0, float("-inf")).softmax(dim=1)
        x = x + self.output(torch.einsum("ijbh,jbhd->ibhd", attn, v).reshape(x.shape))
        z = self.norm2(x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z))


def batch(size):
    a, b = torch.randint(0, 100, (2, size))
    digits = lambda n, width: torch.stack([n // 10**i % 10 for i in reversed(range(width))])
    return torch.cat([digits(a, 2), digits(b, 2), digits(a + b, 3).flip(0)])  # the sum with its last digit first


def main():
    torch.manual_seed(0)
    d_model = 32
    embed, head = nn.Embedding(10, d_model), nn.Linear(d_model, 10)
    layers = nn.ModuleList([RotaryLayer(d_model, 4) for _ in range(2)])
    parameters = [p for m in (embed, head, layers) for p in m.parameters()]
    optimizer = torch.optim.NAdam(parameters, lr=3e-3)
    mask = torch.tril(torch.ones(6, 6))
    for step in range(1, 31):
        ids = batch(32)
        x = embed(ids[:-1])
        for layer in layers:
            x = layer(x, mask)
        loss = F.cross_entropy(head(x)[3:].flatten(0, 1), ids[4:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
