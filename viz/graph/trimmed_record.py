"""Parts of a record: the operations behind its outputs, without setup and updates, and JSON without the hidden parts.

A picture begins at the parameters.  The operations that initialize them are setup, those that write them from gradients are
updates: a record contains both, and a picture shows them on request.
"""

from collections import Counter
from itertools import accumulate

from ..view import SHOW
from .backward_passes import total
from .drawn_graph import Graph
from .modules import tensors

FLOWS = ("gradient", "tangent")
FILLS = frozenset(("zero", "fill", "normal", "uniform"))  # in-place operations whose result ignores the earlier content
SCALES = frozenset(("div", "mul"))
ALL = 40  # operations of a program that raised: of a larger one, a picture has those that lead to the error
NOWHERE = {"file": "", "line": 0, "code": "", "function": "", "columns": []}
WRITTEN = ("forward", "update")  # the phases whose operations make the program's values


# ---------------------------------------------------------------------- the part that a picture shows
def leading_to_outputs(record: dict) -> dict:
    """Return the part of a record that its outputs depend on, with the same ids.

    If an output is itself a gradient, as the result of a transform may be, the operations that it differentiates belong to
    the part; an output that is a tangent brings the operation that computed it.  Setup and the last step's updates of the
    parameters stay.

    >>> op = {"phase": "forward", "of": None, "edges": [], "tangents": {}}
    >>> ops = [{**op, "id": i, "inputs": [i], "outputs": [i + 1]} for i in range(3)]
    >>> values = [{"id": i, "kind": "computed", "name": ""} for i in range(4)]
    >>> record = {"program": {"passes": ["forward"]}, "ops": ops, "values": values, "outputs": [2]}
    >>> part = leading_to_outputs({**record, "gradients": {"3": 1}})
    >>> [op["id"] for op in part["ops"]], part["gradients"]
    ([0, 1], {})
    """
    kinds = {value["id"]: value["kind"] for value in record["values"]}
    wanted, kept = set(record["outputs"]), at_error(record)
    flows = [(flow, op) for op in record["ops"] for flow in op["edges"]]
    given = {flow["gives"] for flow, _ in flows} | {v for op in record["ops"] for v in op["outputs"]}
    of = {gradient: int(value) for value, gradient in record["gradients"].items()}
    for gradient in wanted & set(of) - given:  # a sum that the engine made: include its terms
        wanted = wanted | {flow["gives"] for flow, _ in flows if flow["input"] == of[gradient]}
    kept |= {op["id"] for flow, op in flows if flow["gives"] in wanted}
    numbers = numbers_read(record)
    for op in reversed(record["ops"]):
        computed = {v for v in op["outputs"] if kinds[v] != "parameter" or op["edges"] or received(op)}
        results = {*computed, *(op["tangents"][str(v)] for v in op["outputs"] if str(v) in op["tangents"])}
        if op["phase"] != "jvp" and (op["id"] in kept or wanted & results):
            kept |= {op["id"]} | ({op["of"]} if op["of"] is not None else set())
            wanted.update(tensors(op))
            wanted.update(numbers[one["const"]] for one in op["inputs"] if is_read(one, numbers))
            wanted.update(op["outputs"] if op["phase"] == "forward" else ())
    kept |= histories(record, {value for value in wanted if kinds[value] == "parameter"})
    ops = [op for op in record["ops"] if op["id"] in kept or op["of"] in kept]
    wanted.update(value for op in ops for value in op["outputs"])
    gradients = {value: gradient for value, gradient in record["gradients"].items() if int(value) in wanted}
    has = {"forward": True, "backward": any(op["edges"] for op in ops), "jvp": any(op["tangents"] for op in ops)}
    program = {**record["program"], "passes": [name for name in record["program"]["passes"] if has[name]]}
    part = {**record, "program": program, "values": list(record["values"]), "ops": ops, "gradients": gradients}
    if record.get("times"):
        part["times"] = {str(op["id"]): record["times"].get(str(op["id"]), 0.0) for op in ops}
    part = added_up(part, Counter(flow["input"] for flow, _ in flows))
    seen = mentioned(part)
    contents = {value: text for value, text in record.get("contents", {}).items() if int(value) in seen}
    return {**part, "contents": contents, "reads": [read for read in record.get("reads", ()) if read["value"] in seen]}


