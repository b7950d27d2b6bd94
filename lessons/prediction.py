"""Predictions: a question about a program, to answer before it runs, with choices that say whether they are right."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any


@dataclass(frozen=True)
class Choice:
    """A choice, the reason why it is right or wrong, and whether it is right."""

    text: str
    reason: str
    right: bool


@dataclass(frozen=True)
class Prediction:
    """A question with its choices.  A notebook opens the reason of each choice at a click; it needs no script.

    >>> print(predict("What is 2 + 2?", {"4": "Two and two.", "22": "That joins texts."}, 4))
    Predict: What is 2 + 2?
      a) 4
      b) 22
    Then read on: a) is right. Two and two.
    """

    question: str
    choices: tuple[Choice, ...]

    def __repr__(self) -> str:
        lines = [f"  {letter}) {one.text}" for letter, one in zip(ascii_lowercase, self.choices)]
        right, reason = next((a, one.reason) for a, one in zip(ascii_lowercase, self.choices) if one.right)
        return "\n".join([f"Predict: {self.question}", *lines, f"Then read on: {right}) is right. {reason}"])

    def _repr_html_(self) -> str:
        rows = []
        for letter, one in zip(ascii_lowercase, self.choices):
            colour, sign = ("#2e7d32", "✓ Right.") if one.right else ("#c62828", "✗ No.")
            reason = f"<div style='color:{colour};padding:.1em 1.6em'>{sign} {html.escape(one.reason)}</div>"
            rows.append(f"<details><summary>{letter}) <code>{html.escape(one.text)}</code></summary>{reason}</details>")
        head = f"<b>Predict:</b> {html.escape(self.question)} <i>Click your choice.</i>"
        return f"<div style='border-left:4px solid #1565c0;padding:.2em .8em'>{head}{''.join(rows)}</div>"


def predict(question: str, choices: dict[Any, str], answer: Any) -> Prediction:
    """Ask for a prediction: `choices` gives for each choice the reason why it is right or wrong.

    `answer` is what the program gives, or a function that runs it, so that the right choice cannot go stale.  Choices and
    the answer are compared as texts; a tensor's text is its list's text.  Raises ValueError unless one choice is the answer.

    >>> predict("What is 2 + 2?", {5: "Count again."}, lambda: 2 + 2)
    Traceback (most recent call last):
        ...
    ValueError: predict: the answer to 'What is 2 + 2?' is 4, which is not among the choices: 5
    """
    right = shown(answer() if isinstance(answer, Callable) else answer)
    made = tuple([Choice(shown(choice), reason, shown(choice) == right) for choice, reason in choices.items()])
    count, known = sum(one.right for one in made), ", ".join(one.text for one in made)
    if count != 1:
        found = f"which {count} of the choices are" if count else "which is not among the choices"
        raise ValueError(f"predict: the answer to {question!r} is {right}, {found}: {known}")
    return Prediction(question, made)


def shown(value: Any) -> str:
    """Return a choice as text.

    >>> import minigrad
    >>> shown(minigrad.ones(2)), shown("None"), shown(None)
    ('[1.0, 1.0]', 'None', 'None')
    """
    return str(value.tolist() if hasattr(value, "tolist") else value)
