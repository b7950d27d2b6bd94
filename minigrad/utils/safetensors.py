"""Files of tensors in the safetensors format: names, dtypes, shapes and numbers, but no code that could run.

The functions are those of `safetensors.torch`, built on the safetensors library for NumPy arrays.  A file holds every tensor
once, row by row: saving tensors that share memory raises an error, and `save_model` leaves out second names of parameters.
minigrad/serialization writes files of any Python object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.memory import storage
from ..config import install
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error
from ..nn.module import Module
from ..ops.from_data import from_numpy

try:
    import safetensors
    import safetensors.numpy
except ImportError as e:
    fix = f"install it: {install('safetensors')}"
    raise error(ImportError, "minigrad.utils.safetensors", "the library safetensors is not installed", fix) from e

__all__ = ["load_file", "load_model", "safe_open", "save_file", "save_model"]
SIZES = {"f": (2, 4, 8), "i": (1, 2, 4, 8), "u": (1,)}  # in bytes, of each kind
KINDS = {f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}") for kind, sizes in SIZES.items() for size in sizes}
KINDS_THERE = {**KINDS, "BOOL": dtypes.BOOL, "BF16": dtypes.BF2}


def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name to a file; `metadata` are texts stored with them.

    Raises ValueError for a tensor that is not contiguous, RuntimeError for tensors that share memory.

    >>> import minigrad, os, tempfile
    >>> from minigrad.utils import safetensors
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> safetensors.save_file({"w": minigrad.ones(2)}, path)
    >>> safetensors.load_file(path)
    {'w': tensor([1., 1.])}
    """
    safetensors.numpy.save_file(arrays(tensors), filename, metadata)


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """Read the tensors of a file onto a device, by name.

    Raises safetensors.SafetensorError for a damaged file, TypeError for a dtype that minigrad does not have.

    >>> import minigrad, os, tempfile
    >>> from minigrad.utils import safetensors
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> safetensors.save_file({"n": minigrad.arange(3)}, path)
    >>> safetensors.load_file(path)["n"].dtype
    minigrad.int64
    """
    with safe_open(filename, "pt", device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def save_model(
    model: Module, filename: Any, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Write the state_dict of a module; a parameter with several names is stored under the first, the others as metadata.

    Raises RuntimeError for tensors that are parts of one memory if none of them is all of it.

    >>> import minigrad, os, tempfile
    >>> from minigrad.utils import safetensors
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> model = minigrad.nn.Linear(2, 1)
    >>> safetensors.save_model(model, path)
    >>> safetensors.load_model(minigrad.nn.Linear(2, 1), path)
    (set(), [])
    """
    state, strings = model.state_dict(), dict(metadata or {})
    for name, first in second_names("save_model", state).items():
        strings.setdefault(name, first)
        del state[name]
    state = {name: t.contiguous() if force_contiguous else t for name, t in state.items()}
    save_file(state, filename, strings or None)


def load_model(model: Module, filename: Any, strict: bool = True, device: Any = "cpu") -> tuple[set, list]:
    """Read a file of save_model into a module; return the missing names and the names that the module does not have.

    Raises RuntimeError if there are any and `strict`.

    >>> import minigrad, os, tempfile
    >>> from minigrad.utils import safetensors
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> safetensors.save_file({"weight": minigrad.ones(1, 2)}, path)
    >>> model = minigrad.nn.Linear(2, 1)
    >>> safetensors.load_model(model, path, strict=False)
    ({'bias'}, [])
    >>> model.weight.tolist()
    [[1.0, 1.0]]
    """
    state = load_file(filename, device)
    left_out = second_names("load_model", model.state_dict(), state)
    missing, unexpected = model.load_state_dict(state, strict=False)
    unexpected = [*unexpected, *[name for name in left_out if name not in missing]]
    absent = set(missing) - left_out.keys()
    if strict and (absent or unexpected):
        faults = [f"Missing key(s) in state_dict: {quoted(absent)}"] if absent else []
        faults += [f"Unexpected key(s) in state_dict: {quoted(unexpected)}"] if unexpected else []
        what = f"Error(s) in loading state_dict for {type(model).__name__}: " + "; ".join(faults)
        raise error(RuntimeError, "load_model", what, "load into a model like the saved one, or pass strict=False")
    return absent, unexpected


class safe_open:
    """A file opened for reading one tensor at a time: `keys()`, `metadata()`, `get_tensor(name)`, `get_slice(name)`.

    `framework` is "pt", or "np" for NumPy's arrays. Raises safetensors.SafetensorError for a damaged file, and once closed.

    >>> import minigrad, os, tempfile
    >>> from minigrad.utils import safetensors
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> safetensors.save_file({"w": minigrad.arange(6).reshape(2, 3)}, path, {"by": "me"})
    >>> with safetensors.safe_open(path, framework="pt") as file:
    ...     file.metadata(), file.get_tensor("w").shape, file.get_slice("w")[:, 1:]
    ({'by': 'me'}, minigrad.Size([2, 3]), tensor([[1, 2],
            [4, 5]]))
    """

    def __init__(self, filename: Any, framework: str, device: Any = "cpu"):
        self.file = safetensors.safe_open(filename, framework="np")
        self.device = None if framework in ("np", "numpy") else device

    def __enter__(self) -> safe_open:
        self.file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        """Look up the library's other methods: keys, offset_keys and metadata."""
        return getattr(self.file, name)

    def get_tensor(self, name: str) -> Any:
        """Return one tensor."""
        return self.get_slice(name)[...]

    def get_slice(self, name: str) -> Slice:
        """Return a tensor of the file that you can index to read a part."""
        return Slice(self, name)


class Slice:
    """A tensor in a file; indexing it reads a part."""

    def __init__(self, opened: safe_open, name: str):
        self.opened, self.name = opened, name
        self.part = opened.file.get_slice(name)
        self.get_shape, self.get_dtype = self.part.get_shape, self.part.get_dtype

    def __getitem__(self, index: Any) -> Any:
        dtype_in_file("load_file", self.name, self.get_dtype())
        found = self.opened.file.get_tensor(self.name) if index is Ellipsis else self.part[index]
        if self.opened.device is None:
            return found
        return as_tensor("load_file", self.name, found).to(self.opened.device)


# ---------------------------------------------------------------------- helpers
def arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Return the tensors' arrays.  Raises an error for a tensor that a file cannot hold."""
    if not isinstance(tensors, Mapping):
        what = f"expected a dict of [str, Tensor] but received {type(tensors).__name__}"
        raise error(ValueError, "save_file", what, "pass model.state_dict()")
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            what = f"key {name!r} is invalid, expected a Tensor but received {type(t).__name__}"
            raise error(ValueError, "save_file", what, "save other objects with minigrad.save")
        if not t.is_contiguous():
            what = f"{name!r}, of shape {tuple(t.shape)} and strides {t.stride()}, is not contiguous"
            raise error(ValueError, "save_file", what, "save a contiguous copy: x.contiguous()")
    if shared := [names for names in sharing(tensors) if len(names) > 1]:
        what = f"some tensors share memory, which a file would hold several times: {shared}"
        raise error(RuntimeError, "save_file", what, "use save_model(model, path), or save copies: x.clone()")
    return {name: np.asarray(t.detach().cpu().numpy(), order="C") for name, t in tensors.items()}


def sharing(tensors: Mapping[str, Tensor]) -> list[list[str]]:
    """Return the names of the tensors in groups; tensors whose memory overlaps are in the same group."""
    owners: dict[Any, list] = defaultdict(list)
    for name, t in tensors.items():
        if t.numel():
            owners[t.device, id(storage(t._a))].append((t.data_ptr(), t.data_ptr() + extent(t), name))
    found = []
    for members in owners.values():
        end = -1
        for begin, stop, name in sorted(members):
            if begin >= end:
                found.append([])
            found[-1].append(name)
            end = max(end, stop)
    return found


def extent(t: Tensor) -> int:
    """Return the number of bytes from the first element of a tensor to the end of its last."""
    return t.element_size() + sum((n - 1) * s for n, s in zip(t._a.shape, t._a.strides))


def second_names(who: str, state: Mapping[str, Tensor], preferred: Iterable[str] = ()) -> dict[str, str]:
    """Map each name that shares another's memory to the name that is kept, from `preferred` if possible."""
    found = {}
    for names in sharing(state):
        whole = (
            [n for n in names if state[n].nbytes == state[n].untyped_storage().nbytes()] if len(names) > 1 else names
        )
        if not whole:
            what = f"the tensors {names} are parts of one memory, and none is all of it"
            raise error(RuntimeError, who, what, "give each parameter separate memory: nn.Parameter(x.clone())")
        first = min([n for n in whole if n in set(preferred)] or whole)
        found.update({name: first for name in names if name != first})
    return found


def dtype_in_file(who: str, name: str, kind: str) -> np.dtype:
    """Return the dtype of a tensor in a file.  Raises TypeError if minigrad does not have it."""
    if kind not in KINDS_THERE:
        what = f"{name!r} is a tensor of {kind}, which minigrad does not have"
        raise error(TypeError, who, what, f"convert it before saving to one of {', '.join(KINDS_THERE)}")
    return KINDS_THERE[kind]


def as_tensor(who: str, name: str, a: np.ndarray) -> Tensor:
    """Return an array of a file as a tensor.  Raises ValueError for bools that are neither 0 nor 1."""
    if a.dtype == dtypes.BOOL and (a.view("u1") > 1).any():
        raise error(ValueError, who, f"{name!r} has a bool that is neither 0 nor 1", "write the file again")
    return from_numpy(a if a.flags.writeable else a.copy())


def quoted(names: Iterable[str]) -> str:
    """Return names in PyTorch's list format."""
    return ", ".join(f'"{name}"' for name in sorted(names))


_guard(__name__)
