"""Pictures of several processes: their records merged, lanes, collectives across them, messages, timelines."""

import json

import pytest

import minigrad
import viz
from minigrad.record.validate import NotARecord, validate
from tests.distributed.ranks import needs_mpi
from viz.cards.parts import Bar
from viz.figures import timeline_of_ranks
from viz.ranks.merge import merged
from viz.ranks.timeline import spans, trace

from . import rank_programs as programs
from .rank_programs import command, record

ALL = ("forward", "backward", "jvp")


def ops(document, name, phase="forward"):
    return [op for op in document["ops"] if op["name"] == name and op["phase"] == phase]


def values(document, ids):
    held = {value["id"]: value["summary"]["values"] for value in document["values"]}
    return [held[i] for i in ids]


@needs_mpi
def test_a_step_of_training_is_one_record():
    made = record(programs.STEP, 2, "--lanes", "each")
    validate(made)
    assert made["lanes"] == [{"ranks": [0]}, {"ranks": [1]}] and made["program"]["passes"] == list(ALL)
    (reduced,) = ops(made, "AllReduce")
    assert reduced["lanes"] == [0, 1] and [t["rank"] for t in reduced["transfers"]] == [0, 1]
    assert {(t["name"], t["bytes"], *t["ranks"]) for t in reduced["transfers"]} == {("all_reduce", 4, 0, 1)}
    assert values(made, reduced["outputs"])[0] == pytest.approx(sum(values(made, reduced["inputs"][::2])))
    (backward,), (jvp,) = ops(made, "AllReduce", "backward"), ops(made, "AllReduce", "jvp")
    assert len({t["number"] for op in (reduced, backward, jvp) for t in op["transfers"]}) == 3
    assert all(t["began"] <= t["waited"] <= t["done"] for t in backward["transfers"])
    (mean,) = ops(made, "all_reduce", "update")
    gradients = [made["gradients"][str(v["id"])] for v in made["values"] if v["name"] == "w" and v["kind"] == "parameter"
                 and str(v["id"]) in made["gradients"]]  # fmt: skip
    assert mean["inputs"] == gradients
    of_ranks = values(made, mean["inputs"])
    assert values(made, mean["outputs"]) == [pytest.approx([sum(pair) / 2 for pair in zip(*of_ranks)])] * 2
    assert all(
        isinstance(i, dict) or made["values"][i]["lanes"] == op["lanes"]
        for op in ops(made, "mul")
        for i in op["inputs"]
    )


@needs_mpi
def test_the_division_of_a_sum_of_gradients_by_the_number_of_ranks_is_drawn():
    made = record(programs.AVERAGE, 2)
    validate(made)
    (mean,) = [op for op in made["ops"] if op["name"] == "div"]
    (summed,) = ops(made, "all_reduce", "update")
    assert mean["inputs"][0] == summed["outputs"][0] and mean["inputs"][1] == {"const": 2}
    assert values(made, mean["outputs"]) == [[1.5, 1.5]]
    graph = viz.draw(made).graph
    (node,) = [node for node in graph.nodes if node.is_op and node.record["name"] == "div"]
    assert [edge.source.record["name"] for edge in node.inputs] == ["all_reduce"]


@needs_mpi
def test_a_collective_says_that_data_parallel_training_divides_first():
    made = record(programs.PARALLEL, 2)
    validate(made)
    (mean,) = ops(made, "all_reduce", "update")
    assert [t["divisor"] for t in mean["transfers"]] == [2, 2]
    assert values(made, mean["outputs"])[0] == [1.0] and values(made, mean["outputs"])[1] == [[1.5, 1.5]]
    assert "each rank's gradients / 2, then their sum" in viz.draw(made).text()


