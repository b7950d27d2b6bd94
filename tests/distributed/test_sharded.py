"""FullyShardedDataParallel: the same numbers as one process, parameters that are whole only while they are used, its states."""

from tests.distributed.ranks import SHARDED, needs_mpi, passes

COMMON = (
    SHARDED
    + """
import weakref
from functools import partial
from minigrad.core.saved import bottom
from minigrad.distributed.calls import listening
from minigrad.distributed.fsdp import FullyShardedDataParallel as FSDP
from minigrad.distributed.fsdp import ShardingStrategy, StateDictType
from minigrad.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy, transformer_auto_wrap_policy
from minigrad.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.rest = nn.Linear(5, 7), nn.LayerNorm(7), nn.Sequential(nn.Linear(7, 3), nn.Tanh())
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.last = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        return self.last(self.rest(self.norm(self.first(x)).tanh()) * self.scale)


def net(seed=0):
    torch.manual_seed(seed)
    return Net()


def units(model):
    return [u for u in FSDP.fsdp_modules(model) if u._shard is not None]


def memory(t):
    a = bottom(t)._a
    while a.base is not None:
        a = a.base
    return a


torch.manual_seed(9)
x = torch.randn(6 * size, 5)
mine = x[6 * rank : 6 * rank + 6]
"""
)


@needs_mpi
def test_training_is_that_of_one_process_on_the_whole_batch():
    program = """
policies = [
    None,
    ModuleWrapPolicy([nn.Linear]),
    partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Sequential}),
    partial(size_based_auto_wrap_policy, min_num_params=20),
]
numbers = []
for policy in policies:
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        whole, model = net(), FSDP(net(), sharding_strategy=strategy, auto_wrap_policy=policy)
        numbers.append(len(units(model)))
        held, all_of_them = [sum(p.numel() for p in m.parameters()) for m in (model, whole)]
        assert held < all_of_them / size + len(units(model))
        ours, theirs = torch.optim.AdamW(model.parameters(), 0.05), torch.optim.AdamW(whole.parameters(), 0.05)
        for i in range(3):
            for optimizer in (ours, theirs):
                optimizer.zero_grad()
            for part in range(2):  # gradients of two calls add up
                with model.no_sync():
                    (model(mine + part) ** 2).mean().backward()
                (whole(x + part) ** 2).mean().backward()
            same_gradients(model, whole)
            kind = (2.0, float("inf"), 1.0)[i]
            norm = model.clip_grad_norm_(0.05, kind)
            assert torch.allclose(norm, nn.utils.clip_grad_norm_(whole.parameters(), 0.05, kind))
            same_gradients(model, whole)
            ours.step(), theirs.step()
        state = model.state_dict()
        assert set(state) == set(whole.state_dict())
        for name, t in whole.state_dict().items():
            assert torch.allclose(state[name], t), name
assert numbers == [1, 1, 4, 4, 2, 2, 3, 3], numbers
"""
    for n in (1, 2, 3):
        passes(n, COMMON + program)


@needs_mpi
def test_parameters_are_gathered_for_forward_and_again_for_backward_and_freed_after_each():
    program = """
def run(strategy):
    model = FSDP(nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)), sharding_strategy=strategy,
                 auto_wrap_policy=ModuleWrapPolicy([nn.Linear]))
    kept, calls = [], []
    for m in model.modules():
        if isinstance(m, nn.Linear):
            m.register_forward_hook(lambda m, args, out: kept.append(weakref.ref(memory(m.weight))))
    with listening(calls.append):
        loss = model(mine.clone().requires_grad_()).sum()
        between = [r() is not None for r in kept]
        loss.backward()
    assert [r() for r in kept] == [None, None]
    return between, [c.name.split("_tensor")[0] for c in calls]


gather, scatter = "all_gather_into", "reduce_scatter"
assert run(ShardingStrategy.FULL_SHARD) == ([False, False], [gather] * 2 + [gather, scatter] * 2)
assert run(ShardingStrategy.SHARD_GRAD_OP) == ([True, True], [gather] * 2 + [scatter] * 2)
model = FSDP(nn.Linear(5, 4))
with torch.no_grad():
    out = model(mine)
refused(RuntimeError, "is used while it is not gathered", lambda: model.module(mine))
assert model.weight.shape == (4, 5) and "gathered while" in repr(model.weight)


class Fails(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        raise KeyError("mine")


failing = FSDP(Fails())
refused(KeyError, "mine", lambda: failing(mine))
refused(RuntimeError, "not gathered", lambda: failing.w + 1)
loss = model(mine).pow(2).sum()
with torch.no_grad():
    model._flat_param.add_(1)
y = model(mine)
loss_of_y = (y * model(mine).detach()).sum()
loss_of_y.backward(retain_graph=True)
model.zero_grad()
loss_of_y.backward()
"""
    passes(2, COMMON + program)


