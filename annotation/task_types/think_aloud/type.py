"""Think-aloud: what matters when a text is scored on one dimension, thought aloud over samples.

Chu, Lee, Park and Kim (InteractEval), 3.3: people read a rubric and four scored samples and say
what they would look at; those thoughts, taken apart, are the attributes of the dimension.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import ItemGroup, Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.base import RECORDED, TaskType, Values, whole_number
from annotation.task_types.missing import Missing
from annotation.task_types.scales import truth
from annotation.task_types.texts import storable
from crowdqc import numbers
from crowdqc.errors import Invalid
from crowdqc.numbers import plural


def missing_dimensions(task: Task, version: TaskVersion) -> list[Missing]:
    """What a think-aloud task lacks: dimensions, their rubrics, samples with text and score."""
    groups = list(task.groups.in_version(version.number).order_by("position", "pk"))
    if not groups:
        return [Missing(_("The task has no dimension"), "dimensions")]
    found = [
        Missing(
            str(LACKS[lack][1]) % {"number": number},
            "dimensions",
            text=group.key,
        )
        for number, group in enumerate(groups, 1)
        if (lack := missing_fields(group))
    ]
    return found[:4]


# What a dimension can lack: said in its row, and where the task is published.
LACKS = {
    "name": (gettext_lazy("has no name"), gettext_lazy("Dimension %(number)s has no name")),
    "rubric": (gettext_lazy("has no rubric"), gettext_lazy("Dimension %(number)s has no rubric")),
    "samples": (
        gettext_lazy("has no scored sample"),
        gettext_lazy("Dimension %(number)s has no scored sample"),
    ),
    "text": (
        gettext_lazy("has a sample without text"),
        gettext_lazy("Dimension %(number)s has a sample without text"),
    ),
    "score": (
        gettext_lazy("has a sample without a score"),
        gettext_lazy("Dimension %(number)s has a sample without a score"),
    ),
}


def missing_fields(group: ItemGroup) -> str:
    """Return the first key of ``LACKS`` that a dimension lacks; "" if it is complete."""
    if not group.title:
        return "name"
    if not group.passage.strip():
        return "rubric"
    if not group.passages:
        return "samples"
    if any(not str(row.get("text", "")).strip() for row in group.passages):
        return "text"
    if any(not str(row.get("score", "")).strip() for row in group.passages):
        return "score"
    return ""


ATTRIBUTE, TRANSCRIPT = "attribute", "transcript"
# Whether workers record what they say: its codes, and what the builder calls them.
RECORDING = "recording"
RECORDINGS = {
    "no": gettext_lazy("Nothing is recorded: people type"),
    "offered": gettext_lazy("People may record what they say"),
    "required": gettext_lazy("A recording is required"),
}
# Fields of the page: the attribute's text, and where it was marked ("12-40"), by its place from 0.
TEXT_FIELD, MARK_FIELD = "attribute-", "mark-"
MAX_ATTRIBUTES, MAX_ATTRIBUTE, MAX_TRANSCRIPT = 200, 1000, 50_000
_PLACE = re.compile(r"(?:attribute|mark)-(\d{1,3})")
_MARK = re.compile(r"(\d{1,6})-(\d{1,6})")
Attribute = dict[str, Any]  # text, start, end; both None where it was typed


class ThinkAloud(TaskType):
    """One dimension: its rubric, scored samples, and the attributes that come to mind."""

    slug = "think_aloud"
    label = gettext_lazy("Think-aloud")
    sentence = gettext_lazy(
        "A rubric and scored samples; people say, one by one, what they would look at. Their "
        "attributes, and those of models, become a checklist."
    )
    shape = "attributes"
    item_noun = "dimension"
    answer_noun = "session"
    answer_template = "annotation/task_types/think_aloud_answer.html"
    item_template = "annotation/work/think/think.html"
    builder_template = "annotation/task_types/think_aloud_settings.html"
    # authoring
    add_words = gettext_lazy("Add dimensions")
    has_samples = True
    numbers_by_text = False
    # money and privacy
    no_bonus = gettext_lazy(
        "A think-aloud has no right answer, so its workers have no score to pay by."
    )
    paid_noun = "think-aloud"

    # files
    exports = ("attributes", "recordings", "samples", *TaskType.exports)
    imports = ("samples", "attributes")

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "min_attributes": whole_number(raw, "min_attributes", 5, 1, MAX_ATTRIBUTES),
            "transcript": truth(raw.get("transcript", True)),
            "skippable": truth(raw.get("skippable", False)),
            RECORDING: _recording(raw.get(RECORDING, "no")),
        }

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Clean the fields of the page, or a list ``attributes`` (text, start, end), into a draft.

        ``attribute-N`` is the text and ``mark-N`` its stretch of the transcript ("12-40", in
        characters, the end outside), N from 0 without gaps.
        """
        transcript = _text(raw.get(TRANSCRIPT, ""), TRANSCRIPT, MAX_TRANSCRIPT)
        rows = raw["attributes"] if "attributes" in raw else _of_fields(raw)
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise Invalid(_("The attributes are not a list."), fields={"attributes": _("A list.")})
        found = [one for row in rows if (one := _attribute(row, len(transcript)))["text"].strip()]
        if len(found) > MAX_ATTRIBUTES:
            raise Invalid(
                _("There are %(found)s attributes.") % {"found": len(found)},
                fields={
                    "attributes": _("%(max_attributes)s at most.")
                    % {"max_attributes": MAX_ATTRIBUTES}
                },
            )
        draft: dict[str, Any] = {}
        for place, one in enumerate(found):
            draft[f"{TEXT_FIELD}{place}"] = one["text"]
            if one["start"] is not None:
                draft[f"{MARK_FIELD}{place}"] = f"{one['start']}-{one['end']}"
        return {**draft, TRANSCRIPT: transcript, "skipped": truth(raw.get("skipped", False))}

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(attributes_of(draft))

    def records_speech(self, settings: Mapping[str, Any]) -> bool:
        return settings.get(RECORDING, "no") != "no"

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"passage", "passages"})

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        found = attributes_of(draft)
        if not found and draft.get("skipped") and settings["skippable"]:
            return None
        said = str(draft.get(TRANSCRIPT, ""))
        if said.strip() and not settings["transcript"]:
            raise Invalid(_("A transcript is not offered here; type the attributes."))
        # Models and files bring no speech, and are not asked for any.
        if settings.get(RECORDING) == "required" and settings.get(RECORDED) is False:
            raise Invalid(_("Record what you say: nothing is recorded yet."))
        _enough(found, settings["min_attributes"])
        _refuse_repeats(one["text"] for one in found)
        texts = [(ATTRIBUTE, n, one["text"]) for n, one in enumerate(found)]
        if said.strip():
            texts.append((TRANSCRIPT, 0, said))
        spans = [
            (ATTRIBUTE, n, TRANSCRIPT, one["start"], one["end"])
            for n, one in enumerate(found)
            if one["start"] is not None
        ]
        return Values(texts=texts, spans=spans)

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Summarise a draft: the number of attributes and their texts."""
        found = attributes_of(draft)
        if not found:
            return ""
        told = "; ".join(one["text"] for one in found)
        attributes = plural(len(found), "attribute")
        return f"{attributes}: {told}"

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        return missing_dimensions(task, version)

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        """Estimate the minutes to read rubric, samples and sources and write the attributes."""
        sample = groups.order_by("position", "pk")[:20].values_list("passage", "passages")
        lengths = [
            len(rubric) + sum(len(one["text"]) + len(one["source"]) for one in passages)
            for rubric, passages in sample
        ]
        read = statistics.mean(lengths) / pace.CHARACTERS_A_MINUTE if lengths else 0
        attributes = version.settings["min_attributes"]
        written = attributes * pace.WORDS_AN_ATTRIBUTE / pace.WORDS_A_MINUTE
        return len(version.instructions) / pace.CHARACTERS_A_MINUTE + per * (read + written)

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        return _(
            "reading at %(read)s words a minute, and twelve words an attribute at %(written)s"
        ) % {"read": pace.READ_A_MINUTE, "written": pace.WORDS_A_MINUTE}


def attributes_of(draft: Mapping[str, Any]) -> list[Attribute]:
    """List a draft's attributes in order, without surrounding spaces and empty ones."""
    rows = [{**row, "text": row["text"].strip()} for row in _of_fields(draft)]
    return [row for row in rows if row["text"]]


