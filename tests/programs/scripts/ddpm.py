"""Diffusion: a network removes noise from points step by step, until they form a swiss roll.

After labml's annotated "Denoising diffusion probabilistic models" and lucidrains' denoising-diffusion-pytorch.
"""

import math

import torch
import torch.nn.functional as F
from sklearn.datasets import make_swiss_roll
from torch import nn


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(16), nn.Linear(16, dim), nn.Mish(), nn.Linear(dim, dim))
        self.first, self.second, self.last = nn.Linear(2, dim), nn.Linear(dim, dim), nn.Linear(dim, 2)

    def forward(self, x, t):
        emb = self.time_mlp(t)
        h = F.silu(self.first(x) + emb)
        h = h + F.silu(self.second(h) * (1 + emb))
        return self.last(h)


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=50):
        super().__init__()
        self.model, self.num_timesteps = model, timesteps
        betas = torch.linspace(1e-3, 0.15, timesteps)
        alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
        self.register_buffer("betas", betas)
        self.register_buffer("alphas_cumprod", alphas_cumprod)
        self.register_buffer("alphas_cumprod_prev", F.pad(alphas_cumprod[:-1], (1, 0), value=1.0))

    def q_sample(self, x_start, t, noise):
        a = extract(self.alphas_cumprod, t, x_start.shape)
        return a.sqrt() * x_start + (1 - a).sqrt() * noise

    def forward(self, x_start):
        t = torch.randint(0, self.num_timesteps, (x_start.shape[0],), device=x_start.device).long()
        noise = torch.randn_like(x_start)
        return F.mse_loss(self.model(self.q_sample(x_start, t, noise), t), noise)

    @torch.inference_mode()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.num_timesteps)):
            t = torch.full((n,), i, dtype=torch.long)
            beta, a, before = self.betas[i], self.alphas_cumprod[i], self.alphas_cumprod_prev[i]
            x = (x - beta / (1 - a).sqrt() * self.model(x, t)) / (1 - beta).sqrt()
            if i > 0:
                x = x + (beta * (1 - before) / (1 - a)).sqrt() * torch.randn_like(x)
        return x


def main():
    torch.manual_seed(0)
    points, _ = make_swiss_roll(1000, noise=0.3, random_state=0)
    points = torch.tensor(points[:, [0, 2]] / 10, dtype=torch.float32)
    diffusion = GaussianDiffusion(Denoiser())
    optimizer = torch.optim.AdamW(diffusion.parameters(), lr=3e-3)
    ema = {k: v.clone() for k, v in diffusion.state_dict().items()}
    for step in range(1, 61):
        loss = diffusion(points[torch.randint(len(points), (128,))])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for k, v in diffusion.state_dict().items():
            ema[k].lerp_(v, 0.1)
        if step % 6 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    diffusion.load_state_dict(ema)
    print("spread of the points", [f"{s:.2f}" for s in points.std(0)], "of samples", diffusion.sample(200).std(0).shape)


if __name__ == "__main__":
    main()
