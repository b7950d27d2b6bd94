"""Writes the stubs (.pyi) that tell editors and type checkers the operations: `make contents`.

Operations are generated from their classes, and become methods of Tensor when minigrad is imported, so no tool can find their
parameters in the source. Each stub stands for the module beside it: it has a `def` with types and docstring for each operation,
and the module's own imports for everything else. The stub of ops/tensor_methods.py has the methods, as the class Operations:
for type checkers a base class of Tensor. tools/stub_types.py knows the types; tests/test_stubs.py checks the files.
"""

import ast
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from minigrad import Tensor
from minigrad.compat import placeholders
from minigrad.diagnose.missing_names import Called, Misspelt
from minigrad.ops.base.registry import TABLE
from minigrad.tensors import conversion, hooks, methods

from .stub_types import EMPTY, WRITTEN, overloads, result_of, type_of

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "nn",
    "nn.utils",
    "optim",
    "optim.lr_scheduler",
)  # of an installed package, a checker sees what a stub lists
FUNCTIONS = ("nn.functional", "linalg", "compat.special")
MODULES = [import_module(f"minigrad.{name}") for name in (*PACKAGES, *FUNCTIONS)] + [import_module("minigrad")]
METHODS = import_module("minigrad.ops.tensor_methods")
NOTE = "# `make contents` writes this file from the declarations in ops/.\n"
OPERATIONS = "The methods and operators of Tensor that minigrad attaches when it is imported."
WHERE = {  # names in annotations -> the modules that define them
    **dict.fromkeys("Any Literal overload".split(), "typing"),
    **dict.fromkeys("Callable Sequence".split(), "collections.abc"),
    **dict.fromkeys("bool float int slice str tuple".split(), "builtins"),
    **dict.fromkeys("Size device layout memory_format".split(), "minigrad.arrays.devices"),
    "dtype": "minigrad.arrays.dtypes",
    "Generator": "minigrad.ops.generator",
    "Selected": "minigrad.return_types",
    "Tensor": "minigrad.core.tensor",
}
HOMES: dict[int, tuple[ModuleType, str]] = {}  # of each operation: the first module that has it, and its name there
for _module in MODULES:
    for _name, _value in vars(_module).items():
        if any(_value is entry.function for entry in TABLE.values()):
            HOMES.setdefault(id(_value), (_module, _name))


def stubs() -> dict[Path, str]:
    """Return the text of each stub."""
    return {path_of(module): function_stub(module) for module in MODULES} | {path_of(METHODS): method_stub()}


def path_of(module: ModuleType) -> Path:
    """Return the path of a module's stub."""
    return Path(str(module.__file__)).with_suffix(".pyi")


