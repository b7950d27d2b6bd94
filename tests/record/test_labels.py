"""A record names its values by variables, by the line that computes them, and by the round of a loop."""

from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import minigrad as torch
from minigrad.record.labels import ShownNames
from viz.programs.run_program import Program


def test_values_of_a_variable_in_a_loop_have_its_name_and_their_round():
    def f(x, w):
        h = x * w
        for _ in range(2):
            h = torch.tanh(h * w + x)
        return h

    values = torch.record(f, torch.tensor(0.5), torch.tensor(2.0)).to_dict()["values"]
    named = [v for v in values if v["name"] == "h"]
    assert [v["label"] for v in named] == ["h", "h_1", "h_2"]
    shown = ShownNames(values)
    assert [shown.names[v["id"]] for v in named] == ["h", "h[1]", "h[2]"]
    assert shown.words("g * (1 - h_1 ** 2)") == "g * (1 - h[1] ** 2)"
    assert shown.words("h_1_t * w") == "h_t[1] * w"


def test_values_that_several_lines_assign_are_counted():
    def f(x):
        y = x.exp()
        y = y.sin()
        return y

    values = torch.record(f, torch.tensor(0.5)).to_dict()["values"]
    assert [(v["label"], v["shown"]) for v in values if v["name"] == "y"] == [("y", "y"), ("y_2", "y₂")]


def program(x, w, dx):
    scale = w.exp()
    hidden = (x * w + dx).tanh()
    return (hidden * scale * 3).softmax(0).sum()


def test_labels_are_the_same_whatever_passes_are_recorded_and_have_no_gaps():
    given = [torch.tensor([1.0, float(k)], requires_grad=True) for k in range(3)]
    known = []
    for passes in (("forward",), ("forward", "backward"), ("forward", "backward", "jvp")):
        document = torch.record(program, *given, passes=passes).to_dict()
        ran = [op for op in document["ops"] if op["phase"] == "forward"]
        values = {v["id"]: v for v in document["values"]}
        known.append([values[i]["label"] for op in ran for i in (*op["inputs"], *op["outputs"]) if isinstance(i, int)])
    assert known[0] == known[1] == known[2]
    assert {"x", "w", "dx", "hidden", "scale"} < set(known[0])
    assert {label for label in known[0] if label[0] == "v"} == {
        f"v{k}" for k in range(len([label for label in set(known[0]) if label[0] == "v"]))
    }


def test_the_numbers_that_initialize_a_module_are_the_last_whatever_passes_are_recorded():
    net, known = [], []

    def f():
        net[:] = [torch.nn.Linear(2, 3)]
        return net[0](torch.ones(4, 2)).pow(2).sum()

    for passes in (("forward",), ("forward", "backward"), ("forward", "backward", "jvp")):
        recording = torch.record(f, passes=passes)
        recording.name_values({id(t): f"net.{name}" for name, t in net[0].named_parameters()})
        document = recording.to_dict()
        labels = {v["id"]: v["label"] for v in document["values"]}
        known.append([labels[op["outputs"][0]] for op in document["ops"] if op["name"] in ("linear", "pow", "sum")][:3])
    assert known == [["v1", "v2", "v3"]] * 3  # after v0, the module's argument


def test_gradients_and_tangents_are_those_of_something_and_have_no_number():
    given = [torch.tensor([1.0, float(k)], requires_grad=True) for k in range(3)]
    document = torch.record(program, *given).to_dict()
    values = {v["id"]: v for v in document["values"]}
    for g in document["gradients"].values():
        assert values[g]["shown"].startswith("grad of ") and values[g]["label"].rstrip("_").endswith("_grad")
    owners = {int(v): t for op in document["ops"] for v, t in op["tangents"].items()}
    assert all(values[t]["shown"] == f"tangent of {values[v]['shown']}" for v, t in owners.items())


def test_a_gradient_that_the_program_reads_is_called_as_the_program_writes_it():
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(x):
        (w * x).sum().backward()
        with torch.no_grad():
            return w.grad * 0.5

    document = torch.record(step, torch.ones(2)).to_dict()
    call = next(op["call"] for op in document["ops"] if "0.5" in op["call"])
    assert call == "w_grad * 0.5" and ShownNames(document["values"]).words(call) == "w.grad * 0.5"


def test_only_the_value_of_the_whole_right_side_has_the_variables_name():
    def f(x):
        y = x.exp() * torch.sin(x)
        y += x
        return y

    names = [v["name"] for v in torch.record(f, torch.tensor(0.5), passes=("forward",)).to_dict()["values"]]
    assert sorted(filter(None, names)) == ["x", "y", "y"]


