"""`make check` finds what changed, and the tests for it."""

import doctest
import subprocess

import pytest

from tools import check


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a function that runs git in a repository for tools/check.py: its branch has one commit more than main."""
    monkeypatch.setattr(check, "ROOT", tmp_path)

    def git(*words):
        settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *settings, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for name in ("old.py", "committed.py", "edited.py", "removed.py"):
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "topic")
    (tmp_path / "committed.py").write_text("2\n")
    git("commit", "-a", "-m", "second")
    (tmp_path / "edited.py").write_text("2\n")
    (tmp_path / "removed.py").unlink()
    (tmp_path / "with space.py").write_text("1\n")
    return git


def test_changes_are_those_of_the_branch_and_of_the_working_tree(checkout):
    assert check.changed() == ["committed.py", "edited.py", "removed.py", "with space.py"]


def test_on_main_only_the_working_tree_counts(checkout):
    checkout("branch", "--force", "main")
    assert check.changed() == ["edited.py", "removed.py", "with space.py"]


def test_the_branch_of_a_clone_is_compared_with_the_remote_main(checkout):
    checkout("update-ref", "refs/remotes/origin/main", "main")
    checkout("branch", "-D", "main")
    assert "committed.py" in check.changed()


def test_without_a_main_only_the_working_tree_counts(checkout):
    checkout("branch", "-D", "main")
    assert check.changed() == ["edited.py", "removed.py", "with space.py"]


def test_the_longest_beginning_of_a_path_names_the_tests():
    assert doctest.testmod(check).failed == 0
    assert check.tests_for(["minigrad/optim/adam.py"]) == [*check.ALWAYS, "tests/optim"]


def test_a_changed_test_runs_and_a_removed_one_does_not():
    files = ["tests/test_files.py", "tests/test_that_was_removed.py", "tests/floats.py"]
    assert check.tests_for(files) == [*check.ALWAYS, "tests/test_files.py"]


def test_tests_beside_pytorch_do_not_run():
    assert check.tests_for(["tests/parity/test_engine.py", "tests/test_files.py"]) == [
        *check.ALWAYS,
        "tests/test_files.py",
    ]


def test_tests_of_two_folders_run_once_each():
    found = check.tests_for(["minigrad/core/graph.py", "minigrad/autograd/function.py"])
    assert len(found) == len({*found}) and {"tests/core", "tests/autograd/test_gradcheck.py"} <= {*found}


def test_changes_without_an_entry_run_the_tests_of_the_core():
    assert check.tests_for(["LICENSE"]) == check.tests_for([]) == [*check.ALWAYS, *check.WITHOUT_ENTRY]


def ran(monkeypatch, files, failing=""):
    """Return the commands that `make check` runs, each with its simulator of GPUs, and its result if one of them fails."""
    commands = []

    class Types:
        returncode = int(failing == "pyright")

        def communicate(self):
            return "types\n", None

    def start(command, **options):
        commands.append((command, options.get("env", {}).get("NUMBA_ENABLE_CUDASIM")))
        return Types()

    def run(command, **options):
        start(command, **options)
        return subprocess.CompletedProcess(command, int(bool(failing) and failing in command))

    monkeypatch.setattr(check, "changed", lambda: files)
    monkeypatch.setattr(check.subprocess, "run", run)
    monkeypatch.setattr(check.subprocess, "Popen", start)
    return check.main(), commands


def test_tests_for_gpus_run_in_the_simulator(monkeypatch):
    failed, commands = ran(monkeypatch, ["minigrad/kernels/cuda/launcher.py"])
    plain, simulated = [(words, simulator) for words, simulator in commands if "pytest" in words]
    assert not failed and plain[1] is None and simulated[1] == "1"
    assert "tests/kernels/cuda/test_indexing.py" in simulated[0] and "tests/test_cuda.py" in plain[0]
    assert not [word for word in plain[0] if word.startswith("tests/kernels/cuda")]


@pytest.mark.parametrize("failing, n", [("", 0), ("pyright", 1), ("format", 1), ("pytest", 1), ("ruff", 2)])
def test_whatever_fails_fails_the_check_and_the_rest_still_runs(failing, n, monkeypatch):
    failed, commands = ran(monkeypatch, ["LICENSE"], failing)
    assert failed == n and len(commands) == 4


def test_every_name_in_the_table_exists():
    named = {*check.TESTS, *check.ALWAYS, *check.WITHOUT_ENTRY}
    named.update(test for tests in check.TESTS.values() for test in tests.split())
    assert [name for name in sorted(named) if not (check.ROOT / name).exists()] == []


def test_every_folder_of_the_package_has_an_entry():
    folders = [path for path in (check.ROOT / "minigrad").iterdir() if (path / "__init__.py").exists()]
    assert [path.name for path in folders if not check.entry(f"minigrad/{path.name}/x.py")] == []
