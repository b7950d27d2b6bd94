"""Names for annotations, and tuples of numbers: torch.types, torch.nn.common_types and torch.nn.modules.utils."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, TypeVar

from ..arrays.devices import device
from ..arrays.dtypes import dtype
from ..core.tensor import Tensor

T = TypeVar("T")
Number = int | float | bool
Device = device | str | int | None
_int, _float, _bool, _dtype, _device = int, float, bool, dtype, device
_size = Sequence[int]
_scalar_or_tuple_any_t = _scalar_or_tuple_2_t = T | tuple[T, ...]
_size_any_t = _size_1_t = _size_2_t = _size_3_t = _size_4_t = int | tuple[int, ...]
_ratio_any_t = _ratio_2_t = _ratio_3_t = float | tuple[float, ...]
_tensor_list_t = Tensor | list[Tensor] | tuple[Tensor, ...]


def _ntuple(n: int) -> Callable[[Any], tuple]:
    """Return a function that makes a tuple of n copies of a number, and a plain tuple of any iterable.

    >>> _ntuple(2)(3), _ntuple(2)([1, 4])
    ((3, 3), (1, 4))
    """
    return lambda x: tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))


_single, _pair, _triple, _quadruple = map(_ntuple, (1, 2, 3, 4))


def _reverse_repeat_tuple(t: tuple, n: int) -> tuple:
    """Return the members of `t` in reverse order, each repeated n times.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix, such as DataParallel's `module.`, from the names in a state_dict, in place.

    >>> state = {"module.weight": 1}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
