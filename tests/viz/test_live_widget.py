"""`viz.live`: a page whose numbers Python reads, sets and observes; each end of the widget with a stand-in for the other."""

import json
import sys

import pytest

import minigrad
import viz
from tests.browser import launched

pytest.importorskip("anywidget")


def f(w, x):
    h = minigrad.tanh(w * x)
    return (h * w).sum()


@pytest.fixture
def made():
    live = viz.live(f, minigrad.tensor(0.5), minigrad.tensor([2.0, 3.0]))
    live.sent = []
    live.send = live.sent.append
    return live


def report(made, w, grad, **more):
    """Send what a page reports to a widget."""
    made.set_state({"values": {"w": w, "x": [2.0, 3.0], "h": [0.1, 0.2]}, "grads": {"w": grad}, **more})


def test_the_recorded_numbers_are_there_before_the_page_is_shown(made):
    assert (
        made.values["w"] == 0.5 and made.values["x"] == [2.0, 3.0] and made.values["h"][0] == pytest.approx(0.7615942)
    )
    assert made.grads["w"] == pytest.approx(2.3577774) and made.tangents["w"] == 1.0 and made.step is None


def test_a_number_that_python_sets_goes_to_the_page(made):
    seen = []
    made.observe(lambda change: seen.append(change.new["w"]), "values")
    made.values["w"] = minigrad.tensor(0.25)
    assert made.sent == [{"numbers": {"w": 0.25}}] and made.values == {"w": 0.25, "x": [2.0, 3.0]} and seen == [0.25]
    with pytest.raises(KeyError, match="has not computed it yet"):
        made.grads["w"]
    made.step = 3
    assert made.sent[1:] == [{"step": 3}]
    made.values = {"x": [1.0, 2.0]}
    assert made.sent[2:] == [{"numbers": {"x": [1.0, 2.0]}}] and made.values["w"] == 0.25


def test_what_the_page_reports_is_read_and_observed_and_not_sent_back(made):
    seen = []
    made.observe(lambda change: seen.append((change.name, change.new)), ["values", "step"])
    report(made, 0.7, "-Infinity", step=4)
    assert made.values["w"] == 0.7 and made.grads["w"] == float("-inf") and made.step == 4 and not made.sent
    assert ("step", 4) in seen and len(seen) == 2


def test_a_callback_sets_another_number_while_the_reader_drags(made):
    made.observe(lambda change: made.values.__setitem__("x", [0.0, change.new["w"]]), "values")
    report(made, 0.7, 1.0)
    assert made.sent == [{"numbers": {"x": [0.0, 0.7]}}] and made.values["w"] == 0.7


def test_a_name_is_that_of_the_picture_or_the_label():
    net = minigrad.nn.Linear(2, 1)
    made = viz.live(lambda x: net(x).sum(), minigrad.ones(1, 2))
    name = next(name for name in made.names if name.endswith("weight"))
    assert made.values[name] == made.values[made.names[name]] == net.weight.tolist()


@pytest.mark.parametrize(
    ("name", "numbers", "said"),
    [
        ("q", 1.0, "no value has the name 'q'. The names are w, x, "),
        ("h", [1.0, 2.0], "h is the result of an operation. Set one of w, x."),
        ("x", 1.0, r"x has shape \(2,\). Give numbers in this shape, not \(\)."),
        ("x", ["one", 2.0], "no numbers in even lists"),
        ("x", [[1.0], [1.0, 2.0]], "no numbers in even lists"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(made, name, numbers, said):
    before = dict(made.values)
    with pytest.raises(ValueError, match=said):
        made.values[name] = numbers
    assert made.values == before and not made.sent


def test_gradients_cannot_be_set(made):
    with pytest.raises(ValueError, match="only values can be set"):
        made.grads["w"] = 1.0
    with pytest.raises(Exception, match="only values can be set"):
        made.tangents = {"w": 1.0}


def test_nan_passes_both_ways(made):
    made.values["x"] = [float("nan"), float("inf")]
    assert json.loads(json.dumps(made.get_state("values"), allow_nan=False))["values"]["x"] == ["nan", "inf"]
    report(made, "NaN", 0.0)
    assert made.values["w"] != made.values["w"]


def test_the_names_of_a_tensor_are_those_of_the_callers_variables():
    w = minigrad.tensor(2.0, requires_grad=True)
    y = w * w
    made = viz.live(y, passes=("forward", "backward"))
    assert made.values["w"] == 2.0 and made.grads["w"] == 4.0 and made.values["y"] == 4.0


def test_without_anywidget_the_page_is_there_with_a_note(monkeypatch):
    monkeypatch.setattr("viz.notebook.live.find_spec", lambda name: None)
    made = viz.live(f, minigrad.tensor(0.5), minigrad.tensor([2.0, 3.0]))
    assert "install anywidget" in made.shown()["text/html"] and isinstance(made, viz.Drawing)


def test_a_program_that_a_page_cannot_compute_is_refused():
    def long(x):
        for _ in range(500):
            x = x * 1.0
        return x

    with pytest.raises(ValueError, match="a page cannot compute these numbers: the program has 500 operations"):
        viz.live(long, minigrad.tensor(1.0))


def test_the_output_is_the_static_page_and_a_view_only_where_the_page_cannot_reach_its_model(made, monkeypatch):
    view = "application/vnd.jupyter.widget-view+json"
    shown = made._repr_mimebundle_()
    assert shown[view]["model_id"] == made.model_id and f'name="{made._frame}"' in shown["text/html"]
    assert shown["image/svg+xml"].startswith("<svg") and shown["text/plain"]
    monkeypatch.setattr("viz.notebook.widget.running_cell", lambda: ("cell", 1))
    assert view not in made._repr_mimebundle_()
    monkeypatch.setattr(sys.modules["__main__"], "__vsc_ipynb_file__", "a.ipynb", raising=False)
    assert view in made._repr_mimebundle_()


HOST = """
<div id="place"></div>
<script type="module">
const state = STATE;
const heard = {};
const model = {
  get: (name) => state[name],
  set: (name, value) => (state[name] = value),
  save_changes: () => (window.saved = (window.saved ?? 0) + 1),
  on: (event, act) => (heard[event] = act),
};
window.state = state;
window.order = (order) => heard["msg:custom"](order);
const { default: widget } = await import(URL.createObjectURL(new Blob([ESM], { type: "text/javascript" })));
widget.initialize({ model });
for (let i = 0; i < 2; i++) {
  const el = document.createElement("div");
  document.querySelector("#place").append(el);
  await widget.render({ model, el });
}
</script>
"""


@pytest.mark.browser
def test_two_pages_of_one_model_follow_python_and_each_other(made, tmp_path):
    state = {name: value for name, value in made.get_state().items() if name in ("_frame", "_page", "values", "step")}
    script = json.dumps(str(made._esm)).replace("</", "<\\/")
    (tmp_path / "host.html").write_text(HOST.replace("ESM", script).replace("STATE", json.dumps(state)))
    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1300})
        page.goto((tmp_path / "host.html").as_uri())
        page.wait_for_function("window.state?.grads?.w > 2.35")
        page.evaluate("order({numbers: {w: 0.25, x: ['nan', 'inf']}})")
        page.wait_for_function(
            "state.values.w === 0.25 && state.values.x[0] === 'NaN' && state.values.x[1] === 'Infinity'"
        )
        assert page.evaluate("state.grads.w") == "NaN"
        page.evaluate("order({step: 2})")
        page.wait_for_function("state.step === 2")
        frames = [one for one in page.frames if one.name == made._frame]
        assert len(frames) == 2
        frames[0].evaluate("minigrad.set('w', 0.75)")
        page.wait_for_function("state.values.w === 0.75")
        frames[1].wait_for_function("minigrad.get('w').value === 0.75")
        frames[1].evaluate("minigrad.reset()")
        page.wait_for_function("state.values.w === 0.5 && state.values.x[1] === 3")
        frames[0].wait_for_function("minigrad.get('w').value === 0.5")
        saved = page.evaluate("saved")
        page.wait_for_timeout(300)
        assert page.evaluate("saved") <= saved + 1  # the pages do not answer each other for ever
