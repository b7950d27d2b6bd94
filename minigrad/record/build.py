"""Turn a recording into the document of the schema: renumber values and operations in program order, choose names, and list
the tensors that each operation saves and the operation that frees them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays.meta import is_meta
from ..core.tensor import wrap
from ..formulas.terms import Terms
from ..kernels import formula
from . import schema
from .assignments import Handed, name_variables
from .callers import module_classes
from .constants import brief
from .contents import contents_of
from .cuts import reason, with_derivatives
from .failure import Failed
from .gradient_flow import Run
from .inner_calls import Inside, named_by_author
from .labels import Frame, Labels, is_state, tangents_of
from .method_formulas import compose
from .reads import reads_of
from .summary import summary
from .values import Event, Flow, OpEntry, ValueInfo, refs_in

if TYPE_CHECKING:
    from .recorder import Record

SEVERAL = object()  # instead of the only group that reads a value
NO_ENDS: tuple[list, list] = ([], [])  # shared by all groups without events


class Counted(dict):
    """A dict that numbers its keys in the order of first access."""

    def __missing__(self, key: int) -> int:
        self[key] = number = len(self)
        return number


class Numbers:
    """Numbers in program order: a value gets its number in the document when it is first mentioned."""

    def __init__(self, rec: Record):
        self.rec, self.noted = rec, rec.values
        self.new: dict[int, int] = Counted()
        groups = [g for g in rec.groups if g.events or g.phase == "backward" or g.transfers]
        self.ops = {g: i for i, g in enumerate(groups)}
        self.constants = constants(groups, rec)
        # by run of the engine and value: the gradient that arrived there, and the operations that it came from
        self.arrived = {(run, value): g for group in groups for run, value, g in group.upstreams}
        self.came_from: dict[tuple, set] = {}
        self.flows: dict[OpEntry, list] = {}
        self.differentiated = {run.number for run in rec.runs if run.differentiated}
        self.tracked = set() if rec.in_method else with_derivatives(rec)
        for group in groups:
            for flow in group.edges:
                self.came_from.setdefault((flow.run, flow.value), set()).add(group)

    def whole(self, flow: Flow) -> Flow:
        """Return a flow with the gradient that arrived at its value, if all of that came from the flow's operation."""
        arrived = self.arrived.get((flow.run, flow.value))
        several = len(self.came_from[flow.run, flow.value]) > 1
        return flow if arrived is None or several else flow._replace(gives=arrived)

    def __call__(self, ref: Any) -> Any:
        """Return a reference of the recording as one of the document."""
        return schema.jsonable(ref) if type(ref) is dict else self.new[ref]

    def maybe(self, ref: int | None) -> int | None:
        """Return the same; None for None."""
        return None if ref is None else self.new[ref]

    def values(self) -> list:
        """Return the mentioned values, ordered by their new numbers."""
        return [value(self.noted[old], new) for old, new in self.new.items()]


def numbered(
    rec: Record, contents: bool = False, shown: Sequence[Run] | None = None
) -> tuple[schema.Document, Numbers]:
    """Return the document of a recording, possibly with contents of values, and the numbers of its values there.

    `shown` are the backward passes to which the document's gradients belong, instead of all.
    """
    draft = drafted(rec, shown)
    draft.named.finish()
    write_texts(draft)
    draft.document.contents = contents_of(rec, draft.document, draft.number) if contents else {}
    return draft.document, draft.number


class Draft(NamedTuple):
    """A document without numbered labels and texts, and the drafts of the methods of its custom Functions."""

    rec: Record
    document: schema.Document
    number: Numbers
    sides: dict[OpEntry, tuple[list, list]]
    named: Labels
    frames: list[tuple[schema.Op, Inside, Draft]]


