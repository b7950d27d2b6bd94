"""Mistakes about the model that an optimizer trains: another model computes the loss, it is left in eval mode, or its forward
makes new layers.

Each check runs at an optimizer's construction or first step, or compares two flags; what it finds is located in the program.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from ..core.engine import reachable
from ..core.graph import Leaf
from ..core.tensor import Tensor
from ..errors import warn
from ..places import Place, defined_at, noted, parsed, user_frame, user_place, users_code
from .cut_lines import cut_line_at_step, loss_before
from .modules import is_module, modules_of, parameters_of, stored_at, switched
from .report import counted, row, searches
from .users_program import Scope, body_of, called_name, calls_in, parts, resolved, scope_of, statements

alive: WeakSet = WeakSet()  # all optimizers
told: WeakSet = WeakSet()  # classes of modules whose method backward a warning has named
STATEFUL = {"betas", "rho", "alpha", "etas", "lr_decay"}  # settings of optimizers whose updates depend on earlier steps
FRESH = 2  # optimizers in a row, made at one line and used for one step
LAYERS = frozenset(
    "Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding EmbeddingBag RNN LSTM GRU "
    "RNNCell LSTMCell GRUCell BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm MultiheadAttention Transformer "
    "TransformerEncoderLayer TransformerDecoderLayer PReLU".split()
)


class MadeOptimizer:
    """The last optimizer made at a line: its first parameter, its settings and steps, and how many before it took just one."""

    def __init__(self, first: Tensor, settings: dict):
        self.first, self.settings, self.steps, self.row, self.at = ref(first), settings, 0, 0, -1

    def stepped(self) -> None:
        """Count a step, and note when it wrote to the first parameter."""
        self.steps += 1
        self.at = written_at(self.first())

    def goes_on(self, before: MadeOptimizer) -> bool:
        """Return True if the optimizer before this one took one step, and nothing has changed since then."""
        same = self.first() is before.first() and self.settings == before.settings
        return same and before.steps == 1 and before.at == written_at(self.first())


def written_at(p: Any) -> int:
    """Return the creation number of the last write to a parameter."""
    return -1 if p is None or p._ver is None else p._ver.at


made_at: dict[Place | None, MadeOptimizer] = {}


@searches()
def made(who: str, params: list, settings: dict) -> MadeOptimizer | None:
    """Note a new optimizer; warn if a loop makes one for every step, which loses its state."""
    if not params:
        return None
    place, now = user_place(), MadeOptimizer(params[0], settings)
    before = made_at.get(place)
    if settings.keys() & STATEFUL and before is not None and now.goes_on(before):
        now.row = before.row + 1
    if now.row == FRESH:
        warn(
            "optimizer-in-loop",
            who,
            f"the loop makes a new optimizer of the same {counted(len(params), 'parameter')} for every step, "
            f"{FRESH + 1} so far: the averages and step counts that an optimizer keeps start again each time",
            "make the optimizer once, before the loop",
        )
    made_at[place] = now
    return now


# ---------------------------------------------------------------------- another model computes the loss
@searches()
def warn_unrelated(who: str, params: list, made_there: Place | None) -> None:
    """Warn about a step without gradients after a backward that has reached parameters of no optimizer."""
    if (found := loss_before()) is None:
        return
    own = {id(p) for p in params}
    trained = {id(p) for o in list(alive) for group in o.param_groups for p in group["params"]}
    others = {id(t): t for t in leaves_of(*found) if t._grad is not None}
    if not others or own & others.keys() or trained & others.keys():
        return
    first, notes = next(iter(others.values())), noted("the step was called", user_place())
    ends = [cut_line_at_step(p._edge) for p in params]
    if (end := next((end for end in ends if end is not None), None)) is not None:
        what = f"none of its {counted(len(params), 'parameter')} has a gradient: {end.name} {end.why}"
        if found_leaf(found) is not None:
            what += "; requires_grad of the loss itself begins a new history, which leads to no parameter"
        warn("parameter-cut-off", who, what, end.fix, end.place, notes)
        return
    warn(
        "unrelated-parameters",
        who,
        f"none of its {counted(len(params), 'parameter')} has a gradient: the loss does not depend on them, but on "
        f"{counted(len(others), 'other')}, the first of shape {tuple(first.shape)}, which no optimizer has",
        f"make the optimizer of the model that computes the loss, after it has its last layer: {who}(model.parameters())",
        made_there,
        notes,
    )


def found_leaf(found: tuple[ast.expr, Scope]) -> Tensor | None:
    """Return the loss if it is a leaf, which a program makes with loss.requires_grad_()."""
    loss = resolved(*found)
    return loss if isinstance(loss, Tensor) and type(loss._edge) is Leaf else None


def leaves_of(node: ast.expr, scope: Scope) -> Iterator[Tensor]:
    """Yield the leaves behind a loss, or behind the tensors and modules that an expression names."""
    values = [resolved(node, scope)]
    if not isinstance(values[0], Tensor):
        values = [resolved(n, scope) for n in parts(node) if isinstance(n, (ast.Name, ast.Attribute))]
    for value in values:
        tensors = parameters_of(value) if is_module(value) else [value]
        edges = [t._edge for t in tensors if isinstance(t, Tensor) and t._layer is None and t._edge is not None]
        yield from [t for leaf in reachable(edges)[1] if (t := leaf._ref()) is not None]


def plain_tensors(model: Any, known: set[int]) -> Iterator[tuple[Tensor, str, str, Place | None]]:
    """Yield the leaves that a module has as plain attributes, each with a phrase, the fix and the line."""
    for m in modules_of(model):
        for name, value in vars(m).items():
            if isinstance(value, Tensor) and type(value._edge) is Leaf and id(value) not in known:
                who = f"{type(m).__name__}.{name}"
                what = f"{who}, of shape {tuple(value.shape)}, requires grad but is not an nn.Parameter, so the module does "
                yield value, f"{what}not register it", f"write self.{name} = nn.Parameter(...)", stored_at(m, name)


@searches()
def warn_plain_tensors(who: str, model: Any) -> None:
    """Warn about a module's tensor that has a gradient, but is neither a parameter nor in an optimizer."""
    known = {id(p) for o in list(alive) for group in o.param_groups for p in group["params"]}
    for t, text, fix, place in plain_tensors(model, known | {id(p) for p in parameters_of(model)}):
        if t._grad is not None:
            notes = noted("the step was called", user_place()) if place else []
            warn("unregistered-parameters", who, f"{text}; no step changes it", fix, place, notes)


