"""The jvp pass of a recorded PyTorch program: each call is run once more, on dual tensors of our own.

So the program itself never sees a dual tensor.  The second run draws the same random numbers and writes into copies.  A
program that opens a dual level of its own keeps it: then its tangents are noted, and none of ours.
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

from .torch_document import Call, Noted, batches, bottom, is_leaf, quiet
from .torch_words import tensors_in

STOPPED = (None, None)


class Tangents:
    """The tangents of the tensors that a program holds, by their identity; a write makes them stale.

    What comes out of an operation that tangents cannot be pushed through has none (STOPPED), and so has all that is
    computed from it: a tangent that is given is always whole.
    """

    def __init__(self, recorder: Any, wanted: bool):
        self.recorder, self.wanted = recorder, wanted
        self._known: dict[int, tuple] = {}  # id -> (tensor, version, tangent, its value)

    def of(self, t: torch.Tensor) -> tuple[torch.Tensor | None, Noted | None] | None:
        """The tangent of a tensor and its value; a leaf that requires grad starts with ones, a view reads its base's."""
        t = bottom(t)
        _, at, *found = self._known.get(id(t), (None, -2, *STOPPED))
        if at == version(t):
            return found[0], found[1]
        if not (t.is_floating_point() or t.is_complex()):
            return None
        with quiet():
            if is_leaf(t):
                return self.put(t, torch.ones_like(t.detach()))
            base = t._base if t._is_view() else None
            if base is not None and base.layout is torch.strided and (whole := self.of(base)) is not None:
                if whole[0] is None:
                    return STOPPED
                flat = laid_out(base, whole[0])
                return self.put(t, flat.as_strided(t.shape, t.stride(), t.storage_offset()).clone())
        return STOPPED if self.recorder.ref(t).kind == "gradient" else None

    def put(self, t: torch.Tensor, tangent: torch.Tensor) -> tuple[torch.Tensor, Noted]:
        """Remember the tangent of a tensor."""
        t, noted = bottom(t), Noted(tangent, "tangent")
        self._known[id(t)] = (t, version(t), bottom(tangent), noted)
        return bottom(tangent), noted

    def written(self, t: torch.Tensor, tangent: torch.Tensor) -> None:
        """A tensor was written: it has a new tangent, and so has the tensor that it is a view of."""
        self.put(t, tangent)
        if (base := t._base if t._is_view() else None) is not None:
            _, _, before, _ = self._known.get(id(base), (None, None, None, None))
            flat = laid_out(base, torch.zeros_like(base) if before is None else before)
            flat.as_strided(t.shape, t.stride(), t.storage_offset()).copy_(tangent)
            self.put(base, flat.as_strided(base.shape, base.stride(), base.storage_offset()))

    def note(self, call: Call, t: torch.Tensor, value: Noted) -> None:
        """Note the tangent of an operation's argument or result, where it has one."""
        if self.wanted and forward_ad._current_level < 0 and (found := self.of(t)) is not None and found[1] is not None:
            call.tangents[value] = found[1]

    # -------------------------------------------------------------------------------------------------- the pass
    def before(self, run: Callable, name: str, args: tuple, kwargs: dict, given: dict, cls: Any) -> Callable | None:
        """What has to be kept of a call's arguments; the result pushes the tangents, once the call has been made.

        `given` has tensor and value of each argument by its identity.  None where nothing is to be pushed.
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
            """An argument as it was; it may be written to."""
            if id(t) in copies:
                return copies[id(t)]
            constant = id(t) not in tangents  # maybe running statistics, which are written without anybody being told
            changed = version(t) != versions.get(id(t))
            apart = constant or changed or torch._debug_has_internal_overlap(bottom(t))
            return t.detach().clone() if apart else t.detach()

        def push(call: Call, out: Any, results: list) -> None:
            known = {key: one for key, (one, _) in tangents.items() if one is not None}
            call.tangents = {given[key][1]: noted for key, (_, noted) in tangents.items() if noted is not None}
            if len(known) < len(tangents):
                return self.stop(results)
            if cls is not None and cls.jvp is torch.autograd.Function.jvp:
                self.recorder.notes.append(f"the jvp pass stops at {call.name}, which has no jvp")
                return self.stop(results)
            again = self.nested if self.recorder.layers() else self.dual
            kernels = (
                sdpa_kernel(SDPBackend.MATH) if "attention" in name else nullcontext()
            )  # the fast ones have no jvp
            try:
                with torch._C.DisableTorchFunction(), torch.no_grad(), random(), kernels:
                    pairs = {key: (given[key][0], one) for key, one in known.items()}
                    twins, inputs = again(run, args, kwargs, plain, pairs, out)
            except (NotImplementedError, RuntimeError) as e:
                if cls is not None and type(e) is not NotImplementedError:
                    raise  # the user's own jvp
                self.recorder.notes.append(f"the jvp pass stops at {call.name}: {str(e).splitlines()[0]}")
                return self.stop(results)
            with quiet():
                self.take(out, twins, given, inputs, versions)
            for t, value in results:
                kept, at, _, noted = self._known.get(id(bottom(t)), (None, None, None, None))
                if noted is not None and kept is bottom(t) and at == version(kept):
                    call.tangents[value] = noted

        return push

    def take(self, out: Any, twins: list, given: dict, inputs: dict, versions: dict) -> None:
        """Keep the tangents of a call's results, and of the arguments that it has written."""
        for t, tangent in zip(tensors_in(out), twins):
            if id(t) not in given and tangent is not None and tangent.shape == bottom(t).shape:
                self.put(t, tangent.clone())
        for key, (t, _) in given.items():
            anew = is_leaf(t) or t._is_view() and is_leaf(t._base)  # written without grad, a leaf starts again
            if version(t) != versions[key] and not anew and (tangent := inputs.get(key)) is not None:
                self.written(t, tangent.clone())

    def stop(self, results: list) -> None:
        """Results whose tangents are not known."""
        for t, _ in results:
            if t.is_floating_point() or t.is_complex():
                self._known[id(bottom(t))] = (bottom(t), version(t), *STOPPED)

    def dual(
        self, run: Callable, args: tuple, kwargs: dict, plain: Callable, known: dict, out: Any
    ) -> tuple[list, dict]:
        """The tangents of what a call gives, and of its arguments afterwards, by dual tensors."""
        duals: dict[int, torch.Tensor] = {}

        def made(t: torch.Tensor) -> torch.Tensor:
            if id(t) not in duals:
                duals[id(t)] = plain(t)
                if id(t) in known:
                    duals[id(t)] = forward_ad.make_dual(duals[id(t)], known[id(t)][1].clone())
            return duals[id(t)]

        with forward_ad.dual_level():
            again = run(*tree_map_only(torch.Tensor, made, args), **tree_map_only(torch.Tensor, made, kwargs))
            if not all(alike(t, twin) for t, twin in zip(tensors_in(out), tensors_in(again))):
                raise NotImplementedError("a second run gives something else")
            return [tangent_of(t) for t in tensors_in(again)], {key: tangent_of(t) for key, t in duals.items()}

    def nested(
        self, run: Callable, args: tuple, kwargs: dict, plain: Callable, known: dict, _: Any
    ) -> tuple[list, dict]:
        """The same inside transforms, by one more of them; what is written there is not followed."""

        def f(*primals: torch.Tensor) -> tuple:
            twins = dict(zip(known, primals))

            def made(t: torch.Tensor) -> torch.Tensor:
                return twins[id(t)] if id(t) in twins else plain(t)

            out = run(*tree_map_only(torch.Tensor, made, args), **tree_map_only(torch.Tensor, made, kwargs))
            return tuple(tensors_in(out))

        primals = tuple(plain(t) for t, _ in known.values())
        outs, found, *_ = torch.func.jvp(f, primals, tuple(as_seen(t, tangent) for t, tangent in known.values()))
        if any(batches(t) != batches(tangent) for t, tangent in zip(outs, found)):
            raise NotImplementedError("its tangent is not batched as its result is")
        return [bottom(tangent) for tangent in found], {}

    def own(self, call: Call, given: list, results: list) -> None:
        """Note the tangents that the program itself has.  What computed them in the graph belongs to the operation too."""
        for side in (given, results):
            found = []
            for t, value in side:
                with torch._C.DisableTorchFunction():
                    try:
                        tangent = tangent_of(t)
                    except RuntimeError:  # under some stacks of transforms it cannot be asked for
                        tangent = None
                if tangent is not None:
                    _, at, _, noted = self._known.get(id(bottom(t)), (None, None, None, None))
                    noted = noted if noted is not None and at == version(t) else self.put(t, tangent)[1]
                    call.tangents[value] = self.recorder.know(tangent, noted)
                    found.append((tangent, noted))
            if side is given:
                call.boundary |= self.recorder.backward.edges(dict(enumerate(found)))
            else:
                self.recorder.backward.attach(call, found)


