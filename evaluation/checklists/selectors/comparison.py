"""Finished comparisons of attribute sets, un-blinded, with the words that several people use."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _

from annotation.models import Task, User
from crowdqc.numbers import score
from evaluation.charts.scatter import Point, scatter
from evaluation.charts.svg import Axis, nice_ticks
from evaluation.checklists.filled.run import SLUG as CHECKS
from evaluation.checklists.making import pipeline
from evaluation.checklists.making.comparison import PREFERS, QUESTIONS, names
from evaluation.checklists.selectors.checks import OWN_FIGURES, Row, later_scores, own_sources
from evaluation.methods.checklists.correlation import SAMPLE_LEVEL
from evaluation.methods.checklists.diversity import self_rouge_l
from evaluation.methods.text.corpus import FUNCTION_WORDS, stem, token_ids, words
from evaluation.models import (
    ChecklistStage,
    ChecklistVersion,
    RunState,
    SetComparison,
)
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import plain_table
from evaluation.runs.official.selectors import official_first
from evaluation.runs.selectors.lists import figures_of

SHOWN_WORDS = 12
FEWEST_EXPERTS = 3  # persons of whom a majority is more than two of one mind
SHOWN_VERSIONS, MOST_ATTRIBUTES, POINT_NAME = 20, 400, 24
NOT_TOLD = {"set", "sets", "attribute", "attributes", "difference", "differences"}


def page(task: Task, reader: User) -> dict[str, Any]:
    """Return the finished comparisons; none while the reader is still comparing, to stay blind."""
    rows = list(
        SetComparison.objects.filter(item__task=task)
        .select_related("item__group", "by")
        .order_by("pk")
    )
    own = next((one for one in rows if one.by_id == reader.pk and one.finished_at is None), None)
    done = [one for one in rows if one.finished_at is not None]
    if own is not None:
        return {"groups": [], "own": own, "finished": len(done)}
    by_item: dict[int, list[SetComparison]] = {}
    for one in done:
        by_item.setdefault(one.item_id, []).append(one)
    # What the results page shows; ``own`` is the reader's unfinished comparison.
    return {
        "groups": [_group(part) for part in by_item.values()],
        "own": None,
        "finished": len(done),
    }


def _group(rows: list[SetComparison]) -> dict[str, Any]:
    dimension = pipeline.subject_of(rows[0].item).dimension
    questions = [
        _question(name, _(label).format(dimension=dimension), rows)
        for name, label in QUESTIONS.items()
    ]
    counted: Counter[str] = Counter()
    for one in rows:
        side = one.answers.get(PREFERS, "")
        counted[names(one)[side] if side else _("neither")] += 1
    people = len({one.by_id for one in rows})
    # The finished comparisons of one dimension.
    return {
        "dimension": dimension,
        "questions": questions,
        "people": people,
        "preferred": counted.most_common(),
    }


def _question(name: str, label: str, rows: list[SetComparison]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for one in rows:
        true = names(one)
        # What one person said, with whose A and B were.
        found.append(
            {"who": str(one.by), "a": true["A"], "b": true["B"], "text": one.answers.get(name, "")}
        )
    shared = shared_words([(one.by_id, one.answers.get(name, "")) for one in rows])
    people = len({one.by_id for one in rows})
    majority = [one for one in shared if 2 * one.people > people >= FEWEST_EXPERTS][:SHOWN_WORDS]
    for said in found:
        stems = {stem(word) for word in words(said["text"])}
        said["keywords"] = [word.word for word in majority if stem(word.word) in stems]
    # One question, every answer to it, and the words that come up with several persons.
    return {
        "label": label,
        "answers": found,
        "majority": majority,
        "shared": [one for one in shared if one not in majority][:SHOWN_WORDS],
    }


class SharedWord(NamedTuple):
    """A word with how many persons use it, and how often they do in all."""

    word: str
    people: int
    uses: int


def shared_words(texts: list[tuple[Any, str]]) -> list[SharedWord]:
    """List the words that at least two people used, most common first.

    Words of one stem count as one and stand in their first form; function words do not count.
    """
    users: dict[str, set[Any]] = {}
    forms: dict[str, str] = {}
    uses: Counter[str] = Counter()
    for who, text in texts:
        for word in words(text):
            if len(word) < 3 or word in FUNCTION_WORDS or word in NOT_TOLD:
                continue
            users.setdefault(stem(word), set()).add(who)
            forms.setdefault(stem(word), word)
            uses[stem(word)] += 1
    found = [
        SharedWord(forms[key], len(who), uses[key]) for key, who in users.items() if len(who) > 1
    ]
    return sorted(found, key=lambda one: (-one.people, -one.uses, one.word))


# How alike attributes are, and how well their checklist agrees with people (Figure 6a) -----------


@dataclass(frozen=True)
class MadeChecklist:
    """A frozen checklist as somebody filled it: its attributes, and its scores beside people's."""

    name: str
    condition: str
    answerer: str
    dimension: str
    n: int  # attributes
    rouge: float
    low: float | None
    high: float | None
    rho: float
    rho_low: float | None
    rho_high: float | None

    @property
    def title(self) -> str:
        return f"{self.name}, {self.answerer}"


