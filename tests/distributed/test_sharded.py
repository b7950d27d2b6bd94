"""FullyShardedDataParallel computes the same numbers as one process, with parameters that are whole only while it uses them."""

from tests.distributed.ranks import needs_mpi, passes
from tests.distributed.sharded_program import COMMON


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
