"""Pictures in which several passes hang together: derivatives of derivatives, and training steps."""

import numpy as np
import pytest

import minigrad
import viz
from minigrad import func, tensor
from minigrad.autograd import Function
from minigrad.record.labels import written
from viz.graph import stories
from viz.graph.drawn_graph import Graph
from viz.viewer.content import content


def cubes(x):
    return (x**3).sum()


def record_of(program):
    """Return the record of a program that returns its result."""
    with minigrad.record() as rec:
        result = program()
        rec.settle()
        rec.outputs = [rec.ref(result)]
    return rec.to_dict()


def twice():
    x = tensor([1.0, 2.0], requires_grad=True)
    (first,) = minigrad.autograd.grad(cubes(x), x, create_graph=True)
    return minigrad.autograd.grad((first * first).sum(), x)[0]


def summed():
    x = tensor([1.0, 2.0], requires_grad=True)
    (first,) = minigrad.autograd.grad((x**2 * x.exp()).sum(), x, create_graph=True)
    return minigrad.autograd.grad(first.sum(), x)[0]


class Sinh(Function):
    """Saves intermediate results as further outputs, so that backward can be differentiated."""

    @staticmethod
    def forward(ctx, x):
        grows, falls = x.exp(), (-x).exp()
        ctx.save_for_backward(grows, falls)
        return (grows - falls) / 2, grows, falls

    @staticmethod
    def backward(ctx, into_sinh, into_grows, into_falls):
        grows, falls = ctx.saved_tensors
        return into_sinh * (grows + falls) / 2 + into_grows * grows - into_falls * falls


def twice_through_a_function():
    x = tensor([0.5, 1.0], requires_grad=True)
    (first,) = minigrad.autograd.grad(Sinh.apply(x)[0].sum(), x, create_graph=True)
    return minigrad.autograd.grad(first.sum(), x)[0]


def twice_from_a_function():
    x = tensor(0.5, requires_grad=True)
    (first,) = minigrad.autograd.grad(Sinh.apply(x)[0], x, create_graph=True)
    return minigrad.autograd.grad(first, x)[0]


def newton():
    x = tensor(2.0)
    f = lambda x: x**3 - 5
    return x - f(x) / func.grad(f)(x)


X = tensor([1.0, 2.0])
PROGRAMS = {
    "grad of grad": (lambda: func.grad(lambda x: func.grad(lambda x: (x**3).sin())(x))(tensor(2.0)), 3),
    "hessian": (lambda: func.hessian(cubes)(X), 3),
    "jacfwd of jacrev": (lambda: func.jacfwd(func.jacrev(lambda x: x[0] ** 2 * x[1]))(X), 4),
    "jvp of grad": (lambda: func.jvp(func.grad(cubes), (X,), (tensor([1.0, 0.0]),))[1], 3),
    "create_graph": (twice, 3),
    "sums of gradients": (summed, 3),
    "a step of Newton's method": (newton, 2),
    "a Function with several results": (twice_through_a_function, 3),
    "from a Function with several results": (twice_from_a_function, 3),
}
UNBATCHED = [name for name in PROGRAMS if name not in ("hessian", "jacfwd of jacrev")]


def story_of(name):
    return stories.story(record_of(PROGRAMS[name][0]))


def reached(graph):
    """Return the keys of the nodes that edges connect with the first node, in either direction."""
    found, ends = {graph.nodes[0].key}, [(edge.source.key, edge.target.key) for edge in graph.edges]
    while more := {b for pair in ends for a, b in (pair, pair[::-1]) if a in found} - found:
        found |= more
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_passes_are_one_connected_graph_that_ends_at_the_result(name):
    record = record_of(PROGRAMS[name][0])
    drawing = viz.draw(record, passes=("forward", "backward"))
    assert drawing.story is drawing.graph and drawing.drawn == ("forward",)
    (result,) = [node for node in drawing.graph.nodes if drawing.graph.outputs & set(node.outputs)]
    assert result.is_op and result.key in reached(drawing.graph)
    leads, ends = {result.key}, [(edge.source.key, edge.target.key) for edge in drawing.graph.edges]
    while more := {a for a, b in ends if b in leads} - leads:
        leads |= more
    (x,) = [node.key for node in drawing.graph.nodes if drawing.graph.kind(node.outputs[0]) in ("input", "parameter")][
        :1
    ]
    assert x in leads


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_pass_has_a_frame_around_its_operations(name):
    drawing = viz.draw(record_of(PROGRAMS[name][0]), passes=("forward", "backward"))
    frames = dict(zip([band[0] for band in drawing.layout.lanes], drawing.layout.lanes))
    assert len(frames) == PROGRAMS[name][1]
    for node in drawing.graph.nodes:
        if (band := drawing.graph.band(node)) is not None:
            _, (left, top), (wide, tall) = frames[band["title"]]
            x, y = drawing.layout.corners[node.key]
            card = drawing.cards[node.key]
            assert left <= x and x + card.width <= left + wide and top <= y and y + card.along <= top + tall