@needs_mpi
def test_a_step_between_forward_and_backward_is_noticed():
    program = """
model = FSDP(nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)))
loss = model(mine).pow(2).sum()
with torch.no_grad():
    model._flat_param.add_(1)
refused(RuntimeError, "changed between forward and backward", loss.backward)
"""
    passes(2, COMMON + program)


@needs_mpi
def test_second_derivatives_recomputation_and_copies():
    program = """
def penalty(model, x):
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return (slope**2).sum(1).mean()


whole = net()
model = FSDP(net(), auto_wrap_policy=ModuleWrapPolicy([nn.Linear]))
double = copy.deepcopy(model)
tangent = torch.randn(6, 5)
for a, b in zip(func.jvp(model, (mine,), (tangent,)), func.jvp(whole, (mine,), (tangent,))):
    assert torch.allclose(a, b)
assert torch.allclose(func.vmap(model)(mine), whole(mine))
penalty(whole, x).backward(), penalty(model, mine).backward()
for p in whole.parameters():
    p.grad = torch.zeros_like(p) if p.grad is None else p.grad
same_gradients(model, whole)
for reentrant in (True, False):
    for m in (whole, model, double):
        m.zero_grad()
    (whole(x) ** 2).mean().backward()
    (checkpoint(model, mine.clone().requires_grad_(), use_reentrant=reentrant) ** 2).mean().backward()
    same_gradients(model, whole)
    (double(mine) ** 2).mean().backward()
    same_gradients(double, whole)
with torch.no_grad():
    double._flat_param.add_(1)
    assert not torch.allclose(double(mine), model(mine)) and torch.allclose(model(mine), whole(mine))


class Recomputes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 5)

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False).pow(2).sum()


loss = FSDP(Recomputes())(mine.clone().requires_grad_())
refused(RuntimeError, "is used while it is not gathered", loss.backward)
"""
    passes(2, COMMON + program)


