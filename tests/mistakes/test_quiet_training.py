"""Correct steps, modes, layers and states that resemble a mistake: no check warns about them."""

import copy
from contextlib import nullcontext

import pytest

import minigrad as torch
from minigrad import nn

from .quiet import X, programs, run_quietly, trained, with_dropout


# ---------------------------------------------------------------------- steps (unrelated-parameters and others)
def step_of_two_optimizers_in_turn():
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)
    one, two = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second))
    second(first(X).detach()).pow(2).mean().backward()
    one.step()
    two.step()


def step_of_experts():
    experts = [nn.Linear(3, 1) for _ in range(3)]
    optimizers = [torch.optim.Adam(e.parameters()) for e in experts]
    for k in (0, 2):
        loss = experts[k](X).pow(2).mean()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


def step_to_draw_a_schedule():
    optimizer = torch.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1)
    nn.Linear(3, 1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(4):
        optimizer.step()
        schedule.step()


def step_of_a_part():
    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    loss = head(encoder(X)).pow(2).mean()
    loss.backward()
    optimizer.step()


def step_of_inputs():
    model, x = nn.Linear(3, 1), X.clone().requires_grad_()
    optimizer = torch.optim.Adam([x])
    model(x).sum().backward()
    optimizer.step()


def step_without_a_batch():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if len(X) > 100:
        model(X).sum().backward()
    optimizer.step()


def step_after_a_move():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.double()
    loss = model(X.double()).pow(2).mean()
    loss.backward()
    optimizer.step()


def step_of_a_new_optimizer_for_each_phase():
    model = nn.Linear(3, 1)
    for _ in range(4):
        trained(model, steps=3, kind=torch.optim.Adam)


def step_of_an_optimizer_for_each_model():
    for _ in range(4):
        trained(nn.Linear(3, 1), steps=1, kind=torch.optim.Adam)


def step_of_plain_descent_made_anew():
    model = nn.Linear(3, 1)
    for _ in range(5):
        trained(model, steps=1)


def step_of_an_empty_group():
    optimizer = torch.optim.Adam([{"params": []}], lr=0.1)
    optimizer.step()
    optimizer.zero_grad()


def step_of_a_rate_in_a_tensor():
    model = nn.Linear(3, 1)
    for _ in range(4):
        optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
        for _ in range(2):
            model(X).pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()


def step_to_find_a_rate():
    model = nn.Linear(3, 1)
    start = copy.deepcopy(model.state_dict())
    for rate in (1e-4, 1e-3, 1e-2, 1e-1):
        model.load_state_dict(start)
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        model(X).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def step_of_several_tasks_from_one_start():
    model = nn.Linear(3, 1)
    start = copy.deepcopy(model.state_dict())
    for _ in range(4):
        model.load_state_dict(start)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        model(X).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def step_with_a_norm_for_the_log():
    model = nn.Linear(3, 1)
    trained(model)
    print(nn.utils.clip_grad_norm_(model.parameters(), float("inf")))
    trained(model)
    print(nn.utils.clip_grad_norm_(model.parameters(), 1e9))


def step_of_two_batches():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(2):
            model(X).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def step_of_two_optimizers_over_one_loss():
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)
    one, two = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second))
    for optimizer in (one, two, one):
        second(first(X)).pow(2).mean().backward()
        optimizer.step()
        one.zero_grad()
        two.zero_grad()


def step_with_an_unused_head_and_a_frozen_body():
    body, used, unused = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    body.requires_grad_(False)
    optimizer = torch.optim.SGD([*body.parameters(), *used.parameters(), *unused.parameters()], lr=0.1)
    used(body(X)).pow(2).mean().backward()
    with torch.no_grad():
        body(X)
    optimizer.step()


