"""What people decided, as data to train on: preferences, labelled completions, steps, corrections.

The forms are those of TRL (``prompt``, ``chosen``, ``rejected``; ``completion``, ``label``;
``completions``, ``labels``; ``messages``) and of OpenAI's preference files. A row says how many
people decided and how sure that is, so that uncertain rows can be left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotation.chats.messages import Message, as_messages
from annotation.chats.page import shared_turns
from annotation.chats.storage import chat_of
from annotation.chats.units import MARK, split_unit, turn_of
from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.frames import dimension_of
from annotation.models import Answer, Candidate, ChoiceValue, Item, Task, TextValue
from annotation.task_types.labels.fields import CHOOSE_ONE, LONG_TEXT
from annotation.task_types.pairwise.sides import FIRST, SECOND
from annotation.work.snapshots import judgments

AT_ONCE = 200
Row = dict[str, Any]
PREFERENCE = (
    *("item_id", "prompt", "chosen", "rejected", "margin", "votes", "for_chosen", "for_rejected"),
    *("ties", "chosen_system", "rejected_system"),
)


@dataclass(frozen=True)
class Decided:
    """A pair with more votes for one text than for the other, ties aside."""

    item: Item
    better: Candidate
    worse: Candidate
    for_better: int
    for_worse: int
    ties: int

    @property
    def votes(self) -> int:
        """How many people judged the pair."""
        return self.for_better + self.for_worse + self.ties

    @property
    def margin(self) -> float:
        """The share of votes by which the better one leads."""
        return (self.for_better - self.for_worse) / self.votes


def decided_pairs(task: Task, dimension: str = "") -> Iterator[Decided]:
    """Yield pairs with more votes for one text than for the other, in order of their items."""
    counts = _votes(task, dimension)
    items = task.items.filter(key__in=counts, first__isnull=False, second__isnull=False)
    rows = items.select_related("first__system", "second__system", "first__chat", "second__chat")
    for item in rows.order_by("position", "pk").iterator(chunk_size=AT_ONCE):
        came = counts[item.key]
        first, second = came[FIRST], came[SECOND]
        if first == second or item.first is None or item.second is None:
            continue
        ties = came.total() - first - second
        if first > second:
            yield Decided(item, item.first, item.second, first, second, ties)
        else:
            yield Decided(item, item.second, item.first, second, first, ties)


def _votes(task: Task, dimension: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for _who, item, code, *_rest in judgments.votes(task, dimension_of(task, dimension)):
        found[item][code] += 1
    return found


def count_undecided(task: Task, dimension: str = "") -> dict[str, int]:
    """Count pairs without a majority, which no preference file can hold."""
    counts = _votes(task, dimension).values()
    return {"no_majority": sum(one[FIRST] == one[SECOND] for one in counts)}


def split_pair(pair: Decided) -> tuple[list[Message], list[Message], list[Message]]:
    """Return prompt, chosen and rejected as messages.

    Of conversations the prompt is what both begin with; of texts it is the query.
    """
    better, worse = pair.better.chat, pair.worse.chat
    if better is not None and worse is not None:
        good, bad = chat_of(better), chat_of(worse)
        same = shared_turns(good, bad)
        return (
            as_messages(good.turns[:same]),
            as_messages(good.turns[same:]),
            as_messages(bad.turns[same:]),
        )
    asked = pair.better.query or pair.item.question
    return (
        [{"role": "user", "content": asked}],
        [{"role": "assistant", "content": pair.better.text}],
        [{"role": "assistant", "content": pair.worse.text}],
    )


def preference_table(task: Task, form: str, dimension: str = "") -> Table:
    """Preferences as TRL's trainers read them; ``margin`` is on every row."""

    def rows() -> Iterator[Row]:
        for pair in decided_pairs(task, dimension):
            prompt, chosen, rejected = split_pair(pair)
            yield {
                "item_id": pair.item.key,
                "prompt": prompt,
                "chosen": chosen,
                "rejected": rejected,
                "margin": round(pair.margin, 4),
                "votes": pair.votes,
                "for_chosen": pair.for_better,
                "for_rejected": pair.for_worse,
                "ties": pair.ties,
                "chosen_system": str(pair.better.system),
                "rejected_system": str(pair.worse.system),
            }

    return Table(PREFERENCE, rows())


