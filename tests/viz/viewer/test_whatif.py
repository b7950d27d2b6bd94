"""The experiment "What if": after each choice every place of a page shows the same numbers, and says which are impossible."""

import re

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from minigrad.autograd import Function
from tests.functions import custom

from . import programs

pytestmark = pytest.mark.browser


class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        mean = x.mean(-1, keepdim=True)
        rstd = 1 / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        xhat = (x - mean) * rstd
        ctx.save_for_backward(xhat, w, rstd)
        return xhat * w + b

    @staticmethod
    def backward(ctx, g):
        xhat, w, rstd = ctx.saved_tensors
        gw = g * w
        dx = (gw - gw.mean(-1, keepdim=True) - xhat * (gw * xhat).mean(-1, keepdim=True)) * rstd
        return dx, (g * xhat).sum(0), g.sum(0)


class NumpySort(Function):
    @staticmethod
    def forward(x, dim):
        order = np.argsort(x.numpy(), axis=dim)
        back = np.argsort(order, axis=dim)
        return tensor(np.take_along_axis(x.numpy(), order, dim)), tensor(order), tensor(back)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        _, back = ctx.saved_tensors
        return grad_output.gather(ctx.dim, back), None


class SinCos(Function):
    @staticmethod
    def forward(ctx, x):
        s, c = x.sin(), x.cos()
        ctx.save_for_backward(s, c)
        return s, c

    @staticmethod
    def backward(ctx, grad_s, grad_c):
        s, c = ctx.saved_tensors
        return grad_s * c - grad_c * s


# its gradient is the tensor that comes in: the same one for input and output
Straight = custom("Straight", forward=lambda ctx, x: x.round(), backward=lambda ctx, grad_output: grad_output)


def of_itself(x):
    (dx,) = minigrad.autograd.grad(programs.Cube.apply(x).sum(), x, create_graph=True)
    return (dx**2 + x).sum()


def built_in(w, x):
    h = minigrad.tanh(w * x)
    return (minigrad.softmax(h, 0) * h).sum()


def leaf(*numbers):
    return tensor(list(numbers), requires_grad=True)


PROGRAMS = {
    "cube": (lambda x: programs.MyCube.apply(x)[0].sum(), lambda: [leaf(1.0, 2.0, 3.0)]),
    "norm": (
        lambda x, w, b: (LayerNorm.apply(x, w, b) ** 2 * minigrad.arange(3.0)).sum(),
        lambda: [tensor([[0.3, 1.2, -0.5], [2.0, -1.0, 0.1]], requires_grad=True), leaf(1.0, 2.0, 0.5), leaf(0.1, 0.0, 0.2)],
    ),
    "sort": (lambda x: (NumpySort.apply(x, -1)[0] * tensor([1.0, 10.0, 100.0])).sum(), lambda: [leaf(3.0, 1.0, 2.0)]),
    "two outputs": (lambda x: (lambda s, c: (s * c).sum())(*SinCos.apply(x)), lambda: [leaf(0.5, 1.0)]),
    "straight": (lambda x: (lambda h: ((Straight.apply(h) + h) ** 2).sum())(x * 1.5), lambda: [leaf(0.7, 1.6)]),
    "twice": (of_itself, lambda: [leaf(2.0, 0.5)]),
    "built-in": (built_in, lambda: [leaf(0.5, -1.0), leaf(2.0, 0.3)]),
}  # fmt: skip

# What every place of the page says, at the step that is shown.
SAID = """
const $ = (id) => document.getElementById(id);
const text = (one) => one?.textContent.replaceAll("\\u2212", "-") ?? null;
const record = JSON.parse($("record").textContent);
const nameOf = (i) => record.values[i].name ?? `v${record.values[i].id ?? i}`;
const frames = (n) => new Promise((done) => (n ? requestAnimationFrame(() => frames(n - 1).then(done)) : done()));
const menus = () =>
  [...document.querySelectorAll("#try select")].flatMap((menu) => [...menu.options].slice(1).map(({ value }) => [menu, value]));
const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const everything = () => ["sentence", "cards", "labels", "details"].map((id) => text($(id)));
function whatIsSaid() {
  const terms = [...document.querySelectorAll("#caption .term")];
  const word = (one) => one.querySelector("i").textContent;
  const at = terms.findIndex((one) => word(one) === "contribution");
  if (at < 0) return null;
  const name = text(terms[at].querySelector("small")).replace("to the gradient of ", "");
  const row = [...document.querySelectorAll("#cards [data-gradient]")].find((one) => nameOf(one.dataset.gradient) === name);
  const meets = terms.slice(at + 1).find((one) => word(one) === `grad ${name}`);
  return {
    name,
    rule: text(terms[at - 1].querySelector("b")),
    gives: text(terms[at].querySelector("b")),
    meets: text(meets?.querySelector("b")),
    label: [...document.querySelectorAll("#labels .flow.now")].map((one) => [...one.querySelectorAll("text")].map(text)),
    row: text(row?.querySelector("text tspan:last-of-type")),
    spoiled: row?.classList.contains("differs") || row?.classList.contains("impossible"),
    room: [...document.querySelectorAll("#cards .card.now .room.shown")]
      .filter((one) => text(one.querySelector(".name")).startsWith(`▾ ${word(terms[at - 1]).split(" ").at(-1)}.`))
      .flatMap((one) => [...one.querySelectorAll(".inner:is(.i-op, .i-function) text:last-child")].map(text)),
    details: text(document.querySelector("#details")),
    asked: minigrad.labels().includes(name),
    grad: minigrad.labels().includes(name) ? minigrad.get(name).grad : null,
  };
}
async function steps() {
  $("passes").querySelector("[data-pass=backward]").click();
  const found = [];
  while (document.body.dataset.pass === "backward" && !$("forth").disabled) {
    $("forth").click();
    await frames(1);
    if (document.body.dataset.pass === "backward") found.push(whatIsSaid());
  }
  return found.filter(Boolean);
}
"""

