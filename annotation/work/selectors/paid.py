"""What a worker reads about work that was decided: base, bonus, and why less than agreed."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.models import Assignment, Payment, PayoutLine


def explain(assignments: Sequence[Assignment]) -> None:
    """Put on each its approved line (``line``, or None), and whether its money has left."""
    lines = {
        line.assignment_id: line
        for line in PayoutLine.objects.filter(
            assignment__in=[row.pk for row in assignments],
            live=True,
            batch__state="approved",
            decision=PayoutLine.Decision.APPROVE,
        )
    }
    states: dict[int, set[str]] = {}
    paid = Payment.objects.filter(line__in=[line.pk for line in lines.values()], amount__gt=0)
    for pk, state in paid.values_list("assignment", "state"):
        states.setdefault(pk, set()).add(state)
    for row in assignments:
        row.line = lines.get(row.pk)  # type: ignore[attr-defined]
        row.has_left = states.get(row.pk, set()) == {"done"}  # type: ignore[attr-defined]