def test_a_modules_parameters_are_shown_by_their_path():
    net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    record = torch.record(lambda x: net(x), torch.ones(1, 2)).to_dict()
    (weight,) = [v for v in record["values"] if v["name"] == "net.0.weight"]
    shown, call = ShownNames(record["values"]), record["ops"][0]["call"]
    assert weight["label"] == "net_0_weight" and shown.names[weight["id"]] == "net[0].weight"
    assert call == "linear(x, net_0_weight, bias=net_0_bias)"
    assert shown.words(call) == "linear(x, net[0].weight, bias=net[0].bias)"


def test_a_module_without_a_name_is_called_by_its_class_and_its_argument_by_forwards_parameter():
    values = torch.record(torch.nn.Sequential(torch.nn.Linear(2, 1)), torch.ones(1, 2)).to_dict()["values"]
    assert {"sequential[0].weight", "sequential[0].bias", "input"} <= {v["shown"] for v in values}
    net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    values = torch.record(net, torch.ones(1, 2)).to_dict()["values"]
    assert {"net[0].weight", "net[0].bias", "input"} <= {v["shown"] for v in values}


def test_the_variables_of_a_tuple_name_its_values():
    def f(x):
        low, high = x.exp(), x.sin()
        best, where = (low * high).max(0)
        first, *_ = x.chunk(2)
        return best + first.sum()

    values = torch.record(f, torch.tensor([0.5, 0.25]), passes=("forward",)).to_dict()["values"]
    assert {"low", "high", "best"} <= {v["label"] for v in values}


def test_a_modules_buffers_are_shown_by_their_path():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval()
    shown = {v["shown"] for v in torch.record(lambda x: net(x), torch.ones(3, 2)).to_dict()["values"]}
    assert {"net[1].weight", "net[1].running_mean", "net[1].running_var"} <= shown


def test_a_record_without_names_for_people_shows_labels_or_names():
    values = [{"id": 3, "name": "loss", "label": "v3"}, {"id": 4, "name": "y"}, {"id": 5}]
    assert ShownNames(values).names == {3: "v3", 4: "y", 5: "v5"}


def test_a_call_leaves_out_settings_that_a_module_gives_and_that_are_the_defaults():
    x = torch.randn(1, 1, 5, 5)
    calls = [torch.record(torch.nn.Conv2d(1, 2, 3, padding=p), x).to_dict()["ops"][0]["call"] for p in (0, 1)]
    assert "stride" not in calls[0] and "padding" not in calls[0] and calls[1].endswith("padding=(1, 1))")


def test_variable_names_that_are_functions_of_formulas_get_an_underscore():
    def f(g, exp):
        return g * exp

    made = torch.record(f, torch.tensor(0.5), torch.tensor(2.0)).to_dict()
    assert [made["ops"][0]["call"], made["ops"][0]["edges"][0]["formula"]] == ["g_ * exp_", "g * exp_"]


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("y = 2 * x", "2 * x"),
        ("y = x * 2", "x * 2"),
        ("y = rate * x", "0.5 * x"),
        ("y = x + 1", "x + 1"),
        ("y = -1.5 + x", "-1.5 + x"),
        ("y = 2 * (x + 1)", "2 * v0"),
        ("y = 2 - x", "2 - x"),
        ("y = torch.mul(x, 2)", "x * 2"),
    ],
)
def test_numbers_keep_their_side_of_an_operator(line, call, tmp_path):
    (tmp_path / "f.py").write_text(f"def f(x, rate=0.5):\n    {line}\n    return y\n")
    names = {"torch": torch}
    exec(compile((tmp_path / "f.py").read_text(), str(tmp_path / "f.py"), "exec"), names)
    record = torch.record(names["f"], torch.ones(3, requires_grad=True)).to_dict()
    made = [op["call"] for op in record["ops"] if op["phase"] == "forward"][-1]
    assert made == call


def shown_of(program, *args, **options):
    """Return the shown names of a program's values, without gradients and tangents of others."""
    values = torch.record(program, *args, passes=("forward", "backward"), **options).to_dict()["values"]
    return {v["shown"] for v in values if " of " not in v["shown"]}


