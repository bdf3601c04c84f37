"""The evidence card: one person's work beside everyone's, and what it cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Membership, Task
from annotation.payouts.selectors.proposals import decided_before
from annotation.work.selectors.log import LogSummary
from crowdqc.numbers import duration, percent
from crowdqc.web.terms import Words
from evaluation.charts import boards as charts
from evaluation.models import WorkerScore
from evaluation.payouts.selectors.evidence import Evidence, Note, TaskEvidence, binned
from evaluation.runs.results.figures import PASTED_SHARE

CANNOT: dict[str, Words] = {
    "Paste": _(
        "that the work was done by somebody else. Pasting one’s own draft looks the same here."
    ),
    "Time": _("that the questions were not read. Who knows the subject is fast too."),
    "Away": _("what was done meanwhile. Nothing outside this page is recorded."),
    "Alike": _("that both are one person. People share computers and homes, and are taught alike."),
    "Same": _("that the items were not read. One answer may be right for all of them."),
    "Guessing": _(
        "that the answers are wrong. Where most share an error, who is right scores low."
    ),
}
CANNOT_SCORE = _(
    "that the answers are right. A score is closeness to what the better workers wrote; where "
    "most share an error, who is right scores low."
)


@dataclass(frozen=True)
class Card:
    """A person's work in one task, as their card shows it."""

    worker: Membership
    here: int  # assignments in this task that were submitted
    in_project: int
    look: bool
    score: WorkerScore | None
    questions: int
    approved: int
    rejected: int
    notes: tuple[Note, ...]
    time_chart: SafeString | str
    paste_chart: SafeString | str
    paste_note: str
    log: LogSummary
    cannot: list[Words]
    declined: int  # answers that say "I don't know"
    answers: int


def card(task: Task, worker: Membership, own: Sequence[Evidence], around: TaskEvidence) -> Card:
    """The card; ``own`` is the person's work that is looked at, of one task."""
    approved, rejected = decided_before([worker.pk])[worker.pk]
    notes = tuple(dict.fromkeys(note for e in own for note in e.notes))
    log = combined([e.log for e in own])
    return Card(
        worker=worker,
        here=len(own),
        in_project=worker.assignments.filter(state="submitted").count(),
        look=any(e.look_first for e in own),
        score=own[0].score if own else None,
        questions=task.items.filter(until__isnull=True).count(),
        approved=approved,
        rejected=rejected,
        notes=notes,
        time_chart=time_chart(own, around),
        paste_chart=paste_chart(log, around),
        paste_note=paste_note(around),
        log=log,
        cannot=[CANNOT[k] for k in dict.fromkeys(n.kind for n in notes) if k in CANNOT]
        or [CANNOT_SCORE],
        declined=sum(e.facts.declined for e in own),
        answers=sum(e.facts.answers for e in own),
    )


def combined(logs: Sequence[LogSummary]) -> LogSummary:
    """Add up several summaries of logs."""
    names = LogSummary.__dataclass_fields__
    return LogSummary(**{name: sum(getattr(log, name) for log in logs) for name in names})


def time_chart(own: Sequence[Evidence], around: TaskEvidence) -> SafeString | str:
    """Draw the assignment's time among all of the task; "" if no time is known."""
    times = [e.seconds for e in own if e.seconds is not None]
    everyone = sorted(around.seconds.values())
    if not times or len(everyone) < 2:
        return ""
    this = sum(times) / len(times)
    # A tab left open overnight would squeeze everybody into one bin.
    high = max(everyone[min(len(everyone) - 1, int(0.97 * len(everyone)))], 1.0)
    low = min(everyone[0], this)
    if high <= low:
        return ""
    return charts.histogram(
        binned(everyone, low, high),
        low,
        high,
        this=this,
        labels=(duration(low), duration(high)),
        this_label=duration(this),
        what=gettext("Times for the assignment"),
    )


def paste_chart(log: LogSummary, around: TaskEvidence) -> SafeString | str:
    """The share of text that was pasted, among all of the task; "" without a log."""
    shares = [other.paste_share for other in around.logs.values() if other.events]
    if not log.events or len(shares) < 2:
        return ""
    return charts.histogram(
        binned(shares, 0.0, 1.0),
        0.0,
        1.0,
        this=log.paste_share,
        labels=(percent(0), percent(1)),
        this_label=percent(log.paste_share),
        what=gettext("Shares of text pasted"),
    )


def paste_note(around: TaskEvidence) -> str:
    """Explain the grey bars (all logged assignments of the task); "" if it has no logs."""
    logged = [log for log in around.logs.values() if log.events]
    if not logged:
        return ""
    much = sum(log.paste_share > PASTED_SHARE for log in logged)
    return gettext(
        "Grey: the %(logged)s assignments of this task. %(much)s of %(logged)s paste "
        "more than half."
    ) % {"logged": len(logged), "much": much}


def paste_sources(log: Any) -> str:
    """Say where pasted text came from."""
    own, passage, outside = log.pastes_own, log.pastes_passage, log.pastes_outside
    told = []
    if own:
        told.append(
            ngettext(
                "%(n)s comes from their own earlier text.",
                "%(n)s come from their own earlier text.",
                own,
            )
            % {"n": own}
        )
    if passage:
        told.append(
            ngettext("%(n)s comes from the passage.", "%(n)s come from the passage.", passage)
            % {"n": passage}
        )
    if outside:
        told.append(
            ngettext(
                "%(n)s comes from outside this page.", "%(n)s come from outside this page.", outside
            )
            % {"n": outside}
        )
    return " ".join(told)
