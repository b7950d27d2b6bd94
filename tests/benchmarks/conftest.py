"""The benchmarks set the number of threads and what the collector walks; the other tests keep theirs."""

import gc

import pytest

import minigrad


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Put minigrad's number of threads back, and leave the collected tests where conftest.py has put them."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
    n = minigrad.get_num_threads()
    yield
    minigrad.set_num_threads(n)
