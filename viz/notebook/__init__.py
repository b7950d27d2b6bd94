"""Notebook display of tensors, nodes and records, by the graph behind them, and the magic `%%trace`.

`%load_ext minigrad` gets here through minigrad.record.show.
"""

from __future__ import annotations

import ast
from copy import copy
from typing import Any

import minigrad
from minigrad.core.graph import history
from minigrad.core.tensor import Tensor
from minigrad.diagnose.first_backward import nearest
from minigrad.record.assignments import assigned
from minigrad.record.from_graph import edge_of, graph_of, recorded_graph

from ..cards.mathematics import is_formula
from ..cards.mathml import mathml
from ..drawing import Drawing, draw
from ..errors import Usage
from ..graph.backward_passes import of_passes
from ..graph.trimmed_record import leading_to_outputs
from ..programs.failures import show_in_notebook
from ..programs.libraries import Libraries, document_of, leaves, library_of_tensor
from ..programs.tensor_names import names_of_tensors, notebook_names
from ..view import PASSES, WHOLE, View, passes_of, view_from
from ..viewer import written
from ..viewer.shared import carried_size, packed
from .plain_tensor import MOST, display, in_lines
from .tree import is_module, tree, tree_of

SMALL = 300  # operations: larger graphs are drawn only on request
FOLDED = 24, 12, 6  # boxes of a picture that does not fit
LARGEST = 40  # boxes of a picture that may fit


def mimebundle(what: Any) -> dict[str, str]:
    """Return the notebook display of a tensor, node, record or explanation: its text, and the viewer and picture of a graph.

    A tensor without a graph has its numbers and, if they are many, their picture; a model has a tree of its tensors.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> sorted(mimebundle(w * w)), sorted(mimebundle(tensor(1.0)))
    (['image/svg+xml', 'text/html', 'text/plain'], ['text/plain'])
    """
    if isinstance(getattr(what, "record", None), dict):  # an explanation
        shown = draw(what).shown()
        return {**shown, "text/html": derivation(what) + shown["text/html"], "text/plain": str(what)}
    if hasattr(what, "to_dict"):
        return drawn(document_of(what), getattr(what, "notes", ())).shown()
    words = repr(what)
    try:
        if is_module(what):
            return {"text/plain": words, "text/html": tree(what)}
        drawing = drawn_graph(what)
        shown = brief(drawing) if drawing else display(what, words) if isinstance(what, Tensor) else {}
    except Exception as e:  # a cell whose last line shows a value must not end a notebook
        return {"text/plain": f"{words}\nThere is no picture, because drawing raises {type(e).__name__}: {e}"}
    return {**shown, "text/plain": "\n".join([words, *([drawing.remark] if drawing and drawing.remark else [])])}


def drawn_graph(what: Any) -> Drawing | None:
    """Draw the graph behind a tensor or node, as far as it is known; None without a graph, or for a large one."""
    edge = edge_of(what) if what._layer is None else None
    if edge is None or not 0 < len(nearest([edge], SMALL + 1)) <= SMALL:  # a graph inside a transform, or a large one
        return None
    rec = recorded(what)
    name_after_cells(rec)
    drawing = drawn(document_of(rec), rec.notes)
    for note in rec.notes[:1]:
        drawing.remark = f"{note}." if "backward" in drawing.passes else f"The backward pass is left out: {note}."
    return drawing


def recorded(what: Any) -> Any:
    """Return the record of a graph, which calls no code but backwards; where that raises, a note names what is left out."""
    try:
        return recorded_graph(what, asked=False)
    except Exception as e:
        rec = graph_of([edge_of(what)], what)
        reason = str(getattr(e, "problem", "") or e).partition("\n")[0]
        rec.notes.append(f"it raises {type(e).__name__}: {reason}")
        return rec


def brief(drawing: Drawing) -> dict[str, str]:
    """Return the representations of a drawing that the user did not request: a notebook stores at most MOST characters.

    The viewer, which has all of it, comes first. A picture is there for pages without scripts: with all passes if that fits,
    else the last pass, in the end folded. The first viewer in a notebook also has the script (viewer/shared.py). It
    does not compute if what it needs for that would take more than half of the room.
    """
    whole = drawing.whole
    if len(packed(written(whole, drawing.depth, drawing.open))) > MOST // 2:
        whole.record = {**whole.record, "contents": None}
    made = drawing.shown(("text/html",))
    room = MOST - sum(map(len, made.values())) + carried_size(made.get("text/html", ""))
    for most in (None, *FOLDED):
        for passes in (drawing.passes, drawing.passes[-1:]):
            smaller = copy(drawing)
            vars(smaller).pop("graph", None)
            smaller.passes, smaller.max_nodes = passes, drawing.max_nodes if most is None else most
            if (most or len(drawing.whole.nodes)) <= LARGEST and len(picture := smaller.svg()) <= room:
                return {**made, "image/svg+xml": picture}
    return made


