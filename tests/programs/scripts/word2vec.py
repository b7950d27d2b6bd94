"""Words that occur in the same places get similar vectors: skip-gram with negative samples.

After PyTorch's tutorial "Word embeddings" and Mikolov and others' "Distributed representations".
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

SUBJECTS, FOODS = "cat dog fox owl crow".split(), "fish corn bread seed bone".split()
TEXT = " ".join(f"the {a} eats {b} . a {a} saw the {b} ." for a in SUBJECTS for b in FOODS).split()


class SkipGram(nn.Module):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.center = nn.Embedding(vocab_size, dim)
        self.context = nn.Embedding(vocab_size, dim)
        nn.init.uniform_(self.center.weight, -0.5, 0.5)
        nn.init.zeros_(self.context.weight)

    def forward(self, center, positive, negative):
        v = self.center(center)
        score = (v * self.context(positive)).sum(1)
        against = torch.bmm(self.context(negative), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(score) + F.logsigmoid(-against).sum(1)).mean()


def main():
    torch.manual_seed(0)
    vocabulary = {word: i for i, word in enumerate(sorted(set(TEXT)))}
    ids = torch.tensor([vocabulary[w] for w in TEXT])
    counts = torch.bincount(ids, minlength=len(vocabulary)).float()
    pairs = torch.cat([torch.stack([ids[:-d], ids[d:]], 1) for d in (1, 2)])
    pairs = torch.cat([pairs, pairs.flip(1)])
    keep = torch.rand(len(pairs)) < (20 / counts[pairs[:, 0]]).sqrt()  # frequent words are left out more often
    pairs = pairs[keep]
    model = SkipGram(len(vocabulary), 8)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.3)
    for step in range(1, 61):
        batch = pairs[torch.randint(len(pairs), (128,))]
        negative = torch.multinomial(counts**0.75, 128 * 4, replacement=True).view(128, 4)
        loss = model(batch[:, 0], batch[:, 1], negative)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            print(f"step {step} loss {loss.item():.6g}")
    vectors = F.normalize(model.center.weight.detach(), dim=1)
    near = (vectors @ vectors[vocabulary["cat"]]).argsort(descending=True)[1:5]
    words = list(vocabulary)
    print("near cat:", *[words[i] for i in near])


if __name__ == "__main__":
    main()
