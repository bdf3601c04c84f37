"""Audits of explanations: open one, judge blindly, see what came of it. HTTP only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role, Task
from crowdqc.errors import DomainError, Invalid, NotAllowed
from crowdqc.numbers import parse_whole
from evaluation.rescaling import audits
from evaluation.rescaling.dataset import scale_choices
from evaluation.rescaling.selectors import audits as reads
from evaluation.rescaling.views.rescaling import study
from evaluation.runs.selectors.lists import title_of


class AuditForm(forms.Form):
    """Who judges, and how many explanations of each worker and label."""

    judge = forms.TypedChoiceField(
        label=gettext_lazy("Judge"),
        coerce=int,
        help_text=gettext_lazy("Somebody of the team who rated nothing in this task."),
    )
    each = forms.IntegerField(
        min_value=1,
        max_value=audits.MOST_EACH,
        initial=audits.DEFAULT_EACH,
        label=gettext_lazy("Explanations for each worker and label"),
        help_text=gettext_lazy(
            "The paper took 20 of each of four labels. Where there are fewer, all."
        ),
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    scale = forms.ChoiceField(
        label=gettext_lazy("Scale"),
        help_text=gettext_lazy("Explanations are drawn equally by its labels."),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        min_value=0,
        max_value=2**53,
        initial=audits.DEFAULT_SEED,
        help_text=gettext_lazy("The same seed on the same explanations draws the same ones."),
        widget=forms.NumberInput(attrs={"class": "mid num"}),
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.people = {one.pk: one for one in audits.judges(task)}
        choices = [(str(pk), str(one)) for pk, one in self.people.items()]
        self.fields["judge"].choices = choices  # type: ignore[attr-defined]
        self.fields["scale"].choices = scale_choices(task)  # type: ignore[attr-defined]


def _number(request: HttpRequest) -> int | None:
    sent = request.POST if request.method == "POST" else request.GET
    text = sent.get("n", "")
    if not text:
        return None
    number = parse_whole(text, high=10**9)
    if number is None:
        raise Invalid(_("The explanation’s number is not one."), fields={"n": _("A whole number.")})
    return number


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def audit_list(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The task's audits, and opening another one."""
    roles = (Role.REQUESTER,) if request.method == "POST" else ()
    access, task = study(request, project_id, task_id, *roles)
    if request.method != "POST":
        return _list(request, access, task, AuditForm(task=task))
    form = AuditForm(request.POST, task=task)
    if not form.is_valid():
        return _list(request, access, task, form, 422)
    given = form.cleaned_data
    try:
        made = audits.open_audit(
            by=access.user,
            task=task,
            judge=form.people[given["judge"]],
            each=given["each"],
            scale=given["scale"],
            seed=given["seed"],
        )
    except DomainError as error:
        add_errors(form, error)
        return _list(request, access, task, form, error.status)
    messages.success(
        request,
        _("%(explanations)s explanations wait for %(judge)s.")
        % {"explanations": len(made.answer_ids), "judge": made.judge},
    )
    return redirect("audit", project_id, task_id, made.pk)


def _list(
    request: HttpRequest, access: Access, task: Task, form: AuditForm, status: int = 200
) -> HttpResponse:
    rows = list(reads.audits(task))
    context = {
        "task": task,
        "title": title_of(task),
        "form": form,
        "rows": rows,
        "table": reads.audit_table(rows),
        "mine": next(
            (one for one in rows if one.judge_id == access.user.pk and one.closed_at is None), None
        ),
    }
    return render(request, "evaluation/rescaling/audits/list.html", context, status=status)


@login_required
@require_safe
def audit(request: HttpRequest, project_id: int, task_id: int, audit_id: int) -> HttpResponse:
    """Page of an audit: its progress, and its result once it is closed."""
    access, task = study(request, project_id, task_id)
    found = reads.get_audit(task, audit_id)
    context = {
        "task": task,
        "title": title_of(task),
        "audit": found,
        "sentence": reads.state_words(found),
        "total": len(found.answer_ids),
        "is_judge": found.judge_id == access.user.pk,
        "all_judged": found.judged == len(found.answer_ids),  # type: ignore[attr-defined]
    }
    if found.closed_at is not None:
        context.update(reads.result(found))
    return render(request, "evaluation/rescaling/audits/audit.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def judge(request: HttpRequest, project_id: int, task_id: int, audit_id: int) -> HttpResponse:
    """The judge's page: one explanation after another, neither label nor author on it."""
    access, task = study(request, project_id, task_id)
    found = reads.get_audit(task, audit_id)
    if found.judge_id != access.user.pk:
        raise NotAllowed(_("Only the judge of this audit sees its explanations one by one."))
    page = reverse("audit_judge", args=[project_id, task_id, audit_id])
    if request.method == "POST":
        place, verdict = _number(request), request.POST.get("verdict", "")
        if place is None or verdict not in ("agree", "disagree"):
            raise Invalid(_("Agree or disagree."), fields={"verdict": _("One of the two.")})
        audits.give_verdict(
            by=access.user,
            audit=found,
            place=place,
            agrees=verdict == "agree",
            note=request.POST.get("note", ""),
        )
        return redirect(page)
    if found.closed_at is not None:
        return redirect("audit", project_id, task_id, audit_id)
    one = reads.explanation_at(found, _number(request))
    context = {"task": task, "audit": found, "one": one, "page": page}
    name = "judge" if one is not None else "done"
    return render(request, f"evaluation/rescaling/audits/{name}.html", context)


@login_required
@require_POST
def close(request: HttpRequest, project_id: int, task_id: int, audit_id: int) -> HttpResponse:
    """End an audit: its results are shown from then on."""
    access, task = study(request, project_id, task_id)
    found = audits.close(by=access.user, audit=reads.get_audit(task, audit_id))
    messages.success(request, _("The audit is closed; this is what came of it."))
    return redirect("audit", project_id, task_id, found.pk)
