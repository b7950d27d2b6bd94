"""The record shows the inside of PyTorch's custom Functions as it shows the inside of minigrad's."""

import pytest
import torch

import minigrad
import viz
from minigrad.record.validate import validate


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

    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return Exp.apply(x) * 2

        @staticmethod
        def backward(ctx, grad_output):
            return Exp.apply(grad_output)

    return Exp, Cube, Twice


def program(lib):
    exp, cube, twice = functions(lib)
    return {
        "combined": lambda x: exp.apply(x).sum(),
        "separate": lambda x: cube.apply(x)[0].sum(),
        "two": lambda x: (exp.apply(x) * cube.apply(x)[0]).sum(),
        "one in another": lambda x: twice.apply(x).sum(),
        "twice derived": lambda x: lib.autograd.grad(cube.apply(x)[0].sum(), x, create_graph=True)[0].sum(),
        "a transform": lambda x: lib.func.grad(lambda x: cube.apply(x)[0].sum())(x),
    }


def told(record):
    """Return the work of each Function's methods: names of values that have one, and the operations."""
    validate(record)
    found = {}
    for op in record["ops"]:
        for ran in op["inside"]:
            names = [v["name"] for v in ran["values"] if v["name"]]
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
    assert len(back) == 4 and set(back.values()) >= gradients


def test_the_classes_are_as_before_afterwards():
    exp, cube, _ = functions(torch)
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
    from viz.run_program import Program

    record, _ = Program.read(str(tmp_path / "net.py"), ()).record("loss", ("forward", "backward"), None)
    methods = [ran for op in record["ops"] for ran in op["inside"]]
    assert [ran["method"] for ran in methods] == ["forward", "backward"]
    assert [op["call"] for op in methods[1]["ops"]][-1] == "grad_output * slope"
