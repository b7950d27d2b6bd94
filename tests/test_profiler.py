"""Profiles: what is counted, how it nests, that it adds up, and that nothing else changes."""

import json
import time

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from minigrad.autograd.profiler import profilers
from minigrad.autograd.profiler_report import SORTED_BY
from minigrad.core.frames import ON, current
from minigrad.events import events, unheard
from minigrad.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
from tests.functions import custom


def rows(prof, **settings):
    return {row.key: row.count for row in prof.key_averages(**settings)}


def nothing_left():
    return events.module_begins is unheard and not profilers and current() is ON


Twice = custom("Twice", forward=lambda ctx, x: x.exp() * 2, backward=lambda ctx, g: g.sin() * 2)


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def train(net, steps=3):
    """Return losses and gradients of a short training."""
    optimizer, found = torch.optim.Adam(net.parameters(), lr=0.1), []
    x, y = torch.linspace(-1, 1, 20).reshape(5, 4), torch.tensor([0, 1, 0, 1, 1])
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        found += [loss.item(), *[p.grad.numpy().copy() for p in net.parameters()]]
    return found


def test_results_are_the_same_with_and_without():
    plain = train(model())
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_modules=True):
        profiled = train(model())
    for a, b in zip(plain, profiled, strict=True):
        np.testing.assert_array_equal(a, b)


def test_counts_are_those_of_the_calls():
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        for _ in range(4):
            y = x * 2 + x
            y.softmax(0).sum().backward()
    found = rows(prof)
    expected = {"mul": 4, "add": 4, "softmax": 4, "sum": 4, "SumBackward0": 4, "SoftmaxBackward0": 4}
    expected |= {"MulBackward0": 4, "AddBackward0": 4, "AccumulateGrad": 4}
    assert {k: found.get(k) for k in expected} == expected


def test_a_function_made_of_operations_is_one_row():
    x = torch.rand(3, 4)
    with profile() as prof:
        torch.nn.functional.mse_loss(x, x * 2)
        torch.stack([x, x])
    assert rows(prof) == {"mul": 1, "mse_loss": 1, "stack": 1}
    (loss,) = [e for e in prof.events() if e.key == "mse_loss"]
    assert loss.cpu_parent is None and loss.self_cpu_memory_usage >= x.nbytes  # also that of its parts


def test_a_function_that_is_one_operation_goes_by_the_name_that_is_called():
    with profile() as prof:
        torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))
        torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]))
    assert rows(prof) == {"linear": 1, "cross_entropy": 1}


def test_modules_and_named_ranges_contain_what_they_run():
    net, x = model(), torch.ones(5, 4)
    with profile() as prof, record_function("forward"):
        net(x)
    (root,) = [e for e in prof.events() if e.cpu_parent is None]
    assert root.name == "forward"
    (top,) = root.cpu_children
    assert top.name == "nn.Module: Sequential"
    assert [c.name for c in top.cpu_children] == ["nn.Module: Linear", "nn.Module: Tanh", "nn.Module: Linear"]
    assert [c.name for c in top.cpu_children[1].cpu_children] == ["tanh"]


def test_record_function_decorates():
    @record_function("double")
    def double(x):
        return x * 2

    with profile() as prof:
        double(torch.ones(2))
    assert rows(prof) == {"double": 1, "mul": 1}
    assert double(torch.ones(2)).tolist() == [2, 2]  # also where no profiler runs


def test_custom_functions_contain_what_their_methods_compute():
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        Twice.apply(x).sum().backward()
    inside = {e.name: [c.name for c in e.cpu_children] for e in prof.events()}
    assert inside["Twice"] == ["exp", "mul"]
    assert inside["TwiceBackward"] == ["sin", "mul"]


def test_the_optimizer_is_a_row_that_contains_its_operations():
    p = torch.ones(3, requires_grad=True)
    p.grad = torch.ones(3)
    with profile() as prof:
        torch.optim.SGD([p], lr=0.1).step()
    (root,) = [e for e in prof.events() if e.cpu_parent is None]
    assert root.name == "Optimizer.step#SGD.step" and root.cpu_children
    np.testing.assert_allclose(p.detach().numpy(), 0.9, rtol=1e-6)


def test_a_compiled_functions_call_is_one_row():
    f = torch.compile(lambda x: (x * 2).exp().sum())
    x = torch.ones(1000)
    f(x)
    with profile() as prof:
        value = f(x)
    assert rows(prof) == {"compile: <lambda>": 1}
    assert f.versions and value.item() == pytest.approx(1000 * np.exp(2), rel=1e-5)


