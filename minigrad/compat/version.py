"""torch.version: minigrad is not built for a version of CUDA or of another platform."""

cuda = hip = xpu = git_version = None
debug = False
