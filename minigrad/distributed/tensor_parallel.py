"""Tensor parallelism: Linear layers that are divided among the ranks, by outputs (columns) or by inputs (rows).

A tensor that is equal on all ranks counts once, and its gradient is equal on all ranks too.  Four linear maps lead from such
tensors to tensors that differ by rank, and back.  Each is the transpose of another, so backward, jvp, vmap and second
derivatives follow:

    copy_to_group     an equal tensor, for each rank to use     <->  reduce_from_group   the sum of the ranks' tensors
    split_to_group    this rank's part of an equal tensor       <->  gather_from_group   the ranks' parts, concatenated

A column-parallel layer followed by a row-parallel one needs one all_reduce in forward and one in backward.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..nn import Linear, Module
from ..nn.parameter import Parameter
from ..ops.nn.linear import linear
from .groups import ProcessGroup, member
from .nn.linear_maps import AllGather, AllReduce, LinearMap
from .sharded_tensor import HoldsParts, Part, fill


# ---------------------------------------------------------------------- between equal tensors and each rank's own
class Copy(LinearMap):
    """An equal tensor, for each rank to use."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Total.apply(grad, group)


class Total(AllReduce):
    """The sum of the ranks' tensors, which counts once: its gradient is equal on all ranks."""

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Copy.apply(grad, group)


class Split(LinearMap):
    """This rank's part, along dimension 0, of an equal tensor."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        return tensor.chunk(group.size())[group.rank()].clone()

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Join.apply(grad, group)


class Join(AllGather):
    """The ranks' tensors, concatenated along dimension 0, which count once: the gradient is equal on all ranks."""

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Split.apply(grad, group)


def copy_to_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return a tensor that is equal on all ranks, for each rank to use; backward sums the gradients."""
    return Copy.apply(tensor, member(group, "copy_to_group"))


def reduce_from_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return the sum of all ranks' tensors on each rank; backward passes the gradient on unchanged."""
    return Total.apply(tensor, member(group, "reduce_from_group"))


def split_to_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return this rank's part, along the last dimension, of a tensor that is equal on all ranks; backward gathers.

    Raises ValueError for a dimension that cannot be divided evenly.
    """
    pg = member(group, "split_to_group")
    share(tensor.shape[-1], pg, "split_to_group", "the last dimension")
    return Split.apply(tensor.movedim(-1, 0), pg).movedim(0, -1)


def gather_from_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return all ranks' tensors, concatenated along the last dimension, on each rank; backward splits."""
    return Join.apply(tensor.movedim(-1, 0), member(group, "gather_from_group")).movedim(0, -1)


def share(n: int, group: ProcessGroup, who: str, name: str) -> int:
    """Return each rank's share of `n`.  Raises ValueError if `n` cannot be divided evenly."""
    if n % group.size():
        what = f"{name}, {n}, cannot be divided evenly among {group.size()} processes"
        raise error(ValueError, who, what, f"make it a multiple of {group.size()}, or pass a smaller group")
    return n // group.size()