def name_after_cells(rec: Any) -> None:
    """Name values after the variables of the notebook: leaves, and results by their place in the graph."""
    names = notebook_names()
    rec.name_values(names_of_tensors(names))
    for name, value in names.items():
        if library_of_tensor(value) == "minigrad" and (number := rec.value_of(history(value))) is not None:
            rec.values[number].name = rec.values[number].name or name
    rec.program_name = ", ".join(rec.values[number].name for number in rec.outputs if rec.values[number].name)


def derivation(explanation: Any) -> str:
    """Return an explanation as HTML: its text, and its formulas as mathematics."""
    ops = {op["id"]: op for op in explanation.record["ops"]}
    rows = []
    for step in explanation.steps:
        if (op := ops.get(getattr(step, "op", None))) is None:
            continue
        flows = [flow for flow in op["edges"] if explanation.kind == "gradient" and flow["input"] == step.value]
        flows += [push for push in op["pushes"] if explanation.kind == "tangent" and push["output"] == step.value]
        rows += [flow["latex"] for flow in flows if is_formula(flow.get("latex") or "")][:1]
    mathematics = "".join(f'<p style="margin: 0.4em 0">{mathml(row)}</p>' for row in dict.fromkeys(rows))
    return f"{in_lines(str(explanation))}{mathematics}"


def drawn(record: dict, notes: Any = (), view: View = WHOLE) -> Drawing:
    """Draw a record with all passes that it has."""
    return Drawing(record, passes_of(record, notes)[0], notes, view)


def load(shell: Any) -> None:
    """Give an IPython shell the magics `%%trace` and `%minigrad`, and the displays of state dicts and PyTorch's modules."""

    def magic(line: str, cell: str) -> Drawing | None:
        """Run the cell under a recording and show its passes: %%trace [NAME] [--show WORDS].

        NAME is the tensor to draw, WORDS are the parts to show, as for `minigrad render`.
        """
        return trace(shell, line, cell)

    shell.register_magic_function(magic, "cell", "trace")
    shell.register_magic_function(in_place_of_torch, "line", "minigrad")
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(dict, tree_of)
    html.for_type_by_name("torch.nn.modules.module", "Module", tree_of)


STANDING_IN: list[Any] = []  # the active as_torch() of this notebook


def in_place_of_torch(line: str) -> None:
    """Make `import torch` import minigrad in the following cells: %minigrad as_torch, until %minigrad as_torch off."""
    words = line.split()
    if words == ["as_torch"] and not STANDING_IN:
        STANDING_IN.append(minigrad.as_torch())
    elif words == ["as_torch", "off"] and STANDING_IN:
        STANDING_IN.pop().close()
    elif words not in (["as_torch"], ["as_torch", "off"]):
        print(f"%minigrad {line}: unknown. Write %minigrad as_torch to begin, %minigrad as_torch off to end.")


def trace(shell: Any, line: str, cell: str) -> Drawing | None:
    """Run a cell in a shell, and draw the computation of the tensor that the magic names, else of the last line's result.

    minigrad runs the passes that the cell does not run, seeded with ones. The next cell does not notice them.
    """
    try:
        name, view = _asked(line)
    except Usage as wrong:
        print(f"%%trace: {wrong}")
        return None
    names = shell.user_ns
    code = shell.transform_cell(cell)
    # the shell's own count may be the next cell's
    running = getattr(shell.displayhook.exec_result, "execution_count", None)
    file = shell.compile.cache(code, running or shell.execution_count)  # so that records find the cell's lines
    tree = ast.parse(code, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None

    def program() -> Any:
        exec(compile(tree, file, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), file, "eval"), names)
        if name:
            return names[name]
        return value if any(map(library_of_tensor, leaves(value))) else _assigned(tree, names)

    try:
        rec = Libraries.of_session(cell).record(program, PASSES, name or "cell", unseen=True)
    except Exception as error:
        show_in_notebook(error, name)
        raise
    called = names_of_tensors({key: value for key, value in names.items() if not key.startswith("_")})
    rec.name_values(called)
    rec.file = file
    record = leading_to_outputs(of_passes(document_of(rec, leading_to_outputs)))
    if not record["ops"]:
        print("%%trace: no operation made the result. End the cell with a tensor, or write %%trace NAME.")
        return None
    for one, why in passes_of(record, rec.notes)[1].items():
        print(f"%%trace: the {one} pass is left out: {why}")
    return drawn(record, rec.notes, view)


def _asked(line: str) -> tuple[str, View]:
    """Parse the magic's line: the name, and the view."""
    words = line.replace("--show=", "--show ").split()
    show = None
    if "--show" in words:
        i = words.index("--show")
        show, words = ",".join(words[i + 1 : i + 2]), words[:i] + words[i + 2 :]
    if len(words) > 1 or words and not words[0].isidentifier():
        raise Usage(
            f"{line!r} does not have the form [NAME] [--show WORDS]. Write, for example: %%trace loss --show all,update"
        )
    return "".join(words), view_from(show)


def _assigned(tree: ast.Module, names: dict[str, Any]) -> Any:
    """Return the value of a cell's last assignment."""
    words = [assigned(ast.unparse(line)) for line in tree.body]
    return next((names[word] for word in reversed(words) if word in names), None)
