"""The exercises of lesson 48."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.nn import functional as F


@exercise(
    "The result has the shape (8, 16, 30, 30), one channel for each of the 16 filters.",
    "A float32 has 4 bytes.",
)
def conv_norm_bytes(answer):
    """8 * 16 * 30 * 30 numbers of 4 bytes: nearly as large as x itself."""
    mistakes = {
        115200: "that is the number of elements; each has 4 bytes",
        921600: "a float32 has 4 bytes, not 8",
        524288: "without padding an image of 32 pixels becomes one of 30",
        492032: "it loses one pixel on each side: 32 becomes 30, not 31",
        57600: "that is one example; there are 8",
        28800: "there are 16 channels",
        9216: "that is the weight",
    }
    expect.number(answer, 460800, mistakes)


@exercise(
    "setup_context saves the two inputs: ctx.save_for_backward(*inputs).",
    "backward computes the convolution again. ReLU passes a gradient where its input is positive: grad_output * (c > 0).",
    "Return conv2d_input(x.shape, weight, grad_c) and conv2d_weight(x, weight.shape, grad_c).",
)
def FusedRelu(answer):
    """backward computes the sign of the convolution again, so only the inputs are saved."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")

    def given(x, weight):
        return answer.apply(x, weight)

    def expected(x, weight):
        return F.conv2d(x, weight).relu()

    draw = torch.Generator().manual_seed(0)
    for shape, filters in (((2, 3, 5, 5), (4, 3, 3, 3)), ((1, 1, 3, 4), (1, 1, 2, 2))):
        args = tuple(torch.randn(*one, generator=draw).requires_grad_() for one in (shape, filters))
        expect.computes(given, expected, args, rtol=1e-3)
    x, zeros = torch.ones(1, 1, 3, 3, requires_grad=True), torch.zeros(1, 1, 2, 2, requires_grad=True)
    try:
        expect.computes(given, expected, (x, zeros))
    except Wrong as wrong:
        raise Wrong(f"where the convolution is 0, the gradient of ReLU is 0: {wrong}", wrong.drawing) from None
    expect.saves(given, args, sum(t.nbytes for t in args))


@exercise(
    "(conv(x) - mean) / s is conv(x) / s - mean / s, and a convolution is linear in its weight.",
    "The weight has the shape (filters, channels, height, width): divide it by s.reshape(-1, 1, 1, 1).",
    "s = (var + eps).sqrt(); return weight / s.reshape(-1, 1, 1, 1), -mean / s",
)
def folded(answer):
    """Dividing the result by s is dividing the weight by s; the rest, -mean / s, is a bias."""
    draw = torch.Generator().manual_seed(1)
    for filters, channels, eps in ((4, 3, 1e-5), (2, 1, 0.5), (3, 3, 1e-3)):
        weight, x = torch.randn(filters, channels, 2, 3, generator=draw), torch.randn(2, channels, 4, 5, generator=draw)
        mean, var = torch.randn(filters, generator=draw), torch.rand(filters, generator=draw) + 0.1
        given = answer(weight, mean, var, eps)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise Wrong(f"expected two tensors, a weight and a bias, got one {type(given).__name__}")
        for name, one, shape in (("weight", given[0], weight.shape), ("bias", given[1], mean.shape)):
            if not isinstance(one, torch.Tensor) or one.shape != shape:
                size = f"shape {tuple(one.shape)}" if isinstance(one, torch.Tensor) else repr(one)
                raise Wrong(f"the {name} has {size}, expected a tensor of shape {tuple(shape)}")
        s = (var + eps).sqrt()
        expect.tensor(given[0], weight / s.reshape(-1, 1, 1, 1), f"the weight for eps = {eps:g}")
        expect.tensor(given[1], -mean / s, f"the bias for eps = {eps:g}")
        expect.tensor(
            F.conv2d(x, *given),
            F.batch_norm(F.conv2d(x, weight), mean, var, eps=eps),
            "the result",
            rtol=1e-3,
            atol=1e-4,
        )
