"""What a run asked of models: counts, reasons of failure and cost, for the run's page."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Q
from django.utils.translation import gettext, ngettext

from crowdqc.numbers import count, plural
from evaluation.llm.endpoints.actions import spent_by
from evaluation.llm.selectors.models import small
from evaluation.models import CallState, LLMCall, Run
from evaluation.runs import run_types
from evaluation.runs.engine import ACTIVE

REASONS = 6  # listed by name; the rest is one line


@dataclass(frozen=True)
class Calls:
    """The calls of one run; ``figures`` is a strip of key figures."""

    total: int
    answered: int
    before: int
    failed: int
    open: int
    cost: Decimal | None
    figures: list[dict[str, Any]]
    reasons: list[tuple[str, int]]


def asks_or_holds(run: Run) -> bool:
    """Return whether a run can have calls: it asks models or was imported."""
    return run_types.asking_of(run.method) is not None or run.trigger == "import"


def calls_of(run: Run) -> Calls | None:
    """Summarise a run's calls (three queries at most); None for a run without models."""
    if not asks_or_holds(run):
        return None
    rows = LLMCall.objects.filter(uses__run=run)
    earlier = Q(finished_at__lt=run.created_at, state=CallState.DONE)
    # A call in flight has no cost yet, which says nothing of its model's price.
    unpriced = Q(attempts__gt=0, cost__isnull=True, finished_at__isnull=False)
    found = rows.aggregate(
        uses=Count("pk"),
        total=Count("pk", distinct=True),
        done=Count("pk", filter=Q(state=CallState.DONE), distinct=True),
        before=Count("pk", filter=earlier, distinct=True),
        failed=Count("pk", filter=Q(state=CallState.FAILED), distinct=True),
        imported=Count("pk", filter=Q(source="import"), distinct=True),
        unpriced=Count("pk", filter=~earlier & unpriced, distinct=True),
    )
    if not found["total"] and run_types.asking_of(run.method) is None:
        return None
    spent = spent_by(run)
    nothing_told = found["unpriced"] or found["imported"] == found["total"] > 0
    cost = None if nothing_told and not spent else spent
    waiting = found["total"] - found["done"] - found["failed"]
    return Calls(
        found["total"],
        found["done"],
        found["before"],
        found["failed"],
        waiting,
        cost,
        _figures(run, found, cost, waiting),
        _reasons(rows) if found["failed"] else [],
    )


def sentence(calls: Calls) -> str:
    """Say how the calls of a finished run ended."""
    if not calls.total:
        return gettext("Nothing was asked.")
    if calls.failed:
        return gettext("%(calls)s, %(failed)s of them failed.") % {
            "calls": plural(calls.total, "call"),
            "failed": count(calls.failed),
        }
    return ngettext(
        "%(n)s call, it was answered.", "%(n)s calls, all of them answered.", calls.total
    ) % {"n": count(calls.total)}


def _figures(
    run: Run, found: dict[str, Any], cost: Decimal | None, waiting: int
) -> list[dict[str, Any]]:
    currency = run.project.currency
    unpriced = found["unpriced"]
    # Texts that are alike make one question, which is asked once.
    same = (
        gettext("for %(questions)s") % {"questions": plural(found["uses"], "question")}
        if found["uses"] > found["total"]
        else ""
    )
    note = (
        gettext("%(calls)s without a price") % {"calls": plural(unpriced, "call")}
        if unpriced
        else gettext("of the calls made anew")
    )
    before = {
        "label": gettext("Reused from earlier runs"),
        "value": count(found["before"]),
        "of": gettext("of %(done)s") % {"done": count(found["done"])},
        "note": gettext("asked by an earlier run; cost nothing"),
    }
    if found["imported"] == found["total"] > 0:
        note = gettext("nothing was asked here")
        before = {
            "label": gettext("Imported"),
            "value": count(found["imported"]),
            "of": gettext("of %(total)s") % {"total": count(found["total"])},
            "note": gettext("asked elsewhere"),
        }
    open_words = (
        gettext("%(n)s waiting or in flight") if run.state in ACTIVE else gettext("%(n)s not asked")
    )

    return [
        {
            "label": gettext("Calls"),
            "value": count(found["total"]),
            "of": same,
            "note": open_words % {"n": count(waiting)} if waiting else "",
        },
        {
            "label": gettext("Answered"),
            "value": count(found["done"]),
            "of": gettext("of %(total)s") % {"total": count(found["total"])},
            "done": found["done"],
            "total": found["total"],
        },
        before,
        {
            "label": gettext("Failed"),
            "value": count(found["failed"]),
            "of": gettext("of %(total)s") % {"total": count(found["total"])},
        },
        {"label": gettext("Cost"), "value": small(cost, currency), "of": "", "note": note},
    ]


def _reasons(rows: Any) -> list[tuple[str, int]]:
    found = list(
        rows.filter(state=CallState.FAILED)
        .values_list("reason")
        .annotate(n=Count("pk", distinct=True))
        .order_by("-n", F("reason"))
    )
    listed = [(reason or gettext("No reason was given."), n) for reason, n in found[:REASONS]]
    rest = sum(n for _, n in found[REASONS:])
    return [*listed, (gettext("Other reasons"), rest)] if rest else listed
