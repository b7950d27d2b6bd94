"""Define recurrent networks."""

from .model import classes, data, model


@model("Adam", lr=1e-4)
def lstm_rows(lib):
    """An LSTM of 64 numbers that reads 64 images row by row, 28 rows of 28, by Adam."""
    nn = lib.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(28, 64, batch_first=True), nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    net, images, labels = Classifier(), data(lib, 64, 28, 28), classes(lib, 10, 64)
    return net, lambda: nn.functional.cross_entropy(net(images), labels)


def language(lib, layers, words, width, length, batch, states):
    """Return a language model, which continues from given states, and its loss."""
    nn = lib.nn

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layers, self.head = (
                nn.Embedding(words, width),
                layers,
                nn.Linear(layers.hidden_size, words),
            )

        def forward(self, x):
            out, _ = self.layers(self.embedding(x), states)
            return self.head(out)

    net, text = Language(), classes(lib, words, length + 1, batch)
    return net, lambda: nn.functional.cross_entropy(net(text[:-1]).flatten(0, 1), text[1:].flatten())


@model("SGD", lr=1e-2)
def lstm_words(lib):
    """A language model: LSTM of two layers of 200 numbers, 20 sequences of 35 of 1,000 words, by SGD."""
    state = lib.zeros(2, 20, 200)
    return language(lib, lib.nn.LSTM(200, 200, 2), 1000, 200, 35, 20, (state, state))


@model("Adam", lr=1e-4)
def gru_chars(lib):
    """A model of characters: GRU of 200 numbers, 16 sequences of 50 of 65 characters, by Adam."""
    return language(lib, lib.nn.GRU(64, 200), 65, 64, 50, 16, lib.zeros(1, 16, 200))


@model("Adam", lr=1e-4)
def bilstm_tagger(lib):
    """A tagger: bidirectional LSTM of 64 numbers over 16 sentences of 24 words, 12 tags, by Adam."""
    nn = lib.nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(500, 50), nn.Linear(128, 12)
            self.lstm = nn.LSTM(50, 64, bidirectional=True, batch_first=True)

        def forward(self, words):
            return self.head(self.lstm(self.embedding(words))[0])

    net, words, tags = Tagger(), classes(lib, 500, 16, 24), classes(lib, 12, 16, 24, seed=3)
    return net, lambda: nn.functional.cross_entropy(net(words).transpose(1, 2), tags)


@model("Adam", lr=1e-4)
def seq2seq(lib):
    """A translator: GRU of 64 numbers, a GRU cell with attention to what it left, 16 sentences of 10 words, by Adam."""
    nn = lib.nn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.target = nn.Embedding(300, 64), nn.Embedding(300, 64)
            self.encoder, self.cell, self.head = nn.GRU(64, 64), nn.GRUCell(128, 64), nn.Linear(128, 300)

        def forward(self, source, target):
            seen, state = self.encoder(self.source(source))
            keys, h, scores = seen.transpose(0, 1), state[0], []
            context = lib.zeros_like(h)
            for word in self.target(target):
                h = self.cell(lib.cat([word, context], 1), h)
                weights = lib.softmax(lib.bmm(keys, h.unsqueeze(2)).squeeze(2), 1)
                context = lib.bmm(weights.unsqueeze(1), keys).squeeze(1)
                scores.append(self.head(lib.cat([h, context], 1)))
            return lib.stack(scores)

    net, source, target = Translator(), classes(lib, 300, 10, 16), classes(lib, 300, 11, 16, seed=3)
    return net, lambda: nn.functional.cross_entropy(net(source, target[:-1]).flatten(0, 1), target[1:].flatten())
