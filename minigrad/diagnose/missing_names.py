"""Explain names that PyTorch has and minigrad has not: what they are, and what to write instead.

The table is told where such a name is used, listed by `minigrad port`, and shown in docs/howto/port.md.  Names are written as
after `torch.`; a module stands for all that is in it.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import error


class Missing(NamedTuple):
    """A kind of things that are not there."""

    what: str  # in the plural: "complex numbers"
    instead: str  # as an order
    names: tuple[str, ...]


TABLE = tuple(
    Missing(what, instead, tuple(names.split()))
    for what, instead, names in [
        (
            "complex numbers and Fourier transforms",
            "keep real and imaginary part as two tensors",
            """fft complex complex32 complex64 complex128 cfloat cdouble chalf polar angle conj conj_physical imag real
            view_as_complex view_as_real resolve_conj is_conj stft istft Tensor.imag Tensor.conj Tensor.angle Tensor.cfloat
            Tensor.cdouble Tensor.resolve_conj Tensor.stft Tensor.istft linalg.eig linalg.eigvals Tensor.conj_physical""",
        ),
        (
            "sparse tensors",
            "keep indices and values as two tensors: y.index_add(0, rows, values * x[columns]) is the product",
            """sparse sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor
            sparse_compressed_tensor sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc Tensor.to_sparse
            Tensor.to_sparse_coo Tensor.to_sparse_csr Tensor.to_dense Tensor.coalesce Tensor.is_coalesced Tensor.indices
            Tensor.values Tensor.sparse_mask Tensor.sparse_dim Tensor.dense_dim Tensor.crow_indices Tensor.col_indices
            optim.SparseAdam""",
        ),
        (
            "quantized tensors",
            "compute in half precision: model.half(), or x.to(torch.bfloat16)",
            """ao quantization quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic qint8 quint8 qint32
            Tensor.dequantize Tensor.q_scale Tensor.int_repr nn.quantized nn.qat nn.intrinsic nn.quantizable
            float8_e4m3fn float8_e5m2""",
        ),
        (
            "nested tensors",
            "pad to one length with nn.utils.rnn.pad_sequence, and keep a mask",
            "nested jagged Tensor.to_padded_tensor",
        ),
        (
            "graphs of a program to rewrite or export",
            "look at one with minigrad.record(f, x), or compile it with minigrad.compile",
            "fx export library package monitor",
        ),
        (
            "pruning",
            "multiply the weight by a mask: nn.utils.parametrize.register_parametrization(module, 'weight', mask)",
            "nn.utils.prune",
        ),
        (
            "models over several processes and several devices",
            "average the gradients with nn.parallel.DistributedDataParallel, or train in one process",
            """distributed.rpc distributed.elastic distributed.device_mesh distributed.algorithms.ddp_comm_hooks
            nn.SyncBatchNorm cuda.nccl cuda.comm""",
        ),
        (
            "streams, events and graphs of a GPU",
            "measure with torch.cuda.synchronize() and time.perf_counter(); the work is done in order",
            """Stream Event cuda.Event cuda.stream cuda.StreamContext cuda.ExternalStream cuda.CUDAGraph cuda.graph
            cuda.make_graphed_callables cuda.nvtx Tensor.record_stream""",
        ),
        (
            "other accelerators",
            "use device='cuda' for a GPU of NVIDIA's, or the processor",
            "mps xpu mtia Tensor.xpu Tensor.mtia Tensor.ipu",
        ),
        (
            "models from the net",
            "build the module, and load numbers that were saved with torch.save",
            "hub",
        ),
        (
            "subclasses that override functions",
            "write a Function, or a module, that does what the subclass would",
            "overrides Tensor.as_subclass DisableTorchFunction",
        ),
        (
            "extensions in C++",
            "write the operation in Python, or as a kernel of Numba's: minigrad.cuda.jit",
            "utils.cpp_extension classes",
        ),
        (
            "logs for TensorBoard",
            "keep the numbers in a list and plot them with Matplotlib: viz.training draws while a program trains",
            "utils.tensorboard",
        ),
    ]
)
NEED_TORCH = {
    "torchvision": "take data from scikit-learn (load_digits), or images as arrays of NumPy's; write the model out",
    "torchaudio": "read sound with scipy.io.wavfile",
    "torchtext": "read texts with Python, and number the words in a dict",
    "torchdata": "use torch.utils.data",
    "torchmetrics": "compute the number with operations, or with scikit-learn",
    "pytorch_lightning": "write the loop: zero_grad(), backward(), step()",
    "lightning": "write the loop: zero_grad(), backward(), step()",
    "torch_geometric": "gather with x[source] and sum with index_add",
    "functorch": "use torch.func",
}
ROWS = {name: row for row in TABLE for name in row.names}


def row_of(path: str) -> Missing | None:
    """Return the row of the table for a name, such as `fft.rfft`, or for a module that it is in."""
    parts = path.split(".")
    return next((ROWS[p] for n in range(len(parts), 0, -1) if (p := ".".join(parts[:n])) in ROWS), None)


def told(name: str) -> tuple[str, str]:
    """Return why a name of PyTorch's is not there, and what to do: from the table, or by names that are like it.

    >>> told("torch.fft.rfft")
    ('minigrad has no complex numbers and Fourier transforms', 'keep real and imaginary part as two tensors')
    """
    library, _, path = name.partition(".")
    if library in NEED_TORCH:
        return f"{library} needs PyTorch itself, and cannot compute with minigrad", NEED_TORCH[library]
    if (row := row_of(path)) is not None:
        return f"minigrad has no {row.what}", row.instead
    module, _, last = path.rpartition(".")
    what = f"tensors have no attribute {last}" if module == "Tensor" else f"minigrad has no {path}"
    owner = "x" if module == "Tensor" else f"{library}.{module}".removesuffix(".")
    near = [f"{owner}.{n}" for n in get_close_matches(last, names_in(module), 3)]
    if near:
        return what, f"use {' or '.join(near)}"
    return what, "write it with other operations; docs/howto/port.md lists what is not there"


def absent(kind: type[Exception], name: str) -> Any:
    """Return the exception for a name that is not there, to raise."""
    what, fix = told(name)
    return error(kind, name, what, fix)


def names_in(module: str) -> list[str]:
    """Return the public names of a part of minigrad."""
    found: Any = import_module("minigrad")
    for part in filter(None, module.split(".")):
        found = getattr(found, part, None)
    return [n for n in dir(found) if not n.startswith("_")]
