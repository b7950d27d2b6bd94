"""Records from strangers: no text of a record becomes code or structure of the language in which it is drawn.

Each text of a record is replaced by texts of other languages: TeX, DOT, Mermaid, XML, HTML, commands of a
terminal, and long ones.
Every format must keep its structure and its vocabulary.
"""

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

import minigrad
import viz
from minigrad import nn
from minigrad.formulas import latex
from minigrad.record.validate import NotARecord, validate
from viz.cards.mathematics import COMMANDS, is_formula

from . import records
from .command import minigrad as command
from .test_programs import with_cube

HOSTILE = {
    "tex": r"\input{/etc/passwd}\write18{id}\end{document}%$",
    "tex in a formula": r"\bar{x} = \text{\input{/etc/passwd}}",
    "tex by its codes": r"x^^5cinput{y}",
    "tex that closes": r"x}} \right) \end{cases}",
    "xml": "</text></g><script>alert(1)</script><!-- ]]> &lt; &#0;",
    "attribute": "\" onload='alert(1)' x=\"",
    "dot": '"]; evil [label=<<b>x</b>>]; //\\',
    "dot escapes": r"\N \G \E \l\r\n &quot; &#10;",
    "mermaid": '"]\n  click op_0 href "javascript:alert(1)"\n%% `x` #35; --> end',
    "markdown": "[x](javascript:alert(1)) | `code` ![y](z)\n# title",
    "terminal": "\x1b[2J\x1b]8;;http://x\x07 \x9b31m \x08 \r",
    "directions": "\u202eevil\u2066 \u200f \u061c",
    "lines": "a\nb\r\nc\u2028d\u2029e\x85f\x0bg\x0c",
    "no text": "\x00\ud800\udfff\ufffe\U000e0001",
    "call": "f(" * 90 + "exp(), where(x), f(**k), x in y" + ")" * 90,
    "blanks": "   ",
    "fields of dot": "{|}",
    "wide letters": "名前🙂" * 30,
}
LONG = {
    "word": "a" * 100_000,
    "brackets": "f(" * 50_000,
    "signs": "-" * 50_000 + "x",
    "sum": "+".join("x" * 50_000),
    "lines": "line\n" * 20_000,
    "spaces": "x" + " " * 100_000 + "y",
    "commas": "[" + "1, " * 30_000 + "]",
}
FIXED = {"schema", "kind", "phase", "passes"}  # fields with one of a few words


@cache
def originals():
    """Return the texts of records that together have every field."""
    x = minigrad.tensor([0.1, 0.2, 0.3], requires_grad=True)
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    real = [
        minigrad.record(with_cube, x, inside=True).to_dict(),
        minigrad.record(lambda x: (net(x) * x.sum()).sin().sum(), x, passes=("forward", "backward", "jvp")).to_dict(),
    ]
    folded = json.loads(viz.draw(records.recurrent(), max_nodes=10).json())
    return [json.dumps(one) for one in (*real, folded, records.two_uses(), records.mlp(), records.odd())]


def hostile(document, text, only=None):
    """Return a record whose free texts are all `text`, or only those of one field."""

    def replaced(part, key):
        if isinstance(part, dict):
            return {k: replaced(v, k) for k, v in part.items()}
        if isinstance(part, list):
            return [replaced(v, key) for v in part]
        free = isinstance(part, str) and key not in FIXED and part not in ("nan", "inf", "-inf")
        return text if free and only in (None, key) else part

    made = replaced(json.loads(document), "")
    for op in made["ops"]:
        op["inputs"].append({"const": text})
    try:
        validate(made)
    except NotARecord:  # a field of a few words
        made["ops"] = [dict(op, where={**op["where"], "line": 1}) for op in made["ops"]]
        validate(made)
    return made