def openai_table(task: Task, form: str, dimension: str = "") -> Table:
    """Preferences as OpenAI, Together and Fireworks read them."""

    def rows() -> Iterator[Row]:
        for pair in decided_pairs(task, dimension):
            prompt, chosen, rejected = split_pair(pair)
            yield {
                "input": {"messages": prompt, "tools": [], "parallel_tool_calls": True},
                "preferred_output": chosen,
                "non_preferred_output": rejected,
            }

    return Table(("input", "preferred_output", "non_preferred_output"), rows())


def kto_table(task: Task, form: str, dimension: str = "") -> Table:
    """Completions with whether they are the better ones, as KTO reads them."""

    def rows() -> Iterator[Row]:
        for pair in decided_pairs(task, dimension):
            prompt, chosen, rejected = split_pair(pair)
            about = {"prompt": prompt, "margin": pair.margin, "votes": pair.votes}
            yield {**about, "completion": chosen, "label": True}
            yield {**about, "completion": rejected, "label": False}

    return Table(("prompt", "completion", "label", "margin", "votes"), rows())


def _fields(task: Task, kind: str) -> list[Row]:
    rows: list[Row] = task.version_or_draft().settings.get("fields", [])
    return [row for row in rows if row["kind"] == kind and row.get("per")]


def step_table(task: Task, form: str, dimension: str = "") -> Table:
    """Labels of turns as steps: each turn's majority, right where it is the field's last option.

    ``dimension`` names the field; without one the first about turns is taken.
    """
    fields = _fields(task, CHOOSE_ONE)
    field = next((row for row in fields if dimension in ("", row["name"])), None)
    return Table(
        ("item_id", "prompt", "completions", "labels", "votes"),
        _steps(task, field) if field else [],
    )


def _steps(task: Task, field: Row) -> Iterator[Row]:
    good = field["options"][-1]["value"]
    excluded = task.exclusions.in_force().values("worker")
    answers = Answer.objects.filter(
        item__task=task, counts=True, worker__isnull=False, stage=Answer.Stage.MAIN
    ).exclude(worker__in=excluded)
    votes: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    rows = ChoiceValue.objects.filter(
        answer__in=answers,
        field__startswith=f"{field['name']}{MARK}",
        code__in=[one["value"] for one in field["options"]],  # "unsure" decides nothing
    ).values_list("answer__item_id", "field", "code")
    for item, stored, code in rows.iterator(chunk_size=5_000):
        votes[item][split_unit(stored)[1]][code] += 1
    items = task.items.filter(pk__in=votes, chat__isnull=False).select_related("chat")
    for item in items.order_by("position", "pk").iterator(chunk_size=AT_ONCE):
        assert item.chat is not None  # noqa: S101 (filtered)
        chat, units = chat_of(item.chat), votes[item.pk]
        steps = sorted(units, key=turn_of)
        decided = [
            (unit, units[unit]) for unit in steps if 2 * units[unit][good] != units[unit].total()
        ]
        if not decided:
            continue
        first = turn_of(decided[0][0])
        yield {
            "item_id": item.key,
            "prompt": "\n\n".join(turn.text for turn in chat.turns[: first - 1]),
            "completions": [chat.turns[turn_of(unit) - 1].text for unit, _ in decided],
            "labels": [2 * came[good] > came.total() for _, came in decided],
            "votes": [came.total() for _, came in decided],
        }


def correction_table(task: Task, form: str, dimension: str = "") -> Table:
    """Conversations up to a turn, with the answer that a person wrote in its place."""
    return Table(("item_id", "messages", "original", "worker"), _corrections(task))


def _corrections(task: Task) -> Iterator[Row]:
    names = [row["name"] for row in _fields(task, LONG_TEXT) if row.get("corrects")]
    if not names:
        return
    excluded = task.exclusions.in_force().values("worker")
    written = TextValue.objects.filter(
        answer__item__task=task,
        answer__counts=True,
        answer__item__chat__isnull=False,
        field__regex=rf"^({'|'.join(names)}){MARK}",
    ).exclude(answer__worker__in=excluded)
    rows = written.select_related("answer__item__chat", "answer__worker").order_by(
        "answer__item__position", "answer_id", "field"
    )
    for row in rows.iterator(chunk_size=AT_ONCE):
        assert row.answer.item.chat is not None  # noqa: S101 (filtered)
        chat = chat_of(row.answer.item.chat)
        number = turn_of(split_unit(row.field)[1])
        original = chat.turns[number - 1].text
        if row.text.strip() == original.strip():
            continue
        yield {
            "item_id": row.answer.item.key,
            "messages": [
                *as_messages(chat.turns[: number - 1]),
                {"role": "assistant", "content": row.text},
            ],
            "original": original,
            "worker": row.answer.worker.pseudonym if row.answer.worker else "",
        }
