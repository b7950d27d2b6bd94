"""A two-layer LSTM with tied weights predicts the next word; its state carries over from one piece of text to the next.

After PyTorch's example "word_language_model".
"""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = """it was the best of times it was the worst of times it was the age of wisdom it was the age of foolishness it was
the epoch of belief it was the epoch of incredulity it was the season of light it was the season of darkness it was the
spring of hope it was the winter of despair"""


class RNNModel(nn.Module):
    def __init__(self, n_tokens, n_input, n_hidden, n_layers, dropout=0.2):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(n_tokens, n_input)
        self.rnn = nn.LSTM(n_input, n_hidden, n_layers)
        self.decoder = nn.Linear(n_hidden, n_tokens)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.n_tokens, self.n_hidden, self.n_layers = n_tokens, n_hidden, n_layers

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.n_tokens)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        zeros = weight.new_zeros(self.n_layers, batch_size, self.n_hidden)
        return zeros, zeros.clone()


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=5.0)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(1111)
    words = TEXT.split()
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(words))}
    ids = torch.tensor([vocabulary[w] for w in words])
    data = ids.narrow(0, 0, len(ids) // 2 * 2).view(2, -1).t().contiguous()
    model = RNNModel(len(vocabulary), 24, 24, 2)
    step, lr, best = 0, args.lr, None
    for _ in range(args.epochs):
        hidden, total = model.init_hidden(2), 0.0
        model.train()
        for i in range(0, len(data) - 1, 10):
            source, target = data[i : min(i + 10, len(data) - 1)], data[i + 1 : i + 11].view(-1)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(source, hidden)
            loss = F.nll_loss(output, target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total += len(source) * loss.item()
            step += 1
        total /= len(data) - 1
        print(f"step {step} lr {lr} ppl {math.exp(total):.4g} loss {total:.6g}")
        if best is None or total < best:
            best = total
        else:
            lr /= 4


if __name__ == "__main__":
    main()
