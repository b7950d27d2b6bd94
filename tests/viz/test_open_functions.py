"""Custom Functions from the inside: frames with the operations of each pass's method, in every format."""

import re
from xml.etree import ElementTree

import pytest

import minigrad as torch
import viz
from minigrad.autograd import Function
from tests.functions import custom
from viz.cards.frames import OpenCard
from viz.graph.functions import UnknownFunction


class Cube(Function):
    @staticmethod
    def forward(x):
        slope = 3 * x**2
        return x**3, slope

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, into_cube, into_slope):
        x, slope = ctx.saved_tensors
        return into_cube * slope + into_slope * 6 * x


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result

    @staticmethod
    def jvp(ctx, moved):
        (result,) = ctx.saved_tensors
        return moved * result


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        y = Exp.apply(x)
        z = Exp.apply(y)
        ctx.save_for_backward(y, z)
        return z

    @staticmethod
    def backward(ctx, g):
        y, z = ctx.saved_tensors
        return g * y * z


class AddOne(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Long(Function):
    @staticmethod
    def forward(ctx, x):
        for _ in range(9):
            x = x * 1.5
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 1.5**9


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def cube(x):
    return Cube.apply(x)[0].sum()


def exp(x):
    return Exp.apply(x * 2).sum()


def drawn(f, passes=("forward", "backward"), **options):
    return viz.draw(f, leaf(), passes=passes, **options)


def frame(drawing):
    return next(card for card in drawing.placed[1].values() if isinstance(card, OpenCard))


def inside(drawing, name):
    room = frame(drawing).seen_in(name)
    return [card.node.record["call"] for card in room.cards.values() if card.node.is_op], room


def labels(room, kind):
    return [card.node.label for card in room.cards.values() if card.node.kind == kind]


# ---------------------------------------------------------------------- what is inside
def test_each_pass_shows_the_operations_of_its_method():
    drawing = drawn(exp, "all")
    assert inside(drawing, "forward")[0] == ["x.exp()"]
    assert [node.record["name"] for node in inside(drawing, "backward")[1].frame.graph.nodes if node.is_op] == ["mul"]
    assert "moved * result" in drawing.text()
    titles = [frame(drawing).seen_in(name).frame.title for name in ("forward", "backward", "jvp")]
    assert titles == ["Exp.forward", "Exp.backward", "Exp.jvp"]


def test_saved_tensors_stand_where_they_are_made_and_where_they_are_read():
    drawing = drawn(cube)
    assert [label.split(" (")[0] for label in labels(inside(drawing, "forward")[1], "saved")] == [
        "saves x",
        "saves slope",
    ]
    assert labels(inside(drawing, "backward")[1], "saved") == ["saved slope = [3, 12]", "saved x = [1, 2]"]


def test_gradients_enter_at_the_outputs_and_leave_at_the_inputs():
    _, room = inside(drawn(cube), "backward")
    ports = {card.node.key: card.node.label for card in room.cards.values() if card.node.kind == "port"}
    assert ports[room.frame.exits[0]] == "into_cube = [1, 1]"
    assert ports[room.frame.entries[0]] == "grad of x"
    assert "into_slope = [0, 0]" in ports.values()  # zeros, for an output that nothing reads


def test_a_frame_says_that_backward_starts_there_and_what_it_frees():
    notes = lambda f, **options: inside(drawn(f, **options), "backward")[1].frame.notes
    assert notes(Exp.apply) == ["backward starts here", "frees 8 B"]
    assert notes(exp) == ["frees 8 B"]
    assert notes(exp, show="values") == []
    assert inside(drawn(Exp.apply), "forward")[1].frame.notes == []
    assert "custom Function · backward starts here · frees 8 B" in drawn(Exp.apply, "backward").svg()


def test_no_value_in_a_frame_has_the_name_of_another():
    Square = custom(
        "Square",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * x * 1.5,
        backward=lambda ctx, g: 3 * g * ctx.saved_tensors[0],
    )
    graph = inside(drawn(lambda x: Square.apply(x).sum()), "forward")[1].frame.graph
    made = [graph.name(value) for node in graph.nodes if node.is_op for value in node.outputs]
    assert len(made) == len(set(made)) == 2


def test_values_of_one_variable_are_counted_in_a_frame():
    class Steps(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            y = y + 1
            y = y.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y * 2

    graph = inside(drawn(lambda x: Steps.apply(x).sum()), "forward")[1].frame.graph
    assert [graph.name(v) for node in graph.nodes if node.is_op for v in node.outputs] == ["y", "y₂", "y₃"]
    assert [graph.words(node.record["call"]) for node in graph.nodes if node.is_op] == ["x * 2", "y + 1", "y₂.exp()"]


def test_a_parameter_called_g_keeps_its_name_in_its_method():
    svg = ElementTree.fromstring(drawn(exp, "backward").svg())
    texts = ["".join(element.itertext()) for element in svg.iter() if element.tag.endswith("}text")]
    assert "g * result" in texts
    assert "g = [1, 1]" in texts


def test_a_function_inside_a_function_is_a_frame_in_a_frame():
    room = frame(drawn(Twice.apply)).seen_in("forward")
    inner = [card for card in room.cards.values() if isinstance(card, OpenCard)]
    assert [card.seen_in("forward").frame.title for card in inner] == ["Exp.forward", "Exp.forward"]


def test_a_tensor_written_in_place_enters_and_leaves_the_frame():
    def written(x):
        y = x * 2
        AddOne.apply(y)
        return y.sum()

    _, room = inside(drawn(written), "forward")
    assert set(room.frame.entries) == set(room.frame.exits) == {0}
    edges = [(edge.source.kind, edge.target.kind) for edge in room.frame.graph.edges]
    assert edges == [("port", "op"), ("op", "port")]


# ---------------------------------------------------------------------- which are open
def test_a_function_with_many_operations_is_closed_and_says_what_it_does():
    drawing = drawn(lambda x: Long.apply(x).sum())
    assert not any(isinstance(card, OpenCard) for card in drawing.cards.values())
    assert "9 operations: x = x * 1.5 …" in drawing.text()


def test_a_closed_function_says_it_in_one_line_of_a_slide():
    drawing = drawn(lambda x: Long.apply(x).sum(), "backward", size="slide")
    lines = [line.text for line in next(c for c in drawing.cards.values() if c.node.kind == "function").head[0].lines]
    assert sum("operations" in line or "…" in line for line in lines) == 1


def test_saved_tensors_do_not_look_like_gradients():
    svg = ElementTree.fromstring(drawn(cube, "backward").svg())
    classes = {
        path.get("class")
        for group in svg.iter()
        if re.fullmatch(r"op-0-backward-edge-.*", group.get("id") or "")
        for path in group.iter()
        if (path.get("class") or "").startswith("l-edge")
    }
    assert classes == {"l-edge-saved", "l-edge-backward"}


def test_in_backward_only_what_depends_on_the_incoming_gradient_is_red():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x * x * 3)

    svg = ElementTree.fromstring(viz.draw(lambda x: Scaled.apply(x).sum(), leaf(), passes="backward").svg())
    looks = {
        group.get("id"): next(
            path.get("class") for path in group.iter() if path.get("class") and "l-edge" in path.get("class")
        )
        for group in svg.iter()
        if re.fullmatch(r"op-0-backward-edge-.*", group.get("id") or "")
    }
    assert sorted(looks.values()) == ["l-edge", "l-edge", "l-edge-backward", "l-edge-backward", *["l-edge-saved"] * 2]


def test_names_open_functions_and_none_closes_all():
    both = lambda x: Long.apply(Exp.apply(x)).sum()
    opened = lambda **options: [
        node.record["function"]
        for node in drawn(both, **options).graph.nodes
        if node.kind == "function" and node.frames
    ]
    assert opened() == ["Exp"]
    assert opened(open="Long") == ["Long"]
    assert opened(open=("Long", "Exp")) == opened(open="all") == ["Exp", "Long"]
    assert opened(open="none") == []


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(UnknownFunction, match="'Cubic', which is no custom Function here. The picture has Exp."):
        drawn(exp, open="Cubic")


def test_a_program_without_functions_has_none_to_open():
    with pytest.raises(UnknownFunction, match="'Exp', which is no custom Function here. The picture has none."):
        drawn(lambda x: x.exp().sum(), open="Exp")


def open_functions(f, **options):
    return [
        node.record["function"] for node in drawn(f, **options).graph.nodes if node.kind == "function" and node.frames
    ]


def test_a_small_function_opens_at_the_end_of_a_folded_chain():
    def chain(x):
        for _ in range(50):
            x = x.sin()
        return Exp.apply(x)

    assert open_functions(chain) == ["Exp"]


Four = custom("Four", forward=lambda ctx, x: x * 2 * 3 * 4 * 5, backward=lambda ctx, g: g * 2 * 3 * 4 * 5)


@pytest.mark.parametrize("many, opens", [(4, 4), (30, 0)])
def test_functions_open_if_the_picture_stays_small_with_their_insides(many, opens):
    def sums(x):
        return sum([Four.apply(x * n) for n in range(many)])

    assert len(open_functions(sums, max_nodes=None)) == opens


# ---------------------------------------------------------------------- where things are
@pytest.mark.parametrize("rankdir", ["TB", "BT", "LR", "RL"])
@pytest.mark.parametrize("small", [600, 0])  # with Graphviz, and with the layout of our own
def test_cards_in_frames_overlap_neither_each_other_nor_the_title(rankdir, small, monkeypatch):
    monkeypatch.setattr("viz.layout.positions.SMALL", small)
    drawing = drawn(cube, rankdir=rankdir)
    card = frame(drawing)
    for name in ("forward", "backward"):
        room, (dx, dy) = card.seen_in(name), card.corner(name)
        boxes = [
            (x + dx, y + dy, room.cards[key].width, room.cards[key].height)
            for key, (x, y) in room.placed.corners.items()
        ]
        for i, (x, y, wide, tall) in enumerate(boxes):
            assert x >= 0 and x + wide <= card.width and y >= card.parts[0] and y + tall <= card.height
            for a, b, width, height in boxes[:i]:
                assert x >= a + width or a >= x + wide or y >= b + height or b >= y + tall


def test_lines_lead_from_the_edges_to_the_ports():
    drawing = drawn(cube)
    graph, cards, placed = drawing.placed
    card = frame(drawing)
    corner = placed.corners[card.node.key]
    (edge,) = card.node.inputs
    for name in ("forward", "backward"):
        points, enters, _ = next(lead for lead in card.leads(name) if lead[2])
        end = placed.routes[edge.key][-1]
        assert corner[0] + points[0][0] == pytest.approx(end[0], abs=1)
        assert enters == (name == "forward")


@pytest.mark.parametrize("rankdir", ["TB", "BT", "LR", "RL"])
def test_no_line_crosses_the_title(rankdir):
    both = lambda x: sum(Cube.apply(x))
    card = frame(drawn(both, rankdir=rankdir))
    wide = max(line.width for block in card.head for line in block.lines)
    for name in ("forward", "backward"):
        for points, _, _ in card.leads(name):
            assert not any(x < wide and y < card.parts[0] for x, y in points)


def test_outer_cards_stay_where_they_are_from_pass_to_pass():
    svg = ElementTree.fromstring(drawn(cube).svg())
    ids = [element.get("id") for element in svg.iter() if element.get("id")]
    assert {"forward-op-0", "backward-op-0", "forward-op-0-forward-op-1", "backward-op-0-backward-op-1"} <= set(ids)
    assert len(ids) == len(set(ids))
    first, second = (next(svg.iterfind(f".//*[@id='{name}-op-1']"))[0].get("d") for name in ("forward", "backward"))
    assert first == second


def test_a_frame_fits_the_room_of_its_pass():
    made = drawn(cube)
    card = next(card for card in made.cards.values() if isinstance(card, OpenCard))
    sizes = {}
    for name in ("forward", "backward"):
        x, y, wide, tall = card.border(name)
        assert x >= 0 and y >= 0 and x + wide <= card.width and y + tall <= card.height
        (left, top), room = card.corner(name), card.seen_in(name).placed
        assert x <= left and y < top and left + room.width <= x + wide and top + room.height <= y + tall
        sizes[name] = wide * tall
    assert sizes["forward"] < 0.6 * sizes["backward"] <= 0.6 * card.width * card.height


# ---------------------------------------------------------------------- in every format
def test_dot_has_a_cluster_whose_ports_are_the_ends_of_edges():
    text = drawn(cube, "backward").dot()
    assert "subgraph cluster_op_0 {" in text and 'label="Cube.backward · frees 16 B"' in text
    assert re.search(r'"value-0" -> "op-0-backward-port-\d+" \[.*dir=back', text)
    assert '"op-0-backward-value-0" -> "op-1"' in text


def test_mermaid_has_a_subgraph_and_arrows_along_the_gradients():
    text = drawn(cube, "backward").mermaid()
    assert 'subgraph op_0["Cube.backward · frees 16 B"]' in text
    assert re.search(r"op_0_backward_port_\d+ -->\|.*\| value_0", text)


def test_text_has_the_methods_below_each_other():
    lines = [line.strip("│ ") for line in drawn(cube).text().splitlines()]
    assert lines.index("▣  Cube(x)") < lines.index("┌ Cube.forward") < lines.index("┌ Cube.backward")
    assert "○  into_cube = [1, 1]" in lines


def test_latex_png_and_pdf_show_the_inside():
    drawing = drawn(cube, "backward")
    assert "Cube.backward" in drawing.tex() and "grad of x" in drawing.tex()
    assert drawing.png().startswith(b"\x89PNG") and drawing.pdf().startswith(b"%PDF")


def test_a_film_shows_each_method_in_its_time():
    root = ElementTree.fromstring(drawn(exp, "all").film())
    rooms = [element for element in root.iter() if (element.get("class") or "").startswith("room ")]
    assert [room.get("class").split()[1] for room in rooms] == ["forward", "backward", "jvp"]
    times = [dict(part.split(":") for part in room.get("style").split(";")) for room in rooms]
    assert [time.get("--until") for time in times] == [times[1]["--at"], times[2]["--at"], None]


def test_a_slide_closes_functions_that_would_make_its_type_too_small():
    small, large = drawn(exp, size="slide"), drawn(lambda x: cube(Exp.apply(x) + x) * cube(x), size="slide")
    assert any(isinstance(card, OpenCard) for card in small.placed[1].values())
    assert large.svg() and not any(isinstance(card, OpenCard) for card in large.placed[1].values())
