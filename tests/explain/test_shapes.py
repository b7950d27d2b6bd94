"""Where dimensions come from: through every family of operations, with the numbers, and with the line."""

import json

import numpy as np
import pytest

import minigrad as torch
from minigrad.explain.shape_history import ShapeExplanation, recorded

F = torch.nn.functional


def told(program, *inputs) -> ShapeExplanation:
    """Return the history of a program's result, with the inputs named x, y, ..."""
    with torch.record(passes=("forward",)) as rec:
        result = program(*inputs)
    for name, t in zip("xyz", inputs):
        rec.values[rec.ref(t)].name = name
    return torch.explain_shape(result)


def ways(e):
    """For each dimension the values and dimensions at which its ways end, and what is said on them."""
    return [[(h.value, h.dimension) if not h.op else h.why for h in hops if not h.op or h.why] for hops in e.dimensions]


x, y = torch.ones(4, 3), torch.ones(3, 2)
PROGRAMS = [
    ("elementwise", lambda x: x.exp() * 2, (x,), [[("x", 0)], [("x", 1)]]),
    ("transpose", lambda x: x.T, (x,), [[("x", 1)], [("x", 0)]]),
    ("matmul", lambda x, y: x @ y, (x, y), [[("x", 0)], [("y", 1)]]),
    ("mv", lambda x, y: x @ y, (x, torch.ones(3)), [[("x", 0)]]),
    ("batched", lambda x, y: x @ y, (torch.ones(5, 1, 2, 3), torch.ones(4, 3, 2)),
     [[("x", 0)], [("y", 0)], [("x", 2)], [("y", 2)]]),
    ("broadcast", lambda x, y: x[:, None] - y, (torch.ones(4), torch.ones(3)),
     [["an operand broadcast 4 times", ("x", 0)], ["an operand broadcast 3 times", ("y", 0)]]),
    ("sum", lambda x: x.sum(0), (x,), [[("x", 1)]]),
    ("keepdim", lambda x: x.amax(1, keepdim=True), (x,), [[("x", 0)], ["keepdim=True"]]),
    ("max", lambda x: x.max(1).values, (x,), [[("x", 0)]]),
    ("argmax", lambda x: x.argmax(0), (x,), [[("x", 1)]]),
    ("softmax", lambda x: x.softmax(1), (x,), [[("x", 0)], [("x", 1)]]),
    ("flatten", lambda x: x.flatten(1), (torch.ones(2, 3, 4),),
     [[("x", 0)], ["3 · 4 = 12, merged by flatten", ("x", 1), ("x", 2)]]),
    ("reshape", lambda x: x.reshape(2, 4), (torch.ones(8),),
     [["a part of 8, split by reshape", ("x", 0)], ["a part of 8, split by reshape", ("x", 0)]]),
    ("slice", lambda x: x[1:3], (x,), [["2 of 4", ("x", 0)], [("x", 1)]]),
    ("steps", lambda x: x[::2], (x,), [["2 of 4 in steps of 2", ("x", 0)], [("x", 1)]]),
    ("select", lambda x: x[0], (x,), [[("x", 1)]]),
    ("unsqueeze", lambda x: x.unsqueeze(1), (x,), [[("x", 0)], ["new, added by unsqueeze"], [("x", 1)]]),
    ("squeeze", lambda x: x.squeeze(1), (torch.ones(4, 1, 3),), [[("x", 0)], [("x", 2)]]),
    ("expand", lambda x: x.expand(5, 4, 3), (x,), [["repeated 5 times by expand"], [("x", 0)], [("x", 1)]]),
    ("expand a 1", lambda x: x.expand(4, 3), (torch.ones(4, 1),), [[("x", 0)], ["repeated 3 times by expand", ("x", 1)]]),
    ("cat", lambda x, y: torch.cat([x, y]), (x, torch.ones(2, 3)),
     [["4 + 2 = 6", ("x", 0), ("y", 0)], [("x", 1)]]),
    ("stack", lambda x, y: torch.stack([x, y], 1), (x, x + 1), [[("x", 0)], ["new: stack of 2 tensors"], [("x", 1)]]),
    ("linear", lambda x, y, z: F.linear(x, y, z), (x, torch.ones(7, 3), torch.ones(7)),
     [[("x", 0)], ["the weight's rows", ("y", 0)]]),
    ("einsum", lambda x, y: torch.einsum("ij,jk->ki", x, y), (x, y), [[("y", 1)], [("x", 0)]]),
    ("conv", lambda x, y: F.conv2d(x, y, stride=2, padding=1), (torch.ones(2, 3, 9, 8), torch.ones(5, 3, 3, 3)),
     [[("x", 0)], ["one channel for each kernel", ("y", 0)], ["(9 + 2·1 - 3) // 2 + 1 = 5", ("x", 2)],
      ["(8 + 2·1 - 3) // 2 + 1 = 4", ("x", 3)]]),
    ("dilation", lambda x, y: F.conv1d(x, y, dilation=2), (torch.ones(2, 3, 9), torch.ones(5, 3, 3)),
     [[("x", 0)], ["one channel for each kernel", ("y", 0)], ["(9 - 2·(3 - 1) - 1) + 1 = 5", ("x", 2)]]),
    ("pool", lambda x: F.max_pool2d(x, 2), (torch.ones(1, 2, 8, 6),),
     [[("x", 0)], [("x", 1)], ["(8 - 2) // 2 + 1 = 4", ("x", 2)], ["(6 - 2) // 2 + 1 = 3", ("x", 3)]]),
    ("pad", lambda x: F.pad(x, (1, 2)), (x,), [[("x", 0)], ["3 + 1 + 2 = 6", ("x", 1)]]),
    ("embedding", lambda x, y: F.embedding(x, y), (torch.tensor([1, 0]), torch.ones(5, 7)),
     [[("x", 0)], ["the weight's columns", ("y", 1)]]),
    ("in place", lambda x: (x * 1).mul_(2), (x,), [[("x", 0)], [("x", 1)]]),
    ("by trial", lambda x: x.flip(0).cumsum(1), (x,), [[("x", 0)], [("x", 1)]]),
    ("not known", lambda x: x.nonzero(), (x,), [["12: set by nonzero"], ["2: set by nonzero"]]),
]  # fmt: skip


