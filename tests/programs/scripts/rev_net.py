"""Invertible blocks: the backward pass computes their inputs from the outputs instead of saving them, in double precision.

After RobinBruegger's RevTorch.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class ReversibleBlock(nn.Module):
    """y1 = x1 + f(x2), y2 = x2 + g(y1)."""

    def __init__(self, f_block, g_block, split_along_dim=1):
        super().__init__()
        self.f_block, self.g_block, self.split_along_dim = f_block, g_block, split_along_dim

    def forward(self, x):
        x1, x2 = torch.chunk(x, 2, dim=self.split_along_dim)
        y1 = x1 + self.f_block(x2)
        y2 = x2 + self.g_block(y1)
        return torch.cat([y1, y2], dim=self.split_along_dim)

    def backward_pass(self, y, dy):
        y1, y2 = (t.detach() for t in torch.chunk(y, 2, dim=self.split_along_dim))
        dy1, dy2 = torch.chunk(dy, 2, dim=self.split_along_dim)
        y1.requires_grad = True
        with torch.enable_grad():
            gy1 = self.g_block(y1)
            gy1.backward(dy2)
        with torch.no_grad():
            x2 = y2 - gy1
            dx1 = dy1 + y1.grad
            y1.grad = None
        x2.requires_grad = True
        with torch.enable_grad():
            fx2 = self.f_block(x2)
            fx2.backward(dx1)
        with torch.no_grad():
            x1 = y1 - fx2
            dx2 = dy2 + x2.grad
            x2.grad = None
            return torch.cat([x1, x2.detach()], self.split_along_dim), torch.cat([dx1, dx2], self.split_along_dim)


class _ReversibleModuleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, reversible_blocks):
        with torch.no_grad():
            for block in reversible_blocks:
                x = block(x)
        ctx.y = x.detach()
        ctx.reversible_blocks = reversible_blocks
        return x

    @staticmethod
    def backward(ctx, dy):
        y = ctx.y
        del ctx.y
        for block in reversed(ctx.reversible_blocks):
            y, dy = block.backward_pass(y, dy)
        return dy, None


class ReversibleSequence(nn.Module):
    def __init__(self, reversible_blocks):
        super().__init__()
        self.reversible_blocks = reversible_blocks

    def forward(self, x):
        return _ReversibleModuleFunction.apply(x, self.reversible_blocks)


def branch(channels):
    conv = nn.Conv2d(channels, channels, 3, padding=1)
    return nn.Sequential(conv, nn.GroupNorm(2, channels), nn.LeakyReLU(0.1))


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    digits = load_digits()
    images, labels = torch.tensor(digits.images[:, None] / 16), torch.tensor(digits.target)
    blocks = nn.ModuleList([ReversibleBlock(branch(8), branch(8)) for _ in range(3)])
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), ReversibleSequence(blocks), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(64, 10)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(1, 21):
        batch = torch.randint(0, len(labels), (32,))
        loss = F.cross_entropy(net(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
