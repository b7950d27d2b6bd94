"""Subclasses that note every call of their methods, and the programs that use them, in either library.

`Steps.subclass(cls, wanted)` overrides the methods with these names: each override notes its name and calls super.  The
same program runs with a subclass in each library, step by step; test_overrides.py compares the notes.
"""

import inspect
from collections import Counter

FUNCTION = type(lambda: None)
SPECIAL = """__len__ __iter__ __getitem__ __getitems__ __setitem__ __delitem__ __contains__ __repr__ __add__ __iadd__ __mul__
__imul__ __enter__ __exit__ __dir__ __or__ __ior__""".split()
LEFT_OUT = {"get_extra_state", "set_extra_state"}  # to override one alone is a mistake; a step of its own has both


def names(cls):
    """Return the methods and properties of PyTorch's class that a subclass may override: all but most special ones."""
    found = set()
    for base in cls.__mro__:
        if base.__module__.startswith("torch."):
            found |= {n for n, v in vars(base).items() if overridable(v) and (n in SPECIAL or not n.startswith("__"))}
    return sorted(n for n in found - LEFT_OUT if overridable(inspect.getattr_static(cls, n)))


def overridable(value):
    return isinstance(value, (FUNCTION, staticmethod, classmethod, property))


def noted(name, held, owner, calls):
    """Return the override of one method of the class `owner()`."""

    def method(self, *args, **kwargs):
        calls[name] += 1
        return getattr(super(owner(), self), name)(*args, **kwargs)

    def read(self):
        calls[name] += 1
        return getattr(super(owner(), self), name)

    def static(*args, **kwargs):
        calls[name] += 1
        return held.__func__(*args, **kwargs)

    if isinstance(held, property):
        return property(read, held.fset)
    return {staticmethod: lambda: staticmethod(static), classmethod: lambda: classmethod(method)}.get(
        type(held), lambda: method
    )()


class Steps:
    """The notes of a program: step -> how often each override was called, and the error that the step raised."""

    def __init__(self, lib):
        self.lib, self.calls, self.found = lib, Counter(), {}

    def subclass(self, cls, wanted):
        held = {name: inspect.getattr_static(cls, name, None) for name in wanted}
        body = {n: noted(n, h, lambda: made, self.calls) for n, h in held.items() if overridable(h)}
        body |= {"cls_to_become": None} if hasattr(cls, "cls_to_become") else {}  # a lazy class stays what it is
        made = type(cls)(cls.__name__, (cls,), body)
        return made

    def __call__(self, name, action):
        """Run a step and note it; return its result, or None after an exception."""
        self.calls.clear()
        result = None
        try:
            result = action()
        except Exception as e:
            kind = next(kind for kind in type(e).__mro__ if kind.__module__ == "builtins")
            self.calls[f"raises {kind.__name__.replace('NotImplementedError', 'RuntimeError')}"] += 1
        assert name not in self.found, name
        self.found[name] = Counter(self.calls)
        return result


def differences(theirs, ours):
    """Yield (step, "-name") for an override that PyTorch alone calls in a step, "+name" for the contrary.

    "#name" is called by both, but not equally often.
    """
    for step in theirs.keys() | ours.keys():
        a, b = theirs.get(step, Counter()), ours.get(step, Counter())
        for name in a.keys() | b.keys():
            if a[name] != b[name]:
                yield step, ("#" if a[name] and b[name] else "-" if a[name] else "+") + name


# ---------------------------------------------------------------------- modules
def of_module(steps, cls, make, given=None):
    """Make a module, call it, put it into another one, and use both in all ways that every module has."""
    lib, (args, kwargs) = steps.lib, make
    if (m := steps("construct", lambda: cls(*args, **kwargs))) is None:
        return
    if given is not None:
        steps("double before the call", lambda: m.double())
        out = steps("call", lambda: m(*given[0], **given[1]))
        steps("backward", lambda: backward(out))
        steps("call in eval", lambda: m.eval()(*given[0], **given[1]))
    steps("repr", lambda: repr(m))
    holder = lib.nn.Module()
    steps("assign", lambda: setattr(holder, "part", m))
    for who, module in (("", m), ("parent.", holder)):
        for way, run in ways(lib, module).items():
            steps(who + way, run)
    for name in ("reset_parameters", "_reset_parameters", "reset_running_stats", "flatten_parameters"):
        if hasattr(m, name):
            steps(name, getattr(m, name))
    registering(steps, m)


