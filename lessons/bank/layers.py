"""Exercises about layers and losses: shapes, parameters, and the gradients that a framework computes for you."""

import math
import random

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong
from minigrad.nn import functional as F

from . import Task, applied, code, combined, exercise, fence, number, numbers


@exercise(
    1,
    "The batch size stays the same, and the number of channels is the second argument.",
    "Count the places of the kernel along one side: it can move by the padded size minus k, in steps of the stride.",
)
def conv_output_shape(r: random.Random) -> Task:
    """Compute the shape of a convolution."""
    n, c, out = r.sample([2, 3, 4, 6, 8], 3)
    h, w = r.sample(range(9, 20), 2)
    k, stride, padding = r.choice([3, 5]), r.choice([2, 3]), r.choice([1, 2])

    def shape(extra: int, step: int = stride, add: int = 1, channels: int = out) -> tuple[int, ...]:
        return (n, channels, (h + extra - k) // step + add, (w + extra - k) // step + add)

    program = (
        f"conv = torch.nn.Conv2d({c}, {out}, {k}, stride={stride}, padding={padding})\n"
        f"y = conv(torch.zeros({n}, {c}, {h}, {w}))\n"
    )
    return numbers(
        f"What is the shape of `y`, as a list?{fence(program)}",
        shape(2 * padding),
        solution=f"{program}conv_output_shape = y.shape",
        why="Each side has (size + 2 * padding - kernel) // stride + 1 places for the kernel.",
        mistakes={
            shape(padding): "the padding is added on both sides",
            shape(2 * padding, add=0): "the first place of the kernel counts, too",
            shape(2 * padding, step=1): f"with a stride of {stride} the kernel skips places",
            shape(2 * padding, channels=c): "the convolution has a different number of output channels",
            shape(0): "the padding makes the picture larger",
        },
    )


@exercise(
    1,
    "Each output channel has a kernel for each of the input channels that it sees, and one bias.",
    "With groups, an output channel sees only the input channels in its group.",
)
def conv_parameters(r: random.Random) -> Task:
    """Count the parameters of a convolution."""
    groups, k, side = r.choice([1, 2, 4]), r.choice([3, 5]), r.choice([16, 28, 32])
    c, out = r.sample([4, 8, 12, 16, 20], 2)
    each = c // groups * k * k
    made = f"torch.nn.Conv2d({c}, {out}, {k}" + (f", groups={groups})" if groups > 1 else ")")
    return number(
        f"How many numbers does `{made}` learn? Its pictures have {side} by {side} pixels.",
        out * (each + 1),
        solution=f"conv_parameters = sum(p.numel() for p in {made}.parameters())",
        why="A convolution uses the same kernels at all places, so the size of the pictures does not matter.",
        mistakes={
            out * each: "each output channel has a bias",
            out * (c * k * k + 1): "with groups, an output channel sees only a part of the input channels",
            out * (k * k + 1): "each output channel has a separate kernel for each input channel that it sees",
            out * (each + 1) * side * side: "all places share the same kernel",
        },
    )


@exercise(1, "Dropout divides the elements that it keeps by the probability of keeping them.")
def dropout_slopes(r: random.Random) -> Task:
    """Differentiate dropout."""
    p, a = r.choice([0.2, 0.5, 0.6, 0.75, 0.9]), r.randint(2, 9)
    program = f"x = torch.ones(1000, requires_grad=True)\ny = {a} * torch.nn.functional.dropout(x, p={p})\ny.sum().backward()\n"
    return numbers(
        f"`x.grad` contains two different numbers. What are they? Give a list, the smaller one first.{fence(program)}",
        (0.0, a / (1 - p)),
        solution=f"{program}dropout_slopes = x.grad.unique()",
        why="Backward uses the mask of forward: 0 for dropped elements, and 1 / (1 - p) for the others, times the factor.",
        mistakes={
            (0, a): "dropout enlarges the elements that it keeps, so that the mean stays the same",
            (0, round(a * (1 - p), 6)): "dropout divides by the probability of keeping an element",
            (0, round(a / p, 6)): "p is the probability of dropping an element",
            (a, round(a / (1 - p), 6)): "a dropped element has no influence on the result",
        },
    )


@exercise(
    1,
    "How many rows of length `out_features` does the result have? Each row is a product plus the same bias.",
    "The gradient of the bias is the sum over all rows.",
)
def bias_of_a_batch(r: random.Random) -> Task:
    """Compute the gradient of a bias."""
    batch, length, inputs, outputs = r.sample(range(2, 10), 4)
    c = r.randint(2, 5)
    program = (
        f"layer = torch.nn.Linear({inputs}, {outputs})\nx = torch.randn({batch}, {length}, {inputs})\n"
        f"({c} * layer(x)).sum().backward()\n"
    )
    return number(
        f"All elements of `layer.bias.grad` are the same number. What is it?{fence(program)}",
        c * batch * length,
        solution=f"{program}bias_of_a_batch = layer.bias.grad[0]",
        why="Broadcasting adds the bias to each row, so backward sums over all dimensions but the last.",
        mistakes={
            c: "every row uses the same bias, so add the gradients of all rows",
            c * batch: "the second dimension is a batch dimension, too",
            c * batch * length * outputs: "an element of the bias is added to only one column",
            batch * length: "the factor is part of the slope",
        },
    )


@exercise(
    2,
    "The softmax of logarithms divides each number by the sum of the row.",
    "The gradient is the probability, minus 1 for the right class. The loss is a mean over the rows.",
)
def cross_entropy_slope(r: random.Random) -> Task:
    """Compute a gradient of the cross entropy."""
    n = r.randint(2, 4)
    rows = [r.sample(range(1, 7), 3) for _ in range(n)]
    labels = [r.randint(0, 2) for _ in range(n)]
    i, j = r.randrange(n), r.randint(0, 2)
    p, right = rows[i][j] / sum(rows[i]), float(labels[i] == j)
    program = (
        f"scores = torch.tensor({[[float(one) for one in row] for row in rows]}).log().requires_grad_()\n"
        f"labels = torch.tensor({labels})\ntorch.nn.functional.cross_entropy(scores, labels).backward()\n"
    )
    return number(
        f"Compute `scores.grad[{i}, {j}]`.{fence(program)}",
        (p - right) / n,
        solution=f"{program}cross_entropy_slope = scores.grad[{i}, {j}]",
        why="Softmax and logarithm together have the gradient (probability - 1 for the right class) / rows.",
        mistakes={
            p - right: "the loss is the mean over the rows",
            (right - p) / n: "the sign is wrong: a larger score for the right class makes the loss smaller",
            p / n: f"class {j} is the right one for this row, so 1 is subtracted",
            (rows[i][j] - right) / n: "the gradient needs the probabilities, not the numbers before softmax",
            (p - 1) / n: f"class {j} is not the right one for this row",
        },
    )


@exercise(
    2,
    "The softmax of logarithms divides each number by their sum.",
    "A probability depends on each score: once through the numerator, and always through the sum in the denominator.",
)
def softmax_slope(r: random.Random) -> Task:
    """Differentiate one probability with respect to one score."""
    weights = r.sample(range(1, 8), 3)
    i, j = r.randint(0, 2), r.randint(0, 2)
    p = [one / sum(weights) for one in weights]
    program = (
        f"x = torch.tensor({[float(one) for one in weights]}).log().requires_grad_()\n"
        f"p = torch.softmax(x, dim=0)\np[{i}].backward()\n"
    )
    return number(
        f"Compute `x.grad[{j}]`.{fence(program)}",
        p[i] * ((i == j) - p[j]),
        solution=f"{program}softmax_slope = x.grad[{j}]",
        why="The derivative of p[i] with respect to x[j] is p[i] * (1 - p[i]) for i = j, and -p[i] * p[j] otherwise.",
        mistakes={
            p[i] * p[j] * (-1 if i == j else 1): (
                "the numerator depends on the score, too"
                if i == j
                else "a larger score of another class makes the probability smaller"
            ),
            0.0: "the sum in the denominator contains all scores",
            p[i]: "the sum in the denominator depends on the score, too",
            p[i] * (1 - p[i]): "that is the derivative with respect to the score of the same class",
            1 - p[i]: "that is the derivative of the logarithm of p",
            -p[j]: "that is the derivative of the logarithm of p",
        },
    )


@exercise(
    2,
    "Row i of the result is a copy of row `index[i]`. Backward sends the gradient of each copy to its row.",
    "A row with several copies gets the sum, and a row without copies gets 0.",
)
def embedding_rows(r: random.Random) -> Task:
    """Follow gradients into an embedding table."""
    rows = r.randint(4, 5)
    used = r.sample(range(rows), 3)
    index = r.sample([*used, used[0], used[1]], 5)
    weights = r.sample(range(1, 10), 5)
    right, last, count = [0] * rows, [0] * rows, [0] * rows
    for row, weight in zip(index, weights):
        right[row], last[row], count[row] = right[row] + weight, weight, count[row] + 1
    program = (
        f"table = torch.zeros({rows}, 1, requires_grad=True)\nindex = torch.tensor({index})\n"
        f"weights = torch.tensor({[float(w) for w in weights]})\n"
        "found = torch.nn.functional.embedding(index, table)\n(weights * found.flatten()).sum().backward()\n"
    )
    return numbers(
        f"What are the {rows} numbers in `table.grad`?{fence(program)}",
        right,
        solution=f"{program}embedding_rows = table.grad",
        why="Each look-up is a use of its row, and backward adds the gradients of all uses.",
        mistakes={
            tuple(last): "a row that is used twice gets the sum of both gradients, not the last one",
            tuple(count): "each use sends back its weight, not 1",
            tuple((weights + [0] * rows)[:rows]): "the gradients go to the rows that `index` names",
        },
    )


@exercise(
    2,
    "Layer norm subtracts the mean. What is the sum of its result for any x?",
    "A constant has the gradient 0, so only the other term is left.",
)
def layer_norm_sum(r: random.Random) -> Task:
    """Add up a normalised vector."""
    a, b, x = r.randint(2, 9), r.randint(2, 9), [float(one) for one in r.sample(range(-5, 9), 4)]
    program = (
        f"x = torch.tensor({x}, requires_grad=True)\ny = torch.nn.functional.layer_norm(x, (4,))\n"
        f"({a} * y + {b} * x).sum().backward()\n"
    )
    mean = sum(x) / 4
    spread = math.sqrt(sum((one - mean) ** 2 for one in x) / 4)
    return number(
        f"Compute `x.grad[0]`.{fence(program)}",
        b,
        solution=f"{program}layer_norm_sum = x.grad[0]",
        why="The sum of y is 0 for any x, so its gradient is 0: layer norm removes the mean of the incoming gradient.",
        mistakes={
            a + b: "y is not x: layer norm has a derivative",
            a / spread + b: "the mean and the spread depend on x, too",
            0.0: "the second term has a gradient, too",
            a: "that is the factor of the normalised vector",
        },
    )


@exercise(
    3,
    "Save the probabilities. The gradient of the scores is (probabilities - targets) / rows, times the incoming gradient.",
    "The targets of a row add up to 1: each class gets eps / classes, and the label gets 1 - eps in addition.",
)
def SmoothedEntropy(r: random.Random) -> Task:
    """Write the cross entropy with smoothed labels."""
    eps = r.choice([0.1, 0.15, 0.2, 0.25, 0.3, 0.4])

    expected = applied(lambda scores, labels: F.cross_entropy(scores, labels, label_smoothing=eps))

    def judge(answer):
        torch.manual_seed(3)
        calls = [(4.0, 4, 3), (1.0, 2, 5), (1.0, 1, 4)]
        labels = [torch.tensor(one) for one in ([2, 0, 1, 1], [4, 4], [0])]
        calls = [(scale * torch.randn(*size), one) for (scale, *size), one in zip(calls, labels)]
        expect.function(answer, expected, *[(scores.requires_grad_(), one) for scores, one in calls])
        expect.methods_by_hand(answer, *calls[0])

    def source(backward: str, share: float = eps) -> str:
        forward = (
            "logs = scores - scores.logsumexp(1, keepdim=True)\n"
            "targets = torch.nn.functional.one_hot(labels, scores.shape[1]).to(scores.dtype)\n"
            f"targets = (1 - {share}) * targets + {share} / scores.shape[1]\n"
            "ctx.save_for_backward(logs.exp(), targets)\nreturn -(targets * logs).sum(1).mean()"
        )
        lines = "p, targets = ctx.saved_tensors", f"return {backward}, None"
        return combined("SmoothedEntropy", "scores, labels", forward, "grad_output", *lines)

    return code(
        "Write a Function for the cross entropy of `scores` with shape (rows, classes) and `labels`, whole numbers. The target "
        f"of a row is not 1 for its label: each class gets {eps} / classes, and the label {round(1 - eps, 2)} in addition. The "
        "loss of a row is minus the sum of each target times the logarithm of its probability. The result is the mean over the "
        "rows. Write `backward` without autograd.",
        combined("SmoothedEntropy", "scores, labels", "...", "grad_output", "..."),
        source("grad_output * (p - targets) / len(p)"),
        judge,
        "The targets add up to 1, so the gradient is still probability minus target.",
        (source("(p - targets) / len(p)"), "gradient"),
        (source("grad_output * (p - targets)"), "gradient"),
        (source("grad_output * (p - targets) / len(p)", share=0.0), "the result"),
    )


@exercise(
    3,
    "The root depends on each element of its row. Name it `root` and use the product rule.",
    "With y = x / root, the gradient is (g - y * s) / root, where s is a mean or a sum of g * y over the row.",
)
def NormedRows(r: random.Random) -> Task:
    """Write a normalisation and its backward."""
    eps, kind = r.choice([0.1, 0.2, 0.25, 0.5, 1.0]), r.choice(["mean", "sum"])

    expected = applied(lambda x: x / (getattr(x * x, kind)(-1, keepdim=True) + eps).sqrt())

    def judge(answer):
        torch.manual_seed(4)
        calls = [(torch.randn(*shape).requires_grad_(),) for shape in ((3,), (4, 2), (2, 3, 5))]
        expect.function(answer, expected, *calls)
        expect.methods_by_hand(answer, *calls[0])

    def source(backward: str) -> str:
        root = f"root = ((x * x).{kind}(-1, keepdim=True) + {eps}).sqrt()"
        forward = f"{root}\nctx.save_for_backward(x / root, root)\nreturn x / root"
        return combined("NormedRows", "x", forward, "g", "y, root = ctx.saved_tensors", f"return {backward}")

    return code(
        f"Write a Function that divides each row of `x` by $\\sqrt{{s + {eps}}}$, where $s$ is the {kind} of the squares in "
        "the row. A row runs along the last dimension; `x` has at least one dimension. Write `backward` without autograd.",
        combined("NormedRows", "x", "...", "g", "..."),
        source(f"(g - y * (g * y).{kind}(-1, keepdim=True)) / root"),
        judge,
        "The second term removes the part of the gradient along the row, because scaling a row hardly changes the result.",
        (source("g / root"), "gradient"),
        (source(f"(g - y * (g * y).{kind}()) / root"), "gradient"),
        (source(f"(g + y * (g * y).{kind}(-1, keepdim=True)) / root"), "gradient"),
    )


@exercise(
    3,
    "Go through all products of forward. Each one, w[j] * x[...], sends w[j] * g[i] back to its element of x.",
    "Start with a list of n zeros, and add in two loops, over i and j.",
)
def conv_input_gradient(r: random.Random) -> Task:
    """Write the backward pass of a convolution."""
    stride, flipped = r.choice([2, 3]), r.random() < 0.5
    shift, place = r.choice([0, 1, 2]), "len(w) - 1 - j" if flipped else "j"

    def judge(answer):
        from numpy.random import default_rng

        data = default_rng(5)
        for k, outputs, rest in ((3, 4, 0), (2, 3, 1), (4, 2, stride - 1), (1, 3, 0)):
            n = shift + stride * (outputs - 1) + k + rest
            g, w = data.standard_normal(outputs).tolist(), data.standard_normal(k).tolist()
            wanted = [0.0] * n
            for i in range(outputs):
                for j in range(k):
                    wanted[stride * i + j + shift] += w[k - 1 - j if flipped else j] * g[i]
            given = answer(list(g), list(w), n)
            if given is None:
                raise Wrong("your function returns None: is there a return?")
            expect.tensor(given, wanted, f"for {outputs} results, a kernel of {k} and n = {n} the gradient")

    def source(line: str) -> str:
        return (
            "def conv_input_gradient(g, w, n):\n    dx = [0.0] * n\n    for i in range(len(g)):\n"
            f"        for j in range(len(w)):\n            {line}\n    return dx\n"
        )

    at = f"{stride} * i + j" + (f" + {shift}" if shift else "")
    forward = f"for i in range(len(y)):\n    y[i] = sum(w[{place}] * x[{at}] for j in range(len(w)))"
    solution = (
        "def conv_input_gradient(g, w, n):\n    x = torch.zeros(n, requires_grad=True)\n"
        f"    kernel = torch.tensor(w){'.flip(0)' if flipped else ''}.reshape(1, 1, -1)\n"
        f"    y = torch.nn.functional.conv1d(x[{shift}:].reshape(1, 1, -1), kernel, stride={stride})[0, 0, : len(g)]\n"
        "    y.backward(torch.tensor(g))\n    return x.grad\n"
    )
    return code(
        f"This is a convolution of lists of numbers:{fence(forward)}Write its backward pass in plain Python: from the list "
        "`g`, the gradients of `y`, from `w` and from `n`, the number "
        "of elements of `x`, return the list of the gradients of `x`.",
        "def conv_input_gradient(g, w, n): ...",
        solution,
        judge,
        "Forward gathers and backward scatters: the same loops add to x's gradient at the places that forward reads.",
        (source(f"dx[{at}] = w[{place}] * g[i]"), "expected"),
        (source(f"dx[{at}] += w[{'j' if flipped else 'len(w) - 1 - j'}] * g[i]"), "expected"),
        (source(f"dx[i + j + {shift}] += w[{place}] * g[i]"), "expected"),
    )


@exercise(
    3,
    "Go backward step by step: from the product with v, through softmax, to the product of q and k.",
    "Through softmax: ds = p * (dp - (dp * p).sum(-1, keepdim=True)). The factor belongs to both q and k.",
)
def attention_gradients(r: random.Random) -> Task:
    """Write the backward pass of attention."""
    scale = r.choice([0.25, 0.5, 0.75, 1.5, 2.0, 3.0])

    def expected(q, k, v, g):
        leaves = [one.detach().clone().requires_grad_() for one in (q, k, v)]
        q, k, v = leaves
        return torch.autograd.grad((scale * q @ k.mT).softmax(-1) @ v, leaves, g)

    def judge(answer):
        torch.manual_seed(6)
        for batch, queries, keys, width, out in (((), 2, 3, 4, 5), ((2,), 4, 3, 2, 1)):
            shapes = (queries, width), (keys, width), (keys, out), (queries, out)
            args = tuple(torch.randn(*batch, *shape) for shape in shapes)
            expect.computes(expect.by_hand(answer), expected, args, gradients=False, rtol=1e-3)

    def source(scores: str = f"ds = {scale} * p * (dp - (dp * p).sum(-1, keepdim=True))", dv: str = "p.mT @ g") -> str:
        return (
            f"def attention_gradients(q, k, v, g):\n    p = ({scale} * q @ k.mT).softmax(-1)\n    dp = g @ v.mT\n    {scores}\n"
            f"    return ds @ k, ds.mT @ q, {dv}\n"
        )

    return code(
        f"`y = ({scale} * q @ k.mT).softmax(-1) @ v` is attention with the factor {scale}. Return the gradients of `q`, `k` "
        "and `v`, in this order, from `q`, `k`, `v` and `g`, the gradient of `y`. Do not use autograd. The tensors may have "
        "batch dimensions in front, and the numbers of queries and keys differ.",
        "def attention_gradients(q, k, v, g): ...",
        source(),
        judge,
        "A product sends back g times the other factor, and softmax subtracts the mean of its incoming gradient, weighted by "
        "p.",
        (source("ds = p * (dp - (dp * p).sum(-1, keepdim=True))"), "result 0"),
        (source(f"ds = {scale} * p * (1 - p) * dp"), "result 0"),
        (source(dv="p @ g"), "raises"),
    )
