"""A small ShuffleNet for digits: grouped convolutions, with the channels shuffled in between.

After kuangliu's pytorch-cifar.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class ShuffleBlock(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        N, C, H, W = x.size()
        g = self.groups
        return x.view(N, g, C // g, H, W).permute(0, 2, 1, 3, 4).reshape(N, C, H, W)


class Bottleneck(nn.Module):
    def __init__(self, in_planes, out_planes, stride, groups):
        super().__init__()
        self.stride = stride
        mid_planes = out_planes // 4
        self.conv1 = nn.Conv2d(in_planes, mid_planes, kernel_size=1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(mid_planes)
        self.shuffle1 = ShuffleBlock(groups=groups)
        self.conv2 = nn.Conv2d(
            mid_planes, mid_planes, kernel_size=3, stride=stride, padding=1, groups=mid_planes, bias=False
        )
        self.bn2 = nn.BatchNorm2d(mid_planes)
        self.conv3 = nn.Conv2d(mid_planes, out_planes, kernel_size=1, groups=groups, bias=False)
        self.bn3 = nn.BatchNorm2d(out_planes)
        self.shortcut = nn.AvgPool2d(3, stride=2, padding=1) if stride == 2 else nn.Identity()

    def forward(self, x):
        out = self.shuffle1(F.relu(self.bn1(self.conv1(x))))
        out = F.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        res = self.shortcut(x)
        return F.relu(torch.cat([out, res], 1)) if self.stride == 2 else F.relu(out + res)


class ShuffleNet(nn.Module):
    def __init__(self, groups=2):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Bottleneck(16, 16, 2, groups), Bottleneck(32, 32, 1, groups))
        self.channel_shuffle = nn.ChannelShuffle(groups)
        self.linear = nn.Linear(32, 10)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.channel_shuffle(self.layer1(out))
        return self.linear(F.avg_pool2d(out, 4).flatten(1))


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:, None], dtype=torch.float32).sub(4.9).div(6.0)
    labels = torch.tensor(digits.target)
    net, criterion = ShuffleNet(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[10, 16], gamma=0.2)
    for step in range(1, 21):
        batch = torch.randint(0, len(labels), (32,))
        optimizer.zero_grad()
        loss = criterion(net(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
