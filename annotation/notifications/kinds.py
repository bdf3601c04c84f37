"""What people are told: every kind of notice, for whom it is and when it comes.

Shown as a table on the settings page. A kind that is used and stands not here fails a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise
else:
    StrPromise = str


class Kind(NamedTuple):
    """One kind of notice."""

    who: StrPromise
    what: StrPromise
    mailed: bool = True  # to those who want mail; else it stands in the application alone
    always: bool = False  # nobody can switch it off: rejections, and who may move money


# Kinds that workers get, by whom they name.
FOR_WORKERS = (
    gettext_lazy("the worker"),
    gettext_lazy("workers who had agreed"),
    gettext_lazy("who is invited"),
    gettext_lazy("who asked for it"),
)
STAFF, WORKER = gettext_lazy("requesters and managers"), gettext_lazy("the worker")
STARTER, MANAGERS = gettext_lazy("who started it"), gettext_lazy("the owner and managers")
KINDS: dict[str, Kind] = {
    "invitation": Kind(
        gettext_lazy("who is invited"), gettext_lazy("An invitation was sent by e-mail.")
    ),
    "run.finished": Kind(STARTER, gettext_lazy("A run finished; mailed if it took over a minute.")),
    "run.failed": Kind(
        STARTER, gettext_lazy("A run failed. For automatic runs: requesters and managers, once.")
    ),
    "run.official": Kind(
        STAFF, gettext_lazy("Another run became official, or an automatic one needs a look.")
    ),
    "qualification.decided": Kind(WORKER, gettext_lazy("A qualification round was decided.")),
    "quiz.let_in": Kind(
        WORKER, gettext_lazy("A requester let you start a task whose quiz you did not pass.")
    ),
    "panel.admitted": Kind(WORKER, gettext_lazy("Admission to a panel; its tasks are open.")),
    "panel.ended": Kind(WORKER, gettext_lazy("Removal from a panel.")),
    "work.approved": Kind(WORKER, gettext_lazy("Work was approved; says the pay and any bonus.")),
    "work.uncounted": Kind(
        WORKER, gettext_lazy("Answers do not count in the results, or count again."), mailed=False
    ),
    "work.excluded": Kind(
        WORKER,
        gettext_lazy("A task’s results leave answers out, or include them again."),
        mailed=False,
    ),
    "pay.corrected": Kind(WORKER, gettext_lazy("A correction changed the amount owed.")),
    "message.worker": Kind(STAFF, gettext_lazy("A worker wrote a message.")),
    "message.staff": Kind(WORKER, gettext_lazy("A requester wrote to you.")),
    "message.announcement": Kind(
        WORKER, gettext_lazy("An announcement about a task that you started.")
    ),
    "message.reported": Kind(MANAGERS, gettext_lazy("A message was reported.")),
    "panel.watch": Kind(STAFF, gettext_lazy("A run flags members of a watched panel.")),
    "transcript.ready": Kind(
        WORKER, gettext_lazy("A transcript of your recording is ready to read and correct.")
    ),
    "consent.changed": Kind(
        gettext_lazy("workers who had agreed"),
        gettext_lazy("The text that workers agree to has changed."),
        mailed=False,
    ),
    "task.closed": Kind(STAFF, gettext_lazy("Somebody else closed a task."), mailed=False),
    "task.complete": Kind(STAFF, gettext_lazy("A task has all its answers.")),
    "traces.silent": Kind(STAFF, gettext_lazy("A source of traces has sent nothing for a while.")),
    "traces.backlog": Kind(
        STAFF, gettext_lazy("Drawn traces have waited too long for reviews; once a week.")
    ),
    "traces.failing": Kind(
        STAFF, gettext_lazy("More traces fail than the limit that was set; once a week.")
    ),
    "budget.nearly": Kind(STAFF, gettext_lazy("90% of a budget is approved for payment.")),
    "budget.used": Kind(STAFF, gettext_lazy("A budget is used up.")),
    "roles.waits": Kind(
        gettext_lazy("managers who may confirm it"),
        gettext_lazy("A new requester or manager awaits confirmation."),
        always=True,
    ),
    "roles.changed": Kind(
        MANAGERS,
        gettext_lazy(
            "Somebody was invited, got, was refused or lost a role as requester or manager."
        ),
        always=True,
    ),
    "project.rules": Kind(
        MANAGERS,
        gettext_lazy("The budget, the hourly floor, a payout rule or who approves was changed."),
        always=True,
    ),
    "payout.waits": Kind(
        gettext_lazy("managers who may approve it"),
        gettext_lazy("A proposal awaits a second person."),
    ),
    "payout.stopped": Kind(
        MANAGERS, gettext_lazy("Proposals were sent back because their proposer was removed.")
    ),
    "correction.waits": Kind(
        gettext_lazy("managers who may approve it"),
        gettext_lazy("A ledger correction awaits a second person."),
    ),
    "correction.decided": Kind(
        gettext_lazy("the proposer"), gettext_lazy("A correction was approved or declined.")
    ),
    "payout.decided": Kind(
        gettext_lazy("the proposer"), gettext_lazy("A proposal was approved or sent back.")
    ),
    "project.second_factor": Kind(
        gettext_lazy("managers"),
        gettext_lazy("The owner changed whether payments need a second factor."),
        always=True,
    ),
    "payment.done": Kind(WORKER, gettext_lazy("Money was paid.")),
    "payment.details": Kind(
        WORKER, gettext_lazy("Your payment details were changed."), always=True
    ),
    "payment.details_missing": Kind(
        WORKER, gettext_lazy("Approved pay waits for your payment details.")
    ),
    "rejection": Kind(
        WORKER, gettext_lazy("Work was rejected; says until when a reply is open."), always=True
    ),
    "rejection.replied": Kind(
        gettext_lazy("managers"),
        gettext_lazy("A worker replied to a rejection; says when it is due."),
    ),
    "rejection.overdue": Kind(
        gettext_lazy("managers"),
        gettext_lazy("An answer to a reply is overdue; told again each day."),
    ),
    "payment.late": Kind(
        MANAGERS, gettext_lazy("Approved pay waits longer than 14 days; once a week.")
    ),
    "rejection.decided": Kind(
        WORKER, gettext_lazy("A rejection was withdrawn, or a reply answered."), always=True
    ),
    "export.ready": Kind(
        gettext_lazy("who asked for it"), gettext_lazy("A file is ready, or could not be written.")
    ),
    "account.factor_reset": Kind(
        gettext_lazy("whose second factor it was"),
        gettext_lazy("The administrator removed your second factor."),
        always=True,
    ),
    "account.merged": Kind(
        gettext_lazy("whose account it is"),
        gettext_lazy("Another account of yours was merged into yours."),
        always=True,
    ),
    "project.archived": Kind(MANAGERS, gettext_lazy("The administrator archived a project.")),
    "installation.message": Kind(
        gettext_lazy("everybody"), gettext_lazy("A message of whoever runs this installation.")
    ),
    "hook.failed": Kind(
        gettext_lazy("who added the webhook"),
        gettext_lazy("A webhook event failed ten times, or the webhook was turned off."),
    ),
}
