"""Sequences of different lengths in one batch, padded or packed, under torch.nn.utils.rnn's names.

A PackedSequence has the rows of all sequences without padding, time step by time step: the rows of step 0, the longest
sequence first, then those of step 1, and so on.  `run_packed` runs a recurrent network over one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...core.tensor import Tensor
from ...errors import error
from ...ops.create import arange, empty_like
from ...ops.from_data import tensor
from ...ops.join import cat, stack
from ...ops.nn.dropout import dropout
from ...ops.pad import pad
from ...ops.sort import sort

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class Packed(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(Packed):
    """A batch of sequences without padding: `data` (rows, ...), and `batch_sizes`, the number of running sequences per step.

    `sorted_indices` sort the sequences by decreasing length, `unsorted_indices` undo that; both are None for sorted input.
    pack_padded_sequence and pack_sequence make one; nn.RNN, nn.LSTM and nn.GRU accept one and return one.

    >>> import minigrad
    >>> from minigrad.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([minigrad.tensor([1, 2, 3]), minigrad.tensor([4, 5])])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 2, 5, 3], [2, 2, 1])
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ):
        if batch_sizes is None:
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":  # type: ignore[union-attr]
            raise error(
                ValueError,
                "PackedSequence",
                f"batch_sizes should be on the CPU, but are on {batch_sizes.device}",  # type: ignore[union-attr]
                "make it with pack_padded_sequence or pack_sequence",
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)  # type: ignore[arg-type]

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return a copy whose data has another dtype or device; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order = [i if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *order)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return a copy on a GPU."""
        return self.to(*args, **kwargs) if args or kwargs else self.to("cuda")

    def cpu(self) -> PackedSequence:
        """Return a copy on the CPU."""
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        """Return a copy whose tensors are in pinned memory."""
        return type(self)(*[t if t is None else t.pin_memory() for t in self])

    def is_pinned(self) -> bool:
        """Return True if the data is in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation; None for None.

    >>> import minigrad
    >>> minigrad.nn.utils.rnn.invert_permutation(minigrad.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return empty_like(permutation).scatter(0, permutation, arange(permutation.numel(), device=permutation.device))


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences, each (its length, ...), to (longest, number, ...) or with `batch_first` (number, longest, ...).

    Raises RuntimeError for an empty list, and for a side other than "left" and "right".

    >>> import minigrad
    >>> minigrad.nn.utils.rnn.pad_sequence([minigrad.tensor([1, 2, 3]), minigrad.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        what = f"expected a list of tensors, but got {type(sequences).__name__}"
        raise error(RuntimeError, "pad_sequence", what, "pass [a, b, c]")
    given = list(sequences)
    if not given:
        raise error(RuntimeError, "pad_sequence", "received an empty list of sequences", "pass at least one tensor")
    if padding_side not in ("left", "right"):
        what = f"padding_side should be either 'left' or 'right', but got {padding_side!r}"
        raise error(RuntimeError, "pad_sequence", what, "write padding_side='right'")
    longest = max(len(s) for s in given)
    padded = []
    for s in given:
        gap = longest - len(s)
        ends = (gap, 0) if padding_side == "left" else (0, gap)
        padded.append(pad(s, (0, 0) * (s.ndim - 1) + ends, value=padding_value) if gap else s)
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return a list of the sequences of a padded batch, without their padding; `padded_sequences` does not change.

    >>> import minigrad
    >>> minigrad.nn.utils.rnn.unpad_sequence(minigrad.tensor([[1, 2, 3], [4, 0, 0]]), minigrad.tensor([3, 1]), True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows.unbind(0), lengths.tolist())]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch of these lengths, (longest, number, ...) or with `batch_first` (number, longest, ...).

    The lengths have to be decreasing; enforce_sorted=False sorts the sequences first.
    Raises RuntimeError for lengths that increase, are below 1 or above the longest, or differ in number from the sequences.

    >>> import minigrad
    >>> packed = minigrad.nn.utils.rnn.pack_padded_sequence(minigrad.tensor([[1, 2, 3], [4, 5, 0]]), [3, 2], True)
    >>> packed.data
    tensor([1, 4, 2, 5, 3])
    """
    found = lengths.to("cpu") if isinstance(lengths, Tensor) else tensor(list(lengths), device="cpu")
    if found.ndim != 1:
        what = f"lengths must have 1 dimension, but has shape {tuple(found.shape)}"
        raise error(RuntimeError, "pack_padded_sequence", what, "pass one length for each sequence")
    order = None
    if not enforce_sorted:
        found, order = sort(found, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    x = input.transpose(0, 1) if batch_first else input
    ns = found.tolist()
    check_lengths(ns, x)
    sizes = sizes_of(ns)
    data = x.flatten(0, 1).index_select(0, places(sizes, x.shape[1], x.device))
    return PackedSequence(data, tensor(sizes, device="cpu"), order)


def check_lengths(lengths: list, x: Tensor) -> None:
    """Raise RuntimeError for lengths that do not fit a padded batch of shape (longest, number, ...)."""
    what = fix = ""
    if len(lengths) != x.shape[1]:
        what = f"there are {x.shape[1]} sequences, but {len(lengths)} lengths"
        fix = "pass a length for each; pass batch_first=True if the batch is the first dimension"
    elif sorted(lengths, reverse=True) != lengths:
        what, fix = f"the lengths have to be decreasing, but are {lengths}", "pass enforce_sorted=False"
    elif lengths[-1] < 1 or lengths[0] > x.shape[0]:
        what = f"the lengths have to be between 1 and {x.shape[0]}, but are {lengths}"
        fix = "leave out empty sequences; pass batch_first=True if the batch is the first dimension"
    if what:
        raise error(RuntimeError, "pack_padded_sequence", what, fix)


def sizes_of(lengths: list) -> list:
    """Return the number of sequences still running at each time step."""
    return [sum(n > t for n in lengths) for t in range(lengths[0])]


def places(sizes: list, number: int, device: Any) -> Tensor:
    """Return the rows of a packed batch as indices into a padded batch whose time steps are flattened."""
    return tensor([t * number + i for t, n in enumerate(sizes) for i in range(n)], device=device)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return (padded batch, lengths) in the original order, the inverse of pack_padded_sequence.

    Raises ValueError for a `total_length` below the length of the longest sequence.

    >>> import minigrad
    >>> from minigrad.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([minigrad.tensor([1, 2, 3]), minigrad.tensor([4])]), batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    data, sizes = sequence.data, sequence.batch_sizes.tolist()
    longest, number = len(sizes), sizes[0]
    if total_length is not None and total_length < longest:
        what = f"total_length={total_length} is less than the length of the longest sequence, {longest}"
        raise error(ValueError, "pad_packed_sequence", what, f"pass total_length={longest} or more")
    total = longest if total_length is None else total_length
    blank = data.new_full((total * number, *data.shape[1:]), padding_value)
    padded = blank.index_copy(0, places(sizes, number, data.device), data).unflatten(0, (total, number))
    lengths = tensor([sum(n > i for n in sizes) for i in range(number)], device="cpu")
    if (order := sequence.unsorted_indices) is not None:
        padded, lengths = padded.index_select(1, order), lengths[order.to("cpu")]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pack_sequence(sequences: list, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences, each (its length, ...).

    >>> import minigrad
    >>> a, b = minigrad.tensor([1]), minigrad.tensor([2, 3])
    >>> minigrad.nn.utils.rnn.pack_sequence([a, b], enforce_sorted=False).data
    tensor([2, 1, 3])
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed batch in their original order, the inverse of pack_sequence.

    >>> import minigrad
    >>> from minigrad.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([minigrad.tensor([1]), minigrad.tensor([2, 3])], enforce_sorted=False))
    [tensor([1]), tensor([2, 3])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


# ---------------------------------------------------------------------- a recurrent network over a packed batch
def run_packed(network: Any, packed: PackedSequence, hx: Any) -> tuple:
    """Run nn.RNN, nn.LSTM or nn.GRU over a packed batch; each sequence's last state is the one at its own end.

    Consecutive time steps with equally many sequences are one call of `network._walk`.
    """
    data, sizes, order = packed.data, packed.batch_sizes.tolist(), packed.sorted_indices
    states, ends = network._start(data, hx, packed.batch_sizes, order), []
    runs = runs_of(sizes)
    for layer in range(network.num_layers):
        if layer and network.dropout:
            data = dropout(data, network.dropout, network.training)
        parts, outs = data.split([length * n for length, n in runs]), []
        for d, end in enumerate(network._endings(layer)):
            first = tuple([s[layer * network._n_directions + d] for s in states])
            out, last = (walk_back if d else run_forward_in_time)(network, parts, runs, first, end)
            outs.append(out)
            ends.append(last)
        data = outs[0] if len(outs) == 1 else cat(outs, -1)
    last = tuple([stack(list(s)) for s in zip(*ends)])
    hx = network.permute_hidden(last[0] if network._n_states == 1 else last, packed.unsorted_indices)
    return PackedSequence(data, packed.batch_sizes, order, packed.unsorted_indices), hx


def runs_of(sizes: list) -> list:
    """Return (number of steps, number of sequences) for each run of steps with equally many sequences."""
    runs: list = []
    for n in sizes:
        if runs and runs[-1][1] == n:
            runs[-1] = runs[-1][0] + 1, n
        else:
            runs.append((1, n))
    return runs


def run_forward_in_time(network: Any, parts: tuple, runs: list, states: tuple, end: str) -> tuple:
    """Run one layer forwards in time; a sequence that ends leaves its states behind."""
    outs, ended = [], []
    for part, (length, n) in zip(parts, runs):
        ended.append(tuple([s[n:] for s in states]))
        states = tuple([s[:n] for s in states])
        out, states = network._walk(part.unflatten(0, (length, n)), states, end)
        outs.append(out.flatten(0, 1))
    return cat(outs), tuple([cat(list(s)) for s in zip(states, *reversed(ended))])


def walk_back(network: Any, parts: tuple, runs: list, first: tuple, end: str) -> tuple:
    """Run one layer backwards in time; shorter sequences join with their first states."""
    outs: list = []
    states = tuple([s[:0] for s in first])
    for part, (length, n) in reversed(list(zip(parts, runs))):
        states = tuple([cat([s, f[len(s) : n]]) for s, f in zip(states, first)])
        out, states = network._walk(part.unflatten(0, (length, n)).flip(0), states, end)
        outs.insert(0, out.flip(0).flatten(0, 1))
    return cat(outs), states
