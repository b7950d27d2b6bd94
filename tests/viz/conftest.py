"""A folder with a program in it."""

import pytest

from .command import PROGRAM


@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.py").write_text(PROGRAM)
    return tmp_path
