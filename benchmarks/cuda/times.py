"""Times of cases on a GPU, of minigrad and of PyTorch, eager and compiled, in turns.

A figure is the median of all rounds, on warm kernels. Before a case is timed, the results are compared.

Most times are the GPU's, between two events: it is kept busy first, until all calls are in its queue, so that launches do not
count. What launches and transfers bound is timed by the clock instead, until the GPU is done. The time of a launch is what the
processor spends on a call, while the GPU follows.
"""

import cProfile
import os
import pstats
import statistics
import time

import numpy as np

from . import cases

ROUNDS, CALLS = 7, 20
BUSY = 1e-4  # seconds that a copy of 2**26 numbers keeps the GPU busy, at least
LAUNCHED = 2000  # calls for the time of a launch
TOLERANCE = 2e-3  # relative to the largest number of a result: float32, sums in another order
PRODUCTS = (128, 256, 512, 1024, 2048, 4096, 8192)  # rows and columns of the matrices


def libraries():
    """Return minigrad, and PyTorch if it is installed with CUDA."""
    import minigrad

    try:
        import torch
    except ImportError:
        return [minigrad]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # float32 in both
    return [minigrad, torch] if torch.cuda.is_available() else [minigrad]


def event_clock(torch):
    """Return a function that gives the GPU's milliseconds for one run of f, between two events of the library's stream."""
    if torch.__name__ == "torch":
        from torch.cuda import Event

        def mark():
            event = Event(enable_timing=True)
            event.record()
            return event

        passed = lambda begin, end: begin.elapsed_time(end)
    else:
        from cuda.core import EventOptions

        from minigrad.kernels.cuda import machine

        mark = lambda: machine.current().queue.record(options=EventOptions(timing_enabled=True))
        passed = lambda begin, end: end - begin
    many = cases.numbers(torch, 1 << 26)

    def milliseconds(f, calls=CALLS):
        begin = time.perf_counter()
        for _ in range(calls):
            f()
        asked = time.perf_counter() - begin  # the GPU may have been waited for: then it is more than the launches took
        torch.cuda.synchronize()
        for _ in range(10 + int(min(asked, 0.1) / BUSY)):
            many.clone()
        begin = mark()
        for _ in range(calls):
            f()
        end = mark()
        torch.cuda.synchronize()
        return passed(begin, end) / calls

    return milliseconds


