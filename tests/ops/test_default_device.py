"""Tensors that an operation or a module makes for itself are on its arguments' device, wherever new tensors are made.

The default device here is meta, whose tensors have no numbers: one of them beside others is an error.
"""

import pytest

import minigrad
from minigrad import nn, optim
from minigrad.nn.utils import rnn
from minigrad.utils import data
from tests.table import tensors

CPU = minigrad.device("cpu")


@pytest.fixture(autouse=True)
def in_memory():
    """Make the arguments of the tests in the computer's memory, also where the tests run on another device."""
    with CPU:
        yield


def elsewhere(f):
    """Return f as a function that runs where new tensors are made on another device."""

    def run(*args, **kwargs):
        with minigrad.device("meta"):
            return f(*args, **kwargs)

    return run


@pytest.mark.parametrize(
    "index", [[0, 2], [[0, 1], [1, 1]], [True, False, True], range(1), (slice(None), [1, 0])], ids=str
)
def test_a_list_is_an_index_of_any_tensor(index):
    x = minigrad.arange(6.0).reshape(3, 2)
    index = tuple(index) if isinstance(index[0], list) else index
    y, written = x[index], x.clone()
    assert minigrad.equal(elsewhere(x.__getitem__)(index), y)
    elsewhere(written.__setitem__)(index, -1.0)
    assert (written[index] == -1).all() and (written == -1).sum() == y.numel()


FORMULAS = {
    "adaptive_avg_pool1d": lambda x: nn.functional.adaptive_avg_pool1d(x, 3),
    "embedding_bag": lambda x: nn.functional.embedding_bag(
        minigrad.tensor([0, 1, 1], device=CPU), x[0], minigrad.tensor([0, 1], device=CPU)
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_found_wherever_new_tensors_are_made(name):
    x = minigrad.arange(1.0, 11).reshape(1, 2, 5).requires_grad_()
    write = lambda: minigrad.record(FORMULAS[name], x).to_dict()
    here, there = write(), elsewhere(write)()
    said = [[edge["formula"] for op in record["ops"] for edge in op["edges"]] for record in (here, there)]
    assert said[0] and said[0] == said[1]


# ---------------------------------------------------------------------- modules
LAYERS = {
    "Linear": (4, 3), "Conv2d": (2, 3, 2), "ConvTranspose1d": (2, 3, 2), "BatchNorm1d": (3,), "LayerNorm": (4,), "PReLU": (),
    "InstanceNorm2d": (3, 1e-5, 0.1, True, True), "Embedding": (5, 2), "LSTM": (4, 3), "GRUCell": (4, 3),
    "MultiheadAttention": (4, 2), "TransformerDecoderLayer": (4, 2, 8), "LazyConv1d": (3, 2), "LazyBatchNorm1d": (),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_all_of_a_module_is_made_on_the_device_that_it_names(name):
    layer = elsewhere(getattr(nn, name))(*LAYERS[name], device=CPU)
    assert layer.state_dict() and {t.device for t in layer.state_dict().values()} == {CPU}
    layer = getattr(nn, name)(*LAYERS[name], device="meta")
    assert {t.device.type for t in layer.state_dict().values()} == {"meta"}


def test_a_lazy_norm_counts_batches():
    layer = nn.LazyBatchNorm1d()
    layer(minigrad.ones(2, 3))
    assert layer.num_batches_tracked.item() == 1 and layer.num_batches_tracked.dtype is minigrad.int64


def test_attention_to_earlier_positions_makes_its_mask_beside_the_scores():
    x = minigrad.randn(1, 2, 3, 4)
    attend = nn.functional.scaled_dot_product_attention
    assert minigrad.equal(elsewhere(attend)(x, x, x, is_causal=True), attend(x, x, x, is_causal=True))


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("enforce_sorted", [True, False])
def test_packed_sequences_have_their_sizes_in_memory(kind, enforce_sorted):
    x, net = minigrad.randn(4, 2, 3), kind(3, 2, bidirectional=True)
    lengths = [4, 1] if enforce_sorted else [2, 4]

    def run():
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
        return packed, rnn.pad_packed_sequence(net(packed)[0])

    packed, (padded, found) = elsewhere(run)()
    assert packed.batch_sizes.device == found.device == padded.device == CPU
    assert minigrad.equal(padded, run()[1][0]) and found.tolist() == lengths


OPTIMIZERS = [c for c in vars(optim).values() if isinstance(c, type) and c.__module__.startswith("minigrad.optim.")]
OPTIMIZERS = [c for c in OPTIMIZERS if issubclass(c, optim.Optimizer) and c is not optim.Optimizer]


@pytest.mark.parametrize("make", OPTIMIZERS, ids=lambda c: c.__name__)
def test_an_optimizer_keeps_its_state_on_the_parameters_device(make):
    p = nn.Parameter(minigrad.ones(3))

    def loss():
        p.grad = None
        return (value := (p * p).sum()).backward() or value

    @elsewhere
    def run():
        optimizer = make([p], lr=0.1)
        for _ in range(2):
            optimizer.step(loss)
        return optimizer

    assert {t.device for t in tensors([*s.values()] for s in run().state.values())} <= {CPU}
    assert (p < 1).all()


# ---------------------------------------------------------------------- data
SAMPLERS = {
    "RandomSampler": lambda **given: data.RandomSampler(range(4), **given),
    "with replacement": lambda **given: data.RandomSampler(range(4), True, 40, **given),
    "SubsetRandomSampler": lambda **given: data.SubsetRandomSampler(range(4), **given),
    "WeightedRandomSampler": lambda **given: data.WeightedRandomSampler([1.0, 2.0, 1.0, 3.0], 40, **given),
    "random_split": lambda **given: [i for part in data.random_split(range(4), [1, 3], **given) for i in part],
    "DataLoader": lambda **given: data.DataLoader(range(4), None, shuffle=True, **given),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_indices_are_drawn_in_memory(name):
    """By a generator that is given or the CPU's default one, so the order does not depend on the default device."""
    found = []
    for run in (lambda f: f, elsewhere):
        minigrad.manual_seed(0)
        found.append(run(lambda: list(SAMPLERS[name]()))())
        found.append(run(lambda: list(SAMPLERS[name](generator=minigrad.Generator().manual_seed(1))))())
    assert found[:2] == found[2:] and set(found[0]) == {0, 1, 2, 3}


def test_each_process_draws_the_same_order_in_memory():
    parts = [elsewhere(list)(data.DistributedSampler(range(5), 2, rank)) for rank in (0, 1)]
    assert parts == [list(data.DistributedSampler(range(5), 2, rank)) for rank in (0, 1)]