@pytest.mark.parametrize("name", UNBATCHED)
def test_every_formula_gives_the_value_on_its_card(name):
    story = story_of(name)
    names = {v["label"]: tensor(v["summary"]["values"]) for v in story["values"]}
    names |= {key: getattr(minigrad, key) for key in ("cos", "sin", "exp", "ones_like", "float32", "zeros_like")}
    names["Sinh"] = Sinh
    values, checked = {v["id"]: v for v in story["values"]}, 0
    for op in [op for op in story["ops"] if op["call"]]:
        found = eval(op["call"], dict(names))
        for result, value in zip(found if isinstance(found, tuple) else (found,), op["outputs"]):
            np.testing.assert_allclose(
                result.numpy(), values[value]["summary"]["values"], rtol=1e-5, err_msg=op["call"]
            )
            checked += 1
    assert checked >= 5


def test_the_gradient_of_an_index_is_written_with_the_index_in_pictures_and_pages():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    with minigrad.record() as rec:
        (g,) = minigrad.autograd.grad((x[:2] ** 3).sum(), x, create_graph=True)
        (g**2).sum().backward()
    record = rec.to_dict()
    story = viz.draw(record).text()
    assert story.count("getitem backward  zeros[:2] = ") == 2 and "pad(" not in story
    rules = [op.get("formula", "") for op in content(Graph(record))["ops"]]
    assert any(rule.startswith("zeros[:2] = ") for rule in rules) and not any("pad(" in rule for rule in rules)


def test_batched_tangents_say_how_many_they_are():
    texts = viz.draw(record_of(PROGRAMS["hessian"][0]), passes="all").text()
    assert "vmap: 2 at once" in texts and "vmap: 1 at once" not in texts


def test_titles_name_the_value_that_a_pass_begins_from():
    titles = [band["title"] for band in story_of("create_graph")["bands"]]
    assert titles[0] == "Forward pass" and titles[1].startswith("Backward pass 1: gradient of ")


NAMES = {  # the names of gradients, in the order of the picture
    "grad of grad": "v2.grad v1.grad v0.grad v0.grad.grad₂ v1.grad.grad₂ v0.grad₂′ v1.grad₂ v0.grad₂",
    "jvp of grad": "v1.grad v0.grad x.grad x.grad_t",
    "create_graph": "v1.grad v0.grad v5.grad₂ v4.grad₂ first.grad₂″ first.grad₂′ first.grad₂ x.grad₂",
}


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_called_after_their_values_and_numbered_by_pass(name):
    story = story_of(name)
    values = {value["id"]: value for value in story["values"]}
    passes = [op for op in story["ops"] if op["band"] is not None and story["bands"][op["band"]]["hue"]]
    made = [written(values[one]["shown"]) for op in passes for one in op["outputs"]]
    assert [one for one in made if "grad" in one] == NAMES[name].split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_two_gradients_of_a_picture_have_the_same_name(name):
    story = story_of(name)
    values = {value["id"]: value for value in story["values"]}
    made = [written(values[one]["shown"]) for op in story["ops"] for one in op["outputs"]]
    assert len(made) == len(set(made))


DERIVED = {
    "hessian": lambda x: func.hessian(cubes)(x),
    "grad of grad": lambda x: func.jacrev(func.grad(cubes))(x),
    "vjp under jvp": lambda x: func.jvp(lambda x: func.vjp(cubes, x)[1](tensor(1.0))[0], (x,), (tensor([1.0, 0.0]),))[
        1
    ],
}


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_function_is_drawn_from_x_to_its_result_without_further_derivatives(name, requires_grad):
    drawing = viz.draw(DERIVED[name], tensor([1.0, 2.0], requires_grad=requires_grad))
    assert drawing.story is not None and drawing.passes == tuple(drawing.record["program"]["passes"])
    (result,) = [node for node in drawing.graph.nodes if drawing.graph.outputs & set(node.outputs)]
    assert not [edge for edge in drawing.graph.edges if edge.source is result]
    jvps = [band["title"] for band in drawing.graph.bands if band["title"].startswith("JVP of the backward pass")]
    assert len(jvps) == (name != "grad of grad")


