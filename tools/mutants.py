"""Count the faults that tests find: `python -m tools.mutants minigrad/formulas -n 50 -- tests/formulas -m "not slow"`.

A mutant is the code with one small change, such as `<` for `<=`. The tests run once for each mutant, in a copy of the tree
and until the first failure: a mutant is killed if they fail, too slow if they run out of time, else it survives. The same
seed draws the same mutants, so two suites for the same code can be compared.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
              ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*")}  # fmt: skip
COMPARISONS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
               ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
               ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")}  # fmt: skip
UNREAD = (
    "annotation",
    "returns",
    "decorator_list",
)  # fields of a syntax tree that no test can depend on, or that register
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".hypothesis", "__pycache__", "site", "build", ".cache")


@dataclass
class Mutant:
    """One change of a file, and its outcome."""

    file: str
    line: int
    change: str
    text: str
    outcome: str = ""
    seconds: float = 0.0
    found_by: str = ""


# ---------------------------------------------------------------------- changes
class Source:
    """A text whose positions are those of its syntax tree: lines and bytes."""

    def __init__(self, text: str):
        self.data, self.tree = text.encode(), ast.parse(text)
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node starts and ends, in bytes."""
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def code(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def replaced(self, start: int, end: int, new: str) -> str:
        """Return the whole text with a part replaced."""
        return (self.data[:start] + new.encode() + self.data[end:]).decode()


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a syntax tree that are worth a change."""
    yield tree
    if isinstance(tree, ast.JoinedStr):  # the positions inside are not those in the file
        return
    for field, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in UNREAD:
                yield from nodes(child)


def between(source: Source, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the change of the operator between two operands."""
    start, end = source.span(left)[1], source.span(right)[0]
    found = re.search(re.escape(old).replace(r"\ ", r"\s+"), source.data[start:end].decode())
    if found:
        yield start + found.start(), start + found.end(), new, f"{old} -> {new}"


def changes(source: Source, node: ast.AST) -> Iterator[tuple[int, int, str, str]]:
    """Yield the changes of a node: start, end, the new text, and how to describe them."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
            yield from between(source, left, right, *ARITHMETIC[type(op)])
            for operand in (left, right):
                yield *source.span(node), f"({source.code(operand)})", "drop an operand"
        case ast.BoolOp(op, values):
            words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from between(source, values[0], values[1], *words)
        case ast.Compare(left, ops, comparators):
            for a, op, b in zip([left, *comparators], ops, comparators):
                yield from between(source, a, b, *COMPARISONS[type(op)])
        case ast.UnaryOp(ast.Not() | ast.USub() as op, operand):
            yield *source.span(node), f"({source.code(operand)})", f"drop {'not' if isinstance(op, ast.Not) else '-'}"
        case ast.Constant(bool() | int() | float() as value):
            new = not value if isinstance(value, bool) else value + 1
            yield *source.span(node), repr(new), f"{value} -> {new}"
        case ast.IfExp(test):
            yield *source.span(test), f"(not ({source.code(test)}))", "negate the condition"
        case ast.Call(args=[first, second, *_]) if not isinstance(first, ast.Starred | ast.GeneratorExp):
            yield from exchanged(source, first, second, "arguments")
        case ast.stmt():
            yield from changes_of_statement(source, node)


def changes_of_statement(source: Source, node: ast.stmt) -> Iterator[tuple[int, int, str, str]]:
    """Yield the changes of a statement that are none of an expression in it."""
    match node:
        case ast.Return(ast.expr() as value) if source.code(value) != "None":
            yield *source.span(value), "None", "return None"
            if isinstance(value, ast.Tuple) and len(value.elts) > 1:
                yield from exchanged(source, value.elts[0], value.elts[1], "results")
        case ast.If(test):
            yield *source.span(test), f"(not ({source.code(test)}))", "negate the condition"
        case ast.Expr(ast.Call()):
            yield *source.span(node), "pass", "drop the call"
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield *source.span(node), "pass", "drop the assignment"


def exchanged(source: Source, first: ast.expr, second: ast.expr, words: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the change that exchanges two neighbours of a list."""
    (start, middle), (begin, end) = source.span(first), source.span(second)
    swapped = source.code(second) + source.data[middle:begin].decode() + source.code(first)
    if source.code(first) != source.code(second) and not isinstance(second, ast.Starred):
        yield start, end, swapped, f"swap the first two {words}"


def drawn(root: Path, folder: Path, number: int, seed: int) -> list[Mutant]:
    """Draw mutants of a file, or of all files in a folder; the same for the same seed."""
    places = []
    for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        source = Source(file.read_text(encoding="utf-8"))
        places += [(file, source, change) for node in nodes(source.tree) for change in changes(source, node)]
    random.Random(seed).shuffle(places)
    found = itertools.islice(filter(None, (mutant(root, *place) for place in places)), number)
    return sorted(found, key=lambda m: (m.file, m.line, m.change))


def mutant(root: Path, file: Path, source: Source, change: tuple[int, int, str, str]) -> Mutant | None:
    """Return the mutant with one change, or None if it does not compile."""
    start, end, new, words = change
    text = source.replaced(start, end, new)
    try:
        compile(text, str(file), "exec")
    except SyntaxError:
        return None
    return Mutant(file.relative_to(root).as_posix(), source.data[:start].count(b"\n") + 1, words, text)


# ---------------------------------------------------------------------- runs
def run_tests(tree: Path, words: list[str], limit: float | None) -> tuple[int | None, str, float]:
    """Run tests in a tree until the first failure; return the exit code, the failed test and the time in seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", *words]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # also the programs that a test has started
            process.wait()
            code = None
        said.seek(0)
        text = said.read()
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.M)
    return code, failed[1] if failed else text[-300:], time.monotonic() - began


def judge(mutant: Mutant, tree: Path, words: list[str], limit: float) -> None:
    """Run the tests on a mutant, and note the outcome."""
    file = tree / mutant.file
    before = file.read_bytes()
    try:
        file.write_text(mutant.text, encoding="utf-8")
        moment = time.time() + random.randrange(1, 10**6)  # Python takes bytecode of the same time for that of the file
        os.utime(file, (moment, moment))
        code, failed, mutant.seconds = run_tests(tree, words, limit)
    finally:
        file.write_bytes(before)
    mutant.outcome = "too slow" if code is None else "survived" if code == 0 else "killed"
    mutant.found_by = failed if mutant.outcome == "killed" else ""


def run(root: Path, chosen: list[Mutant], words: list[str], limit: float, jobs: int = 1) -> None:
    """Run the tests on each mutant, in `jobs` copies of the tree at a time."""
    with tempfile.TemporaryDirectory() as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for i in range(jobs):
            shutil.copytree(root, Path(folder, str(i)), ignore=LEFT_OUT, symlinks=True)
            trees.put(Path(folder, str(i)))
        tree = trees.get()
        code, failed, seconds = run_tests(tree, words, None)
        trees.put(tree)
        if code:
            raise SystemExit(f"mutants: the tests fail before any change: {failed}\nTo fix: make them pass first.")
        allowed = limit or 3 * seconds + 10

        def one(mutant: Mutant) -> None:
            tree = trees.get()
            try:
                judge(mutant, tree, words, allowed)
            finally:
                trees.put(tree)
            print(line(mutant), flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, chosen))


def line(mutant: Mutant) -> str:
    """Return the line of the report for a mutant."""
    return f"{mutant.outcome:9}{mutant.file}:{mutant.line}: {mutant.change}  {mutant.found_by}".rstrip()


def summary(folder: str, chosen: list[Mutant]) -> str:
    """Return the last line of the report.

    >>> summary("minigrad/func", [Mutant("a.py", 1, "+ -> -", "", "killed"), Mutant("a.py", 2, "< -> <=", "", "survived")])
    'minigrad/func: 2 mutants, 1 killed, 0 too slow, 1 survived'
    """
    counts = Counter(m.outcome for m in chosen)
    return f"{folder}: {len(chosen)} mutants, " + ", ".join(
        f"{counts[o]} {o}" for o in ("killed", "too slow", "survived")
    )


def main(arguments: list[str]) -> int:
    """Draw mutants, run the tests on each, and print the outcomes."""
    words = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("code", type=Path, help="the file or folder to change; -- and arguments for pytest come last")
    parser.add_argument("-n", type=int, default=50, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0, help="seconds for each mutant; three times an unchanged run")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at a time")
    parser.add_argument("--json", type=Path, help="a file for the outcomes")
    options = parser.parse_args(arguments[: arguments.index("--")] if words else arguments)
    if not words:
        parser.error("name the tests after --")
    root = Path.cwd()
    chosen = drawn(root, root / options.code, options.n, options.seed)
    run(root, chosen, words, options.limit, options.jobs)
    print(summary(options.code.as_posix(), chosen))
    if options.json:
        data = [{k: v for k, v in asdict(m).items() if k != "text"} for m in chosen]
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