@needs_mpi
def test_whole_parameters_and_states():
    program = """
whole = net()
model = FSDP(net(rank), sync_module_states=True, auto_wrap_policy=ModuleWrapPolicy([nn.Linear]))
for name, t in whole.state_dict().items():
    assert torch.equal(model.state_dict()[name], t), name
with FSDP.summon_full_params(model):
    names = {n.replace("_fsdp_wrapped_module.", ""): p for n, p in model.named_parameters() if "_flat_param" not in n}
    assert set(names) == set(dict(whole.named_parameters()))
    assert all(torch.equal(p, names[n]) for n, p in whole.named_parameters())
    with torch.no_grad():
        names["scale"].fill_(3.0)
        names["first.weight"].mul_(2)
        assert not torch.allclose(model(mine), whole(mine))
    refused(RuntimeError, "outside of summon_full_params", lambda: model(mine))
assert model.state_dict()["scale"] == 3 and torch.equal(model.state_dict()["first.weight"], 2 * whole.first.weight)
with FSDP.summon_full_params(model, writeback=False):
    with torch.no_grad():
        model.scale.fill_(4.0)
assert model.state_dict()["scale"] == 3

state = {**whole.state_dict(), "seen": torch.ones(1)}
assert model.load_state_dict(state) == ([], []) and model.module.seen == 1
assert torch.allclose(model(mine), whole(mine))
refused(RuntimeError, 'Missing key(s) in state_dict: "rest.0.bias"', lambda: model.load_state_dict(
    {k: v for k, v in state.items() if k != "rest.0.bias"}))
refused(RuntimeError, 'Unexpected key(s) in state_dict: "more"', lambda: model.load_state_dict({**state, "more": mine}))
refused(RuntimeError, "size mismatch for first.bias: copying a param with shape (8,) from checkpoint",
        lambda: model.load_state_dict({**state, "first.bias": torch.zeros(8), "scale": torch.tensor(9.0)}))
refused(RuntimeError, "size mismatch for scale: copying a param with shape (2,)",
        lambda: model.load_state_dict({**state, "scale": [1, 2]}))
with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
    shards, one_unit = model.state_dict(), FSDP(net())
refused(RuntimeError, "the state_dict has other shards on this rank", lambda: one_unit.load_state_dict(shards))
assert torch.allclose(model(mine), whole(mine))
found = model.load_state_dict({"scale": torch.tensor(2.0), "other": 1}, strict=False)
assert found.unexpected_keys == ["other"] and "first.weight" in found.missing_keys and model.state_dict()["scale"] == 2

torch.manual_seed(3)  # alike on all ranks
part = nn.Sequential(nn.Linear(5, 4), FSDP(nn.Linear(4, 2)))  # a unit inside a plain module
assert sorted(part.state_dict()) == ["0.bias", "0.weight", "1.bias", "1.weight"]
other = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))
part.load_state_dict(other.state_dict())
assert torch.allclose(part(mine), other(mine))

buffered = nn.Linear(2, 2)
buffered.register_buffer("my_flat_param", torch.ones(1))  # ends as the name of a unit's parameter does
state_of_it = FSDP(copy.deepcopy(buffered)).state_dict()
FSDP(buffered).load_state_dict(state_of_it)

tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
tied[1].weight = tied[0].weight
sharded = FSDP(copy.deepcopy(tied))
assert torch.allclose(sharded(mine[:, :3]), tied(mine[:, :3])) and len(sharded.state_dict()) == 4
assert sum(p.numel() for p in sharded.parameters()) == -(-15 // size)
sharded(x[:, :3]).pow(2).mean().backward(), tied(x[:, :3]).pow(2).mean().backward()
same_gradients(sharded, tied)
sharded.load_state_dict(tied.state_dict())
"""
    passes(2, COMMON + program)


@needs_mpi
def test_a_checkpoint_of_two_ranks_goes_on_on_any_number(tmp_path):
    common = (
        f"folder = {str(tmp_path)!r}\n"
        + """
import minigrad.distributed.checkpoint as dcp
from minigrad.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict

torch.manual_seed(4)
batches = torch.randn(3, 6, 5)


def prepared(seed, lr, wrap=partial(FSDP, auto_wrap_policy=ModuleWrapPolicy([nn.Linear]))):
    model = wrap(net(seed))
    return model, torch.optim.AdamW(model.parameters(), lr)


def step(model, optimizer, i):  # all ranks have the same batch, so the mean of their gradients is the gradient of one process
    optimizer.zero_grad()
    (model(batches[i]) ** 2).mean().backward()
    optimizer.step()
"""
    )
    save = """
model, optimizer = prepared(0, 0.05)
step(model, optimizer, 0), step(model, optimizer, 1)
states = get_state_dict(model, optimizer)
dcp.save({"model": states[0], "optimizer": states[1], "step": 2}, checkpoint_id=folder)
step(model, optimizer, 2)
end = get_state_dict(model, optimizer, options=StateDictOptions(full_state_dict=True))
for name, t in end[0].items():
    assert torch.equal(t, model.state_dict()[name])
if rank == 0:
    torch.save(end, folder + "/end.pt")
"""
    load = """
def go_on(model, optimizer):
    states = get_state_dict(model, optimizer)
    state = {"model": states[0], "optimizer": states[1], "step": 0}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    assert state["step"] == 2 and optimizer.param_groups[0]["lr"] == 0.05
    step(model, optimizer, 2)
    end = torch.load(folder + "/end.pt")
    got = get_state_dict(model, optimizer, options=StateDictOptions(full_state_dict=True))
    for name, t in end[0].items():
        assert torch.allclose(got[0][name], t), name
    for name, held in end[1]["state"].items():
        assert all(torch.allclose(got[1]["state"][name][k], t) for k, t in held.items()), name


go_on(*prepared(1, 0.01))
go_on(*prepared(1, 0.01, FSDP))  # other units
go_on(*prepared(1, 0.01, lambda whole: whole))
"""
    passes(2, COMMON + common + save)
    for n in (1, 3):
        passes(n, COMMON + common + load)


