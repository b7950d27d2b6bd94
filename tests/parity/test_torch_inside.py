"""The record shows the inside of PyTorch's custom Functions as it shows the inside of minigrad's."""

import numpy as np
import pytest
import torch

import minigrad
import viz
from minigrad.record.validate import validate
from tests.functions import custom


def functions(lib):
    """Return the same Functions for either library, in both forms."""

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx, i):
            result = i.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * result

    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(x):
            result = x**3
            dx = x**2 * 3
            return result, dx

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs, output[1])

        @staticmethod
        def backward(ctx, grad_output, grad_dx):
            x, dx = ctx.saved_tensors
            return grad_output * dx + grad_dx * 6 * x

    class Sine(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            slope = x.cos()
            ctx.save_for_backward(slope)
            ctx.save_for_forward(slope)
            return x.sin()

        @staticmethod
        def backward(ctx, grad_output):
            (slope,) = ctx.saved_tensors
            return grad_output * slope, None

        @staticmethod
        def jvp(ctx, x_t, _):
            (slope,) = ctx.saved_tensors
            return x_t * slope

    class Sort(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            array = x.detach().numpy()
            order = np.argsort(array)
            back = lib.from_numpy(np.argsort(order))
            ctx.save_for_backward(back)
            ctx.mark_non_differentiable(back)
            return lib.tensor(array[order]), back

        @staticmethod
        def backward(ctx, grad_output, _):
            (back,) = ctx.saved_tensors
            return lib.from_numpy(np.asarray(grad_output)[back.numpy()])

    class Written(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(3)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 3

    Twice = custom(
        "Twice",
        lib,
        forward=lambda ctx, x: Exp.apply(x) * 2,
        backward=lambda ctx, grad_output: Exp.apply(grad_output),
    )
    return Exp, Cube, Twice, Sine, Sort, Written


def program(lib):
    exp, cube, twice, sine, sort, written = functions(lib)
    return {
        "combined": lambda x: exp.apply(x).sum(),
        "separate": lambda x: cube.apply(x)[0].sum(),
        "two": lambda x: (exp.apply(x) * cube.apply(x)[0]).sum(),
        "one in another": lambda x: twice.apply(x).sum(),
        "jvp": lambda x: sine.apply(x, 2).sum(),
        "NumPy": lambda x: sort.apply(x)[0].sum(),
        "written": lambda x: written.apply(x * 1).sum(),
        "twice derived": lambda x: lib.autograd.grad(cube.apply(x)[0].sum(), x, create_graph=True)[0].sum(),
        "a transform": lambda x: lib.func.grad(lambda x: cube.apply(x)[0].sum())(x),
    }


def told(record):
    """Return the work of each Function's methods: names of values that have one, and the operations."""
    validate(record)
    found = {}
    for op in record["ops"]:
        for ran in op["inside"]:
            names = {v["name"] for v in ran["values"] if v["name"]}
            ops = [inner for inner in ran["ops"] if inner["phase"] == "forward"]
            did = [(inner["name"], len(inner["inputs"]), inner["call"] != "") for inner in ops]
            found.setdefault((op["name"], ran["method"]), (sorted(names), did, len(ran["outputs"])))
    return found


@pytest.mark.parametrize("name", program(torch))
def test_methods_did_what_minigrads_do(name):
    ours = minigrad.record(
        program(minigrad)[name], minigrad.tensor([1.0, 2.0], requires_grad=True), inside=True
    ).to_dict()
    theirs = viz.from_torch(program(torch)[name], torch.tensor([1.0, 2.0], requires_grad=True)).to_dict()
    assert told(theirs) == told(ours) and told(ours)


def test_values_inside_are_those_outside():
    record = viz.from_torch(program(torch)["separate"], torch.tensor([1.0, 2.0], requires_grad=True)).to_dict()
    outside = {v["id"]: v["summary"] for v in record["values"]}
    methods = {ran["method"]: ran for op in record["ops"] for ran in op["inside"]}
    for ran in methods.values():
        for value in ran["values"]:
            if str(value["id"]) in ran["same"]:
                assert outside[ran["same"][str(value["id"])]] == value["summary"]
    assert len(methods["forward"]["same"]) == 3  # x, the result and what is kept
    back, (cube, total) = methods["backward"]["same"], [op for op in record["ops"] if op["phase"] == "forward"]
    gradients = {record["gradients"][str(value)] for value in (cube["inputs"][0], total["inputs"][0])}
    zeros = [
        v["id"] for v in record["values"] if v["summary"]["values"] == [0.0, 0.0]
    ]  # for the result that is not used
    assert len(back) == 5 and set(back.values()) >= gradients | set(zeros) and len(zeros) == 1


def test_the_classes_are_as_before_afterwards():
    exp, cube, *_ = functions(torch)
    before = [dict(vars(cls)) for cls in (exp, cube)]
    viz.from_torch(lambda x: (exp.apply(x) * cube.apply(x)[0]).sum(), torch.ones(2, requires_grad=True))
    assert [dict(vars(cls)) for cls in (exp, cube)] == before

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("so it is")

    with pytest.raises(ValueError, match="so it is"):
        viz.from_torch(Fails.apply, torch.ones(2, requires_grad=True))
    assert not hasattr(Fails.forward, "__wrapped__")
    assert torch.from_numpy.__module__ != "viz.pytorch.torch_calls"


def test_a_backward_that_the_script_runs_is_looked_into(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\n"
        "class Cube(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n"
        "        return x ** 3\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad_output):\n"
        "        x, = ctx.saved_tensors\n"
        "        slope = 3 * x ** 2\n"
        "        return grad_output * slope\n"
        "x = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "loss = Cube.apply(x).sum()\n"
        "loss.backward()\n"
    )
    from viz.programs.run_program import Program

    record, _ = Program.read(str(tmp_path / "net.py"), ()).record("loss", ("forward", "backward"), None)
    methods = [ran for op in record["ops"] for ran in op["inside"]]
    assert [ran["method"] for ran in methods] == ["forward", "backward"]
    assert [op["call"] for op in methods[1]["ops"]][-1] == "grad_output * slope"


def recorded(lib, name):
    """Return the record of a program in either library."""
    x = lib.tensor([3.0, 1.0], requires_grad=True)
    made = (
        minigrad.record(program(lib)[name], x, inside=True)
        if lib is minigrad
        else viz.from_torch(program(lib)[name], x)
    )
    return made.to_dict()


@pytest.mark.parametrize("name", ["jvp", "NumPy", "separate", "one in another"])
def test_frames_show_what_minigrads_show(name):
    def lines(lib):
        drawing = viz.draw(recorded(lib, name), passes="all" if name == "jvp" else ("forward", "backward"), name="f")
        return [line for line in drawing.text().splitlines() if ".py:" not in line and "custom Function" not in line]

    assert lines(torch) == lines(minigrad)


@pytest.mark.parametrize("lib", [torch, minigrad])
def test_numpy_is_one_operation_and_saved_tensors_have_their_authors_names(lib):
    record = recorded(lib, "NumPy")
    (op,) = [op for op in record["ops"] if op["inside"]]
    forward, backward = op["inside"]
    (box,) = forward["ops"]
    assert box["name"] == "NumPy" and len(box["inputs"]) == 1 and len(box["outputs"]) == 2
    first, last = box["where"]["code"].splitlines()[0], box["where"]["code"].splitlines()[-1]
    assert first == "array = x.detach().numpy()" and last == "return lib.tensor(array[order]), back"
    assert [one["shown"] for one in record["values"] if one["id"] == op["saved"][0]["value"]] == ["back"]
    assert "back" in [value["name"] for value in backward["values"]]
