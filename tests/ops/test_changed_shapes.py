"""Every operation of the table on its samples, with the shape of one tensor changed: it computes, or tells the user why not."""

import warnings

import pytest

import minigrad
from minigrad.errors import InternalError
from minigrad.errors import MinigradError as Told
from minigrad.ops.base.registry import TABLE
from minigrad.testing.samples import Maker

CHANGES = {
    "without the first dimension": lambda shape: shape[1:],
    "without the last dimension": lambda shape: shape[:-1],
    "with one more dimension": lambda shape: (2, *shape),
    "longer at first": lambda shape: (shape[0] + 1, *shape[1:]) if shape else (2,),
    "longer at last": lambda shape: (*shape[:-1], shape[-1] + 1) if shape else (3,),
    "empty at first": lambda shape: (0, *shape[1:]),
    "empty at last": lambda shape: (*shape[:-1], 0),
}


class Changed(Maker):
    """A maker that changes the shape of tensor number `which`."""

    def __init__(self, entry, sample, which, change):
        super().__init__(minigrad, entry, sample)
        self.which, self.change, self.made = which, change, 0

    def shape(self, shape):
        self.made += 1
        return self.change(shape) if self.made == self.which + 1 else shape

    def T(self, *shape):
        return super().T(*self.shape(shape))

    def P(self, *shape):
        return super().P(*self.shape(shape))

    def I(self, *shape_and_high):  # noqa: E743
        *shape, high = shape_and_high
        return super().I(*self.shape(tuple(shape)), high)

    def B(self, *shape):
        return super().B(*self.shape(shape))


def arguments(maker, sample):
    names = {n: getattr(maker, n) for n in "TPISB"} | {"torch": minigrad}
    return eval(f"(lambda *args, **settings: (args, settings))({sample})", names)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_shape_that_does_not_fit_is_told_as_the_users_mistake(name):
    entry, told_wrongly = TABLE[name], []
    for sample in entry.samples:
        counting = Changed(entry, sample, -1, None)
        arguments(counting, sample)
        for which in range(counting.made):
            for said, change in CHANGES.items():
                try:
                    args, settings = arguments(Changed(entry, sample, which, change), sample)
                except Told:  # the sample itself reshapes its tensors
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        entry.function(*args, **settings)
                    except InternalError as e:
                        told_wrongly.append(f"{name}({sample}), tensor {which} {said}: {e}")
                    except Told:
                        pass
    assert told_wrongly == []