def test_a_function_that_needs_arguments_with_gradients_gets_them():
    def both(x):
        (first,) = minigrad.autograd.grad(cubes(x), x, create_graph=True)
        return func.grad(lambda s: (s * first).sum())(x)

    assert viz.draw(both, tensor([1.0, 2.0], requires_grad=True), passes="all").passes


def test_a_slide_shows_the_connected_picture_and_folds_whole_passes_of_a_large_one():
    small = viz.draw(lambda x: func.grad(func.grad(lambda x: x**3))(x), tensor(2.0), size="slide")
    assert list(small.pictures()) == ["forward"] and len(small.story.ops) == small.graph.operations
    large = viz.draw(record_of(PROGRAMS["jacfwd of jacrev"][0]), passes="all", size="slide")
    boxes = [node.record["name"] for node in large.graph.nodes if node.kind == "fold"]
    assert list(large.pictures()) == ["forward"] and "JVP of the forward pass" in boxes
    assert not viz.layout.positions.areas_of(large.graph)


def test_a_single_pass_and_first_derivatives_are_drawn_as_before():
    record = record_of(PROGRAMS["hessian"][0])
    assert viz.draw(record, passes="backward").story is None
    first = viz.draw(lambda x: (x * x).sum(), X, passes="all")
    assert first.story is None and list(first.pictures()) == ["forward", "backward", "jvp"]


def test_a_norm_of_gradients_that_leads_to_no_result_leaves_the_passes_apart():
    def monitored():
        x = tensor([1.0, 2.0], requires_grad=True)
        loss = cubes(x)
        loss.backward()
        norms = x.grad.norm()
        return (loss, norms)[0]

    assert not stories.is_nested(record_of(monitored))
    assert stories.is_nested(record_of(newton))


def test_a_story_larger_than_max_nodes_is_drawn_pass_by_pass():
    drawing = viz.draw(record_of(PROGRAMS["hessian"][0]), passes="all", max_nodes=5)
    assert drawing.story is None and list(drawing.pictures()) == ["forward", "backward", "jvp"]


# ---------------------------------------------------------------------- training steps
def by_hand(p):
    with minigrad.no_grad():
        p -= 0.1 * p.grad


def stepping(make, **settings):
    return lambda p: make([p], **settings).step()


UPDATES = {
    "by hand": (by_hand, ["p -= 0.1 * p_grad"]),
    "SGD": (stepping(minigrad.optim.SGD, lr=0.1, weight_decay=0.5), ["p -= 0.1 * (p_grad + 0.5 * p)"]),
    "Adam": (
        stepping(minigrad.optim.Adam, lr=0.1),
        [
            " = 0.9 * ",
            " = 0.999 * ",
            "m_hat = v3 / (1 - 0.9 ** 1)",
            "v_hat = v5 / (1 - 0.999 ** 1)",
            "p -= 0.1 * m_hat / (sqrt(v_hat) + 1e-08)",
        ],
    ),
    "AdamW": (
        stepping(minigrad.optim.AdamW, lr=0.01, betas=(0.8, 0.99), weight_decay=0.5),
        [
            "p = 0.995 * p",
            " = 0.8 * ",
            " = 0.99 * ",
            "m_hat = ",
            "v_hat = ",
            "p -= 0.01 * m_hat / (sqrt(v_hat) + 1e-08)",
        ],
    ),
    "AMSGrad": (stepping(minigrad.optim.Adam, lr=0.1, amsgrad=True), [" = 0.9 * ", " = 0.999 * ", "maximum(", "p -= "]),
    "Adagrad": (stepping(minigrad.optim.Adagrad, lr=0.1), [" += p_grad ** 2", "p -= "]),
    "RMSprop": (stepping(minigrad.optim.RMSprop, lr=0.1), [" = 0.99", "p -= "]),
}


def trained(step, count=1):
    """Return the record of a loss and the step after it, for `count` parameters p, p1, ..."""
    parameters = [tensor([0.5, -0.5 - i], requires_grad=True) for i in range(count)]
    with minigrad.record() as rec:
        rec.name_arguments(["p", *[f"p{i}" for i in range(1, count)]], parameters)
        loss = sum((p * X).sum() for p in parameters) ** 2
        loss.backward()
        for p in parameters:
            step(p)
        rec.outputs = [rec.ref(loss)]
    return rec.to_dict()


