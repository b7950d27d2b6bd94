"""Expressions that strangers may put into a link: random ones by a grammar, from a seed, and a table of directed ones."""

import random
from collections.abc import Iterator

from viz.recompute.library import Library, operations

LIST = "131,072 elements that are allowed"
SIZE = "131,072 are allowed"
WORK = "makes more than 16,777,216 elements"
FEW = "64 are allowed"
INSIDE = "more than 250 calls are inside each other"
LEVELS = "more than 100 levels deep"
LETTERS = "".join(chr(0x4E00 + i) for i in range(20_000))
# by the expression: words of the sentence that it gives; "" if it gives a value
DIRECTED = {
    "requires_grad()": "requires_grad needs an argument",
    # lists that repeat
    "exp([[0]*9999]*9999)": LIST,
    "exp([[0]*131072]*131072)": LIST,
    "mapped('length', [[0]*131072]*131072)": LIST,
    "[[[[[[[0]*64]*64]*64]*64]*64]*64]*64": LIST,
    "[[0]*131072, [0]*131072]": LIST,
    "x[[[0]*131072]*131072]": LIST,
    "x[[0]*131072]": SIZE,
    "x[[0]*131072, [0]*131072]": "",
    "[0]*131072*131072": "17,179,869,184 elements",
    "[0]*2**53": "9007199254740992 elements",
    "[0]*65536 + [0]*65537": "131,073 elements",
    "[[]]*131073": "131,073 elements",
    "3 * [1, 2]": "",
    "[0]*-1": "",
    "[0]*nan": "no size",
    "[0]*1.5": "no size",
    "[0]*inf": "no size",
    "exp(*[0]*131072)": "exp takes at most",
    "mapped('exp', *[[x]*70]*70)": "71 arguments of mapped, and 64 are allowed",
    "cat(" + "*[0]*131072, " * 7000 + "x)": WORK,
    "'a' * 1000000000": "neither a tensor nor a number",
    "'a' + 'b'": "neither a tensor nor a number",
    # sizes
    "tile(x, [1]*131072)": LIST,
    "tile(x, [2]*20)": SIZE,
    "x.repeat(*[1]*131072)": FEW,
    "x.reshape([1]*64 + [6])": "65 dimensions",
    "x.reshape([1]*63 + [6])": "",
    "x.reshape(-2, -3)": "has no size",
    "x.reshape(-1, -1)": "cannot be reshaped",
    "x.reshape(1.5, 4)": "has no size",
    "x.expand([2**53, 2, 3])": SIZE,
    "x.expand(-5, 2, 3)": "has no size",
    "x[" + "None, " * 63 + "None]": "65 dimensions",
    "x.sum([0]*131072)": FEW,
    "x.sum([0]*65)": FEW,
    "x.movedim([0]*131072, [1]*131072)": FEW,
    "zeros(-1, -1)": "has no size",
    "zeros(1.5)": "has no size",
    "zeros(nan)": "has no size",
    "zeros([1]*65)": "65 dimensions",
    "zeros(-0)": "",
    "zeros(2**53, 0)": "",
    "zeros(2**53, 0).sum(1)": SIZE,
    "zeros(131072, 131072)": "17,179,869,184 elements",
    "arange(1e18)": SIZE,
    "arange(0, 1, 1e-300)": "e+299 elements",
    "arange(0, 1, 0)": "has no size",
    "linspace(0, 1, 2**53)": SIZE,
    "eye(100000)": SIZE,
    "one_hot(n, 2**53)": SIZE,
    "interpolate(ones(1, 1, 2, 2), size=[2**20, 2**20])": SIZE,
    "pad(x, [2**53, 2**53])": SIZE,
    # many tensors
    "cat([x]*131072)": SIZE,
    "cat([zeros(0)]*131072)": "",
    "stack([x]*131072)": "262,144 calls",
    "split(x, [0]*131072)": "",
    "tensor_split(x, [0]*131072)": WORK,
    "x.roll([1]*131072, [0]*131072)": WORK,
    "broadcast_tensors(*[v]*65536)": "",
    "meshgrid(*[v]*64)": SIZE,
    "cartesian_prod(*[v]*20)": SIZE,
    "combinations(v, 2**31)": "2,147,483,648 elements",
    "as_given('exp', [x]*131072)": "262,144 calls",
    "mapped('zeros', [131072]*300)": WORK,
    "mapped('mapped', ['mapped']*20" + ", ['mapped']*20" * 9 + ", ['length']*20, [0]*9)": "262,144 calls",
    "x.unbind(1)": "",
    # products
    "einsum('" + "a," * 30000 + "a', *([x]*30001))": '"a" for 2 dimensions',
    "einsum('" + "a," * 30000 + "a', *([v]*30001))": "",
    "einsum('" + "a," * 300 + "a', *[zeros(131072)]*301)": WORK,
    "einsum('a,b,c,d,e,f,g,h,i,j,k,l', *[v]*12)": SIZE,
    f"einsum('{LETTERS}', x)": "einsum:",
    "einsum('ij,jk', x)": "2 terms for 1 operands",
    "+".join(["(ones(362, 362) @ ones(362, 362)).sum()"] * 400): WORK,
    "zeros(131072, 0) @ zeros(0, 131072)": SIZE,
    "zeros(0, 131072) @ zeros(131072, 1)": "",
    "conv1d(zeros(1, 1, 60000), zeros(1, 1, 60000), padding=60000)": SIZE,
    "unfold(zeros(1, 1, 300, 300), 300, dilation=2**53)": SIZE,
    "x.unfold(1, 1, 0)": "has no size",
    "max_pool2d(zeros(1, 1, 300, 300), -3)": "has no size",
    # matrices
    "linalg.inv(eye(362))": "",
    "linalg.cholesky(eye(362))": WORK,
    "matrix_power(eye(362), 240)": WORK,
    "permutation(full([1], 2**30, dtype=int64), 3, float32)": "a pivot is none of 3 rows",
    "permutation(full([1], -5, dtype=int64), 3, float32)": "a pivot is none of 3 rows",
    "permutation(full([1], 1, dtype=int64), 131072, float32)": SIZE,
    # calls inside calls
    "matrix_power(eye(3), 2**53)": INSIDE,
    "matrix_power(eye(3), 0.5)": INSIDE,
    "exp_series(eye(2), -2**31)": INSIDE,
    "ends(1, -1)": INSIDE,
    "place_of(9, x.shape, 0)": "index 2 is out of 2 elements",
    "reflected(x, x, x, 2**31)": "index 2147483648 is out of 3 elements",
    "sign_factorial(2**53)": SIZE,
    "mvlgamma(x, 2**53)": SIZE,
    "special.zeta(x, -2**53)": SIZE,
    "lgamma(full([13000], 0.5))": "",
    "erfinv(linspace(-1, 1, 131072))": "",
    # long and deep texts
    " or ".join(["0"] * 3000): "",
    " and ".join(["1"] * 3000): "",
    "+".join(["x"] * 40_000): "",
    "x ** " * 5000 + "x": LEVELS,
    "not " * 20_000 + "x": LEVELS,
    "-" * 90_000 + "x": LEVELS,
    "1 if 0 else " * 8000 + "1": LEVELS,
    "(" * 40_000 + "x" + ")" * 40_000: LEVELS,
    "[" * 40_000 + "]" * 40_000: LEVELS,
    "exp(" * 98 + "x" + ")" * 98: "",
    "x" + ".T" * 40_000: "",
    "x" + "[0]" * 30_000: "1 indices for 0 dimensions",
    "[" + "1," * 49_000 + "]": "",
    " " * 99_990 + "x": "",
    ("x" + " " * 300 + "+") * 300 + "x": "",
    "'" + "a" * 99_000: "has no meaning",
    "1" * 99_000: "",
    "a" * 99_000: "is not a name of the record",
    # indices
    "x[::0]": "a positive step",
    "x[2**53]": "is out of 2 elements",
    "x[-2**53:2**53]": "",
    "x[nan]": "index NaN is out of 2 elements",
    "x[v]": "an index is no integer",
    "x.gather(1, x)": "an index is no integer",
    "x[:, :, :]": "3 indices for 2 dimensions",
    "x.shape[9]": "index 9 is out of 2 elements",
    # names of prototypes, other alphabets, and what is no expression
    "x.__proto__": "is not live",
    "x.constructor('return 1')": "is not live",
    "constructor": "is not a name",
    "__proto__": "is not a name",
    "x.hasOwnProperty('shape')": "is not live",
    "toString(x)": "is not live",
    "linalg.": "is not a name",
    "linalg.constructor(x)": "is not live",
    "mapped('__proto__', [x])": "is not live",
    "pointwise('constructor', x)": "is not one of",
    "x.to('constructor')": "is not one of",
    "sum(x, __proto__=1)": "has no argument",
    "sum()": "sum needs the argument input",
    "x * 'a'": "neither a tensor nor a number",
    "x + [x]": "neither a tensor nor a number",
    "... + 1": "neither a tensor nor a number",
    "x & 0.5": "cannot compute with these arguments",
    "\u00e9": "has no meaning",
    "\U0001d499 + 1": "has no meaning",
    "x\u202e": "has no meaning",
    "'\ud800'": "",
    "x\0": "has no meaning",
    "x.exp(": "unexpected",
    "exp(*5)": "* is for lists",
    "*x": "unexpected",
    "x = 1": "expected",
    "lambda: 0": "expected",
    # odd numbers
    "1 / 0": "",
    "1e999 - 1e999": "",
    "2 ** 2 ** 2 ** 2 ** 2 ** 2": "",
    "x / 0 // 0 % 0": "",
    "~1.5": "",
    "-0": "",
}

