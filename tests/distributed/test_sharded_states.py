"""The states of a FullyShardedDataParallel and of its optimizer, whole and sharded."""

from tests.distributed.ranks import needs_mpi, passes
from tests.distributed.sharded_program import COMMON


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
