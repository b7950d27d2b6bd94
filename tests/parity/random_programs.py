"""Random programs of views, writes, arithmetic and no_grad that PyTorch accepts; equal for equal seeds.

`write(seed, torch)` grows a program line by line: PyTorch runs each proposed line at once, and a line that it refuses
is kept only sometimes, wrapped in `attempt`. The end asks for what the program is about: gradients, second derivatives
or tangents. `shrink` takes away every line that a failure does not need.
"""

import random
import re
from dataclasses import dataclass, replace

from tests.compile.random_programs import shortened

from .harness import attempt, run

LEAVES = {"a": "[[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]", "b": "[1.0, -0.5, 0.75]", "c": "0.5", "d": "[[2.0], [-1.5]]"}
LEAVES |= {"s": "[1.25]"}  # views of one element may be the whole of it
ALL = ", ".join(LEAVES)
UNARY = "sin() exp().sigmoid() tanh() square() neg() clone() abs() relu() sum(-1) cumsum(0)".split()
VIEWS = [
    "t()", "[0]", "[-1:]", "[..., 0]", "[..., 1:]", "[::2]", "reshape(-1)", "view(-1)", "unsqueeze(0)", "squeeze()",
    "expand(2, 3)", "diagonal()", "transpose(0, 1)", "view(3, 2)", "[None]", "flatten()", "narrow(0, 0, 1)",
    "[:]", "[...]", "view_as({t})", "expand_as({t})", "contiguous()", "type_as({t})",
]  # fmt: skip
COPIES = ["[[0, 0]]", "[[-1, 0]]", "flip(0)", "detach()", "[{t} > 0]", "repeat(2)", "softmax(-1)", "mean()"]
WRITES = [
    "{t}.mul_({u})", "{t}.add_({u})", "{t}.copy_({u})", "{t}.zero_()", "{t}.sin_()", "{t}.mul_(2)", "{t}[0] = {u}",
    "{t}[..., 0] = 0.5", "{t}[{t} > 0] = 0.25", "{t}[[0]] = {u}", "{t} += {u}", "{t}[-1:] *= {u}",
    "{t}.masked_fill_({t} < 0, 0.125)", "{t}.clamp_(-1, 1)", "{t}.sub_({u}, alpha=0.5)", "{t}.fill_({u})",
]  # fmt: skip
LINEAR = {"{t}.add_({u})", "{t} += {u}", "{t}.sub_({u}, alpha=0.5)", "{t}.copy_({u})"}  # these may read what they write
# PyTorch multiplies copies of some batches, so that it does not notice a write to them
COPIED = re.compile(r"(Mm|UnsafeView)Backward0: one of its inputs, .* that it saved for backward, has been modified")
BINARY = [
    "{t} + {u}", "{t} * {u}", "{t} - {u} * 0.5", "{t} / (1 + {u} * {u})", "torch.where({t} > {u}, {t}, {u})",
    "({t} @ {u}) * 1", "torch.maximum({t}, {u})", "torch.stack([{t}, {t}])", "torch.cat([{t}, {u}])",
]  # fmt: skip
MADE = "made = {name: t for name, t in locals().items() if name[0] == 'v'}"
VALUES = "{name: t.detach() for name, t in made.items()}"
ENDS = {
    "backward": [
        "refused = {name: e for name, e in locals().items() if name[0] == 'e'}",
        MADE,
        "flags = {name: [t._version, t.requires_grad, t.is_leaf] for name, t in made.items()}",
        "loss = sum((t * t.detach().cos()).sum() for t in made.values())",
        f"gradients = attempt(torch.autograd.grad, loss, ({ALL}), allow_unused=True)",
        f"return {VALUES}, flags, refused, gradients",
    ],
    "second": [
        MADE,
        f"loss = sum((t * t).sum() for t in made.values()) + sum(0 * (t * t).sum() for t in ({ALL}))",
        f"gradients = torch.autograd.grad(loss, ({ALL}), create_graph=True)",
        f"second = torch.autograd.grad(sum((g * g).sum() for g in gradients), ({ALL}))",
        "return [g.detach() for g in gradients], second",
    ],
    "roots": [  # two are leaves, and wanted as well
        MADE,
        "roots = [t for t in (a, s, *made.values()) if t.requires_grad]",
        "weights = [t.detach().cos() for t in roots]",
        f"return {VALUES}, attempt(torch.autograd.grad, roots, ({ALL}), weights, allow_unused=True)",
    ],
    "gradients as roots": [  # among them are weights that operations pass on as they are
        MADE,
        "roots = [t for t in made.values() if t.requires_grad] + [a * 1]",
        "weights = [t.detach().cos().requires_grad_() for t in roots]",
        "options = {'allow_unused': True, 'materialize_grads': True}",
        f"gradients = torch.autograd.grad(roots, ({ALL}), weights, create_graph=True, **options)",
        "roots = [g for g in gradients if g.requires_grad]",
        f"wanted = ({ALL}, *weights)",
        "second = torch.autograd.grad(roots, wanted, [g.detach().sin() for g in roots], **options)",
        "return [g.detach() for g in gradients], second",
    ],
    "forward": [
        MADE,
        "tangents = {name: torch.autograd.forward_ad.unpack_dual(t).tangent for name, t in made.items()}",
        f"return {VALUES}, tangents",
    ],
}


