"""Random programs of views, writes, arithmetic and no_grad, as text that PyTorch accepts; equal for equal seeds.

`write(seed, torch)` grows a program line by line: PyTorch runs each proposed line at once, and a line that it refuses
is kept only sometimes, wrapped in `attempt`. The end asks for what the mode is about: gradients, second derivatives or
tangents. What comes out is the source of a program like those in `programs/`: `def program(torch): ...`.
"""

import random

from .harness import attempt

LEAVES = {"a": "[[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]", "b": "[1.0, -0.5, 0.75]", "c": "0.5", "d": "[[2.0], [-1.5]]"}
UNARY = [
    "sin()",
    "exp().sigmoid()",
    "tanh()",
    "square()",
    "neg()",
    "clone()",
    "abs()",
    "relu()",
    "sum(-1)",
    "mean()",
    "cumsum(0)",
]
VIEWS = [
    "t()", "[0]", "[-1:]", "[..., 0]", "[..., 1:]", "[::2]", "reshape(-1)", "view(-1)", "unsqueeze(0)", "squeeze()",
    "expand(2, 3)", "diagonal()", "transpose(0, 1)", "view(3, 2)", "[None]", "flatten()",
    "narrow(0, 0, 1)", "contiguous()",
]  # fmt: skip
COPIES = ["[[0, 0]]", "[[-1, 0]]", "flip(0)", "detach()", "[t > 0]", "repeat(2)", "softmax(-1)"]
WRITES = [
    "{t}.mul_({u})", "{t}.add_({u})", "{t}.copy_({u})", "{t}.zero_()", "{t}.sin_()", "{t}.mul_(2)", "{t}[0] = {u}",
    "{t}[..., 0] = 0.5", "{t}[{t} > 0] = 0.25", "{t}[[0]] = {u}", "{t} += {u}", "{t}[-1:] *= {u}",
    "{t}.masked_fill_({t} < 0, 0.125)", "{t}.clamp_(-1, 1)", "{t}.sub_({u}, alpha=0.5)", "{t}.fill_({u})",
]  # fmt: skip
BINARY = [
    "{t} + {u}",
    "{t} * {u}",
    "{t} - {u} * 0.5",
    "{t} / (1 + {u} * {u})",
    "torch.where({t} > {u}, {t}, {u})",
    "{t} @ {u}",
]
BINARY += ["torch.maximum({t}, {u})", "torch.stack([{t}, {t}])", "torch.cat([{t}, {u}])"]
ENDS = {
    "backward": [
        "made = {name: t for name, t in locals().items() if name[0] == 'v'}",
        "refused = {name: e for name, e in locals().items() if name[0] == 'e'}",
        "flags = {name: [t._version, t.requires_grad, t.is_leaf] for name, t in made.items()}",
        "loss = sum((t * t.detach().cos()).sum() for t in made.values())",
        "gradients = attempt(torch.autograd.grad, loss, (a, b, c, d), allow_unused=True)",
        "return {name: t.detach() for name, t in made.items()}, flags, refused, gradients",
    ],
    "second": [
        "made = {name: t for name, t in locals().items() if name[0] == 'v'}",
        "loss = sum((t * t.detach().cos()).sum() for t in made.values())",
        "gradients = attempt(torch.autograd.grad, loss, (a, b, c, d), create_graph=True, materialize_grads=True)",
        "again = attempt(lambda: sum((g * g).sum() for g in gradients))",
        "return again, attempt(torch.autograd.grad, again, (a, b, c, d), materialize_grads=True)",
    ],
    "forward": [
        "made = {name: t for name, t in locals().items() if name[0] == 'v'}",
        "tangents = {name: torch.autograd.forward_ad.unpack_dual(t).tangent for name, t in made.items()}",
        "level.__exit__(None, None, None)",
        "return {name: t.detach() for name, t in made.items()}, tangents",
    ],
}


def write(seed, torch):
    """The source of one random program."""
    choice = random.Random(seed)
    mode = choice.choice(list(ENDS))
    env, lines = {"torch": torch, "attempt": attempt}, []

    def keep(line):
        """Run the line and keep it when PyTorch takes it. What PyTorch raises, if it does."""
        error = attempt(exec, line, env)
        if error is None:
            lines.append(line)
        return error

    for name, values in LEAVES.items():
        keep(f"{name} = torch.tensor({values}, dtype=torch.float64, requires_grad={mode != 'forward'})")
    if mode == "forward":
        keep("level = torch.autograd.forward_ad.dual_level()")
        keep("level.__enter__()")
        for name in LEAVES:
            keep(f"{name} = torch.autograd.forward_ad.make_dual({name}, {name} * {name} + 0.5)")
    names, wanted = list(LEAVES), choice.randint(4, 12)
    for attempts in range(60):
        if len(names) >= len(LEAVES) + wanted:
            break
        t, u = choice.choice(names[-5:]), choice.choice(names)
        kind = choice.random()
        if kind < 0.3:
            template = choice.choice(WRITES)
            operation = template.format(t=t, u=u)
            if shares_memory(env[t], env[u]) and "{u}" in template:
                continue
            if choice.random() < 0.08:
                operation = f"with torch.no_grad(): {operation}"
            keep(operation)
            continue
        name = f"v{attempts}"
        if kind < 0.6:
            method = choice.choice(VIEWS)
            expression = f"{t}{method}" if method.startswith("[") else f"{t}.{method}"
        elif kind < 0.7:
            method = choice.choice(COPIES).replace("t >", f"{t} >")
            expression = f"{t}{method}" if method.startswith("[") else f"{t}.{method}"
        elif kind < 0.8:
            expression = f"{t}.{choice.choice(UNARY)}"
        else:
            expression = choice.choice(BINARY).format(t=t, u=u)
        error = keep(f"{name} = {expression}")
        if error is None and env[name].numel() <= 64:
            names.append(name)
        elif isinstance(error, RuntimeError) and choice.random() < 0.1:
            lines.append(f"e{attempts} = attempt(lambda: {expression})")
    if mode == "forward":
        attempt(exec, "level.__exit__(None, None, None)", env)
    return program_of(lines + ENDS[mode])


def shares_memory(t, u):
    """Whether one of two tensors may see what is written to the other (then an order of reading would be tested)."""
    return t.untyped_storage().data_ptr() == u.untyped_storage().data_ptr()


def program_of(lines):
    """The source of a program with these lines."""
    return "\n".join(["def program(torch):", *(f"    {line}" for line in lines), ""])


def compile_program(source):
    """The function that the source defines."""
    namespace = {"attempt": attempt}
    exec(source, namespace)
    return namespace["program"]


def shrink(source, differs):
    """The source without every line that can go while `differs(source)` stays true."""
    lines = [line.strip() for line in source.splitlines()[1:]]
    place = len(lines)
    while place:
        place -= 1
        shorter = lines[:place] + lines[place + 1 :]
        if attempt(differs, program_of(shorter)) is True:
            lines, place = shorter, min(place, len(shorter))
    return program_of(lines)
