"""Responses one by one, signals with their base rates, and what people said in the forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, FloatField, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.models import Answer, Task
from crowdqc.numbers import MINUS, clock, count, percent, plural, score
from evaluation.charts import writing as charts_writing
from evaluation.methods.writing.signals import PARAMETERS, SIGNALS
from evaluation.models import AnswerScore, Run
from evaluation.writing.dataset import MODELS, PEOPLE
from evaluation.writing.run import OWN, asked_points
from evaluation.writing.selectors.facts import (
    ALL,
    EstimateInWords,
    NamedFigures,
    figure,
    style_labels,
)

PER_PAGE, SHOWN_MOMENTS = 50, 6
LABELS = {signal.slug: signal.label for signal in SIGNALS}
# Signal -> the thresholds that it uses, by name.
THRESHOLDS = {
    "outside_paste": ("outside_words",),
    "unexplained_jump": ("jump_characters",),
    "even_keys": ("even_keys", "even_spread"),
    "no_corrections": (
        "correction_keys",
        "correction_share",
        "correction_changes",
        "correction_changes_share",
    ),
    "faster_than_own": ("faster_characters", "faster_ratio", "faster_responses"),
    "before_reading": ("reading_words", "reading_seconds"),
}
# Name -> how the list is sorted; by a figure of the run, the largest first.
SORTS: dict[str, tuple[Any, ...]] = {
    "topic": ("item__group__position", "item__group_id"),
    **dict.fromkeys(("words", "minutes", "signals"), (F("by").desc(nulls_last=True),)),
}
MEASURED: dict[str, Any] = {
    "words": F("estimate"),
    "minutes": Cast(KT("extra__minutes"), FloatField()),
    "signals": Cast(KT("extra__fired"), IntegerField()),
}
LAST = ("item__position", "item_id", "worker_id", "pk")


@dataclass(frozen=True)
class ResponseRow:
    """A response on the list; figures are None where the run shown did not see it."""

    answer: Any
    style: str
    figures: Mapping[str, Any]
    words: int | None
    minutes: float | None
    flags: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """Its author: a pseudonym, or a model."""
        return str(self.answer.worker.pseudonym if self.answer.worker else self.answer.system)

    @property
    def seen(self) -> bool:
        return self.words is not None


@dataclass(frozen=True)
class ListFilter:
    """What the list is narrowed to, and its order."""

    style: str = ""
    origin: str = ""
    signal: str = ""
    sort: str = "topic"


def parse_filter(raw: Mapping[str, str]) -> ListFilter:
    """From a query string; what is not understood filters nothing."""
    sort, signal, origin = raw.get("sort", ""), raw.get("signal", ""), raw.get("origin", "")
    return ListFilter(
        style=raw.get("style", ""),
        origin=origin if origin in (PEOPLE, MODELS) else "",
        signal=signal if signal in LABELS or signal == "any" else "",
        sort=sort if sort in SORTS else "topic",
    )


def _answers(task: Task, run: Run, sort: str) -> QuerySet[Answer]:
    found = (
        Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN)
        .select_related("worker", "system", "assignment", "item__group")
        .defer("item__group__passages", "item__group__passage", "item__question")
    )
    if sort in MEASURED:
        own = AnswerScore.objects.filter(run=run, answer=OuterRef("pk"), dimension=OWN)
        found = found.annotate(by=Subquery(own.values(value=MEASURED[sort])[:1]))
    return found


def _narrowed(task: Task, run: Run, wanted: ListFilter) -> QuerySet[Answer]:
    found = _answers(task, run, wanted.sort)
    if wanted.style:
        found = found.filter(item__settings__style=wanted.style)
    if wanted.origin:
        found = found.filter(worker__isnull=wanted.origin == MODELS)
    if wanted.signal:
        # Of a signal that was asked for, those on which it fired.
        rows = AnswerScore.objects.filter(run=run, dimension=OWN)
        rows = rows.filter(
            Q(extra__fired__gt=0)
            if wanted.signal == "any"
            else Q(**{f"extra__states__{wanted.signal}": "fired"})
        )
        found = found.filter(pk__in=rows.values("answer"))
    return found.order_by(*SORTS[wanted.sort], *LAST)


def page(task: Task, run: Run, wanted: ListFilter, number: Any) -> tuple[Page, list[ResponseRow]]:
    """A page of responses, in three queries whatever their number."""
    shown = Paginator(_narrowed(task, run, wanted), PER_PAGE).get_page(number)
    answers, styles = list(shown.object_list), style_labels(task)
    scores = {
        row.answer_id: row
        for row in AnswerScore.objects.filter(run=run, answer__in=answers, dimension=OWN)
    }
    return shown, [_row(answer, scores.get(answer.pk), styles) for answer in answers]


def _row(answer: Answer, scored: AnswerScore | None, styles: Mapping[str, str]) -> ResponseRow:
    name = str(answer.item.settings.get("style", ""))
    told = scored.extra if scored is not None else {}
    words = scored.estimate if scored is not None else None
    return ResponseRow(
        answer=answer,
        style=styles.get(name, name),
        figures=told,
        words=None if words is None else round(words),
        minutes=told.get("minutes"),
        flags=_flags(told),
    )


def _flags(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    made = []
    for slug, state in told.get("states", {}).items():
        if state != "fired":
            continue
        kept = told.get("moments", {}).get(slug, [])
        moments = {clock(ms / 1000): (f"{ms / 1000:.1f}", words) for ms, words in reversed(kept)}
        shown = [(at, when, words) for when, (at, words) in reversed(moments.items())]
        said = told.get("sentences", {}).get(slug, "")
        more = max(0, len(shown) - SHOWN_MOMENTS)
        # A signal that fired on a response, and the moments in its replay: (seconds, clock,
        # words).
        made.append(
            {
                "slug": slug,
                "label": LABELS.get(slug, slug),
                "sentence": said,
                "moments": shown[:SHOWN_MOMENTS],
                # moments that only the replay lists
                "more": more,
            }
        )
    return made


def responses(task: Task, told: NamedFigures, wanted: ListFilter, number: Any) -> dict[str, Any]:
    """The table of all responses, those that do not count marked."""
    shown, rows = page(task, told.run, wanted, number)
    return {"page": shown, "rows": rows, "chosen": wanted, **_choices(told)}


def _choices(told: NamedFigures) -> dict[str, Any]:
    return {
        "styles": [(name, told.style(name)) for name in told.styles],
        "origins": [
            (name, label)
            for name, label in ((PEOPLE, _("People")), (MODELS, _("Models")))
            if name in told.groups
        ],
        "signals": list(LABELS.items()),
        "sorts": (
            ("topic", _("Topic")),
            ("words", _("Words")),
            ("minutes", _("Minutes")),
            ("signals", _("Signals that fired")),
        ),
    }


# Signals --------------------------------------------------------------------------------------


def signals(task: Task, told: NamedFigures, wanted: ListFilter, number: Any) -> dict[str, Any]:
    """Each signal with its base rate, and the responses on which any fired."""
    rates, kept = told.figures.get("signals", {}), told.figures.get("logs", {})
    narrowed = ListFilter(wanted.style, PEOPLE, wanted.signal or "any", "topic")
    shown, rows = page(task, told.run, narrowed, number)
    return {
        "table": [_signal(slug, rates[slug], kept) for slug in LABELS if slug in rates],
        "kept": kept,
        "page": shown,
        "rows": rows,
        "chosen": wanted,
        **_choices(told),
    }


def _signal(slug: str, row: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    signal = next(one for one in SIGNALS if one.slug == slug)
    used = kept.get("parameters", {})
    ends = ""
    if row["low"] is not None:
        ends = f"{100 * row['low']:.1f}–{100 * row['high']:.1f}%"
    share = row["share"]
    rate = EstimateInWords("none" if share is None else percent(share, 1), ends, row["reason"])
    # A signal: how it is calculated, and how often it fires here.
    return {
        "slug": slug,
        "label": signal.label,
        "sentence": signal.sentence,
        "thresholds": [
            f"{used.get(name, PARAMETERS[name].default):g} {PARAMETERS[name].words}"
            for name in THRESHOLDS.get(slug, ())
            if name in PARAMETERS
        ],
        "rate": rate,
        "fired": row["fired"],
        "judged": row["judged"],
        "workers": _("%(fired)s of %(workers)s")
        % {"fired": count(row["workers_fired"]), "workers": plural(row["workers"], "worker")},
        "not_recorded": row["not_recorded"],
        "too_little": row["too_little"],
    }


# Questionnaires -------------------------------------------------------------------------------


def questionnaires(task: Task, told: NamedFigures) -> dict[str, Any]:
    """How people answered before and after writing, and what goes together."""
    found = told.figures.get("forms", {})
    asked = asked_points(task)
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in found.get("distributions", []):
        by_name.setdefault(row["question"], []).append(row)
    parts = []
    for form, title in (("entry", _("Before writing")), ("exit", _("After writing"))):
        questions = [
            _question(told, asked[name][1], rows)
            for name, rows in by_name.items()
            if name in asked and asked[name][0] == form
        ]
        pairs = [
            _correlation(row, asked)
            for row in found.get("correlations", [])
            if row["first"].startswith(f"{form}.") and {row["first"], row["second"]} <= set(asked)
        ]
        if questions:
            parts.append({"title": title, "questions": questions, "pairs": pairs})
    return {"parts": parts, "n": found.get("n", 0)}


def _question(told: NamedFigures, row: Any, rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    named = {int(point["value"]): str(point["label"]) for point in row["points"]}
    points = list(rows[0]["points"]) if rows else []
    made = []
    for one in rows:
        n = one["n"]
        if one["style"] == ALL and len(told.styles) < 2:
            continue
        bar = charts_writing.points_bar(one["counts"], most=max(one["counts"], default=0))
        shares = [percent(k / n) if n else _("none") for k in one["counts"]]
        mean = EstimateInWords(
            figure(one["mean"], 1),
            (_("median %(median)s") % {"median": f"{one['median']:g}"}).replace("-", MINUS)
            if n
            else "",
        )
        made.append((told.style(one["style"]), n, shares, mean, bar))
    heads = [
        named[p] if named.get(p, "") in ("", str(p)) else f"{named[p]}"
        for p in points
        if p in named
    ]
    heads += [str(p) for p in points if p not in named]
    # A question of a form: a row a style, the share of each point.
    return {"label": row["label"], "question": row["question"], "points": heads, "rows": made}


def _correlation(row: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    low, high = row["low"], row["high"]
    ends = (
        _("%(low)s to %(high)s") % {"low": score(low, 2), "high": score(high, 2)}
        if low is not None
        else ""
    )
    return {
        "first": asked[row["first"]][1]["label"],
        "second": asked[row["second"]][1]["label"],
        "rho": EstimateInWords(score(row["rho"], 2), ends, row["reason"]),
        "n": row["n"],
    }
