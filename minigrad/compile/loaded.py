"""A loaded program: its compiled function, and the source of each of that function's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernels import cache
from .captured_steps import Draw

if TYPE_CHECKING:
    from .emit.module_text import GeneratedProgram


def generated(*args: Any) -> GeneratedProgram:
    """Generate a program. The generator is imported on first use: it takes a tenth of minigrad's import time."""
    from .emit.from_capture import generate

    return generate(*args)


class Loaded:
    """A compiled program and the source of each of its parameters; `written` are the inputs that it overwrites."""

    def __init__(self, program: GeneratedProgram, written: list):
        self.program, self.plan = program, list(program.params)
        if program.statics:
            self.plan.append(("statics", program.statics))
        self.on_device = program.on_device
        if not program.on_device:
            self.entry = getattr(cache.load(program.name, program.text), program.name)
            return
        from ..kernels.cuda import device_array, kernel_modules, launch_graph

        self.plan = [(k, device_array.to_device(x) if k == "constant" else x) for k, x in self.plan]
        function = getattr(kernel_modules.load(program.name, program.text), program.name)
        places = {j for j, (k, x) in enumerate(self.plan) if k == "input" and x in written}
        draws = any(op.data.get("cls") is Draw for group in program.groups for op in group.ops)
        self.entry = launch_graph.Launches(function, places, "it draws random numbers" if draws else "")
