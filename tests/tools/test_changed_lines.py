"""The table of added and removed lines counts each folder."""

import doctest
import subprocess

from tools import changed_lines


def test_examples():
    assert doctest.testmod(changed_lines).failed == 0


def test_lines_of_a_branch_are_counted_from_where_it_left_main(tmp_path, monkeypatch, capsys):
    def git(*words):
        settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *settings, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("_in_", "/").replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git("add", "--all")
        git("commit", "--message", "some")

    git("init", "--initial-branch=main")
    commit(viz_in_cli__py="1\n2\n3\n")
    git("checkout", "-b", "topic")
    commit(viz_in_cli__py="1\n3\n4\n5\n", minigrad_in_core_in_a__py="1\n")
    git("checkout", "main")
    commit(later__py="1\n")
    git("checkout", "topic")
    monkeypatch.setattr(changed_lines, "ROOT", tmp_path)
    changed_lines.main("main")
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == ["| minigrad/core | 1 | 0 | +1 |", "| viz | 2 | 1 | +1 |", "| **all** | 3 | 1 | +2 |"]