# ---------------------------------------------------------------------- layers
class ParallelLinear(HoldsParts, Module):
    """A Linear of which this rank holds a part; the weight, (out_features, in_features), is divided along `dim`."""

    dim: int
    weight: Parameter
    bias: Parameter | None

    def __init__(self, whole: Linear, group: Any):
        super().__init__()
        who, divided = type(self).__name__, ("out_features", "in_features")[self.dim]
        self.in_features, self.out_features = whole.in_features, whole.out_features
        self.group: ProcessGroup = member(group, who)
        self._n = share(getattr(whole, divided), self.group, who, divided)
        self._begin = self._n * self.group.rank()
        self.weight = self._part(whole.weight, self.dim)
        bias = None if whole.bias is None else self._part(whole.bias, 0 if self.dim == 0 else None)
        self.register_parameter("bias", bias)
        self.register_state_dict_post_hook(show_parts)
        self.register_load_state_dict_pre_hook(take_parts)

    @classmethod
    def _divide(cls, whole: Linear, group: Any, **settings: bool) -> Any:
        """Return a layer with this rank's part of a Linear, which draws no random numbers."""
        layer = cls.__new__(cls)
        ParallelLinear.__init__(layer, whole, group)
        vars(layer).update(settings)
        return layer

    def _part(self, whole: Parameter, dim: int | None) -> Parameter:
        """Return this rank's part of a parameter; all of it where `dim` is None."""
        t = whole.detach()
        part = t if dim is None else t.narrow(dim, self._begin, self._n)
        return Parameter(part.clone(), whole.requires_grad)

    def held_parts(self) -> dict[str, list[Part]]:
        shape, offsets = (self.out_features, self.in_features), ((self._begin, 0), (0, self._begin))[self.dim]
        held = {"weight": [Part("weight", shape, 0, [(offsets, tuple(self.weight.shape))], self.group)]}
        if self.dim == 0:
            held["bias"] = [Part("bias", shape[:1], 0, [((self._begin,), (self._n,))], self.group)]
        return held

    def extra_repr(self) -> str:
        here = tuple(self.weight.shape)
        features = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{features}, bias={self.bias is not None}, weight here: {here}"


class ColumnParallelLinear(ParallelLinear):
    """A Linear of which each rank computes an equal part of the outputs: rows of its weight, as nn.Linear stores it.

    The whole layer starts with the parameters of `nn.Linear(in_features, out_features, bias)` under the same seed, which is
    equal on all ranks.  The input, (..., in_features), is equal on all ranks.  The output is (..., out_features) on each
    rank, or with `gather_output=False` this rank's (..., out_features / ranks).  Raises ValueError where out_features cannot
    be divided evenly.

    >>> import minigrad, minigrad.distributed as dist
    >>> from minigrad.distributed.tensor_parallel import ColumnParallelLinear
    >>> dist.init_process_group("mpi")
    >>> ColumnParallelLinear(3, 4)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 4])
    >>> dist.destroy_process_group()
    """

    dim = 0

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        group: Any = None,
        gather_output: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(Linear(in_features, out_features, bias, device, dtype), group)
        self.gather_output = gather_output

    @classmethod
    def from_linear(cls, whole: Linear, group: Any = None, gather_output: bool = True) -> ColumnParallelLinear:
        """Return a layer that computes the same as a Linear, which is equal on all ranks."""
        return cls._divide(whole, group, gather_output=gather_output)

    def forward(self, input: Tensor) -> Tensor:
        out = linear(copy_to_group(input, self.group), self.weight, self.bias)
        return gather_from_group(out, self.group) if self.gather_output else out


class RowParallelLinear(ParallelLinear):
    """A Linear of which each rank takes an equal part of the inputs: columns of its weight, as nn.Linear stores it.

    The whole layer starts with the parameters of `nn.Linear(in_features, out_features, bias)` under the same seed, which is
    equal on all ranks.  The input, (..., in_features), is equal on all ranks; with `input_is_parallel` it is this rank's
    (..., in_features / ranks), as a column-parallel layer with `gather_output=False` returns it.  The output,
    (..., out_features), is equal on all ranks.  Raises ValueError where in_features cannot be divided evenly.

    >>> import minigrad, minigrad.distributed as dist
    >>> from minigrad.distributed.tensor_parallel import RowParallelLinear
    >>> dist.init_process_group("mpi")
    >>> RowParallelLinear(3, 4)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 4])
    >>> dist.destroy_process_group()
    """

    dim = 1

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        group: Any = None,
        input_is_parallel: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(Linear(in_features, out_features, bias, device, dtype), group)
        self.input_is_parallel = input_is_parallel

    @classmethod
    def from_linear(cls, whole: Linear, group: Any = None, input_is_parallel: bool = False) -> RowParallelLinear:
        """Return a layer that computes the same as a Linear, which is equal on all ranks."""
        return cls._divide(whole, group, input_is_parallel=input_is_parallel)

    def forward(self, input: Tensor) -> Tensor:
        mine = input if self.input_is_parallel else split_to_group(input, self.group)
        out = reduce_from_group(linear(mine, self.weight), self.group)
        return out if self.bias is None else out + self.bias