def drafted(rec: Any, shown: Sequence[Run] | None = None, results: Collection[int] | None = None) -> Draft:
    """Return the draft of a recording's document; names prefer values that lead to its outputs, or to other `results`.

    The recording is a Record, or that of a PyTorch program (viz/pytorch).
    """
    rec.settle()
    rec.note_unseen_writes()
    rec.weigh()
    rec.take_back()
    number = Numbers(rec)
    ids, groups = number.ops, list(number.ops)
    used = consumed(groups, rec.outputs)
    sides = {g: ends(g, used, number.constants) for g in groups}
    if travels := [g for g in groups if g.transfers and not g.function]:
        leaves = {id(v.array): v.index for v in rec.values if v.kind == "parameter"}
        for g in travels:  # a received tensor may have become a leaf since, by h.requires_grad_()
            inputs, outputs = sides[g]
            sides[g] = inputs, [o if o in used else leaves.get(id(rec.values[o].array), o) for o in outputs]
    # operation -> its entry in the pass that frees its saved tensors
    freeing = {g.of: ids[g] for g in reversed(groups) if g.of is not None and not g.again and not rec.keeps(g.run)}
    ops = [entry(g, ids, sides, number, freeing.get(g)) for g in groups]
    for ref in [r for g in groups if g.given for r in refs_in(list(g.given.values()))]:
        number(ref)  # arguments can also be values used only for their shape, as in x.view_as(y)
    tangents = tangent_entries(groups, ids, sides, number, len(ops))
    ops += tangents
    outputs = [number(o) for o in rec.outputs]
    found = rec.gradients_in(rec.runs if shown is None else shown)
    shown = rec.shown_runs() if shown is None else shown
    gradients = {number(v): number(g) for v, g in sorted(found.items()) if v in number.new}
    backwards = [backward(run, run in shown, number, number.new) for run in rec.runs]
    grads = [
        schema.Accumulation(number(one.value), one.run, *map(number.maybe, one[2:]))
        for one in rec.accumulations
        if one.value in number.new
    ]
    passes = [p for p, ran in (("forward", True), ("backward", rec.ran_backward), ("jvp", rec.ran_jvp)) if ran]
    program: dict[str, Any] = {"file": rec.file, "name": rec.program_name, "passes": passes}
    if classes := module_classes(rec.module_paths, (g.modules for g in groups)):
        program["classes"] = classes
    settle_phases(ops)
    times = times_of(rec, ids, tangents)
    document = schema.Document(
        program, number.values(), ops, outputs, gradients, times, backwards=backwards, grads=grads
    )
    document.reads = list(reads_of(rec, number))
    document.error = None if rec.failure is None else rec.failure.entry(ids, number.new)
    moved = set(tangents_of(ops).values())
    for v in document.values:  # the directions of a jacfwd, but not a tangent that the program has in a variable
        v.kind = "tangent" if v.kind == "input" and not v.name and v.id in moved else v.kind
    frames = [(ops[ids[g]], ran, drafted(ran.record, results=())) for g, ran in insides(rec) if g in ids]
    named = begun_labels(rec, document, number, outputs if results is None else results)
    named.frames += [Frame(op, ran.name, inner.named) for op, ran, inner in frames]
    return Draft(rec, document, number, sides, named, frames)


def backward(run: Run, shown: bool, number: Callable, known: Container) -> schema.Backward:
    """Return a backward pass of the document; `number` tells the number of a value that is `known` there."""
    roots = [(root, seed) for root, seed in zip(run.roots, run.seeds) if root in known and seed in known]
    gradients = dict(sorted((number(v), number(g)) for v, g in run.gradients.items() if v in known))
    return schema.Backward(
        run.number,
        [number(root) for root, _ in roots],
        [number(seed) for _, seed in roots],
        run.where,
        run.keep,
        run.create,
        run.within,
        run.differentiated,
        shown,
        gradients,
    )


