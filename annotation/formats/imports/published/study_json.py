"""A study's questionnaire as JSON: instructions, and what is asked of a pair or of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.task_types.pairwise.type import TEMPLATE
from annotation.task_types.scales import MAX_LABEL, MAX_TEXT, name_of
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable, read_json

# What the published questionnaires call the seven dimensions.
NAMES = {
    "validity": "correctness_topical",
    "logical_coherence": "coherence_logical",
    "stylistic_coherence": "coherence_stylistic",
    "broad_coverage": "coverage_broad",
    "deep_coverage": "coverage_deep",
    "internal_consistency": "consistency_internal",
    "overall_quality": "quality_overall",
}
LABELS = {row["name"]: row["label"] for row in TEMPLATE}
TYPES = {"pairwise": "pairwise", "response": "rating", "statement": "rating"}
NEUTRAL = ("N", "0")  # the option that says neither


@dataclass(frozen=True)
class Study:
    """A questionnaire in our words: the type of task, and its settings."""

    type: str
    instructions: str
    settings: Mapping[str, Any]


def read_study(content: bytes | str, name: str) -> Study:
    """The questionnaire of a file; Invalid names the file and what is wrong in it."""
    try:
        raw = read_json(content)
    except Unreadable as error:
        raise Invalid(f"{name} cannot be read. {error.says}", fields={"file": name}) from error
    return study_of(raw, name)


def study_of(raw: Any, name: str) -> Study:
    """A questionnaire that was read from JSON: {instructions, type, questions}."""
    if not isinstance(raw, dict) or raw.get("type") not in TYPES:
        raise _refused(name, f"type must be one of {', '.join(TYPES)}")
    questions = raw.get("questions")
    if not isinstance(questions, list) or not questions:
        raise _refused(name, "questions must be a list of one at least")
    kind = TYPES[raw["type"]]
    asked: list[dict[str, Any]] = []
    for number, question in enumerate(questions, 1):
        if not isinstance(question, dict) or not isinstance(question.get("options"), dict):
            raise _refused(name, f"question {number} has no options")
        asked.append(_question_row(question, number, kind, name, [one["name"] for one in asked]))
    settings = {"dimensions" if kind == "pairwise" else "scales": asked}
    return Study(kind, str(raw.get("instructions") or ""), settings)


def _question_row(
    question: Mapping[str, Any], number: int, kind: str, file: str, taken: list[str]
) -> dict[str, Any]:
    given = str(question.get("name") or f"question {number}")
    name = NAMES.get(given) or name_of(given, taken)
    row = {
        "name": name,
        "label": LABELS.get(name, given.replace("_", " ").capitalize())[:MAX_LABEL],
        "question": str(question.get("text") or "")[:MAX_TEXT],
    }
    options = question["options"]
    if kind == "pairwise":
        about = str(question.get("description") or "")[:MAX_TEXT]
        return {**row, "description": about, "neutral": any(k in options for k in NEUTRAL)}
    try:
        points = [{"value": int(value), "label": str(label)} for value, label in options.items()]
    except ValueError as error:
        raise _refused(file, f"question {number} has a point that is no whole number") from error
    return {**row, "points": sorted(points, key=lambda point: point["value"])}


def _refused(name: str, why: str) -> Invalid:
    return Invalid(f"{name}: {why}.", fields={"file": name})
