"""A project's own prompt on one item: what would be sent, what it costs, and what came back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Project, Task
from annotation.task_types import TYPES
from crowdqc.errors import DomainError
from crowdqc.numbers import parse_whole
from evaluation.llm.own.purposes import PURPOSES
from evaluation.llm.own.selectors import ref_of
from evaluation.llm.selectors.models import small
from evaluation.llm_runs import start, trial
from evaluation.llm_runs.selectors.llm_tasks import preview_in_words
from evaluation.models import CallState, LanguageModel, LLMCall, OwnPrompt, Run, RunState
from evaluation.runs.engine import ACTIVE
from evaluation.runs.selectors.lists import STATES, title_of

TASKS = 100  # to choose from, the newest


def preview_on_item(
    project: Project, prompt: OwnPrompt, chosen: Mapping[str, str]
) -> dict[str, Any]:
    """Return the options of a prompt's preview, and the question as it would be sent.

    ``chosen``: ids of "task" and "model" and the "subject"; what is not there is the first. Gives
    ``problem`` in place of ``shown`` where nothing can be asked.
    """
    tasks = _tasks(project, prompt)
    models = list(LanguageModel.objects.usable(project.pk, LanguageModel.Use.CHAT))
    task = _pick(tasks, chosen["task"])
    model = _pick(models, chosen["model"])
    found: dict[str, Any] = {
        "tasks": [(one.pk, title_of(one)) for one in tasks],
        "models": [
            (
                one.pk,
                _("%(model)s at %(endpoint)s") % {"model": one.name, "endpoint": one.endpoint.name},
            )
            for one in models
        ],
        "chosen_task": task,
        "chosen_model": model,
    }
    if task is None:
        title = _(PURPOSES[prompt.purpose].title)
        return found | {
            "problem": _("No published task here can be asked this way: %(title)s.")
            % {"title": title}
        }
    if model is None:
        return found | {"problem": _("Set up a model first: what is sent depends on it.")}
    try:
        rows = trial.rows(task, trial.full_plan(task, prompt, model.pk).asks)
        first = rows[0][0] if rows else ""
        subject = chosen["subject"] if chosen["subject"] in dict(rows) else first
        raw = {"prompt": ref_of(prompt), "model": model.pk, "subject": subject}
        ready = start.prepare(task=task, method=trial.SLUG, raw=raw)
    except DomainError as error:
        return found | {"problem": error.message}
    shown = preview_in_words(task, ready)
    return found | {"items": rows, "subject": subject, "shown": shown}


def _tasks(project: Project, prompt: OwnPrompt) -> list[Task]:
    """Published tasks that are asked for what the prompt is for, the newest first."""
    shapes = PURPOSES[prompt.purpose].shapes
    slugs = [slug for slug, kind in TYPES.items() if kind.shape in shapes]
    rows = Task.objects.filter(project=project, type__in=slugs, current__isnull=False)
    return list(rows.select_related("current", "project").order_by("-pk")[:TASKS])


def _pick(rows: list[Any], wanted: str) -> Any:
    pk = parse_whole(wanted)
    return next((one for one in rows if one.pk == pk), rows[0] if rows else None)


def tried(project: Project, ref: str, number: int) -> dict[str, Any] | None:
    """Return the result of a trial of this prompt; None if there is no such run."""
    run = Run.objects.filter(
        project=project, number=number, method=trial.SLUG, params__prompt=ref
    ).first()
    if run is None:
        return None
    mark, word = STATES[RunState(run.state)]
    call = LLMCall.objects.filter(uses__run=run).first()
    value = call.value if call is not None and call.state == CallState.DONE else None
    return {
        "run": run,
        "mark": mark,
        "word": _(word),
        "active": run.state in ACTIVE,
        "call": call,
        "value": "" if value is None else json.dumps(value, ensure_ascii=False, indent=2),
        "reason": call.reason if call is not None and value is None else "",
        "cost": small(call.cost if call is not None else None, project.currency),
    }
