"""The losses and texts that tests/programs keeps are those that PyTorch computes and prints."""

import json

import pytest

from tests.programs import SCRIPTS, assert_same, courses, curve, kept, numbers, output, seeded


@pytest.mark.parametrize("name", SCRIPTS)
def test_kept_losses_are_what_pytorch_computes(name):
    assert_same(curve(output(name, "torch")), kept()[name]["torch"], name)


@pytest.mark.parametrize("name", seeded.PROGRAMS)
def test_kept_texts_are_what_pytorch_prints(name):
    kept = json.loads(seeded.KEPT.read_text(encoding="utf-8"))
    assert numbers.difference(seeded.prints(name, "torch"), kept[name]) == numbers.SAME


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
