"""Automatic differentiation: `backward` and `grad` (gradients.py), custom Functions, grad modes, gradcheck, forward mode."""

from ..ops.legacy import Variable
from . import forward_ad, function, functional, graph, profiler
from .anomaly import debug, detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from .disagreement import GradcheckError
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "debug",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]
