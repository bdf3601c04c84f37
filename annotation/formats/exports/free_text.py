"""Free text out: questions, answers of workers, answers of systems, what was paid.

The columns that importers read come first under their names of the format; those after them say
more. Workers appear under their pseudonyms alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _

from annotation.models import Answer, ChoiceValue, Item, ItemGroup, LedgerEntry, Task, TextValue
from annotation.payouts import export as payouts
from annotation.payouts.selectors.balance import correctable_accounts
from crowdqc.errors import Conflict, Invalid

CHUNK = 2000
MAX_TOPIC = 80  # characters that the importer takes
COLUMNS: dict[str, tuple[str, ...]] = {
    "items": ("item_id", "question", "context", "topic"),
    "answers": (
        "item_id",
        "worker_id",
        "answer",
        "submitted_at",
        "declined",
        "counts",
        "version",
    ),
    "system_answers": (
        "item_id",
        "system",
        "prompt_strategy",
        "answer",
        "replicate",
        "counts",
        "version",
    ),
    "payouts": payouts.LEDGER,
}
Row = tuple[Any, ...]


def check(what: str) -> None:
    """Raise Invalid where there is no such export."""
    if what not in COLUMNS:
        raise Invalid(
            _("There is no export %(export)s.") % {"export": repr(what)},
            fields={"what": ", ".join(COLUMNS)},
        )


def version_number(task: Task) -> int:
    """The version whose questions are exported: the one in force, else the draft."""
    if task.current is not None:
        return task.current.number
    draft = task.versions.order_by("-number").first()
    if draft is None:  # cannot be: a task is born with a draft
        raise Conflict(_("The task has no version."))
    return draft.number


def rows(task: Task, what: str, *, uncounted: bool = False) -> Iterator[Row]:
    """Rows in the order of ``COLUMNS``, themselves in a fixed order, from one query (so of one
    moment).

    Answers are those to the questions of the version in force, under whichever version they were
    given; ``uncounted`` adds those that do not count.
    """
    check(what)
    writers: dict[str, Callable[[], Iterator[Row]]] = {
        "items": lambda: _items(task),
        "answers": lambda: _answers(task, uncounted),
        "system_answers": lambda: _system_answers(task, uncounted),
        "payouts": lambda: _payouts(task),
    }
    return writers[what]()


def _items(task: Task) -> Iterator[Row]:
    number = version_number(task)
    topics = _topics(list(task.groups.in_version(number)))
    items = task.items.in_version(number).select_related("group")
    item: Item
    for item in items.order_by("group__position", "group_id", "position", "pk").iterator(CHUNK):
        yield item.key, item.question, item.group.passage, topics[item.group_id]


def _topics(groups: list[ItemGroup]) -> dict[int, str]:
    """A name for each text that keeps its questions together when they are imported again."""
    titles = Counter(group.title for group in groups)
    passages = Counter(group.passage for group in groups)
    found = {}
    for group in groups:
        if group.title and titles[group.title] == 1 and len(group.title) <= MAX_TOPIC:
            found[group.pk] = group.title
        else:  # untitled texts are told apart by what they say
            alone = not group.title and passages[group.passage] == 1
            found[group.pk] = "" if alone else group.key
    return found


def _answer_filter(task: Task, uncounted: bool) -> Q:
    """Return the filter of texts that answer the questions of the version in force."""
    shown = task.items.in_version(version_number(task))
    wanted = Q(
        field="answer",
        index=0,
        answer__item__in=shown.values("pk"),
        answer__stage=Answer.Stage.MAIN,
    )
    return wanted if uncounted else wanted & Q(answer__counts=True)


def _answers(task: Task, uncounted: bool) -> Iterator[Row]:
    declined = ChoiceValue.objects.filter(answer=OuterRef("answer"), field="declined")
    texts = (
        TextValue.objects.filter(_answer_filter(task, uncounted), answer__worker__isnull=False)
        .annotate(no_answer=Exists(declined))
        .order_by("answer__item__position", "answer__item_id", "answer_id")
        .values_list(
            "answer__item__key",
            "answer__worker__pseudonym",
            "text",
            "answer__answered_at",
            "no_answer",
            "answer__counts",
            "answer__version__number",
        )
    )
    for item, worker, text, at, *whether in texts.iterator(CHUNK):
        yield item, worker, text, at.isoformat(), *whether


def _system_answers(task: Task, uncounted: bool) -> Iterator[Row]:
    texts = (
        TextValue.objects.filter(_answer_filter(task, uncounted), answer__system__isnull=False)
        .order_by(
            "answer__system__name",
            "answer__system__prompt_strategy",
            "answer__system_id",
            "answer__item__position",
            "answer__item_id",
            "answer__replicate",
        )
        .values_list(
            "answer__item__key",
            "answer__system__name",
            "answer__system__prompt_strategy",
            "text",
            "answer__replicate",
            "answer__counts",
            "answer__version__number",
        )
    )
    yield from texts.iterator(CHUNK)


def _payouts(task: Task) -> Iterator[Row]:
    entries = LedgerEntry.objects.filter(task=task).select_related(
        "task__current", "line__batch", "worker", "by"
    )
    amount = payouts.LEDGER.index("amount")
    names = dict(correctable_accounts(task.project))
    for values in payouts.ledger_rows(entries, names):
        yield *values[:amount], str(values[amount]), *values[amount + 1 :]


def count_left_out(task: Task, *, uncounted: bool = False) -> Mapping[str, int]:
    """Count answers that the export omits, by reason."""
    given = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN)
    shown = task.items.in_version(version_number(task)).values("pk")
    found = {"older_questions": given.exclude(item__in=shown).count()}
    if not uncounted:
        found["uncounted"] = given.filter(item__in=shown, counts=False).count()
    return found
