"""Draw the pictures for slides on the teachers' page, one idea each, whenever the site is built."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import minigrad as torch
from viz import Drawing, draw

from . import markup

SLIDES: dict[str, Callable[[], Drawing | str]] = {}
TALKS = Path(__file__).with_name("talks")  # decks that are written by hand
SHOW = ("values", "grads", "saved")  # without lines: those of this file mean nothing to readers


def slide(make: Callable[[], Drawing | str]) -> Callable[[], Drawing | str]:
    """Add a picture to the slides: the function's name is the file name, its docstring the title and the text."""
    SLIDES[make.__name__.replace("_", "-")] = make
    return make


def number(value: float) -> torch.Tensor:
    """Return a leaf that requires a gradient."""
    return torch.tensor(value, requires_grad=True)


def neuron(w: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Compute the program of the first slides."""
    u = w * x
    s = u + b
    y = s.tanh()
    return y


def neuron_drawn(passes: str) -> Drawing:
    """Return a drawing of one pass of the neuron."""
    return draw(neuron, number(0.5), torch.tensor(2.0), number(-0.3), passes=passes, rankdir="LR", show=SHOW)


def transformed(f: Callable, *args: torch.Tensor, name: str) -> Drawing:
    """Return a drawing of a transformed function: the passes that it runs itself, and no others."""
    record = torch.record(f, *args, passes=("forward",))
    return draw(record, passes=("forward", "backward"), name=name, show=SHOW)


@slide
def forward() -> Drawing:
    """Forward pass: numbers flow with the program.

    Each card is an operation with its formula, its result, and the tensors it saves.
    """
    return neuron_drawn("forward")


@slide
def backward() -> Drawing:
    """Backward pass: the same graph, against the arrows.

    Each edge multiplies the incoming gradient by one local derivative. Nothing else happens.
    """
    return neuron_drawn("backward")


@slide
def neuron_live() -> Drawing:
    """Neuron whose numbers can be changed.

    Click a number of a leaf: both passes are computed again.
    """
    return neuron_drawn("backward")


@slide
def jvp() -> Drawing:
    """JVP pass: tangents flow alongside the values.

    Forward mode multiplies the same local derivatives in the other order. It saves no tensors, but needs a pass for each input.
    """
    return neuron_drawn("jvp")


@slide
def film() -> str:
    """All three passes, one after another (animated).

    Let it run once before you show any formula.
    """
    return draw(neuron, number(0.5), torch.tensor(2.0), number(-0.3), passes="all", rankdir="LR", show=SHOW).film()


@slide
def many_uses() -> Drawing:
    """Gradients that meet add up: b = a + a, c = b + b.

    Four paths lead from c to a. Ask for the derivative first; then ask why b may be visited only once.
    """

    def doubled_twice(a: torch.Tensor) -> torch.Tensor:
        b = a + a
        return b + b

    return draw(doubled_twice, number(1.0), passes=("forward", "backward"), show=SHOW)


class Exp(torch.autograd.Function):
    """The first example in PyTorch's documentation."""

    @staticmethod
    def forward(ctx, i):
        """Compute the exponential and save the result."""
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        """Return the gradient: exp is its own derivative."""
        (result,) = ctx.saved_tensors
        return grad_output * result


@slide
def own_function() -> Drawing:
    """Your own Function: its card lists its saved tensors.

    Saving the result instead of the input costs nothing here, since the result exists anyway.
    """

    def summed(x: torch.Tensor) -> torch.Tensor:
        return Exp.apply(x).sum()

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return draw(summed, x, passes=("forward", "backward"), show=SHOW)


@slide
def kept_memory() -> Drawing:
    """Memory cost of a backward pass.

    Each card lists its saved tensors. Which line of the program saves the most, and for how long?
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
    """Gradients are programs too: grad(grad(x ** 3)).

    The backward pass of the first derivative is recorded like any other program, so it can be differentiated.
    """
    return transformed(torch.func.grad(torch.func.grad(lambda x: x**3)), torch.tensor(2.0), name="grad of grad")


@slide
def per_sample() -> Drawing:
    """vmap: a program for one sample becomes one for a batch.

    No loop: each operation gets a rule for the additional dimension. You get a separate gradient for each sample.
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

    Follow the gradient from right to left: each sigmoid multiplies it by at most a quarter.
    """

    def deep(w: torch.Tensor) -> torch.Tensor:
        h = torch.tensor(1.0)
        for _ in range(3):
            h = (w * h).sigmoid()
        return h

    return draw(deep, number(1.0), passes="backward", rankdir="LR", show=("values", "grads"))


@slide
def layers() -> Drawing:
    """Layers of a transformer, folded.

    Read a large program layer by layer first; --depth opens one level after another.
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


def title_and_text(name: str) -> tuple[str, str]:
    """Return the title and the text of a slide."""
    title, _, words = (SLIDES[name].__doc__ or "").partition("\n\n")
    return title.strip().rstrip("."), " ".join(words.split())


@cache
def picture(name: str) -> str:
    """Return the SVG of a slide."""
    made = SLIDES[name]()
    return made if isinstance(made, str) else made.svg()


def write(out: Path) -> None:
    """Write all pictures as files."""
    out.mkdir(parents=True)
    for name in SLIDES:
        (out / f"{name}.svg").write_text(picture(name), encoding="utf-8")


def gallery(page: str) -> str:
    """Return the pictures for the teachers' page, each with its title, text and file."""
    parts = []
    for name in SLIDES:
        title, words = title_and_text(name)
        shown = markup.picture(picture(name), f"slide-{name}")
        parts.append(f"### {title}\n\n{words} [{name}.svg](slides/{name}.svg)\n\n{shown}")
    return "\n\n".join(parts)


def talks(page: str) -> str:
    """Return the links to the decks that are written by hand as a list for the teachers' page."""
    titles = {path.stem: path.read_text(encoding="utf-8").partition("\n")[0] for path in sorted(TALKS.glob("*.md"))}
    return "\n".join(f"- [{title.removeprefix('# ')}](slides/{name}.html)" for name, title in titles.items())
