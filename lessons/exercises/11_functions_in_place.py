"""The exercises of lesson 11."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


def in_place(function):
    """Return a function that applies a Function to a copy of its argument, and checks that the copy is written and returned."""

    @expect.calling(function)
    def on_a_copy(x, *args):
        own = x * 1
        was = own._version
        result = function.apply(own, *args)
        if isinstance(result, (tuple, list)) and len(result) == 1:
            result = result[0]
        if result is not own:
            raise Wrong("apply does not return the tensor that it received: write to the argument, and return it")
        if own._version == was:
            raise Wrong("the argument was not written to: use an operation with an underscore, such as x.mul_(...)")
        return result

    return on_a_copy


def leaf(*numbers):
    return torch.tensor(numbers, requires_grad=True)


@exercise(
    "Which method of the ctx marks an input as modified?",
    "ctx.mark_dirty(x), and return the marked tensor.",
    "backward returns a gradient for x, which was multiplied by k, and None for the number.",
)
def InplaceScale(answer):
    """x is marked and returned, so the graph knows of the write; backward needs only k."""
    expect.computes(in_place(answer), lambda x, k: x * k, (leaf(1.0, 2.0), 3), (leaf(-1.0, 0.5), 0.5))


@exercise(
    "x.clamp_(min=0) or x.relu_() write in place.",
    "Mark x as dirty, save it, and return it: backward then finds the result.",
    "In backward, (result > 0) is a mask; grad_output * (result > 0) is the gradient.",
)
def InplaceRelu(answer):
    """Where the input was positive, so is the result: no other tensor has to be saved."""
    x = leaf(1.0, -2.0, 3.0, -0.5)
    expect.computes(in_place(answer), lambda x: x.relu(), (x,), (leaf(-1.0, 2.0),))
    expect.keeps(in_place(answer)(x), x.relu(), what="the result")


@exercise(
    "backward needs the old values. The write destroys them: save a copy first.",
    "old = x.clone() before the write; save_for_backward(old).",
    "A square does not reveal the sign of its input, so the result is not enough.",
)
def InplaceSquare(answer):
    """After the write, only the copy holds the old values."""
    three = leaf(3.0)
    (gradient,) = torch.autograd.grad(in_place(answer)(three), three, torch.ones(1))
    if gradient.tolist() == [18.0]:
        raise Wrong("the gradient at 3 is 18: backward saw the values after the write")
    expect.computes(in_place(answer), lambda x: x * x, (three,), (leaf(-2.0, 0.5, 1.0),))
