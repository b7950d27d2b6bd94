"""Optimizers and schedules say which arguments they refuse."""

import pytest

import minigrad as torch
from minigrad.errors import MinigradWarning
from tests.refusals import check, each


def lend(module, given):
    """Return parameters, an optimizer, and programs of more than one statement."""
    p, q = given["T"](3).requires_grad_(), given["T"](3).requires_grad_()
    schedules = module.optim.lr_scheduler

    def sgd():
        return module.optim.SGD([p], 0.1)

    def one_cycle_that_goes_on():
        optimizer = sgd()
        schedule = schedules.OneCycleLR(optimizer, 0.1, total_steps=2, cycle_momentum=False)
        for _ in range(5):
            optimizer.step()
            schedule.step()

    def hooked_with_a_number():
        optimizer = sgd()
        optimizer.register_step_pre_hook(lambda *given: 3)
        optimizer.step()

    def two_schedules_without_a_milestone():
        optimizer = sgd()
        schedules.SequentialLR(optimizer, [schedules.LinearLR(optimizer), schedules.LinearLR(optimizer)], [])

    def searched_otherwise():
        def closure():
            (loss := (p * p).sum()).backward()
            return loss

        module.optim.LBFGS([p], line_search_fn="wolfe").step(closure)

    more = {"swa_utils": module.optim.swa_utils}
    programs = sgd, hooked_with_a_number, one_cycle_that_goes_on, two_schedules_without_a_milestone, searched_otherwise
    return {"p": p, "q": q, **more, **{f.__name__: f for f in programs}}


