"""Runs while the site is built: puts tables that the code knows best into the pages that ask for them.

A page asks with a marker on a line of its own, such as `<!-- operations -->`. Whatever fails here fails the build.
"""

import contextlib
import io
import linecache
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TABLES = {"operations.md": "<!-- operations -->"}


def on_page_markdown(markdown, page, config, files):
    """Called by MkDocs with the text of each page before it becomes HTML."""
    if page.file.src_uri == "compile.md":
        return with_generated_text(markdown)
    if page.file.src_uri == "viewer.md":
        return with_viewer(markdown)
    if page.file.src_uri == "check.md":
        return with_check(markdown)
    if page.file.src_uri == "drawing.md":
        return with_text_drawing(markdown)
    if page.file.src_uri == "explain.md":
        return with_explanations(markdown)
    if page.file.src_uri == "errors.md":
        return filled(markdown, "<!-- printed error -->", "text", printed_by_example(markdown, "program.py"))
    marker = TABLES.get(page.file.src_uri)
    if marker is None:
        return markdown
    if marker not in markdown:
        raise ValueError(f"docs/{page.file.src_uri} has no line {marker}")
    from minigrad.testing import operations_table

    return markdown.replace(marker, operations_table())


def with_viewer(markdown):
    """The page about the viewer, with its own example in it."""
    from viz.viewer import frame

    marker = "<!-- viewer -->"
    if marker not in markdown:
        raise ValueError(f"docs/viewer.md has no line {marker}")
    return markdown.replace(marker, frame(names_of_example(markdown, "f.py")["drawing"].html(), "46rem"))


def with_generated_text(markdown):
    """The page about compiling, with what its own example generates."""
    step = names_of_example(markdown, "step.py")["step"]
    markdown = filled(markdown, "<!-- compiled step -->", "python", step.source())
    return filled(markdown, "<!-- explained step -->", "text", step.explain())


def with_explanations(markdown):
    """The page about explanations, with those of its own examples."""
    derivation = names_of_example(markdown, "neuron.py")["derivation"]
    last = re.findall(r"```python\n(.*?)```", markdown, re.DOTALL)[-1]
    history = names_of_example(f"```python\nimport minigrad as torch\n{last}```", "net.py")["history"]
    markdown = filled(markdown, "<!-- derivation -->", "text", str(derivation))
    return filled(markdown, "<!-- shape -->", "text", str(history))


def with_text_drawing(markdown):
    """The page about pictures, with what the command on it writes for the example on it."""
    said = output_of("render neuron.py:loss -p backward -f txt -o -", "neuron.py", example_of(markdown))
    return filled(markdown, "<!-- text drawing -->", "text", said)


def output_of(words, file, program):
    """What the command minigrad writes in a folder that has this program in it."""
    command = [sys.executable, "-m", "viz.cli", *words.split()]
    root = str(pathlib.Path(__file__).parent.parent)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / file).write_text(program)
        environment = {**os.environ, "PYTHONPATH": root, "COLUMNS": "100"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if not done.stdout:
        raise ValueError(f"minigrad {words}: {done.stderr}")
    return done.stdout.replace(f"{pathlib.Path(folder).resolve()}{os.sep}", "")


def with_check(markdown):
    """The page about checking, with what the command says of its example, and the rows with what they ask."""
    from minigrad.testing.battery import TABLE

    said = output_of("check cube.py:Cube", "cube.py", example_of(markdown))
    markdown = filled(markdown, "<!-- check cube -->", "text", said)
    rows = [f"| {row.group} | {row.name} | {row.about} |" for row in TABLE]
    marker = "<!-- rows -->"
    if marker not in markdown:
        raise ValueError(f"docs/check.md has no line {marker}")
    return markdown.replace(marker, "\n".join(["| group | row | asks |", "| --- | --- | --- |", *rows]))


def example_of(markdown):
    """The first example of a page."""
    return re.search(r"```python\n(.*?)```", markdown, re.DOTALL)[1]


def names_of_example(markdown, file):
    """Run the first example of a page as if it were this file; the names it leaves behind."""
    return run_example(markdown, file)[0]


def printed_by_example(markdown, file):
    """What the first example of a page prints, run as if it were this file."""
    return run_example(markdown, file)[1]


def run_example(markdown, file):
    """Run the first example of a page as if it were this file; its names and what it printed."""
    example = example_of(markdown)
    linecache.cache[file] = (len(example), None, example.splitlines(True), file)
    names, printed = {"__name__": file.removesuffix(".py")}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, file, "exec"), names)
    return names, printed.getvalue()


def filled(markdown, marker, language, text):
    """A page with a text in the place of its marker."""
    if marker not in markdown:
        raise ValueError(f"there is no line {marker}")
    return markdown.replace(marker, f"```{language}\n{text.rstrip()}\n```")
