"""The exercises of lesson 27."""

from contextlib import nullcontext

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise

UNWRITTEN, BEHIND = -77.0, 1e9  # what stands in the memory of a result beforehand, and behind every array


def launched(kernel, blocks, threads, inputs, size, start=UNWRITTEN):
    """Return the `size` numbers that a kernel writes to its last argument, which is filled with `start` first."""
    from minigrad.kernels.cuda.simulator import SIMULATED
    from minigrad.own_kernels import OwnKernel

    if not isinstance(kernel, OwnKernel):
        raise Wrong(f"expected a kernel, got {kernel!r}: write @torch.cuda.jit above the function")
    given = [*map(np.asarray, inputs), np.full(size, start)]
    memory = [np.concatenate([a, np.full(64, BEHIND)]).astype(KINDS[a.dtype.kind]) for a in given]
    memory = [torch.as_tensor(a, device="cuda") for a in memory]
    launch = f"with {blocks} block{'s' * (blocks > 1)} of {threads} threads"
    with torch.cuda.watch() if SIMULATED else nullcontext() as trace:
        try:
            kernel[blocks, threads](*[m[: len(a)] for m, a in zip(memory, given)])
        except IndexError as e:
            raise Wrong(f"{launch} one without an element reads or writes: {e}") from None
    written = memory[-1].cpu().numpy()
    result = written[:size]
    if (written[size:] != np.float32(BEHIND)).any() or (result == np.float32(BEHIND)).any():
        raise Wrong(f"{launch} one without an element reads or writes behind an array")
    missed = np.flatnonzero(result == UNWRITTEN)
    if (result == start).all():
        raise Wrong("nothing was written to the last argument")
    if missed.size:
        raise Wrong(f"{launch} element {missed[0]} of the last argument was not written")
    for race in trace.launches[-1].races if trace else ():
        raise Wrong(f"{launch} two race for {race.first.element}: {race.first.place.code}")
    return result


KINDS = {"f": np.float32, "i": np.int64}


@exercise(
    "Seven blocks have 7 * 128 = 896 threads. Is that enough?",
    "Round 1000 / 128 up.",
)
def cuda_blocks(answer):
    """Eight blocks have 1024 threads; the last 24 of them have no element."""
    mistakes = {
        7: "7 blocks have 896 threads, the last 104 elements would get none",
        7.8125: "there are only whole blocks",
        1000: "each block has 128 threads, not one",
        9: "8 blocks are enough",
        1024: "that is the number of threads",
    }
    expect.number(answer, 8, mistakes)


@exercise(
    "Which element belongs to a thread of the second block? Count the threads of the earlier blocks.",
    "i = cuda.grid(1), and write only if i < out_.size.",
)
def cuda_doubled(answer):
    """Every elementwise kernel begins like this: an index in the whole grid, and a bound."""
    for blocks, threads, size in ((1, 4, 4), (2, 4, 8), (3, 4, 10), (4, 8, 27)):
        x = np.arange(1, size + 1, dtype=np.float32)
        wanted = 2 * x
        given = launched(answer, blocks, threads, [x], size)
        expect.tensor(given, wanted, f"with {size} elements the result")


@exercise(
    "Index and bound are the same as in the kernels above.",
    "The derivative is multiplied by the gradient of the result: dx_[i] = g_[i] * (1 - ...).",
)
def cuda_tanh_backward(answer):
    """out_ already holds tanh(x) from the forward pass, so the kernel need not compute it again."""
    for blocks, threads, size in ((3, 4, 10), (4, 8, 27)):
        out = np.tanh(np.linspace(-2, 2, size)).astype(np.float32)
        g = np.arange(1, size + 1, dtype=np.float32)
        expect.tensor(launched(answer, blocks, threads, [g, out], size), g * (1 - out * out), "dx_")


@exercise(
    "Should each thread take an element of g_ or one of dtable_? Both are possible.",
    "With a thread for each element of g_ the bound is g_.size, and two threads may add to one element of dtable_.",
    "cuda.atomic.add(dtable_, index_[i], g_[i])",
)
def cuda_index_backward(answer):
    """Where the forward pass reads one number twice, the backward pass adds to one number twice."""
    for blocks, threads, index, size in (
        (2, 4, [0, 2, 2, 1, 2, 0], 3),
        (3, 4, [4, 0, 4, 1, 1, 5, 4], 9),
        (1, 32, [0] * 20, 1),
    ):
        g = np.arange(1, len(index) + 1, dtype=np.float32)
        wanted = np.zeros(size, np.float32)
        np.add.at(wanted, index, g)
        given = launched(answer, blocks, threads, [g, index], size, start=0.0)
        expect.tensor(given, wanted, f"with the indices {index} dtable_")


@exercise(
    "It is the lesson's sum with another step: shared[t] becomes the larger of two numbers.",
    "A thread without an element must not change the result. 0 would, if all numbers are negative.",
    "Put -math.inf there (or -np.inf); then halve as in block_sums, with max(shared[t], shared[t + half]).",
)
def cuda_largest(answer):
    """With this tree, any operation works whose order does not matter; each has its own neutral element."""
    cases = {
        "8 numbers": [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0],
        "11 negative numbers": [-3.0, -1.0, -4.0, -1.5, -5.0, -9.0, -2.0, -6.0, -5.0, -3.5, -8.0],
        "20 numbers, the last one the largest": [float(n) for n in range(-10, 10)],
        "3 numbers, the second one the largest": [1.0, 7.0, 2.0],
    }
    for what, numbers in cases.items():
        blocks = -(-len(numbers) // 8)
        wanted = [max(numbers[8 * b : 8 * b + 8]) for b in range(blocks)]
        given = launched(answer, blocks, 8, [numbers], blocks)
        if given[-1] == 0.0 and wanted[-1] < 0:
            raise Wrong("of negative numbers the largest is 0? The threads without an element have put that there")
        expect.tensor(given, wanted, f"for {what} the result")
