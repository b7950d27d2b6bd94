"""A wrong derivative of a Function is explained by what is true of it."""

import re

import pytest

import minigrad as torch
from minigrad.testing import check
from minigrad.testing.function_checks import variants
from tests.functions import custom

X = torch.tensor([0.3, -0.2, 0.9])


def function(forward, backward):
    """Return a Function of one input from formulas in x, and in the incoming gradient g."""
    return custom(
        "Made",
        forward=lambda ctx, x: [ctx.save_for_backward(x), forward(x)][-1],
        backward=lambda ctx, g: backward(*ctx.saved_tensors, g),
    )


def explained(forward, backward):
    row = check(function(forward, backward), X)["gradients"]
    assert row.status == "fails"
    return row.message, row.remedy


UNEVEN = {
    "difference of ranks": lambda x, g: (rank(x + 4 * g) - rank(x)) / 4,
    "absolute value": lambda x, g: 2 * x * g.abs(),
    "sign": lambda x, g: 2 * x * g.sign(),
    "square": lambda x, g: 2 * x * g * g,
    "offset": lambda x, g: 2 * x * g + 0.1,
}


def rank(x):
    return x.argsort().argsort().to(x.dtype)


@pytest.mark.parametrize("kind", UNEVEN)
def test_a_backward_that_is_not_linear_in_the_incoming_gradient_does_not_ignore_it(kind):
    message, remedy = explained(rank if "ranks" in kind else lambda x: x * x, UNEVEN[kind])
    assert "it is not linear in the incoming gradient: with a" in message and "ignores" not in message
    assert "deliberately not the derivative" in remedy and "--surrogate" in remedy


def test_a_backward_that_ignores_the_incoming_gradient_is_told_so():
    message, remedy = explained(lambda x: x * x, lambda x, g: 3 * x)
    assert "it ignores the incoming gradient" in message and "multiply by the incoming gradient" in remedy


SURROGATES = {
    "step": (lambda x: (x > 0).to(x.dtype), lambda x, g: g / (1 + 10 * x.abs()) ** 2),
    "round": (lambda x: x.round(), lambda x, g: g),
    "sign": (lambda x: x.sign(), lambda x, g: g * (x.abs() < 1)),
}


@pytest.mark.parametrize("kind", SURROGATES)
def test_a_surrogate_for_the_slope_of_a_flat_function_is_not_a_wrong_factor(kind):
    message, remedy = explained(*SURROGATES[kind])
    assert "forward is flat" in message and "factor" not in message
    assert "multiply by 0" not in remedy and "zeros" not in remedy
    assert '"surrogate"' in remedy and "--surrogate" in remedy and "surrogate=True" in remedy


@pytest.mark.parametrize("kind", [*SURROGATES, *UNEVEN])
def test_a_surrogate_is_not_compared_with_forward_but_by_all_other_rows(kind):
    forward, backward = SURROGATES.get(kind) or (rank if "ranks" in kind else lambda x: x * x, UNEVEN[kind])
    result = check(function(forward, backward), X, surrogate=True)
    row = result["gradients"]
    assert row.status == "not defined" and "which is meant: surrogate is set" in row.message and not row.remedy
    assert {one.name for one in result.outcomes if one.status == "holds"} >= {"forward", "dtypes", "threads", "layouts"}
    assert not result.failures or kind in UNEVEN


SAID = {
    "surrogate": "A step with a surrogate slope.",
    "Straight-through": "Straight-through\n    estimator.",
    "reverses the gradient": "The identity, which reverses the gradient.",
    "perturbing": "Differentiates a solver by perturbing its input.",
    "not the derivative": "Its backward is not the derivative.",
}


@pytest.mark.parametrize("word", SAID)
@pytest.mark.parametrize("place", ["class", "backward"])
def test_a_word_in_the_docstring_says_that_a_backward_is_not_the_derivative(word, place):
    made = function(*SURROGATES["step"])
    (made if place == "class" else made.backward).__doc__ = SAID[word]
    row = check(made, X)["gradients"]
    assert row.status == "not defined" and f'its docstring says "{word}"' in row.message


