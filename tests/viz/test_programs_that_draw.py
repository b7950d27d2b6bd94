"""Programs that record, draw and explain themselves do the same under the commands, and are drawn themselves."""

import pytest

from tests.forked import python

from .command import minigrad

PROGRAM = """
import LIBRARY
import minigrad
import viz

x = LIBRARY.tensor([1.0, 2.0], requires_grad=True)
w = LIBRARY.tensor([3.0, -1.0], requires_grad=True)

def f(q):
    return (q * q).sum()

h = x * w
done = [
    viz.draw(f, x, passes="all").text(),
    viz.draw(lambda q: q.softmax(0), x, passes="all").text(),
    viz.draw(lambda q: (q * h).sum(), x, passes="jvp").text(),
]
loss = (h * x).sum()
loss.backward()
MORE
done += [viz.draw(f, x, passes="all").text(), x.grad.tolist(), w.grad.tolist()]
open("done.txt", "w").write("\\n".join(map(str, done)))
"""
MORE = """
with minigrad.record() as rec:
    z = (x * 3).exp().sum()
    z.backward()
done += [
    minigrad.record_of(x * x).to_json(), minigrad.record(f, x, passes="jvp").to_json(), minigrad.explain(f, x), rec.to_json(),
    minigrad.func.jvp(f, (x.detach(),), (minigrad.ones(2),)), minigrad.func.hessian(f)(x.detach()),
]
"""
COMMANDS = ["render prog.py:loss -o a.svg", "render prog.py -f txt -o -", "explain prog.py:loss", "step prog.py:loss"]


def written(folder, library):
    more = MORE if library == "minigrad" else ""
    (folder / "prog.py").write_text(PROGRAM.replace("LIBRARY", library).replace("MORE", more))
    assert python(folder / "prog.py", cwd=folder).returncode == 0
    return (folder / "done.txt").read_text()


@pytest.mark.parametrize("library", ["minigrad", "torch"])
def test_a_program_that_draws_does_the_same_under_each_command(tmp_path, library):
    pytest.importorskip(library)
    alone = written(tmp_path, library)
    for command in COMMANDS:
        done = minigrad(tmp_path, *command.split())
        assert done.returncode == 0, done.stderr.decode()
        assert (tmp_path / "done.txt").read_text() == alone, command


@pytest.mark.parametrize("library, last", [("minigrad", "z"), ("torch", "loss")])
def test_the_last_backward_of_such_a_program_is_its_own(tmp_path, library, last):
    pytest.importorskip(library)
    written(tmp_path, library)
    text = minigrad(tmp_path, "render", "prog.py", "-f", "txt", "-o", "-").stdout.decode()
    assert text.startswith(f"{last} · prog.py") and "passes: forward, backward, jvp" in text


def test_such_a_program_under_minigrad_viz_leaves_the_picture_of_its_last_backward(tmp_path):
    alone = written(tmp_path, "minigrad")
    done = python(tmp_path / "prog.py", cwd=tmp_path, MINIGRAD_VIZ="p.txt")
    assert done.returncode == 0 and (tmp_path / "done.txt").read_text() == alone
    assert (tmp_path / "p.txt").read_text().startswith("z · prog.py")