@needs_mpi
@pytest.mark.parametrize("lanes", ["same", "each"])
def test_the_reduction_leads_into_grad_and_the_update_is_arithmetic_in_the_backward_picture(lanes):
    step = "torch.optim.SGD(net.parameters(), lr=0.1).step()\n"
    made = record(
        programs.PARALLEL + step, 2, "--show", "all,update", *(["--lanes", "each"] if lanes == "each" else [])
    )
    drawing = viz.draw(made, passes=("forward", "backward"), show=["all", "update"])
    done = [node for node in drawing.graph.nodes if node.is_op]
    update = [node for node in done if node.record["name"] == "update of net.module.weight"]
    assert len(update) == (2 if lanes == "each" else 1)
    assert not any(node.is_op and node.record["name"] == "copy" for node in drawing.graph.nodes)
    (weight, gradient) = update[0].inputs
    assert gradient.source.record["name"] == "all_reduce" and not weight.source.is_op
    assert drawing.graph.name(gradient.value) == "net.module.weight.grad"
    assert "net.module.weight -= 0.1 * net.module.weight.grad" in drawing.text()
    pages = drawing.pictures()
    assert ["all_reduce" in str(page.items) for page in pages.values()] == [False, True]
    edges = {
        edge.id: edge.items[0].look
        for group in pages["backward"].items
        for edge in group.items
        if "edge" in group.classes
    }
    assert edges[gradient.key] == "edge-backward" and edges[weight.key] == "edge"


@needs_mpi
def test_ranks_that_do_the_same_share_a_lane():
    made = record(programs.APART, 3)
    assert made["lanes"] == [{"ranks": [0]}, {"ranks": [1, 2]}]
    (reduced,) = ops(made, "AllReduce")
    assert len(reduced["inputs"]) == 4 and [t["rank"] for t in reduced["transfers"]] == [0, 1, 2]
    labels = [value["label"] for value in made["values"]]
    assert len(set(labels)) == len(labels)
    text = viz.draw(made, passes=ALL).text()
    assert "ranks 1, 2 (values of rank 1):" in text and "ranks 1, 2: total = [" in text and "_r1" not in text
    assert "rank 0: waited" in text and "ranks 1, 2: waited" in text


@needs_mpi
@pytest.mark.parametrize("program", ["STEP", "SPLIT", "PIPE", "APART"])
def test_every_format_draws_ranks(program):
    drawing = viz.draw(record(getattr(programs, program), 2, "--lanes", "each"), passes=ALL)
    for made in (drawing.svg(), drawing.html(), drawing.tex(), drawing.dot(), drawing.mermaid(), drawing.text()):
        assert "rank 0" in made and "rank 1" in made and "waited" in made
    assert "rank 1" in drawing.film()
    validate(json.loads(drawing.json()))


@needs_mpi
def test_a_bar_lies_across_its_lanes_and_nothing_else_does():
    drawing = viz.draw(record(programs.SPLIT, 2, "--lanes", "each"), passes=("backward",))
    graph, cards, placed = drawing.placed
    (bar,) = [card for card in cards.values() if isinstance(card, Bar)]
    frames = [(x, x + wide) for _, (x, _), (wide, _) in placed.lanes]
    x, y = placed.corners[bar.node.key]
    assert frames[0][0] < x < frames[0][1] < frames[1][0] < x + bar.width < frames[1][1]
    for key, card in cards.items():
        left, top = placed.corners[key]
        if card is not bar:
            (lane,) = card.node.lanes
            assert frames[lane][0] <= left and left + card.width <= frames[lane][1]
            assert top + card.along <= y or top >= y + bar.along
    assert len(placed.over) == 2  # x, past the collective, in each lane
    for edge in graph.edges:
        assert (
            abs(
                placed.routes[edge.key][0][0]
                - placed.corners[edge.source.key][0]
                - cards[edge.source.key].exit(edge.port)
            )
            < 1
        )
    assert "all_reduce(g)" in drawing.svg()


@needs_mpi
def test_a_folded_box_lies_in_one_lane():
    made = record(programs.SPLIT, 2, "--lanes", "each")
    graph = viz.draw(made, passes=("backward",), depth=0, max_nodes=8).graph
    assert {len(node.lanes) for node in graph.nodes if node.kind == "fold"} == {1}
    assert [node.lanes for node in graph.nodes if node.kind == "transfer"] == [(0, 1)]


@needs_mpi
def test_what_is_sent_leads_to_what_receives_it_and_its_gradient_back():
    made = record(programs.PIPE, 2)
    (sender,), (receiver,) = ops(made, "Send"), ops(made, "Recv")
    assert (sender["lanes"], receiver["lanes"]) == ([0], [1])
    (message,) = receiver["inputs"]
    assert message in sender["outputs"] and values(made, [message]) == values(made, receiver["outputs"])
    (flow,) = receiver["edges"]
    assert (
        values(made, [flow["gives"]])
        == values(made, [made["gradients"][str(receiver["outputs"][0])]])
        == [[[4.0, 4.0]]]
    )
    (back,) = sender["edges"]
    assert values(made, [back["gives"]]) == [[[4.0, 4.0]]]


