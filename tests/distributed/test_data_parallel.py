"""DistributedDataParallel on 2 and 3 ranks, beside one process that has the whole batch."""

import pytest

from tests.distributed.ranks import TWO_OR_MORE, needs_mpi, passes, run

MODEL = """
import copy
from minigrad.distributed.calls import listening

nn, DDP = torch.nn, torch.nn.parallel.DistributedDataParallel

def model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 40), nn.Tanh(), nn.Linear(40, 20), nn.Tanh(), nn.Linear(20, 1)).double()

def batch(step):
    return (torch.arange(18.0 * 3) * (step + 1)).sin().double().reshape(18, 3)

def mine(step):
    return batch(step).chunk(size)[rank]

def trained(net, given, steps=4, accumulate=False):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        if not accumulate:
            optimizer.zero_grad()
        net(given(step)).pow(2).mean().backward()
        optimizer.step()
    return list(net.parameters())

def everywhere(t):
    rooms = [torch.zeros_like(t) for _ in range(size)]
    dist.all_gather(rooms, t.detach().clone())
    return rooms

def refuses(kind, words, f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except kind as e:
        assert words in str(e) and "To fix: " in str(e), e
        return str(e)
    raise SystemExit(f"no error with {words!r}")
"""
EQUAL = """
for settings in (
    {}, {"bucket_cap_mb": 0.001}, {"gradient_as_bucket_view": True},
    {"find_unused_parameters": True}, {"static_graph": True, "bucket_cap_mb": 0.001},
):
    for accumulate in (False, True):
        whole = trained(model(), batch, accumulate=accumulate)
        found = trained(DDP(model(seed=rank), **settings), mine, accumulate=accumulate)
        again = trained(DDP(model(seed=rank), **settings), mine, accumulate=accumulate)
        for p, q, r in zip(found, whole, again):
            assert torch.allclose(p, q, rtol=1e-12, atol=1e-14), (settings, (p - q).abs().max())
            assert torch.equal(p, r) and torch.equal(p.grad, r.grad), settings  # bit for bit from run to run
            assert all(torch.equal(p, other) for other in everywhere(p)), settings
halves = DDP(nn.Linear(2, 2).bfloat16())
halves(torch.full((1, 2), rank + 1.0).bfloat16()).sum().backward()
assert halves.module.weight.grad.dtype is torch.bfloat16
assert halves.module.weight.grad.tolist() == [[(size + 1) / 2] * 2] * 2
"""
WHILE = """
net, begun = DDP(model(), bucket_cap_mb=0.001), []
def note(g):
    begun.append([bucket.number for bucket in net.reducer.buckets if bucket.work is not None])
net.module[0].register_forward_hook(lambda module, args, out: (out.register_hook(note), None)[1])
calls = []
with listening(lambda call: call.label.startswith("bucket") and calls.append(call)):
    net(mine(0)).sum().backward()
assert [call.label for call in calls] == [
    "bucket 0: 4.bias, 4.weight, 2.bias, 2.weight", "bucket 1: 0.bias, 0.weight",
], [call.label for call in calls]
assert begun == [[0]]  # when backward comes to the first layer
assert all(call.name == "all_reduce" and call.nbytes == 8 * n for call, n in zip(calls, (841, 160)))
views = DDP(model(), gradient_as_bucket_view=True)
views(mine(0)).sum().backward()
(bucket,) = views.reducer.buckets
assert all(p.grad is view for p, view in zip([m.tensor for m in bucket.members], bucket.views))
"""
ALONE = """
net = DDP(model())
with net.no_sync():
    assert not net.require_backward_grad_sync
    for step in range(2):
        net(mine(step)).pow(2).mean().backward()
assert net.require_backward_grad_sync and not torch.equal(*everywhere(net.module[0].weight.grad)[:2])
net(mine(2)).pow(2).mean().backward()
whole = model()
for step in range(3):
    whole(batch(step)).pow(2).mean().backward()
assert all(torch.allclose(p.grad, q.grad) for p, q in zip(net.parameters(), whole.parameters()))
with torch.no_grad():
    net(mine(0))  # asks for no gradients
own = torch.autograd.grad(net(mine(0)).sum(), net.module[0].weight)[0]
assert not torch.equal(*everywhere(own)[:2])  # is this rank's own
"""
ALIKE = """
net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
with torch.no_grad():
    for t in [*net.parameters(), *net.buffers()]:
        t.fill_(rank + 1)
net = DDP(net)
assert all((t == 1).all() for t in [*net.parameters(), *net.buffers()])  # those of rank 0
net(torch.arange(8.0).reshape(4, 2) * (rank + 1)).sum().backward()
assert not torch.equal(*everywhere(net.module[1].running_mean)[:2])
net.eval()
y, z = net(torch.ones(2, 2)), net(torch.ones(2, 2))  # forward copies the buffers of rank 0
assert torch.equal(*everywhere(net.module[1].running_mean)[:2])
(y + z).sum().backward()  # and does not write to what was saved
own = nn.BatchNorm1d(2)
own.running_mean.fill_(rank)
DDP(own, broadcast_buffers=False)(torch.ones(2, 2))
assert torch.allclose(own.running_mean, torch.tensor(0.9 * rank + 0.1))
copied = copy.deepcopy(net.train())
assert list(copied.state_dict()) == list(net.state_dict()) and list(net.state_dict())[0] == "module.0.weight"
for part in (copied, net):
    part.zero_grad()
    part(torch.arange(4.0).reshape(2, 2) * (rank + 1)).pow(2).sum().backward()
assert torch.equal(copied.module[0].weight.grad, net.module[0].weight.grad)
import gc, weakref
left = model()
gone = weakref.ref(DDP(left).reducer)
gc.collect()
assert gone() is None
left(mine(0)).sum().backward()  # the hooks are gone with the DistributedDataParallel
assert not torch.equal(*everywhere(left[0].weight.grad)[:2])
"""
UNUSED = """
class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.common, self.a, self.b, self.never = (nn.Linear(2, 2) for _ in range(4))

    def forward(self, x, names):
        y = self.common(x)
        return {"y": [getattr(self, name)(y) for name in names], "x": x}

def outputs(net, *names):
    return sum(y.sum() for y in net(torch.ones(1, 2) * (rank + 1), names)["y"])

forgetful = DDP(Branches())
outputs(forgetful, "a").backward()
message = refuses(RuntimeError, "Expected to have finished reduction in the prior iteration", outputs, forgetful, "a")
assert f"on rank {rank} 4 of 8 parameters got no gradient: b.weight, b.bias, never.weight, never.bias" in message
assert "find_unused_parameters=True" in message
net = DDP(Branches(), find_unused_parameters=True, bucket_cap_mb=0.00001)
for _ in range(2):
    net.zero_grad()
    outputs(net, "a" if rank else "b").backward()
    assert net.module.never.weight.grad is None  # no rank has one
    assert torch.allclose(net.module.b.bias.grad, torch.tensor(1 / size))  # rank 0 has ones, the others count as zeros
    assert torch.allclose(net.module.a.bias.grad, torch.tensor((size - 1) / size))
net.zero_grad()
net(torch.ones(1, 2), ["a", "b"])["y"][0].sum().backward()  # a result that the loss does not depend on
assert (net.module.a.bias.grad == 1).all() and net.module.b.bias.grad is None
net = DDP(Branches(), static_graph=True)
for _ in range(3):
    net.zero_grad()
    outputs(net, "b").backward()
    assert net.module.never.weight.grad is None and (net.module.b.bias.grad == 1).all()
"""
INSIDE = """
from minigrad.utils.checkpoint import checkpoint

class BackwardInside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, h):
        ctx.part = part
        ctx.save_for_backward(h)
        return part(h)

    @staticmethod
    def backward(ctx, g):
        (h,) = ctx.saved_tensors
        h = h.detach().requires_grad_()
        with torch.enable_grad():
            ctx.part(h).backward(g)
        return None, h.grad

class Twice(nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.net, self.how = model(), how
        self.net[2].tied = nn.Linear(3, 40).double()
        self.net[2].tied.weight = self.net[0].weight  # in two modules

    def forward(self, x):
        h = self.net[0](x).tanh()
        how = self.how
        twice = [how["call"](self.part, h * k) if how else self.part(h * k) for k in (1, 2)]
        return self.net[4](twice[0] + twice[1]) + self.net[2].tied(x).sum(1, keepdim=True)

    def part(self, h):
        return self.net[2](h).tanh()

def gradients(net, given):
    for _ in range(2):
        net.zero_grad()
        net(given).pow(2).mean().backward()
    return [p.grad for p in net.parameters()]

whole = gradients(Twice(), batch(0))
for how, settings in (({}, {}), ({"call": checkpoint}, {}), ({"call": BackwardInside.apply}, {"static_graph": True})):
    found = gradients(DDP(Twice(**how), **settings), mine(0))
    assert len(found) == len(whole) and all(torch.allclose(a, b) for a, b in zip(found, whole)), how
message = refuses(RuntimeError, "ready only once", gradients, DDP(Twice(call=BackwardInside.apply)), mine(0))
assert "net.2." in message
plain = gradients(model(), batch(0))
compiled = gradients(DDP(torch.compile(model(), fullgraph=True)), mine(0))
assert all(torch.allclose(a, b) for a, b in zip(compiled, plain))
"""
HOOKS = """
seen = []
def halved(state, bucket):
    state.append((bucket.index(), bucket.is_last(), [tuple(g.shape) for g in bucket.gradients()]))
    assert [g.numel() for g in bucket.gradients()] == [p.numel() for p in bucket.parameters()]
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0] / 2)

net = DDP(nn.Linear(2, 1), bucket_cap_mb=0.000001)
net.register_comm_hook(seen, halved)
net(torch.ones(1, 2) * (rank + 1)).sum().backward()
assert seen == [(0, False, [(1,)]), (1, True, [(1, 2)])]
assert net.module.bias.grad.item() == size / 2 and net.module.weight.grad.tolist() == [[size * (size + 1) / 4] * 2]
refuses(RuntimeError, "only be called once", net.register_comm_hook, None, halved)
refuses(TypeError, "hook must be callable", DDP(nn.Linear(1, 1)).register_comm_hook, None, 1)
changed = DDP(nn.Linear(1, 1), gradient_as_bucket_view=True).half()  # the buckets are float32
refuses(RuntimeError, "dtype", lambda: changed(torch.ones(1, 1).half()).sum().backward())
import concurrent.futures
local = DDP(nn.Linear(2, 1))
def unchanged(state, bucket):
    future = concurrent.futures.Future()
    future.set_result(bucket.buffer())
    return future
local.register_comm_hook(None, unchanged)
local(torch.ones(1, 2) * (rank + 1)).sum().backward()
assert local.module.weight.grad.tolist() == [[rank + 1.0] * 2]
"""
REFUSED = """
refuses(RuntimeError, "doesn't have any parameter that requires a gradient", DDP, nn.ReLU())
refuses(RuntimeError, "uninitialized parameters can't be used with `DistributedDataParallel`: weight", DDP, nn.LazyLinear(2))
refuses(ValueError, "device_ids can only be None or contain a single element, got [0, 1]", DDP, nn.Linear(1, 1), [0, 1])
net = DDP(nn.Linear(1, 1), device_ids=[0], check_reduction=True)
assert net(torch.ones(1, 1)).shape == (1, 1)
other = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1 + (rank == size - 1)))
message = refuses(RuntimeError, "parameter 2 is 1.weight of shape (1, 3) and dtype float32 on rank 0", DDP, other)
assert f"and 1.weight of shape (2, 3) and dtype float32 on rank {size - 1}" in message
other = nn.Linear(2, 1).double() if rank == 1 else nn.Linear(2, 1)
refuses(RuntimeError, "weight of shape (1, 2) and dtype float64 on rank 1", DDP, other)
other = nn.Linear(2, 1, bias=rank == 0)
refuses(RuntimeError, "rank 0 has 2 parameters and rank 1 has 1: rank 0 alone has bias of shape (1,)", DDP, other)
pair = dist.new_group([0, 1])
if rank < 2:
    net = DDP(nn.Linear(1, 1), process_group=pair)
    net(torch.full((1, 1), rank + 1.0)).sum().backward()
    assert net.module.weight.grad.item() == 1.5
"""
PROGRAMS = {
    "equal": EQUAL, "while": WHILE, "alone": ALONE, "alike": ALIKE, "unused": UNUSED,
    "inside": INSIDE, "hooks": HOOKS, "refused": REFUSED,
}  # fmt: skip


@needs_mpi
@pytest.mark.parametrize("n", TWO_OR_MORE[:2])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_ranks_train_one_model(program, n):
    passes(n, MODEL + program)


@needs_mpi
def test_parameters_without_a_gradient_on_one_rank_alone_are_named_where_the_others_wait():
    program = """
class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(1, 1), nn.Linear(1, 1)

    def forward(self, x):
        return self.a(x) + (self.b(x) if rank else 0)

net = DDP(Sometimes())
for _ in range(2):
    net(torch.ones(1, 1)).sum().backward()
"""
    done = run(2, MODEL + program)
    assert done.returncode != 0
    assert "on rank 0 2 of 4 parameters got no gradient: b.weight, b.bias" in done.stderr
    assert "rank 1 has waited" in done.stderr and "in all_reduce" in done.stderr
