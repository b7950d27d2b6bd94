"""The losses that tests/programs keeps are those that PyTorch computes, with minigrad's random numbers."""

import pytest

pytest.importorskip("torch")

from tests.programs import SCRIPTS, assert_same, kept, trained  # noqa: E402

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", SCRIPTS)
def test_kept_losses_are_what_pytorch_computes(name):
    assert_same(trained(name, "torch"), kept()[name]["torch"], name)
