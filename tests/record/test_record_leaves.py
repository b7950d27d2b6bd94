"""Records of what programs do with leaves and their memory: they are made, written, shared and read on the way."""

import linecache
import threading

import numpy as np
import pytest

import minigrad
from minigrad import func, nn, optim
from minigrad.autograd.function import NestedIOFunction
from tests.functions import custom
from tests.layers.functions import Cube

from .recorded import assert_sound, forward, gradients_by_name, number, tangent_of_output


def network():
    return nn.Linear(3, 2)(minigrad.ones(1, 3)).sum()


def embedding():
    return nn.Embedding(4, 2, padding_idx=1)(minigrad.tensor([0, 2])).sum()


def from_data():
    w = minigrad.zeros(2, requires_grad=True)
    w.data.fill_(3.0)
    return (w * w).sum()


def becomes_a_leaf():
    x = minigrad.arange(4.0).reshape(2, 2).requires_grad_()
    return (x * x).sum()


def parameter_of_a_result():
    w = nn.Parameter(minigrad.ones(2) * 0.5)
    return (w * w).sum()


def filled_by_out():
    x = minigrad.empty(2)
    minigrad.add(minigrad.ones(2), 1.0, out=x)
    return (x.requires_grad_() * 3.0).sum()


def on_the_same_memory():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = x.detach().requires_grad_()
    return (x * x * y).sum()


def written_between_uses():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    first = (x * 3.0).sum()
    with minigrad.no_grad():
        x.mul_(2.0)
    return first + (x * x).sum()


def written_in_the_memory_of_another():
    x = minigrad.ones(2, 2)[0].requires_grad_()
    first = (x * 3.0).sum()
    with minigrad.no_grad():
        x.mul_(2.0)
    return first + (x * x).sum()


def assigned_through_a_view():
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 2.0
    y[0].mul_(3.0)
    y[:, 1] += x[:, 0]
    return (y * y).sum()


def differentiated_twice():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    (g,) = minigrad.autograd.grad((x**3).sum(), x, create_graph=True)
    return (g * g).sum()


def batched():
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return func.vmap(lambda t: t.exp() * t)(x).sum()


PROGRAMS = [network, embedding, from_data, becomes_a_leaf, parameter_of_a_result, filled_by_out, on_the_same_memory,
            written_between_uses, written_in_the_memory_of_another, assigned_through_a_view, differentiated_twice,
            batched]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_leaves_made_in_the_program_have_all_passes(program):
    document = minigrad.record(program).to_dict()
    assert document["program"]["passes"] == ["forward", "backward", "jvp"]
    assert_sound(document)
    leaves = {str(v["id"]) for v in document["values"] if v["kind"] == "parameter"} & {*document["gradients"]}
    assert leaves
    if program is not differentiated_twice:  # whose leaf has the gradients of two runs
        total = sum(number(document, document["gradients"][leaf]).sum() for leaf in leaves)
        assert np.allclose(tangent_of_output(document), total)


def test_a_second_derivative_has_tangents():
    assert tangent_of_output(minigrad.record(differentiated_twice).to_dict()) == 36 * (1 + 8)


def test_an_unread_base_has_a_value_before_the_write_to_its_view():
    base = minigrad.ones(2, 2)
    view = base[0]

    def program():
        view.mul_(3.0)
        return (base * base).sum()

    document = minigrad.record(program).to_dict()
    written = document["ops"][0]
    assert [number(document, value).tolist() for value in written["inputs"] + written["outputs"]] == [
        [1.0, 1.0],
        [[1.0, 1.0], [1.0, 1.0]],
        [[3.0, 3.0], [1.0, 1.0]],
    ]


def test_the_base_of_a_leaf_is_written_with_it():
    base = minigrad.ones(2, 2)
    leaf = base[0].requires_grad_()

    def program():
        before = (base + leaf).sum()
        with minigrad.no_grad():
            leaf.mul_(3.0)
        return before + (base + leaf).sum()

    document = minigrad.record(program, passes=("forward", "backward")).to_dict()
    assert_sound(document)
    assert [number(document, op["inputs"][0]).tolist() for op in forward(document) if op["name"] == "sum"] == [
        [[2.0, 2.0], [2.0, 2.0]],
        [[6.0, 6.0], [4.0, 4.0]],
    ]
    read = [op["inputs"][0] for op in forward(document) if op["name"] == "add"][:2]
    assert [number(document, value).tolist() for value in read] == [[[1.0, 1.0], [1.0, 1.0]], [[3.0, 3.0], [1.0, 1.0]]]


