"""The exercises of lesson 42."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from lessons.mistakes import Sample, close, of_value
from minigrad.nn import functional as F


def gradients(given, names, wanted):
    """Expect a tuple of gradients with these names; say the mistake in words if it is a known one."""
    if not isinstance(given, (tuple, list)) or len(given) != len(names):
        raise Wrong(f"expected a tuple with the gradients of {', '.join(names)}, got {given!r}")
    for name, one, right in zip(names, given, wanted):
        if not isinstance(one, torch.Tensor):
            raise Wrong(f"the gradient of {name} is {one!r}, expected a tensor of the shape {list(right.shape)}")
        try:
            expect.tensor(one, right, f"the gradient of {name}")
        except Wrong as wrong:
            found = of_value(f"the gradient of {name}", [Sample({}, [one.numpy()], [right.numpy()])], 0)
            if found is None:
                raise
            raise Wrong(f"{found.words}: {wrong}\nTo fix: {found.hint}", mistake=found.name) from None


@exercise(
    "One number for each weight: the first is 1 · 1 + 0 · 3, the sum over both examples.",
    "The matrix product x.T @ G: rows of x.T are columns of x.",
)
def layer_weights(answer):
    """x.T @ G: each weight sums, over the examples, its input times the gradient of its output."""
    mistakes = {
        (7.0, -1.0, 3.0, 0.0): "that is x @ G; a weight's input times the gradient of its output is x.T @ G",
        (1.0, 5.0, -1.0, -2.0): "that is G.T @ x, the transposed gradient; W has a row for each input",
        (0.5, -0.5, 2.5, -1.0): "that is the mean over the examples; the paths add up",
    }
    expect.numbers(answer, [1.0, -1.0, 5.0, -2.0], mistakes)


@exercise(
    "Write down the shapes: x is (n, i), W is (i, k), G is (n, k), and each gradient has the shape of its tensor.",
    "The examples add up for W and b.",
    "return G @ W.T, x.T @ G, G.sum(0)",
)
def layer_backward(answer):
    """G @ W.T, x.T @ G and G.sum(0): the only products with the right shapes."""
    torch.manual_seed(0)
    for n, i, k in ((4, 3, 2), (3, 3, 3), (1, 2, 5)):
        x, W, G = torch.randn(n, i), torch.randn(i, k), torch.randn(n, k)
        gradients(expect.by_hand(answer)(x, W, G), ("x", "W", "b"), (G @ W.T, x.T @ G, G.sum(0)))


@exercise(
    "The probabilities are scores.softmax(1). Subtract 1 at the right class of each example.",
    "F.one_hot(labels, scores.shape[1]) has the ones. And the loss is a mean.",
)
def loss_backward(answer):
    """softmax - one_hot, divided by the number of examples."""
    torch.manual_seed(0)
    scores, labels = torch.randn(4, 3), torch.tensor([2, 0, 1, 1])
    given = expect.by_hand(answer)(scores, labels)
    wanted = (scores.softmax(1) - F.one_hot(labels, 3)) / 4
    known = {
        "it is 4 times as large: the loss is the mean over the examples": 4 * wanted,
        "it has the wrong sign: the probability of the right class has to grow, so its gradient is negative": -wanted,
        "those are the probabilities, divided by 4; subtract 1 at the right class first": scores.softmax(1) / 4,
        "softmax has to run along dimension 1, over the classes": (scores.softmax(0) - F.one_hot(labels, 3)) / 4,
    }
    for why, wrong in known.items():
        if isinstance(given, torch.Tensor) and given.shape == wrong.shape and torch.allclose(given, wrong, atol=1e-6):
            raise Wrong(why)
    expect.tensor(given, wanted, "the gradient of the scores")
    one = torch.randn(1, 5)
    expect.tensor(
        expect.by_hand(answer)(one, torch.tensor([4])),
        one.softmax(1) - F.one_hot(torch.tensor([4]), 5),
        "for one example the gradient of the scores",
    )


@exercise(
    "Forward first: h = tanh(x @ W1 + b1). Then G = loss_backward(h @ W2 + b2, labels).",
    "layer_backward(h, W2, G) gives the gradient of h. tanh multiplies it by 1 - h**2.",
)
def network_backward(answer):
    """Go from layer to layer: the gradient of a layer's input is the incoming gradient of the layer before it."""
    torch.manual_seed(0)
    x, labels = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    shapes = (3, 4), (4,), (4, 2), (2,)
    parameters = [torch.randn(shape) for shape in shapes]
    given = expect.by_hand(answer)(x, labels, *parameters)
    leaves = [p.clone().requires_grad_() for p in parameters]
    W1, b1, W2, b2 = leaves
    h = (x @ W1 + b1).tanh()
    loss = F.cross_entropy(h @ W2 + b2, labels)
    (grad_h,) = torch.autograd.grad(loss, h, retain_graph=True)
    first = given[0] if isinstance(given, (tuple, list)) and given else None
    if isinstance(first, torch.Tensor) and close(first.numpy(), (x.T @ grad_h).numpy()):
        raise Wrong(
            "W1 has the gradient for h, the result of tanh: multiply that by the slope of tanh, 1 - h**2, first"
        )
    gradients(given, ("W1", "b1", "W2", "b2"), torch.autograd.grad(loss, leaves))
