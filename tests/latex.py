"""LaTeX, where this machine has one: a document is set, and refused with what LaTeX says."""

import shutil
import subprocess

import pytest

ENGINES = {"pdflatex": ["-interaction=nonstopmode", "-halt-on-error"], "tectonic": []}


def typeset(document, folder):
    """Return the bytes of the PDF of a document; the test is skipped where there is no LaTeX."""
    engine = next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        pytest.skip("no pdflatex or tectonic is here")
    (folder / "document.tex").write_text(document)
    done = subprocess.run(
        [engine, *ENGINES[engine], "document.tex"], cwd=folder, capture_output=True, text=True, errors="replace"
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (folder / "document.log").read_text(errors="replace")
    return (folder / "document.pdf").read_bytes()
