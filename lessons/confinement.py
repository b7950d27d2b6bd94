"""Confine a notebook that is graded: it sees few variables of the environment, and within bubblewrap few folders.

A notebook could find a token in a variable, a key in a file, and in /tmp or /run the socket of a program that takes commands.
So bubblewrap starts with an empty file system, into which come the system's programs, Python with its packages, and minigrad,
none of which can be written to, and one folder that can.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEM = [f"/{name}" for name in "usr bin sbin lib lib32 lib64 nix/store gnu/store".split()]
# of /etc what programs need and everybody may know: where libraries lie, the names of users, fonts, the time zone
SYSTEM += [f"/etc/{name}" for name in "ld.so.cache alternatives passwd group nsswitch.conf fonts localtime".split()]
VARIABLES = {"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "PYTHONHOME"} | {  # these of Windows
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"
}  # fmt: skip
FAMILIES = ("LC_", "OMP_", "MKL_", "OPENBLAS_", "NUMBA_", "CUDA_", "MINIGRAD_")  # of variables
HOMES = {"HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "XDG_STATE_HOME"}  # where compiled kernels lie
ROOT = Path(__file__).parent.parent
TRIAL = "import lessons.run, minigrad, numba, IPython"


def environment(folder: Path, held: bool) -> dict[str, str]:
    """Return the variables that a notebook gets; confined to its folder, it has its home and its kernels there."""
    names = VARIABLES if held else VARIABLES | HOMES
    found = {k: v for k, v in os.environ.items() if k.upper() in names or k.startswith(FAMILIES)}
    if held:
        found.pop("MINIGRAD_CACHE", None)
        found["HOME"] = str(folder)
    places = {"MINIGRAD_LESSONS_PROGRESS": folder / "progress", "IPYTHONDIR": folder, "TMPDIR": folder}
    return found | {name: str(place) for name, place in places.items()}


def own_modules(variables: dict[str, str]) -> dict[str, str]:
    """Return variables by which Python finds our packages first: a notebook's folder may hold others of these names."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return variables | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "MPLBACKEND": "agg"}


def confined(folder: Path) -> list[str]:
    """Return what to put before a command so that it sees what `places` lists and this folder, and can write to this alone."""
    own = [("tmp", "/tmp"), ("shm", "/dev/shm"), ("", str(folder))]  # on the disk, as memory would not be counted
    for name, _ in own:
        (folder / name).mkdir(exist_ok=True)
    before, *others = [("--bind", str(folder / name), place) for name, place in own]
    shown = [("--ro-bind-try", place, place) for place in places()]
    # root may write to the system's settings even without capabilities
    system = [("--proc", "/proc"), ("--ro-bind", "/proc/sys", "/proc/sys"), ("--dev", "/dev")]
    closed = [("--remount-ro", "/dev"), ("--remount-ro", "/")]  # they would be memory, too
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    return ["bwrap", *options, *(word for words in [before, *shown, *system, *others, *closed] for word in words)]


def places() -> list[str]:
    """Return the folders that Python, its packages and minigrad lie in, but none that the home folder lies in."""
    packages = [path for path in sys.path if path.endswith("-packages")]
    ours = [ROOT / name for name in ("minigrad", "viz", "lessons")]
    found = [*map(Path, [*SYSTEM, sys.base_prefix, sys.prefix, *packages]), *ours]
    home = Path(os.path.expanduser("~")).resolve()
    both = sorted({p for path in found for p in (path, path.resolve()) if not home.is_relative_to(p)})
    return [str(p) for p in both if not any(p.is_relative_to(other) for other in both if other != p)]


@functools.cache
def confinement() -> bool:
    """Say whether bubblewrap is there and allowed to work, and Python finds there what it needs."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [*confined(Path(folder)), sys.executable, "-c", TRIAL]
        variables = own_modules({"PATH": os.environ.get("PATH", ""), "HOME": folder})
        return not subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False).returncode
