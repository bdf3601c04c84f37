"""The rule by which a task's proposals begin. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.access import get_task
from annotation.models import PayoutRule
from annotation.payouts.actions.bonus_rule import bases_of, set_rule
from annotation.records.cleaning import MOST
from crowdqc.errors import Invalid
from crowdqc.money import parse_amount
from crowdqc.numbers import plain_decimal
from evaluation.payouts.selectors.proposals import rule_words, score_name, why_no_bonus
from evaluation.runs.official.selectors import official_run

STEPS = 4  # lines of the form
By = PayoutRule.BonusBy


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def payout_rule(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Look at the rule, or change it; it fills forms and pays nothing."""
    access, task = get_task(request, project_id, task_id)
    rule = PayoutRule.objects.filter(task=task).first()
    error: Invalid | None = None
    if request.method == "POST":
        try:
            set_rule(by=access.user, task=task, **_sent(request, task.project.currency))
        except Invalid as refused:
            error = refused
        else:
            messages.success(request, _("The rule is saved. The next proposal begins with it."))
            return redirect("payout_rule", project_id, task_id)
    values = request.POST if error else _values(rule)
    context = {
        "task": task,
        "rule": rule,
        "words": rule_words(rule, task.project),
        "values": values,
        "steps": [
            {
                "n": n,
                "at": values.get(f"at_{n}", ""),
                "bonus": values.get(f"bonus_{n}", ""),
                "at_error": error.fields.get(f"at_{n}", "") if error else "",
                "bonus_error": error.fields.get(f"bonus_{n}", "") if error else "",
            }
            for n in range(1, STEPS + 1)
        ],
        "choices": [(By.NONE.value, By.NONE.label)]
        + [(one, By(one).label) for one in bases_of(task)],
        "why_none": why_no_bonus(task),
        "score_name": score_name(task),
        "run": official_run(task),
        "error": error,
    }
    status = 422 if error else 200
    return render(request, "evaluation/payouts/payout_rule.html", context, status=status)


def _values(rule: PayoutRule | None) -> dict[str, Any]:
    """Return the form's first values."""
    if rule is None:
        return {"bonus_by": By.NONE.value}
    found: dict[str, Any] = {
        "bonus_by": rule.bonus_by,
        "top_up": "on" if rule.top_up else "",
        "flat_percent": plain_decimal(rule.flat_percent) if rule.flat_percent else "",
        "cap_each": "" if rule.cap_each is None else str(rule.cap_each),
        "cap_total": "" if rule.cap_total is None else str(rule.cap_total),
    }
    for number, step in enumerate(rule.steps, 1):
        found |= {f"at_{number}": str(step["at"]), f"bonus_{number}": step["bonus"]}
    return found


def _sent(request: HttpRequest, currency: str) -> dict[str, Any]:
    """The form as the action wants it; lines that are empty on both sides are none."""
    post = request.POST
    rows = [(post.get(f"at_{n}", ""), post.get(f"bonus_{n}", "")) for n in range(1, STEPS + 1)]
    caps = {}
    for name in ("cap_each", "cap_total"):
        text = post.get(name, "").strip()
        caps[name] = parse_amount(text, currency, field=name, high=MOST) if text else None
    return {
        "bonus_by": post.get("bonus_by", ""),
        "steps": [{"at": at, "bonus": bonus} for at, bonus in rows if at.strip() or bonus.strip()],
        "top_up": bool(post.get("top_up")),
        "flat_percent": post.get("flat_percent", ""),
        **caps,
    }