def test_nested_and_starred_targets_and_those_inside_expressions_name_values():
    def f(x):
        (low, high), third = (x.exp(), x.sin()), x.cos()
        first, *rest = torch.split(low * high, 1)
        if (total := third.sum()) > 0:
            total = total + first + rest[0] + rest[1]
        out, (state, _) = torch.nn.functional.relu(total), (x * 2, x)
        return out.sum() + state.sum()

    names = {"low", "high", "third", "first", "rest[0]", "rest[1]", "total", "total₂", "out", "state"}
    assert names <= shown_of(f, torch.tensor([0.5, 0.25, 0.75]))


def test_a_with_statement_names_its_tensor():
    @contextmanager
    def doubled(t):
        yield t * 2

    def f(x):
        with doubled(x) as w:
            return (w.exp() * x).sum()

    assert shown_of(f, torch.tensor([0.5, 0.25])) == {"x", "w", "v0", "v1", "v2"}


def test_a_variable_that_an_operator_uses_names_a_value_only_if_the_line_leaves_no_doubt():
    def square(t):
        return t * t

    def scaled(t, rate):
        return rate * t

    assert "t" in shown_of(lambda x: square(x.exp()).sum(), torch.tensor(0.5))
    assert not {"t", "rate"} & shown_of(lambda x: scaled(x.exp(), 0.5).sum(), torch.tensor(0.5))


class Cell:
    def __init__(self, w):
        self.w = w

    def step(self, x, h):
        self.h = torch.tanh(self.w * x + h)
        return self.h.sum()


def test_attributes_and_entries_name_values_as_the_program_writes_them():
    def f(x):
        params = {"w": x.exp(), "b": x.sin()}
        params["h"] = params["w"] * x + params["b"]
        parts = [None]
        parts[0] = params["h"].cos()
        return Cell(parts[0].exp()).step(x, params["h"])

    names = {"x", 'params["w"]', 'params["b"]', 'params["h"]', "parts[0]", "self.w", "self.h"}
    assert names == {name for name in shown_of(f, torch.tensor([0.5, 0.25])) if not name.startswith("v")}
    labels = {v["label"] for v in torch.record(f, torch.tensor([0.5, 0.25])).to_dict()["values"]}
    assert {"params_w", "params_h", "parts_0", "self_h"} <= labels
    written = ShownNames([{"id": 0, "label": "params_w", "shown": 'params["w"]'}]).words("params_w_t * params_w")
    assert written == 'params_t["w"] * params["w"]'


def test_an_entry_that_is_written_to_a_tensor_names_no_value():
    def f(x):
        y = x * 1
        y[0] = x[1].exp()
        return y.sum()

    assert not [name for name in shown_of(f, torch.tensor([0.5, 0.25])) if "[" in name]


def test_the_first_content_of_a_loops_variable_has_its_plain_name():
    def f(x):
        h = torch.zeros(2)
        for _ in range(2):
            h = torch.tanh(x + h)
        return h

    values = torch.record(f, torch.tensor([0.5, 0.25])).to_dict()["values"]
    assert {v["shown"] for v in values if v["name"] == "h"} == {"h", "h[1]", "h[2]"}


def test_the_operands_of_a_function_and_of_a_product_with_arithmetic_name_values():
    def helper(t, k):
        return torch.exp(t) + k

    def f(x):
        total = 0
        for i, part in enumerate([x.sin(), x.cos()]):
            total = total + part * (i + 1)
        return helper(total.sum() * 2, 3)

    assert {"part[1]", "part[2]", "t"} <= shown_of(f, torch.tensor([0.5, 0.25]))


def test_pythons_sum_names_its_result_but_no_partial_sum():
    def f(x):
        total = sum([x.sin(), x.cos(), x.exp()])
        return total * 2

    assert {name for name in shown_of(f, torch.tensor(0.5)) if "total" in name} == {"total"}


def test_unpacking_a_tensor_names_its_parts_and_not_the_tensor():
    def f(x):
        first, second = x.exp()
        head, *tail = torch.stack([x[0], x[1], x[0]]).sin()
        return first * second + head * tail[0] + tail[1]

    document = torch.record(f, torch.tensor([0.5, 0.25])).to_dict()
    shown = {v["id"]: v["shown"] for v in document["values"]}
    parts = [[shown[o] for o in op["outputs"]] for op in document["ops"] if op["name"] == "unbind"][:2]
    assert parts == [["first", "second"], ["head", "tail[0]", "tail[1]"]]


def test_values_that_only_backward_reads_are_called_what_they_are():
    shown = shown_of(lambda mean: torch.nn.functional.layer_norm(mean, (2,)), torch.tensor([0.5, 0.25]))
    assert shown == {"mean", "v0", "mean.mean(0, keepdim=True)", "mean.var(0, correction=0, keepdim=True)"}