class Page(HTMLParser):
    """The elements of a page, and the text in its scripts."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self.inside = Counter(), [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements[tag, *sorted(name for name, _ in attributes)] += 1
        self.inside = tag == "script"
        self.scripts += [""] * self.inside

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def of_xml(text):
    root = ET.fromstring(text)
    known = {"svg", "style", "g", "rect", "path", "text", "tspan", "title", "pattern"}
    elements = [element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()]
    assert set(elements) <= known
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or "href" in name]
    return sorted(element.get("id") for element in root.iter() if element.get("id"))


def of_html(text):
    page = Page(text)
    data = json.loads(page.scripts[0])
    assert data["ops"] is not None
    return page.elements


def of_dot(text):
    pygraphviz = pytest.importorskip("pygraphviz")
    graph = pygraphviz.AGraph(string=text)
    assert not re.search(r"=\s*<", re.sub(r'"(\\.|[^"\\])*"', '""', text))
    return sorted(graph.nodes()), sorted(graph.edges())


def of_mermaid(text):
    kinds = Counter()
    for line in text.splitlines():
        bare = re.sub(r'"[^"]*"', '""', line).replace('|""|', "")
        kinds[re.sub(r"\d+", "0", bare)] += 1
        for label in re.findall(r'"([^"]*)"', line):
            assert not re.search(r"[<>`|&;#]", re.sub(r"#\d+;|<br/>", "", label)), label
    return kinds


@cache
def known_commands():
    """Return the commands of a LaTeX file whose texts are plain, of escaped characters, and of formulas."""
    plain = viz.draw(records.two_uses(), passes="all").tex() + viz.draw(records.odd()).tex()
    escapes = (
        r"\textasciitilde\textasciicircum\textless\textgreater\textbar\ldots\rangle\times\partial\letter\left\right"
    )
    return set(re.findall(r"\\[A-Za-z]+", plain + escapes)) | COMMANDS


def of_tex(text):
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert "^^" not in code
    words = set(re.findall(r"\\[A-Za-z]+", code))
    assert not words - known_commands(), words - known_commands()
    bare = re.sub(r"\\[{}\\%]", "", code)
    assert bare.count("{") == bare.count("}")
    environments = {"tikzpicture", "scope", "document", "cases"}
    assert set(re.findall(r"\\(?:begin|end)\{([^}]*)\}", code)) <= environments
    assert code.count(r"\begin{document}") == code.count(r"\end{document}") == 1
    assert not re.search(r"(?<!\\)%", re.sub(r"(?m)%$", "", code.partition(r"\begin{document}")[2]))


def of_terminal(text):
    for c in text.replace("\n", ""):
        assert unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"), repr(c)


CHECKS = {
    "svg": of_xml,
    "film": of_xml,
    "html": of_html,
    "dot": of_dot,
    "mermaid": of_mermaid,
    "tex": of_tex,
    "text": of_terminal,
    "alt": of_terminal,
    "json": lambda text: len(json.loads(text)["ops"]),
}


def drawn(record, **options):
    have = tuple(record["program"]["passes"])
    return viz.draw(record, passes=have or "forward", **options)


def structures(record, formats=tuple(CHECKS)):
    """Check a record in every format, and return the structures of the formats."""
    drawing = drawn(record)
    return {name: CHECKS[name](getattr(drawing, name)()) for name in formats}


@cache
def plain_structures(number):
    return structures(hostile(originals()[number], "plain"))


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_text_becomes_structure(kind):
    for number, document in enumerate(originals()):
        assert structures(hostile(document, HOSTILE[kind])) == plain_structures(number)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no font here has")
@pytest.mark.parametrize("text", [*HOSTILE.values(), ""], ids=[*HOSTILE, "nothing"])
def test_any_text_is_drawn_in_pixels_and_in_print(text):
    drawing = drawn(hostile(originals()[3], text))
    for name in ("svg", "mermaid", "text", "dot"):
        CHECKS[name](getattr(drawing, name)())
    assert drawing.png(scale=0.5).startswith(b"\x89PNG") and drawing.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("length", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", LONG)
def test_a_text_of_any_length_is_drawn(kind, length):
    drawing = drawn(hostile(originals()[3], LONG[kind][:length]))
    assert max(picture.width for picture in drawing.pictures().values()) < 5000
    for name in ("svg", "film", "dot", "mermaid", "text", "tex"):
        CHECKS[name](getattr(drawing, name)())


def test_a_records_formulas_are_typeset_only_if_they_are_formulas():
    record = records.two_uses()
    edge = next(edge for op in record["ops"] for edge in op["edges"] if edge.get("formula"))
    for text, shown in ((r"\bar{q} = \frac{1}{2} q", True), (r"\bar{q} = \csname input\endcsname", False)):
        edge["latex"] = text
        assert ("\\formula{" in viz.draw(record, passes="backward").tex()) == shown or not shown
        assert (text in viz.draw(record, passes="backward").tex()) == shown


def test_every_formula_that_minigrad_writes_is_one():
    def found(part):
        parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        own = [part["latex"]] if isinstance(part, dict) and part.get("latex") else []
        return own + [one for inner in parts for one in found(inner)]

    formulas = [one for document in originals() for one in found(json.loads(document))]
    assert len(formulas) > 10 and all(map(is_formula, formulas))
    written = set(re.findall(r"\\[A-Za-z]+", Path(latex.__file__).read_text()))
    fences = {r"\left", r"\right", r"\begin", r"\end", r"\lfloor", r"\rfloor", r"\lVert", r"\rVert"}
    assert written - {r"\d"} <= COMMANDS | fences


@pytest.mark.parametrize(
    "text",
    [r"\input{x}", r"{", r"}{", r"\left(x", r"\left(x\right]", r"a & b", r"a \\ b", "a\nb", "x^^41", "%", "#1", "$", "\\",
     r"\begin{cases}", r"\begin{verbatim}x\end{verbatim}", r"\text{\write18{ls}}", r"\catcode`\@=0"],
)  # fmt: skip
def test_other_latex_is_no_formula(text):
    assert not is_formula(text)


def test_the_terminal_gets_no_commands_from_the_names_in_records(tmp_path):
    for name, text in (("a", HOSTILE["terminal"]), ("b", HOSTILE["directions"])):
        (tmp_path / f"{name}.json").write_text(json.dumps(hostile(originals()[3], text)))
    done = command(tmp_path, "diff", "a.json", "b.json")
    assert done.returncode == 0 and len(done.stdout) > 100, done.stderr
    of_terminal(done.stdout.decode())
    record = hostile(originals()[2], "plain")
    fold = next(op["folded"] for op in record["ops"] if op.get("folded"))
    fold["names"] = {HOSTILE["terminal"]: -1}
    with pytest.raises(NotARecord) as refused:
        validate(record)
    of_terminal(str(refused.value))
