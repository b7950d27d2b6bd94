"""A small DenseNet for digits: each layer reads the outputs of all previous layers.

After kuangliu's pytorch-cifar.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Bottleneck(nn.Module):
    def __init__(self, in_planes, growth_rate):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(in_planes)
        self.conv1 = nn.Conv2d(in_planes, 2 * growth_rate, kernel_size=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * growth_rate)
        self.conv2 = nn.Conv2d(2 * growth_rate, growth_rate, kernel_size=3, padding=1, bias=False)

    def forward(self, x):
        out = self.conv1(F.relu(self.bn1(x)))
        out = self.conv2(F.relu(self.bn2(out)))
        return torch.cat([out, x], 1)


class Transition(nn.Module):
    def __init__(self, in_planes, out_planes):
        super().__init__()
        self.bn = nn.BatchNorm2d(in_planes)
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size=1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(F.relu(self.bn(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, nblocks, growth_rate=6, reduction=0.5, num_classes=10):
        super().__init__()
        planes = 2 * growth_rate
        self.conv1 = nn.Conv2d(1, planes, kernel_size=3, padding=1, bias=False)
        blocks = []
        for n, number in enumerate(nblocks):
            blocks += [Bottleneck(planes + i * growth_rate, growth_rate) for i in range(number)]
            planes += number * growth_rate
            if n < len(nblocks) - 1:
                blocks.append(Transition(planes, math.floor(planes * reduction)))
                planes = math.floor(planes * reduction)
        self.blocks = nn.Sequential(*blocks)
        self.bn = nn.BatchNorm2d(planes)
        self.linear = nn.Linear(planes, num_classes)

    def forward(self, x):
        out = self.blocks(self.conv1(x))
        out = F.adaptive_avg_pool2d(F.relu(self.bn(out)), 1)
        return self.linear(torch.flatten(out, 1))


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:, None], dtype=torch.float32).sub(4.9).div(6.0)
    labels = torch.tensor(digits.target)
    net, criterion = DenseNet([2, 2]), nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for step in range(1, 21):
        batch = torch.randint(0, len(labels), (32,))
        optimizer.zero_grad()
        loss = criterion(net(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
