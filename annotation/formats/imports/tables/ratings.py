"""A table of ratings that is to become a task: who gave which text which score."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Reader, Row, Times, guess, plain
from annotation.files.reading.recognise import (
    ITEMS,
    LABELS,
    LOOKED_AT,
    NUMBERED,
    WORKERS,
    fill_by_values,
)
from annotation.files.reading.values import plain_number
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.tables.base import (
    MISSING,
    Fit,
    Fixes,
    LastCounts,
    TableReader,
    offer,
    offer_cases,
    unread,
)
from annotation.formats.imports.tables.criteria import criteria_of, rows_of_criterion
from annotation.task_types.scales import DECIMAL, MAX_POINTS, scaled
from crowdqc.errors import Invalid
from crowdqc.numbers import count, plural

SCORES = ("rating", "points", "stars", "grade", "likert")
# Scores if the values are so many numbers, and no column is called as labels are.
MARKS = (
    *("mark", "marks", "note", "noten", "schulnote", "punkte", "punktzahl", "bewertung"),
    *("sterne", "grades", "ratings", "scores", "value"),
    *("fluency", "adequacy", "quality", "overall_quality", "relevance", "coherence", "clarity"),
    *("consistency", "helpfulness", "informativeness", "naturalness", "grammaticality"),
    *("readability", "usefulness", "faithfulness", "difficulty", "severity", "intensity"),
    *("qualitaet", "qualitat", "relevanz", "verstandlichkeit", "calidad", "fluidez", "claridad"),
)
MIN_MARKS = 4
RATED = "a text or its id"
HIGHEST = 10_000  # of what is stored
GROUPS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+") for mark in ",."}
LEAST_WHOLE = 100  # beside 1,200 a number from here on says that the comma is of thousands
THOUSANDS, DECIMALS = "", "."  # what a mark in numbers is read as
MOST_PLACES = 2  # of decimals, which are stored times 10 or 100


class RatingTable(TableReader):
    """Rows {worker, item, text, system, topic, score, explanation, at}."""

    slug = "rating_table"
    title = gettext_lazy("Ratings")
    unit = "rating"
    vote = "score"
    alike = (("worker",), ("item",), ("system",), ("topic",))
    fields = (
        Field("worker", gettext_lazy("Worker"), True, WORKERS),
        Field("item", gettext_lazy("Item"), False, (*ITEMS, *NUMBERED), RATED),
        Field(
            "text",
            gettext_lazy("Text"),
            False,
            ("item_text", "content", "sentence", "summary"),
            RATED,
        ),
        Field("score", gettext_lazy("Score"), True, (*SCORES, *MARKS)),
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
        ("worker", 120, gettext_noop("a worker id")),
        ("item", 80, gettext_noop("an item id")),
        ("text", 20_000, gettext_noop("a text")),
        ("system", 120, gettext_noop("a name")),
        ("topic", 80, gettext_noop("a topic")),
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by name, else worker, item and score by the first rows."""
        named = guess(columns, self.fields)
        found = fill_by_values(named, columns, rows, "score")
        if "score" not in named and "score" in found:
            looked = itertools.islice(rows, LOOKED_AT)
            scores = _given(row.values.get(found["score"], "") for row in looked)
            return found if all(map(DECIMAL.fullmatch, _ungrouped(scores))) else named
        if "score" not in found and {"worker", "item"} <= found.keys():
            criteria = criteria_of(columns, rows, found.values())
            return found | {"score": criteria[0]} if len(criteria) > 1 else found
        return found

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Worker, item and score are there, and scores are numbers."""
        named = guess(columns, self.fields)
        mapping = self.guess(columns, rows)
        taken = [column for name, column in mapping.items() if name != "score"]
        several = criteria_of(columns, rows, taken)
        if "score" not in named and mapping.get("score") not in several[:1]:
            mapping.pop("score", None)
        if lacks := self.lacks(mapping):
            return Fit(False, lacks)
        column = mapping["score"]
        opened = self.opened(mapping, rows)
        scores = _ungrouped(_given(row.values.get(column, "") for row in opened))
        if not scores or not all(DECIMAL.fullmatch(score) for score in scores):
            return Fit(False, _("%(column)s is not a number") % {"column": column})
        usual = {plain(name) for name in ("score", *SCORES)}
        is_beside = any(plain(name) in _LABELS for name in columns)
        if is_beside and (plain(column) not in usual or _numbers_labels(rows, columns, scores)):
            return Fit(False, _("a column is called as labels are"))
        if (plain(column) not in usual or mapping != named) and len(scores) < MIN_MARKS:
            return Fit(
                False,
                _("%(column)s has only %(differents)s")
                % {"column": column, "differents": plural(len(scores), "different score")},
            )
        if len(scores) > MAX_POINTS:
            return Fit(
                False,
                _("%(column)s has more than %(max_asked)s different scores")
                % {"column": column, "max_asked": MAX_POINTS},
            )
        return Fit(
            True,
            _("%(column)s has %(differents)s, %(low)s to %(high)s")
            % {
                "column": column,
                "differents": plural(len(scores), "different score"),
                "low": min(scores, key=_number),
                "high": max(scores, key=_number),
            },
        )

    def read_spelled(self, reader: Reader, rows: Iterable[Row], fixes: Fixes) -> None:
        """Read rows of one criterion, where several are rated and none is called the score."""
        column, cannot = reader.mapping.get("score", ""), list[str]()
        columns = [*next(iter(rows), Row(0, {})).values]
        guessed = column and column == self.guess(columns, rows).get("score")
        if guessed and plain(column) not in {plain(name) for name in ("score", *SCORES)}:
            others = {one for name, one in reader.mapping.items() if name != "score"}
            criteria = criteria_of(columns, rows, others)
            if column in criteria and len(criteria) > 1:
                rows, cannot = rows_of_criterion(reader, rows, fixes, column, criteria)
                fixes = {name: use for name, use in fixes.items() if name != column}
        super().read_spelled(reader, rows, fixes)
        if cannot:
            reader.checked.about["cannot"] = cannot

    def read(self, reader: Reader, rows: Iterable[Row], known: Fixes) -> None:
        """Ratings by worker and text; a text without an id gets one made of it."""
        last = LastCounts(reader, ("worker", "item", "text"), "score")
        texts: dict[str, tuple[str, str]] = {}
        thousands, cannot = _thousands_in(reader, rows, known)
        times, factor = Times(reader, "time", rows), _factor_of(reader, rows, thousands)
        for row in rows:
            with reader:
                values = reader.values(row, self.fields)
                reader.needed(row, "worker", gettext_noop("No worker"), gettext_noop("Left out."))
                if not values["item"] and not values["text"]:
                    reader.refuse(row, ["item", "text"], _("No item"), _("Left out."))
                reader.limit(row, self.limits)
                item = values["item"] or key_of("t", values["system"], values["text"])
                one = {
                    "worker": values["worker"],
                    "item": item,
                    "score": self._score(reader, row, factor, thousands),
                    "at": times.read(row),
                    "text": values["text"],
                    "system": values["system"],
                    "topic": values["topic"],
                    "meta": unread(reader, row),
                }
                told = (values["system"], values["topic"])
                if texts.setdefault(item, told) != told:
                    wrong = gettext_noop("This item stands under another system or topic above.")
                    reader.refuse(row, ["item", "system", "topic"], wrong, _("Left out."))
                last.take(row, (values["worker"], item), one)
        times.note()
        scores, items, workers = Counter[int](), Counter[str](), Counter[str]()
        written = _written(reader, rows, factor, thousands)
        for _line, one in last.good():
            reader.checked.good.append(one, len(one["text"]))
            scores[one["score"]] += 1
            items[one["item"]] += 1
            workers[one["worker"]] += 1
        offer_cases(reader, "worker", workers)
        offer_cases(reader, "item", items)
        if len(scores) > MAX_POINTS:
            raise self._points_error(reader.column("score"), len(scores))
        low, high = min(items.values(), default=0), max(items.values(), default=0)
        reader.checked.about |= {
            "scores": [(score, written[score]) for score in sorted(scores)],
            "factor": factor,
            "low": low,
            "facts": [
                [_("Ratings"), count(scores.total())],
                [_("Workers"), count(len(workers))],
                [_("Items"), count(len(items))],
                [_("Points of the scale"), count(len(scores))],
                [
                    _("Ratings per item"),
                    count(low)
                    if low == high
                    else _("%(low)s to %(high)s") % {"low": count(low), "high": count(high)},
                ],
            ],
            "by": [plural(len(workers), "worker"), plural(len(items), "item")],
            "warnings": [],
            "cannot": [_("Only one score"), _("Every row has the same score.")]
            if len(scores) == 1
            else cannot,
        }

    @staticmethod
    def _points_error(column: str, scores: int) -> Invalid:
        wrong = _(
            "The column %(column)s has %(scores)s different scores; a scale has %(most)s points at "
            "most."
        )
        return Invalid(
            wrong % {"column": column, "scores": count(scores), "most": MAX_POINTS},
            fields={"file": _("Round the scores to a scale.")},
        )

    @staticmethod
    def _score(reader: Reader, row: Row, factor: int, thousands: str) -> int:
        said = reader.needed(row, "score", gettext_noop("No score"), gettext_noop("Left out."))
        if said.casefold() in MISSING:
            reader.refuse(row, "score", gettext_noop("No score"), gettext_noop("Left out."))
        number = _without(thousands, said)
        found = scaled(number, factor)
        if found is None or abs(found) > HIGHEST:
            wrong = _("Not a number from −%(highest)s to %(highest)s") % {
                "highest": count(HIGHEST // factor)
            }
            if found is None and DECIMAL.fullmatch(number):
                wrong = _("More than %(most)s decimals") % {"most": MOST_PLACES}
            reader.refuse(row, "score", wrong, _("Left out."))
        return found


# Of a number and its word in two columns the number is the score.
_LABELS = {plain(name) for name in LABELS} - {plain(name) for name in (*SCORES, "string_value")}


def _numbers_labels(rows: Sequence[Row], columns: Sequence[str], scores: Sequence[str]) -> bool:
    """Whether a few scores are only numbers for the words of a column of labels."""
    label = next((name for name in columns if plain(name) == "label"), "")
    words = [row.values.get(label, "").strip() for row in rows] if label else [""]
    return len(scores) < MIN_MARKS and all(words) and not any(map(DECIMAL.fullmatch, words))


def _given(cells: Iterable[str]) -> set[str]:
    """The scores of cells, without words that stand for none."""
    return {said for cell in cells if (said := cell.strip()) and said.casefold() not in MISSING}


def _number(score: str) -> float:
    return float(score.replace(",", "."))


def _factor_of(reader: Reader, rows: Iterable[Row], thousands: str) -> int:
    """Return the factor that makes all scores whole numbers."""
    given = {_without(thousands, reader.value(row, "score")) for row in rows}
    numbers = [said for said in given if DECIMAL.fullmatch(said)]
    for places in range(MOST_PLACES + 1):
        factor = 10**places
        if all(scaled(said, factor) is not None for said in numbers):
            break
    return factor


def _written(reader: Reader, rows: Iterable[Row], factor: int, thousands: str) -> dict[int, str]:
    """Each score as the file writes it most often, or first: 3.50 for 35 times 10."""
    found: dict[int, str] = {}
    for said, _n in Counter(reader.value(row, "score") for row in rows).most_common():
        if (score := scaled(_without(thousands, said), factor)) is not None:
            found.setdefault(score, said)
    return found


def _without(mark: str, said: str) -> str:
    """A number without a mark between its thousands."""
    head, end, decimals = said.partition("." if mark == "," else ",") if mark else (said, "", "")
    grouped = mark and GROUPS[mark].fullmatch(head)
    return head.replace(mark, "") + end + decimals if grouped else said


def _grouping(scores: Collection[str]) -> tuple[str, str | None]:
    """Return the mark that always stands before three digits, and how it is read; None: unclear.

    1,200 is 1200 beside 950, beside 1,200.50 and beside 1,000,000; alone it may be 1.2. A point is
    one of decimals unless something speaks against it.
    """
    for mark, other in ((",", "."), (".", ",")):
        marked = [said for said in scores if mark in said]
        if not marked or not all(
            GROUPS[mark].fullmatch(said.partition(other)[0]) for said in marked
        ):
            continue
        if any(said.count(mark) > 1 or other in said for said in marked):
            return mark, THOUSANDS
        bare = [said.replace(other, ".") for said in scores if mark not in said]
        numbers = [float(said) for said in bare if DECIMAL.fullmatch(said)]
        if any(abs(number) >= LEAST_WHOLE for number in numbers):
            return mark, THOUSANDS if mark == "," else None
        return mark, None if mark == "," else DECIMALS
    return "", DECIMALS


def _ungrouped(scores: Collection[str]) -> list[str]:
    """Scores without a mark that surely stands between thousands."""
    mark, reading = _grouping(scores)
    return [_without(mark if reading == THOUSANDS else "", said) for said in scores]


def _thousands_in(reader: Reader, rows: Iterable[Row], fixes: Fixes) -> tuple[str, list[str]]:
    """Return the mark between thousands ("" without), and why the scores cannot be read.

    What was not chosen is said, and each other reading is offered.
    """
    scores = {said for row in rows if (said := reader.value(row, "score"))}
    mark, reading = _grouping(scores)
    if not mark:
        return "", []
    column = reader.column("score")
    chosen = fixes.get(column, {}).get(mark)
    reading = reading if chosen is None else chosen
    example = min((said for said in scores if mark in said), key=lambda said: (len(said), said))
    uses = {THOUSANDS: _without(mark, example), DECIMALS: plain_number(example.replace(mark, "."))}
    for way, use in uses.items():
        if way != reading:
            text = _("Read “%(said)s” as %(use)s") % {"said": example, "use": use}
            offer(reader, "score", mark, way, text)
    if reading is None:
        text = _("“%(said)s” may be %(first)s or %(second)s. Choose one.")
        told = {"said": example, "first": uses[THOUSANDS], "second": uses[DECIMALS]}
        return "", [_("Thousands or decimals"), text % told]
    if chosen is None:
        note = _("%(column)s: “%(said)s” is read as %(use)s.")
        told = {"column": column, "said": example, "use": uses[reading]}
        reader.checked.notes.append(note % told)
    return mark if reading == THOUSANDS else "", []
