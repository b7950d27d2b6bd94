"""A subclass may override whatever PyTorch's own classes let it override: both libraries call the same methods.

Every method of every public class is overridden in both libraries by one that notes its name and calls super (overrides.py).
The same programs (override_programs.py, for the classes of override_cases.py) run with both, and their notes are compared,
step by step.  DIFFERENT lists what remains, with the reason.
"""

import inspect
import re
import warnings

import pytest
import torch

pytest.importorskip("expecttest")

import minigrad
from tests.parity import overrides
from tests.parity.databases import found
from tests.parity.override_cases import cases, evaluated

LIBRARIES = torch, minigrad


def notes(path, run):
    """Return the notes of both libraries."""
    wanted, seen = overrides.names(found(torch, path)), []
    for lib in LIBRARIES:
        steps = overrides.Steps(lib)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(steps, steps.subclass(found(lib, path), wanted))
        seen.append(steps.found)
    return seen


# classes :: steps :: the overrides that PyTorch ("-") or minigrad ("+") alone calls, or both, not equally often ("#"); why
DIFFERENT = r"""
nn.(RNN|LSTM|GRU) :: .* :: -(_weights_have_changed|_update_flat_weights)
    PyTorch keeps a second list of the weights and asks whether it is stale; here there is one
nn.(RNN|LSTM|GRU) :: .*copy :: -(_init_flat_weights|flatten_parameters)
    as above: a copy has no second list
nn.LSTM :: call.* :: \+(check_.*|get_expected_.*)
    PyTorch does not check the states of a packed batch, but crashes; here they are checked
nn.Lazy.* :: call :: -_get_(in_channels|num_spatial_dims)
    every lazy class reads the size of one dimension: there is no method of convolutions alone
nn.Lazy.* :: construct|call :: [+#](reset_running_stats|register_.*|_check_input_dim)
    PyTorch makes a lazy layer without parameters and adds them; here it has them, and initialize_parameters checks too
nn.Sequential :: .* :: -_get_item_by_idx
    a helper of __getitem__ that has an iterator as its argument
nn.Unflatten :: construct :: -_require_.*
    a helper for messages; these are minigrad's
nn.* :: set_submodule :: \+get_submodule
    the parent is found by get_submodule, as in get_parameter
nn.TransformerEncoderLayer :: call in eval :: -(named_)?modules
    PyTorch looks for hooks before it runs a fused kernel; here no kernel takes the place of the methods
.* :: .* :: #(__len__|num_samples|_get_no_batch_dim|_get_checked_instance|inverse_shape|scale_fn)
    how often a length, a shape or a factor is asked for
optim.[^.]* :: .* :: -(_patch_step_function|profile_hook_step|_optimizer_step_code|_accelerator_.*)
    PyTorch's way to put hooks and the profiler around step, and for graphs of GPUs; here the class does it once
optim.LBFGS :: step.* :: -_numel
    a helper that counts elements
optim.lr_scheduler.CyclicLR :: .* :: -_(init_scale_fn|triangular_scale_fn)
    formulas, kept as methods for pickles; here they are functions of the module
utils.data.DataLoader :: .* :: -check_worker_number_rationality
    no warning about more workers than processors
utils.data.IterableDataset :: sum :: \+raises AssertionError
    there is no ChainDataset
distributions.* :: .* :: [-+#](batch_shape|event_shape|_extended_shape|_param)
    who asks for a shape: formulas and expand are written otherwise
distributions.* :: cdf :: \+(_validate_sample|support)
    every cdf checks its argument here
distributions.(Normal|Gumbel|ContinuousBernoulli) :: samples? :: \+rsample
    sample draws by rsample, in PyTorch of most distributions: to override rsample changes both
distributions.(OneHot.*|Multinomial) :: .* :: -(probs|logits)
    PyTorch passes these on from a Categorical inside; here they are attributes
distributions.Beta :: .* :: -concentration[01]
    PyTorch passes these on from a Dirichlet inside
distributions.MixtureSameFamily :: .* :: -(_pad.*|(mixture|component)_distribution)
    here they are attributes
distributions.Gumbel :: .* :: -(_monotonize_cdf|has_rsample)
    in PyTorch it is a TransformedDistribution; here it has its own formulas
distributions.ContinuousBernoulli :: .* :: -_(cont_bern_log_norm|cut_probs|outside_unstable_region)
    parts of formulas, which are written otherwise here
distributions.Uniform :: .* :: -arg_constraints
    a property in PyTorch, which checks the bounds by it
distributions.AffineTransform :: .* :: -(domain|codomain|event_dim)
    PyTorch's has an argument event_dim; here it maps single numbers, and these are constants
distributions.*Transform :: expand.* :: \+forward_shape
    expand makes the distribution anew
"""
ROWS = [tuple(line.split(" :: ")) for line in DIFFERENT.splitlines() if " :: " in line]


