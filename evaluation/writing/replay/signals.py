"""Signals beside a replay: what each found, how often it fires in this task, and where to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Answer, Task
from annotation.work.selectors.log import event_target
from annotation.work.snapshots import responses
from crowdqc.numbers import clock, count
from evaluation.methods.writing.measures import Pace, speed
from evaluation.methods.writing.presence import Process
from evaluation.methods.writing.process import read
from evaluation.methods.writing.signals import (
    FIRED,
    NOT_RECORDED,
    QUIET,
    TOO_LITTLE,
    Finding,
    Usual,
    find,
    usual_speed,
)
from evaluation.models import RunFigure
from evaluation.runs.official.selectors import official_run
from evaluation.writing.replay.selectors import Replay
from evaluation.writing.words import CALCULATIONS, LABELS, describe_finding, describe_moment

METHOD, FIGURE = "writing", "signals"
OTHERS = 12  # other responses of the worker whose speed is looked at, the newest
CANNOT = gettext_lazy(
    "that somebody else wrote it, or a program. A draft kept elsewhere, a dictated text or a "
    "second device look the same here; and who copies by hand leaves no sign."
)
REFERENCE = gettext_lazy(
    "A jump of 200 characters occurs in 72%% of %(sessions)s honest reference sessions. "
    "Alone it says nothing."
)


@dataclass(frozen=True)
class Place:
    """A moment to go to."""

    ms: int
    clock: str
    words: str

    @property
    def seconds_parameter(self) -> str:
        """Time in seconds for the page's address."""
        return f"{self.ms / 1000:.3f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Row:
    """One signal on this text."""

    finding: Finding
    rate: str
    places: tuple[Place, ...]

    @property
    def fired(self) -> bool:
        """Whether the signal was found in this response."""
        return self.finding.state == FIRED

    @property
    def judged(self) -> bool:
        """Whether the response had enough to judge the signal by."""
        return self.finding.state in (FIRED, QUIET)

    @property
    def label(self) -> str:
        """The signal’s, in the language of the page."""
        return str(LABELS[self.finding.slug])

    @property
    def sentence(self) -> str:
        """What the signal says of this text."""
        return describe_finding(self.finding)

    @property
    def calculation(self) -> str:
        """How the signal is calculated."""
        return str(CALCULATIONS[self.finding.slug])


@dataclass(frozen=True)
class Signs:
    """All signals in their order, and the number of the run that counted the base rates."""

    rows: tuple[Row, ...]
    counted: int | None

    @property
    def fired(self) -> list[Row]:
        return [row for row in self.rows if row.fired]

    @property
    def silent_signals(self) -> list[tuple[str, list[Row]]]:
        """Signals that did not fire, grouped by the reason."""
        heads = {
            QUIET: _("Calculated, and nothing found"),
            TOO_LITTLE: _("Too little to say"),
            NOT_RECORDED: _("Not recorded in this log"),
        }
        found = [
            (head, [r for r in self.rows if r.finding.state == s]) for s, head in heads.items()
        ]
        return [(head, rows) for head, rows in found if rows]


def replay_signals(replay: Replay, task: Task) -> Signs | None:
    """Check a replay's text for all signals; None if nothing was recorded."""
    if replay.process is None:
        return None
    texts = [str(passage["text"]) for passage in replay.passages]
    found = find(replay.process, usual=usual_pace(replay.answer), passages=texts)
    number, rates = base_rates(task)
    rows = [Row(one, _rate(rates.get(one.slug)), _places(one)) for one in found]
    return Signs(tuple(rows), number)


def base_rates(task: Task) -> tuple[int | None, dict[str, Any]]:
    """The number of the official run, which counted them, and {slug: {fired, judged}}."""
    run = official_run(task)
    if run is None:
        return None, {}
    row = RunFigure.objects.filter(run=run, name=FIGURE).values_list("data", flat=True).first()
    return (run.number, row) if row else (None, {})


def _rate(rate: Any) -> str:
    if not rate:
        return _("Base rate: not counted yet.")
    if not rate["judged"]:
        return _("Base rate: no response here could be judged.")
    told = {"fired": count(rate["fired"]), "judged": count(rate["judged"])}
    return _("Base rate: %(fired)s of %(judged)s responses here.") % told


def _places(finding: Finding) -> tuple[Place, ...]:
    return tuple(
        Place(moment.time_ms, clock(moment.time_ms / 1000), describe_moment(moment))
        for moment in finding.moments
    )


def usual_pace(answer: Answer) -> Usual | None:
    """Return the writer's usual typing speed in their newest other responses, or None.

    Logs of submitted work do not change, so a speed is kept once it is known.
    """
    if answer.worker_id is None:
        return None
    others = list(
        Answer.objects.filter(worker=answer.worker_id, item__task=answer.item.task_id)
        .exclude(pk=answer.pk)
        .filter(assignment__isnull=False, assignment__log_erased_at__isnull=True)
        .order_by("-pk")
        .values_list("pk", "assignment_id", "item_id")[:OTHERS]
    )
    keys = {pk: f"writing-pace:1:{pk}" for pk, _, _ in others}
    known: dict[str, tuple[Pace | None]] = cache.get_many(keys.values())
    missing = [row for row in others if keys[row[0]] not in known]
    logs = responses.logs({assignment for _, assignment, _ in missing}) if missing else {}
    for pk, assignment, item in missing:
        process = _process(logs[assignment], item)
        known[keys[pk]] = (speed(process) if process else None,)
    cache.set_many({keys[pk]: known[keys[pk]] for pk, _, _ in missing}, timeout=None)
    return usual_speed(known[key][0] for key in keys.values())


def _process(events: list[dict[str, Any]], item_id: int) -> Process | None:
    """Return another text's process for its keys; None if its log is broken."""
    try:
        return read(events, (), target=event_target(item_id))
    except ValueError:
        return None
