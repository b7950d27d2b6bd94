"""Notebooks in JupyterLab and marimo, driven in a headless browser: what shows itself there does so, and talks to Python."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import launched

ROOT = Path(__file__).parent.parent.parent
PROGRAM = "import minigrad, viz\ndef f(w, x):\n    h = minigrad.tanh(w * x)\n    return h * w"
LIVE = "d = viz.live(f, minigrad.tensor(0.5), minigrad.tensor(2.0))"
DISPLAYS = [
    "%load_ext minigrad\nimport minigrad\nw = minigrad.tensor(2.0, requires_grad=True)",
    "w * w + 1",
    "%%trace\nh = minigrad.tanh(w * 3)\nh * h",
]
TALKS = [
    f"{PROGRAM}\n{LIVE}\nheard = []\nd.observe(lambda change: heard.append(change.new['w']), 'values')",
    "d",
    "d.values['w'] = 0.25",
    "round(d.grads['w'], 4), d.step",
    "d.step = 1",
    "heard[-1] == d.values['w'] != 0.25, d.step",
]
MARIMO = f"""
import marimo
app = marimo.App()
@app.cell
def _():
    {PROGRAM.replace(chr(10), chr(10) + "    ")}
    import marimo as mo
    {LIVE}
    page = mo.ui.anywidget(d)
    return d, mo, page
@app.cell
def _(page):
    page
    return
@app.cell
def _(mo, page):
    mo.md(f"The weight is {{page.value['values']['w']:.3f}}, the gradient {{page.value['grads'].get('w', 0):.4f}}.")
    return
@app.cell
def _(mo):
    quarter = mo.ui.button(label="a quarter", on_click=lambda _: 0.25)
    quarter
    return (quarter,)
@app.cell
def _(d, quarter):
    if quarter.value is not None:
        d.values["w"] = quarter.value
    return
"""


@contextlib.contextmanager
def served(folder, module, *options):
    """Yield the first address that a server prints, with its token; its folder is `folder`."""
    places = {name: str(folder / "own") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    environment = {**os.environ, **places, "HOME": str(folder), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(
        [sys.executable, "-m", module, *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for line in server.stdout:
            if found := re.search(r"http://(?:127\.0\.0\.1|localhost):(\d+)[^?\s]*(\S*)", line):
                yield f"http://127.0.0.1:{found[1]}", found[2]
                return
        raise AssertionError(f"{module} has ended")
    finally:
        server.terminate()
        server.stdout.close()
        server.wait(30)


@contextlib.contextmanager
def notebook(folder, cells):
    """Yield the page of a JupyterLab with a notebook of these cells, and a function that runs the next one."""
    pytest.importorskip("jupyterlab")
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    content = {
        "cells": [{**cell, "id": f"cell{i}", "source": text} for i, text in enumerate(cells)],
        "metadata": kernel,
    }
    (folder / "lesson.ipynb").write_text(json.dumps(content | {"nbformat": 4, "nbformat_minor": 5}))
    options = ["--no-browser", "--allow-root", "--port=0", "--ServerApp.port_retries=50", "--ServerApp.root_dir=."]
    with launched() as browser, served(folder, "jupyterlab", *options) as (host, token):
        page = browser.new_page(viewport={"width": 1400, "height": 1500})
        page.set_default_timeout(60_000)
        page.goto(f"{host}/lab/tree/lesson.ipynb{token}")
        page.wait_for_selector("text=| Idle")
        page.click(".jp-Notebook .jp-CodeCell >> nth=0")
        numbers = iter(range(1, len(cells) + 1))

        def run(times=1):
            for _ in range(times):
                page.keyboard.press("Shift+Enter")
                page.wait_for_selector(f".jp-InputPrompt >> text=[{next(numbers)}]:")

        yield page, run


def drag(page, viewer, by):
    """Drag the first number of the page of the viewer to the side."""
    box = viewer.get_by_role("slider", name="w", exact=True).first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by, y, steps=3)
    page.mouse.up()


@pytest.mark.slow
def test_tensors_and_traced_cells_show_the_viewer(tmp_path):
    with notebook(tmp_path, DISPLAYS) as (page, run):
        run(len(DISPLAYS))
        frames = page.locator(".jp-OutputArea iframe")
        frames.nth(1).wait_for()
        assert frames.count() == 2
        viewer = page.frame_locator(".jp-OutputArea iframe").nth(1)
        viewer.locator("body").click(position={"x": 5, "y": 5})
        page.keyboard.press("End")
        viewer.locator("text=tangent").first.wait_for()
        assert "tanh" in viewer.locator("svg").first.text_content()
        assert not page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count()


def shows(page, i, words):
    """Run a cell again and again until its output has these words: numbers of the page arrive between two runs."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(i)
    for _ in range(40):
        cell.locator(".jp-InputArea").click()
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=| Idle")
        page.wait_for_timeout(250)
        if words in cell.locator(".jp-OutputArea-output").last.text_content():
            return
    raise AssertionError(f"{words} is not in {cell.text_content()}")


@pytest.mark.slow
def test_a_live_page_talks_to_python(tmp_path):
    with notebook(tmp_path, TALKS) as (page, run):
        run(2)
        viewer = page.frame_locator(".jp-OutputArea iframe").first
        viewer.locator("html[data-ready]").wait_for()
        run(2)  # Python sets w, and reads what follows
        shows(page, 3, "(0.8553, 3)")
        assert "0.25" in viewer.locator("#cards").text_content()
        page.locator(".jp-Notebook .jp-CodeCell").nth(4).locator(".jp-InputArea").click()
        run()  # and the step
        viewer.locator("body:has(#slider[aria-valuetext='forward 1'])").wait_for()
        drag(page, viewer, 40)
        page.locator(".jp-Notebook .jp-CodeCell").nth(5).locator(".jp-InputArea").click()
        run()
        shows(page, 5, "(True, 1)")
        assert not page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count()


@pytest.mark.slow
def test_a_live_page_is_an_element_of_marimo(tmp_path):
    pytest.importorskip("marimo")
    (tmp_path / "lesson.py").write_text(MARIMO)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        launched() as browser,
        served(tmp_path, "marimo", "run", "lesson.py", "--headless", f"--port={port}") as (host, _),
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        page.goto(host)
        page.wait_for_selector("text=The weight is 0.500, the gradient 1.1816.")
        viewer = page.frame_locator("iframe[name^=minigrad]")
        viewer.locator("html[data-ready]").wait_for()
        page.click("text=a quarter")
        page.wait_for_selector("text=The weight is 0.250, the gradient 0.8553.")
        drag(page, viewer, 40)
        page.wait_for_function("!document.body.innerText.includes('weight is 0.250')")
