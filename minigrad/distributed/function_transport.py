"""A function as bytes, with everything that it needs to run in another process: `distributed.run` sends it to its ranks.

Pickle writes a function or class of an imported module as its name.  Other processes cannot import a function or class from a
notebook's cell or from the program itself.  So its source text is sent, with the values of the global names in it, and each
rank runs the text again in its `__main__`, with the same line numbers.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import importlib
import inspect
import io
import linecache
import pickle
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ..errors import error
from ..places import cell_name

WHO = "distributed.run"
FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def packed(function: Any, args: tuple) -> bytes:
    """Return a function and its arguments as bytes.  Raises TypeError for objects that cannot be sent."""
    stream = io.BytesIO()
    pickle.dump(sys.path, stream)
    packer = Packer(stream)
    try:
        packer.dump((function, args))
    except (pickle.PicklingError, TypeError, ValueError, AttributeError, RuntimeError) as e:
        raise refusal(e, packer.names, function, args) from e
    return stream.getvalue()


def unpacked(content: bytes) -> tuple[Any, tuple]:
    """Return the function and its arguments, and define the names that they use in `__main__`."""
    stream = io.BytesIO(content)
    sys.path[:] = pickle.load(stream)
    return pickle.load(stream)


class Packer(pickle.Pickler):
    """A pickler that writes functions and classes without an importable name as text; `names` are the names that they use."""

    def __init__(self, stream: io.BytesIO):
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.names: dict[str, Any] = {}

    def reducer_override(self, obj: Any) -> Any:
        """Return how to pickle modules, functions and classes; leave other objects to pickle."""
        if isinstance(obj, ModuleType):
            return importlib.import_module, (obj.__name__,)
        plain = undecorated(obj)
        if not isinstance(plain, (FunctionType, type)) or importable(obj):
            return NotImplemented
        text = Definition.of(plain)
        needed, used = self.chosen(text.needed), self.chosen(text.used)
        return define, (text.name, text.file, text.lines, text.text, text.flags, needed), used, None, None, add_names

    def chosen(self, names: dict[str, Any]) -> dict[str, Any]:
        """Record names and return them.  Raises TypeError where a name has two values."""
        for name, value in names.items():
            if self.names.setdefault(name, value) is not value:
                what = f"the name {name} has different values in two of the functions"
                fix = "rename one of them: the ranks keep the names of all functions in one module"
                raise error(TypeError, WHO, what, fix)
        return names


class Definition(NamedTuple):
    """The text of a function or class, and its global names: `needed` to run the definition, or `used` when it is called."""

    name: str
    file: str
    lines: list[str]  # of the whole file if it is not on the disk, for tracebacks
    text: str
    flags: int  # from __future__
    needed: dict[str, Any]
    used: dict[str, Any]

    @classmethod
    def of(cls, obj: Any) -> Definition:
        """Return the definition of a function or class."""
        functions = [obj] if isinstance(obj, FunctionType) else list(methods(obj))
        space: dict[str, Any] = {} if functions else dict(vars(sys.modules[obj.__module__]))
        space |= {base.__name__: base for base in getattr(obj, "__bases__", ())}
        for f in functions:
            cells = zip(f.__code__.co_freevars, f.__closure__ or ())
            space |= {**f.__globals__, **{name: cell.cell_contents for name, cell in cells if name != "__class__"}}
        file, node = find_source(obj, [f.__code__ for f in functions])
        lines = linecache.getlines(file)
        first = first_line(node)
        block = "".join(lines[first - 1 : node.end_lineno])
        # a definition inside another function keeps its indentation, and each keeps its line numbers
        text = "\n" * (first - 2) + f"if True:\n{block}" if node.col_offset else "\n" * (first - 1) + block
        flags = functions[0].__code__.co_flags & FUTURE if functions else 0
        needed, used = named(compile(text, file, "exec", flags, dont_inherit=True))
        if unknown := sorted({n for n in needed if not n.startswith("__")} - space.keys() - vars(builtins).keys()):
            what = f"{obj.__name__} is defined with {unknown[0]}, which belongs to the function around it"
            raise error(TypeError, WHO, what, f"define {obj.__name__} outside of that function")
        shown = cell_name(file) or file
        return cls(
            obj.__name__,
            shown,
            lines if shown != file or file in made_up() else [],
            text,
            flags,
            {name: space[name] for name in sorted(needed) if name in space and not is_builtin(name, space)},
            {name: space[name] for name in sorted(used - needed) if name in space and not is_builtin(name, space)},
        )


def define(name: str, file: str, lines: list[str], text: str, flags: int, needed: dict[str, Any]) -> Any:
    """Run the text of a function or class in `__main__`, and return the object that it defines."""
    space = vars(sys.modules["__main__"])
    space.update(needed)
    if lines:
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    exec(compile(text, file, "exec", flags, dont_inherit=True), space)
    return space[name]


def add_names(_: Any, names: dict[str, Any]) -> None:
    """Define names in `__main__` that a function uses when it is called."""
    vars(sys.modules["__main__"]).update(names)


# ---------------------------------------------------------------------- texts
def undecorated(obj: Any) -> Any:
    """Return the function whose text, with its decorators, makes an object; the object itself if there is none."""
    plain = inspect.unwrap(obj) if callable(obj) else obj
    return plain if isinstance(plain, FunctionType) and plain.__globals__.get(plain.__name__) is obj else obj


def importable(obj: Any) -> bool:
    """Return True if other processes can import an object by its name."""
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    if module is None or module.__name__ in ("__main__", "__mp_main__"):
        return False
    for part in getattr(obj, "__qualname__", "").split("."):
        module = getattr(module, part, None)
    return module is obj


def methods(cls: type) -> Iterator[FunctionType]:
    """Yield the functions in the body of a class, without those that a decorator such as dataclass generates."""
    for value in vars(cls).values():
        f = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
        if isinstance(f, FunctionType) and f.__qualname__.startswith(f"{cls.__qualname__}."):
            lines = linecache.getlines(f.__code__.co_filename)
            if any(line.lstrip().startswith("class ") for line in lines):  # a generated text holds no class
                yield f


def find_source(obj: Any, codes: list[CodeType]) -> tuple[str, Any]:
    """Return the file with the text of a function or class, and its node there.  Raises TypeError if there is none."""
    if obj.__name__ == "<lambda>":
        raise error(TypeError, WHO, "a lambda cannot be sent to other processes", "define it by def, under a name")
    kinds = (ast.ClassDef,) if isinstance(obj, type) else (ast.FunctionDef, ast.AsyncFunctionDef)
    # a class without methods has no code that names its file
    own = getattr(sys.modules[obj.__module__], "__file__", None)
    files = [c.co_filename for c in codes] or [*([own] if own else []), *reversed(made_up())]
    for file in dict.fromkeys(files):
        for node in reversed(nodes(file)):
            here = isinstance(node, kinds) and getattr(node, "name", "") == obj.__name__
            if here and all(defines_code(node, c, isinstance(obj, type)) for c in codes):
                return file, node
    what = f"the source of {obj.__name__} is missing, or has changed since"
    raise error(TypeError, WHO, what, "write it into a notebook's cell or a file, and run that again")


def made_up() -> list[str]:
    """Return the names of texts without a file, such as a notebook's cells."""
    return [name for name, entry in linecache.cache.items() if len(entry) > 1 and entry[1] is None]


