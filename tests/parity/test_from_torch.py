"""viz.from_torch: PyTorch's program and minigrad's, from the same source, have the same record.

And any program of PyTorch's has one whose numbers are those that PyTorch computes, and is not changed by being recorded.
"""

import math
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest

import minigrad
import viz

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
pytestmark = pytest.mark.parity

PROGRAMS = {}


def program(*shapes, differs=()):
    """Enter a program with the shapes of its arguments.  `differs` says in what the two records do; a comment says why."""

    def enter(f):
        PROGRAMS[f.__name__] = (f, shapes, set(differs))
        return f

    return enter


@program((2, 3), (3,))
def pointwise_with_broadcasting(torch, x, w):
    y = (3 - x) / 2 * w + w.exp()
    return (-y).sigmoid() ** 2


@program((3,))
def operators_and_aliases(torch, x):
    y = (2**x + 1 / x - (7 % x.detach())) * (x.detach() // 1)
    z = torch.multiply(x, abs(-x)).float().double()
    return y.swapaxes(0, 0) + torch.concat([z]) + (x > 0) * ~(x < 1) + torch.true_divide(x, 3).clip(0)


@program((4, 3), (3, 5), (5,))
def matmul(torch, x, w, b):
    return (torch.tanh(x @ w + b) * 2).sum()


@program((3,))
def shared_leaf(torch, x):
    return (x * x + x * x.sin()).sum()


@program((4, 6))
def views(torch, x):
    a = x.T
    b = x.reshape(6, 4) * a
    return b.view(24).sum() + x.transpose(0, 1).mean() + x.permute(1, 0).unsqueeze(0).expand(2, 6, 4).sum()


@program((3,))
def written_in_place(torch, x):
    y = x * 1
    y.mul_(x)
    y += 1
    return (y * y).sum()


# PyTorch's write to a view sends back to its base at once (CopySlices), minigrad's by way of the view
@program((2, 3), differs=["edges", "gradients", "backward", "jvp"])
def written_through_a_view(torch, x):
    y = x * 1
    v = y[0]
    v.mul_(2)
    return (y * y).sum()


# PyTorch keeps a mask, minigrad the indices of what it selects
@program((4, 3), differs=["saved"])
def indexing(torch, x):
    y = x[1:3] * x[0]
    return y[:, 1].sum() + x[x > 0].sum()


# one node of PyTorch's sends the gradients of all pieces at once
@program((4, 3), differs=["edges"])
def split_and_cat(torch, x):
    a, b = x.split(2)
    c = torch.cat([b, a], 1)
    return torch.stack([c, c * 2]).sum(), c.max(1)[0]


# PyTorch keeps the number of examples as well
@program((4, 3), differs=["saved"])
def cross_entropy(torch, x):
    return torch.nn.functional.cross_entropy(x, torch.tensor([0, 2, 1, 1]))


@program((3, 2))
def several_outputs(torch, x):
    return {"a": x.exp(), "b": [x.sum(), x > 0]}


# minigrad calls what backward has computed "computed" once it is used, here it stays a gradient
@program((3,), differs=["kinds"])
def double_backward(torch, x):
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return (g * g).sum()


@program((3,))
def without_grad(torch, x):
    with torch.no_grad():
        y = x * 2
    return (x * y + x.detach()).sum()


@program((3,))
def a_hook_that_changes_a_gradient(torch, x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return (y * x).sum()


@program((3,))
def backward_by_the_program(torch, x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return y


# minigrad does not know `.grad` again, and takes a detached leaf for the tensor it was
@program((4, 3), (2, 3), (2,), differs=["kinds", "passes", "tangents", "jvp"])
def training_step(torch, x, w, b):
    w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
    step = torch.optim.SGD([w, b], lr=0.1)
    loss = torch.nn.functional.linear(x.detach(), w, b).pow(2).mean()
    loss.backward()
    step.step()
    return loss


@program((3,))
def a_zero_dimensional_result(torch, x):
    return x.sum() * 2


@program((0, 3))
def empty(torch, x):
    return x * 2


@program((2, 8), (8, 8))
def layers_of_a_net(torch, x, w):
    F = torch.nn.functional
    h = F.relu(F.linear(x, w))
    h = F.layer_norm(h, (8,))
    return F.softmax(F.gelu(h), dim=-1).log().mean()


# PyTorch's pooling keeps its argument beside the places
@program((2, 1, 6, 6), (3, 1, 3, 3), (3,), differs=["saved"])
def convolution(torch, x, w, b):
    F = torch.nn.functional
    return F.max_pool2d(F.conv2d(x, w, b), 2).flatten(1).sum()


# "in place" is said here of the first argument alone; PyTorch also keeps mean and deviation of the batch
@program((4, 3), (3,), (3,), differs=["operations", "saved"])
def running_statistics(torch, x, w, b):
    mean, variance = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    return torch.nn.functional.batch_norm(x, mean, variance, w, b, True).exp() + mean


@program((2, 3))
def vmapped(torch, x):
    return torch.func.vmap(lambda row: row.sin().sum())(x)


# what the nodes of both levels keep is counted once
@program((3,), differs=["saved", "freed"])
def gradient_by_transform(torch, x):
    return torch.func.grad(lambda z: z.sin().sum())(x)


def both(name):
    f, shapes, _ = PROGRAMS[name]
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(shape) for shape in shapes]
    records = []
    for module, record in ((minigrad, minigrad.record), (torch, viz.from_torch)):
        args = [module.tensor(a.tolist(), dtype=module.float64).reshape(a.shape).requires_grad_() for a in arrays]
        records.append(record(lambda *args: f(module, *args), *args).to_dict())
    return records


class Read:
    """A record to compare: its values numbered as the forward operations mention them."""

    def __init__(self, record):
        self.record = record
        self.values = record["values"]
        self.ops = [op for op in record["ops"] if op["phase"] in ("forward", "update")]
        self.numbers = {}
        for op in self.ops:
            for one in (*op["inputs"], *op["outputs"]):
                if not isinstance(one, dict):
                    self.numbers.setdefault(one, len(self.numbers))

    def aspects(self):
        tangents = {v: t for op in self.ops for v, t in op["tangents"].items()}
        return {
            "passes": self.record["program"]["passes"],
            "operations": [(op["phase"], op["name"], op["inplace"], op["layer"], op["module"]) for op in self.ops],
            "lines": [op["where"] for op in self.ops],
            "structure": [(self.only(op["inputs"]), self.only(op["outputs"])) for op in self.ops],
            "kinds": [(self.values[v]["kind"], self.values[v]["name"], self.values[v]["dtype"]) for v in self.numbers],
            "numbers": [self.content(v) for v in self.numbers],
            "gradients": self.by_value(self.record["gradients"]),
            "tangents": self.by_value(tangents),
            "edges": [
                sorted(
                    (self.numbers[e["input"]], self.content(e["upstream"]), self.content(e["gives"]))
                    for e in op["edges"]
                )
                for op in self.ops
            ],
            "saved": [sorted(s["bytes"] for s in op["saved"]) for op in self.ops],
            "freed": [{s["freed_by"] is None for s in op["saved"]} for op in self.ops],
            "backward": [
                self.record["ops"][op["of"]]["name"] for op in self.record["ops"] if op["phase"] == "backward"
            ],
            "jvp": [self.record["ops"][op["of"]]["name"] for op in self.record["ops"] if op["phase"] == "jvp"],
            "outputs": [self.content(v) for v in self.record["outputs"]],
        }

    def only(self, side):
        return [self.numbers[one] for one in side if not isinstance(one, dict)]

    def content(self, value):
        value = self.values[value]
        whole = value["summary"].get("values")
        return [
            value["shape"],
            [value["summary"][k] for k in ("min", "max", "mean", "std")] if whole is None else whole,
        ]

    def by_value(self, mapping):
        return {self.numbers[int(v)]: self.content(g) for v, g in mapping.items() if int(v) in self.numbers}


def agree(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-7)
    return a == b


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_records_agree(name):
    ours, theirs = (Read(record).aspects() for record in both(name))
    found = {aspect for aspect in ours if not agree(ours[aspect], theirs[aspect])}
    shown = "\n".join(f"{aspect}\n  {ours[aspect]}\n  {theirs[aspect]}" for aspect in found)
    assert found == PROGRAMS[name][2], shown


# ------------------------------------------------------------------------------------------ programs of PyTorch alone
def leaf(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


class OldSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 2 * x * t


class SinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * x.cos() - h * x.sin()

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * x.cos(), -t * x.sin()


class Double_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)


square = Square.apply  # bound before any recording


def writes(x):
    y = torch.zeros(3, 2, dtype=x.dtype)
    y[0] = x[0]
    y[1:].copy_(x[1:] * 2)
    y.t()[0].add_(x[:, 0])
    F.relu(y, inplace=True)
    return y * y


def writes_over_views(x):
    y = x * 1
    y[1:] *= x[0, 0]
    y.view(-1)[0].add_(x[0, 1])
    return y * y


def third_derivative(x):
    g = OldSquare.apply(OldSquare.apply(x)).sum()
    for _ in range(2):
        (g,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return g


def penalty(x):
    (g,) = torch.autograd.grad((x**3 + x.exp()).sum(), x, create_graph=True)
    return ((g.norm() - 1) ** 2 + x.sum()).sum()


def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(lambda z: (z.sin() * z).tanh(), x, use_reentrant=False) * 2


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def convolutional():
    layers = (
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
    )
    return nn.Sequential(*layers, nn.Linear(2, 3)).double()


PLAIN = {
    "linear": lambda: (nn.Linear(3, 2).double(), leaf(4, 3)),
    "sequential": lambda: (net(), leaf(2, 3)),
    "convolutional": lambda: (convolutional(), leaf(2, 1, 4, 4)),
    "convolutional, single precision": lambda: (convolutional().float(), leaf(2, 1, 4, 4).detach().float()),
    "transformer": lambda: (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).double(), leaf(1, 3, 4)),
    "transformer, evaluated": lambda: (nn.TransformerEncoderLayer(4, 2, 8).double().eval(), leaf(3, 1, 4)),
    "attention": lambda: (attention, leaf(1, 2, 4), leaf(1, 2, 4), leaf(1, 2, 4)),
    "embedding": lambda: (nn.Embedding(5, 3), torch.tensor([1, 4, 1])),
    "old function": lambda: (lambda x: OldSquare.apply(x) + 1, leaf(3)),
    "function": lambda: (lambda x: square(x) * x, leaf(3)),
    "function of several outputs": lambda: (lambda x: SinCos.apply(x), leaf(3)),
    "function that uses one output": lambda: (lambda x: SinCos.apply(x)[1], leaf(3)),
    "function in place": lambda: (lambda x: Double_.apply(x * 1) * x, leaf(3)),
    "writes": lambda: (writes, leaf(3, 2)),
    "writes over views": lambda: (writes_over_views, leaf(3, 2)),
    "third derivative": lambda: (third_derivative, leaf(3)),
    "batched gradients": lambda: (
        lambda x: torch.autograd.functional.jacobian(torch.exp, x, vectorize=True) * x,
        leaf(2),
    ),
    "penalty": lambda: (penalty, leaf(3)),
    "checkpoint": lambda: (checkpointed, leaf(3)),
    "dropout": lambda: (lambda x: F.dropout(x, 0.5) * x, leaf(3, 4)),
    "noise": lambda: (lambda x: x * torch.randn_like(x) + torch.rand(3), leaf(2, 3)),
    "unbind": lambda: (lambda x: [r * i for i, r in enumerate(x)], leaf(3, 2)),
    "sorted": lambda: (lambda x: x.sort().values.cumsum(0) + x.topk(3).values, leaf(3)),
    "einsum": lambda: (lambda x, y: torch.einsum("ij,jk->ik", x, y).logsumexp(1), leaf(2, 3), leaf(3, 2)),
    "label smoothing": lambda: (lambda x: F.cross_entropy(x, torch.tensor([0, 2]), label_smoothing=0.1), leaf(2, 3)),
    "a result that is an argument": lambda: (lambda x: (x, x * 2), leaf(3)),
    "many uses": lambda: (lambda x: sum([x * i for i in range(1, 9)]) / x, leaf(2)),
    "several of everything": lambda: (
        lambda d: {"s": d["a"] + d["b"][0], "p": [d["a"] * 2]},
        {"a": leaf(2), "b": [leaf(2)]},
    ),
    "foreach": lambda: (lambda x: torch._foreach_mul([x, x.exp()], 2.0), leaf(2)),
    "vmap": lambda: (lambda x: torch.vmap(lambda r: square(r).sum() * r)(x), leaf(2, 3)),
    "vmap over columns": lambda: (lambda x: torch.vmap(lambda r: r.softmax(0), 1, 1)(x), leaf(2, 3)),
    "grad": lambda: (lambda x: torch.func.grad(lambda z: (square(z) * z).sum())(x) * 2, leaf(3)),
    "grad in vmap": lambda: (lambda x: torch.vmap(torch.func.grad(lambda z: (z**3).sum()))(x), leaf(2, 3)),
    "hessian": lambda: (lambda x: torch.func.hessian(lambda z: (z**3).sum())(x), leaf(2)),
    "jvp": lambda: (lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),)), leaf(2)),
    "nothing requires grad": lambda: (lambda x, i: x[i] * 2, leaf(3).detach(), torch.tensor([0, 2])),
    "integers": lambda: (lambda i: i * 2 + i.sum(), torch.tensor([1, 2])),
    "one number": lambda: (lambda x: x.sin() * x, leaf()),
    "nothing in it": lambda: (lambda x: (x * 2).sum(0), leaf(0, 3)),
    "bfloat16": lambda: (lambda x: x * x, torch.ones(3, dtype=torch.bfloat16)),
    "complex": lambda: (lambda x: (torch.complex(x, x) * 1j).abs(), leaf(3)),
    "meta": lambda: (lambda x: x * 2, torch.ones(3, device="meta")),
}