EACH_CHOICE = f"""async () => {{
{SAID}
document.querySelector("#tries [data-name=whatif]").click();
key("End");
const [before, found] = [everything(), [["", [], await steps(), []]]];
for (let i = 0; i < menus().length; i++) {{
  const [menu, value] = menus()[i];
  menu.value = value;
  menu.dispatchEvent(new Event("change"));
  await frames(2);
  found.push([value, minigrad.frozen().map(({{ reason }}) => reason), await steps()]);
  minigrad.reset();
  await frames(2);
  key("End");
  found.at(-1).push(everything().map((one, k) => [before[k], one]).filter(([a, b]) => a !== b));
}}
return found;
}}"""


def numbers(words):
    """Return the numbers that a text ends with, after its last sign of equality."""
    return [
        float(one) for one in re.findall(r"-?\d[\d.]*(?:e-?\d+)?|nan|inf", words.rpartition("= ")[2].split("(sum")[0])
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_place_shows_the_same_gradient_after_each_choice_and_the_recorded_one_after_reset(viewer, name):
    program, arguments = PROGRAMS[name]
    page = viewer(programs.recorded(program, *arguments(), passes=("forward", "backward")))
    found = page.page.evaluate(EACH_CHOICE)
    assert len(found) > 2
    recorded = {(one["name"], one["rule"]): one["gives"] for one in found[0][2]}
    for choice, reasons, steps, left in found:
        assert left == []  # nothing after the reset
        assert steps
        changes = False
        for one in steps:
            where = f"{choice}: {one}"
            impossible = "impossible" in one["gives"]
            changes |= one["gives"] != recorded.get((one["name"], one["rule"]))
            for label in one["label"]:
                assert label[-1] == f"= {one['gives']}", where
                assert len(one["rule"]) > 60 or "".join(label[:-1]).replace(" ", "") == one["rule"].replace(" ", ""), (
                    where
                )
            if one["room"]:  # the last operation of an open Function gives what leaves it
                assert any(shown.endswith(f"= {one['gives']}") for shown in one["room"]), where
            if one["row"] and "arrived" not in one["row"] and "…" not in one["row"]:
                shown = one["row"] if "impossible" in one["row"] else one["row"].removeprefix("✗ ")
                assert shown == (one["meets"] or one["gives"]), where
                if one["grad"] is not None:
                    assert numbers(shown) == pytest.approx(np.ravel(one["grad"]).tolist(), rel=2e-3, abs=1e-6), where
                elif one["asked"]:
                    assert shown == "✗ impossible", where
                assert bool(one["spoiled"]) == ("✗" in one["row"]), where
            if impossible:
                assert any("is forgotten" in reason for reason in reasons), where
        if re.fullmatch(r"\d+:\d+", choice):
            assert changes == any("is forgotten" in reason for reason in reasons), choice


WRITTEN = """async () => {
  const written = [];
  const away = ({ attributeName }) => attributeName === "style"; // what is outside of the window leaves the drawing
  const note = (all) => written.push(...all.filter((one) => !away(one)).map(({ target }) => target));
  const everything = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(note).observe(document.getElementById("world"), everything);
  minigrad.set("b", 2);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const cards = written.map((one) => (one.closest ? one : one.parentElement)?.closest(".card")?.id);
  return { cards: [...new Set(cards.filter(Boolean))], nodes: written.length };
}"""


def test_a_change_writes_only_the_cards_whose_numbers_follow(viewer):
    def program(a, b):
        for _ in range(40):
            a = (a * 1.1).sin()
        return (a + b) * 3

    page = viewer(programs.recorded(program, tensor(0.5), tensor(0.7), passes=("forward", "backward"))).press("b")
    page.menu().page.select_option("#fold", "none")
    page.page.uncheck("#short")
    page.page.evaluate("minigrad.set('b', 1)")  # from here on nothing is as recorded
    page.page.wait_for_timeout(500)
    written = page.page.evaluate(WRITTEN)
    drawn = page.page.locator("#cards .card").count()
    assert drawn > 80
    shown = page.page.evaluate("ids => ids.map((id) => document.getElementById(id).textContent)", written["cards"])
    assert len(shown) == 2, shown  # a + b, with b on its card, and (a + b) * 3
    assert written["nodes"] < 40