class Stub:
    """The text of one stub, with the imports that its annotations need."""

    def __init__(self, module: ModuleType, own: set[str]):
        self.module, self.own = module, own  # names that the stub defines: they hide types of the same name
        self.imports: dict[str, set[str]] = defaultdict(set)
        self.lines: list[str] = []

    def need(self, module: str, name: str, shown: str) -> None:
        """Import a name; a module of minigrad relative to this one."""
        if module.partition(".")[0] == "minigrad":
            depth = self.module.__name__.count(".") + (self.module is MODULES[-1])
            module = "." * depth + module.removeprefix("minigrad").lstrip(".")
        self.imports[module].add(name if name == shown else f"{name} as {shown}")

    def typed(self, annotation: str, scope: dict) -> str:
        """Return an annotation, and import its names; a type that the stub hides gets an underscore."""

        def name(match: re.Match) -> str:
            word = match[0]
            module = WHERE.get(word) or scope[word].__module__
            hidden = word in self.own and getattr(self.module, word, None) is not vars(sys.modules[module])[word]
            shown = f"_{word}" if hidden else word
            if word != shown or module != "builtins" and word not in self.own:
                self.need(module, word, shown)
            return shown

        return re.sub(r"\b(?!None\b|True\b|False\b)[A-Za-z_]\w*", name, annotation)

    def add(self, name: str, forms: list, f: Any, before: str = "", note: str = "") -> None:
        """Add a function: `forms` has its parameters and result, several times if it is overloaded."""
        scope = getattr(inspect.unwrap(f), "__globals__", vars(sys.modules[f.__module__]))
        doc = inspect.getdoc(f) or ""
        if self.module is METHODS:  # the examples call the function
            doc = doc.partition("\n\n>>>")[0]
        for parameters, result in forms:
            shown = [self.shown(p, scope) for p in parameters]
            lines = [before] * bool(before) + ([f"@{self.typed('overload', {})}"] if len(forms) > 1 else [])
            lines += [f"def {name}{inspect.Signature(shown)} -> {self.typed(result, scope)}:{note}"]
            self.lines += [*lines, *[f"    {line}" for line in self.body(doc)]]
            doc = ""

    @staticmethod
    def body(doc: str) -> list[str]:
        """Return the lines of a docstring, with its quotes; of an overload after the first, dots."""
        text = doc.replace("\\", "\\\\")
        return f'"""{text}{chr(10) * (chr(10) in text)}"""'.split("\n") if doc else ["..."]

    def shown(self, p: inspect.Parameter, scope: dict) -> inspect.Parameter:
        """Return a parameter that prints as it stands in the stub."""
        default = p.default if p.default is EMPTY else Verbatim(default_text(p.default))
        annotation = EMPTY if p.annotation is EMPTY else Verbatim(self.typed(p.annotation, scope))
        return p.replace(default=default, annotation=annotation)

    def text(self, names: list[str]) -> str:
        """Return the whole file, formatted; `names` are public."""
        imports = [f"from {module} import {', '.join(sorted(found))}\n" for module, found in self.imports.items()]
        listed = f"__all__ = {sorted(names)!r}\n" if names else ""
        text = f'"""{self.module.__doc__}"""\n\n{NOTE}{"".join(imports)}{listed}' + "\n".join(self.lines) + "\n"
        for command in ("check --quiet --select I --fix", "format --quiet"):
            run = [sys.executable, "-m", "ruff", *command.split(), "--stdin-filename", path_of(self.module), "-"]
            text = subprocess.run(run, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        return text


class Verbatim(str):
    """A text that prints without quotes."""

    def __repr__(self) -> str:
        return str(self)


def default_text(value: Any) -> str:
    """Return a default as a stub shows it: numbers, texts and None; others are dots."""
    parts = value if isinstance(value, tuple) else (value,)
    plain = all(type(v) in (bool, int, float, str, type(None)) and v == v for v in parts)
    return repr(value) if plain else "..."


def forms_of(name: str, f: Any, method: bool = False) -> list:
    """Return parameters and result of an operation, as a function or as a method; several pairs if it is overloaded."""
    if name in WRITTEN and not method:
        return [parsed(text) for text in WRITTEN[name]]
    signature, entry = inspect.signature(f), TABLE.get(name) or TABLE.get(name.removesuffix("_"))
    cls = entry and entry.cls
    several = name.startswith("__") or cls is not None and len(cls.names) - cls.n_settings > 1
    parameters = [p.replace(annotation=type_of(name, p, several)) for p in signature.parameters.values()]
    if method:
        own = parameters[parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL :]
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [first, *[p for p in own if p.name != "out"]]
    elif entry is not None and entry.out and "out" not in signature.parameters:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("out", kind, default=None, annotation="Tensor | None"))
    given = signature.return_annotation
    result = "" if given is EMPTY else given if isinstance(given, str) else getattr(given, "__name__", "None")
    return list(overloads(name, parameters, result_of(name, result)))


def parsed(text: str) -> tuple[list[inspect.Parameter], str]:
    """Return the parameters and the result of a signature."""
    scope: dict = {}
    exec(f"from __future__ import annotations\ndef f{text}: ...", scope)
    signature = inspect.signature(scope["f"])
    return list(signature.parameters.values()), signature.return_annotation