def times_of(rec: Record, ids: dict[OpEntry, int], tangents: list[schema.Op]) -> dict[int, float]:
    """Return the seconds of each operation of the document, in nanoseconds' precision; nothing without a clock."""
    found = {ids[g]: time for g, time in rec.times.items() if g in ids}
    pushing = {ids[g]: time for g, time in rec.pushing.items() if g in ids}
    found |= {op.id: pushing[op.of] for op in tangents if op.of in pushing}
    return {id: round(time, 9) for id, time in sorted(found.items())}


def settle_phases(ops: list[schema.Op]) -> None:
    """Move operations without grad after a backward that lead to no write, such as an accuracy, to the forward phase."""
    needed: set[int] = set()
    for op in reversed(ops):
        if op.phase == "update":
            if op.inplace or op.transfers or not needed.isdisjoint(op.outputs):
                needed.update(v for v in op.inputs if isinstance(v, int))
            else:
                op.phase = "forward"


def begun_labels(rec: Record, document: schema.Document, number: Numbers, results: Collection[int]) -> Labels:
    """Set the names of values, and return the labels of the document as far as they follow from these."""
    handed = [Handed(where, [number.new.get(i) for i in values]) for where, values in rec.handed]
    name_elements(document, number, schema.LEAVES)
    name_variables(document.values, document.ops, handed)
    name_elements(document, number, (*schema.LEAVES, "computed"))
    program = [document.ops[i] for group, i in number.ops.items() if group.events]
    custom = [(group.events[0].cls, i) for group, i in number.ops.items() if group.function and group.events]
    return choose_labels(document, program, results, identities(number), custom)


def name_elements(document: schema.Document, number: Numbers, kinds: Collection[str]) -> None:
    """Name the values of some kinds that have no name after the element of a container that they are."""
    for old, new in number.new.items():
        v = document.values[new]
        v.name = v.name or number.noted[old].element if v.kind in kinds else v.name


def identities(number: Numbers) -> dict[int, int]:
    """Return the identity of the array of each value that was not written since: records of methods have the same arrays."""
    noted = {new: number.noted[old] for old, new in number.new.items()}
    return {new: one.identity for new, one in noted.items() if one.array is not None and not one.is_past}


def write_texts(draft: Draft) -> None:
    """Write the texts of operations and edges, which use the labels, and the methods of custom Functions."""
    rec, document, number, sides, named, frames = draft
    wording = rec.wording(rec, number, named)
    for op, ran, inner in frames:
        write_texts(inner)
        op.inside.append(method(ran, inner, rec, number))
    for group, i in number.ops.items():
        wording.write(document.ops[i], group, derivative_flows(group, number), *sides[group])
    named.number_saved()
    for op in [op for op in document.ops if op.inside]:
        compose(op, document.values)


def behind(ops: Sequence[schema.Op], results: Collection[int], parameters: set[int]) -> list[schema.Op]:
    """Return the operations that results are computed by, also through gradients, but not those that fill `parameters`.

    These are the initialization and earlier training steps.  Without results, return all operations of the passes.
    """
    found = []
    read, differentiated = set(results), set()
    for op in reversed(ops):
        leads = not results or op.id in differentiated or not read.isdisjoint(op.outputs)
        fills = op.outputs and parameters.issuperset(op.outputs) and (op.inplace or not op.edges)
        leads = leads and not fills
        if leads and op.phase in ("forward", "backward"):
            found.append(op)
            read.update(tensors(op))
            differentiated.update([] if op.of is None else [op.of])
    return found


def tensors(op: schema.Op) -> set[int]:
    """Return the values that an operation reads."""
    return {v for v in op.inputs if isinstance(v, int)}


