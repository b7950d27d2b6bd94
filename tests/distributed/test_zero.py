"""ZeroRedundancyOptimizer on 2 and 3 ranks, beside one optimizer of all parameters."""

import pytest

from tests.distributed.ranks import needs_mpi, passes
from tests.distributed.test_data_parallel import MODEL

BEGIN = (
    MODEL
    + """
Zero = dist.optim.ZeroRedundancyOptimizer
OPTIMIZERS = [
    (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True}),
]

def steps(net, optimizer, given, schedule=None, begin=0, n=3):
    for step in range(begin, begin + n):
        optimizer.zero_grad()
        net(given(step)).pow(2).mean().backward()
        optimizer.step()
        if schedule:
            schedule.step()

def same(found, expected):
    if isinstance(expected, torch.Tensor):
        return torch.allclose(found, expected, rtol=1e-10, atol=1e-13)
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], v) for k, v in expected.items())
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected
"""
)
EQUAL = """
for kind, settings in OPTIMIZERS:
    whole, net = model(), DDP(model())
    one, zero = kind(whole.parameters(), **settings), Zero(net.parameters(), kind, **settings)
    steps(whole, one, batch, torch.optim.lr_scheduler.StepLR(one, 2, 0.5))
    steps(net, zero, mine, torch.optim.lr_scheduler.StepLR(zero, 2, 0.5))
    assert all(torch.allclose(p, q, rtol=1e-10, atol=1e-13) for p, q in zip(net.parameters(), whole.parameters())), kind
    assert all(torch.equal(p, other) for p in net.parameters() for other in everywhere(p)), kind
    assert repr(zero).splitlines()[1:] == repr(one).splitlines()[1:]
    kept = {p for p in net.parameters() if zero.optim.state.get(p)}
    assert kept == {p for p, owner in zero.owner.items() if owner == rank} != set(net.parameters())
    assert sum(len(group["params"]) for group in zero.optim.param_groups) == len(kept)
    refuses(RuntimeError, f"not been consolidated on this rank, which is {rank}", zero.state_dict)
    zero.consolidate_state_dict(to=size - 1)
    if rank == size - 1:
        assert same(zero.state_dict(), one.state_dict()), kind
    else:
        refuses(RuntimeError, "call consolidate_state_dict", zero.state_dict)
sizes = [0] * size
for p, owner in zero.owner.items():
    sizes[owner] += p.numel()
assert sizes == ([800, 201] if size == 2 else [800, 120, 81])  # weights of 800, 120 and 20, biases of 40, 20 and 1
"""
STATE = """
for kind, settings in OPTIMIZERS:
    whole = model()
    one = kind(whole.parameters(), **settings)
    steps(whole, one, batch)
    net = DDP(model())
    net.module.load_state_dict(whole.state_dict())
    zero = Zero(net.parameters(), kind, lr=1.0)
    zero.load_state_dict(copy.deepcopy(one.state_dict()))  # the state of one process
    assert zero.param_groups[0]["lr"] == settings["lr"]
    steps(whole, one, batch, begin=3)
    steps(net, zero, mine, begin=3)
    assert all(torch.allclose(p, q, rtol=1e-10, atol=1e-13) for p, q in zip(net.parameters(), whole.parameters())), kind
    zero.consolidate_state_dict()
    if rank == 0:
        again = kind(whole.parameters(), lr=1.0)
        again.load_state_dict(zero.state_dict())
        assert same(again.state_dict(), one.state_dict())
refuses(ValueError, "parameter groups of sizes", zero.load_state_dict, {"state": {}, "param_groups": [{"params": [0]}]})
"""
GROUPS = """
net = DDP(model())
layers = [net.module[0], net.module[2], net.module[4]]
whole = model()
groups = lambda net: [
    {"params": list(net[0].named_parameters()), "lr": 0.1}, {"params": list(net[2].named_parameters()), "weight_decay": 0.1},
]
one, zero = torch.optim.SGD(groups(whole), lr=0.01), Zero(groups(net.module), torch.optim.SGD, lr=0.01)
steps(whole, one, batch), steps(net, zero, mine)
one.add_param_group({"params": list(whole[4].named_parameters()), "momentum": 0.9})
zero.add_param_group({"params": list(net.module[4].named_parameters()), "momentum": 0.9})
assert [group["param_names"] for group in zero.param_groups] == [["weight", "bias"]] * 3
for optimizer in (one, zero):
    optimizer.param_groups[0]["lr"] = 0.05
calls = []
zero.register_step_pre_hook(lambda *given: calls.append("before"))
zero.register_step_post_hook(lambda *given: calls.append("after"))
steps(whole, one, batch, begin=3), steps(net, zero, mine, begin=3)
assert calls == ["before", "after"] * 3
assert all(torch.allclose(p, q, rtol=1e-10, atol=1e-13) for p, q in zip(net.parameters(), whole.parameters()))
few = Zero([torch.ones(2, requires_grad=True)], torch.optim.Adam)  # other ranks have nothing to update
few.param_groups[0]["params"][0].sum().backward()
assert few.step() is None and few.step(lambda: torch.tensor(3.0)).item() == 3
few.consolidate_state_dict()
assert rank or few.state_dict()["state"][0]["step"].item() == 2
refuses(NotImplementedError, "overlap_with_ddp=True is not", Zero, net.parameters(), torch.optim.Adam, overlap_with_ddp=True)
refuses(ValueError, "empty parameter list", Zero, [], torch.optim.Adam)
refuses(TypeError, "iterable of tensors or dicts", Zero, torch.ones(1), torch.optim.Adam)
refuses(ValueError, "invalid lr: -1", Zero, net.parameters(), torch.optim.Adam, lr=-1)
"""
UNEVEN = """
from minigrad.distributed.uneven_inputs import Join

def uneven(kind):
    net = DDP(model())
    optimizer = kind(net)
    with Join([net, optimizer] if kind is sharded else [net]):
        for step in range(1 + 2 * rank):
            optimizer.zero_grad()
            net(mine(step)).pow(2).mean().backward()
            optimizer.step()
    return list(net.parameters())

def sharded(net):
    return Zero(net.parameters(), torch.optim.Adam, lr=0.01)

def full(net):
    return torch.optim.Adam(net.parameters(), lr=0.01)

assert all(torch.allclose(p, q, rtol=1e-10, atol=1e-13) for p, q in zip(uneven(sharded), uneven(full)))
"""
PROGRAMS = {"equal": EQUAL, "state": STATE, "groups": GROUPS, "uneven": UNEVEN}


@needs_mpi
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_ranks_share_the_state_of_one_optimizer(program, n):
    passes(n, BEGIN + program)
