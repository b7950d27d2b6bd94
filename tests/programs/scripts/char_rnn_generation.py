"""A recurrent cell generates names letter by letter, for a given category.

After PyTorch's tutorial "Generating names with a character-level RNN".
"""

import random

import torch
import torch.nn as nn

CATEGORIES = {
    "rivers": "rhine danube elbe weser main neckar isar inn oder spree havel ruhr mosel saale".split(),
    "hills": "brocken zugspitze feldberg arber watzmann kandel hornisgrinde belchen lemberg".split(),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz."  # the dot ends a name


class RNN(nn.Module):
    def __init__(self, n_categories, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(n_categories + input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(n_categories + input_size + hidden_size, output_size)
        self.o2o = nn.Linear(hidden_size + output_size, output_size)
        self.dropout = nn.Dropout(0.1)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, category, input, hidden):
        combined = torch.cat((category, input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.o2o(torch.cat((hidden, self.i2o(combined)), 1))
        return self.softmax(self.dropout(output)), hidden


def one_hot(index, n):
    return torch.eye(n)[index].unsqueeze(0)


def train(rnn, criterion, category, name, lr):
    hidden = torch.zeros(1, rnn.hidden_size)
    rnn.zero_grad()
    loss = torch.zeros(1)
    for letter, following in zip(name, name[1:] + "."):
        input = one_hot(LETTERS.index(letter), len(LETTERS))
        output, hidden = rnn(category, input, hidden)
        loss = loss + criterion(output, torch.tensor([LETTERS.index(following)]))
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-lr)
    return loss.item() / len(name)


@torch.no_grad()
def sample(rnn, category, letter, longest=10):
    rnn.eval()
    name, hidden = letter, torch.zeros(1, rnn.hidden_size)
    for _ in range(longest):
        output, hidden = rnn(category, one_hot(LETTERS.index(name[-1]), len(LETTERS)), hidden)
        _, best = output.topk(1)
        if LETTERS[best[0][0]] == ".":
            break
        name += LETTERS[best[0][0]]
    return name


def main():
    random.seed(0)
    torch.manual_seed(0)
    names = sorted(CATEGORIES)
    rnn = RNN(len(names), len(LETTERS), 32, len(LETTERS))
    total = 0.0
    for step in range(1, 121):
        k = random.randrange(len(names))
        total += train(rnn, nn.NLLLoss(), one_hot(k, len(names)), random.choice(CATEGORIES[names[k]]), lr=0.01)
        if step % 20 == 0:
            print(f"step {step} loss {total / 20:.6g}")
            total = 0.0
    print(sample(rnn, one_hot(0, len(names)), "b"), sample(rnn, one_hot(1, len(names)), "r"))


if __name__ == "__main__":
    main()
