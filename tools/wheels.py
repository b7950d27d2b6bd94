"""Build the wheel, and install it into an environment for each interpreter: `python -m tools.wheels`.

The environments are in .cache/wheel. The tests that run the lessons from a wheel use them (tests/lessons/test_wheel.py).
"""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from .interpreters import interpreters

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "wheel"
PARTS = ("minigrad", "viz", "lessons", "pyproject.toml", "README.md", "LICENSE")  # the sources of a wheel


def fingerprint() -> str:
    """Return a hash of the files that a wheel is built from."""
    files = [path for part in PARTS for path in [ROOT / part, *(ROOT / part).rglob("*")] if path.is_file()]
    kept = sorted(path for path in files if "__pycache__" not in path.parts)
    return hashlib.sha256(b"".join(str(path).encode() + path.read_bytes() for path in kept)).hexdigest()


def environment(version: str, path: str) -> Path:
    """Return the interpreter of an environment with the current wheel; it is set up once, also if several processes ask."""
    folder = CACHE / version
    folder.mkdir(parents=True, exist_ok=True)
    python, stamp, wheels, now = folder / "bin" / "python", folder / "built-from", folder / "wheels", fingerprint()
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != now:
            if not python.exists():
                subprocess.run([path, "-m", "venv", folder], check=True)
            shutil.rmtree(wheels, ignore_errors=True)
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
            (wheel,) = wheels.glob("*.whl")
            subprocess.run([*pip, "install", f"{wheel}[lessons]"], check=True)
            subprocess.run(
                [*pip, "install", "--no-deps", "--force-reinstall", wheel], check=True
            )  # of the same version
            stamp.write_text(now)
    return python


if __name__ == "__main__":
    for version, path in interpreters().items():
        print(
            f"Python {version}: the wheel is in {environment(version, path).parent.parent.relative_to(ROOT)}",
            flush=True,
        )
