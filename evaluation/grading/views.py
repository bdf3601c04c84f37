"""Expert grading and the study it is for. HTTP only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_task
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role, Task
from crowdqc.errors import Conflict, DomainError, Invalid, Missing, NotAllowed
from crowdqc.numbers import parse_whole
from evaluation.grading import actions
from evaluation.grading import selectors as reads
from evaluation.grading.keys import right_answer_of, right_answers, topic_mark, topics_of
from evaluation.grading.study_run import SLUG
from evaluation.models import Grading
from evaluation.runs import engine as runs
from evaluation.runs.pages import number_of
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as run_reads

MOST_WRONG = 100  # wrong topics of an answer


class OpenForm(forms.Form):
    """Who grades, and how many answers of each system."""

    first = forms.TypedChoiceField(coerce=int, label=gettext_lazy("First grader"))
    second = forms.TypedChoiceField(coerce=int, label=gettext_lazy("Second grader"))
    of = forms.ChoiceField(
        choices=[
            (actions.SYSTEMS, gettext_lazy("Language models")),
            (actions.WORKERS, gettext_lazy("Workers")),
        ],
        label=gettext_lazy("Answers of"),
        help_text=gettext_lazy(
            "Grades of models are for “Against experts”, of workers for “Compare methods”."
        ),
    )
    per_system = forms.IntegerField(
        min_value=0,
        max_value=actions.MOST,
        initial=0,
        label=gettext_lazy("Answers of each"),
        help_text=gettext_lazy("Drawn at random. 0: all of them."),
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )

    def __init__(self, *args: Any, people: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.people = {user.pk: user for user in people}
        choices = [(str(pk), str(user)) for pk, user in self.people.items()]
        for name in ("first", "second"):
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        if len(choices) > 1:
            self.fields["second"].initial = choices[1][0]


class StudyForm(forms.Form):
    """Options of the study."""

    judge = forms.TypedChoiceField(
        coerce=int,
        required=False,
        empty_value=None,
        label=gettext_lazy("Language model as judge"),
        help_text=gettext_lazy("A finished run in which a model gave every answer 0 to 100."),
    )
    draw = forms.ChoiceField(
        choices=[
            ("workers", gettext_lazy("So many workers, as published")),
            ("answers", gettext_lazy("So many answers to each question")),
        ],
        label=gettext_lazy("What is drawn"),
        help_text=gettext_lazy("The second where nobody answered everything."),
    )
    sizes = forms.CharField(
        initial="5, 10, 15",
        label=gettext_lazy("Numbers of workers"),
        widget=forms.TextInput(attrs={"class": "mid"}),
    )
    repetitions = forms.IntegerField(
        min_value=2,
        max_value=500,
        initial=25,
        label=gettext_lazy("Draws of each"),
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = [
            (
                str(run.pk),
                gettext("Run %(number)s, %(model)s")
                % {"number": run.number, "model": run.params.get("model_name", "a model")},
            )
            for run in reads.judges(task)
        ]
        self.fields["judge"].choices = [("0", gettext("none")), *found]  # type: ignore[attr-defined]

    def clean_sizes(self) -> list[int]:
        """Parse whole numbers separated by commas."""
        parts = [part.strip() for part in self.cleaned_data["sizes"].split(",") if part.strip()]
        found = {number for part in parts if (number := parse_whole(part, high=9999)) is not None}
        if not parts or len(found) < len(set(parts)):
            raise forms.ValidationError(gettext("Whole numbers between commas, as 5, 10, 15."))
        return sorted(found)


def _texts(request: HttpRequest, project_id: int, task_id: int, *roles: str) -> tuple[Access, Task]:
    access, task = get_task(request, project_id, task_id, *roles)
    otherwise = Missing(gettext("Only answers in free text are held against grades of experts."))
    require_fit(task, SLUG, otherwise)
    return access, task


def _grading(task: Task) -> Grading:
    found = reads.newest(task)
    if found is None:
        raise Missing(gettext("Nobody grades answers of this task."))
    return found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def grading(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of a grading: its progress and disagreements, or the form to open one."""
    access, task = _texts(request, project_id, task_id)
    found, people = reads.newest(task), reads.staff(task)
    context: dict[str, Any] = {"task": task, "title": run_reads.title_of(task), "grading": found}
    form = OpenForm(request.POST if request.method == "POST" else None, people=people)
    if request.method == "POST":
        access.require(Role.REQUESTER)
        if form.is_valid():
            given = form.cleaned_data
            try:
                actions.open_grading(
                    by=access.user,
                    task=task,
                    first=form.people[given["first"]],
                    second=form.people[given["second"]],
                    per_system=given["per_system"],
                    of=given["of"],
                )
            except (Invalid, Conflict) as error:
                add_errors(form, error)
            else:
                return redirect("grading", project_id, task_id)
        return render(
            request, "evaluation/grading/grading.html", context | {"form": form}, status=422
        )
    if found is None or (found.closed_at is not None and "again" in request.GET):
        context.update(form=form, grading=None, enough=len(people) > 1)
        return render(request, "evaluation/grading/grading.html", context)
    mine = access.user.pk in (found.first_id, found.second_id)
    told = reads.grading_progress(found)
    # While one still marks, neither sees what the other gave.
    ready = told["first"] == told["total"] == told["second"] or found.closed_at is not None
    context.update(
        told=told,
        mine=mine,
        ready=ready,
        apart=reads.disagreements(found) if ready else [],
        keys=right_answers(found),
        keys_open=mine or access.is_requester,
        most_letters=actions.MOST_LETTERS,
        left=mine and reads.next_answer(found, access.user) is not None,
    )
    return render(request, "evaluation/grading/grading.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def grade_answer(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page on which a grader marks one answer, seeing question and text."""
    access, task = _texts(request, project_id, task_id)
    found = _grading(task)
    if access.user.pk not in (found.first_id, found.second_id):
        raise NotAllowed(gettext("Only the two graders mark answers."))
    asked = (number_of(request, "answer") if request.method != "POST" else None) or 0
    error = ""
    if request.method == "POST":
        asked = parse_whole(request.POST.get("answer", "")) or 0
        value, note = _mark_given(request.POST, found, asked)
        try:
            if value is None:
                raise Invalid(gettext("A mark is a whole number from 0 to 100."))
            actions.grade(
                by=access.user,
                grading=found,
                answer_id=asked,
                value=value,
                note=note,
            )
            return redirect("grading_mark", project_id, task_id)
        except (Invalid, Conflict) as problem:
            error = problem.message
    at = asked or reads.next_answer(found, access.user)
    if at is None:
        return redirect("grading", project_id, task_id)
    if at not in found.answer_ids:
        raise Missing(gettext("This answer is not among those to grade."))
    value, note = reads.own_mark(found, access.user, at)
    number, before, after = reads.place_of(found, access.user, at)
    context = {
        "task": task,
        "title": run_reads.title_of(task),
        "grading": found,
        "error": error,
        "one": reads.answers_for_grader([at])[at],
        "right": right_answer_of(found, at),
        "topics": topics_of(right_answer_of(found, at)),
        "value": value,
        "note": note,
        "number": number,
        "before": before,
        "after": after,
        "total": len(found.answer_ids),
        "done": found.grades.filter(grader=access.user).count(),
    }
    return render(request, "evaluation/grading/mark.html", context, status=422 if error else 200)


def _mark_given(given: QueryDict, found: Grading, answer_id: int) -> tuple[int | None, str]:
    """The mark that was written, else that of the topics ticked, and the note that goes with it."""
    value, note = parse_whole(given.get("value", ""), high=100), given.get("note", "")
    topics = topics_of(right_answer_of(found, answer_id)) if answer_id in found.answer_ids else []
    if value is not None or given.get("value") or not topics:
        return value, note
    ticked = {parse_whole(one, high=len(topics) - 1) for one in given.getlist("topic")} - {None}
    wrong = parse_whole(given.get("wrong", ""), high=MOST_WRONG) or 0
    counted = gettext("%(named)s of %(topics)s topics, %(wrong)s wrong")
    counted %= {"named": len(ticked), "topics": len(topics), "wrong": wrong}
    return topic_mark(len(ticked), len(topics), wrong), note or counted


@login_required
@require_POST
def settle_mark(
    request: HttpRequest, project_id: int, task_id: int, answer_id: int
) -> HttpResponse:
    """The mark that both agreed on."""
    access, task = _texts(request, project_id, task_id)
    found, value = _grading(task), parse_whole(request.POST.get("value", ""), high=100)
    if value is None:
        raise Invalid(
            gettext("A mark is a whole number from 0 to 100."),
            fields={"value": gettext("0 to 100.")},
        )
    actions.reconcile(by=access.user, grading=found, answer_id=answer_id, value=value)
    return redirect(f"{reverse('grading', args=[project_id, task_id])}#apart")


@login_required
@require_POST
def save_keys(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Save the reference answers that the graders agreed on."""
    access, task = _texts(request, project_id, task_id)
    found = _grading(task)
    if access.user.pk not in (found.first_id, found.second_id):
        access.require(Role.REQUESTER)
    texts = {
        one.item_id: request.POST.get(f"key-{one.item_id}", "") for one in right_answers(found)
    }
    try:
        actions.save_right_answers(by=access.user, grading=found, texts=texts)
    except Invalid as problem:
        messages.warning(request, problem.message)
    return redirect(f"{reverse('grading', args=[project_id, task_id])}#keys")


@login_required
@require_POST
def end(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """End the grading."""
    access, task = _texts(request, project_id, task_id, Role.REQUESTER)
    try:
        actions.close(by=access.user, grading=_grading(task))
    except Conflict as conflict:
        messages.warning(request, conflict.message)
    return redirect("grading", project_id, task_id)


@login_required
@require_safe
def results(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page comparing methods with experts, by number of workers and by system."""
    _, task = _texts(request, project_id, task_id)
    run, found = reads.shown_run(task, number_of(request)), reads.newest_of_systems(task)
    context: dict[str, Any] = {
        "task": task,
        "title": run_reads.title_of(task),
        "grading": found,
        "run": run,
        "view": "study",
        "keep": "",
        "runs": [],
        "active": task.runs.filter(method=SLUG, state__in=runs.ACTIVE).first(),
        "form": StudyForm(task=task),
    }
    if found is not None:
        context["told"] = reads.grading_progress(found)
    if run is not None:
        told = run_reads.figures_of(run)
        context.update(
            page=reads.page(run, told), recipe=run_reads.recipe_pairs(run, told.get("recipe"))
        )
    return render(request, "evaluation/grading/results.html", context)


@login_required
@require_POST
def start(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Queue a study on the grades as they stand."""
    access, task = _texts(request, project_id, task_id, Role.REQUESTER)
    found, form = reads.newest_of_systems(task), StudyForm(request.POST, task=task)
    if found is None:
        raise Missing(gettext("Nobody grades answers of language models here."))
    if not form.is_valid():
        first = next(iter(form.errors.values()))[0]
        messages.warning(request, str(first))
        return redirect("study", project_id, task_id)
    given = form.cleaned_data
    params = {
        "grading": found.pk,
        "judge": given["judge"] or 0,
        "draw": given["draw"],
        "sizes": given["sizes"],
        "repetitions": given["repetitions"],
    }
    try:
        run = runs.start(by=access.user, task=task, method=SLUG, params=params)
    except DomainError as error:
        messages.warning(request, error.message)
        return redirect("study", project_id, task_id)
    return redirect("run", project_id, run.number)
