"""A table of ratings that is to become a task: who gave which text which score."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import Field, Reader, Row, guess
from annotation.files.reading.recognise import ITEMS, WORKERS
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.tables.base import (
    Fit,
    Fixes,
    LastCounts,
    TableReader,
    moment,
    unread,
)
from annotation.task_types.scales import MAX_ASKED
from crowdqc.errors import Invalid
from crowdqc.numbers import parse_whole, plural

SCORES = ("rating", "points", "stars", "grade", "likert")
RATED = "a text or its id"
WHOLE = re.compile(r"([+-]?\d+)(?:\.0+)?")
HIGHEST = 100


class RatingTable(TableReader):
    """Rows {worker, item, text, system, topic, score, explanation, at}."""

    slug = "rating_table"
    title = gettext_lazy("Ratings")
    unit = "rating"
    fields = (
        Field("worker", gettext_lazy("Worker"), True, WORKERS),
        Field("item", gettext_lazy("Item"), False, ITEMS, RATED),
        Field(
            "text",
            gettext_lazy("Text"),
            False,
            ("item_text", "content", "sentence", "summary"),
            RATED,
        ),
        Field("score", gettext_lazy("Score"), True, SCORES),
        Field(
            "system",
            gettext_lazy("System"),
            False,
            ("model", "source", "system_name", "model_name"),
        ),
        Field("topic", gettext_lazy("Topic"), False, ("query_id", "group", "topic_id")),
        Field(
            "time",
            gettext_lazy("Time"),
            False,
            ("timestamp", "submitted_at", "answered_at", "created_at"),
        ),
    )
    limits = (
        ("worker", 120, "a worker id"),
        ("item", 80, "an item id"),
        ("text", 20_000, "a text"),
        ("system", 120, "a name"),
        ("topic", 80, "a topic"),
    )

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Worker, item and score are there, and scores are whole numbers."""
        mapping = guess(columns, self.fields)
        if lacks := self.lacks(mapping):
            return Fit(False, lacks)
        scores = {row.values.get(mapping["score"], "").strip() for row in rows} - {""}
        column = mapping["score"]
        if not all(WHOLE.fullmatch(score) for score in scores):
            return Fit(False, f"{column} is not a whole number")
        if len(scores) > MAX_ASKED:
            return Fit(False, f"{column} has more than {MAX_ASKED} different scores")
        return Fit(True, f"{column} has {plural(len(scores), 'different score')}")

    def read(self, reader: Reader, rows: Iterable[Row], known: Fixes) -> None:
        """Ratings by worker and text; a text without an id gets one made of it."""
        last = LastCounts(reader, ("worker", "item", "text"), "score")
        texts: dict[str, tuple[str, str]] = {}
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                reader.needed(row, "worker", "No worker", "Left out.")
                if not values["item"] and not values["text"]:
                    reader.refuse(row, ["item", "text"], "No item", "Left out.")
                reader.limit(row, self.limits)
                item = values["item"] or key_of("t", values["system"], values["text"])
                one = {
                    "worker": values["worker"],
                    "item": item,
                    "score": self._score(reader, row),
                    "at": moment(reader, row, "time"),
                    "text": values["text"],
                    "system": values["system"],
                    "topic": values["topic"],
                    "meta": unread(reader, row),
                }
                told = (values["system"], values["topic"])
                if texts.setdefault(item, told) != told:
                    wrong = "This item stands under another system or topic above."
                    reader.refuse(row, ["item", "system", "topic"], wrong, "Left out.")
                last.take(row, (values["worker"], item), one)
        scores, items, workers = Counter[int](), Counter[str](), Counter[str]()
        for _, one in last.good():
            reader.checked.good.append(one, len(one["text"]))
            scores[one["score"]] += 1
            items[one["item"]] += 1
            workers[one["worker"]] += 1
        if len(scores) > MAX_ASKED:
            raise Invalid(
                f"The column {reader.column('score')} has {len(scores):,} different scores; a "
                f"scale has {MAX_ASKED} points at most.",
                fields={"file": "Round the scores to a scale."},
            )
        low, high = min(items.values(), default=0), max(items.values(), default=0)
        reader.checked.about |= {
            "scores": sorted(scores),
            "low": low,
            "facts": [
                ["Ratings", f"{scores.total():,}"],
                ["Workers", f"{len(workers):,}"],
                ["Items", f"{len(items):,}"],
                ["Points of the scale", f"{len(scores):,}"],
                ["Ratings per item", f"{low:,}" if low == high else f"{low:,} to {high:,}"],
            ],
            "by": [plural(len(workers), "worker"), plural(len(items), "item")],
            "warnings": [],
            "cannot": ["Only one score", "Every row has the same score."]
            if len(scores) == 1
            else [],
        }

    @staticmethod
    def _score(reader: Reader, row: Row) -> int:
        said = reader.needed(row, "score", "No score", "Left out.")
        whole = WHOLE.fullmatch(said)
        found = parse_whole(whole[1], low=-HIGHEST, high=HIGHEST) if whole else None
        if found is None:
            wrong = f"Not a whole number from −{HIGHEST} to {HIGHEST}"
            reader.refuse(row, "score", wrong, "Left out.")
        return found
