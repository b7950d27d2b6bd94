"""Runs while the site is built: puts tables that the code knows best into the pages that ask for them.

A page asks with a marker on a line of its own, such as `<!-- operations -->`. Whatever fails here fails the build.
"""

TABLES = {"operations.md": "<!-- operations -->"}


def on_page_markdown(markdown, page, config, files):
    """Called by MkDocs with the text of each page before it becomes HTML."""
    marker = TABLES.get(page.file.src_uri)
    if marker is None:
        return markdown
    if marker not in markdown:
        raise ValueError(f"docs/{page.file.src_uri} has no line {marker}")
    from minigrad.testing import operations_table

    return markdown.replace(marker, operations_table())
