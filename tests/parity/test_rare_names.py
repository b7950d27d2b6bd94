"""Rare names of PyTorch, which older programs and libraries use, beside the originals."""

import contextlib
import importlib

import numpy as np
import pytest
import torch

import minigrad
from tests.functions import custom
from tests.parity.in_both import same_in_both

BOTH = (torch, minigrad)


def described(f):
    """Return a call's result as plain numbers, or the kind of its error."""
    try:
        return plain(f())
    except Exception as e:
        return next(kind.__name__ for kind in (KeyError, TypeError, ValueError, RuntimeError) if isinstance(e, kind))


def plain(value):
    """Return nested lists of rounded numbers for tensors, also in tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if not hasattr(value, "tolist"):
        return value
    return [round(v, 5) for v in value.detach().flatten().tolist()], tuple(value.shape), bool(value.requires_grad)


# ---------------------------------------------------------------------- tensors
VARIABLES = """V(x) | V(x, True) | V(x, requires_grad=True) | V(data=x) | V(y).is_leaf | V(y, requires_grad=True).is_leaf
V(y) is y | V(y).grad_fn is None | V(i) | V(i, requires_grad=True) | V(3) | V([1.0]) | V() | V(None) | isinstance(y, V)
isinstance(x, V) | isinstance(3, V) | V(x).data_ptr() == x.data_ptr() | V(nn.Parameter(x)) | V(x).add_(1)"""


@pytest.mark.parametrize("expression", VARIABLES.replace("\n", " | ").split(" | "))
@same_in_both
def test_a_variable_is_torchs(lib, expression):
    x, i = lib.tensor([1.0, 2.0]), lib.tensor([1, 2])
    y = 2 * lib.tensor([1.0, 2.0], requires_grad=True)
    names = {"V": lib.autograd.Variable, "nn": lib.nn, "x": x, "y": y, "i": i}
    return described(lambda: eval(expression, names))


@pytest.mark.filterwarnings("ignore:(?s).*data-write:minigrad.MinigradWarning")
@pytest.mark.parametrize(
    "use", ["F.linear(x, w)", "x * w", "x @ w", "F.conv1d(x[:, None], w[:, None])", "Own.apply(x, w)"]
)
@same_in_both
def test_a_weight_may_be_masked_through_data_between_two_uses(lib, use):
    Own = custom(
        "Own",
        lib,
        forward=lambda ctx, x, w: ctx.save_for_backward(x, w) or x * w,
        backward=lambda ctx, grad: (grad * ctx.saved_tensors[1], grad * ctx.saved_tensors[0]),
    )
    x, w = lib.ones(2, 2, requires_grad=True), lib.nn.Parameter(lib.full((2, 2), 0.5))
    names = {"F": lib.nn.functional, "Own": Own, "x": x, "w": w}
    first = eval(use, names)
    w.data *= lib.tensor([1.0, 0.0])
    (first.sum() + eval(use, names).sum()).backward()
    return plain([x.grad, w.grad])


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@same_in_both
def test_a_storage_that_is_resized_to_0_and_back_has_torchs_sizes(lib):
    x = lib.ones(2, 3)
    typed, raw = x.storage(), x.view(6).untyped_storage()
    sizes = [typed.size(), raw.nbytes()]
    raw.resize_(0)
    sizes += [typed.size(), raw.nbytes(), x.untyped_storage().size()]
    raw.resize_(24)
    return [*sizes, typed.size(), raw.nbytes(), x.shape == (2, 3)]


def test_a_storage_is_not_resized_to_another_size():
    with pytest.raises(
        RuntimeError, match=r"(?s)storage of 3 elements cannot be resized to 5.*resize it to 0 and back"
    ):
        minigrad.ones(3).storage().resize_(5)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("old", [True, False])
@same_in_both
def test_a_sparse_tensor_becomes_dense(lib, old):
    indices, values = lib.tensor([[0, 1, 0], [2, 0, 2]]), lib.tensor([3.0, 4.0, 5.0], requires_grad=True)
    with minigrad.as_torch() as ours:  # PyTorch's FloatTensor has no gradient
        make = ours.sparse.FloatTensor if old else ours.sparse_coo_tensor
        make = torch.sparse_coo_tensor if lib is torch else make
    dense = make(indices, values, lib.Size([2, 3])).to_dense()
    (dense * dense).sum().backward()
    return plain([dense, values.grad])


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@same_in_both
def test_a_sparse_tensor_moves_before_it_becomes_dense(lib):
    indices, values = lib.tensor([[0, 1, 0], [2, 0, 2]]), lib.tensor([3.0, 4.0, 5.0], requires_grad=True)
    with minigrad.as_torch() as ours:
        make = torch.sparse_coo_tensor if lib is torch else ours.sparse_coo_tensor
    x = make(indices, values, (2, 3)).to(device=lib.device("cpu")).cpu().double().to(lib.float32).to("cpu", lib.float64)
    dense = x.to_dense()
    (dense * dense).sum().backward()
    return [plain([dense, values.grad]), str(x.dtype).rpartition(".")[2], str(x.device), x.requires_grad]


# ---------------------------------------------------------------------- layers
def adaptive(lib, **options):
    """Return an adaptive softmax with the same weights in both libraries, and examples of each cluster."""
    model = lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, **options)
    for p in model.parameters():
        with lib.no_grad():
            p.copy_(lib.arange(float(p.numel())).reshape(p.shape).sin())
    x = lib.arange(40.0).reshape(5, 8).cos().requires_grad_()
    return model, x, lib.tensor([0, 3, 5, 19, 11])


@pytest.mark.parametrize("options", [{}, {"head_bias": True}])
def test_an_adaptive_softmax_computes_torchs_numbers(options):
    seen = []
    for lib in BOTH:
        model, x, y = adaptive(lib, **options)
        output, loss = model(x, y)
        loss.backward()
        single = model(x[1], y[1])
        seen.append([(name, tuple(p.shape)) for name, p in model.named_parameters()])
        results = (
            output,
            loss,
            x.grad,
            *[p.grad for p in model.parameters()],
            *single,
            model.log_prob(x),
            model.predict(x),
        )
        seen.append([tuple(t.shape) for t in results])
        seen.append([v for t in results for v in t.flatten().tolist()])
    assert seen[3:5] == seen[:2] and seen[5] == pytest.approx(seen[2], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("cutoffs", [[], [4, 4], [10, 4], [0, 4], [4, 20], [2.5]])
def test_an_adaptive_softmax_refuses_torchs_cutoffs(cutoffs):
    for lib in BOTH:
        with pytest.raises(ValueError, match="cutoffs should be a sequence"):
            lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)


@pytest.mark.parametrize("target", [[20], [-1], [[1]], [1, 2], 0])
def test_an_adaptive_softmax_refuses_torchs_targets(target):
    for lib in BOTH:
        with pytest.raises(RuntimeError):
            adaptive(lib)[0](lib.ones(1, 8), lib.tensor(target))


@pytest.mark.parametrize(
    "shape, groups", [((2, 2, 3), 1), ((4, 2, 3, 2), 2), ((3, 5, 1, 2, 3), 1), ((2, 2), 1), ((3, 2, 2), 2)]
)
@same_in_both
def test_a_dirac_weight_is_torchs(lib, shape, groups):
    return described(lambda: lib.nn.init.dirac_(lib.ones(shape), groups))


def test_batch_norms_lose_their_running_statistics_as_in_torch():
    for lib in BOTH:
        net = lib.nn.Sequential(
            lib.nn.BatchNorm1d(2), lib.nn.Sequential(lib.nn.BatchNorm2d(2)), lib.nn.InstanceNorm1d(2)
        )
        assert lib.func.replace_all_batch_norm_modules_(net) is net
        norms = net[0], net[1][0]
        assert not any(norm.track_running_stats or norm.running_var is not None for norm in norms)
        assert not net.state_dict().keys() & {"0.running_mean", "1.0.num_batches_tracked"}
        grads = lib.func.vmap(lambda x, net=net: net[0](x))(lib.ones(3, 4, 2))
        assert grads.shape == (3, 4, 2)


def test_a_norm_of_ones_own_checks_its_input_as_torchs():
    for lib in BOTH:
        for norm, bad in (
            (lib.nn.BatchNorm1d(2), (2,)),
            (lib.nn.BatchNorm2d(2), (2, 2)),
            (lib.nn.InstanceNorm3d(2), (2, 2)),
        ):
            with pytest.raises(ValueError, match=r"expected .*D"):
                norm._check_input_dim(lib.ones(bad))


@same_in_both
def test_an_instance_norm_of_ones_own_says_how_many_dimensions_an_example_has(lib):
    with minigrad.as_torch() as ours:
        base = (torch if lib is torch else ours).nn.modules.instancenorm._InstanceNorm

    class Own(base):
        def _get_no_batch_dim(self):
            return 2

        def _check_input_dim(self, input):
            assert input.dim() == 2

    return plain(Own(3)(lib.arange(12.0).reshape(3, 4) ** 2))


# ---------------------------------------------------------------------- modules
@same_in_both
def test_hooks_of_all_modules_are_called_in_torchs_order(lib):
    calls = []
    note = lambda what: lambda m, *args: calls.append((what, type(m).__name__, len(args)))
    net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
    kinds = ("forward_pre_hook", "forward_hook", "full_backward_pre_hook", "full_backward_hook")
    for kind in kinds:
        getattr(net[0], f"register_{kind}")(note(f"own {kind}"))
    with contextlib.nullcontext(lib) if lib is torch else minigrad.as_torch() as names:
        handles = [getattr(names.nn.modules.module, f"register_module_{kind}")(note(kind)) for kind in kinds]
        net(lib.ones(1, 2, requires_grad=True)).sum().backward()
        calls.append("removed")
        for handle in handles:
            handle.remove()
        net(lib.ones(1, 2, requires_grad=True)).sum().backward()
    assert len(calls) > 12
    return calls


@same_in_both
def test_a_module_lists_its_hooks_as_torchs(lib):
    layer, calls = lib.nn.Linear(1, 1), []
    names = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    counts = [len(getattr(layer, name)) for name in names]
    layer.register_forward_hook(lambda *args: calls.append("called"))
    layer.register_full_backward_hook(lambda *args: None)
    counts += [len(getattr(layer, name)) for name in names]
    layer(lib.ones(1, 1))
    layer._forward_hooks.clear()
    layer(lib.ones(1, 1))
    layer._forward_hooks = type(layer._forward_hooks)()
    layer._forward_hooks[7] = lambda *args: calls.append("put in")
    layer(lib.ones(1, 1))
    return [counts, calls]


@pytest.mark.parametrize("what", ["raise AttributeError(7)", "return 7"])
@same_in_both
def test_a_buffer_may_have_the_name_of_a_property_without_a_value(lib, what):
    body = {"__module__": __name__}
    exec(f"def mean(self): {what}", body)
    kind = type("Net", (lib.nn.Module,), {"mean": property(body["mean"])})
    net = kind()
    return [described(lambda: net.register_buffer("mean", lib.ones(1))), list(net.state_dict())]


# ---------------------------------------------------------------------- Functions
@pytest.mark.filterwarnings("ignore")
def test_an_instance_of_a_function_applies_it_and_cannot_be_called():
    for lib in BOTH:

        class Double(lib.autograd.Function):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_variables
                return 2 * grad + 0 * x

        x = lib.ones(2, requires_grad=True)
        double = Double(3, name="four")
        double.apply(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="static"):
            double(x)


def test_an_instance_of_a_function_is_reported():
    class Double(minigrad.autograd.Function):
        pass

    with pytest.warns(minigrad.MinigradWarning, match=r"(?s)Double: a Function's methods are static.*Double.apply"):
        Double()


# ---------------------------------------------------------------------- other names
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "expression",
    [
        "torch.testing.assert_allclose(torch.ones(2), torch.ones(2, dtype=torch.float64))",
        "torch._assert(True, '') is torch._check(True) is None",
        "torch._check(1 > 2, lambda: 'two')",
        "torch.nn.init._calculate_fan_in_and_fan_out(torch.ones(2, 3, 4))",
        "torch.autograd._is_checkpoint_valid()",
        "issubclass(torch.optim.lr_scheduler._LRScheduler, torch.optim.lr_scheduler.LRScheduler)",
        "torch.triangular_solve(torch.ones(2, 1), torch.tensor([[2.0, 1.0], [0.0, 4.0]]), transpose=True)",
        "torch.gradient(torch.arange(12.0).reshape(3, 4), spacing=(torch.tensor([0.0, 1, 3]), torch.tensor([0.0, 2, 3, 5])))",
        "torch.gradient(torch.tensor([4.0, 1, 1, 16]), spacing=(torch.tensor([-2.0, -1, 1, 4]),), edge_order=2)",
        "torch.gradient(torch.arange(3) ** 2)",
        "torch.gradient(torch.ones(1))",
        "torch.gradient(torch.ones(2), edge_order=2)",
        "torch.gradient(torch.ones(3), edge_order=3)",
        "torch.gradient(torch.ones(3, 3), spacing=[1.0, 2.0, 3.0])",
        "torch.gradient(torch.ones(3, 3), dim=(0, 0))",
        "torch.linalg.householder_product(torch.ones(2, 3), torch.ones(2))",
        "torch.linalg.householder_product(torch.ones(3, 2), torch.ones(3))",
        "torch.linalg.householder_product(torch.ones(2, 3, 2), torch.ones(3, 2))",
        "torch.linalg.householder_product(torch.ones(3), torch.ones(3))",
    ],
)
def test_an_old_name_is_torchs(expression):
    theirs = described(lambda: eval(expression, {"torch": torch}))
    with minigrad.as_torch() as ours:
        assert described(lambda: eval(expression, {"torch": ours})) == theirs


def test_what_a_gradient_on_a_grid_needs_is_said():
    with pytest.raises(RuntimeError, match=r"(?s)at least edge_order\+1, but dimension 1 of shape \(3, 2\) has 2"):
        minigrad.gradient(minigrad.ones(3, 2), edge_order=2)
    with pytest.raises(RuntimeError, match=r"(?s)a spacing for each of 2 dimensions, but got a list of length 1"):
        minigrad.gradient(minigrad.ones(3, 2), spacing=[1.0])
    with pytest.raises(RuntimeError, match=r"only supports edge_order=1 and edge_order=2, got 3"):
        minigrad.gradient(minigrad.ones(3, 2), edge_order=3)


def test_what_a_householder_product_needs_is_said():
    with pytest.raises(
        RuntimeError, match=r"(?s)input of shape \(2, 3\) and tau of shape \(2,\) are not .* m >= n >= k"
    ):
        minigrad.linalg.householder_product(minigrad.ones(2, 3), minigrad.ones(2))


def test_a_failed_check_says_its_message():
    with minigrad.as_torch() as ours:
        with pytest.raises(RuntimeError, match="_check: two is less"):
            ours._check(False, lambda: "two is less")
        with pytest.raises(AssertionError, match="two is less"):
            ours._assert(False, "two is less")
        with ours.autograd.set_multithreading_enabled(False):
            pass
        with pytest.raises(AttributeError, match=r"(?s)sparse tensors.*index_add"):
            ours.sparse.FloatTensor(ours.tensor([[0], [0]]), ours.ones(1)).coalesce()


# ---------------------------------------------------------------------- modules
def changed(lib, layer):
    """Return a layer whose parameters and buffers were written to, after reset_parameters."""
    with lib.no_grad():
        for t in (*layer.parameters(), *layer.buffers()):
            t.add_(2)
    layer.reset_parameters()
    return layer


RESET = """BatchNorm1d(3) | BatchNorm2d(3, affine=False) | BatchNorm3d(2, track_running_stats=False) | LayerNorm(3)
LayerNorm((2, 3), bias=False) | LayerNorm(3, elementwise_affine=False) | GroupNorm(1, 3) | RMSNorm(3) | PReLU(2, init=0.1)
InstanceNorm1d(3) | InstanceNorm2d(3, affine=True, track_running_stats=True)"""


@pytest.mark.parametrize("made", RESET.replace("\n", " | ").split(" | "))
@same_in_both
def test_reset_parameters_of_a_layer_without_random_numbers(lib, made):
    state = changed(lib, eval(f"lib.nn.{made}", {"lib": lib})).state_dict()
    return {k: t.tolist() for k, t in state.items()}


@pytest.mark.parametrize("name", ["MultiheadAttention", "Transformer", "TransformerEncoderLayer", "LazyBatchNorm1d"])
@same_in_both
def test_a_loop_over_layers_finds_reset_parameters_where_torch_has_it(lib, name):
    return [n for n in ("reset_parameters", "_reset_parameters") if hasattr(getattr(lib.nn, name), n)]


def test_a_subclass_convolves_with_a_weight_of_its_choice():
    seen = []
    for lib in BOTH:

        class Standardized(lib.nn.Conv2d):
            def forward(self, x):
                w = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
                return self._conv_forward(x, w, self.bias)

        layer = Standardized(2, 3, 3, padding=1, padding_mode="reflect")
        layer.load_state_dict({"weight": lib.arange(54.0).reshape(3, 2, 3, 3) / 7, "bias": lib.tensor([1.0, 2.0, 3.0])})
        seen.append(layer(lib.arange(32.0).reshape(1, 2, 4, 4) % 5))
    np.testing.assert_allclose(seen[1].detach().numpy(), seen[0].detach().numpy(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [(9, 8), (10, 9), (2, 3, 9, 9), (11, 9), (8, 9), (9,), (3, 9, 9), (1, 2, 3, 9, 9)])
@same_in_both
def test_the_output_size_of_a_transposed_convolution(lib, size):
    layer = lib.nn.ConvTranspose2d(2, 3, (3, 4), stride=2, padding=(1, 2))
    x = lib.ones(2, 2, 5, 5)
    return described(lambda: tuple(layer(x, output_size=size).shape))


@same_in_both
def test_adagrad_has_its_state_before_the_first_step(lib):
    w = lib.nn.Parameter(lib.ones(2))
    state = lib.optim.Adagrad([w], initial_accumulator_value=0.5).state[w]
    return {k: t.tolist() for k, t in state.items()}


# ---------------------------------------------------------------------- Functions and types
@same_in_both
def test_an_inplace_function_is_a_function(lib):
    class Binarize(lib.autograd.function.InplaceFunction):
        def forward(ctx, x, inplace=False):
            ctx.inplace = inplace
            return x.sign()

        def backward(ctx, g):
            return g * (not ctx.inplace), None

    x = lib.tensor([2.0, -3.0], requires_grad=True)
    Binarize.apply(x).sum().backward()
    return plain(x.grad), issubclass(Binarize, lib.autograd.Function)


@pytest.mark.parametrize("default", ["float32", "float64"])
@same_in_both
def test_the_type_tensor_converts_to_the_default_dtype(lib, default):
    before = lib.get_default_dtype()
    lib.set_default_dtype(getattr(lib, default))
    try:
        return str((lib.tensor([1.0, -2.0]) < 0).type(lib.Tensor).dtype).rpartition(".")[2]
    finally:
        lib.set_default_dtype(before)


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@same_in_both
def test_triangular_solve_writes_into_out(lib):
    out = lib.empty(0), lib.empty(0)
    lib.triangular_solve(lib.tensor([[4.0], [2.0]]), lib.tensor([[2.0, 1.0], [0.0, 2.0]]), out=out)
    return plain(out)


LOSSES = """M(reduction="sum") | M(reduction="none") | M(reduction="other") | M(size_average=False) | M(reduce=False) | M()
M(None, True) | W(w) | W(weight=w, reduction="sum") | W() | W(None, False)"""


@pytest.mark.filterwarnings("ignore:size_average")
@pytest.mark.parametrize("expression", LOSSES.replace("\n", " | ").split(" | "))
@same_in_both
def test_a_users_loss_takes_the_arguments_of_its_base_class(lib, expression):
    with contextlib.nullcontext(lib) if lib is torch else minigrad.as_torch():
        base = importlib.import_module("torch.nn.modules.loss")
        forward = {"forward": lambda self, a, b: (a - b).sum()}
        kinds = {n: type(n, (getattr(base, b),), forward) for n, b in (("M", "_Loss"), ("W", "_WeightedLoss"))}
        made = eval(expression, {**kinds, "w": lib.ones(2)})
        assert isinstance(lib.nn.CrossEntropyLoss(), base._Loss)
        return made.reduction, repr(made), list(made.state_dict()), made(lib.ones(2), lib.zeros(2)).item()


@pytest.mark.parametrize("n", [1, 2, 3])
@same_in_both
def test_max_unpool_is_torchs(lib, n):
    data = np.random.default_rng(0).standard_normal((2, 3, *(7, 6, 5)[:n]))
    x = lib.tensor(data, requires_grad=True)
    layer, pool = getattr(lib.nn, f"MaxUnpool{n}d"), getattr(lib.nn.functional, f"max_pool{n}d")
    pooled, places = pool(x, 3, 3, 1, return_indices=True)
    back = layer(3, 3, 1)(pooled, places, x.shape)
    back.pow(2).sum().backward()
    shapes = (20,) * n, (8,) * n, (8,) * (n + 1), x.shape[2:], [2, 3, *x.shape[2:]]
    sizes = [described(lambda s=s: layer(3, padding=1)(pooled, places, s)) for s in shapes]
    single, where = pool(x[0], 2, return_indices=True)
    sizes += [described(lambda: layer(2)(single, where, x.shape[2:])), described(lambda: layer(2)(single, places))]
    return plain(back), plain(x.grad), repr(layer(3, 2, 1)), repr(layer((2,) * n)), sizes