def test_a_saved_value_with_a_long_expression_has_a_number_after_all_that_lead_to_the_result():
    def f(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k.exp(), v, is_causal=True).sum()

    document = torch.record(f, *[torch.ones(3, 3) for _ in range(3)], passes=("forward", "backward")).to_dict()
    shown = {v["id"]: v["shown"] for v in document["values"]}
    ran = [op for op in document["ops"] if op["phase"] == "forward"]
    made = [shown[i] for op in ran for i in op["outputs"]]
    saved = [shown[one["value"]] for op in ran for one in op["saved"]]
    assert made == ["v0", "v1", "v2"] and "v3" in saved and not [name for name in saved if "saved" in name]


def test_arguments_of_a_star_parameter_are_elements():
    def f(x, *rest):
        return x * rest[0] + rest[1]

    assert {"x", "rest[0]", "rest[1]"} <= shown_of(f, *[torch.tensor(float(k)) for k in range(3)])


def test_requested_gradients_have_the_names_that_the_program_gives_them():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 4.0], requires_grad=True)

    def f():
        loss = (w * x).sum()
        dw, dx = torch.autograd.grad(loss, (w, x))
        again = torch.autograd.grad(w.exp().sum(), w)[0]
        return dw * dx + again

    document = torch.record(f).to_dict()
    assert [op["call"] for op in document["ops"] if op["phase"] == "forward"][-2:] == ["dw * dx", "v3 + again"]
    named = {v["name"]: v["summary"]["values"] for v in document["values"] if v["kind"] == "gradient" and v["name"]}
    assert named["dw"] == [3.0, 4.0] and named["dx"] == [1.0, 2.0]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        base, factor = ctx.saved_tensors
        torch.abs(base)
        return 3 * g * factor


def test_unpacked_saved_tensors_name_values_in_the_record_of_the_method():
    rec = torch.record(Cube.apply, torch.tensor(2.0), inside=True).to_dict()
    (backward,) = [ran for op in rec["ops"] for ran in op["inside"] if ran["method"] == "backward"]
    assert {"base", "factor"} <= {v["shown"] for v in backward["values"]}


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        slope = torch.sigmoid(x * 1)
        ctx.save_for_backward(slope)
        return torch.log(torch.exp(x) + 1), slope * 1

    @staticmethod
    def backward(ctx, g, _):
        return 2 * (g * ctx.saved_tensors[0]) / 2


def frames_of(document):
    """Yield the records of the methods in a document, and in the methods there."""
    for ran in [ran for op in document["ops"] for ran in op["inside"]]:
        yield ran
        yield from frames_of(ran)


def numbers_in(record):
    """Return the values of a record that are shown by a number, with this."""
    found = [(v, int(v["shown"][1:])) for v in record["values"] if v["shown"][0] == "v" and v["shown"][1:].isdigit()]
    return {v["id"]: number for v, number in found}


def test_a_number_names_one_value_in_a_document_and_in_all_methods_in_it():
    def f(x):
        y = Softplus.apply(Softplus.apply(x * 2)[0] + 1)[0]
        return (y.exp() * Cube.apply(y)).sum()

    document = torch.record(f, torch.tensor(2.0), inside=True, passes=("forward", "backward")).to_dict()
    frames = list(frames_of(document))
    known = numbers_in(document)
    own = [[n for i, n in numbers_in(ran).items() if ran["same"].get(str(i)) not in known] for ran in frames]
    every = [*known.values(), *(n for numbers in own for n in numbers)]
    assert len(every) == len(set(every)) == max(every) + 1
    assert {ran["method"] for ran, numbers in zip(frames, own) if numbers} == {"forward", "backward"}
    for ran in frames:
        inner = numbers_in(ran)
        shared = [
            (inner[int(i)], known[outer]) for i, outer in ran["same"].items() if int(i) in inner and outer in known
        ]
        assert all(one == other for one, other in shared)


def test_numbers_follow_the_lines_of_the_forward_pass_and_those_of_backward_come_later():
    document = torch.record(
        lambda x: (Softplus.apply(x * 2)[0].exp() + 1).sum(), torch.ones(2), inside=True, passes="backward"
    ).to_dict()
    (op,) = [op for op in document["ops"] if op["function"] and op["phase"] == "forward"]
    forward, backward = [[n for i, n in numbers_in(ran).items() if str(i) not in ran["same"]] for ran in op["inside"]]
    outside = list(numbers_in(document).values())
    assert outside[0] == 0 and forward[0] == 1 and max(forward) < min(outside[3:]) and min(backward) > max(outside)


