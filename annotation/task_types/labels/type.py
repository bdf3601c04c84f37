"""Labels: fields that are asked about every item, as choices, scales, numbers, texts and spans.

A version's ``settings["fields"]`` is the ordered list of them, each with every key:
``{name, label, question, kind, options: [{value, label, description, color}], required, unsure,
shuffle, low, high, step, min, max, ask_if: [{field, is, values}]}``. ``is`` is one of ``is``,
``is_not``, ``one_of``, ``none_of``; a field is asked when all of its conditions hold, and stores
nothing when one does not.

Stored values of an answer (``annotation.models.answers``), by the kind of the field called NAME:

- ``choose_one``: ChoiceValue(field=NAME, code=the option's value, ordinal=its place from 0).
- ``scale``: ChoiceValue(field=NAME, code=the point as text, ordinal=the point).
- ``number``: ChoiceValue(field=NAME, code=the number as text, ordinal=it where whole and small).
- ``choose_several``: a ChoiceValue(field="NAME.VALUE", code="yes" or "no", ordinal=1 or 0) for
  every option.
- ``short_text``, ``long_text``: TextValue(field=NAME, index=0).
- ``spans``: SpanValue(field=NAME, index, target=the label's value, start, end), offsets in
  characters (code points) of ``Item.question``, the end outside, ordered by start. Spans may
  overlap. "Nothing to mark" is ChoiceValue(field=NAME, code="nothing", ordinal=None).
- ``rank``: a ChoiceValue(field="NAME.VALUE", code=the rank as text, ordinal=the rank from 1) for
  every option.
- Unsure, of any kind but texts: ChoiceValue(field=NAME, code="unsure", ordinal=None) alone.

Names and values have at most 40 characters, and so has NAME.VALUE.

An item's text is ``Item.question``, shown as ``settings["content"]`` says; of an image or a
recording (``Item.media``) it is the description, which is read out and never shown beside it. What
an item is shown with is its group's passage. A known answer
is ``Item.expected = {field name: code}``, of ``choose_one`` fields. Such items have no slots and
are mixed into assignments (setting ``gold_per_assignment``); the answers to them that workers
give are stored and do not count (``Answer.counts`` is False), as those to attention pairs. Labels
from a file count whether their item has a known answer (its column ``gold``) or not, and so do
those of a model, which is asked every item. Who measures
accuracy on known answers reads the answers to items with ``expected`` whatever ``counts`` says;
who estimates labels reads those that count.

``Item.settings["meta"]`` holds the further columns of the file that an item came in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from annotation.accounts.plugins.selectors import text_rules
from annotation.models import Answer, PayoutRule, Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.base import ITEM_TEXT, TaskType, Values, known_rules, whole_number
from annotation.task_types.known import CHOICE, POINT, WORDS, KnownField
from annotation.task_types.labels.content import (
    CONTENTS,
    CONVERSATION,
    FILES,
    IMAGE,
    MAX_CAPTION,
    TABLE,
    TEXT,
    read_table,
)
from annotation.task_types.labels.fields import (
    CHOOSE_ONE,
    KINDS,
    NUMBER,
    SCALE,
    SHORT_TEXT,
    SPANS,
    TEXTS,
    WITH_OPTIONS,
    clean_fields,
    item_fields,
    label_of,
    new_field,
    points_of,
)
from annotation.task_types.labels.label_studio import LabelsInLabelStudio
from annotation.task_types.labels.rules import (
    PREFIX,
    asked_fields,
    check_answers,
    is_field_reachable,
    read_answer,
)
from annotation.task_types.missing import Missing
from annotation.task_types.scales import text, truth
from annotation.task_types.texts import MAX_CHARACTERS, storable
from crowdqc import numbers
from crowdqc.errors import Invalid
from crowdqc.numbers import count, plural

MAX_KEY = 82  # of a draft: the prefix, a name, a point and a value
MAX_KEYS = 7000  # 30 fields of 200 options
SHOWN_MARKS = 10  # of a field, in a summary
START: tuple[dict[str, Any], ...] = (
    {
        "name": "label",
        "label": "Label",
        "question": "Which label fits best?",
        "kind": "choose_one",
        "options": [],
    },
)


# Fields whose answer can be known, and how it is compared.
KNOWN_AS = {CHOOSE_ONE: CHOICE, SCALE: POINT, NUMBER: POINT, SHORT_TEXT: WORDS}


def _known_options(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Codes with their words of a field that offers some."""
    if row["kind"] == SCALE:
        return tuple((str(point), str(point)) for point in points_of(row))
    return tuple((one["value"], label_of(row, one["value"])) for one in row["options"])


