"""Pictures for slides: one idea each, drawn anew whenever the site is built; the page for teachers shows and lists them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import minigrad as torch
from viz import Drawing, draw

from . import markup

SLIDES: dict[str, Callable[[], Drawing | str]] = {}
SHOW = ("values", "grads", "saved")  # lines of this file would tell nobody anything


def slide(make: Callable[[], Drawing | str]) -> Callable[[], Drawing | str]:
    """Add a picture to the slides: its function's name is the file's, its docstring a title and what to say."""
    SLIDES[make.__name__.replace("_", "-")] = make
    return make


def number(value: float) -> torch.Tensor:
    """A leaf that wants a gradient."""
    return torch.tensor(value, requires_grad=True)


def neuron(w: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The program of the first slides."""
    return (w * x + b).tanh()


def neuron_drawn(passes: str) -> Drawing:
    """One pass of it."""
    return draw(neuron, number(0.5), torch.tensor(2.0), number(-0.3), passes=passes, rankdir="LR", show=SHOW)


def transformed(f: Callable, *args: torch.Tensor, name: str) -> Drawing:
    """What a transform of a function runs: its own forward and backward pass, and no other on top."""
    record = torch.record(f, *args, passes=("forward",))
    return draw(record, passes=("forward", "backward"), name=name, show=SHOW)


@slide
def forward() -> Drawing:
    """The forward pass: numbers flow with the program.

    Each card is an operation with its formula, its result, and what it keeps for later.
    """
    return neuron_drawn("forward")


@slide
def backward() -> Drawing:
    """The backward pass: the same graph, walked against the arrows.

    Each edge multiplies what comes from above by one local derivative. Nothing else happens.
    """
    return neuron_drawn("backward")


@slide
def jvp() -> Drawing:
    """The jvp pass: tangents go along beside the values.

    The same local derivatives in the other order: no memory is needed, but one pass for each input.
    """
    return neuron_drawn("jvp")


@slide
def film() -> str:
    """All three passes, one after the other (the picture moves).

    Let it run once before any formula.
    """
    return draw(neuron, number(0.5), torch.tensor(2.0), number(-0.3), passes="all", rankdir="LR", show=SHOW).film()


@slide
def many_uses() -> Drawing:
    """What meets is added: b = a + a, c = b + b.

    Four paths lead from c to a. Ask for the derivative first; then ask why b may be visited only once.
    """

    def doubled_twice(a: torch.Tensor) -> torch.Tensor:
        b = a + a
        return b + b

    return draw(doubled_twice, number(1.0), passes=("forward", "backward"), show=SHOW)


class Exp(torch.autograd.Function):
    """The first example of PyTorch's documents."""

    @staticmethod
    def forward(ctx, i):
        """The exponential, whose result is kept."""
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        """exp is its own derivative."""
        (result,) = ctx.saved_tensors
        return grad_output * result


@slide
def own_function() -> Drawing:
    """A Function of one's own: the box says what it keeps.

    Saving the result instead of the input costs nothing here, since the result is there anyway.
    """

    def summed(x: torch.Tensor) -> torch.Tensor:
        return Exp.apply(x).sum()

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return draw(summed, x, passes=("forward", "backward"), show=SHOW)


@slide
def kept_memory() -> Drawing:
    """What a backward pass costs in memory.

    Each card says what it saves. Which line of the program keeps the most, and for how long?
    """

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.t() / 8**0.5
        weights = scores.softmax(1)
        return weights @ v

    torch.manual_seed(0)
    qkv = [torch.randn(16, 8, requires_grad=True) for _ in range(3)]
    return draw(attention, *qkv, rankdir="LR", show=("shapes", "saved"))


@slide
def grad_of_grad() -> Drawing:
    """The gradient is a program, too: grad(grad(x ** 3)).

    The backward pass of the first derivative is recorded like any other program, so it can be differentiated.
    """
    return transformed(torch.func.grad(torch.func.grad(lambda x: x**3)), torch.tensor(2.0), name="grad of grad")


@slide
def per_sample() -> Drawing:
    """vmap: a program for one sample becomes one for a batch.

    No loop: each operation gets a rule for the additional dimension. The gradient of each sample comes out on its own.
    """

    def loss(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return ((w * x).sum() - y) ** 2

    batch = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return transformed(
        each, torch.tensor([0.1, 0.2]), batch, torch.tensor([1.0, 2.0, 3.0]), name="per-sample gradients"
    )


@slide
def vanishing() -> Drawing:
    """Why deep networks of sigmoids do not learn.

    Follow the gradient from the right to the left: each sigmoid multiplies it by at most a quarter.
    """

    def deep(w: torch.Tensor) -> torch.Tensor:
        h = torch.tensor(1.0)
        for _ in range(3):
            h = (w * h).sigmoid()
        return h

    return draw(deep, number(1.0), passes="backward", rankdir="LR", show=("values", "grads"))


@slide
def layers() -> Drawing:
    """A transformer with its layers folded.

    A large program is read at the size of its layers first; --depth opens them one level after the other.
    """
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0), 3)
    return draw(
        encoder,
        torch.randn(5, 1, 16),
        name="encoder",
        depth=2,
        passes=("forward", "backward"),
        show=("shapes", "saved"),
    )


def told(name: str) -> tuple[str, str]:
    """The title of a slide, and what to say."""
    title, _, words = (SLIDES[name].__doc__ or "").partition("\n\n")
    return title.strip().rstrip("."), " ".join(words.split())


@cache
def picture(name: str) -> str:
    """The SVG of a slide."""
    made = SLIDES[name]()
    return made if isinstance(made, str) else made.svg()


def write(out: Path) -> None:
    """Write all pictures as files."""
    out.mkdir(parents=True)
    for name in SLIDES:
        (out / f"{name}.svg").write_text(picture(name), encoding="utf-8")


def gallery(page: str) -> str:
    """The pictures as they stand on the page for teachers, each with its title, its words and its file."""
    parts = []
    for name in SLIDES:
        title, words = told(name)
        shown = markup.picture(picture(name), f"slide-{name}")
        parts.append(f"### {title}\n\n{words} [{name}.svg](slides/{name}.svg)\n\n{shown}")
    return "\n\n".join(parts)
