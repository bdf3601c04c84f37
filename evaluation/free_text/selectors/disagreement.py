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
from crowdqc.numbers import count, plural, score
from evaluation.embeddings.vectors import stored_vectors
from evaluation.methods.aqer import diagnostics
from evaluation.models import Run
from evaluation.results.cells import dim, link
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.selectors.verdicts import NextStep, Verdict

TYPICAL = 2  # answers shown of a camp
SHOWN_CLUSTERS = 20
Row = dict[str, Any]
Told = Mapping[str, Any]


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


def _found(told: Told) -> list[Told]:
    return [part for part in told.get("camps", []) if part["found"]]


def on_question(run: Run, told: Told, rows: Sequence[Row]) -> list[Camp]:
    """The two camps among the answers to one question, the one with more weight first, or [].

    ``rows`` are its answers as ``questions.question`` gives them. A camp of which nobody answered
    is there with no answer; of neither, there are none.
    """
    for part in _found(told):
        ordered = sorted(part["groups"], key=lambda one: -one["share_of_weight"])
        sides = [[row for row in rows if row["worker_id"] in one["workers"]] for one in ordered]
        if any(sides):
            alike = _similarities(run, told, [row["text"] for side in sides for row in side])
            return _described(ordered, sides, alike)
    return []


def _described(
    groups: Sequence[Told], sides: Sequence[Sequence[Row]], alike: np.ndarray
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


def _similarities(run: Run, told: Told, texts: Sequence[str]) -> np.ndarray:
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


def what_now(run: Run, parts: Sequence[Told], least: Sequence[int] = ()) -> Verdict:
    """The verdict of the list of questions, and which to read; ``least``: numbers of the lowest."""
    page = reverse("task_results_questions", args=[run.project_id, run.task_id])
    told = {"numbers": ", ".join(count(one) for one in least)}
    found = one_truth(parts)
    if any(part["found"] for part in parts):
        said = _("Read the typical answers of both camps before you use the best ones.")
    elif least:
        said = _(
            "Use the best answers to the other questions as they are. Read questions %(numbers)s "
            "first: use the best answer where the question is clear and the answer right, and "
            "leave it out where not. Reword a question that can be understood in two ways if you "
            "ask it again."
        )
        head = _("Lowest agreement: questions %(numbers)s.") % told
        found = Verdict(head, found.sentence)
    else:
        said = _("Read the questions with the lowest agreement before you use their best answers.")
    link = f"{page}?run={run.number}&sort=agreement"
    cost = _("Nothing: reading them needs nobody else.")
    return found.then(NextStep(said % told, _("Lowest agreement first"), link, cost=cost))


def one_truth(parts: Sequence[Told]) -> Verdict:
    """Whether one best answer can speak for all, by the interval that finds camps (``camps``)."""
    if not parts:
        return Verdict(_("This run does not say whether workers form camps."))
    if any(part["found"] for part in parts):
        return Verdict(
            _("Workers form two camps, so a best answer may speak for only one of them.")
        )
    reasons = [part["reason"] for part in parts if part["found"] is None]
    if reasons:
        return Verdict(_unknown(reasons[0]))
    return Verdict(_("No split of the workers into two camps is shown."))


def _unknown(reason: str) -> str:
    """Why nobody knows whether workers form camps."""
    told = {"workers": 2 * diagnostics.SMALLEST_CAMP, "questions": diagnostics.FEWEST}
    if reason == diagnostics.TOO_FEW_FOR_CAMPS:
        said = _("It takes %(workers)s workers and %(questions)s questions to tell two camps.")
        return said % told
    if reason == diagnostics.TOO_MANY_WORKERS:
        return _("Whether workers form two camps is not examined among so many workers.")
    if reason == diagnostics.TOO_MANY["reason"]:
        return _("Whether workers form two camps is not examined among so many answers.")
    return _("Whether workers form two camps is not known.")


def overview(run: Run, told: Told, names: Mapping[int, str], keep: str) -> Row:
    """What the list of questions says: camps, or why none is told, and answers hardly trusted."""
    camps = []
    for part in _found(told):
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


def _ignored(run: Run, told: Told, keep: str) -> ResultTable | None:
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
