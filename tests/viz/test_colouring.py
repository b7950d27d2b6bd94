"""Cards coloured by gradient and by memory."""

from __future__ import annotations

import re

import pytest

import minigrad
import viz


def chain(x):
    for _ in range(4):
        x = x * 0.01
    return x.sum()


def shades(svg: str) -> dict[str, str]:
    """Return the shade of each coloured card by its id."""
    parts = re.split(r'<g id="((?:op|value)-\d+)" class="node', svg)
    cards = {key: body.partition('<g class="sums"')[0] for key, body in zip(parts[1::2], parts[2::2])}
    found = {key: re.search(r'class="l-tint-(\d)"', card) for key, card in cards.items()}
    return {key: mark[1] for key, mark in found.items() if mark}


def test_vanishing_gradients_fade():
    x = minigrad.ones(3, requires_grad=True)
    svg = viz.draw(chain, x, passes="backward", color="grad").svg()
    found = shades(svg)
    assert found["value-0"] == "1" and found["op-3"] == "5"
    assert [found[f"op-{i}"] for i in range(4)] == sorted(found[f"op-{i}"] for i in range(4))
    assert "norm of the gradient: 1.7e-8 to 1.7" in svg


def test_memory_colours_only_operations_that_save():
    x = minigrad.ones(30, requires_grad=True)
    svg = viz.draw(lambda x: (x.tanh() * 2).sum(), x, color="memory").svg()
    assert shades(svg)["op-0"] == "5" and "op-1" not in shades(svg)
    assert "saved for backward: 120 B to 120 B" in svg


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_all_formats_draw_coloured_cards(theme):
    x = minigrad.ones(3, requires_grad=True)
    made = viz.draw(chain, x, passes="backward", color="grad", theme=theme)
    assert "l-tint-5" in made.tex() and made.png() and made.pdf()


def test_a_gradient_that_is_nan_has_the_darkest_shade():
    x = minigrad.tensor([float("nan")], requires_grad=True)
    svg = viz.draw(lambda x: (x * x).sum(), x, passes="backward", color="grad").svg()
    assert shades(svg)["value-0"] == "5"


def test_without_the_option_nothing_has_a_tint():
    x = minigrad.ones(3, requires_grad=True)
    assert "tint" not in viz.draw(chain, x, passes="backward").svg()
