"""viz.from_torch: names, steps of training, hooks, what is not seen, and errors."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import viz

from .torch_programs import (
    OldSquare,
    assert_adds_up,
    assert_holds_together,
    checkpointed,
    convolutional,
    leaf,
    net,
    square,
)

nn, F = torch.nn, torch.nn.functional


def ops(record, phase="forward"):
    return [op for op in record.ops if op.phase == phase]


def whole(record, value):
    return torch.tensor(record.values[value].summary["values"], dtype=torch.float64)


def gradient_of(record, name):
    value = next(v.id for v in record.values if v.name == name)
    return whole(record, record.gradients[value])


def test_gradients_are_those_of_autograd_and_tangents_those_of_func_jvp():
    def f(x, w):
        return torch.tanh(x @ w) * x

    x, w = leaf(2, 2), leaf(2, 2)
    record = viz.from_torch(f, x, w)
    gradients = torch.autograd.grad(f(x, w).sum(), (x, w))
    assert torch.allclose(gradient_of(record, "x"), gradients[0])
    assert torch.allclose(gradient_of(record, "w"), gradients[1])
    last = ops(record)[-1]
    _, tangent = torch.func.jvp(f, (x, w), (torch.ones_like(x), torch.ones_like(w)))
    assert torch.allclose(whole(record, last.tangents[last.outputs[0]]), tangent)


def test_parameters_have_the_names_and_operations_the_modules_of_the_module():
    record = viz.from_torch(net(), leaf(1, 3))
    assert {v.name for v in record.values if v.kind == "parameter"} == {
        "input",
        "sequential.0.weight",
        "sequential.0.bias",
        "sequential.2.weight",
        "sequential.2.bias",
    }
    assert [op.module for op in ops(record)] == [["Sequential", "0"], ["Sequential", "1"], ["Sequential", "2"]]
    assert record.program["name"] == "Sequential"


def test_variables_that_a_function_closes_over_have_their_names():
    w, layer = leaf(2), nn.Linear(2, 1).double()
    record = viz.from_torch(lambda x: layer(x * w), leaf(2).detach())
    assert {v.name for v in record.values if v.kind == "parameter"} == {"w", "layer.weight", "layer.bias"}


@pytest.mark.parametrize("join, said", [(torch.stack, "unbind(g, dim)[1]"), (torch.cat, "split(g, sizes, dim)[1]")])
def test_the_gradient_of_one_of_several_tensors_is_told_as_its_part(join, said):
    record = viz.from_torch(lambda x: join([x * 2, x * 3]).sum(), leaf(2))
    assert [edge.partial for op in ops(record) for edge in op.edges if op.name == join.__name__][1] == said


def test_steps_of_training_are_updates_of_the_gradients():
    def train(x, steps=2):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = layer(x).pow(2).mean()
            loss.backward()
            optimizer.step()
        return loss

    for kind in (torch.optim.SGD, torch.optim.Adam):
        torch.manual_seed(0)
        layer = nn.Linear(3, 2).double()
        optimizer = kind(layer.parameters(), lr=0.1)
        x = leaf(4, 3).detach()
        record = viz.from_torch(train, x)
        assert [op.name for op in ops(record)] == ["linear", "pow", "mean"] * 2
        updates = ops(record, "update")
        assert updates and all(op.where.code == "optimizer.step()" for op in updates)
        read = {record.values[v].kind for op in updates for v in op.inputs if isinstance(v, int)}
        assert "gradient" in read
        assert_adds_up(record.to_dict())
        if kind is torch.optim.SGD:
            first, second = (gradient for v, gradient in record.gradients.items() if record.values[v].shape == [2, 3])
            assert [op.inputs[1] for op in updates if record.values[op.inputs[0]].shape == [2, 3]] == [first, second]


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_training_goes_as_it_goes_unrecorded(kind):
    def train(layers, x):
        optimizer = kind(layers.parameters(), lr=0.1, foreach=kind is torch.optim.AdamW)
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(layers(x), torch.tensor([0, 1]))
            loss.backward()
            nn.utils.clip_grad_norm_(layers.parameters(), 0.5)
            optimizer.step()
        return loss

    trained = []
    for record in (False, True):
        torch.manual_seed(0)
        layers = convolutional()
        x = torch.randn(2, 1, 4, 4, dtype=torch.float64)
        document = viz.from_torch(train, layers, x).to_dict() if record else train(layers, x)
        trained.append((layers.state_dict(), [p.grad for p in layers.parameters()], torch.get_rng_state()))
        assert all(p._backward_hooks is None for p in layers.parameters())
    (state, grads, random), (state2, grads2, random2) = trained
    assert all(torch.equal(state[k], state2[k]) for k in state) and all(map(torch.equal, grads, grads2))
    assert torch.equal(random, random2)
    assert_adds_up(document)
    assert_holds_together(document)


def test_gradients_of_two_runs_add_up_as_in_grad():
    x = leaf(3)

    def twice(x):
        y = (x * x).sum()
        y.backward(retain_graph=True)
        (3 * y).backward()
        return x.grad * 2

    record = viz.from_torch(twice, x)
    assert torch.allclose(gradient_of(record, "x"), x.grad)
    times = next(op for op in ops(record) if op.where.code.startswith("return"))
    assert times.inputs[0] == record.gradients[record.ops[0].inputs[0]]


def test_gradients_without_elements_are_recorded_but_not_what_grad_holds():
    def twice(x):
        y = (x * 2).sum()
        y.backward(retain_graph=True)
        y.backward()
        return y

    record = viz.from_torch(twice, torch.ones(2, device="meta", requires_grad=True)).to_dict()
    assert [len(one["gradients"]) for one in record["backwards"]] == [3, 3] and not record["grads"]


def test_what_is_kept_is_freed_by_backward_unless_the_graph_is_retained():
    def program(x, retain):
        y = (x.exp() * x).sum()
        y.backward(retain_graph=retain)
        return y

    for retain in (False, True):
        kept = [s for op in ops(viz.from_torch(program, leaf(3), retain)) for s in op.saved]
        assert len(kept) == 3
        assert all((s.freed_by is None) == retain for s in kept)


def test_nothing_is_kept_in_a_checkpoint():
    record = viz.from_torch(checkpointed, leaf(3))
    assert [op.name for op in ops(record)] == ["sin", "mul", "tanh", "mul"]
    assert all(not op.saved for op in ops(record)[:3])


def test_a_function_is_one_operation_with_its_class_as_its_name():
    record = viz.from_torch(lambda x: square(x).sum(), leaf(3))
    assert [(op.name, op.function, op.formula) for op in ops(record)][0] == ("Square", "Square", "Square(x)")
    assert ops(record)[0].edges[0].partial == "Square.backward"
    assert [op.name for op in ops(record, "jvp")] == ["Square", "sum"]


def test_a_leaf_that_is_written_without_grad_starts_with_ones_again():
    def program(x):
        with torch.no_grad():
            x -= 0.5
            x[0].mul_(4)
        return (x * x).sum()

    x = leaf(2)
    record = viz.from_torch(program, x)
    total = ops(record)[-1]
    assert np.isclose(float(whole(record, total.tangents[total.outputs[0]])), 2 * x.sum().item())


def test_tangents_stop_where_they_are_not_known():
    record = viz.from_torch(lambda x: OldSquare.apply(x) + x, leaf(3))
    assert not ops(record, "jvp") and record.program["passes"] == ["forward", "backward"]
    assert record.notes == ["the jvp pass stops at OldSquare, which has no jvp"]
    with pytest.raises(ValueError, match="the jvp pass stops at OldSquare"):
        viz.draw(record, passes="jvp")


@pytest.mark.parametrize("f, names, shape", [
    (lambda z: z.sin().sum(), ["sin", "sum"], (2, 3)), (lambda z: z.sin() * z, ["sin", "mul"], (3,)),
], ids=["rows", "numbers"])  # fmt: skip
def test_transforms_are_the_layer_of_what_runs_in_them(f, names, shape):
    """Of numbers, nodes keep a single one in each example."""
    record = viz.from_torch(lambda x: torch.vmap(torch.func.grad(f))(x) * 2, leaf(*shape))
    assert [(op.name, op.layer) for op in ops(record)] == [*[(n, ["vmap", "grad"]) for n in names], ("mul", [])]
    seen = [(view.layer, view.inputs) for view in ops(record)[0].views]
    assert seen == [("vmap", [list(shape[1:])]), ("grad", [list(shape[1:])])]
    assert viz.draw(record).text().count(f"vmap: {shape[0]} at once") == len(names)


def test_the_program_runs_once_and_leaves_grad_alone():
    runs, x = [], leaf(3)
    viz.from_torch(lambda x: runs.append(1) or x * 2, x)
    assert runs == [1] and x.grad is None


def test_an_error_of_the_program_comes_through_and_nothing_stays_behind():
    def fails(x):
        y = square(x)
        return y @ x.reshape(3, 1) @ y

    x = leaf(3)
    before = torch.autograd.function._SingleLevelFunction.__dict__.get("apply")
    with pytest.raises(RuntimeError):
        viz.from_torch(fails, x)
    assert torch.overrides._get_current_function_mode() is None
    assert torch.autograd.function._SingleLevelFunction.__dict__.get("apply") is before
    assert [op.name for op in ops(viz.from_torch(lambda x: x * 2, x))] == ["mul"]


def test_hooks_are_taken_off_at_the_end():
    x, kept = leaf(3), []
    record = viz.from_torch(lambda x: kept.append(x.exp()) or kept[0] * 1, x, passes="forward")
    written = record.to_json()
    kept[0].sum().backward()
    assert record.to_json() == written and record.program["passes"] == ["forward"]


def test_compiled_programs_are_recorded_as_they_were_written():
    record = viz.from_torch(torch.compile(lambda x: x.sin() * 2, backend="eager"), leaf(3))
    assert [op.name for op in ops(record)] == ["sin", "mul"] and not record.notes
    assert [op.name for op in ops(record, "jvp")] == ["sin", "mul"]


def test_what_is_not_seen_is_said():
    record = viz.from_torch(torch.jit.trace(lambda x: x.sin() * 2, torch.ones(3)), leaf(3))
    assert not ops(record) and "TorchScript" in record.notes[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_backward_that_pytorch_refuses_is_left_out_and_said():
    def program(x):
        return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)

    record = viz.from_torch(program, leaf(3))
    assert record.program["passes"] == ["forward"]
    assert any("use_reentrant=True" in note for note in record.notes)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_refused():
    with pytest.raises(TypeError, match="a nested tensor cannot be recorded"):
        viz.from_torch(lambda x: torch.nested.as_nested_tensor([x, x]) * 2, leaf(3).detach())


def test_what_is_kept_in_another_shape_is_the_value_it_was():
    record = viz.from_torch(nn.Linear(3, 2).double(), leaf(2, 4, 3))
    (linear,) = ops(record)
    assert sorted(s.value for s in linear.saved) == linear.inputs[:2]


def test_each_of_two_leaves_on_one_memory_is_kept_as_itself():
    def program(x):
        y = x.detach().requires_grad_()
        return F.linear(y, y) + F.linear(x, x)

    products = [op for op in ops(viz.from_torch(program, leaf(3, 3))) if op.name == "linear"]
    assert [[s.value for s in op.saved] for op in products] == [op.inputs for op in products]
    assert products[0].inputs != products[1].inputs


def test_only_the_passes_asked_for_are_run():
    record = viz.from_torch(lambda x: x * x, leaf(3), passes=("forward", "jvp"))
    assert record.program["passes"] == ["forward", "jvp"]
    assert viz.from_torch(lambda x: x * x, leaf(3), passes="backward").program["passes"] == ["forward", "backward"]


def test_a_recording_in_a_recording():
    inner = []
    outer = viz.from_torch(lambda x: inner.append(viz.from_torch(lambda y: square(y), x)) or square(x) * 2, leaf(2))
    assert [op.name for op in ops(inner[0])] == ["Square"]
    assert [op.name for op in ops(outer)] == ["Square", "mul"]


def test_a_record_shows_and_saves_itself(tmp_path):
    record = viz.from_torch(lambda x: x * x, leaf(3), name="square")
    assert repr(record) == "<TorchRecord square: 1 operation, forward, backward, jvp>"
    assert record._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    record.save(tmp_path / "square.json")
    assert (tmp_path / "square.json").read_text() == record.to_json()


@pytest.mark.parametrize(
    "error, said, call",
    [
        (ValueError, "'sideways' is not a pass", lambda: viz.from_torch(torch.sin, leaf(1), passes="sideways")),
        (TypeError, "the result of <lambda> contains no tensor", lambda: viz.from_torch(lambda x: 3, leaf(1))),
    ],
)
def test_errors_say_what_to_do(error, said, call):
    with pytest.raises(error, match=f"(?s)from_torch: {said}.*To fix"):
        call()


def test_viz_alone_does_not_import_pytorch():
    subprocess.run([sys.executable, "-c", "import sys, viz; assert 'torch' not in sys.modules"], check=True)


def test_without_pytorch_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="PyTorch is not installed"):
        viz.from_torch(lambda x: x, 1)


def test_a_gradient_that_is_differentiated_does_not_count_as_part_of_the_second_derivative():
    def second():
        x = torch.tensor(5.0, requires_grad=True)
        (slope,) = torch.autograd.grad(x**3, x, create_graph=True)
        return torch.autograd.grad(slope, x)[0]

    record = viz.from_torch(second).to_dict()
    numbers = {v["id"]: v["summary"].get("values") for v in record["values"]}
    (leaf,) = [v["id"] for v in record["values"] if v["kind"] == "parameter"]
    assert numbers[record["gradients"][str(leaf)]] == 30.0
    edges = [(op["phase"], numbers[e["gives"]]) for op in record["ops"] for e in op["edges"] if e["input"] == leaf]
    assert edges == [("backward", 30.0)]


def shown(record):
    return [v.shown for v in record.values if v.kind not in ("gradient", "tangent")]


def test_draw_records_a_module_and_a_function_as_from_torch_does():
    net, x = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()), torch.ones(1, 2)
    for fn, args in ((net, (x,)), (lambda x: (x * x).sum(), (x,)), (lambda: net(x), ()), (torch.tanh, (x,))):
        drawn = viz.draw(fn, *args, passes="all")
        assert drawn.record["ops"] and drawn.text() == viz.draw(viz.from_torch(fn, *args), passes="all").text()
    drawn = viz.draw(lambda x: x.prod(), x, passes="all", tangent={"x": [[1.0, 2.0]]}, grad=3.0)
    assert "tangent = 3" in drawn.text() and "= [[3, 3]]" in drawn.text()


@pytest.mark.parametrize(
    "what, word",
    [
        (torch.ones(2, requires_grad=True) * 2, "Pass the function that computes it"),
        ((torch.ones(2, requires_grad=True) * 2).grad_fn, "Pass the function that computes it"),
        (lambda: 3, "viz.from_torch"),
    ],
)
def test_draw_never_draws_nothing_in_silence(what, word):
    with pytest.raises(TypeError, match=word):
        viz.draw(what)


def test_draw_knows_no_times_of_pytorch():
    with pytest.raises(ValueError, match="PyTorch"):
        viz.draw(torch.tanh, torch.ones(2), color="time")


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)])
        self.by_name = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1)})

    def forward(self, x):
        return self.by_name["a"](self.blocks[1](self.blocks[0](x)))


def test_parameters_and_buffers_have_their_paths_and_the_rest_has_numbers_without_gaps():
    net = torch.nn.Sequential(Inner(), torch.nn.Tanh())
    names = shown(viz.from_torch(net, torch.rand(3, 2)))
    paths = ["blocks[0].weight", "blocks[1].running_mean", "blocks[1].running_var₂", "by_name.a.bias"]
    assert {f"net[0].{path}" for path in paths} < {*names}
    # the last two are what batch_norm saves, as no expression of minigrad's gives it
    assert sorted(one for one in names if one[0] == "v") == ["v0", "v1", "v2", "v3", "v4", "v5"]


def test_parameters_in_arguments_have_the_names_of_the_arguments():
    net = Inner().eval()
    params = dict(net.named_parameters())
    f = lambda params, pair: torch.func.functional_call(net, params, pair[0]).sum()
    assert {"params.blocks[0].weight", "params.by_name.a.bias", "pair[0]", "blocks[1].running_mean"} < {
        one.removeprefix("net.") for one in shown(viz.from_torch(f, params, (torch.rand(3, 2),)))
    }
    g = lambda module, x: module(x)
    assert "module.blocks[0].weight" in shown(viz.from_torch(g, net, torch.rand(3, 2)))


def test_a_batch_of_a_data_loader_is_an_input():
    class Scaled(torch.utils.data.Dataset):
        def __init__(self, rows):
            self.rows = rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return (self.rows[i] - 1) / 2

    def loss(rows, w):
        (batch,) = torch.utils.data.DataLoader(Scaled(rows), batch_size=2)
        return (batch * w).sum()

    def names(*given):
        return [op["name"] for op in viz.from_torch(loss, *given).to_dict()["ops"] if op["phase"] == "forward"]

    rows, w = torch.ones(2, 3), torch.ones(3, requires_grad=True)
    assert [n for n in names(rows, w) if n != "random"] == ["mul", "sum"]
    assert names(rows.requires_grad_(), w).count("div") == 2  # a gradient passes through them
    assert torch.utils.data.dataloader._BaseDataLoaderIter.__next__.__module__ == "torch.utils.data.dataloader"
