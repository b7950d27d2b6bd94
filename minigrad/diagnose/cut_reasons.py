"""The operations that end a history: the reason, and the fix, by the name that a program calls them by."""

from __future__ import annotations

INTEGERS = ("long", "int", "short", "byte", "bool", "int64", "int32", "int16", "int8", "uint8")

# operations that return values and their positions
WITH_POSITIONS = ("max", "min", "topk", "sort", "kthvalue", "median", "nanmedian", "mode", "cummax", "cummin")

# why a result has no history, and the fix
CHOSEN = (
    "chooses between constants, and the choice has no derivative",
    "use a smooth function, sigmoid(k * (x - y)), or let the values depend on the tensor: where(x > y, x, y)",
)
STEPS = "returns a step function, whose derivative is 0", "use a smooth function, sigmoid(k * x)"
POSITIONS = "returns positions, which have no derivative", "use the values, or a smooth function instead"
DRAWN = (
    "draws random numbers, which have no derivative with respect to the probabilities",
    "use the log-probability of the drawn numbers",
)
DRAWN_FROM = (
    "draws numbers without a history, although a parameter of the distribution requires grad",
    "write rsample(), whose draws are differentiable functions of the parameters",
)
OFF = "runs under no_grad or inference_mode, which record nothing", "compute it outside of the block"
WHOLE = "returns integers, which have no derivative", "keep results floating-point"
NUMBERS = "turns a tensor that requires grad into numbers, which have no history", "compute with the tensor itself"
ONCE = (
    "returns gradients without a history, because create_graph is not set",
    "pass create_graph=True to the call that computes the gradient",
)
COPIED = (
    "copies the numbers of a tensor that requires grad, without its history",
    "use the tensor itself, or stack(...) of several",
)
COMPARED = (
    "returns True or False, which have no derivative",
    "use a smooth function, sigmoid(x - y), or a loss for scores, binary_cross_entropy_with_logits",
)
METHODS = {
    "detach": ("removes the history of a tensor that requires grad", "remove .detach() from line {line}"),
    "indices": POSITIONS,
    "data": ("gives a tensor that requires grad without its history", "remove .data from line {line}"),
    "argmax": (
        "returns positions, which have no derivative",
        "use a loss for classes: nn.functional.cross_entropy(logits, target)",
    ),
    "argmin": (POSITIONS[0], "use a smooth function instead: softmin"),
    **dict.fromkeys(("argsort", "nonzero", "count_nonzero", "bucketize", "searchsorted"), POSITIONS),
    **dict.fromkeys(("multinomial", "bernoulli"), DRAWN),
    **dict.fromkeys(("gt", "lt", "ge", "le", "eq", "ne", "greater", "less", "isclose", "signbit"), COMPARED),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not", "logical_xor"), COMPARED),
    "heaviside": STEPS,
    **dict.fromkeys(("item", "tolist", "numpy"), NUMBERS),
    **dict.fromkeys(INTEGERS, WHOLE),
}
FUNCTIONS = {
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "array", "asarray", "Tensor", "new_tensor"), COPIED),
    **dict.fromkeys(("float", "int", "bool"), NUMBERS),
    "detach": (METHODS["detach"][0], "remove detach() from line {line}"),
    **{name: fault for name, fault in METHODS.items() if fault in (POSITIONS, DRAWN, COMPARED, STEPS)},
    **{name: METHODS[name] for name in ("argmax", "argmin")},
}
