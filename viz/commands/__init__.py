"""The commands of `minigrad`, a module for each; common.py has what they have in common, viz/cli.py puts them together."""
