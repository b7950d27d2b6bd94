"""Records from files, damaged in all ways: what reads one draws it right, or says in one line what is wrong with it."""

import copy
import json
import random

import pytest

import minigrad
import viz
from minigrad import nn
from viz.cards.step_through import walk
from viz.commands.diff_command import record_of
from viz.drawing import Drawing, MissingPass
from viz.errors import Usage
from viz.graph.record_diff import compare
from viz.view import passes_of

from .command import minigrad as command
from .records import mlp, odd, recurrent, two_uses
from .test_programs import with_cube

MANY, QUICK = 3000, 100


def trained():
    """Return a network with modules, gradients freed, and a step of an optimizer."""
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    optimizer = minigrad.optim.SGD(net.parameters(), lr=0.1)
    x = minigrad.ones(4, 3)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss


def transformed(x):
    y = minigrad.func.vmap(minigrad.func.grad(lambda t: t.sin() * t))(x)
    y = y * 2.0
    y += 1.0
    return y.sum()


def records():
    """Return real records, and some written by hand."""
    minigrad.manual_seed(0)  # the same bytes each time, so that a damage that is found can be found again
    x = minigrad.tensor([0.1, 0.2, 0.3], requires_grad=True)
    real = [
        minigrad.record(trained, name="trained").to_dict(),
        minigrad.record(with_cube, x, inside=True).to_dict(),
        minigrad.record(transformed, x).to_dict(),
    ]
    boxes = json.loads(viz.draw(recurrent(), max_nodes=10).json())
    return [json.loads(json.dumps(one)) for one in (*real, boxes, two_uses(), mlp(), odd())]