def _recording(value: Any) -> str:
    if value not in RECORDINGS:
        allowed = ", ".join(RECORDINGS)
        raise Invalid(
            _("There is no recording %(value)s.") % {"value": repr(value)},
            fields={RECORDING: f"{allowed}."},
        )
    return str(value)


def _enough(found: list[Attribute], wanted: int) -> None:
    if len(found) < wanted:
        said = ngettext(
            "At least %(wanted)s attribute is wanted; there are none.",
            "At least %(wanted)s attributes are wanted; there are none.",
            wanted,
        )
        if found:
            said = ngettext(
                "At least %(wanted)s attributes are wanted; there is %(there)s attribute.",
                "At least %(wanted)s attributes are wanted; there are %(there)s attributes.",
                len(found),
            )
        raise Invalid(said % {"wanted": wanted, "there": len(found)})


def _refuse_repeats(texts: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        first = seen.setdefault(" ".join(text.lower().split()), number)
        if first != number:
            raise Invalid(
                _("Attributes %(first)s and %(number)s say the same; remove one.")
                % {"first": first, "number": number}
            )


def _of_fields(raw: Mapping[str, Any]) -> list[Attribute]:
    places = {int(match[1]) for name in raw if (match := _PLACE.fullmatch(name))}
    rows = []
    for place in sorted(places):
        mark = str(raw.get(f"{MARK_FIELD}{place}") or "")
        pointed = _MARK.fullmatch(mark)
        if mark and not pointed:
            raise Invalid(
                _("Mark %(place)s is %(mark)s.") % {"place": place, "mark": repr(mark[:20])},
                fields={f"{MARK_FIELD}{place}": _("Start and end, as 12-40.")},
            )
        start, end = (int(pointed[1]), int(pointed[2])) if pointed else (None, None)
        text = raw.get(f"{TEXT_FIELD}{place}")
        rows.append({"text": "" if text is None else text, "start": start, "end": end})
    return rows


def _attribute(row: Mapping[str, Any], length: int) -> Attribute:
    """One attribute as stored; the stretch it was marked in lies within the transcript.

    A stretch that the transcript no longer has (it was shortened since) is dropped.
    """
    text = _text(row.get("text", ""), ATTRIBUTE, MAX_ATTRIBUTE)
    start, end = row.get("start"), row.get("end")
    if start is None and end is None:
        return {"text": text, "start": None, "end": None}
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end):
        raise Invalid(
            _("A marked stretch has a start before its end."),
            fields={"attributes": _("Two whole numbers.")},
        )
    inside = end <= length
    return {"text": text, "start": start if inside else None, "end": end if inside else None}


def _text(value: Any, name: str, most: int) -> str:
    if not isinstance(value, str):
        raise Invalid(
            _("The %(name)s is not a text.") % {"name": name}, fields={name: _("Send a text.")}
        )
    text = storable(value)
    if len(text) > most:
        raise Invalid(
            _("The %(name)s has %(text)s characters; %(most)s is the most.")
            % {"name": name, "text": numbers.count(len(text)), "most": numbers.count(most)},
            fields={name: _("%(most)s characters at most.") % {"most": numbers.count(most)}},
        )
    return text
