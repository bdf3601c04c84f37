"""Scores of explanations from a file of one's own: item_id, worker_id, score, raw."""

from __future__ import annotations

from annotation.files.reading import sheet as reading
from annotation.files.reading.importer import Field, Problem, guess, missing
from annotation.models import Task, User
from crowdqc.errors import Invalid
from evaluation.models import Run
from evaluation.published.studies.ebr import SHOWN, ScoreRow, Source, import_scores

FIELDS = (
    Field("item_id", "Item id", required=True, also=("item", "id", "key")),
    Field("worker_id", "Worker id", required=True, also=("worker", "annotator", "rater")),
    Field("score", "Score", required=True, also=("ebr", "ebr_num", "value")),
    Field("raw", "The model’s words", also=("ebr_raw", "text", "reply")),
)


def import_file(
    *, by: User, task: Task, name: str, content: bytes, model: str, prompt: str, scale: str = ""
) -> tuple[Run, bool]:
    """Take in the file whole; returns the run that holds its scores, and whether it is new.

    Raises Invalid naming a missing column or every bad row, nothing being written then.
    """
    sheet = reading.read(content, name)
    mapping = guess(sheet.columns, FIELDS)
    lacking = missing(mapping, FIELDS)
    if lacking:
        names = ", ".join(one.name for one in lacking)
        raise Invalid(f"The file has no column {names}.", fields={"file": f"It needs {names}."})
    problems, rows = list(sheet.unreadable), []
    for row in sheet.rows:
        given = {one.name: row.values.get(mapping.get(one.name, ""), "") for one in FIELDS}
        try:
            score = _score(given["score"])
        except ValueError:
            problems.append(
                Problem(
                    row.line,
                    mapping["score"],
                    given["score"],
                    "Not a number from 0 to 100.",
                    "Write a number, or leave it empty where the model gave none.",
                )
            )
            continue
        rows.append(
            ScoreRow(
                row.line, given["item_id"].strip(), given["worker_id"].strip(), score, given["raw"]
            )
        )
    if problems:
        raise Invalid(
            f"{len(problems):,} of {sheet.total:,} rows cannot be read. Nothing was imported.",
            fields={"file": "Mend the rows below."},
            rows=[one.as_dict() for one in problems[:SHOWN]],
        )
    source = Source(model.strip(), prompt.strip())
    return import_scores(by=by, task=task, rows=rows, source=source, scale=scale)


def _score(text: str) -> float | None:
    """A score of 0 to 100, None for an empty cell; raises ValueError."""
    if not text.strip():
        return None
    value = float(text.strip().replace(",", "."))
    if not 0 <= value <= 100:
        raise ValueError(text)
    return value
