"""Findings of a labels task: what its intervals allow to say, what to do, what to read first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.numbers import count, interval, plural, score
from evaluation.labels.messages import MESSAGES
from evaluation.labels.results import WORSE
from evaluation.labels.selectors.items import DecisionCounts
from evaluation.labels.selectors.study import alpha_of, fraction, methods_agree
from evaluation.labels.selectors.workers import WorkerRow
from evaluation.methods.core.units import wilson
from evaluation.models import Run
from evaluation.results.findings import Action, Finding, minor
from evaluation.results.stored_texts import translate_stored
from evaluation.runs.results import everybody

Figures = Mapping[str, Any]
# Krippendorff's limits for alpha (Content Analysis, 2004, ch. 11).
TENTATIVE, STRONG = 0.667, 0.8
WRONG = 0.5  # known answers right whose whole interval lies below this share are wrong


def verdict_of(run: Run, figures: Figures, reliable: int | None) -> Finding:
    """Say how many labels are sure, or why none can be; below it what the workers are like."""
    summary, certainty = figures["summary"], figures["certainty"]
    n = summary["workers"]
    resamples = (figures.get("recipe") or {}).get("params", {}).get("resamples", 1)
    agreement = _agreement(run, figures)
    if summary["not_scored"] == n:
        return MESSAGES.find("label_few_workers", detail=agreement)
    if not resamples:
        return MESSAGES.find("label_no_intervals", detail=agreement)
    if not summary["better"]:
        return MESSAGES.find("label_none_better", detail=agreement, workers=plural(n, "worker"))
    sure = certainty["middle"] + certainty["high"]
    return MESSAGES.find(
        "label_certain",
        detail=f"{_workers(run, summary, reliable)} {agreement}",
        sure=count(sure),
        labels=plural(certainty["items"], "label"),
        n=sure,
    )


def _workers(run: Run, summary: Figures, reliable: int | None) -> str:
    """How many workers do better than guessing, and reach the requester's threshold."""
    better, n = summary["better"], summary["workers"]
    values = {"better": count(better), "workers": plural(n, "worker"), "n": better}
    if reliable is not None:
        values |= {"reliable": count(reliable), "limit": score(run.params["reliable"], 2)}
        return MESSAGES.text("label_reliable", **values)
    return MESSAGES.text("label_all_better" if better == n else "label_some_better", **values)


def _agreement(run: Run, figures: Figures) -> str:
    """Agreement with its interval, and on how many items the methods agree."""
    summary, row = figures["summary"], alpha_of(figures)
    if summary.get("alpha") is None:
        return MESSAGES.text("label_no_agreement")
    low, high = (row["low"], row["high"]) if row is not None else (None, None)
    agreement = agreement_words(summary["alpha"], low, high)
    parts = [agreement, everybody.words(figures), _methods(run, summary)]
    return " ".join(part for part in parts if part)


def _methods(run: Run, summary: Figures) -> str:
    """Say that all methods agree; "" where they do not, or no item has the votes to differ."""
    if not summary.get("compared", summary["items"]):
        return ""
    items = plural(summary["items"], "item")
    return MESSAGES.text("label_methods_agree", items=items) if methods_agree(run) else ""


def agreement_words(alpha: float, low: float | None, high: float | None) -> str:
    """Say how high agreement is, as far as its interval says so."""
    code, span = "label_agreement", _("no interval")
    if low is not None and high is not None:
        code += agreement_level(low, high)
        span = _("95%% CI %(span)s") % {"span": interval(low, high, 2)}
    return MESSAGES.text(code, alpha=score(alpha, 2), span=span)


def agreement_level(low: float, high: float) -> str:
    """Which level of agreement an interval lies in whole, as the end of a code; "" for several."""
    if high < TENTATIVE:
        return "_low"
    if low >= STRONG:
        return "_high"
    return "_fair" if low >= TENTATIVE and high < STRONG else ""


def is_settled(figures: Figures) -> bool:
    """Return whether every worker has enough labels to be told from guessing."""
    summary = figures["summary"]
    return not summary["unknown"] and summary["not_scored"] < summary["workers"]


