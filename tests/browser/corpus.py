"""Every fifth of Mohler's questions, and ten workers of planted quality who answer them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.published.reproduce.data import GradedAnswers, deal_answers, mohler

EVERY = 5  # more of them show no more
QUESTIONS = 18


@dataclass
class Corpus:
    """The questions with their reference answers, and who of the planted workers says what."""

    file: bytes
    questions: list[dict[str, str]]
    answers: GradedAnswers
    dealt: Any  # (18, 10) positions in the answers, the best group first

    def truth(self) -> np.ndarray:
        """Mean grade of every planted worker."""
        return self.answers.grades[self.dealt].mean(axis=0)

    def by_worker(self, number: int) -> dict[str, str]:
        """Question -> what this worker answers."""
        texts = (self.answers.texts[at] for at in self.dealt[:, number])
        words = {row["question_id"]: row["question"].strip() for row in self.questions}
        asked = (words[name] for name in self.answers.questions)
        return dict(zip(asked, texts, strict=True))


def load(folder: Path, *, seed: int = 7) -> Corpus:
    """The corpus, dealt by "rand20" to every second of its workers; Invalid without the data."""
    whole = mohler(folder)
    chosen = range(0, len(whole.questions), EVERY)
    keep = np.isin(whole.question, chosen)
    answers = GradedAnswers(
        questions=tuple(whole.questions[at] for at in chosen),
        question=whole.question[keep] // EVERY,
        texts=tuple(text for text, kept in zip(whole.texts, keep, strict=True) if kept),
        grades=whole.grades[keep],
    )
    lines = (folder / "mohler" / "mohler_questions.csv").read_text(encoding="utf-8")
    every = list(csv.DictReader(io.StringIO(lines, newline="")))
    questions = [row for row in every if row["question_id"] in answers.questions]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(questions[0]))
    writer.writeheader()
    writer.writerows(questions)
    rng = np.random.default_rng(seed)
    dealt = deal_answers(answers.question, answers.grades, "rand20", rng)
    return Corpus(file.getvalue().encode(), questions, answers, dealt[:, ::2])
