"""The check of a record from a link, run in Node: every record that minigrad makes passes it unchanged."""

import base64
import json
import subprocess

import pytest

import minigrad
from minigrad import nn
from minigrad.ops.base.registry import TABLE
from tests.recompute.node import node
from tests.recompute.sayings import recorded as sample_of
from tests.table import NAMES
from viz.graph.drawn_graph import Graph
from viz.ranks.merge import merged
from viz.viewer import assembled
from viz.viewer.links import shared_data

from .. import records
from . import programs
from .linked import text

ASK = """
const lines = require("fs").readFileSync(0, "utf-8").split("\\n").filter(Boolean);
for (const line of lines) {
  let answer;
  try { answer = { made: checked(JSON.parse(line)) }; } catch (error) { answer = { error: error.message }; }
  console.log(JSON.stringify(answer));
}
"""


def answers(folder, texts):
    """Return for each text of a record what the check makes of it: {"made": a copy} or {"error": a sentence}."""
    script = folder / "check.js"
    script.write_text("const live = null;\n" + assembled(("link_text", "checks")) + ASK)
    done = subprocess.run([node(), str(script)], input="\n".join(texts), capture_output=True, text=True, timeout=300)
    assert not done.stderr, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def unchanged(folder, texts):
    """Check that the records of these texts pass with all that a page uses."""
    found = answers(folder, texts)
    assert len(found) == len(texts) > 0
    for given, answer in zip(map(json.loads, texts), found):
        assert "error" not in answer, answer["error"]
        for op in given["live"]["ops"] if isinstance(given.get("live"), dict) else ():
            op["inputs"] = [one if isinstance(one, int) else {} for one in op["inputs"]]
            op["pushes"] = [{key: one[key] for key in ("output", "formula", "names")} for one in op["pushes"]]
        assert answer["made"] == given


def model_record():
    minigrad.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return programs.recorded(lambda x: layer(x).sum(), minigrad.randn(2, 3, 8))


MADE = {
    "two uses": records.two_uses,
    "layers": records.mlp,
    "odd numbers": records.odd,
    "a loop": records.recurrent,
    "a chain": lambda: programs.chain(1000),
    "two processes": lambda: merged([programs.branches_record(), programs.loop_record()], apart=True),
    "a model": model_record,
}


@pytest.mark.parametrize("name", MADE)
def test_a_record_passes_unchanged(tmp_path, name):
    unchanged(tmp_path, [shared_data(Graph(MADE[name]()))])


def test_records_of_functions_pass_unchanged_with_and_without_contents(tmp_path):
    graphs = [Graph(programs.recorded(programs.branches, minigrad.tensor(0.7), minigrad.tensor(-1.3)))]
    unchanged(tmp_path, [text("cube"), text("entropy"), *(shared_data(one, source=True) for one in graphs)])
    unchanged(tmp_path, [shared_data(one, contents=False) for one in graphs])


@pytest.mark.slow
def test_records_of_all_operations_pass_unchanged(tmp_path):
    # any bytes: integers above 2 ** 53 are not JavaScript's
    names = [name for name in NAMES if not name.startswith("empty")]
    made = [sample_of(TABLE[name], sample, "float64") for name in names for sample in TABLE[name].samples]
    documents = [one[0] if isinstance(one, tuple) else one for one in made]
    unchanged(tmp_path, [shared_data(Graph(one if isinstance(one, dict) else one.to_dict())) for one in documents])


def test_errors_give_the_place(tmp_path):
    made = json.loads(text("cube"))
    made["ops"][1]["in"] = [0, 99]
    assert answers(tmp_path, [json.dumps(made)]) == [{"error": "ops[1].in[1]: 99 is not a value"}]


def test_changed_contents_fit_their_values(tmp_path):
    def with_changes(now):
        return json.dumps(json.loads(text("branches")) | {"now": now})

    number = base64.b64encode(bytes(4)).decode()
    assert "now" in answers(tmp_path, [with_changes({"0": number})])[0]["made"]
    assert answers(
        tmp_path, [with_changes({"0": number[:4]}), with_changes({"99999": number}), with_changes({"x": number})]
    ) == [
        {"error": "now.0: the content is not that of 1 elements"},
        {"error": "now.99999: it is not a value with which the page computes"},
        {"error": 'now: "x" is not a number in range'},
    ]