def at_error(record: dict) -> set[int]:
    """Return the operations from which a picture of an error goes back, besides the roots of a backward that raised.

    They are those that the error names, and, if they are few, all others since the last backward that did not raise.
    """
    if (error := record.get("error")) is None:
        return set()
    raised = len(record["backwards"]) if error["phase"] == "backward" else 0
    past = [op["id"] for op in record["ops"] if op["phase"] == "backward" and op["run"] != raised]
    ran = [op["id"] for op in record["ops"] if op["phase"] == "forward" and op["id"] > max(past, default=-1)]
    return {error["op"], *(i for line in error["lines"] for i in line["ops"]), *(ran if len(ran) <= ALL else ())}


def numbers_read(record: dict) -> dict[float, int]:
    """Return the numbers that Python reads where no gradient passes, each with its value: `x / x.norm().item()`."""
    values = {value["id"]: value.get("summary", {}).get("values") for value in record["values"]}
    read = [one["value"] for one in record.get("reads", ()) if one.get("cut")]
    return {values[v]: v for v in read if isinstance(values[v], float) and not values[v].is_integer()}


def is_read(argument: object, numbers: dict[float, int]) -> bool:
    """Return True for a constant that is one of these numbers."""
    constant = argument.get("const") if isinstance(argument, dict) else None
    return isinstance(constant, float) and constant in numbers


def mentioned(record: dict) -> set[int]:
    """Return the values of a record's operations, and their gradients."""
    found = set(record.get("outputs", ()))
    for op in record["ops"]:
        moving = {int(value): tangent for value, tangent in op.get("tangents", {}).items()}
        edges, pushes = op.get("edges", ()), op.get("pushes", ())
        found.update([*tensors(op), *op["outputs"], *moving, *moving.values()])
        found.update(one["value"] for one in op.get("saved", ()))
        for edge in edges:
            found.update({edge["input"], edge["upstream"], edge["gives"], *edge.get("upstreams", ())} - {None})
        found.update(push["output"] for push in pushes)
        found.update(value for one in (*edges, *pushes) for value in (one.get("names") or {}).values())
        found.update(outer for ran in op.get("inside", ()) for outer in ran["same"].values())
    return found | {gradient for value, gradient in record.get("gradients", {}).items() if int(value) in found}


def with_transfers(record: dict, part: dict) -> dict:
    """Add to a part of a record the collectives from its first operation to the end of its step."""
    kept, setup = {op["id"] for op in part["ops"]}, parts_of(record)
    places = [i for i, op in enumerate(record["ops"]) if op["id"] in kept and op["phase"] != "jvp"]
    is_first = lambda op: op["phase"] == "forward" and setup.get(op["id"]) != "setup"
    begins = [i for i in places if is_first(record["ops"][i])]
    if not begins:
        return part
    after, averages = record["ops"][places[-1] + 1 :], averages_of(record)
    goes_on = lambda op: op["phase"] != "forward" or op["transfers"] or op["id"] in averages
    end = next((i for i, op in enumerate(after) if not goes_on(op)), len(after))
    wanted: set[int] = set()
    for op in reversed(record["ops"][begins[0] : places[-1] + 1 + end]):
        needed = op["transfers"] or op["id"] in averages or not wanted.isdisjoint(op["outputs"])
        if op["phase"] != "jvp" and op["id"] not in kept and needed:
            kept.add(op["id"])
            wanted.update(tensors(op))
    return {**part, "ops": [op for op in record["ops"] if op["id"] in kept or op["of"] in kept]}


def averages_of(record: dict) -> set[int]:
    """Return the operations that multiply or divide the results of collectives outside of the graph by a number.

    They are the averages of gradients: dist.all_reduce(w.grad); w.grad /= dist.get_world_size().
    """
    summed: set[int] = set()
    found: set[int] = set()
    for op in record["ops"]:
        read = set(tensors(op))
        if op.get("transfers") and op["phase"] == "update":
            summed.update(op["outputs"])
        elif op["name"] in SCALES and op["phase"] in WRITTEN and not op.get("edges") and read and read <= summed:
            summed.update(op["outputs"])
            found.add(op["id"])
    return found


