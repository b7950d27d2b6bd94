"""Expressions and records that strangers may put into a link: each ends within the budget, with a value or a sentence.

The cost of an expression is counted, not timed: the elements and the calls that it makes bound the time and the memory of a
page.
"""

import re

import pytest

from viz.recompute.library import FOLDER

from .hostile_expressions import DIRECTED, LIST, expressions
from .hostile_expressions import WORK as WORK_SAID
from .node import Page

WORK, CALLS = 2**24, 2**18  # the limits of a link
ONCE = (
    2**25
)  # elements that one step may count before it is refused: a product of two matrices at the limit is 2 ** 22.5


@pytest.fixture(scope="module")
def page():
    with Page(evaluator="attack.mjs") as made:
        yield made


def answer(page, text):
    """Return what an expression gives or says in a page, if it stays within its budget."""
    found = page.ask({"text": text})
    shown = f"{ascii(text)[:200]}: {ascii(found)}"
    assert "crash" not in found and " ms" not in found.get("said", ""), shown
    assert found["work"] <= ONCE and found["calls"] <= CALLS + 1, shown
    assert found.get("gave") != "undefined", shown
    return found


@pytest.mark.parametrize("text", DIRECTED, ids=lambda text: ascii(text)[:40])
def test_an_expression_made_to_hang_a_page_gives_a_value_or_says_which_limit_it_passes(page, text):
    found = answer(page, text)
    words = DIRECTED[text]
    assert ("gave" in found) == (not words) and words in found.get("said", ""), ascii(found)
    assert len(found.get("said", "")) <= 200


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 100))])
def test_random_expressions_end_within_the_budget(page, seed):
    found = [answer(page, text) for text in expressions(seed, 50)]
    assert sum("gave" in one for one in found) >= 1 and sum("said" in one for one in found) >= 1


def test_the_clock_is_a_limit_too(page):
    found = page.ask({"text": "exp(x)", "limits": {"time": -1}})
    assert found["said"] == "the computation takes more than -1 ms"


def test_memory_is_made_in_one_place_which_asks_the_budget():
    made = {
        f"{path.name}: {line.strip()}"
        for path in FOLDER.glob("*.js")
        for line in path.read_text().splitlines()
        if re.search(
            r"new (?!Float32Array\(1\))(\w+Array|Memory)\(|\w+Array\.from\(|constructor\(\w|\.constructor\.from", line
        )
        and not line.startswith("  constructor(")
    }
    assert made == {
        "budget.js: const memory = (Memory, shape) => new Memory(checkedSize(shape));",
        "tensor.js: const bits = new Uint32Array(single.buffer);",
        "record.js: const data = new Memory(Uint8Array.from(atob(content), (c) => c.charCodeAt(0)).buffer);",
    }


def value(i, kind="computed"):
    shown = {"label": f"v{i}", "kind": kind, "shape": [2], "dtype": "float32"}
    return {"id": i, **shown, "summary": {"values": [0.5, 1.5]}}


def record(*steps, **other):
    """Return a record of one input, `x`, with a step for each further value; those above 1000 are not listed."""
    values = [value(0, "input"), *(value(i + 1) for i in range(len(steps)) if "outputs" not in steps[i])]
    made = [{"outputs": [i + 1], "names": {"x": 0}, **step} for i, step in enumerate(steps)]
    empty = {"ops": [], "outputs": [], "gradients": {}, "totals": {}, "tangents": {}, "reads": [], "inside": {}}
    return {"record": {**empty, "values": values, "size": len(values), "steps": made, **other}}


def test_a_step_that_passes_a_limit_keeps_its_number_and_is_not_tried_again(page):
    first, *later = page.ask(record({"text": "x * 1"}, {"text": "exp([[0]*9999]*9999)"}, {"text": "x + 0"}))
    for run in (first, *later):
        assert run["values"] == [0, 1, 2, 3] and set(run["frozen"]) == {"2"} and LIST in run["frozen"]["2"]
    assert all(run["work"] < 100 for run in later)


def test_what_comes_after_the_end_of_the_budget_is_from_the_recorded_run(page):
    first, *later = page.ask(record({"text": "x * 1"}, {"text": "mapped('zeros', [131072]*300)"}, {"text": "x + 0"}))
    assert set(first["frozen"]) == {"2", "3"} and all(WORK_SAID in said for said in first["frozen"].values())
    assert all(set(run["frozen"]) == {"2", "3"} and run["work"] < 100 for run in later)


MANY = range(100_000, 101_000)  # ids that the record does not list
RECORDS = {
    "results of which each is compared": record(*[{"text": "[x]*131072", "outputs": [0] * 1000}] * 100),
    "results that nobody knows": record(*[{"text": "[x]*131072", "outputs": list(MANY)}] * 100),
    "examples of examples": record({"text": "x", "each": [{"x": 0}] * 8}),
    "elements that are read": record(
        *[
            {"text": "x * 1", "outputs": [i], "names": {"x": i - 1 if i > 100_000 else 0}}
            for i in range(100_000, 104_000)
        ],
        reads=[{"value": i, "how": "item", "line": 1} for i in range(100_000, 101_000)],
    ),
    "tensors that are kept": record(
        *[{"text": "full([131072], 0.5)", "outputs": [i]} for i in range(100_000, 104_000)]
    ),
    "lists of tensors": record(*[{"text": "split(x, [0]*131072)", "outputs": [i]} for i in range(100_000, 101_000)]),
    "a circle": record(*[{"text": "x", "outputs": [i], "names": {"x": i + 1}} for i in range(100_000, 104_000)]),
}


QUICK = ("examples of examples", "elements that are read", "a circle")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in RECORDS]
)
def test_a_hostile_record_is_computed_within_the_budget(page, name):
    for run in page.ask(RECORDS[name]):
        assert run["work"] <= ONCE and run["calls"] <= CALLS + 1


def test_the_documentation_states_the_limits_of_a_link():
    (line,) = re.findall(r"const OF_A_LINK = .*", (FOLDER / "budget.js").read_text())
    stated = (FOLDER.parents[1] / "docs" / "viewer.md").read_text()
    limits = [int(base) ** int(power) for base, power in re.findall(r"(\d+) \*\* (\d+)", line)]
    assert len(limits) == 3 and limits[1:] == [WORK, CALLS]
    assert all(f"| {n:,} |" in stated for n in limits)
