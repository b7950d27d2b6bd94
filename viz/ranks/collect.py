"""What each rank records of a program, and how rank 0 gets it all.

Rank 0 alone draws.  A rank whose program lacks what is to be drawn takes part with all that it does, as the first stage of a
pipeline may; where no rank has it, all learn of that.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from minigrad.distributed import calls, is_initialized
from minigrad.distributed.failures import ends
from minigrad.record.recent import alive
from minigrad.record.transfers import said

from ..run_program import Program, Usage, names_of_tensors
from ..trimmed_record import leading_to_outputs, tensors, with_transfers


@dataclass
class Told:
    """What one rank tells of its program: the record, or why there is none, and when it computed and communicated."""

    record: dict | None
    notes: list[str]
    why_not: str
    times: dict


def told(program: Program, name: str, passes: Sequence[str]) -> Told:
    """Run a program on this rank, and return what there is to say of it."""
    heard: list[dict] = []
    began, why_not = perf_counter(), ""
    rec: Any = None
    try:
        with calls.listening(lambda call: heard.append(vars(said(call)))):
            rec = program.recording(name, passes)
        if rec is None:
            raise Usage(f"{name} in {program.file} is a function: with --ranks name a tensor that it computes.")
    except Usage as wrong:
        rec, why_not = rec or next(iter(alive()), None), str(wrong)
    times = {"host": socket.gethostname(), "began": began, "ended": perf_counter(), "transfers": heard}
    if not hasattr(rec, "backward_times"):
        times["backward"] = []
        return Told(None, [], f"{program.file} computes with PyTorch: --ranks draws programs of minigrad.", times)
    record = record_of_step(rec, program.names, program.file)
    return Told(record, rec.notes, why_not, {**times, "backward": rec.backward_times})


def record_of_step(rec: Any, names: dict[str, Any], file: str) -> dict:
    """The part of a recording that leads to its outputs, with what travels in that step; without outputs, to what is sent."""
    rec.name_values(names_of_tensors(names))
    whole = without_placeholders(rec.to_dict())
    sends: list[dict] = []
    if not whole["outputs"]:
        sends = [
            op for op in whole["ops"] if op["phase"] != "jvp" and any(t["name"] == "send" for t in op["transfers"])
        ]
        whole["outputs"] = list(dict.fromkeys(v for op in sends for v in tensors(op)))
    part = with_transfers(whole, leading_to_outputs(whole))
    kept = {op["id"] for op in (*part["ops"], *sends)}
    part["ops"] = in_buckets({**part, "ops": [op for op in whole["ops"] if op["id"] in kept]})
    seen = mentioned(part)
    part["values"] = [value for value in part["values"] if value["id"] in seen]
    part["gradients"] = {v: g for v, g in part["gradients"].items() if int(v) in seen and g in seen}
    return {**part, "program": {**part["program"], "file": file}}


def mentioned(record: dict) -> set[int]:
    """The values that a record says anything of: those of its operations, and their gradients."""
    found = set(record["outputs"])
    for op in record["ops"]:
        found.update([*tensors(op), *op["outputs"], *op["tangents"].values(), *(one["value"] for one in op["saved"])])
        found.update(map(int, op["tangents"]))
        for edge in op["edges"]:
            found.update(
                v for v in (edge["input"], edge["upstream"], edge["gives"], *edge["upstreams"]) if v is not None
            )
        found.update(push["output"] for push in op["pushes"])
        found.update(outer for ran in op["inside"] for outer in ran["same"].values())
    return found | {gradient for value, gradient in record["gradients"].items() if int(value) in found}


def in_buckets(record: dict) -> list[dict]:
    """The operations of a record, of which those that communicate read what their labels name: gradients, after a colon.

    How these came into the tensor that is sent, a hook of backward knows, unless operations after backward have put them there.
    """
    known = {v["name"]: g for v in record["values"] if (g := record["gradients"].get(str(v["id"]))) is not None}
    made: set[int] = set()  # since the last backward
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
    """The gradient of the parameter with a name, which the program may know by a longer path.

    >>> gradient_of("fc.bias", {"net.fc.bias": 7})
    7
    """
    return next((gradient for own, gradient in known.items() if f".{own}".endswith(f".{name}")), None)


def gathered(mine: Told) -> list[Told] | None:
    """Return what all ranks tell, on rank 0; None on the others.  Raises Usage where no rank has what is to be drawn."""
    from mpi4py import MPI

    if is_initialized():
        ends.done()  # answers ranks that still wait for this one
    MPI.COMM_WORLD.Barrier()
    everyone = MPI.COMM_WORLD.gather((mine, perf_counter()))
    everyone = everyone and of_one_clock(everyone)
    if everyone is not None and all(one.why_not for one in everyone):
        raise Usage(everyone[0].why_not)
    return everyone


def of_one_clock(told: list[tuple[Told, float]]) -> list[Told]:
    """Return what ranks tell, in times of rank 0's clock; with each comes when, after a barrier, that rank's clock said so.

    Processes of one computer share a clock; between computers a barrier leaves a few microseconds.
    """
    (first, now), *others = told
    for one, then in others:
        if one.times["host"] != first.times["host"]:
            move(one.times, now - then)
            for op in (one.record or {}).get("ops", ()):
                for transfer in op["transfers"]:
                    move(transfer, now - then)
    return [one for one, _ in told]


def move(times: dict, by: float) -> None:
    """Shift times, in place."""
    times |= {key: times[key] + by for key in ("began", "waited", "done", "ended") if times.get(key) is not None}
    if "transfers" in times:
        times["backward"] = [(begin + by, end + by) for begin, end in times["backward"]]
        for transfer in times["transfers"]:
            move(transfer, by)


def without_placeholders(record: dict) -> dict:
    """A record in which what a rank receives does not come from the tensor that only says its shape."""
    ops = [
        {**op, "inputs": [], "edges": [], "tangents": {v: t for v, t in op["tangents"].items() if int(v) in op["outputs"]}}
        if op["function"] == "Recv" and op["transfers"] and op["phase"] == "forward"
        else op
        for op in record["ops"]
    ]  # fmt: skip
    return {**record, "ops": ops}
