"""Exercises about memory: the tensors that operations save, their bytes, hooks, checkpoints, and the lifetime of a graph."""

import random
import weakref

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, applied, choice, code, combined, exercise, fence, number, numbers

SAVED = """\
saved = {}


def pack(t):
    saved[t.data_ptr()] = t.nbytes  # counts each memory once
    return t
"""
HOOKS = "with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):"
FREE = "{k} * x, x + {k}, x - {k}, x / {k}, -x, x.sum(), x.mean(), x.reshape(-1), x.cumsum(0), x.flip(0)".split(", ")
SAVING = {
    "x.exp()": "the slope of exp is its result, which is saved",
    "x.tanh()": "the slope of tanh is computed from its result, which is saved",
    "x.sigmoid()": "the slope of the sigmoid is computed from its result, which is saved",
    "x.sin()": "the slope of the sine is the cosine of x, so x is saved",
    "x.abs()": "the slope of abs is the sign of x, so x is saved",
    "x * x": "a product saves a factor if the other factor needs a gradient",
    "x ** 3": "the slope of a power depends on x, so x is saved",
    "1 / x": "the slope of 1 / x is computed from its result, which is saved",
}


@exercise(
    1,
    "Write down the slope of each operation. Which of them does not depend on the values of `x`?",
    "A linear operation has a constant slope.",
)
def operation_that_saves_nothing(r: random.Random) -> Task:
    """Find the operation that saves no tensor."""
    right, others = r.choice(FREE).format(k=r.randint(2, 9)), r.sample(list(SAVING), 3)
    shown = r.sample([right, *others], 4)
    return choice(
        f"`x` is a matrix that requires grad. Which of these operations saves no tensor for backward: "
        f"{', '.join(f'`{one}`' for one in shown)}? Give its code as a string.",
        right,
        solution=f"{SAVED}\n\nx = torch.ones(2, 3, requires_grad=True)\nfor operation in {shown}:\n    saved.clear()\n"
        f"    {HOOKS}\n        result = eval(operation)\n"
        "    if not saved:\n        operation_that_saves_nothing = operation",
        why="A linear operation has the same slope everywhere, so its backward does not need the values of x.",
        mistakes={one: SAVING[one] for one in others},
    )


@exercise(
    1,
    "The gradient of `x` is the incoming gradient times `w`, and vice versa.",
    "The product saves a factor only if the other factor needs a gradient, and without broadcasting it.",
)
def bytes_of_a_product(r: random.Random) -> Task:
    """Count the bytes that a broadcast product saves."""
    rows, columns = r.sample(range(10, 60), 2)
    dtype, size = r.choice([("float32", 4), ("float64", 8)])
    shape = r.choice([[columns], [rows, 1]])
    wants = r.choice(["x", "w", "x and w"])
    x_bytes, w_bytes = rows * columns * size, shape[0] * size
    right = {"x": w_bytes, "w": x_bytes, "x and w": x_bytes + w_bytes}[wants]
    return number(
        f"`x` has the shape [{rows}, {columns}] and `w` the shape {shape}; both are {dtype}. Only {wants} "
        f"require{'s' if len(wants) == 1 else ''} grad. How many bytes does `x * w` save for backward?",
        right,
        solution=f"{SAVED}\n\nx = torch.ones({rows}, {columns}, dtype=torch.{dtype}, requires_grad={'x' in wants})\n"
        f"w = torch.ones({shape}, dtype=torch.{dtype}, requires_grad={'w' in wants})\n"
        f"{HOOKS}\n    result = x * w\nbytes_of_a_product = sum(saved.values())",
        why="A product saves a factor only if the other one needs a gradient, and it does not copy a broadcast factor.",
        mistakes={
            x_bytes: "the gradient of x is computed from w, and the gradient of w from x",
            w_bytes: "the gradient of w is computed from x, and the gradient of x from w",
            x_bytes + w_bytes: "the product saves a factor only if the other one needs a gradient",
            2 * x_bytes: "broadcasting makes no copy: w is saved with its own shape",
            right // size: f"that counts the saved elements, and each has {size} bytes",
        },
    )


