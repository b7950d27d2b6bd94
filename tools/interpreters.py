"""List the Python interpreters of this machine that minigrad is tested on: `python -m tools.interpreters`.

Each line has a version and a path. Interpreters on the PATH come first, then pyenv's. A missing version is named on standard
error. This module runs before any environment exists, so it imports the standard library alone.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")  # all released ones for which NumPy and Numba have wheels
ASK = "import sys; print('%d.%d' % sys.version_info[:2], sys.version_info.releaselevel, sys.implementation.name)"


def interpreters(versions: tuple[str, ...] = VERSIONS) -> dict[str, str]:
    """Return the path of an interpreter for each version that is found."""
    found = {}
    for version in versions:
        for path in candidates(version):
            if runs_as(path) == version:
                found[version] = path
                break
    return found


def candidates(version: str) -> Iterator[str]:
    """Yield paths that may be an interpreter of a version: each folder of the PATH may have one, and pyenv several."""
    for folder in os.get_exec_path():
        if path := shutil.which(f"python{version}", path=folder):
            yield path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(map(str, pyenv.glob(f"{version}.*/bin/python")), reverse=True)
    for name in ("python3", "python"):
        if path := shutil.which(name):
            yield path


def runs_as(path: str) -> str:
    """Return the version of a released CPython; "" for other interpreters, and for a pyenv shim without a version behind it."""
    try:
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version, level, kind = [*asked.stdout.split(), "", "", ""][:3]
    return version if asked.returncode == 0 and (level, kind) == ("final", "cpython") else ""


def main() -> None:
    """Print what is found, and name what is missing."""
    found = interpreters()
    for version, path in found.items():
        print(version, path)
    for version in VERSIONS:
        if version not in found:
            print(f"minigrad: no Python {version} is on the PATH or among pyenv's; nothing runs on it", file=sys.stderr)


if __name__ == "__main__":
    main()
