"""The formats of a picture, a module for each."""
