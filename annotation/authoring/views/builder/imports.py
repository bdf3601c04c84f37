"""What the page of a task says of each kind of file that it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ImportRow:
    """A kind of file in the list of imports."""

    kind: str
    title: str
    columns: str
    do: str
    of_answers: bool = False  # answers name the version that they answer: it must be published


_ROWS = (
    ImportRow("items", "Questions", "item_id, question, context, topic", "Import questions"),
    ImportRow(
        "answers",
        "Answers of workers",
        "item_id, worker_id, answer, submitted_at",
        "Import answers",
        of_answers=True,
    ),
    ImportRow(
        "system_answers",
        "Answers of systems",
        "item_id, system, prompt_strategy, answer",
        "Import system answers",
        of_answers=True,
    ),
    ImportRow(
        "topics",
        "Topics and passages",
        "JSONL: topic, query, passages; CSV: topic, query, rank, passage_key, title, passage",
        "Import topics",
    ),
    ImportRow(
        "responses",
        "Responses of people and of systems",
        "topic, style, text, worker or system",
        "Import responses",
        of_answers=True,
    ),
    ImportRow(
        "samples",
        "Dimensions with scored samples",
        "dimension, rubric, sample_id, source, text, score",
        "Import samples",
    ),
    ImportRow(
        "attributes",
        "Attributes of people and of systems",
        "dimension, worker or system, index, attribute, start, end, transcript",
        "Import attributes",
        of_answers=True,
    ),
    ImportRow(
        "candidates",
        "Texts to be judged",
        "topic, text, system or origin, style, query, author",
        "Import texts",
    ),
    ImportRow(
        "checks",
        "Checklists filled in elsewhere",
        "item_id, worker or system, name, answer",
        "Import answers",
        of_answers=True,
    ),
    ImportRow(
        "documents",
        "Documents with answers",
        "document_id, document, question_id, question, sentence, answer_id, answer, system",
        "Import documents",
    ),
    ImportRow(
        "ratings",
        "Ratings with explanations",
        "item_id, worker_id, label, explanation, evidence, correct",
        "Import ratings",
        of_answers=True,
    ),
    ImportRow(
        "arena",
        "Arena battles",
        "model_a, model_b, winner; judge, conversations or responses, question_id if you have them",
        "Import battles",
    ),
)
IMPORTS = {row.kind: row for row in _ROWS}
CHECKED_TEXTS = replace(
    IMPORTS["candidates"],
    title="Texts to be checked",
    columns="topic, text, context (its source), system or origin, style, query, author",
)


def votes(noun: str, line: str) -> ImportRow:
    """Judgments or ratings of the same texts, made elsewhere; ``line``: dimension or scale."""
    return ImportRow(
        "judgments",
        f"{noun.capitalize()}s from elsewhere",
        f"of people or language models: item_id, or the texts; worker or system; a column a {line}",
        f"Import {noun}s",
        of_answers=True,
    )