@searches()
def warn_results(who: str, model: Any) -> None:
    """Warn about a module's attribute that is computed from a Parameter which nothing else holds: nn.Parameter(...) * 0.1."""
    for m in modules_of(model):
        for name, value in vars(m).items():
            if not isinstance(value, Tensor) or value._edge is None or type(value._edge) is Leaf:
                continue
            place = stored_at(m, name)
            tree = None if place is None else parsed(place.file)
            for s in () if tree is None else ast.walk(tree):
                if (
                    isinstance(s, ast.Assign)
                    and s.lineno == place.line
                    and (made := inner_parameter(s.value)) is not None
                ):
                    attribute, new = ast.unparse(s.targets[0]), ast.unparse(made.func)
                    warn(
                        "parameter-of-result",
                        f"{type(m).__name__}.{name}",
                        f"{ast.unparse(s.value)} is the result of an operation, of shape {tuple(value.shape)}, and no "
                        "parameter, so the module does not register it; no step will change it",
                        f"compute first, and make the parameter of the result: {attribute} = {new}(...)",
                        place,
                        noted(f"{who} is made", user_place()),
                    )
                    return


def inner_parameter(value: ast.expr) -> ast.Call | None:
    """Return the call of Parameter that an expression computes with: a part of a product, or a method's own tensor."""
    while isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Call)):
        if isinstance(value, ast.Call) and called_name(value) == "Parameter":
            return None  # the parameter is made last
        if isinstance(value, ast.BinOp):
            inner = [value.left, value.right]
        elif isinstance(value, ast.UnaryOp):
            inner = [value.operand]
        else:
            inner = [value.func.value] if isinstance(value.func, ast.Attribute) else []
        for n in inner:
            if isinstance(n, ast.Call) and called_name(n) == "Parameter":
                return n
        value = inner[0] if inner else ast.Constant(None)
    return None


