"""Messages on workers over several tasks."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from evaluation.results.findings import Catalogue, Message, Severity

VERDICT, ACTION = Severity.VERDICT, Severity.ACTION

MESSAGES = Catalogue(
    {
        "worker_no_interval": Message(
            _("No score of this worker has an interval yet, so nothing can be concluded."), VERDICT
        ),
        "worker_not_compared": Message(
            ngettext_lazy(
                "One score below has an interval; it compares this worker with no median.",
                "%(n)s scores below have an interval; none compares this worker with a median.",
                "n",
            ),
            VERDICT,
        ),
        "worker_not_separated": Message(
            _("This worker’s scores cannot be separated from the median of all workers."), VERDICT
        ),
        "worker_better": Message(
            ngettext_lazy(
                "Better than most workers in the one scored task, and not by chance.",
                "Better than most workers in %(above)s of %(n)s scored tasks, not by chance.",
                "n",
            ),
            VERDICT,
        ),
        "worker_worse": Message(
            ngettext_lazy(
                "Worse than most workers in the one scored task, and not by chance.",
                "Worse than most workers in %(below)s of %(n)s scored tasks, not by chance.",
                "n",
            ),
            VERDICT,
        ),
        "worker_mixed": Message(
            _(
                "Worse than most workers in %(below)s of %(n)s scored tasks and better in "
                "%(above)s, not by chance."
            ),
            VERDICT,
        ),
        "read_worker_answers": Message(
            _("Read the answers before you decide about this worker."), ACTION
        ),
        "domain_not_joined": Message(
            _("No two tasks of this domain can be joined, so nobody is compared across tasks."),
            VERDICT,
        ),
        "domain_few_tasks": Message(
            _("Nobody can be called first yet: %(tasks)s tasks are joined, %(least)s are needed."),
            VERDICT,
        ),
        "domain_few_people": Message(
            _("Nobody can be called first: the tasks share too few people."), VERDICT
        ),
        "another_task": Message(
            _("Create another task of this domain and give it to the same people."), ACTION
        ),
    }
)
