"""Panels as pages show them: who is on one and since when, what asks for it, what runs said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.authoring.selectors.tasks import with_titles
from annotation.models import Membership, Panel, PanelMember, Project, Role, Task
from crowdqc.numbers import plural, score
from evaluation.models import PanelWatch, Run, RunState, Selection, WatchNote
from evaluation.panels import run as panel_runs
from evaluation.results.boards import rank_words
from evaluation.runs.run_types import fits

MOST_NOTES, MOST_RUNS = 100, 10
DONE = {
    "kept": gettext_noop("kept on the panel"),
    "ended": gettext_noop("taken off the panel"),
    "proposed": gettext_noop("incentive proposed"),
    "overtaken": gettext_noop("a later run no longer says so"),
}


def _number(rows: QuerySet[Any], of: str = "panel") -> Coalesce:
    """Count how many of these rows belong to each panel, as a column."""
    counted = rows.filter(**{of: OuterRef("pk")}).order_by().values(of).annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n"), output_field=IntegerField()), 0)


def panel_rows(project: Project) -> QuerySet[Any]:
    """The project's panels by name, with how many are on each and what leads to it (one query)."""
    return project.panels.annotate(
        now=_number(PanelMember.objects.filter(until__isnull=True)),
        ended=_number(PanelMember.objects.filter(until__isnull=False)),
        asking=_number(Task.objects.all()),
        leading=_number(Task.objects.all(), "qualifies"),
        watched=_number(PanelWatch.objects.filter(active=True)),
        waiting=_number(WatchNote.objects.filter(done=""), "watch__panel"),
    )


def open_notes(project: Project) -> list[tuple[int, str, int]]:
    """(panel, its name, notes nobody has looked at) of panels that have some."""
    rows = WatchNote.objects.filter(watch__panel__project=project, done="")
    return list(
        rows.values_list("watch__panel_id", "watch__panel__name")
        .annotate(n=Count("pk"))
        .order_by("watch__panel__name")
    )


def _note_row(note: WatchNote) -> dict[str, Any]:
    told = note.detail
    between = _("%(low)s to %(high)s") % {"low": score(told["low"]), "high": score(told["high"])}
    if note.kind == "below":
        sentence = _(
            "The whole interval, %(between)s, lies below %(threshold)s; from %(answers)s."
        ) % {
            "between": between,
            "threshold": score(told["threshold"]),
            "answers": plural(told["n"], "answer"),
        }
    else:
        ranks = rank_words(told["rank_low"], told["rank_high"])
        sentence = _("Certainly among the best %(best)s: rank %(ranks)s, interval %(between)s.") % {
            "best": told["ranks"],
            "ranks": ranks,
            "between": between,
        }
    # A note with what it says in words.
    return {"note": note, "sentence": sentence, "done": _(DONE.get(note.done, ""))}


def page(panel: Panel) -> dict[str, Any]:
    """Everything on a panel's page, in a fixed number of queries."""
    members = list(
        panel.members.select_related("worker", "added_by", "ended_by").order_by("-until", "-pk")
    )
    now = sorted(
        (row for row in members if row.until is None), key=lambda row: row.worker.pseudonym
    )
    notes = list(
        WatchNote.objects.filter(watch__panel=panel)
        .select_related("worker", "seen_by", "watch__task__current", "run")
        .order_by("done", "-pk")[:MOST_NOTES]
    )
    tasks = list(with_titles(Task.objects.filter(project=panel.project_id)).order_by("pk"))
    waiting = [_note_row(note) for note in notes if not note.done]
    return {
        "members": now,
        "ended": [row for row in members if row.until is not None],
        "asking": [task for task in tasks if task.panel_id == panel.pk],
        "leading": [task for task in tasks if task.qualifies_id == panel.pk],
        "tasks": tasks,
        "texts": [one for one in tasks if fits(one, panel_runs.SLUG) and one.current_id],
        "selections": list(
            Selection.objects.filter(panel=panel).select_related("run", "by", "task__current")
        ),
        "watches": list(
            PanelWatch.objects.filter(panel=panel).select_related("task__current").order_by("pk")
        ),
        "notes": waiting,
        "settled": [_note_row(note) for note in notes if note.done],
        "runs": list(
            Run.objects.filter(
                project=panel.project_id, method=panel_runs.SLUG, params__panel=panel.pk
            ).select_related("task__current")[:MOST_RUNS]
        ),
    }


def outsiders(panel: Panel) -> Sequence[Membership]:
    """Workers of the project who are not on the panel now, by pseudonym."""
    on = panel.members.filter(until__isnull=True).values("worker")
    return list(
        panel.project.memberships.filter(role=Role.WORKER, removed_at__isnull=True)
        .exclude(pk__in=on)
        .order_by("pseudonym")[:1000]
    )


def selection_words(made: Selection) -> str:
    """``12 chosen of 40, 3 at the border``."""
    chosen = sum(row["place"] == "chosen" for row in made.rows)
    border = sum(bool(row["border"]) for row in made.rows)
    text = (
        _("%(chosen)s chosen of %(rows)s, %(border)s at the border")
        if border
        else _("%(chosen)s chosen of %(rows)s")
    )
    return text % {"chosen": chosen, "rows": len(made.rows), "border": border}


def finished(run: Run) -> bool:
    """Whether workers can be chosen by this run."""
    return run.state == RunState.DONE and run.workerscore_rows.exists()
