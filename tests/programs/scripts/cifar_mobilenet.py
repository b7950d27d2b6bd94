"""A small MobileNetV2 for digits: depthwise convolutions between wide pointwise ones.

After kuangliu's pytorch-cifar.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Block(nn.Module):
    """expand + depthwise + pointwise"""

    def __init__(self, in_planes, out_planes, expansion, stride):
        super().__init__()
        self.stride = stride
        planes = expansion * in_planes
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=stride, padding=1, groups=planes, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, out_planes, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_planes)
        self.shortcut = nn.Sequential()
        if stride == 1 and in_planes != out_planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, out_planes, kernel_size=1, bias=False), nn.BatchNorm2d(out_planes)
            )

    def forward(self, x):
        out = F.relu6(self.bn1(self.conv1(x)))
        out = F.relu6(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return out + self.shortcut(x) if self.stride == 1 else out


class MobileNetV2(nn.Module):
    cfg = [(1, 8, 1, 1), (4, 12, 1, 2), (4, 16, 2, 1)]  # expansion, out_planes, num_blocks, stride

    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layers = self._make_layers(in_planes=8)
        self.linear = nn.Linear(16, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")

    def _make_layers(self, in_planes):
        layers = []
        for expansion, out_planes, num_blocks, stride in self.cfg:
            for s in [stride] + [1] * (num_blocks - 1):
                layers.append(Block(in_planes, out_planes, expansion, s))
                in_planes = out_planes
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu6(self.bn1(self.conv1(x)))
        out = F.avg_pool2d(self.layers(out), 4)
        return self.linear(out.view(out.size(0), -1))


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    digits = load_digits()
    images = torch.tensor(digits.images[:, None]).sub(4.9).div(6.0)
    labels = torch.tensor(digits.target)
    net, criterion = MobileNetV2(), nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.003, alpha=0.9, momentum=0.9, eps=0.01)
    for step in range(1, 21):
        batch = torch.randint(0, len(labels), (32,))
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(net(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
