"""A class that hands in notebooks: made of the lessons, with right and wrong answers, with gaps, and with cells deleted."""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from lessons import Lesson, lesson
from lessons.as_notebook import notebook
from lessons.catalogue import cells

from .solved import answers, solutions, solved

PREDICTION = 'import lessons\nlessons.predict("What is 2 + 2?", {4: "Two and two.", 22: "That joins texts."}, 4)'


@dataclass
class Submission:
    """A student's answers: each right, wrong, open or missing, and a word of the verdict on a wrong one."""

    student: str
    lesson: Lesson
    kinds: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def submissions(students: int, numbers: tuple[int, ...], seed: int = 0) -> list[Submission]:
    """Return submissions of these lessons by each of the students, at random but always the same."""
    chance, made = random.Random(seed), []
    for i in range(students):
        for one in map(lesson, numbers):
            made.append(Submission(f"student {i:02}", one))
            for name in one.exercises:
                kind = chance.choices(["right", "wrong", "open", "missing"], [5, 4, 1, 1])[0]
                if kind == "open" and "..." not in cell_of(one, name):  # a program to repair: unchanged it is wrong
                    kind = "missing"
                made[-1].kinds[name] = kind
                known = [(word, text) for k, which, word, text in answers(one) if (k, which) == ("wrong", name)]
                word, text = chance.choice(known)
                made[-1].texts[name] = text if kind == "wrong" else solutions(one)[name]
                if kind == "wrong":
                    made[-1].words[name] = word
    return made


def cell_of(one: Lesson, name: str) -> str:
    """Return the cell of a lesson with an exercise."""
    return next(text for _, text in cells(one.path) if f'lessons.check("{name}"' in text)


def hand_in(all_of_them: list[Submission], folder: Path) -> None:
    """Write the notebooks, each into a folder with the name of its student."""
    for one in all_of_them:
        document = json.loads(notebook(one.lesson))
        for cell in document["cells"]:
            source = "".join(cell["source"])
            for name, kind in one.kinds.items():
                if f'lessons.check("{name}"' in source and kind == "missing":
                    cell["source"] = ""
                elif f'lessons.check("{name}"' in source and kind != "open":
                    cell["source"] = "\n".join(solved(source, one.texts))
        empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "id": "prediction"}
        document["cells"].append({**empty, "source": PREDICTION})
        place = folder / one.student / f"{one.lesson.name}.ipynb"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(document), encoding="utf-8")
