"""An LSTM reads handwritten digits row by row.

After PyTorch's example "mnist_rnn".
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Subset, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(input_size=8, hidden_size=32, batch_first=True)
        self.batchnorm = nn.BatchNorm1d(32)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, input):
        input = input.reshape(-1, 8, 8)
        output, _ = self.rnn(input)
        output = self.batchnorm(output[:, -1, :])
        output = F.relu(self.fc1(self.dropout1(output)))
        return F.log_softmax(self.fc2(output), dim=1)


def main():
    parser = argparse.ArgumentParser(description="digits by an RNN")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.5)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--log-interval", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(1)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.images / 16, dtype=torch.float32), torch.tensor(digits.target))
    train_loader = DataLoader(Subset(data, range(1500)), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(Subset(data, range(1500, 1797)), batch_size=1000)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    step = 0
    for _ in range(args.epochs):
        model.train()
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.log_interval == 0:
                print(f"step {step} loss {loss.item():.6g}")
        model.eval()
        with torch.no_grad():
            correct = sum(model(x).argmax(dim=1, keepdim=True).eq(y.view(-1, 1)).sum().item() for x, y in test_loader)
        print(f"accuracy {correct / 297:.3f}")
        scheduler.step()


if __name__ == "__main__":
    main()
