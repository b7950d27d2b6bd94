"""The record shows the methods of custom Functions, and the values of each transform."""

import numpy as np
import pytest

import minigrad
import viz
from minigrad.autograd import Function
from tests.functions import custom

from .recorded import Square, forward, inputs, layer

Double = custom(
    "Double",
    forward=lambda x: x + x,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    backward=lambda ctx, g: g * 2 + ctx.saved_tensors[0] * 0,
)


def methods_of(op):
    return {ran["method"]: ran for ran in op["inside"]}


def names_of(ran):
    return [op["name"] for op in ran["ops"]]


@pytest.mark.parametrize(
    "cls, ran", [(Square, ["forward", "jvp", "backward"]), (Double, ["forward", "setup_context", "backward"])]
)
def test_operations_of_a_custom_functions_methods_are_inside_its_entry(cls, ran):
    (op, _) = forward(minigrad.record(lambda x: cls.apply(x) * 1, minigrad.tensor(3.0), inside=True).to_dict())
    assert [one["method"] for one in op["inside"]] == ran
    assert (
        names_of(methods_of(op)["backward"])
        == {"Square": ["mul", "mul"], "Double": ["mul", "mul", "add"]}[cls.__name__]
    )


def test_values_inside_a_method_are_named_by_its_parameters_and_joined_to_those_outside():
    document = minigrad.record(lambda x: Square.apply(x) * 1, minigrad.tensor(3.0), inside=True).to_dict()
    (op, _) = forward(document)
    backward = methods_of(op)["backward"]
    names = {value["name"]: value["id"] for value in backward["values"]}
    assert backward["same"][str(names["g"])] == op["edges"][0]["upstream"]
    assert op["inputs"][0] in backward["same"].values()  # ctx.saved_tensors
    assert backward["same"][str(backward["outputs"][0])] == op["edges"][0]["gives"]


def test_a_function_inside_a_function_is_opened_too():
    Outer = custom("Outer", forward=lambda ctx, x: Square.apply(x), backward=lambda ctx, g: g)
    (op,) = forward(minigrad.record(Outer.apply, minigrad.tensor(3.0), inside=True).to_dict())
    (inner,) = methods_of(op)["forward"]["ops"]
    assert inner["name"] == "Square"


def test_a_forward_that_runs_once_for_several_contexts_is_one_entry():
    def program(x):
        return minigrad.func.grad(lambda x: Double.apply(x))(x)

    (op, *_) = forward(minigrad.record(program, minigrad.tensor(3.0), inside=True).to_dict())
    ran = [one["method"] for one in op["inside"]]
    assert ran.count("forward") == 1 and "backward" in ran


def test_methods_are_recorded_only_on_request():
    (op,) = forward(minigrad.record(Square.apply, minigrad.tensor(3.0)).to_dict())
    assert op["inside"] == []


def test_without_a_recording_methods_run_as_they_are():
    x = minigrad.tensor(3.0, requires_grad=True)
    Square.apply(x).backward()
    assert x.grad.item() == 6.0


def test_each_transform_shows_the_shapes_that_it_saw():
    def loss(w, x):
        return (w @ x).tanh().sum()

    def program(w, xs):
        return minigrad.func.vmap(minigrad.func.grad(loss), (None, 0))(w, xs)

    document = minigrad.record(program, minigrad.ones(3, 4), minigrad.ones(5, 4)).to_dict()
    product, tanh, *_ = forward(document)
    assert product["views"] == [{"layer": "vmap", "inputs": [[3, 4], [4]]}, {"layer": "grad", "inputs": [[3, 4], [4]]}]
    assert [view["inputs"] for view in tanh["views"]] == [[[3]], [[3]]]
    assert document["values"][tanh["inputs"][0]]["shape"] == [5, 3]


def sine(x):
    return x.sin() * x


NESTED = {
    "grad in vmap": (lambda xs: minigrad.vmap(minigrad.func.grad(sine))(xs), ["vmap", "grad"]),
    "vmap in grad": (lambda xs: minigrad.func.grad(lambda ys: minigrad.vmap(sine)(ys).sum())(xs), ["grad", "vmap"]),
    "jvp in vmap": (lambda xs: minigrad.vmap(lambda x: minigrad.func.jvp(sine, (x,), (x,))[1])(xs), ["vmap", "jvp"]),
    "vmap in jvp": (lambda xs: minigrad.func.jvp(minigrad.vmap(sine), (xs,), (xs,))[1], ["jvp", "vmap"]),
    "vmap in grad in vmap": (
        lambda xs: minigrad.vmap(minigrad.func.grad(lambda ys: minigrad.vmap(sine)(ys).sum()))(minigrad.ones(2, 3)),
        ["vmap", "grad", "vmap"],
    ),
}


@pytest.mark.parametrize("nested", NESTED)
def test_transforms_are_listed_from_the_outermost_to_the_innermost(nested):
    program, layers = NESTED[nested]
    record = minigrad.record(program, minigrad.ones(3), passes=("forward",))
    sin, mul, *_ = forward(record.to_dict())
    assert sin["layer"] == mul["layer"] == layers
    assert [view["layer"] for view in sin["views"]] == layers
    assert " › ".join(layers) in viz.draw(record).text()


