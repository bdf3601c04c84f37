"""The published ratings with explanations of Wadhwa et al. (INQUISITIVE-BROAD): two CSV files.

``ebr_items.csv.gz``: item_id, dataset, article_key, question_key, question, system, answer.
``ebr_annotations.csv.gz``: item_id, annotation_no, worker_id, complete_label, correct_label,
feedback, and the scores of a model. The articles are not public.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.files.reading.importer import MAX_PROBLEMS, Problem
from crowdqc.errors import Invalid

ITEMS, ANNOTATIONS = "ebr_items.csv.gz", "ebr_annotations.csv.gz"
ITEM_COLUMNS = ("item_id", "dataset", "article_key", "question_key", "question", "system", "answer")
ANNOTATION_COLUMNS = (
    "item_id",
    "annotation_no",
    "worker_id",
    "complete_label",
    "correct_label",
    "feedback",
)
COMPLETENESS = {"missing_all": 0, "missing_major": 30, "missing_minor": 70, "complete": 100}
CORRECTNESS = {"irrelevant": 0, "incorrect": 0, "correct": 1}


@dataclass(frozen=True)
class EbrStudy:
    """Answers as ``add_documents`` takes them, and the annotations as the file has them."""

    answers: list[dict[str, Any]]
    annotations: list[dict[str, str]]


def read_folder(folder: Path) -> EbrStudy:
    """The study of a folder; Invalid where a file, a column or a value is not what it should be."""
    items = _rows(folder / ITEMS, ITEM_COLUMNS)
    annotations = _rows(folder / ANNOTATIONS, ANNOTATION_COLUMNS)
    known = {row["item_id"] for row in items}
    problems = [
        problem
        for line, row in enumerate(annotations, 2)
        if (problem := _problem(line, row, known)) is not None
    ]
    if problems:
        raise Invalid(
            f"{ANNOTATIONS}: {len(problems):,} of {len(annotations):,} rows cannot be read. "
            "Nothing was imported.",
            rows=[problem.as_dict() for problem in problems[:MAX_PROBLEMS]],
        )
    return EbrStudy([_answer(row) for row in items], annotations)


def values_of(row: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """The two judgments of an annotation, by scale."""
    return (
        ("completeness", COMPLETENESS[row["complete_label"]]),
        ("correctness", CORRECTNESS[row["correct_label"]]),
    )


def _answer(row: Mapping[str, str]) -> dict[str, Any]:
    document = f"{row['dataset']}-{row['article_key']}"
    return {
        "document_id": document,
        "document": "",
        "sentence": 0,
        "question_id": f"{document}-{row['question_key']}",
        "question": row["question"],
        "answer_id": row["item_id"],
        "answer": row["answer"],
        "system": row["system"],
    }


def _rows(path: Path, wanted: Sequence[str]) -> list[dict[str, str]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            columns = reader.fieldnames or []
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(
            f"{path.name} cannot be read: {error}.", fields={"file": "A folder with both files."}
        ) from error
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise Invalid(
            f"{path.name} has no column {missing[0]}.", fields={"file": ", ".join(wanted)}
        )
    return rows


def _problem(line: int, row: Mapping[str, str], known: set[str]) -> Problem | None:
    for column, there in (
        ("item_id", known),
        ("complete_label", COMPLETENESS),
        ("correct_label", CORRECTNESS),
    ):
        if row[column] not in there:
            said = ", ".join(sorted(there)[:4])
            return Problem(line, column, row[column], "Not known.", f"One of {said}.")
    return None
