"""Random programs of function transforms that PyTorch accepts; equal for equal seeds.

`write(seed, torch)` grows the body of a function f0(x, y): operations, views, writes in place, indexing, custom Functions,
and a captured tensor k that requires grad. Over it come up to three transforms, each of which makes a function of the
same kind from the one before, so that any of them can follow any other. The result is compared, and its gradients by k
and by the arguments in eager mode.
"""

import functools
import random
from dataclasses import dataclass, replace

from tests.compile.random_programs import shortened

from .custom_functions import CUSTOM, FUNCTIONS
from .harness import TOLERANCE, Raised, attempt, differences, run
from .random_programs import BINARY, COPIED, COPIES, UNARY, VIEWS, WRITES, shares_memory

SHAPES = [(), (), (1,), (2,), (3,), (0,), (2, 3), (1, 3), (2, 1), (3, 0), (2, 2), (2, 2, 3), (2, 1, 2)]
MORE = [
    "torch.zeros(3, dtype=torch.float64)", "torch.zeros_like({t})", "{t}.new_zeros(2)", "torch.ones_like({t})",
    "{t}.prod()", "{t}.amax()", "{t}.softmax(0)", "{t}.sum(0)", "{t}.mT", "{t}.cumsum(-1)", "{t}.std(0)", "{t}.sqrt()",
    "{t}.cumprod(0)", "torch.sort({t}, -1)[0]", "{t}.topk(1, -1)[0]", "{t}[torch.tensor([0, 0])]", "{t}[torch.tensor(0)]",
    "{t}.index_select(0, torch.tensor([0]))", "torch.diff({t})", "{t}.norm()", "torch.outer({t}, {u})",
    "torch.where({t} > 0, {t}, {u} * 2)", "{t} ** 2", "{t} ** {u}.abs()", "2 ** {t}", "torch.hypot({t}, {u})",
    "torch.nn.functional.softplus({t})", "torch.lerp({t}, {u}, 0.25)", "torch.einsum('i,j->ij', {t}, {u})",
    "{t}.unfold(0, 1, 1)", "{t}.roll(1, 0)", "{t}.mT.tril()", "{t}.float().double()", "torch.nn.functional.pad({t}, (1, 0))",
    "{t}.max(-1)[0]", "{t}.unbind(0)[-1]", "{t}.split(1)[0]", "torch.cat([{t}, {t}.sin()], -1)", "{t}.norm(dim=-1)",
    "torch.addcmul({t}, {u}, {t})", "{t}.view_as({t})", "{t}.masked_fill({t} > 1, 0.5)",
    "{t}.scatter(0, {t}.argsort(0, stable=True), {t})", "{t}.gather(0, ({t} * 0).long())", "{t}[({u} * 0).long()]",
    "{t}.repeat_interleave(2)",
    "{t} @ {u}", "{t} @ {t}.mT", "{t}.mT @ {u}", "{t}.clone()", "{t}.contiguous()", "{t}.flip(0)", "{t}.tril()",
    "({t} > 0.5) * {u}", "{t}.detach().long() + {u}", "torch.arange(2) * {t}", "{t}.double()",
]  # fmt: skip
MORE_WRITES = [
    "{t}.index_add_(0, torch.tensor([0]), {u})", "{t}[torch.tensor([0])] = {u}", "{t}[0].mul_({u})",
    "{t}.index_fill_(0, torch.tensor([0]), 0.5)", "{t}.add_(1)", "{t}.exp_()",
    "{t}.scatter_(0, torch.zeros(1, dtype=torch.int64), {u})", "{t}[torch.zeros(1, dtype=torch.int64)] = {u}", "{t}.div_(2)",
    "{t}.detach().mul_(1.5)", "{t}.square_()", "{t}[0] += {u}", "{t}.diagonal().add_({u})", "{t}.addcmul_({u}, {u})",
]  # fmt: skip

