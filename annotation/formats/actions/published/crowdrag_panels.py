"""What CrowdRAG-25 has beside the crowd: experts with their log, and the pilot's ratings."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotation.formats.actions.judgments import (
    Added,
    PairItem,
    Session,
    Vote,
    add_items,
    add_votes,
    import_task,
)
from annotation.formats.actions.published import rows as base
from annotation.formats.imports.published.crowdrag import CrowdRagStudy, Rating, SlideEvent
from annotation.models import (
    Assignment,
    Candidate,
    EventBatch,
    EventStream,
    Membership,
    Project,
    Task,
    User,
)
from annotation.panels.actions import panels
from annotation.work.actions.exclusions import exclude
from crowdqc.numbers import parse_whole

LOG = uuid.UUID("6f6a5c1e-9b1e-4a63-8f0a-6a0c1f2d3e44")  # names the streams of imported logs
MOST_MS = 9_999_999  # a longer stay is no reading time


def experts(
    by: User,
    crowd: Task,
    study: CrowdRagStudy,
    keys: Mapping[str, int],
    workers: Mapping[str, Membership],
) -> tuple[Task, Added]:
    """Import the experts' judgments as a task for a panel, with their times and logs.

    Experts whom the published analysis does not use are on the panel, and excluded.
    """
    project = crowd.project
    members = [workers[name] for name in dict.fromkeys(one.worker for one in study.experts)]
    rules = {"redundancy": len(members), "items_per_assignment": 30, "lease_minutes": 240}
    fields = base.fields_of(study.study, **rules)
    task = import_task(
        by=by, project=project, type="pairwise", title=base.EXPERTS_TITLE, fields=fields
    )
    if task.source_id is None:
        task.source = crowd
        task.panel = panels.get_or_create_panel(by=by, project=project, name=base.PANEL)
        panels.admit(by=by, panel=task.panel, workers=members, why="imported", tell=False)
        task.save(update_fields=["source", "panel"])
    pairs = [one.pair for one in study.experts]
    items = base.pair_items(by=by, task=task, pairs=pairs, keys=keys)
    log = {
        worker: _events_of(study.events, worker) for worker in {one.worker for one in study.experts}
    }
    votes = [
        vote._replace(at=_answered(log[one.worker], one.position), uncounted="")
        for vote, one in zip(
            base.votes_of(study.experts, items, keys, workers), study.experts, strict=True
        )
    ]
    sessions = {
        (workers[one.worker].pk, one.questionnaire): Session(
            log[one.worker][0].at, log[one.worker][-1].at
        )
        for one in study.experts
        if log[one.worker]
    }
    added = add_votes(task=task, votes=votes, sessions=sessions)
    _write_logs(task, log, workers)
    excluded = set(task.exclusions.values_list("worker_id", flat=True))
    for name in sorted({one.worker for one in study.experts if not one.counted}):
        if workers[name].pk not in excluded:
            exclude(by=by, task=task, worker=workers[name], reason=base.NOT_IN_PAPER)
    return task, added


def _events_of(events: Iterable[SlideEvent], expert: str) -> list[SlideEvent]:
    return sorted((one for one in events if one.expert == expert), key=lambda one: one.at)


def _answered(events: Sequence[SlideEvent], position: int) -> dt.datetime | None:
    """Return when the last answer on a pair was given; None where the log does not show it."""
    moments = [
        one.at
        for one in events
        if one.position == position and one.event not in ("enter", "leave", "submit")
    ]
    return max(moments, default=None)


def _write_logs(
    task: Task, log: Mapping[str, Sequence[SlideEvent]], workers: Mapping[str, Membership]
) -> None:
    """Write a stream of events, in our log's words, for each expert without one."""
    for expert, events in sorted(log.items()):
        where = Assignment.objects.filter(task=task, worker=workers[expert], streams__isnull=True)
        assignment = where.order_by("pk").first()
        if assignment is None or not events:
            continue
        places = dict(assignment.entries.values_list("position", "item_id"))
        told = list(_in_our_words(events, places))
        stream = EventStream.objects.create(
            assignment=assignment,
            key=uuid.uuid5(LOG, f"{task.pk}-{assignment.pk}"),
            next_seq=len(told),
            stored_bytes=len(json.dumps(told).encode()),
        )
        EventBatch.objects.create(stream=stream, first_seq=0, last_seq=len(told) - 1, events=told)


def _in_our_words(
    events: Sequence[SlideEvent], places: Mapping[int, int]
) -> Iterable[dict[str, Any]]:
    """Entering, leaving, an answer that changed (the file does not say to what), submitting.

    With each leaving goes how long the page was there, if it was entered before.
    """
    began, entered = events[0].at, None
    for one in events:
        time = int((one.at - began).total_seconds() * 1000)
        target = f"item-{places[one.position - 1]}"
        if one.event == "enter":
            entered = time
            yield {"method": "show", "time": time, "target": target}
        elif one.event == "leave":
            if entered is not None and time - entered <= MOST_MS:
                stay = str(time - entered)
                yield {
                    "method": "dwell",
                    "time": time,
                    "target": target,
                    "name": "page",
                    "comment": stay,
                }
            yield {"method": "blur", "time": time, "target": target}
        elif one.event == "submit":
            yield {"method": "click", "time": time, "target": "window", "name": "submit"}
        else:
            yield {"method": "click", "time": time, "target": target, "name": f"d-{one.event}"}


def pilot(
    by: User, project: Project, study: CrowdRagStudy, workers: Mapping[str, Membership]
) -> tuple[Task, Added]:
    """Import the point-wise pilot as a rating task; repeated submissions do not count.

    The release does not say which text was rated, so an item names its topic alone and no text.
    """
    topics = {one.topic for one in study.ratings}
    queries = dict(
        Candidate.objects.filter(project=project, topic__in=topics).values_list("topic", "query")
    )
    task = import_task(
        by=by,
        project=project,
        type="rating",
        title=base.PILOT_TITLE,
        fields=base.fields_of(study.pointwise, redundancy=5, items_per_assignment=16),
    )
    names = {one.item: one.topic for one in study.ratings}
    wanted = [
        PairItem(item, topic, queries.get(topic, topic)) for item, topic in sorted(names.items())
    ]
    items = add_items(by=by, task=task, pairs=wanted, titles=queries)
    votes, sessions = [], {}
    for one in study.ratings:
        bundle = f"{one.questionnaire} {one.resubmission}"
        worker = workers[one.worker].pk
        sessions[worker, bundle] = Session(None, one.submitted_at)
        votes.append(
            Vote(
                worker,
                items[one.item],
                tuple((name, str(value), value) for name, value in one.values.items()),
                bundle=bundle,
                position=_place(one),
                uncounted=base.POSTED_AGAIN if one.resubmission else "",
                at=one.submitted_at,
            )
        )
    return task, add_votes(task=task, votes=votes, sessions=sessions)


def _place(rating: Rating) -> int:
    """The number at the end of the item's name, which is its place in the questionnaire."""
    return max(0, (parse_whole(rating.item.rpartition("_")[2]) or 1) - 1)
