"""Griffe extensions for the reference: format docstring examples (`>>>` lines and their output) as code, and show the
settings of modules that do not define `__init__`."""

import builtins
import dataclasses
import re

import griffe

EXAMPLE = re.compile(r"^(?:>>>.*\n?(?:(?!\s*$).*\n?)*)", re.MULTILINE)


# The reference is read from the source alone: the stubs for editors repeat it, with overloads where the source has a function.
find_package = griffe.ModuleFinder.find_package


def find_source(finder, module_name):
    """Return a package without its stub."""
    found = find_package(finder, module_name)
    return dataclasses.replace(found, stubs=None) if isinstance(found, griffe.Package) else found


griffe.ModuleFinder.find_package = find_source
griffe.ModuleFinder.extensions_set = griffe.ModuleFinder.extensions_set - {".pyi"}


class Examples(griffe.Extension):
    """Puts each example into a fenced code block."""

    def on_instance(self, *, obj, **_):
        """Rewrite the docstring of a module, class or function."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", obj.docstring.value)


class Builtins(griffe.Extension):
    """Keeps int, float and bool in annotations as Python's types: minigrad.int, .float and .bool are dtypes."""

    def on_instance(self, *, obj, **_):
        """Reset the scope of these names in the annotations of a function or attribute."""
        if obj.is_function:
            parts = [obj.returns, *[p.annotation for p in obj.parameters]]
        else:
            parts = [obj.annotation] if obj.is_attribute else []
        for part in parts:
            for name in part.iterate() if isinstance(part, griffe.Expr) else ():
                if isinstance(name, griffe.ExprName) and hasattr(builtins, name.name):
                    name.parent = None  # where the name is looked up


class Settings(griffe.Extension):
    """Gives the modules of minigrad/nn/settings.py the `__init__` that their annotations define."""

    def on_package(self, *, pkg, **_):
        """Declare `__init__` in each class of nn, once all files are read and all bases are known."""
        if pkg.name == "minigrad":
            for module in pkg["nn"].modules.values():
                for cls in module.classes.values():
                    self.declare(cls)

    def declare(self, cls):
        """Do statically what `declare` in that file does at run time."""
        line = [cls, *cls.mro()]
        names = [base.name for base in line]
        if "Functional" not in names[1:]:
            return
        found = {}
        for base in reversed(line[: names.index("Functional")]):
            found |= {n: a for n, a in base.members.items() if a.is_attribute and a.annotation is not None}
        if found:
            kinds = griffe.ParameterKind
            kind = kinds.keyword_only if "kw_only=True" in cls.source else kinds.positional_or_keyword
            taken = [griffe.Parameter(n, annotation=a.annotation, kind=kind, default=a.value) for n, a in found.items()]
            first = griffe.Parameter("self", kind=kinds.positional_or_keyword)
            cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(first, *taken)))