def reason(path, step, name):
    """Return the row for a difference, or None."""
    for row in ROWS:
        if all(re.fullmatch(pattern, text) for pattern, text in zip(row, (path, step, name))):
            return row
    return None


CASES = list(cases())


@pytest.mark.parametrize(("path", "run"), [pytest.param(path, run, id=name) for name, path, run in CASES])
def test_both_libraries_call_the_same_overrides(path, run):
    theirs, ours = notes(path, run)
    apart = list(overrides.differences(theirs, ours))
    assert not [one for one in apart if reason(path, *one) is None]


def test_every_public_class_is_tried():
    missing = {
        f"{place}.{name}"
        for place in ("nn", "optim", "optim.lr_scheduler", "utils.data", "distributions", "amp")
        for name, theirs in vars(found(torch, place)).items()
        if isinstance(theirs, type) and isinstance(found(minigrad, f"{place}.{name}"), type) and name[0] != "_"
    } - {path for _, path, _ in CASES}
    assert missing == NO_PROGRAM


# tensors, and bases whose subclasses are tried
NO_PROGRAM = {
    "nn.Parameter",
    "nn.UninitializedBuffer",
    "nn.UninitializedParameter",
    "nn.RNNBase",
    "optim.Optimizer",
    "optim.lr_scheduler.LRScheduler",
    "utils.data.Sampler",
    "distributions.Distribution",
    "distributions.Transform",
}


@pytest.mark.parametrize("name", ["Linear(2, 2)", "BatchNorm1d(2)", "LSTM(2, 2)", "Sequential(ReLU())"])
def test_extra_state_is_saved_and_loaded_with_a_part(name):
    cls, given = re.fullmatch(r"(\w+)\((.*)\)", name).groups()
    seen = []
    for lib in LIBRARIES:
        steps = overrides.Steps(lib)
        overrides.with_extra_state(steps, getattr(lib.nn, cls), evaluated(given, lib)[0])
        seen.append(steps.found)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_each_listed_difference_is_there(row):
    tried = ((path, *notes(path, run)) for _, path, run in CASES if re.fullmatch(row[0], path))
    assert any(reason(path, *one) == row for path, *both in tried for one in overrides.differences(*both))


def test_public_names_are_pytorchs_or_settings():
    """A user's class may give any other name to its own attributes and methods without replacing one of minigrad's."""
    own = set()
    for path in {path for _, path, _ in CASES if path.startswith(("nn.", "distributions.", "utils."))}:
        theirs, ours = found(torch, path), found(minigrad, path)
        settings = {p for cls in ours.__mro__ for p in inspect.signature(cls.__init__).parameters}
        settings.add("transposed")  # which a convolution of PyTorch has, set in its __init__
        own |= {f"{path}.{n}" for n in dir(ours) if n[0] != "_" and not hasattr(theirs, n) and n not in settings}
    assert own == set()
