"""A function that is compiled again and again says why; explain() lists what each version is for."""

import math

import pytest

import minigrad as torch
from minigrad import compile
from minigrad.errors import MinigradWarning

SCALE = 1.0
OFTEN = r"compile\(\w+\): was compiled 9 times: {} took 9 values, most recently {}"


def scaled_by_a_global(x):
    return x * math.exp(int(SCALE))


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 0.0

    def forward(self, x):
        return x * math.exp(float(str(self.scale)))


def test_an_argument_that_is_part_of_the_program_is_named_once():
    @compile
    def step(x, k):
        for _ in range(k):
            x = x * 2
        return x

    x = torch.ones(3)
    for k in range(1, 9):
        step(x, k)
    with pytest.warns(MinigradWarning, match=OFTEN.format("k", "7, 8, 9")) as said:
        for k in range(9, 12):
            assert torch.equal(step(x, k), x * 2**k)
    assert len(said) == 1 and "To fix: k decides what is computed" in str(said[0].message)
    assert "compile-often" in str(said[0].message)


def test_a_global_that_changes_is_named():
    global SCALE
    f, x = compile(scaled_by_a_global), torch.ones(2)
    told = r"(?s)9 times: int\(SCALE\) took 8 values, most recently 6, 7, 8.*int\(SCALE\) decides what is computed"
    with pytest.warns(MinigradWarning, match=told):
        for k in range(9):
            SCALE = float(k)
            f(x)


def test_an_attribute_that_changes_is_named_by_its_path():
    module = Scaled()
    f, x = compile(module), torch.ones(2)
    with pytest.warns(MinigradWarning, match=r"self\.scale took 9 values"):
        for k in range(9):
            module.scale = 0.1 * k
            assert torch.allclose(f(x), x * math.exp(0.1 * k))


def test_beyond_32_texts_new_kinds_of_calls_run_eagerly_and_known_ones_do_not():
    @compile
    def step(x, k):
        return x * math.exp(0.1 * int(str(k)))

    x = torch.ones(3)
    with pytest.warns(MinigradWarning) as said:
        for k in range(40):
            assert torch.allclose(step(x, k), x * math.exp(0.1 * k))
    last = str(said[-1].message)
    assert len(said) == 2 and "runs eagerly, because it was compiled 32 times: k took 32 values" in last
    assert "32 specialisations" in repr(step)
    assert "runs eagerly in some calls: it was compiled 32 times" in step.explain()


def test_sizes_that_give_one_text_are_compiled_once_and_nothing_is_said(recwarn):
    f = compile(lambda x: (x * 2).sum())
    for n in range(40):
        assert f(torch.ones(n + 1)) == 2.0 * (n + 1)
    assert not recwarn.list and "40 specialisations" in repr(f)


def test_explain_lists_each_version_with_what_differs_first():
    module = Scaled()
    f = compile(module)
    for scale in (0.0, 1.0):
        module.scale = scale
        f(torch.ones(2, 3, requires_grad=True))
    one, two = [line for line in f.explain().splitlines() if line.startswith("specialisation ")]
    assert one.startswith("specialisation 1: x float32 (2, 3), requires grad; where self.scale is 0.0, ")
    assert two.startswith("specialisation 2: x float32 (2, 3), requires grad, self.scale 1.0; where ")
    assert two.endswith(" more")


def test_explain_says_what_arguments_may_be():
    f = compile(lambda x, s, flag: x * s if flag else x)
    f(torch.ones(2, 3).T, 2.5, True)
    assert "specialisation 1: x float32 (3, 2), strides (1, 3), s any float, flag True" in f.explain()


@pytest.mark.parametrize(
    "values, remedy", [((1, 2), "k decides what is computed"), (("a", "b"), "keep k unchanged between calls")]
)
def test_what_to_do_depends_on_what_changes(values, remedy):
    from minigrad.compile.versions import change

    f = compile(lambda x, k: x * (len(k) if isinstance(k, str) else k + 1) * hash(k))
    for k in values:
        f(torch.ones(2), k)
    found = change(f.versions)
    assert found.name == "k" and remedy in found.remedy


def test_a_size_that_changes_is_told():
    from minigrad.compile.versions import change

    f = compile(lambda x: x * 2)
    f(torch.ones(2)), f(torch.ones(3))
    assert str(change(f.versions)) == "x took 2 values, most recently float32 (2,), float32 (3,)"
    assert "pad x to a few sizes" in change(f.versions).remedy


def test_a_number_that_decides_is_compared_as_what_it_decides():
    f = compile(lambda x, s: x * s if s > 1 else x + int(s * 10))
    for s in (0.51, 0.55, 2.0, 3.0, 0.58, 0.31):
        f(torch.ones(2), s)
    said = [line for line in f.explain().splitlines() if line.startswith("specialisation ")]
    assert [line.partition("where ")[2] for line in said] == [
        "s > 1 is False, int(s * 10) is 5, 4 more",
        "s > 1 is True, 3 more",
        "s > 1 is False, int(s * 10) is 3, 4 more",
    ]
