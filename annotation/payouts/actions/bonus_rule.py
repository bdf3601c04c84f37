"""The rule by which a task's proposals begin: checked, stored, audited. It pays nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

from django.db import transaction
from django.utils.translation import gettext, gettext_lazy

from annotation.accounts.roles.actions import notify_managers
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import needs_stepup
from annotation.models import PayoutRule, Task, User
from annotation.payouts.actions.rules import require_proposer
from annotation.records.actions.audit import record
from annotation.records.cleaning import MOST, clean_amount
from annotation.task_types import get_type
from crowdqc import money
from crowdqc.errors import Invalid
from crowdqc.numbers import LARGEST, exact

By = PayoutRule.BonusBy
MAX_STEPS = 8
MAX_RANK = 10_000


def bases_of(task: Task) -> tuple[str, ...]:
    """Return the scores on which a bonus can be based in this task; empty without scores."""
    return get_type(task.type).bonus_bases


@needs_stepup(gettext_lazy("change the payout rule"))
@transaction.atomic
def set_rule(
    *,
    by: User,
    task: Task,
    bonus_by: str,
    steps: Sequence[Mapping[str, Any]] = (),
    cap_each: Decimal | None = None,
    cap_total: Decimal | None = None,
    top_up: bool = False,
    flat_percent: Any = None,
) -> PayoutRule:
    """Store the rule of a task; proposals begin with it, and a person may change every bonus.

    ``steps`` are ``{"at": threshold or rank, "bonus": amount}``, the best first; ``flat_percent``
    of the base goes to everybody who is paid. Raises NotAllowed without the role to propose,
    Invalid naming the step that is wrong.
    """
    require_proposer(task.project, by)
    if bonus_by not in By.values:
        raise Invalid(
            gettext("There is no such bonus."), fields={"bonus_by": gettext("Choose one.")}
        )
    offered = bases_of(task)
    if bonus_by != By.NONE and bonus_by not in offered:
        why = str(get_type(task.type).no_bonus)
        raise Invalid(why, fields={"bonus_by": why})
    if top_up and task.project.hourly_floor is None:
        raise Invalid(
            gettext("The project has no hourly floor."), fields={"top_up": gettext("Set it first.")}
        )
    caps = {
        name: None if value is None else clean_amount(value, name)
        for name, value in (("cap_each", cap_each), ("cap_total", cap_total))
    }
    caps["flat_percent"] = _percent(flat_percent)
    kept = [] if bonus_by == By.NONE else _clean_steps(bonus_by, steps, task.project.currency)
    rule, _made = PayoutRule.objects.update_or_create(
        task=task,
        defaults={
            **{"bonus_by": bonus_by, "steps": kept, "top_up": top_up, "changed_by": by},
            **caps,
        },
    )
    entry = record(
        by=by,
        project=task.project,
        action="payout.rule",
        on=rule,
        bonus_by=str(bonus_by),
        steps=kept,
        top_up=top_up,
        **{name: str(value) for name, value in caps.items()},
    )
    log_event(Kind.RULES, user=by, project=task.project, what="bonus rule")
    notify_managers(
        task.project,
        kind="project.rules",
        key=f"project.rules:{entry.pk}",
        text=lambda: (
            gettext("The payout rule of a task in %(name)s changed.") % {"name": task.project.name}
        ),
    )
    return rule


def _percent(raw: Any) -> Decimal | None:
    """A flat bonus in per cent of the base, with two decimals at most; None for none."""
    if raw is None or not str(raw).strip():
        return None
    value = exact(raw, high=100)
    if value is None or value < 0 or value != round(value, 2):
        says = gettext("0 to 100 percent, with two decimals at most.")
        raise Invalid(says, fields={"flat_percent": says})
    return value or None


def _clean_steps(
    bonus_by: str, steps: Sequence[Mapping[str, Any]], currency: str
) -> list[dict[str, Any]]:
    """The steps, each harder than the next and paid more; Invalid names the first that is not."""
    if not 1 <= len(steps) <= MAX_STEPS:
        raise Invalid(
            gettext("A bonus by rule needs steps."),
            fields={"at_1": gettext("1 to %(max_steps)s steps.") % {"max_steps": MAX_STEPS}},
        )
    kept: list[dict[str, Any]] = []
    for number, step in enumerate(steps, 1):
        at, bonus = (
            _parse_threshold(bonus_by, step.get("at"), number),
            _bonus(step.get("bonus"), currency, number),
        )
        if kept:
            before = kept[-1]
            harder = before["at"] < at if bonus_by == By.RANK else before["at"] > at
            if not harder:
                _wrong(f"at_{number}", gettext("Write the best step first."))
            if money.as_decimal(before["bonus"]) <= bonus:
                _wrong(f"bonus_{number}", gettext("Less than the step above it."))
        kept.append({"at": at, "bonus": str(bonus)})
    return kept


def _parse_threshold(bonus_by: str, raw: Any, number: int) -> int | float:
    field = f"at_{number}"
    value = exact(raw, low=-LARGEST)
    if value is None:
        _wrong(field, gettext("A number."))
    if bonus_by == By.RANK:
        if value != value.to_integral_value() or not 1 <= value <= MAX_RANK:
            _wrong(field, gettext("A whole rank from 1."))
        return int(value)
    low = -1 if bonus_by == By.SCORE else 0
    if not low <= value <= 1:
        _wrong(field, gettext("%(low)s to 1.") % {"low": low})
    return float(value)


def _bonus(raw: Any, currency: str, number: int) -> Decimal:
    field = f"bonus_{number}"
    try:
        value = money.parse_amount(raw, currency, field=field, high=MOST)
    except money.NotAnAmount as error:
        _wrong(field, error.hint)
    if not value:
        _wrong(field, gettext("More than 0."))
    return value


def _wrong(field: str, says: str) -> NoReturn:
    number = field.rpartition("_")[2]
    raise Invalid(
        gettext("Step %(number)s: %(says)s") % {"number": number, "says": says},
        fields={field: says},
    )
