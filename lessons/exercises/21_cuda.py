"""The exercises of lesson 21."""

import numpy as np

from lessons import expect
from lessons.exercise import Wrong, exercise

UNWRITTEN, BEHIND = -77.0, 1e9  # what stands in the memory of a result beforehand, and behind every array


def launched(kernel, blocks, threads, inputs, size):
    """The `size` numbers that a kernel writes to its last argument."""
    from numba import cuda

    if not hasattr(kernel, "py_func"):
        raise Wrong(f"expected a kernel, got {kernel!r}: write @cuda.jit above the function")
    memory = [cuda.to_device(np.array([*a, *[BEHIND] * 64], np.float32)) for a in [*inputs, [UNWRITTEN] * size]]
    lengths = [*map(len, inputs), size]
    launch = f"with {blocks} block{'s' * (blocks > 1)} of {threads} threads"
    try:
        kernel[blocks, threads](*[a[:n] for a, n in zip(memory, lengths)])
    except IndexError as e:
        raise Wrong(f"{launch} one without an element reads or writes: {e}") from None
    written = memory[-1].copy_to_host()
    result = written[:size]
    if (written[size:] != np.float32(BEHIND)).any() or (result == np.float32(BEHIND)).any():
        raise Wrong(f"{launch} one without an element reads or writes behind an array")
    missed = np.flatnonzero(result == UNWRITTEN)
    if missed.size == size:
        raise Wrong("nothing was written to the last argument")
    if missed.size:
        raise Wrong(f"{launch} element {missed[0]} of the last argument was not written")
    return result


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
    "How many whole blocks of 32 come before element 77?",
    "Two blocks have 64 threads. The rest is the thread's number: 77 - 64. Both count from 0.",
)
def cuda_thread(answer):
    """77 = 2 * 32 + 13: block 2, thread 13, both counted from 0."""
    try:
        block, thread = (float(n) for n in answer)
    except (TypeError, ValueError):
        raise Wrong(f"expected a pair of numbers, block and thread, got {answer!r}") from None
    if isinstance(answer, (set, frozenset)):
        raise Wrong("a set has no order; write the block first, then the thread: (block, thread)")
    if block % 1 or thread % 1:
        raise Wrong("blocks and threads are counted in whole numbers")
    if (block, thread) == (2, 13):
        return
    if (block, thread) == (13, 2):
        raise Wrong("that is thread and block; the block comes first")
    if block == 3:
        raise Wrong("blocks are counted from 0: the first 32 elements belong to block 0")
    if (block, thread) == (2, 14):
        raise Wrong("threads are counted from 0, like elements")
    index = f"{block:g} * 32 + {thread:g} = {block * 32 + thread:g}"
    raise Wrong(f"thread {thread:g} of block {block:g} has the index {index}")


@exercise(
    "Which element is it for a thread of the second block? Count the threads of the blocks before.",
    "i = cuda.grid(1), and nothing happens unless i < out_.size.",
)
def cuda_doubled(answer):
    """An index of the whole grid, and a bound: every kernel that goes element by element begins so."""
    for blocks, threads, size in ((1, 4, 4), (2, 4, 8), (3, 4, 10), (4, 8, 27)):
        x = np.arange(1, size + 1, dtype=np.float32)
        wanted = 2 * x
        given = launched(answer, blocks, threads, [x], size)
        expect.tensor(given, wanted, f"with {size} elements the result")


@exercise(
    "The index and the bound are those of the kernels above.",
    "The derivative is multiplied by the gradient of the result: dx_[i] = g_[i] * (1 - ...).",
)
def cuda_tanh_backward(answer):
    """It reads the result instead of computing tanh anew: what the forward pass has found need not be found again."""
    for blocks, threads, size in ((3, 4, 10), (4, 8, 27)):
        out = np.tanh(np.linspace(-2, 2, size)).astype(np.float32)
        g = np.arange(1, size + 1, dtype=np.float32)
        expect.tensor(launched(answer, blocks, threads, [g, out], size), g * (1 - out * out), "dx_")


@exercise(
    "It is the sum of the lesson with another step: shared[t] becomes the larger one of two numbers.",
    "A thread without an element must not change the result. 0 would, if all numbers are negative.",
    "Put -math.inf there (or -np.inf); then halve as in block_sums, with max(shared[t], shared[t + half]).",
)
def cuda_largest(answer):
    """The same tree serves every operation in which order does not count; each has its own number that changes nothing."""
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
