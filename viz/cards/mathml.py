r"""Formulas in LaTeX, of the commands that minigrad writes (formulas/latex.py), as MathML, which browsers typeset."""

from collections.abc import Iterator
from html import escape

from .mathematics import TOKEN

ACCENTS = {r"\bar": "¯", r"\dot": "˙", r"\overline": "¯"}
WORDS = {
    r"\mathrm": "normal",
    r"\operatorname": "normal",
    r"\text": "normal",
    r"\mathtt": "monospace",
    r"\mathbf": "bold",
}
SIGNS = {
    "odot": "⊙", "cdot": "·", "oplus": "⊕", "le": "≤", "ge": "≥", "ne": "≠", "ll": "≪", "gg": "≫", "infty": "∞", "land": "∧",
    "lor": "∨", "lnot": "¬", "sum": "∑", "prod": "∏", "pi": "π", "sigma": "σ", "psi": "ψ", "Gamma": "Γ", "top": "⊤",
    "bmod": "mod", "lvert": "|", "rvert": "|", "lVert": "‖", "rVert": "‖", "lfloor": "⌊", "rfloor": "⌋", "{": "{", "}": "}",
    "_": "_", "%": "%", "#": "#", "&": "&", "$": "$", ",": "\u2009", "textbackslash": "\\", "^": "^", "~": "~",
}  # fmt: skip
NAMED = "arccos arcsin arctan cos cosh det exp ln max min sin sinh tan tanh".split()


def mathml(latex: str) -> str:
    r"""Return a formula as MathML.

    >>> mathml(r"\bar{x} = 2 \, h^{2}")  # doctest: +ELLIPSIS
    '<math display="block"><mover accent="true"><mrow><mi>x</mi></mrow><mo>¯</mo></mover><mo>=</mo><mn>2</mn>...'
    """
    return f'<math display="block">{"".join(Reader(latex).items())}</math>'


class Reader:
    """Reads the tokens of a formula from left to right."""

    def __init__(self, latex: str):
        self.tokens = [token for token in TOKEN.findall(latex) if token != " "]

    def items(self, *ends: str) -> list[str]:
        """Return what follows, up to one of the tokens `ends`, which is read as well."""
        made: list[str] = []
        while self.tokens and (token := self.tokens.pop(0)) not in ends:
            self.put(token, made)
        return made

    def put(self, token: str, made: list[str]) -> None:
        """Add what begins with a token: an exponent or an index is joined to what it belongs to."""
        if token in ("^", "_"):
            made.append(self.script(token, made.pop() if made else "<mrow></mrow>"))
        else:
            made.append(self.item(token))

    def script(self, token: str, base: str) -> str:
        """Return a base with an exponent or an index, or with both."""
        one = self.argument()
        if self.tokens[:1] == ["^"] and token == "_":
            self.tokens.pop(0)
            return f"<msubsup>{base}{one}{self.argument()}</msubsup>"
        return f"<msup>{base}{one}</msup>" if token == "^" else f"<msub>{base}{one}</msub>"

    def argument(self) -> str:
        """Return the next group in braces, or the next token."""
        return self.item(self.tokens.pop(0)) if self.tokens else "<mrow></mrow>"

    def item(self, token: str) -> str:
        """Return the MathML of what begins with a token."""
        if token == "{":
            return f"<mrow>{''.join(self.items('}'))}</mrow>"
        if token in ACCENTS:
            return f'<mover accent="true">{self.argument()}<mo>{ACCENTS[token]}</mo></mover>'
        if token == r"\frac":
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
        if token == r"\sqrt":
            return f"<msqrt>{self.argument()}</msqrt>"
        if token in WORDS:
            return f'<mi mathvariant="{WORDS[token]}">{escape("".join(self.letters()))}</mi>'
        if token.startswith(r"\begin"):
            return self.cases()
        if token.startswith((r"\left", r"\right")):
            sign = token.removeprefix(r"\left").removeprefix(r"\right")
            return f"<mo>{escape(SIGNS.get(sign[1:], sign))}</mo>" if sign != "." else ""
        if token[0] == "\\":
            name = token[1:]
            return f"<mi>{name}</mi>" if name in NAMED else f"<mo>{escape(SIGNS.get(name, name))}</mo>"
        if token.isdigit() or token == ".":
            while self.tokens and (self.tokens[0].isdigit() or self.tokens[0] == "."):
                token += self.tokens.pop(0)
            return f"<mn>{token}</mn>"
        return f"<mi>{escape(token)}</mi>" if token.isalpha() else f"<mo>{escape(token)}</mo>"

    def letters(self) -> Iterator[str]:
        """Yield the letters of a word in braces."""
        if self.tokens[:1] == ["{"]:
            self.tokens.pop(0)
        while self.tokens and (token := self.tokens.pop(0)) != "}":
            yield SIGNS.get(token[1:], "") if token[0] == "\\" else token

    def cases(self) -> str:
        """Return the rows of a distinction of cases, after its brace."""
        rows: list[list[list[str]]] = [[[]]]
        while self.tokens and not (token := self.tokens.pop(0)).startswith(r"\end"):
            if token == r"\\":
                rows.append([[]])
            elif token == "&":
                rows[-1].append([])
            else:
                self.put(token, rows[-1][-1])
        written = ["".join(f"<mtd>{''.join(cell)}</mtd>" for cell in row) for row in rows]
        return f"<mrow><mo>{{</mo><mtable>{''.join(f'<mtr>{row}</mtr>' for row in written)}</mtable></mrow>"