def as_seen(t: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """A tangent wrapped as its tensor is, which lies under transforms."""
    if not functorch.is_functorch_wrapped_tensor(t):
        return tangent
    inner, level = as_seen(functorch.get_unwrapped(t), tangent), functorch.maybe_get_level(t)
    if functorch.is_batchedtensor(t):
        return functorch._add_batch_dim(inner, functorch.maybe_get_bdim(t), level)
    return functorch._wrap_for_grad(inner, level)


def tangent_of(t: torch.Tensor | None) -> torch.Tensor | None:
    """The tangent of a dual tensor."""
    return None if t is None or not (t.is_floating_point() or t.is_complex()) else forward_ad.unpack_dual(t).tangent


def alike(t: torch.Tensor, twin: torch.Tensor) -> bool:
    """Whether two runs of a call gave the same, up to rounding: attention is computed in another way to be differentiated."""
    return t.shape == twin.shape and torch.allclose(t.detach(), twin.detach(), rtol=1e-2, atol=1e-3, equal_nan=True)


def version(t: torch.Tensor) -> int:
    """How often a tensor was written; tensors made in inference mode do not count."""
    t = bottom(t)
    return -1 if t.is_inference() else t._version


def laid_out(base: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """A tangent in memory as its tensor is, so that views can be taken of it in the same way."""
    flat = tangent.new_zeros(base.untyped_storage().nbytes() // base.element_size())
    flat.as_strided(base.shape, base.stride(), base.storage_offset()).copy_(tangent)
    return flat


def may_write(run: Callable, name: str, args: tuple, kwargs: dict) -> bool:
    """Whether a call may write into its arguments, as far as its name and its arguments tell."""
    if name == "__setitem__" or "out" in kwargs:
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
