"""A vision transformer of digits: patches, a class token, and pre-norm attention.

After lucidrains' vit-pytorch (`vit.py`), without einops.
"""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def pair(t):
    return t if isinstance(t, tuple) else (t, t)


def feed_forward(dim, hidden_dim, dropout=0.0):
    return nn.Sequential(
        nn.LayerNorm(dim),
        nn.Linear(dim, hidden_dim),
        nn.GELU(),
        nn.Dropout(dropout),
        nn.Linear(hidden_dim, dim),
        nn.Dropout(dropout),
    )


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8, dropout=0.0):
        super().__init__()
        inner_dim = dim_head * heads
        self.heads = heads
        self.scale = dim_head**-0.5
        self.norm = nn.LayerNorm(dim)
        self.attend = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner_dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in qkv)
        attn = self.dropout(self.attend(torch.matmul(q, k.transpose(-1, -2)) * self.scale))
        out = torch.matmul(attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))


class ViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, dropout=0.1):
        super().__init__()
        (height, width), self.patch = pair(image_size), pair(patch_size)
        num_patches = (height // self.patch[0]) * (width // self.patch[1])
        patch_dim = self.patch[0] * self.patch[1]
        self.to_embedding = nn.Sequential(nn.LayerNorm(patch_dim), nn.Linear(patch_dim, dim), nn.LayerNorm(dim))
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches + 1, dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([Attention(dim, heads), feed_forward(dim, mlp_dim, dropout)]))
        self.norm = nn.LayerNorm(dim)
        self.mlp_head = nn.Linear(dim, num_classes)

    def forward(self, img):
        (p1, p2), b = self.patch, len(img)
        patches = img.unfold(2, p1, p1).unfold(3, p2, p2).reshape(b, -1, p1 * p2)
        x = self.to_embedding(patches)
        x = torch.cat((self.cls_token.expand(b, -1, -1), x), dim=1)
        x = self.dropout(x + self.pos_embedding[:, : x.shape[1]])
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return self.mlp_head(self.norm(x)[:, 0])


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:768, None] / 8 - 1, dtype=torch.float32)
    loader = DataLoader(TensorDataset(images, torch.tensor(digits.target[:768])), batch_size=64, shuffle=True)
    model = ViT(image_size=8, patch_size=2, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    step = 0
    for _ in range(2):
        for data, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), target)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 3 == 0:
                print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
