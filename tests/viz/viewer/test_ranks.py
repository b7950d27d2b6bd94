"""Several processes in the viewer: lanes, bars across them, and steps that all ranks take together."""

import pytest

import minigrad
from tests.distributed.ranks import needs_mpi
from viz.ranks.merge import merged

from .. import rank_programs as programs
from ..rank_programs import record

pytestmark = pytest.mark.browser


def sides(page, *selectors):
    """Left and right ends of elements, all of them at one moment: the view may be gliding."""
    rectangles = "[...document.querySelectorAll(one)].map((element) => element.getBoundingClientRect())"
    code = f"(all) => all.map((one) => {rectangles}.map((box) => [box.left, box.right]))"
    return page.page.evaluate(code, list(selectors))


@needs_mpi
def test_ranks_step_together_and_meet_in_a_bar(viewer):
    page = viewer(record(programs.SPLIT, 2, "--lanes", "each"))
    assert page.page.locator(".lane-name").all_text_contents() == ["rank 0", "rank 1"]
    assert page.step().startswith("Forward 0 of 5")
    page.press("ArrowRight")
    assert page.page.locator(".card.now").count() == 2  # a product on each rank
    assert page.page.locator("#caption .whose").all_text_contents() == ["rank 0", "rank 1"]
    page.press("ArrowRight")  # the collective, one step of both
    ((left, right),), frames = sides(page, ".k-transfer .paper", ".lane")
    assert page.page.locator(".k-transfer.now").count() == 1
    assert left < frames[0][1] < frames[1][0] < right
    assert page.page.locator(".k-transfer .r-wait").count() == 2 and "waited" in page.text(".k-transfer .r-wait")
    assert page.page.locator("#over .edge").count() == 2
    page.press("b", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    assert page.page.locator("#caption .whose").all_text_contents()[:2] == ["rank 0", "rank 1"]


@needs_mpi
def test_a_gradient_goes_back_to_the_rank_that_has_sent(viewer):
    page = viewer(record(programs.PIPE, 2))
    page.press("End", "b")
    for _ in range(12):
        if page.page.locator(".k-transfer.now").count() == 2:
            break
        page.press("ArrowRight")
    assert page.page.locator(".k-transfer.now").count() == 2  # recv and send, with the edge between them


def test_one_lane_steps_as_one_process_does(viewer):
    one = minigrad.record(lambda x: x.sin().exp(), minigrad.tensor(1.0)).to_dict()
    page = viewer(merged([one, one]))
    assert page.text(".lane-name") == "ranks 0, 1 (values of rank 0)" and page.step().startswith("Forward 0 of 2")
    page.press("ArrowRight")
    assert page.page.locator("#caption .whose").count() == 0 and page.page.locator(".card.now").count() >= 1
