"""A Matplotlib figure that shows itself in a notebook, also where pyplot is not in use."""

from __future__ import annotations

import io

from matplotlib import figure


class Figure(figure.Figure):
    """A figure as Matplotlib's.

    >>> Figure()._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png")
        return out.getvalue()