# A write to a result goes through what is a view of it in some orders of memory, and a copy in others; or the other way round.
RESULTS = [
    "{t} @ {t}.mT", "{t}.cumsum(-1)", "{t}.sum(0)", "{t}.softmax(0)", "{t}.mT.tril()", "{t}.roll(1, 0)", "{t}.flip(0)",
    "{t} * 2", "{t}.mT * 2", "{t}.amax(1)", "{t}.mT.contiguous()", "{t}.clone()", "torch.cat([{t}, {t}])",
    "{t}.contiguous() + {u}",  # of operands in two orders only minigrad's result is row-major
]  # fmt: skip
THROUGH = [
    "flatten()", "reshape(-1)[:1]", "mT.flatten()", "contiguous()", "view(-1)", "reshape(1, -1)", "ravel()", "flatten(1)",
    "unsqueeze(0).flatten()", "mT.reshape(-1)",
]  # fmt: skip

# Each makes a function of x and y from the function {f}; the results of all are single tensors.  With out_dims=-1 PyTorch
# does not end, or is wrong, where the result is the same for all examples: x.sum() is not.
TRANSFORMS = {
    "grad": "torch.func.grad(lambda x, y: ({f}(x, y) ** 2).sum())(x, y)",
    "grad by y": "torch.func.grad(lambda x, y: ({f}(x, y) * 1.5).sum(), argnums=-1)(x, y)",
    "grad by both": "sum(g.sum() for g in torch.func.grad(lambda x, y: {f}(x, y).tanh().sum(), argnums=(0, 1))(x, y))",
    "grad at a scale": "torch.func.grad(lambda s: ({f}(x * s, y) * s).sum())(y.sum() + 1)",
    "vjp": "(lambda pair: pair[1](pair[0].tanh())[0])(torch.func.vjp(lambda x: {f}(x, y), x))",
    "vjp of the input, too": "(lambda pair: pair[1]((pair[0][0].tanh(), pair[0][1] * 1))[0])"
    "(torch.func.vjp(lambda x: ({f}(x, y), x), x))",
    "jvp": "torch.func.jvp(lambda x: {f}(x, y), (x,), (x.tanh(),))[1]",
    "jvp in both": "sum(torch.func.jvp({f}, (x, y), (ones(x), y.tanh())))",
    "linearize": "torch.func.linearize(lambda x: {f}(x, y), x)[1](x + 1).detach()",
    "jacrev": "torch.func.jacrev({f})(x, y).tanh()",
    "jacfwd": "torch.func.jacfwd({f}, argnums=1)(x, y).tanh()",
    "hessian": "torch.func.hessian(lambda x, y: {f}(x, y).sum())(x, y)",
    "vmap": "torch.func.vmap({f})(torch.stack([x, x.tanh(), x * x]), torch.stack([y, y + 1, y]))",
    "vmap by x": "torch.func.vmap(lambda x, y: {f}(x, y) + x.sum(), (-1, None), -1)(torch.stack([x, x * 2], -1), y)",
    "vmap by y": "torch.func.vmap({f}, in_dims=(None, 0))(x, torch.stack([y, y.tanh()])).sum(0)",
    "vmap of rows": "torch.func.vmap({f}, in_dims=(0, None))(x.unsqueeze(1), y)",
    "vmap of columns": "torch.func.vmap(lambda x, y: {f}(x, y) + x.sum(), (-1, None), 1)(x.unsqueeze(0), y)",
    # 1, 2 and 3 are sizes of other dimensions as well, 5 is none
    "vmap of 1": "torch.func.vmap({f}, in_dims=(-1, 0))(x.unsqueeze(-1), y.unsqueeze(0))",
    "vmap of 2": "torch.func.vmap({f}, in_dims=(-1, 0))(torch.stack([x, x * 2], -1), torch.stack([y, y.tanh()]))",
    "vmap of 3": "torch.func.vmap(lambda x, y: {f}(x, y) + x.sum(), (0, -1), -1)(torch.stack([x, x * 2, x]),"
    " torch.stack([y, y, y + 1], -1))",
    "vmap of 5": "torch.func.vmap({f})(torch.stack([x * n for n in range(5)]), torch.stack([y + n for n in range(5)]))",
    "vmap of 5 in the middle": "torch.func.vmap({f}, in_dims=(1, -1))(torch.stack([x * n for n in range(5)], 1),"
    " torch.stack([y + n for n in range(5)], -1))",
    "vmap of 5 by y": "torch.func.vmap({f}, in_dims=(None, -1))(x, torch.stack([y + n for n in range(5)], -1)).sum(0)",
    "vmap of 2 in the middle": "torch.func.vmap({f}, in_dims=(1, -2))(torch.stack([x, x * 2], 1), torch.stack([y, y + 1], -2))",
    "vmap of transposed": "torch.func.vmap(lambda x, y: {f}(x.mT, y), in_dims=(1, None))(torch.stack([x, x * 2], 1), y)",
    "vmap in chunks": "torch.func.vmap({f}, chunk_size=2)(torch.stack([x, x.tanh(), x * x]), torch.stack([y, y + 1, y]))",
    "vmap of grad": "torch.func.vmap(torch.func.grad(lambda y: {f}(x, y).sum()))(torch.stack([y, y.tanh()]))",
    "vmap of jvp": "torch.func.vmap(lambda t: torch.func.jvp(lambda x: {f}(x, y), (x,), (t,))[1])(torch.stack([x, x + 1]))",
    "vmap of jvp along ones": "torch.func.vmap(lambda x, y: torch.func.jvp({f}, (x, y), (ones(x), ones(y)))[1])"
    "(torch.stack([x, x * 2, x.tanh()]), torch.stack([y, y + 1, y]))",
    "vmap of jacfwd": "torch.func.vmap(torch.func.jacfwd({f}))(torch.stack([x, x.tanh()]), torch.stack([y, y + 1]))",
    "captured": "(lambda w: torch.func.vmap(lambda y: {f}(w, y) * w.sum())(torch.stack([y, y.tanh()])))(x * 2)",
    "inner step": "{f}(x - 0.1 * torch.func.grad(lambda x: {f}(x, y).sum())(x), y)",
    "nested": "torch.func.grad(lambda s: torch.func.grad(lambda u: ({f}(x * s, y) * u * s).sum() * u)(s * 2))(y.sum() * 0.1)",
    "nested jvp": "torch.func.jvp(lambda s: s * torch.func.jvp(lambda x: {f}(x * s, y), (x,), (x * s,))[1],"
    " (x.sum(),), (y.sum(),))[1]",
    "no_grad": "no_grad(lambda: {f}(x, y)) * {f}(x, y)",
    "detached": "{f}(x.detach(), y) * {f}(x, y)",
    "eager grad": "torch.autograd.grad(({f}((u := x * 1), y) * 2).sum() + u.sum(), u, create_graph=True)[0]",
}
GRADIENTS = "attempt(torch.autograd.grad, (loss, k), (x, y, k), (None, k.detach().cos()))"  # a leaf is a root, too
REVERSE = (
    "grad",
    "grad by y",
    "grad by both",
    "grad at a scale",
    "vjp",
    "vjp of the input, too",
    "no_grad",
    "detached",
    "eager grad",
)
FORWARD = ("linearize", "jacfwd", "hessian", "vmap of jacfwd")
# Later values need not depend on the arguments, and every operation under vmap moves the batch dimension to the front.
TRANSFORMED = ("x", "y")
AFTER = ["", "", "", ".sum()", ".tanh()", " * x.sum()", ".sum(0)"]