@pytest.mark.parametrize("name, program, inputs, expected", PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_each_family_explains_its_dimensions(name, program, inputs, expected):
    assert ways(told(program, *inputs)) == expected


def test_the_text_has_lines_operations_and_removed_dimensions():
    text = str(told(lambda x, y: (x @ y).relu().sum(1), x, y))
    assert "has shape (4,)\n  dimension 0 (4)\n    dimension 0 of x (4), through matmul at test_shapes.py:" in text
    assert "removed dimensions:" in text and "sum removes it" in text
    assert "dimension 1 of x (3): summed over with the rows of the other operand by matmul at test_shapes.py:" in text


def test_shapes_are_explained_from_a_graph_without_running_backward():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.flatten()

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("ran")

    w = torch.ones(2, 3, requires_grad=True)
    h = Wrong.apply(w).unsqueeze(0)
    text = str(torch.explain_shape(h))
    assert text.startswith("h has shape (1, 6)") and "6: set by Wrong" in text


def test_a_history_is_plain_data():
    data = json.loads(json.dumps(told(lambda x: x.T, x).to_dict()))
    assert data["shape"] == [3, 4] and data["dimensions"][0][-1]["value"] == "x"


def test_a_tensor_without_history_is_refused_with_a_fix():
    with pytest.raises(ValueError, match="explain_shape: the history of the tensor[^$]*with torch.record"):
        torch.explain_shape(torch.ones(2))
    with pytest.raises(TypeError, match="not explain_shape\\(y.shape\\)"):
        torch.explain_shape(x.shape)


MOVES = [
    lambda t: t.transpose(0, -1),
    lambda t: t.unsqueeze(0),
    lambda t: t.unsqueeze(-1),
    lambda t: t.squeeze(),
    lambda t: t.flip(0),
    lambda t: t.permute(*range(t.ndim)[::-1]),
]


@pytest.mark.parametrize("seed", range(30))
def test_random_chains_of_views_are_followed(seed):
    """The elements along each dimension differ in their position along the dimension of x that is named."""
    random = np.random.default_rng(seed)
    t = base = torch.arange(24.0).reshape(2, 3, 4)
    with torch.record(passes=("forward",)) as rec:
        t = base * 1
        for _ in range(4):
            t = MOVES[random.integers(len(MOVES))](t)
    rec.values[rec.ref(base)].name = "base"
    for d, hops in enumerate(torch.explain_shape(t).dimensions):
        if not hops[-1].op and hops[-1].value == "base":
            e = hops[-1].dimension
            along = np.moveaxis(t.numpy(), d, 0).reshape(t.shape[d], -1)[:, 0]
            places = [np.unravel_index(int(value), (2, 3, 4)) for value in along]
            assert len({p[:e] + p[e + 1 :] for p in places}) == 1 and t.shape[d] == (2, 3, 4)[e]
    assert recorded(t)[0] is rec
