"""torch.version: nothing is built for one version of CUDA or of another platform."""

from .torch_modules import PYTORCH

__version__ = f"{PYTORCH}+minigrad"
cuda = hip = xpu = git_version = None
debug = False