@dataclass(frozen=True)
class Program:
    """The shapes of x, y and k, the lines of f0, the name that it returns, and the transforms, innermost first."""

    shapes: tuple
    lines: tuple
    result: str
    transforms: tuple
    dual: bool = False

    @property
    def leaves(self):
        """The lines that make the arguments."""
        lines = []
        for i, (name, shape) in enumerate(zip("xyk", self.shapes)):
            n = 1
            for size in shape:
                n *= size
            values = [round(0.3 + 0.37 * ((j * 3 + i * 5) % 7) - 0.9 * (j % 2), 3) for j in range(n)]
            lines.append(f"{name} = torch.tensor({values}, dtype=torch.float64).reshape({shape}).requires_grad_()")
        return lines

    @property
    def source(self):
        """The text of a function of one argument, the module to use as `torch`."""
        return self.text([*FUNCTIONS.splitlines(), ""])

    def text(self, head=()):
        """Return the text behind `head`; without one, `definitions` has to be in its scope."""
        lines = [*head, "def f0(x, y):", *(f"    {line}" for line in [*self.lines, f"return {self.result}"]), ""]
        for i, (kind, after) in enumerate(self.transforms):
            text = TRANSFORMS[kind].format(f=f"f{i}")
            lines += [f"def f{i + 1}(x, y):  # {kind}", f"    return ({text}){after}", ""]
        lines += [*self.leaves, f"out = f{len(self.transforms)}(x, y)"]
        lines += ["loss = (out * out.detach().tanh()).sum() + sum(0 * t.sum() for t in (x, y, k))"]
        if self.dual:
            lines += ["fw = torch.autograd.forward_ad", "with fw.dual_level():"]
            lines += ["    duals = fw.make_dual(x, x.detach().tanh()), fw.make_dual(y, y.detach() + 1)"]
            lines += [f"    dual = f{len(self.transforms)}(*duals)"]
            lines += ["    tangent = fw.unpack_dual(dual).tangent"]
            lines += ["    tangent = out.detach() * 0 if tangent is None else tangent.detach()"]
            lines += [f"return out.detach(), {GRADIENTS}, tangent"]
        else:
            lines += [f"return out.detach(), {GRADIENTS}"]
        return "\n".join(["def program(torch):", *(f"    {line}" if line else "" for line in lines), ""])

    def run(self, module, loop=False, nudge=0.0):
        """Return the result as plain data; `loop` runs the function under vmap per example, `nudge` changes the arguments."""
        own = {"attempt": attempt, "loop_of": lambda *args, **kwargs: loop_of(module, *args, **kwargs)}
        namespace = {**definitions(module), **own}
        source = self.text().replace("torch.func.vmap", "loop_of") if loop else self.text()
        exec(source.replace(".requires_grad_()", f".mul(1 + {nudge}).requires_grad_()") if nudge else source, namespace)
        return run(namespace["program"], module)


