"""Audits of explanations: their list, what a judge sees, and what came of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext

from annotation.models import Answer, ChoiceValue, Membership, Task
from annotation.task_types.sentences import paragraphs
from annotation.work.snapshots import explanations
from crowdqc.errors import Missing
from crowdqc.numbers import percent, plural
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.methods.rescaling.explanation_audit import Share, share
from evaluation.models import AuditVerdict, ExplanationAudit
from evaluation.rescaling.dataset import scale_of

SHOWN_NOTES = 40


def audits(task: Task) -> QuerySet[ExplanationAudit]:
    """The task's audits with ``judged``, the newest first."""
    rows = ExplanationAudit.objects.filter(task=task).select_related("judge", "created_by")
    return rows.annotate(judged=Count("verdicts")).order_by("-id")


def get_audit(task: Task, pk: int) -> ExplanationAudit:
    """An audit of the task; Missing where there is none."""
    audit = audits(task).filter(pk=pk).first()
    if audit is None:
        raise Missing(gettext("There is no such audit in this task."))
    audit.task = task
    return audit


def explanation_at(audit: ExplanationAudit, number: int | None) -> dict[str, Any] | None:
    """The explanation at a place (default: the first one not judged); None when all are judged.

    Raises Missing for a place that there is not.
    """
    total = len(audit.answer_ids)
    given = {one.answer_id: one for one in AuditVerdict.objects.filter(audit=audit).order_by("pk")}
    open_ = [at for at, pk in enumerate(audit.answer_ids, 1) if pk not in given]
    if number is None:
        if not open_:
            return None
        number = open_[0]
    if not 1 <= number <= total:
        raise Missing(gettext("There is no such explanation in this audit."))
    pk = audit.answer_ids[number - 1]
    answer = Answer.objects.select_related("item__group", "item__first").get(pk=pk)
    item, verdict = answer.item, given.get(pk)
    spans = explanations.evidence([pk]).get(pk, [])
    # One explanation as the judge sees it: neither the label nor whose it is.
    return {
        "number": number,
        "total": total,
        "judged": len(given),
        "title": item.group.title,
        "document": paragraphs(item.group.passage),
        "question": item.question,
        "answer": item.first.text if item.first else "",
        "explanation": explanations.words([pk]).get(pk, ""),
        "cited": frozenset(k for start, end in spans for k in range(start, end + 1)),
        "agrees": verdict.agrees if verdict else None,
        "note": verdict.note if verdict else "",
        # the first one that is not judged yet
        "next": next((at for at in open_ if at != number), None),
    }


def result(audit: ExplanationAudit) -> dict[str, Any]:
    """Table 4 of a closed audit: shares by worker, by label and in all; six queries."""
    verdicts = dict(audit.verdicts.values_list("answer_id", "agrees"))
    worker = dict(Answer.objects.filter(pk__in=audit.answer_ids).values_list("pk", "worker_id"))
    value = dict(
        ChoiceValue.objects.filter(answer__in=audit.answer_ids, field=audit.scale).values_list(
            "answer_id", "ordinal"
        )
    )
    names = dict(
        Membership.objects.filter(pk__in=set(worker.values())).values_list("pk", "pseudonym")
    )
    scale = scale_of(audit.task, audit.scale)
    axis = Scale(0.0, 1.0, 280.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    people = sorted(names, key=lambda pk: names[pk])
    drawn = Counter(worker[pk] for pk in audit.answer_ids)
    cells = Counter((worker[pk], value.get(pk)) for pk in audit.answer_ids)

    def row(name: str, answers: Iterable[int], worker_id: int | None = None) -> dict[str, Any]:
        given = [verdicts[pk] for pk in answers if pk in verdicts]
        return _share_row(name, share(sum(given), len(given)), axis, worker_id)

    points = list(reversed(scale.points))
    return {
        "everybody": row(gettext("Everybody"), audit.answer_ids),
        "people": [
            row(names[pk], (a for a in audit.answer_ids if worker[a] == pk), pk) for pk in people
        ],
        "labels": [
            row(point.label, (a for a in audit.answer_ids if value.get(a) == point.value))
            for point in points
        ],
        "axis": charts.forest_axis(axis),
        "scale": scale,
        "judged": len(verdicts),
        "drawn": len(audit.answer_ids),
        "points": points,
        "counts": [
            (names[pk], drawn[pk], [cells[pk, point.value] for point in points]) for pk in people
        ],
        "uneven": len(set(cells.values())) > 1 or len(cells) < len(people) * len(points),
        "notes": _notes(audit, worker, value, names),
    }


def _share_row(name: str, found: Share, axis: Scale, worker_id: int | None) -> dict[str, Any]:
    estimate = None
    words = ""
    if found.value is not None and found.low is not None and found.high is not None:
        estimate = Estimate(found.value, found.low, found.high)
        words = f"{100 * found.low:.0f}–{100 * found.high:.0f}%"
    # A share with its chart; ``name`` is a worker, a label, or everybody.
    return {
        "name": name,
        "share": found,
        "interval": words,
        "plot": charts.forest_cell(axis, estimate, name=name),
        "worker_id": worker_id,
    }


def _notes(
    audit: ExplanationAudit, worker: dict[int, Any], value: dict[int, Any], names: dict[int, str]
) -> list[dict[str, Any]]:
    """Explanations that the judge did not agree with, those with a note first."""
    rows = list(audit.verdicts.filter(agrees=False).order_by("pk").values_list("answer_id", "note"))
    rows.sort(key=lambda one: not one[1])
    rows = rows[:SHOWN_NOTES]
    texts = explanations.words([pk for pk, _ in rows])
    scale = scale_of(audit.task, audit.scale)
    # A disagreement with the judge's words.
    return [
        {
            "worker": names[worker[pk]],
            "label": scale.label_of(value.get(pk, 0)),
            "explanation": texts.get(pk, ""),
            "note": note,
        }
        for pk, note in rows
    ]


def state_words(audit: ExplanationAudit) -> str:
    """How far an audit is, in a sentence."""
    total, judged = len(audit.answer_ids), AuditVerdict.objects.filter(audit=audit).count()
    if audit.closed_at is None:
        return gettext("%(judged)s of %(explanations)s judged.") % {
            "judged": judged,
            "explanations": plural(total, "explanation"),
        }
    agreed = AuditVerdict.objects.filter(audit=audit, agrees=True).count()
    said = percent(agreed / judged) if judged else gettext("none")
    return gettext("%(judge)s agrees with %(agreed)s of %(explanations)s.") % {
        "judge": audit.judge,
        "agreed": said,
        "explanations": plural(judged, "explanation"),
    }
