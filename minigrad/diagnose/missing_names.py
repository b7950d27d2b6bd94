"""Explain names of PyTorch that minigrad lacks: what they are, and what to write instead.

Errors quote the table, `minigrad port` lists it, and docs/howto/port.md shows it.  Names are written as after `torch.`; a
module stands for all of its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from ..errors import error


class Missing(NamedTuple):
    """A group of missing names."""

    what: str  # in the plural: "complex numbers"
    instead: str  # as an order
    names: tuple[str, ...]


TABLE = tuple(
    Missing(what, instead, tuple(names.split()))
    for what, instead, names in [
        (
            "complex numbers and Fourier transforms",
            "keep the real and the imaginary part as two tensors",
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
            "inspect the graph with minigrad.record(f, x), or compile the function with minigrad.compile",
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
            "models whose parameters, layers or optimizer states are divided among processes",
            "keep the whole model on each rank (nn.parallel.DistributedDataParallel), or divide it with the functions of "
            "distributed.nn.functional",
            """distributed.fsdp distributed.tensor distributed._tensor distributed.pipelining distributed.optim
            distributed._shard distributed._composable""",
        ),
        (
            "training loops whose ranks have different numbers of batches",
            "give each rank equally many: utils.data.DistributedSampler",
            "distributed.algorithms distributed.algorithms.join",
        ),
        (
            "checkpoints that all processes write together",
            "call torch.save(model.state_dict(), file) on rank 0, and torch.load(file) on each rank",
            "distributed.checkpoint",
        ),
        (
            "subgroups by size, monitored barriers and debug levels of process groups",
            "use distributed.new_group(ranks, timeout=...), distributed.barrier() and torch.debug()",
            """distributed.new_subgroups distributed.new_subgroups_by_enumeration distributed.monitored_barrier
            distributed.DebugLevel distributed.get_debug_level distributed.set_debug_level
            distributed.set_debug_level_from_env""",
        ),
        (
            "messages of Python objects to one rank",
            "use distributed.broadcast_object_list, or distributed.send with a tensor",
            "distributed.send_object_list distributed.recv_object_list",
        ),
        (
            "facts about how the processes were started",
            "use distributed.get_rank() and distributed.is_available()",
            "distributed.get_node_local_rank distributed.is_torchelastic_launched distributed.is_backend_available",
        ),
        (
            "streams, events and graphs of a GPU",
            "measure with torch.cuda.synchronize() and time.perf_counter(); a GPU runs its work in order",
            """Stream Event cuda.Event cuda.stream cuda.StreamContext cuda.ExternalStream cuda.CUDAGraph cuda.graph
            cuda.make_graphed_callables cuda.nvtx Tensor.record_stream""",
        ),
        (
            "other accelerators",
            "use device='cuda' for an NVIDIA GPU, or device='cpu'",
            "mps xpu mtia Tensor.xpu Tensor.mtia Tensor.ipu",
        ),
        (
            "models from the internet",
            "build the module, and load weights saved with torch.save",
            "hub",
        ),
        (
            "subclasses that override functions",
            "write a Function or a module that does the work of the subclass",
            "overrides Tensor.as_subclass DisableTorchFunction",
        ),
        (
            "extensions in C++",
            "write the operation in Python, or as a Numba kernel: minigrad.cuda.jit",
            "utils.cpp_extension classes",
        ),
        (
            "types of tensors on one device",
            "name the dtype and the device: torch.tensor([1.0], dtype=torch.float32, device='cuda')",
            """cuda.FloatTensor cuda.DoubleTensor cuda.HalfTensor cuda.BFloat16Tensor cuda.LongTensor cuda.IntTensor
            cuda.ShortTensor cuda.CharTensor cuda.ByteTensor cuda.BoolTensor cuda.FloatStorage cuda.DoubleStorage""",
        ),
        (
            "blocks that choose the current GPU",
            "call torch.cuda.set_device(index), or pass device= to the functions that make tensors",
            "cuda.device cuda.device_of",
        ),
        (
            "tensors that change to other memory",
            "assign the data of another tensor: x.data = y; compare memory with x.data_ptr()",
            "Tensor.set_ Tensor.is_set_to",
        ),
        (
            "LDL factorizations",
            "use linalg.cholesky for a positive definite matrix, and linalg.solve for an equation",
            "linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve",
        ),
        (
            "futures",
            "use Python's concurrent.futures",
            "futures Future",
        ),
        (
            "processes that are started with a number",
            "start ranks with minigrad.distributed.run(f, n), or one process with multiprocessing.Process",
            "multiprocessing.spawn",
        ),
        (
            "Python functions over single elements",
            "write the formula with operations, or torch.tensor([f(v) for v in x.tolist()])",
            "Tensor.apply_ Tensor.map_ Tensor.map2_",
        ),
        (
            "ranges that include their end",
            "write torch.arange(start, end + step, step)",
            "range",
        ),
        (
            "profiles of scheduled steps",
            "put `with profile() as prof:` around the steps to time, and write prof.export_chrome_trace(path)",
            """profiler.schedule profiler.ProfilerAction profiler.tensorboard_trace_handler profiler.supported_activities""",
        ),
        (
            "logs for TensorBoard",
            "keep the numbers in a list and plot them with Matplotlib: viz.training draws while a program trains",
            "utils.tensorboard",
        ),
        (
            "further continuous distributions",
            "transform one that is there: TransformedDistribution(Normal(loc, scale), ExpTransform()) is log-normal",
            """distributions.LogNormal distributions.StudentT distributions.Cauchy distributions.Gumbel distributions.Weibull
            distributions.Pareto distributions.HalfNormal distributions.HalfCauchy distributions.Chi2
            distributions.Kumaraswamy distributions.ContinuousBernoulli distributions.FisherSnedecor
            distributions.GeneralizedPareto distributions.InverseGamma distributions.LogisticNormal
            distributions.LowRankMultivariateNormal distributions.LKJCholesky distributions.VonMises
            distributions.Wishart distributions.ExponentialFamily""",
        ),
        (
            "distributions of counts and of one-hot vectors",
            "write log_prob with torch.lgamma, and draw with torch.poisson, torch.multinomial or nn.functional.one_hot",
            """distributions.Poisson distributions.Binomial distributions.Multinomial distributions.Geometric
            distributions.NegativeBinomial distributions.OneHotCategorical""",
        ),
        (
            "relaxed choices as distributions",
            "use nn.functional.gumbel_softmax(logits, tau), with hard=True for straight-through draws",
            """distributions.RelaxedBernoulli distributions.RelaxedOneHotCategorical
            distributions.OneHotCategoricalStraightThrough""",
        ),
        (
            "further transforms of distributions",
            "pass a list of transforms to TransformedDistribution, or write a subclass of distributions.Transform",
            """distributions.ComposeTransform distributions.IndependentTransform distributions.AbsTransform
            distributions.PowerTransform distributions.SoftmaxTransform distributions.SoftplusTransform
            distributions.StickBreakingTransform distributions.LowerCholeskyTransform
            distributions.PositiveDefiniteTransform distributions.CorrCholeskyTransform
            distributions.CumulativeDistributionTransform distributions.ReshapeTransform distributions.CatTransform
            distributions.StackTransform distributions.identity_transform""",
        ),
        (
            "transforms looked up by a constraint",
            "apply the function: x.exp() for positive numbers, x.sigmoid() from 0 to 1, x.softmax(-1) for the sum 1",
            "distributions.biject_to distributions.transform_to distributions.constraint_registry",
        ),
        (
            "further constraints",
            "write constraints.Constraint(name, text, check), or a property `support` for one that depends on parameters",
            """distributions.constraints.dependent distributions.constraints.dependent_property
            distributions.constraints.is_dependent distributions.constraints.greater_than_eq
            distributions.constraints.less_than distributions.constraints.half_open_interval
            distributions.constraints.nonnegative_integer distributions.constraints.positive_integer
            distributions.constraints.multinomial distributions.constraints.one_hot distributions.constraints.square
            distributions.constraints.symmetric distributions.constraints.lower_triangular
            distributions.constraints.positive_semidefinite distributions.constraints.corr_cholesky
            distributions.constraints.cat distributions.constraints.stack
            distributions.constraints.MixtureSameFamilyConstraint""",
        ),
        (
            "registry of divergences",
            "write the divergence as a function, or estimate it from draws x of p: (p.log_prob(x) - q.log_prob(x)).mean(0)",
            "distributions.register_kl",
        ),
        (
            "helpers for your own distributions",
            "use torch.broadcast_tensors, logits.sigmoid(), logits.softmax(-1), probs.logit() or x.tril()",
            "distributions.utils",
        ),
        (
            "ASGD",
            "use optim.SGD, and average the weights with optim.swa_utils.AveragedModel",
            "optim.ASGD",
        ),
        (
            "further learning rate schedules",
            "use optim.lr_scheduler.LambdaLR: its function of the epoch returns the factor on the first rate",
            """optim.lr_scheduler.ConstantLR optim.lr_scheduler.PolynomialLR optim.lr_scheduler.MultiplicativeLR
            optim.lr_scheduler.ChainedScheduler""",
        ),
        (
            "functions that return AveragedModel's averages",
            "pass avg_fn=lambda mean, x, n: 0.9 * mean + 0.1 * x to AveragedModel; without it, all updates weigh equally",
            "optim.swa_utils.get_swa_avg_fn optim.swa_utils.get_swa_multi_avg_fn optim.swa_utils.get_ema_avg_fn",
        ),
        (
            "parametrization that keeps weights orthogonal",
            "register one whose forward returns torch.matrix_exp(X.triu(1) - X.triu(1).mT)",
            "nn.utils.parametrizations.orthogonal",
        ),
        (
            "functions that remove or move parametrizations in one call",
            "use nn.utils.parametrize.remove_parametrizations(module, 'weight'), and register them on the other module",
            """nn.utils.remove_weight_norm nn.utils.remove_spectral_norm
            nn.utils.parametrize.transfer_parametrizations_and_params""",
        ),
        (
            "layers with a batch norm folded in",
            "call model.eval(): the layer and the batch norm then compute the same, one after the other",
            """nn.utils.fusion nn.utils.fuse_conv_bn_eval nn.utils.fuse_conv_bn_weights nn.utils.fuse_linear_bn_eval
            nn.utils.fuse_linear_bn_weights""",
        ),
        (
            "modules without initial values in one call",
            "write nn.Linear(3, 2, device='meta').to_empty(device='cpu')",
            "nn.utils.skip_init",
        ),
        (
            "conversion of parameters to one vector",
            "write torch.cat([p.flatten() for p in parameters]), and p.data = part.view_as(p) for vector.split(sizes)",
            "nn.utils.parameters_to_vector nn.utils.vector_to_parameters nn.utils.convert_parameters",
        ),
        (
            "timers of statements",
            "use Python's timeit, or %timeit in a notebook, and end work on a GPU with torch.cuda.synchronize()",
            "utils.benchmark",
        ),
        (
            "switch for the checks of all distributions",
            "pass validate_args=False to the distribution",
            "distributions.Distribution.set_default_validate_args",
        ),
    ]
)
NEED_TORCH = {
    "torchvision": "load data with scikit-learn (load_digits), or images as NumPy arrays; write the model yourself",
    "torchaudio": "read sound with scipy.io.wavfile",
    "torchtext": "read text with Python, and number the words in a dict",
    "torchdata": "use torch.utils.data",
    "torchmetrics": "compute the metric with operations, or with scikit-learn",
    "pytorch_lightning": "write the loop: zero_grad(), backward(), step()",
    "lightning": "write the loop: zero_grad(), backward(), step()",
    "torch_geometric": "gather with x[source] and sum with index_add",
    "functorch": "use torch.func",
}
HOMES = ("nn.functional", "nn", "linalg", "special", "optim", "autograd", "utils.data")  # where a name may be instead
CLOSE = 0.83  # the similarity of names of six letters of which two are exchanged
OWN = frozenset(
    """InternalError MinigradError MinigradWarning Record debug empty_pool explain explain_shape fork_rng get_pool_limit
    get_printoptions load_ipython_extension printoptions record record_of set_pool_limit silence GradcheckError
    is_anomaly_enabled is_anomaly_check_nan_enabled DeviceProperties watch traceable check operations_table
    Ranks isreal_""".split()
)  # names that PyTorch does not have in these modules
MODULES = frozenset(
    """amp autograd autograd.forward_ad autograd.function autograd.functional autograd.graph autograd.profiler backends compiler
    cuda cuda.amp distributed distributed.nn distributions
    distributions.constraints distributions.kl distributions.transforms func jit linalg multiprocessing nn
    nn.functional nn.grad nn.init nn.parallel nn.parameter nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.rnn
    onnx optim optim.lr_scheduler optim.swa_utils profiler random return_types special testing utils utils.checkpoint
    utils.data version""".split()
)  # PyTorch's modules; minigrad divides itself into others, too
ROWS = {name: row for row in TABLE for name in row.names}


def row_of(path: str) -> Missing | None:
    """Return the row of the table for a name such as `fft.rfft`, or for its module.

    PyTorch gives many names to a package and to one of its files: `distributions.cauchy.Cauchy` is `distributions.Cauchy`.
    """
    parts = path.split(".")
    names = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((ROWS[name] for name in (*names, f"{parts[0]}.{parts[-1]}") if name in ROWS), None)


def replacement(name: str) -> tuple[str, str]:
    """Return the problem and the fix for a missing name of PyTorch, from the table or from similar names.

    >>> replacement("torch.fft.rfft")
    ('minigrad has no complex numbers and Fourier transforms', 'keep the real and the imaginary part as two tensors')
    """
    library, _, path = name.partition(".")
    if library in NEED_TORCH:
        return f"{library} needs PyTorch itself and cannot compute with minigrad", NEED_TORCH[library]
    if (row := row_of(path)) is not None:
        return f"minigrad has no {row.what}", row.instead
    module, _, last = path.rpartition(".")
    what = f"tensors have no attribute {last}" if module == "Tensor" else f"minigrad has no {path}"
    owner = "x" if module == "Tensor" else f"{library}.{module}".removesuffix(".")
    near = [f"{owner}.{n}" for n in similar(last, names_in(module, library))]
    if not near and module in ("", "nn", "Tensor"):  # it may be elsewhere
        homes = [home for home in HOMES if f"{home}.{last}" not in MODULES and last in names_in(home, library)]
        near = [f"{library}.{home}.{last}" for home in homes[:1]]
    if near:
        return what, f"use {' or '.join(near)}"
    return what, "write it with other operations; docs/howto/port.md lists the missing names"


def absent(kind: type[Exception], name: str) -> Any:
    """Return the exception for a missing name."""
    what, fix = replacement(name)
    return error(kind, name, what, fix)


def explained(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: it raises AttributeError with the replacement of a missing name."""

    def missing(name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for these
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise absent(AttributeError, f"{module}.{name}")

    return missing


def similar(name: str, known: list[str]) -> list[str]:
    """Return the names that differ from one only as much as a slip of the keyboard does: at most 2.

    >>> similar("reshap", ["reshape", "shape"]), similar("set_", ["t_", "sqrt_"]), similar("addmm_", ["addmm"])
    (['reshape'], [], ['addmm'])
    """
    plain, digits = lambda n: n.replace("_", "").lower(), lambda n: re.findall(r"\d+", n)
    same = [n for n in known if plain(n) == plain(name)]
    close = [n for n in get_close_matches(name, known, 3, CLOSE) if n[0].lower() == name[0].lower()]
    return same[:2] or [n for n in close if digits(n) == digits(name) and (n[-1] == "_") == (name[-1:] == "_")][:2]


def names_in(module: str, library: str = "minigrad") -> list[str]:
    """Return the public names of a part of minigrad; for a program that imports torch, those that PyTorch has as well."""
    found: Any = import_module("minigrad")
    for part in filter(None, module.split(".")):
        found = getattr(found, part, None)
    names = [n for n in dir(found) if n[0] != "_" and (not isinstance(found, ModuleType) or is_public(found, n))]
    return [n for n in names if library != "torch" or n not in OWN]


def is_public(module: ModuleType, name: str) -> bool:
    """Return True unless a module has a name only for its own use: an import, or a part that PyTorch does not have."""
    value = vars(module).get(name)
    if isinstance(value, ModuleType):
        return f"{module.__name__}.{name}".partition(".")[2] in MODULES
    if "__all__" in vars(module):
        return name in module.__all__
    return (getattr(value, "__module__", None) or "minigrad").partition(".")[0] == "minigrad"
