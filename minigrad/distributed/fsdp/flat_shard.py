"""The parameters of a module as one flat tensor, of which each rank holds an equal part.

The differentiable AllGather gathers the flat tensor.  Its transpose is reduce_scatter, so backward leaves on each rank the
gradient of its part, summed over the ranks; a hook divides it by their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...autograd import no_grad
from ...autograd.graph import Packing, saved_tensors_hooks
from ...core.saved import version
from ...core.tensor import Tensor, wrap
from ...errors import error
from ...nn.module import Module
from ...nn.parameter import Parameter, is_lazy
from ...ops.join import cat
from ..groups import ProcessGroup
from ..nn.linear_maps import AllGather
from ..sharded_tensor import Part, boxes

WHO = "FullyShardedDataParallel"
FLAT = "_flat_param"  # PyTorch's name


class Flattened(NamedTuple):
    """A parameter in the flat tensor, from `start` on; `places` are the modules that use it, with its names there."""

    names: list[str]
    places: list[tuple[Module, str]]
    shape: tuple[int, ...]
    start: int

    @property
    def stop(self) -> int:
        """The index after its last element in the flat tensor."""
        return self.start + prod(self.shape)


class Sharded(Tensor):
    """The placeholder for a parameter that is not gathered: a tensor without elements, whose use is an error."""

    __slots__ = ()

    def __new__(cls, shape: tuple[int, ...]) -> Any:
        made: Any = wrap(np.empty(0, np.float32))
        made.__class__ = cls
        vars(made)["whole"] = shape
        return made

    def __init__(self, shape: tuple[int, ...]):
        pass

    @property
    def _a(self) -> Any:  # type: ignore[override]  all operations on a tensor read its array
        what = f"a parameter of shape {self.shape} is used while it is not gathered"
        fix = f"call the {WHO} and not the module inside it, or use summon_full_params; pass the {WHO} to checkpoint()"
        raise error(RuntimeError, WHO, what, fix)

    @property
    def shape(self) -> Any:
        return vars(self)["whole"]

    def __repr__(self) -> str:
        return f"<parameter of shape {self.shape}, gathered while {WHO} runs forward, or in summon_full_params>"

    def __deepcopy__(self, memo: dict) -> Any:
        return Sharded(self.shape)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return Sharded, (self.shape,)


class FlatShard:
    """The flat parameter of one FullyShardedDataParallel; `flat` is this rank's part, a Parameter, padded with zeros.

    It is in `home`, the parameters of the unit, where functional_call and load_state_dict(assign=True) replace it.  With
    `regather` the whole flat parameter is freed after forward and gathered again when backward needs it.
    """

    def __init__(
        self, found: list[tuple[str, Module, str, Parameter]], home: dict, group: ProcessGroup, regather: bool
    ):
        check(found)
        self.home, self.group, self.regather, self.summoned = home, group, regather, False
        self.entries: list[Flattened] = []
        tensors: dict[int, tuple[Parameter, Flattened]] = {}
        at = 0
        for path, module, name, p in found:
            if id(p) not in tensors:  # otherwise several modules share it
                p._taken = path  # type: ignore[attr-defined]  `check` finds this note when another unit shares it
                tensors[id(p)] = p, Flattened([], [], tuple(p.shape), at)
                self.entries.append(tensors[id(p)][1])
                at += p.numel()
            entry = tensors[id(p)][1]
            entry.names.append(path)
            entry.places.append((module, name))
        self.size, self.each = at, -(-at // group.size())
        whole = cat([p.detach().reshape(-1) for p, _ in tensors.values()])
        self.home[FLAT] = Parameter(self.own(whole), next(iter(tensors.values()))[0].requires_grad)
        self.whole: Gathered | None = None  # in backward
        self.remove_parameters()

    @property
    def flat(self) -> Parameter:
        """This rank's part of the flat parameter."""
        return self.home[FLAT]

    def own(self, whole: Tensor) -> Tensor:
        """Return this rank's part of the flat tensor, padded with zeros."""
        mine = whole.detach()[self.begin : self.begin + self.each]
        return cat([mine, whole.new_zeros(self.each - mine.numel())])

    @property
    def begin(self) -> int:
        """The index in the flat tensor at which this rank's part begins."""
        return self.group.rank() * self.each

    # ------------------------------------------------------------------ where the parameters are
    def put(self, tensors: list) -> None:
        """Put parameters into the modules."""
        for entry, t in zip(self.entries, tensors):
            for module, name in entry.places:
                vars(module).pop(name, None)
                module._parameters[name] = t

    def remove_parameters(self) -> None:
        """Replace the parameters in the modules by placeholders."""
        for entry in self.entries:
            for module, name in entry.places:
                module._parameters.pop(name, None)
                object.__setattr__(module, name, Sharded(entry.shape))

    def views(self, whole: Tensor) -> list[Tensor]:
        """Return the parameters, which share the memory of the flat tensor."""
        sizes = [prod(e.shape) for e in self.entries]
        parts = whole.split([*sizes, whole.numel() - self.size])
        return [part.view(e.shape) for part, e in zip(parts, self.entries)]

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep the parameters in the modules inside the `with` block, computed from `flat`."""
        self.whole = None  # a backward that failed may have left one
        flat = self.flat
        mine = flat.view_as(flat)
        if mine.requires_grad:  # from the sum of all ranks' gradients to their mean
            mine.register_hook(lambda grad: grad / self.group.size())
        whole = AllGather.apply(mine, self.group)
        self.put(self.views(whole))
        try:
            if self.regather and whole.requires_grad and whole._layer is None:  # a transform keeps its tensors
                whole.register_hook(self.free)
                with Regathering(self, flat, whole):
                    yield
            else:
                yield
        finally:
            self.remove_parameters()

    @contextmanager
    def summon(self, writeback: bool) -> Iterator[None]:
        """Keep the parameters in the modules inside the `with` block, as Parameters; save changes to them if `writeback`."""
        if self.summoned:  # by a block around this one
            yield
            return
        with no_grad():
            whole = AllGather.apply(self.flat, self.group)
        self.put([Parameter(t, self.flat.requires_grad) for t in self.views(whole)])
        self.summoned = True
        try:
            yield
        finally:
            self.summoned = False
            self.remove_parameters()
            if writeback:
                with no_grad():
                    self.flat.copy_(self.own(whole))

    def check_sharded(self, what: str) -> None:
        """Raise RuntimeError while the modules have whole Parameters, whose changes are not yet in `flat`."""
        if self.summoned:
            what = f"{what} needs this rank's part of the parameters while summon_full_params holds whole parameters"
            raise error(RuntimeError, WHO, what, "leave summon_full_params first")

    # ------------------------------------------------------------------ backward
    def again(self, flat: Tensor, kept: View) -> Tensor:
        """Return a saved view of the parameters in `flat`; the first one that backward needs gathers the flat tensor."""
        now = version(flat)
        if kept.version != now:
            what = f"the parameters of the unit with {self.entries[0].names[0]} changed between forward and backward"
            raise error(RuntimeError, WHO, what, "call backward() before optimizer.step()")
        if self.whole is None or self.whole.flat is not flat or self.whole.version != now:
            self.whole = Gathered(AllGather.apply(flat, self.group), flat, now)
        return self.whole.tensor.as_strided(kept.size, kept.stride, kept.offset)

    def free(self, _: Tensor) -> None:
        """Free the gathered tensor; the gradients of all parameters are known."""
        self.whole = None

    # ------------------------------------------------------------------ state
    def parts(self) -> list[Part]:
        """Return this rank's part of each parameter, under its first name."""
        found = []
        for e in self.entries:
            start, stop = max(e.start, self.begin), min(e.stop, self.begin + self.each)
            inside = list(boxes(e.shape, start - e.start, stop - e.start))
            found.append(Part(e.names[0], e.shape, start - self.begin if inside else 0, inside, self.group))
        return found


