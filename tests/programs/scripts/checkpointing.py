"""A deep network in little memory: the backward pass computes blocks again, dropout included.

After PyTorch's documentation of torch.utils.checkpoint, as vision and language models use it.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.linear, self.drop = nn.LayerNorm(width), nn.Linear(width, width), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(F.gelu(self.linear(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=48, depth=6, use_checkpoint=True):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.first = nn.Linear(64, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth // 2))
        self.more = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.SiLU()) for _ in range(depth // 2)])
        self.last = nn.Linear(width, 10)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.use_checkpoint else block(x)
        x = checkpoint_sequential(self.more, 2, x, use_reentrant=False) if self.use_checkpoint else self.more(x)
        return self.last(x)


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images, labels = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(1, 31):
        batch = torch.randint(0, len(labels), (64,))
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
