"""Check what changed since the branch left main, in about a minute if that is one folder: `make check`.

It runs ruff and pyright on the whole project, and the tests that the table TESTS names for the folders with changes. Test files
that changed run too, except those that need PyTorch. If the table has nothing for any change, the tests of the core run.
`.ci/run` stays the complete check.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
MAIN = "main", "origin/main"  # a clone of a branch has only the second one

# The rules of the project: names, imports, lines of the nucleus. They fail most often, whatever changes.
ALWAYS = ("tests/test_imports.py", "tests/test_project.py")
PARITY, SIMULATED = "tests/parity/", "tests/kernels/cuda/"  # need PyTorch; need the simulator of GPUs
WITHOUT_ENTRY = ("tests/core", "tests/spec", "tests/autograd/test_function.py", "tests/record/test_record.py")

# The longest beginning of a path counts. The tests of an entry take at most half a minute on two cores.
TESTS = {
    "benchmarks": "tests/benchmarks/test_page.py",
    "conftest.py": "tests/spec tests/test_interpreters.py",
    "docs": "tests/docs/test_voice.py tests/docs/test_hooks.py tests/docs/test_navigation.py",
    "docs/reference": "tests/docs/test_reference.py",
    "lessons": "tests/lessons/test_exercise.py tests/lessons/test_expect.py tests/lessons/test_as_notebook.py",
    "minigrad/arrays": "tests/core/test_dtypes.py tests/core/test_devices.py tests/ops/test_create.py",
    "minigrad/autograd": "tests/autograd/test_function.py tests/autograd/test_gradcheck.py tests/spec",
    "minigrad/compat": "tests/compat",
    "minigrad/compile": "tests/compile/test_compile.py tests/compile/test_compile_guards.py",
    "minigrad/core": "tests/core tests/spec tests/autograd/test_function.py",
    "minigrad/cuda.py": "tests/test_cuda.py",
    "minigrad/diagnose": "tests/mistakes tests/core/test_misspelt_names.py",
    "minigrad/distributed": "tests/distributed/test_launch.py",
    "minigrad/distributions": "tests/distributions",
    "minigrad/errors.py": "tests/test_errors.py tests/test_error_cycles.py",
    "minigrad/explain": "tests/explain",
    "minigrad/fast": "tests/ops/test_dispatch.py tests/ops/test_pointwise.py",
    "minigrad/files.py": "tests/test_files.py",
    "minigrad/formulas": "tests/formulas tests/record tests/ops/test_new_operation.py",
    "minigrad/func": "tests/func/test_reverse.py tests/func/test_forward.py tests/func/test_vmap.py",
    "minigrad/kernels": "tests/kernels/test_generate.py tests/kernels/test_cache.py tests/kernels/test_row_kernels.py",
    "minigrad/kernels/cuda": "tests/kernels/cuda/test_pointwise.py tests/kernels/cuda/test_indexing.py tests/test_cuda.py",
    "minigrad/layers": "tests/layers tests/func/test_reverse.py",
    "minigrad/nn": "tests/nn tests/ops/test_errors_layers.py",
    "minigrad/ops": "tests/ops/test_new_operation.py tests/ops/test_pointwise.py tests/ops/test_shape.py",
    "minigrad/optim": "tests/optim",
    "minigrad/places.py": "tests/test_interpreters.py tests/test_errors.py",
    "minigrad/profiler.py": "tests/test_profiler.py",
    "minigrad/record": "tests/record tests/test_interpreters.py",
    "minigrad/serialization": "tests/test_serialization.py tests/test_safetensors.py",
    "minigrad/tensors": "tests/core/test_printing.py tests/core/test_conversion.py tests/core/test_hooks.py",
    "minigrad/testing": "tests/testing",
    "minigrad/utils": "tests/utils",
    "mkdocs.yml": "tests/docs/test_navigation.py tests/docs/test_hooks.py",
    "tests/mistakes": "tests/mistakes",
    "tests/lessons/answers": "tests/lessons/test_lessons.py",
    "tools": "tests/tools tests/test_interpreters.py",
    "viz": "tests/viz/test_pictures.py tests/viz/test_texts.py tests/viz/test_graph.py tests/viz/test_commands.py",
    "viz/viewer": "tests/viz/viewer/test_page.py",
}


def git(*words: str) -> list[str]:
    """Return the names that a git command prints; none if the command fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return [name for name in done.stdout.split("\0") if name.strip()] if done.returncode == 0 else []


def changed() -> list[str]:
    """Return the files that differ from the commit at which this branch left main, and the new ones."""
    bases = [base.strip() for name in MAIN for base in git("merge-base", name, "HEAD")] or ["HEAD"]
    return sorted(
        {*git("diff", "--name-only", "-z", bases[0]), *git("ls-files", "--others", "--exclude-standard", "-z")}
    )


def entry(path: str) -> str:
    """Return the tests in the table for a file; "" if it has none.

    >>> entry("viz/viewer/dom.js"), entry("minigrad/cuda.py"), entry("minigrad/cuda.pyi"), entry("LICENSE")
    ('tests/viz/viewer/test_page.py', 'tests/test_cuda.py', '', '')
    """
    parents = [path, *map(str, PurePosixPath(path).parents)]
    return next((TESTS[name] for name in parents if name in TESTS), "")


def tests_for(files: Iterable[str]) -> list[str]:
    """Return the tests to run after changes of some files."""
    found: dict[str, None] = {}
    for path in files:
        name = PurePosixPath(path).name
        is_test = path.startswith("tests/") and name.startswith("test_") and name.endswith(".py")
        if is_test and not path.startswith(PARITY) and (ROOT / path).exists():
            found[path] = None
        found.update(dict.fromkeys(entry(path).split()))
    return [*ALWAYS, *(found or WITHOUT_ENTRY)]


def main() -> int:
    """Run everything, types beside the tests, and return the number of failed programs."""
    python, files = sys.executable, changed()
    tests = tests_for(files)
    simulated = [test for test in tests if test.startswith(SIMULATED)]
    print(f"{len(files)} files changed; tests: {' '.join(tests)}", flush=True)
    types = subprocess.Popen([python, "-m", "pyright"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    style = [[python, "-m", "ruff", *words, "."] for words in (("format", "--check", "--quiet"), ("check", "--quiet"))]
    pytest = [python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "-m", "not slow"]
    failed = sum([subprocess.run(command, cwd=ROOT).returncode != 0 for command in style])
    failed += subprocess.run([*pytest, *[t for t in tests if t not in simulated]], cwd=ROOT).returncode != 0
    if simulated:
        simulator = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
        failed += subprocess.run([*pytest, *simulated], cwd=ROOT, env=simulator).returncode != 0
    said, _ = types.communicate()
    print(said, end="")
    return failed + (types.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
