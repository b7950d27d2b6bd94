"""Exercises about kernels and compilation: bytes, loops, threads, and the calls that minigrad captures again."""

import math
import random
from collections.abc import Callable

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, choice, code, exercise, fence, number, numbers


@exercise(
    1,
    "How many blocks cover the columns, and how many the rows? Round up both numbers.",
    "Count all threads of these blocks, and subtract the elements.",
)
def idle_threads(r: random.Random) -> Task:
    """Count the threads without an element."""
    rows, columns = r.sample([*range(50, 64), *range(65, 80), *range(97, 111)], 2)
    high, wide = r.choice([(8, 32), (16, 16), (4, 64), (32, 8)])
    blocks = -(-rows // high), -(-columns // wide)
    total = blocks[0] * high * blocks[1] * wide
    return number(
        f"A matrix has {rows} rows and {columns} columns. A block of threads covers {high} rows and {wide} columns, one "
        "element for each thread. The launch has as few blocks as possible. How many threads have no element?",
        total - rows * columns,
        solution=f"blocks = -(-{rows} // {high}) * -(-{columns} // {wide})\n"
        f"idle_threads = blocks * {high} * {wide} - {rows} * {columns}",
        why="The last blocks in both dimensions extend past the matrix, so the kernel needs a bound for each dimension.",
        mistakes={
            -rows * columns % (high * wide): "a block is a rectangle: round up each dimension",
            total: "that is the number of all threads",
            blocks[0] * blocks[1]: "that is the number of blocks",
            0: "the blocks do not fit exactly: the matrix is not a multiple of a block in both dimensions",
        },
    )


@exercise(
    1,
    "Multiply blocks and threads: that is the number of elements in one round. Which round contains the element?",
    "Divide the index by the number of all threads and take the remainder. Then divide that by the threads of a block.",
)
def thread_of_element(r: random.Random) -> Task:
    """Find the thread of an element."""
    blocks, threads = r.randint(3, 6), r.choice([32, 64, 128])
    total = blocks * threads
    first = r.randint(threads, total - 1)
    element = first + total * r.randint(1, 4)
    program = (
        "i = cuda.grid(1)  # the number of the thread among all threads\n"
        f"while i < x_.size:\n    out_[i] = 2 * x_[i]\n    i += {total}\n"
    )
    return numbers(
        f"This kernel runs with {blocks} blocks of {threads} threads. Which thread computes element {element}? Give a list: "
        f"the number of the block, and the number of the thread in its block. Both start at 0.{fence(program)}",
        (first // threads, first % threads),
        solution=f"for block in range({blocks}):\n    for thread in range({threads}):\n"
        f"        if {element} in range(block * {threads} + thread, {element} + 1, {total}):\n"
        "            thread_of_element = [block, thread]",
        why=f"A thread computes every {total}th element. Element {element} belongs to thread {first} of all threads.",
        mistakes={
            (
                element // threads,
                element % threads,
            ): "there are not that many blocks: each thread computes several elements",
            (first % threads, first // threads): "the block comes first",
            (first // threads + 1, first % threads): "the first block has the number 0",
            (first % blocks, first // blocks): "neighbouring threads belong to the same block",
        },
    )


@exercise(
    1,
    "One loop reads each array once, even if the formula uses it twice, and writes each result once.",
    "Results that only the loop reads stay in registers. A sum writes one number.",
)
def fused_bytes(r: random.Random) -> Task:
    """Count the bytes of a fused loop."""
    n, (kind, size) = r.randint(2, 9), r.choice([("float32", 4), ("float64", 8)])
    shown, names, fused, eager, mistake, reason = r.choice(
        [
            ("(x * y + x).tanh()", "x and y", 3, 8, 2, "the loop writes the result, too"),
            ("x.exp() / (1 + x.exp())", "x", 2, 9, 3, "the loop reads x once for both exponentials"),
            ("((x - y) * (x - y)).sum()", "x and y", 2, 10, 3, "the sum is one number, not an array"),
            ("w.sub_(0.1 * g)", "w and g", 3, 5, 2, "an update in place reads and writes w"),
            ("w.sub_(0.1 * v.mul_(0.9).add_(g))", "w, v and g", 5, 10, 3, "the loop writes v and w in place"),
        ]
    )
    return number(
        f"`torch.compile` makes one loop from `{shown}`, for {names} with {n} million elements of {kind}. No tensor requires "
        "grad. How many million bytes does the loop read and write in total?",
        fused * n * size,
        solution=f"fused_bytes = {fused} * {n} * {size}",
        why=f"The loop moves {fused} arrays of {n} million elements with {size} bytes each.",
        mistakes={
            eager * n * size: "these are the bytes of the eager operations, each of which reads and writes arrays",
            mistake * n * size: reason,
            fused * n: f"each element has {size} bytes",
        },
    )


@exercise(
    1,
    "A program is the same for all calls if no number in a tensor decides which lines run or how large a result is.",
    "Shapes and dtypes are known when a call is captured. Numbers in tensors are not.",
)
def line_that_stops(r: random.Random) -> Task:
    """Find the line that cannot be compiled."""
    c = r.randint(2, 9)
    bad = r.choice(
        [
            (f"p = x * 2 if x.sum() > {c} else x", "the value of a tensor decides which branch runs"),
            (f"p = x[x > {c}]", "the size of the result depends on the values"),
            ("p = x * int(x.max())", "a number from a tensor becomes a Python number that the program uses"),
            (f"p = {c} * x; print(p)", "print is an effect that would happen only once"),
        ]
    )
    lines = [
        bad,
        (f"q = torch.where(x > {c}, x, -x)", "where does the same operations for all values"),
        (f"s = x * {c} if x.shape[0] > {c} else x", "the shape is known when the call is captured"),
        (f"t = x[x < {c}].sum()", "the sum has the same size for all values"),
    ]
    r.shuffle(lines)
    body = "".join(f"    {line}  # {i}\n" for i, (line, _) in enumerate(lines, 1))
    program = f"def f(x):\n{body}    return p, q, s, t\n"
    return number(
        "minigrad's `torch.compile(f, fullgraph=True)` raises an error when you call it. Which line is the reason? "
        f"Give its number.{fence(program)}",
        lines.index(bad) + 1,
        solution=f"import re\n\n{program}\ntry:\n    torch.compile(f, fullgraph=True)(torch.ones(4))\n"
        'except RuntimeError as e:\n    line_that_stops = int(re.search(r"# (\\d)", str(e))[1])',
        why=f"In this line {bad[1]}.",
        mistakes={i: reason for i, (line, reason) in enumerate(lines, 1) if line != bad[0]},
    )


@exercise(
    2,
    "A Function may be compiled unless it sets `is_traceable = False`, and a subclass inherits that.",
    "`is_traceable` is a promise. NumPy needs the numbers, and while minigrad captures a call there are none.",
)
def refused_functions(r: random.Random) -> Task:
    """Find the Functions that are not compiled."""
    c = r.randint(2, 9)
    product, with_numpy = f"{c} * x", f"torch.tensor({c} * x.detach().numpy())"
    every = [
        # the class it extends: 0 for Function, 1 for a class that sets False; what it sets; forward; the reason
        (0, "", product, "a Function that sets nothing may be compiled"),
        (0, "is_traceable = True", product, "it consists of minigrad operations"),
        (1, "is_traceable = True", product, "it sets True again, and so overrides what it inherits"),
        (1, "", product, ""),
        (0, "is_traceable = True", with_numpy, ""),
        (0, "", with_numpy, ""),
    ]
    kinds = r.sample(every[:3], 2) + r.sample(every[3:], r.randint(1, 2))
    r.shuffle(kinds)
    closed, *letters = r.sample("ABCDEFGH", len(kinds) + 1)

    def source(letter: str, kind: tuple) -> str:
        base, sets, result, _ = kind
        lines = [sets] * bool(sets) + ["@staticmethod", "def forward(ctx, x):", f"    return {result}"]
        return f"class {letter}({('torch.autograd.Function', closed)[base]}):\n    " + "\n    ".join(lines)

    classes = [(closed, (0, "is_traceable = False", product, "")), *zip(letters, kinds)]
    program = "\n\n\n".join(source(letter, kind) for letter, kind in classes)
    return choice(
        f"minigrad's `torch.compile(F.apply, fullgraph=True)(torch.ones(3))` raises an error for which of these Functions `F`? "
        f"Give a list of letters.{fence(program)}",
        [letter for letter, kind in classes if not kind[3]],
        solution=f"{program}\n\n\ndef refused(F):\n    try:\n"
        "        torch.compile(F.apply, fullgraph=True)(torch.ones(3))\n    except RuntimeError:\n        return True\n"
        f"    return False\n\n\nrefused_functions = [F.__name__ for F in ({', '.join(dict(classes))}) if refused(F)]",
        why="False is inherited, and no promise helps where NumPy needs the numbers.",
        mistakes={letter: kind[3] for letter, kind in classes if kind[3]},
    )


@exercise(
    2,
    "A loop can add terms as it computes them. An element that needs a whole sum has to wait until a loop ends.",
    "Go through the program: how many loops have to end before the last one starts?",
)
def loops_of_program(r: random.Random) -> Task:
    """Count the loops of a compiled function."""
    c = r.randint(2, 9)
    lines, right, operations = r.choice(
        [
            ([f"d = x - x.mean() / {c}", "return d.exp()"], 2, 4),
            ([f"a = ({c} * x * x).sum()", "b = x.exp().sum()", "return a / b"], 1, 6),
            ([f"d = {c} * (x - x.mean())", "return (d * d).mean()"], 2, 5),
            (["d = x - x.mean()", "v = (d * d).mean()", f"return d / (v + {c}).sqrt()"], 3, 7),
            ([f"e = ({c} * (x - x.max())).exp()", "return e / e.sum()"], 3, 6),
            ([f"return {c} * x * x.sum() + x.max()"], 2, 5),
            ([f"a = x * x.sum() / {c}", "return a / (a * a).sum()"], 3, 6),
        ]
    )
    program = "def f(x):\n" + "".join(f"    {line}\n" for line in lines)
    return number(
        f"`x` is a long vector. At least how many loops over its elements does the compiled function need?{fence(program)}",
        right,
        solution=f"{program}\ncompiled = torch.compile(f, fullgraph=True)\ncompiled(torch.ones(1000))\n"
        'loops_of_program = compiled.source().count("for i in range")',
        why="A loop ends only at a reduction whose result the elements need; all other operations share a loop.",
        mistakes={
            operations: "one loop computes many elementwise operations, and also adds up their results",
            right + 1: "a sum does not need a separate loop: it takes each term from the loop that computes it",
            right - 1: "elements that need a whole sum have to wait for another loop to end",
        },
    )


@exercise(
    2,
    "Write down for each call: shape, dtype, layout, requires_grad, and the type of the factor. Count the different rows.",
    "The value of a float makes no difference, nor does the value of an int. A transposed matrix has another layout.",
)
def captured_calls(r: random.Random) -> Task:
    """Count the specialisations of a compiled function."""
    kinds = {
        "torch.ones(3, 4)": 0,
        "torch.ones(4, 3)": 1,
        "torch.ones(4, 3).T": 2,
        "torch.ones(3, 4).double()": 3,
        "torch.ones(3, 4, requires_grad=True)": 4,
        "torch.zeros(3, 4)": 0,
    }
    tensors = r.sample(list(kinds), 4)
    calls = [(x, r.choice(["0.5", "0.25", "2.5", "2", "3"])) for x in [*tensors, *r.sample(tensors, 2)]]
    right = len({(kinds[x], "." in factor) for x, factor in calls})
    lines = "".join(f"scaled({x}, {factor})\n" for x, factor in calls)
    program = f"@torch.compile\ndef scaled(x, factor):\n    return x * factor\n\n\n{lines}"
    return number(
        "minigrad captures a call again if the shape, dtype, layout or `requires_grad` of a tensor is new, or the type of a "
        f"number. How many specialisations does `scaled` have after these calls?{fence(program)}",
        right,
        solution=f'{program}captured_calls = int(repr(scaled).split(", ")[1].split()[0])',
        why="Calls of the same kind share a specialisation: numbers and elements are arguments of the module.",
        mistakes={
            len(calls): "some calls are of the same kind as an earlier one",
            len(set(calls)): "only the type of the factor matters, not its value, and not the values of the elements",
            len({kinds[x] for x, _ in calls}): "a float and an int need different programs",
            1: "a module fits one shape, dtype and layout",
        },
    )


@exercise(
    2,
    "The loop writes the result. It also writes each intermediate result that a derivative needs.",
    "Use the derivatives: exp and tanh need their result; sin, cos and log need their input; a product needs both factors.",
)
def written_for_backward(r: random.Random) -> Task:
    """Count the arrays that a loop writes for backward."""
    c = r.randint(2, 9)
    shown, right, operations, why = r.choice(
        [
            (f"({c} * x + 1).relu()", 1, 3, "relu can use the result"),
            (f"{c} * (x * x).sin()", 2, 3, "the sine needs x * x"),
            (f"x.exp() * x + {c}", 2, 3, "the product needs x and the value of exp"),
            (f"x.sin() * x.cos() / {c}", 3, 4, "the product needs both factors"),
            (f"(x.exp() + {c}).log()", 3, 3, "exp needs its value, and log its input"),
            (f"{c} * x.tanh()", 2, 2, "tanh needs its value"),
            (f"{c} * (x - 1) + 2", 1, 3, "sums and constant factors need no tensor"),
        ]
    )
    program = f"def f(x):\n    return {shown}\n"
    return number(
        "`x` requires grad and is a long vector. The compiled function is one loop, which reads `x`. How many arrays does "
        f"it write? Backward has `x` anyway.{fence(program)}",
        right,
        solution=f"{program}\ncompiled = torch.compile(f, fullgraph=True)\ncompiled(torch.rand(1000, requires_grad=True))\n"
        'written_for_backward = compiled.source().count(" = empty(")',
        why=f"One array is the result. Of the other results, backward needs those that a derivative uses: {why}.",
        mistakes={
            operations: "that is eager mode, with an array for each operation, but not every derivative needs one",
            right + 1: "a derivative that needs only `x`, a constant or the result itself needs no other array",
            right - 1: "count the result and each intermediate result that a derivative needs",
        },
    )


@exercise(
    2,
    "Compute the first and the last byte that the warp reads. In which pieces of 128 bytes are they?",
    "If the step between two threads is smaller than a piece, the warp reads all pieces from the first to the last.",
)
def pieces_of_memory(r: random.Random) -> Task:
    """Count the pieces of memory that a warp reads."""
    step, start, (kind, size) = r.randint(2, 9), r.randint(1, 40), r.choice([("float32", 4), ("float64", 8)])
    right = (start + 31 * step) * size // 128 - start * size // 128 + 1
    return number(
        f"A GPU reads memory in pieces of 128 bytes. `x` is an array of {kind}, and begins at the start of a piece. The 32 "
        f"threads of a warp read `x[{start} + {step} * t]` for `t` from 0 to 31 at the same time. How many pieces does the GPU "
        "read?",
        right,
        solution=f"pieces_of_memory = len({{({start} + {step} * t) * {size} // 128 for t in range(32)}})",
        why=f"The warp needs {32 * size} bytes, but they are spread over {right} pieces, and the GPU reads whole pieces.",
        mistakes={
            32 * size // 128: "that is enough for neighbouring elements, but here there are gaps between them",
            32: "neighbouring threads often share a piece",
            (32 * step * size)
            // 128: f"the first element is {start}, so the warp does not start at the beginning of a piece",
            1: "32 elements with gaps do not fit into one piece",
        },
    )


@exercise(
    3,
    "Keep the largest number so far and the sum of exp(number - largest).",
    "If a larger number comes, shrink the old sum: multiply it by exp(old largest - new largest).",
)
def one_pass_logsumexp(r: random.Random) -> Task:
    """Write logsumexp as a loop that reads once."""
    c = r.choice([2.0, 3.0, 0.5, 0.25, -1.0, -2.0])

    def judge(answer):
        import tracemalloc

        exponents = [0.5, -1.0, 2.0, 0.0], [1000.0, 999.0, -5.0, 1001.0], [-1000.0, -2000.0, -1001.5], [3.0] * 9
        for given in (*exponents, [math.sin(i) for i in range(3000)]):
            largest = max(given)
            wanted = largest + math.log(sum(math.exp(one - largest) for one in given))
            tracemalloc.start()
            try:
                result, kept = answer(one / c for one in given), tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            if result is None:
                raise Wrong("your function returns None: is there a return?")
            expect.number(result, wanted)
            if kept > 16_000:
                raise Wrong(f"for {len(given)} numbers the function stores {kept} bytes: a few numbers are enough")

    def source(first: str = "-math.inf", rescale: str = " * math.exp(largest - new)") -> str:
        return (
            f"import math\n\n\ndef one_pass_logsumexp(numbers):\n    largest, total = {first}, 0.0\n    for x in numbers:\n"
            f"        new = max(largest, {c} * x)\n        total = total{rescale} + math.exp({c} * x - new)\n"
            "        largest = new\n    return largest + math.log(total)\n"
        )

    plain = "import math\n\n\ndef one_pass_logsumexp(numbers):\n    return "
    return code(
        f"Return $\\log \\sum_i e^{{c x_i}}$ with $c = {c}$ for the numbers of an iterator. A kernel for long rows should read "
        "each number once, so go through `numbers` only once, and do not store them. The exponents may be 1000 or -1000, so "
        "`exp` of them overflows or is 0.",
        "def one_pass_logsumexp(numbers): ...",
        source(),
        judge,
        "A sum relative to the largest number so far never overflows; a new largest number rescales it.",
        (f"{plain}float(np.logaddexp.reduce([{c} * x for x in numbers]))", "stores"),
        (f"{plain}math.log(sum(math.exp({c} * x) for x in numbers))", "raises"),
        (source(rescale=""), "is not right"),
        (source(first="0.0"), "raises"),
    )


@exercise(
    3,
    "The index of the first element is block * threads + thread. The launch has blocks * threads threads.",
    "Step by the number of all threads, not by 1, until the end of x: then neighbouring threads read neighbouring elements.",
)
def many_per_thread(r: random.Random) -> Task:
    """Write a kernel with fewer threads than elements."""
    c, k = r.randint(2, 9), r.randint(2, 9)
    shown = r.choice([f"{c} * x[i] + {k}", f"x[i] * x[i] - {c}", f"({c} - x[i]) * {k}", f"x[i] / {c} + {k}"])

    def judge(answer):
        for blocks, threads, size in ((2, 4, 8), (3, 4, 7), (2, 3, 20), (1, 5, 11)):
            _launch(answer, blocks, threads, size, lambda x, i: eval(shown, {"x": x, "i": i}))

    def source(indices: str) -> str:
        return f"{start}\n    for i in {indices}:\n        out[i] = {shown}\n"

    start = "def many_per_thread(block, thread, blocks, threads, x, out):"
    first, total = "block * threads + thread", "blocks * threads"
    return code(
        "Each thread of a launch calls this function once. `block` and `thread` are its numbers, which start at 0. `blocks` is "
        f"the number of blocks, and `threads` the number of threads in each. Write `out[i] = {shown}` for all elements of the "
        "list `x`, which may be more or fewer than the threads. One thread computes each element. In each step, neighbouring "
        "threads have to read neighbouring elements.",
        f"{start} ...",
        source(f"range({first}, len(x), {total})"),
        judge,
        "Such a loop works for a launch of any size, and a warp reads neighbouring elements in each round.",
        (source(f"range({first}, {first} + 1)"), "not exist"),
        (source(f"range({first}, min({first} + 1, len(x)))"), "not written"),
        (source(f"np.array_split(range(len(x)), {total})[{first}]"), "neighbour"),
        (source("range(thread, len(x), threads)"), "written twice"),
    )


@exercise(
    3,
    "In each round, a thread combines its number with the number `step` places away. Then step doubles: 1, 2, 4, ...",
    "A thread must not write while another thread still reads the old number: read, yield, write, yield.",
    "All threads have to reach each yield, even those without a partner.",
)
def block_scan(r: random.Random) -> Task:
    """Scan the numbers of a block of threads."""
    kinds = [("sum", "sum", "a + b"), ("largest", "max", "max(a, b)"), ("smallest", "min", "min(a, b)")]
    words, function, combine = r.choice(kinds)
    before = r.random() < 0.5
    region = "the numbers up to `shared[t]`" if before else "the numbers from `shared[t]` on"

    def judge(answer):
        f: Callable = {"sum": sum, "max": max, "min": min}[function]
        for size in (8, 5, 1, 32):
            values = [round(math.sin(7 * i + size) * 9, 2) for i in range(size)]
            for numbers in (values, sorted(values), sorted(values, reverse=True)):
                wanted = [f(numbers[: t + 1] if before else numbers[t:]) for t in range(size)]
                _run_block(answer, numbers, wanted)

    def source(partner: str, after_read: str = "yield", after_write: str = "yield") -> str:
        return (
            f"def block_scan(t, shared):\n    step = 1\n    while step < len(shared):\n        other = {partner}\n"
            "        b = shared[other] if 0 <= other < len(shared) else None\n        a = shared[t]\n"
            f"        {after_read}\n        if b is not None:\n            shared[t] = {combine}\n        {after_write}\n"
            "        step *= 2\n"
        )

    partner = "t - step" if before else "t + step"
    numbers = "shared[i] for i in " + ("range(t + 1)" if before else "range(t, len(shared))")
    slow = f"def block_scan(t, shared):\n    total = {function}({numbers})\n    yield\n    shared[t] = total\n"
    return code(
        "The $n$ threads of a block share the list `shared` of $n$ numbers. Write the function that thread `t` runs. "
        f"Afterwards, `shared[t]` is the {words} of {region}, as they were at the start. `yield` is the barrier: all threads "
        "reach it, in any order, "
        "before any of them goes on. Between two barriers, no thread may read or write a number that another one writes. No "
        "thread may read more than about $3 \\log_2 n$ numbers.",
        "def block_scan(t, shared): ...",
        source(partner),
        judge,
        "After k rounds each thread has combined 2^k numbers, and the two barriers keep reads and writes apart.",
        (source(partner, after_read="pass"), "race"),
        (source(partner, after_write="pass"), "race"),
        (source("t + step" if before else "t - step"), "expected"),
        (slow, "reads"),
    )


@exercise(
    3,
    "An `if` on a tensor cannot be compiled. torch.where(condition, a, b) can.",
    "0 * NaN is NaN, so choose between the step and zeros instead of multiplying the step by 0.",
)
def guarded_step(r: random.Random) -> Task:
    """Skip bad gradients in a compiled step."""
    rate, whole = r.choice([0.1, 0.2, 0.25, 0.5]), r.random() < 0.5
    what = "`w` stays as it is if any" if whole else "an element of `w` stays as it is if its"
    condition = "g.isfinite().all()" if whole else "g.isfinite()"

    def judge(answer):
        gradients = ([1.0, -2.0, 0.5], [1.0, math.nan, 2.0], [math.inf, 3.0, -1.0], [-math.inf, math.nan, math.inf])
        f = getattr(answer, "function", answer)  # the original of a compiled function
        _guarded(f, rate, whole, *gradients)
        try:
            _guarded(torch.compile(f, fullgraph=True), rate, whole, *gradients)
        except RuntimeError as e:
            if "cannot be compiled" not in str(e):
                raise
            raise Wrong(f"it is right, but not compiled: {str(e).splitlines()[0]}") from None

    def source(*lines: str) -> str:
        return "def guarded_step(w, g):\n    with torch.no_grad():\n" + "".join(f"        {line}\n" for line in lines)

    return code(
        f"Write a step of gradient descent that can be compiled with `fullgraph=True`. It subtracts {rate} times `g` from `w`, "
        f"in place. But {what} element of `g` is NaN or infinite. `w` is a leaf that requires grad, and `g` its gradient.",
        "def guarded_step(w, g): ...",
        source(f"w.sub_(torch.where({condition}, {rate} * g, torch.zeros_like(g)))"),
        judge,
        "where computes both values and picks one, so the program is the same for all values, and NaN does not spread.",
        (source(f"w.sub_({rate} * g * {condition})"), "nan"),
        (source(f"if {condition}.all():", f"    w.sub_({rate} * g)"), "not compiled" if whole else "expected"),
        (source(f"w.sub_({rate} * g)"), "w is"),
    )


def _guarded(f: Callable, rate: float, whole: bool, *gradients: list[float]) -> None:
    """Check that a step skips gradients that are NaN or infinite."""
    for given in gradients:
        w, g = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor(given)
        f(w, g)
        good = [math.isfinite(one) for one in given]
        good = [all(good)] * len(good) if whole else good
        wanted = [a - rate * b if use else a for a, b, use in zip([1.0, 2.0, 3.0], given, good)]
        expect.tensor(w, wanted, f"for g = {given} w")
        if not w.requires_grad or not w.is_leaf:
            raise Wrong("w is no longer a leaf that requires grad: update it under no_grad")


class _Memory:
    """Memory of simulated threads, which notes the thread of each read and write."""

    def __init__(self, name: str, numbers: list[float]):
        self.name, self.numbers, self.thread = name, list(numbers), 0
        self.log: list[tuple[int, int, str]] = []  # thread, element, and "read" or "written"

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, i: int) -> float:
        return self.numbers[self.noted(i, "read")]

    def __setitem__(self, i: int, value: float) -> None:
        self.numbers[self.noted(i, "written")] = value

    def noted(self, i: int, how: str) -> int:
        """Note an access to element i, and return i."""
        if not 0 <= i < len(self.numbers):
            raise Wrong(f"thread {self.thread} uses {self.name}[{i}], which does not exist")
        self.log.append((self.thread, i, how))
        return i


def _launch(kernel: Callable, blocks: int, threads: int, size: int, f: Callable) -> None:
    """Run a kernel for each thread, and check bounds, results and the order of reads."""
    launch = f"with {blocks} blocks of {threads} threads and {size} elements"
    x, out = _Memory("x", [3.0 * i - 7 for i in range(size)]), _Memory("out", [math.nan] * size)
    for t in range(blocks * threads):
        x.thread = out.thread = t
        kernel(t // threads, t % threads, blocks, threads, x, out)
    written = [i for _, i, how in out.log if how == "written"]
    if missing := set(range(size)) - set(written):
        raise Wrong(f"{launch}: element {min(missing)} is not written")
    if len(written) > size:
        raise Wrong(f"{launch}: element {max(written, key=written.count)} is written twice")
    expect.tensor(out.numbers, [f(x.numbers, i) for i in range(size)], f"{launch}: out")
    reads = [list(dict.fromkeys(i for reader, i, _ in x.log if reader == t)) for t in range(blocks * threads)]
    for a, b in zip(reads, reads[1:]):
        if any(j - i != 1 for i, j in zip(a, b)):
            raise Wrong(f"{launch}: neighbouring threads read elements that are not neighbours, {a[0]} and {b[0]}")


def _run_block(thread: Callable, values: list[float], wanted: list[float]) -> None:
    """Run the threads of a block from barrier to barrier, in two orders; raise Wrong for a race."""
    size, most = len(values), 3 * math.ceil(math.log2(len(values))) + 2
    for order in (1, -1):
        shared, reads = _Memory("shared", values), []
        running = {t: thread(t, shared) for t in range(size)[::order]}
        if not all(hasattr(one, "send") for one in running.values()):
            raise Wrong("the function has no yield: without a barrier, a thread cannot wait for the others")
        while running:
            ended, shared.log = [], []
            for shared.thread, one in running.items():
                if next(one, "end") == "end":
                    ended.append(shared.thread)
            if 0 < len(ended) < size:
                raise Wrong(f"with {size} threads, thread {ended[0]} ends while others wait at the barrier")
            for i in {i for _, i, how in shared.log if how == "written"}:
                if len(users := sorted({t for t, j, _ in shared.log if i == j})) > 1:
                    raise Wrong(f"a race: threads {users[0]} and {users[1]} use shared[{i}] between two barriers")
            reads += [t for t, _, how in shared.log if how == "read"]
            running = {} if ended else running
        if (largest := max(map(reads.count, range(size)))) > most:
            raise Wrong(f"for {size} numbers, a thread reads {largest} times: {most} are enough")
        expect.tensor(shared.numbers, wanted, f"with {size} threads shared")
