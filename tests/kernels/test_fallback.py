"""NumPy computes instead where no kernel can be had, with one warning that blames no caller."""

import warnings

import numpy as np
import pytest

import minigrad
from minigrad.errors import InternalError, MinigradWarning
from minigrad.kernels import cache, fallback, pointwise_calls
from minigrad.kernels.cpu import conv_cpu, index_cpu, pool_cpu, reductions_cpu, scans_cpu
from minigrad.nn import functional as F
from minigrad.warmup import row_functions
from tests.forked import ROOT, python

WAYS = {
    "numba is not there": "sys.modules['numba'] = None",
    "numba is half imported": "import types; sys.modules['numba'] = types.ModuleType('numba')",
    "numba does not compile": (
        "import numba.core.dispatcher as d\n"
        "exec('def fail(*_, **__): raise RuntimeError()', there := {'__name__': 'numba.broken'})\n"
        "d.Dispatcher.compile = d._FunctionCompiler.compile = there['fail']"
    ),
    "llvmlite is another's": "import numba, llvmlite; del llvmlite.__version__",
}

PROGRAM = """
import sys, warnings
{way}
import numpy as np
import minigrad
from tests.kernels.test_fallback import differences
given = differences()
print(len(given), *{{w.message.name for w in given}})
"""


def large_functions():
    """Functions whose kernels are written by hand, and some that are made of formulas."""
    return {
        **row_functions(),
        "embedding": lambda x: F.embedding(x.detach().reshape(-1)[:20000].long() * 0, x.reshape(-1, 16)),
        "conv2d": lambda x: F.conv2d(x.reshape(1, 8, 64, -1), x.new_ones(8, 8, 3, 3).requires_grad_(), x.new_ones(8)),
        "exp": lambda x: x.exp(),
        "gelu": lambda x: F.gelu(x),
        "mul": lambda x: x * x.flip(0),
        "column": lambda x: x * x[:, :1].exp(),
        "where": lambda x: minigrad.where(x > 0.5, x, -2 * x),
        "in place": lambda x: (x * 1).exp_(),
        "softmax over rows": lambda x: F.softmax(x.reshape(64, -1), 0),
        "flip": lambda x: x.flip(1),
        "pad": lambda x: F.pad(x, (3, 3)),
        "tril": lambda x: x.reshape(2, 128, -1).tril(),
        "cdist": lambda x: minigrad.cdist(x.reshape(-1, 4), 2 * x.reshape(-1, 4)[:50]),
        "scatter_add": lambda x: x.scatter_add(1, (x.detach() * 0).long(), x),
        "index_put": lambda x: x.reshape(-1).index_put((x.detach()[0].long() * 0,), x[1], accumulate=True),
        "cumprod": lambda x: x.cumprod(1),
        "group_norm": lambda x: F.group_norm(x.reshape(4, 16, -1), 4),
        "index_select": lambda x: x.index_select(1, x.detach()[0].long() * 0),
        "normal": lambda x: x * drawn(minigrad.randn, 32, 1 << 12),
        "permutation": lambda x: x.reshape(1, -1)[:, drawn(minigrad.randperm, 1 << 17)],
    }


def drawn(f, *size):
    """Return random numbers, the same each time."""
    return f(*size, generator=minigrad.Generator().manual_seed(1))


def computed(f, forward_alone=False):
    """Return a function's value and gradient, on arrays that are worth kernels; `forward_alone` without kernels at first."""
    x = minigrad.linspace(0.1, 0.9, 1 << 17).reshape(32, -1).requires_grad_()
    token = cache.without.set(forward_alone)
    try:
        y = f(x)
    finally:
        cache.without.reset(token)
    (g,) = minigrad.autograd.grad(y, x, minigrad.ones_like(y))
    return y.detach().numpy(), g.numpy()


def differences():
    """Return the warnings of failing kernels, in forward and backward; each function in turn is the first to fail."""
    found = []
    for name, f in large_functions().items():
        fallback.Compiler.failed = RuntimeError("kernels are switched off")
        wanted = computed(f)
        for forward_alone in (False, True):
            fallback.Compiler.failed = None
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always", MinigradWarning)
                got = computed(f, forward_alone)
            for a, b in zip(got, wanted, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=name)
            assert len(given) <= 1, (name, [str(w.message) for w in given])
            found += given
    return found


