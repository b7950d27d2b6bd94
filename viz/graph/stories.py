"""Several passes of a program as one connected graph: a derivative of a derivative, from x to H.

Pictures of single passes look gradients and tangents up by value.  If a pass is itself differentiated, its operations read
and make values like all others.  So the story of a record has the operations of all passes as ordinary ones, with their own
formulas and inputs, and a band around each pass: forward, each backward, the jvp of each.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError

from minigrad.record.labels import GRAD, SUBSCRIPTS, TANGENT, as_expression, written
from minigrad.record.labels import tangent as tangent_name

from .. import text
from . import updates
from .modules import in_order, tensors
from .trimmed_record import parts_of
from .updates import Put

BACKWARD, JVP = "-backward", "-jvp"  # hues of bands, as of edges
PRIMES = ("", "′", "″", "‴", "⁗")  # behind the names of contributions to a gradient
# of an ordinary operation; its pass says which transforms are around it
ORDINARY = {
    "phase": "forward",
    "edges": [],
    "pushes": [],
    "tangents": {},
    "saved": [],
    "of": None,
    "band": None,
    "layer": [],
}


def is_nested(record: dict) -> bool:
    """Return True if the program differentiates a backward pass, pushes tangents through it, or computes results with it."""
    backward = [op for op in record["ops"] if op["phase"] == "backward" and op.get("run")]
    if any(op.get("edges") or op.get("tangents") and "jvp" in op.get("layer", ()) for op in backward):
        return True
    given = {value for op in backward for value in op["outputs"]}.union(record.get("gradients", {}).values())
    parts, wanted, read = parts_of(record), set(record.get("outputs", ())), set()
    for op in reversed(record["ops"]):
        if op["phase"] == "forward" and op["id"] not in parts and not wanted.isdisjoint(op["outputs"]):
            read.update(tensors(op))
            wanted.update(tensors(op))
    return not given.isdisjoint(read)


def transforms(record: dict) -> bool:
    """Return True if a program computes derivatives with transforms, such as func.grad."""
    return any(op["phase"] == "backward" and "grad" in op.get("layer", ()) for op in record["ops"])


def is_step(record: dict) -> bool:
    """Return True if the record has a training step that follows a backward pass, and shows it."""
    updates = any(part == "update" for part in parts_of(record).values())
    return updates and any(op["phase"] == "backward" and op.get("run") for op in record["ops"])


def story(record: dict) -> dict:
    """Return the record with all passes as ordinary operations, and a list `bands`; each operation has the number of its band.

    An operation of the program that runs after a backward pass is in no band.
    """
    return Story(record).told()


def given_to_backward(op: dict) -> dict[int, int]:
    """Return the results of a custom Function by the gradients that its backward was called with."""
    calls = [ran for ran in op.get("inside", ()) if ran["method"] in ("backward", "vjp")]
    pairs = [(ran["same"].get(str(g)), made) for ran in calls for g, made in zip(ran["inputs"], op["outputs"])]
    return {gradient: result for gradient, result in pairs if gradient is not None}


class Story:
    """The operations of a record, turned into ordinary ones."""

    def __init__(self, record: dict):
        self.record = record
        self.values = {value["id"]: value for value in record["values"]}
        self.by_label = {value["label"]: value["id"] for value in record["values"] if value.get("label")}
        self.by_id = {op["id"]: op for op in record["ops"]}
        self.before: dict[int, int] = {}  # content of a parameter after a training step -> the content before it
        self.bands: list[dict] = []
        self.numbers: dict[tuple, int] = {}  # key of a band -> its number
        self.names: dict[int, str] = {}  # of gradients, and of their tangents
        self.sums: dict[int, tuple[int, int]] = {}  # sum of contributions to a gradient -> the value, and the run
        self.seeds: dict[int, tuple[dict, int]] = {}  # gradient that a pass begins with -> its operation, the value
        self.updating = {op for op, part in parts_of(record).items() if part == "update"}
        self.numbers_of_rules = self.constants_of_rules()
        self.totals = {int(value): gradient for value, gradient in record["gradients"].items()}
        self.whose = {gradient: value for value, gradient in self.totals.items()}
        self.terms = self.contributions()
        self.moved = {moved: int(of) for op in record["ops"] for of, moved in op["tangents"].items()}
        self.upstreams = {flow["upstream"] for op in record["ops"] for flow in op["edges"]}
        self.runs = sorted({op["run"] for op in record["ops"] if op["phase"] == "backward" and not op.get("again")})

    def told(self) -> dict:
        """Return the record of the story."""
        ops = [made for op in self.record["ops"] for made in self.ordinary(op)]
        ops += self.updates()
        made = {value for op in ops for value in op["outputs"]}
        ops += [self.seed(value, *found) for value, found in self.seeds.items() if value not in made]
        ops = [{**op, "id": number} for number, op in enumerate(self.leading_on(makers_first(ops)))]
        self.names = self.names_of_derivatives()
        used = {op["band"] for op in ops}
        program = {**self.record["program"], "passes": ["forward"]}
        values = [self.tagged(value) for value in self.record["values"]]
        bands = [{**self.titled(band), "empty": number not in used} for number, band in enumerate(self.bands)]
        return {**self.record, "program": program, "values": values, "ops": ops, "gradients": {}, "bands": bands}

    def ordinary(self, op: dict) -> Iterator[dict]:
        """Yield the ordinary operations for an entry of the record: none for what the picture leaves out."""
        plain = {**op, **ORDINARY}
        if op["phase"] == "forward" and op["id"] not in self.updating:
            yield {**plain, "band": self.forward_band(op)}
        elif op["phase"] == "backward" and not op.get("again"):
            plain |= {"band": self.backward_band(op), "forward": self.by_id.get(op["of"])}
            self.note_seed(plain, op)
            yield from self.backward(plain, op)
        elif op["phase"] == "jvp" and "jvp" in op.get("layer", ()):
            of = self.by_id[op["of"]]
            yield from self.pushed({**plain, "forward": self.by_id.get(of["of"])}, of)

    @property
    def first_backward(self) -> int:
        """The number of the first operation of a backward pass."""
        return next(op["id"] for op in self.record["ops"] if op["phase"] == "backward" and not op.get("again"))

    def updates(self) -> list[dict]:
        """Return the training step, one operation for each parameter."""
        parts = parts_of(self.record)
        found = [op for op in self.record["ops"] if parts.get(op["id"]) == "update"]
        lines = {op["where"]["code"].strip() for op in found}
        title = f"Update: {lines.pop()}" if len(lines) == 1 else "Update"
        made = updates.steps(self.record, found)
        self.before = {after: before for op in made for after, before in op.pop("before").items()}
        return [{**op, **ORDINARY, "band": self.band(("update",), title, "")} for op in made]

    # ------------------------------------------------------------------ bands
    def band(self, key: tuple, title: str, hue: str) -> int:
        """Return the number of a band, which begins with its first operation."""
        if key not in self.numbers:
            self.numbers[key] = len(self.bands)
            self.bands.append({"title": title, "hue": hue})
        return self.numbers[key]

    def forward_band(self, op: dict) -> int | None:
        """Return the band of an operation of the program: that of the backward pass whose first gradient it makes."""
        if op["outputs"] and self.upstreams.issuperset(op["outputs"]):
            later = [one for one in self.record["ops"] if one["phase"] == "backward"]
            if reader := next((one for one in later if op["outputs"][0] in one["inputs"]), None):
                return self.backward_band(reader)
        before = not self.runs or op["id"] < self.first_backward
        return self.band(("forward",), "Forward pass", "") if before else None

    def backward_band(self, op: dict) -> int:
        """Return the band of a backward pass, which is called after the value that it began from."""
        which = f"Backward pass {self.runs.index(op['run']) + 1}" if len(self.runs) > 1 else "Backward pass"
        of, known = self.by_id.get(op["of"]), len(self.bands)
        made = self.band(("backward", op["run"]), which, BACKWARD)
        if made == known and of and len(of["outputs"]) == 1:
            self.bands[made]["began"] = of["outputs"][0]
        return made

    def titled(self, band: dict) -> dict:
        """Return a band whose title has the value that its backward pass began from."""
        began = band.get("began")
        if began is None:
            return band
        name = self.names.get(began) or self.values[began]["shown"]
        return {**band, "title": f"{band['title']}: gradient of {name}"}

    # ------------------------------------------------------------------ the passes
    def backward(self, plain: dict, op: dict) -> Iterator[dict]:
        """Yield a rule that ran: with its own call if it was recorded, else with the formulas of the edges."""
        plain = {**plain, "name": f"{op['name']} backward", "function": None}
        if op.get("call"):
            call, read = self.rewritten(op["call"], {})
            of = self.by_id.get(op["of"], {"edges": ()})
            note = self.batch(zip(op["outputs"], [flow["input"] for flow in of["edges"]]))
            yield {**plain, "call": call or op["call"], "inputs": read or op["inputs"], "note": note}
            return
        of = self.by_id[op["of"]]
        flows = [flow for flow in of["edges"] if flow["gives"] in op["outputs"] and flow["upstream"] in op["inputs"]]
        for flow in [flow for flow in flows if flow["gives"] != flow["upstream"]]:  # else it passes unchanged
            names = self.names_of_gradients(flow)
            call, read = self.rewritten(flow["formula"], names)
            inputs = list(dict.fromkeys([*read, *[u for u in names.values() if not call or u in read]]))
            yield {**plain, "call": call, "inputs": inputs or [flow["upstream"]], "outputs": [flow["gives"]]}
        for value in dict.fromkeys(flow["input"] for flow in flows):
            yield from self.added(plain, value, op["run"])

    def added(self, plain: dict, value: int, run: int) -> Iterator[dict]:
        """Yield the sum of the contributions to a value's gradient after the last of them."""
        terms = self.terms[run, value]
        total = self.totals.get(value)
        here = {**plain}
        if len(terms) > 1 and total is not None and total not in terms and plain["outputs"][-1:] == terms[-1:]:
            self.sums[total] = value, run
            labels = " + ".join(self.values[term]["label"] for term in terms)
            yield {**here, "name": "add", "call": labels, "inputs": terms, "outputs": [total]}

    def contributions(self) -> dict[tuple[int, int], list[int]]:
        """Return the contributions to gradients, by pass and value."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for op in self.record["ops"]:
            if op["phase"] == "backward" and not op.get("call"):
                for flow in self.by_id[op["of"]]["edges"] if op["of"] is not None else ():
                    known = found[op["run"], flow["input"]]
                    if flow["gives"] in op["outputs"] and flow["gives"] not in known:
                        known.append(flow["gives"])
        return found

    def names_of_gradients(self, flow: dict) -> dict[str, int]:
        """Return the gradients that a contribution's formula may read, by their names in it."""
        ups = flow.get("upstreams") or [flow["upstream"]]
        if len(ups) == 1:
            return {"g": flow["upstream"]}
        return {f"g[{k}]": up for k, up in enumerate(ups) if up is not None}

    def pushed(self, plain: dict, of: dict) -> Iterator[dict]:
        """Yield the rules for the tangents of an operation's outputs."""
        if of["phase"] == "backward":
            passed = self.bands[self.backward_band(of)]
            band = self.band(("jvp", of["run"]), f"JVP of the {passed['title'].lower()}", JVP)
            self.bands[band]["began"] = passed.get("began")
        else:
            first = of["id"] < self.first_backward if self.runs else True
            band = self.band(("jvp", 0), "JVP of the forward pass", JVP) if first else None
        names = {}
        for value, moved in of["tangents"].items():
            label = self.values[int(value)]["label"]
            names |= {name: moved for name in (tangent_name(label), f"{label}_tangent")}
        for push in of["pushes"]:
            moved = of["tangents"].get(str(push["output"]))
            call, read = self.rewritten(push["formula"], names)
            note = self.batch([(moved, push["output"])])
            name = f"{of['name']} {'backward ' * (of['phase'] == 'backward')}jvp"
            made = {**plain, "name": name, "function": None, "call": call, "band": band, "note": note}
            yield {**made, "inputs": read, "outputs": [moved]}

    def rewritten(self, formula: str, names: dict[str, int]) -> tuple[str, list[int]]:
        """Return a formula with labels instead of some names, and the values that it reads; ("", []) for words."""
        try:
            tree = ast.parse(formula, mode="eval")
        except SyntaxError:
            return "", []
        instead: dict[str, ast.expr] = {name: ast.Name(self.values[value]["label"]) for name, value in names.items()}
        tree = Put(instead | self.numbers_of_rules).visit(tree)
        used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        if "g" in used:  # a custom Function's own call, with a gradient that did not arrive
            return "", []
        known = [name for name in used if name in self.by_label]
        return ast.unparse(tree), list(dict.fromkeys(self.by_label[name] for name in known))

    def constants_of_rules(self) -> dict[str, ast.expr]:
        """Return the numbers that rules of backward passes made for themselves, by label."""
        read = {value for op in self.record["ops"] if op["phase"] == "forward" for value in tensors(op)}
        found: dict[str, ast.expr] = {}
        for value in self.record["values"]:
            number = value["summary"].get("values")
            if value["kind"] == "input" and not value["name"] and value["id"] not in read and isinstance(number, float):
                found[value["label"]] = ast.Constant(int(number) if number.is_integer() else number)
        return found

    # ------------------------------------------------------------------ what is shown
    def note_seed(self, plain: dict, op: dict) -> None:
        """Note a gradient that an operation of a backward pass reads: the pass begins with it if no operation makes it."""
        of = self.by_id.get(op["of"])
        alone = of["outputs"][0] if of and len(of["outputs"]) == 1 else None
        gradients = [i for i in op["inputs"] if isinstance(i, int) and self.values[i]["kind"] == "gradient"]
        arrived = given_to_backward(of) if of else {}
        for gradient in gradients if of else ():
            if (value := self.whose.get(gradient, arrived.get(gradient, alone))) is not None:
                self.seeds.setdefault(gradient, (plain, value))
                self.bands[plain["band"]].setdefault("began", value)

    def seed(self, gradient: int, plain: dict, value: int) -> dict:
        """Return the beginning of a backward pass as an operation, so that the pass hangs together with the one before."""
        ones = set(text.flat(self.values[gradient]["summary"].get("values", [0]))) == {1.0}
        call = f"ones_like({self.values[value]['label']})" if ones else ""
        made = {**plain, "name": "backward", "function": None, "call": call, "inplace": False}
        return {**made, "inputs": [value], "outputs": [gradient]}

    def batch(self, pairs: Iterable[tuple[int, int]]) -> str:
        """Return a note on gradients or tangents with more dimensions than their values: vmap computes several at once."""
        for made, of in pairs:
            shape, ndim = self.values[made]["shape"], len(self.values[of]["shape"])
            if many := [size for size in shape[: max(len(shape) - ndim, 0)] if size > 1]:
                return f"vmap: {' × '.join(map(str, many))} at once"
        return ""

    def tagged(self, value: dict) -> dict:
        """Return a value; tangents with which a jvp begins say how many they are."""
        note = self.batch([(value["id"], self.moved[value["id"]])]) if value["id"] in self.moved else ""
        before = self.before.get(value["id"])
        value = {**value, **({"tag": note} if note else {}), **({} if before is None else {"before": before})}
        value["shown"] = self.names.get(value["id"]) or value["shown"]
        if before is not None and not value["name"]:
            value["shown"] = self.values[before]["shown"]
        elif value["name"] and (before is not None or value["id"] in self.before.values()):  # the card tells them apart
            of_state = value["name"].rpartition(".")[2] * (value["kind"] != "parameter")
            value["shown"] = of_state or as_expression(value["name"]) or value["shown"]
        return value

    def names_of_derivatives(self) -> dict[int, str]:
        """Return names for the gradients without a name in the program: x.grad, x.grad₂ in the second backward pass.

        If a pass adds up contributions to a gradient, they are x.grad′ and x.grad″.
        """
        by_pass = self.gradients_by_pass()
        several: dict[tuple[int, int], list[int]] = defaultdict(list)  # value and run -> its gradients, the sum last
        for gradient, key in by_pass.items():
            several[key].append(gradient)
        primes = {one: PRIMES[i % 5] for each in several.values() for i, one in enumerate(reversed(each))}
        names: dict[int, str] = {}

        def name(value: int) -> str:
            if value not in by_pass or as_expression(self.values[value]["name"]):
                return self.values[value]["shown"]
            if value not in names:
                of, run = by_pass[value]
                number = str(self.runs.index(run) + 1).translate(SUBSCRIPTS) * (run != self.runs[0]) + primes[value]
                names[value] = f"{written(name(of))}.grad{number}" if number else f"{GRAD}{name(of)}"
            return names[value]

        tangents = {moved: f"{TANGENT}{name(of)}" for moved, of in self.moved.items() if of in by_pass}
        return {one: name(one) for one in by_pass} | tangents

    def gradients_by_pass(self) -> dict[int, tuple[int, int]]:
        """Return the value and the run that each gradient belongs to, in the order in which they are computed."""
        found: dict[int, tuple[int, int]] = {}
        rules = [op for op in self.record["ops"] if op["phase"] == "backward" and not op.get("again")]
        begun = {gradient: (value, plain["run"]) for gradient, (plain, value) in self.seeds.items()}
        for op in rules:
            of = self.by_id[op["of"]]
            flows = {flow["gives"]: flow["input"] for flow in of["edges"]}
            read = list(dict.fromkeys(tensors(of)))
            made = [one for one in op["outputs"] if self.values[one]["kind"] == "gradient"] or op["outputs"]
            if of["phase"] == "forward" and len(made) == len(read):
                flows = dict(zip(made, read)) | flows
            for one in made:
                if one in flows and flows[one] != one:
                    found.setdefault(one, (flows[one], op["run"]))
        terms = {one: key for one, key in {**begun, **found}.items() if one not in self.sums}
        return terms | self.sums

    def leading_on(self, ops: list[dict]) -> list[dict]:
        """Leave out tangents, and operations after a backward pass, that lead to no result."""
        wanted, kept = set(self.record["outputs"]), []
        for op in reversed(ops):
            free = op["band"] is None or self.bands[op["band"]]["hue"] == JVP
            if not free or not wanted.isdisjoint(op["outputs"]):
                kept.append(op)
                wanted.update(tensors(op))
        return kept[::-1]


def makers_first(ops: list[dict]) -> list[dict]:
    """Return operations so that each comes after those that make its inputs, and else in their order.

    Raises CycleError if that is impossible, which no recorded program is.
    """
    maker = {value: i for i, op in enumerate(ops) for value in op["outputs"]}
    done = in_order({i: {maker[v] for v in tensors(op) if v in maker} - {i} for i, op in enumerate(ops)})
    if len(done) < len(ops):
        raise CycleError("operations need each other")
    return [ops[i] for i in done]


def title(record: dict) -> str:
    """Return the title of a story's picture."""
    hues = [band["hue"] for band in record["bands"] if not band["empty"]]
    if any(band["title"].startswith("Update") for band in record["bands"]):
        return "Training step"
    names = [name for name, hue in (("Forward", ""), ("backward", BACKWARD), ("jvp", JVP)) if hue in hues]
    listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
    return text.clean(f"{listed} pass")