@searches()
def warn_shared_memory(who: str, params: list, models: list) -> None:
    """Warn about two parameters that are the same memory: each has a gradient and a state, and a step writes to it twice."""
    seen: dict[tuple, Tensor] = {}
    for p in params:
        if is_lazy_or_empty(p):
            continue
        first = seen.setdefault((p.data_ptr(), tuple(p.shape), p.stride(), p.dtype), p)
        if first is not p:
            warn(
                "shared-memory",
                who,
                f"two of its parameters, of shape {tuple(p.shape)}, share their memory: nn.Parameter(weight) makes another "
                "parameter of the same numbers, so each step updates them twice, with two gradients and two states",
                "assign the parameter itself: decoder.weight = encoder.weight",
                place := shared_at([first, p], models),
                noted(f"{who} is made", user_place()) if place else (),
            )
            return


def shared_at(params: list, models: list) -> Place | None:
    """Return the line that assigns one of these parameters as nn.Parameter(...), in the running function or an `__init__`."""
    scopes = [] if (running := scope_of(user_frame())) is None else [running]
    for m in [m for model in models for m in modules_of(model)]:
        code = users_code(type(m).__init__)
        if code is not None and (tree := parsed(code.co_filename)) is not None:
            scopes.append(Scope(body_of(code, tree), code.co_filename, {code.co_varnames[0]: m}))
    for scope in scopes:
        made = [s for s in statements(scope.tree) if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)]
        for s in [s for s in made if called_name(s.value) == "Parameter"]:
            if any(resolved(t, scope) is p for t in s.targets for p in params if isinstance(t, ast.Attribute)):
                return Place(scope.file, s.lineno)
    return None


def is_lazy_or_empty(p: Tensor) -> bool:
    """Return True for a parameter without numbers: a lazy one, an empty one, or one on a device without memory."""
    return not p.data.numel() or p.device.type != "cpu" or type(p).__name__.startswith("Uninitialized")


@searches()
def warn_all_zero(who: str, params: list) -> None:
    """Warn at a first step if two weights are all zeros, and their gradients, too: each waits for the other.

    Biases may have gradients; they show that the loss depends on the model.
    """
    weights = [p for p in params if p.ndim > 1 and p._grad is not None]
    zeros = [p for p in weights if is_zero(p) and is_zero(p._grad)]
    if len(zeros) > 1 and not all(is_zero(p._grad) for p in params if p._grad is not None):
        warn(
            "all-weights-zero",
            who,
            f"{len(zeros)} weights, of shapes {row([str(tuple(p.shape)) for p in zeros])}, are all zeros, and so are their "
            "gradients: each is multiplied by the other weight, so no step changes them",
            "begin with random weights, as the layers do: nn.init.xavier_uniform_(weight); zeros are for biases",
        )


def is_zero(t: Tensor) -> bool:
    """Return True if all elements of a tensor in the main memory are 0, which its first one shows soon."""
    a = t._a
    return type(a) is np.ndarray and a.size > 0 and not a.flat[0] and not a.any()


