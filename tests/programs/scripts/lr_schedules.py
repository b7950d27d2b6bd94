"""A learning rate finder, then five schedules that train the same network.

After Smith's "Cyclical learning rates", pytorch-lr-finder, and PyTorch's `torch.optim.lr_scheduler`.
"""

import copy

import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


class LRFinder:
    """Train with growing rates on a copy, and take the rate where the smoothed loss falls fastest."""

    def __init__(self, model, criterion):
        self.model, self.criterion = copy.deepcopy(model), criterion

    def range_test(self, batches, start_lr=1e-3, end_lr=1.0):
        optimizer = optim.SGD(self.model.parameters(), lr=start_lr)
        gamma = (end_lr / start_lr) ** (1 / len(batches))
        schedule = lr_scheduler.LambdaLR(optimizer, lambda n: gamma**n)
        rates, losses, smooth = [], [], None
        for x, y in batches:
            loss = self.criterion(self.model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            smooth = loss.item() if smooth is None else 0.8 * smooth + 0.2 * loss.item()
            rates.append(schedule.get_last_lr()[0])
            losses.append(smooth)
            schedule.step()
        falls = [b - a for a, b in zip(losses, losses[1:])]
        return rates[falls.index(min(falls))]


def warmup_and_cosine(optimizer, n):
    warm = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=3)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=n - 3)
    return lr_scheduler.SequentialLR(optimizer, [warm, cosine], milestones=[3])


SCHEDULES = {
    "one cycle": lambda optimizer, lr, n: lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=n + 1),
    "warmup and cosine": lambda optimizer, lr, n: warmup_and_cosine(optimizer, n),
    "restarts": lambda optimizer, lr, n: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4, T_mult=2),
    "cyclic": lambda optimizer, lr, n: lr_scheduler.CyclicLR(optimizer, lr / 10, lr, step_size_up=3),
    "plateau": lambda optimizer, lr, n: lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1),
}


def main():
    torch.manual_seed(0)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target))
    loader = DataLoader(data, batch_size=128, shuffle=True)
    start = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    criterion = nn.CrossEntropyLoss()
    lr = LRFinder(start, criterion).range_test(list(loader))
    print(f"the rate where the loss falls fastest: {lr:.3g}")
    step = 0
    for name, make in SCHEDULES.items():
        model = copy.deepcopy(start)
        optimizer = optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        schedule = make(optimizer, lr, len(loader))
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if name == "plateau":
                schedule.step(loss.item())
            else:
                schedule.step()
            step += 1
            if step % 5 == 0:
                print(f"step {step} {name}, lr {optimizer.param_groups[0]['lr']:.5g}, loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
