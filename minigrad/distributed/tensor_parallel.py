"""Tensor parallelism: Linear layers that are divided among ranks, by outputs (columns) or by inputs (rows).

A tensor that all ranks have alike counts once, and its gradient is alike on all ranks too.  Four linear maps lead from there to
tensors of each rank's own and back; each is the transpose of another, and so backward, jvp, vmap and second derivatives follow:

    copy_to_group     the same tensor for each to go on with   <->  reduce_from_group   the sum of what each has
    split_to_group    each takes its part                      <->  gather_from_group   the parts beside each other

A column-parallel layer with a row-parallel one behind it needs one all_reduce forward and one backward.
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


# ---------------------------------------------------------------------- between what is alike and what is each rank's own
class Copy(LinearMap):
    """A tensor that all ranks have alike, for each to go on with."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Total.apply(grad, group)


class Total(AllReduce):
    """The sum of the ranks' tensors, which counts once: its gradient is alike on all."""

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Copy.apply(grad, group)


class Split(LinearMap):
    """This rank's part, along dimension 0, of a tensor that all have alike."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        return tensor.chunk(group.size())[group.rank()].clone()

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Join.apply(grad, group)


class Join(AllGather):
    """The parts of all ranks above each other along dimension 0, which count once: their gradient is alike on all."""

    @staticmethod
    def transpose(grad: Tensor, group: ProcessGroup) -> Tensor:
        return Split.apply(grad, group)


def copy_to_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return a tensor that all ranks have alike, for each to compute its own with; backward sums the gradients."""
    return Copy.apply(tensor, member(group, "copy_to_group"))


def reduce_from_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return the sum of all ranks' tensors, alike on all; backward gives each the gradient as it is."""
    return Total.apply(tensor, member(group, "reduce_from_group"))