def places(x, path=()):
    """Yield all parts of a document, as the ways to them."""
    parts = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def others(part, chance):
    """Give values that may replace a part."""
    deep = []
    for _ in range(chance.choice([30, 90, 500])):
        deep = [deep]
    return chance.choice(
        [None, True, False, 0, 1, -1, 3, 99, 10**9, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf")]
        + [
            "",
            "nan",
            "x",
            "\ud800",
            "\udcff",
            "\x00",
            "\u202e",
            "</svg>]]>",
            "]" * 300,
            "-" * 5000,
            "(" * 150,
            "∂",
            "a\nb",
        ]
        + [
            [],
            {},
            [None],
            [[]],
            deep,
            {"const": deep},
            {"const": None},
            [0, 0],
            [1, "1"],
            {"0": 0},
            {"a": 1},
            "1" * 5000,
        ]
        + [[part, part], {"x": part}, str(part)]
    )


def damaged(document, chance):
    """Return a document in which one to three parts are others, are gone, or stand twice."""
    document = copy.deepcopy(document)
    for _ in range(chance.choice([1, 1, 2, 3])):
        *way, key = chance.choice(list(places(document)))
        inside = document
        for step in way:
            inside = inside[step]
        how = chance.randrange(5)
        if how == 0:
            del inside[key]
        elif how == 1 and isinstance(inside, list):
            inside.insert(chance.randrange(len(inside) + 1), inside[key])
        elif how == 2 and isinstance(inside[key], int):
            inside[key] += chance.choice([-1, 1, 2])
        elif how == 3 and isinstance(inside, dict):
            inside[chance.choice(["", "id", "folded", "note", "const", "equations", "-1", "0", "²"])] = inside[key]
        else:
            inside[key] = others(inside[key], chance)
    return document


def flipped(document, chance):
    """Return the text of a document with some bytes changed, gone, or more."""
    text = bytearray(json.dumps(document).encode())
    for _ in range(chance.choice([1, 1, 3, 20])):
        at = chance.randrange(len(text))
        how = chance.randrange(4)
        if how == 0:
            text[at] = chance.randrange(256)
        elif how == 1:
            del text[at : at + chance.choice([1, 1, 10, 1000])]
        elif how == 2:
            text[at:at] = chance.choice([b"0", b"-", b"e9", b"}", b"[", b",", b'"', b"\\u0000", b"null", b"NaN"])
        else:
            text[at] ^= 1 << chance.randrange(8)
    return bytes(text)


def read_and_drawn(path, whole):
    """Return what the commands and `draw` do with the record in a file."""
    record = record_of(str(path), None, False)
    compare(whole, record), compare(record, whole)
    passes, _ = passes_of(record)
    if not passes:
        return pytest.raises(MissingPass, Drawing, record, passes)
    drawing = Drawing(record, passes)
    walk(drawing.graph, drawing.cards, passes)
    picture = viz.draw(record, passes=passes)
    for made in (picture.text, picture.dot, picture.svg, picture.html, picture.mermaid, picture.film, picture.json):
        made().encode()


def check(number, path, documents):
    """Damage a document, and see that it is drawn, or refused in one line."""
    chance = random.Random(number)
    whole = chance.choice(documents)
    if chance.random() < 0.3:
        path.write_bytes(flipped(whole, chance))
    else:
        path.write_text(json.dumps(damaged(whole, chance)), encoding="utf-8")
    try:
        read_and_drawn(path, whole)
    except Usage as said:
        line = str(said)
        assert line.startswith(str(path)) and line.isprintable() and len(line) < 400 + len(str(path)), line
        return False
    return True


def test_damaged_records_are_drawn_or_refused_in_one_line(tmp_path):
    documents = records()
    drawn = [check(number, tmp_path / "r.json", documents) for number in range(QUICK)]
    assert QUICK // 20 < sum(drawn) < QUICK  # some damage does not matter


def without_key(part, way):
    """Return a copy of a document without the last key of a way, in each element of the lists on it."""
    if isinstance(part, list):
        return [without_key(one, way) for one in part]
    if not isinstance(part, dict) or way[0] not in part:
        return part
    if len(way) == 1:
        return {key: value for key, value in part.items() if key != way[0]}
    return {**part, way[0]: without_key(part[way[0]], way[1:])}


@pytest.mark.slow
def test_records_without_a_key_are_drawn_or_refused(tmp_path):
    path = tmp_path / "r.json"
    for document in records():
        ways = {tuple(key for key in way if isinstance(key, str)) for way in places(document)}
        for way in sorted(ways - {()}):
            path.write_text(json.dumps(without_key(document, way)), encoding="utf-8")
            try:
                read_and_drawn(path, document)
            except Usage as said:
                assert str(said).startswith(f"{path} is not a record"), way


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_damaged_records(tmp_path, part):
    documents = records()
    for number in range(QUICK + part, MANY, 4):
        check(number, tmp_path / "r.json", documents)


def set_at(*way, to):
    """Return a change of the record of two_uses."""

    def change(document):
        *outer, last = way
        for step in outer:
            document = document[step]
        document[last] = to

    return change


def again(document):
    document["values"].append(dict(document["values"][2]))


WRONG = {
    "ops[3].inputs[0]: 99 is not a value": set_at("ops", 3, "inputs", 0, to=99),
    "ops[3].inputs[0].const: the field is missing": set_at("ops", 3, "inputs", 0, to={}),
    "ops[0].outputs: null is not a list": set_at("ops", 0, "outputs", to=None),
    "ops[0].saved[0].bytes: -1 is not a whole number from 0 to 2**63 - 1": set_at("ops", 0, "saved", 0, "bytes", to=-1),
    "ops[1].edges[1].upstream: 'g' is not a value": set_at("ops", 1, "edges", 1, "upstream", to="g"),
    "ops[1].tangents: 'x' is not a value": set_at("ops", 1, "tangents", "x", to=1),
    "ops[1].of: 77 is not an operation": set_at("ops", 1, "of", to=77),
    "ops[1].of: 1 leads back to itself": set_at("ops", 1, "of", to=1),
    "ops[1].outputs[0]: 3 is already an output of ops[0]": set_at("ops", 1, "outputs", 0, to=3),
    "ops[1].inputs[0]: 4 is an output of the same operation": set_at("ops", 1, "inputs", 0, to=4),
    "ops[0].inputs: an input is a result of ops[1], which depends on": set_at("ops", 0, "inputs", 0, to=4),
    "ops[2].phase: 'sideways' is not one of forward, backward, jvp, update": set_at("ops", 2, "phase", to="sideways"),
    "values[21].id: 2 is the id of another entry": again,
    "values[0].shape[0]: 'a' is not a whole number": set_at("values", 0, "shape", to=["a"]),
    "values[0].kind: an object is not one of input": set_at("values", 0, "kind", to={}),
    "values[0].kind: 'x' is not one of input": set_at("values", 0, "kind", to="x"),
    "values[0].summary.values[1]: 'one' is not a number": set_at("values", 0, "summary", "values", to=[1, "one"]),
    "values[0].bytes: a huge number is not": set_at("values", 0, "bytes", to=10**400),
    "outputs[0]: true is not a value": set_at("outputs", 0, to=True),
    "gradients.0: null is not a value": set_at("gradients", "0", to=None),
    "program.passes: 'forward' is not a list": set_at("program", "passes", to="forward"),
    "schema: 'minigrad.record/2' is not 'minigrad.record/1', the supported schema": set_at(
        "schema", to="minigrad.record/2"
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_damaged_record_is_refused_with_the_way_to_what_is_wrong(what, tmp_path):
    document = two_uses()
    WRONG[what](document)
    with pytest.raises(ValueError, match="is not a record") as said:
        viz.draw(document)
    assert what in str(said.value)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    with pytest.raises(Usage) as told:
        record_of(str(path), None, False)
    assert f"{path} is not a record: {what}" in str(told.value) and "minigrad render" in str(told.value)


def test_diff_of_a_damaged_record_ends_with_2(net):
    document = two_uses()
    WRONG["ops[3].inputs[0]: 99 is not a value"](document)
    (net / "r.json").write_text(json.dumps(document))
    done = command(net, "diff", "r.json", "net.py:loss")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.decode().startswith("minigrad: r.json is not a record: ops[3].inputs[0]: 99 is not a value.")


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b"1" * 5000, b'{"schema": 3}'])
def test_a_file_that_is_no_record_is_named(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_bytes(text)
    with pytest.raises(Usage, match=r"r\.json is not (JSON|a record)"):
        record_of(str(path), None, False)


def test_the_names_that_json_has_no_letters_for_are_kept(tmp_path):
    """A file name that is no UTF-8 is a string with lone surrogates in Python, and stays one in JSON."""
    document = two_uses()
    document["program"]["file"] = "/home/ada/\udcff.py"
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    assert "\ufffd.py" in viz.draw(record_of(str(path), None, False)).text()
