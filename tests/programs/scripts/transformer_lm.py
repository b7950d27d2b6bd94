"""nn.TransformerEncoder predicts the next word, with sines and cosines for the positions and a causal mask.

After PyTorch's tutorial "Language modeling with nn.Transformer and torchtext".
"""

import math

import torch
from torch import nn
from torch.nn import TransformerEncoder, TransformerEncoderLayer

TEXT = """the cat sat on the mat and the dog sat on the log . the cat saw the dog and the dog saw the cat . a cat on a mat
is a happy cat . a dog on a log is a happy dog . the sun is over the mat and the moon is over the log ."""


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class TransformerModel(nn.Module):
    def __init__(self, n_tokens, d_model=32, n_heads=4, d_hid=64, n_layers=2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model)
        layer = TransformerEncoderLayer(d_model, n_heads, d_hid, dropout=0.0)
        self.transformer_encoder = TransformerEncoder(layer, n_layers)
        self.embedding = nn.Embedding(n_tokens, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, n_tokens)
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src):
        mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        src = self.pos_encoder(self.embedding(src) * math.sqrt(self.d_model))
        return self.linear(self.transformer_encoder(src, mask, is_causal=True))


def main():
    torch.manual_seed(0)
    words = TEXT.split()
    vocabulary = sorted(set(words))
    data = torch.tensor([vocabulary.index(w) for w in words])
    bptt, batch_size = 10, 4
    data = data[: len(data) // batch_size * batch_size].view(batch_size, -1).t().contiguous()
    model = TransformerModel(len(vocabulary))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.95)
    criterion = nn.CrossEntropyLoss()
    step = 0
    for _ in range(12):
        for i in range(0, data.size(0) - 1, bptt):
            seq_len = min(bptt, len(data) - 1 - i)
            output = model(data[i : i + seq_len])
            loss = criterion(output.view(-1, len(vocabulary)), data[i + 1 : i + 1 + seq_len].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            step += 1
            if step % 4 == 0:
                print(f"step {step} lr {scheduler.get_last_lr()[0]:.3f} loss {loss.item():.6g}")
        scheduler.step()


if __name__ == "__main__":
    main()