@pytest.mark.cpu("is about Numba on the processor")
@pytest.mark.parametrize(
    "way", [way if i == 0 else pytest.param(way, marks=pytest.mark.slow) for i, way in enumerate(WAYS)]
)
def test_operations_go_on_with_numpy(way, tmp_path):
    done = python("-c", PROGRAM.format(way=WAYS[way]), cwd=ROOT, new=True, MINIGRAD_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    number, *names = done.stdout.decode().split()
    assert names == ["no-kernels"] and int(number) >= len(large_functions())


def failing(*_):
    raise cause


cause = RuntimeError("the compiler is out of order")


ON_FEW = [  # a module of kernels, and a function of 100 floats or 100,000 integers
    (scans_cpu, lambda x: x.cumsum(0)),
    (reductions_cpu, lambda x: x.sum()),
    (conv_cpu, lambda x: F.conv2d(x.reshape(1, 4, 5, -1), x[:36].reshape(1, 4, 3, 3))),
    (pool_cpu, lambda x: F.max_pool2d(x.long().reshape(1, 4, 5, -1), 2) + 0 * x.sum()),
    (index_cpu, lambda x: x[minigrad.zeros(x.numel() // 2).long()]),
    (index_cpu, lambda x: F.embedding(minigrad.zeros(10).long(), x.reshape(-1, 10))),
]


@pytest.mark.parametrize("module, f", ON_FEW)
def test_small_arrays_and_integers_are_numpys(module, f, monkeypatch):
    monkeypatch.setattr(module, "module", None)
    x = minigrad.ones(100, requires_grad=True)
    f(x).sum().backward()
    f(minigrad.arange(100_000))


@pytest.fixture
def broken(monkeypatch):
    """Let no kernel load."""
    monkeypatch.setattr(fallback.Compiler, "failed", None)
    monkeypatch.setattr(fallback, "from_compiler", lambda e: e is cause)


def test_one_warning_says_what_failed_and_what_to_do(broken):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert fallback.again(cause, lambda x: x + 1, 2) == 3
    (warning,) = given
    said = str(warning.message)
    assert "falls back to NumPy, which is slower: RuntimeError: the compiler is out of order" in said
    assert "To fix: run `minigrad doctor --fix`" in said and "[no-kernels]" in said
    assert fallback.only_definitions() and fallback.numpy_only()


@pytest.mark.cpu("is about Numba on the processor")
@pytest.mark.filterwarnings("error")
def test_a_warning_that_is_an_error_is_raised_at_every_operation(monkeypatch):
    """Callers compute again when something fails; the second time must not pass in silence."""
    monkeypatch.setattr(fallback.Compiler, "failed", None)
    monkeypatch.setattr(fallback, "from_compiler", lambda e: e is cause)
    monkeypatch.setattr(pointwise_calls, "choose", failing)
    for _ in range(2):
        with pytest.raises(MinigradWarning, match="no-kernels"):
            minigrad.exp(minigrad.zeros(2 * pointwise_calls.SIZES["many"]))


def test_a_folder_that_is_gone_is_named_as_the_cause(broken, monkeypatch):
    """Numba asks for the name of the working folder when it compiles."""

    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(fallback.os, "getcwd", gone)
    with pytest.warns(MinigradWarning, match="start the program in another folder: its working directory has been"):
        assert fallback.again(cause, lambda x: x + 1, 2) == 3


def test_what_fails_without_kernels_too_is_no_fault_of_the_compiler(broken):
    with pytest.raises(ZeroDivisionError):
        fallback.again(cause, lambda: 1 // 0)
    assert fallback.Compiler.failed is None


def test_types_that_numba_cannot_take_leave_the_other_kernels(broken, monkeypatch):
    from numba.core.errors import TypingError

    monkeypatch.setattr(fallback, "from_compiler", lambda e: True)
    with pytest.warns(MinigradWarning, match="no-kernels"):
        assert fallback.again(TypingError("no type for this"), lambda: 1) == 1
    assert fallback.Compiler.failed is None


def test_an_internal_failure_says_so_and_keeps_its_cause(monkeypatch):
    ours = {"__name__": "minigrad.ours"}
    exec("def interval(*_): return None.shape", ours)
    monkeypatch.setattr(minigrad.ops.sort, "interval", ours["interval"])
    with pytest.raises(InternalError) as caught:
        minigrad.histc(minigrad.ones(3), 5)
    e = caught.value
    assert isinstance(e, RuntimeError) and isinstance(e, minigrad.MinigradError)
    assert "minigrad failed internally, which is not your mistake" in str(e)
    assert "AttributeError: 'NoneType' object has no attribute 'shape'" in str(e)
    assert e.operation == "histc" and "minigrad doctor --fix" in e.remedy
    assert type(e.__cause__) is AttributeError and e.__cause__.__traceback__ is not None


# ---------------------------------------------------------------------- loading the compiler
LOADING = """
import sys, minigrad
x, w = minigrad.randn(32, 64, requires_grad=True), minigrad.randn(64, 8, requires_grad=True)
for _ in range({rounds}):
    loss = minigrad.nn.functional.cross_entropy((x @ w).tanh().softmax(-1).cumsum(0), minigrad.arange(32) % 8)
    loss.backward()
    minigrad.cdist(x.detach()[:4], x.detach()[:8]), minigrad.randn(20, 100).topk(2)
    minigrad.randn({size}).sigmoid()
print("numba" in sys.modules)
"""


@pytest.mark.parametrize(("rounds", "size", "loaded"), [(1, 2000, False), (1, 5000, True), (2000, 2000, True)])
def test_the_compiler_is_loaded_for_large_arrays_and_for_many_small_ones(rounds, size, loaded):
    done = python("-c", LOADING.format(rounds=rounds, size=size), cwd=ROOT, new=True)
    assert done.stdout.split() == [str(loaded).encode()], done.stderr


FEW = """
import sys, minigrad
F, x = minigrad.nn.functional, minigrad.randn(1, 3, 8, 8, requires_grad=True)
for _ in range(1100):
    F.cross_entropy(F.avg_pool2d(F.max_pool2d(x, 2), 2).flatten(2).mT, minigrad.zeros(1, 3).long()).backward()
print("numba" in sys.modules)
"""


def test_few_elements_never_load_the_compiler():
    done = python("-c", FEW, cwd=ROOT, new=True)
    assert done.stdout.split() == [b"False"], done.stderr
