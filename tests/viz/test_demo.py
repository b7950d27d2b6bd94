"""The demonstration, as `make demo` runs it."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest


@pytest.mark.slow
def test_the_demonstration_trains_checks_and_draws(tmp_path):
    pytest.importorskip("sklearn")
    done = subprocess.run([sys.executable, "-m", "viz.demo"], cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "forward.svg",
        "backward.svg",
        "jvp.svg",
        "film.svg",
        "step.html",
        "gradients.png",
        "gradients.gif",
        "memory.png",
        "histograms.png",
    }
    assert "by finite differences" in done.stdout and done.stdout.count("wrote demo/") == 9
    for name in ("forward", "backward", "jvp"):  # each picture is of its pass alone
        words = "".join(ET.parse(tmp_path / "demo" / f"{name}.svg").getroot().itertext())
        assert ("grad =" in words or "grad min" in words, "tangent" in words) == (name == "backward", name == "jvp")
