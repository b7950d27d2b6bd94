"""The losses that tests/programs keeps are those that PyTorch computes, with minigrad's random numbers."""

import pytest

pytest.importorskip("torch")

from tests.programs import SCRIPTS, assert_same, courses, kept, numbers, trained  # noqa: E402

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", SCRIPTS)
def test_kept_losses_are_what_pytorch_computes(name):
    assert_same(trained(name, "torch"), kept()[name]["torch"], name)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = torch.randn(3, requires_grad=True)\n(x @ torch.randn(3)).backward()", numbers.SAME),
        ("from torchvision import transforms\nx = transforms.RandomCrop(2)(torch.randn(1, 9, 9))", numbers.SAME),
        (
            "net = torch.nn.Linear(2, 2)\nd = torch.distributions.Gamma(torch.tensor(2.0), 1)\nx = d.sample()",
            numbers.SAME,
        ),
        (
            "import time\nprint(time.time())\nwhile True: torch.ones(1, requires_grad=True).sum().backward()",
            numbers.SAME,
        ),
        ("parts = [torch.rand(40) for _ in range(20)]\ndel parts\nuninitialised = torch.Tensor(40)", numbers.SAME),
        ("print('hello')", numbers.NONE),
        ("print(len(torch.__version__))", ", not "),
        ("import numpy\nif torch.zeros(1).dtype == torch.float32: print(len(torch.__version__))", "none in float64"),
        ("raise ValueError('no')", f"{courses.PYTORCH}: stops: ValueError: no"),
        ("assert 'minigrad' not in torch.__version__", "stops: AssertionError: assert"),
    ],
)
def test_the_numbers_of_a_public_program_are_compared(text, found, tmp_path):
    (tmp_path / "program.py").write_text(f"import torch\n{text}\n")
    assert found in courses.compared(tmp_path / "program.py", 60)