# ---------------------------------------------------------------------- modules of functions
def function_stub(module: ModuleType) -> str:
    """Return the stub of a module that imports operations."""
    source = ast.parse(path_of(module).with_suffix(".py").read_text(encoding="utf-8"))
    names = {name: place for name, *place in imported(source)}
    values, loose = dict(constants(source, module)), []
    if module is MODULES[-1]:
        table = placeholders.TABLE["top_level"]
        parts = {n: [v.__module__, n] for n, v in table.items() if getattr(v, "__name__", "") == n}
        loose = [n for n in (*table, *module._PLACEHOLDERS) if n not in parts]
        names = parts | dict(lazy(module)) | names
    stub = Stub(module, {*names, *values, *loose})
    stub.lines = [f"{n}: {'None' if v is None else stub.typed(type(v).__name__, {})}" for n, v in values.items()]
    stub.lines += [f"{n}: {stub.typed('Any', {})}" for n in loose]
    for name, place in names.items():
        f = vars(module).get(name)
        home, known = HOMES.get(id(f), (None, name))
        if home is module:
            key = next((n for n, e in TABLE.items() if e.function is f and n.rpartition(".")[2] == name), known)
            stub.add(name, forms_of(key, f), f)
        elif home is not None:
            stub.need(home.__name__, known, name)
        else:
            stub.need(place[0], place[1], name)
    return stub.text([*names, *values, *loose])


def imported(source: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Yield each public name that a module imports, the module it comes from, and its name there."""
    for node in source.body:
        guarded = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else [node]
        for statement in guarded:
            if isinstance(statement, ast.ImportFrom):
                for a in statement.names:
                    if not (name := a.asname or a.name).startswith("_"):
                        yield name, "." * statement.level + (statement.module or ""), a.name


def lazy(module: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield each part of the package that it imports at its first use, with the package it is in and its name there."""
    for name, place in (module._AROUND | {n: f"{place}.{n}" for n, place in module._FUNCTIONS.items()}).items():
        yield name, [f"{module.__name__}.{place}".rpartition(".")[0], place.rpartition(".")[2]]


def constants(source: ast.Module, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the numbers, texts and so on that a module assigns."""
    for node in source.body:
        for part in node.targets if isinstance(node, ast.Assign) else ():
            name = part.id if isinstance(part, ast.Name) else "_"
            if name == "__version__" or not name.startswith("_"):
                yield name, getattr(module, name)


# ---------------------------------------------------------------------- methods of Tensor
def method_stub() -> str:
    """Return the stub with the methods of Tensor that the source of its class and of its bases does not have."""
    shown = dict(sorted(attached()))
    stub = Stub(METHODS, {*shown})
    for name, value in shown.items():
        if isinstance(value, property):
            stub.add(
                name,
                [([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)], "Tensor")],
                value.fget,
                "@property",
            )
        else:
            note = "  # type: ignore[override]" if name in vars(object) and name != "__init__" else ""
            stub.add(name, forms_of(name, value, method=True), value, note=note)
    stub.lines.append("def __hash__(self) -> int: ...")  # __eq__ compares values, but tensors are hashed by identity
    stub.lines = ["class Operations:", f'    """{OPERATIONS}"""', *[f"    {line}" for line in stub.lines]]
    stub.own = set()
    stub.add("install", [([], "None")], METHODS.install)
    return stub.text([])


def attached() -> Iterator[tuple[str, Any]]:
    """Yield the public methods, properties and operators that are attached to Tensor."""
    here = {n for cls in (methods.Methods, conversion.Conversions, hooks.TensorMethods) for n in vars(cls)}
    (declared,) = (n for n in ast.parse(inspect.getsource(Tensor)).body if isinstance(n, ast.ClassDef))
    here |= {ast.unparse(target) for n in declared.body if isinstance(n, ast.Assign) for target in n.targets}
    here |= {n.name for n in declared.body if isinstance(n, ast.FunctionDef)}
    for name, value in vars(Tensor).items():
        public = not name.startswith("_") or name.startswith("__") and name not in ("__dir__", "__getattr__")
        usable = inspect.isfunction(value) or isinstance(value, property)
        if public and usable and name not in here and not isinstance(value, (Misspelt, Called)):
            yield name, value


def main() -> None:
    """Write the stubs."""
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