def test_an_input_of_a_transform_has_the_shape_that_the_record_sees():
    document = minigrad.record(batched).to_dict()
    assert document["values"][0]["shape"] == [3]


def test_the_optimizer_reads_the_gradient_of_backward():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)

    def train():
        for again in (False, True):
            if again:
                optimizer.zero_grad(set_to_none=False)
            loss = (w * w).sum()
            loss.backward()
            optimizer.step()
        return loss

    document = minigrad.record(train).to_dict()
    assert_sound(document)
    read = [op["inputs"][1] for op in document["ops"] if op["phase"] == "update" and op["name"] == "add"]
    assert [document["values"][value]["kind"] for value in read] == ["gradient", "gradient"]
    assert np.allclose(number(document, read[1]), [1.6, 3.2])
    assert number(document, document["gradients"]["0"]).tolist() == [2.0, 4.0]


def test_untracked_operations_after_backward_are_an_update_only_if_they_lead_to_a_write():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        (w * w).sum().backward()
        with minigrad.no_grad():
            w.sub_(0.5 * w.grad)
            return (w.abs() < 0.5).float().mean()

    ops = minigrad.record(program).to_dict()["ops"]
    assert [(op["phase"], op["name"]) for op in ops if op["phase"] in ("forward", "update")][2:] == [
        ("update", "mul"), ("update", "sub"), ("forward", "abs"), ("forward", "lt"), ("forward", "to"), ("forward", "mean"),
    ]  # fmt: skip


def test_a_parameter_is_called_by_its_name_where_the_outputs_are_computed_with_it():
    w = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        for _ in range(2):
            loss = (w * w).sum()
            loss.backward()
            with minigrad.no_grad():
                w.sub_(w.grad)
        return loss

    document = minigrad.record(program).to_dict()
    labels = [v["label"] for v in document["values"] if v["kind"] == "parameter"]
    assert labels == ["w_1", "w", "w_3"]
    assert [op["call"] for op in forward(document) if op["name"] == "mul"] == ["w_1 * w_1", "w * w"]


def test_a_variables_name_is_not_given_to_an_operation_on_its_line():
    program = "w = minigrad.ones(2)\nb = minigrad.func.grad(lambda x: (x * x).sum())(w)\n"
    linecache.cache["net.py"] = len(program), None, program.splitlines(keepends=True), "net.py"
    names = {"minigrad": minigrad}
    with minigrad.record() as rec:
        exec(compile(program, "net.py", "exec"), names)
        rec.settle()
    rec.name_values({id(names["b"]): "b"})
    (value,) = [v for v in rec.to_dict()["values"] if v["label"] == "b"]
    assert value["kind"] == "gradient"


def test_inputs_without_a_requested_gradient_get_no_edge():
    x, w = (minigrad.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))

    def program():
        h = x * w
        (g,) = minigrad.autograd.grad(h.sum(), x, retain_graph=True)
        return (h * g).sum()

    document = minigrad.record(program).to_dict()
    assert_sound(document)
    assert gradients_by_name(document)["w"].tolist() == [1.0, 4.0]


Stop = custom("Stop", forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)


class Pair(NestedIOFunction):
    def forward_extended(self, pair):
        return [pair[0] * 2]

    def backward_extended(self, grads):
        return ((grads * 2, None),)


@pytest.mark.parametrize("stop", [Stop.apply, lambda x: Pair.apply((x, x.detach()))[0]], ids=["Function", "nested"])
def test_tangents_end_where_a_function_has_no_jvp(stop):
    def program(x):
        y = stop(x) + x
        z = x * 1
        z.add_(y)
        return z * x

    rec = minigrad.record(program, minigrad.tensor(3.0))
    document = rec.to_dict()
    assert "has no jvp" in rec.notes[0]
    made = {op["outputs"][0] for op in forward(document) if op["name"] != "mul" or op is forward(document)[-1]}
    told = {int(value) for op in document["ops"] for value in op["tangents"]}
    assert not made & told
    assert_sound(document)


def test_the_inputs_of_a_nested_function_are_its_tensors():
    x = minigrad.tensor(3.0, requires_grad=True)
    y = minigrad.tensor(1.0)
    of_function = minigrad.record(lambda x, y: Pair.apply((x, y))[0], x, y).to_dict()
    for document in (of_function, minigrad.record_of(Pair.apply((x, y))[0]).to_dict()):
        assert forward(document)[0]["inputs"] == [0, 1]
        assert_sound(document)


Scaled = custom("Scaled", forward=lambda ctx, x, factor: x * factor, backward=lambda ctx, g: (g, None))


