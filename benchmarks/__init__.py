"""How long things take, beside PyTorch where it is installed: `make bench`."""
