"""Leaves out the examples of what needs PyTorch where it is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["viz/pytorch/*"]
