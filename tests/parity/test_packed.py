"""Sequences of different lengths: padded, packed, and walked over by recurrent networks, beside PyTorch."""

import numpy as np
import pytest
import torch

import minigrad

LIBRARIES = torch, minigrad
LENGTHS = [[5, 3, 3, 1], [4], [2, 2, 2], [1, 1]]
UNSORTED = [[3, 5, 1, 3], [1, 4], [2, 6, 6, 1, 2]]


def sequences(lib, lengths, *rest, dtype="float64"):
    random = np.random.default_rng(len(lengths))
    return [lib.tensor(random.standard_normal((n, *rest)).astype(dtype)).requires_grad_() for n in lengths]


def array(x):
    return None if x is None else x.detach().numpy()


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        if b is None:
            assert a is None
        else:
            a, b = array(a), array(b)
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rest", [(), (2,), (2, 3)])
@pytest.mark.parametrize("lengths", LENGTHS + UNSORTED, ids=str)
def test_packed_batches_and_their_gradients(lengths, rest):
    told = []
    for lib in LIBRARIES:
        rnn, given = lib.nn.utils.rnn, sequences(lib, lengths, *rest)
        packed = rnn.pack_sequence(given, enforce_sorted=lengths == sorted(lengths, reverse=True))
        padded, found = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=7.0, total_length=8)
        unpacked = rnn.unpack_sequence(packed)
        loss = (padded.sin() * padded).sum() + (packed.data**3).sum() + sum((u**2).sum() for u in unpacked)
        told.append([*packed, padded, found, *unpacked, *lib.autograd.grad(loss, given)])
    same(told[1], told[0])


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_padded_batches(side, batch_first):
    told = []
    for lib in LIBRARIES:
        rnn, given = lib.nn.utils.rnn, sequences(lib, [3, 5, 1], 2)
        padded = rnn.pad_sequence(given, batch_first, -1.0, side)
        lengths = lib.tensor([3, 5, 1])
        back = rnn.unpad_sequence(padded.clone(), lengths, batch_first)
        told.append([padded, *back, *lib.autograd.grad((padded**2).sum(), given)])
    same(told[1], told[0])


NETWORKS = [
    (kind, proj_size, layers, both, first)
    for kind, proj_size in (("RNN", 0), ("LSTM", 0), ("LSTM", 2), ("GRU", 0))
    for layers, both, first in ((1, False, False), (1, True, False), (2, True, True), (3, False, True))
]


@pytest.mark.parametrize("lengths", [[5, 3, 3, 1], [3, 5, 1, 3], [4], [2, 2]], ids=str)
@pytest.mark.parametrize("kind, proj_size, layers, both, with_state", NETWORKS)
def test_recurrent_networks_over_packed_batches(kind, proj_size, layers, both, with_state, lengths):
    told, state = [], None
    for lib in LIBRARIES:
        settings = {"bidirectional": both, "batch_first": True} | ({"proj_size": proj_size} if proj_size else {})
        net = getattr(lib.nn, kind)(2, 3, layers, **settings).double()
        state = {k: v.numpy() for k, v in net.state_dict().items()} if state is None else state
        net.load_state_dict({k: lib.tensor(v) for k, v in state.items()})
        given = sequences(lib, lengths, 2)
        packed = lib.nn.utils.rnn.pack_sequence(given, enforce_sorted=False)
        hx, leaves = None, []
        if with_state:
            shapes = [(layers * (1 + both), len(lengths), size) for size in (proj_size or 3, 3)]
            states = [lib.tensor(np.random.default_rng(k).standard_normal(s)) for k, s in enumerate(shapes)]
            leaves = [s.requires_grad_() for s in (states if kind == "LSTM" else states[:1])]
            hx = tuple(leaves) if kind == "LSTM" else leaves[0]
        out, last = net(packed, hx)
        assert type(out) is lib.nn.utils.rnn.PackedSequence
        lasts = list(last) if kind == "LSTM" else [last]
        loss = (out.data**2).sum() + sum((s**3).sum() for s in lasts)
        told.append([*out, *lasts, *lib.autograd.grad(loss, [*given, *leaves, *net.parameters()])])
    same(told[1], told[0])


@pytest.mark.parametrize(
    "call",
    [
        "rnn.pack_padded_sequence(lib.ones(3, 2), [2, 3])",
        "rnn.pack_padded_sequence(lib.ones(3, 2), [3, 0])",
        "rnn.pack_padded_sequence(lib.ones(3, 2), [3, 3, 1])",
        "rnn.pad_sequence([])",
        "rnn.pad_sequence(3)",
        "rnn.pad_sequence([lib.ones(2)], padding_side='top')",
        "rnn.pad_packed_sequence(rnn.pack_sequence([lib.ones(3)]), total_length=2)",
    ],
)
def test_refusals_are_of_pytorchs_kind(call):
    kinds = []
    for lib in LIBRARIES:
        with pytest.raises(Exception) as e:
            eval(call, {"lib": lib, "rnn": lib.nn.utils.rnn})
        kinds.append(type(e.value))
    assert issubclass(kinds[1], kinds[0])


def test_sequences_stay_as_they_are_where_pytorch_turns_them():
    padded = minigrad.zeros(3, 2)
    minigrad.nn.utils.rnn.unpad_sequence(padded, minigrad.tensor([3, 1]))
    theirs = torch.zeros(3, 2)
    torch.nn.utils.rnn.unpad_sequence(theirs, torch.tensor([3, 1]))
    assert padded.shape == (3, 2) and theirs.shape == (2, 3)
