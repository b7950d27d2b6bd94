"""Functions called in several processes: what goes there, what comes back, and that nothing is left when one fails."""

import contextlib
import functools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import minigrad as torch
import minigrad.distributed as dist
from minigrad.distributed import Ranks, launch
from minigrad.distributed.function_transport import packed, unpacked
from minigrad.distributed.nn import functional
from tests.distributed import forked
from tests.distributed.ranks import ROOT, needs_mpi
from viz import draw_ranks

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def left():
    """Return the processes of any `run` that are there."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if b"minigrad-ranks-" + tag() in entry.read_bytes():
                found.append(entry.parent.name)
    return found


def tag():
    """Return the part of a folder's name that marks this process's runs, so that no other runs are counted."""
    return f"of-{os.getpid()}-".encode()


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    """Name the folders so that their processes are found, and see afterwards that none is left."""
    made = launch.tempfile.TemporaryDirectory
    monkeypatch.setattr(
        launch.tempfile, "TemporaryDirectory", lambda prefix: made(prefix=prefix + tag().decode(), dir=tmp_path)
    )
    yield
    end = time.monotonic() + 5
    while sys.platform.startswith("linux") and left() and time.monotonic() < end:
        time.sleep(0.05)
    assert not sys.platform.startswith("linux") or not left()
    assert not list(tmp_path.glob("minigrad-ranks-*"))


@pytest.fixture
def imported(monkeypatch):
    """Fork the ranks from a Python that has imported minigrad; they have no parents that shield them from mpiexec."""
    start = launch.start_mpiexec

    def forked_ranks(command, **how):
        return start([*command[:3], *forked.command(command[-1].removeprefix(launch.SHIELD))], **how)

    monkeypatch.setattr(launch, "start_mpiexec", forked_ranks)


def by_reference(x, factor=2):
    dist.all_reduce(x)
    print("the sum is", x.item())
    return {"sum": x * factor, "rank": dist.get_rank(), "odd": [math.nan, math.inf]}


@needs_mpi
def test_each_rank_returns_what_it_has_found_and_prints_what_it_says(imported):
    ranks = dist.run(functools.partial(by_reference, factor=3), 3, torch.tensor(2.0))
    assert [r["rank"] for r in ranks] == [0, 1, 2] and all(r["sum"].item() == 18.0 for r in ranks)
    assert math.isnan(ranks[1]["odd"][0]) and ranks[1]["odd"][1] == math.inf
    assert ranks.outputs == ["the sum is 6.0\n"] * 3
    assert repr(ranks).splitlines()[0] == "[0] the sum is 6.0" and "[2]</b> the sum is 6.0" in ranks._repr_html_()


def loss_of_rank(w):
    x = torch.tensor(dist.get_rank() + 1.0)
    total = functional.all_reduce(w * x)
    return total.square() if dist.get_rank() == 0 else total.exp()


@needs_mpi
def test_what_the_ranks_compute_is_drawn_in_one_picture(imported):
    ranks = draw_ranks(loss_of_rank, 2, torch.tensor(0.5, requires_grad=True), passes=("forward", "backward"))
    assert [loss.item() for loss in ranks] == pytest.approx([2.25, math.exp(1.5)])
    record = ranks.drawing.record
    assert [lane["ranks"] for lane in record["lanes"]] == [[0], [1]]
    names = {op["name"]: op["lanes"] for op in record["ops"] if op["phase"] == "forward"}
    assert names == {"mul": [1], "AllReduce": [0, 1], "square": [0], "exp": [1]}
    assert record["program"]["file"] == __file__ and len(record["timeline"]) == 2
    assert ranks.drawing.passes == ("forward", "backward") and "<svg" in ranks._repr_html_()


PROGRAM = """
import minigrad as torch
from minigrad import distributed as dist, nn
from dataclasses import dataclass

WIDTH = 3
batch = torch.ones(4, 3)


class Net(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.fc = nn.Linear(width, 2)

    def forward(self, x):
        return twice(self.fc(x))


@dataclass
class Settings:
    rate: float = 0.5


class Mine(Exception):
    pass


def twice(x):
    return 2 * x


model, settings = Net(), Settings()
optimizer = torch.optim.SGD(model.parameters(), lr=settings.rate)


def step(x):
    loss = model(x).sum()
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad, dist.ReduceOp.AVG)
    optimizer.step()  # whose parameters are the model's
    return loss, model


