"""Links that strangers may send: each is damaged, or false in another way."""

import copy
import json
import random

from .linked import data, deflated, linked

SCRIPT = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
ADDRESS = "javascript:window.hacked=1"
PROTOTYPE = ("__proto__", "constructor", "toString", "hasOwnProperty", "valueOf")


def changed(change, name="cube"):
    """Return the link to a record after a change."""
    made = data(name)
    change(made)
    return linked(made)


def everywhere(word):
    """Return the link to a record whose free texts are all this word."""

    def replaced(part, key):
        if isinstance(part, dict):
            return {k: replaced(v, k) for k, v in part.items()}
        if isinstance(part, list):
            return [replaced(v, key) for v in part]
        fixed = key in ("passes", "kind", "sorts", "color", "content", "phase", "dtype", "cell", "cells")
        return word if isinstance(part, str) and not fixed else part

    return linked(replaced(data(), ""))


def raw(text):
    return "#r=" + deflated(text.encode())


def nested(depth):
    return raw('{"values": ' + "[" * depth + "]" * depth + "}")


def many_operations(made):
    made["ops"] = [{"id": 0, "name": "", "call": "", "in": [], "out": []}] * 60_000  # a million has more than 4 MB


def cycle(made):
    first, last = made["ops"][0], made["ops"][-1]
    first["in"], first["flows"] = [last["out"][0]], []


def wide_text(made):
    made["ops"][0]["name"] = "w" * 200_000


def deep_modules(made):
    made["ops"][0]["module"] = ["m"] * 5_000


def rooms_in_rooms(made):
    room = next(op["rooms"]["forward"] for op in made["ops"] if "rooms" in op)
    box = room["boxes"][-1]
    for _ in range(30):
        inner = [{"kind": "op", "text": "again", "of": ""}]
        box["room"] = {**room, "boxes": inner, "lines": [], "entries": {}, "exits": {}}
        box = box["room"]["boxes"][-1]


def prototypes(made):
    for i, op in enumerate(made["ops"]):
        op["name"] = PROTOTYPE[i % len(PROTOTYPE)]
        op["module"] = ["constructor", "prototype"]
    made["classes"] = {"constructor": {"prototype": "Object"}}
    for i, value in enumerate(made["values"]):
        value["name"] = PROTOTYPE[i % len(PROTOTYPE)]
    for i, value in enumerate(made["live"]["values"]):
        value["label"] = PROTOTYPE[i % len(PROTOTYPE)]


def calls(text):
    def change(made):
        for step in made["live"]["steps"]:
            step.update({"text": text, "names": {"h": 0, "x": 1}} if "text" in step else {})

    return lambda: changed(change, "loop")


def long_names(made):
    made["live"]["values"][0]["label"] = "w" * 100_000


def edges_to_nowhere(made):
    for op in made["live"]["ops"]:
        for edge in op["edges"]:
            edge.update(input=999_999, gives=999_998, names={"x": 999_997, "grad": 1}, formula=None)


HUGE = {"rows": 1, "panels": 1, "image": False, "cell": "mean", "unit": 1, "cells": ["A" * 30_000]}

