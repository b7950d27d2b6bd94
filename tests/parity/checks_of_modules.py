"""The checks of an entry of module_db: the same parameters and inputs, in training and in eval.

A check returns how many samples it compared; none where the entry does not offer it.
"""

import numpy as np
import torch

import minigrad
from tests.parity.databases import MOST_SAMPLES, Apart, compare, found, handed, kind_of, leaves, tensors

MOST_ELEMENTS = 20_000


def peer(entry):
    """Return minigrad's class, or None where it does not have the name."""
    return found(minigrad, entry.name)


def inputs(entry, training, requires_grad=True, errors=False):
    """Return the samples of an entry."""
    make = entry.module_error_inputs_func if errors else entry.module_inputs_func
    torch.manual_seed(7)
    made = make(entry, device="cpu", dtype=torch.float64, requires_grad=requires_grad, training=training)
    return list(made)[: None if errors else MOST_SAMPLES]


def forward(entry, training):
    """Return the results and the buffers afterwards."""
    n = 0
    for sample in inputs(entry, training):
        (theirs, a, _), (ours, b, _) = both(entry, sample, training)
        compare(a, b, str(sample.desc))
        compare(dict(theirs.named_buffers()), dict(ours.named_buffers()), f"{sample.desc}, buffers")
        n += 1
    return n


def training(entry):
    return forward(entry, True)


def evaluation(entry):
    return forward(entry, False)


def gradients(entry):
    """By parameters and inputs."""
    n = 0
    for sample in inputs(entry, True):
        sides = []
        for (module, out, given), m in zip(both(entry, sample, True), (torch, minigrad)):
            outs = [o for o in tensors(out) if o.requires_grad]
            random = np.random.default_rng(3)
            weights = [m.tensor(random.standard_normal(tuple(o.shape))).to(o.dtype) for o in outs]
            wanted = [p for p in module.parameters() if p.requires_grad] + leaves(given)
            if not outs or not wanted:
                break
            grads = m.autograd.grad(outs, wanted, weights, allow_unused=True)
            sides.append([m.zeros_like(w) if g is None else g for w, g in zip(wanted, grads)])
        if len(sides) == 2:
            compare(*sides, str(sample.desc))
            n += 1
    return n


def state_dict(entry):
    """Check that the text of the module, and the names, shapes and dtypes of its state are the same."""
    n = 0
    for sample in inputs(entry, True):
        theirs, ours = made(entry, sample)
        a, b = theirs.state_dict(), ours.state_dict()
        if list(a) != list(b):
            raise Apart(f"{sample.desc}: {list(b)}, torch {list(a)}")
        compare(dict(a), dict(b), str(sample.desc))
        texts = repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear"), repr(ours)
        lazy = issubclass(entry.module_cls, torch.nn.modules.lazy.LazyModuleMixin)  # only theirs has been called
        if texts[0] != texts[1] and not lazy:
            raise Apart(f"{sample.desc}: {texts[1]}, torch {texts[0]}")
        n += 1
    return n


def errors(entry):
    """Check that both libraries refuse bad arguments of the constructor and of forward with errors of one type."""
    n = 0
    for case in inputs(entry, True, errors=True) if entry.module_error_inputs_func else ():
        sample = case.module_error_input
        seen = []
        for m in (torch, minigrad):
            try:
                module = entry.module_cls if m is torch else peer(entry)
                args, kwargs = arguments(m, sample.constructor_input)
                module = module(*args, **kwargs).double()
                args, kwargs = arguments(m, sample.forward_input)
                module(*args, **kwargs)
                seen.append(None)
            except Exception as e:
                seen.append(e)
        theirs, ours = seen
        if theirs is None:
            continue
        if ours is None or not issubclass(kind_of(ours), kind_of(theirs)):
            raise Apart(f"{sample.constructor_input.args}: {ours!r}, torch {theirs!r}"[:900])
        n += 1
    return n


# ---------------------------------------------------------------------- helpers
def arguments(m, given):
    """Return the arguments of a constructor or of forward."""
    if given is None:
        return (), {}
    return (given.args, given.kwargs) if m is torch else handed((tuple(given.args), dict(given.kwargs)))


def made(entry, sample):
    """Return a module of each library with the same parameters."""
    args, kwargs = arguments(torch, sample.constructor_input)
    theirs = entry.module_cls(*args, **kwargs).double()
    if isinstance(theirs, torch.nn.modules.lazy.LazyModuleMixin):  # there are parameters after a first call
        given, options = arguments(torch, sample.forward_input)
        theirs.eval()(*given, **options)
    args, kwargs = arguments(minigrad, sample.constructor_input)
    ours = peer(entry)(*args, **kwargs).double()
    ours.load_state_dict({k: handed(v) for k, v in theirs.state_dict().items()})
    return theirs, ours


def both(entry, sample, training):
    """(module, result, arguments) of each library."""
    found = []
    for m, module in zip((torch, minigrad), made(entry, sample)):
        args, kwargs = arguments(m, sample.forward_input)
        out = module.train(training)(*args, **kwargs)
        found.append((module, out, (args, kwargs)))
    return found


CHECKS = {f.__name__: f for f in (state_dict, training, evaluation, gradients, errors)}
