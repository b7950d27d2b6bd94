"""Confine a notebook during grading: it sees few environment variables and, inside bubblewrap, few folders.

A notebook could find a token in a variable, a key in a file, or in /tmp or /run the socket of a program that takes commands.
So bubblewrap starts with an empty file system.  It adds the system's programs, Python with its packages and minigrad, all
read-only, and one writable folder.
"""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEM = [f"/{name}" for name in "usr bin sbin lib lib32 lib64 nix/store gnu/store".split()]
# files of /etc that programs need and that hold no secrets: paths of libraries, names of users, fonts, the time zone
SYSTEM += [f"/etc/{name}" for name in "ld.so.cache alternatives passwd group nsswitch.conf fonts localtime".split()]
VARIABLES = {"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "PYTHONHOME"} | {  # the others are for Windows
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"
}  # fmt: skip
FAMILIES = ("LC_", "OMP_", "MKL_", "OPENBLAS_", "NUMBA_", "CUDA_", "MINIGRAD_")  # prefixes of variables
HOMES = {"HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "XDG_STATE_HOME"}  # places of compiled kernels
ROOT = Path(__file__).parent.parent
TRIAL = "import lessons.run, minigrad, numba, IPython"


def environment(folder: Path, held: bool) -> dict[str, str]:
    """Return a notebook's environment variables.  If bubblewrap confines it (`held`), home and kernels are in its folder."""
    names = VARIABLES if held else VARIABLES | HOMES
    found = {k: v for k, v in os.environ.items() if k.upper() in names or k.startswith(FAMILIES)}
    if held:
        found.pop("MINIGRAD_CACHE", None)
        found["HOME"] = str(folder)
    places = {"MINIGRAD_LESSONS_PROGRESS": folder / "progress", "IPYTHONDIR": folder, "TMPDIR": folder}
    return found | {name: str(place) for name, place in places.items()}


def own_modules(variables: dict[str, str]) -> dict[str, str]:
    """Add variables that make Python find minigrad's packages before files with these names in a notebook's folder."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return variables | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "MPLBACKEND": "agg"}


def confined(folder: Path) -> list[str]:
    """Return the bubblewrap command to put before another: it then sees `places()` and this folder, and writes only here."""
    own = [("tmp", "/tmp"), ("shm", "/dev/shm"), ("", str(folder))]  # on disk: in memory they would count for no limit
    for name, _ in own:
        (folder / name).mkdir(exist_ok=True)
    before, *others = [("--bind", str(folder / name), place) for name, place in own]
    shown = [("--ro-bind-try", place, place) for place in places()]
    # even without capabilities root may write to the system's settings
    system = [("--proc", "/proc"), ("--ro-bind", "/proc/sys", "/proc/sys"), ("--dev", "/dev")]
    closed = [("--remount-ro", "/dev"), ("--remount-ro", "/")]  # these would be in memory, too
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    return ["bwrap", *options, *(word for words in [before, *shown, *system, *others, *closed] for word in words)]


def places() -> list[str]:
    """Return the folders of the system, Python, its packages and minigrad, but none that contains the home folder."""
    packages = [path for path in sys.path if path.endswith("-packages")]
    ours = [ROOT / name for name in ("minigrad", "viz", "lessons")]
    found = [*map(Path, [*SYSTEM, sys.base_prefix, sys.prefix, *packages]), *ours]
    home = Path(os.path.expanduser("~")).resolve()
    both = sorted({p for path in found for p in (path, path.resolve()) if not home.is_relative_to(p)})
    return [str(p) for p in both if not any(p.is_relative_to(other) for other in both if other != p)]


@functools.cache
def confinement() -> bool:
    """Return True if bubblewrap is installed and permitted, and Python with its packages starts inside it."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [*confined(Path(folder)), sys.executable, "-c", TRIAL]
        variables = own_modules({"PATH": os.environ.get("PATH", ""), "HOME": folder})
        return not subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False).returncode