def made(name):
    torch.manual_seed(0)
    return PLAIN[name]()


def weight(document, value):
    """The sum of a value's elements, which the summary of a large one tells by their mean."""
    value = document["values"][value]
    whole = value["summary"].get("values")
    if not value["summary"]:
        return np.array(math.nan)  # not known, as in a batch of PyTorch's older vmap
    if whole is None:
        return np.array(value["summary"]["mean"]) * np.prod(value["shape"])
    return np.array(whole, complex if value["dtype"].startswith("complex") else float)


def assert_holds_together(document):
    assert [v["id"] for v in document["values"]] == list(range(len(document["values"])))
    assert [op["id"] for op in document["ops"]] == list(range(len(document["ops"])))
    for op in document["ops"]:
        edges = [e[k] for e in op["edges"] for k in ("input", "upstream", "gives")]
        kept = [s["value"] for s in op["saved"]]
        for one in (*op["inputs"], *op["outputs"], *edges, *kept, *op["tangents"].values()):
            assert isinstance(one, dict) or 0 <= one < len(document["values"])
        assert op["where"]["file"] == __file__
        assert (op["of"] is None) == (op["phase"] in ("forward", "update"))


def assert_adds_up(document):
    gives = defaultdict(list)
    for op in document["ops"]:
        for edge in op["edges"]:
            gives[edge["input"]].append(weight(document, edge["gives"]))
    for value, parts in gives.items():
        if value in document["outputs"]:
            continue  # where backward starts, there is a one more
        whole = weight(document, document["gradients"][str(value)])
        known = not any(np.isnan(part).any() for part in parts)
        assert not known or np.allclose(sum(parts), whole, rtol=1e-4, atol=1e-6), document["values"][value]


