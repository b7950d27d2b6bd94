"""The commands of `minigrad`, a module for each; shared.py has what they have in common, viz/cli.py puts them together."""
