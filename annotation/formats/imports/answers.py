"""Free text, answers of workers: item_id, worker_id, answer, submitted_at."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from annotation.files.reading.importer import (
    Checked,
    Field,
    Importer,
    Once,
    Prints,
    Reader,
    Row,
    closest,
    span,
)
from crowdqc.numbers import plural

MAX_ANSWER = 20_000


@dataclass(frozen=True)
class KnownAnswers:
    """The published questions in order, and (worker, question) -> text of what is there."""

    keys: Sequence[str] = ()
    texts: Mapping[tuple[str, str], str] | Prints = field(default_factory=dict)
    removed: Set[str] = frozenset()  # workers who were removed from the project


ITEM_ID = Field("item_id", "Question id", True, ("question_id", "qid", "item", "id", "key"))


def known_item(reader: Reader, row: Row, keys: Mapping[str, int], order: Sequence[str]) -> bool:
    """Whether the row's question exists; else say which is nearest."""
    key = reader.value(row, "item_id")
    if key in keys:
        return True
    near = closest(key, order) if key else ""
    mend = span(order) + (f" Did you mean {near}?" if near else "")
    reader.bad(row, "item_id", "No question has this id." if key else "There is no id.", mend)
    return False


def has_text(reader: Reader, row: Row, who: str) -> bool:
    """Whether the row holds an answer that can be stored."""
    if not reader.value(row, "answer"):
        reader.bad(
            row,
            "answer",
            "An answer needs text.",
            f"Write “I don’t know” if the {who} gave no answer, or delete the row.",
        )
        return False
    return reader.fits(row, "answer", MAX_ANSWER, "an answer")


def moment(reader: Reader, row: Row, name: str) -> dt.datetime | bool | None:
    """The moment in a column, None where none is given, False where it cannot be read."""
    raw = reader.value(row, name)
    if not raw:
        return None
    try:
        at = dt.datetime.fromisoformat(raw)
        at = at if at.tzinfo else at.replace(tzinfo=dt.UTC)
        if 1990 <= at.astimezone(dt.UTC).year <= 2100:
            return at
    except (ValueError, OverflowError):
        pass
    reader.bad(
        row,
        name,
        "This is not a time.",
        "Write it as 2025-03-31T14:05:00Z, or leave the cell empty.",
    )
    return False


class Answers(Importer):
    slug = "answers"
    title = "Answers of workers"
    fields = (
        ITEM_ID,
        Field(
            "worker_id",
            "Worker id",
            True,
            (
                "worker",
                "participant",
                "participant_id",
                "annotator",
                "user",
                "user_id",
                "student",
                "rater",
                "teilnehmer",
                "annotateur",
            ),
        ),
        Field(
            "answer",
            "Answer text",
            True,
            (
                "response",
                "resp",
                "text",
                "reply",
                "completion",
                "output",
                "antwort",
                "reponse",
                "respuesta",
                "risposta",
            ),
        ),
        Field(
            "submitted_at",
            "Time of the answer",
            False,
            ("timestamp", "time", "date", "created_at", "answered_at"),
        ),
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownAnswers
    ) -> Checked:
        checked = Checked()
        reader = Reader(mapping, checked)
        keys = {key: place for place, key in enumerate(known.keys)}
        once = Once(
            reader,
            ["worker_id", "item_id"],
            known.texts,
            twice="Keep one: a worker answers a question once.",
            differs="The task has another answer of this worker to this question.",
            leave="Leave the row out: answers are not overwritten.",
        )
        workers: set[str] = set()
        questions: set[str] = set()
        for row in rows:
            if not known_item(reader, row, keys, known.keys) or not self._worker(
                reader, row, known
            ):
                continue
            if not has_text(reader, row, "worker"):
                continue
            at = moment(reader, row, "submitted_at")
            if at is False:
                continue
            names = ("item_id", "worker_id", "answer")
            values = {name: reader.value(row, name) for name in names}
            if once.takes(row, (values["worker_id"], values["item_id"]), values["answer"]):
                checked.good.append({**values, "submitted_at": at})
                workers.add(values["worker_id"])
                questions.add(values["item_id"])
        if checked.good:
            checked.facts += [plural(len(workers), "worker"), plural(len(questions), "question")]
        return checked

    @staticmethod
    def _worker(reader: Reader, row: Row, known: KnownAnswers) -> bool:
        worker = reader.value(row, "worker_id")
        if not worker:
            reader.bad(
                row, "worker_id", "There is no worker.", "Write who gave it; any id will do."
            )
            return False
        if worker in known.removed:
            reader.bad(
                row,
                "worker_id",
                "This worker was removed from the project.",
                "Leave the row out.",
            )
            return False
        return reader.fits(row, "worker_id", 120, "a worker id")