NUMBERS = "0 1 2 3 -1 -0 -0.0 0.5 -7 64 65 300 4096 9999 131072 131073 1e9 2**31 2**53 -2**53".split()
NUMBERS += "1e308 5e-324 1e999 nan -inf".split()
NAMES = "x v n None True False inf nan ... float32 int64 bool x.shape x.T n.dtype".split()
STRANGE = (
    "__proto__ constructor prototype toString hasOwnProperty valueOf é 𝒙 \u202e \u200b \ud800 h window this".split()
)
STRINGS = ["ij,jk->ik", "a," * 200 + "a", "mul", "mapped", "exp", "length", "reflect", "Add", "tanh", "sum", *STRANGE]
SIGNS = "+ - * / // % ** @ & | ^ << >> == != < <= > >= is and or".split()


class Writer:
    """Writes random expressions in the grammar of labels."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        library = Library.of(operations())
        library.needed(None)
        self.signatures = library.made["signatures"]
        self.functions = sorted(library.functions.by_hand | {*self.signatures, *library.made["definitions"]})

    def expression(self, depth: int) -> str:
        """Return an expression with at most `depth` levels."""
        more = [self.call, self.call, self.call, self.method, self.listed, self.joined, self.repeated, self.subscript]
        kinds = [self.atom, *(() if depth <= 0 else (*more, self.choice, self.chain, self.wrapped))]
        return self.random.choice(kinds)(depth - 1)

    def atom(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.5:
            return self.random.choice(NAMES[:3])
        if kind < 0.75:
            return self.random.choice(NUMBERS)
        if kind < 0.9:
            return self.random.choice(NAMES)
        return f"'{self.random.choice(STRINGS)}'" if kind < 0.97 else self.random.choice(STRANGE)

    def several(self, depth: int, most: int = 4) -> list[str]:
        return [self.expression(depth) for _ in range(self.random.randint(0, most))]

    def arguments(self, name: str, depth: int) -> str:
        signature = self.signatures.get(name, ())
        likely = lambda k: self.random.choice(NAMES[:3]) if k == 0 else self.number()  # noqa: E731
        one = lambda k: likely(k) if self.random.random() < 0.5 else self.expression(depth)  # noqa: E731
        given = [one(k) for k in range(min(len(signature), self.random.randint(1, 5)))] or self.several(depth)
        given = [f"*[{one}]*{self.number()}" if self.random.random() < 0.04 else one for one in given]
        if signature and self.random.random() < 0.3:
            given.append(f"{self.random.choice(signature)['parameter']}={self.expression(depth)}")
        return ", ".join(given)

    def number(self) -> str:
        return self.random.choice(NUMBERS)

    def call(self, depth: int) -> str:
        name = self.random.choice(self.functions if self.random.random() < 0.98 else STRANGE)
        return f"{name}({self.arguments(name, depth)})"

    def method(self, depth: int) -> str:
        name = self.random.choice(self.functions)
        return f"{self.expression(depth)}.{name}({', '.join(self.several(depth, 3))})"

    def listed(self, depth: int) -> str:
        return f"[{', '.join(self.several(depth))}]"

    def repeated(self, depth: int) -> str:
        return f"[{self.expression(depth)}]*{self.number()}"

    def joined(self, depth: int) -> str:
        return f"{self.expression(depth)} {self.random.choice(SIGNS)} {self.expression(depth)}"

    def subscript(self, depth: int) -> str:
        kinds = [":", "None", "...", f"{self.number()}:", f"::{self.number()}", self.expression(depth)]
        return f"{self.expression(depth)}[{', '.join(self.random.choices(kinds, k=self.random.randint(1, 3)))}]"

    def choice(self, depth: int) -> str:
        return f"({self.expression(depth)} if {self.expression(depth)} else {self.expression(depth)})"

    def chain(self, depth: int) -> str:
        sign, one = f" {self.random.choice(SIGNS)} ", self.expression(depth)
        times = min(self.random.choice((3, 40, 400)), 1 + 20_000 // len(one))
        return f"({sign.join([one] * times)})"

    def wrapped(self, depth: int) -> str:
        times = self.random.choice((2, 30, 150, 1000))
        begin, end = self.random.choice(
            [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("exp(", ")"), ("2 ** ", ""), ("", ".T"), ("", "[0]")]
        )
        return f"{begin * times}{self.expression(depth)}{end * times}"

    def damaged(self, text: str) -> str:
        """Return a text without, or with other, characters at some places."""
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(text) + 1)
            other = self.random.choice(["", "(", "]", "'", ",", ".", "*", "\\", "\0", *STRANGE])
            text = text[:at] + other + text[at + 1 :]
        return text


def expressions(seed: int, count: int) -> Iterator[str]:
    """Yield random expressions; some are damaged."""
    writer = Writer(seed)
    for _ in range(count):
        text = writer.expression(writer.random.randint(1, 5))[:100_000]
        yield writer.damaged(text) if writer.random.random() < 0.08 else text
