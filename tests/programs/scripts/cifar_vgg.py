"""A small VGG for digits of 8 x 8 pixels: a list of widths defines the network.

After kuangliu's pytorch-cifar.
"""

import argparse

import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

cfg = {"VGG5": [16, "M", 32, 32, "M"], "VGG7": [16, 16, "M", 32, 32, "M", 64, "M"]}


class VGG(nn.Module):
    def __init__(self, vgg_name):
        super().__init__()
        self.features = self._make_layers(cfg[vgg_name])
        self.classifier = nn.Linear(32 * 4, 10)

    def forward(self, x):
        out = self.features(x)
        return self.classifier(out.view(out.size(0), -1))

    def _make_layers(self, cfg):
        layers, in_channels = [], 1
        for x in cfg:
            if x == "M":
                layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            else:
                conv = nn.Conv2d(in_channels, x, kernel_size=3, padding=1)
                layers += [conv, nn.BatchNorm2d(x), nn.ReLU(inplace=True)]
                in_channels = x
        layers += [nn.AvgPool2d(kernel_size=1, stride=1)]
        return nn.Sequential(*layers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", default=0.05, type=float)
    parser.add_argument("--epochs", default=2, type=int)
    args = parser.parse_args()
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:640, None], dtype=torch.float32).sub(4.9).div(6.0)
    loader = DataLoader(TensorDataset(images, torch.tensor(digits.target[:640])), batch_size=64, shuffle=True)
    net, criterion = VGG("VGG5"), nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    step = 0
    for _ in range(args.epochs):
        net.train()
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(net(inputs), targets)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 2 == 0:
                print(f"step {step} loss {loss.item():.6g}")
        scheduler.step()


if __name__ == "__main__":
    main()
