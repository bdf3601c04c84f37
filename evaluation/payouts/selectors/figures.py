"""Key figures of a task: people, usable answers, time, and what each of them cost.

CrowdRAG's Table 1. The cost is everything that the task cost: base pay, bonuses, fees and
corrections, also for work whose answers are not used. Imported answers are left out, since
nothing was paid for them here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Avg, Case, Count, F, FloatField, Func, Q, QuerySet, Sum, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.cost import IS_EARNED
from annotation.authoring.selectors.progress import HOURS, progress_of
from annotation.models import Answer, Assignment, ChoiceValue, LedgerEntry, Task, TextValue
from annotation.models.assignments import AssignmentState
from annotation.task_types import get_type
from annotation.templatetags.crowdqc import named
from crowdqc.database.quantiles import Quantile
from crowdqc.money import as_decimal, round_money
from crowdqc.numbers import count, duration, money, plural, score, several
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import ResultTable, plain_table

ZERO = Decimal("0.00")
JUDGED = ("pairs", "ratings", "labels")  # shapes whose choices are judgments
WRITTEN = ("texts", "responses")  # shapes whose texts are counted in words
USABLE = Q(counts=True, stage=Answer.Stage.MAIN, item__expected__isnull=True)


@dataclass(frozen=True)
class KeyFigures:
    """What a task's own people did and cost; None where it is not known.

    ``answers`` are usable ones: those that count, to items without a known answer. ``judgments``
    are their choices, ``labels`` the items and fields that have any. ``hourly`` is the median
    without rejected work.
    """

    workers: int
    assignments: int
    answers: int
    judgments: int
    labels: int
    words: float | None
    seconds: float | None
    hourly: Decimal | None
    booked: Decimal
    waiting: Decimal
    unused: Decimal

    @property
    def cost(self) -> Decimal:
        """Booked, and agreed for work that nobody has decided about."""
        return self.booked + self.waiting

    def cost_per(self, n: int) -> Decimal | None:
        """The whole cost by ``n`` things; None without any, or without a cost."""
        return self.cost / n if n and self.cost else None


class _Words(Func):
    """How many words a text has, parted by spaces."""

    template = r"cardinality(array_remove(regexp_split_to_array(%(expressions)s, '\s+'), ''))"
    output_field = FloatField()


def key_figures(task: Task) -> KeyFigures | None:
    """The figures of a task in eight queries; None before somebody submitted work here."""
    done = task.assignments.filter(state=AssignmentState.SUBMITTED, quiz=None).exclude(
        source="import"
    )
    people = done.aggregate(n=Count("pk"), workers=Count("worker", distinct=True))
    if not people["n"]:
        return None
    usable = Answer.objects.filter(USABLE, assignment__in=done).exclude(choices__field="declined")
    choices = ChoiceValue.objects.filter(answer__in=usable)
    shape = get_type(task.type).shape
    judged = {"n": 0, "labels": 0}
    if shape in JUDGED:
        fresh = choices.filter(answer__item__repeat=False).order_by()
        labels = fresh.values("answer__item", "field").distinct().count()
        judged = {"n": choices.count(), "labels": labels}
    words = None
    if shape in WRITTEN:
        texts = TextValue.objects.filter(answer__in=usable, field="answer")
        words = texts.aggregate(mean=Avg(_Words("text")))["mean"]
    seconds, hourly = _pace(done)
    spent = progress_of([task])[0]
    return KeyFigures(
        workers=people["workers"],
        assignments=people["n"],
        answers=usable.count(),
        judgments=judged["n"],
        labels=judged["labels"],
        words=words,
        seconds=seconds,
        hourly=hourly,
        booked=spent.booked,
        waiting=spent.waiting,
        unused=_unused(task, usable),
    )


def _pace(done: QuerySet[Assignment]) -> tuple[float | None, Decimal | None]:
    """Medians over assignments of the seconds an answer, and of base pay by the hour."""
    timed = done.filter(opened_at__isnull=False).annotate(
        hours=HOURS, n=Count("answers", filter=Q(answers__stage=Answer.Stage.MAIN))
    )
    timed = timed.filter(hours__gt=0, n__gt=0)
    found = timed.annotate(
        each=F("hours") * 3600.0 / F("n"),
        time_per_pay=Case(
            When(IS_EARNED, pay__gt=0, then=F("hours") / F("pay")), output_field=FloatField()
        ),
    ).aggregate(
        seconds=Quantile("each", share=0.5), hours_per_pay=Quantile("time_per_pay", share=0.5)
    )
    # By the time, as a task's expected pay is: with one pay both are the same figure.
    return found["seconds"], round_money(as_decimal(1 / found["hours_per_pay"])) if found[
        "hours_per_pay"
    ] else None


def _unused(task: Task, usable: QuerySet[Answer]) -> Decimal:
    """Base pay and bonuses for assignments without a usable answer."""
    rows = LedgerEntry.objects.owed().filter(task=task, currency=task.project.currency)
    used = usable.order_by().values("assignment")
    return rows.exclude(assignment__in=used).aggregate(s=Sum("amount", default=ZERO))["s"]


@dataclass(frozen=True)
class KeyFigure:
    """One line of the table: as a page writes it, and as a number for files."""

    key: str
    label: str
    value: str
    note: str = ""
    number: float | None = None


COLUMNS = (
    head_column("label", gettext_lazy("Figure"), exports={"figure": "key"}),
    Column.number("value", gettext_lazy("Value"), "", is_main=True, exports={"value": "number"}),
    Column.text("note", gettext_lazy("Note"), classes="dim", exports={"note": "note"}),
)


def figure_lines(found: KeyFigures, task: Task) -> list[KeyFigure]:
    """The figures that a task of this type has, in the order of the published table."""
    return [line for line in _lines(found, task) if line.number is not None]


def figure_table(lines: list[KeyFigure]) -> ResultTable:
    return plain_table(_("Key figures"), COLUMNS, lines, classes="data")


def _lines(found: KeyFigures, task: Task) -> Iterator[KeyFigure]:
    kind, currency = get_type(task.type), task.project.currency
    noun = named(kind.answer_noun)

    def paid(key: str, label: str, amount: Decimal | None, note: str = "") -> KeyFigure:
        if amount is None:
            return KeyFigure(key, label, "")
        return KeyFigure(key, label, money(amount, currency), note, float(amount))

    yield KeyFigure("workers", _("Workers"), count(found.workers), number=found.workers)
    yield KeyFigure(
        "usable",
        _("Usable %(nouns)s") % {"nouns": several(kind.answer_noun)},
        count(found.answers),
        _("of %(n)s") % {"n": plural(found.assignments, "assignment")},
        found.answers,
    )
    if found.judgments:
        yield KeyFigure(
            "votes",
            _("Votes"),
            count(found.judgments),
            _("one for each question of an item"),
            found.judgments,
        )
    if found.words is not None:
        label = _("Words per %(noun)s") % {"noun": noun}
        yield KeyFigure("words", label, score(found.words, 0), _("mean"), found.words)
    if found.seconds is not None:
        label = _("Time per %(noun)s") % {"noun": noun}
        note = _("median over assignments, from opening to submitting")
        yield KeyFigure("seconds", label, duration(found.seconds), note, found.seconds)
    yield paid("hourly", _("Median hourly pay"), found.hourly, _("base pay without rejected work"))
    waits = _("%(amount)s of it awaits a decision") % {"amount": money(found.waiting, currency)}
    yield paid(
        "cost",
        _("Cost so far"),
        found.cost,
        _("pay, bonuses, fees and corrections") if not found.waiting else waits,
    )
    yield paid(
        "unused",
        _("Paid for unused work"),
        found.unused,
        _("assignments without a usable %(noun)s; part of the cost") % {"noun": noun},
    )
    yield paid(
        "cost_usable",
        _("Cost per usable %(noun)s") % {"noun": noun},
        found.cost_per(found.answers),
        _("the whole cost, also of unused work"),
    )
    if found.judgments:
        yield paid("cost_vote", _("Cost per vote"), found.cost_per(found.judgments))
        yield paid(
            "cost_label",
            _("Cost per estimated label"),
            found.cost_per(found.labels),
            _("%(n)s: one for each item and question") % {"n": plural(found.labels, "label")},
        )