def grown(record, outs, leaves):
    """By how much the sum of the results grows with all leaves, by the tangents, and by PyTorch's gradients."""
    document = record.to_dict()
    tangents = {v: t for op in document["ops"] if op["phase"] == "forward" for v, t in op["tangents"].items()}
    given = [np.sum(weight(document, tangents[str(v)])) for v in document["outputs"] if str(v) in tangents]
    roots = [o for o in outs if o.requires_grad]
    grads = torch.autograd.grad(roots, leaves, [torch.ones_like(o) for o in roots], allow_unused=True)
    return sum(given), sum(float(g.double().sum()) for g in grads if g is not None)


STOPS = (
    "old function",
    "penalty",
    "third derivative",
    "grad",
    "grad in vmap",
    "hessian",
    "jvp",
)  # where no tangent can be whole


@pytest.mark.parametrize("name", PLAIN)
def test_a_record_holds_together_and_adds_up(name):
    if name == "meta":
        pytest.skip("it has no numbers")
    f, *args = made(name)
    record = viz.from_torch(f, *args)
    document = record.to_dict()
    assert_holds_together(document)
    if name != "hessian":  # its backward is differentiated forward: what flows there belongs to no operation
        assert_adds_up(document)
    assert any(op["phase"] == "forward" for op in document["ops"])
    f, *args = made(name)
    args = torch.utils._pytree.tree_map_only(torch.Tensor, grown_from, args)
    torch.manual_seed(1)
    outs = torch.utils._pytree.tree_leaves(f(*args))
    leaves = [t for t in (*torch.utils._pytree.tree_leaves(args), *getattr(f, "parameters", list)()) if t.requires_grad]
    if not any(o.requires_grad for o in outs):
        assert document["program"]["passes"] == ["forward"]
        return
    torch.manual_seed(1)
    f, *args = made(name)
    torch.manual_seed(1)
    by_tangents, by_gradients = grown(viz.from_torch(f, *args), outs, leaves)
    assert name in STOPS or np.isclose(by_tangents, by_gradients, rtol=1e-4, atol=1e-6)


