"""The exercises of lesson 50."""

from lessons import expect
from lessons.exercise import exercise


@exercise(
    "The generated rule runs all methods under vmap. Which of these methods cannot run there?",
    "NumPy cannot, and neither can item(), which needs one number. Operations and Functions that have a rule can.",
)
def may_generate(answer):
    """Tensor operations and Functions that have a rule can run under vmap."""
    mistakes = {
        "b": "its forward calls NumPy, which cannot be run under vmap",
        "c": "item() needs one number, but under vmap each example has its own",
    }
    if isinstance(answer, str) and len(answer.strip()) > 1:
        answer = [letter for letter in answer.lower() if letter in "abcde"]
    expect.choice(answer, ["a", "d", "e"], mistakes)
