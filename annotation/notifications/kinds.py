"""What people are told: every kind of notice, for whom it is and when it comes.

Shown as a table on the settings page. A kind that is used and stands not here fails a test.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of notice."""

    who: str
    what: str
    mailed: bool = True  # to those who want mail; else it stands in the application alone
    always: bool = False  # nobody can switch it off: rejections, and who may move money


# Kinds that workers get, by whom they name.
FOR_WORKERS = ("the worker", "workers who had agreed", "who is invited", "who asked for it")
STAFF, WORKER, STARTER = "requesters and managers", "the worker", "who started it"
MANAGERS = "the owner and managers"
KINDS: dict[str, Kind] = {
    "invitation": Kind("who is invited", "An invitation was sent by e-mail."),
    "run.finished": Kind(STARTER, "A run finished; mailed if it took over a minute."),
    "run.failed": Kind(STARTER, "A run failed. For automatic runs: requesters and managers, once."),
    "run.official": Kind(STAFF, "Another run became official, or an automatic one needs a look."),
    "qualification.decided": Kind(WORKER, "A qualification round was decided."),
    "quiz.let_in": Kind(WORKER, "A requester let you start a task whose quiz you did not pass."),
    "panel.admitted": Kind(WORKER, "Admission to a panel; its tasks are open."),
    "panel.ended": Kind(WORKER, "Removal from a panel."),
    "work.approved": Kind(WORKER, "Work was approved; says the pay and any bonus."),
    "work.uncounted": Kind(
        WORKER, "Answers do not count in the results, or count again.", mailed=False
    ),
    "work.excluded": Kind(
        WORKER, "A task’s results leave answers out, or include them again.", mailed=False
    ),
    "pay.corrected": Kind(WORKER, "A correction changed the amount owed."),
    "message.worker": Kind(STAFF, "A worker wrote a message."),
    "message.staff": Kind(WORKER, "A requester wrote to you."),
    "message.announcement": Kind(WORKER, "An announcement about a task that you started."),
    "message.reported": Kind(MANAGERS, "A message was reported."),
    "panel.watch": Kind(STAFF, "A run flags members of a watched panel."),
    "consent.changed": Kind(
        "workers who had agreed", "The text that workers agree to has changed.", mailed=False
    ),
    "task.closed": Kind(STAFF, "Somebody else closed a task.", mailed=False),
    "task.complete": Kind(STAFF, "A task has all its answers."),
    "budget.nearly": Kind(STAFF, "90% of a budget is approved for payment."),
    "budget.used": Kind(STAFF, "A budget is used up."),
    "roles.waits": Kind(
        "managers who may confirm it",
        "A new requester or manager awaits confirmation.",
        always=True,
    ),
    "roles.changed": Kind(
        MANAGERS,
        "Somebody was invited, got, was refused or lost a role as requester or manager.",
        always=True,
    ),
    "project.rules": Kind(
        MANAGERS,
        "The budget, the hourly floor, a payout rule or who approves was changed.",
        always=True,
    ),
    "payout.waits": Kind("managers who may approve it", "A proposal awaits a second person."),
    "payout.stopped": Kind(
        MANAGERS, "Proposals were sent back because their proposer was removed."
    ),
    "correction.waits": Kind(
        "managers who may approve it", "A ledger correction awaits a second person."
    ),
    "correction.decided": Kind("the proposer", "A correction was approved or declined."),
    "payout.decided": Kind("the proposer", "A proposal was approved or sent back."),
    "project.second_factor": Kind(
        "managers", "The owner changed whether payments need a second factor.", always=True
    ),
    "payment.done": Kind(WORKER, "Money was paid."),
    "rejection": Kind(WORKER, "Work was rejected; says until when a reply is open.", always=True),
    "rejection.replied": Kind("managers", "A worker replied to a rejection; says when it is due."),
    "rejection.overdue": Kind("managers", "An answer to a reply is overdue; told again each day."),
    "rejection.decided": Kind(
        WORKER, "A rejection was withdrawn, or a reply answered.", always=True
    ),
    "export.ready": Kind("who asked for it", "A file is ready, or could not be written."),
    "hook.failed": Kind(
        "who added the webhook", "A webhook event failed ten times, or the webhook was turned off."
    ),
}
