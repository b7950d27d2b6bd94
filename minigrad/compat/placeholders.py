"""PyTorch's modules that have little to do here, as one table: module -> its names -> what each of them is.

Most names are one of a few kinds: a decorator that returns its argument, a function that does nothing or returns a constant, a
setting that is stored and never read, an alias, or a function that raises and says what to use.  `module` makes a module of a
row when a program asks for it; torch_modules.py says under which other names PyTorch has these modules.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from functools import cache, partial
from itertools import repeat
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn

from .. import cuda, nn, testing
from ..arrays import dtypes
from ..arrays.devices import CUDA, Size, device, put_default_device
from ..core.tensor import Tensor
from ..diagnose.missing_names import absent, replacement
from ..errors import OutOfMemoryError, Unread, error
from ..func import tree
from ..linalg import LinAlgError
from ..nn import convolution, losses, normalization
from ..nn.module_hooks import EVERY
from ..ops.from_data import as_tensor
from ..ops.legacy import ON_GPU
from ..ops.storage import Storage, TypedStorage, UntypedStorage
from ..optim.lr_scheduler import LRScheduler
from ..tensors.hooks import Handle
from . import amp, grad_scaler
from .library import Namespace


# ---------------------------------------------------------------------- the kinds of names
def itself(decorated: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the function, class or module; with options only, a decorator that returns it."""
    return decorated if decorated is not None and not isinstance(decorated, bool) else lambda function: function


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


def always(value: Any) -> Callable:
    """Return a function that returns a constant."""
    return lambda *args, **kwargs: value


def stored(value: Any) -> tuple[Callable, Callable]:
    """Return the functions that set and get a setting without effect."""
    setting = {"value": value}
    return lambda value, **options: setting.update(value=value, **options), lambda: setting["value"]


def refused(who: str, what: str, fix: str) -> Callable[..., NoReturn]:
    """Return a function that raises NotImplementedError."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise error(NotImplementedError, who, what, fix)

    return refuse


class Backend(ModuleType):
    """The switches of one library, as a module, because programs import it (`import torch.backends.cudnn as cudnn`).

    >>> import minigrad
    >>> minigrad.backends.cudnn.benchmark = True
    >>> minigrad.backends.cudnn.benchmark, minigrad.backends.mps.is_available()
    (True, False)
    """

    def __init__(self, available: Callable = lambda: False, **switches: Any):
        super().__init__("backend")
        vars(self).update(switches, is_available=available, is_built=available, version=nothing)

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """Set switches within the block."""
        before = dict(vars(self))
        vars(self).update(switches)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


def namespace(name: str) -> Namespace:
    """Return a namespace of `torch.ops`; Python itself asks for names with underscores."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Namespace(name)


def ntuple(n: int) -> Callable[[Any], tuple]:
    """Return a function that makes a tuple of n copies of a number, and a plain tuple of any iterable.

    >>> ntuple(2)(3), ntuple(2)([1, 4])
    ((3, 3), (1, 4))
    """
    return lambda x: tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))


def without_prefix(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix, such as DataParallel's `module.`, from the names in a state_dict, in place.

    >>> state = {"module.weight": 1}
    >>> without_prefix(state, "module.")
    >>> state
    {'weight': 1}
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)


def set_default_tensor_type(t: Any) -> None:
    """Make a tensor type's dtype and device the default: `torch.DoubleTensor`, `"torch.cuda.FloatTensor"`."""
    dtypes.set_default_dtype(Tensor().type(t).dtype)
    put_default_device(CUDA if "cuda" in (t if isinstance(t, str) else repr(t)) else None)


class Coordinates:
    """The indices and values of a sparse tensor, which can move to another device or dtype and become dense.

    >>> import minigrad
    >>> x = Coordinates(minigrad.tensor([[0, 1], [1, 0]]), minigrad.tensor([2.0, 3.0]), (2, 2))
    >>> x.to_dense()
    tensor([[0., 2.],
            [3., 0.]])
    """

    def __init__(self, indices: Tensor, values: Tensor, size: Sequence[int] | None = None):
        self._indices, self._values = indices, values
        self.shape = Size([n + 1 for n in indices.amax(1).tolist()] + list(values.shape[1:]) if size is None else size)

    def to_dense(self) -> Tensor:
        """Return a tensor with these values; those of one position are added.  Gradients flow to the values."""
        at = self._indices.to(self._values.device).unbind()
        return self._values.new_zeros(self.shape).index_put(at, self._values, accumulate=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python itself asks for these
            raise AttributeError(name)
        if name in ("dtype", "device", "requires_grad"):
            return getattr(self._values, name)
        if name in ("to", "cpu", "cuda", "float", "double"):
            move = getattr(self._values, name)
            return lambda *args, **keywords: Coordinates(self._indices, move(*args, **keywords), self.shape)
        what, fix = replacement("torch.sparse_csr_tensor")  # of the table: nothing is searched
        raise Unread(name, lambda: (what, f"call to_dense() first, or {fix}"))


def sparse_coo_tensor(
    indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None
) -> Coordinates:
    """Return a sparse tensor; its one use is to become dense.

    >>> sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0]).to_dense()
    tensor([[0., 2.],
            [3., 0.]])
    """
    return Coordinates(as_tensor(indices, device=device), as_tensor(values, dtype=dtype, device=device), size)


def expect(cond: bool, message: Any = "Expected cond to be True, but got False") -> None:
    """Raise RuntimeError with a message, or with the result of a function that makes it, unless a condition holds."""
    if not cond:
        raise error(RuntimeError, "_check", str(message() if callable(message) else message), "change the condition")


def expect_asserted(condition: Any, message: str) -> None:
    """Assert a condition, as the statement does."""
    assert condition, message


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str | None = None,
) -> None:
    """Compare as assert_close does, apart from the dtypes: its older form."""
    testing.assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


