"""What is told of a live evaluation: its state, how near the end is, and its board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.models.tasks import TaskState
from annotation.task_types.ready_made import translate_ready_made
from annotation.work.snapshots.judgments import system_names, version_items
from crowdqc.numbers import count, money, plural, score
from evaluation.live.budget import Used, used_by
from evaluation.live.judging.selectors import judges_of, problem_of
from evaluation.live.messages import MESSAGES
from evaluation.models import LiveEvaluation
from evaluation.pairwise.selectors.resistance.advice import before_use
from evaluation.results.columns import Column, head_column, interval_column
from evaluation.results.estimates import EstimateRow
from evaluation.results.findings import Action, Finding, Screen, arrange
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.next_actions import review_action
from evaluation.runs.selectors.verdicts import Place, highest, why_not_exact
from evaluation.runs.study_state import read_state

REFRESH = 5  # seconds between two looks at an open one

NOTHING_KNOWN = 0.5  # the half-width of an interval from 0 to 1

NOT_OPEN = {
    TaskState.DRAFT: "live_task_draft",
    TaskState.PAUSED: "live_task_paused",
    TaskState.CLOSED: "live_task_closed",
}


def evaluation_of(task: Task) -> LiveEvaluation | None:
    """Return the task's live evaluation; None if there is none."""
    rows = LiveEvaluation.objects.select_related("opened_by", "ended_by")
    return rows.filter(task=task).first()


def live_payload(evaluation: LiveEvaluation, task: Task) -> dict[str, Any]:
    """Return an evaluation for the API: limits, use, and the last look or the result."""
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
    """Return the context of the evaluation's page."""
    used = used_by(evaluation, task)
    board = evaluation.result if evaluation.result is not None else evaluation.seen
    alone = evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS
    going = evaluation.state == LiveEvaluation.State.OPEN
    return {
        "evaluation": evaluation,
        "going": going,
        "figures": figures(evaluation, used, board, task.project.currency),
        "table": _table(board, alone=alone),
        "screen": _screen(evaluation, used, task, _place(board)),
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
                translate_ready_made(one.label)
                for one in version_items(task.version_or_draft())
                if one.name == evaluation.dimension
            ),
            evaluation.dimension,
        ),
    }


def _place(board: dict[str, Any]) -> Place:
    """Find the system with surely the highest win rate; no sentence where none is judged."""
    return highest(_ranked(board), _("win rate"))


def _screen(evaluation: LiveEvaluation, used: Used, task: Task, place: Place) -> Screen:
    """Say which system wins, and what people have to do."""
    verdict = place.finding("win_rate") or MESSAGES.find("live_no_judgments")
    if evaluation.state != LiveEvaluation.State.ENDED:
        return arrange([verdict, *_open_actions(evaluation, used, task)])
    if place.sure:
        state = read_state(task)
        before = before_use(task, evaluation.dimension)
        return arrange([verdict, before, review_action(state) if state else None])
    action = Action(_("New task"), reverse("task_new", args=[task.project_id]), requester=True)
    return arrange([verdict, MESSAGES.find("compare_more_outputs", action=action)])


def _open_actions(evaluation: LiveEvaluation, used: Used, task: Task) -> Iterator[Finding]:
    """Yield what an open evaluation waits for, most urgent first."""
    send = Action(_("How to send"), "#send")
    if not used.asked:
        yield MESSAGES.find("send_outputs", action=send)
    by_people = evaluation.decided_by == LiveEvaluation.DecidedBy.PEOPLE
    state = TaskState(task.state)
    if by_people and used.asked and state in NOT_OPEN:
        page = reverse("task", args=[task.project_id, task.pk])
        yield MESSAGES.find(NOT_OPEN[state], action=Action(_("Open the task"), page))
    if used.held >= used.asked and not used.leases:
        prompts = plural(used.prompts_left, "prompt")
        yield MESSAGES.find("send_more_outputs", action=send, prompts=prompts)
    if by_people:
        people = Action(_("Invite workers"), reverse("invitation_new", args=[task.project_id]))
        yield MESSAGES.find("live_pairs_open", action=people)


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
    """List the judging models with their results, and why each is idle."""
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
    """Say what the evaluation waits for, or why it ended."""
    if evaluation.state == LiveEvaluation.State.ENDED:
        return f"{evaluation.get_reason_display()}."
    if not used.asked:
        return _("Send outputs of the systems; the first ones publish the task.")
    if evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS and used.held < used.asked:
        return _("Models judge the pairs. It ends by itself; no person is asked.")
    if (code := NOT_OPEN.get(TaskState(task.state))) is not None:
        return MESSAGES.text(code)
    if used.held >= used.asked and not used.leases:
        return _("Every pair is judged. Send more outputs: up to %(prompts)s.") % {
            "prompts": plural(used.prompts_left, "prompt")
        }
    return _("It ends by itself when the intervals are narrow enough or the budget is used.")


def figures(
    evaluation: LiveEvaluation, used: Used, board: dict[str, Any], currency: str
) -> list[dict[str, Any]]:
    """Return the key figures of an evaluation: precision, judgments and money."""
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
