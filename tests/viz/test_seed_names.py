"""The names that tangent= and grad= take: the program's and the picture's; and directions that no argument names."""

import pytest

import minigrad
import viz
from minigrad import tensor

from .command import minigrad as command

SEQUENTIAL = """
import minigrad
net = minigrad.nn.Sequential(minigrad.nn.Linear(2, 1))
loss = net(minigrad.ones(2))
"""


class Chances(minigrad.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = minigrad.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x).softmax(-1)


class Plain:
    def __init__(self):
        self.w = tensor([1.0, 2.0], requires_grad=True)

    def __call__(self, x):
        return x * self.w


def weighed(batch):
    return batch["left"] * batch["right"][0]


def both(x):
    y = x * 2
    return y, y.exp()


def moving(drawing):
    """Return the shown name of each leaf of a picture that moves, with its tangent."""
    values = {value["id"]: value for value in drawing.record["values"]}
    pairs = [pair for op in drawing.record["ops"] for pair in op["tangents"].items()]
    leaves = {int(of): tangent for of, tangent in pairs if values[int(of)]["kind"] in ("parameter", "input")}
    return {values[of]["shown"]: values[tangent]["summary"]["values"] for of, tangent in leaves.items()}


def test_a_module_where_ones_give_no_tangent_moves_by_its_first_parameter():
    drawing = viz.draw(Chances(), minigrad.ones(1, 2), passes="all")
    assert moving(drawing) == {"fc.weight": [[1.0, 0.0], [0.0, 0.0]]}
    assert "the first basis vector of fc.weight" in drawing.text()


def test_a_leaf_without_a_name_moves_where_ones_give_no_tangent():
    drawing = viz.draw(lambda: Plain()(minigrad.ones(2)).sum() + tensor([1.0, 3.0], requires_grad=True).softmax(0))
    assert not drawing.directions
    apart = viz.draw(lambda: tensor([1.0, 3.0], requires_grad=True).softmax(0), passes="all")
    assert moving(apart) == {"v0": [1.0, 0.0]}


def test_a_function_that_runs_only_once_is_drawn_with_ones():
    calls = []

    def once(x):
        assert not calls, "a second call"
        calls.append(x)
        return x.softmax(0)

    drawing = viz.draw(once, tensor([1.0, 2.0]), passes="all")
    assert moving(drawing) == {"x": [1.0, 1.0]} and not drawing.directions


model, plain = Chances(), Plain()
stack = minigrad.nn.Sequential(minigrad.nn.Linear(2, 2), minigrad.nn.Tanh())
given = {"left": tensor([1.0, 2.0], requires_grad=True), "right": [tensor([3.0, 4.0], requires_grad=True)]}
TOP = [[0.0, 1.0], [0.0, 0.0]]
NAMED = {
    "model.fc.weight": (model, minigrad.ones(1, 2), TOP),
    "fc.weight": (model, minigrad.ones(1, 2), TOP),
    "stack[0].weight": (stack, minigrad.ones(1, 2), TOP),
    "stack.0.weight": (stack, minigrad.ones(1, 2), TOP),
    "plain.w": (plain, minigrad.ones(2), [0.0, 1.0]),
    "self.w": (plain, minigrad.ones(2), [0.0, 1.0]),
    'batch["left"]': (weighed, given, [0.0, 1.0]),
    "given['left']": (weighed, given, [0.0, 1.0]),
    'batch["right"][0]': (weighed, given, [0.0, 1.0]),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_leaf_is_named_as_in_the_program_or_in_the_picture(name):
    function, x, direction = NAMED[name]
    assert list(moving(viz.draw(function, x, passes="all", tangent={name: direction})).values()) == [direction]


@pytest.mark.parametrize("name, expected", [("y", [3.0, 4.0]), ("v0", [4.0, 4.0])])
def test_a_result_is_named_as_in_the_program_or_in_the_picture(name, expected):
    drawing = viz.draw(both, minigrad.zeros(2), passes="all", grad={name: [0.5, 1.0] if name == "y" else [1.0, 1.0]})
    (gradient,) = (drawing.record["gradients"][str(drawing.record["ops"][0]["inputs"][0])],)
    assert drawing.record["values"][gradient]["summary"]["values"] == expected


def test_unknown_names_are_answered_with_those_of_the_picture():
    with pytest.raises(ValueError, match=r"choose from fc.weight \(2, 2\), fc.bias \(2,\)"):
        viz.draw(model, minigrad.ones(1, 2), passes="all", tangent={"weight": TOP})


def test_a_command_takes_the_names_of_the_picture(net):
    (net / "net.py").write_text(SEQUENTIAL)
    for name in ("net[0].weight", "net.0.weight"):
        done = command(net, "render", "net.py:loss", "--tangent", f"{name}=[[0, 1]]", "-f", "txt", "-o", "-")
        assert "tangent of weight = [[0, 1]]" in done.stdout.decode(), done.stderr
