"""The threads of a kernel as a picture."""
