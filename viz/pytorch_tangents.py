"""The jvp pass of a recorded PyTorch program: each call is run once more, on dual tensors of our own.

So the program itself never sees a dual tensor.  The second run draws the same random numbers and writes into copies.  A
program that opens a dual level of its own keeps it: then its tangents are noted, and none of ours.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_map_only

from .pytorch_document import Call, Noted, quiet


class Tangents:
    """The tangents of the tensors that a program holds, by their identity; a write makes them stale."""

    def __init__(self, recorder: Any, wanted: bool):
        self.recorder, self.wanted = recorder, wanted
        self.notes: list[str] = []  # where the pass stops, and why
        self._known: dict[int, tuple] = {}  # id -> (tensor, version, tangent, its value)

    def of(self, t: torch.Tensor) -> tuple[torch.Tensor, Noted] | None:
        """The tangent of a tensor and its value; a leaf that requires grad starts with ones, a view reads its base's."""
        _, at, tangent, noted = self._known.get(id(t), (None, None, None, None))
        if noted is not None and at == version(t):
            return tangent, noted
        with quiet():
            if t.is_leaf and t.requires_grad:
                return self.put(t, torch.ones_like(t.detach()))
            base = t._base if t._is_view() else None
            if base is not None and base.layout is torch.strided and (found := self.of(base)) is not None:
                flat = laid_out(base, found[0])
                return self.put(t, flat.as_strided(t.shape, t.stride(), t.storage_offset()).clone())
        return None

    def put(self, t: torch.Tensor, tangent: torch.Tensor) -> tuple[torch.Tensor, Noted]:
        """Remember the tangent of a tensor."""
        noted = Noted(tangent, "tangent")
        self._known[id(t)] = (t, version(t), tangent, noted)
        return tangent, noted

    def written(self, t: torch.Tensor, tangent: torch.Tensor) -> None:
        """A tensor was written: it has a new tangent, and so has the tensor that it is a view of."""
        self.put(t, tangent)
        if (base := t._base if t._is_view() else None) is not None:
            _, _, before, _ = self._known.get(id(base), (None, None, torch.zeros_like(base), None))
            flat = laid_out(base, before)
            flat.as_strided(t.shape, t.stride(), t.storage_offset()).copy_(tangent)
            self.put(base, flat.as_strided(base.shape, base.stride(), base.storage_offset()))

    # -------------------------------------------------------------------------------------------------- the pass
    def before(self, run: Callable, name: str, args: tuple, kwargs: dict, given: dict[int, tuple]) -> Callable | None:
        """What has to be kept of a call's arguments; the result pushes the tangents, once the call has been made.

        `given` has tensor and value of each argument by its identity.  None where nothing is to be pushed.
        """
        if forward_ad._current_level >= 0:
            return lambda call, out, results: self.own(call, [*given.values(), *results])
        if not self.wanted or self.recorder.layers():
            return None
        floats = [t for t, _ in given.values() if t.is_floating_point() or t.is_complex()]
        tangents = {id(t): found for t in floats if (found := self.of(t)) is not None}
        if not tangents:
            return None
        with quiet():
            may = may_write(run, name, args, kwargs)
            copies = {key: t.detach().clone() for key, (t, _) in given.items()} if may else {}
        versions = {key: version(t) for key, (t, _) in given.items()}
        random, duals = generator_states(args, kwargs), {}

        def dual(t: torch.Tensor) -> torch.Tensor:
            if (key := id(t)) not in duals:
                plain = copies[key] if key in copies else t.detach()
                plain = plain.clone() if key not in copies and version(t) != versions.get(key) else plain
                tangent = tangents[key][0] if key in tangents else None
                duals[key] = plain if tangent is None else forward_ad.make_dual(plain, tangent.clone() if may else tangent)
            return duals[key]

        def push(call: Call, out: Any, results: list) -> None:
            call.tangents = {given[key][1]: noted for key, (_, noted) in tangents.items()}
            with quiet(), forward_ad.dual_level(), random():
                try:
                    again = run(*tree_map_only(torch.Tensor, dual, args), **tree_map_only(torch.Tensor, dual, kwargs))
                except (NotImplementedError, RuntimeError) as e:
                    if call.function:
                        raise
                    self.notes.append(f"the jvp pass stops at {name}: {str(e).splitlines()[0]}")
                    return
                for t, twin in zip(tensors_in(out), tensors_in(again)):
                    if id(t) not in given and (tangent := tangent_of(twin)) is not None:
                        self.put(t, tangent.clone())
                for key, (t, _) in given.items():
                    if t.is_leaf and t.requires_grad:
                        continue  # written without grad: it starts with ones again
                    if version(t) != versions[key] and (tangent := tangent_of(duals.get(key))) is not None:
                        self.written(t, tangent.clone())
            for t, value in results:
                kept, at, _, noted = self._known.get(id(t), (None, None, None, None))
                if noted is not None and kept is t and at == version(t):
                    call.tangents[value] = noted

        return push

    def own(self, call: Call, tensors: list) -> None:
        """Note the tangents that the program itself has."""
        for t, value in tensors:
            with torch._C.DisableTorchFunction():
                tangent = tangent_of(t)
            if tangent is not None:
                _, at, _, noted = self._known.get(id(t), (None, None, None, None))
                call.tangents[value] = noted if noted is not None and at == version(t) else self.put(t, tangent)[1]


    def note(self, call: Call, t: torch.Tensor, value: Noted) -> None:
        """Note the tangent of an operation's argument or result, where it has one."""
        if self.wanted and forward_ad._current_level < 0 and t.is_floating_point() and (found := self.of(t)) is not None:
            call.tangents[value] = found[1]


def tangent_of(t: torch.Tensor | None) -> torch.Tensor | None:
    """The tangent of a dual tensor."""
    return None if t is None or not (t.is_floating_point() or t.is_complex()) else forward_ad.unpack_dual(t).tangent


def version(t: torch.Tensor) -> int:
    """How often a tensor was written; tensors made in inference mode do not count."""
    return -1 if t.is_inference() else t._version


def laid_out(base: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """A tangent in memory as its tensor is, so that views can be taken of it in the same way."""
    flat = tangent.new_zeros(base.untyped_storage().nbytes() // base.element_size())
    flat.as_strided(base.shape, base.stride(), base.storage_offset()).copy_(tangent)
    return flat


def may_write(run: Callable, name: str, args: tuple, kwargs: dict) -> bool:
    """Whether a call may write into its arguments, as far as its name and its arguments tell."""
    if name in ("custom", "__setitem__") or "out" in kwargs:
        return True
    if name.endswith("_") and not name.endswith("__") or name.startswith("__i") and name != "__invert__":
        return True
    try:
        return bool(inspect.signature(run).bind(*args, **kwargs).arguments.get("inplace"))
    except (TypeError, ValueError):  # a builtin has no signature, and none has `inplace`
        return False


def generator_states(args: tuple, kwargs: dict) -> Callable:
    """The states of the random generators now; the result goes back to them for a while."""
    given = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.Generator)]
    cuda = torch.cuda.default_generators if torch.cuda.is_initialized() else ()
    states = [(generator, generator.get_state()) for generator in (torch.default_generator, *cuda, *given)]

    @contextmanager
    def rewound() -> Iterator[None]:
        after = [generator.get_state() for generator, _ in states]
        for generator, state in states:
            generator.set_state(state)
        try:
            yield
        finally:
            for (generator, _), state in zip(states, after):
                generator.set_state(state)

    return rewound


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """The tensors in a structure, in order."""
    return [one for one in torch.utils._pytree.tree_leaves(tree) if isinstance(one, torch.Tensor)]