def drawn_step(step, count=1):
    return viz.draw(trained(step, count), passes=("forward", "backward"), show=("all", "update"), max_nodes=80)


@pytest.mark.parametrize("name", UPDATES)
def test_a_step_is_written_as_arithmetic_that_gives_the_new_contents(name):
    step, expected = UPDATES[name]
    drawing = drawn_step(step)
    (op,) = [op for op in drawing.graph.ops if op.get("lines")]
    assert len(op["lines"]) == len(expected) and all(part in line for part, line in zip(expected, op["lines"]))
    values = drawing.graph.values
    before = {values[i]["label"]: i for i in (*op["inputs"], *[values[o]["before"] for o in op["outputs"]])}
    names = {label: tensor(values[i]["summary"]["values"]) for label, i in before.items()} | {
        "sqrt": minigrad.sqrt,
        "maximum": minigrad.maximum,
    }
    exec("\n".join(op["lines"]), names)
    assert op["outputs"]
    for value in op["outputs"]:
        target = values[values[value]["before"]]["label"]
        assert target in before
        np.testing.assert_allclose(names[target].numpy(), values[value]["summary"]["values"], rtol=1e-5)


def test_the_corrections_of_adam_name_the_step():
    parameter = tensor([0.5, -0.5], requires_grad=True)
    adam = minigrad.optim.Adam([parameter], lr=0.003)
    parameter.grad = tensor([1.0, 2.0])
    for _ in range(6):
        adam.step()
    adam.zero_grad()
    with minigrad.record() as rec:
        rec.name_arguments(["p"], [parameter])
        loss = (parameter * X).sum() ** 2
        loss.backward()
        adam.step()
        rec.outputs = [rec.ref(loss)]
    drawing = viz.draw(rec, passes=("forward", "backward"), show=("all", "update"))
    (op,) = [op for op in drawing.graph.ops if op.get("lines")]
    assert op["lines"][2].endswith("/ (1 - 0.9 ** 7)") and op["lines"][3].endswith("/ (1 - 0.999 ** 7)")
    assert op["lines"][4] == "p -= 0.003 * m_hat / (sqrt(v_hat) + 1e-08)"


def test_a_gradient_leads_from_the_backward_pass_into_the_step():
    graph = drawn_step(by_hand).graph
    (update,) = [node for node in graph.nodes if node.is_op and node.record.get("lines")]
    sources = {graph.names[edge.value]: edge.source for edge in update.inputs}
    assert list(sources) == ["grad of p", "p"]
    assert graph.band(sources["grad of p"])["title"].startswith("Backward pass: gradient of ")
    assert graph.band(update)["title"].startswith("Update")
    lines = [line for line in drawn_step(by_hand).text().splitlines() if "before: [0.5, -0.5]" in line]
    assert len(lines) == 1 and lines[0].lstrip("│ ").startswith("p = ")


def test_parameters_that_are_updated_alike_share_a_card():
    few = [op["name"] for op in drawn_step(by_hand, 3).graph.ops if op.get("lines")]
    assert few == ["update of p", "update of p1", "update of p2"]
    (many,) = [op for op in drawn_step(by_hand, 6).graph.ops if op.get("lines")]
    assert many["name"] == "update of p × 6" and many["note"] == "the same for p1, p2, p3, p4, p5"
    assert len(many["outputs"]) == 6 and len(many["inputs"]) == 12


def test_a_step_that_is_not_arithmetic_is_drawn_pass_by_pass():
    record = trained(by_hand)
    for op in [op for op in record["ops"] if op["phase"] == "update"]:
        op["call"] = ""  # as for a custom Function without a formula
    drawing = viz.draw(record, passes=("forward", "backward"), show=("all", "update"))
    assert drawing.story is None and list(drawing.pictures()) == ["forward", "backward"]


@pytest.mark.parametrize("index", [slice(1, None), minigrad.tensor([0])], ids=["a slice", "indices"])
def test_a_step_that_writes_a_part_is_drawn_pass_by_pass(index):
    w = tensor([1.0, 2.0], requires_grad=True)
    with minigrad.record() as rec:
        loss = cubes(w)
        loss.backward()
        with minigrad.no_grad():
            w[index] = w[index] - 0.1 * w.grad[index]
    drawing = viz.draw(rec, passes=("forward", "backward"), show=("all", "update"))
    assert drawing.story is None and list(drawing.pictures()) == ["forward", "backward"]