def test_the_record_of_a_graph_leaves_out_arguments_that_are_no_tensors():
    y = Scaled.apply(minigrad.tensor(3.0, requires_grad=True), 1)
    (op,) = forward(minigrad.record_of(y).to_dict())
    assert (op["inputs"], op["call"]) == ([0, {"const": "…"}], "Scaled.apply(v0, …)")


def test_the_record_of_a_graph_leaves_out_operands_that_no_rule_reads():
    record = minigrad.record_of(minigrad.tensor([3.0], requires_grad=True) + minigrad.ones(2, 1))
    (op,) = forward(record.to_dict())
    assert (op["call"], [e["formula"] for e in op["edges"]]) == ("add(v0, …)", ["g.sum(0)"]) and not record.notes
    affine = nn.functional.linear(minigrad.ones(2, requires_grad=True), minigrad.ones(3, 2), minigrad.ones(3))
    assert forward(minigrad.record_of(affine).to_dict())[0]["call"] == "affine(v0, v1, …)"
    (op,) = forward(minigrad.record_of(1 - minigrad.tensor(3.0, requires_grad=True)).to_dict())
    assert op["call"] == "1 - v0"


def test_a_function_without_jvp_is_allowed_without_tangents():
    rec = minigrad.record(lambda x: x * Stop.apply(minigrad.ones(())), minigrad.tensor(3.0, requires_grad=True))
    assert not rec.notes and tangent_of_output(rec.to_dict()) == 2.0


def test_the_gradient_of_a_tensor_from_another_thread_is_recorded():
    x, made = minigrad.tensor([1.0, 2.0], requires_grad=True), []

    def program():
        other = threading.Thread(target=lambda: made.append(x * 3.0))
        other.start()
        other.join()
        return (made[0] * made[0]).sum()

    document = minigrad.record(program, passes=("forward", "backward")).to_dict()
    assert_sound(document)


def twice(x):
    """Return a second derivative in plain code; the gradients of x are added up in both backwards."""
    x = x.clone().requires_grad_()
    (g,) = minigrad.autograd.grad((x * x.sin()).sum(), x, create_graph=True)
    return minigrad.autograd.grad(g.sum(), x)[0]


def from_outside(x):
    """Return the second derivative of a leaf that has a gradient already."""
    x = x.detach().requires_grad_()
    for _ in range(2):
        (x * x.sin()).sum().backward(create_graph=True)
    return minigrad.autograd.grad(x.grad.sum(), x)[0]


DIFFERENTIATED_TWICE = {
    "hessian": func.hessian(lambda x: (x**3).sum()),
    "a sum of gradients": func.hessian(lambda x: (x * x.sin()).sum()),
    "a Function of two outputs": func.grad(lambda x: func.grad(lambda x: Cube.apply(x)[0].sum())(x).sum()),
    "twice in plain code": twice,
    "accumulated": from_outside,
}


@pytest.mark.parametrize("f", DIFFERENTIATED_TWICE.values(), ids=DIFFERENTIATED_TWICE)
def test_every_backward_entry_names_a_forward_operation(f):
    ops = minigrad.record(f, minigrad.tensor([1.0, 2.0]), passes=("forward", "backward")).to_dict()["ops"]
    for op in ops:
        assert (op["of"] is None) == (op["phase"] == "forward"), op["name"]
        assert all(e["formula"] and len(e["upstreams"]) == len(op["outputs"]) for e in op["edges"]), op["name"]
        assert all(any(up is not None for up in e["upstreams"]) for e in op["edges"]), op["name"]
        while op["of"] is not None:
            op = ops[op["of"]]
        assert op["phase"] == "forward"


def test_a_gradient_that_becomes_a_leaf_is_a_parameter_with_a_gradient():
    def program(x):
        (slope,) = minigrad.autograd.grad((x**3).sum(), x)
        return (slope.requires_grad_() * x).sum()

    document = minigrad.record(program, minigrad.tensor([1.0, 2.0])).to_dict()
    (slope,) = [value for value in document["values"] if value["name"] == "slope"]
    gradient = document["values"][document["gradients"][str(slope["id"])]]
    assert slope["kind"] == "parameter" and gradient["summary"]["values"] == [1.0, 2.0]


def test_a_parameter_made_from_random_numbers_keeps_its_name_in_a_custom_function():
    weights = []

    def drawn():
        weights.append(nn.Parameter(minigrad.randn(3)))
        return Cube.apply(weights[0])[0].sum()

    recording = minigrad.record(drawn)
    recording.name_values({id(weights[0]): "weight"})
    assert [v["label"] for v in recording.to_dict()["values"] if v["kind"] == "parameter"] == ["weight"]