def test_times_add_up_and_lie_within_the_block():
    begun = time.perf_counter()
    with profile() as prof:
        train(model())
    wall = (time.perf_counter() - begun) * 1e6
    events = prof.events()
    roots = sum(e.cpu_time_total for e in events if e.cpu_parent is None)
    assert roots <= wall
    assert prof.events().self_cpu_time_total == pytest.approx(roots)
    assert sum(row.self_cpu_time_total for row in prof.key_averages()) == pytest.approx(roots)
    assert all(e.self_cpu_time_total >= -1e-6 for e in events)
    for e in events:
        assert all(e.start <= c.start <= c.end <= e.end for c in e.cpu_children)


def test_a_transform_of_functions_is_listened_to():
    with profile() as prof:
        g = torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(2, 3))
    assert g.tolist() == [[2, 2, 2]] * 2
    assert rows(prof)["mul"] >= 1


def test_memory_is_that_of_results_that_are_no_views():
    x = torch.ones(8, 4)
    with profile(profile_memory=True) as prof, record_function("all"):
        y = x.T
        z = x * 2
        z.add_(1)
    found = {row.key: row.self_cpu_memory_usage for row in prof.key_averages()}
    assert found["mul"] == 128 and found["add_"] == 0
    assert {row.key: row.cpu_memory_usage for row in prof.key_averages()}["all"] == 128
    assert "128 B" in prof.key_averages().table()
    del y


def test_rows_are_told_apart_by_shapes_and_by_lines():
    with profile() as prof:
        a = torch.ones(2) * 2
        b = torch.ones(3) * 2
    assert [row.count for row in prof.key_averages()] == [2]
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert [(row.count, row.input_shapes) for row in by_shape] == [(1, [[2]]), (1, [[3]])]
    by_line = prof.key_averages(group_by_stack_n=1)
    assert len(by_line) == 2 and all("test_profiler.py:" in row.line for row in by_line)
    assert int(by_line[1].line.rpartition(":")[2]) == int(by_line[0].line.rpartition(":")[2]) + 1
    assert "Input Shapes" in by_shape.table() and "Input Shapes" not in by_line.table()
    assert "Line" in by_line.table() and "Line" not in by_shape.table()
    del a, b


