"""Similarity to the key against grades (App. P): is cosine a measure of correctness at all?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evaluation.embeddings.embeddings import Vectors, get_encoder
from evaluation.methods.agreement.rank_correlation import pearson, spearman
from evaluation.published.reproduce.columns import columns
from evaluation.published.reproduce.data import GradedAnswers
from evaluation.published.reproduce.rows import Row

QUESTIONS = "mohler_questions.csv"
PUBLISHED = 0.47


def key_rows(folder: Path, answers: GradedAnswers, vectors: Vectors) -> Iterator[Row]:
    """Table P2: Pearson of grades with the cosine of answers and the question's key, MiniLM.

    ``vectors`` (n, d) are those of the answers. Raises Invalid naming the file or the column.
    """
    found = columns(folder, "mohler", QUESTIONS, ("question_id", "reference_answer"))
    keys = dict(zip(found["question_id"], found["reference_answer"], strict=True))
    key = get_encoder("minilm").encode([keys[name] for name in answers.questions])
    cosine = np.einsum("nd,nd->n", vectors, key[answers.question])
    grades = answers.grades
    within = [
        float(pearson(cosine[own], grades[own]).value[0])
        for own in (answers.question == j for j in range(len(answers.questions)))
        if np.ptp(grades[own]) > 0
    ]
    yield Row(
        "Table P2",
        "cosine with the key against grades, MiniLM, Pearson",
        f"all {len(grades):,} answers",
        PUBLISHED,
        float(pearson(cosine, grades).value[0]),
        f"published with RoBERTa-large; Spearman {float(spearman(cosine, grades).value[0]):.3f}",
    )
    yield Row(
        "Table P2",
        "cosine with the key against grades within a question, MiniLM, Pearson",
        "mean over questions",
        None,
        float(np.mean(within)),
        f"{len(within)} questions whose grades differ",
    )
