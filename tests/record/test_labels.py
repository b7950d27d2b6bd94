"""A record names its values by variables, by the line that computes them, and by the round of a loop."""

import pytest

import minigrad as torch
from minigrad.record.labels import ShownNames


def test_values_of_a_variable_in_a_loop_have_its_name_and_a_number():
    def f(x, w):
        h = x * w
        for _ in range(2):
            h = torch.tanh(h * w + x)
        return h

    values = torch.record(f, torch.tensor(0.5), torch.tensor(2.0)).to_dict()["values"]
    named = [v for v in values if v["name"] == "h"]
    assert [v["label"] for v in named] == [f"v{v['id']}" for v in named] and len(named) == 3
    shown = ShownNames(values)
    assert [shown.names[v["id"]] for v in named] == ["h", "h₂", "h₃"]
    assert shown.words(f"g * (1 - {named[1]['label']} ** 2)") == "g * (1 - h₂ ** 2)"
    assert shown.words(f"d{named[1]['label']} * w") == "dh₂ * w"


def test_only_the_value_of_the_whole_right_side_has_the_variables_name():
    def f(x):
        y = x.exp() * torch.sin(x)
        y += x
        return y

    names = [v["name"] for v in torch.record(f, torch.tensor(0.5), passes=("forward",)).to_dict()["values"]]
    assert sorted(filter(None, names)) == ["x", "y", "y"]


def test_a_modules_parameters_are_shown_by_their_path():
    net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    values = torch.record(net, torch.ones(1, 2)).to_dict()["values"]
    (weight,) = [v for v in values if v["name"] == "0.weight"]
    assert weight["label"] == f"v{weight['id']}" == ShownNames(values).names[weight["id"]]
    weight["name"] = "net.0.weight"
    assert ShownNames(values).names[weight["id"]] == "net[0].weight"


def test_in_a_part_of_a_record_an_unambiguous_name_is_shown():
    values = [{"id": 3, "name": "loss", "label": "v3"}, {"id": 4, "name": "g", "label": "v4"}]
    assert ShownNames(values).names == {3: "loss", 4: "v4"}
    assert ShownNames(values).words("v3 * v4 + dv3") == "loss * v4 + dloss"


def test_a_call_leaves_out_settings_that_a_module_gives_and_that_are_the_defaults():
    x = torch.randn(1, 1, 5, 5)
    calls = [torch.record(torch.nn.Conv2d(1, 2, 3, padding=p), x).to_dict()["ops"][0]["call"] for p in (0, 1)]
    assert "stride" not in calls[0] and "padding" not in calls[0] and calls[1].endswith("padding=(1, 1))")


def test_variable_names_that_are_functions_of_formulas_are_not_shown():
    values = [{"id": i, "name": name, "label": f"v{i}"} for i, name in enumerate(["g", "g", "x", "dx"])]
    assert ShownNames(values).names == {0: "v0", 1: "v1", 2: "x", 3: "v3"}


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("y = 2 * x", "2 * x"),
        ("y = x * 2", "x * 2"),
        ("y = rate * x", "0.5 * x"),
        ("y = x + 1", "x + 1"),
        ("y = -1.5 + x", "-1.5 + x"),
        ("y = 2 * (x + 1)", "2 * v3"),
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
    assert made == call or call == "2 * v3" and made.startswith("2 * v")