def choose_labels(
    document: schema.Document,
    program: Iterable[schema.Op],
    results: Collection[int],
    same: Mapping[int, Any],
    custom: Iterable[tuple[Any, int]],
) -> Labels:
    """Return the labels of a document. Values that lead to none of its `results` have the last numbers.

    Values that are the `same` in records of methods have the same name there. The authors of `custom` Functions, which are
    given with the numbers of their operations, name what these save.
    """
    parameters = {v.id for v in document.values if v.kind == "parameter"}
    leading = behind(document.ops, results, parameters)
    read = set(results).union(*map(tensors, leading))
    shown = read.union(*[op.outputs for op in leading])
    end = max([op.id for op in leading], default=0)
    late = {o for op in document.ops if op.id > end for o in op.outputs}
    others = written_over(document.values, read, late)
    named = Labels(document.values, program, others, {v.id for v in document.values} - shown, same)
    saved = {
        value: name
        for cls, i in custom
        for value, name in named_by_author(cls.forward, cls.setup_context, document.ops[i].saved).items()
    }
    owned = [*document.gradients.items(), *(pair for one in document.backwards for pair in one.gradients.items())]
    named.begin(document.ops, owned, saved, [(one.value, one.after) for one in document.grads])
    return named


def written_over(values: list[schema.Value], read: set[int], late: set[int]) -> set[int]:
    """Return the contents of parameters and buffers other than those that are `read`, or else the last that is not `late`."""
    contents: dict[str, list[int]] = {}
    for v in values:
        if is_state(v):
            contents.setdefault(v.name, []).append(v.id)
    found: set[int] = set()
    for several in contents.values():
        early = [v for v in several if v not in late] or several[:1]
        current = ([v for v in several if v in read] or early)[-1]
        found.update(v for v in several if v != current)
    return found


def insides(rec: Record) -> Iterator[tuple[OpEntry, Inside]]:
    """Yield the calls of custom Functions' methods, each with the operation that it ran for."""
    home = {node: g for g in rec.groups if g.phase == "forward" for node in g.nodes}
    forward = None  # it runs before there is a ctx, if setup_context receives it
    for ran in rec.insides:
        if ran.record.failure is not None and ran.group is not None:
            yield ran.group, ran
        elif ran.ctx is None:
            forward = ran
        elif (group := home.get(ran.ctx, ran.group)) is not None:
            if ran.name == "setup_context" and forward is not None:
                yield group, forward
                forward = None
            yield group, ran


def method(ran: Inside, inner: Draft, rec: Record, number: Numbers) -> schema.Method:
    """Return one call of a method as a record; `same` maps its values to values outside."""
    outside = {number.noted[old].identity: new for old, new in number.new.items()}
    outside |= {array: number.new[old] for array, old in rec._ids.items() if old in number.new}  # gradients' tensors
    new, noted = inner.number.new, inner.number.noted
    given = {i for i in ran.inputs if i is not None}
    current = {old: i for old, i in new.items() if old in given or not noted[old].is_past}
    at = {i: noted[old].identity for old, i in current.items()}  # output += b makes the result, not output
    same = {i: outside[array] for i, array in at.items() if array in outside}
    past = {i: o for i, o in ran.same.items() if rec.values[o].is_past}  # its memory has other values since
    same |= {new[i]: number.new[o] for i, o in past.items() if i in new and o in number.new}
    made = inner.document.to_dict()
    inputs = [new.get(i) for i in ran.inputs]
    parts = made["values"], made["ops"], made["outputs"], same, inputs, made["reads"], ran.run, made["error"]
    return schema.Method(ran.name, *parts)


def value(noted: ValueInfo, new: int) -> schema.Value:
    """Return the schema's value, with a summary of its content if that is known."""
    if noted.summary is None:
        known = noted.array is not None and not is_meta(noted.array)
        noted.summary = summary(noted.held(), noted.kind in schema.LEAVES) if known else {}
    return schema.Value(new, noted.name, "", "", noted.kind, list(noted.shape), *noted.form(), noted.summary)


def consumed(groups: list[OpEntry], outputs: list) -> dict:
    """Return for each value the group that reads it, None for the program's caller, or SEVERAL."""
    found: dict[int, Any] = dict.fromkeys(outputs)
    for g in groups:
        for event in g.events:
            for i in event.inputs:
                if not isinstance(i, dict) and found.setdefault(i, g) is not g:
                    found[i] = SEVERAL
    return found


