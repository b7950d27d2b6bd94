"""Means of weights: plain and exponential, with buffers, and the statistics of batch norms for them."""

import copy

import minigrad as torch
from minigrad import nn
from minigrad.optim import swa_utils


def shown(values, **settings):
    """Return an averaged model after weights of these values, each with a buffer that is twice the weight."""
    model = nn.Linear(1, 1, bias=False)
    model.register_buffer("twice", torch.zeros(1))
    averaged = swa_utils.AveragedModel(model, **settings)
    for value in values:
        nn.init.constant_(model.weight, value)
        model.twice.fill_(2 * value)
        averaged.update_parameters(model)
    return averaged


def test_all_weigh_equally_and_buffers_are_the_last_ones():
    averaged = shown([1.0, 2.0, 6.0])
    assert (averaged.module.weight.item(), averaged.module.twice.item(), averaged.n_averaged.item()) == (3.0, 12.0, 3)


def test_older_ones_fade_and_buffers_with_them():
    averaged = shown([1.0, 5.0], use_buffers=True, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.75))
    assert (averaged.module.weight.item(), averaged.module.twice.item()) == (2.0, 4.0)


def test_a_function_of_the_users_is_told_how_many_there_were():
    told = []
    shown([1.0, 2.0, 3.0], avg_fn=lambda averaged, current, n: told.append(int(n)) or current)
    assert told == [1, 2]


def test_the_model_is_copied_and_trains_on():
    model = nn.Linear(2, 1)
    averaged = swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    before = copy.deepcopy(list(averaged.parameters()))
    with torch.no_grad():
        model.weight.add_(1)
    assert all(torch.equal(a, b) for a, b in zip(averaged.parameters(), before))
    assert averaged.state_dict().keys() == {"n_averaged", "module.weight", "module.bias"}


def test_statistics_are_those_of_all_batches_and_settings_stay():
    model = nn.Sequential(nn.BatchNorm1d(1, momentum=0.3), nn.Linear(1, 1)).eval()
    model[0].running_mean.fill_(50)
    batches = [torch.tensor([[1.0], [3.0]]), (torch.tensor([[5.0], [7.0]]), "a label")]
    swa_utils.update_bn(batches, model)
    assert model[0].running_mean.item() == 4.0 and model[0].num_batches_tracked.item() == 2
    assert model[0].momentum == 0.3 and not model.training


def test_a_model_without_batch_norm_sees_no_batch():
    swa_utils.update_bn(iter([None]), nn.Linear(1, 1))
