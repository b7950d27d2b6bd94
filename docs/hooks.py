"""Runs while the site is built: puts tables that the code knows best into the pages that ask for them.

A page asks with a marker on a line of its own, such as `<!-- operations -->`. Whatever fails here fails the build.
"""

import contextlib
import html
import io
import linecache
import re

TABLES = {"operations.md": "<!-- operations -->"}


def on_page_markdown(markdown, page, config, files):
    """Called by MkDocs with the text of each page before it becomes HTML."""
    if page.file.src_uri == "compile.md":
        return with_generated_text(markdown)
    if page.file.src_uri == "viewer.md":
        return with_viewer(markdown)
    marker = TABLES.get(page.file.src_uri)
    if marker is None:
        return markdown
    if marker not in markdown:
        raise ValueError(f"docs/{page.file.src_uri} has no line {marker}")
    from minigrad.testing import operations_table

    return markdown.replace(marker, operations_table())


def example_of(markdown, file):
    """Run the first program of a page as if it were this file; the names it leaves behind."""
    example = re.search(r"```python\n(.*?)```", markdown, re.DOTALL)[1]
    linecache.cache[file] = (len(example), None, example.splitlines(True), file)
    names = {"__name__": file.removesuffix(".py")}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(example, file, "exec"), names)
    return names


def with_viewer(markdown):
    """The page about the viewer, with its own example in it."""
    marker = "<!-- viewer -->"
    if marker not in markdown:
        raise ValueError(f"docs/viewer.md has no line {marker}")
    source = html.escape(example_of(markdown, "f.py")["drawing"].html()).replace("\n", "&#10;")
    style = "width: 100%; height: 46rem; border: 1px solid #8884; border-radius: 6px"
    return markdown.replace(
        marker, f'<iframe title="The viewer" sandbox="allow-scripts" style="{style}" srcdoc="{source}"></iframe>'
    )


def with_generated_text(markdown):
    """The page about compiling, with what its own example generates."""
    step = example_of(markdown, "step.py")["step"]
    for marker, language, text in (
        ("<!-- compiled step -->", "python", step.source()),
        ("<!-- explained step -->", "text", step.explain()),
    ):
        if marker not in markdown:
            raise ValueError(f"docs/compile.md has no line {marker}")
        markdown = markdown.replace(marker, f"```{language}\n{text.rstrip()}\n```")
    return markdown
