"""The demo project: invented people go through the real actions, at times of the last two weeks.

Nothing is written past the rules: leases, redundancy, consent, proposals and the ledger are those
of the application. Only the clock is set back while it is loaded, so that there is a history.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from django.db import transaction
from django.utils import timezone

from annotation import demo
from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.demo import LOADED, PASSWORD, PREFIX
from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.demo import logs
from annotation.formats.actions.imports import import_rows
from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    PayoutBatch,
    Project,
    Role,
    Task,
    User,
)
from annotation.payouts.actions import proposals as payouts
from annotation.records.actions.audit import record
from annotation.work.actions import answers
from crowdqc.errors import Conflict
from evaluation.demo import checklist as demo_checklist
from evaluation.demo import grading as demo_grading
from evaluation.demo import labels as demo_labels
from evaluation.demo import live as demo_live
from evaluation.demo import messages as demo_messages
from evaluation.demo import money as demo_money
from evaluation.demo import side as demo_side
from evaluation.demo.clock import clock_at
from evaluation.demo.context import DAY, DemoContext, Say
from evaluation.demo.rating import RatingTask
from evaluation.demo.study import Study, pseudonyms
from evaluation.demo.writing import WritingTask

TITLE = "Two texts, sixteen questions"
PAY, BONUS = Decimal("1.80"), Decimal("0.90")
BUDGET, FLOOR = Decimal("300.00"), Decimal("9.00")
RECEIVES_BONUS = ("kestrel-07", "juniper-31", "marlin-02", "sorrel-18")
LOOK_FIRST, REJECTED = "quartz-40", "cobalt-34"
# Username -> (name that the team sees, the invented worker they are, if any).
ACCOUNTS = {
    "requester": ("Maren Oduya", ""),
    "manager": ("Tomas Lindqvist", ""),
    "worker1": ("Kim Okafor", "heron-05"),
    "worker2": ("Jo Brandt", REJECTED),
}
REASON = (
    "Most of these answers are sentences of the text, pasted in whole. The instructions ask for "
    "your own words, so they cannot be used."
)
REPLY = (
    "I read both texts and took the sentences that answer the questions. I did not see that "
    "this was not wanted. Please look at it once more."
)
UNCOUNTED = "Pasted from elsewhere; it does not answer the question from the text"
# Days before now.
BEGIN, SYSTEMS_CAME, FIRST_BATCH, DECIDED, REPLIED, SECOND_BATCH = 14, 11, 5, 4, 3, 1
GRADED, PAID = 9.5, 2
COUNTED = 0.5
ASKED, ANNOUNCED = 6, 1.5


def tasks_by_name(*names: str) -> list[Task]:
    """Return the demo's tasks of these names; older demos may lack some."""
    entry = AuditEntry.objects.filter(action=LOADED).order_by("pk").first()
    wanted = [entry.detail.get(name) for name in names] if entry else []
    return list(Task.objects.select_related("project").filter(pk__in=wanted).order_by("-pk"))


def loaded() -> Task | None:
    """Return the demo's main task; None if the demo was not loaded."""
    return next(iter(tasks_by_name("task")), None)


def compared_tasks() -> list[Task]:
    """The experts' task and the pairwise study, the one made last first."""
    return tasks_by_name("study", "panel")


def taken_usernames() -> list[str]:
    """Usernames of the demo that belong to somebody."""
    mine = [*ACCOUNTS, *(f"{PREFIX}{name}" for name in pseudonyms())]
    return sorted(User.objects.filter(username__in=mine).values_list("username", flat=True))


@transaction.atomic
def load(say: Say) -> Task:
    """Build the whole project; everything of it is there afterwards, or nothing.

    Raises Conflict where usernames of the demo are taken.
    """
    names = taken_usernames()
    if names:
        raise Conflict(f"There are accounts named {', '.join(names)} that are not the demo's.")
    now = timezone.now()
    with clock_at(now - BEGIN * DAY) as clock:
        return Loader(demo.load(), clock, now, say).run()