def test_a_variable_that_a_loop_binds_several_times_in_a_round_counts_all_of_them():
    def f(x, w):
        h = x
        for _ in range(2):
            h = h * w
            h = h + 1
        h = h.sin()
        return h

    values = torch.record(f, torch.tensor(0.5), torch.tensor(2.0), passes=("forward",)).to_dict()["values"]
    assert [v["shown"] for v in values if v["name"] == "h"] == [f"h[{k}]" for k in range(1, 6)]


def test_earlier_steps_of_training_do_not_count_for_the_values_that_lead_to_the_result():
    def f(x):
        w = torch.tensor(0.5, requires_grad=True)
        for _ in range(3):
            h = x
            for _ in range(2):
                h = torch.tanh(h * w)
            loss = h.sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
        return loss

    document = torch.record(f, torch.ones(2), passes=("forward", "backward")).to_dict()
    shown = {v["id"]: v["shown"] for v in document["values"]}
    assert shown[document["outputs"][0]] == "loss"
    last = [op for op in document["ops"] if op["phase"] == "forward"][-5:]
    assert [shown[op["outputs"][0]] for op in last if op["name"] == "tanh"] == ["h[1]", "h[2]"]
    assert [shown[op["inputs"][1]] for op in last if op["name"] == "mul"] == ["w", "w"]
    assert [v["shown"] for v in document["values"] if v["name"] == "loss"] == ["loss[1]", "loss[2]", "loss"]
    assert [v["shown"] for v in document["values"] if v["name"] == "w"] == ["w₁", "w₂", "w"]


def test_a_variable_has_its_name_for_people_also_if_formulas_use_the_name_otherwise():
    def f(mean, g):
        exp = mean * g
        return exp.exp() + torch.mean(mean)

    document = torch.record(f, torch.ones(2), torch.ones(2), passes=("forward",)).to_dict()
    assert {v["shown"] for v in document["values"]} >= {"mean", "exp", "g_"}
    assert document["ops"][0]["call"] == "mean_ * g_" and document["ops"][1]["call"] == "exp_.exp()"
    assert ShownNames(document["values"]).words("mean(mean_)") == "mean(mean)"


def test_an_attribute_that_a_loop_sets_counts_up():
    cell = Cell(torch.tensor(2.0))

    def f(x):
        for _ in range(3):
            cell.step(x, x)
        return cell.h

    values = torch.record(f, torch.tensor(0.5), passes=("forward",)).to_dict()["values"]
    assert sorted(v["shown"] for v in values if v["name"] == "self.h") == ["self.h", "self.h[1]", "self.h[2]"]


@dataclass
class Batch:
    image: torch.Tensor
    label: torch.Tensor


def test_elements_of_arguments_and_attributes_are_called_as_the_program_writes_them():
    def f(ws, batch, pair):
        h = pair.image @ ws[0] + ws[1]["bias"]
        return {"logits": h * batch["scale"], "aux": (h.sum(), None)}

    ws = [torch.ones(2, 2), {"bias": torch.ones(2)}]
    names = shown_of(f, ws, {"scale": torch.tensor(2.0), "n": 3}, Batch(torch.ones(3, 2), torch.zeros(3)))
    assert {"ws[0]", 'ws[1]["bias"]', 'batch["scale"]', "pair.image", "h"} <= names


def test_elements_of_a_programs_variables_name_values_that_no_line_assigns(tmp_path):
    (tmp_path / "net.py").write_text(
        "import minigrad as torch\n"
        "def f(batch, ws):\n"
        "    h = batch['left'] * ws[0]\n"
        "    return {'logits': h, 'hidden': (h.tanh(), None)}\n"
        "data = {'left': torch.ones(2)}\n"
        "params = [torch.ones(2, requires_grad=True)]\n"
        "out = f(data, params)\n"
        "loss = (out['logits'] + out['hidden'][0]).sum()\n"
    )
    record, _ = Program.read(str(tmp_path / "net.py")).record("loss", ("forward", "backward"))
    shown = {v["id"]: v["shown"] for v in record["values"]}
    calls = [op["call"] for op in record["ops"] if op["phase"] == "forward"]
    assert {'data["left"]', "params[0]", "h", 'out["hidden"][0]', "v0", "loss"} == {
        shown[i]
        for op in record["ops"]
        if op["phase"] == "forward"
        for i in (*op["inputs"], *op["outputs"])
        if isinstance(i, int)
    }
    assert calls[0] == "data_left * params_0" and calls[2] == "h + out_hidden_0"
