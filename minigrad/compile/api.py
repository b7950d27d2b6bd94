"""compile: capture a function once for each kind of arguments, generate one Numba module from it, and run that.

A call tries the functions for the kinds of calls so far, each of which first checks its arguments (fast_call.py). A new kind
gets a new specialisation (specialization.py): it is captured (trace.py), lowered to simple operations (rules.py), fused
(fuse.py) and written (module_text.py). New sizes are captured again, so that no assumption about sizes is needed; they
usually give the same source, which is compiled only once. A function that does something that is not allowed (checks.py) runs
eagerly. `explain()` gives the reason.
"""

from __future__ import annotations

import functools
import os
import threading
import types
from collections.abc import Callable
from typing import Any

from ..autograd.profiler import Profiler, span
from ..config import GENERIC
from ..core.frames import OFF, ON, current
from ..errors import OutsideError, error, warn
from ..events import intercept, unheard
from ..func.tree import check_function
from ..kernels.fallback import by_numpy
from .captured_steps import Refused
from .guards import MISS
from .specialization import Eager, Specialisation, sizes
from .versions import change, describe

FAST_PATHS = 4  # compiled calls that are tried first
OFTEN = 8  # distinct sources compiled for one function: more are probably a mistake, so a warning follows
MANY = 32  # beyond this, new kinds of calls run eagerly
ALL = 256  # the same for captures, many of which may give one source
GROWS = "let the caller keep data that grows with each call, such as a dictionary with new keys"
KINDS = {  # the text for each kind of group
    "loop": "one loop over {}",
    "rows": "one loop over the rows of {}",
    "elements": "one kernel over {}",
    "columns": "one kernel for sums over {}",
}
_capture_lock = threading.RLock()


