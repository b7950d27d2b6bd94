"""Record the program of each rank, and gather all records on rank 0, which draws them.

If a rank's program lacks the requested tensor, as the first stage of a pipeline may, the rank contributes the operations
behind the tensors that it sends.  If all ranks lack the tensor, rank 0 raises Usage.
"""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from minigrad.distributed import calls, is_initialized
from minigrad.distributed.failures import ends
from minigrad.record.live_recordings import alive
from minigrad.record.transfers import transfer_entry

from ..errors import Usage
from ..graph.backward_passes import of_passes
from ..graph.modules import tensors
from ..graph.trimmed_record import leading_to_outputs, mentioned, with_transfers
from ..programs.long_programs import WHOLE
from ..programs.run_program import Program
from ..programs.tensor_names import names_of_tensors
from .merge import merged


@dataclass
class Report:
    """The report of one rank: its record, or the reason for its absence, and the times of its communication."""

    record: dict | None
    notes: list[str]
    missing_because: str
    times: dict


def report(program: Program, name: str, passes: Sequence[str]) -> Report:
    """Run a program on this rank, and return its report."""
    rec, missing_because = None, ""
    program.part = WHOLE  # processes that wait for each other cannot run again
    with timed() as times:
        try:
            rec = program.recording(name, passes)
            if rec is None:
                missing_because = (
                    f"{name} in {program.file} is a function; --ranks needs a tensor. Name one that it computes."
                )
        except Usage as wrong:
            rec, missing_because = next(iter(alive()), None), str(wrong)
    if rec is None:
        return Report(None, [], missing_because, times)
    times["backward"] = rec.backward_times
    return Report(record_of_step(rec, program.names, program.file), rec.notes, missing_because, times)


@contextmanager
def timed() -> Iterator[dict]:
    """Measure the times at which this rank begins, communicates and ends, for its row in the timeline."""
    times = {"host": socket.gethostname(), "began": perf_counter(), "backward": [], "transfers": []}
    with calls.listening(lambda call: times["transfers"].append(vars(transfer_entry(call)))):
        yield times
    times["ended"] = perf_counter()


def record_of_step(rec: Any, names: dict[str, Any], file: str) -> dict:
    """Return the operations behind a recording's outputs, or behind the sent tensors, with the transfers of that step."""
    rec.name_values(names_of_tensors(names))
    whole = without_placeholders(rec.to_dict())
    sends: list[dict] = []
    if not whole["outputs"]:
        is_send = lambda op: op["phase"] != "jvp" and any(t["name"] == "send" for t in op["transfers"])
        sends = [op for op in whole["ops"] if is_send(op)]
        whole["outputs"] = list(dict.fromkeys(v for op in sends for v in tensors(op)))
    part = with_transfers(whole, leading_to_outputs(of_passes(whole)))
    kept = {op["id"] for op in (*part["ops"], *sends)}
    part["ops"] = in_buckets({**part, "ops": [op for op in whole["ops"] if op["id"] in kept]})
    seen = mentioned(part)
    part["values"] = [value for value in part["values"] if value["id"] in seen]
    part["gradients"] = {v: g for v, g in part["gradients"].items() if int(v) in seen and g in seen}
    return {**part, "program": {**part["program"], "file": file}}


def in_buckets(record: dict) -> list[dict]:
    """Return the operations of a record; an operation that sends a bucket reads the gradients that its label names.

    A hook of backward copies the gradients into the bucket, and a recording does not see the copies.  If the program copies
    them itself after backward, the record already contains the copies.
    """
    known = {v["name"]: g for v in record["values"] if (g := record["gradients"].get(str(v["id"]))) is not None}
    made: set[int] = set()  # by operations since the last backward
    ops = []
    for op in record["ops"]:
        made = set() if op["phase"] == "backward" else made | {*op["outputs"]}
        names = op["transfers"][0]["label"].partition(": ")[2] if op["transfers"] else ""
        if names and made.isdisjoint(tensors(op)):
            found = [gradient_of(name.strip(), known) for name in names.split(",")]
            op = {**op, "inputs": [one for one in found if one is not None] or op["inputs"]}
        ops.append(op)
    return ops


def gradient_of(name: str, known: dict[str, int]) -> int | None:
    """Return the gradient of a parameter by its name; the program may know it by a longer path.

    >>> gradient_of("fc.bias", {"net.fc.bias": 7})
    7
    """
    return next((gradient for own, gradient in known.items() if f".{own}".endswith(f".{name}")), None)


def gathered(mine: Report) -> list[Report] | None:
    """Return the reports of all ranks on rank 0, None on the others.  Raises Usage if there is nothing to draw."""
    from mpi4py import MPI

    if is_initialized():
        ends.done()  # answers ranks that wait for this one
    MPI.COMM_WORLD.Barrier()
    pairs = MPI.COMM_WORLD.gather((mine, perf_counter()))
    if pairs is None:
        return None
    reports = of_one_clock(pairs)
    missing = [one.missing_because for one in reports if one.record is None]
    if missing or all(one.missing_because for one in reports):
        raise Usage(missing[0] if missing else reports[0].missing_because)
    return reports


def merged_record(reports: Sequence[Report], apart: bool = False) -> dict:
    """Return one record of all ranks, with their timeline; `apart` gives each rank its own lane."""
    record = merged([one.record for one in reports if one.record is not None], apart)
    return {**record, "timeline": [one.times for one in reports]}


def of_one_clock(pairs: Sequence[tuple[Report, float]]) -> list[Report]:
    """Convert the times in the reports to rank 0's clock; each pair has a report and its rank's time just after a barrier.

    Processes on one computer share a clock; between computers the error is a few microseconds, the length of a barrier.
    """
    (first, now), *others = pairs
    for one, then in others:
        if one.times["host"] != first.times["host"]:
            move(one.times, now - then)
            for op in (one.record or {}).get("ops", ()):
                for transfer in op["transfers"]:
                    move(transfer, now - then)
    return [one for one, _ in pairs]


def move(times: dict, by: float) -> None:
    """Shift times, in place."""
    times |= {key: times[key] + by for key in ("began", "waited", "done", "ended") if times.get(key) is not None}
    if "transfers" in times:
        times["backward"] = [(begin + by, end + by) for begin, end in times["backward"]]
        for transfer in times["transfers"]:
            move(transfer, by)


def without_placeholders(record: dict) -> dict:
    """Return the record without the inputs of Recv: Recv reads only the shape of its input."""
    ops = [
        {**op, "inputs": [], "edges": [], "tangents": {v: t for v, t in op["tangents"].items() if int(v) in op["outputs"]}}
        if op["function"] == "Recv" and op["transfers"] and op["phase"] == "forward"
        else op
        for op in record["ops"]
    ]  # fmt: skip
    return {**record, "ops": ops}