class Gathered(NamedTuple):
    """A gathered flat tensor, and the part of this rank, with its version, that it is gathered from."""

    tensor: Tensor
    flat: Tensor
    version: int


class View(NamedTuple):
    """A saved view of the gathered memory, with the version of this rank's part at that time."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    version: int


class Packs(Packing):
    """Packs tensors in the memory of a gathered tensor, and leaves others to the hooks around."""

    first, last = 0, 0

    def pack(self, t: Tensor, index: int | None) -> Any:
        """Return the View to keep for a tensor in the gathered memory; None for other tensors."""
        return super().pack(t, index) if t._layer is None and self.first <= t.data_ptr() < self.last else None


class Regathering(saved_tensors_hooks):
    """Hooks with which nodes save Views instead of gathered parameters."""

    def __init__(self, shard: FlatShard, flat: Tensor, whole: Tensor):
        def pack(t: Tensor) -> View:
            strides: Any = t.stride()
            offset = (t.data_ptr() - first) // itemsize
            return View(tuple(t.shape), strides, offset, version(flat))

        def unpack(kept: View) -> Tensor:
            return shard.again(flat, kept)

        super().__init__(pack, unpack)
        first, itemsize = whole.data_ptr(), whole.element_size()
        self._packing = Packs(pack, unpack)
        self._packing.first, self._packing.last = first, first + whole.nbytes


def check(found: list[tuple[str, Module, str, Parameter]]) -> None:
    """Raise ValueError for parameters that cannot share a flat tensor."""
    if lazy := [path for path, _, _, p in found if is_lazy(p)]:
        raise error(
            ValueError, WHO, f"{lazy[0]} has no shape yet", "call the model once on an example before wrapping it"
        )
    first_path, _, _, first = found[0]
    for path, _, _, p in found:
        if (taken := getattr(p, "_taken", None)) is not None:
            what = f"{path} is the same parameter as {taken}, which belongs to another unit"
            raise error(ValueError, WHO, what, "wrap the modules that share a parameter in one unit")
    for path, _, _, p in found:
        for name in ("requires_grad", "dtype", "device"):
            if getattr(p, name) != getattr(first, name):
                both = f"{path} has {name}={getattr(p, name)}, and {first_path} {name}={getattr(first, name)}"
                fix = "wrap the modules of each kind separately: model.head = FullyShardedDataParallel(model.head)"
                raise error(ValueError, WHO, f"parameters of one flat tensor differ: {both}", fix)
