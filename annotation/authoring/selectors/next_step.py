"""The one next thing to do with a task, from where it stands: its page's one primary button."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models.tasks import TaskState
from crowdqc.numbers import plural
from crowdqc.web.terms import Words

# Where the results of a task stand: it has none by its type, no run, one in progress, one done.
NO_RESULTS, NO_RUN, RUNNING, DONE = "", "none", "running", "done"


@dataclass(frozen=True)
class Standing:
    """What decides on the next step."""

    state: str
    items: int
    add_words: Words  # what comes first in an empty draft: "Add items"
    draft: int = 0  # the number of a draft over a published version
    begun: bool = False  # somebody claimed or answered
    complete: bool = False  # every slot is filled
    waiting: int = 0  # assignments to be reviewed
    proposal: int = 0  # the number of a payout proposal that the viewer may approve
    results: str = NO_RESULTS


@dataclass(frozen=True)
class NextStep:
    """The words of a button and the name of its address, which takes project and ``of``."""

    label: str
    view: str
    of: str = "task"  # or "proposal", or "" for the project alone
    anchor: str = ""
    requester: bool = False  # only requesters may
    posts: bool = False  # whether the button acts at once; its address shows the options


def next_step(at: Standing) -> NextStep | None:
    """The next step; None where there is nothing to do.

    What waits for a person comes first, the oldest before: a proposal, then work to review.
    """
    if at.state == TaskState.DRAFT:
        label = _("Preview and publish") if at.items else str(at.add_words)
        return NextStep(label, "task_build", requester=True)
    over = at.complete or (at.state == TaskState.CLOSED and at.begun)
    invite = _("Invite more workers") if at.begun else _("Invite workers")
    review = _("Review %(assignments)s") % {"assignments": plural(at.waiting, "assignment")}
    publish = NextStep(
        _("Publish version %(number)s") % {"number": at.draft}, "task_build", requester=True
    )
    approve = NextStep(
        _("Approve proposal %(number)s") % {"number": at.proposal}, "payout", of="proposal"
    )
    resume = NextStep(_("Resume the task"), "task", anchor="#distribution", requester=True)
    steps = (
        (at.proposal, approve),
        (at.waiting, NextStep(review, "review")),
        (over and at.results == NO_RUN, NextStep(_("Start a run"), "run_start", posts=True)),
        (at.draft, publish),
        (over and at.results == RUNNING, NextStep(_("See the run"), "task_results")),
        (over and at.results == DONE, NextStep(_("Open results"), "task_results")),
        (at.state == TaskState.PAUSED and not over, resume),
        (at.state == TaskState.OPEN and not over, NextStep(invite, "invitation_new", of="")),
    )
    return next((step for holds, step in steps if holds), None)


@dataclass(frozen=True)
class Button:
    """A next step with its address."""

    label: str
    url: str
    posts: bool = False


def button_of(at: Standing, *, project_id: int, task_id: int, is_requester: bool) -> Button | None:
    """Return the button of the task's next step; None if this person may not take it."""
    step = next_step(at)
    if step is None or (step.requester and not is_requester):
        return None
    own = {"task": [task_id], "proposal": [at.proposal], "": []}[step.of]
    url = reverse(step.view, args=[project_id, *own]) + step.anchor
    return Button(step.label, url, step.posts)