# by name: a function that makes the link, and words of the sentence; None if it is drawn, "" for either
LINKS = {
    "not base64url": (lambda: "#r=%3Cscript%3E", "not base64url"),
    "markup in the address": (lambda: f"#r={SCRIPT}", "not base64url"),
    "base64 of a bad length": (lambda: "#r=AAAAA", "damaged"),
    "not deflated": (lambda: "#r=" + "QUJD" * 20, "damaged"),
    "truncated": (lambda: linked(data())[:-40], "damaged"),
    "too long": (lambda: "#r=" + "A" * 40_000, "40,000 characters"),
    "a bomb": (lambda: "#r=" + deflated(b" " * 20_000_000), "more than 4 MB"),
    "not UTF-8": (lambda: "#r=" + deflated(b"\xff\xfe\xff"), "damaged"),
    "not JSON": (lambda: raw("{'a': 1}"), "not JSON"),
    "JSON that is no object": (lambda: raw("[1, 2]"), "a list is not an object"),
    "null": (lambda: raw("null"), "null is not an object"),
    "an empty object": (lambda: raw("{}"), "the field program is missing"),
    "deep nesting": (lambda: nested(200_000), "is missing"),
    "deep elements": (lambda: changed(lambda m: m["values"][0].update(all=json.loads("[" * 900 + "]" * 900))), "shape"),
    "another schema": (lambda: raw(json.dumps({"schema": "minigrad.record/1", "values": [], "ops": []})), "minigrad share"),
    "an index out of range": (lambda: changed(lambda m: m["ops"][0].update({"in": [99]})), "99 is not a value"),
    "a negative index": (lambda: changed(lambda m: m["outputs"].append(-1)), "-1 is not a value"),
    "a fraction as index": (lambda: changed(lambda m: m["outputs"].append(0.5)), "0.5 is not a value"),
    "a cycle": (lambda: changed(cycle), "is not made before it is read"),
    "changes of nothing": (lambda: changed(lambda made: made.update(now={"77": "AAAA"})), "is not a value with which the page"),
    "two makers": (lambda: changed(lambda m: m["ops"][-1].update(out=m["ops"][0]["out"])), "too"),
    "one id twice": (lambda: changed(lambda m: m["ops"][-1].update(id=m["ops"][0]["id"])), "id of another"),
    "negative sizes": (lambda: changed(lambda m: m["sorts"][0].__setitem__(1, [-3])), "not a whole number"),
    "huge shapes": (lambda: changed(lambda m: m["sorts"][0].__setitem__(1, [2**30] * 3)), "too many elements"),
    "elements of another shape": (lambda: changed(lambda m: m["values"][0].update(all=[[1.0]])), "shape"),
    "words for numbers": (lambda: changed(lambda m: m["values"][0].update(all=["nan", "NaN", SCRIPT])), "is not a number"),
    "numbers that JSON has not": (lambda: raw(json.dumps(data()).replace("1.0", "NaN")), "not JSON"),
    "infinity by its digits": (lambda: changed(lambda m: m["values"][0].update(all=[1e308, -1e308, 5e-324])), None),
    "a number too large": (lambda: raw(json.dumps(data()).replace("1.0", "1e999")), "not"),
    "script tags": (lambda: everywhere(SCRIPT), ""),
    "addresses that are scripts": (lambda: everywhere(ADDRESS), ""),
    "names of prototypes": (lambda: changed(prototypes), ""),
    "__proto__": (lambda: raw(json.dumps(data())[:-1] + ', "__proto__": {"isLive": 1}, "constructor": 1}'), None),
    "__proto__ as a pass": (lambda: changed(lambda m: m["ops"][0].update(times={"__proto__": 1.0})), "is not one of"),
    "an unknown pass": (lambda: changed(lambda m: m["passes"].append("sideways")), "is not one of"),
    "no forward pass": (lambda: changed(lambda m: m.update(passes=["backward"])), "forward"),
    "operations without end": (lambda: changed(many_operations), "60,000 ops"),
    "a text without end": (lambda: changed(wide_text), "200,000 characters"),
    "modules without end": (lambda: changed(deep_modules), "5,000 entries"),
    "rooms without end": (lambda: changed(rooms_in_rooms), "inside each other"),
    "a lane that is not there": (lambda: changed(lambda m: m["ops"][0].update(lanes=[0, 1])), "is not a lane"),
    "lanes without operations": (lambda: changed(lambda m: m.update(lanes=["a", "b"], titles=["a", "b"])), "lane"),
    "contributions to nothing": (lambda: changed(lambda m: m.update(gradients=[])), "no gradient"),
    "too many contributions": (lambda: changed(lambda m: m["ops"][0]["flows"].extend([None] * 9)), "reads"),
    "a huge heat map": (lambda: changed(lambda m: m["values"][0].update(grid=HUGE)), "too many cells"),
    "a content of another size": (lambda: changed(lambda m: m["live"]["values"][0].update(content="AAAA")), "the content"),
    "a huge leaf": (lambda: changed(lambda m: m["live"]["values"][0].update(shape=[2**40])), "its type differs"),
    "a wide shape without elements": (lambda: changed(lambda m: m["sorts"][0].__setitem__(1, [2**40, 0])), "too many elements"),
    "steps in a circle": (lambda: changed(lambda m: m["live"]["steps"].reverse()), None),
    "a step that makes a leaf": (lambda: changed(lambda m: m["live"]["steps"][0].update(outputs=[0, 1])), None),
    "steps without end": (lambda: changed(lambda m: m["live"].update(steps=[{"outputs": [1]}] * 10_000)), "10,000 entries"),
    "an expression that is JavaScript": (calls("(() => { window.hacked = 1 })()"), ""),
    "an expression that calls itself": (calls("h.h.h(h)(h)[h]"), ""),
    "an expression of prototypes": (calls("constructor.constructor('window.hacked=1')()"), ""),
    "an attribute that is a prototype": (calls("x.__proto__.constructor('window.hacked=1')()"), ""),
    "deep brackets": (calls("(" * 1500 + "x" + ")" * 1500), ""),
    "deep powers": (calls("x ** " * 700 + "x"), ""),
    "deep negations": (calls("not " * 900 + "x"), ""),
    "a huge expression": (calls("x + " * 20_000 + "x"), "too long"),
    "results of another shape": (calls("h.sum()"), None),
    "results that are no tensors": (calls("[1, [2, 'x'], ...]"), None),
    "huge results": (calls("zeros(1000000000) + ones(100000, 100000)"), ""),
    "results that grow": (calls("h.repeat(3000, 3000) @ h.repeat(3000, 3000)"), None),
    "lists that grow": (calls("zeros([1] * 100000 * 100000 * 100000)"), None),
    "work without end": (calls("+".join(["(h.repeat(150, 150) @ h.repeat(150, 150)).sum()"] * 80)), None),
    "lists that repeat": (calls("exp([[0]*9999]*9999)"), None),
    "a choice without end": (calls(" or ".join(["0"] * 3000)), None),
    "calls without end": (calls("matrix_power(eye(3), 2**53)"), None),
    "tensors without end": (calls("stack([x]*131072)"), None),
    "names without end": (lambda: changed(long_names), "100,000 characters"),
    "edges to nowhere": (lambda: changed(edges_to_nowhere), None),
    "a wide convolution": (calls("conv2d(zeros(1, 1, 300, 300), zeros(1, 1, 150, 150)).sum()"), None),
}  # fmt: skip


def mutated(seed):
    """Return the link to a record with one to three parts of other types, or missing."""
    random_ = random.Random(seed)
    made = data(random_.choice(("cube", "branches", "loop", "entropy")))
    for _ in range(random_.randint(1, 3)):
        part = made
        while True:
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            key = random_.choice(keys)
            inner = part[key]
            if not isinstance(inner, (dict, list)) or not inner or random_.random() < 0.15:
                break
            part = inner
        mutate(part, key, random_)
    return linked(made)


def mutate(part, key, random_):
    numbers = [-1, 0, 1, 2, 3, 7, 2**31, 1.5]
    other = [None, True, *numbers, "", "x", SCRIPT, "__proto__", [], [0], {}, {"a": 1}, [[0, 1], [1, 0]]]
    kind = random_.random()
    if kind < 0.15:
        del part[key]
    elif kind < 0.3 and isinstance(part, list):
        part.append(copy.deepcopy(part[key]))
    elif kind < 0.5 and isinstance(part[key], (int, float)) and not isinstance(part[key], bool):
        part[key] = part[key] + random_.choice((-1, 1))
    else:
        part[key] = random_.choice(other)