def step_of_a_module_inside_its_replacement():
    model = nn.Sequential(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    old, model[0] = model[0], nn.Sequential(model[0], nn.ReLU())
    model(X).pow(2).mean().backward()
    optimizer.step()
    assert old.weight.grad is not None


def step_with_a_closure():
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        value = (w * w).sum()
        value.backward()
        return value

    for _ in range(2):
        optimizer.step(closure)


def step_of_named_parameters_in_groups():
    model = nn.Linear(3, 1)
    named = dict(model.named_parameters())
    optimizer = torch.optim.SGD([{"params": [named["weight"]]}, {"params": named["bias"], "lr": 0.5}], lr=0.1)
    model(X).pow(2).mean().backward()
    optimizer.step()


def step_with_the_state_of_a_copy():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(X).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    other = copy.deepcopy(model)
    second = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
    second.load_state_dict(optimizer.state_dict())
    other(X).pow(2).mean().backward()
    second.step()


def step_beside_a_list_of_earlier_parameters():
    class Average(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model
            self.own = [p.detach().clone() for p in model.parameters()]
            self.watched = list(model.parameters())

    torch.optim.SGD(Average(nn.Linear(3, 1)).parameters(), lr=0.1)


def step_kept_gradients_as_zeros():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        model(X).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


# ---------------------------------------------------------------------- modes (trained-in-eval-mode)
def mode_restored_after_evaluation():
    model = with_dropout()
    for _ in range(3):
        trained(model, steps=1)
        model.eval()
        model(X)
        model.train()


def mode_set_at_each_epoch():
    model = with_dropout()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        optimizer.zero_grad()
        model(X).pow(2).mean().backward()
        optimizer.step()
        model.eval()
        model(X)


def mode_of_frozen_statistics():
    model = with_dropout()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(X).pow(2).mean().backward()
        optimizer.step()
        model[2].eval()


def mode_eval_from_the_start():
    trained(with_dropout().eval(), steps=3)


def mode_without_effect():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = trained(model)
    model.eval()
    optimizer.zero_grad()
    model(X).pow(2).mean().backward()
    optimizer.step()


def mode_computed():
    model = with_dropout()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for k in range(4):
        model.train(k % 2 == 0)
        optimizer.zero_grad()
        model(X).pow(2).mean().backward()
        optimizer.step()


def mode_of_another_model():
    teacher, student = with_dropout(), with_dropout()
    trained(teacher)
    teacher.eval()
    trained(student, lambda out: (out - teacher(X).detach()).pow(2).mean())


# ---------------------------------------------------------------------- layers (layer-in-forward, unregistered-parameters)
class Lazy(nn.Module):
    """A module that makes its layer in the first call."""

    def __init__(self):
        super().__init__()
        self.layer = None

    def forward(self, x):
        if self.layer is None:
            self.layer = nn.Linear(x.shape[1], 1)
        return self.layer(x)


class Asking(nn.Module):
    """A module whose forward asks for the kinds of its parts."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)])
        self.cache, self.seen = torch.zeros(3), None

    def forward(self, x):
        for part in self.parts:
            x = part(x) * 1.0 if isinstance(part, nn.Linear) else part(x)
        self.seen = x
        return x


class Capitals(nn.Module):
    """A module with a part named like its class, and a function of the user of that name."""

    def __init__(self):
        super().__init__()
        self.Linear, self.Embedding = nn.Linear(3, 1), lambda x: x

    def forward(self, x):
        return self.Linear(self.Embedding(x))


def layer_with_the_name_of_its_class():
    trained(Capitals())


def tensor_of_a_module_with_its_own_optimizer():
    model = Asking()
    model.temperature = torch.ones(1, requires_grad=True)
    one, two = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.Adam([model.temperature])
    (model(X) * model.temperature).sum().backward()
    one.step()
    two.step()


def tensor_of_a_module_without_a_gradient():
    model = Asking()
    model.noise = torch.ones(3, requires_grad=True)
    trained(model)


def layer_made_once():
    model = Lazy()
    model(X)
    trained(model)


def layer_asked_for():
    trained(Asking())


def layer_kept_results():
    model = Asking()
    model(X)
    trained(model)  # model.seen requires grad, but is no leaf


# ---------------------------------------------------------------------- states (nothing-loaded, own-state)
def state_loaded_in_part():
    nn.Linear(3, 1).load_state_dict({"weight": torch.ones(1, 3), "more": torch.ones(1)}, strict=False)


def state_that_is_empty():
    nn.Linear(3, 1).load_state_dict({}, strict=False)


def state_of_a_model_without_parameters():
    nn.ReLU().load_state_dict({"more": torch.ones(1)}, strict=False)


def state_copied():
    model = nn.Linear(3, 1)
    best = copy.deepcopy(model.state_dict())
    trained(model)
    model.load_state_dict(best)


def state_cloned():
    model = nn.Linear(3, 1)
    best = {k: v.clone() for k, v in model.state_dict().items()}
    trained(model)
    model.load_state_dict(best)


def state_loaded_at_once():
    model = nn.Linear(3, 1)
    trained(model)
    model.load_state_dict(model.state_dict())


def state_of_another_model():
    model, target = nn.Linear(3, 1), nn.Linear(3, 1)
    state = model.state_dict()
    trained(model)
    target.load_state_dict(state)


def state_changed_by_hand():
    model = nn.Linear(3, 1)
    state = model.state_dict()
    trained(model)
    state["bias"] = torch.zeros(1)
    model.load_state_dict(state)


@pytest.mark.parametrize("mode", [nullcontext, torch.debug], ids=["plain", "debug"])
@pytest.mark.parametrize("program", programs(__name__), ids=lambda f: f.__name__)
def test_a_correct_program_is_quiet(program, mode):
    run_quietly(program, mode)
