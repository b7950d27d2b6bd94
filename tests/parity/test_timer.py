"""torch.utils.benchmark: the same figures and texts for the same times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.utils import benchmark as ours

torch = pytest.importorskip("torch")
from torch.utils.benchmark import Compare, Measurement  # noqa: E402
from torch.utils.benchmark.utils.common import TaskSpec  # noqa: E402

pytestmark = pytest.mark.parity
seconds = st.floats(1e-8, 10.0)
texts = st.sampled_from([None, "a", "longer words"])
specs = st.fixed_dictionaries(
    {"stmt": st.sampled_from(["f(x)", "x = 1\nf(x)"]), "setup": st.sampled_from(["pass", "", "x = 1", "x = 1\ny = 2"])}
    | {
        "label": texts,
        "sub_label": texts,
        "description": st.sampled_from(["a", "longer"]),
        "num_threads": st.sampled_from([1, 2]),
    }
)
measured = st.tuples(st.integers(1, 1000), st.lists(seconds, min_size=1, max_size=9), specs)


def both(n, times, spec):
    return ours.Measurement(n, times, ours.TaskSpec(**spec)), Measurement(n, times, TaskSpec(**spec))


@given(measured)
def test_a_measurement_says_the_same(given_):
    a, b = both(*given_)
    for name in ("median", "mean", "iqr"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-15)
    assert (a.title, a.as_row_name, a.has_warnings) == (b.title, b.as_row_name, b.has_warnings)
    assert a.significant_figures == b.significant_figures
    assert repr(a).splitlines()[1:] == repr(b).splitlines()[1:]


@given(st.lists(measured, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_tables_are_the_same(several, trimmed, highlighted):
    made = []
    for cls, k in ((ours.Compare, 0), (Compare, 1)):
        table = cls([both(*m)[k] for m in several])
        if trimmed:
            table.trim_significant_figures()
        if highlighted:
            table.highlight_warnings()
        made.append("\n".join(line.rstrip() for line in str(table).splitlines()))
    assert made[0] == made[1]
