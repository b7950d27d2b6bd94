"""An optimizer's warnings stay quiet in training loops that do what they were written for."""

import warnings

import pytest

import minigrad
from minigrad import nn


@pytest.fixture(autouse=True)
def errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def loss(model):
    return model(minigrad.ones(2, 3)).pow(2).mean()


def test_gradients_of_several_batches_in_one_step():
    model = nn.Linear(3, 1)
    optimizer = minigrad.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(2):
            loss(model).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def test_two_optimizers_that_take_turns():
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)
    one, two = (minigrad.optim.SGD(m.parameters(), lr=0.1) for m in (first, second))
    for optimizer in (one, two, one):
        loss(nn.Sequential(first, second)).backward()
        optimizer.step()
        one.zero_grad()
        two.zero_grad()


def test_an_unused_head_a_frozen_part_and_a_shared_module():
    body, used, unused = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    body.requires_grad_(False)
    optimizer = minigrad.optim.SGD([*body.parameters(), *used.parameters(), *unused.parameters()], lr=0.1)
    with minigrad.debug():
        loss(nn.Sequential(body, used)).backward()
        with minigrad.no_grad():
            body(minigrad.ones(2, 3))
        optimizer.step()


def test_a_module_that_takes_the_place_of_one_that_is_still_used():
    model = nn.Sequential(nn.Linear(3, 1))
    optimizer = minigrad.optim.SGD(model.parameters(), lr=0.1)
    old, model[0] = model[0], nn.Sequential(model[0], nn.ReLU())
    loss(model).backward()
    optimizer.step()
    assert old.weight.grad is not None


def test_a_closure():
    w = minigrad.ones(3, requires_grad=True)
    optimizer = minigrad.optim.SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        value = (w * w).sum()
        value.backward()
        return value

    for _ in range(2):
        optimizer.step(closure)


def test_steps_without_a_computation_to_look_at_a_schedule():
    optimizer = minigrad.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1)
    schedule = minigrad.optim.lr_scheduler.StepLR(optimizer, 2)
    nn.Linear(3, 1)
    for _ in range(4):
        optimizer.step()
        schedule.step()


def test_a_parameter_of_which_a_part_is_passed_on_in_groups():
    model = nn.Linear(3, 1)
    named = dict(model.named_parameters())
    optimizer = minigrad.optim.SGD([{"params": [named["weight"]]}, {"params": named["bias"], "lr": 0.5}], lr=0.1)
    loss(model).backward()
    optimizer.step()


def test_the_state_survives_a_copy():
    import copy

    model = nn.Linear(3, 1)
    optimizer = minigrad.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss(model).backward()
    optimizer.step()
    optimizer.zero_grad()
    other = copy.deepcopy(model)
    second = minigrad.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
    second.load_state_dict(optimizer.state_dict())
    loss(other).backward()
    second.step()


def test_a_buffer_of_earlier_parameters_in_a_list_is_no_part_of_the_model():
    class Average(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model
            self.own = [p.detach().clone() for p in model.parameters()]
            self.watched = list(model.parameters())

    minigrad.optim.SGD(Average(nn.Linear(3, 1)).parameters(), lr=0.1)
