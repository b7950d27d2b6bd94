"""The commands of `minigrad`, one module each; common.py holds the shared parts, app.py assembles them."""
