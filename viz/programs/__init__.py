"""Finds what is to be drawn: a user's program is run, its names are listed, and its steps are recorded."""