def actions_of(run: Run, figures: Figures, counts: DecisionCounts) -> Iterator[Finding]:
    """Yield what to do before the labels are used, most urgent first."""
    summary = figures["summary"]
    if run.task is not None and run.task.trace_sources.exists():
        url = reverse("trace_list", args=[run.project_id])
        yield MESSAGES.find("label_drawn_traces", action=Action(_("Open traces"), url))
    workers, items = (
        reverse(name, args=[run.project_id, run.task_id])
        for name in ("label_results", "label_items")
    )
    yield from _known_wrong(figures, f"{items}?run={run.number}&show=known")
    weak = summary["worse"] + summary["one_label"]
    if weak and summary["not_scored"] < summary["workers"]:
        lowest = f"{workers}?run={run.number}&sort=competence&dir=up"
        action = Action(_("Show lowest first"), lowest)
        yield MESSAGES.find("label_weak_workers", action=action, n=weak)
    if counts.open:
        shown = plural(counts.open, "item")
        action = Action(
            _("Decide %(items)s") % {"items": shown}, f"{items}?run={run.number}&show=open"
        )
        yield MESSAGES.find(
            "decide_items_and_ties" if counts.certain else "decide_items",
            action=action,
            items=shown,
            n=counts.open,
            under=count(counts.open - counts.certain),
            sure=count(counts.certain),
        )


def _known_wrong(figures: Figures, url: str) -> Iterator[Finding]:
    """Warn that known answers are missed by every method of counting, for sure."""
    rows = [row for row in figures.get("compare", []) if row["n"]]
    if not rows:
        return
    best = max(rows, key=lambda row: row["right"] / row["n"])
    if wilson(best["right"] / best["n"], best["n"], 0.95)[1] < WRONG:
        yield MESSAGES.find(
            "known_answers_wrong",
            action=Action(_("Show known answers"), url),
            right=fraction(best["right"], best["n"]),
        )


def worker_warnings(
    task: Task, figures: Figures, rows: Sequence[WorkerRow], *, requester: bool
) -> Iterator[Finding]:
    """What to read before the list of workers is used."""
    yield from _weak_workers(figures, rows)
    yield from _known(task, figures, rows, requester=requester)
    yield from _run_notes(figures)


def public_warnings(figures: Figures, rows: Sequence[WorkerRow]) -> list[Finding]:
    """What to read before the board is used, without links or facts of the task."""
    return [*_weak_workers(figures, rows), *_run_notes(figures)]


def _weak_workers(figures: Figures, rows: Sequence[WorkerRow]) -> Iterator[Finding]:
    """Workers who are not scored, and those who may be guessing."""
    if n := figures["summary"]["not_scored"]:
        yield MESSAGES.find("label_not_scored", n=n)
    weak = [row for row in rows if row.group in ("unknown", "one_label", WORSE)]
    if weak and len(weak) == len(rows):
        yield MESSAGES.find("label_all_may_guess")
    elif weak:
        yield MESSAGES.find(
            "label_noise",
            n=len(weak),
            given=count(sum(row.n or 0 for row in weak)),
            every=count(sum(row.n or 0 for row in rows)),
        )


def _run_notes(figures: Figures) -> Iterator[Finding]:
    """Warnings of the fit itself."""
    for text in figures.get("diagnostics", {}).get("warnings", []):
        said = translate_stored(text)
        yield MESSAGES.find("label_run_note", text=f"{said[:1].upper()}{said[1:]}")


def _known(
    task: Task, figures: Figures, rows: Sequence[WorkerRow], *, requester: bool
) -> Iterator[Finding]:
    summary = figures["summary"]
    if summary["not_scored"] == len(rows):
        return
    if not summary["known"]:
        build = reverse("task_build", args=[task.project_id, task.pk]) + "?part=known"
        action = Action(_("Add known answers"), build, requester=True) if requester else None
        yield minor(MESSAGES.find("label_no_known_answers", action=action))
    elif unseen := sum(not row.extra["known_n"] for row in rows):
        yield MESSAGES.find("label_known_unseen", n=unseen)


def item_notes(decided: int) -> Iterator[Finding]:
    """Yield notes beside the list of items."""
    if decided:
        yield MESSAGES.find("label_decided", n=decided)
