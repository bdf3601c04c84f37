"""Responses one by one, signals with their base rates, and what people said in the forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, FloatField, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.template.defaultfilters import floatformat
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from annotation.models import Answer, Task
from annotation.task_types.ready_made import translate_ready_made
from crowdqc.numbers import (
    clock,
    count,
    general,
    mid_sentence,
    percent,
    percent_interval,
    plural,
    score,
)
from evaluation.charts import writing as charts_writing
from evaluation.methods.writing.signals import PARAMETERS
from evaluation.models import AnswerScore, Run
from evaluation.results.cells import Cell, beside, bold, link, note_below
from evaluation.results.columns import Column, Format
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.rows import typed
from evaluation.results.tables import plain_table
from evaluation.writing.dataset import MODELS, PEOPLE
from evaluation.writing.run import OWN, asked_points
from evaluation.writing.selectors.facts import (
    ALL,
    EstimateInWords,
    NamedFigures,
    figure,
    style_labels,
)
from evaluation.writing.words import CALCULATIONS, LABELS

PER_PAGE, SHOWN_MOMENTS = 50, 6
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
    why: str  # stands in place of the figures

    @property
    def name(self) -> str:
        """Pseudonym or model of the author."""
        return str(self.answer.worker.pseudonym if self.answer.worker else self.answer.system)

    @property
    def no_log(self) -> str:
        """Why the minutes are missing; "" if they are known."""
        if self.answer.assignment.log_erased_at:
            return _("log erased")
        return _("no log") if self.minutes is None else ""

    @property
    def sure(self) -> bool:
        """Whether the run shown saw it."""
        return self.words is not None


@dataclass(frozen=True)
class ListFilter:
    """What the list is narrowed to, and its order."""

    style: str = ""
    origin: str = ""
    signal: str = ""
    sort: str = "topic"


def parse_filter(raw: Mapping[str, str]) -> ListFilter:
    """Read a filter from a query string; unknown values filter nothing."""
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
    """Return a page of responses (three queries)."""
    shown = Paginator(_narrowed(task, run, wanted), PER_PAGE).get_page(number)
    answers, styles = list(shown.object_list), style_labels(task)
    scores = {
        row.answer_id: row
        for row in AnswerScore.objects.filter(run=run, answer__in=answers, dimension=OWN)
    }
    unseen = _("not in run %(number)s") % {"number": run.number}
    return shown, [_row(answer, scores.get(answer.pk), styles, unseen) for answer in answers]


def _row(
    answer: Answer, scored: AnswerScore | None, styles: Mapping[str, str], unseen: str
) -> ResponseRow:
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
        why=unseen,
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
    table = plain_table(
        *(_("Responses to the topics of this task"), _response_columns(task), rows),
        empty=_("No response is like this."),
    )
    return {"page": shown, "table": table, "chosen": wanted, **_choices(told)}


def _title(task: Task, row: ResponseRow, *, leads: bool) -> SafeString:
    group = row.answer.item.group
    title = Truncator(group.title or group.key).chars(60)
    if not leads:
        return format_html('<span class="title">{}</span>', title)
    return link(reverse("replay", args=[task.project_id, task.pk, row.answer.pk]), title, "title")


def _author(task: Task, row: ResponseRow) -> SafeString | str:
    if not row.answer.worker_id:
        return row.name
    return link(reverse("worker_card", args=[task.project_id, row.answer.worker_id]), row.name)


def _citations(row: ResponseRow) -> SafeString:
    unknown = row.figures.get("unknown")
    note = _("%(unknown)s of no passage") % {"unknown": unknown} if unknown else ""
    return note_below(count(row.figures.get("citations")), note)


def _minutes(row: ResponseRow) -> Cell:
    html = ""
    if row.answer.worker_id:
        html = row.no_log or floatformat(row.minutes, 0)
    return Cell(html, "num zero" if row.minutes is None else "num", _("Minutes"))


def _signal_flags(task: Task, row: ResponseRow, *, wordy: bool = False) -> SafeString:
    context = {"task": task, "row": row, "wordy": wordy}
    return render_to_string("evaluation/writing/_flags.html", context)


def _fired(task: Task, row: ResponseRow) -> Cell:
    html = _signal_flags(task, row) if row.answer.worker_id else ""
    return Cell(html, "full" if row.flags else "l0")


def _counts(row: ResponseRow) -> SafeString | str:
    if row.answer.counts:
        return _("yes")
    return note_below(_("no"), Truncator(row.answer.uncounted_reason).chars(60))


def _response_columns(task: Task) -> Sequence[Column]:
    seen: dict[str, Any] = {"needs_interval": True}
    return (
        Column.text(
            *("topic", _("Topic")),
            html=lambda row: _title(task, row, leads=bool(row.answer.worker_id)),
            classes="l1",
        ),
        Column.text("author", _("Author"), html=partial(_author, task), classes="nowrap l1r"),
        Column.text("style", _("Style"), _("Style"), classes="nowrap"),
        Column.count("words", _("Words"), **seen),
        Column.number("citations", _("Citations"), html=_citations, **seen),
        Column.count(
            "passages", _("Passages"), value=lambda row: row.figures.get("documents"), **seen
        ),
        Column.number("minutes", _("Minutes at work"), cell=_minutes, **seen),
        Column.text("flags", _("Signals"), cell=partial(_fired, task), **seen),
        Column.text("counts", _("Counts"), _("Counts"), html=_counts),
    )


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
    """Return each signal with its base rate, and the responses on which any fired."""
    rates, kept = told.figures.get("signals", {}), told.figures.get("logs", {})
    narrowed = ListFilter(wanted.style, PEOPLE, wanted.signal or "any", "topic")
    shown, rows = page(task, told.run, narrowed, number)
    return {
        "table": plain_table(
            _("Signals with their base rates"),
            RATES,
            [_signal(slug, rates[slug], kept) for slug in LABELS if slug in rates],
            classes="data two-line signals",
        ),
        "kept": kept,
        "page": shown,
        "fired": rows
        and plain_table(_("Responses with the signals that fired"), _fired_columns(task), rows),
        "chosen": wanted,
        **_choices(told),
    }


def _fired_columns(task: Task) -> Sequence[Column]:
    return (
        Column.text(
            *("name", _("Response")),
            html=lambda row: note_below(_title(task, row, leads=True), row.name),
            classes="l1",
        ),
        Column.text("style", _("Style"), _("Style"), classes="nowrap"),
        Column.count("words", _("Words")),
        Column.number(
            *("minutes", _("Minutes at work"), _("Minutes")),
            html=lambda row: (
                zero(row.no_log) if row.minutes is None else floatformat(row.minutes, 0)
            ),
        ),
        Column.text(
            *("flags", _("What was found, with the time in the replay")),
            html=lambda row: _signal_flags(task, row, wordy=True),
            classes="full",
        ),
    )


@dataclass(frozen=True)
class SignalRow:
    """A signal: how it is calculated, and how often it fires here."""

    label: str
    sentence: str
    thresholds: Sequence[str]
    rate: EstimateInWords
    fired: int
    judged: int
    workers: str
    not_recorded: int
    too_little: int

    @property
    def description(self) -> SafeString:
        """Return what the signal looks for, with its thresholds folded away."""
        lines = format_html_join("", "<li>{}</li>", ((one,) for one in self.thresholds))
        return format_html(
            '{}<p>{}</p><details class="more"><summary>{}</summary><ul>{}</ul></details>',
            *(bold(self.label), self.sentence, _("Thresholds"), lines),
        )

    @property
    def fires(self) -> SafeString:
        """Return in how many of the judged responses the signal was found."""
        if not self.judged:
            return zero(_("none judged"))
        return beside(bold(count(self.fired)), _("of %(n)s") % {"n": count(self.judged)})


def zero(text: str) -> SafeString:
    """Render a text in place of a missing figure."""
    return format_html('<span class="zero">{}</span>', text)


def _judged(label: str, html: Callable[[SignalRow], SafeString | str], classes: str = "num") -> Any:
    """Makes the cell of what is known of signals that could be judged."""

    def cell(row: SignalRow) -> Cell:
        if not row.judged:
            return Cell("", f"{classes} l0", gettext(label))
        return Cell(html(row), classes, gettext(label))

    return cell


RATES = (
    Column.text(
        *("what", gettext_lazy("Signal and how it is calculated")),
        html=lambda row: row.description,
        classes="l1 what",
    ),
    Column.number(
        "fired", gettext_lazy("Fires"), "", html=lambda row: row.fires, classes="nowrap l1r"
    ),
    Column.number(
        *("rate", gettext_lazy("Base rate")),
        cell=_judged(gettext_noop("Base rate"), lambda row: row.rate.html()),
    ),
    Column.number(
        *("workers", gettext_lazy("Of how many workers")),
        cell=_judged(gettext_noop("Workers"), lambda row: row.workers, "num nowrap"),
    ),
    Column.count("too_little", gettext_lazy("Too little"), fades_zero=True),
    Column.count("not_recorded", gettext_lazy("Not recorded"), fades_zero=True),
)


def _signal(slug: str, row: Mapping[str, Any], kept: Mapping[str, Any]) -> SignalRow:
    used = kept.get("parameters", {})
    ends = ""
    if row["low"] is not None:
        ends = percent_interval(row["low"], row["high"], 1)
    share, workers = row["share"], plural(row["workers"], "worker")
    return typed(
        SignalRow,
        row,
        label=str(LABELS[slug]),
        sentence=str(CALCULATIONS[slug]),
        thresholds=[
            f"{general(used.get(name, PARAMETERS[name].default))} {PARAMETERS[name].words}"
            for name in THRESHOLDS.get(slug, ())
            if name in PARAMETERS
        ],
        rate=EstimateInWords("none" if share is None else percent(share, 1), ends, row["reason"]),
        workers=_("%(fired)s of %(workers)s")
        % {"fired": count(row["workers_fired"]), "workers": workers},
    )


# Questionnaires -------------------------------------------------------------------------------


def questionnaires(task: Task, told: NamedFigures) -> dict[str, Any]:
    """Summarise the questionnaires before and after writing."""
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
            said = _("Spearman’s ρ between questions, %(title)s") % {"title": mid_sentence(title)}
            look = "data two-line small"
            table = pairs and plain_table(said, CORRELATIONS, pairs, classes=look)
            parts.append({"title": title, "questions": questions, "pairs": table})
    return {"parts": parts, "n": found.get("n", 0)}


def _question(told: NamedFigures, row: Any, rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    named = {
        int(point["value"]): translate_ready_made(str(point["label"])) for point in row["points"]
    }
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
            _("median %(median)s") % {"median": general(one["median"])} if n else "",
        )
        cells = [
            Cell(bar, "plot"),
            *(Cell(share, "num") for share in shares),
            Cell(mean.html(), "num nowrap"),
            Cell(count(n), "num"),
        ]
        made.append(MatrixRow(told.style(one["style"]), cells))
    heads = [named[p] for p in points if p in named]
    heads += [str(p) for p in points if p not in named]
    plot, numbers = Column("", _("Columns, a point each"), Format.PLOT), [_("Mean"), _("Answers")]
    return {
        "label": translate_ready_made(row["label"]),
        "question": row["question"],
        "table": matrix_table(
            row["question"],
            _("Style"),
            [plot, *(Column.number("", head) for head in [*heads, *numbers])],
            made,
            name_classes="nowrap",
            classes="data form-answers",
        ),
    }


@dataclass(frozen=True)
class CorrelationRow:
    """How far the answers to two questions go together."""

    names: str
    rho: EstimateInWords
    n: int


CORRELATIONS = (
    Column.text("names", gettext_lazy("Questions"), classes="l1"),
    Column.number(
        *("rho", gettext_lazy("Spearman’s ρ"), ""),
        term="rho",
        html=lambda row: row.rho.html(),
        classes="l1r nowrap",
    ),
    Column.count("n", gettext_lazy("Answers")),
)


def _correlation(row: Mapping[str, Any], asked: Mapping[str, Any]) -> CorrelationRow:
    low, high = row["low"], row["high"]
    ends = (
        _("%(low)s to %(high)s") % {"low": score(low, 2), "high": score(high, 2)}
        if low is not None
        else ""
    )
    first, second = (
        translate_ready_made(asked[row[name]][1]["label"]) for name in ("first", "second")
    )
    return CorrelationRow(
        _("%(first)s and %(second)s") % {"first": first, "second": second.lower()},
        EstimateInWords(score(row["rho"], 2), ends, row["reason"]),
        row["n"],
    )
