"""Ratings on ordinal scales: a text by itself, or an answer to a question about a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.models import PayoutRule, Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.base import TaskType, Values, known_rules, whole_number
from annotation.task_types.known import POINT, KnownField
from annotation.task_types.missing import Missing
from annotation.task_types.rating import explanation
from annotation.task_types.rating.explanation import EVIDENCE, EXPLANATION, FEEDBACK
from annotation.task_types.rating.label_studio import RatingsInLabelStudio
from annotation.task_types.ready_made import register_ready_made, translate_ready_made
from annotation.task_types.scales import (
    FACTORS,
    MAX_LABEL,
    MAX_POINTS,
    answered_lines,
    draft_values,
    ids,
    parse_label,
    rows,
    text,
    truth,
)
from crowdqc.errors import Invalid

PREFIX = "r-"
TEXT, DOCUMENT = "text", "document"
LAYOUTS = (TEXT, DOCUMENT)
TEMPLATE: tuple[dict[str, Any], ...] = (
    {
        "name": "quality_overall",
        "label": gettext_noop("Overall quality"),
        "question": gettext_noop("How good is this text?"),
        "points": [
            {"value": 1, "label": gettext_noop("poor")},
            {"value": 2, "label": gettext_noop("weak")},
            {"value": 3, "label": gettext_noop("fair")},
            {"value": 4, "label": gettext_noop("good")},
            {"value": 5, "label": gettext_noop("very good")},
        ],
    },
)
# The two judgments of Wadhwa et al., section 3.3, in our own words; the values are the scores
# that a label stands for before any rescaling.
COMPLETENESS: tuple[dict[str, Any], ...] = (
    {
        "name": "completeness",
        "label": gettext_noop("Completeness"),
        "question": gettext_noop(
            "How much of what the document says to the question is in the answer?"
        ),
        "description": gettext_noop(
            "Look for what the document tells about the question, then for what of it "
            "the answer leaves out."
        ),
        "points": [
            {"value": 0, "label": gettext_noop("misses all of it")},
            {"value": 30, "label": gettext_noop("misses a lot")},
            {"value": 70, "label": gettext_noop("misses a little")},
            {"value": 100, "label": gettext_noop("complete")},
        ],
    },
    {
        "name": "correctness",
        "label": gettext_noop("Correctness"),
        "question": gettext_noop("Does everything in the answer agree with the document?"),
        "description": gettext_noop(
            "One statement that the document contradicts, or does not make, is enough "
            "for incorrect."
        ),
        "points": [
            {"value": 0, "label": gettext_noop("incorrect")},
            {"value": 1, "label": gettext_noop("correct")},
        ],
    },
)
register_ready_made(TEMPLATE, COMPLETENESS)


class Rating(TaskType):
    """One text, or one answer beside its document, and the scales."""

    slug = "rating"
    label = gettext_lazy("Ratings on scales")
    sentence = gettext_lazy(
        "One text or answer at a time, rated on scales whose points are described, with an "
        "explanation and the sentences of a document that show it."
    )
    shape = "ratings"
    item_noun = "text"
    answer_noun = "rating"
    is_typed = False
    judges_texts = True
    answer_template = "annotation/task_types/rating_answer.html"
    item_template = "annotation/work/judge/judge.html"
    builder_template = "annotation/task_types/rating_settings.html"
    # authoring
    add_words = gettext_lazy("Add texts")
    redundancy_part = "time"
    numbers_by_text = False
    scales_in = "scales"
    # money and privacy
    bonus_bases = (PayoutRule.BonusBy.COMPETENCE,)
    # work
    overlaps_bundles = True

    # files
    exports = (
        "judgments",
        "candidates",
        "ratings",
        "documents",
        "crowdkit-labels",
        "reliability",
        "label-studio",
        *TaskType.exports,
    )
    imports = ("candidates", "chat_texts", "judgments", "documents", "ratings", "known_answers")
    label_studio = RatingsInLabelStudio()

    def exports_of(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Export formats; those of documents and explanations only if the task has them."""
        has = {"documents": settings.get("layout") == DOCUMENT, "ratings": asks_beside(settings)}
        return tuple(name for name in self.exports if has.get(name, True))

    def imports_of(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Import formats: documents or candidates, depending on the task's layout."""
        is_document = settings.get("layout") == DOCUMENT
        unfit = ("candidates", "chat_texts") if is_document else ("documents",)
        return tuple(name for name in self.imports if name not in unfit)

    def imports_listed(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Import formats that the task's page shows: ratings or judgments, by its layout."""
        other = "judgments" if settings.get("layout") == DOCUMENT else "ratings"
        return tuple(name for name in self.imports_of(settings) if name != other)

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        layout = raw.get("layout") or TEXT
        if layout not in LAYOUTS:
            raise Invalid(_("There is no such layout."), fields={"layout": " or ".join(LAYOUTS)})
        asked = explanation.clean(raw)
        if layout == TEXT:  # without a document there is no sentence to point at
            asked[EVIDENCE] = explanation.NONE
        usual = list(TEMPLATE if layout == TEXT else COMPLETENESS)
        return {
            "scales": _scales(raw.get("scales", usual)),
            "layout": layout,
            **asked,
            "feedback": truth(raw.get("feedback", False)),
            "release": _release(raw.get("release")),
            # Of documents alone: an assignment holds answers about one of them.
            "one_document": truth(raw.get("one_document", True)),
            "show_sources": truth(raw.get("show_sources", True)),
            "break_after": whole_number(raw, "break_after", 0, 0, 200),
            "skippable": truth(raw.get("skippable", False)),
            "left_out": ids(raw.get("left_out"), "left_out"),
            **known_rules(raw),
        }

    def known_fields(self, settings: Mapping[str, Any]) -> list[KnownField]:
        """Return a known point of each scale, with the tolerance allowed."""
        return [
            KnownField(
                scale["name"],
                scale["label"],
                POINT,
                tuple(
                    (str(point["value"]), f"{point['value']} {point['label']}".strip())
                    for point in scale["points"]
                ),
            )
            for scale in settings["scales"]
        ]

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        draft = draft_values(raw, PREFIX, _is_integer, _("A point of the scale."))
        return {**draft, **explanation.draft_texts(raw)}

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(answered_lines(draft, PREFIX))

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"passage"} if settings.get("layout") == DOCUMENT else ())

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        values = answered_lines(draft, PREFIX)
        if not values and draft.get("skipped") and settings["skippable"]:
            return None
        unknown = sorted(set(values) - {scale["name"] for scale in settings.get("scales", [])})
        if unknown:
            raise Invalid(
                _("There is no scale %(unknown)s in this task.") % {"unknown": repr(unknown[0])}
            )
        choices = _choices(values, settings)
        beside = beside_problems(draft, settings)
        if beside:
            field, wrong = next(iter(beside.items()))
            named = _("Evidence: %(wrong)s") if field == EVIDENCE else _("Explanation: %(wrong)s")
            raise Invalid(named % {"wrong": wrong}, fields=beside)
        said = [(EXPLANATION, 0, str(draft.get(EXPLANATION, "")).strip())]
        if settings.get(EXPLANATION, {}).get("wanted", explanation.NONE) == explanation.NONE:
            said = []
        if settings.get("feedback"):
            said.append((FEEDBACK, 0, str(draft.get(FEEDBACK, "")).strip()))
        return Values(
            texts=[row for row in said if row[2]],
            choices=choices,
            spans=explanation.spans(str(draft.get(EVIDENCE, "")), settings),
        )

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        return in_words(draft, settings)

    def noun_in(self, settings: Mapping[str, Any]) -> str:
        """Noun of an item: "answer" in the layout with documents."""
        return "answer" if settings.get("layout") == DOCUMENT else self.item_noun

    def new_line(self, name: str, label: str) -> dict[str, Any]:
        points = [{"value": value, "label": ""} for value in range(1, 6)]
        return {**super().new_line(name, label), "points": points}

    def template_lines(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Scales to start from: one plain scale, or completeness and correctness with documents."""
        return list(COMPLETENESS if settings.get("layout") == DOCUMENT else TEMPLATE)

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        if task.items.in_version(version.number).filter(expected__isnull=True).exists():
            return []
        lack = _("The task has no texts")
        if version.settings.get("layout") == DOCUMENT:
            lack = _("The task has no answer to rate")
        return [Missing(lack, "texts")]

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        own, beside = version.settings, 0.0
        if own.get("layout") == DOCUMENT:
            beside = pace.mean_words(groups, "passage") * (1 if by_document(own) else per)
        asked = own.get(EXPLANATION) or {}
        said = asked.get("min_words", 1) if _wants_why(own) else 0
        lines = len(own["scales"])
        return pace.estimate_judging(version, items, per, lines, beside=beside, said=said)

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        told = {
            "read": pace.READ_A_MINUTE,
            "written": pace.WORDS_A_MINUTE,
            "seconds": pace.SECONDS_A_LINE,
        }
        if not _wants_why(settings):
            return _("reading at %(read)s words a minute, %(seconds)s seconds a line") % told
        return (
            _(
                "reading at %(read)s words a minute, explaining at %(written)s, %(seconds)s "
                "seconds a line"
            )
            % told
        )


def in_words(draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Summarise a draft: the label of the chosen point on each scale."""
    return ", ".join(
        f"{scale['label']}: {point['label']}"
        for scale in settings.get("scales", [])
        for point in scale["points"]
        if draft.get(PREFIX + scale["name"]) == str(point["value"])
    )


def _wants_why(settings: Mapping[str, Any]) -> bool:
    """Whether a rating without an explanation is refused."""
    return (settings.get(EXPLANATION) or {}).get("wanted") == explanation.REQUIRED


def by_document(settings: Mapping[str, Any]) -> bool:
    """Return whether each assignment holds the answers about one document."""
    return settings.get("layout") == DOCUMENT and bool(settings.get("one_document"))


def asks_beside(settings: Mapping[str, Any]) -> bool:
    """Whether the page of an item needs more than a text and its scales."""
    wanted = (settings.get(EXPLANATION) or {}).get("wanted", explanation.NONE)
    more = settings.get("layout") == DOCUMENT or bool(settings.get("feedback"))
    return more or wanted != explanation.NONE


def beside_problems(draft: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with explanation and evidence, by field."""
    values = answered_lines(draft, PREFIX)
    best = all(
        values.get(scale["name"]) == str(scale["points"][-1]["value"])
        for scale in settings.get("scales", [])
    )
    labels = [
        words
        for scale in settings.get("scales", [])
        for words in (scale["label"], scale["question"], *(p["label"] for p in scale["points"]))
    ]
    found = {
        EXPLANATION: explanation.explanation_problem(
            str(draft.get(EXPLANATION, "")), settings, labels
        ),
        EVIDENCE: explanation.evidence_problem(str(draft.get(EVIDENCE, "")), settings, best=best),
    }
    return {field: wrong for field, wrong in found.items() if wrong}


def _choices(
    values: Mapping[str, str], settings: Mapping[str, Any]
) -> list[tuple[str, str, int | None]]:
    choices: list[tuple[str, str, int | None]] = []
    for scale in settings.get("scales", []):
        name = scale["name"]
        if name not in values:
            raise Invalid(
                _("“%(scale)s” is not rated yet.") % {"scale": translate_ready_made(scale["label"])}
            )
        if int(values[name]) not in {point["value"] for point in scale["points"]}:
            raise Invalid(
                _("“%(scale)s” has no point %(values)s.")
                % {"scale": translate_ready_made(scale["label"]), "values": values[name]}
            )
        choices.append((name, values[name], int(values[name])))
    return choices


def _release(raw: Any) -> dict[str, int] | None:
    """Read the release rule, so many assignments every so many hours; None: all at once."""
    if not isinstance(raw, Mapping) or not raw.get("assignments"):
        return None
    return {
        "assignments": whole_number(raw, "assignments", 1, 1, 100_000),
        "hours": whole_number(raw, "hours", 24, 1, 24 * 60),
    }


def _is_integer(value: Any) -> bool:
    return str(value).lstrip("-").isdecimal()


def _scales(raw: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    taken: list[str] = []
    for number, row in enumerate(rows(raw, "scales"), 1):
        where = f"scale {number}"
        points: list[dict[str, Any]] = [
            {
                "value": whole_number(point, "value", at, -10_000, 10_000),
                "label": text(point, "label", where, MAX_LABEL),
            }
            for at, point in enumerate(rows(row.get("points", []), "points", MAX_POINTS), 1)
        ]
        if len({point["value"] for point in points}) < max(2, len(points)):
            raise Invalid(
                _("%(where)s needs two points or more, each with its own value.")
                % {"where": where},
                fields={where: _("Two points at least.")},
            )
        points.sort(key=lambda point: point["value"])
        described = text(row, "description", where)
        one = {**parse_label(row, where, taken), "description": described, "points": points}
        if row.get("factor") in FACTORS:
            one["factor"] = row["factor"]
        found.append(one)
    if not found:
        raise Invalid(_("There is nothing to rate."), fields={"scales": _("One at least.")})
    return found