# fmt: off
CASES = [
    ('optim.lr_scheduler.LRScheduler(sgd())', 'LRScheduler', 'defines no get_lr', 'write `def get_lr(self)`'),
    ('optim.SGD([p], 0.1).step(3)', 'SGD', 'got int', 'loss.backward(); optimizer.step()'),
    ('optim.SGD(T(3), 0.1)', 'SGD', 'params argument should be an iterable of tensors or dicts,', 'pass a list: [tensor]'),
    ('optim.SGD([], 0.1)', 'SGD', 'optimizer got an empty parameter list', 'pass model.parameters() itself; a'),
    ('optim.SGD([3], 0.1)', 'SGD', 'optimizer can only optimize Tensors, but one of the', 'pass model.parameters(), or'),
    ("optim.SGD([{'params': {T(3)}}], 0.1)", 'SGD', 'parameters need an order, but the order of a set', 'pass a list'),
    ('optim.SGD([T(3).requires_grad_() * 2], 0.1)', 'SGD', "can't optimize a non-leaf Tensor", 'optimize the tensors'),
    ("optim.SGD([p, p, {'params': [p]}], 0.1)", 'SGD', 'optimizer can only optimize Tensors,', 'pass model.parameters(),'),
    ("optim.SGD([{'params': [p]}, {'params': [p]}], 0.1)", 'SGD', 'some parameters appear in more', 'pass each parameter'),
    ("optim.SGD([{'parameters': [p]}], 0.1)", 'SGD', "a parameter group has no 'params', only", "name them 'params'"),
    ("optim.SGD([('a', p), q], 0.1)", 'SGD', 'some parameters have names and others do not', 'pass'),
    ('optim.SGD([p], -1)', 'SGD', 'invalid lr: -1', 'pass a number of at least 0'),
    ("optim.SGD([p], 'a')", 'SGD', "lr has to be a number, but got 'a'", 'write lr=0.01'),
    ('optim.SGD([p], 0.1, nesterov=True)', 'SGD', 'Nesterov momentum requires a momentum and', 'write SGD(params, lr,'),
    ('optim.Adam([p], 0.1, betas=(1.5, 0.9))', 'Adam', 'invalid betas: (1.5, 0.9)', 'pass two numbers in [0, 1)'),
    ('optim.Adam([p], 0.1, betas=(0.9, 1.0))', 'Adam', 'invalid betas: (0.9, 1.0)', 'pass two numbers in [0, 1)'),
    ('optim.Adam([p], betas=0.9)', 'Adam', 'betas has to be two numbers, but got 0.9', 'pass two numbers in [0, 1)'),
    ('optim.Rprop([p], step_sizes=1)', 'Rprop', 'step_sizes has to be two numbers, but got 1', 'pass the least and the'),
    ('optim.Adam([p], lr=[0.1])', 'Adam', 'lr has to be a number, but got [0.1]', 'write lr=0.01'),
    ('hooked_with_a_number()', 'SGD', 'a step pre-hook returned int, but it must return None or', 'return None'),
    ('optim.Adadelta([p], rho=1.5)', 'Adadelta', 'invalid rho: 1.5', 'pass a number in [0, 1]'),
    ('optim.Rprop([p], etas=(1.5, 2))', 'Rprop', 'invalid etas: (1.5, 2)', 'pass a factor below 1 and one above'),
    ('optim.Adamax([p], T(2))', 'Adamax', 'lr as a tensor must have 1 element, but got shape (2,)', 'make a parameter group'),
    ("optim.LBFGS([{'params': [p]}, {'params': [q]}])", 'LBFGS', 'but got 2 parameter groups', 'pass one list'),
    ('optim.LBFGS([p]).step()', 'LBFGS', 'a step needs a function that recomputes the loss', 'write def closure():'),
    ('searched_otherwise()', 'LBFGS', "'strong_wolfe' is supported as line_search_fn, but got 'wolfe'", 'pass'),
    ("optim.SGD([('a', p)]).add_param_group({'params': [q]})", 'SGD', 'some parameters have names and others do not', 'pass'),
    ('optim.SGD([p], 0.1).add_param_group(3)', 'SGD', 'param_group must be a dict, but got int', 'write'),
    ('optim.SGD([p], 0.1).load_state_dict(optim.SGD([p, q], 0.1).state_dict())', 'SGD', 'of sizes [2], this', 'build the'),
    ('lr_scheduler.StepLR(3, 1)', 'StepLR', 'int is not an Optimizer', 'write StepLR(optimizer, ...)'),
    ('lr_scheduler.StepLR(sgd(), 1, last_epoch=3)', 'StepLR', "param 'initial_lr' is not", "load the optimizer's"),
    ('lr_scheduler.LambdaLR(sgd(), [lambda e: 1, lambda e: 2])', 'LambdaLR', 'expected 1 lr_lambdas, one per', 'pass one'),
    ('lr_scheduler.MultiplicativeLR(sgd(), 0.9)', 'MultiplicativeLR', 'should be a function, but got float', 'write lr_'),
    ('lr_scheduler.ConstantLR(sgd(), 2.0)', 'ConstantLR', 'factor 2.0 has to be in [0, 1]', 'write factor=0.1'),
    ("lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 2, eta_min='a')",
     'CosineAnnealingWarmRestarts', "a number as eta_min, but got 'a'", 'write eta_min=1e-5'),
    ('lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 2).step(-0.5)',
     'CosineAnnealingWarmRestarts.step', 'epoch of at least 0, but got -0.5', 'write step(epoch + i / len(loader))'),
    ('lr_scheduler.OneCycleLR(sgd(), 0.1, 0)', 'OneCycleLR', 'a positive integer total_steps, but got 0', 'write total'),
    ('lr_scheduler.ChainedScheduler([])', 'ChainedScheduler', 'at least one schedule, but got none', 'pass a list'),
    ('lr_scheduler.ChainedScheduler([3], sgd())', 'ChainedScheduler', 'number 0 is no schedule of an', 'pass a list'),
    ('lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(sgd())])',
     'ChainedScheduler', 'number 0 is a ReduceLROnPlateau, whose step needs a', 'call its step(metric) yourself'),
    ('lr_scheduler.LinearLR(sgd(), start_factor=2.0)', 'LinearLR', 'starting factor 2.0 has to be in (0, 1]', 'write'),
    ('lr_scheduler.CosineAnnealingWarmRestarts(sgd(), T_0=0)',
     'CosineAnnealingWarmRestarts', 'integer T_0 and an', 'write T_0=10,'),
    ('lr_scheduler.OneCycleLR(sgd(), 0.1)', 'OneCycleLR', 'define either total_steps or both epochs and', 'write'),
    ("lr_scheduler.OneCycleLR(sgd(), 0.1, total_steps=5, anneal_strategy='exp')", 'OneCycleLR', 'anneal_strategy', 'write'),
    ('lr_scheduler.OneCycleLR(sgd(), 0.1, total_steps=5, pct_start=2.0)', 'OneCycleLR', 'pct_start between 0', 'write'),
    ('lr_scheduler.OneCycleLR(optim.Adagrad([p]), 0.1, total_steps=5)', 'OneCycleLR', 'momentum or beta1', 'pass cycle_'),
    ('lr_scheduler.CyclicLR(sgd(), 0.1, 0.5, mode=\'square\')', 'CyclicLR', "mode 'square' is none of", "write mode="),
    ('lr_scheduler.CyclicLR(sgd(), [0.1, 0.2], 0.5)', 'base_lr', 'expected 1 values, one for each', 'pass one number'),
    ('lr_scheduler.CyclicLR(optim.Adagrad([p]), 0.1, 0.5)', 'CyclicLR', 'momentum or beta1', 'pass cycle_'),
    ("swa_utils.SWALR(sgd(), 0.1, anneal_strategy='exp')", 'SWALR', "anneal_strategy must be one of", "write anneal"),
    ('swa_utils.SWALR(sgd(), 0.1, anneal_epochs=-1)', 'SWALR', 'anneal_epochs must be an int >= 0, got -1', 'write 10'),
    ('swa_utils.get_ema_multi_avg_fn(2)', 'get_ema_multi_avg_fn', 'invalid decay: 2', 'pass a number in [0, 1]'),
    ('swa_utils.AveragedModel(nn.ReLU(), avg_fn=max, multi_avg_fn=max)', 'AveragedModel', 'both avg_fn and', 'pass only'),
    ('one_cycle_that_goes_on()', 'OneCycleLR', 'tried to step 3 times, but the schedule has 2', 'call scheduler.step() once'),
    ('lr_scheduler.SequentialLR(sgd(), [], [])', 'SequentialLR', 'at least one schedule, but got none', 'pass a list of'),
    ('two_schedules_without_a_milestone()', 'SequentialLR', 'schedules, but got 2 schedules', 'pass 1 milestones: the'),
    ('lr_scheduler.SequentialLR(first := sgd(), [lr_scheduler.StepLR(o, 1) for o in (first, sgd())], [1])',
     'SequentialLR', 'but number 1 does', 'build all of them'),
    ('lr_scheduler.ReduceLROnPlateau(sgd(), factor=1.0)', 'ReduceLROnPlateau', 'should be < 1.0, got', 'write factor=0.1'),
    ("lr_scheduler.ReduceLROnPlateau(sgd(), mode='low')", 'ReduceLROnPlateau', "mode 'low' should", "write mode='min',"),
    ('lr_scheduler.ReduceLROnPlateau(3)', 'ReduceLROnPlateau', 'int is not an Optimizer', 'write'),
    ('lr_scheduler.ReduceLROnPlateau(sgd(), min_lr=[0, 0])', 'ReduceLROnPlateau', 'expected 1 min_lrs,', 'pass one number,'),
]
# fmt: on
test_it_says_what_is_wrong_and_what_to_do = each(CASES, lend)


