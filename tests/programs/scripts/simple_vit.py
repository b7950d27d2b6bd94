"""A vision transformer with fixed sines and cosines for the positions, and an average instead of a class token.

After lucidrains' vit-pytorch (`simple_vit.py`), without einops.
"""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def posemb_sincos_2d(h, w, dim, temperature: int = 10000, dtype=torch.float32):
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    assert dim % 4 == 0, "feature dimension must be multiple of 4 for sincos emb"
    omega = torch.arange(dim // 4) / (dim // 4 - 1)
    omega = 1.0 / (temperature**omega)
    y = y.flatten()[:, None] * omega[None, :]
    x = x.flatten()[:, None] * omega[None, :]
    return torch.cat((x.sin(), x.cos(), y.sin(), y.cos()), dim=1).type(dtype)


class Block(nn.Module):
    def __init__(self, dim, heads, mlp_dim):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, dim))

    def forward(self, x):
        q, k, v = self.to_qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        x = self.to_out(out.transpose(1, 2).flatten(2)) + x
        return self.ff(x) + x


class SimpleViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim):
        super().__init__()
        n, self.patch_size = image_size // patch_size, patch_size
        patch_dim = patch_size**2
        self.to_patch_embedding = nn.Sequential(nn.LayerNorm(patch_dim), nn.Linear(patch_dim, dim), nn.LayerNorm(dim))
        self.register_buffer("pos_embedding", posemb_sincos_2d(n, n, dim), persistent=False)
        self.transformer = nn.Sequential(*[Block(dim, heads, mlp_dim) for _ in range(depth)], nn.LayerNorm(dim))
        self.pool = "mean"
        self.to_latent = nn.Identity()
        self.linear_head = nn.Linear(dim, num_classes)

    def forward(self, img):
        patches = F.unfold(img, self.patch_size, stride=self.patch_size).transpose(1, 2)
        x = self.to_patch_embedding(patches)
        x = self.transformer(x + self.pos_embedding)
        return self.linear_head(self.to_latent(x.mean(dim=1)))


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 8 - 1, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    model = SimpleViT(image_size=8, patch_size=2, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    for step in range(1, 25):
        batch = torch.randperm(len(labels))[:64]
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
