"""The libraries that a program computes with: minigrad, PyTorch, or both.  Each one it imports records the program.

PyTorch is optional: only programs that import it load it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..graph.backward_passes import of_passes

OURS = ("minigrad", "viz")  # no modules of the program


def sources(text: bytes, folder: Path) -> dict[str, ast.Module]:
    """Parse a program and all modules that it imports from its folder; return the trees by module name."""
    found: dict[str, ast.Module] = {}
    pending = [("__main__", text)]
    while pending:
        name, text = pending.pop()
        try:
            found[name] = tree_of(text)
        except (SyntaxError, ValueError):  # running it raises the error
            continue
        package = name if (here := file_of(folder, name)) and here.stem == "__init__" else name.rpartition(".")[0]
        for module in set(imported(found[name], package)) - found.keys():
            if module.partition(".")[0] in OURS:  # the folder of a checkout has them
                continue
            pending += [(module, file.read_bytes())] if (file := file_of(folder, module)) else []
    return found


def file_of(folder: Path, module: str) -> Path | None:
    """Return the Python file of a module in a folder, or None."""
    place = folder.joinpath(*module.split("."))
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file()), None)


def tree_of(text: bytes) -> ast.Module:
    """Parse a program; raise SyntaxError or ValueError if that cannot be done, also if it is nested too deeply."""
    try:
        return ast.parse(text)
    except (RecursionError, MemoryError):
        raise SyntaxError("an expression is too long or too deep for Python's parser") from None


def imported(tree: ast.AST, package: str = "") -> Iterator[str]:
    """Yield the modules that a program imports, wherever the import stands; `package` is that of relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node.module or "", node.level, package)
            yield from [base] if base else []
            yield from [f"{base}.{alias.name}".lstrip(".") for alias in node.names]


def absolute(module: str, level: int, package: str) -> str:
    """Return the full name of a module that an import in a package names with `level` dots.

    >>> absolute("core", 1, "net.parts"), absolute("", 2, "net.parts"), absolute("torch", 0, "net.parts")
    ('net.parts.core', 'net', 'torch')
    """
    above = package.split(".")[: len(package.split(".")) + 1 - level] if level and package else []
    return ".".join([*above, *([module] if module else [])])


def imports(trees: dict[str, ast.Module], library: str) -> bool:
    """Return True if a program imports a library, or one whose name begins with it, such as torchvision for torch.

    >>> imports(sources(b"from torch import nn", Path()), "torch")
    True
    """
    return any(name.startswith(library) for tree in trees.values() for name in imported(tree))


def compiles(trees: dict[str, ast.Module]) -> bool:
    """Return True if the name `compile` occurs in a program."""
    words = [getattr(node, "attr", getattr(node, "id", "")) for tree in trees.values() for node in ast.walk(tree)]
    return "compile" in words or any(name.endswith(".compile") for tree in trees.values() for name in imported(tree))


def needs(trees: dict[str, ast.Module], library: str) -> bool:
    """Return True if a program imports a library that is not its own, outside of `try`, where it may be missing.

    >>> needs(sources(b"import torch.nn as nn", Path()), "torch")
    True
    >>> needs(sources(b"try:\\n    import torch\\nexcept ImportError:\\n    torch = None", Path()), "torch")
    False
    """
    optional = {id(node) for tree in trees.values() for one in ast.walk(tree) if isinstance(one, ast.Try) and one.handlers
                for line in one.body for node in ast.walk(line)}  # fmt: skip
    lines = [node for tree in trees.values() for node in ast.walk(tree) if id(node) not in optional]
    names = [name for node in lines if isinstance(node, (ast.Import, ast.ImportFrom)) for name in imported(node)]
    roots = {name.partition(".")[0] for name in names} - {name.partition(".")[0] for name in trees}
    return library in roots


def installed(library: str) -> bool:
    """Return True if `import library` finds it."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # a finder forbids it
        return False


def stands_for_torch() -> bool:
    """Return True if `import torch` imports minigrad."""
    from minigrad import config

    return config.library_name == "torch"


class Libraries:
    """The installed libraries that a program imports.

    >>> Libraries(b"import minigrad as torch", Path()).torch
    False
    """

    def __init__(self, text: bytes, folder: Path):
        trees = sources(text, folder)
        there = not stands_for_torch() and installed("torch")
        self.torch = there and imports(trees, "torch")
        self.minigrad = imports(trees, "minigrad") or not self.torch
        self.compiled = self.torch and compiles(trees)

    @classmethod
    def of_session(cls, cell: str) -> Libraries:
        """Return the libraries of a notebook's cell: the loaded ones and the ones it imports."""
        made = cls(cell.encode(), Path())
        made.torch, made.minigrad = made.torch or "torch" in sys.modules and not stands_for_torch(), True
        return made

    def uncompiled(self) -> AbstractContextManager:
        """Run functions under torch.compile uncompiled inside the block."""
        if not self.compiled:
            return nullcontext()
        import torch._dynamo  # type: ignore[import-not-found]  # noqa: F401  loads the compiler, to switch it off

        from ..pytorch.torch_calls import uncompiled

        return uncompiled()

    def record(
        self,
        program: Callable[[], Any],
        passes: Sequence[str],
        name: str,
        unseen: bool = False,
        times: bool = False,
        **seeds: Any,
    ) -> Any:
        """Run a program, and return the recording of the library whose tensors it returns.

        An `unseen` backward pass calls no hook of the program, and leaves its graph as it was.  `times` are recorded of
        minigrad's operations.  `seeds` are `tangent` and `grad` of `minigrad.record`.
        """
        given: list[Any] = []
        run = lambda: given.append(program()) or given[0]
        if not self.torch:
            return _recorded(run, passes, name, unseen, times, seeds)
        from minigrad.record.seeds import Seeds

        from ..pytorch.torch_recording import TorchRecording
        from ..pytorch.torch_words import tensors_in

        given_seeds = Seeds(**seeds) if any(one is not None for one in seeds.values()) else None
        recording = TorchRecording(passes, name, seeds=given_seeds)
        with self.uncompiled(), recording:
            ours = _recorded(run, passes, name, unseen, times, seeds) if self.minigrad else run()
        theirs = tensors_in(given[0])
        recording.end(theirs, keep=True, apart=unseen)
        return ours if self.minigrad and not theirs else recording

    def record_function(
        self, fn: Callable, args: tuple, passes: Sequence[str], name: str, times: bool = False, **seeds: Any
    ) -> Any:
        """Record a call of a function."""
        import minigrad

        if self.of(fn, args) is minigrad:
            about = {"name": name, "inside": True, "times": times, "contents": True, **seeds}
            return minigrad.record(fn, *args, passes=passes, **about)
        from ..pytorch.torch_recording import recording_of

        with self.uncompiled():
            return recording_of(fn, args, passes, name, **seeds)

    def of(self, fn: Any, args: Any = ()) -> ModuleType:
        """Return the library that a function uses; PyTorch if that is uncertain and the program imports it."""
        import minigrad

        if not self.torch:
            return minigrad
        import torch  # type: ignore[import-not-found]

        return minigrad if self.minigrad and library_of(fn, args) == "minigrad" else torch


