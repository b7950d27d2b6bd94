"""A GRU encoder and a decoder with additive attention translate numbers from words into digits.

After PyTorch's tutorial "Translation with a sequence to sequence network and attention".
"""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = "zero one two three four five six seven eight nine".split()
SOS, EOS = 10, 11


def example(length):
    digits = [random.randrange(10) for _ in range(length)]
    letters = " ".join(WORDS[d] for d in digits)
    return [0 if c == " " else ord(c) - ord("a") + 1 for c in letters], digits + [EOS]


def batch(size, length=3, longest=18):
    pairs = [example(length) for _ in range(size)]
    source = torch.zeros(size, longest, dtype=torch.long)
    for row, (letters, _) in zip(source, pairs):
        row[: len(letters)] = torch.tensor(letters)
    return source, torch.tensor([target for _, target in pairs])


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, keys, hidden, target):
        input = torch.full((len(keys), 1), SOS, dtype=torch.long)
        outputs = []
        for i in range(target.size(1)):
            context, _ = self.attention(hidden.permute(1, 0, 2), keys)
            output, hidden = self.gru(torch.cat((self.embedding(input), context), dim=2), hidden)
            outputs.append(self.out(output))
            input = target[:, i].unsqueeze(1)  # teacher forcing
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1)


def main():
    random.seed(0)
    torch.manual_seed(0)
    encoder, decoder = EncoderRNN(27, 32), AttnDecoderRNN(32, 12)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.005) for m in (encoder, decoder)]
    criterion = nn.NLLLoss()
    for step in range(1, 41):
        source, target = batch(16)
        for optimizer in optimizers:
            optimizer.zero_grad()
        output = decoder(*encoder(source), target)
        loss = criterion(output.view(-1, output.size(-1)), target.view(-1))
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
