"""What every part of the demo is loaded with: its people, its clock, and how they work."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from annotation import demo
from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.demo import logs
from annotation.models import Assignment, Membership, Project, Task, User
from annotation.work.actions import answers, assignments, events
from evaluation.demo.clock import Clock

Say = Callable[[str], None]
DAY = dt.timedelta(days=1)


@dataclass
class DemoContext:
    """The data, the clock that is set back, and who has joined so far."""

    data: demo.DemoData
    clock: Clock
    now: dt.datetime
    say: Say
    people: dict[str, User] = field(default_factory=dict)  # by username or pseudonym
    members: dict[str, Membership] = field(default_factory=dict)  # by pseudonym
    events: int = 0

    def ago(self, days: float) -> dt.datetime:
        """Return the time so many days ago; from one day on counted from noon.

        All comes in one order so, at whatever hour the demo is loaded: lots are drawn by the
        numbers of rows, and the figures of the demo follow them.
        """
        noon = self.now.replace(hour=12, minute=0, second=0, microsecond=0)
        return (self.now if days < 1 else noon) - days * DAY

    def by_day(self, days: float, part: float) -> dt.datetime:
        """Return a time between 9 and 19 hours so many days ago; ``part`` (0 to 1) of that span."""
        midnight = self.ago(days).replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + dt.timedelta(hours=9 + 10 * part, seconds=60 * part)

    def text(self, task: Task, text: demo.Text) -> None:
        """Add a text with its questions to the draft."""
        by = self.people["requester"]
        group = tasks.save_group(
            by=by,
            task=task,
            key=text.id,
            title=text.title,
            passage=text.context,
            look_back=text.may_look_back,
        )
        for one in text.questions:
            tasks.save_item(by=by, task=task, group=group, key=one.id, question=one.question)

    def join(self, project: Project, pseudonym: str) -> Membership:
        if pseudonym not in self.members:
            user = self.people[pseudonym]
            member = people.add_worker(project=project, user=user, pseudonym=pseudonym)
            text = people.current_consent_text(project)
            people.give_consent(by=user, member=member, text=text, agreed=True)
            self.members[pseudonym] = member
        return self.members[pseudonym]

    def answer(
        self, task: Task, pseudonym: str, kind: str, given: dict[str, str], declined: set[str]
    ) -> None:
        member = self.join(task.project, pseudonym)
        user = self.people[pseudonym]
        begun = self.clock.moment
        assignment = assignments.claim_assignment(by=user, task=task, worker=member)
        entries = list(assignment.entries.select_related("item__group").order_by("position"))
        writes = [entry for entry in entries if entry.item.key in given]
        if not writes:  # the lease runs out; one that is returned would come back as it was
            return
        self.clock.move_to(begun + dt.timedelta(seconds=4))
        assignment = assignments.open_assignment(by=user, assignment=assignment)
        log = logs.assignment_log(
            [(f"item-{e.item_id}", given[e.item.key], e.item.group.passage) for e in writes],
            kind,
            logs.seeded("demo", pseudonym, assignment.version_id, len(self.members)),
        )
        opened = self.clock.moment
        ends = {event["target"]: event["time"] for event in log}
        for entry in entries:
            end = ends.get(f"item-{entry.item_id}")
            if end is not None:
                self.clock.move_to(opened + dt.timedelta(milliseconds=end))
            assignments.show_item(by=user, assignment=assignment, position=entry.position)
            key = entry.item.key
            draft = {
                "text": given.get(key, ""),
                "declined": key in declined,
                "skipped": key not in given,
            }
            assignments.save_draft(
                by=user,
                assignment=assignment,
                item_id=entry.item_id,
                draft=draft,
                seq=int(self.clock.moment.timestamp() * 1000),
            )
        self.store_log(user, assignment, opened, log)
        answers.submit_assignment(by=user, assignment=assignment, key=uuid.uuid4())

    def store_log(
        self, user: User, assignment: Assignment, opened: dt.datetime, log: list[logs.Event]
    ) -> None:
        """Store an event log in batches, as the page sends it, moving the clock along."""
        key, last = uuid.uuid4(), log[-1]["time"]
        self.clock.move_to(opened)
        events.open_stream(by=user, assignment=assignment, key=key)
        for first in range(0, len(log), events.MAX_BATCH):
            batch = log[first : first + events.MAX_BATCH]
            self.clock.move_to(opened + dt.timedelta(milliseconds=batch[-1]["time"] + 50))
            events.append_events(
                by=user, assignment=assignment, stream_key=key, first_seq=first, events=batch
            )
        self.clock.move_to(opened + dt.timedelta(milliseconds=last + 3000))
        self.events += len(log)


@dataclass
class DemoTask:
    """One task of the demo within a loader's project, made and worked on in steps."""

    loader: DemoContext
    project: Project
    _task: Task | None = field(default=None, init=False)

    @property
    def task(self) -> Task:
        """The task, once ``make`` has run."""
        assert self._task is not None  # noqa: S101 (every agenda begins with it)
        return self._task

    def draft(self, type: str, title: str, rules: dict[str, Any]) -> Task:
        """The requester's draft with its rules; what people work on is still to come."""
        by = self.loader.people["requester"]
        task = tasks.create_task(by=by, project=self.project, type=type, title=title)
        tasks.edit_draft(by=by, task=task, fields=rules)
        return task

    def publish(self, task: Task) -> Task:
        """Publish the task and return it with its published version."""
        tasks.publish(by=self.loader.people["requester"], task=task)
        return Task.objects.select_related("project", "current").get(pk=task.pk)

    def take(self, task: Task, pseudonym: str, *, seconds: int = 5) -> Assignment:
        """Claim an assignment for a worker and open it after ``seconds``."""
        load = self.loader
        member, user = load.join(self.project, pseudonym), load.people[pseudonym]
        begun = load.clock.moment
        held = assignments.claim_assignment(by=user, task=task, worker=member)
        load.clock.move_to(begun + dt.timedelta(seconds=seconds))
        return assignments.open_assignment(by=user, assignment=held)
