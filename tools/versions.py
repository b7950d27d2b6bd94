"""Run tests with the oldest NumPy, SciPy and Numba that pyproject.toml allows, and with the newest: `make test-versions`.

Each set is installed into an environment in .cache/versions. The arguments go to pytest.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
NUMERICAL = ("numpy", "scipy", "numba", "ml_dtypes")
SHOW = """
import sys
from importlib.metadata import version
print(f"Python {sys.version.split()[0]},", ", ".join([f"{name} {version(name)}" for name in sys.argv[1:]]))
"""


def oldest(dependencies: list[str]) -> list[str]:
    """Return requirements for the oldest versions of the numerical packages that a list of dependencies allows.

    >>> oldest(["numba>=0.65", "numpy>=2.3", "rich>=13"])
    ['numba==0.65.*', 'numpy==2.3.*']
    """
    found = [re.match(r"([\w-]+)>=([\d.]+)", one) for one in dependencies]
    return [f"{m[1]}=={m[2]}.*" for m in found if m is not None and m[1] in NUMERICAL]


def environment(name: str, requirements: list[str]) -> str:
    """Set up an environment with some requirements, and return its interpreter."""
    folder = ROOT / ".cache" / "versions" / f"{name}-{sys.version_info[0]}.{sys.version_info[1]}"
    python = str(folder / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    command = [python, "-m", "pip", "install", "-qq", "--upgrade", "--upgrade-strategy", "eager", "-e", ".[dev,demo]"]
    subprocess.run([*command, *requirements], cwd=ROOT, check=True)
    return python


def main(arguments: list[str]) -> int:
    """Run pytest in both environments; return the number of failed runs."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    failed = 0
    for name, requirements in (("oldest", oldest(dependencies)), ("newest", [])):
        python = environment(name, requirements)
        subprocess.run([python, "-c", SHOW, *NUMERICAL], check=True)
        command = [python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "-m", "not slow", *arguments]
        failed += subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