@pytest.mark.parametrize(
    "case",
    [  # where PyTorch's error is Python's own, or its name is elsewhere
        (
            "optim.Adam([p], betas=(0.9,))",
            "Adam",
            "betas has to be two numbers, but got (0.9,)",
            "pass two numbers in [0, 1)",
        ),
        (
            "optim.Optimizer([p], {'lr': optim.optimizer.required})",
            "Optimizer",
            "required optimization parameter lr",
            "write lr=",
        ),
    ],
)
def test_it_says_so_where_pytorch_says_it_by_accident(case):
    check(*case, lend=lend)


def test_a_schedule_without_get_lr_says_what_to_write():
    schedule = type("Halved", (torch.optim.lr_scheduler.LRScheduler,), {"other": lambda self: [0.5]})
    with pytest.raises(NotImplementedError, match="Halved: defines no get_lr\n(.|\n)*def get_lr\\(self\\)"):
        schedule(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0))


def test_a_schedule_that_gives_one_rate_for_two_groups_says_so():
    schedule = type("One", (torch.optim.lr_scheduler.LRScheduler,), {"get_lr": lambda self: [0.5]})
    groups = [{"params": [torch.ones(1, requires_grad=True)]} for _ in range(2)]
    with pytest.raises(ValueError, match="One: gives 1 rates, but the optimizer has 2 parameter groups"):
        schedule(torch.optim.SGD(groups, lr=1.0))


def test_a_call_for_the_next_rates_and_a_jump_to_an_epoch_are_told():
    schedule = torch.optim.lr_scheduler.ExponentialLR(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0), 0.5)
    with pytest.warns(MinigradWarning, match=r"ExponentialLR: get_lr\(\) computes (.|\n)*get_last_lr\(\)"):
        assert schedule.get_lr() == [0.5]
    with pytest.warns(MinigradWarning, match=r"ExponentialLR: step\(epoch\) is PyTorch's older form"):
        schedule.step(3)
    assert schedule.get_last_lr() == [0.125]


class Own(torch.optim.SGD):
    def update(self, p, grad, state, group):
        p.sub_(grad)  # a line of the user's


@pytest.mark.parametrize("optimizer, line", [(torch.optim.SGD, "# the step"), (Own, "# a line of the user's")])
def test_what_an_optimizer_writes_is_told_with_the_users_line(optimizer, line):
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    optimizer([x], 0.1, momentum=0.9).step()  # the step
    with pytest.raises(RuntimeError, match=line):
        loss.backward()


def test_a_step_that_fails_leaves_the_line_of_what_comes_next():
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    optimizer = torch.optim.SGD([x], 0.1)
    optimizer.param_groups[0]["lr"] = "none"
    with pytest.raises(TypeError, match="bad operand type"):
        optimizer.step()
    with torch.no_grad():
        x.add_(1)  # what comes next
    with pytest.raises(RuntimeError, match="# what comes next"):
        loss.backward()
