"""The kinds of tables that can be scored: what reads each, what it becomes, what scores it.

The reader says which columns a kind has, by which names they go, and how values decide whether a
file is of it (``annotation/formats/imports/tables``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from annotation.files.reading.importer import CheckedRows
from annotation.formats.imports.tables.base import TableReader
from annotation.formats.registry import READERS
from crowdqc.numbers import plural
from crowdqc.web.terms import Words
from evaluation.methods.aqer.method import METHOD as aqer_method
from evaluation.methods.core.memory import Size
from evaluation.methods.core.params import Method
from evaluation.methods.labels.method import METHOD as label_method
from evaluation.runs.memory import refuse_if_too_large
from evaluation.score_table.actions import tasks
from evaluation.score_table.reports import answers, comparisons, label_studio, labels, ratings
from evaluation.score_table.reports.text import Options, Report

About = Mapping[str, Any]
Methods = Callable[[About], list[tuple[str, str]]]


@dataclass(frozen=True)
class Kind:
    """A kind of table. ``make`` writes its task; the run is the main one of the task's type.

    ``votes`` is the field that says what was given, ``methods`` the names of methods with a
    sentence each, the one that is shown first before the others.
    """

    reader: TableReader
    needs: Words
    tells: str
    lines: str  # of an example
    votes: str
    make: Callable[..., tasks.Made]
    methods: Methods
    report: Callable[[CheckedRows, Options], Report]  # without a database
    example: str = ""  # a file that can be downloaded
    cost: tuple[float, float] = (3.0, 1.5)  # CPU seconds: of any run, and of each 1,000 votes more
    scored: tuple[Method, Callable[[CheckedRows], Size]] | None = None  # by what, and its size

    @property
    def title(self) -> str:
        return str(self.reader.title)

    def seconds(self, votes: int) -> int:
        """About how long scoring takes, to whole seconds."""
        least, more = self.cost
        return round(least + more * votes / 1_000)

    def refuse_if_too_large(self, checked: CheckedRows) -> None:
        """Raise Invalid where scoring these rows would take more memory than a run may."""
        if self.scored is not None:
            method, size_of = self.scored
            refuse_if_too_large(method, size_of(checked), {})


ALIGNED = re.compile(r"\S {2,}\S")


def reason_of_one_column(columns: Sequence[str]) -> str:
    """Why a file of one column cannot be scored; "" where it has more."""
    if len(columns) != 1:
        return ""
    if ALIGNED.search(columns[0]):
        return gettext(
            "Spaces align the values, but not at the same places in all lines. "
            "Write commas between them."
        )
    told = gettext(
        "The file has one column, “%(name)s”: a row has to say who gave what to which item."
    )
    return told % {"name": columns[0][:80]}


def _size_of_labels(checked: CheckedRows) -> Size:
    labels = len({one["label"] for one in checked.good})
    return Size.of_names(((one["worker"], one["item"]) for one in checked.good), labels=labels)


def _size_of_answers(checked: CheckedRows) -> Size:
    return Size.of_names((one["worker_id"], one["item_id"]) for one in checked.good)


def _of_labels(about: About) -> list[tuple[str, str]]:
    each = plural(round(sum(n for _, n in about["labels"]) / about["workers"]), "label")
    return [
        (
            "Dawid-Skene",
            gettext(
                "Shown first. Each worker gave about %(each)s: it estimates which labels "
                "each worker confuses."
            )
            % {"each": each},
        ),
        (
            "MACE",
            gettext(
                "Better when workers are few or some answer at random: it needs one number "
                "per worker, not a confusion matrix."
            ),
        ),
        (gettext("Majority vote"), gettext("The most frequent label. No estimate of competence.")),
    ]


def _of_comparisons(about: About) -> list[tuple[str, str]]:
    ties = (
        gettext("Ties are part of the model.") if about["ties"] else gettext("There are no ties.")
    )
    return [
        (
            "Bradley-Terry",
            gettext(
                "Ranks systems by who was preferred to whom, with intervals of scores and "
                "ranks. %(ties)s"
            )
            % {"ties": ties},
        ),
        ("MACE", gettext("Which judges look, and which guess, from pairs with several judges.")),
        ("Krippendorff’s alpha", gettext("How far judges agree, beyond chance.")),
    ]


def _of_answers(about: About) -> list[tuple[str, str]]:
    return [
        (
            "AQER",
            gettext(
                "Scores workers by how close their answers are to those of others to the "
                "same question. It needs no correct answers."
            ),
        )
    ]


def _of_ratings(about: About) -> list[tuple[str, str]]:
    return [
        (
            gettext("Krippendorff’s alpha, ordinal"),
            gettext("How far workers agree, with the order of scores."),
        ),
        (
            gettext("Means"),
            gettext("Of each system and each text, with intervals where there are enough ratings."),
        ),
    ]


def _of_label_studio(about: About) -> list[tuple[str, str]]:
    return METHODS_OF[about["type"]](about) if not about["cannot"] else []


METHODS_OF: dict[str, Methods] = {
    "labels": _of_labels,
    "pairwise": _of_comparisons,
    "free_text": _of_answers,
    "rating": _of_ratings,
}
LABELS = gettext_noop("Workers’ competence, the most likely label of each item, agreement.")
KINDS: dict[str, Kind] = {
    one.reader.slug: one
    for one in (
        Kind(
            READERS["label_table"],
            "worker, item, label",
            LABELS,
            "worker,item,label\nkestrel-07,c-014,Supported\nwren-14,c-014,Contradicted",
            "label",
            tasks.make_labels,
            _of_labels,
            labels.report,
            "labels",
            scored=(label_method, _size_of_labels),
        ),
        Kind(
            READERS["label_matrix"],
            gettext_lazy("item, a column per worker"),
            gettext_noop(
                "The same, from a row per item and a column per worker, or the other way round."
            ),
            "item,kestrel-07,wren-14\nc-014,yes,no\nc-015,yes,yes",
            "label",
            tasks.make_labels,
            _of_labels,
            labels.report,
            "matrix",
            scored=(label_method, _size_of_labels),
        ),
        Kind(
            READERS["comparison_table"],
            "judge, left, right, winner",
            gettext_noop(
                "A leaderboard of systems, ties and agreement between judges. Arena battles, too."
            ),
            "judge,left,right,winner\nheron-05,alder,birch,left\nteal-42,birch,cedar,tie",
            "winner",
            tasks.make_comparisons,
            _of_comparisons,
            comparisons.report,
            "comparisons",
            (2.0, 1.0),
        ),
        Kind(
            READERS["answer_table"],
            "worker, question, answer",
            gettext_noop("A ranking of workers by AQER, answers closest to the consensus."),
            'worker,question,answer\nlinden-22,q1,"Because …"\nplover-11,q1,"The yeast …"',
            "answer",
            tasks.make_answers,
            _of_answers,
            answers.report,
            "answers",
            (4.0, 10.0),
            scored=(aqer_method, _size_of_answers),
        ),
        Kind(
            READERS["rating_table"],
            "worker, item, score",
            gettext_noop("Agreement, means by system and text, and who rates high or low."),
            "worker,item,score\nosprey-03,t-08,4\nfennel-26,t-08,2",
            "score",
            tasks.make_ratings,
            _of_ratings,
            ratings.report,
            "ratings",
            (2.0, 0.5),
        ),
        Kind(
            READERS["label_studio"],
            "data, annotations",
            gettext_noop(
                "Its JSON export: choices, ratings, pairs or texts, with all annotators of "
                "each task."
            ),
            '[{"id": 1, "data": {"text": "…"},\n  "annotations": [{"completed_by": 7, …}]}]',
            "annotations",
            tasks.make_from_label_studio,
            _of_label_studio,
            label_studio.report,
        ),
    )
}