@needs_mpi
def test_a_parameter_that_lies_on_one_rank_is_a_part_on_all_of_them():
    program = """
from minigrad.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict


class Pair(nn.Module):  # on two ranks each parameter fills the part of one of them
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.full((2,), 2.0))

    def forward(self, x):
        return x * self.a * self.b


whole, model = Pair(), FSDP(Pair())
states = []
for m in (whole, model):
    optimizer = torch.optim.Adam(m.parameters())
    m(torch.ones(2)).sum().backward()
    optimizer.step()
    states.append(get_state_dict(m, optimizer, options=StateDictOptions(full_state_dict=True))[1]["state"])
for name in ("a", "b"):
    assert torch.allclose(states[0][name]["exp_avg"], states[1][name]["exp_avg"]), name
"""
    passes(2, COMMON + program)


@needs_mpi
def test_summon_full_params_holds_states_and_itself():
    program = """
torch.manual_seed(0)
model = FSDP(nn.Linear(5, 3))
with FSDP.summon_full_params(model):
    with torch.no_grad():
        model.weight.fill_(2.0)
    assert (model.state_dict()["weight"] == 2).all()
    with FSDP.summon_full_params(model), torch.no_grad():
        model.bias.fill_(3.0)
    assert (model.bias == 3).all()
assert (model.state_dict()["weight"] == 2).all() and (model.state_dict()["bias"] == 3).all()
with FSDP.summon_full_params(model):
    refused(RuntimeError, "while summon_full_params holds whole parameters", lambda: model.load_state_dict({}))
    with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        refused(RuntimeError, "while summon_full_params holds whole parameters", model.state_dict)
"""
    for n in (1, 2):
        passes(n, COMMON + program)


@needs_mpi
def test_a_policy_by_size_leaves_containers_and_attention_whole():
    program = """
class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.layers = nn.MultiheadAttention(4, 2, batch_first=True), nn.ModuleList()
        self.layers.extend(nn.Linear(4, 4) for _ in range(3))
        self.named = nn.ModuleDict({"last": nn.Linear(4, 4)})

    def forward(self, x):
        x = self.attention(x, x, x)[0]
        for layer in self.layers:
            x = layer(x).tanh()
        return self.named["last"](x)


torch.manual_seed(0)
whole = Attends()
x = torch.randn(2, 3, 4)
for least, n in ((1, 5), (21, 1)):
    model = FSDP(copy.deepcopy(whole), auto_wrap_policy=partial(size_based_auto_wrap_policy, min_num_params=least))
    assert len(units(model)) == n, (least, [type(u.module) for u in units(model)])
    assert torch.allclose(model(x), whole(x))
"""
    passes(2, COMMON + program)