def grown_from(t):
    """What from_torch differentiates where nothing requires grad."""
    return t.detach().requires_grad_() if t.is_floating_point() else t


@pytest.mark.parametrize("name", PLAIN)
def test_recording_changes_nothing(name):
    results = []
    for record in (False, True):
        f, *args = made(name)
        kept = []

        def noted(*args, f=f, kept=kept):
            kept[:] = torch.utils._pytree.tree_leaves(f(*args))
            return kept

        noted.__self__ = f
        viz.from_torch(noted, *args) if record else noted(*args)
        state = {k: v.clone() for k, v in getattr(f, "state_dict", dict)().items()}
        leaves = [t for t in torch.utils._pytree.tree_leaves(args) if t.requires_grad]
        results.append(([o.detach() for o in kept], state, [t.grad for t in leaves], torch.get_rng_state()))
        assert all(type(t) is torch.Tensor and t._backward_hooks is None for t in leaves)
    (outs, state, grads, random), (outs2, state2, grads2, random2) = results
    assert len(outs) == len(outs2) and all(a.is_meta or torch.equal(a, b) for a, b in zip(outs, outs2))
    assert state.keys() == state2.keys() and all(torch.equal(state[k], state2[k]) for k in state)
    assert grads == grads2 and torch.equal(random, random2)


