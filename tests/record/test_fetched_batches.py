"""Operations with which a DataLoader makes a batch are no part of a record, unless a gradient can pass through them."""

import pytest

import minigrad as torch
from minigrad.utils.data import DataLoader, Dataset


class Scaled(Dataset):
    """Rows that each sample scales and compares, as transforms and labels do."""

    def __init__(self, rows, scale=2.0):
        self.rows, self.scale = rows, scale

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        x = (self.rows[i] - 1) * self.scale
        return x + 0 * torch.rand(3), int(x.sum() > 0)


def operations(rec):
    return [op["name"] for op in rec.to_dict()["ops"] if op["phase"] == "forward"]


@pytest.mark.parametrize("jvp", [False, True])
def test_a_batch_is_an_input_of_the_record(jvp):
    w = torch.ones(3, requires_grad=True)
    loader = DataLoader(Scaled(torch.arange(12.0).reshape(4, 3)), batch_size=2, shuffle=True)
    with torch.Record(jvp=jvp) as rec:
        for x, y in loader:
            loss = ((x * w).sum(1) - y).sum()
    assert operations(rec) == ["mul", "sum", "sub", "sum"] * 2
    assert not rec.to_dict().get("reads")
    loss.backward()
    assert w.grad.tolist() == x.sum(0).tolist()


def test_operations_through_which_a_gradient_passes_are_recorded():
    codes = torch.ones(4, 3, requires_grad=True)
    with torch.record() as rec:
        x, _ = next(iter(DataLoader(Scaled(codes), batch_size=2)))
        x.sum().backward()
    names = operations(rec)
    assert names.count("sub") == 2 and "stack" in names and "rand" not in names
    assert codes.grad.sum(1).tolist() == [6.0, 6.0, 0.0, 0.0]


def test_recording_goes_on_after_an_error_in_the_dataset():
    with torch.record() as rec:
        with pytest.raises(RuntimeError):
            next(iter(DataLoader(Scaled(torch.ones(2, 3), scale=torch.ones(5)))))
        torch.ones(2) * 2
    assert operations(rec) == ["mul"]


def test_a_dataset_that_is_read_by_the_program_itself_is_recorded():
    with torch.record() as rec:
        Scaled(torch.ones(2, 3))[0]
    assert {"getitem", "sub", "mul"} <= set(operations(rec))
