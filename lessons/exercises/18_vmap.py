"""The exercises of lesson 18."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def loss(w, x, y):
    """Return the loss of one example, as in the lesson."""
    return (torch.dot(w, x) - y) ** 2


@exercise(
    "Which arguments does torch.outer receive for one example? A has its batch in dimension 1.",
    "One example gives (3, 4), and there are 5 of them. out_dims=2 says where the 5 goes.",
)
def vmap_shape(answer):
    """Five results of shape (3, 4), with the 5 in dimension 2."""
    mistakes = {
        (5, 3, 4): "that is where the batch would be with out_dims=0",
        (3, 5, 4): "that is where the batch would be with out_dims=1",
        (3, 4): "that is the shape for one example",
        (
            5,
            4,
            3,
        ): "in_dims=(1, None) takes the columns of A, which have 3 elements, and out_dims=2 puts the batch last",
    }
    expect.numbers(answer, [3, 4, 5], mistakes)


@exercise(
    "One vmap for the points of each matrix, one inside the other.",
    "torch.vmap(distance, in_dims=(None, 0)) gives the distances of one p to all qs.",
    "torch.vmap(torch.vmap(distance, in_dims=(None, 0)), in_dims=(0, None))(ps, qs)",
)
def all_distances(answer):
    """Inside, vmap goes along a row; outside, from row to row."""

    def expected(ps, qs):
        return (ps[:, None, :] - qs[None, :, :]).norm(dim=2)

    ps = torch.tensor([[0.0, 0.0], [3.0, 0.0], [1.0, 1.0]])
    qs = torch.tensor([[0.0, 4.0], [6.0, 8.0]])
    given = answer(ps, qs)
    if isinstance(given, torch.Tensor):
        if tuple(given.shape) == (2, 3) and torch.allclose(given, expected(ps, qs).T):
            raise Wrong("the table is transposed: the points of the first matrix are the rows")
        if given.ndim == 1:
            raise Wrong(
                f"{given.numel()} distances, but there are {len(ps)} x {len(qs)} pairs: map over each of the two"
            )
    expect.computes(answer, expected, (ps, qs), (qs, qs.flip(0) + 1), (ps[:, :1], ps[:2, :1] + 5))


@exercise(
    "An `if` decides once, but each element needs its own answer.",
    "torch.where(condition, a, b) computes both and chooses.",
    "return torch.where(e.abs() <= 1, e * e, 2 * e.abs() - 1)",
)
def robust_losses(answer):
    """Both formulas are computed for every element, and where chooses."""
    errors = torch.tensor([0.5, -0.5, 3.0, -2.0, 1.0, 0.0], requires_grad=True)

    def expected(errors):
        return torch.where(errors.abs() <= 1, errors * errors, 2 * errors.abs() - 1)

    expect.computes(answer, expected, (errors,))
    expect.without_loop(answer, (torch.ones(2),), (torch.ones(20),))


@exercise(
    "vmap of grad gives one gradient for each example: in_dims=(None, 0, 0).",
    "The length of each row is .norm(dim=1), and .argmax() says where the longest is.",
)
def most_influential(answer):
    """2 * error * x is the gradient: a large error or a long x makes it large."""

    def expected(w, xs, ys):
        return torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys).norm(dim=1).argmax().item()

    w = torch.tensor([1.0, 2.0])
    xs = torch.tensor([[1.0, 0.0], [5.0, 5.0], [0.1, 0.1], [-3.0, 1.0]])
    for ys in ([1.0, 15.0, 8.0, -1.5], [10.0, 15.0, 1.0, 0.0], [1.0, 14.0, 0.0, 9.0]):
        ys = torch.tensor(ys)
        wanted, errors = expected(w, xs, ys), (xs @ w - ys).abs()
        given = answer(w, xs, ys)
        if isinstance(given, torch.Tensor) and given.numel() > 1:
            raise Wrong("expected the index of one example: argmax says where the largest is")
        given = None if given is None else int(given)
        if given != wanted and given == errors.argmax().item():
            raise Wrong("that is the example with the largest error; its gradient is 2 * error * x, and x may be short")
        if given != wanted:
            raise Wrong(f"for the errors {errors.tolist()} it is example {wanted}, not {given}")


@exercise(
    "First compute one gradient for each example, and their lengths: .norm(dim=1, keepdim=True).",
    "Each is multiplied by most / length, but never by more than 1.",
    "Do not divide by a length of zero: lengths.clamp(min=most) is at least `most`, so most divided by it is at most 1.",
)
def clipped_mean(answer):
    """Each gradient keeps its direction and is at most `most` long; the answer is their mean."""

    def gradients(w, xs, ys):
        return 2 * (xs @ w - ys)[:, None] * xs

    def expected(w, xs, ys, most):
        each = gradients(w, xs, ys)
        return (each * (most / each.norm(dim=1, keepdim=True).clamp(min=most))).mean(0)

    w = torch.tensor([1.0, 2.0])
    xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [3.0, -4.0]])
    for ys in ([0.5, 2.1, 9.0, 0.0], [1.0, 2.5, 3.1, 5.0]):
        ys = torch.tensor(ys)
        for most in (1.0, 0.3, 100.0):
            given, wanted = answer(w, xs, ys, most), expected(w, xs, ys, most)
            if isinstance(given, torch.Tensor):
                if given.isnan().any():
                    raise Wrong("there is a NaN, from 0 / 0: an example that fits exactly has a gradient of zero")
                mean = gradients(w, xs, ys).mean(0)
                late = mean * (most / mean.norm().clamp(min=most))
                if not torch.allclose(given, wanted) and torch.allclose(given, late):
                    raise Wrong("that is the mean, shortened: shorten each gradient before you take the mean")
                if torch.allclose(given, 4 * wanted):
                    raise Wrong("that is the sum: take the mean")
            expect.tensor(given, wanted, f"the mean for most={most}", atol=1e-5)
    xs, ys = torch.randn(12, 2), torch.randn(12)
    expect.without_loop(answer, (w, xs[:3], ys[:3], 0.5), (w, xs, ys, 0.5))