def refuses():
    raise Mine("no")


if __name__ == "__main__":
    before = model.fc.bias.tolist()
    ranks = dist.run(step, 2, batch)
    assert [type(m) for _, m in ranks] == [Net, Net] and ranks[0][0].grad_fn is None
    for _, found in ranks:
        assert torch.tensor(before).sub(found.fc.bias).allclose(torch.tensor(4.0))
    assert model.fc.bias.tolist() == before, "the ranks have copies"
    try:
        dist.run(refuses, 2)
    except Mine as e:
        assert "line 46, in refuses" in e.__notes__[0] and "program.py" in e.__notes__[0]
    else:
        raise AssertionError("nothing was raised")
"""


@needs_mpi
def test_a_program_sends_its_own_functions_classes_and_values(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


def fails_on_one():
    print("at work")
    if dist.get_rank() == 1:
        raise ValueError("one is odd")
    dist.barrier()


@needs_mpi
def test_what_a_rank_raises_is_raised_with_its_traceback_and_where_the_others_were(imported):
    with pytest.raises(ValueError, match="one is odd") as caught:
        dist.run(fails_on_one)
    said = "\n".join(caught.value.__notes__)
    assert "on rank 1 of 2:\n  Traceback" in said and "test_launch.py" in said and "in fails_on_one" in said
    assert "rank 0 has waited" in said and "in barrier() at" in said and "[0] at work" in said
    assert "Abort" not in said and "launched.py" not in said


def killed(rank):
    if dist.get_rank() == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def killed_alone():
    if dist.get_rank():
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(100)


@needs_mpi
@LINUX
@pytest.mark.slow
def test_a_rank_that_is_killed_is_named_and_so_is_where_the_others_were(monkeypatch):
    with pytest.raises(RuntimeError, match=r"rank 1 has died, so barrier\(\) can never finish"):
        dist.run(killed, 3, 1)
    monkeypatch.setattr(launch, "GRACE", 1.0)
    with pytest.raises(RuntimeError, match="rank 1 of 2 ended without a result or an error") as caught:
        dist.run(killed_alone)
    assert "rank 0 is in killed_alone at" in str(caught.value)


def ends_early():
    if dist.get_rank():
        sys.exit(3)
    time.sleep(100)


@needs_mpi
def test_time_that_is_over_is_an_error_that_says_where_each_rank_is(tmp_path, monkeypatch, imported):
    begun = str(tmp_path / "begun")

    class Clock:  # on which ten minutes pass when the function has begun
        sleep = time.sleep

        @staticmethod
        def monotonic():
            return time.monotonic() + 600 * Path(begun).exists()

    def goes_on():
        open(begun, "w").close()
        time.sleep(100)

    with monkeypatch.context() as patched:
        patched.setattr(launch, "time", Clock)
        with pytest.raises(TimeoutError, match="took more than 500 s") as caught:
            dist.run(goes_on, 1, timeout=500)
    assert "rank 0 is in goes_on at" in str(caught.value)
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        dist.run(ends_early)


WAITS = """
import signal, sys, time
import minigrad.distributed.launch as launch
signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts tests in the background has it ignored
made = launch.tempfile.TemporaryDirectory
launch.tempfile.TemporaryDirectory = lambda prefix: made(prefix=prefix + sys.argv[1], dir=sys.argv[2])

def waits():
    open(sys.argv[2] + "/begun", "w").close()
    time.sleep(100)

