"""The demonstration: train a two-layer network on scikit-learn's handwritten digits, and draw one step of it.

Run it with `make demo` or `python -m viz.demo`.  It checks a gradient against finite differences, and writes into the folder
demo/ pictures of one training step (forward, backward and jvp passes, a film, a page to step through, saved memory,
histograms of values and gradients) and of the gradients over all steps (a figure and a film).
"""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import minigrad
from minigrad import nn, optim
from minigrad.nn import functional as F
from viz import draw
from viz.figures import gradient_magnitudes, histograms, saved_memory
from viz.training import TrainingFilm

EPOCHS, BATCH, RATE = 30, 32, 0.2
GOAL = 0.95


class Net(nn.Module):
    """64 pixels, 32 hidden units, 10 digits."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.out = nn.Linear(32, 10)

    def forward(self, images):
        """Return the scores of the ten digits."""
        return self.out(self.hidden(images).tanh())


def digits() -> tuple:
    """Return images and labels for training, then a fifth of the data for testing."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    split = train_test_split((images / 16).astype(np.float32), labels, test_size=0.2, random_state=0, stratify=labels)
    return tuple(minigrad.tensor(split[i]) for i in (0, 2, 1, 3))


def accuracy(net: Net, images, labels) -> float:
    """Return the share of digits that the network recognizes."""
    with minigrad.no_grad():
        return float((net(images).argmax(1) == labels).numpy().mean())


def train(net: Net, images, labels, test) -> dict[str, list[float]]:
    """Train by plain gradient descent; return the norm of each parameter's gradient at each step."""
    optimizer = optim.SGD(net.parameters(), lr=RATE)
    history: dict[str, list[float]] = {name: [] for name, _ in net.named_parameters()}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    random, loss = np.random.default_rng(0), minigrad.tensor(0.0)
    with Progress(*columns) as progress:
        task = progress.add_task("training", total=EPOCHS)
        for _ in range(EPOCHS):
            order = random.permutation(len(labels))
            for batch in (minigrad.tensor(order[i : i + BATCH]) for i in range(0, len(order), BATCH)):
                optimizer.zero_grad()
                loss = F.cross_entropy(net(images[batch]), labels[batch])
                loss.backward()
                for name, parameter in net.named_parameters():
                    if parameter.grad is not None:
                        history[name].append(float(np.linalg.norm(parameter.grad.numpy())))
                optimizer.step()
            words = f"training  loss {loss.item():.4f}  accuracy {accuracy(net, *test):.1%}"
            progress.update(task, advance=1, description=words)
    return history


def check_gradient(net: Net, images, labels) -> tuple[float, float]:
    """Return the derivative of the loss by one weight, from backward and from central differences, in double precision."""
    given = [parameter.detach().double() for parameter in net.parameters()]
    weight = given[0].clone().requires_grad_()
    step_of(images.double(), labels)(weight, *given[1:]).backward()
    assert weight.grad is not None
    row, column = np.unravel_index(np.abs(weight.grad.numpy()).argmax(), weight.shape)
    nudge, sides = np.zeros(weight.shape), []
    nudge[row, column] = 1e-5
    for sign in (1, -1):
        moved = given[0] + sign * minigrad.tensor(nudge)
        sides.append(step_of(images.double(), labels)(moved, *given[1:]).item())
    return float(weight.grad.numpy()[row, column]), (sides[0] - sides[1]) / 2e-5


def step_of(images, labels):
    """Return the loss of a training step as a function of the network's parameters."""

    def training_step(hidden_weight, hidden_bias, out_weight, out_bias):
        hidden = F.linear(images, hidden_weight, hidden_bias).tanh()
        scores = F.linear(hidden, out_weight, out_bias)
        return F.cross_entropy(scores, labels)

    return training_step


def main(folder: Path = Path("demo")) -> None:
    """Train, check, draw."""
    say = Console(highlight=False).print
    minigrad.manual_seed(0)
    train_images, train_labels, *test = digits()
    net = Net()
    history = train(net, train_images, train_labels, test)
    reached = accuracy(net, *test)
    say(f"accuracy on {len(test[1])} unseen digits: {reached:.1%}")

    by_backward, by_differences = check_gradient(net, train_images[:BATCH], train_labels[:BATCH])
    say(f"a gradient: {by_backward:.8f} by backward, {by_differences:.8f} by finite differences")
    assert abs(by_backward - by_differences) <= 1e-6 * max(1.0, abs(by_backward)), "the gradient is wrong"
    assert reached > GOAL, f"the network should reach {GOAL:.0%}"

    folder.mkdir(exist_ok=True)
    step = step_of(train_images[:BATCH], train_labels[:BATCH])
    record = minigrad.record(step, *net.parameters(), passes=("forward", "backward", "jvp"))
    for name in ("forward", "backward", "jvp"):
        say(f"wrote {draw(record, passes=name).save(folder / f'{name}.svg')}")
    film = folder / "film.svg"
    film.write_text(draw(record, passes="all").film(), encoding="utf-8")
    say(f"wrote {film}")
    say(f"wrote {draw(record, passes='all').save(folder / 'step.html')}, to step through: open it in a browser")
    for name, figure in (
        ("gradients", gradient_magnitudes(history)),
        ("memory", saved_memory(record)),
        ("histograms", histograms(record)),
    ):
        figure.savefig(folder / f"{name}.png", dpi=150)
        say(f"wrote {folder / name}.png")
    say(f"wrote {TrainingFilm(history).save(folder / 'gradients.gif')}")


if __name__ == "__main__":
    main()