def test_the_table_has_pytorchs_columns_and_sorts():
    with profile() as prof:
        for _ in range(3):
            torch.ones(3) * 2
        (torch.ones(3) + 1).sum()
    text = prof.key_averages().table(sort_by="count", row_limit=2)
    lines = text.splitlines()
    assert lines[-1].startswith("Self CPU time total")
    heading = ["Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "CPU Mem", "# of Calls"]
    assert [c.strip() for c in lines[1].split("  ") if c.strip()] == heading
    assert lines[3].split()[0] == "mul" and lines[3].split()[-1] == "3" and len(lines) == 7
    for key in (*SORTED_BY, "self_cuda_time_total", "device_memory_usage"):
        assert prof.key_averages().table(sort_by=key)
    with pytest.raises(AttributeError, match="is not a column to sort by"):
        prof.key_averages().table(sort_by="speed")


def test_a_row_counts_the_time_of_events_inside_their_like_once():
    with profile() as prof, record_function("again"), record_function("again"):
        torch.ones(3) * 2
    (row,) = [row for row in prof.key_averages() if row.key == "again"]
    outer, inner = [e for e in prof.events() if e.key == "again"]
    assert row.count == 2 and row.cpu_time_total == outer.cpu_time_total and inner.cpu_parent is outer
    assert row.self_cpu_time_total == pytest.approx(outer.self_cpu_time_total + inner.self_cpu_time_total)


def test_nothing_is_left_behind_after_an_exception():
    with pytest.raises(ZeroDivisionError), profile():
        nn.Linear(2, 2)(torch.ones(1, 2))
        with record_function("range"):
            raise ZeroDivisionError
    assert nothing_left()

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError

    with profile() as prof:
        with pytest.raises(ZeroDivisionError):
            Broken.apply(torch.ones(2, requires_grad=True)).sum().backward()
        torch.ones(2) * 2
    assert nothing_left()
    (mul,) = [e for e in prof.events() if e.name == "mul"]
    assert mul.cpu_parent is None  # what broke off is not around it


def test_a_profile_inside_a_recording_and_around_one():
    def program():
        x = torch.ones(3, requires_grad=True)
        (x * x).sum().backward()
        return x.grad.tolist()

    with torch.record() as rec, profile() as prof:
        assert program() == [2, 2, 2]
    with profile() as other, torch.record() as around:
        assert program() == [2, 2, 2]
    for p, r in ((prof, rec), (other, around)):
        assert {"sum": 1, "SumBackward0": 1, "MulBackward0": 1}.items() <= rows(p).items()
        names = [op["name"] for op in r.to_dict()["ops"]]
        assert names[:2] == ["mul", "sum"] and "mul" in names[2:]
    assert nothing_left()


def test_traces_are_chromes(tmp_path):
    x = torch.ones(3, requires_grad=True)
    with profile() as prof, record_function("step"):
        (x * x).sum().backward()
    prof.export_chrome_trace(tmp_path / "trace.json")
    found = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    whole = {e["name"]: e for e in found}
    assert whole["mul"]["args"]["Input Dims"] == [[3], [3]] and whole["mul"]["ph"] == "X"
    assert whole["MulBackward0"]["cat"] == "backward"
    step = whole["step"]
    for e in found:
        assert step["ts"] <= e["ts"] and e["ts"] + e["dur"] <= step["ts"] + step["dur"] + 1e-3


def test_activities_are_checked():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        torch.ones(2) * 2
    assert rows(prof) == {"mul": 1}
    with pytest.raises(ValueError, match="activities must be ProfilerActivity members"):
        profile(activities=["cpu"])


def test_autograds_profiler_can_be_switched_off():
    with torch.autograd.profiler.profile(enabled=False) as prof:
        torch.ones(2) * 2
    assert rows(prof) == {} and nothing_left()
    with torch.autograd.profiler.profile() as prof, torch.autograd.profiler.record_function("a"):
        torch.ones(2) * 2
    assert rows(prof) == {"a": 1, "mul": 1}
    assert "mul" in prof.events().table() and "mul" in str(prof.key_averages())


def steps(plan, n, **options):
    """Run n steps under a schedule; return (step, rows) for each time that a trace was ready."""
    ready = []
    x = torch.ones(3)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append((p.step_num, rows(p))), **options) as prof:
        for k in range(n):
            torch.exp(x) if k % 2 else torch.sin(x)
            prof.step()
    return ready, prof


@pytest.mark.parametrize("name", ["wait", "warmup", "active"])
def test_a_schedule_of_no_numbers_names_the_argument(name):
    with pytest.raises(TypeError, match=f"schedule: argument '{name}' must be an int, not 'a'"):
        schedule(**{"wait": 1, "warmup": 1, "active": 1, name: "a"})


def test_a_schedule_records_its_active_steps_and_hands_each_cycle_over():
    ready, prof = steps(schedule(wait=1, warmup=1, active=2), 8)
    assert [step for step, _ in ready] == [3, 7]
    assert ready[0][1] == {"ProfilerStep#2": 1, "ProfilerStep#3": 1, "sin": 1, "exp": 1}
    assert rows(prof) == {"ProfilerStep#6": 1, "ProfilerStep#7": 1, "sin": 1, "exp": 1} and nothing_left()


def test_a_block_that_ends_within_a_cycle_hands_over_what_there_is():
    ready, _ = steps(schedule(wait=1, warmup=0, active=5, skip_first=1), 3)
    assert [step for step, _ in ready] == [3] and ready[0][1]["ProfilerStep#2"] == 1


def test_a_schedule_ends_after_its_cycles():
    plan = schedule(skip_first=2, wait=1, warmup=1, active=1, repeat=2)
    assert [plan(k).name for k in range(10)] == [*["NONE"] * 3, "WARMUP", "RECORD_AND_SAVE", "NONE", "WARMUP",
                                                 "RECORD_AND_SAVE", "NONE", "NONE"]  # fmt: skip
    assert [step for step, _ in steps(plan, 10)[0]] == [4, 7]


def test_without_a_schedule_on_trace_ready_is_called_at_the_end(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(tmp_path / "log", "me")) as prof:
        torch.ones(2).exp()
        prof.step()
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("me.") and file.name.endswith(".pt.trace.json")
    assert [e["name"] for e in json.loads(file.read_text())["traceEvents"]] == ["exp"]


def test_start_and_stop_are_a_block_and_switches_of_pytorch_are_accepted():
    prof = profile(use_cuda=False, activities=None, record_shapes=False)
    prof.start()
    torch.ones(2).exp()
    prof.stop()
    torch.ones(2).sin()
    assert rows(prof) == {"exp": 1} and nothing_left()
