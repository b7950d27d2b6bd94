"""Tests on a GPU, and times beside PyTorch on the same GPU: `make cuda-test`."""