@pytest.mark.parametrize("name", PLAIN)
def test_a_record_can_be_drawn(name):
    f, *args = made(name)
    record = viz.from_torch(f, *args)
    drawing = viz.draw(record, passes=tuple(record.program["passes"]))
    assert drawing.svg().startswith("<svg") and drawing.text() and drawing.json()


# ------------------------------------------------------------------------------------------------------- in particular
def ops(record, phase="forward"):
    return [op for op in record.ops if op.phase == phase]


def whole(record, value):
    return torch.tensor(record.values[value].summary["values"], dtype=torch.float64)


def gradient_of(record, name):
    value = next(v.id for v in record.values if v.name == name)
    return whole(record, record.gradients[value])


def test_gradients_are_those_of_autograd_and_tangents_those_of_func_jvp():
    def f(x, w):
        return torch.tanh(x @ w) * x

    x, w = leaf(2, 2), leaf(2, 2)
    record = viz.from_torch(f, x, w)
    gradients = torch.autograd.grad(f(x, w).sum(), (x, w))
    assert torch.allclose(gradient_of(record, "x"), gradients[0])
    assert torch.allclose(gradient_of(record, "w"), gradients[1])
    last = ops(record)[-1]
    _, tangent = torch.func.jvp(f, (x, w), (torch.ones_like(x), torch.ones_like(w)))
    assert torch.allclose(whole(record, last.tangents[last.outputs[0]]), tangent)


def test_parameters_have_the_names_and_operations_the_modules_of_the_module():
    record = viz.from_torch(net(), leaf(1, 3))
    assert {v.name for v in record.values if v.kind == "parameter"} == {
        "input",
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
    }
    assert [op.module for op in ops(record)] == [["Sequential", "0"], ["Sequential", "1"], ["Sequential", "2"]]
    assert record.program["name"] == "Sequential"


def test_variables_that_a_function_closes_over_have_their_names():
    w, layer = leaf(2), nn.Linear(2, 1).double()
    record = viz.from_torch(lambda x: layer(x * w), leaf(2).detach())
    assert {v.name for v in record.values if v.kind == "parameter"} == {"w", "layer.weight", "layer.bias"}


