"""Watching a panel: what the official run says of its members. It decides nothing; a person looks.

Whenever a run of a watched task becomes official, notes are written on members whose interval lies
below the threshold, and on those who are certainly among the best so many (the incentive rule). One
note a member and kind is open at a time: the next official run renews it, or closes it where it
says so no longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import Membership, Panel, PayoutBatch, Task, User
from annotation.notifications.actions.notices import notify, people_of
from annotation.panels.actions import panels
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid
from crowdqc.money import as_decimal
from crowdqc.numbers import plural, score
from evaluation.models import PanelWatch, Run, WatchNote
from evaluation.panels import rules as panel_choice
from evaluation.panels.rules import Row

BELOW, INCENTIVE = "below", "incentive"
GOING = ("approve", "hold")  # a line that is held may still be approved
KEPT, ENDED, PROPOSED, OVERTAKEN = "kept", "ended", "proposed", "overtaken"


@transaction.atomic
def watch(
    *,
    by: User,
    panel: Panel,
    task: Task,
    threshold: float | None,
    ranks: int | None,
    incentive: Decimal | None,
    active: bool = True,
) -> PanelWatch:
    """Set what is checked after each run of the task. Raises Invalid naming a field."""
    if task.project_id != panel.project_id:
        raise Invalid(
            gettext("Choose a task of this project."),
            fields={"task": gettext("One of this project.")},
        )
    if (ranks is None) != (incentive is None):
        raise Invalid(
            gettext("An incentive needs an amount and how many get it at most."),
            fields={
                "incentive": gettext("Both or neither."),
                "incentive_ranks": gettext("Both or neither."),
            },
        )
    if ranks is not None and not 1 <= ranks <= 1000:
        raise Invalid(gettext("1 to 1,000."), fields={"incentive_ranks": gettext("1 to 1,000.")})
    if incentive is not None and not 0 < incentive <= 10_000:
        raise Invalid(
            gettext("More than 0."), fields={"incentive": gettext("More than 0, at most 10,000.")}
        )
    if active and threshold is None and ranks is None:
        raise Invalid(
            gettext("Say what to look for."),
            fields={"threshold": gettext("A threshold, an incentive, or both.")},
        )
    made, _ = PanelWatch.objects.update_or_create(
        panel=panel,
        task=task,
        defaults={
            "threshold": threshold,
            "incentive_ranks": ranks,
            "incentive": incentive,
            "active": active,
            "changed_by": by,
        },
    )
    record(
        by=by,
        project=panel.project,
        action="panel.watch",
        on=made,
        panel=panel.name,
        threshold=threshold,
        ranks=ranks,
        active=active,
        incentive=str(incentive) if incentive is not None else None,
    )
    return made


def note_run(run: Run) -> int:
    """Write notes on watched members from an official run; return how many are new.

    A run that is not official, or no longer, says nothing.
    """
    return sum(
        _note(one, run)
        for one in PanelWatch.objects.filter(task=run.task_id, active=True).select_related("panel")
    )


@transaction.atomic
def _note(watch: PanelWatch, run: Run) -> int:
    """Renew, write and close the notes of one watch by one run; the same run twice is once."""
    PanelWatch.objects.select_for_update(no_key=True).get(pk=watch.pk)
    if not run.official.filter(until__isnull=True).exists():
        return 0
    members = set(
        watch.panel.members.filter(until__isnull=True).values_list("worker_id", flat=True)
    )
    said = {
        (row.worker, kind): row
        for kind, rows in watch_findings(watch, run).items()
        for row in rows
        if row.worker in members
    }
    notes = list(watch.notes.order_by("pk"))
    open_notes = {(note.worker_id, note.kind): note for note in notes if not note.done}
    decided = {(note.worker_id, note.kind): note for note in notes if note.done and note.seen_at}
    new = []
    for key, row in said.items():
        detail = _detail(watch, run, row)
        before = decided.get(key)
        if key in open_notes:
            note = open_notes[key]
            note.run, note.detail = run, detail
            note.save(update_fields=["run", "detail"])
        elif before is None or before.detail.get("n", 0) < row.n:
            # Who looked at it has decided it until there is more to go by.
            new.append(
                WatchNote(watch=watch, run=run, worker_id=key[0], kind=key[1], detail=detail)
            )
    WatchNote.objects.bulk_create(new, ignore_conflicts=True)
    gone = [note.pk for key, note in open_notes.items() if key not in said]
    WatchNote.objects.filter(pk__in=gone).update(done=OVERTAKEN)
    if new:
        _notify_staff(watch, run, new)
    return len(new)


def watch_findings(watch: PanelWatch, run: Run) -> dict[str, list[Row]]:
    """Find members whose interval lies below the threshold, and those certainly among the best.

    Both hold for all workers of the board at once.
    """
    k = watch.incentive_ranks or 1
    board = panel_choice.choose(run, panel_choice.RuleRequest(panel_choice.Rule.TOP, k=k)).rows
    sure = [row for row in board if row.sure and row.component == 1 and not row.gone]
    found: dict[str, list[Row]] = {}
    if watch.threshold is not None:
        highs = panel_choice.bounds_of_all(sure)[1]
        found[BELOW] = [
            row for row, high in zip(sure, highs, strict=True) if high < watch.threshold
        ]
    if watch.incentive_ranks is not None:
        # Who has no interval may be better than anybody.
        unsure = sum(not row.sure and row.component == 1 and not row.gone for row in board)
        found[INCENTIVE] = [row for row in sure if (row.rank_high or k + 1) + unsure <= k]
    return found


def _detail(watch: PanelWatch, run: Run, row: Row) -> dict[str, object]:
    """Return what was known when the note was written, with the rule of that time."""
    return {
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "n": row.n,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "run": run.number,
        "threshold": watch.threshold,
        "ranks": watch.incentive_ranks,
        "amount": str(watch.incentive) if watch.incentive is not None else None,
    }


def _notify_staff(watch: PanelWatch, run: Run, new: list[WatchNote]) -> None:
    notify(
        to=people_of(run.project),
        kind="panel.watch",
        project=run.project,
        key=f"panel.watch:{watch.pk}:{run.pk}",
        url=reverse("panel", args=[run.project_id, watch.panel_id]) + "#watch",
        text=lambda: (
            gettext(
                "Run %(run)s says something of %(members)s of the panel “%(panel)s”. It decides "
                "nothing; somebody has to look."
            )
            % {"run": run.number, "members": plural(len(new), "member"), "panel": watch.panel.name}
        ),
    )


@transaction.atomic
def settle_note(*, by: User, note: WatchNote, what: str, why: str = "") -> WatchNote:
    """Decide what follows from a note: kept, ended (with a reason) or proposed (the incentive).

    Raises Invalid for what does not fit the note, Conflict where it was decided already.
    """
    locked = (
        WatchNote.objects.select_for_update(of=("self",), no_key=True)
        .select_related("watch__panel__project", "worker")
        .get(pk=note.pk)
    )
    if what not in (KEPT, ENDED if locked.kind == BELOW else PROPOSED):
        raise Invalid(
            gettext("Choose what follows."), fields={"what": gettext("One of those offered.")}
        )
    if locked.done:
        raise Conflict(gettext("This note is decided already."))
    panel = locked.watch.panel
    if what == PROPOSED and locked.worker.user_id == by.pk:
        raise Conflict(gettext("Nobody proposes an incentive for themself."))
    locked.done, locked.seen_at, locked.seen_by = what, timezone.now(), by
    locked.save(update_fields=["done", "seen_at", "seen_by"])
    record(
        by=by,
        project=panel.project,
        action="panel.note",
        on=locked,
        panel=panel.name,
        worker=locked.worker.pseudonym,
        kind=locked.kind,
        what=what,
        run=locked.detail.get("run"),
    )
    if what == ENDED:
        member = panel.members.filter(worker=locked.worker, until__isnull=True).first()
        if member is not None:
            panels.end(by=by, member=member, why=why)
    return locked


# Incentives in proposals of pay -----------------------------------------------------------------


def _unpaid(task: Task, workers: Iterable[Membership]) -> list[WatchNote]:
    """Proposed incentives that stand in no proposal; one that was sent back frees them."""
    rows = WatchNote.objects.filter(
        watch__task=task, kind=INCENTIVE, done=PROPOSED, worker__in=[w.pk for w in workers]
    ).exclude(line__live=True, line__decision__in=GOING)
    return list(rows.select_related("watch__panel").order_by("worker_id", "pk"))


def incentives_for(task: Task, workers: Iterable[Membership]) -> dict[int, tuple[Decimal, str]]:
    """Return proposed incentives that are still unpaid, by worker: (amount, reason).

    It belongs to one line of the worker. ``take_incentives`` says that a proposal holds them.
    """
    found: dict[int, tuple[Decimal, str]] = {}
    for note in _unpaid(task, workers):
        amount, told = found.get(note.worker_id, (Decimal(0), ""))
        # English in every language: it is kept with the line of a proposal.
        here = (
            f"incentive: among the best {note.detail['ranks']} of run {note.detail['run']}, "
            f"{score(note.detail['low'])} to {score(note.detail['high'])}"
        )

        found[note.worker_id] = (
            amount + as_decimal(note.detail["amount"]),
            f"{told}; {here}" if told else here,
        )
    return found


@transaction.atomic
def take_incentives(batch: PayoutBatch) -> int:
    """Bind incentives to the proposal that pays them; return how many were bound.

    A worker's notes go to their first line, approved or held for a look, whose bonus covers them;
    lines that were cut below it, or rejected, free the note for a later proposal.
    """
    lines = list(
        batch.lines.filter(live=True, decision__in=GOING, bonus__gt=0)
        .select_related("assignment__worker")
        .order_by("pk")
    )
    workers = {line.assignment.worker_id: line.assignment.worker for line in lines}
    list(
        WatchNote.objects.select_for_update()
        .filter(watch__task=batch.task_id, worker__in=list(workers))
        .values_list("pk")
    )
    owed: dict[int, list[WatchNote]] = {}
    for note in _unpaid(batch.task, workers.values()):
        owed.setdefault(note.worker_id, []).append(note)
    bound = 0
    for worker, notes in owed.items():
        total = sum(as_decimal(note.detail["amount"]) for note in notes)
        line = next(
            (one for one in lines if one.assignment.worker_id == worker and one.bonus >= total),
            None,
        )
        if line is not None:
            bound += WatchNote.objects.filter(pk__in=[note.pk for note in notes]).update(line=line)
    return bound
