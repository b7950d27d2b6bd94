"""Runs while the site is built: puts tables that the code knows best into the pages that ask for them.

A page asks with a marker on a line of its own, such as `<!-- operations -->`. Whatever fails here fails the build.
"""

import linecache
import re

TABLES = {"operations.md": "<!-- operations -->"}


def on_page_markdown(markdown, page, config, files):
    """Called by MkDocs with the text of each page before it becomes HTML."""
    if page.file.src_uri == "compile.md":
        return with_generated_text(markdown)
    marker = TABLES.get(page.file.src_uri)
    if marker is None:
        return markdown
    if marker not in markdown:
        raise ValueError(f"docs/{page.file.src_uri} has no line {marker}")
    from minigrad.testing import operations_table

    return markdown.replace(marker, operations_table())


def with_generated_text(markdown):
    """The page about compiling, with what its own example generates."""
    example = re.search(r"```python\n(.*?)```", markdown, re.DOTALL)[1]
    linecache.cache["step.py"] = (len(example), None, example.splitlines(True), "step.py")
    names = {"__name__": "step"}
    exec(compile(example, "step.py", "exec"), names)
    step = names["step"]
    for marker, language, text in (
        ("<!-- compiled step -->", "python", step.source()),
        ("<!-- explained step -->", "text", step.explain()),
    ):
        if marker not in markdown:
            raise ValueError(f"docs/compile.md has no line {marker}")
        markdown = markdown.replace(marker, f"```{language}\n{text.rstrip()}\n```")
    return markdown
