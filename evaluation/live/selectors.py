"""What is told of a live evaluation: its state, how near the end is, and its board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Task
from annotation.models.tasks import TaskState
from annotation.work.snapshots.judgments import system_names, version_items
from crowdqc.numbers import count, money, plural, score
from evaluation.live.budget import Used, used_by
from evaluation.live.judging.selectors import judges_of, problem_of
from evaluation.models import LiveEvaluation
from evaluation.pairwise.selectors.resistance.advice import before_use
from evaluation.results.columns import Column, head_column, interval_column
from evaluation.results.estimates import EstimateRow
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.selectors import next_steps
from evaluation.runs.selectors.verdicts import NextStep, Place, highest, why_not_exact

REFRESH = 5  # seconds between two looks at an open one

NOTHING_KNOWN = 0.5  # the half-width of an interval from 0 to 1

STANDS_STILL = {
    TaskState.PAUSED: gettext_noop("The task is paused, so nobody can claim work."),
    TaskState.CLOSED: (
        gettext_noop(
            "The task is closed, so nobody can claim work. Reopen it or end the evaluation."
        )
    ),
}


def evaluation_of(task: Task) -> LiveEvaluation | None:
    """The task's live evaluation, with who opened and ended it."""
    rows = LiveEvaluation.objects.select_related("opened_by", "ended_by")
    return rows.filter(task=task).first()


def told_of(evaluation: LiveEvaluation, task: Task) -> dict[str, Any]:
    """What the API tells of it: its limits, what is used, the last look or the result."""
    used, names = used_by(evaluation, task), system_names(evaluation.systems)
    board = evaluation.result if evaluation.result is not None else evaluation.seen
    return {
        "id": evaluation.pk,
        "task": task.pk,
        "state": evaluation.state,
        "reason": evaluation.reason,
        "systems": [names[pk] for pk in evaluation.systems],
        "dimension": evaluation.dimension,
        "half_width": evaluation.half_width,
        "max_judgments": evaluation.max_judgments,
        "budget": evaluation.budget,
        "prompts": sum(evaluation.batches.values_list("prompts", flat=True)),
        "prompts_left": used.prompts_left if evaluation.state == "open" else 0,
        "judgments_asked": used.asked,
        "judgments_taken": used.held,
        "in_work": used.leases,
        "money": used.money,
        "decided_by": evaluation.decided_by,
        "models_money": used.models,
        "models_in_work": used.runs,
        "opened_at": evaluation.opened_at,
        "seen_at": evaluation.seen_at,
        "ended_at": evaluation.ended_at,
        "board": {name: value for name, value in board.items() if name != "mark"},
    }


def page(evaluation: LiveEvaluation, task: Task) -> dict[str, Any]:
    """What the page shows of it."""
    used = used_by(evaluation, task)
    board = evaluation.result if evaluation.result is not None else evaluation.seen
    alone = evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS
    going = evaluation.state == LiveEvaluation.State.OPEN
    return {
        "evaluation": evaluation,
        "going": going,
        "figures": figures(evaluation, used, board, task.project.currency),
        "table": _table(board, alone=alone),
        "verdict": _verdict(board).then(*_steps(evaluation, used, task, _verdict(board))),
        "alone": alone,
        "judges": judges_page(evaluation, task, board),
        "models_cost": money(used.models, task.project.currency),
        "why": why_not_exact(board.get("why_no_interval", "")),
        "votes": board.get("votes", 0),
        "used": used,
        "sentence": sentence(evaluation, used, task),
        "seconds": REFRESH if going and task.state in (TaskState.OPEN, TaskState.DRAFT) else 0,
        "waits_for_outputs": not used.asked,
        "dimension_label": next(
            (
                one.label
                for one in version_items(task.current or task.versions.latest("number"))
                if one.name == evaluation.dimension
            ),
            evaluation.dimension,
        ),
    }


def _verdict(board: dict[str, Any]) -> Place:
    """Which system has surely the highest win rate; without judgments, that there are none."""
    found = highest(_ranked(board), _("win rate"))
    return found if found.sentence else Place(_("No pair is judged yet."))


def _steps(
    evaluation: LiveEvaluation, used: Used, task: Task, place: Place
) -> Iterator[NextStep | None]:
    """What people have to do while it is open, and what its result means once it has ended."""
    if evaluation.state == LiveEvaluation.State.ENDED:
        if place.sure:
            yield before_use(task, evaluation.dimension)
            yield next_steps.only_pay(task)
            yield NextStep(_("Nothing to do: use the system that won."))
        yield NextStep(
            _("Choose by cost or another reason, or compare more outputs in another task."),
            _("New task"),
            reverse("task_new", args=[task.project_id]),
            requester=True,
        )
        return
    if not used.asked:
        yield NextStep(
            _("Send outputs of the systems for the same prompts."), _("How to send"), "#send"
        )
    by_people = evaluation.decided_by == LiveEvaluation.DecidedBy.PEOPLE
    if by_people and task.state in STANDS_STILL:
        page = reverse("task", args=[task.project_id, task.pk])
        yield NextStep(_(STANDS_STILL[TaskState(task.state)]), _("Open the task"), page)
    if used.held >= used.asked and not used.leases:
        prompts = plural(used.prompts_left, "prompt")
        said = _("Send more outputs: all pairs are judged, and %(prompts)s more fit.")
        yield NextStep(said % {"prompts": prompts}, _("How to send"), "#send")
    if by_people:
        yield NextStep(
            _("Let workers compare the pairs that wait; it ends by itself when that is enough."),
            _("Invite workers"),
            reverse("people", args=[task.project_id]),
        )
    yield NextStep(_("Nothing to do: models judge, and it ends by itself."))