@functools.cache
def definitions(torch):
    """Define what all programs use, once for a module."""
    env = {"torch": torch}
    exec(FUNCTIONS, env)
    return env


def loop_of(torch, f, in_dims=0, out_dims=0, chunk_size=None):
    """vmap(f) as a loop over the examples."""

    def mapped(*args):
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        size = next(a.shape[d] for a, d in zip(args, dims) if d is not None)
        results = [f(*[a if d is None else a.select(d, i) for a, d in zip(args, dims)]) for i in range(size)]
        return torch.stack(results, out_dims)

    return mapped


def write(seed, torch):
    """Return one random program."""
    choice = random.Random(seed)
    shapes = tuple(choice.choice(SHAPES) for _ in "xyk")
    depth = choice.choice([0, 1, 1, 2, 2, 2, 3])
    kinds = choice.choices(
        list(TRANSFORMS), [0.1 if k == "linearize" else 1 for k in TRANSFORMS], k=depth
    )  # slow in torch
    transforms = tuple((kind, choice.choice(AFTER)) for kind in kinds)
    if any(kind not in REVERSE for kind, _ in transforms):  # what autograd.grad does under vmap and jvp differs
        transforms = tuple((kind, after) for kind, after in transforms if kind != "eager grad")
    if "linearize" in kinds:  # wrong in PyTorch around other transforms, and its result cannot be differentiated
        transforms = (*[("no_grad", "")] * ("no_grad" in kinds), ("linearize", ""))
    dual = "linearize" not in kinds and choice.random() < 0.2
    # PyTorch is silently wrong for custom Functions under nested forward modes, and under no_grad in a transform
    forward = dual + sum("jvp" in kind or kind in FORWARD for kind in kinds)
    custom = forward < 2 and "nested jvp" not in kinds and "no_grad" not in kinds
    return grow(Program(shapes, (), "x", transforms, dual), choice, torch, custom)


