"""The seeds of the passes: --tangent and --grad, the same arguments in Python, and the direction where ones give 0."""

import numpy as np
import pytest

import minigrad
import viz
from minigrad import tensor
from tests.viz.command import PROGRAM
from tests.viz.command import minigrad as command

TWO = (
    PROGRAM
    + """
import minigrad

layer = minigrad.nn.Linear(2, 2)
inputs = tensor([1.0, 2.0], requires_grad=True)
weighed = layer(inputs)
chances = inputs.softmax(0)
seen = minigrad.nn.functional.layer_norm(inputs, (2,))
scaled = inputs * tensor([2.0, 3.0])
"""
)


def product(x, w):
    y = x * w
    return y


def numbers(record, kind):
    """Return the tangents or gradients of a record by the names of their values."""
    values = {value["id"]: value for value in record["values"]}
    pairs = (
        record["gradients"].items() if kind == "grad" else [i for op in record["ops"] for i in op["tangents"].items()]
    )
    return {values[int(of)]["name"]: values[seed]["summary"]["values"] for of, seed in pairs}


def recorded(**seeds):
    return minigrad.record(product, tensor([1.0, 2.0]), tensor([3.0, 4.0]), **seeds).to_dict()


# ---------------------------------------------------------------------- in Python
def test_a_named_leaf_moves_and_the_others_do_not():
    assert numbers(recorded(tangent={"x": [1, 0]}), "tangent") == {"x": [1.0, 0.0], "y": [3.0, 0.0]}


@pytest.mark.parametrize("grad", [[0, 2], {"y": [0, 2]}, {"product": tensor([0.0, 2.0])}])
def test_backward_begins_with_the_given_gradient(grad):
    assert numbers(recorded(grad=grad), "grad") == {"x": [0.0, 8.0], "w": [0.0, 4.0], "y": [0.0, 2.0]}


def test_a_random_direction_is_the_same_in_each_run_and_draws_nothing_from_the_programs_generator():
    minigrad.manual_seed(3)
    expected = minigrad.rand(1).item()
    minigrad.manual_seed(3)
    one, other = (numbers(recorded(tangent={"x": "random"}), "tangent") for _ in range(2))
    assert one == other and one["x"][0] not in (0.0, 1.0) and minigrad.rand(1).item() == expected


def test_the_first_basis_vector_moves_one_element_of_one_leaf():
    assert numbers(recorded(tangent="first"), "tangent") == {"x": [1.0, 0.0], "y": [3.0, 0.0]}


@pytest.mark.parametrize(
    "seeds, message",
    [
        (
            {"tangent": {"z": [1, 0]}},
            r"tangent names 'z', which is not a leaf .*\n.*\n.*choose from x \(2,\), w \(2,\)",
        ),
        ({"tangent": {"x": [1, 0, 0]}}, r"the tangent of x has shape \(3,\), and x has shape \(2,\)"),
        ({"tangent": {"x": "sideways"}}, "the tangent of x is not a tensor of numbers"),
        ({"tangent": "sideways"}, "the tangent 'sideways' is no direction"),
        ({"grad": {"q": [1, 0]}}, r"grad names 'q', which is not a result here(.|\n)*choose from y \(2,\)"),
        ({"grad": 1.0}, r"the grad of y has shape \(\), and y has shape \(2,\)"),
    ],
)
def test_wrong_seeds_are_refused_with_what_is_there(seeds, message):
    with pytest.raises(ValueError, match=message):
        recorded(**seeds)


def test_the_gradient_of_a_program_that_runs_backward_itself_cannot_be_chosen():
    def train(x):
        loss = x * x
        loss.backward()
        return loss

    with pytest.raises(ValueError, match="runs backward itself"):
        minigrad.record(train, tensor(2.0, requires_grad=True), grad=3.0)


def test_the_graph_of_a_tensor_takes_a_gradient_and_no_tangent():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    text = viz.draw(y, passes=("forward", "backward"), grad={"y": [0, 1]}).text()
    assert "grad = [0, 1]" in text and "grad = [0, 4]" in text and x.grad is None
    with pytest.raises(ValueError, match="a tensor has no jvp pass"):
        viz.draw(y, tangent={"x": [1, 0]})


@pytest.mark.parametrize("f", [lambda x: x.softmax(0), lambda x: minigrad.nn.functional.layer_norm(x, (3,))])
def test_where_ones_give_no_tangent_the_picture_takes_the_first_basis_vector_and_tells(f):
    drawing = viz.draw(f, tensor([1.0, 2.0, 4.0]), passes="all")
    moved = numbers(drawing.record, "tangent")
    assert moved["x"] == [1.0, 0.0, 0.0] and max(map(abs, moved[next(name for name in moved if name != "x")])) > 0.01
    assert "the first basis vector of x" in drawing.text() and drawing.directions["jvp"] in drawing.shown()["text/html"]
    for written in (drawing.svg(), drawing.tex()):
        assert "Tangents of 1 at all leaves give 0 here." in written
    assert drawing.pictures()["jvp"].height > drawing.pictures()["forward"].height


VANISHING = {
    "softmax": lambda x: x.softmax(0),
    "layer norm": lambda x: minigrad.nn.functional.layer_norm(x, (3,)),
    "two results": lambda x: (x.softmax(0), x - x.mean()),
}


