"""Disagreement as a result: two camps of answers, and answers that many gave and few trusted.

Camps are two groups of workers whose common answers differ (``methods.aqer.diagnostics.camps``).
On a question each camp is shown by its size and its two most typical answers: those most like the
others of their camp, by the run's vectors, or by shared words where these are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Item
from annotation.work.snapshots import answers
from crowdqc.numbers import count, listed, plural, score
from evaluation.embeddings.vectors import stored_vectors
from evaluation.free_text.messages import MESSAGES
from evaluation.methods.aqer import diagnostics
from evaluation.models import Run
from evaluation.results.cells import dim, link
from evaluation.results.columns import Column, head_column
from evaluation.results.findings import Action, Finding
from evaluation.results.stored_texts import translate_all, translate_stored
from evaluation.results.tables import ResultTable, plain_table

TYPICAL = 2  # answers shown of a camp
SHOWN_CLUSTERS = 20
Row = dict[str, Any]
Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Camp:
    """Workers who agree with one another: their shares, or on one question their answers."""

    name: str
    workers: str = ""
    share: float | None = None  # of the answers
    weight: float | None = None
    within: float | None = None
    answers: int = 0
    typical: SafeString | str = ""


@dataclass(frozen=True)
class Ignored:
    """Near-identical answers that many gave and the scores hardly follow."""

    question: SafeString
    text: SafeString
    size: str
    weight: float


CAMP = head_column("name", gettext_lazy("Camp"), term="camps", classes="nowrap")
WEIGHT = Column.share("weight", gettext_lazy("Weight"))
CAMPS = (
    CAMP,
    Column.text("workers", gettext_lazy("Workers"), classes="full"),
    Column.share("share", gettext_lazy("Answers")),
    WEIGHT,
    Column.score("within", gettext_lazy("Alike within")),
)
CAMPS_HERE = (
    CAMP,
    Column.text("typical", gettext_lazy("Typical answers"), classes="full answer-cell"),
    Column.count("answers", gettext_lazy("Answers here")),
    WEIGHT,
)
IGNORED = (
    head_column("question", gettext_lazy("Question"), classes="question-cell"),
    Column.text("text", gettext_lazy("Answer"), classes="full best-cell"),
    Column.number("size", gettext_lazy("Given by"), classes="nowrap"),
    WEIGHT,
)


def _camps_of(told: Figures) -> list[Figures]:
    return [part for part in told.get("camps", []) if part["found"]]


def on_question(run: Run, told: Figures, rows: Sequence[Row]) -> list[Camp]:
    """Return the two camps among the answers to a question, heavier first; [] without camps.

    ``rows`` are its answers as ``questions.question`` gives them. A camp of which nobody answered
    is there with no answer; of neither, there are none.
    """
    for part in _camps_of(told):
        ordered = sorted(part["groups"], key=lambda one: -one["share_of_weight"])
        sides = [[row for row in rows if row["worker_id"] in one["workers"]] for one in ordered]
        if any(sides):
            alike = _similarities(run, told, [row["text"] for side in sides for row in side])
            return _described(ordered, sides, alike)
    return []


def _described(
    groups: Sequence[Figures], sides: Sequence[Sequence[Row]], alike: np.ndarray
) -> list[Camp]:
    made, begin = [], 0
    for letter, group, side in zip("AB", groups, sides, strict=True):
        own = alike[begin : begin + len(side), begin : begin + len(side)]
        begin += len(side)
        closeness = own.sum(axis=1) - own.diagonal()
        order = np.argsort(-closeness, kind="stable")
        said: dict[str, Row] = {}  # each text once, with how often it was given
        for at in order:
            text = " ".join(side[at]["text"].split())
            said.setdefault(text, {**side[at], "same": 0})["same"] += 1
        shown = list(said.values())[:TYPICAL]
        typical = format_html_join("", "{}", ((_typical(row),) for row in shown))
        made.append(
            Camp(
                _("Camp %(letter)s") % {"letter": letter},
                weight=group["share_of_weight"],
                answers=len(side),
                typical=typical or dim(_("nobody of this camp answered")),
            )
        )
    return made


def _typical(row: Row) -> SafeString:
    times = _("given %(same)s times") % {"same": count(row["same"])}
    note = times if row["same"] > 1 else row["author"]
    return format_html('<p><span class="serif">{}</span> <small>{}</small></p>', row["text"], note)


def _similarities(run: Run, told: Figures, texts: Sequence[str]) -> np.ndarray:
    """Cosines of the texts (n, n) by the run's vectors, else how many words two share."""
    encoder = str(told.get("recipe", {}).get("encoder", ""))
    kept = stored_vectors(encoder, texts) if texts else None
    if kept is not None:
        length = np.linalg.norm(kept, axis=1, keepdims=True)
        unit = kept / np.where(length > 0, length, 1.0)
        return np.asarray(unit @ unit.T, dtype=np.float64)
    words = [frozenset(text.lower().split()) for text in texts]
    return np.array(
        [[len(one & two) / max(1, len(one | two)) for two in words] for one in words]
    ).reshape(len(words), len(words))