@searches()
def warn_backward_of_module(model: Any, when: str = "the step") -> None:
    """Warn about a method backward of a module, with a gradient as its argument, that the program never calls."""
    frame = user_frame()
    for kind in dict.fromkeys(map(type, modules_of(model))):
        if kind in told:
            continue
        method = inspect.getattr_static(kind, "backward", None)
        plain = getattr(method, "__func__", method)
        code = users_code(plain)
        if code is None or frame is None or code.co_filename != frame.f_code.co_filename:
            continue
        own = list(inspect.signature(plain).parameters.values())[not isinstance(method, staticmethod) :]
        takes = [p for p in own if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if takes and (tree := parsed(code.co_filename)) is not None and not calls_with_gradient(tree):
            told.add(kind)
            warn(
                "backward-of-module",
                f"{kind.__name__}.backward",
                f"is never called: gradients come from the operations of {kind.__name__}.forward, and a Module has no "
                "backward that autograd knows",
                "remove it; or put forward and backward into a Function, and call its apply in the module's forward: "
                f"class {kind.__name__}Function(minigrad.autograd.Function)",
                defined_at(plain),
                noted(f"{when} was called", user_place()),
            )
            return


def calls_with_gradient(tree: ast.AST) -> bool:
    """Return True if a program may call a method backward with a gradient, or names it without calling it."""
    nodes = list(ast.walk(tree))
    plain = [n for n in calls_in(tree, "backward") if not n.args]
    plain = [n.func for n in plain if all(k.arg in ("retain_graph", "create_graph") for k in n.keywords)]
    named = [n for n in nodes if isinstance(n, ast.Attribute) and n.attr == "backward"]
    return len(plain) != len(named) or any(isinstance(n, ast.Constant) and n.value == "backward" for n in nodes)


# ---------------------------------------------------------------------- eval mode
class WatchedModel:
    """A model whose parameters an optimizer has; `training` is True once a step has found it in training mode."""

    def __init__(self, model: Any):
        self.model, self.training = ref(model), False

    def check(self, who: str) -> None:
        """Warn if a step finds the model in eval mode after an earlier one has found it in training mode."""
        model = self.model()
        if model is None or self.training is (now := model.training):
            return
        self.training = now
        if not now:
            warn_left_in_eval(who, model)


def warn_left_in_eval(who: str, model: Any) -> None:
    """Warn if a model is trained in eval mode, and that makes a difference; it was in training mode before."""
    modules = modules_of(model)
    names = [type(m).__name__ for m in modules if {"Dropping", "BatchNorm"} & {c.__name__ for c in type(m).__mro__}]
    place = next((place for m, place in switched.items() if model in modules_of(m)), None)
    if not names or place is None or any(m.training for m in modules):  # train(False) of a computed flag is meant
        return
    warn(
        "trained-in-eval-mode",
        who,
        f"trains {type(model).__name__} in eval mode, but an earlier step trained it in training mode; {len(names)} of its "
        f"{counted(len(modules), 'module')} now compute as for predictions: {row(list(dict.fromkeys(names)))}",
        "call model.train() after the evaluation, or at the start of each epoch",
        place,
        noted("the step was called", user_place()),
    )


# ---------------------------------------------------------------------- layers made in forward
@searches()
def warn_layers_in_forward(model: Any) -> None:
    """Warn about a module whose forward makes a layer in every call."""
    for kind in dict.fromkeys(map(type, modules_of(model))):
        code = users_code(kind.forward)
        if code is None or not LAYERS & set(code.co_names) or (tree := parsed(code.co_filename)) is None:
            continue
        plain = inspect.unwrap(kind.forward)
        known = {**plain.__globals__, **inspect.getclosurevars(plain).nonlocals}
        for call in always_called(body_of(code, tree)):
            made = resolved(call.func, Scope(tree, code.co_filename, known))
            if isinstance(made, type) and made.__name__ in LAYERS and hasattr(made, "named_parameters"):
                text = ast.unparse(call)
                warn(
                    "layer-in-forward",
                    f"{kind.__name__}.forward",
                    f"makes a new layer, {text}, in every call: its weights are random each time, and no optimizer has them",
                    f"make it once, in __init__: self.{made.__name__.lower()} = {text}",
                    Place(code.co_filename, call.lineno),
                )
                return


def always_called(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a function that no condition guards."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from always_called(child)
