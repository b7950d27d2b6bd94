"""PyTorch's modules that have little to do here: decorators, settings, constants and errors."""

import importlib
from collections import namedtuple

import pytest

import minigrad
from minigrad.compat.placeholders import TABLE, module


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"top_level"}))
def test_each_row_is_a_module_with_its_names(name):
    found = module(name)
    assert found is module(name) and set(found.__all__) == {n for n in TABLE[name] if not n.startswith("_")}
    assert all(getattr(found, n) is value for n, value in TABLE[name].items())


PATHS = """jit compiler onnx backends accelerator multiprocessing special version types nn.attention nn.modules.utils
nn.common_types utils._pytree utils.hooks cuda.amp _dynamo""".split()


@pytest.mark.parametrize("path", PATHS)
def test_programs_import_them_under_pytorchs_names(path):
    with minigrad.as_torch():
        found = importlib.import_module(f"torch.{path}")
        assert all(hasattr(found, name) for name in found.__all__)


def test_decorators_return_what_they_decorate_with_and_without_options():
    def f(x):
        return 2 * x

    for decorator in (minigrad.jit.script, minigrad.jit.ignore, minigrad.jit.unused, minigrad.compiler.disable):
        assert decorator(f) is f
    assert minigrad.jit.ignore(drop=True)(f) is minigrad.jit.ignore(True)(f) is f
    assert minigrad.compiler.disable(recursive=False)(f) is minigrad.compiler.substitute_in_graph(len)(f) is f
    assert minigrad.jit.trace(f, minigrad.ones(2)) is f
    assert minigrad.jit.wait(minigrad.jit.fork(f, 3)) == 6


def test_questions_have_constant_answers():
    assert minigrad.jit.is_scripting() is minigrad.compiler.is_compiling() is minigrad.onnx.is_in_onnx_export() is False
    for kind in (minigrad.jit.ScriptModule, minigrad.jit.RecursiveScriptModule):
        assert not isinstance(minigrad.nn.ReLU(), kind)  # no module is compiled
    assert minigrad.get_num_interop_threads() == 1 and minigrad.version.cuda is None
    with minigrad.as_torch() as torch, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert torch.accelerator.is_available() == torch.cuda.is_available()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: minigrad.jit.save(None, "f"), r"jit.save: minigrad does not read or write TorchScript.*state_dict"),
        (
            lambda: minigrad.jit.load("f"),
            r"jit.load: minigrad does not read or write TorchScript.*save model.state_dict",
        ),
        (
            lambda: minigrad.onnx.export(None, ()),
            r"onnx.export: minigrad does not write ONNX files.*load them in PyTorch",
        ),
    ],
)
def test_files_that_minigrad_does_not_write_say_what_to_write(call, says):
    with pytest.raises(NotImplementedError, match=f"(?s){says}"):
        call()


def test_settings_are_stored():
    for set_value, get_value, value in (
        (minigrad.use_deterministic_algorithms, minigrad.are_deterministic_algorithms_enabled, True),
        (minigrad.set_float32_matmul_precision, minigrad.get_float32_matmul_precision, "high"),
    ):
        before = get_value()
        for given in (value, before, value):
            set_value(given)
            assert get_value() == given
        set_value(before)
    minigrad.use_deterministic_algorithms(False, warn_only=True)
    with minigrad.backends.cudnn.flags(benchmark=True):
        assert minigrad.backends.cudnn.benchmark
    assert not minigrad.backends.cudnn.benchmark and not minigrad.backends.mps.is_available()


def test_a_type_of_tensors_becomes_the_default():
    minigrad.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert minigrad.ones(1).dtype is minigrad.float64
    finally:
        minigrad.set_default_tensor_type(minigrad.FloatTensor)
    assert minigrad.ones(1).dtype is minigrad.float32


def test_special_functions_are_those_of_the_top_level():
    for name, other in {"expit": "sigmoid", "psi": "digamma", "gammaln": "lgamma", "multigammaln": "mvlgamma"}.items():
        assert getattr(minigrad.special, name) is getattr(minigrad, other)
    assert minigrad.special.softmax is minigrad.softmax
    assert all(
        f.__module__.startswith("minigrad.") for f in [getattr(minigrad.special, n) for n in minigrad.special.__all__]
    )


def test_what_is_gone_says_what_to_use():
    for name, says in {
        "futures.Future": "concurrent.futures",
        "library.Library": "custom_op",
        "multiprocessing.spawn": "distributed.run",
    }.items():
        with minigrad.as_torch(), pytest.raises(NotImplementedError, match=says):
            exec(f"from torch.{name.rpartition('.')[0]} import {name.rpartition('.')[2]} as it\nit()")


class Pair:
    def __init__(self, first, second, name):
        self.first, self.second, self.name = first, second, name


def test_a_registered_class_is_a_tree_for_transforms():
    pytree = module("pytree")
    pytree.register_pytree_node(Pair, lambda p: ([p.first, p.second], p.name), lambda parts, name: Pair(*parts, name))
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, lambda p: ([], None), lambda parts, rest: None)
    p = Pair(minigrad.tensor(2.0), (minigrad.tensor(3.0), minigrad.tensor(5.0)), "p")
    assert [x.item() for x in pytree.tree_flatten(p)[0]] == [2, 3, 5]
    found = minigrad.func.grad(lambda p: p.first * p.second[0] + p.second[1] ** 2)(p)
    assert type(found) is Pair and found.name == "p"
    assert (found.first.item(), found.second[0].item(), found.second[1].item()) == (3, 2, 10)


def test_named_tuples_are_trees_already():
    pytree = module("pytree")
    point = namedtuple("point", "x y")
    pytree.register_pytree_node(point, lambda p: (list(p), None), lambda parts, rest: point(*parts))
    assert pytree.tree_map_only(int, lambda x: 2 * x, point(1, "a")) == point(2, "a")