def test_steps_of_training_are_updates_of_the_gradients():
    def train(x, steps=2):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = layer(x).pow(2).mean()
            loss.backward()
            optimizer.step()
        return loss

    for kind in (torch.optim.SGD, torch.optim.Adam):
        torch.manual_seed(0)
        layer = nn.Linear(3, 2).double()
        optimizer = kind(layer.parameters(), lr=0.1)
        x = leaf(4, 3).detach()
        record = viz.from_torch(train, x)
        assert [op.name for op in ops(record)] == ["linear", "pow", "mean"] * 2
        updates = ops(record, "update")
        assert updates and all(op.where.code == "optimizer.step()" for op in updates)
        read = {record.values[v].kind for op in updates for v in op.inputs if isinstance(v, int)}
        assert "gradient" in read
        assert_adds_up(record.to_dict())
        if kind is torch.optim.SGD:
            first, second = (gradient for v, gradient in record.gradients.items() if record.values[v].shape == [2, 3])
            assert [op.inputs[1] for op in updates if record.values[op.inputs[0]].shape == [2, 3]] == [first, second]


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_training_goes_as_it_goes_unrecorded(kind):
    def train(layers, x):
        optimizer = kind(layers.parameters(), lr=0.1, foreach=kind is torch.optim.AdamW)
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(layers(x), torch.tensor([0, 1]))
            loss.backward()
            nn.utils.clip_grad_norm_(layers.parameters(), 0.5)
            optimizer.step()
        return loss

    trained = []
    for record in (False, True):
        torch.manual_seed(0)
        layers = convolutional()
        x = torch.randn(2, 1, 4, 4, dtype=torch.float64)
        document = viz.from_torch(train, layers, x).to_dict() if record else train(layers, x)
        trained.append((layers.state_dict(), [p.grad for p in layers.parameters()], torch.get_rng_state()))
        assert all(p._backward_hooks is None for p in layers.parameters())
    (state, grads, random), (state2, grads2, random2) = trained
    assert all(torch.equal(state[k], state2[k]) for k in state) and all(map(torch.equal, grads, grads2))
    assert torch.equal(random, random2)
    assert_adds_up(document)
    assert_holds_together(document)


def test_gradients_of_two_runs_add_up_as_in_grad():
    x = leaf(3)

    def twice(x):
        y = (x * x).sum()
        y.backward(retain_graph=True)
        (3 * y).backward()
        return x.grad * 2

    record = viz.from_torch(twice, x)
    assert torch.allclose(gradient_of(record, "x"), x.grad)
    times = next(op for op in ops(record) if op.where.code.startswith("return"))
    assert times.inputs[0] == record.gradients[record.ops[0].inputs[0]]


def test_what_is_kept_is_freed_by_backward_unless_the_graph_is_retained():
    def program(x, retain):
        y = (x.exp() * x).sum()
        y.backward(retain_graph=retain)
        return y

    for retain in (False, True):
        kept = [s for op in ops(viz.from_torch(program, leaf(3), retain)) for s in op.saved]
        assert len(kept) == 3
        assert all((s.freed_by is None) == retain for s in kept)


def test_nothing_is_kept_in_a_checkpoint():
    record = viz.from_torch(checkpointed, leaf(3))
    assert [op.name for op in ops(record)] == ["sin", "mul", "tanh", "mul"]
    assert all(not op.saved for op in ops(record)[:3])


def test_a_function_is_one_operation_with_its_class_as_its_name():
    record = viz.from_torch(lambda x: square(x).sum(), leaf(3))
    assert [(op.name, op.function, op.formula) for op in ops(record)][0] == ("Square", "Square", "Square(x)")
    assert ops(record)[0].edges[0].partial == "Square.backward"
    assert [op.name for op in ops(record, "jvp")] == ["Square", "sum"]


def test_a_leaf_that_is_written_without_grad_starts_with_ones_again():
    def program(x):
        with torch.no_grad():
            x -= 0.5
            x[0].mul_(4)
        return (x * x).sum()

    x = leaf(2)
    record = viz.from_torch(program, x)
    total = ops(record)[-1]
    assert np.isclose(float(whole(record, total.tangents[total.outputs[0]])), 2 * x.sum().item())


def test_tangents_stop_where_they_are_not_known():
    record = viz.from_torch(lambda x: OldSquare.apply(x) + x, leaf(3))
    assert not ops(record, "jvp") and record.program["passes"] == ["forward", "backward"]
    assert record.notes == ["the jvp pass stops at OldSquare, which has no jvp"]
    with pytest.raises(ValueError, match="the jvp pass stops at OldSquare"):
        viz.draw(record, passes="jvp")


def test_transforms_are_the_layer_of_what_runs_in_them():
    record = viz.from_torch(lambda x: torch.vmap(torch.func.grad(lambda z: z.sin().sum()))(x) * 2, leaf(2, 3))
    assert [(op.name, op.layer) for op in ops(record)] == [
        ("sin", ["vmap", "grad"]),
        ("sum", ["vmap", "grad"]),
        ("mul", []),
    ]


