"""Names that PyTorch's tutorials use are there: tutorials.toml lists them by tutorial, and short programs of each kind run."""

import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

import minigrad

LIST = tomllib.loads(Path(__file__).with_name("tutorials.toml").read_text(encoding="utf-8"))
OTHERS = ("torchvision", "functorch")  # packages whose names are written in full
OTHER_SPELLINGS = ("axis", "out")  # which functions take without a parameter of this name; a program below uses them


def found(name):
    """Return the object that a dotted name means in a program that imports torch, and AttributeError if there is none."""
    parts = name.split(".") if name.partition(".")[0] in OTHERS else ["torch", *name.split(".")]
    value = importlib.import_module(parts[0])
    for n, part in enumerate(parts[1:], 2):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(".".join(parts[:n]))
    return value


def takes(function, keyword):
    """Return True if a function has a parameter, or takes any keyword."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return (
        keyword in parameters or keyword in OTHER_SPELLINGS or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    )


@pytest.mark.parametrize("tutorial", LIST["uses"])
def test_the_names_and_keywords_of_a_tutorial_exist(tutorial):
    missing = []
    with minigrad.as_torch():
        for use in LIST["uses"][tutorial].split():
            name, _, keywords = use.rstrip(")").partition("(")
            try:
                value = found(name)
            except (AttributeError, ModuleNotFoundError):
                missing.append(name)
                continue
            missing += [f"{name}({k}=)" for k in filter(None, keywords.split(",")) if not takes(value, k)]
    assert not missing


def test_a_tutorial_without_a_place_here_has_a_reason():
    assert all(LIST["without"].values()) and not LIST["without"].keys() & LIST["uses"].keys()


PROGRAMS = {
    "two ways to a Jacobian are timed": """
from torch.func import jacrev, vmap
from torch.utils.benchmark import Timer
f = lambda x: (x * x).sum(-1, keepdim=True) * x.sin()
x = torch.rand(3)
rows = lambda: torch.stack([torch.autograd.grad(f(y)[i], y)[0] for y in [x.clone().requires_grad_()] for i in range(3)])
assert torch.allclose(rows(), jacrev(f)(x), atol=1e-6)
first, second = [Timer(stmt, globals=globals()).timeit(2) for stmt in ("rows()", "jacrev(f)(x)")]
print(f"{first}\\n{100 * (first.times[0] - second.times[0]) / first.times[0]:.0f}%")
""",
    "an older package for transforms": """
import functorch
net = torch.nn.Linear(3, 2)
f, weights, buffers = functorch.make_functional_with_buffers(net)
x, steps = torch.rand(4, 3), tuple(torch.ones_like(w) for w in weights)
out, tangent = functorch.jvp(lambda w: f(w, buffers, x), (weights,), (steps,))
assert torch.allclose(tangent, x.sum(1, keepdim=True) + 1) and torch.equal(out, net(x))
g = functorch.vmap(functorch.grad(lambda w, x: functorch.make_functional(net)[0](w, x).sum()), (None, 0))(weights, x)
assert g[0].shape == (4, 2, 3)
""",
    "a profile with the switches of older versions": """
a = torch.rand(2, 3, requires_grad=True)
with torch.autograd.profiler.profile(use_cuda=False) as prof:
    for _ in range(5):
        (a * a).sum().backward()
print(prof.key_averages().table(sort_by="self_cpu_time_total"))
assert {row.key: row.count for row in prof.key_averages()}["mul"] == 5
""",
    "a profile of a few steps of training": """
import pathlib
net, wait = torch.nn.Linear(2, 1), torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
write = torch.profiler.tensorboard_trace_handler("log")
with torch.profiler.profile(schedule=wait, on_trace_ready=write, record_shapes=True, with_stack=True) as prof:
    for _ in range(6):
        net(torch.ones(3, 2)).sum().backward()
        prof.step()
assert len(list(pathlib.Path("log").glob("*.pt.trace.json"))) == 1
""",
    "a training run in a log": """
import pathlib
from torch.utils.tensorboard import SummaryWriter
writer, net = SummaryWriter("runs/first"), torch.nn.Linear(2, 1)
writer.add_graph(net, torch.ones(1, 2))
writer.add_image("batch", torchvision.utils.make_grid(torch.rand(4, 1, 5, 5)))
for step in range(3):
    writer.add_scalar("loss/train", net(torch.ones(3, 2)).sum(), step)
    writer.add_scalars("both", {"train": 1.0, "test": 2.0}, step)
writer.flush()
writer.close()
assert len(list(pathlib.Path("runs/first").rglob("events.out.tfevents.*"))) == 3
""",
    "a network of torchvision, fine-tuned": """
from torchvision import models
net = models.resnet18(weights=None)
for p in net.parameters():
    p.requires_grad = False
net.fc = torch.nn.Linear(net.fc.in_features, 2)
torch.optim.SGD(net.fc.parameters(), lr=0.1)
net(torch.rand(2, 3, 32, 32)).sum().backward()
assert net.conv1.weight.grad is None and net.fc.weight.grad.shape == (2, 512)
""",
    "other spellings of arguments": """
c = torch.zeros(2, 2)
assert torch.rand(2, 2, out=c) is c and c.all()
assert torch.equal(c.sum(axis=1), c.sum(1))
""",
    "the best device that there is": """
device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
gpu = "cuda" if torch.cuda.is_available() else "xpu" if torch.xpu.is_available() else "mps" if torch.mps.is_available() else ""
device = gpu or device
assert torch.ones(2, device=device).device.type == device
""",
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_of_each_kind_runs(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with minigrad.as_torch():
        names = {"torch": importlib.import_module("torch"), "torchvision": importlib.import_module("torchvision")}
        exec(compile(PROGRAMS[kind], kind, "exec"), names)