def histories(record: dict, parameters: set[int]) -> set[int]:
    """Return the operations that initialize parameters, and those of the following update, or else of the last one."""
    parts, rounds = parts_of(record), rounds_of(record)
    ops = [op for op in record["ops"] if op["id"] in parts]
    update_of = {v: rounds[op["id"]] for op in ops if parts[op["id"]] == "update" for v in op["outputs"]}
    found: set[int] = set()
    following: set[tuple[int, int]] = set()  # values that a later update made, each with its round
    for op in [op for op in ops if op["phase"] == "update" and op["inplace"]]:
        before, after, now = op["inputs"][0], op["outputs"][0], rounds[op["id"]]
        if after not in parameters and (before in parameters or (before, now) in following):
            found.add(op["id"])
            following.add((after, now))
    wanted = {v for v in parameters if not found or v not in update_of}
    for op in reversed(ops):
        if op["id"] in found or not wanted.isdisjoint(op["outputs"]):
            found.add(op["id"])
            wanted |= {v for v in tensors(op) if v not in update_of or update_of[v] == rounds[op["id"]]}
    return found


def rounds_of(record: dict) -> dict[int, int]:
    """Return the number of forward operations before each operation: equal for all writes of one training step."""
    before = accumulate([op["phase"] == "forward" for op in record["ops"]], initial=0)
    return dict(zip([op["id"] for op in record["ops"]], before))


def added_up(part: dict, before: Counter[int]) -> dict:
    """Recompute the gradients of a part of a record from its own contributions; `before` counts those in the whole record."""
    arrives: dict[int, list[int]] = {int(value): [] for value in part["gradients"] if before[int(value)]}
    for op in part["ops"]:
        for flow in op["edges"]:
            arrives.setdefault(flow["input"], []).append(flow["gives"])
    for value, gives in arrives.items():
        if len(gives) == before[value]:
            continue
        if not gives:
            del part["gradients"][str(value)]
        elif (whole := total(part, gives)) is not None:
            part["gradients"][str(value)] = whole
    return part


# ---------------------------------------------------------------------- the parts that a picture hides
def without(record: dict, shown: frozenset[str]) -> dict:
    """Return the record without the operations of setup and updates, unless `shown` names them."""
    parts = parts_of(record)
    hidden = {op for op, part in parts.items() if part not in shown} - averages_of(record)
    if not hidden:
        return record
    travels: set[int] = set()  # values behind the collectives of an update, which stay visible
    for op in reversed(record["ops"]):
        if parts.get(op["id"]) == "update" and (op.get("transfers") or not travels.isdisjoint(op["outputs"])):
            hidden.discard(op["id"])
            travels.update(tensors(op))
    return {**record, "ops": [op for op in record["ops"] if op["id"] not in hidden and op.get("of") not in hidden]}