launch.run(waits)
"""


@needs_mpi
@LINUX
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_no_rank_outlives_the_program_that_has_started_it(how, tmp_path):
    (tmp_path / "program.py").write_text(WAITS.replace("sys.argv[2] +", f"{str(tmp_path)!r} +"))
    command = [sys.executable, tmp_path / "program.py", tag().decode(), tmp_path]
    started = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, start_new_session=True
    )
    end = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < end and started.poll() is None:
        time.sleep(0.05)
    assert len(left()) >= 5, "mpiexec, and two ranks with their parents"
    started.send_signal(how)
    _, said = started.communicate()
    assert b"KeyboardInterrupt" in said or how == signal.SIGKILL
    for folder in tmp_path.glob("minigrad-ranks-*"):  # which a program that is killed leaves
        launch.shutil.rmtree(folder)


# ---------------------------------------------------------------------- what can be sent
@pytest.fixture
def elsewhere(monkeypatch):
    """Send a function and its arguments, and call it where no name of this file is known."""

    def called(function, *args):
        content = packed(function, args)
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "__main__", ModuleType("__main__"))
            found, given = unpacked(content)
            return found(*given)

    return called


def test_a_function_is_sent_with_what_it_uses(elsewhere):
    base, one, told = 10, torch.tensor(1.0), []

    class Base:
        def scale(self):
            return base

    class Counted(Base):
        unit = 1
        more = unit + 1

        def __init__(self, n):
            super().__init__()
            self.n = n

        def value(self):
            return even(self.n) and self.scale() * (self.more - self.unit) * self.n

    def even(n):
        """Return whether
        n is even."""
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    def found(n, more=10, *, last=True):
        told.append(n)
        return Counted(n).value() + more + last * one.item(), math.sqrt(4), len(told)

    assert elsewhere(found, 4) == (51.0, 2.0, 1) and told == []
    assert elsewhere(Counted.value, Counted(2)) == 20
    assert elsewhere(lambda n, by=base: n * by, 3) == 30


def test_a_dataclass_is_sent_with_its_generated_methods(elsewhere):
    @dataclass
    class Point:
        x: int
        y: int = 2

    @dataclass(order=True)
    class Longer(Point):
        def total(self):
            return self.x + self.y

    def found(p):
        return p.total(), p == Longer(1), p < Longer(2), repr(Point(3)).endswith("Point(x=3, y=2)")

    assert elsewhere(found, Longer(1)) == (3, True, True, True)


def doubled(x):
    return 2 * x


def test_what_cannot_be_sent_is_refused_by_its_name():
    numbers, lock = (n for n in range(3)), threading.Lock()

    def uses_numbers():
        return list(numbers)

    def uses_lock():
        with lock:
            return uses_numbers

    with pytest.raises(
        TypeError, match="uses_numbers uses numbers, which cannot be sent[^§]*make it inside the function"
    ):
        packed(uses_numbers, ())
    with pytest.raises(TypeError, match="argument 0 of doubled is lock, which cannot be sent"):
        packed(doubled, (lock,))
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="argument 1 of doubled is Tensor.*only leaf tensors can be pickled"):
        packed(doubled, (x, x * 2))
    with pytest.raises(TypeError, match="uses_lock uses lock, which"):
        packed(uses_lock, ())


def test_cells_of_a_notebook_keep_their_lines(elsewhere):
    text = "rate = 3\n\n\ndef raises(n):\n    return n / (rate - 3)\n"
    file, scope = "<ipython-input-7-0f1e2d>", {"__name__": "__main__"}
    launch_cache = sys.modules["linecache"].cache
    launch_cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(ZeroDivisionError) as caught:
        elsewhere(scope["raises"], 1)
    last = caught.tb.tb_next
    while last.tb_next:
        last = last.tb_next
    assert (last.tb_frame.f_code.co_filename, last.tb_lineno) == ("In[7]", 5)


@pytest.mark.parametrize("n", [0, -1, 2.0, True, None])
def test_another_number_of_processes_is_refused(n):
    with pytest.raises(ValueError, match="distributed.run: expected n to be a number of processes"):
        dist.run(doubled, n)
    with pytest.raises(ValueError, match="expected timeout to be a time"):
        dist.run(doubled, 1, timeout=-1)


def test_without_mpiexec_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(launch.shutil, "which", lambda *_, **__: None)
    with pytest.raises(RuntimeError, match="there is no mpiexec[^§]*pip install '.\\[mpi\\]' in a checkout"):
        dist.run(doubled, 2, 1.0)


def test_ranks_are_shown_line_by_line():
    ranks = Ranks([None, torch.ones(2, 2)], ["", "a < b\n"])
    assert repr(ranks) == "[1] a < b\n[1] returns tensor([[1., 1.],\n[1]         [1., 1.]])"
    assert "a &lt; b" in ranks._repr_html_() and len(ranks) == 2 and ranks[1].shape == (2, 2)
