"""A recurrent network reads names letter by letter and predicts the language.

After PyTorch's tutorial "Classifying names with a character-level RNN".
"""

import random
import string

import torch
import torch.nn as nn
import torch.nn.functional as F

NAMES = {
    "Italian": "rossi ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti costa rizzo",
    "Japanese": "sato suzuki takahashi tanaka watanabe yamamoto nakamura kobayashi kato yoshida yamada sasaki mori",
    "German": "mueller schmidt schneider fischer weber meyer wagner becker schulz hoffmann koch bauer richter klein",
    "Polish": "nowak kowalski wisniewski wojcik kowalczyk kaminski lewandowski zielinski szymanski wozniak dabrowski",
}
LETTERS = string.ascii_lowercase


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, len(LETTERS))
    for i, letter in enumerate(line):
        tensor[i][0][LETTERS.index(letter)] = 1
    return tensor


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, line_tensor):
        _, hidden = self.rnn(line_tensor)
        return self.softmax(self.h2o(hidden[0]))


def main():
    random.seed(0)
    torch.manual_seed(0)
    languages = sorted(NAMES)
    examples = [(name, k) for k, language in enumerate(languages) for name in NAMES[language].split()]
    rnn = CharRNN(len(LETTERS), 32, len(languages))
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    step = 0
    for _ in range(6):
        random.shuffle(examples)
        total = 0.0
        for at in range(0, len(examples), 8):
            batch = examples[at : at + 8]
            loss = sum(F.nll_loss(rnn(line_to_tensor(name)), torch.tensor([k])) for name, k in batch) / len(batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(rnn.parameters(), 3)
            optimizer.step()
            total += loss.item() * len(batch)
            step += 1
        print(f"step {step} loss {total / len(examples):.6g}")


if __name__ == "__main__":
    main()
