"""Mistakes in the loading of a state: other names, nothing loaded, a state that is still the model's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..arrays.memory import storage
from ..core.saved import next_number, plain_tensor
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, noted, user_place
from .debug import Notes
from .wording import counted, row

taken = Notes()  # the first tensor of a state_dict -> its creation number, the line that took it


def note_taken(state: Mapping) -> None:
    """Remember when and where a state was taken, at one of its tensors: a copy of the dictionary has the same ones."""
    if (first := next((t for t in state.values() if isinstance(t, Tensor)), None)) is not None:
        taken[first] = next_number(), user_place()


def fix_of_names(own: Iterable[str], state: Mapping) -> str:
    """Return the fix for a state whose names differ from the model's."""
    names, given = set(own), list(state)
    for key, value in state.items():
        if isinstance(value, Mapping) and names & set(value):
            return f"the checkpoint holds the state under {key!r}: load_state_dict(checkpoint[{key!r}])"
    heads = {k.partition(".")[0] for k in given if isinstance(k, str)}
    if len(heads) == 1 and {k.partition(".")[2] for k in given} & names:
        head = heads.pop()
        return (
            f"remove the prefix {head!r}: load_state_dict({{k.removeprefix('{head}.'): v for k, v in state.items()}})"
        )
    return "load into a model like the saved one, or pass strict=False to skip names that differ"


def check_loaded(module: Any, names: Callable, state: Mapping, pairs: list[tuple], missing: list[str]) -> None:
    """Warn about a state of which no name matches, or whose tensors are the model's own and have changed with it.

    `names(module)` are the model's names, `pairs` its tensors, each with the one that is loaded into it.
    """
    who = type(module).__name__
    if state and missing and not pairs and state.keys().isdisjoint(own := names(module)):
        first, other = next(iter(state)), own[0]
        fix = fix_of_names(own, state)
        what = f"strict=False loads nothing into {who}: none of the {counted(len(state), 'name')} is one of the model's; the "
        warn("nothing-loaded", "load_state_dict", f"{what}state has {first!r}, the model {other!r}", fix)
        return
    number, place = next((note for _, t in pairs if (note := taken.get(t)) is not None), (0, None))
    mine = [plain_tensor(m) for m, _ in pairs]
    # a load writes with copy_, also one into the tensors of the state, and is meant
    changed = [m for m in mine if m._ver is not None and m._ver.at > number and m._ver.writer != "copy_"]
    shared = all(storage(plain_tensor(t)._a) is storage(m._a) for (_, t), m in zip(pairs, mine))
    if number and changed and shared:
        warn_own_state(who, len(changed), len(mine), place)


def warn_own_state(who: str, written: int, n: int, place: Place | None) -> None:
    """Warn about loading a state that is the model's own memory."""
    warn(
        "own-state",
        "load_state_dict",
        f"the state shares its memory with {who}, which has changed {written} of {n} tensors since state_dict() was called: "
        "loading it changes nothing",
        "keep a copy: copy.deepcopy(model.state_dict())",
        place,
        noted("it is loaded", user_place()),
    )


def no_optimizer_state(who: str, state: Any) -> Exception:
    """Return the error for an optimizer that loads something other than an optimizer's state."""
    kind = type(state).__name__
    if not isinstance(state, Mapping):
        return error(
            TypeError, who, f"expected the state_dict() of an optimizer, got {kind}", "pass optimizer.state_dict()"
        )
    names = row(list(map(repr, state))[:4]) if state else "nothing"
    what = f"expected the state_dict() of an optimizer, with 'state' and 'param_groups', got {names}"
    return error(KeyError, who, what, "load it into the model that it comes from, and pass optimizer.state_dict() here")