def constants(groups: list[OpEntry], rec: Record) -> set[int]:
    """Return values that operations create for themselves and formulas write out: a causal mask, the weights of a window."""
    read = {(i, g) for g in groups for e in g.events for i in e.inputs if not isinstance(i, dict)}
    leaves = {i for i, g in read if rec.values[i].kind == "input" and not rec.values[i].name}
    given = {(i, g) for i, g in read if i in leaves and (g.given is None or i in refs_in(list(g.given.values())))}
    known = {*rec.outputs, *rec.draws, *[i for i, _ in given]}
    return {i for i in leaves - known if is_brief(rec.values[i])}


def is_brief(noted: ValueInfo) -> bool:
    """Return True if a few words or numbers can express a value's content."""
    if noted.array is None or noted.lost:
        return False
    array = noted.numbers()
    return array.size <= schema.WHOLE or Terms().regular(wrap(array)) is not None


def ends(group: OpEntry, used: dict, constants: Collection[int] = ()) -> tuple[list, list]:
    """Return a group's inputs from outside, in the order of its arguments, and its results that are used outside."""
    if not group.events:
        return NO_ENDS
    made, events = dict.fromkeys([o for e in group.events for o in e.outputs]), group.without_tangents()
    if len(group.events) == 1:
        (event,) = group.events
        inputs = [i for i in event.inputs if isinstance(i, dict) or i not in constants]
        if hasattr(event.cls, "_nested"):
            inputs.pop()  # a NestedIOFunction's call, which knows the nesting of its tensors
    else:
        inner = lambda i: isinstance(i, dict) or i in made or i in constants
        read = [i for e in events for i in e.inputs if not inner(i)]
        there = set(read)
        inputs = [i for i in dict.fromkeys([*group.arguments.values(), *read]) if i in there]
    started = {value for _, value, _ in group.upstreams if value not in used}  # a backward began there
    results = dict.fromkeys([o for e in events for o in e.outputs])
    outputs = [o for o in results if o in started or o in used and used[o] is not group]
    return inputs, outputs or [o for e in events for o in shown(e) if used.get(o) is not group]


def flows_of(g: OpEntry, number: Numbers) -> list[Flow]:
    """Return the gradient flows along an operation's edges: one per edge, or one per value if it consists of several steps."""
    if (known := number.flows.get(g)) is not None:
        return known
    merged: dict[tuple, Flow] = {}
    for flow in [f for f in g.edges if f.upstream is not None]:
        end = (flow.run, flow.value) if len(g.same_layer(flow.event)) > 1 else (flow.run, flow.value, flow.position)
        before = merged.get(end)
        merged[end] = flow if before is None else before._replace(gives=number.rec.plus(before.gives, flow.gives))
    number.flows[g] = [number.whole(flow) if len(end) == 2 else flow for end, flow in merged.items()]
    return number.flows[g]


def derivative_flows(g: OpEntry, number: Numbers) -> list[Flow]:
    """Return the flows along an operation's edges in passes that are no part of the program themselves."""
    return [flow for flow in flows_of(g, number) if flow.run not in number.differentiated]


def shown(event: Event) -> list:
    """Return the results of an event, except those that only formulas read."""
    return event.outputs[: len(event.outputs) - event.cls.n_internal] if event.cls.primitive else event.outputs


