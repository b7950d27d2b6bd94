"""The jvp pass of a recorded PyTorch program: each call runs a second time, on dual tensors.

So the program itself never sees a dual tensor.  The second run draws the same random numbers and writes into copies.  If the
program opens its own dual level, its tangents are recorded instead.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch._C import _functorch as functorch
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_map_only

from minigrad.record.values import OpEntry

from .torch_values import Call, batches, bottom, is_leaf, quiet, version
from .torch_words import tensors_in

STOPPED = (None, None)


class Tangents:
    """The tangents of a program's tensors, by identity; a write invalidates them.

    The results of an operation without a jvp have none (STOPPED), nor does anything computed from them: every tangent is
    complete.
    """

    def __init__(self, recorder: Any, wanted: bool):
        self.recorder, self.wanted = recorder, wanted
        self._known: dict[int, tuple] = {}  # id -> (tensor, version, tangent, its value)
        self.met: dict[int, torch.Tensor] = {}  # the leaves by id, in the order of use
        self.ran: list[tuple] = []  # of the last second run: id of a tensor, its primal and tangent there

    def of(self, t: torch.Tensor) -> tuple[torch.Tensor | None, int | None] | None:
        """Return the tangent of a tensor and its value; a leaf that requires grad starts with ones, a view reads its base's."""
        t = bottom(t)
        _, at, *found = self._known.get(id(t), (None, -2, *STOPPED))
        if at == version(t):
            return found[0], found[1]
        if not (t.is_floating_point() or t.is_complex()):
            return None
        with quiet():
            if is_leaf(t):
                seed = self.seed(t)
                return None if seed is None else self.put(t, seed)
            base = t._base if t._is_view() else None
            if base is not None and base.layout is torch.strided and (whole := self.of(base)) is not None:
                if whole[0] is None:
                    return STOPPED
                flat = laid_out(base, whole[0])
                return self.put(t, flat.as_strided(t.shape, t.stride(), t.storage_offset()).clone())
        return STOPPED if self.recorder.values[self.recorder.ref(t)].kind == "gradient" else None

    def seed(self, t: torch.Tensor) -> torch.Tensor | None:
        """Return the tangent with which a leaf starts; None if it does not move."""
        seeds = self.recorder.seeds
        self.met.setdefault(id(t), t)
        if seeds is None or seeds.tangent is None:
            return torch.ones_like(t.detach())
        name = self.recorder.values[self.recorder.ref(t)].name
        array = seeds.direction(t, tuple(t.shape), t.detach().cpu().numpy().dtype, name)
        return None if array is None else t.detach().new_tensor(array)

    def put(self, t: torch.Tensor, tangent: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Store the tangent of a tensor."""
        t, noted = bottom(t), self.recorder.add(tangent, "tangent")
        self._known[id(t)] = (t, version(t), bottom(tangent), noted)
        return bottom(tangent), noted

    def forget(self, t: torch.Tensor) -> None:
        """Forget the tangent of a leaf that no longer requires grad."""
        self._known.pop(id(bottom(t)), None)

    def written(self, t: torch.Tensor, tangent: torch.Tensor) -> None:
        """Store the new tangent of a written tensor, and update its base's if it is a view."""
        self.put(t, tangent)
        if (base := t._base if t._is_view() else None) is not None:
            _, _, before, _ = self._known.get(id(base), (None, None, None, None))
            flat = laid_out(base, torch.zeros_like(base) if before is None else before)
            flat.as_strided(t.shape, t.stride(), t.storage_offset()).copy_(tangent)
            self.put(base, flat.as_strided(base.shape, base.stride(), base.storage_offset()))

    def note(self, call: OpEntry, t: torch.Tensor, value: int) -> None:
        """Note the tangent of an operation's argument or result, if it has one."""
        if self.wanted and forward_ad._current_level < 0 and (found := self.of(t)) is not None and found[1] is not None:
            call.tangents = {**call.tangents, value: found[1]}

    # -------------------------------------------------------------------------------------------------- the pass
    def before(self, run: Callable, name: str, args: tuple, kwargs: dict, given: dict, cls: Any) -> Callable | None:
        """Save a call's arguments and return a function that pushes their tangents after the call.

        `given` maps the identity of each argument to its tensor and value.  Returns None if there is no tangent to push.
        """
        if forward_ad._current_level >= 0:
            return lambda call, out, results: self.own(call, list(given.values()), results)
        tangents = {key: found for key, (t, _) in given.items() if self.wanted and (found := self.of(t)) is not None}
        if not tangents:
            return None
        may = not self.recorder.layers() and (cls is not None or may_write(run, name, args, kwargs))
        with quiet():
            copies = {key: t.detach().clone() for key, (t, _) in given.items()} if may else {}
        versions = {key: version(t) for key, (t, _) in given.items()}
        random = generator_states(args, kwargs)

        def plain(t: torch.Tensor) -> torch.Tensor:
            """Return an argument as it was before the call, safe to write to."""
            if id(t) in copies:
                return copies[id(t)]
            constant = id(t) not in tangents  # maybe running statistics, which change without a new version
            changed = version(t) != versions.get(id(t))
            apart = constant or changed or torch._debug_has_internal_overlap(bottom(t))
            return t.detach().clone() if apart else t.detach()

        def push(call: Call, out: Any, results: list) -> None:
            self.ran = []
            known = {key: one for key, (one, _) in tangents.items() if one is not None}
            call.tangents = {given[key][1]: noted for key, (_, noted) in tangents.items() if noted is not None}
            if len(known) < len(tangents):
                return self.stop(results)
            if cls is not None and cls.jvp is torch.autograd.Function.jvp:
                self.recorder.notes.append(f"the jvp pass stops at {call.name}, which has no jvp")
                return self.stop(results)
            again = self.nested if self.recorder.layers() else self.dual
            # fast kernels of attention have no jvp
            kernels = sdpa_kernel(SDPBackend.MATH) if "attention" in name else nullcontext()
            try:
                with torch._C.DisableTorchFunction(), torch.no_grad(), random(), kernels:
                    pairs = {key: (given[key][0], one) for key, one in known.items()}
                    twins, inputs = again(run, args, kwargs, plain, pairs, out)
            except (NotImplementedError, RuntimeError) as e:
                if cls is not None and type(e) is not NotImplementedError:
                    raise  # the user's own jvp
                lacks = "forward AD" in str(e) and not cls
                why = ", which has no forward mode in PyTorch" if lacks else f": {str(e).splitlines()[0]}"
                self.recorder.notes.append(f"the jvp pass stops at {call.name}{why}")
                return self.stop(results)
            with quiet():
                self.take(out, twins, given, inputs, versions)
            for t, value in results:
                kept, at, _, noted = self._known.get(id(bottom(t)), (None, None, None, None))
                if noted is not None and kept is bottom(t) and at == version(kept):
                    call.tangents = {**call.tangents, value: noted}

        return push

    def twins(self, call: Call, values: dict[int, int]) -> Iterator[tuple[torch.Tensor, int]]:
        """Yield the tensors of the last second run, with what they are in the program; `values` are those of its tensors."""
        for key, primal, tangent in self.ran:
            if (value := values.get(key)) is not None:
                yield primal, value
                if tangent is not None and value in call.tangents:
                    yield tangent, call.tangents[value]

    def take(self, out: Any, twins: list, given: dict, inputs: dict, versions: dict) -> None:
        """Store the tangents of a call's results and of its written arguments."""
        for t, tangent in zip(tensors_in(out), twins):
            if id(t) not in given and tangent is not None and tangent.shape == bottom(t).shape:
                self.put(t, tangent.clone())
        for key, (t, _) in given.items():
            anew = is_leaf(t) or t._is_view() and is_leaf(t._base)  # written without grad, a leaf starts again
            if version(t) != versions[key] and not anew and (tangent := inputs.get(key)) is not None:
                self.written(t, tangent.clone())

    def stop(self, results: list) -> None:
        """Mark results whose tangents are unknown."""
        for t, _ in results:
            if t.is_floating_point() or t.is_complex():
                self._known[id(bottom(t))] = (bottom(t), version(t), *STOPPED)

    def dual(
        self, run: Callable, args: tuple, kwargs: dict, plain: Callable, known: dict, out: Any
    ) -> tuple[list, dict]:
        """Compute the tangents of a call's results, and of its arguments after the call, with dual tensors."""
        duals: dict[int, torch.Tensor] = {}

        def made(t: torch.Tensor) -> torch.Tensor:
            if id(t) not in duals:
                duals[id(t)] = plain(t)
                if id(t) in known:
                    duals[id(t)] = forward_ad.make_dual(duals[id(t)], known[id(t)][1].clone())
            return duals[id(t)]

        with forward_ad.dual_level():
            again = run(*tree_map_only(torch.Tensor, made, args), **tree_map_only(torch.Tensor, made, kwargs))
            if not all(runs_agree(t, twin) for t, twin in zip(tensors_in(out), tensors_in(again))):
                raise NotImplementedError("a second run gives other results")
            pairs = [*duals.items(), *[(id(t), twin) for t, twin in zip(tensors_in(out), tensors_in(again))]]
            self.ran = [(key, *forward_ad.unpack_dual(t)) for key, t in pairs if t.is_floating_point()]
            return [tangent_of(t) for t in tensors_in(again)], {key: tangent_of(t) for key, t in duals.items()}

    def nested(
        self, run: Callable, args: tuple, kwargs: dict, plain: Callable, known: dict, _: Any
    ) -> tuple[list, dict]:
        """Compute the tangents inside transforms, with an additional torch.func.jvp; writes are not followed."""

        def f(*primals: torch.Tensor) -> tuple:
            twins = dict(zip(known, primals))

            def made(t: torch.Tensor) -> torch.Tensor:
                return twins[id(t)] if id(t) in twins else plain(t)

            out = run(*tree_map_only(torch.Tensor, made, args), **tree_map_only(torch.Tensor, made, kwargs))
            return tuple(tensors_in(out))

        primals = tuple(plain(t) for t, _ in known.values())
        outs, found, *_ = torch.func.jvp(f, primals, tuple(as_seen(t, tangent) for t, tangent in known.values()))
        if any(batches(t) != batches(tangent) for t, tangent in zip(outs, found)):
            raise NotImplementedError("its tangent and its result have different batch dimensions")
        return [bottom(tangent) for tangent in found], {}

    def own(self, call: Call, given: list, results: list) -> None:
        """Record the program's own tangents.  Their nodes in the graph belong to the operation too."""
        for side in (given, results):
            found = []
            for t, value in side:
                with torch._C.DisableTorchFunction():
                    try:
                        tangent = tangent_of(t)
                    except RuntimeError:  # some stacks of transforms do not support the query
                        tangent = None
                if tangent is not None:
                    _, at, _, noted = self._known.get(id(bottom(t)), (None, None, None, None))
                    noted = noted if noted is not None and at == version(t) else self.put(t, tangent)[1]
                    call.tangents = {**call.tangents, value: self.recorder.assign(tangent, noted)}
                    found.append((tangent, noted))
            if side is given:
                call.boundary |= self.recorder.edges(dict(enumerate(found)))
            else:
                self.recorder.attach(call, found)


def as_seen(t: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """Wrap a tangent in the same transforms as its tensor."""
    if not functorch.is_functorch_wrapped_tensor(t):
        return tangent
    inner, level = as_seen(functorch.get_unwrapped(t), tangent), functorch.maybe_get_level(t)
    if functorch.is_batchedtensor(t):
        return functorch._add_batch_dim(inner, functorch.maybe_get_bdim(t), level)
    return functorch._wrap_for_grad(inner, level)


def tangent_of(t: torch.Tensor | None) -> torch.Tensor | None:
    """Return the tangent of a dual tensor."""
    return None if t is None or not (t.is_floating_point() or t.is_complex()) else forward_ad.unpack_dual(t).tangent


def runs_agree(t: torch.Tensor, twin: torch.Tensor) -> bool:
    """Return True if two runs of a call agree up to rounding: attention uses another kernel when it is differentiated."""
    return t.shape == twin.shape and torch.allclose(t.detach(), twin.detach(), rtol=1e-2, atol=1e-3, equal_nan=True)


def laid_out(base: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """Lay a tangent out in memory like its tensor, so that the same views can be taken of it."""
    flat = tangent.new_zeros(base.untyped_storage().nbytes() // base.element_size())
    flat.as_strided(base.shape, base.stride(), base.storage_offset()).copy_(tangent)
    return flat


def may_write(run: Callable, name: str, args: tuple, kwargs: dict) -> bool:
    """Return True if a call's name or arguments indicate that it writes to its arguments."""
    if name == "__setitem__" or "out" in kwargs:
        return True
    if name.endswith("_") and not name.endswith("__") or name.startswith("__i") and name != "__invert__":
        return True
    try:
        return bool(inspect.signature(run).bind(*args, **kwargs).arguments.get("inplace"))
    except (TypeError, ValueError):  # a builtin has no signature, and none has `inplace`
        return False


def generator_states(args: tuple, kwargs: dict) -> Callable:
    """Save the states of the random generators; return a context manager that restores them inside its block."""
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
