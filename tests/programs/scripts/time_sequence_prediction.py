"""Two LSTM cells, trained by LBFGS, continue sine waves.

After PyTorch's example "time_sequence_prediction".
"""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input, future=0):
        outputs = []
        zeros = lambda: torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        h_t, c_t, h_t2, c_t2 = zeros(), zeros(), zeros(), zeros()
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    T, L, N = 5, 40, 12
    x = np.arange(L) + np.random.randint(-4 * T, 4 * T, N).reshape(N, 1)
    data = torch.from_numpy(np.sin(x / 1.0 / T).astype("float64"))
    input, target = data[3:, :-1], data[3:, 1:]
    test_input, test_target = data[:3, :-1], data[:3, 1:]
    seq = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
    for step in range(1, 5):

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(input), target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        with torch.no_grad():
            prediction = seq(test_input, future=10)
            test_loss = criterion(prediction[:, :-10], test_target)
        print(f"step {step} test {test_loss.item():.4g} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