@needs_mpi
def test_messages_by_hand_are_joined_and_a_rank_may_lack_the_name():
    made = record(programs.BY_HAND, 2)
    (first, second), (there, back) = (
        ops(made, "send", "update") + ops(made, "send"),
        ops(made, "recv") + ops(made, "recv", "update"),
    )
    by_lane = {op["lanes"][0]: op for op in (first, second)}
    assert set(there["inputs"]) <= set(by_lane[0]["outputs"]) and set(back["inputs"]) <= set(by_lane[1]["outputs"])
    (product,) = [op for op in ops(made, "matmul") if op["lanes"] == [1]]
    assert product["inputs"][0] in there["outputs"]  # what came became a leaf


@needs_mpi
def test_messages_arrive_in_the_order_in_which_their_sends_began():
    made = record(programs.OVERTAKEN, 2)
    sends = ops(made, "send", "update") + ops(made, "send")
    sent = {message: op["inputs"] for op in sends for message in op["outputs"]}
    received = ops(made, "recv") + ops(made, "recv", "update")
    assert [values(made, sent[op["inputs"][-1]]) for op in received] == [values(made, op["outputs"]) for op in received]
    assert len(received) == 2


@needs_mpi
def test_what_comes_from_any_rank_is_joined_to_the_send_that_it_came_from():
    made = record(programs.FROM_ANY, 3, "--lanes", "each")
    senders = {message: op for op in ops(made, "send") for message in op["outputs"]}
    received = ops(made, "recv")
    assert sorted(senders[op["inputs"][0]]["lanes"][0] for op in received) == [1, 2]
    for op in received:
        sender = senders[op["inputs"][0]]
        assert op["transfers"][0]["peer"] == sender["lanes"][0]
        assert values(made, op["outputs"]) == values(made, sender["inputs"])
    assert "from rank 2" in viz.draw(made).svg()


