"""Where the published data lies, and reading it; none of it is part of the project."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crowdqc.errors import Invalid
from evaluation.methods.core.base import BadParameter, BadShape, FloatArray, IntArray

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"


def data_folder(given: str | None = None) -> Path:
    """The folder named, else CROWDQC_DATA, else the one beside the project.

    Raises Invalid with what to set where there is none.
    """
    named = given or os.environ.get("CROWDQC_DATA")
    folder = Path(named).expanduser() if named else BESIDE
    if not folder.is_dir():
        raise Invalid(
            f"There is no data folder at {folder}; name one with --data or CROWDQC_DATA.",
            fields={"data": "no such folder"},
        )
    return folder


@dataclass(frozen=True, eq=False)
class GradedAnswers:
    """Answers (n) to questions, each with a grade; ``question`` (n,) indexes ``questions``."""

    questions: tuple[str, ...]
    question: IntArray
    texts: tuple[str, ...]
    grades: FloatArray


def mohler(folder: Path) -> GradedAnswers:
    """Mohler et al. (2011): short answers in computer science, mean grade of two graders, 0-5.

    ``folder`` holds mohler_answers.csv, itself or in mohler/. Raises Invalid naming the file, the
    column or the line.
    """
    places = [folder / "mohler" / "mohler_answers.csv", folder / "mohler_answers.csv"]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise Invalid(f"There is no mohler_answers.csv in {folder}.", fields={"data": "no file"})
    questions: dict[str, int] = {}
    question, texts, grades = [], [], []
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = {"question_id", "answer", "grade_avg_0_5"} - set(reader.fieldnames or ())
        if missing:
            raise Invalid(f"{path.name} has no column {min(missing)}.", fields={"data": "columns"})
        for line, row in enumerate(reader, start=2):
            try:
                grades.append(float(row["grade_avg_0_5"]))
            except ValueError as problem:
                raise Invalid(
                    f"{path.name}, line {line}: grade_avg_0_5 is {row['grade_avg_0_5']!r}.",
                    rows=[line],
                ) from problem
            question.append(questions.setdefault(row["question_id"], len(questions)))
            texts.append(row["answer"])
    if not texts:
        raise Invalid(f"{path.name} has no answers.", fields={"data": "empty"})
    return GradedAnswers(tuple(questions), np.array(question), tuple(texts), np.array(grades))


VARIANTS = ("top20", "bot20", "rand20")
AS_DESCRIBED = "top20"  # "the 20 highest quality responders"; the other readings stand beside it
WORKERS, GROUPS = 20, 10  # published with 5 groups too (Table 2)


def deal_answers(
    question: IntArray,
    grades: FloatArray,
    variant: str,
    rng: np.random.Generator,
    *,
    random_share: float = 0.0,
    groups: int = GROUPS,
) -> IntArray:
    """Deal 20 answers to each question (q, 20), columns from the best group to the worst.

    ``question`` and ``grades`` are (n,); the 20 are ``groups`` of equal size. With
    ``random_share`` each answer has that chance of being dealt at random among the workers so
    chosen (App. N). Raises BadParameter for an unknown variant, BadShape where a question has
    fewer than 20 answers.
    """
    if variant not in VARIANTS:
        raise BadParameter(f"variant is {variant!r}; it must be one of {', '.join(VARIANTS)}")
    workers = WORKERS
    dealt = np.empty((int(question.max()) + 1, workers), dtype=np.int64)
    for j in range(len(dealt)):
        answers = rng.permutation(np.flatnonzero(question == j))
        if len(answers) < workers:
            raise BadShape(f"question {j} has {len(answers)} answers; {workers} are needed")
        if variant == "rand20":
            answers = answers[:workers]
        answers = answers[np.argsort(-grades[answers], kind="stable")]
        answers = answers[-workers:] if variant == "bot20" else answers[:workers]
        within = rng.permuted(np.arange(workers).reshape(groups, -1), axis=1).ravel()
        answers = answers[within]
        if random_share:
            free = np.flatnonzero(rng.random(workers) < random_share)
            answers[free] = answers[rng.permutation(free)]
        dealt[j] = answers
    return dealt
