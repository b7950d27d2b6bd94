"""The exercises of lesson 27."""

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from lessons.launched import launched


@exercise(
    "Every operation needs its tensors in one memory. Which of the three is cheapest to move?",
    "w.cuda() moves w, and its gradient comes back the same way. Move the loss at the end.",
    "return ((x * w.cuda() - y) ** 2).mean().cpu()",
)
def cuda_loss(answer):
    """w moves to the device and the loss moves back; backward makes both moves in the other direction."""

    def expected(x, y, w):
        return ((x * w - y) ** 2).mean()

    if not callable(answer):
        raise Wrong(f"expected a function, got {answer!r}")
    for size in (3, 8):
        x, y = torch.linspace(-1, 2, size), torch.linspace(1, 3, size)
        w, wanted = (torch.tensor([0.5], requires_grad=True) for _ in range(2))
        loss = answer(x.cuda(), y.cuda(), w)
        if not isinstance(loss, torch.Tensor):
            raise Wrong(f"expected a tensor, got {loss!r}: a number has no gradient")
        if loss.device.type != "cpu":
            raise Wrong(f"the loss is on {loss.device}: move it back")
        expect.tensor(loss, expected(x, y, wanted), "the loss")
        if not loss.requires_grad:
            raise Wrong("the loss does not require grad: something cut the graph")
        loss.backward()
        expected(x, y, wanted).backward()
        if w.grad is None:
            raise Wrong("w receives no gradient: something cut the graph")
        expect.tensor(w.grad, wanted.grad, "the gradient of w")


@exercise(
    "Seven blocks have 7 * 128 = 896 threads. Is that enough?",
    "Round 1000 / 128 up.",
)
def cuda_blocks(answer):
    """Eight blocks have 1024 threads; the last 24 of them have no element."""
    mistakes = {
        7: "7 blocks have 896 threads, so the last 104 elements have no thread",
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
    """Every elementwise kernel begins like this, with an index in the whole grid and a bound."""
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
