"""An answer as it was written: for reviewers beside their decision, and for its own writer."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from annotation.access import get_task
from annotation.models import Answer, PayoutLine, Task
from crowdqc.errors import Missing
from crowdqc.numbers import count
from evaluation.writing.replay import selectors as reads
from evaluation.writing.replay.passages import passages_of
from evaluation.writing.replay.signals import CANNOT, REFERENCE, replay_signals

SPEEDS = (1, 4, 16, 60)


def _answers() -> Any:
    return Answer.objects.select_related(
        "item__group", "item__task__current", "version", "assignment", "worker", "system"
    ).prefetch_related("texts")


def _require_answer(answer: Answer | None) -> Answer:
    if answer is None or not any(value.field == "answer" for value in answer.texts.all()):
        raise Missing(_("There is no such text in this task."))
    return answer


def _of_task(task: Task, answer_id: int) -> Answer:
    answer = _require_answer(_answers().filter(pk=answer_id, item__task=task).first())
    answer.item.task = task
    return answer


def _own(request: HttpRequest, answer_id: int) -> Answer:
    """An answer of the person's own; anybody else's does not exist for them."""
    own = {"worker__user": request.user.pk, "worker__removed_at__isnull": True}
    return _require_answer(_answers().filter(pk=answer_id, **own).first())


def _start(request: HttpRequest) -> str:
    """Seconds from ``?at=``; "" for the end, Missing where it is no number."""
    raw = request.GET.get("at", "")
    if raw and not raw.replace(".", "", 1).isdecimal():
        raise Missing(_("at is no number of seconds."))
    return raw


def _context(request: HttpRequest, replay: reads.Replay, task: Task) -> dict[str, Any]:
    """Return what both pages show."""
    process = replay.process
    return {
        "replay": replay,
        "answer": replay.answer,
        "task": task,
        "start_at": _start(request),
        "speeds": SPEEDS,
        "strip": reads.strip(replay),
        "length": replay.length / 1000,
        "passages": passages_of(process, replay.passages, replay.cited, replay.first_number)
        if process and replay.passages
        else None,
        "signs": replay_signals(replay, task),
        "cannot": CANNOT,
        "reference": REFERENCE % {"sessions": count(903)},
    }


@login_required
@require_safe
def replay(request: HttpRequest, project_id: int, task_id: int, answer_id: int) -> HttpResponse:
    """The player, what was read beside it, the signals, and whether the answer counts."""
    task = get_task(request, project_id, task_id)[1]
    answer = _of_task(task, answer_id)
    context = _context(request, reads.replay_of(answer), task)
    context |= {
        "data_url": reverse("replay_data", args=[project_id, task_id, answer_id]),
        "back": _decision_link(answer, task),
        "decides": True,
    }
    return render(request, "evaluation/writing/staff_replay.html", context)


def _decision_link(answer: Answer, task: Task) -> dict[str, str | bool] | None:
    """Link to where the decision about this work is taken or was."""
    if answer.assignment_id is None:
        return None
    line = (
        PayoutLine.objects.filter(assignment=answer.assignment_id, live=True)
        .values_list("batch__number", flat=True)
        .first()
    )
    if line is not None:
        url = reverse("payout", args=[task.project_id, line])
        return {"paid": True, "url": url}
    url = reverse("review_answers", args=[task.project_id, task.pk, answer.assignment_id])
    return {"paid": False, "url": url}


@login_required
@require_safe
@gzip_page
def replay_data(
    request: HttpRequest, project_id: int, task_id: int, answer_id: int
) -> HttpResponse:
    """The recorded changes for the player."""
    task = get_task(request, project_id, task_id)[1]
    return JsonResponse(reads.player_data(reads.replay_of(_of_task(task, answer_id))))


@login_required
@require_safe
@never_cache
def own_replay(request: HttpRequest, answer_id: int) -> HttpResponse:
    """Show writers the replay of their own text, as reviewers see it."""
    answer = _own(request, answer_id)
    context = _context(request, reads.replay_of(answer), answer.item.task)
    context |= {"data_url": reverse("work_replay_data", args=[answer_id]), "decides": False}
    return render(request, "evaluation/writing/replay/replay.html", context)


@login_required
@require_safe
@never_cache
@gzip_page
def own_replay_data(request: HttpRequest, answer_id: int) -> HttpResponse:
    """The recorded changes of one's own text."""
    return JsonResponse(reads.player_data(reads.replay_of(_own(request, answer_id))))