class Commented(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        return g  # the gradient goes straight through


class Short(Commented):
    @staticmethod
    def backward(ctx, g):
        # STE
        return g.clone()


class Starred(Commented):
    @staticmethod
    def backward(ctx, g):
        # ********** ste **********
        return g.clone()


# The domain classifier's part of the loss, with a reversal.
class Above(Commented):
    @staticmethod
    def backward(ctx, g):
        return g.clone()


@pytest.mark.parametrize(
    ("made", "word"), [(Commented, "straight through"), (Short, "STE"), (Starred, "ste"), (Above, "reversal")]
)
def test_a_comment_says_it_too(made, word):
    row = check(made, X)["gradients"]
    assert row.status == "not defined" and f'a comment in it says "{word}"' in row.message


NAMES = {
    "RoundSTE": "STE",
    "_sign_ste": "ste",
    "STEFunction": "STE",
    "SteSign": "Ste",
    "GRL": "GRL",
    "GradReverse": "Grad Reverse",
    "GradientReversalFn": "Gradient Reversal",
    "RevGrad": "Rev Grad",
    "ReverseLayerF": "Reverse Layer",
    "StraightThroughEstimator": "Straight Through",
    "SurrogateSpike": "Surrogate",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_says_it_too(name):
    row = check(type(name, (function(*SURROGATES["step"]),), {}), X)["gradients"]
    assert row.status == "not defined" and f'its name says "{NAMES[name]}"' in row.message


def test_the_function_in_which_a_class_is_made_says_it_too():
    def round_ste():
        return function(*SURROGATES["step"])

    made = round_ste()
    made.__qualname__ = "round_ste.<locals>.Round"
    assert 'its name says "ste"' in check(made, X)["gradients"].message


@pytest.mark.parametrize(
    "name", ["Step", "Stepwise", "Costed", "Reverse", "ReverseMode", "ReverseModeGradient", "Graded"]
)
def test_similar_names_do_not_say_it(name):
    made = type(name, (function(*SURROGATES["step"]),), {"__qualname__": name})
    assert check(made, X)["gradients"].status == "fails"


def test_text_in_quotes_is_no_comment():
    class Text(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.sign(x)

        @staticmethod
        def backward(ctx, g):
            return g + 0 * len("# a surrogate")  # a test, and no step

    assert check(Text, X)["gradients"].status == "fails"


class Once(torch.autograd.Function):
    """Frees its output, like a reversible network."""

    @staticmethod
    def forward(ctx, x):
        y = 2 * x
        ctx.y = y.detach()
        return y

    @staticmethod
    def backward(ctx, g):
        y = ctx.y
        del ctx.y
        return 2 * g + 0 * y


def test_a_backward_that_deletes_what_it_reads_runs_once():
    result = check(Once, X)
    twice = result["backward twice"]
    assert "no attribute 'y' any more: backward deletes it, so it runs only once" in twice.message
    assert "keep ctx.y, or run backward once" in twice.remedy


def test_a_detached_output_on_ctx_does_not_hold_the_ctx():
    assert "ctx.y holds an output: the graph" in check(Once, X)["tensors on ctx"].message


def test_a_surrogate_whose_backward_is_the_derivative_holds():
    assert check(function(lambda x: x * x, lambda x, g: 2 * x * g), X, surrogate=True)["gradients"].status == "holds"


def test_a_function_that_computes_in_float32_is_not_refused_for_its_rounding():
    single = lambda x: (x * x).float()
    assert check(function(single, lambda x, g: 2 * x * g), X).ok
    row = check(function(single, lambda x, g: 3 * x * g), X)["gradients"]
    assert row.status == "fails" and "off by a factor of 0.66" in row.message


def test_a_surrogate_may_not_break_the_rules_of_calls():
    made = function(SURROGATES["step"][0], lambda x, g: g[:1])
    assert not check(made, X, surrogate=True).ok


MEANT = {
    "reversal": (lambda x: x.clone(), lambda x, g: -g, "the sign is wrong"),
    "weighted reversal": (lambda x: x.clone(), lambda x, g: -0.5 * g, "off by a factor of -2"),
    "straight-through": (lambda x: x * x, lambda x, g: g.clone(), "the incoming gradient passes unchanged"),
}


@pytest.mark.parametrize("kind", MEANT)
def test_a_backward_that_looks_deliberate_is_asked_about(kind):
    forward, backward, says = MEANT[kind]
    message, remedy = explained(forward, backward)
    assert says in message and "deliberately not the derivative" in remedy
    assert "deliberately" not in explained(lambda x: x * x, lambda x, g: 3 * x * g)[1]


@pytest.mark.parametrize(("factor", "status"), [(1.0, "holds"), (2.0, "fails")])
def test_jvp_of_a_surrogate_is_compared_with_backward(factor, status):
    class Step(torch.autograd.Function):
        """A step with a surrogate slope."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx, g):
            return g / (1 + ctx.saved_tensors[0].abs()) ** 2

        @staticmethod
        def jvp(ctx, t):
            return factor * t / (1 + ctx.saved_tensors[0].abs()) ** 2

    row = check(Step, X)["jvp"]
    assert row.status == status and ("but backward gives" in row.message) == (status == "fails")


def test_a_gradient_that_goes_on_where_forward_is_flat_is_named_there():
    message, _ = explained(lambda x: x.clamp(max=0.5), lambda x, g: g)
    assert "forward is flat" in message and "factor" not in message


def test_a_modules_parameters_have_the_dtype_of_the_tensors_beside_it():
    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, layer, x):
            ctx.layer = layer
            return layer(x).detach()

        @staticmethod
        def backward(ctx, g):
            return None, g @ ctx.layer.weight

    layer = torch.nn.Linear(3, 2)
    layer.requires_grad_(False)
    result = check(Through, layer, X[None])
    assert result["forward"].status == result["gradients"].status == result["dtypes"].status == "holds"
    assert layer.weight.dtype == torch.float32


class PositiveRoot(torch.autograd.Function):
    """Refuses numbers that are not positive, as solvers refuse matrices that are not positive definite."""

    @staticmethod
    def forward(ctx, x):
        if (x.detach() <= 0).any():
            raise ValueError("x has to be positive")
        ctx.save_for_backward(x)
        return x.sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (2 * x.sqrt())


def test_the_row_on_compilation_tries_other_inputs_that_the_function_takes():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert check(PositiveRoot, x)["compiled"].status != "fails"


def test_an_error_without_a_message_in_the_functions_methods_is_named_by_its_class():
    class Column(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if x.dim() != 2:
                raise ValueError
            ctx.save_for_backward(x)
            return x[:, 0].clone()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.stack([g, *[torch.zeros_like(g)] * (x.shape[1] - 1)], 1)

    result = check(Column, torch.rand(3, 2, dtype=torch.float64))
    assert result.ok and "dimensions: ValueError" in result["no dimensions"].message


def test_an_error_of_the_check_itself_is_not_blamed_on_the_function(monkeypatch):
    monkeypatch.setattr(variants, "LAYOUTS", {"strided": None})
    result = check(function(lambda x: x * x, lambda x, g: 2 * x * g), X)
    assert result.ok and result["layouts"].status == "left out"
    says = r"check failed internally, which is not your mistake; please report it \(TypeError: "
    assert re.match(rf"{says}.*, at variants.py:\d+\)$", result["layouts"].message)


def test_a_function_of_float32_tensors_outside_is_said_to_be_one():
    kernel = torch.tensor([0.5, 2.0])
    forward = lambda x: torch.mv(torch.ones(2, 2, dtype=torch.float32) * kernel, x)
    fixed = function(forward, lambda x, g: torch.mv((torch.ones(2, 2) * kernel).t(), g))
    result = check(fixed, torch.tensor([1.0, 2.0]))
    assert "forward runs on float32, but not on float64, in which check compares numbers" in result["forward"].message
