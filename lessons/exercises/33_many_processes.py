"""The exercises of lesson 33."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise

MOST = 100  # all_reduces of one rank


class Waits(BaseException):
    """A rank waits for the sum of its tensor and the other ranks' tensors."""


def together(size, program):
    """Return the result of program(rank, all_reduce) on each rank.

    The ranks run one after the other, each up to its next all_reduce. Once all are there, they start again from the
    beginning, and one more sum is known.
    """
    known = []
    while len(known) < MOST:
        results, given = {}, {}
        for rank in range(size):
            sums = iter(known)

            def all_reduce(x, sums=sums):
                for total in sums:
                    return total.clone()
                raise Waits(x)

            try:
                results[rank] = program(rank, all_reduce)
            except Waits as wait:
                given[rank] = wait.args[0]
        if not given:
            return [results[rank] for rank in range(size)]
        if results:
            what = f"rank {min(given)} waits in all_reduce, but rank {min(results)} ends without calling it"
            raise Wrong(f"{what}: all ranks make the same calls, or none of them")
        known.append(summed(given))
    raise Wrong(f"it calls all_reduce more than {MOST} times: does the loop end?")


def summed(given):
    """Return the sum of the tensors that the ranks give to an all_reduce."""
    tensors = [torch.as_tensor(x) for x in given.values()]
    shapes = [tuple(x.shape) for x in tensors]
    if len(set(shapes)) > 1:
        raise Wrong(f"the ranks give tensors of different shapes to all_reduce: {', '.join(map(str, shapes))}")
    return torch.stack([x.detach() for x in tensors]).sum(0)


@exercise(
    "The total is 1 + 2 + 3. Which gradient does each rank's loss send back to it?",
    "Rank r sends back (r + 1) * 2 * total, and each x gets the sum of all three.",
)
def gradient_over_ranks(answer):
    """(1 + 2 + 3) * 2 * 6: the gradient of the sum of all ranks' losses."""
    mistakes = {
        12.0: "that is the gradient from the loss of rank 0; the other losses depend on its x, too",
        24.0: "that is the gradient from the loss of rank 1 alone",
        36.0: "the derivative of total² is 2 * total; and did you count all three ranks?",
        18.0: "that is the result for two ranks; now there are three",
        216.0: "that is the sum of all losses; the question asks for its gradient",
    }
    expect.number(answer, 72.0, mistakes)


@exercise(
    "grad is a mean over count examples. Compute the sum of their gradients from it.",
    "You need two sums over all ranks: of the gradients of all examples, and of their number.",
    "all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))",
)
def gradient_of_all(answer):
    """Sum all examples' gradients and divide by their number: each example counts as much as any other."""
    torch.manual_seed(3)
    for counts in ((4, 4), (4, 3, 3), (1, 0, 6)):
        grads = [torch.randn(2, 3) for _ in counts]
        given = together(len(counts), lambda rank, f, g=grads, n=counts: answer(g[rank].clone(), n[rank], f))
        whole = sum(g * n for g, n in zip(grads, counts)) / sum(counts)
        plain = torch.stack(grads).mean(0)
        for rank, one in enumerate(given):
            close = isinstance(one, torch.Tensor) and one.shape == whole.shape
            if close and len(set(counts)) > 1 and one.allclose(plain, atol=1e-5):
                raise Wrong(
                    f"for {counts} examples it is the plain mean: a rank with more examples should count for more"
                )
            if close and one.allclose(whole * sum(counts), atol=1e-5):
                raise Wrong("that is the sum of all examples' gradients: divide it by the number of examples")
            if close and one.allclose(whole * sum(counts) / len(counts), atol=1e-5):
                raise Wrong("divide by the number of examples on all ranks, not by the number of ranks")
            expect.tensor(one, whole, f"for {counts} examples, the gradient on rank {rank}")


@exercise(
    "The rows of rank r are in the results of all ranks, and each of these results sends back a gradient of these rows.",
    "The gradient of the whole list is the sum of all ranks' grad. Which rows of it belong to this rank?",
    "all_reduce(grad).chunk(size)[rank]",
)
def all_gather_backward(answer):
    """Each rank takes its own rows of the sum over all ranks: a reduce_scatter, the transposed all_gather."""
    torch.manual_seed(4)
    for size, shape in ((2, (3,)), (3, (2, 2)), (4, (1, 3))):
        inputs = [torch.randn(*shape, requires_grad=True) for _ in range(size)]
        copies = [torch.cat(inputs) for _ in range(size)]  # the copy of each rank
        grads = [torch.randn(size * shape[0], *shape[1:]) for _ in range(size)]
        wanted = torch.autograd.grad(copies, inputs, grads)
        given = together(size, lambda r, f, g=grads, n=size: answer(g[r].clone(), r, n, f))
        total = torch.stack(grads).sum(0)
        for rank, (one, right) in enumerate(zip(given, wanted)):
            if isinstance(one, torch.Tensor):
                known_mistake(one, right, total, grads[rank].chunk(size)[rank], size)
            expect.tensor(one, right, f"with {size} ranks, the gradient on rank {rank}")


def known_mistake(given, right, total, own, size):
    """Raise Wrong if a gradient is the result of a usual mistake."""
    if given.shape == total.shape and size > 1:
        raise Wrong(
            f"it has all {len(total)} rows, but a rank gives {len(right)} of them and gets the gradient of these"
        )
    if given.shape == right.shape and given.allclose(own):
        raise Wrong("that is the gradient from this rank's own copy; the others have copies of its rows, too")
    if given.shape == right.shape and given.allclose(right / size):
        raise Wrong("that is the mean of the ranks' gradients: the gradient of a sum of losses is a sum")
    if given.shape == right.shape and given.allclose(total[: len(right)]) and not given.allclose(right):
        raise Wrong("those are the rows of rank 0, on every rank")


@exercise(
    "The square of the whole norm is the sum of all squares, on all ranks.",
    "The decision to clip depends on the whole gradient. Either all ranks call all_reduce, or none does.",
    "norm = all_reduce(part.square().sum()).sqrt(), and then part / norm.clamp(min=1)",
)
def clipped_part(answer):
    """One number is exchanged, the sum of squares. Then every rank divides by the same norm."""
    for parts in ([[2.0, 0.0], [0.3, 0.4]], [[0.3], [0.4]], [[0.6, 0.0, 0.0], [0.6, 0.2, 0.6], [0.1, 0.1, 0.1]]):
        tensors = [torch.tensor(part) for part in parts]
        norm = torch.cat(tensors).norm().item()
        given = together(len(parts), lambda rank, f, t=tensors: answer(t[rank].clone(), f))
        for rank, (one, part) in enumerate(zip(given, tensors)):
            right = part / max(norm, 1.0)
            if isinstance(one, torch.Tensor) and one.shape == part.shape and not one.allclose(right, atol=1e-5):
                own, scaled = part / max(part.norm().item(), 1.0), part / norm
                if one.allclose(own, atol=1e-5):
                    raise Wrong("that is clipped by the norm of the rank's own part, not by the norm of the whole")
                if one.allclose(scaled, atol=1e-5):
                    raise Wrong(f"the norm of the whole is {norm:.3g}, not above 1, so the gradient should not change")
                if norm > 1 and one.allclose(part / norm**2, atol=1e-5):
                    raise Wrong("that is divided by the square of the norm")
                if one.allclose(part / max(1.0, sum(t.norm().item() for t in tensors)), atol=1e-5):
                    raise Wrong("norms do not add up, but their squares do")
            expect.tensor(one, right, f"the part of rank {rank} of {len(parts)}")
