"""Define transformers and related models."""

import math

from .model import classes, data, model


@model("Adam", lr=1e-4)
def encoder(lib):
    """A classifier: two nn.TransformerEncoder layers, 4 heads, over 16 sentences of 32 words of 64 numbers, by Adam."""
    nn = lib.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
            self.embedding, self.place = nn.Embedding(500, 64), nn.Parameter(lib.zeros(32, 64))
            self.layers, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(64, 4)

        def forward(self, words):
            return self.head(self.layers(self.embedding(words) + self.place).mean(1))

    net, words, labels = Classifier(), classes(lib, 500, 16, 32), classes(lib, 4, 16)
    return net, lambda: nn.functional.cross_entropy(net(words), labels)


@model("AdamW", lr=1e-4)
def mingpt(lib):
    """minGPT: three blocks of 3 heads, 48 numbers, 16 texts of 32 characters, by AdamW."""
    nn, F = lib.nn, lib.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(48, 144), nn.Linear(48, 48)
            self.register_buffer("mask", lib.tril(lib.ones(32, 32)).view(1, 1, 32, 32))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = [y.view(b, t, 3, c // 3).transpose(1, 2) for y in self.qkv(x).split(c, 2)]
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(c // 3))
            scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            y = F.softmax(scores, -1) @ v
            return self.out(y.transpose(1, 2).contiguous().view(b, t, c))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2, self.attention = nn.LayerNorm(48), nn.LayerNorm(48), Attention()
            self.mlp = nn.Sequential(nn.Linear(48, 192), nn.GELU(), nn.Linear(192, 48))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(65, 48), nn.Embedding(32, 48)
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(3)]), nn.LayerNorm(48)
            self.head = nn.Linear(48, 65, bias=False)

        def forward(self, x):
            places = lib.arange(0, x.shape[1]).unsqueeze(0)
            return self.head(self.norm(self.blocks(self.words(x) + self.places(places))))

    net, text = GPT(), classes(lib, 65, 16, 33)
    return net, lambda: F.cross_entropy(net(text[:, :-1]).reshape(-1, 65), text[:, 1:].reshape(-1))


@model("AdamW", lr=1e-4)
def vit(lib):
    """A vision transformer of three blocks, 4 heads, 17 patches of 64 numbers, on 16 images of 32 x 32, by AdamW."""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(64), nn.LayerNorm(64)
            self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))

        def forward(self, x):
            y = self.norm1(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.mlp(self.norm2(x))

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.blocks = nn.Conv2d(3, 64, 8, 8), nn.Sequential(*[Block() for _ in range(3)])
            self.token, self.places = nn.Parameter(lib.zeros(1, 1, 64)), nn.Parameter(lib.zeros(1, 17, 64))
            self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = lib.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
            return self.head(self.norm(self.blocks(x))[:, 0])

    net, images, labels = ViT(), data(lib, 16, 3, 32, 32), classes(lib, 10, 16)
    return net, lambda: F.cross_entropy(net(images), labels)


@model("Adam", lr=1e-4)
def feedback(lib):
    """A feedback transformer: 12 steps, each attends to a memory of all layers of the steps before, 8 texts, by Adam."""
    nn, F, heads, width = lib.nn, lib.nn.functional, 4, 32

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = [nn.Linear(width, width, bias=False) for _ in range(3)]
            self.out, self.places = nn.Linear(width, width), nn.Parameter(lib.zeros(64, heads, width // heads))

        def forward(self, x, memory):
            n, b = memory.shape[:2]
            split = lambda t: t.view(*t.shape[:-1], heads, width // heads)
            q, k, v = split(self.query(x)), split(self.key(memory)), split(self.value(memory))
            scores = lib.einsum("bhd,jbhd->jbh", q, k) + lib.einsum("bhd,jhd->jbh", q, self.places[-n:])
            weights = (scores * (width // heads) ** -0.5).softmax(0)
            return self.out(lib.einsum("jbh,jbhd->bhd", weights, v).reshape(b, -1))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention()
            self.mlp = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, width))

        def forward(self, x, memory):
            if memory is not None:
                x = x + self.attention(self.norm1(x), memory)
            return x + self.mlp(self.norm2(x))

    class Feedback(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.layers = nn.Embedding(65, width), nn.ModuleList([Layer() for _ in range(2)])
            self.weights, self.head = nn.Parameter(lib.ones(3)), nn.Linear(width, 65)

        def forward(self, text):
            memory, outs = [], []
            for x in self.words(text):
                before, states = lib.stack(memory) if memory else None, [x]
                for layer in self.layers:
                    x = layer(x, before)
                    states.append(x)
                memory.append((lib.stack(states) * F.softmax(self.weights, 0)[:, None, None]).sum(0))
                outs.append(x)
            return self.head(lib.stack(outs))

    net, text = Feedback(), classes(lib, 65, 13, 8)
    return net, lambda: F.cross_entropy(net(text[:-1]).reshape(-1, 65), text[1:].reshape(-1))


@model("Adam", lr=1e-4)
def entmax(lib):
    """Attention whose weights are the 1.5-entmax in one head and the sparsemax in another, 8 x 16 words, by Adam."""
    nn, F = lib.nn, lib.nn.functional

    def sparsemax(z):
        ordered, _ = lib.sort(z, -1, descending=True)
        k = lib.arange(1, z.shape[-1] + 1, dtype=z.dtype)
        sums = ordered.cumsum(-1) - 1
        size = (k * ordered > sums).sum(-1, keepdim=True)
        return lib.clamp(z - sums.gather(-1, size - 1) / size.to(z.dtype), min=0)

    def entmax15(z):
        z = (z - z.max(-1, keepdim=True)[0]) / 2
        ordered, _ = lib.topk(z, z.shape[-1], -1)
        k = lib.arange(1, z.shape[-1] + 1, dtype=z.dtype)
        mean, squares = ordered.cumsum(-1) / k, (ordered**2).cumsum(-1) / k
        delta = (1 - k * (squares - mean**2)) / k
        tau = mean - lib.sqrt(lib.clamp(delta, min=1e-9))
        size = (tau <= ordered).sum(-1, keepdim=True)
        return lib.clamp(z - tau.gather(-1, size - 1), min=0) ** 2

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.qkv = nn.Embedding(100, 32), nn.Linear(32, 96)
            self.head = nn.Linear(64, 5)

        def forward(self, words):
            q, k, v = self.qkv(self.words(words)).chunk(3, -1)
            scores = q @ k.mT / 32**0.5
            return self.head(lib.cat([entmax15(scores) @ v, sparsemax(scores) @ v], -1).mean(1))

    net, words, labels = Reader(), classes(lib, 100, 8, 16), classes(lib, 5, 8)
    return net, lambda: F.cross_entropy(net(words), labels)