MADE = (
    head_column("name", gettext_lazy("Checklist")),
    Column.text("condition", gettext_lazy("Made of")),
    Column.text("answerer", gettext_lazy("Filled by")),
    Column.count("n", gettext_lazy("Attributes")),
    Column.score(
        *("rouge", gettext_lazy("Self-ROUGE-L"), gettext_lazy("Alike")), bounds=("low", "high")
    ),
    Column.score(
        *("rho", gettext_lazy("ρ with people"), "ρ"),
        term="rho",
        bounds=("rho_low", "rho_high"),
        is_main=True,
    ),
)


def diversity_charts(task: Task) -> list[dict[str, Any]]:
    """Draw checklists of each dimension: how alike attributes are, and correlation."""
    versions = (
        ChecklistVersion.objects.filter(checklist__task=task, checklist__archived_at__isnull=True)
        .select_related("checklist__item__group")
        .prefetch_related("tasks", "checklist__stages")
        .order_by("-pk")[:SHOWN_VERSIONS]
    )
    found: dict[str, list[MadeChecklist]] = {}
    later = later_scores(task.project_id)
    for version in versions:
        for one in _checklists_of(version, later):
            found.setdefault(one.dimension, []).append(one)
    return [_chart(dimension, rows) for dimension, rows in sorted(found.items())]


def _checklists_of(version: ChecklistVersion, later: Row) -> list[MadeChecklist]:
    stages = [
        one
        for one in version.checklist.stages.all()
        if one.kind == ChecklistStage.Kind.ATTRIBUTES and one.created_at <= version.frozen_at
    ]
    texts = [entry["text"] for entry in stages[-1].data] if stages else []
    if not 2 <= len(texts) <= MOST_ATTRIBUTES:
        return []
    scored = [found for filled in version.tasks.all() for found in _scores_of(filled, later)]
    if not scored:
        return []
    alike = self_rouge_l(token_ids([words(text) for text in texts]))
    return [
        MadeChecklist(
            version.checklist.name,
            str(version.made_of.get("condition") or ""),
            answerer,
            pipeline.subject_of(version.checklist.item).dimension,
            len(texts),
            alike.estimate,
            None if alike.reason else alike.low,
            None if alike.reason else alike.high,
            row["estimate"],
            row["low"],
            row["high"],
        )
        for answerer, row in scored
    ]


def _scores_of(filled: Task, later: Row) -> list[tuple[str, Row]]:
    """Return who filled in the checklist (no single persons), with its correlation with people."""
    run = official_first(filled.runs.filter(method=CHECKS, state=RunState.DONE)).first()
    if run is None:
        return []
    told = figures_of(run, *OWN_FIGURES)
    kinds = {row["name"]: row["kind"] for row in told.get("answerers", ())}
    scored = {
        one.name: row
        for one in own_sources(run, told, later)
        if kinds.get(one.name, "person") != "person"
        for row in one.rows
        if (row["kind"], row["setting"]) == ("spearman", SAMPLE_LEVEL)
        and row.get("score", "share") == "share"
        and row["estimate"] is not None
    }
    return list(scored.items())


def _chart(dimension: str, rows: list[MadeChecklist]) -> dict[str, Any]:
    """The points of one dimension, and their table."""
    ends = [min(0.0, *(row.rho for row in rows)), max(row.rho for row in rows)]
    right = max(row.rouge for row in rows)
    across = _axis(gettext("Self-ROUGE-L: right is more alike"), 0.0, right)
    up = _axis(gettext("ρ with people"), *ends)
    sentence = "; ".join(
        gettext("%(title)s: self-ROUGE-L %(rouge)s, ρ %(rho)s")
        % {"title": row.title, "rouge": score(row.rouge, 2), "rho": score(row.rho, 2)}
        for row in rows
    )
    points = [Point(row.rouge, row.rho, _short(row.title)) for row in rows]
    title = gettext("Checklists of %(dimension)s, with 95%% CIs") % {"dimension": dimension}
    return {
        "dimension": dimension,
        "chart": scatter(points, across=across, up=up, sentence=sentence),
        "table": plain_table(title, MADE, rows, classes="data"),
    }


def _short(title: str) -> str:
    """A title as it fits beside a dot."""
    return title if len(title) <= POINT_NAME else f"{title[: POINT_NAME - 1]}…"


def _axis(name: str, low: float, high: float) -> Axis:
    """An axis with room for round ticks around what it holds."""
    ticks = nice_ticks(low, max(high, low + 0.1), 4)
    step = ticks[1] - ticks[0]
    low, high = min(low, ticks[0]), max(high, ticks[-1]) + step / 2
    return Axis(low, high, ticks, lambda tick: score(tick, 2), name)