def test_an_operation_outside_of_all_transforms_has_no_views():
    assert forward(minigrad.record(layer, *inputs()).to_dict())[0]["views"] == []


Product = custom(
    "Product",
    forward=lambda ctx, x, y: ctx.save_for_backward(x, y) or (x * y, 2 * y),
    backward=lambda ctx, g, h: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0] + 2 * h),
    jvp=lambda ctx, x_t, y_t: (x_t + y_t, 2 * y_t),
)


def test_arguments_of_a_method_that_are_one_tensor_are_separate_values():
    def program(x):
        first, second = Product.apply(x, x)
        return (first + second).sum()  # so the gradient of both results is one tensor

    x = minigrad.tensor([3.0, 4.0], requires_grad=True)
    ran = methods_of(
        forward(minigrad.record(program, x, passes=("forward", "backward", "jvp"), inside=True).to_dict())[0]
    )
    for method in ran.values():
        reads = {i for op in method["ops"] for i in op["inputs"] if isinstance(i, int)}
        assert set(method["inputs"]) <= reads
        one, other = method["inputs"]
        assert one != other and method["same"][str(one)] == method["same"][str(other)]


def test_a_recorded_second_derivative_is_right_though_forward_sees_one_tensor_as_two():
    x = minigrad.tensor([3.0, 4.0], requires_grad=True)
    with minigrad.record(inside=True):
        first, second = Product.apply(x, x)
        (slope,) = minigrad.autograd.grad((first + second).sum(), x, create_graph=True)
        slope.sum().backward()
    assert slope.tolist() == [8.0, 10.0] and x.grad.tolist() == [2.0, 2.0]


# ---------------------------------------------------------------------- NumPy
def in_numpy(compute):
    """Return the operations of a forward that computes with NumPy: name, names of inputs, number of outputs, lines."""

    class Computed(Function):
        @staticmethod
        def forward(ctx, x, y):
            return compute(x, y)

        @staticmethod
        def backward(ctx, g):
            return g, g

    values = minigrad.tensor([3.0, 1.0]), minigrad.tensor([1.0, 2.0])
    document = minigrad.record(lambda x, y: Computed.apply(x, y) * 1, *values, passes=("forward",), inside=True)
    ran = methods_of(forward(document.to_dict())[0])["forward"]
    names = {value["id"]: value["name"] for value in ran["values"]}
    return [
        (op["name"], [names[i] for i in op["inputs"] if isinstance(i, int)], len(op["outputs"])) for op in ran["ops"]
    ]


def converted(x, y):
    return minigrad.from_numpy(np.asarray(x) + y.detach().numpy())


def in_between(x, y):
    array = x.numpy()
    twice = minigrad.tensor(array * 2)
    return minigrad.tensor(y.numpy() + 1) + twice * y


def in_turn(x, y):
    z = minigrad.tensor(np.sin(x.numpy()))
    return x.new_tensor(np.cos(z.numpy()))


def after_an_operation(x, y):
    array = x.numpy()
    z = minigrad.tensor(array) * y
    return z + minigrad.tensor(array + 1)


def functions_of_numpy(x, y):
    return np.sin(x) * y


def read_only(x, y):
    assert x.numpy().any() and x.numpy().shape
    return minigrad.from_numpy(x.numpy()) + y


@pytest.mark.parametrize(
    "compute, ops",
    [
        (converted, [("NumPy", ["x", "y"], 1)]),
        (in_between, [("NumPy", ["x", "y"], 2), ("mul", ["twice", "y"], 1), ("add", ["", ""], 1)]),
        (in_turn, [("NumPy", ["x"], 1), ("NumPy", [""], 1)]),
        (after_an_operation, [("NumPy", ["x"], 1), ("mul", ["", "y"], 1), ("NumPy", ["x"], 1), ("add", ["z", ""], 1)]),
        (functions_of_numpy, [("NumPy", ["x"], 1), ("mul", ["", "y"], 1)]),
        (read_only, [("add", ["x", "y"], 1)]),
    ],
)
def test_numpy_in_a_method_is_an_operation_between_what_it_reads_and_what_it_makes(compute, ops):
    assert in_numpy(compute) == ops


class Shifted(Function):
    @staticmethod
    def forward(ctx, x, b):
        output = x * 2
        output += b
        return output

    @staticmethod
    def backward(ctx, g):
        return 2 * g, g


def test_a_value_that_a_method_writes_over_is_not_its_result():
    ran = minigrad.record(Shifted.apply, minigrad.ones(2), minigrad.ones(2), inside=True).to_dict()["ops"][0]["inside"][
        0
    ]
    shown = {v["id"]: v["shown"] for v in ran["values"]}
    assert {shown[int(i)] for i in ran["same"]} == {"x", "b", "output₂"} and [shown[i] for i in ran["outputs"]] == [
        "output₂"
    ]