def parts_of(record: dict) -> dict[int, str]:
    """Return "setup" or "update" for each operation that is one of them, by id.

    Updates are computed from gradients, and written, by a training step; setup leads to parameters and nowhere
    else, or makes a buffer in a module's constructor, or fills a tensor without a history.

    >>> values = [{"id": 0, "kind": "constant"}, {"id": 1, "kind": "parameter"}, {"id": 2, "kind": "computed"}]
    >>> ops = [{"id": i, "phase": "forward", "inputs": [i], "outputs": [i + 1], "edges": []} for i in (0, 1)]
    >>> parts_of({"values": values, "ops": ops, "outputs": [2]})
    {0: 'setup'}
    """
    kinds, rounds = {value["id"]: value["kind"] for value in record["values"]}, rounds_of(record)
    ops = [op for op in record["ops"] if op["phase"] in WRITTEN]
    found: dict[int, str] = {}
    moved = {value for value, kind in kinds.items() if kind == "gradient"}
    travelled: set[int] = set()  # gradients that came from other processes, and values computed from them
    for op in ops:
        came = op["phase"] == "update" and bool(op.get("transfers")) or not travelled.isdisjoint(tensors(op))
        if op["phase"] == "update" and not moved.isdisjoint(tensors(op)) or came and not op.get("edges"):
            found[op["id"]] = "update"
            moved.update(op["outputs"])
            travelled.update(op["outputs"] if came else ())
    into = {(v, rounds[op["id"]]) for op in ops if op["id"] in found for v in tensors(op)}  # inputs of the updates
    for op in reversed(ops):
        if op["phase"] == "update" and any((v, rounds[op["id"]]) in into for v in op["outputs"]):
            found[op["id"]] = "update"
            into |= {(v, rounds[op["id"]]) for v in tensors(op)}
    named = {value["id"] for value in record["values"] if "." in (value.get("name") or "")}
    needed = {v for op in record["ops"] if op["phase"] == "backward" for v in tensors(op)}
    read = needed | {v for op in ops for v in tensors(op)}
    needed |= {value for value in record.get("outputs", ()) if kinds[value] != "parameter"}
    made = {v for op in ops if op.get("edges") for v in op["outputs"]}  # with a history
    for op in reversed(ops):
        if op["id"] in found or received(op):
            needed.update(tensors(op) if op["id"] not in found else ())
            continue
        begins = lambda v: kinds[v] == "parameter" or v in named and built(op) or v in read and v not in needed
        begun = [begins(v) for v in op["outputs"]]
        filled = op.get("name") in FILLS and op.get("inplace") and made.isdisjoint(tensors(op))
        if (filled or begun and all(begun)) and not op.get("edges"):
            found[op["id"]] = "setup"
        else:
            needed.update(tensors(op))
    return found


def built(op: dict) -> bool:
    """Return True if a constructor runs an operation, as those that make the buffers of a module."""
    return ((op.get("where") or {}).get("function") or "").endswith("__init__")


def received(op: dict) -> bool:
    """Return True if an operation receives a message, so the tensor that it writes to has a history."""
    return any(transfer["number"] is None for transfer in op.get("transfers", ()))


def document(record: dict, whole: Graph, graph: Graph) -> dict:
    """Return the record of a graph without the hidden parts; an entry with `folded` replaces the operations of each box."""
    if graph is not whole:
        paths = {op["id"]: op.get("module", []) for op in record["ops"]}  # as recorded: with the class of the outermost
        ops = [{**op, "module": paths[op["id"]][: len(op.get("module", []))]} for op in graph.record["ops"]]
        record = {**record, "ops": ops}
    hidden = frozenset(SHOW) - graph.view.show
    if not hidden:
        return record
    values = [_value(value, hidden) for value in record["values"]]
    ops = [_op(op, hidden) for op in record["ops"]]
    gradients = {} if "grads" in hidden else record["gradients"]
    contents = {} if "shapes" in hidden else record.get("contents", {})
    kept = {str(value["id"]) for value in values if value["summary"]}
    less = {"contents": {value: text for value, text in contents.items() if value in kept}}
    less |= {"reads": [{**read, "where": NOWHERE} for read in record.get("reads", ())]} if "lines" in hidden else {}
    return {**record, "values": values, "ops": ops, "gradients": gradients, **less}


def _value(value: dict, hidden: frozenset[str]) -> dict:
    """Remove a value's numbers, or its shape, dtype and bytes."""
    if ("grads" if value["kind"] in FLOWS else "values") in hidden:
        value = {**value, "summary": {}}
    if "maps" in hidden and "grid" in (value.get("summary") or {}):
        value = {**value, "summary": {key: part for key, part in value["summary"].items() if key != "grid"}}
    return {**value, "shape": [], "dtype": "", "bytes": 0} if "shapes" in hidden else value


def _op(op: dict, hidden: frozenset[str]) -> dict:
    """Remove an operation's saved tensors, its gradients and tangents, or its line."""
    less: dict = {"saved": []} if "saved" in hidden else {}
    less |= {"edges": [], "tangents": {}} if "grads" in hidden else {}
    if "lines" in hidden:
        less |= {"where": NOWHERE, "inside": [_without_lines(ran) for ran in op.get("inside", ())]}
    return {**op, **less}


def _without_lines(ran: dict) -> dict:
    """Return a method without the lines of its operations and reads."""
    ops = [_op(op, frozenset({"lines"})) for op in ran["ops"]]
    return {**ran, "ops": ops, "reads": [{**read, "where": NOWHERE} for read in ran.get("reads", ())]}
