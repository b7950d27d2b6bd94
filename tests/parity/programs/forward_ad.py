"""Forward mode: dual levels, make and unpack, tangents through operations, views and writes."""

from tests.parity.harness import attempt, gives
from tests.parity.makers import dual_of, parts_of


@gives([None, None, None, None, None])
def tangent_of_result_without_dual_inputs_is_none(torch):
    with torch.autograd.forward_ad.dual_level():
        x = dual_of(torch, [1.0], [2.0])
        results = [torch.ones(1) * 2, x.detach(), x > 0, x.argmax(), x.long()]
        return [parts_of(torch, r)[1] for r in results]


@gives([[0.0], [0.0], [0.0], [0.0]])
def zero_derivative_gives_zero_tangent(torch):
    with torch.autograd.forward_ad.dual_level():
        x = dual_of(torch, [1.5], [2.0])
        return [parts_of(torch, r)[1] for r in (x * 0, x.floor(), x.sign(), x.round())]


@gives([[[1.0, 1.0], [2.0, 1.0]], [[3.0, 0.0], [4.0, 0.0]]])
def dual_written_through_a_view_of_a_plain_tensor(torch):
    with torch.autograd.forward_ad.dual_level():
        x = dual_of(torch, [1.0, 2.0], [3.0, 4.0])
        buffer = torch.ones(2, 2)
        buffer.t()[0].copy_(x)
        return parts_of(torch, buffer)


@gives([[9.0, 0.0, 3.0], [0.0, 0.0, 6.0]])
def plain_value_overwrites_the_tangent(torch):
    with torch.autograd.forward_ad.dual_level():
        y = dual_of(torch, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) * 1
        y[0] = 9.0
        y[1:2].zero_()
        return parts_of(torch, y)


@gives([None, [3.0], None])
def tangents_end_with_the_level(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = dual_of(torch, [1.0], [2.0])
        y = x * 3
    with fw.dual_level():
        after = fw.unpack_dual(y).tangent
    return after, y, attempt(fw.unpack_dual, y).tangent


@gives([RuntimeError, RuntimeError])
def nothing_works_outside_a_level(torch):
    fw = torch.autograd.forward_ad
    return attempt(fw.make_dual, torch.ones(1), torch.ones(1)), attempt(fw.exit_dual_level)


@gives([RuntimeError, [[2.0], [4.0]]])
def levels_do_not_nest(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        error = attempt(fw.dual_level().__enter__)
        x = dual_of(torch, [1.0], [2.0])
        return error, parts_of(torch, x * 2)


@gives([[2.0], None])
def enter_and_exit_by_hand(torch):
    fw = torch.autograd.forward_ad
    fw.enter_dual_level()
    x = dual_of(torch, [1.0], [2.0])
    inside = fw.unpack_dual(x).tangent
    fw.exit_dual_level()
    return inside, fw.unpack_dual(x).tangent


@gives([KeyError, [[1.0], [2.0]]])
def level_ends_when_an_exception_passes(torch):
    fw = torch.autograd.forward_ad

    def fail():
        with fw.dual_level():
            raise KeyError("out")

    error = attempt(fail)
    with fw.dual_level():
        return error, parts_of(torch, dual_of(torch, [1.0], [2.0]))


@gives(RuntimeError)
def dual_of_a_dual_raises_or_replaces(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = dual_of(torch, [1.0], [2.0])
        return attempt(lambda: fw.unpack_dual(fw.make_dual(x, torch.tensor([5.0]))).tangent)


@gives([RuntimeError, RuntimeError, ValueError])
def tangent_of_wrong_shape_or_dtype_raises(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = torch.ones(2)
        wrong = [torch.ones(3), torch.ones(1), torch.ones(2, dtype=torch.int64)]
        return [attempt(fw.make_dual, x, tangent) for tangent in wrong]


@gives([ValueError, ValueError])
def dual_of_integers_raises(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        i = torch.ones(2, dtype=torch.int64)
        return attempt(fw.make_dual, i, torch.ones(2)), attempt(fw.make_dual, i, i)


@gives([[2.0, 2.0], None])
def make_dual_is_a_view_of_the_primal(torch):
    fw = torch.autograd.forward_ad
    x = torch.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x, torch.zeros(2))
        x.add_(1)
        return fw.unpack_dual(dual).primal, fw.unpack_dual(x).tangent


@gives(None)
def inference_mode_drops_tangents(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = dual_of(torch, [2.0], [1.0])
        with torch.inference_mode():
            y = x * x
        return fw.unpack_dual(y).tangent


@gives([4.0, [4.0], [8.0], True])
def copy_and_item_of_duals(torch):
    with torch.autograd.forward_ad.dual_level():
        x = dual_of(torch, [4.0], [2.0])
        return x.item(), x.tolist(), (x * 2).detach(), repr(x).startswith("tensor(")


@gives(
    [[[[1.0, 5.0, 5.0]], [[0.0, 7.0, 7.0]]], [[[1.0], [5.0], [5.0]], [[0.0], [7.0], [7.0]]], [[[1.0, 1.0, 1.0]], None]]
)
def views_taken_before_a_dual_is_written_see_its_tangent(torch):
    with torch.autograd.forward_ad.dual_level():
        x = dual_of(torch, 5.0, 7.0)
        base = torch.ones(3)
        before, apart = base[None], base.clone()[None]
        base[1] = x
        middle = base.view(3, 1)
        base[2:].mul_(x)
        return parts_of(torch, before), parts_of(torch, middle), parts_of(torch, apart)


@gives([[[[2.0, 3.0], [1.0, 1.0]], [[1.0, 10.0], [0.0, 0.0]]], [[2.0, 3.0], [1.0, 10.0]], [[2.0, 1.0], [1.0, 0.0]]])
def base_sees_the_tangent_written_to_its_view(torch):
    with torch.autograd.forward_ad.dual_level():
        base = torch.ones(2, 2)
        row, column = base[0], base[:, 0]
        row.mul_(dual_of(torch, [2.0, 3.0], [1.0, 10.0]))
        return parts_of(torch, base), parts_of(torch, row), parts_of(torch, column)


def tangent_of_a_mean_of_nothing(torch):
    with torch.autograd.forward_ad.dual_level():
        x = dual_of(torch, [2.0, 3.0], [1.0, 10.0])
        return parts_of(torch, x[2:].mean()), parts_of(torch, x.mean())


@gives(
    [[0.0, 4.0, 8.0, 2.0, 6.0, 10.0], [3, 1], [[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]], [[0.0, 2.0], [3.0, 1.0], [0.0, 0.0]]]
)
def tangent_lies_in_memory_as_its_primal_does(torch):
    fw, t = torch.autograd.forward_ad, torch.arange(6.0).reshape(3, 2).t()
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2, 3), t)
        parts = [fw.unpack_dual(x.view(6)).tangent, list(fw.unpack_dual(x).tangent.stride())]
        x.view(6).mul_(2)
        y = torch.ones(3, 2).t().clone()  # a tangent that is made by a write to a part
        y.t().view(6)[1:4].copy_(fw.make_dual(torch.ones(3), torch.tensor([2.0, 3.0, 1.0])))
        return [*parts, fw.unpack_dual(x).tangent, fw.unpack_dual(y).tangent.t()]
