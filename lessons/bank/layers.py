"""Exercises of this topic are being written."""
