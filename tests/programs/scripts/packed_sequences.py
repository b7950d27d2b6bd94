"""A bidirectional LSTM learns to recognise balanced brackets, from packed sequences of different lengths.

After yunjey's pytorch-tutorial and PyTorch's documentation of `torch.nn.utils.rnn`.
"""

import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Brackets(Dataset):
    """Half of the words are balanced, the others have one bracket turned."""

    def __init__(self, n):
        self.words = [self.word(random.randint(2, 6), i % 2) for i in range(n)]

    def word(self, pairs, balanced):
        opened, closed, word = 0, 0, []
        while closed < pairs:
            turn = opened < pairs and (opened == closed or random.random() < 0.5)
            opened, closed = opened + turn, closed + (not turn)
            word.append(1 if turn else 2)
        if not balanced:
            at = random.randrange(len(word))
            word[at] = 3 - word[at]
        return torch.tensor(word), float(balanced)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i]


def collate(batch):
    words, labels = zip(*batch)
    return pad_sequence(words, batch_first=True), torch.tensor([len(w) for w in words]), torch.tensor(labels)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(3, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * 16, 1)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        output, (h_n, _) = self.lstm(packed)
        output, lengths = pad_packed_sequence(output, batch_first=True)
        mask = torch.arange(output.size(1))[None, :] < lengths[:, None]
        mean = (output * mask.unsqueeze(-1)).sum(1) / lengths[:, None]
        return self.out(mean + torch.cat([h_n[-2], h_n[-1]], 1)).squeeze(1)


def main():
    random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader(Brackets(320), batch_size=32, shuffle=True, collate_fn=collate)
    model, criterion = Reader(), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step = 0
    for _ in range(2):
        for words, lengths, labels in loader:
            loss = criterion(model(words, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            if step % 2 == 0:
                print(f"step {step} loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
