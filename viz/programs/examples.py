"""Example inputs for modules, minigrad's or PyTorch's: the first layer that has a known input shape determines it."""

import copy
import inspect
from types import ModuleType
from typing import Any

SIDES = (8, 16, 28, 32, 64, 96, 128, 224, 256)  # image sizes, tried in turn: a later layer may need a certain one
STEPS = 4  # length of a sequence
DIMENSIONS = {f"{kind}{dims}d": dims for kind in ("Conv", "BatchNorm") for dims in (1, 2, 3)}


def example(module: Any, library: ModuleType) -> tuple[Any, str] | None:
    """Return an input that a module accepts, and the code that makes it; None if no layer determines the shape.

    Trials run on a copy of the module and restore the state of the random number generator.

    >>> import minigrad as torch
    >>> made, words = example(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), torch)
    >>> tuple(made.shape), words
    ((1, 3), 'randn(1, 3)')
    """
    module = getattr(module, "_orig_mod", module)
    if len(required(module.forward)) != 1:
        return None
    state = library.get_rng_state()
    try:
        with library.no_grad():
            for words in [words for layer in module.modules() for words in taken(layer)]:
                library.manual_seed(0)
                given = eval(words, {"torch": library})
                try:
                    copy.deepcopy(module)(given)
                except Exception:  # a wrong shape: try the next
                    continue
                return given, words.removeprefix("" if library.__name__ == "torch" else "torch.")
    finally:
        library.set_rng_state(state)
    return None


def required(forward: Any) -> list[str]:
    """Return the names of the required arguments."""
    needed = [p for p in inspect.signature(forward).parameters.values() if p.default is p.empty]
    return [p.name for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def taken(layer: Any) -> list[str]:
    """Return code for inputs that a layer accepts; several candidates if it does not determine the size."""
    kinds = [base.__name__ for base in type(layer).__mro__]  # both libraries use the same class names
    for kind in kinds:
        if kind in DIMENSIONS:
            norm = kind.startswith("BatchNorm")
            batch, channels = (2, layer.num_features) if norm else (1, layer.in_channels)  # one alone has no variance
            found = [random(batch, channels, *[side] * DIMENSIONS[kind]) for side in SIDES]
            return [random(batch, channels), *found] if kind == "BatchNorm1d" else found
        if kind == "Linear":
            return [random(1, layer.in_features)]
        if kind in ("RNNCell", "LSTMCell", "GRUCell"):
            return [random(1, layer.input_size)]
        if kind in ("Embedding", "EmbeddingBag"):
            return [f"torch.randint(0, {layer.num_embeddings}, (1, {STEPS}))"]
        if kind in ("RNN", "LSTM", "GRU", "MultiheadAttention"):
            size = layer.embed_dim if kind == "MultiheadAttention" else layer.input_size
            return [random(1, STEPS, size) if layer.batch_first else random(STEPS, 1, size)]
        if kind == "LayerNorm":
            return [random(1, *layer.normalized_shape)]
    return []


def random(*shape: int) -> str:
    """Return the code for a random tensor of a shape."""
    return f"torch.randn({', '.join(map(str, shape))})"
