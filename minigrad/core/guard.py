"""The Guard: a transparent layer around a user's forward.  It warns of a tracked tensor that is no input of the Function:
forward runs with gradients off, so the gradient of a captured tensor would be lost without a word.
"""

from __future__ import annotations

from typing import Any

from ..errors import error, warn
from .context import Frame, Layer, apply_at
from .inplace import inplace_at
from .tensor import Tensor, history


class Guard(Layer):
    """Watches one call of a Function's forward."""

    name = "forward"

    def __init__(self, cls: type, inputs: tuple):
        self.cls, self.inputs, self.warned = cls, inputs, False

    def handles(self, fn: type, args: tuple) -> bool:
        """A guard sees every operation."""
        return True

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Look at the arguments and pass the operation on."""
        return apply_at(self.below(frame, args), cls, args)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """The same for writes."""
        return inplace_at(self.below(frame, (x, *others)), fn, x, others)

    def below(self, frame: Frame, args: tuple) -> Frame:
        """The frame underneath, with the modes in force here; warns on the way."""
        for a in args:
            if isinstance(a, Tensor) and a._layer is not None:
                raise error(
                    RuntimeError,
                    f"{self.cls.__name__}.forward",
                    f"uses a tensor of shape {tuple(a.shape)} that belongs to a running "
                    f"`{a._layer.name}` transform and is not one of its inputs: its derivative would be lost",
                    f"pass it as an argument of {self.cls.__name__}.apply",
                )
        if not frame.grad and not self.warned:
            for a in args:
                if (
                    isinstance(a, Tensor)
                    and a._layer is None
                    and history(a) is not None
                    and not any(a is i for i in self.inputs)
                ):
                    self.warn(a)
        p = frame.parent
        assert p is not None
        same = (p.grad, p.dual, p.inference) == (frame.grad, frame.dual, frame.inference)
        return p if same else p.but(grad=frame.grad, dual=frame.dual, inference=frame.inference)

    def warn(self, a: Tensor) -> None:
        """Once for each call of forward."""
        self.warned = True
        warn(
            "captured-tensor",
            f"{self.cls.__name__}.forward",
            f"uses a tensor of shape {tuple(a.shape)} that requires grad but is not one of its inputs: its gradient is lost",
            f"pass it as an argument of {self.cls.__name__}.apply, or use its .detach()",
        )
