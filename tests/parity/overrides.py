"""Which methods of a subclass a library calls: subclasses that note every call, and the programs that use them.

`watched(cls, names, calls)` is a subclass that overrides each of these names: the override notes its name and calls super.
The same program runs with the subclass of each library; the notes have to be the same, step by step.
"""

import inspect
from collections import Counter

SPECIAL = """__call__ __len__ __iter__ __getitem__ __getitems__ __setitem__ __delitem__ __contains__ __repr__ __add__ __iadd__
__mul__ __imul__ __enter__ __exit__ __dir__ __reversed__ __or__ __ior__""".split()
FOREIGN = {object, *inspect.getmro(dict), *inspect.getmro(Exception)}


def names(cls):
    """Return the names of the methods and properties that a subclass may override: all but most special ones."""
    found = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in ("torch", "minigrad"):
            found |= {n for n, v in vars(base).items() if is_method(v) and (not n.startswith("__") or n in SPECIAL)}
    return sorted(n for n in found if is_method(inspect.getattr_static(cls, n)))


def is_method(value):
    return isinstance(value, (type(is_method), staticmethod, classmethod, property)) and not isinstance(value, type)


def watched(cls, wanted, calls):
    """Return a subclass of cls whose methods note their names in the Counter `calls`."""
    body = {}
    for name in wanted:
        held = inspect.getattr_static(cls, name, None)
        if is_method(held):
            body[name] = noted(name, held, lambda: made, calls)
    made = type(cls)(cls.__name__, (cls,), body)
    return made


def noted(name, held, owner, calls):
    """Return the override of one method."""
    if isinstance(held, property):

        def get(self):
            calls[name] += 1
            return getattr(super(owner(), self), name)

        def set(self, value):
            super(owner(), type(self)).__dict__  # pragma: no cover
            held.fset(self, value)

        return property(get, held.fset and (lambda self, value: held.fset(self, value)))
    if isinstance(held, staticmethod):

        def static(*args, **kwargs):
            calls[name] += 1
            return held.__func__(*args, **kwargs)

        return staticmethod(static)
    if isinstance(held, classmethod):

        def of_class(cls, *args, **kwargs):
            calls[name] += 1
            return getattr(super(owner(), cls), name)(*args, **kwargs)

        return classmethod(of_class)

    def method(self, *args, **kwargs):
        calls[name] += 1
        return getattr(super(owner(), self), name)(*args, **kwargs)

    return method


class Steps:
    """The notes of a program, step by step: `with steps("train"): ...`; an exception is noted with its type."""

    def __init__(self, lib):
        self.lib, self.calls, self.found = lib, Counter(), {}

    def watched(self, cls, wanted):
        return watched(cls, wanted, self.calls)

    def __call__(self, name, action):
        self.calls.clear()
        result = None
        try:
            result = action()
        except Exception as e:
            self.calls[f"raises {builtin(e).__name__}"] += 1
            self.error = e
        assert name not in self.found, name
        self.found[name] = Counter(self.calls)
        return result


def builtin(e):
    return next(kind for kind in type(e).__mro__ if kind.__module__ == "builtins")


# ---------------------------------------------------------------------- programs
def of_module(steps, cls, make, inputs):
    """Make a module, put it into another one, and use it in all ways."""
    lib = steps.lib
    args, kwargs = make
    m = steps("construct", lambda: cls(*args, **kwargs))
    if m is None:
        return
    if inputs is not None:
        given, options = inputs
        steps("double first", lambda: m.double())
        out = steps("call", lambda: m(*given, **options))
        steps("backward", lambda: backward(out))
        steps("eval call", lambda: m.eval()(*given, **options))
    holder = lib.nn.Module()
    steps("held", lambda: setattr(holder, "part", m))
    for who, module in (("", m), ("parent.", holder)):
        of_any_module(steps, lib, who, module)
    for name in ("reset_parameters", "_reset_parameters", "reset_running_stats", "flatten_parameters"):
        if hasattr(m, name):
            steps(name, getattr(m, name))


def of_any_module(steps, lib, who, m):
    ways = {
        "train": lambda: m.train(),
        "eval": lambda: m.eval(),
        "double": lambda: m.double(),
        "float": lambda: m.float(),
        "half": lambda: m.half(),
        "bfloat16": lambda: m.bfloat16(),
        "to": lambda: m.to(lib.float64),
        "to device": lambda: m.to("cpu"),
        "type": lambda: m.type(lib.float32),
        "cpu": lambda: m.cpu(),
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
        "repr": lambda: repr(m),
        "state_dict": lambda: m.state_dict(),
        "dir": lambda: dir(m),
        "get_submodule": lambda: m.get_submodule("part" if who else ""),
        "to_empty": lambda: m.to_empty(device="cpu"),
        "get_extra_state": lambda: m.get_extra_state(),
        "set_extra_state": lambda: m.set_extra_state(1),
    }
    for name, way in ways.items():
        out = steps(who + name, way)
        if name == "state_dict" and out is not None:
            steps(who + "load_state_dict", lambda: m.load_state_dict(out))
            steps(who + "load_state_dict assign", lambda: m.load_state_dict(out, assign=True))
    if not who:
        p = next((n for n, _ in m.named_parameters()), None)
        if p is not None:
            steps("get_parameter", lambda: m.get_parameter(p))
        b = next((n for n, _ in m.named_buffers()), None)
        if b is not None:
            steps("get_buffer", lambda: m.get_buffer(b))
        steps("register_buffer", lambda: m.register_buffer("extra_b", lib.ones(1)))
        steps("register_parameter", lambda: m.register_parameter("extra_p", lib.nn.Parameter(lib.ones(1))))
        steps("register_module", lambda: m.register_module("extra_m", lib.nn.Identity()))
        steps("add_module", lambda: m.add_module("extra_n", lib.nn.Identity()))
        steps("forward hook", lambda: m.register_forward_hook(lambda *a: None).remove())
        steps("forward pre hook", lambda: m.register_forward_pre_hook(lambda *a: None).remove())
        steps("state hook", lambda: m.register_state_dict_post_hook(lambda *a: None))
        steps("load hook", lambda: m.register_load_state_dict_post_hook(lambda *a: None))
        for n in ("extra_b", "extra_p", "extra_m", "extra_n"):
            try:
                delattr(m, n)
            except Exception:
                pass


def backward(out):
    outs = [o for o in flat(out) if getattr(o, "requires_grad", False)]
    if outs:
        sum(o.sum() for o in outs).backward()


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in flat(v)] if isinstance(value, (tuple, list)) else [value]
