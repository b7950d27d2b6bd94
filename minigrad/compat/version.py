"""torch.version: nothing is built for one version of CUDA or of another platform."""

cuda = hip = xpu = git_version = None
debug = False
