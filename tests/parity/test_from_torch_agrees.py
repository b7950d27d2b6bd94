"""viz.from_torch: PyTorch's program and minigrad's, from the same source, have the same record."""

import math

import numpy as np
import pytest
import torch

import minigrad
import viz

from .torch_sources import PROGRAMS

nn, F = torch.nn, torch.nn.functional


def both(name):
    f, shapes, _ = PROGRAMS[name]
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(shape) for shape in shapes]
    records = []
    for module, record in ((minigrad, minigrad.record), (torch, viz.from_torch)):
        args = [module.tensor(a.tolist(), dtype=module.float64).reshape(a.shape).requires_grad_() for a in arrays]
        records.append(record(lambda *args: f(module, *args), *args).to_dict())
    return records


class Read:
    """A record to compare: its values numbered as the forward operations mention them."""

    def __init__(self, record):
        self.record = record
        self.values = record["values"]
        self.ops = [op for op in record["ops"] if op["phase"] in ("forward", "update")]
        self.numbers = {}
        for op in self.ops:
            for one in (*op["inputs"], *op["outputs"]):
                if not isinstance(one, dict):
                    self.numbers.setdefault(one, len(self.numbers))

    def aspects(self):
        tangents = {v: t for op in self.ops for v, t in op["tangents"].items()}
        return {
            "passes": self.record["program"]["passes"],
            "operations": [(op["phase"], op["name"], op["inplace"], op["layer"], op["module"]) for op in self.ops],
            "lines": [op["where"] for op in self.ops],
            "structure": [(self.only(op["inputs"]), self.only(op["outputs"])) for op in self.ops],
            "kinds": [(self.values[v]["kind"], self.values[v]["name"], self.values[v]["dtype"]) for v in self.numbers],
            "numbers": [self.content(v) for v in self.numbers],
            "gradients": self.by_value(self.record["gradients"]),
            "tangents": self.by_value(tangents),
            "edges": [
                sorted(
                    (self.numbers[e["input"]], self.content(e["upstream"]), self.content(e["gives"]))
                    for e in op["edges"]
                )
                for op in self.ops
            ],
            "saved": [sorted(s["bytes"] for s in op["saved"]) for op in self.ops],
            "freed": [{s["freed_by"] is None for s in op["saved"]} for op in self.ops],
            "backward": [
                self.record["ops"][op["of"]]["name"] for op in self.record["ops"] if op["phase"] == "backward"
            ],
            "jvp": [self.record["ops"][op["of"]]["name"] for op in self.record["ops"] if op["phase"] == "jvp"],
            "outputs": [self.content(v) for v in self.record["outputs"]],
        }

    def only(self, side):
        return [self.numbers[one] for one in side if not isinstance(one, dict)]

    def content(self, value):
        value = self.values[value]
        whole = value["summary"].get("values")
        return [
            value["shape"],
            [value["summary"][k] for k in ("min", "max", "mean", "std")] if whole is None else whole,
        ]

    def by_value(self, mapping):
        return {self.numbers[int(v)]: self.content(g) for v, g in mapping.items() if int(v) in self.numbers}


def agree(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-7)
    return a == b


@pytest.mark.filterwarnings(
    "ignore:(?s).*This is the warning .data-write:minigrad.MinigradWarning"
)  # a program does that
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_records_agree(name):
    ours, theirs = (Read(record).aspects() for record in both(name))
    found = {aspect for aspect in ours if not agree(ours[aspect], theirs[aspect])}
    shown = "\n".join(f"{aspect}\n  {ours[aspect]}\n  {theirs[aspect]}" for aspect in found)
    assert found == PROGRAMS[name][2], shown
