"""Sequences of different lengths: nothing is lost by packing, and each is walked over as if it were alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad import nn
from minigrad.nn.utils import rnn
from tests.refusals import each

lengths = st.lists(st.integers(1, 5), min_size=1, max_size=5)


def sequences(ns, *rest):
    return [torch.randn(n, *rest, dtype=torch.float64) for n in ns]


@given(lengths, st.lists(st.integers(0, 3), max_size=2), st.booleans())
def test_packing_and_padding_lose_nothing(ns, rest, batch_first):
    given = sequences(ns, *rest)
    packed = rnn.pack_sequence(given, enforce_sorted=False)
    padded, found = rnn.pad_packed_sequence(packed, batch_first, padding_value=5.0)
    assert found.tolist() == ns and len(packed.data) == sum(ns)
    assert torch.equal(padded, rnn.pad_sequence(given, batch_first, padding_value=5.0))
    for back in (rnn.unpack_sequence(packed), rnn.unpad_sequence(padded, found, batch_first)):
        assert all(torch.equal(a, b) for a, b in zip(back, given, strict=True))


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("ns", [[2, 4, 1, 4], [3]], ids=str)
def test_each_sequence_is_walked_over_as_if_it_were_alone(kind, ns):
    net, given = kind(2, 3, 2, bidirectional=True).double(), sequences(ns, 2)
    out, last = net(rnn.pack_sequence(given, enforce_sorted=False))
    lasts = last if kind is nn.LSTM else (last,)
    for i, (x, o) in enumerate(zip(given, rnn.unpack_sequence(out))):
        alone, its = net(x)
        assert torch.allclose(o, alone)
        for mine, s in zip(lasts, its if kind is nn.LSTM else (its,)):
            assert torch.allclose(mine[:, i], s)


# fmt: off
CASES = [
    ('rnn.pack_padded_sequence(T(3, 2), [2, 3])', 'pack_padded_sequence', 'the lengths have to be decreasing, but are [2, 3]',
     'pass enforce_sorted=False'),
    ('rnn.pack_padded_sequence(T(3, 2), [3, 0])', 'pack_padded_sequence', 'between 1 and 3, but are [3, 0]', 'leave out empty'),
    ('rnn.pack_padded_sequence(T(3, 2), [4, 1])', 'pack_padded_sequence', 'but are [4, 1]', 'batch_first=True'),
    ('rnn.pack_padded_sequence(T(3, 2), [3, 3, 1])', 'pack_padded_sequence', '2 sequences, but 3 lengths', 'pass a length'),
    ('rnn.pad_sequence([])', 'pad_sequence', 'received an empty list', 'pass at least one tensor'),
    ('rnn.pad_sequence(3)', 'pad_sequence', 'expected a list of tensors, but got int', 'pass [a, b, c]'),
    ("rnn.pad_sequence([T(2)], padding_side='top')", 'pad_sequence', "but got 'top'", "write padding_side='right'"),
    ('rnn.pad_packed_sequence(rnn.pack_sequence([T(3)]), total_length=2)', 'pad_packed_sequence', 'total_length=2 is less',
     'pass total_length=3 or more'),
    ('nn.LSTM(2, 3)(rnn.pack_sequence([T(3, 4)]))', 'LSTM', 'its last size is 4', 'make its last size 2'),
    ('nn.GRU(2, 3)(rnn.pack_sequence([T(3, 2)]), T(1, 2, 3))', 'GRU', 'of shape (1, 1, 3), got', 'pass zeros(1, 1, 3)'),
]
# fmt: on
test_the_message_has_the_problem_and_the_fix = each(CASES, lambda module, given: {"rnn": module.nn.utils.rnn})