@needs_mpi
def test_another_flat_parameter_can_take_the_place_of_the_first():
    program = """
for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
    whole, model = net(), FSDP(net(), sharding_strategy=strategy)
    ours, theirs = [{n: (2 * p.detach()).requires_grad_() for n, p in m.named_parameters()} for m in (model, whole)]

    def loss(model, parameters):
        return (func.functional_call(model, parameters, (x,)) ** 2).mean()

    def first_bias(flat):
        return next(part.of(flat).full_tensor() for part in model._shard.parts() if part.name == "first.bias")

    loss(model, ours).backward(), loss(whole, theirs).backward()
    assert torch.allclose(first_bias(ours["_flat_param"].grad), theirs["first.bias"].grad)
    found, expected = func.grad(partial(loss, model))(ours), func.grad(partial(loss, whole))(theirs)
    assert torch.allclose(first_bias(found["_flat_param"]), expected["first.bias"])
    assert model._flat_param.grad is None
    other = net(1)
    model.load_state_dict(other.state_dict(), assign=True)
    (model(x) ** 2).mean().backward(), (other(x) ** 2).mean().backward()
    same_gradients(model, other)
"""
    passes(2, COMMON + program)


@needs_mpi
def test_refusals():
    program = """
frozen = net()
frozen.first.requires_grad_(False)
refused(ValueError, "first.weight has requires_grad=False, and scale requires_grad=True", lambda: FSDP(frozen))
frozen = net()
frozen.first.requires_grad_(False)
frozen.first = FSDP(frozen.first)
model = FSDP(frozen)
(model(mine) ** 2).mean().backward()
assert model.first._flat_param.grad is None and model._flat_param.grad is not None
mixed = net()
mixed.last.float()
refused(ValueError, "last.weight has dtype=minigrad.float32", lambda: FSDP(mixed))
refused(ValueError, "no parameters", lambda: FSDP(nn.Tanh()))
tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
tied[1].weight = tied[0].weight
tied[0] = FSDP(tied[0])
refused(ValueError, "1.weight is the same parameter as weight, which belongs to another unit", lambda: FSDP(tied))
refused(NotImplementedError, "cpu_offload=True", lambda: FSDP(net(), cpu_offload=True))
refused(NotImplementedError, "NO_SHARD", lambda: FSDP(net(), sharding_strategy=ShardingStrategy.NO_SHARD))
refused(NotImplementedError, "LOCAL_STATE_DICT", lambda: FSDP.set_state_dict_type(model, StateDictType.LOCAL_STATE_DICT))
divided = nn.Sequential(dist.tensor_parallel.ColumnParallelLinear(5, 7))
refused(NotImplementedError, "0 is a ColumnParallelLinear, whose parameters are already divided", lambda: FSDP(divided))
refused(ValueError, "has no shape yet", lambda: FSDP(nn.LazyLinear(2)))
"""
    passes(1, COMMON + program)


@needs_mpi
def test_a_language_model_with_a_unit_for_each_layer():
    program = """
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
        self.rnn, self.scales = nn.LSTM(8, 8, batch_first=True), nn.ParameterList([torch.ones(8)])
        self.head = nn.Linear(8, 11)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.rnn(self.normed(self.layers(self.embedding(tokens))))[0] * self.scales[0])


def language():
    torch.manual_seed(0)
    return Language()


def loss(model, tokens):
    return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


layers = {nn.TransformerEncoderLayer, nn.LSTM}
whole = language()
model = FSDP(language(), auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls=layers))
assert len(units(model)) == 4
tokens = torch.randint(0, 11, (2 * size, 5))
ours, theirs = [torch.optim.SGD(m.parameters(), 0.3, momentum=0.9) for m in (model, whole)]
for _ in range(3):
    ours.zero_grad(), theirs.zero_grad()
    loss(model, tokens[2 * rank : 2 * rank + 2]).backward(), loss(whole, tokens).backward()
    ours.step(), theirs.step()
state = model.state_dict()
assert set(state) == set(whole.state_dict())
for name, t in whole.state_dict().items():
    assert torch.allclose(state[name], t, atol=1e-10), name
"""
    passes(2, COMMON + program)