def nodes(file: str) -> list[ast.AST]:
    """Return all syntax nodes of a file; none where its text is not Python."""
    try:
        return list(ast.walk(ast.parse("".join(linecache.getlines(file)))))
    except SyntaxError:
        return []


def defines_code(node: Any, code: CodeType, within: bool) -> bool:
    """Return True if a node is the definition of some code, or with `within` contains it."""
    first = first_line(node)
    return first <= code.co_firstlineno <= node.end_lineno if within else first == code.co_firstlineno


def first_line(node: Any) -> int:
    """Return the first line of a function or class, which is a decorator's if it has one."""
    return min([node.lineno, *[d.lineno for d in node.decorator_list]])


def named(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the global names that a text reads when it runs, and the global names that its functions read."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    own = {name for kind, name in steps if kind == "STORE_NAME"}  # of the body of a class
    needed = {name for kind, name in steps if kind == "LOAD_NAME"} - own
    used = {name for kind, name in steps if kind in ("LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = named(inner)
            needed, used = needed | more[0], used | more[1]
    return needed, used


def is_builtin(name: str, space: dict[str, Any]) -> bool:
    """Return True if a name is a builtin, or one that Python sets in each module."""
    return name.startswith("__") or space[name] is getattr(builtins, name, space)


# ---------------------------------------------------------------------- errors
def refusal(e: Exception, names: dict[str, Any], function: Any, args: tuple) -> Exception:
    """Return the error for an object that cannot be sent, with the name that the function uses for it."""
    if getattr(e, "operation", "") == WHO:
        return e
    called = getattr(function, "__name__", str(function))
    candidates = [(f"{called} uses {name}", value) for name, value in reversed(names.items())]
    candidates += [(f"argument {i} of {called} is {type(a).__name__}", a) for i, a in enumerate(args)]
    for words, value in candidates:
        if isinstance(value, (FunctionType, type)):
            continue  # the names that it uses are candidates themselves
        try:
            Packer(io.BytesIO()).dump(value)
        except Exception:
            fix = "make it inside the function, or pass numbers, strings, tensors or modules to make it from"
            return error(TypeError, WHO, f"{words}, which cannot be sent to other processes: {first(e)}", fix)
    return error(TypeError, WHO, f"{called} cannot be sent to other processes: {first(e)}", "define it by def")


def first(e: BaseException) -> str:
    """Return the first line of an exception's message."""
    return f"{e}".partition("\n")[0]
