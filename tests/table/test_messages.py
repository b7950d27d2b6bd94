"""Wrong and odd arguments: each operation computes or tells the user why not, and NumPy's own warnings never appear.

Also what the table itself refuses, and that its functions are those that users call.
"""

import functools
import inspect
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.errors import InternalError, MinigradError
from minigrad.ops.base.registry import TABLE, enter
from tests.floats import FLOAT
from tests.table import NAMES, Maker, each_operation, run, tracked

CHANGES = {
    "without the first dimension": lambda shape: shape[1:],
    "without the last dimension": lambda shape: shape[:-1],
    "with one more dimension": lambda shape: (2, *shape),
    "longer at first": lambda shape: (shape[0] + 1, *shape[1:]) if shape else (2,),
    "longer at last": lambda shape: (*shape[:-1], shape[-1] + 1) if shape else (3,),
    "empty at first": lambda shape: (0, *shape[1:]),
    "empty at last": lambda shape: (*shape[:-1], 0),
}


class Changed(Maker):
    """A maker that changes the shape of tensor number `which`."""

    def __init__(self, entry, sample, which, change):
        super().__init__(minigrad, entry, sample)
        self.which, self.change, self.made = which, change, 0

    def shape(self, shape):
        self.made += 1
        return self.change(shape) if self.made == self.which + 1 else shape

    def T(self, *shape):
        return super().T(*self.shape(shape))

    def P(self, *shape):
        return super().P(*self.shape(shape))

    def I(self, *shape_and_high):  # noqa: E743
        *shape, high = shape_and_high
        return super().I(*self.shape(tuple(shape)), high)

    def B(self, *shape):
        return super().B(*self.shape(shape))


def arguments(maker, sample):
    names = {n: getattr(maker, n) for n in "TPISB"} | {"torch": minigrad}
    return eval(f"(lambda *args, **settings: (args, settings))({sample})", names)


@each_operation(NAMES)
def test_a_shape_that_does_not_fit_is_an_error_of_the_user(name, sample):
    entry, internal = TABLE[name], []
    counting = Changed(entry, sample, -1, None)
    arguments(counting, sample)
    for which in range(counting.made):
        for said, change in CHANGES.items():
            try:
                args, settings = arguments(Changed(entry, sample, which, change), sample)
            except MinigradError:  # the sample itself reshapes its tensors
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    entry.function(*args, **settings)
                except InternalError as e:
                    internal.append(f"tensor {which} {said}: {e}")
                except MinigradError:
                    pass
    assert internal == []


def first_is_a_tensor(entry):
    """Return True if a tensor is the first argument of a function that is not one of the written-out ones."""
    first = next(iter(inspect.signature(entry.function).parameters.values()))
    return entry.cls is None and first.annotation == "Tensor" and first.kind is first.POSITIONAL_OR_KEYWORD


@pytest.mark.parametrize("name", [n for n, e in sorted(TABLE.items()) if "." not in e.torch and first_is_a_tensor(e)])
def test_an_argument_that_is_no_tensor_is_refused_by_name_and_type(name):
    f = TABLE[name].function
    first, *rest = inspect.signature(f).parameters.values()
    required = [p for p in rest if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    for wrong in ([1.0, 2.0], "spam", object()):
        said = f"^[a-z0-9_.]*: argument '{first.name}' must be Tensor, not {type(wrong).__name__}"
        with pytest.raises(TypeError, match=said):
            f(wrong, *[minigrad.ones(2) if p.annotation == "Tensor" else 1 for p in required])


DIMENSIONS = "dim dim0 dim1 axis0 axis1 start_dim end_dim source destination".split()
UNCHECKED = {"linalg.matrix_norm"}  # wants two


def dimensions(name):
    """Return the names of an operation's parameters that are dimensions."""
    parameters = inspect.signature(TABLE[name].function).parameters.values()
    return [p.name for p in parameters if p.name in DIMENSIONS and p.annotation != "Tensor"]


@pytest.mark.parametrize("name, which", [(n, d) for n in NAMES if n not in UNCHECKED for d in dimensions(n)])
def test_a_missing_dimension_is_out_of_range(name, which):
    entry = TABLE[name]
    args, settings = arguments(Maker(minigrad, entry, entry.samples[0]), entry.samples[0])
    call = inspect.signature(entry.function).bind(*args, **settings)
    for missing in (9, -9):
        call.arguments[which] = missing
        with pytest.raises(IndexError, match=rf"Dimension out of range \(expected .*, but got {missing}\)"):
            entry.function(*call.args, **call.kwargs)


ODD = [0.0, -1.0, np.inf, -np.inf, np.nan, 1e300, 1e-310, -0.0, 3.0]


@pytest.mark.cpu("NumPy's warnings")
@pytest.mark.parametrize("dtype", FLOAT)
@each_operation(NAMES)
def test_odd_numbers_cause_no_warning_of_numpy(name, sample, dtype):
    with np.errstate(all="ignore"):
        odd = [np.resize(ODD, tuple(leaf.shape)).astype(dtype) for leaf in run(name, sample)[1]]
    for setting in ("warn", "raise"):
        leaves = [minigrad.tensor(a, requires_grad=True) for a in odd]
        with warnings.catch_warnings(), np.errstate(all=setting):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                outs = tracked(run(name, sample, leaves=leaves)[0])
                for create_graph in (True, False):
                    ones = [minigrad.ones_like(o) for o in outs]
                    grad(outs, leaves, ones, create_graph=create_graph, retain_graph=True, allow_unused=True)
            except MinigradError as e:  # a decomposition that does not exist, a gradient of nothing
                assert "registry" not in str(e)


def found_at(path):
    """Return the object at a dotted path in minigrad, or None."""
    try:
        return functools.reduce(getattr, path.split("."), minigrad)
    except AttributeError:
        return None


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_function_of_the_table_is_the_one_that_users_call(name):
    assert found_at(TABLE[name].torch or name) in (None, TABLE[name].function, TABLE[name].method)


def test_an_operation_cannot_replace_another_of_its_name():
    before = TABLE["exp"]
    with pytest.raises(AssertionError, match="two operations are called exp"):
        enter("exp", len, ("T()",))
    assert TABLE["exp"] is before


def test_a_misspelt_word_of_a_declaration_is_refused():
    with pytest.raises(TypeError, match="inplcae"):
        enter("another", len, ("T()",), inplcae=True)
    assert "another" not in TABLE


def test_a_failing_check_names_its_sample():
    @each_operation(["exp"])
    def check(name, sample):
        raise ValueError("wrong")

    with pytest.raises(ValueError) as failed:
        check("exp")
    assert failed.value.__notes__ == [f"the sample is exp({TABLE['exp'].samples[0]})"]
