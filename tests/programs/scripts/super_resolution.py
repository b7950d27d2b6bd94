"""Convolutions and PixelShuffle double the size of digits.

After PyTorch's example "super_resolution".
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        for conv in (self.conv1, self.conv2, self.conv3):
            init.orthogonal_(conv.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


def main():
    torch.manual_seed(123)
    target = torch.tensor(load_digits().images[:512, None] / 16, dtype=torch.float32)
    small = F.avg_pool2d(target, 2)
    loader = DataLoader(TensorDataset(small, target), batch_size=32, shuffle=True)
    model, criterion = Net(upscale_factor=2), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    step = 0
    for _ in range(2):
        for input, wanted in loader:
            optimizer.zero_grad()
            loss = criterion(model(input), wanted)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 4 == 0:
                print(f"step {step} loss {loss.item():.6g}")
    with torch.no_grad():
        mse = criterion(model(small), target).item()
        plain = F.mse_loss(F.interpolate(small, scale_factor=2, mode="bicubic", align_corners=False), target).item()
    print(f"PSNR {10 * math.log10(1 / mse):.2f} dB, of bicubic interpolation {10 * math.log10(1 / plain):.2f} dB")


if __name__ == "__main__":
    main()
