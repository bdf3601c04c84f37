"""Audits of explanations: their list, what a judge sees, and what came of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Answer, ChoiceValue, Membership, Task
from annotation.task_types.sentences import paragraphs
from annotation.templatetags.crowdqc import ago, mark
from annotation.work.snapshots import explanations
from crowdqc.errors import Missing
from crowdqc.numbers import count, percent, percent_interval, plural
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.methods.rescaling.explanation_audit import Share, share
from evaluation.models import AuditVerdict, ExplanationAudit
from evaluation.rescaling.dataset import scale_of
from evaluation.results.cells import bold, count_of_total, link
from evaluation.results.columns import PLOT, Column, head_column
from evaluation.results.tables import BOARD, Group, ResultTable, plain_table

SHOWN_NOTES = 40


def _audit_link(row: ExplanationAudit) -> SafeString:
    url = reverse("audit", args=[row.task.project_id, row.task_id, row.pk])
    return link(url, gettext("Audit %(pk)s") % {"pk": row.pk}, "")


def _state(row: ExplanationAudit) -> SafeString:
    sign, word = ("closed", gettext("Closed")) if row.closed_at else ("open", gettext("Open"))
    return format_html('<span class="state">{}{}</span>', mark(sign), word)


AUDITS = (
    head_column("pk", _("Audit"), html=_audit_link),
    Column.text("judge", _("Judge"), _("Judge")),
    Column.text("scale", _("Scale"), _("Scale")),
    Column.count("per_label", _("Each")),
    Column.number(
        "judged", _("Judged"), html=lambda row: count_of_total(row.judged, len(row.answer_ids))
    ),
    Column.text("closed_at", _("State"), html=_state, classes="nowrap"),
    Column.text(
        "created_at",
        _("Opened"),
        _("Opened"),
        html=lambda row: ago(row.created_at),
        classes="dim nowrap",
    ),
)


@dataclass(frozen=True)
class ShareRow:
    """The share of explanations agreed with, of a worker, a label or everybody."""

    name: str
    url: str
    share: Share
    plot: SafeString

    @property
    def interval(self) -> str:
        """Return the share's interval in per cent as low–high; "none judged" without one."""
        if self.share.low is None or self.share.high is None:
            return gettext("none judged")
        return percent_interval(self.share.low, self.share.high)


@dataclass(frozen=True)
class DrawnRow:
    """How many explanations of a person were drawn, by the value of their label."""

    name: str
    by_value: Mapping[int, int]
    n: int


@dataclass(frozen=True)
class Disagreement:
    """An explanation that the judge did not agree with."""

    name: str
    label: str
    explanation: str
    note: str


SHARES = (
    head_column(
        "name",
        _("Whose"),
        html=lambda row: link(row.url, row.name),
        classes="nowrap",
    ),
    PLOT,
    Column.count("share.agreed", _("Agreed")),
    Column.count("share.n", _("Of")),
    Column.share("share.value", _("Share"), is_main=True),
    Column.number("interval", _("Interval"), classes="dim nowrap"),
)
DISAGREEMENTS = (
    head_column("name", _("Person"), html=lambda row: bold(row.name), classes="nowrap"),
    Column.text("label", _("Label"), _("Label")),
    Column.text("explanation", _("Explanation"), classes="full serif grow"),
    Column.text(
        "note", _("The judge’s note"), html=lambda row: row.note or gettext("none"), classes="full"
    ),
)


def audit_table(audits: Sequence[ExplanationAudit]) -> ResultTable:
    """The task's audits, as ``audits`` gives them."""
    return plain_table(gettext("Audits of the task"), AUDITS, audits)


def audits(task: Task) -> QuerySet[ExplanationAudit]:
    """The task's audits with ``judged``, the newest first."""
    rows = ExplanationAudit.objects.filter(task=task).select_related("judge", "created_by")
    return rows.annotate(judged=Count("verdicts")).order_by("-id")


def get_audit(task: Task, pk: int) -> ExplanationAudit:
    """Return an audit of the task by id; Missing if there is none."""
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

    def row(name: str, answers: Iterable[int], url: str = "") -> ShareRow:
        given = [verdicts[pk] for pk in answers if pk in verdicts]
        found = share(sum(given), len(given))
        estimate = None
        if found.value is not None and found.low is not None and found.high is not None:
            estimate = Estimate(found.value, found.low, found.high)
        plot = charts.forest_cell(axis, estimate, name=name)
        return ShareRow(name, url, found, plot)

    def of_worker(pk: int) -> ShareRow:
        url = reverse("worker_card", args=[audit.task.project_id, pk])
        return row(names[pk], (a for a in audit.answer_ids if worker[a] == pk), url)

    points = list(reversed(scale.points))
    notes = _notes(audit, worker, value, names)
    labels = [
        row(point.label, (a for a in audit.answer_ids if value.get(a) == point.value))
        for point in points
    ]
    columns = [
        head_column("name", gettext("Person"), classes="nowrap"),
        *(_drawn_column(point.label, point.value) for point in points),
        Column.count("n", gettext("All")),
    ]
    return {
        "shares": ResultTable(
            gettext("Share of explanations agreed with, by person and by label"),
            SHARES,
            [
                Group("", [of_worker(pk) for pk in people]),
                Group(gettext("By label of %(label)s") % {"label": scale.label}, labels),
            ],
            total=[row(gettext("Everybody"), audit.answer_ids)],
            axis=charts.forest_axis(axis),
            classes=BOARD,
        ),
        "sample": plain_table(
            gettext("Explanations drawn by person and label"),
            columns,
            [
                DrawnRow(
                    names[pk], {point.value: cells[pk, point.value] for point in points}, drawn[pk]
                )
                for pk in people
            ],
            classes="data",
        ),
        "judged": len(verdicts),
        "drawn": len(audit.answer_ids),
        "uneven": len(set(cells.values())) > 1 or len(cells) < len(people) * len(points),
        "notes": plain_table(
            gettext("Explanations not agreed with"),
            DISAGREEMENTS,
            notes,
            classes="data audit-notes two-line",
        )
        if notes
        else None,
        "is_cut": len(notes) == SHOWN_NOTES,
    }


def _drawn_column(label: str, value: int) -> Column:
    return Column.count(f"value-{value}", label, html=lambda row: count(row.by_value[value]))


def _notes(
    audit: ExplanationAudit, worker: dict[int, Any], value: dict[int, Any], names: dict[int, str]
) -> list[Disagreement]:
    """Explanations that the judge did not agree with, those with a note first."""
    rows = list(audit.verdicts.filter(agrees=False).order_by("pk").values_list("answer_id", "note"))
    rows.sort(key=lambda one: not one[1])
    rows = rows[:SHOWN_NOTES]
    texts = explanations.words([pk for pk, _ in rows])
    scale = scale_of(audit.task, audit.scale)
    return [
        Disagreement(names[worker[pk]], scale.label_of(value.get(pk, 0)), texts.get(pk, ""), note)
        for pk, note in rows
    ]


def state_words(audit: ExplanationAudit) -> str:
    """Say how many explanations are judged, or what the closed audit found."""
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