class Labels(TaskType):
    """One item at a time, and the fields."""

    slug = "labels"
    label = gettext_lazy("Labels")
    sentence = gettext_lazy(
        "One text, table, image or recording at a time, labeled in fields: choices, scales, "
        "numbers, texts and marked spans. Shows which label is right and who is reliable."
    )
    shape = "labels"
    item_noun = "item"
    models_beside = True
    draws_items = True
    answer_noun = "label"
    is_typed = False
    answer_template = "annotation/task_types/labels_answer.html"
    item_template = "annotation/work/label/label.html"
    builder_template = "annotation/task_types/labels_settings.html"
    check_reads = ("item__question",)
    # authoring
    add_words = gettext_lazy("Add items")
    numbers_by_text = False
    scales_in = "fields"
    # money and privacy
    bonus_bases = (PayoutRule.BonusBy.COMPETENCE,)
    # files
    exports = (
        "labels",
        "label_items",
        "crowdkit-labels",
        "reliability",
        "label-studio",
        "conll",
        "huggingface",
        "steps",
        "corrections",
        *TaskType.exports,
    )
    imports = ("label_items", "chats", "labels", "known_answers")
    label_studio = LabelsInLabelStudio()

    def exports_of(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Export formats; CoNLL only with spans, steps and corrections only with such fields."""
        fields = settings.get("fields", [])
        without = {
            "conll": not any(row["kind"] == SPANS for row in fields),
            "steps": not any(row["kind"] == CHOOSE_ONE and row.get("per") for row in fields),
            "corrections": not any(row.get("corrects") for row in fields),
        }
        return tuple(one for one in super().exports_of(settings) if not without.get(one))

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        content = str(raw.get("content") or TEXT)
        if content not in CONTENTS:
            raise Invalid(
                gettext("There is no such content."), fields={"content": ", ".join(CONTENTS)}
            )
        return {
            "fields": clean_fields(raw.get("fields", [dict(row) for row in START])),
            "content": content,
            "caption": text(raw, "caption", "caption", MAX_CAPTION),
            **known_rules(raw),
            "break_after": whole_number(raw, "break_after", 0, 0, 200),
            "skippable": truth(raw.get("skippable", False)),
            **({"hide_system": True} if truth(raw.get("hide_system", False)) else {}),
        }

    def known_fields(self, settings: Mapping[str, Any]) -> list[KnownField]:
        """Return the fields whose answers can be right or wrong, called by their question.

        They are called by their question, which is what authors write; a short label that came
        with a template is not theirs.
        """
        fields = [row for row in settings["fields"] if row["kind"] in KNOWN_AS]
        return [
            KnownField(
                row["name"],
                row["question"] or row["label"],
                KNOWN_AS[row["kind"]],
                _known_options(row),
            )
            for row in fields
        ]

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        draft: dict[str, Any] = {}
        for name, value in raw.items():
            if not name.startswith(PREFIX) or value in ("", None, False, []):
                continue
            given = _drafted(value)
            if given is None or len(name) > MAX_KEY or len(given) > MAX_CHARACTERS:
                raise Invalid(
                    gettext("%(name)s is %(value)s.")
                    % {"name": name[:MAX_KEY], "value": repr(str(value)[:40])},
                    fields={
                        name[:MAX_KEY]: gettext("A text of %(max_characters)s characters at most.")
                        % {"max_characters": numbers.count(MAX_CHARACTERS)}
                    },
                )
            draft[name] = given
        if len(draft) > MAX_KEYS:
            raise Invalid(
                gettext("There are too many answers."),
                fields={"draft": gettext("%(max_keys)s at most.") % {"max_keys": MAX_KEYS}},
            )
        draft["skipped"] = truth(raw.get("skipped", False))
        return draft

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return any(name.startswith(PREFIX) for name in draft)

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"passage"})

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        if draft.get("skipped") and settings["skippable"] and not self.is_answered(draft):
            return None
        fields = item_fields(settings)
        names = {row["name"] for row in fields}
        for key in draft:
            name = key.removeprefix(PREFIX).partition(".")[0]
            if key.startswith(PREFIX) and name not in names:
                raise Invalid(
                    gettext("There is no field %(name)s in this task.") % {"name": repr(name)},
                    fields={name: gettext("Unknown field.")},
                )
        text = settings.get(ITEM_TEXT)
        return check_answers(draft, fields, length=None if text is None else len(text))

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Summarise a draft: its answers in the order of the fields.

        ``settings`` may hold the item's text, of which marked words are shown.
        """
        found = []
        for one in asked_fields(draft, item_fields(settings)):
            try:
                answer = read_answer(draft, one)
            except Invalid:
                continue
            said = [label_of(one, code) for code in sorted(answer.codes)]
            said += [text for _, _, text in answer.values.texts]
            said += _marks_in_words(answer.values.spans, one, settings.get(ITEM_TEXT))
            if not said and answer.given:
                said = [
                    f"{code} {label_of(one, field.partition('.')[2])}".strip()
                    for field, code, _ in sorted(answer.values.choices, key=lambda row: row[2] or 0)
                ]
            if said:
                asked = one["question"].rstrip()
                if one.get("unit"):
                    turn = gettext("Turn %(unit)s") % {"unit": one["unit"]}
                    asked = f"{turn}: {asked}"
                mark = " " if asked.endswith(("?", ":", "？", "؟")) else ": "
                found.append(f"{asked}{mark}{', '.join(said)}")
        return "; ".join(found)

    def new_line(self, name: str, label: str) -> dict[str, Any]:
        return new_field(name, label)

    def pooled_by(self, settings: Mapping[str, Any]) -> object:
        """Return name, kind and options of the fields; wording alone may change."""
        return tuple(
            (
                *(row["name"], row["kind"], tuple(option["value"] for option in row["options"])),
                *filter(None, (row.get("per"), row.get("among"))),
            )
            for row in settings["fields"]
        )

    def wording(self, settings: Mapping[str, Any]) -> dict[str, object]:
        return {
            row["name"]: (row["label"], row["question"], [o["label"] for o in row["options"]])
            for row in settings["fields"]
        }

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        found = missing_fields(version.settings["fields"])
        found += missing_rules(task, version.settings["fields"])
        items = task.items.in_version(version.number)
        if not items.exists():
            found.append(Missing(gettext("The task has no items"), "text"))
        return found + missing_content(items, version.settings)

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        own = version.settings
        words = per * pace.mean_words(items, "question") + len(version.instructions.split())
        deciding = per * len(own["fields"]) * pace.SECONDS_A_LINE / 60
        written = sum(max(5, row["min"]) for row in own["fields"] if row["kind"] in TEXTS)
        return float(words / pace.READ_A_MINUTE + deciding + per * written / pace.WORDS_A_MINUTE)

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        return gettext("reading at %(read)s words a minute, %(seconds)s seconds a field") % {
            "read": pace.READ_A_MINUTE,
            "seconds": pace.SECONDS_A_LINE,
        }


def _marks_in_words(
    spans: Sequence[tuple[str, int, str, int, int]], one: Mapping[str, Any], text: str | None
) -> list[str]:
    """Marked words with their labels; how many there are where the text is not at hand."""
    if not spans or text is None:
        return [plural(len(spans), "mark")] if spans else []
    shown = [f"“{text[start:end]}” ({label_of(one, label)})" for _, _, label, start, end in spans][
        :SHOWN_MARKS
    ]
    if len(spans) > SHOWN_MARKS:
        more = gettext("%(n)s more") % {"n": count(len(spans) - SHOWN_MARKS)}
        return [*shown, more]
    return shown


def stored_in_words(answer: Answer) -> str:
    """Summarise a stored answer, a line per field; its values and version must be fetched."""
    draft: dict[str, Any] = {
        PREFIX + row.field: row.code for row in answer.choices.all() if row.code != "no"
    }
    draft |= {PREFIX + row.field: row.text for row in answer.texts.all()}
    spans: dict[str, list[list[Any]]] = {}
    for row in answer.spans.all():
        spans.setdefault(PREFIX + row.field, []).append([row.start, row.end, row.target])
    draft |= {key: json.dumps(rows) for key, rows in spans.items()}
    settings = {**answer.version.settings, **answer.item.settings, ITEM_TEXT: answer.item.question}
    return Labels().in_words(draft, settings).replace("; ", "\n")


def missing_content(items: Any, settings: Mapping[str, Any]) -> list[Missing]:
    """List items whose content does not fit ``settings["content"]`` (a table, an image, ...)."""
    content = settings["content"]
    if content == TABLE:
        for key, text in items.order_by("position").values_list("key", "question").iterator():
            try:
                read_table(text)
            except Invalid as error:
                said = gettext("Item %(key)s is no table: %(why)s") % {
                    "key": key,
                    "why": error.fields["question"].rstrip("."),
                }
                return [Missing(said, "text", key)]
    found = _missing_conversations(items, settings)
    if content not in FILES:
        return found
    without = items.exclude(media__type__startswith=FILES[content]).order_by("position")
    lacking = list(without.values_list("key", flat=True))
    if lacking:
        if content == IMAGE and lacking[1:]:
            said = gettext("Item %(key)s and %(others)s have no image")
        elif content == IMAGE:
            said = gettext("Item %(key)s has no image")
        elif lacking[1:]:
            said = gettext("Item %(key)s and %(others)s have no sound")
        else:
            said = gettext("Item %(key)s has no sound")
        told = {"key": lacking[0], "others": plural(len(lacking) - 1, "other")}
        found.append(Missing(said % told, "text", lacking[0]))
    spans = [n for n, row in enumerate(settings["fields"], 1) if row["kind"] == SPANS]
    if spans:
        found.append(
            Missing(
                gettext("Field %(spans)s marks text, and items show files") % {"spans": spans[0]},
                "fields",
            )
        )
    return found


def _missing_conversations(items: Any, settings: Mapping[str, Any]) -> list[Missing]:
    """List items without a conversation, or fields about turns where items show none."""
    if settings["content"] == CONVERSATION:
        lacking = items.filter(chat__isnull=True).order_by("position").first()
        if lacking is None:
            return []
        wrong = gettext("Item %(key)s has no conversation") % {"key": lacking.key}
        return [Missing(wrong, "text", lacking.key)]
    rows = enumerate(settings["fields"], 1)
    per = [n for n, row in rows if row.get("per") or row.get("among")]
    if not per:
        return []
    wrong = gettext("Field %(number)s is about turns, and items show no conversations")
    return [Missing(wrong % {"number": per[0]}, "fields")]


def missing_fields(fields: list[dict[str, Any]]) -> list[Missing]:
    """List what the fields lack before the task can be published."""
    if not fields:
        return [Missing(gettext("The task has no field"), "fields")]
    found = []
    for number, row in enumerate(fields, 1):
        options = row["options"]
        if row["kind"] == SPANS and not options:
            said = gettext("Field %(number)s needs one option")
        elif row["kind"] in WITH_OPTIONS - {SPANS} and len(options) < 2:
            said = gettext("Field %(number)s needs two options")
        elif any(not (one["value"] and one["label"]) for one in options):
            said = gettext("Field %(number)s has an option without a label")
        elif any(not one["values"] for one in row["ask_if"]):
            said = gettext("Field %(number)s has a condition without a value")
        elif not is_field_reachable(row, fields):
            said = gettext("Field %(number)s is never asked: its conditions cannot hold together")
        else:
            continue
        found.append(Missing(said % {"number": number}, "fields", row["name"]))
    return found


def missing_rules(task: Task, fields: list[dict[str, Any]]) -> list[Missing]:
    """List the checks of plug-ins that fields name and that the project does not use."""
    known = text_rules(task.project_id)
    said = gettext("Field %(number)s uses a check that is not enabled: %(rule)s")
    return [
        Missing(said % {"number": number, "rule": row["rule"]}, "fields", row["name"])
        for number, row in enumerate(fields, 1)
        if row.get("rule") and row["rule"] not in known
    ]


def _drafted(value: Any) -> str | None:
    """A value of a draft as text: a program may send spans as a list and ticks as true."""
    if value is True:
        return "yes"
    if isinstance(value, list):
        return json.dumps(value)
    return storable(str(value)) if isinstance(value, str | int | float) else None


__all__ = ["CONTENTS", "KINDS", "Labels", "missing_fields"]
