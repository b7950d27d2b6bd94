"""Runs while the reference is built: sets the examples of docstrings (lines with >>> and what follows them) as code."""

import re

import griffe

EXAMPLE = re.compile(r"^(?:>>>.*\n?(?:(?!\s*$).*\n?)*)", re.MULTILINE)


class Examples(griffe.Extension):
    """Puts a fence around each example."""

    def on_instance(self, *, obj, **_):
        """Called for each module, class and function."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", obj.docstring.value)
