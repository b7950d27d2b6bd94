"""The states of models and optimizers: what they hold, and how training goes on from them."""

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.distributed import checkpoint as dcp
from minigrad.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    get_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)


class Counter:
    def __init__(self, n):
        self.n = n

    def state_dict(self):
        return {"n": self.n, "t": torch.full((2,), float(self.n))}

    def load_state_dict(self, state):
        self.n, self.t = state["n"], state["t"]


def trained(seed, steps):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01 * (seed + 1))
    for i in range(steps):
        step(model, optimizer, i)
    return model, optimizer


def step(model, optimizer, i):
    torch.manual_seed(i)
    optimizer.zero_grad()
    (model(torch.randn(5, 3)) ** 2).mean().backward()
    optimizer.step()


def test_what_has_a_state_gets_it_back_and_training_goes_on_as_if_it_had_not_stopped(tmp_path):
    model, optimizer = trained(0, 2)
    dcp.save({"model": model, "optimizer": optimizer, "counter": Counter(5)}, checkpoint_id=tmp_path)
    step(model, optimizer, 2)
    fresh, its_own = trained(1, 0)
    counter = Counter(0)
    dcp.load({"model": fresh, "optimizer": its_own, "counter": counter}, checkpoint_id=tmp_path)
    step(fresh, its_own, 2)
    assert counter.n == 5 and counter.t.tolist() == [5, 5] and its_own.param_groups[0]["lr"] == 0.01
    for a, b in zip(model.parameters(), fresh.parameters()):
        assert torch.equal(a, b)


def test_parameters_that_were_never_used_have_a_state_to_load_into(tmp_path):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=0.1)
    model[0](torch.ones(1, 2)).sum().backward()
    optimizer.step()
    before = [p.detach().clone() for p in model.parameters()]
    states = get_state_dict(model, optimizer)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before)) and model[0].weight.grad is not None
    assert set(states[1]["state"]) == {n for n, _ in model.named_parameters()}
    assert states[1]["state"]["0.weight"]["step"] == 1
    dcp.save({"optimizer": states[1]}, checkpoint_id=tmp_path)
    fresh = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    dcp.load({"optimizer": get_state_dict(fresh, torch.optim.Adam(fresh.parameters()))[1]}, checkpoint_id=tmp_path)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Rprop, torch.optim.RAdam])
def test_getting_a_state_does_not_change_training(kind):
    ends = []
    for asked in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = kind(model.parameters(), lr=0.1)
        for _ in range(3):
            if asked:
                get_state_dict(model, optimizer)
            optimizer.zero_grad()
            (model(torch.ones(1, 3)) ** 2).sum().backward()
            optimizer.step()
        ends.append(model.weight)
    assert torch.equal(*ends)


def test_states_by_name_of_a_model_and_its_optimizer(tmp_path):
    model, optimizer = trained(0, 2)
    states = get_state_dict(model, optimizer)
    assert set(states[1]["state"]) == {n for n, _ in model.named_parameters()}
    dcp.save({"states": list(states)}, checkpoint_id=tmp_path)
    step(model, optimizer, 2)
    fresh, its_own = trained(1, 0)
    into = get_state_dict(fresh, its_own)
    assert all(p.grad is None for p in fresh.parameters()) and its_own.param_groups[0]["lr"] == 0.02
    dcp.load({"states": list(into)}, checkpoint_id=tmp_path)
    set_state_dict(fresh, its_own, model_state_dict=into[0], optim_state_dict=into[1])
    step(fresh, its_own, 2)
    for a, b in zip(model.parameters(), fresh.parameters()):
        assert torch.equal(a, b)
    with pytest.raises(RuntimeError, match=r"the state of '0\.weight' is missing"):
        set_state_dict(fresh, its_own, model_state_dict=states[0], optim_state_dict={"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="does not belong to the model"):
        get_state_dict(nn.Linear(1, 1), its_own)
    with pytest.raises(NotImplementedError, match="cpu_offload=True"):
        StateDictOptions(cpu_offload=True)


def test_parameters_of_any_strides_have_a_state():
    model = nn.Linear(3, 4)
    model.weight = nn.Parameter(torch.randn(3, 4).T)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    states = get_state_dict(model, optimizer)
    assert torch.equal(states[1]["state"]["weight"]["exp_avg"], optimizer.state[model.weight]["exp_avg"])
    fresh = nn.Linear(3, 4)
    fresh.weight = nn.Parameter(torch.randn(3, 4).T)
    its_own = torch.optim.Adam(fresh.parameters())
    set_state_dict(fresh, its_own, model_state_dict=states[0], optim_state_dict=states[1])
    assert torch.equal(its_own.state[fresh.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"])


def test_two_optimizers_share_no_state_that_one_took_from_the_other():
    model, optimizer = trained(0, 1)
    states = get_state_dict(model, optimizer)
    fresh, its_own = trained(1, 0)
    set_state_dict(fresh, its_own, model_state_dict=states[0], optim_state_dict=states[1])
    step(fresh, its_own, 1)
    assert optimizer.state[model[0].weight]["step"] == 1 and its_own.state[fresh[0].weight]["step"] == 2


def test_the_state_of_another_kind_of_optimizer_is_not_saved():
    model = nn.Linear(2, 1)
    adam = torch.optim.Adam(model.parameters())
    with pytest.raises(RuntimeError, match=r"the state of 'weight' has no 'max_exp_avg_sq'"):
        set_optimizer_state_dict(
            model, torch.optim.Adam(model.parameters(), amsgrad=True), get_optimizer_state_dict(model, adam)
        )
    stateless = torch.optim.SGD(model.parameters(), 0.1)
    with pytest.raises(RuntimeError, match="the state of 'weight' is missing"):
        set_optimizer_state_dict(model, stateless, {"state": {}, "param_groups": []})
