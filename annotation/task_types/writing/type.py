"""Writing with sources: a response to a query, in a style, citing ranked passages by number."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from django.db.models import F, Func, IntegerField
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext

from annotation.models import Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.base import TaskType, Values, whole_number
from annotation.task_types.missing import Missing
from annotation.task_types.ready_made import register_ready_made
from annotation.task_types.rendering import words_in
from annotation.task_types.scales import MAX_LABEL, parse_label, rows, text, truth
from annotation.task_types.texts import check_words, drafted_text, word_limits
from annotation.task_types.writing import questionnaire
from annotation.task_types.writing.citations import Marker, cited_numbers, parse
from crowdqc import numbers
from crowdqc.errors import Invalid
from crowdqc.numbers import plural


def missing_topics(task: Task, version: TaskVersion) -> list[Missing]:
    """What a task that asks for responses lacks: topics, queries, passages to cite, items."""
    groups = with_passages(task.groups.in_version(version.number))
    topics = list(groups.order_by("position", "pk").values_list("pk", "key", "passages_there"))
    if not topics:
        return [Missing(gettext("The task has no topic"), "topics")]
    items = task.items.in_version(version.number).values_list("group_id", "question", "settings")
    asked: dict[int, set[str]] = {}
    empty: set[int] = set()
    for group, question, settings in items:
        asked.setdefault(group, set()).add(settings.get("style", ""))
        if not question.strip():
            empty.add(group)
    wanted = version.settings["min_citations"]
    found = []
    for number, (pk, key, there) in enumerate(topics, 1):
        if pk in empty:
            found.append(
                Missing(
                    gettext("Topic %(number)s has no query") % {"number": numbers.count(number)},
                    "topics",
                    text=key,
                )
            )
        if there < wanted:
            told = {
                "number": numbers.count(number),
                "passages": plural(there, "passage"),
                "wanted": wanted,
            }
            if there:
                said = ngettext(
                    "Topic %(number)s has %(passages)s; one has to be cited",
                    "Topic %(number)s has %(passages)s; %(wanted)s have to be cited",
                    wanted,
                )
            else:
                said = ngettext(
                    "Topic %(number)s has no passages; one has to be cited",
                    "Topic %(number)s has no passages; %(wanted)s have to be cited",
                    wanted,
                )
            found.append(Missing(said % told, "topics", text=key))
    for style in version.settings["styles"]:
        lacking = sum(style["name"] not in asked.get(pk, set()) for pk, _, _ in topics)
        if lacking:
            said = ngettext(
                "%(lacking)s topic has nothing in the style “%(style)s”",
                "%(lacking)s topics have nothing in the style “%(style)s”",
                lacking,
            )
            told = {"lacking": numbers.count(lacking), "style": style["label"]}
            found.append(Missing(said % told, "styles"))
    return found[:4]


def with_passages(groups: Any) -> Any:
    """Annotate topics with the number of their passages, without reading these."""
    count = Func(F("passages"), function="jsonb_array_length", output_field=IntegerField())
    return groups.defer("passages").annotate(passages_there=count)


ENTRY, EXIT = "entry", "exit"
FORBIDDEN, ALLOWED = "forbidden", "allowed"
MAX_INSTRUCTIONS = 4000
CITATION = "citation"

YES_MAYBE_NO = [
    {"value": 1, "label": gettext_noop("yes")},
    {"value": 0, "label": gettext_noop("maybe")},
    {"value": -1, "label": gettext_noop("no")},
]


def _scale(low: str, high: str) -> list[dict[str, Any]]:
    labels = (low, "", "", "", high)
    return [{"value": n, "label": label or str(n)} for n, label in enumerate(labels, 1)]


STYLES: tuple[dict[str, str], ...] = (
    {
        "name": "bullet",
        "label": gettext_noop("Bulleted list"),
        "instructions": gettext_noop(
            "List the points that matter for the query, one bullet each. No "
            "introduction and no conclusion. Begin each bullet with “- ”."
        ),
    },
    {
        "name": "essay",
        "label": gettext_noop("Essay"),
        "instructions": gettext_noop(
            "Begin with a clear thesis, argue for it point by point, and end with a "
            "conclusion that follows from the arguments."
        ),
    },
    {
        "name": "news",
        "label": gettext_noop("News article"),
        "instructions": gettext_noop(
            "Begin with the most important facts, go on with the details that matter, "
            "and leave the background to the end."
        ),
    },
)
ENTRY_TEMPLATE: tuple[dict[str, Any], ...] = (
    {
        "name": "knowledge",
        "label": gettext_noop("Knowledge"),
        "question": gettext_noop("How much do you know about the topic?"),
        "points": _scale(gettext_noop("nothing"), gettext_noop("a lot")),
    },
    {
        "name": "expertise",
        "label": gettext_noop("Expertise"),
        "question": gettext_noop("How expert are you in the field?"),
        "points": _scale(gettext_noop("not at all"), gettext_noop("very")),
    },
    {
        "name": "answerable",
        "label": gettext_noop("Answerable"),
        "question": gettext_noop("Is there a definite answer to the query?"),
        "points": YES_MAYBE_NO,
    },
    {
        "name": "controversial",
        "label": gettext_noop("Controversial"),
        "question": gettext_noop("Is the query controversial?"),
        "points": YES_MAYBE_NO,
    },
)
EXIT_TEMPLATE: tuple[dict[str, Any], ...] = (
    {
        "name": "satisfaction",
        "label": gettext_noop("Satisfaction"),
        "question": gettext_noop("Are you satisfied with what you wrote?"),
        "points": YES_MAYBE_NO,
    },
    {
        "name": "sources",
        "label": gettext_noop("Quality of sources"),
        "question": gettext_noop("How good were the passages as sources?"),
        "points": _scale(gettext_noop("useless"), gettext_noop("very good")),
    },
    {
        "name": "own_knowledge",
        "label": gettext_noop("Own knowledge"),
        "question": gettext_noop("How much of your text comes from what you knew yourself?"),
        "points": _scale(gettext_noop("nothing"), gettext_noop("nearly all")),
    },
    {
        "name": "omissions",
        "label": gettext_noop("Omissions"),
        "question": gettext_noop("Did you leave out things that the passages say about the query?"),
        "points": YES_MAYBE_NO,
    },
)
register_ready_made(STYLES, ENTRY_TEMPLATE, EXIT_TEMPLATE)


class Writing(TaskType):
    """One response to one query in one style."""

    slug = "writing"
    label = gettext_lazy("Writing with sources")
    sentence = gettext_lazy(
        "A query and ranked passages; people write a response in a given style and cite what they "
        "use. How a text came about can be replayed."
    )
    shape = "responses"
    item_noun = "response"
    answer_noun = "response"
    answer_template = "annotation/task_types/writing_answer.html"
    item_template = "annotation/work/write/write.html"
    builder_template = "annotation/task_types/writing_settings.html"
    # authoring
    add_words = gettext_lazy("Add topics")
    begins_with = {"redundancy": 1, "items_per_assignment": 1, "lease_minutes": 60}
    has_styles = True
    numbers_by_text = False
    # money and privacy
    no_bonus = gettext_lazy(
        "Writing is described, not scored: there is no score of its workers to pay by."
    )

    # files
    exports = ("responses", "surveys", "topics", "writing-logs", *TaskType.exports)
    imports = ("topics", "collection", "responses")

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        low, high = word_limits(raw, (200, 0, 5000), (300, 1, 10_000))
        target = whole_number(raw, "target_words", 250, 1, 10_000)
        if not low <= target <= high:
            raise Invalid(
                gettext("The words aimed at are outside the limits."),
                fields={
                    "target_words": gettext("%(low)s to %(high)s.") % {"low": low, "high": high}
                },
            )
        tools = str(raw.get("tools") or FORBIDDEN)
        if tools not in (FORBIDDEN, ALLOWED):
            raise Invalid(
                gettext("Tools are allowed or forbidden."),
                fields={
                    "tools": gettext("%(forbidden)s or %(allowed)s.")
                    % {"forbidden": FORBIDDEN, "allowed": ALLOWED}
                },
            )
        return {
            "styles": _styles(raw.get("styles", list(STYLES))),
            "target_words": target,
            "min_words": low,
            "max_words": high,
            "min_citations": whole_number(raw, "min_citations", 1, 0, 100),
            # The number that the first passage is cited by: 1, or 0 in some published corpora.
            "first_number": whole_number(raw, "first_number", 1, 0, 1),
            "tools": tools,
            "tools_note": text(raw, "tools_note", "tools_note"),
            ENTRY: questionnaire.clean(raw.get(ENTRY, list(ENTRY_TEMPLATE)), ENTRY),
            EXIT: questionnaire.clean(raw.get(EXIT, list(EXIT_TEMPLATE)), EXIT),
            # A worker who wrote on a topic in one style is not asked for another one.
            "once_a_topic": truth(raw.get("once_a_topic", True)),
            "skippable": truth(raw.get("skippable", False)),
        }

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "text": drafted_text(raw, self.item_noun),
            **questionnaire.draft_answers(raw, ENTRY),
            **questionnaire.draft_answers(raw, EXIT),
            "skipped": truth(raw.get("skipped", False)),
        }

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(str(draft.get("text", "")).strip())

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset()  # of many passages only a part is read

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        written = str(draft.get("text", "")).strip()
        if not written and draft.get("skipped") and settings["skippable"]:
            return None
        before = questionnaire.check_answers(draft, ENTRY, settings[ENTRY])
        if not written:
            raise Invalid(gettext("There is no text yet."))
        marks = parse(written)
        check_words(words_in(written), settings)
        _check_citations(marks, settings)
        after = questionnaire.check_answers(draft, EXIT, settings[EXIT])
        return Values(
            texts=[("answer", 0, written), *before[0], *after[0]],
            choices=[*before[1], *after[1]],
            spans=citation_spans(marks, settings["first_number"]),
        )

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Summarise a draft: its length, its citations and its beginning."""
        text = str(draft.get("text", "")).strip()
        if not text:
            return ""
        words, numbers = words_in(text), len(cited_numbers(text))
        return gettext("%(words)s, %(passages)s cited: %(text)s") % {
            "words": plural(words, "word"),
            "passages": plural(numbers, "passage"),
            "text": text[:200],
        }

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        return missing_topics(task, version)

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        """Reading instructions and passages, writing from them, and both forms."""
        own = version.settings
        sample = groups.order_by("position", "pk")[:20].values_list("passages", flat=True)
        lengths = [sum(len(one["text"]) for one in passages) for passages in sample]
        there = statistics.mean(lengths) / pace.CHARACTERS_A_WORD if lengths else 0
        target = own["target_words"]
        told = [len(style["instructions"].split()) for style in own["styles"]]
        read = statistics.mean(told) + min(there, pace.READ_FOR_A_WORD * target)
        asking = (len(own[ENTRY]) + len(own[EXIT])) * pace.SECONDS_A_LINE / 60
        one = read / pace.READ_A_MINUTE + target / pace.SOURCED_A_MINUTE + asking
        return len(version.instructions.split()) / pace.READ_A_MINUTE + per * one

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        return gettext(
            "reading at %(read)s words a minute, writing from the passages at %(written)s, of "
            "which three words are read for each one written, and %(seconds)s seconds a question"
        ) % {
            "read": pace.READ_A_MINUTE,
            "written": pace.SOURCED_A_MINUTE,
            "seconds": pace.SECONDS_A_LINE,
        }


