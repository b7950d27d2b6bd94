"""The site, built once for the tests that look at it, and a browser to look with.

Of the lessons only the first is run; the others are pages without outputs, so that every link has its target.
"""

import fcntl
import functools
import os
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from docs.build import ROOT
from tests.browser import launched

BUILD = """
import shutil
import sys
from pathlib import Path
from docs.build import assemble
from mkdocs.commands.build import build
from mkdocs.config import load_config

gen, site = map(Path, sys.argv[1:])
assemble(gen, only=["01_numbers_that_remember"])
shutil.copy("tests/docs/maths.md", gen)
build(load_config("mkdocs.yml", docs_dir=str(gen), site_dir=str(site)))
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Return the folder of the built site, which the first worker builds for all."""
    pytest.importorskip("mkdocstrings", reason="needs the extra docs")
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "site"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
            command = [sys.executable, "-c", BUILD, f"{folder}.gen", f"{folder}.part"]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            os.rename(f"{folder}.part", folder)
    return folder


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")  # its event loop must not outlive it: other tests run their own loops
def chromium():
    with launched() as browser:
        yield browser