def entry(g: OpEntry, ids: dict, sides: dict, number: Numbers, back: int | None) -> schema.Op:
    """Return one operation of the document."""
    inputs, outputs = sides[g]
    if g.phase == "backward" and g.of is not None and not g.events:
        edges = [flow for flow in flows_of(g.of, number) if flow.run == g.run]
        results = sides[g.of][1]
        arrived = [gradient for run, value, gradient in g.of.upstreams if run == g.run and value in results]
        arrived += [flow.upstream for flow in edges if flow.upstream is not None]
        inputs = list(dict.fromkeys(arrived)) if edges else []
        outputs = list(dict.fromkeys([flow.gives for flow in edges]))
    refs_in, refs_out, new = [number(i) for i in inputs], [number(o) for o in outputs], number.new
    op = operation(g, ids[g], g.phase, refs_in, refs_out, None if g.of is None else ids[g.of])
    op.run = g.run
    op.transfers = list(g.transfers[: len(g.transfers) // (2 if has_tangent(g, outputs) else 1)])
    if not g.events and g.phase == "backward":
        return op
    op.inplace, op.again = g.inplace, g.again
    op.cut = reason(g, inputs, outputs, number.rec, number.tracked) if g.cut is None else g.cut
    if g.phase == "forward" and g.events and g.events[0].views:
        op.views = [schema.View(layer, inputs) for layer, inputs in g.events[0].views]
    op.edges = [
        schema.Edge(new[f.value], f.partial, new[f.upstream], new[f.gives], run=f.run)
        for f in derivative_flows(g, number)
    ]
    for v, size, node in () if g.again else g.kept:  # a repeated operation's saved tensors are freed right after use
        op.saved.append(schema.SavedValue(number(v), size, back if number.rec.is_freed(node) else None))
    if g.tangents:
        op.tangents = {number(v): number(t) for v, t in g.tangents.items() if v in inputs or v in outputs}
    return op


def tangent_entries(groups: list[OpEntry], ids: dict, sides: dict, number: Numbers, start: int) -> list:
    """Return the jvp pass: one entry for each operation whose result has a tangent."""
    made = []
    for g in groups:
        inputs, outputs = sides[g]
        if has_tangent(g, outputs):
            tangents_in = [number(g.tangents[v]) for v in inputs if not isinstance(v, dict) and v in g.tangents]
            tangents_out = [number(g.tangents[v]) for v in outputs if v in g.tangents]
            made.append(operation(g, start + len(made), "jvp", tangents_in, tangents_out, ids[g]))
            made[-1].transfers = list(g.transfers[len(g.transfers) // 2 :])
    return made


def has_tangent(g: OpEntry, outputs: list) -> bool:
    """Return True if a result has a tangent; a communicating operation has then communicated the tangents, too."""
    return not g.again and any(o in g.tangents for o in outputs)


def operation(g: OpEntry, id: int, phase: str, inputs: list, outputs: list, of: int | None) -> schema.Op:
    """Return an operation of the document with the fields that all passes share."""
    return schema.Op(
        id, phase, g.name, words(g), "", g.layers, inputs, outputs, of, False, g.where, g.function, module=g.modules
    )


def words(g: OpEntry) -> str:
    """Return the text of an operation's computation: its kernel, or a call with its non-tensor arguments."""
    if not g.events or g.of and g.cut is not None:  # of a PyTorch program, which tells only the rule
        return "; ".join(dict.fromkeys(flow.partial for flow in g.of.edges if flow.run == g.run)) if g.of else ""
    if g.transfers and not g.function:
        return ""
    event, *more = g.called()
    if more:
        return f"{g.name}({', '.join(g.arguments)})"
    kernel = getattr(event.cls, "kernel", None)
    if kernel is not None and (text := formula.display_text(kernel)):
        return text
    if event.cls is Failed:
        return ""
    if not event.cls.primitive:
        return f"{g.name}({', '.join(forward_parameters(event.cls))})"
    names = event.cls.names
    named = zip(chain(names, repeat(names[-1])), event.inputs)  # the last name is repeated
    arguments = [f"{name}={brief(i['const'])}" if isinstance(i, dict) else name for name, i in named]
    return f"{g.name}({', '.join(dict.fromkeys(arguments))})"


def forward_parameters(cls: Any) -> list:
    """Return the parameters of a custom Function's forward, without ctx."""
    return list(inspect.signature(cls.forward).parameters)[cls.combined :]