def citation_spans(marks: list[Marker], first_number: int) -> list[tuple[str, int, str, int, int]]:
    """Convert citation marks to spans; the target is the passage's rank from 1."""
    pointed = [(number, mark) for mark in marks for number in mark.numbers]
    return [
        (CITATION, index, str(number - first_number + 1), mark.start, mark.end)
        for index, (number, mark) in enumerate(pointed)
    ]


def _check_citations(marks: list[Marker], settings: Mapping[str, Any]) -> None:
    """Raise Invalid if a number cites no passage, or too few different ones are cited."""
    first, there = settings["first_number"], settings.get("passages", 0)
    numbers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    for number in numbers:
        if not first <= number < first + there:
            shown = f"[{first}] to [{first + there - 1}]" if there else "none"
            raise Invalid(
                gettext("[%(number)s] is cited, and there is no such passage; there is %(shown)s.")
                % {"number": number, "shown": shown}
            )
    if len(numbers) < settings["min_citations"]:
        wanted = settings["min_citations"]
        raise Invalid(
            gettext("Passages cited: %(numbers)s; at least %(wanted)s needed.")
            % {"numbers": len(numbers), "wanted": wanted}
        )


def _styles(raw: Any) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    taken: list[str] = []
    for number, row in enumerate(rows(raw, "styles"), 1):
        where = f"style {number}"
        named = parse_label(row, where, taken)
        told = text(row, "instructions", where, MAX_INSTRUCTIONS)
        found.append(
            {"name": named["name"], "label": named["label"][:MAX_LABEL], "instructions": told}
        )
    if not found:
        raise Invalid(
            gettext("There is no style to write in."), fields={"styles": gettext("One at least.")}
        )
    return found