def _ranked(board: dict[str, Any]) -> list[EstimateRow]:
    """The systems of a board, the best first."""
    rows = sorted(board.get("systems", []), key=lambda row: -(row["share"] or 0))
    columns = ("system", "share", "low", "high", "votes")
    return [EstimateRow(*(row[name] for name in columns)) for row in rows]


def _table(board: dict[str, Any], *, alone: bool) -> ResultTable | None:
    """The win rates of systems; ``alone``: of models, who count pairs."""
    rows = _ranked(board)
    interval = replace(interval_column(), term="confidence-sequence", needs_interval=False)
    columns = (
        head_column("name", _("System")),
        Column.score("estimate", _("Win rate"), term="win-rate", is_main=True),
        replace(interval, label=_("95% interval"), short=_("95% interval")),
        Column.count("n", _("Pairs") if alone else _("Judgments")),
    )
    title = _("Win rate of each system against the others")
    return plain_table(title, columns, rows, classes="data") if rows else None


def judges_page(
    evaluation: LiveEvaluation, task: Task, board: dict[str, Any]
) -> list[dict[str, Any]]:
    """Each model that judges: what it says of the systems, and why it is asked nothing now."""
    seen = {row["model"]: row for row in board.get("judges", [])}
    going = evaluation.state == LiveEvaluation.State.OPEN
    found = []
    for judge in judges_of(evaluation, task):
        row = seen.get(judge.label, {"pairs": 0, "same_both_orders": None, "why_no_interval": ""})
        problem = problem_of(evaluation, judge) if going else ""
        found.append(
            {**row, "model": judge.label, "table": _table(row, alone=True), "problem": problem}
        )
    return found


def sentence(evaluation: LiveEvaluation, used: Used, task: Task) -> str:
    """One sentence on what it waits for, or why it ended."""
    if evaluation.state == LiveEvaluation.State.ENDED:
        return f"{evaluation.get_reason_display()}."
    if not used.asked:
        return _("Send outputs of the systems; the first ones publish the task.")
    if evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS and used.held < used.asked:
        return _("Models judge the pairs. It ends by itself; no person is asked.")
    if task.state in STANDS_STILL:
        return _(STANDS_STILL[TaskState(task.state)])
    if used.held >= used.asked and not used.leases:
        return _("Every pair is judged. Send more outputs: up to %(prompts)s.") % {
            "prompts": plural(used.prompts_left, "prompt")
        }
    return _("It ends by itself when the intervals are narrow enough or the budget is used.")


def figures(
    evaluation: LiveEvaluation, used: Used, board: dict[str, Any], currency: str
) -> list[dict[str, Any]]:
    """Precision, judgments and money, each with what it is of."""
    width, votes = board.get("half_width"), board.get("votes", 0)
    precision: dict[str, Any] = {
        "label": _("Precision"),
        "value": _("none yet") if width is None or width >= NOTHING_KNOWN else f"± {score(width)}",
        "of": _("target ± %(half_width)s") % {"half_width": score(evaluation.half_width)},
        "note": board.get("why_no_interval", ""),
    }
    if width is not None and width >= NOTHING_KNOWN:
        precision["note"] = _("so far the judgments leave every win rate open")
    if width is not None:
        # The work that an interval takes grows with the square of its narrowness.
        precision["done"] = min(100, round(100 * (evaluation.half_width / width) ** 2))
        precision["total"] = 100
    alone = evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS
    in_work = plural(used.runs, "run") if alone else plural(used.leases, "assignment")
    judgments = {
        "label": _("Pairs judged") if alone else _("Judgments"),
        "value": count(votes),
        "of": _("of %(max_judgments)s") % {"max_judgments": count(evaluation.max_judgments)},
        "done": min(votes, evaluation.max_judgments),
        "total": evaluation.max_judgments,
        "note": _("%(asked)s requested, %(in_work)s in progress")
        % {"asked": count(used.asked), "in_work": in_work},
    }
    spent: dict[str, Any] = {
        "label": _("Cost"),
        "value": money(used.money, currency),
        "of": ""
        if evaluation.budget is None
        else _("of %(budget)s") % {"budget": money(evaluation.budget, currency)},
        "note": _("claimed and submitted assignments"),
    }
    if evaluation.judges:
        spent["note"] = _("of it %(cost)s for models") % {"cost": money(used.models, currency)}
    if evaluation.budget is not None:
        spent |= {"done": min(used.money, evaluation.budget), "total": evaluation.budget}
    return [precision, judgments, spent]