def questions_findings(
    run: Run, parts: Sequence[Figures], least: Sequence[int] = ()
) -> list[Finding]:
    """Return findings on camps and on questions with low agreement."""
    page = reverse("task_results_questions", args=[run.project_id, run.task_id])
    action = Action(_("Lowest agreement first"), f"{page}?run={run.number}&sort=agreement")
    if any(part["found"] for part in parts):
        return [camps_verdict(parts), MESSAGES.find("read_camps", action=action)]
    if least:
        numbers = listed([count(one) for one in least])
        read = MESSAGES.find("read_lowest_questions", action=action, numbers=numbers)
        return [camps_verdict(parts), read]
    return [camps_verdict(parts), MESSAGES.find("read_lowest", action=action)]


def camps_verdict(parts: Sequence[Figures]) -> Finding:
    """Whether one best answer can speak for all, by the interval that finds camps (``camps``)."""
    if any(part["found"] for part in parts):
        return MESSAGES.find("two_camps")
    reason = next((part["reason"] for part in parts if part["found"] is None), None)
    if parts and reason is None:
        return MESSAGES.find("no_camps")
    if reason == translate_stored(diagnostics.TOO_FEW_FOR_CAMPS):
        workers = 2 * diagnostics.SMALLEST_CAMP
        return MESSAGES.find("camps_need_more", workers=workers, questions=diagnostics.FEWEST)
    if reason in translate_all([diagnostics.TOO_MANY_WORKERS, str(diagnostics.TOO_MANY["reason"])]):
        return MESSAGES.find("camps_too_many")
    return MESSAGES.find("camps_unknown")


def overview(run: Run, told: Figures, names: Mapping[int, str], keep: str) -> Row:
    """Summarise disagreement: the camps of workers found, and answers with little trust."""
    camps = []
    for part in _camps_of(told):
        ordered = sorted(part["groups"], key=lambda one: -one["share_of_weight"])
        rows = [
            Camp(
                _("Camp %(letter)s") % {"letter": letter},
                ", ".join(sorted(names.get(pk, "a worker") for pk in one["workers"])),
                *(one[name] for name in ("share_of_answers", "share_of_weight", "within")),
            )
            for letter, one in zip("AB", ordered, strict=True)
        ]
        table = plain_table(_("The two camps of workers"), CAMPS, rows, classes="data")
        camps.append((score(part["between"], 2), table))
    reasons = [part["reason"] for part in told.get("camps", []) if part["found"] is None]
    return {
        "camps": camps,
        "why_none": _("Not examined: %(reasons)s.") % {"reasons": reasons[0]}
        if reasons and not camps
        else "",
        "ignored": _ignored(run, told, keep),
    }


def _ignored(run: Run, told: Figures, keep: str) -> ResultTable | None:
    """Near-identical answers that hold less than half of their share of the weight."""
    low = [
        one
        for part in told.get("clusters", [])
        for one in part.get("listed", [])
        if one.get("low_weighted")
    ][:SHOWN_CLUSTERS]
    said = answers.texts_of([one["answer"] for one in low])
    asked = dict(
        Item.objects.filter(pk__in=[one["question"] for one in low]).values_list("pk", "question")
    )
    rows = []
    for one in low:
        ids = [run.project_id, run.task_id, one["question"]]
        question = Truncator(asked.get(one["question"], "")).chars(110)
        text = said[one["answer"]].text if one["answer"] in said else ""
        given = {"size": one["size"], "answers": plural(one["of"], "answer")}
        rows.append(
            Ignored(
                link(reverse("task_results_question", args=ids) + keep, question, "title"),
                format_html('<span class="serif">{}</span>', Truncator(text).chars(140)),
                _("%(size)s of %(answers)s") % given,
                one["share_of_weight"],
            )
        )
    title = _("Near-identical answers with little weight")
    return plain_table(title, IGNORED, rows) if rows else None
