"""A notebook in JupyterLab, driven in a headless browser: what shows itself there does so, and can be stepped through."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jupyterlab")
sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ROOT = Path(__file__).parent.parent.parent
CELLS = [
    "%load_ext minigrad\nimport minigrad\nw = minigrad.tensor(2.0, requires_grad=True)",
    "w * w + 1",
    "%%trace\nh = minigrad.tanh(w * 3)\nh * h",
]


def notebook():
    """Return the cells as a file of Jupyter's."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells = [{**cell, "id": f"cell{i}", "source": text} for i, text in enumerate(CELLS)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture
def lab(tmp_path):
    """Yield the address of a JupyterLab whose folder holds the notebook."""
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook()))
    options = ["--no-browser", "--allow-root", "--port=0", "--ServerApp.port_retries=50", "--ServerApp.root_dir=."]
    places = {
        name: str(tmp_path / "jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    environment = {**os.environ, **places, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        for line in server.stderr:
            if found := re.search(r"http://(?:127\.0\.0\.1|localhost):(\d+)/lab\?token=(\w+)", line):
                yield f"http://127.0.0.1:{found[1]}/lab/tree/lesson.ipynb?token={found[2]}"
                break
    finally:
        server.terminate()
        server.wait(30)
        server.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_tensors_and_traced_cells_show_the_viewer(lab):
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1500})
        page.set_default_timeout(60_000)
        page.goto(lab)
        page.wait_for_selector("text=| Idle")
        page.click(".jp-Notebook .jp-CodeCell >> nth=0")
        for i in range(len(CELLS)):
            page.keyboard.press("Shift+Enter")
            page.wait_for_selector(f".jp-InputPrompt >> text=[{i + 1}]:")
        frames = page.locator(".jp-OutputArea iframe")
        frames.nth(1).wait_for()
        assert frames.count() == 2
        viewer = page.frame_locator(".jp-OutputArea iframe").nth(1)
        viewer.locator("body").click(position={"x": 5, "y": 5})
        page.keyboard.press("End")
        viewer.locator("text=tangent").first.wait_for()
        assert "tanh" in viewer.locator("svg").first.text_content()
        assert not page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count()
        browser.close()