def forget() -> None:
    """Replace the lock in a forked process: the parent thread that was capturing does not exist there."""
    global _capture_lock
    _capture_lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str = "inductor",
    mode: str | None = None,
    options: dict | None = None,
    disable: bool = False,
) -> Any:
    """Compile a function or module: the first call captures its operations, generates one readable Numba module and runs it.

    Functions of tensors stay differentiable, and whole steps (loss, gradients, update) can be compiled too. Also works as a
    decorator. Other dtypes, sizes, layouts or Python values are captured again. Code that cannot be compiled runs eagerly with
    one MinigradWarning; with `fullgraph` it raises a RuntimeError that names the line. `f.source()` returns the generated
    source, `f.explain()` lists what was fused and what was not, `f.graph()` returns the record.

    A compiled module is a module with the same parameters; `module.compile()` compiles it in place. With `disable` the
    function is returned unchanged. `dynamic`, `backend`, `mode` and `options` are accepted for PyTorch programs and have no
    effect: there is one backend, and each size has its own program, but equal sources are compiled only once.

    >>> import minigrad
    >>> @minigrad.compile
    ... def wave(x, y):
    ...     return (x * y).sin() + x
    >>> wave(minigrad.tensor([0., 1.]), minigrad.tensor([2., 0.]))
    tensor([0., 1.])
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, backend=backend, disable=disable)
    check_function("compile", model)
    if not isinstance(backend, str):
        what = f"backend= is a {type(backend).__name__}; custom backends are not supported"
        raise error(TypeError, "compile", what, "leave out backend=; f.source() returns the generated source")
    return model if disable else as_compiled(model, fullgraph)


@functools.singledispatch
def as_compiled(f: Any, fullgraph: bool) -> Any:
    """Return the compiled form of a function; nn registers the form of a module."""
    return f if isinstance(f, CompiledCallable) else CompiledCallable(f, fullgraph)


class CompiledCallable:
    """A compiled function; see `compile`."""

    __wrapped_by_compile__ = True
    parts_for_guards = ("function",)

    def __init__(self, f: Callable, fullgraph: bool):
        functools.update_wrapper(self, f, updated=("__dict__",) if isinstance(f, types.FunctionType) else ())
        self.function, self.fullgraph = f, fullgraph
        self.name = getattr(f, "__name__", type(f).__name__)
        self.every: list[Specialisation | Eager] = []  # the kinds of calls so far, the latest compiled one first
        self.by_sizes: dict[tuple, list[Specialisation | Eager]] = {}
        self.varying: set[str] = set()  # paths of outside numbers that changed between calls
        self._texts: set[str] = set()  # sources compiled so far
        self._warned, self._once = False, 0
        self._reasons: dict[str, None] = {}
        self.fast_paths: list[Callable] = []  # those of the most recent compiled calls, which are tried first

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> tuple:
        return CompiledCallable, (self.function, self.fullgraph)

    def __repr__(self) -> str:
        return f"<minigrad.compile of {self.name}, {self._counted()}>"

    @property
    def versions(self) -> list[Specialisation]:
        """The specialisations that are compiled, the latest one last."""
        return [one for one in reversed(self.every) if isinstance(one, Specialisation)]

    def _counted(self) -> str:
        return f"{len(self.every)} specialisation{'s' * (len(self.every) != 1)}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if intercept.dual_level_of is not unheard:  # the arguments may have tangents
            return self.function(*args, **kwargs)
        for fast_path in self.fast_paths:
            if (result := fast_path(self, args, kwargs)) is not MISS:
                return result
        frame = current()
        if isinstance(frame.layer, Profiler):
            with span(f"compile: {self.name}", True):
                return self(*args, **kwargs)
        if frame is not ON and frame is not OFF or GENERIC:
            return self.function(*args, **kwargs)
        for known in self.by_sizes.get(sizes(args), ()):
            if (result := known.fast_path(self, args, kwargs)) is not MISS:
                self.remember(known)
                return result if known.reason is None else self._eagerly(known.reason, args, kwargs)
        return self._first(args, kwargs)

    def again(self, first: Specialisation, args: tuple, kwargs: dict) -> Any:
        """Compile a kind of call whose first call ran eagerly, and run it."""
        with _capture_lock:
            known = first in self.every
            self._keep([one for one in self.every if one is not first])
            self.fast_paths = [one for one in self.fast_paths if one is not first.fast_path]
        return self._first(args, kwargs, True) if known else self(*args, **kwargs)  # else another thread has done so

    def _first(self, args: tuple, kwargs: dict, again: bool = False) -> Any:
        """Handle the first call of a new kind: capture and compile, or run eagerly."""
        if len(self.every) >= ALL:
            return self._eagerly(Refused(f"it was called in more than {ALL} different ways", loud=False), args, kwargs)
        if len(self._texts) >= MANY:
            why, fix = self.often()
            return self._eagerly(Refused(f"it was compiled {len(self._texts)} times: {why}", fix=fix), args, kwargs)
        with _capture_lock:
            try:
                made = Specialisation(self, args, kwargs, again)
            except Refused as e:
                made = Eager(self, args, kwargs, e)
            except OutsideError:  # of an earlier call
                raise
            except Exception as e:  # the program's own error, or one of minigrad's: the eager run shows which
                result = self.function(*args, **kwargs)
                what = getattr(e, "problem", "") or str(e).partition("\n")[0] or type(e).__name__
                reason = Refused(f"its capture failed: {what}", getattr(e, "place", None), fix=getattr(e, "remedy", ""))
                self._add(Eager(self, args, kwargs, reason))
                if self.fullgraph:
                    raise self.refused(reason) from None
                self.warn(reason.why, reason.fix)
                return result
            self._add(made)
        if made.once and not again:
            # such as an optimizer's first step, which creates its state: not worth compiling unless it keeps happening
            self._once += 1
            if self._once > OFTEN:
                why = f"{self._once} calls each changed state that the next call depends on"
                self._add(Eager(self, args, kwargs, Refused(why, fix=GROWS)))
            # kernels for single operations would take seconds to compile, and the next call does not need them
            return by_numpy(self.function, *args, **kwargs)
        if made.reason is not None:
            return self._eagerly(made.reason, args, kwargs)
        result = made.fast_path(self, args, kwargs)
        return self.function(*args, **kwargs) if result is MISS else result

    def remember(self, known: Specialisation | Eager) -> None:
        """Let the next calls try a compiled kind of call first."""
        if isinstance(known, Specialisation):
            self.fast_paths = [known.fast_path, *self.fast_paths[: FAST_PATHS - 1]]

    def _keep(self, every: list) -> None:
        """Set the kinds of calls."""
        found: dict[tuple, list] = {}
        for one in every:
            found.setdefault(one.sizes, []).append(one)
        self.every, self.by_sizes = every, found

    def _add(self, made: Specialisation | Eager) -> None:
        if isinstance(made, Eager):
            self._keep([*self.every, made])  # last: a compiled call of the same kind may come back
            return
        self._keep([made, *self.every])
        self.remember(made)
        self._texts |= {made.entry.program.text} if made.entry is not None and not made.once else set()
        if len(self._texts) > OFTEN and not self._warned:
            self._warned = True
            why, fix = self.often()
            warn("compile-often", f"compile({self.name})", f"was compiled {len(self._texts)} times: {why}", fix)

    def often(self) -> tuple[str, str]:
        """Return the reason for many versions, and a fix."""
        found = change(self.versions)
        return (str(found), found.remedy) if found else ("its arguments differ", "explain() lists what each is for")

    def _eagerly(self, reason: Refused, args: tuple, kwargs: dict) -> Any:
        """Run the function eagerly, and warn once per reason."""
        if self.fullgraph and reason.loud:
            raise self.refused(reason)
        if reason.why not in self._reasons:
            at = f"\n  at {reason.place}" if reason.place is not None else ""
            self.warn(reason.why, reason.fix, at, reason.loud)
        return self.function(*args, **kwargs)

    def warn(self, why: str, fix: str = "", at: str = "", loud: bool = True) -> None:
        """Record that some calls run eagerly, for `explain()`; if `loud`, also warn."""
        self._reasons[why] = None
        if loud:
            warn("compile-eager", f"compile({self.name})", f"runs eagerly, because {why}{at}", fix)

    def refused(self, reason: Refused) -> Exception:
        """Return the error for a function that cannot be compiled with fullgraph=True."""
        fix = f"{reason.fix or 'change that'}; or compile without fullgraph=True to run it eagerly"
        return error(RuntimeError, f"compile({self.name})", f"cannot be compiled: {reason.why}", fix, reason.place)

    # ------------------------------------------------------------------ inspection
    def source(self, part: str = "forward") -> str:
        """Return the generated source of the latest specialisation: "forward" (or the whole step), or "backward"."""
        if part not in ("forward", "backward"):
            raise error(ValueError, "source", f"there is no part {part!r}", "pass 'forward' or 'backward'")
        texts = {name: loaded.program.text for name, loaded in self._made("source").titled_programs()}
        if part == "backward" and part not in texts:
            raise error(RuntimeError, "source", f"{self.name} has no backward: none of its results requires grad")
        return texts[part] if part in texts else texts["program"]

    def graph(self) -> Any:
        """Return the record (minigrad.record/1) of the function on the arguments of its latest specialisation."""
        from ..record.passes import record

        made = self._made("graph")
        args, kwargs = made.example()
        f = functools.partial(self.function, **kwargs) if kwargs else self.function
        return record(f, *args, name=self.name)

    def explain(self) -> str:
        """List what was fused and what was not, with reasons."""
        lines = [f"{self.name}: {self._counted()}"]
        for title, loaded in self._made("explain").titled_programs() if self.versions else ():
            lines.append(f"{title}:")
            for group in loaded.program.groups:
                names = ", ".join([op.name for op in group.ops])
                lines.append(f"  {KINDS.get(group.kind, group.kind).format(group.shape)}: {names}")
            lines += [f"  note: {n}" for n in dict.fromkeys(loaded.program.notes)]
            if loaded.on_device:
                lines.append(f"  its kernels are {loaded.entry.describe()}")
        lines += [
            f"specialisation {i}: {describe(version, self.versions)}" for i, version in enumerate(self.versions, 1)
        ]
        lines += [f"runs eagerly in some calls: {why}" for why in self._reasons]
        return "\n".join(lines)

    def _made(self, who: str) -> Specialisation:
        """Return the latest specialisation, or raise if there is none."""
        if not self.versions:
            why = "; ".join(self._reasons) or "it was never called"
            fix = "mend the cause, then call it again" if self._reasons else "call it first"
            raise error(RuntimeError, who, f"{self.name} has no compiled program: {why}", fix)
        made = self.versions[-1]
        if made.entry is not None:
            return made
        args, kwargs = made.example()  # it was called once, and a second call may never come
        return Specialisation(self, args, kwargs, True)
