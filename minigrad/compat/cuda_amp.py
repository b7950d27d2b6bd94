"""torch.cuda.amp: torch.amp for a GPU, under the names of PyTorch before 2.4."""

from __future__ import annotations

from functools import partial

from . import amp

autocast, GradScaler = partial(amp.autocast, "cuda"), partial(amp.GradScaler, "cuda")
custom_fwd, custom_bwd = partial(amp.custom_fwd, device_type="cuda"), partial(amp.custom_bwd, device_type="cuda")