@exercise(
    1,
    "Does the operation copy the values, or is its result a view?",
    "A view holds the whole memory that it looks at.",
)
def memory_behind_a_row(r: random.Random) -> Task:
    """Count the bytes that a small result keeps alive."""
    rows, columns, i = r.randint(100, 900), r.randint(10, 90), r.randint(2, 9)
    get, view = r.choice(
        [(f"big[{i}]", True), (f"big[{i}].detach()", True), (f"big[{i}].clone()", False), (f"big[{i}] * 1", False)]
    )
    whole, part = 4 * rows * columns, 4 * columns
    right = whole if view else part
    program = f"big = torch.ones({rows}, {columns})\nrow = {get}\ndel big"
    return number(
        f"{fence(program)}A float32 element has 4 bytes. How many bytes of elements stay in memory?",
        right,
        solution=f"{program}\nmemory_behind_a_row = row.untyped_storage().nbytes()",
        why="A view keeps all elements of its base in memory; a copy has memory only for its own elements.",
        mistakes={
            whole: "this row is a copy, and no name holds the rest",
            part: "this row is a view: it shares memory with the matrix, which is freed only as a whole",
            0: "del removes a name, but the memory stays as long as something else holds it",
            right // 4: "that counts the elements, and each has 4 bytes",
        },
    )


@exercise(
    1,
    "A layer with a checkpoint runs in the forward pass, and again in the backward pass.",
    "For which values of i is the condition true? Those layers have a checkpoint.",
)
def layer_calls_of_a_step(r: random.Random) -> Task:
    """Count the calls of layers with checkpoints."""
    n, k = r.randint(7, 20), r.randint(2, 4)
    checkpointed = sum(1 for i in range(n) if i % k)
    program = f"""\
from minigrad.utils.checkpoint import checkpoint

calls = []

def layer(x):
    calls.append("call")
    return x.tanh() * x

x = torch.ones(5, requires_grad=True)
h = x
for i in range({n}):
    h = checkpoint(layer, h, use_reentrant=False) if i % {k} else layer(h)
h.sum().backward()"""
    return number(
        f"{fence(program)}What is `len(calls)`?",
        n + checkpointed,
        solution=f"{program}\nlayer_calls_of_a_step = len(calls)",
        why="Each layer runs once in the forward pass, and a layer with a checkpoint once more in the backward pass.",
        mistakes={
            2
            * n: f"layers without a checkpoint, such as those with i = 0 and i = {k}, keep their tensors and run once",
            n: "a checkpoint keeps only the input, so backward must run the layer again",
            n
            + n
            - checkpointed: "the condition is true where the remainder is not 0: those layers have the checkpoint",
            checkpointed: "the forward pass calls all layers, too",
        },
    )


