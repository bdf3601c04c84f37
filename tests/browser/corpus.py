"""Mohler's questions, and twenty workers of planted quality who answer all of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.published.reproduce.data import GradedAnswers, mohler
from evaluation.published.reproduce.semi_synthetic import deal


@dataclass
class Corpus:
    """The questions with their reference answers, and who of the planted workers says what."""

    file: Path
    questions: list[dict[str, str]]
    answers: GradedAnswers
    dealt: Any  # (87, 20) positions in the answers, the best group first

    def truth(self) -> np.ndarray:
        """Mean grade of every planted worker."""
        return self.answers.grades[self.dealt].mean(axis=0)

    def by_worker(self, number: int) -> dict[str, str]:
        """Question id -> what this worker answers."""
        texts = (self.answers.texts[at] for at in self.dealt[:, number])
        return dict(zip(self.answers.questions, texts, strict=True))


def load(folder: Path, *, seed: int = 7) -> Corpus:
    """The corpus with its answers dealt by "rand20"; Invalid where the data is not there."""
    answers = mohler(folder)
    file = folder / "mohler" / "mohler_questions.csv"
    with file.open(encoding="utf-8", newline="") as handle:
        questions = list(csv.DictReader(handle))
    rng = np.random.default_rng(seed)
    return Corpus(file, questions, answers, deal(answers.question, answers.grades, "rand20", rng))
