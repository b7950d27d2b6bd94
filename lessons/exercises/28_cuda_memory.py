"""The exercises of lesson 28."""

import numpy as np

from lessons import expect
from lessons.exercise import Wrong, exercise
from lessons.launched import launched


@exercise(
    "Should each thread take an element of g_ or one of dtable_? Both are possible.",
    "With a thread for each element of g_ the bound is g_.size, and two threads may add to one element of dtable_.",
    "cuda.atomic.add(dtable_, index_[i], g_[i])",
)
def cuda_index_backward(answer):
    """If the forward pass reads a number twice, the backward pass adds to its gradient twice."""
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
    "Thread t reads a number that thread THREADS - 1 - t wrote. Has that thread written it already?",
    "Between writing and reading, all threads of the block have to wait: cuda.syncthreads().",
)
def cuda_reversed(answer):
    """After the barrier, all numbers are in shared memory, and each thread may read any of them."""
    for blocks in (1, 3):
        x = np.arange(1, 8 * blocks + 1, dtype=np.float32)
        given = launched(answer, blocks, 8, [x], x.size)
        expect.tensor(given, x.reshape(blocks, 8)[:, ::-1].ravel(), f"with {x.size} elements the result")


@exercise(
    "It is the lesson's sum with another step: shared[t] becomes the larger of two numbers.",
    "A thread without an element must not change the result. 0 would, if all numbers are negative.",
    "Put -math.inf there (or -np.inf); then halve as in block_sums, with max(shared[t], shared[t + half]).",
)
def cuda_largest(answer):
    """Any operation whose order does not matter works with this tree; each has its own neutral element."""
    cases = {
        "8 numbers": [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0],
        "11 negative numbers": [-3.0, -1.0, -4.0, -1.5, -5.0, -9.0, -2.0, -6.0, -5.0, -3.5, -8.0],
        "20 numbers, the last one the largest": [float(n) for n in range(-10, 10)],
        "3 numbers, the second one the largest": [1.0, 7.0, 2.0],
        "4 numbers, the first one the largest": [7.0, 1.0, 2.0, 3.0],
    }
    for what, numbers in cases.items():
        blocks = -(-len(numbers) // 8)
        wanted = [max(numbers[8 * b : 8 * b + 8]) for b in range(blocks)]
        given = launched(answer, blocks, 8, [numbers], blocks)
        if given[-1] == 0.0 and wanted[-1] < 0:
            raise Wrong("the largest of negative numbers is 0: threads without an element put it into shared memory")
        expect.tensor(given, wanted, f"for {what} the result")


@exercise(
    "Write down the bytes that the threads 0, 1, 15, 16 and 31 read. A float32 has 4.",
    "Thread 31 reads the bytes 248 to 251. A piece has 128 bytes.",
)
def cuda_pieces(answer):
    """Two pieces have 256 bytes, and the kernel uses half of them."""
    mistakes = {
        1: "one piece has 32 floats, and the warp's reads extend over 63",
        32: "neighbouring threads read from the same piece, up to its end",
        64: "a piece has 128 bytes, the bytes of 32 floats",
        4: "the last byte that the warp reads is number 251, and two pieces have 256",
        16: "sixteen threads share a piece",
    }
    expect.number(answer, 2, mistakes)