@dataclass(frozen=True)
class Program:
    """A program of one theme (a key of ENDS): its lines between the leaves and the end."""

    about: str
    lines: tuple = ()

    @property
    def head(self):
        """The lines that make the leaves."""
        if self.about == "forward":
            tensors = {name: f"torch.tensor({values}, dtype=torch.float64)" for name, values in LEAVES.items()}
            dual = "torch.autograd.forward_ad.make_dual"
            return [f"{name} = {dual}({tensor}, {tensor}.cos())" for name, tensor in tensors.items()]
        tail = "dtype=torch.float64, requires_grad=True"
        return [f"{name} = torch.tensor({values}, {tail})" for name, values in LEAVES.items()]

    @property
    def source(self):
        """The text of a function of one argument, the module to use as `torch`."""
        lines = [*self.head, *self.lines, *ENDS[self.about]]
        if self.about == "forward":
            lines = ["with torch.autograd.forward_ad.dual_level():", *(f"    {line}" for line in lines)]
        return "\n".join(["def program(torch):", *(f"    {line}" for line in lines), ""])

    def run(self, module):
        """Return the result as plain data."""
        namespace = {"attempt": attempt}
        exec(self.source, namespace)
        return run(namespace["program"], module)


def write(seed, torch):
    """Return one random program."""
    choice = random.Random(seed)
    program = Program(choice.choice(list(ENDS)))
    if program.about != "forward":
        return grow(program, choice, torch)
    with torch.autograd.forward_ad.dual_level():
        return grow(program, choice, torch)


def grow(program, choice, torch):
    """Return the program with random lines, all of which have been run once."""
    env, names, lines = {"torch": torch}, list(LEAVES), []
    exec("\n".join(program.head), env)
    for number in range(choice.randint(8, 24)):
        t, u = choice.choice(names[-5:]), choice.choice(names)
        kind = choice.random()
        if kind < 0.3:
            template = choice.choice(WRITES)
            twins = [name for name in names if name != t and same_elements(env[t], env[name])]
            if template in LINEAR and twins:
                u = choice.choice(twins)
            shared = "{u}" in template and shares_memory(env[t], env[u])
            if 0 in env[t].stride() or shared and not (template in LINEAR and same_elements(env[t], env[u])):
                continue  # what is read after such a write depends on the order of the writes
            line = ("with torch.no_grad(): " if choice.random() < 0.08 else "") + template.format(t=t, u=u)
            if attempt(exec, line, env) is None:
                lines.append(line)
            continue
        if kind < 0.8:
            method = choice.choice(VIEWS if kind < 0.6 else COPIES if kind < 0.7 else UNARY).format(t=t)
            expression = f"{t}{method}" if method.startswith("[") else f"{t}.{method}"
        else:
            expression = choice.choice(BINARY).format(t=t, u=u)
        error = attempt(exec, f"v{number} = {expression}", env)
        if error is None and env[f"v{number}"].numel() <= 64:
            names.append(f"v{number}")
            lines.append(f"v{number} = {expression}")
        elif isinstance(error, RuntimeError) and choice.random() < 0.1:
            lines.append(f"e{number} = attempt(lambda: {expression})")
    return replace(program, lines=tuple(lines))


def shares_memory(t, u):
    """Return True if two tensors share one storage, so that a write to one may change the other."""
    return t.untyped_storage().data_ptr() == u.untyped_storage().data_ptr()


def same_elements(t, u):
    """Return whether two tensors on one memory hold the same elements in the same places."""
    place = lambda t: (t.data_ptr(), t.shape, t.stride())
    return place(t) == place(u) or t.numel() == u.numel() == 1 and t.data_ptr() == u.data_ptr()


def shrink(program, differs):
    """Return the program without every line that can go while `differs(program)` stays true."""
    return shortened(program, "lines", differs)
