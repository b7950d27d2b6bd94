"""No test of lessons touches what the person who runs it has solved."""

import pytest


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_LESSONS_PROGRESS", str(tmp_path / "progress.json"))