# ---------------------------------------------------------------------- the table
NO_SCRIPT = "minigrad does not read or write TorchScript"
NO_ONNX = "minigrad does not write ONNX files"
STATE = "minigrad.save(model.state_dict(), path)"
MODULE_HOOKS = "forward_pre_hook forward_hook full_backward_pre_hook full_backward_hook backward_hook".split()
BACKENDS = "mps mkl mkldnn openmp xnnpack nnpack opt_einsum".split()
size, ratio = int | tuple[int, ...], float | tuple[float, ...]
deterministic, is_deterministic = stored(False)
precise, precision = stored("highest")

TABLE: dict[str, dict[str, Any]] = {
    "accelerator": {
        **{n: getattr(cuda, n) for n in ("is_available", "empty_cache", "memory_allocated", "max_memory_allocated")},
        "current_accelerator": lambda check_available=False: device(CUDA.type) if cuda.is_available() else None,
        "current_device_index": cuda.current_device,
        "device_count": lambda: cuda.device_count() if cuda.is_available() else 0,
        "set_device_index": cuda.set_device,
        "synchronize": lambda device=None: cuda.synchronize(device) if cuda.is_available() else None,
    },
    "annotations": {  # torch.types, torch.nn.common_types and torch.nn.modules.utils
        **{"Number": int | float | bool, "Device": device | str | int | None, "_size": Sequence[int]},
        **{"_int": int, "_float": float, "_bool": bool, "_dtype": dtypes.dtype, "_device": device},
        **{f"_size_{n}_t": size for n in ("any", 1, 2, 3, 4)},
        **{f"_ratio_{n}_t": ratio for n in ("any", 2, 3)},
        "_tensor_list_t": Tensor | list[Tensor] | tuple[Tensor, ...],
        **dict(zip(("_single", "_pair", "_triple", "_quadruple"), map(ntuple, (1, 2, 3, 4)))),
        "_ntuple": ntuple,
        "_reverse_repeat_tuple": lambda t, n: tuple([x for x in reversed(t) for _ in range(n)]),
        "consume_prefix_in_state_dict_if_present": without_prefix,
    },
    # names with an underscore, or that are old, which programs find in one module each
    "of_torch": {"_assert": expect_asserted, "_check": expect},
    "of_autograd": {"_is_checkpoint_valid": always(True), "set_multithreading_enabled": lambda mode: nullcontext()},
    "of_cuda": {**ON_GPU, "_initialized": False},  # programs then leave the random state of a GPU alone
    "of_init": {"_calculate_fan_in_and_fan_out": nn.init.fans},
    "of_schedules": {"_LRScheduler": LRScheduler},
    "of_testing": {"assert_allclose": assert_allclose},
    "attention": {  # minigrad has one kernel for attention, so the choice of one has no effect
        "SDPBackend": IntEnum("SDPBackend", "MATH FLASH_ATTENTION EFFICIENT_ATTENTION CUDNN_ATTENTION", start=0),
        "sdpa_kernel": lambda backends, set_priority=False: nullcontext(),
    },
    "backends": {
        "cudnn": Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True),
        "cuda": Backend(
            cuda.is_available,
            matmul=Backend(allow_tf32=False, allow_fp16_reduced_precision_reduction=True),
            **{f"enable_{name}_sdp": nothing for name in ("flash", "mem_efficient", "math")},
        ),
        **{name: Backend(enabled=False) for name in BACKENDS},
    },
    "compiler": {  # minigrad.compile runs a function that it cannot compile unchanged: no code has to be marked
        **dict.fromkeys("allow_in_graph assume_constant_result disable disallow_in_graph".split(), itself),
        "substitute_in_graph": lambda original_fn, **kwargs: itself(),
        **dict.fromkeys(
            "cudagraph_mark_step_begin graph_break mark_dynamic mark_static reset set_stance".split(), nothing
        ),
        **dict.fromkeys("is_compiling is_dynamo_compiling is_exporting".split(), always(False)),
        "config": SimpleNamespace(),
    },
    "cuda_amp": {  # torch.amp for a GPU, under the names of PyTorch before 2.4
        **{"autocast": partial(amp.autocast, "cuda"), "GradScaler": grad_scaler.CudaGradScaler},
        **{name: partial(getattr(amp, name), device_type="cuda") for name in ("custom_fwd", "custom_bwd")},
    },
    "jit": {  # programs run as written; minigrad.compile compiles
        **dict.fromkeys(
            "export freeze ignore interface optimize_for_inference script script_if_tracing".split(), itself
        ),
        **dict.fromkeys("script_method trace trace_module unused".split(), itself),
        **dict.fromkeys("is_scripting is_tracing onednn_fusion_enabled".split(), always(False)),
        **{"ScriptModule": type("ScriptModule", (nn.Module,), {}), "ScriptFunction": type("ScriptFunction", (), {})},
        "RecursiveScriptModule": type("RecursiveScriptModule", (nn.Module,), {}),
        **{"Final": Final, "isinstance": isinstance, "annotate": lambda the_type, the_value: the_value},
        **{"fork": lambda func, *args, **kwargs: func(*args, **kwargs), "wait": lambda future: future},
        "save": refused("jit.save", NO_SCRIPT, f"save the numbers: {STATE}"),
        "load": refused(
            "jit.load", NO_SCRIPT, "in PyTorch, save model.state_dict(); here, load it into the same module"
        ),
    },
    "multiprocessing": {  # Python's; tensors are copied between processes
        **{name: getattr(multiprocessing, name) for name in multiprocessing.__all__},
        **{"get_sharing_strategy": always("copy"), "set_sharing_strategy": nothing},
    },
    "onnx": {
        "export": refused(
            "onnx.export", NO_ONNX, f"save the numbers with {STATE}, load them in PyTorch and export there"
        ),
        "is_in_onnx_export": always(False),
    },
    "ops_by_name": {"__getattr__": namespace},
    "other_accelerators": {"is_available": always(False), "device_count": always(0)},
    "pytree": {
        **{"tree_flatten": tree.flatten, "tree_leaves": tree.leaves, "tree_map": tree.tree_map},
        "tree_unflatten": lambda leaves, treespec: tree.rebuild(treespec, leaves),
        "tree_map_only": lambda kind, f, values: tree.tree_map(lambda x: f(x) if isinstance(x, kind) else x, values),
        **dict.fromkeys(("register_pytree_node", "_register_pytree_node"), tree.register),
    },
    "sparse": {f"{kind}Tensor": Coordinates for kind in ("Float", "Double", "Half", "Long", "Int")},
    "top_level": {
        **{name: getattr(amp, name) for name in "GradScaler autocast get_autocast_dtype is_autocast_enabled".split()},
        "OutOfMemoryError": OutOfMemoryError,
        # results are always the same from run to run, products have full precision, and operations run one after the other
        **{"use_deterministic_algorithms": deterministic, "are_deterministic_algorithms_enabled": is_deterministic},
        **{"set_float32_matmul_precision": precise, "get_float32_matmul_precision": precision},
        **{"set_num_interop_threads": nothing, "get_num_interop_threads": always(1), "set_warn_always": nothing},
        **{"set_flush_denormal": always(False), "set_default_tensor_type": set_default_tensor_type},
        "sparse_coo_tensor": sparse_coo_tensor,
        "get_device_module": lambda device=None: cuda,
        **{
            "TypedStorage": TypedStorage,
            "UntypedStorage": UntypedStorage,
            "is_storage": lambda obj: isinstance(obj, Storage),
        },
    },
    "underscored": {  # base classes of layers, and others that programs use although they have an underscore
        **{"_LinAlgError": LinAlgError, "RemovableHandle": Handle},
        **{"_ConvNd": convolution.Convolution, "_ConvTransposeNd": convolution.TransposedConvolution},
        **{"_Loss": losses.Loss, "_WeightedLoss": losses.Weighted},
        **{"_BatchNorm": normalization.BatchNorm, "_InstanceNorm": normalization.InstanceNorm},
        **{"_NormBase": normalization.ChannelNorm, "NonDynamicallyQuantizableLinear": nn.Linear},
        **{f"register_module_{name}": getattr(EVERY, f"register_{name}") for name in MODULE_HOOKS},
    },
    "version": {"cuda": None, "hip": None, "xpu": None, "git_version": None, "debug": False},
}


@cache
def module(name: str) -> ModuleType:
    """Return a row of the table as a module.

    >>> module("jit").script(nn.ReLU())
    ReLU()
    """
    made = ModuleType(f"minigrad.{name}", f"torch.{name}, as minigrad has it: compat/placeholders.py.")
    vars(made).update(TABLE[name], __all__=[n for n in TABLE[name] if not n.startswith("_")])
    return made


def top_level(name: str) -> Any:
    """Return a name of `torch` itself; AttributeError if there is none.  In-place operations are functions, too: relu_(x)."""
    if name in TABLE["top_level"]:
        return TABLE["top_level"][name]
    if name.endswith("_") and not name.startswith("_") and callable(getattr(Tensor, name, None)):
        return lambda input, *args, **kwargs: getattr(input, name)(*args, **kwargs)
    raise absent(AttributeError, f"minigrad.{name}")