@pytest.mark.parametrize("f", VANISHING.values(), ids=VANISHING)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_where_ones_give_no_gradient_the_picture_takes_the_first_basis_vector_and_mentions_it(f, dtype):
    x = tensor([1.0, 2.0, 4.0], dtype=getattr(minigrad, dtype))
    drawing = viz.draw(f, x, passes=("forward", "backward"))
    values = {value["id"]: value["summary"]["values"] for value in drawing.record["values"]}
    gradients = {int(of): values[seed] for of, seed in drawing.record["gradients"].items()}
    first, *others = drawing.record["outputs"]
    assert gradients[first] == [1.0, 0.0, 0.0] and all(gradients[one] == [0.0, 0.0, 0.0] for one in others)
    assert max(map(abs, numbers(drawing.record, "grad")["x"])) > 0.01
    for written in (drawing.svg(), drawing.text(), drawing.tex()):
        assert f"Gradients of 1 at the result{'s' * bool(others)} give 0 here." in written
    assert drawing.pictures()["backward"].height > drawing.pictures()["forward"].height


ONES_STAY = {
    "a given gradient": (lambda x: x.softmax(0), {"grad": [1.0, 1.0, 1.0]}),
    "a scalar": (lambda x: x.softmax(0).sum(), {}),
    "zero in any direction": (lambda x: (x - 5).relu(), {}),
    "a gradient that is not 0": (lambda x: x * 1e-3, {}),
}


@pytest.mark.parametrize("f, given", ONES_STAY.values(), ids=ONES_STAY)
def test_gradients_of_ones_stay(f, given):
    drawing = viz.draw(f, tensor([1.0, 2.0, 4.0]), passes=("forward", "backward"), **given)
    values = {value["id"]: value["summary"]["values"] for value in drawing.record["values"]}
    (output,) = drawing.record["outputs"]
    assert np.all(np.array(values[drawing.record["gradients"][str(output)]]) == 1.0) and not drawing.directions


def test_the_gradient_with_which_a_program_begins_backward_stays_and_the_program_runs_once():
    x, runs = tensor([1.0, 2.0], requires_grad=True), []

    def train(x):
        y = x.softmax(0)
        y.backward(tensor([1.0, 1.0]))
        runs.append(y)
        return y

    assert not viz.draw(train, x, passes=("forward", "backward")).directions and len(runs) == 1


def test_the_gradient_of_a_tensor_is_named_and_its_graph_stays_usable():
    x = tensor([1.0, 2.0], requires_grad=True)
    chances = x.softmax(0)
    drawing = viz.draw(chances, passes=("forward", "backward"))
    assert "belong to the first basis vector of chances; choose others with --grad chances=random" in drawing.text()
    chances[0].backward()
    assert x.grad is not None


def test_a_given_direction_stays_even_if_it_gives_nothing():
    drawing = viz.draw(lambda x: x.softmax(0), tensor([1.0, 2.0]), passes="all", tangent={"x": [1, 1]})
    assert numbers(drawing.record, "tangent")["x"] == [1.0, 1.0] and "jvp" not in drawing.directions


# ---------------------------------------------------------------------- on the command line
@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.py").write_text(TWO)
    return tmp_path


def drawn(folder, *words):
    done = command(folder, "render", *words, "-f", "txt", "-o", "-")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def test_the_command_takes_directions_and_gradients_by_name(net):
    text, _ = drawn(net, "net.py:scaled", "--tangent", "inputs=[1,0]", "--grad", "scaled=[0,1]")
    assert "tangent = [2, 0]" in text and "grad = [0, 3]" in text
    text, _ = drawn(net, "net.py:weighed", "--tangent", "layer.bias=[1,0]")
    assert "tangent of bias = [1, 0]" in text and "tangent = [1, 0]" in text
    text, _ = drawn(net, "net.py:f", "--tangent", "a=2", "--args", "tensor(0.), tensor(3.)")
    assert "tangent = 6" in text


def test_the_command_mentions_the_direction_that_it_takes_instead(net):
    text, said = drawn(net, "net.py:chances")
    assert "the first basis vector of inputs" in text and "the first basis vector of inputs" in said
    for written in (text, said):
        assert "Gradients of 1 at the result give 0 here" in written and "--grad chances=random" in written
    assert "first basis vector" not in drawn(net, "net.py:scaled")[1]


@pytest.mark.parametrize(
    "words, message",
    [
        ("--tangent q=[1,0]", "tangent names 'q', which is not a leaf that requires grad here. Choose from "),
        ("--tangent inputs=[1]", "the tangent of inputs has shape (1,), and inputs has shape (2,). Pass [1.0, 0.0]."),
        ("--grad [1]", "the grad of scaled has shape (1,), and scaled has shape (2,). Pass [1.0, 0.0]."),
        ("--grad other=[1,0]", "grad names 'other', which is not a result here. Choose from scaled (2,)."),
        ("--tangent inputs=[1,", "--tangent inputs=[1, is not a value."),
        ("--tangent [1,0]", "does not name a leaf. Write --tangent NAME=[1, 0]."),
    ],
)
def test_wrong_seeds_end_the_command(net, words, message):
    done = command(net, "render", "net.py:scaled", *words.split())
    assert done.returncode == 2 and message in done.stderr.decode(), done.stderr.decode()


def test_programs_for_pytorch_take_the_same(net):
    pytest.importorskip("torch")
    (net / "net.py").write_text(
        TWO.replace("from minigrad import tensor", "from torch import tensor").replace("minigrad", "torch")
    )
    text, _ = drawn(net, "net.py:weighed", "--tangent", "layer.bias=[1,0]", "--grad", "[0,1]")
    assert "tangent of bias = [1, 0]" in text and "tangent = [1, 0]" in text and "grad = [0, 1]" in text
    said = drawn(net, "net.py:chances")[1]
    assert "the first basis vector of inputs" in said and "the first basis vector of chances" in said
    done = command(net, "render", "net.py:scaled", "--tangent", "q=[1,0]")
    assert done.returncode == 2 and "choose from" in done.stderr.decode().lower()