class Loader(DemoContext):
    """Loads the demo in the order of its times."""

    def run(self) -> Task:
        self._accounts()
        project = self._project()
        task = self._task(project)
        self.say(f"task “{task.current.title}”: 16 questions, 24 workers")  # type: ignore[union-attr]
        study = Study(self, project)
        written, rated = WritingTask(self, project), RatingTask(self, project)
        agenda: list[tuple[dt.datetime, Callable[[], None]]] = [
            *self._agenda(task),
            *study.agenda(),
            *written.agenda(),
            *rated.agenda(),
            (self.ago(GRADED), partial(self._grade, task)),
            (self.ago(BEGIN - 0.1), partial(demo_money.rules, self, task)),
            (self.by_day(PAID, 0.6), partial(demo_money.settle_first_batch, self, task)),
        ]
        for at, step in sorted(agenda, key=lambda entry: entry[0]):
            self.clock.move_to(at)
            step()
        counted = Answer.objects.filter(item__task=task, worker__isnull=False).count()
        self.say(f"{counted} answers of workers")
        begun = demo_side.make(self, project)
        think, check = demo_checklist.make(self, project)
        labelled = demo_labels.make(self, project)
        ended, going = demo_live.make(self, project)
        study.stay_in_work()
        self.say(f"{study.sentence()}\n  {written.sentence()}\n  {rated.sentence()}")
        self.say(f"{self.events:,} logged events of all of them")
        self.clock.move_to(self.now)
        record(
            by=None,
            project=project,
            action=LOADED,
            on=project,
            task=task.pk,
            study=study.task.pk,
            panel=study.panel.pk,
            writing=written.task.pk,
            rating=rated.task.pk,
            think=think.pk,
            checklist=check.pk,
            labels=labelled.pk,
            begun=begun.pk,
            live_ended=ended.pk,
            live=going.pk,
        )
        return task

    # -- people and tasks ----------------------------------------------------------------------

    def _accounts(self) -> None:
        for username, (name, pseudonym) in ACCOUNTS.items():
            user = accounts.sign_up(username=username, display_name=name, password=PASSWORD)
            self.people[username] = self.people[pseudonym or username] = user
        others = [name for name in pseudonyms() if name not in self.people]
        for name in others:
            user = User(username=f"{PREFIX}{name}", display_name=f"Demo {name}")
            user.set_unusable_password()
            user.save()
            self.people[name] = user
        self.say(f"accounts: {', '.join(ACCOUNTS)}, and {len(others)} more workers")

    def _project(self) -> Project:
        owner = self.people["requester"]
        project = people.create_project(by=owner, name=TITLE)
        # Its accounts have no second factor, and everybody knows their passwords.
        project.second_factor = False
        project.save(update_fields=["second_factor"])
        people.change_project(
            by=owner,
            project=project,
            name=TITLE,
            budget=BUDGET,
            hourly_floor=FLOOR,
            single_approval=False,
            show_scores=True,
        )
        people.add_member(project=project, user=self.people["manager"], role=Role.MANAGER)
        people.invite(
            by=owner,
            project=project,
            role=Role.WORKER,
            days=60,
            max_uses=30,
            note="Open link for workers",
        )
        return project

    def _task(self, project: Project) -> Task:
        by = self.people["requester"]
        task = tasks.create_task(by=by, project=project, type="free_text", title=TITLE)
        tasks.edit_draft(
            by=by,
            task=task,
            fields={
                "title": "Voyager and bread",
                "instructions": self.data.instructions,
                "redundancy": len(self.data.workers),
                "items_per_assignment": 8,
                "lease_minutes": 60,
                "pay": PAY,
                "bonus_note": "Up to €0.90 more for the most complete answers",
                "settings": {"min_words": 1, "max_words": 120, "skippable": True},
            },
        )
        for text in self.data.texts:
            self.text(task, text)
        tasks.publish(by=by, task=task)
        return Task.objects.select_related("project", "current").get(pk=task.pk)

    # -- what happens when ---------------------------------------------------------------------

    def _agenda(self, task: Task) -> list[tuple[dt.datetime, Callable[[], None]]]:
        """Every step with its time: work, systems, two proposals, one decision, one reply."""
        agenda: list[tuple[dt.datetime, Callable[[], None]]] = [
            (at, partial(self._work, task, worker))
            for number, worker in enumerate(self.data.workers)
            for at in self._times(number, worker)
        ]
        for days, title in ((FIRST_BATCH, "First week"), (SECOND_BATCH, "Second week")):
            # What came in the last two days is left for the next time.
            agenda.append((self.by_day(days, 0.7), partial(self._propose, task, title, days + 2)))
        agenda += [
            (self.ago(SYSTEMS_CAME), partial(self._systems, task)),
            (self.by_day(DECIDED, 0.2), partial(self._decide, task)),
            (self.by_day(REPLIED, 0.5), partial(self._reply, task)),
            (self.ago(COUNTED), partial(self._uncount, task)),
            (self.by_day(ASKED, 0.3), partial(demo_messages.ask_about_item, self, task, "worker1")),
            (self.by_day(ASKED, 0.5), partial(demo_messages.answer, self, task)),
            (self.by_day(ANNOUNCED, 0.4), partial(demo_messages.announce, self, task)),
        ]
        return agenda

    def _times(self, number: int, worker: demo.Worker) -> list[dt.datetime]:
        """Return when somebody takes their two assignments: in a row, or days apart, by day."""
        rng = logs.seeded("demo times", worker.id)
        if worker.id in (LOOK_FIRST, *(name for _, name in ACCOUNTS.values())):
            early, late = 11 + rng.random(), 1.2 + 0.15 * rng.random()  # paid or rejected; waiting
        else:
            early = 13 - number * 11 / len(self.data.workers) + rng.random()
            late = early if rng.random() < 0.4 else max(1.2, early - rng.uniform(1, 4))
        first, second = self.by_day(early, rng.random()), self.by_day(late, rng.random())
        if late == early:
            second = first + dt.timedelta(minutes=rng.uniform(25, 90))
        return [first, second]

    def _work(self, task: Task, worker: demo.Worker) -> None:
        """Do one assignment from its claim to its submit, with its log."""
        told = {answer.item: answer for answer in self.data.answers_of(worker.id)}
        given = {key: ("" if a.declined and not a.text else a.text) for key, a in told.items()}
        declined = {key for key, answer in told.items() if answer.declined}
        self.answer(task, worker.id, worker.kind, given, declined)

    def _grade(self, task: Task) -> None:
        """Requester and manager grade what the language models answered."""
        graders = self.people["requester"], self.people["manager"]
        found = demo_grading.grade_all(self.data, task, *graders)
        self.say(f"{len(found.answer_ids)} answers of systems, graded by two")

    # -- systems, money, counting --------------------------------------------------------------

    def _systems(self, task: Task) -> None:
        rows = [
            {
                "item_id": row.item,
                "system": row.system,
                "prompt_strategy": row.prompt_strategy,
                "answer": row.text,
            }
            for row in self.data.system_answers
        ]
        by = self.people["requester"]
        new = import_rows(by=by, task=task, kind="system_answers", rows=rows, name="systems.json")
        self.say(f"{new} answers of {len(self.data.systems)} systems and prompt strategies")

    def _propose(self, task: Task, title: str, until: float) -> None:
        """The requester proposes what was submitted until then and waits for nobody else."""
        rows = (
            task.assignments.filter(
                state="submitted", settled_at__isnull=True, submitted_at__lt=self.ago(until)
            )
            .exclude(payout_lines__live=True)
            .select_related("worker")
            .order_by("pk")
        )
        lines = []
        for row in rows:
            name = row.worker.pseudonym
            if name == REJECTED:
                line = payouts.ProposedLine(row.pk, "reject", reason_code="not_own", reason=REASON)
            elif name == LOOK_FIRST:
                line = payouts.ProposedLine(
                    row.pk, "hold", reason="Some answers are pasted; the log first"
                )
            else:
                bonus = BONUS if name in RECEIVES_BONUS else Decimal("0.00")
                line = payouts.ProposedLine(row.pk, bonus=bonus)
            lines.append(line)
        payouts.propose_payout(
            by=self.people["requester"], task=task, key=uuid.uuid4(), lines=lines, title=title
        )

    def _decide(self, task: Task) -> None:
        """The manager approves the first proposal."""
        batch = PayoutBatch.objects.get(task=task)
        payouts.approve_payout(
            by=self.people["manager"],
            batch=batch,
            expected_total=payouts.total(batch),
            rejections=payouts.count_rejections(batch),
        )

    def _uncount(self, task: Task) -> None:
        """The manager lets answers that were pasted from elsewhere not count."""
        from_elsewhere = [
            row
            for row in self.data.answers
            if row.worker in (REJECTED, LOOK_FIRST)
            and any(
                src == "outside"
                for _, src in logs.split_by_source(row.text, self._passage(row.item))
            )
        ]
        wanted = {(row.worker, row.item) for row in from_elsewhere}
        rows = Answer.objects.filter(item__task=task, worker__isnull=False, counts=True)
        for row in rows.select_related("item", "worker").order_by("pk"):
            if row.worker and (row.worker.pseudonym, row.item.key) in wanted:
                answers.set_counts(
                    by=self.people["manager"], answer=row, counts=False, reason=UNCOUNTED
                )

    def _passage(self, item: str) -> str:
        return self.data.text_of(item).context

    def _reply(self, task: Task) -> None:
        rejection = Assignment.objects.get(task=task, rejection__isnull=False).rejection
        payouts.reply_to_rejection(by=self.people[REJECTED], rejection=rejection, text=REPLY)