def wall_clock(torch):
    """Return a function that gives the milliseconds of one run of f, until the GPU is done."""

    def milliseconds(f, calls=CALLS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            f()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3 / calls

    return milliseconds


def ways(case, torches):
    """Return the functions to time by name: of each library, and through its `compile` if the case is marked."""
    found = {}
    for torch in torches:
        found[torch.__name__] = torch, case(torch)
        if case in cases.COMPILED:
            found[f"{torch.__name__}.compile"] = torch, torch.compile(case(torch))
    return found


def measured(case, torches):
    """Return the median milliseconds of a case for each library, in turns; raise ValueError if the results differ."""
    runs, clock = ways(case, torches), wall_clock if case in cases.CLOCKED else event_clock
    calls = cases.CLOCKED.get(case, CALLS)
    results = {name: f().detach().cpu().numpy() for name, (_, f) in runs.items()}
    first = results["minigrad"]
    for name, other in results.items():
        if (worst := np.abs(first - other).max()) > TOLERANCE * max(1, np.abs(other).max()):
            raise ValueError(f"{case.__name__}: results of minigrad and {name} differ by {worst}")
    clocks = {name: clock(torch) for name, (torch, _) in runs.items()}
    for name, (_, f) in runs.items():
        clocks[name](f, calls)
    rounds = [{name: clocks[name](f, calls) for name, (_, f) in runs.items()} for _ in range(ROUNDS)]
    return {name: statistics.median([r[name] for r in rounds]) for name in runs}


def launched(case, torches):
    """Return the median microseconds that the processor spends on a call, for each library, in turns."""
    runs, found = {torch.__name__: (torch, case(torch)) for torch in torches}, {}
    for _ in range(ROUNDS):
        for name, (torch, f) in runs.items():
            f()
            torch.cuda.synchronize()
            begin = time.thread_time()
            for _ in range(LAUNCHED):
                f()
            found.setdefault(name, []).append((time.thread_time() - begin) * 1e6 / LAUNCHED)
            torch.cuda.synchronize()
    return {name: statistics.median(took) for name, took in found.items()}


def profiled(case, torches):
    """Return the functions in which minigrad's calls of a case spend most of the processor's time (own_times)."""
    minigrad, f = torches[0], case(torches[0])
    f()
    minigrad.cuda.synchronize()
    return own_times(f, LAUNCHED)


def own_times(f, calls, most=25):
    """Return by function, as "file:line name", the microseconds that one call of f spends in it alone, the longest first.

    The profiler itself adds to each call of a Python function: look at the order and the shares, not at the sum.
    """
    profile = cProfile.Profile()
    profile.runcall(lambda: [f() for _ in range(calls)])
    took = {
        f"{'/'.join(file.split(os.sep)[-2:])}:{line} {name}": own * 1e6 / calls
        for (file, line, name), (_, _, own, _, _) in pstats.Stats(profile).stats.items()
    }
    return dict(sorted(took.items(), key=lambda item: -item[1])[:most])


def peaks(case, torches):
    """Return the most bytes that tensors held during a step, for each library."""
    found = {}
    for torch in torches:
        step = case(torch)
        step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        step()
        found[torch.__name__] = torch.cuda.max_memory_allocated()
    return found


def products():
    """Return the times of products of square matrices by size, with minigrad's kernels and with cuBLAS."""
    import minigrad
    from minigrad.kernels.cuda import blas, repeats

    chosen, found, milliseconds = blas.LIBRARY_FROM, {}, event_clock(minigrad)
    kernels = {"own": float("inf"), **({"cuBLAS": 0} if blas.library() is not None else {})}
    for n in PRODUCTS:
        x, y = cases.numbers(minigrad, n, n), cases.numbers(minigrad, n, n, seed=1)
        rounds = {way: [] for way in kernels}
        try:
            for way in list(kernels) * ROUNDS:
                blas.LIBRARY_FROM = kernels[way]
                repeats.remembered.calls.clear()  # small products repeat what was chosen before
                rounds[way].append(milliseconds(lambda x=x, y=y: x @ y, CALLS if n < 4096 else 3))
        finally:
            blas.LIBRARY_FROM = chosen
        found[n] = {way: statistics.median(took[1:]) for way, took in rounds.items()}  # the first compiles
    return found


def shares(milliseconds):
    """Return the bandwidth of cases bound by memory relative to the copy's, by case, for each way of running them."""
    base = milliseconds.get(cases.copy.__doc__, {}).get("minigrad")
    if not base:
        return {}
    rate = cases.MOVED[cases.copy] / base
    return {
        case.__doc__: {way: moved / took / rate for way, took in milliseconds[case.__doc__].items()}
        for case, moved in cases.MOVED.items()
        if case is not cases.copy and "error" not in milliseconds.get(case.__doc__, {"error": ""})
    }


def attempt(f, *args):
    """Return f(*args), or the error as plain data, so that one failure does not hide the rest."""
    try:
        return f(*args)
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}
    finally:
        for torch in libraries():
            torch.cuda.empty_cache()


def all_times(save):
    """Measure everything; `save` gets the plain data after each case, because a machine may be there for minutes only."""
    figures = {"milliseconds": {}, "launches": {}, "profiles": {}, "products": {}, "memory": {}}
    torches = libraries()
    parts = [("launches", launched, cases.LAUNCHES), ("profiles", profiled, cases.LAUNCHES),
             ("memory", peaks, (cases.training_step,)), ("milliseconds", measured, cases.CASES)]  # fmt: skip
    for part, measure, some in parts:
        for case in some:
            begin = time.perf_counter()
            figures[part][case.__doc__] = found = attempt(measure, case, torches)
            print(f"{case.__name__} {found} ({time.perf_counter() - begin:.1f} s)", flush=True)
            save(figures)
    figures["products"] = found = attempt(products)
    figures["shares"] = shares(figures["milliseconds"])
    print(f"products {found}\nshares of the copy's bandwidth {figures['shares']}", flush=True)
    save(figures)
    return figures