def ways(lib, m):
    """Return the uses of a module, by name."""
    kept = []
    return {
        "train": lambda: m.train(),
        "eval": lambda: m.eval(),
        "double": lambda: m.double(),
        "half": lambda: m.half(),
        "bfloat16": lambda: m.bfloat16(),
        "float": lambda: m.float(),
        "to": lambda: m.to(lib.float64),
        "to device": lambda: m.to("cpu"),
        "type": lambda: m.type(lib.float32),
        "cpu": lambda: m.cpu(),
        "to_empty": lambda: m.to_empty(device="cpu"),
        "zero_grad": lambda: m.zero_grad(),
        "requires_grad_": lambda: m.requires_grad_(True),
        "apply": lambda: m.apply(lambda part: None),
        "share_memory": lambda: m.share_memory(),
        "parameters": lambda: list(m.parameters()),
        "named_parameters": lambda: list(m.named_parameters()),
        "buffers": lambda: list(m.buffers()),
        "named_buffers": lambda: list(m.named_buffers()),
        "children": lambda: list(m.children()),
        "named_children": lambda: list(m.named_children()),
        "modules": lambda: list(m.modules()),
        "named_modules": lambda: list(m.named_modules()),
        "text": lambda: repr(m),
        "dir": lambda: dir(m),
        "state_dict": lambda: kept.append(m.state_dict()),
        "load_state_dict": lambda: m.load_state_dict(kept[0]),
        "load_state_dict, assign": lambda: m.load_state_dict(kept[0], assign=True),
        "get_submodule": lambda: m.get_submodule(next(iter(m._modules), "")),
        "get_parameter": lambda: [m.get_parameter(name) for name, _ in m.named_parameters()],
        "get_buffer": lambda: [m.get_buffer(name) for name, _ in m.named_buffers()],
        "get_extra_state": lambda: m.get_extra_state(),
        "set_extra_state": lambda: m.set_extra_state(1),
        "copy": lambda: __import__("copy").deepcopy(m),
    }


def registering(steps, m):
    """Register a member and a hook of each kind."""
    lib = steps.lib
    steps("register_buffer", lambda: m.register_buffer("new_buffer", lib.ones(1)))
    steps("register_parameter", lambda: m.register_parameter("new_parameter", lib.nn.Parameter(lib.ones(1))))
    steps("register_module", lambda: m.register_module("new_module", lib.nn.Identity()))
    steps("add_module", lambda: m.add_module("another_module", lib.nn.Identity()))
    members = {"parameter": lib.nn.Parameter(lib.ones(2)), "module": lib.nn.Identity(), "buffer": lib.zeros(1)}
    for kind, value in members.items():
        steps(f"assign {kind}", lambda kind=kind, value=value: setattr(m, f"new_{kind}", value))
        steps(f"assign None to {kind}", lambda kind=kind: setattr(m, f"new_{kind}", None))
        steps(f"delete {kind}", lambda kind=kind: delattr(m, f"new_{kind}"))
    steps("set_submodule", lambda: m.set_submodule("another_module", lib.nn.Tanh()))
    for kind in "forward_pre forward full_backward_pre full_backward state_dict_pre load_state_dict_pre".split():
        steps(f"{kind} hook", lambda kind=kind: getattr(m, f"register_{kind}_hook")(lambda *given: None).remove())
    for kind in "state_dict_post load_state_dict_post".split():
        steps(f"{kind} hook", lambda kind=kind: getattr(m, f"register_{kind}_hook")(lambda *given: None).remove())


def with_extra_state(steps, cls, args):
    """Save and load a module that has extra state, inside another one."""

    class Extra(cls):
        def get_extra_state(self):
            steps.calls["get_extra_state"] += 1
            return {"count": 3}

        def set_extra_state(self, state):
            steps.calls["set_extra_state"] += 1

    net = steps.lib.nn.Sequential(Extra(*args))
    state = steps("state_dict", lambda: net.state_dict())
    steps("load_state_dict", lambda: net.load_state_dict(state))
    steps("load without it", lambda: net.load_state_dict({k: v for k, v in state.items() if "extra" not in k}))


def backward(out):
    outs = [o for o in flat(out) if getattr(o, "requires_grad", False)]
    if outs:
        sum(o.sum() for o in outs).backward()


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in flat(v)] if isinstance(value, (tuple, list)) else [value]
