"""A Matplotlib figure that displays itself in a notebook, even without pyplot."""

from __future__ import annotations

import io

from matplotlib import figure


class Figure(figure.Figure):
    """A Matplotlib figure with a notebook representation.

    >>> Figure()._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png")
        return out.getvalue()
