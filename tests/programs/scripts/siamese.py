"""One network sees two pictures and predicts if they show the same digit.

After PyTorch's example "siamese_network".
"""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU()
        )
        self.fc = nn.Sequential(nn.Linear(2 * 64, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
        self.sigmoid = nn.Sigmoid()
        self.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.conv(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        both = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(both))


class Pairs(Dataset):
    def __init__(self):
        digits = load_digits(n_class=4)
        self.data = torch.tensor(digits.images / 16, dtype=torch.float32)[:, None]
        self.targets = torch.tensor(digits.target)
        self.grouped = {k: torch.where(self.targets == k)[0] for k in range(4)}

    def __len__(self):
        return 256

    def __getitem__(self, index):
        kind = random.randint(0, 3)
        first = self.data[random.choice(self.grouped[kind])]
        other = kind if index % 2 == 0 else random.choice([k for k in range(4) if k != kind])
        second = self.data[random.choice(self.grouped[other])]
        return first, second, torch.tensor(float(other == kind))


def main():
    random.seed(0)
    torch.manual_seed(1)
    loader = DataLoader(Pairs(), shuffle=True, batch_size=32)
    model = SiameseNetwork()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    step = 0
    for _ in range(3):
        for image_1, image_2, target in loader:
            optimizer.zero_grad()
            loss = F.binary_cross_entropy(model(image_1, image_2).squeeze(), target)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 4 == 0:
                print(f"step {step} loss {loss.item():.6g}")
        scheduler.step()


if __name__ == "__main__":
    main()
