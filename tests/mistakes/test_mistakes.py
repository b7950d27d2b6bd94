"""minigrad detects, explains and locates each mistake of the collection; the correct twin is quiet."""

import ast
import pathlib
import re
import warnings
from contextlib import nullcontext

import pytest

import minigrad as torch

from . import Mistake, collection

MISTAKES = collection()
MODES = {"": nullcontext, "debug": torch.debug, "anomaly": torch.autograd.detect_anomaly}


def said(mistake: Mistake) -> str:
    """Return minigrad's message for the mistake, which has to be of the expected type or name."""
    with MODES[mistake.under](), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", torch.MinigradWarning)
        if isinstance(mistake.says, str):
            mistake.wrong()
            texts = [str(w.message) for w in caught if getattr(w.message, "name", "") == mistake.says]
            assert texts, f"no warning {mistake.says!r}, but {[str(w.message) for w in caught]}"
            return texts[0]
        with pytest.raises(mistake.says) as raised:
            mistake.wrong()
        assert isinstance(raised.value, torch.MinigradError), f"{type(raised.value)} is not minigrad's own"
        return str(raised.value)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.slug)
def test_a_mistake_is_detected_explained_and_located(mistake, record_property):
    text = said(mistake)
    record_property("mistake", "detected")
    missing = [word for word in (mistake.operation, *map(str, mistake.numbers), mistake.remedy) if word not in text]
    assert not missing, f"{missing} not in:\n{text}"
    assert mistake.operation and mistake.remedy, "each mistake needs an operation and a remedy"
    record_property("mistake", "explained")
    assert "{}:{}".format(*mistake.place()) in text, text
    located = re.search(re.escape("{}:{}".format(*mistake.made())) + r"\b", text) is not None
    assert located != bool(mistake.unlocated), f"the mistake was made at line {mistake.made()[1]}:\n{text}"
    if located:
        record_property("mistake", "located")
    if mistake.made() != mistake.place():
        record_property("mistake", "made at another line")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.slug)
def test_its_correct_twin_is_quiet(mistake):
    with MODES[mistake.under](), warnings.catch_warnings():
        warnings.simplefilter("error")
        mistake.corrected()()


def test_every_mistake_has_a_page_of_its_own():
    slugs = [m.slug for m in MISTAKES]
    assert len(set(slugs)) == len(slugs)
    for m in MISTAKES:
        title, _, why = m.text.partition("\n\n")
        assert title.endswith(".") and why, f"{m.name} has no title with a reason below it"


def names_of_warnings():
    """Yield the names in the source's calls of `warn("name", ...)`."""
    for path in pathlib.Path(torch.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            name = getattr(call, "func", None)
            if isinstance(name, ast.Name) and name.id == "warn" and isinstance(call.args[0], ast.Constant):
                yield call.args[0].value


def test_every_warning_has_a_page():
    pages = {m.says for m in MISTAKES if isinstance(m.says, str)}
    # problems of the machine
    failures = {"no-kernels", "untrusted-kernels", "no-kernel-key", "gpu-through-host", "no-gpu-to-pin-for"}
    assert not set(names_of_warnings()) - pages - failures
    text = (pathlib.Path(__file__).parents[2] / "docs" / "errors.md").read_text()
    assert not [name for name in failures if f"`{name}`" not in text]