def library_of(fn: Any, args: Any = ()) -> str:
    """Return the library that a function computes with, judged by its arguments, itself (a module), and the names it reads.

    >>> from minigrad import tensor
    >>> library_of(lambda x: x * x, [tensor(1.0)]), library_of(lambda: tensor(1.0)), library_of(abs)
    ('minigrad', 'minigrad', '')
    """
    from minigrad.places import home

    if isinstance(fn, partial):
        return library_of(fn.func, [args, fn.args, fn.keywords])
    names = inspect.getclosurevars(fn) if inspect.isroutine(fn) and hasattr(fn, "__code__") else None
    read = () if names is None else (*names.nonlocals.values(), *names.globals.values())
    for one in (*leaves(args), fn, *read):
        homes = [home(base) for base in type(one).__mro__]
        homes.append(one.__name__ if isinstance(one, ModuleType) else home(one))
        for library in ("torch", "minigrad"):
            if any(where.partition(".")[0] == library for where in homes):
                return library
    return ""


def _recorded(
    run: Callable[[], Any], passes: Sequence[str], name: str, unseen: bool, times: bool, seeds: dict[str, Any]
) -> Any:
    """Record a program that computes with minigrad."""
    import minigrad
    from minigrad.core.frames import current, recorder_of
    from minigrad.core.graph import history
    from minigrad.record.from_graph import add_unseen
    from minigrad.record.unseen import run_backward

    def whole() -> Any:
        recorder_of(current()).adds_unseen = add_unseen  # all that the program computes is to be seen
        return run()

    now = [one for one in passes if not (unseen and one == "backward")]
    rec = minigrad.record(whole, passes=now, name=name, inside=True, times=times, contents=True, **seeds)
    if unseen and "backward" in passes:  # one from each result from which the program did not run it itself
        began = {root for run in rec.runs for root in run.roots}
        outs = [rec.values[number].tensor for number in rec.outputs if number not in began]
        for root in [history(t) for t in outs if t is not None and t.requires_grad]:
            run_backward(rec, [root], asked=False)
    return rec


def document_of(rec: Any, part: Callable[[dict], dict] = lambda record: record) -> dict:
    """Return the record of a recording of either library, or of its dict; PyTorch's computes texts only for `part`.

    It has the contents from which a page computes.
    """
    from minigrad import Record

    if isinstance(rec, dict):
        return rec
    if isinstance(rec, Record):
        return rec.to_dict(contents=True)
    return rec.to_dict() if hasattr(rec, "to_dict") else rec.document(lambda made: part(of_passes(made))).to_dict()


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of nested tuples, lists and dictionaries."""
    if isinstance(tree, (tuple, list, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(part)
    else:
        yield tree


def library_of_tensor(value: Any) -> str:
    """Return the library that a tensor belongs to, or "" if the value is not a tensor."""
    for name in ("minigrad", "torch"):
        module = sys.modules.get(name)
        if module is not None and isinstance(value, module.Tensor):
            return name
    return ""


def is_module(value: Any) -> bool:
    """Return True if a value is a callable module, such as a Linear."""
    return callable(value) and not isinstance(value, type) and hasattr(type(value), "named_parameters")


def is_drawn(value: Any) -> bool:
    """Return True if a value can be drawn: a tensor, a module with a forward, or a function that the program itself defines."""
    own = isinstance(value, FunctionType) and value.__module__ == "__main__" and not runs_later(value)
    forward = getattr(type(value), "forward", None) if is_module(value) else None
    has_forward = forward is not None and forward.__qualname__ not in ("Module.forward", "_forward_unimplemented")
    return own or bool(library_of_tensor(value)) or has_forward


def runs_later(value: Any) -> bool:
    """Return True for a coroutine function or a generator function: a call of it computes nothing yet."""
    return inspect.iscoroutinefunction(value) or inspect.isgeneratorfunction(value) or inspect.isasyncgenfunction(value)
