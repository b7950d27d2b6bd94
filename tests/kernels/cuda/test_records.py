"""Records and drawings of programs that compute on a device: values know where they are."""

import minigrad
import viz
from minigrad.record import record


def recorded():
    """Return a step of training whose input comes from the processor."""
    w, x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda", requires_grad=True), minigrad.tensor([1.0, 2.0])
    optimizer = minigrad.optim.SGD([w], 0.5)
    with record() as rec:
        y = x.cuda() @ w
        loss = (y * y).cpu().sum()
        loss.backward()
        optimizer.step()
    return rec


def test_values_say_where_they_are_and_what_they_hold():
    values = recorded().to_dict()["values"]
    places = {(tuple(v["shape"]), v["kind"]): v["device"] for v in values if v["kind"] in ("input", "parameter")}
    assert places == {((2,), "input"): "cpu", ((2, 2), "parameter"): "cuda:0"}
    assert [v["summary"]["values"] for v in values if v["kind"] == "input"] == [[1.0, 2.0]]
    gradients = [v for v in values if v["kind"] == "gradient" and v["shape"] == [2, 2]]
    assert [v["device"] for v in gradients] == ["cuda:0"]
    assert gradients[0]["summary"]["values"] == [[14.0, 20.0], [28.0, 40.0]]
    kept = [v for v in values if v["kind"] == "parameter"]
    assert kept[0]["summary"]["values"] == [[1.0, 2.0], [3.0, 4.0]], "what was there before the step"


def test_drawings_show_the_device():
    drawing = viz.draw(recorded())
    text = drawing.text()
    assert "float32 (2, 2) · 16 B · cuda:0" in text and "float32 (2,) · 8 B\n" in text
    assert "cuda:0" in drawing.svg() and "cuda:0" in drawing.html()
