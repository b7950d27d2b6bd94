"""A failed explanation, or a failed search in the user's program, never replaces the error that it works for."""

import pytest

import minigrad as torch
from minigrad.diagnose import cut_lines, report

pytestmark = pytest.mark.failed_search


class Model(torch.nn.Linear):
    def parameters(self, recurse=True):
        raise ZeroDivisionError("a method of the user")


def test_no_search_calls_a_users_parameters():
    model = Model(3, 1)
    with torch.no_grad():
        y = model(torch.ones(2, 3)).sum()
    with pytest.raises(RuntimeError, match="does not require grad") as raised:
        y.backward()
    assert "y is computed under no_grad" in str(raised.value)
    assert "internal" not in str(raised.value)


def test_the_error_is_raised_when_its_search_fails(monkeypatch):
    monkeypatch.setattr(cut_lines, "found_in", lambda *args: 1 / 0)
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad") as raised:
        x.sum().backward()
    note = "internal: the search for the cause failed (ZeroDivisionError: division by zero); please report it"
    assert note in raised.value.notes
    assert "To fix: set requires_grad=True" in str(raised.value)


def test_the_fault_is_named_when_its_explanation_fails(monkeypatch):
    monkeypatch.setitem(report.EXPLAINED, "the tensor does not require grad", lambda **facts: 1 / 0)
    with pytest.raises(RuntimeError, match="the tensor does not require grad") as raised:
        torch.ones(2).sum().backward()
    assert "internal" in str(raised.value)
    assert isinstance(raised.value, torch.MinigradError)


def test_a_step_works_when_its_search_fails(monkeypatch):
    monkeypatch.setattr(cut_lines, "running_line", lambda *args: 1 / 0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1](model[0](torch.ones(2, 3)).detach()).sum().backward()
    optimizer.step()
    assert model[0].weight.grad is None


def test_the_next_error_has_no_note_of_an_earlier_search(monkeypatch):
    with monkeypatch.context() as m:
        m.setattr(cut_lines, "found_in", lambda *args: 1 / 0)
        with pytest.raises(RuntimeError, match="internal"):
            torch.ones(2).sum().backward()
    with pytest.raises(RuntimeError) as raised:
        torch.ones(2).sum().backward()
    assert "internal" not in str(raised.value)
