"""A selective state space model copies marked letters to the end of a sequence.

After state-spaces' mamba, with the scan as a loop (`selective_scan_ref`).
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def selective_scan(u, delta, A, B, C, D):
    """y of x' = exp(delta A) x + delta B u, y = C x + D u, along (batch, channels, length)."""
    deltaA = torch.exp(torch.einsum("bdl,dn->bdln", delta, A))
    deltaB_u = torch.einsum("bdl,bnl,bdl->bdln", delta, B, u)
    x = u.new_zeros(u.shape[0], u.shape[1], A.shape[1])
    ys = []
    for i in range(u.shape[2]):
        x = deltaA[:, :, i] * x + deltaB_u[:, :, i]
        ys.append(torch.einsum("bdn,bn->bd", x, C[:, :, i]))
    return torch.stack(ys, dim=2) + u * D[:, None]


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Mamba(nn.Module):
    def __init__(self, d_model, d_state=4, d_conv=3, expand=2):
        super().__init__()
        d_inner, self.d_state, self.dt_rank = expand * d_model, d_state, math.ceil(d_model / 8)
        self.in_proj = nn.Linear(d_model, 2 * d_inner, bias=False)
        self.conv1d = nn.Conv1d(d_inner, d_inner, d_conv, groups=d_inner, padding=d_conv - 1)
        self.x_proj = nn.Linear(d_inner, self.dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(self.dt_rank, d_inner)
        dt = torch.exp(torch.rand(d_inner) * (math.log(0.1) - math.log(0.001)) + math.log(0.001)).clamp(min=1e-4)
        with torch.no_grad():
            self.dt_proj.bias.copy_(dt + torch.log(-torch.expm1(-dt)))  # softplus undoes it
        self.A_log = nn.Parameter(torch.log(torch.arange(1, d_state + 1, dtype=torch.float32).repeat(d_inner, 1)))
        self.D = nn.Parameter(torch.ones(d_inner))
        self.out_proj = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, hidden_states):
        length = hidden_states.shape[1]
        x, z = self.in_proj(hidden_states).transpose(1, 2).chunk(2, dim=1)
        x = F.silu(self.conv1d(x)[..., :length])
        dt, B, C = torch.split(self.x_proj(x.transpose(1, 2)), [self.dt_rank, self.d_state, self.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(dt)).transpose(1, 2)
        y = selective_scan(x, delta, -torch.exp(self.A_log), B.transpose(1, 2), C.transpose(1, 2), self.D)
        return self.out_proj((y * F.silu(z)).transpose(1, 2))


class MambaLM(nn.Module):
    def __init__(self, n_tokens, d_model=24, n_layer=2):
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, d_model)
        self.layers = nn.ModuleList([nn.ModuleList([RMSNorm(d_model), Mamba(d_model)]) for _ in range(n_layer)])
        self.norm_f = RMSNorm(d_model)

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, mixer in self.layers:
            x = x + mixer(norm(x))
        return self.norm_f(x) @ self.embedding.weight.T


def batch(size, length=10, n_memorize=3, n_tokens=8):
    """Letters among blanks, and marks at the end where they are to be told; 0 is the blank, 1 the mark."""
    letters = torch.randint(2, n_tokens, (size, n_memorize))
    places = torch.stack([torch.randperm(length)[:n_memorize].sort()[0] for _ in range(size)])
    ids = torch.zeros(size, length, dtype=torch.long).scatter(1, places, letters)
    return torch.cat([ids, torch.ones(size, n_memorize, dtype=torch.long)], 1), letters


def main():
    torch.manual_seed(0)
    model = MambaLM(8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(1, 31):
        ids, letters = batch(16)
        loss = F.cross_entropy(model(ids)[:, -letters.shape[1] :].transpose(1, 2), letters)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
