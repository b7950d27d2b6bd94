"""Every public name is in the reference, with a summary and an example."""

import functools
import importlib
import re
import types
from pathlib import Path

import pytest

import minigrad
from minigrad.ops.base.registry import TABLE

ROOT = Path(__file__).parent.parent.parent
PAGES = {p.stem: p.read_text() for p in sorted((ROOT / "docs" / "reference").glob("*.md"))}
SHOWN = [name for page in PAGES.values() for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)]
MODULES = """minigrad minigrad.autograd minigrad.autograd.forward_ad minigrad.autograd.function minigrad.autograd.functional
minigrad.autograd.graph minigrad.autograd.profiler minigrad.compat.amp minigrad.cuda minigrad.distributed
minigrad.distributed.nn minigrad.distributions
minigrad.errors minigrad.func minigrad.linalg minigrad.nn minigrad.nn.functional minigrad.nn.grad minigrad.nn.init
minigrad.nn.utils minigrad.nn.utils.parametrizations minigrad.nn.utils.parametrize minigrad.nn.utils.rnn
minigrad.optim minigrad.optim.lr_scheduler minigrad.optim.swa_utils minigrad.profiler minigrad.random
minigrad.record minigrad.serialization minigrad.testing minigrad.utils.checkpoint
minigrad.utils.benchmark minigrad.utils.data minigrad.utils.safetensors
minigrad.utils.tensorboard viz viz.figures viz.training lessons lessons.expect""".split()
OPERATIONS = {id(entry.function): entry for entry in TABLE.values()}


def found(name):
    """Return the object that a dotted name means."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            value = getattr(value, part)
        return value
    raise AssertionError(f"{name} does not exist")


def public():
    """Yield (dotted name, object) of every public name; a module without __all__ is a table of contents."""
    for module in MODULES:
        space = minigrad.random if module == "minigrad.random" else importlib.import_module(module)
        for name in getattr(space, "__all__", None) or [n for n in vars(space) if not n.startswith("_")]:
            value = getattr(space, name)
            if not isinstance(value, types.ModuleType):
                yield f"{module}.{name}", value


PUBLIC = dict(public())
DOCUMENTED = {name: value for name, value in PUBLIC.items() if callable(value) and id(value) not in OPERATIONS}


def test_every_public_name_is_in_the_reference():
    shown = {id(found(name)) for name in SHOWN}
    words = set(re.findall(r"`(?:[\w.]+\.)?(\w+)`", "".join(PAGES.values())))  # constants and second names
    missing = [
        name
        for name, value in PUBLIC.items()
        if id(value) not in shown and id(value) not in OPERATIONS and name.rpartition(".")[2] not in words
    ]
    assert not missing


def test_every_operation_that_is_not_shown_by_itself_says_so():
    """functional.md lists them; minigrad.exp and its like are in the table of operations."""
    shown = {id(found(name)) for name in SHOWN}
    listed = set(re.findall(r"`(\w+)`", PAGES["functional"]))
    functional = {n.rpartition(".")[2]: v for n, v in PUBLIC.items() if n.startswith("minigrad.nn.functional.")}
    assert not [n for n, v in functional.items() if id(v) not in shown and n not in listed]


def test_nothing_is_shown_twice():
    assert len(SHOWN) == len(set(SHOWN))


def test_every_public_name_has_a_summary_and_an_example():
    texts = {name: (value.__doc__ or "").strip() for name, value in DOCUMENTED.items()}
    assert not [name for name, text in texts.items() if not text], "no summary"
    assert not [name for name, text in texts.items() if ">>>" not in text], "no example"


def test_every_operation_has_a_summary_and_a_call_to_show():
    assert not [name for name, entry in TABLE.items() if not (entry.function.__doc__ or "").strip()], "no summary"
    assert not [name for name, entry in TABLE.items() if not entry.samples], "no sample to make the table's example of"


@functools.cache
def source(package):
    """Return what griffe reads in the source of a package."""
    griffe = pytest.importorskip("griffe")
    extensions = griffe.load_extensions(str(ROOT / "docs" / "build" / "examples.py"))  # which leave out the stubs
    return griffe.load(package, search_paths=[str(ROOT)], extensions=extensions)


def test_what_is_shown_can_be_read_off_the_source():
    bare = []
    for name in SHOWN:
        package, *parts = name.split(".")
        item = source(package)
        for part in parts:
            item = item[part]
        item = item.final_target if item.is_alias else item
        if not item.docstring:
            bare.append(name)
    assert not bare


def test_int_float_and_bool_in_signatures_are_pythons():
    """At the top of the package the same names are dtypes, which griffe would find first."""
    package = source("minigrad")
    found = [
        package["ops.matmul.addmm"],
        package["core.tensor.Tensor.requires_grad_"],
        package["tensors.methods.Methods.dim"],
    ]
    paths = {p.annotation.canonical_path for f in found for p in f.parameters if p.annotation is not None}
    assert {"bool", "typing.Any"} <= paths and found[-1].returns.canonical_path == "int"