def test_the_program_runs_once_and_leaves_grad_alone():
    runs, x = [], leaf(3)
    viz.from_torch(lambda x: runs.append(1) or x * 2, x)
    assert runs == [1] and x.grad is None


def test_an_error_of_the_program_comes_through_and_nothing_stays_behind():
    def fails(x):
        y = square(x)
        return y @ x.reshape(3, 1) @ y

    x = leaf(3)
    before = torch.autograd.function._SingleLevelFunction.__dict__.get("apply")
    with pytest.raises(RuntimeError):
        viz.from_torch(fails, x)
    assert torch.overrides._get_current_function_mode() is None
    assert torch.autograd.function._SingleLevelFunction.__dict__.get("apply") is before
    assert [op.name for op in ops(viz.from_torch(lambda x: x * 2, x))] == ["mul"]


def test_hooks_are_taken_off_at_the_end():
    x, kept = leaf(3), []
    record = viz.from_torch(lambda x: kept.append(x.exp()) or kept[0] * 1, x, passes="forward")
    written = record.to_json()
    kept[0].sum().backward()
    assert record.to_json() == written and record.program["passes"] == ["forward"]


def test_compiled_programs_are_recorded_as_they_were_written():
    record = viz.from_torch(torch.compile(lambda x: x.sin() * 2, backend="eager"), leaf(3))
    assert [op.name for op in ops(record)] == ["sin", "mul"] and not record.notes
    assert [op.name for op in ops(record, "jvp")] == ["sin", "mul"]


def test_what_is_not_seen_is_said():
    record = viz.from_torch(torch.jit.trace(lambda x: x.sin() * 2, torch.ones(3)), leaf(3))
    assert not ops(record) and "TorchScript" in record.notes[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_backward_that_pytorch_refuses_is_left_out_and_said():
    def program(x):
        return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)

    record = viz.from_torch(program, leaf(3))
    assert record.program["passes"] == ["forward"]
    assert any("use_reentrant=True" in note for note in record.notes)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_refused():
    with pytest.raises(TypeError, match="a nested tensor cannot be recorded"):
        viz.from_torch(lambda x: torch.nested.as_nested_tensor([x, x]) * 2, leaf(3).detach())


def test_what_is_kept_in_another_shape_is_the_value_it_was():
    record = viz.from_torch(nn.Linear(3, 2).double(), leaf(2, 4, 3))
    (linear,) = ops(record)
    assert sorted(s.value for s in linear.saved) == linear.inputs[:2]


def test_only_the_passes_asked_for_are_run():
    record = viz.from_torch(lambda x: x * x, leaf(3), passes=("forward", "jvp"))
    assert record.program["passes"] == ["forward", "jvp"]
    assert viz.from_torch(lambda x: x * x, leaf(3), passes="backward").program["passes"] == ["forward", "backward"]


def test_a_recording_in_a_recording():
    inner = []
    outer = viz.from_torch(lambda x: inner.append(viz.from_torch(lambda y: square(y), x)) or square(x) * 2, leaf(2))
    assert [op.name for op in ops(inner[0])] == ["Square"]
    assert [op.name for op in ops(outer)] == ["Square", "mul"]


def test_a_record_shows_and_saves_itself(tmp_path):
    record = viz.from_torch(lambda x: x * x, leaf(3), name="square")
    assert repr(record) == "<TorchRecord square: 1 operations, forward, backward, jvp>"
    assert record._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    record.save(tmp_path / "square.json")
    assert (tmp_path / "square.json").read_text() == record.to_json()


@pytest.mark.parametrize(
    "error, said, call",
    [
        (ValueError, "'sideways' is not a pass", lambda: viz.from_torch(torch.sin, leaf(1), passes="sideways")),
        (TypeError, "the result of <lambda> holds no tensor", lambda: viz.from_torch(lambda x: 3, leaf(1))),
    ],
)
def test_errors_say_what_to_do(error, said, call):
    with pytest.raises(error, match=f"(?s)from_torch: {said}.*To fix"):
        call()


def test_viz_alone_does_not_import_pytorch():
    subprocess.run([sys.executable, "-c", "import sys, viz; assert 'torch' not in sys.modules"], check=True)


def test_without_pytorch_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="PyTorch is not installed"):
        viz.from_torch(lambda x: x, 1)
