"""The demo's writing task: made, written in with its logs, a system beside, by the real actions.

The loader runs these steps among its own, in the order of their times.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from annotation.authoring.actions import tasks
from annotation.authoring.actions.writing_topics import add_topics
from annotation.demo import logs, writing
from annotation.formats.actions.imports import import_rows
from annotation.models import Answer, Item
from annotation.task_types.writing.type import ENTRY, EXIT
from annotation.work.actions import answers, assignments
from crowdqc.errors import Conflict
from evaluation.demo.context import DemoTask

PAY, LEASE = Decimal("3.60"), 60
WRITTEN, WANTED = 2, 3  # responses of each item: in the file, and asked for in the end
SETTINGS = {"target_words": 100, "min_words": 60, "max_words": 140, "min_citations": 2}
# Days before now. People write from FIRST to LAST.
MADE, FIRST, LAST, SYSTEM_WROTE = 6.2, 5.4, 1.3, 1.1


@dataclass
class WritingTask(DemoTask):
    """The task within a loader's project."""

    data: writing.Writing = field(default_factory=writing.load)
    _ahead: Item | None = None

    def agenda(self) -> list[tuple[dt.datetime, Callable[[], None]]]:
        """Return every step with its time."""
        load, rows = self.loader, self.data.responses
        steps: list[tuple[dt.datetime, Callable[[], None]]] = [
            (load.ago(MADE), self.make),
            (load.ago(SYSTEM_WROTE), self.system_writes),
        ]
        apart = (FIRST - LAST) / (len(rows) - 1)
        for number, one in enumerate(rows):
            steps.append((load.ago(FIRST - number * apart), partial(self._write, one)))
        return steps

    def sentence(self) -> str:
        """Say what was loaded, in one line."""
        given = Answer.objects.filter(item__task=self.task)
        people = given.filter(worker__isnull=False)
        return (
            f"a writing task: {len(self.data.topics)} topics, {people.count()} responses of "
            f"{people.values('worker').distinct().count()} people with their logs, "
            f"{given.filter(system__isnull=False).count()} of a system"
        )

    def make(self) -> None:
        """Styles, forms, topics with their passages; published."""
        by, data = self.loader.people["requester"], self.data
        rules = {
            "instructions": data.instructions,
            "redundancy": WRITTEN,
            "items_per_assignment": 1,
            "lease_minutes": LEASE,
            "pay": PAY,
            "order": "fixed",
            "settings": {**SETTINGS, "styles": data.styles(), "tools_note": data.tools_note},
        }
        task = self.draft("writing", data.title, rules)
        topics = [{"topic": t.id, "query": t.query, "passages": t.rows()} for t in data.topics]
        add_topics(by=by, task=task, rows=topics, name=writing.FILE)
        self._task = self.publish(task)

    def _write(self, one: writing.Response) -> None:
        """Do one assignment from its claim to its submit, with its log."""
        load, version = self.loader, self.task.current
        assert version is not None  # noqa: S101 (it was published)
        user = load.people[one.worker]
        load.join(self.project, one.worker)
        self._hand_out(one.item)
        held = self.take(self.task, one.worker)
        opened = load.clock.moment
        entry = held.entries.select_related("item").get()
        if entry.item.key != one.item:
            raise Conflict(f"{one.worker} was given {entry.item.key}, and wrote on {one.item}.")
        assignments.show_item(by=user, assignment=held, position=entry.position)
        before, after = (
            [f"{stage}.{row['name']}" for row in version.settings[stage]] for stage in (ENTRY, EXIT)
        )
        log = writing.writing_log(
            one,
            [passage.text for passage in self.data.topic(one.topic).passages],
            (before, after),
            logs.seeded("demo writing", one.worker, one.item),
            target=f"item-{entry.item_id}",
        )
        load.clock.move_to(opened + dt.timedelta(milliseconds=log[-1]["time"]))
        said = zip((*before, *after), (*one.entry, *one.exit), strict=True)
        draft = {"text": one.text, **{name: str(value) for name, value in said}}
        assignments.save_draft(
            by=user,
            assignment=held,
            item_id=entry.item_id,
            draft=draft,
            seq=int(load.clock.moment.timestamp() * 1000),
        )
        load.store_log(user, held, opened, log)
        answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4())

    def _hand_out(self, key: str) -> None:
        """The item of this key before all others; none where the key is empty."""
        by = self.loader.people["requester"]
        if self._ahead is not None and self._ahead.key != key:
            tasks.set_priority(by=by, item=self._ahead, priority=0)
            self._ahead = None
        if key and self._ahead is None:
            self._ahead = self.task.items.select_related("task__project").get(key=key)
            tasks.set_priority(by=by, item=self._ahead, priority=1)

    def system_writes(self) -> None:
        """A language model's responses are taken in, and one more of people is asked for."""
        self._hand_out("")
        by = self.loader.people["requester"]
        rows = [
            {"topic": one.topic, "style": one.style, "text": one.text, **self.data.system}
            for one in self.data.system_responses
        ]
        import_rows(by=by, task=self.task, kind="responses", rows=rows, name="orrery.jsonl")
        wanted = {item.pk: WANTED for item in self.task.items.all()}
        tasks.set_wanted(by=by, task=self.task, wanted=wanted, why="one more of each")
