"""The commands of `minigrad`, one module each; common.py holds the shared parts, viz/cli.py assembles them."""
