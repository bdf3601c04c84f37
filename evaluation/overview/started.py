"""The five steps of a new project, each read from what the project holds; none is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Invitation, PayoutBatch, Recruitment, Role, TaskVersion
from annotation.models.tasks import TaskState
from annotation.panels.selectors import able_workers
from crowdqc.numbers import count, mid_sentence, money, plural
from evaluation.models import Run, RunState
from evaluation.overview.selectors import Facts, noun_of
from evaluation.runs.adapters import main_methods


@dataclass(frozen=True)
class Step:
    """One row: what to do, in a line more, whether it is done, and where it is done."""

    title: str
    text: str
    done: bool
    label: str  # of its button while it is next
    url: str
    other: tuple[str, str] = ("", "")  # another way: its words and address
    number: int = 0
    state: str = "later"  # done, next, later


@dataclass(frozen=True)
class Started:
    """The steps, the first open one being next."""

    steps: tuple[Step, ...]

    @property
    def completed(self) -> int:
        return sum(step.done for step in self.steps)

    @property
    def complete(self) -> bool:
        return self.completed == len(self.steps)

    @property
    def next(self) -> Step | None:
        """Return the first step that is not done; None if all are."""
        return next((step for step in self.steps if step.state == "next"), None)

    @property
    def mark(self) -> tuple[str, str]:
        """Mark and word of the header."""
        return ("running", _("Getting started")) if self.completed else ("draft", _("New project"))

    @property
    def sentence(self) -> str:
        """Sentence on the steps done and the next one."""
        step = self.next
        said = (
            _("%(done)s of %(steps)s steps done. Next: %(next)s.")
            if step
            else _("%(done)s of %(steps)s steps done.")
        )
        label = step.label if step else ""
        return said % {
            "done": self.completed,
            "steps": len(self.steps),
            "next": mid_sentence(label),
        }


def started(found: Facts) -> Started:
    """Return the first steps of a project, with what is done (four queries besides ``found``)."""
    rows = [_create(found), _items(found), _invite(found), _run(found), _pay(found)]
    open_at = next((at for at, row in enumerate(rows) if not row.done), len(rows))
    return Started(
        tuple(
            replace(
                row,
                number=at + 1,
                state="done" if row.done else "next" if at == open_at else "later",
            )
            for at, row in enumerate(rows)
        )
    )


def _address(found: Facts, view: str, *args: int) -> str:
    return reverse(view, args=[found.access.project.pk, *args])


def _create(found: Facts) -> Step:
    if not found.rows:
        text = _("Drop a file or choose a template below, or start empty.")
        url = _address(found, "task_new")
        other = (_("Start empty"), f"{url}#empty")
        return Step(_("Create a task"), text, False, _("Create a task"), url, other)
    row = found.rows[-1]
    text = f"{row.progress.title}, {row.kind.lower()}"
    return Step(_("Create a task"), text, True, "", _address(found, "task", row.task.pk))


def _items(found: Facts) -> Step:
    """Done once a task with items is published: before that nobody is asked anything."""
    filled = [row for row in found.rows if row.progress.items]
    published = [row for row in filled if row.task.state != TaskState.DRAFT]
    if published:
        row = published[-1]
        text = plural(row.progress.items, noun_of(row.task))
        return Step(_("Add items"), text, True, "", _address(found, "task", row.task.pk))
    if filled:
        row = filled[-1]
        there = plural(row.progress.items, noun_of(row.task))
        text = _(
            "%(items)s, not published yet. See the task as a worker does, then publish it."
        ) % {"items": there}
        url = _address(found, "task_build", row.task.pk)
        return Step(_("Add items"), text, False, _("Preview and publish"), url)
    text = _("Questions, texts or pairs, from CSV or JSONL.")
    url = _address(found, "task_build", found.rows[-1].task.pk) if found.rows else ""
    return Step(_("Add items"), text, False, _("Add items"), url)


def _invite(found: Facts) -> Step:
    project, url = found.access.project, _address(found, "people")
    if found.is_imported:
        return Step(_("Invite people"), _("All answers came from files"), True, "", url)
    workers = able_workers(project.pk).count()
    invited = Invitation.objects.filter(project=project, role=Role.WORKER, revoked_at=None)
    if workers or invited.exists() or Recruitment.objects.filter(task__project=project).exists():
        text = (
            _("%(workers)s joined") % {"workers": plural(workers, "worker")}
            if workers
            else _("Invited, nobody joined yet")
        )
        return Step(_("Invite people"), text, True, "", url)
    url = _address(found, "invitation_new")
    text, other = _("Send a link, or recruit them on a platform."), ("", "")
    if found.published:
        task = found.published[-1].task
        other = (_("Recruit on a platform"), _address(found, "recruitment_list", task.pk))
        text = _("At most %(assignments)s to answer, for %(pay)s.") % {
            "assignments": plural(found.unanswered, "assignment"),
            "pay": money(found.ahead, found.currency),
        }
    return Step(_("Invite people"), text, False, _("Invite people"), url, other)


def _run(found: Facts) -> Step:
    project, title = found.access.project, _("Run the evaluation")
    runs = Run.objects.filter(project=project, state=RunState.DONE, method__in=main_methods())
    if number := runs.count():
        return Step(title, plural(number, "finished run"), True, "", _address(found, "results"))
    text = _("Starts by itself when enough answers are in.")
    if found.submitted:
        submitted = _("%(submitted)s of %(assignments)s submitted.") % {
            "submitted": count(found.submitted),
            "assignments": plural(found.needed, "assignment"),
        }
        text = f"{text} {submitted}"
    open_ones = [one for one in found.published if one.submitted]
    url = (
        _address(found, "run_start", open_ones[-1].task.pk)
        if open_ones
        else _address(found, "results")
    )
    return Step(
        title, text, False, _("Start a run") if open_ones else _("See the results page"), url
    )


def _pay(found: Facts) -> Step:
    """Done once a proposal was approved, or where every published task pays nothing."""
    title, url = _("Approve payouts"), _address(found, "payout_list")
    settled = found.access.project.payout_batches.filter(state=PayoutBatch.State.APPROVED)
    if settled.exists():
        return Step(title, _("The first proposal is approved"), True, "", url)
    paid = TaskVersion.objects.filter(task__project=found.access.project, pay__gt=0)
    if found.published and not paid.filter(published_at__isnull=False).exists():
        return Step(title, _("No task of this project pays"), True, "", url)
    text = _("A second person approves what you propose.")
    if found.access.project.single_approval:
        text = _("Propose and approve what is paid.")
    return Step(title, text, False, _("Open payouts"), url)
