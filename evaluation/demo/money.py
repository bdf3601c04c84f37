"""The demo's money and people: a rule, payments by hand, a statement, ways in, and a panel."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

from annotation.authoring.actions import tasks
from annotation.models import Payment, Task
from annotation.payouts.actions import bonus_rule as payout_bonus
from annotation.payouts.actions import payments, statements
from annotation.recruitment.actions import ways_in as recruitment
from evaluation.models import Run

if TYPE_CHECKING:
    from evaluation.demo.context import DemoContext

DOMAIN = "Reading facts"
PANEL, BEST, WATCHED = "Careful readers", 6, 0.5
STEPS = ({"at": 4, "bonus": "0.90"}, {"at": 9, "bonus": "0.40"})
CAP_EACH, CAP_TOTAL = Decimal("1.20"), Decimal("12.00")
MORE = Decimal("0.10")  # what the statement says of one payment beyond the books
STATEMENT = "Transfer list of the first week.csv"


def rules(load: DemoContext, task: Task) -> None:
    """Set the main task's domain and bonus rule."""
    by = load.people["requester"]
    tasks.set_domain(by=by, task=task, domain=DOMAIN)
    payout_bonus.set_rule(
        by=by,
        task=task,
        bonus_by="rank",
        steps=STEPS,
        cap_each=CAP_EACH,
        cap_total=CAP_TOTAL,
        top_up=True,
    )


def settle_first_batch(load: DemoContext, task: Task) -> None:
    """Mark the first batch as paid except for one line, and check a statement against it."""
    by = load.people["manager"]
    rows = list(Payment.objects.filter(assignment__task=task, amount__gt=0).order_by("pk"))
    payments.mark_sent(by=by, payments=rows[:-1])
    lines = ["assignment,kind,amount,currency,fee,paid_at"]
    for number, row in enumerate(rows):
        paid = row.amount + (MORE if number == 1 else 0)
        lines.append(
            f"{row.assignment_id},{row.what},{paid},{row.currency},0.00,{load.clock.moment:%Y-%m-%d}"
        )
    content = "\n".join(lines).encode()
    statements.import_statement(by=by, task=task, recruitment=None, name=STATEMENT, content=content)


def ways_in(load: DemoContext, task: Task) -> None:
    """A study on a platform and a panel of one's own lead into the task that has begun."""
    by = load.people["requester"]
    tasks.set_domain(by=by, task=task, domain=DOMAIN)
    load.clock.move_to(load.clock.moment + dt.timedelta(minutes=5))
    recruitment.add(
        by=by,
        task=task,
        kind="prolific",
        fields={
            "name": "Study in autumn",
            "study_id": "demo-study-1",
            "entry": "bound",
            "code_completed": "DEMO-DONE",
            "code_no_consent": "DEMO-NOT",
            "fee_percent": Decimal(0),
        },
    )
    recruitment.add(
        by=by,
        task=task,
        kind="panel",
        fields={"name": "Our own readers", "entry": "signed", "parameter_participant": "reader"},
    )


def choose(run: Run) -> str:
    """Make a watched panel of the run's best workers; return a sentence on it."""
    from evaluation.panels import choosing as panels
    from evaluation.panels import rules as panel_choice
    from evaluation.panels import watch as panel_watch

    by = run.project.owner
    wanted = panel_choice.RuleRequest("top", k=BEST)
    made, new = panels.select(by=by, run=run, wanted=wanted, panel_name=PANEL)
    if new:
        panel_watch.watch(
            by=by,
            panel=made.panel,
            task=run.task,
            threshold=WATCHED,
            ranks=3,
            incentive=Decimal("0.50"),
        )
        panel_watch.note_run(run)
    return f"panel “{PANEL}”: the best {BEST} of run {run.number}" if new else ""