def split_to_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return this rank's part, along the last dimension, of a tensor that all ranks have alike; backward gathers.

    Raises ValueError for a dimension that cannot be divided evenly.
    """
    given = member(group, "split_to_group")
    share(tensor.shape[-1], given, "split_to_group", "the last dimension")
    return Split.apply(tensor.movedim(-1, 0), given).movedim(0, -1)


def gather_from_group(tensor: Tensor, group: Any = None) -> Tensor:
    """Return the tensors of all ranks beside each other along the last dimension, alike on all; backward splits."""
    return Join.apply(tensor.movedim(-1, 0), member(group, "gather_from_group")).movedim(0, -1)


def share(n: int, group: ProcessGroup, who: str, name: str) -> int:
    """Return how many of `n` each rank has.  Raises ValueError where they cannot be divided evenly."""
    if n % group.size():
        what = f"{name}, {n}, cannot be divided evenly among {group.size()} processes"
        raise error(ValueError, who, what, f"make it a multiple of {group.size()}, or pass a smaller group")
    return n // group.size()


# ---------------------------------------------------------------------- layers
class ParallelLinear(HoldsParts, Module):
    """What the layers share: parameters that are this rank's part of a Linear's, and are saved as such."""

    weight: Parameter
    bias: Parameter | None

    def __init__(self, whole: Linear, group: Any, dim: int):
        super().__init__()
        self.in_features, self.out_features = whole.in_features, whole.out_features
        self.group: ProcessGroup = member(group, type(self).__name__)
        divided = "out_features" if dim == 0 else "in_features"
        n = share(getattr(whole, divided), self.group, type(self).__name__, divided)
        self._begin = n * self.group.rank()
        self.weight = Parameter(whole.weight.detach().narrow(dim, self._begin, n).clone(), whole.weight.requires_grad)
        bias = whole.bias
        if bias is not None:
            mine = bias.detach().narrow(0, self._begin, n) if dim == 0 else bias.detach()
            bias = Parameter(mine.clone(), bias.requires_grad)
        self.register_parameter("bias", bias)
        self.register_state_dict_post_hook(show_parts)
        self.register_load_state_dict_pre_hook(take_parts)

    def extra_repr(self) -> str:
        here = tuple(self.weight.shape)
        features = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{features}, bias={self.bias is not None}, weight here: {here}"


class ColumnParallelLinear(ParallelLinear):
    """A Linear of which each rank computes an equal part of the outputs: rows of its weight, as nn.Linear stores it.

    The whole has the numbers of `nn.Linear(in_features, out_features, bias)` with the seed, which is the same on all ranks.
    Input (..., in_features), alike on all ranks; output (..., out_features), or with `gather_output=False` this rank's
    (..., out_features / ranks).  Raises ValueError where out_features cannot be divided evenly.

    >>> import minigrad, minigrad.distributed as dist
    >>> from minigrad.distributed.tensor_parallel import ColumnParallelLinear
    >>> dist.init_process_group("mpi")
    >>> ColumnParallelLinear(3, 4)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 4])
    >>> dist.destroy_process_group()
    """

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
        super().__init__(Linear(in_features, out_features, bias, device, dtype), group, 0)
        self.gather_output = gather_output

    @classmethod
    def from_linear(cls, whole: Linear, group: Any = None, gather_output: bool = True) -> ColumnParallelLinear:
        """Return the layer that computes what a Linear, which all ranks have alike, computes."""
        layer = cls.__new__(cls)
        ParallelLinear.__init__(layer, whole, group, 0)
        layer.gather_output = gather_output
        return layer

    def forward(self, input: Tensor) -> Tensor:
        out = linear(copy_to_group(input, self.group), self.weight, self.bias)
        return gather_from_group(out, self.group) if self.gather_output else out

    def held_parts(self) -> dict[str, list[Part]]:
        n, k = self.weight.shape
        weight = Part("weight", (self.out_features, k), 0, [((self._begin, 0), (n, k))], self.group)
        bias = Part("bias", (self.out_features,), 0, [((self._begin,), (n,))], self.group)
        return {"weight": [weight], "bias": [bias]}


class RowParallelLinear(ParallelLinear):
    """A Linear of which each rank has an equal part of the inputs: columns of its weight, as nn.Linear stores it.

    The whole has the numbers of `nn.Linear(in_features, out_features, bias)` with the seed, which is the same on all ranks.
    Input (..., in_features), alike on all ranks, or with `input_is_parallel` this rank's (..., in_features / ranks), as a
    column-parallel layer with `gather_output=False` returns it; output (..., out_features), alike on all ranks.  Raises
    ValueError where in_features cannot be divided evenly.

    >>> import minigrad, minigrad.distributed as dist
    >>> from minigrad.distributed.tensor_parallel import RowParallelLinear
    >>> dist.init_process_group("mpi")
    >>> RowParallelLinear(3, 4)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 4])
    >>> dist.destroy_process_group()
    """

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
        super().__init__(Linear(in_features, out_features, bias, device, dtype), group, 1)
        self.input_is_parallel = input_is_parallel

    @classmethod
    def from_linear(cls, whole: Linear, group: Any = None, input_is_parallel: bool = False) -> RowParallelLinear:
        """Return the layer that computes what a Linear, which all ranks have alike, computes."""
        layer = cls.__new__(cls)
        ParallelLinear.__init__(layer, whole, group, 1)
        layer.input_is_parallel = input_is_parallel
        return layer

    def forward(self, input: Tensor) -> Tensor:
        mine = input if self.input_is_parallel else split_to_group(input, self.group)
        out = reduce_from_group(linear(mine, self.weight), self.group)
        return out if self.bias is None else out + self.bias

    def held_parts(self) -> dict[str, list[Part]]:
        m, n = self.weight.shape
        return {"weight": [Part("weight", (m, self.in_features), 0, [((0, self._begin), (m, n))], self.group)]}


# ---------------------------------------------------------------------- state
def show_parts(layer: ParallelLinear, state: dict, prefix: str, metadata: Any) -> None:
    """Let the state_dict say of parameters which part of the whole they are."""
    for name, (part,) in layer.held_parts().items():
        if prefix + name in state:
            state[prefix + name] = part.of(state[prefix + name])


def take_parts(layer: ParallelLinear, state: dict, prefix: str, _: Any, *rest: Any) -> None:
    """Take this layer's part from whole tensors, such as a Linear's, or from the same part."""
    faults = rest[-1]
    for name, (part,) in layer.held_parts().items():
        if prefix + name in state:
            mine = getattr(layer, name).detach().clone()
            if fault := fill(part.of(mine), state[prefix + name]):
                faults.append(f"size mismatch for {prefix}{name}: {fault}.")
            state[prefix + name] = mine


# ---------------------------------------------------------------------- a model's layers
class ColwiseParallel:
    """Divide a Linear by its outputs; the layer behind it takes them as they are divided, unless `gather_output`."""

    def __init__(self, *, gather_output: bool = False):
        self.gather_output = gather_output

    def of(self, layer: Linear, group: Any) -> Module:
        """Return the divided layer."""
        return ColumnParallelLinear.from_linear(layer, group, self.gather_output)


class RowwiseParallel:
    """Divide a Linear by its inputs, which come as a ColwiseParallel layer divides them, unless `input_is_parallel=False`."""

    def __init__(self, *, input_is_parallel: bool = True):
        self.input_is_parallel = input_is_parallel

    def of(self, layer: Linear, group: Any) -> Module:
        """Return the divided layer."""
        return RowParallelLinear.from_linear(layer, group, self.input_is_parallel)


def parallelize_module(
    module: Module, device_mesh: Any = None, parallelize_plan: Mapping[str, Any] | Any = None, *, src_data_rank: int = 0
) -> Module:
    """Divide Linear layers of a module, which all ranks have alike, among the ranks of a group; return the module.

    `device_mesh` is a group, or None for all ranks.  `parallelize_plan` says how, by the layers' names, in which `*` stands
    for any: `{"blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel()}`; or for the module itself, and then the
    layer is returned that takes its place.  Raises ValueError for names that no layer has, TypeError for what is no Linear.
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
    """Return the layer that takes a Linear's place."""
    if not isinstance(style, (ColwiseParallel, RowwiseParallel)):
        what = f"expected ColwiseParallel() or RowwiseParallel() for {name}, got {style!r}"
        raise error(TypeError, "parallelize_module", what, "write {'0': ColwiseParallel(), '2': RowwiseParallel()}")
    if not isinstance(layer, Linear):
        what = f"{name} is a {type(layer).__name__}, and only Linear can be divided"
        raise error(TypeError, "parallelize_module", what, "name its Linear layers")
    with no_grad():
        return style.of(layer, group)
