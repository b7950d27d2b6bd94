"""The table of names of PyTorch that minigrad lacks; missing_names.py explains them.

Names are written as after `torch.`; a module stands for all of its names.
"""

import re
from typing import NamedTuple


class Missing(NamedTuple):
    """A group of missing names."""

    what: str  # in the plural: "complex numbers"
    instead: str  # as an order
    names: tuple[str, ...]


def parsed(text: str) -> tuple[Missing, ...]:
    """Return the groups in a text of lines `what: instead`, each before indented lines of names."""
    groups = [group.split("\n    ", 1) for group in re.split(r"\n(?! )", text.strip())]
    return tuple([Missing(*head.split(": ", 1), tuple(names.split())) for head, names in groups])


TABLE = parsed("""
complex numbers and Fourier transforms: keep the real and the imaginary part as two tensors
    fft complex complex32 complex64 complex128 cfloat cdouble chalf polar angle conj conj_physical imag real
    view_as_complex view_as_real resolve_conj is_conj stft istft Tensor.imag Tensor.conj Tensor.angle Tensor.cfloat
    Tensor.cdouble Tensor.resolve_conj Tensor.stft Tensor.istft linalg.eig linalg.eigvals Tensor.conj_physical
sparse tensors: keep indices and values as two tensors: y.index_add(0, rows, values * x[columns]) is the product
    sparse.mm sparse.addmm sparse.sum sparse.softmax sparse.log_softmax sparse.sampled_addmm sparse_csr_tensor
    sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor sparse_coo sparse_csr sparse_csc
    sparse_bsr sparse_bsc Tensor.to_sparse Tensor.to_sparse_coo Tensor.to_sparse_csr Tensor.to_dense Tensor.coalesce
    Tensor.is_coalesced Tensor.indices Tensor.values Tensor.sparse_mask Tensor.sparse_dim Tensor.dense_dim
    Tensor.crow_indices Tensor.col_indices optim.SparseAdam
quantized tensors: compute in half precision: model.half(), or x.to(torch.bfloat16)
    ao quantization quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic qint8 quint8 qint32
    Tensor.dequantize Tensor.q_scale Tensor.int_repr nn.quantized nn.qat nn.intrinsic nn.quantizable float8_e4m3fn
    float8_e5m2
nested tensors: pad to one length with nn.utils.rnn.pad_sequence, and keep a mask
    nested jagged Tensor.to_padded_tensor
graphs of a program to rewrite or export: inspect the graph with minigrad.record(f, x), or compile the function with \
minigrad.compile
    fx export package monitor
operators that are declared to a dispatcher in C++: make the operator of a Python function: \
@minigrad.library.custom_op(name, mutates_args=())
    library.Library library.define library.impl library.triton_op library.wrap_triton library.opcheck library.get_ctx
    library.infer_schema library.register_autocast library.register_torch_dispatch
steps of optimizers as functions: make the optimizer, for example optim.SGD(params, lr=0.1), and call step()
    optim.adadelta.adadelta optim.adagrad.adagrad optim.adam.adam optim.adamax.adamax optim.adamw.adamw optim.asgd.asgd
    optim.nadam.nadam optim.radam.radam optim.rmsprop.rmsprop optim.rprop.rprop optim.sgd.sgd
symmetric eigenvalues under their first name: call linalg.eigh(A)
    symeig
pruning: multiply the weight by a mask: nn.utils.parametrize.register_parametrization(module, 'weight', mask)
    nn.utils.prune
models over several processes and several devices: average the gradients with nn.parallel.DistributedDataParallel, or \
train in one process
    distributed.rpc distributed.elastic distributed.device_mesh distributed.algorithms.ddp_comm_hooks nn.SyncBatchNorm
    cuda.nccl cuda.comm
models whose parameters, layers or optimizer states are divided among processes: keep the whole model on each rank \
(nn.parallel.DistributedDataParallel), or divide it with the functions of distributed.nn.functional
    distributed.fsdp distributed.tensor distributed._tensor distributed.pipelining distributed.optim distributed._shard
    distributed._composable
training loops whose ranks have different numbers of batches: give each rank equally many: \
utils.data.DistributedSampler
    distributed.algorithms distributed.algorithms.join
checkpoints that all processes write together: call torch.save(model.state_dict(), file) on rank 0, and \
torch.load(file) on each rank
    distributed.checkpoint
subgroups by size, monitored barriers and debug levels of process groups: use distributed.new_group(ranks, \
timeout=...), distributed.barrier() and minigrad.debug()
    distributed.new_subgroups distributed.new_subgroups_by_enumeration distributed.monitored_barrier
    distributed.DebugLevel distributed.get_debug_level distributed.set_debug_level distributed.set_debug_level_from_env
messages of Python objects to one rank: use distributed.broadcast_object_list, or distributed.send with a tensor
    distributed.send_object_list distributed.recv_object_list
facts about how the processes were started: use distributed.get_rank() and distributed.is_available()
    distributed.get_node_local_rank distributed.is_torchelastic_launched distributed.is_backend_available
streams, events and graphs of a GPU: measure with torch.cuda.synchronize() and time.perf_counter(); a GPU runs its \
work in order
    Stream Event cuda.Event cuda.Stream cuda.current_stream cuda.stream cuda.StreamContext cuda.ExternalStream
    cuda.CUDAGraph cuda.graph cuda.make_graphed_callables cuda.nvtx Tensor.record_stream
other accelerators: use device='cuda' for an NVIDIA GPU, or device='cpu'
    mps xpu mtia Tensor.xpu Tensor.mtia Tensor.ipu
models from the internet: build the module, and load weights saved with torch.save
    hub
subclasses that override functions: write a Function or a module that does the work of the subclass
    overrides Tensor.as_subclass DisableTorchFunction
extensions in C++: write the operation in Python, or as a Numba kernel: minigrad.cuda.jit
    utils.cpp_extension classes
types of storages on one device: name the dtype and the device: torch.tensor([1.0], dtype=torch.float32, \
device='cuda').storage()
    cuda.FloatStorage cuda.DoubleStorage
blocks that choose the current GPU: call torch.cuda.set_device(index), or pass device= to the functions that make \
tensors
    cuda.device cuda.device_of
comparisons of memory in one call: compare x.data_ptr(), the shapes and the strides
    Tensor.is_set_to
LDL factorizations: use linalg.cholesky for a positive definite matrix, and linalg.solve for an equation
    linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve
windows of signals and parts of floats: use SciPy's signal.windows, or numpy.frexp and numpy.nextafter on x.numpy(); \
ldexp(x, n) is x * 2.0**n
    hann_window hamming_window blackman_window bartlett_window kaiser_window frexp ldexp nextafter Tensor.frexp
    Tensor.ldexp Tensor.ldexp_ Tensor.nextafter Tensor.nextafter_
splits that name their dimension: use tensor_split(x, sections, dim), with dim=0 for vsplit, 1 for hsplit and 2 for \
dsplit
    hsplit vsplit dsplit Tensor.hsplit Tensor.vsplit Tensor.dsplit
older forms of LU: use linalg.lu_factor and linalg.lu_solve
    lu lu_solve Tensor.lu Tensor.lu_solve
futures: use Python's concurrent.futures
    futures Future
processes that are started with a number: start ranks with minigrad.distributed.run(f, n), or one process with \
multiprocessing.Process
    multiprocessing.spawn
Python functions over single elements: write the formula with operations, or torch.tensor([f(v) for v in x.tolist()])
    Tensor.apply_ Tensor.map_ Tensor.map2_
instruction counts and random inputs of timers: measure with utils.benchmark.Timer(...).blocked_autorange()
    utils.benchmark.CallgrindStats utils.benchmark.FunctionCounts utils.benchmark.Fuzzer utils.benchmark.FuzzedParameter
    utils.benchmark.FuzzedTensor utils.benchmark.ParameterAlias utils.benchmark.Language
further continuous distributions: transform one that is there: TransformedDistribution(Normal(loc, scale), \
ExpTransform()) is log-normal
    distributions.LogNormal distributions.StudentT distributions.Cauchy distributions.Weibull distributions.Pareto
    distributions.HalfNormal distributions.HalfCauchy distributions.Chi2 distributions.Kumaraswamy
    distributions.FisherSnedecor distributions.GeneralizedPareto distributions.InverseGamma distributions.LogisticNormal
    distributions.LowRankMultivariateNormal distributions.LKJCholesky distributions.VonMises distributions.Wishart
    distributions.ExponentialFamily
distributions of counts: write log_prob with torch.lgamma, and draw with torch.poisson, or use \
distributions.Multinomial
    distributions.Poisson distributions.Binomial distributions.Geometric distributions.NegativeBinomial
relaxed choices as distributions: use nn.functional.gumbel_softmax(logits, tau), with hard=True for straight-through \
draws
    distributions.RelaxedBernoulli distributions.RelaxedOneHotCategorical
further transforms of distributions: pass a list of transforms to TransformedDistribution, or write a subclass of \
distributions.Transform
    distributions.ComposeTransform distributions.IndependentTransform distributions.AbsTransform
    distributions.PowerTransform distributions.SoftmaxTransform distributions.SoftplusTransform
    distributions.StickBreakingTransform distributions.LowerCholeskyTransform distributions.PositiveDefiniteTransform
    distributions.CorrCholeskyTransform distributions.CumulativeDistributionTransform distributions.ReshapeTransform
    distributions.CatTransform distributions.StackTransform distributions.identity_transform
transforms looked up by a constraint: apply the function: x.exp() for positive numbers, x.sigmoid() from 0 to 1, \
x.softmax(-1) for the sum 1
    distributions.biject_to distributions.transform_to distributions.constraint_registry
further constraints: write constraints.Constraint(name, text, check), or a property `support` for one that depends on \
parameters
    distributions.constraints.dependent distributions.constraints.dependent_property
    distributions.constraints.is_dependent distributions.constraints.greater_than_eq distributions.constraints.less_than
    distributions.constraints.half_open_interval distributions.constraints.nonnegative_integer
    distributions.constraints.positive_integer distributions.constraints.multinomial distributions.constraints.square
    distributions.constraints.symmetric distributions.constraints.lower_triangular
    distributions.constraints.positive_semidefinite distributions.constraints.corr_cholesky distributions.constraints.cat
    distributions.constraints.stack distributions.constraints.MixtureSameFamilyConstraint
registry of divergences: write the divergence as a function, or estimate it from draws x of p: (p.log_prob(x) - \
q.log_prob(x)).mean(0)
    distributions.register_kl
helpers for your own distributions: use torch.broadcast_tensors, logits.sigmoid(), logits.softmax(-1), probs.logit() \
or x.tril()
    distributions.utils
functions that return AveragedModel's averages: pass avg_fn=lambda mean, x, n: 0.9 * mean + 0.1 * x to AveragedModel; \
without it, all updates weigh equally
    optim.swa_utils.get_swa_avg_fn optim.swa_utils.get_swa_multi_avg_fn optim.swa_utils.get_ema_avg_fn
parametrization that keeps weights orthogonal: register one whose forward returns torch.matrix_exp(X.triu(1) - \
X.triu(1).mT)
    nn.utils.parametrizations.orthogonal
functions that remove or move parametrizations in one call: use nn.utils.parametrize.remove_parametrizations(module, \
'weight'), and register them on the other module
    nn.utils.remove_weight_norm nn.utils.remove_spectral_norm nn.utils.parametrize.transfer_parametrizations_and_params
layers with a batch norm folded in: call model.eval(): the layer and the batch norm then compute the same, one after \
the other
    nn.utils.fusion nn.utils.fuse_conv_bn_eval nn.utils.fuse_conv_bn_weights nn.utils.fuse_linear_bn_eval
    nn.utils.fuse_linear_bn_weights
modules without initial values in one call: write nn.Linear(3, 2, device='meta').to_empty(device='cpu')
    nn.utils.skip_init
pools of powers: write (avg_pool2d(x**p, k) * k * k) ** (1 / p)
    nn.LPPool1d nn.LPPool2d nn.LPPool3d nn.functional.lp_pool1d nn.functional.lp_pool2d nn.functional.lp_pool3d
losses that compare all classes with a margin: write the margins with clamp_min, such as (1 - x.gather(1, y[:, None]) \
+ x).clamp_min(0)
    nn.MultiMarginLoss nn.MultiLabelMarginLoss nn.TripletMarginWithDistanceLoss nn.functional.multi_margin_loss
    nn.functional.multilabel_margin_loss nn.functional.triplet_margin_with_distance_loss
modules for two kinds of Upsample: write nn.Upsample(scale_factor=2), or nn.Upsample(scale_factor=2, mode='bilinear', \
align_corners=True)
    nn.UpsamplingNearest2d nn.UpsamplingBilinear2d
lazy forms of rare layers: pass the number of channels to the layer itself
    nn.LazyConv3d nn.LazyConvTranspose1d nn.LazyConvTranspose2d nn.LazyConvTranspose3d nn.LazyBatchNorm3d
    nn.LazyInstanceNorm1d nn.LazyInstanceNorm2d nn.LazyInstanceNorm3d
gradients of 1- and 3-dimensional convolutions: use autograd.grad, or nn.grad.conv2d_input and nn.grad.conv2d_weight \
with a dimension of size 1
    nn.grad.conv1d_input nn.grad.conv1d_weight nn.grad.conv3d_input nn.grad.conv3d_weight
parts of DataParallel: call the module itself: there is one device
    nn.parallel.data_parallel nn.parallel.scatter nn.parallel.gather nn.parallel.replicate nn.parallel.parallel_apply
datasets side by side, and streams one after another: write a Dataset whose __getitem__ returns a tuple, or chain the \
streams with itertools.chain
    utils.data.StackDataset utils.data.ChainDataset
lists of messages: start each message with distributed.isend and distributed.irecv
    distributed.P2POp distributed.batch_isend_irecv
switches for all checkpoints in a block: pass early_stop and debug to checkpoint
    utils.checkpoint.set_checkpoint_early_stop utils.checkpoint.set_checkpoint_debug_enabled
switch for the checks of all distributions: pass validate_args=False to the distribution
    distributions.Distribution.set_default_validate_args
""")
NEED_TORCH = {
    "torchvision": "use Pillow, or operations on tensors",  # for what compat/vision does not have
    "torchvision.models": "use resnet18, resnet34, resnet50, vgg16 or vgg19, or write the network as a Module",
    "torchaudio": "read sound with scipy.io.wavfile",
    "torchtext": "read text with Python, and number the words in a dict",
    "torchdata": "use torch.utils.data",
    "torchmetrics": "compute the metric with operations, or with scikit-learn",
    "pytorch_lightning": "write the loop: zero_grad(), backward(), step()",
    "lightning": "write the loop: zero_grad(), backward(), step()",
    "torch_geometric": "gather with x[source] and sum with index_add",
    "functorch": "use torch.func",
}