@needs_mpi
def test_the_timeline_of_ranks(tmp_path):
    made = record(programs.STEP, 2, "--lanes", "each")
    figure = timeline_of_ranks(made)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["rank 0", "rank 1"]
    events = trace(made)["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1}
    begun, ended = ([e for e in events if e["ph"] == sign] for sign in "be")
    assert len(begun) == len(ended) == 2 * 4 and all(a["ts"] <= b["ts"] for a, b in zip(begun, ended))
    for times in made["timeline"]:
        program = [span for span in spans(times) if span.kind != "communicating"]
        assert all(a.end == b.begin for a, b in zip(program, program[1:]))
        waited = sum(span.end - span.begin for span in program if span.kind == "waiting")
        assert waited == pytest.approx(sum(t["done"] - t["waited"] for t in times["transfers"]))
    with pytest.raises(ValueError, match="one process"):
        timeline_of_ranks({**made, "timeline": []})
    (tmp_path / "prog.py").write_text(programs.STEP)
    done = command(tmp_path, "render", "prog.py:loss", "--ranks", "-n", 2, "--timeline", "-o", "when.svg")
    assert done.returncode == 0 and "rank 1" in (tmp_path / "when.svg").read_text(), done.stderr


@needs_mpi
@pytest.mark.parametrize("command", ["render", "run"])
def test_a_rank_that_fails_ends_the_command_on_all(tmp_path, command):
    (tmp_path / "prog.py").write_text(programs.FAILS)
    if command == "run":
        done = programs.started(tmp_path, 2, "run", "prog.py")
    else:
        done = programs.command(tmp_path, "render", "prog.py:loss", "--ranks", "-n", 2)
    assert done.returncode and not list(tmp_path.glob("*.svg"))
    assert "ValueError: only here" in done.stderr and "rank 1 of 2 has failed" in done.stderr
    assert done.stderr.index("ValueError: only here") < done.stderr.index("rank 0 has waited")


@needs_mpi
def test_a_rank_that_has_ended_answers_those_that_wait_for_it(tmp_path):
    (tmp_path / "prog.py").write_text(programs.ENDS_EARLY)
    done = programs.started(tmp_path, 2, "render", "prog.py:loss", "--ranks")
    assert done.returncode and not list(tmp_path.glob("*.svg"))
    assert "rank 0 has finished its program, so all_reduce(float32 (2,), ReduceOp.SUM) can never finish" in done.stderr


@needs_mpi
def test_a_function_cannot_be_drawn_on_several_processes(tmp_path):
    (tmp_path / "prog.py").write_text(programs.BEGIN + "def loss(x):\n    return x * x\n")
    done = programs.started(tmp_path, 2, "render", "prog.py:loss", "--ranks")
    assert done.returncode == 2 and "loss in prog.py is a function; --ranks needs a tensor" in done.stderr


def test_records_of_single_programs_merge():
    """Lanes need no processes: records that differ stand side by side, and equal ones fold."""
    one = minigrad.record(lambda x: x.sin(), minigrad.tensor(1.0), passes=ALL).to_dict()
    other = minigrad.record(lambda x: x.sin().exp(), minigrad.tensor(2.0), passes=ALL).to_dict()
    made = merged([one, other, one])
    validate(made)
    assert made["lanes"] == [{"ranks": [0, 2]}, {"ranks": [1]}]
    assert [op["lanes"] for op in made["ops"] if op["phase"] == "forward"] == [[0], [1], [1]]
    assert viz.draw(made, passes=ALL).graph.passes == list(ALL)
    apart = merged([one, one], apart=True)
    assert [lane["ranks"] for lane in apart["lanes"]] == [[0], [1]]
    with pytest.raises(NotARecord, match=r"ops\[0\].lanes\[0\]: 7 is not a lane"):
        validate({**made, "ops": [{**made["ops"][0], "lanes": [7]}, *made["ops"][1:]]})


def test_a_lane_of_several_ranks_says_whose_values_it_shows():
    one = minigrad.record(lambda x: x.sin(), minigrad.tensor(1.0), passes=ALL).to_dict()
    drawing = viz.draw(merged([one, one]), passes=ALL)
    title = "ranks 0, 1 (values of rank 0)"
    for made in (drawing.svg(), drawing.film(), drawing.html(), drawing.tex(), drawing.dot(), drawing.text()):
        assert title in made
    assert title in drawing.mermaid()
    alone, shapes = viz.draw(merged([one])), viz.draw(merged([one, one]), show="shapes")
    assert "values of" not in alone.svg() + alone.text() and "values of" not in shapes.svg() + shapes.text()


def test_collectives_in_contrary_orders_still_merge():
    """A record that no program can have made is drawn as far as it goes."""
    one = minigrad.record(lambda x: x.sin().cos(), minigrad.tensor(1.0), passes=("forward",)).to_dict()

    def communicating(numbers, rank):
        transfer = {"name": "all_reduce", "words": "all_reduce()", "group": 0, "ranks": [0, 1], "peer": None, "tag": 0,
                    "bytes": 4, "label": "", "rank": rank, "began": 0.0, "waited": 0.0, "done": 1.0}  # fmt: skip
        ops = [{**op, "transfers": [{**transfer, "number": n}]} for op, n in zip(one["ops"], numbers)]
        return {**one, "ops": ops}

    made = merged([communicating((1, 2), 0), communicating((2, 1), 1)], apart=True)
    validate(made)
    assert sorted(len(op["lanes"]) for op in made["ops"]) == [1, 1, 2]


def test_a_record_of_one_process_has_no_transfers():
    made = minigrad.record(lambda x: x * x, minigrad.tensor(1.0)).to_dict()
    assert all(op["transfers"] == [] for op in made["ops"]) and "lanes" not in made


def test_the_command_is_started_again_without_its_number():
    from viz.ranks.start import without_number

    assert without_number(["render", "a.py:x", "--ranks", "-n", "3", "-o", "x.svg"]) == [
        "render",
        "a.py:x",
        "--ranks",
        "-o",
        "x.svg",
    ]
    assert without_number(["render", "a.py:x", "-n=3", "--", "-n", "1"]) == ["render", "a.py:x", "--", "-n", "1"]


@needs_mpi
def test_a_program_that_imports_torch_computes_with_minigrad(tmp_path):
    program = programs.STEP.replace("minigrad as torch", "torch").replace("minigrad.", "torch.")
    (tmp_path / "prog.py").write_text(program)
    done = programs.started(tmp_path, 2, "render", "prog.py:loss", "--ranks", "-o", "prog.json")
    assert done.returncode == 0, done.stderr
    assert "all_reduce" in (tmp_path / "prog.json").read_text()
