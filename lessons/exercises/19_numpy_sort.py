"""The exercises of lesson 19."""

import numpy as np

from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "To which position of the sorted list does each number go? Its gradient is the weight of that position.",
    "30 goes to position 2, with the weight 3.",
)
def sorting_gradient(answer):
    """Each number's gradient is the weight of the position that the number goes to."""
    mistakes = {
        (2.0, 4.0, 1.0, 3.0): "that reads the weights with ind; the way back is ind_inv: where does each number go?",
        (1.0, 2.0, 3.0, 4.0): "those are the weights in the order of the sorted numbers; x has another order",
        (2.0, 0.0, 3.0, 1.0): "those are the positions; give the weights at these positions",
    }
    expect.numbers(answer, [3.0, 1.0, 4.0, 2.0], mistakes)


@exercise(
    "You could sort the permutation itself. Without sorting: write k to position ind[k].",
    "inv = np.empty_like(ind), then inv[ind] = np.arange(len(ind)).",
)
def inverse_permutation(answer):
    """Position by position: inv[ind[k]] = k."""
    for ind in ([1, 2, 0], [0], [3, 1, 0, 2, 4], [1, 2, 3, 0], list(range(6))):
        permutation = np.array(ind)
        np.full(
            len(ind), -1
        )  # freed at once: memory that the answer leaves unwritten does not hold the result of a check before
        given = answer(permutation)
        if given is None:
            raise Wrong("it returns None: is there a return?")
        wanted = np.argsort(ind)
        if np.shape(given) == wanted.shape and not np.array_equal(given, wanted):
            if np.array_equal(given, ind):
                raise Wrong(f"for {ind} it returns the same permutation; its inverse is {wanted.tolist()}")
            if np.array_equal(given, ind[::-1]):
                raise Wrong(f"for {ind} it returns the permutation in reverse; the inverse is {wanted.tolist()}")
        expect.tensor(given, wanted.astype(float), f"the inverse of {ind}")


@exercise(
    "A result has a gradient for x if a path of the graph leads from it to x. NumPy cuts the path, a Function is one step of it.",
    "Look for an x that is not detached. And remember mark_non_differentiable.",
)
def keeps_graph(answer):
    """In c, the factor x is still in the graph, so x gets a gradient, but not the one of the sorted factor."""
    mistakes = {
        "a": "NumPy computed it from detached values, so it is a new leaf",
        "d": "it is the permutation, which NumpySort marks as not differentiable",
    }
    if isinstance(answer, str) and len(answer.strip()) > 1:
        answer = [letter for letter in answer.lower() if letter in "abcde"]
    expect.choice(answer, ["b", "c", "e"], mistakes)