def grow(program, choice, torch, custom):
    """Return the program with random lines in f0, all of which have been run once in eager mode."""
    env, lines = dict(definitions(torch)), []
    exec("\n".join([*program.leaves, "leaves = x, y, k", "x, y = x * 1, y * 1"]), env)
    names = ["x", "y", "k"]
    for number in range(choice.randint(2, 9)):
        t, u = choice.choice(names[-4:]), choice.choice(names)
        kind = choice.random()
        if kind < 0.3:
            line = choice.choice(WRITES + MORE_WRITES).format(t=t, u=u)
            outside = any(shares_memory(env[t], env[name]) for name in "xyk")
            same = u in line.split("(", 1)[-1] and u != t and shares_memory(env[t], env[u])
            if outside or same or 0 in env[t].stride() or attempt(exec, line, env) is not None:
                continue
            lines.append(line)
            continue
        if kind < 0.38:
            t = choice.choice([t, *TRANSFORMED])
            expression, through = choice.choice(RESULTS).format(t=t, u=u), f"v{number}.{choice.choice(THROUGH)}"
            factor = choice.choice(["2", "x.sum()", "y.sum()", f"{t}.sum()", f"{t}.sum()"])
            before = choice.random() < 0.6
            view = [f"w{number} = {through}", f"v{number}.mul_({factor})"] if before else [f"{through}.mul_({factor})"]
            block = [f"v{number} = {expression}", *view]
            if attempt(exec, "\n".join(block), env) is None and env[f"v{number}"].numel() <= 12:
                names += [f"v{number}", f"w{number}"] if before else [f"v{number}"]
                lines += block
            continue
        if kind < 0.55:
            method = choice.choice(VIEWS if kind < 0.46 else COPIES if kind < 0.49 else UNARY).format(t=t)
            expression = f"{t}{method}" if method.startswith("[") else f"{t}.{method}"
        else:
            group = BINARY if kind < 0.65 else CUSTOM if kind < 0.78 and custom else MORE
            t = choice.choice([t, *TRANSFORMED]) if group is CUSTOM else t
            expression = choice.choice(group).format(t=t, u=u)
        if attempt(exec, f"v{number} = {expression}", env) is None and env[f"v{number}"].numel() <= 12:
            names.append(f"v{number}")
            lines.append(f"v{number} = {expression}")
    last = names[-1]
    result = choice.choice([*[last] * 4, f"{last} * 1", f"{last} + x.sum()", f"{last} * y.sum()", "x"])
    return replace(program, lines=tuple(lines), result=result)


def found(program, torch, minigrad):
    """Return the differences between the libraries; none for a program that PyTorch refuses or whose result is NaN.

    PyTorch's vmap lets pass, and at times computes wrongly, what would be an error for a single example: where a loop
    over the examples disagrees with it, the loop counts.
    """
    wanted = program.run(torch)
    if isinstance(wanted, Raised) or isinstance(wanted[1], Raised) or "nan" in repr(wanted):
        return []
    result = program.run(minigrad)
    if COPIED.search(repr(result)):
        return []
    if isinstance(result, Raised) and "linearize" in program.text() and "modified by an inplace" in result.text:
        return []  # a write to what the linear function needs, of which PyTorch has a copy
    lines = differences(wanted, result, least=TOLERANCE["float32"] if ".float()" in program.text() else 0.0)
    if lines and any(differences(result, program.run(minigrad, nudge=few)) for few in (1e-13, 1e-12, 1e-11)):
        return []  # nothing but roundings that have grown
    if not lines or "vmap" not in program.text():
        return lines
    looped = program.run(torch, loop=True)
    if isinstance(looped, Raised) and ("non-empty TensorList" in looped.text or "a leaf Variable that" in looped.text):
        return []  # no example for the loop, or a view that PyTorch takes for a leaf: it cannot say who is right
    return differences(looped, result)


def shrink(program, differs):
    """Return the program without every line and every transform that can go while `differs(program)` stays true."""
    program = shortened(program, "transforms", differs)
    for name in ["x", "y", *(f"v{i}" for i in range(9))]:
        simpler = replace(program, result=name)
        if differs(simpler):
            program = simpler
            break
    return shortened(program, "lines", differs)


def report(seed, program, torch, minigrad):
    """Return a failure: the program as a runnable script, and what differs."""
    short = shrink(program, lambda p: found(p, torch, minigrad))
    lines = [f"# seed {seed}", "import torch, minigrad", "from tests.parity.harness import attempt", "", short.source]
    lines += ["for module in (torch, minigrad):", "    print(program(module))", ""]
    return "\n".join([*lines, *(f"# {line}" for line in found(short, torch, minigrad))])
