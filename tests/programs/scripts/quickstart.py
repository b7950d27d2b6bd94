"""Handwritten digits, classified by a small network of linear layers.

After PyTorch's tutorial "Quickstart".
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(8 * 8, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


def train(loader, model, loss_fn, optimizer, step):
    model.train()
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    return step


@torch.no_grad()
def test(loader, model):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    print(f"accuracy {right / len(loader.dataset):.1%}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images / 16, dtype=torch.float32)
    data = TensorDataset(images, torch.tensor(digits.target, dtype=torch.long))
    training_data, test_data = random_split(data, [1500, len(data) - 1500])
    train_loader = DataLoader(training_data, batch_size=64, shuffle=True)
    test_loader = DataLoader(test_data, batch_size=64)
    model = NeuralNetwork()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    step = 0
    for _ in range(args.epochs):
        step = train(train_loader, model, nn.CrossEntropyLoss(), optimizer, step)
        test(test_loader, model)


if __name__ == "__main__":
    main()