@exercise(
    2,
    "Which elements of the list are tensors with a graph, and which are plain numbers?",
    "After the loop, the name `loss` still holds the tensor of the last step.",
)
def graphs_that_stay(r: random.Random) -> Task:
    """Count the graphs that a list keeps alive."""
    n, k = r.randint(8, 30), r.randint(3, 6)
    n += n % k == 1  # so that the list does not keep the last step
    in_list = -(-n // k)
    program = f"""\
x = torch.ones(1000, requires_grad=True)
losses = []
for i in range({n}):
    loss = x.exp().sum()
    losses.append(loss if i % {k} == 0 else loss.item())"""
    counted = "\n".join(f"    {line}" for line in program.splitlines())
    return number(
        f"{fence(program)}How many results of `exp` are in memory after this program?",
        in_list + 1,
        solution="import weakref\n\nsaved = []\n\n\ndef pack(t):\n    saved.append(weakref.ref(t))\n    return t\n\n\n"
        f"{HOOKS}\n{counted}\ngraphs_that_stay = sum(one() is not None for one in saved)",
        why="A loss with a graph holds all saved tensors of its graph. The list has some of them, and the name loss one more.",
        mistakes={
            in_list: "the name loss still holds the graph of the last step",
            n: "item returns a plain number, which holds no graph",
            1: "the list holds tensors, too, and each of them holds its graph",
            n - in_list: "those are plain numbers: a graph stays only if the tensor is in the list",
            0: "no backward pass has freed the saved tensors",
        },
    )


@exercise(
    2,
    "A checkpoint keeps the input of its function, but no tensor from inside.",
    "Each call doubles the number of elements. Add up the inputs of all calls.",
)
def bytes_kept_by_checkpoints(r: random.Random) -> Task:
    """Count the bytes that checkpoints keep."""
    n, size = r.randint(3, 6), r.randint(5, 40)
    program = f"""\
from minigrad.utils.checkpoint import checkpoint

def doubled(x):
    return torch.cat([x, x]).sin()

x = h = torch.ones({size}, requires_grad=True)
for _ in range({n}):
    h = checkpoint(doubled, h, use_reentrant=False)
y = h.sum()"""
    indented = "\n".join(f"    {line}" for line in program.splitlines())
    return number(
        f"{fence(program)}How many bytes, with 4 for each element, are saved before the backward pass? Count `x`, too, "
        "which the first checkpoint saves.",
        4 * size * (2**n - 1),
        solution=f"{SAVED}\n\n{HOOKS}\n{indented}\nbytes_kept_by_checkpoints = sum(saved.values())",
        why="Each checkpoint saves its input, which is twice as large as the previous one.",
        mistakes={
            4 * size * n: "each input is twice as large as the previous one",
            4 * size: "each of the checkpoints saves its input",
            4 * size * (2 ** (n + 1) - 1): "the sum saves nothing, so the last result is not kept",
            4 * size * (2 ** (n + 1) - 2): "that is the result without checkpoints: sin saves its input",
            size * (2**n - 1): "that counts the saved elements, and each has 4 bytes",
        },
    )


TERMS = {"x.exp() * x": 3, "x.tanh() * x.sin()": 4, "(x * x).exp()": 3, "x.exp().sin()": 2, "x.cos() * x + x ** 2": 4}


@exercise(
    2,
    "A product of two tensors that need gradients saves both factors, even if another operation has saved one.",
    "Each backward pass unpacks each saved tensor again.",
)
def packed_and_unpacked(r: random.Random) -> Task:
    """Count the calls of saved tensors hooks."""
    term, k, n = r.choice(list(TERMS)), r.randint(2, 6), r.randint(2, 9)
    packs = TERMS[term]
    program = f"""\
packed, unpacked = [], []

def pack(t):
    packed.append(t.shape)
    return t

def unpack(t):
    unpacked.append(t.shape)
    return t

x = torch.ones({n}, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = {term}
for _ in range({k}):
    y.sum().backward(retain_graph=True)"""
    return numbers(
        f"{fence(program)}How many elements do `packed` and `unpacked` have? Give a list of two numbers.",
        (packs, k * packs),
        solution=f"{program}\npacked_and_unpacked = [len(packed), len(unpacked)]",
        why="The forward pass packs each saved tensor once, and each backward pass unpacks it.",
        mistakes={
            (packs, packs): "each backward pass calls unpack again",
            (packs - 1, k * (packs - 1)): "a tensor that two operations save is packed twice",
            (k * packs, k * packs): "saving is part of the forward pass, which runs once",
            (packs * n, packs * n * k): "a hook is called for a tensor, not for each of its elements",
        },
    )


@exercise(
    2,
    "What holds the values of `e`: the name, or also an operation that saves them? exp saves its result, sin its input.",
    "Without `retain_graph`, backward frees saved tensors. With it, they stay as long as the graph.",
)
def line_that_frees(r: random.Random) -> Task:
    """Find the line that frees a tensor."""
    kept, retain = r.random() < 0.7, r.random() < 0.5
    first, second = r.choice(
        [("x.exp()", "3 * e"), ("x.tanh()", "e + 1"), ("x + 1", "e.sin()"), ("2 * x", "e ** 2")]
        if kept
        else [("x + 1", "3 * e"), ("x.sin()", "e.exp()"), ("2 * x", "e.tanh()"), ("x ** 2", "e.sigmoid()")]
    )
    lines = [f"e = {first}", f"y = {second}", "z = y.sum()", "del y", f"z.backward({'retain_graph=True' * retain})"]
    lines.insert(r.randint(2, 4), "del e")
    lines.append("del z")
    name, backward, last = lines.index("del e") + 1, len(lines) - 1, len(lines)
    right = name if not kept else last if retain else backward
    shown = "\n".join(f"{line:32}# {i}" for i, line in enumerate(lines, 1))
    return number(
        f"`x` has a thousand elements and requires grad.{fence(shown)}Which line frees the memory with the "
        "values of `e`? Give its number.",
        right,
        solution=f"""\
import weakref


def memory_of(t):
    array = t.detach().numpy()
    return weakref.ref(array if array.base is None else array.base)


names = {{"x": torch.ones(1000, requires_grad=True)}}
for number, line in enumerate({lines}, 1):
    exec(line, names)
    if number == 1:
        memory = memory_of(names["e"])
    if memory() is None:
        line_that_frees = number
        break
""",
        why="Memory is freed when nothing holds it: no name, and no node that has saved the tensor for backward.",
        mistakes={
            name: "del removes the name, but an operation has saved these values for backward",
            backward: "with retain_graph=True, the saved tensors stay for another backward pass"
            if kept
            else "no operation has saved e, so nothing holds it without its name",
            last: "backward without retain_graph frees the saved tensors, although z and its graph still exist"
            if kept
            else "a graph holds only the tensors that its operations save",
        },
    )


@exercise(
    3,
    "Each element needs only a yes or no, because there are two slopes: a bool tensor has one byte for each.",
    "Save `x > t`, and return the incoming gradient times `torch.where(kept, 1.0, slope)`.",
)
def OneByteMask(r: random.Random) -> Task:
    """Save one byte for each element."""
    t, slope = r.choice([-1, 0, 0.5, 2]), r.choice([0.01, 0.1, 0.25, -0.5])

    def judge(answer):
        matrix = torch.tensor([[1.5, -2.0, 0.25], [-0.75, 3.0, -4.0]], requires_grad=True)
        expected = applied(lambda x: torch.where(x > t, x, slope * x))
        around = torch.tensor([t, t + 0.4, t - 0.4, 4.0, -4.0], requires_grad=True)
        expect.function(answer, expected, (matrix,), (around,))
        expect.saves(answer.apply, (matrix,), most=matrix.numel())

    def source(kept: str, gradient: str) -> str:
        forward = f"ctx.save_for_backward({kept})\nreturn torch.where(x > {t}, x, {slope} * x)"
        return combined("OneByteMask", "x", forward, "grad_output", "(kept,) = ctx.saved_tensors", f"return {gradient}")

    return code(
        f"This Function returns `x` where `x > {t}` and `{slope} * x` elsewhere. Save one tensor, at most one byte for each "
        "element of `x`, and write `backward`.",
        source("...", "..."),
        source(f"x > {t}", f"grad_output * torch.where(kept, 1.0, {slope})"),
        judge,
        "backward only chooses between two slopes, and one bool for each element is enough for that.",
        (source("x", f"grad_output * torch.where(kept > {t}, 1.0, {slope})"), "bytes are saved for backward"),
        (source(f"x > {t}", "grad_output * kept"), "expected"),
        (source(f"x > {t}", f"torch.where(kept, 1.0, {slope})"), "expected"),
    )


@exercise(
    3,
    "A pack hook sees each saved tensor. `t.data_ptr()` is the same number for tensors that start in the same memory.",
    "Collect the bytes in a dictionary by data_ptr, without the arguments. Hold the result until you have counted.",
)
def extra_bytes(r: random.Random) -> Task:
    """Measure the memory that exists only for backward."""
    least = r.randint(5, 30)

    def judge(answer):
        shapes = (4, 25), (25, 32), (4,)
        x, w, bias = (torch.ones(shape).requires_grad_() for shape in shapes)
        double = torch.ones(32, 3, dtype=torch.float64).requires_grad_()
        enough, few = (torch.ones(n).requires_grad_() for n in (least, least - 1))
        programs = (
            ("x.exp() * x", lambda x: x.exp() * x, (x,), 400),
            ("x.sin() * x.cos()", lambda x: x.sin() * x.cos(), (x,), 800),
            ("(x @ w).tanh()", lambda x, w: (x @ w).tanh(), (x, w), 512),
            ("a small tensor and a large one", lambda x, b: x.tanh().sum() * b.exp(), (x, bias), 400),
            ("x.reshape(-1).sin(), a view of its argument,", lambda x: x.reshape(-1).sin(), (x,), 0),
            ("x.exp() in float64", lambda x: x.exp(), (double,), 768),
            (f"x.exp() with {least} elements", lambda x: x.exp(), (enough,), 4 * least),
            (f"x.exp() with {least - 1} elements", lambda x: x.exp(), (few,), 0),
            ("a backward pass in f", lambda x: torch.autograd.grad(x.exp().sum(), x), (x,), 400),
        )
        for name, f, args, wanted in programs:
            given = answer(f, *args)
            if given is None:
                raise Wrong("extra_bytes returns None: is there a return?")
            if int(given) != wanted:
                raise Wrong(f"{name} has {wanted} extra bytes, but extra_bytes returns {given}")

    def source(condition: str, count: str = "found[t.data_ptr()] = t.nbytes") -> str:
        return f"""\
def extra_bytes(f, *args):
    known = {{a.data_ptr() for a in args}}
    found = {{}}

    def pack(t):
        if {condition}:
            {count}
        return t

    {HOOKS}
        result = f(*args)
    return sum(found.values())
"""

    large, new = f"t.numel() >= {least}", "t.data_ptr() not in known"
    return code(
        "Write a function that calls `f(*args)`, where all arguments are tensors, and returns the number of bytes that exist "
        "only for backward. Count each memory once, even if two operations save it. Leave out the memory of the arguments, "
        f"which exists anyway, and tensors with fewer than {least} elements.",
        "def extra_bytes(f, *args): ...",
        source(f"{new} and {large}"),
        judge,
        "The hook sees all saved tensors; their addresses show which of them share memory with each other or with an argument.",
        (source(large), "extra bytes"),
        (source(new), "a small tensor and a large one"),
        (source(f"{new} and {large}", "found[len(found)] = t.nbytes"), "extra bytes"),
    )


@exercise(
    3,
    "Each product of two tensors saves its factors. Can a single square give the same result?",
    "The three terms are the square of a sum: expand `(a * x + b * y) ** 2`.",
)
def lean_square(r: random.Random) -> Task:
    """Rewrite a formula so that it saves less."""
    a, b = r.sample(range(2, 10), 2)
    sign = r.choice([1, -1])
    formula = f"{a * a} * x * x {'+' if sign > 0 else '-'} {2 * a * b} * x * y + {b * b} * y * y"

    def judge(answer):
        for shape in ((6,), (2, 5)):
            x = torch.linspace(-1, 2, shape[-1]).expand(shape).clone().requires_grad_()
            y = torch.linspace(3, 1, shape[-1]).expand(shape).clone().requires_grad_()
            expect.computes(answer, lambda x, y: (a * x + sign * b * y) ** 2, (x, y), rtol=1e-3)
            expect.saves(answer, (x, y), most=x.nbytes)

    def source(body: str) -> str:
        return f"def lean_square(x, y):\n    return {body}\n"

    inner = f"{a} * x {'+' if sign > 0 else '-'} {b} * y"
    return code(
        f"`{formula}` saves several tensors for backward. Write a function of `x` and `y`, two tensors of the same shape, that "
        "returns the same values and saves only one tensor.",
        "def lean_square(x, y): ...",
        source(f"({inner}) ** 2"),
        judge,
        "The sum is linear and saves nothing; the square saves one tensor, its input.",
        (source(formula), "bytes are saved for backward"),
        (source(f"{a} * x * ({inner}) {'+' if sign > 0 else '-'} {b} * y * ({inner})"), "bytes are saved for backward"),
        (source(f"{a * a} * x * x + {b * b} * y * y"), "expected"),
    )


@exercise(
    3,
    "The gradient of a sum is the sum of the gradients, so each batch can have its own backward pass.",
    "Compute `torch.autograd.grad(f(w, batch), w)` in a loop, and add up the results.",
)
def gradient_in_parts(r: random.Random) -> Task:
    """Compute a gradient with one graph at a time."""
    c, kind = r.choice([2, 4, 5, 6, 7, 8, 9]), r.choice(["sum", "mean"])

    def judge(answer):
        batches = [torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([[3.0, 0.0]]), torch.tensor([[-1.0, 1.0]])]
        w = torch.tensor([0.5, -0.25], requires_grad=True)
        saved: list[weakref.ref] = []

        def pack(t):
            saved.append(weakref.ref(kept := _Kept(t)))
            return kept

        def f(w, batch):
            if alive := sum(one() is not None for one in saved):
                raise Wrong(f"{alive} saved tensors of earlier batches are in memory when f is called")
            return (batch @ w).tanh().sum()

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
            given = answer(f, w, batches)
        if given is None:
            raise Wrong("gradient_in_parts returns None: is there a return?")
        parts = [torch.autograd.grad((batch @ w).tanh().sum(), w)[0] for batch in batches]
        wanted = c * torch.stack(parts).sum(0) / (len(batches) if kind == "mean" else 1)
        expect.tensor(given, wanted, "the gradient")

    share = f"{c} / len(batches)" if kind == "mean" else f"{c}"

    def source(factor: str = share, options: str = "") -> str:
        return f"""\
def gradient_in_parts(f, w, batches):
    total = torch.zeros_like(w)
    for batch in batches:
        loss = f(w, batch)
        total += torch.autograd.grad(loss, w{options})[0]
    return {factor} * total
"""

    one_graph = f"""\
def gradient_in_parts(f, w, batches):
    loss = sum(f(w, batch) for batch in batches)
    return {share} * torch.autograd.grad(loss, w)[0]
"""
    return code(
        f"`f(w, batch)` returns a loss, and `batches` is a list. Write a function that returns the gradient of {c} times the "
        f"{kind} of the losses of all batches with respect to `w`. When `f` is called, no saved tensor of an earlier batch "
        "may be in memory.",
        "def gradient_in_parts(f, w, batches): ...",
        source(),
        judge,
        "Each backward pass frees the saved tensors of its batch, so the memory does not grow with the number of batches.",
        (one_graph, "saved tensors of earlier batches are in memory"),
        (source(options=", retain_graph=True"), "saved tensors of earlier batches are in memory"),
        (source(f"{c}" if kind == "mean" else f"{c} / len(batches)"), "expected"),
    )


class _Kept:
    """A saved tensor in an object that can be watched."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor
