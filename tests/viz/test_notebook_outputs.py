"""Notebooks store the viewer's script once, small displays, and names from cells; run by nbclient, read by a browser."""

import re

import pytest

from tests.browser import launched
from viz.cards.mathml import mathml
from viz.notebook import MOST
from viz.viewer.shared import empty

nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
CELLS = [
    "import minigrad as torch\nx = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n%load_ext minigrad",
    "h = (x * x).tanh()\ny = (h * x).sum()\ny",
    "%%trace\nz = (x * 2).exp().sum()\nz",
    "z.backward()\ny.backward()\nx.grad",
    "net = torch.nn.Linear(3, 1)\nnet(x).pow(2)",
    "a = x\nfor i in range(90):\n    a = (a * x).tanh() + 1\na",
    "q = (x * x).sum()\ntorch.explain(q, x)",
    "import viz\nviz.live(lambda w: (w * w).sum(), torch.tensor(3.0))",
]


@pytest.fixture(scope="module")
def ran(request):
    """The notebook after all cells have run."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(book, kernel_name="python3").execute()
    return book


def outputs(book):
    """Return the representations of each cell's result, in the order of the cells."""
    return [
        one.data for cell in book.cells for one in cell.outputs if one.output_type in ("execute_result", "display_data")
    ]


def size(data):
    return sum(len(text) for text in data.values())


def test_the_script_is_in_the_first_picture_only(ran):
    pages = ['class="minigrad-page"' in data.get("text/html", "") for data in outputs(ran)]
    assert pages == [True, *[False] * (len(pages) - 1)]
    viewers = ['class="minigrad-viewer"' in data.get("text/html", "") for data in outputs(ran)]
    assert viewers == [True, True, False, True, True, True, True]


def test_the_display_of_a_tensor_is_small(ran):
    first, _, _, module, long, _, _ = outputs(ran)
    assert size(first) - len(empty()[0]) <= MOST
    assert size(module) <= MOST and size(long) <= MOST
    assert "image/svg+xml" in first and "image/svg+xml" in module


def test_a_traced_cell_and_displays_leave_the_graph_and_the_gradients_alone(ran):
    """dz/dx = 2 exp(2 x), and dy/dx from a graph that was displayed; a display that adds to .grad would change the sum."""
    values = [float(one) for one in re.findall(r"[-\d.e+]+", outputs(ran)[2]["text/plain"].removeprefix("tensor"))]
    import numpy as np

    x = np.array([1.0, 2.0, 3.0])
    expected = 2 * np.exp(2 * x) + np.tanh(x**2) + x * (1 - np.tanh(x**2) ** 2) * 2 * x
    assert np.allclose(values, expected, rtol=1e-3)


def test_values_have_the_names_of_the_notebooks_variables(ran):
    first, _, _, module, *_ = outputs(ran)
    picture = first["image/svg+xml"]
    assert ">y = " in picture and ">h = " in picture and ">x<" in picture
    assert "net.weight" in module["image/svg+xml"]


def test_an_explanation_shows_its_text_its_mathematics_and_the_viewer(ran):
    page = outputs(ran)[-2]["text/html"]
    assert page.index(">∂q/∂x") < page.index("<math") < page.index('class="minigrad-viewer"')


def test_formulas_are_mathematics_and_never_markup():
    assert mathml(r"\bar{x_{1}} = \frac{\bar{y}}{2}").count("<mover") == 2
    assert "<msup><mi>h</mi><mrow><mn>2</mn></mrow></msup>" in mathml("h^{2}")
    assert "<mtable>" in mathml(r"\begin{cases} x & x > 0 \\ 0 & \text{else} \end{cases}")
    assert "<script" not in mathml(r"<script>\text{<script>}")


def test_the_viewers_open_at_the_last_step_also_in_exported_html(ran, tmp_path):
    nbconvert = pytest.importorskip("nbconvert")
    html, _ = nbconvert.HTMLExporter().from_notebook_node(ran)
    (tmp_path / "book.html").write_text(html)
    with launched() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "book.html").as_uri(), wait_until="commit")
        page.locator(".minigrad-viewer iframe").nth(5).wait_for(state="attached")
        assert page.locator(".minigrad-viewer iframe").count() == 6
        for i in range(6):
            viewer = page.frame_locator(".minigrad-viewer iframe").nth(i)
            viewer.locator("#play", has_text="Play").wait_for(state="attached")
        live = page.locator(".minigrad-viewer iframe").last.element_handle().content_frame()
        assert live.evaluate("(minigrad.set('w', 5), [minigrad.get('w').grad, minigrad.frozen()])") == [10, []]
        viewer = page.frame_locator(".minigrad-viewer iframe").first
        assert re.match(r"Forward\D*(\d+) of \1", viewer.locator("#where").text_content())
        viewer.locator("#play").click()
        viewer.locator("#play", has_text="Pause").wait_for()
        viewer.locator("#where", has_text="Backward").wait_for()
