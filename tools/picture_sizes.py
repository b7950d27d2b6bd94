"""Measure the pictures of whole models, all passes side by side with default options, for the table in docs/drawing.md.

    python -m tools.picture_sizes           print the table
    python -m tools.picture_sizes --write   write it into docs/drawing.md

torchview draws the forward pass only.  Its sizes were measured once, with the version on PyPI in November 2026, for the same
programs in PyTorch.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import minigrad
import viz
from minigrad import Tensor, nn

PAGE = Path(__file__).parent.parent / "docs/drawing.md"
HEAD = "| model | operations | all passes | torchview, forward pass |\n| --- | --- | --- | --- |\n"
TABLE = re.compile(re.escape(HEAD) + r"(\|.*\n)*")


class Block(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, into: int, out: int, stride: int):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.shortcut = None
        if into != out:
            self.shortcut = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both paths."""
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))


def resnet18(width: int = 8) -> nn.Module:
    """Return ResNet18; its width is smaller than usual, which changes no picture's size."""
    blocks, into = [], width
    for out in (width, 2 * width, 4 * width, 8 * width):
        blocks.append(nn.Sequential(Block(into, out, 1 + (into != out)), Block(out, out, 1)))
        into = out
    stem = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(into, 10))


def mlp() -> nn.Module:
    """Return twelve linear layers with a ReLU after each but the last."""
    hidden = [layer for _ in range(11) for layer in (nn.Linear(16, 16), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(16, 4))


def conv_net() -> nn.Module:
    """Return a network of seven operations."""
    first, second = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 8, 3)
    return nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.Flatten(), nn.Linear(128, 10))


def transformer_layer() -> nn.Module:
    """Return one layer of a transformer's encoder."""
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], str]] = {
    "convolutional net": (conv_net, (2, 1, 14, 14), "261 x 768"),
    "transformer layer": (transformer_layer, (2, 5, 16), "349 x 1,152"),
    "MLP of 12 layers": (mlp, (8, 16), "110 x 1,527"),
    "ResNet18": (resnet18, (2, 3, 32, 32), "462 x 5,184"),
}


def measured(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the number of operations of a model, and the width and height of its picture in pixels."""
    minigrad.manual_seed(0)
    net = make()
    drawing = viz.draw(net, minigrad.randn(*shape), passes="all")
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', drawing.svg())
    assert found is not None
    return drawing.whole.operations, round(float(found[1])), round(float(found[2]))


def table() -> str:
    """Return the table of all models."""
    rows = []
    for name, (make, shape, torchview) in MODELS.items():
        operations, width, height = measured(make, shape)
        rows.append(f"| {name} | {operations} | {width:,} x {height:,} | {torchview} |\n")
    return HEAD + "".join(rows)


def main(arguments: list[str]) -> None:
    """Print the table, or write it into the page."""
    made = table()
    if arguments == ["--write"]:
        PAGE.write_text(TABLE.sub(lambda _: made, PAGE.read_text()))
    else:
        print(made, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