# ---------------------------------------------------------------------- state
def show_parts(layer: ParallelLinear, state: dict, prefix: str, metadata: Any) -> None:
    """Replace the parameters in a state_dict by ShardedTensors, which know their place in the whole."""
    for name, (part,) in layer.held_parts().items():
        if prefix + name in state:
            state[prefix + name] = part.of(state[prefix + name])


def take_parts(layer: ParallelLinear, state: dict, prefix: str, _: Any, *rest: Any) -> None:
    """Replace whole tensors, such as a Linear's, and ShardedTensors in a state_dict by this rank's parts."""
    faults = rest[-1]
    for name, (part,) in layer.held_parts().items():
        if prefix + name in state:
            mine = getattr(layer, name).detach().clone()
            if fault := fill(part.of(mine), state[prefix + name]):
                faults.append(f"size mismatch for {prefix}{name}: {fault}.")
            state[prefix + name] = mine


# ---------------------------------------------------------------------- a model's layers
class ColwiseParallel:
    """Divide a Linear by its outputs; each rank passes on its part of them, or all of them with `gather_output`."""

    def __init__(self, *, gather_output: bool = False):
        self.gather_output = gather_output

    def of(self, layer: Linear, group: Any) -> Module:
        """Return the divided layer."""
        return ColumnParallelLinear.from_linear(layer, group, self.gather_output)


class RowwiseParallel:
    """Divide a Linear by its inputs; each rank takes its part, or all inputs with `input_is_parallel=False`."""

    def __init__(self, *, input_is_parallel: bool = True):
        self.input_is_parallel = input_is_parallel

    def of(self, layer: Linear, group: Any) -> Module:
        """Return the divided layer."""
        return RowParallelLinear.from_linear(layer, group, self.input_is_parallel)


def parallelize_module(
    module: Module, device_mesh: Any = None, parallelize_plan: Mapping[str, Any] | Any = None, *, src_data_rank: int = 0
) -> Module:
    """Divide Linear layers of a module, which is equal on all ranks, among the ranks of a group; return the module.

    `device_mesh` is a group, or None for all ranks.  `parallelize_plan` maps names of layers, in which `*` stands for any
    name, to styles: `{"blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel()}`.  For a module that is a Linear
    itself, pass its style; the function returns the divided layer.  Raises ValueError for names that no layer has, TypeError
    for layers other than Linear.
    """
    if not isinstance(parallelize_plan, Mapping):
        return divided(module, parallelize_plan, device_mesh, "the module")
    names = [name for name, _ in module.named_modules()]
    for pattern, style in parallelize_plan.items():
        chosen = [
            name for name in names if name and fnmatchcase(name, pattern) and name.count(".") == pattern.count(".")
        ]
        if not chosen:
            what = f"no module has the name {pattern!r}"
            raise error(ValueError, "parallelize_module", what, f"write one of {names[1:6]}")
        for name in chosen:
            parent, _, own = name.rpartition(".")
            setattr(module.get_submodule(parent), own, divided(module.get_submodule(name), style, device_mesh, name))
    return module


def divided(layer: Module, style: Any, group: Any, name: str) -> Module:
    """Return the divided layer for a Linear and its style."""
    if not isinstance(style, (ColwiseParallel, RowwiseParallel)):
        what = f"expected ColwiseParallel() or RowwiseParallel() for {name}, got {style!r}"
        raise error(TypeError, "parallelize_module", what, "write {'0': ColwiseParallel(), '2': RowwiseParallel()}")
    if not isinstance(layer, Linear):
        what = f"{name} is a {type(layer).__name__}, and only a Linear can be divided"
        raise error(TypeError, "parallelize_module", what, "name its Linear layers")
    with no_grad():
        return style.of(layer, group)
