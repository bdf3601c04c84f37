"""Pairwise judgments: which of two texts is better, on each dimension, left, right or neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext

from annotation.models import PayoutRule, Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.base import ON_PAGE, TaskType, Values, known_rules, whole_number
from annotation.task_types.known import KnownField
from annotation.task_types.missing import Missing
from annotation.task_types.pairwise.label_studio import PairsInLabelStudio
from annotation.task_types.pairwise.sides import (
    LEFT,
    NEUTRAL,
    ORDINALS,
    RIGHT,
    SHOWN,
    STORED,
    to_canonical,
)
from annotation.task_types.pairwise.texts import signature, texts_of
from annotation.task_types.ready_made import register_ready_made, translate_ready_made
from annotation.task_types.scales import (
    answered_lines,
    draft_values,
    ids,
    parse_label,
    rows,
    text,
    truth,
)
from crowdqc.errors import Invalid


def missing_pairs(task: Task, version: TaskVersion, now: str | None) -> list[Missing]:
    """List what must be fixed about a version's pairs before publishing.

    ``now``: the signature of the version, if it is known already.
    """
    if not task.items.in_version(version.number).filter(expected__isnull=True).exists():
        texts = texts_of(task, version).exclude(pk__in=version.settings.get("left_out", []))
        if texts.count() < 2:
            return [Missing(_("The task has no texts"), "texts")]
        return [Missing(_("No pairs are made yet"), "pairs")]
    found = []
    made = version.settings.get("made")
    if made and made != (signature(task, version) if now is None else now):
        found.append(
            Missing(_("Texts, design or assignment size changed: make the pairs again"), "pairs")
        )
    return found


PREFIX = "d-"
SEEN = "seen"  # the sides that were in view, as the page notes them with the draft
SEEN_BOTH = "seen_both"  # said by a box where no script can see to it
SIDES = ("balanced", "random", "authored")
KINDS = ("all", "per_topic", "balanced")  # which pairs of a topic are asked
# Every assignment a like mixture of lengths and origins; by chance; one pair from each stratum.
STRATA = ("mixed", "none", "one_each")
# The seven dimensions of Gienapp et al. (SIGIR 2025), Table 2, in our own words; the last one
# is a forced choice.
TEMPLATE: tuple[dict[str, Any], ...] = (
    {
        "name": "correctness_topical",
        "label": gettext_noop("Topical correctness"),
        "question": gettext_noop("Which one answers the question better?"),
        "description": gettext_noop("It keeps to what was asked, and what it says holds."),
        "neutral": True,
    },
    {
        "name": "coherence_logical",
        "label": gettext_noop("Logical coherence"),
        "question": gettext_noop("Which one is easier to follow?"),
        "description": gettext_noop("One statement leads to the next."),
        "neutral": True,
    },
    {
        "name": "coherence_stylistic",
        "label": gettext_noop("Stylistic coherence"),
        "question": gettext_noop("Which one keeps one style of writing?"),
        "description": gettext_noop("Tone, form and wording stay the same throughout."),
        "neutral": True,
    },
    {
        "name": "coverage_broad",
        "label": gettext_noop("Broad coverage"),
        "question": gettext_noop("Which one looks at more sides of the topic?"),
        "description": gettext_noop("Count the aspects, not the words."),
        "neutral": True,
    },
    {
        "name": "coverage_deep",
        "label": gettext_noop("Deep coverage"),
        "question": gettext_noop("Which one explains more in detail?"),
        "description": gettext_noop("It gives reasons, numbers, examples."),
        "neutral": True,
    },
    {
        "name": "consistency_internal",
        "label": gettext_noop("Internal consistency"),
        "question": gettext_noop("Which one makes clearer how different views fit together?"),
        "description": gettext_noop("It contradicts itself nowhere, or says where views differ."),
        "neutral": True,
    },
    {
        "name": "quality_overall",
        "label": gettext_noop("Overall quality"),
        "question": gettext_noop("Which one is better, all in all?"),
        "description": gettext_noop("Choose the one you would rather have been given."),
        "neutral": False,
    },
)
DEFAULT = (
    {
        "name": "quality_overall",
        "label": gettext_noop("Overall"),
        "question": gettext_noop("Which one is better, all in all?"),
        "description": "",
        "neutral": True,
    },
)
register_ready_made(TEMPLATE, DEFAULT)


class Pairwise(TaskType):
    """Two texts side by side."""

    slug = "pairwise"
    label = gettext_lazy("Pairwise judgments")
    sentence = gettext_lazy(
        "Two texts side by side: which one is better, on each dimension? Sources are ranked, and "
        "every worker gets a competence."
    )
    shape = "pairs"
    item_noun = "pair"
    known_noun = "attention pair"
    known_part = redundancy_part = "pairs"
    answer_noun = "judgment"
    is_typed = False
    judges_texts = True
    pairs_texts = True
    answer_template = "annotation/task_types/pairwise_answer.html"
    item_template = "annotation/work/judge/judge.html"
    builder_template = "annotation/task_types/pairwise_settings.html"
    # authoring
    add_words = gettext_lazy("Add texts")
    numbers_by_text = False
    scales_in = "dimensions"
    # money and privacy
    bonus_bases = (PayoutRule.BonusBy.COMPETENCE,)
    # work
    overlaps_bundles = True

    # files
    exports = (
        "judgments",
        "candidates",
        "arena",
        "crowdkit-pairwise",
        "crowdkit-labels",
        "reliability",
        "crowdrag-raw",
        "crowdrag-llm",
        "label-studio",
        "preferences",
        "openai-preferences",
        "kto",
        *TaskType.exports,
    )
    imports = ("pairs", "candidates", "chat_texts", "judgments", "arena")
    label_studio = PairsInLabelStudio()

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        sides = raw.get("sides") or "balanced"
        if sides not in SIDES:
            raise Invalid(_("There is no such order."), fields={"sides": ", ".join(SIDES)})
        return {
            "dimensions": _dimensions(raw.get("dimensions", list(DEFAULT))),
            "sides": sides,
            "show_sources": truth(raw.get("show_sources", True)),
            "show_differences": truth(raw.get("show_differences", True)),
            **known_rules(raw),
            "break_after": whole_number(raw, "break_after", 0, 0, 200),
            "skippable": truth(raw.get("skippable", False)),
            "design": _design(raw.get("design")),
            "left_out": ids(raw.get("left_out"), "left_out"),
            "made": str(raw.get("made") or "")[:64],
        }

    def known_fields(self, settings: Mapping[str, Any]) -> list[KnownField]:
        """Return the side that can be known on each dimension, of the pair as stored."""
        return [
            KnownField(
                row["name"],
                row["label"],
                options=tuple((code, code) for code in STORED if row["neutral"] or code != NEUTRAL),
            )
            for row in settings["dimensions"]
        ]

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        draft = draft_values(raw, PREFIX, SHOWN.__contains__, _("left, neutral or right."))
        told = f"{LEFT} {RIGHT}" if truth(raw.get(SEEN_BOTH)) else str(raw.get(SEEN, ""))
        seen = [side for side in (LEFT, RIGHT) if side in told.split()]
        return {**draft, SEEN: " ".join(seen)} if seen else draft

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(answered_lines(draft, PREFIX))

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset()  # sources open on demand

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        values = answered_lines(draft, PREFIX)
        if not values and draft.get("skipped") and settings["skippable"]:
            return None
        known = {dimension["name"]: dimension for dimension in settings["dimensions"]}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise Invalid(
                _("There is no line %(unknown)s in this task.") % {"unknown": repr(unknown[0])}
            )
        still = [dimension["label"] for name, dimension in known.items() if name not in values]
        if still:
            said = _("“%(still)s” not judged yet.")
            if len(still) > 1:
                said = _("“%(still)s” and %(more)s more not judged yet.")
            raise Invalid(said % {"still": translate_ready_made(still[0]), "more": len(still) - 1})
        choices: list[tuple[str, str, int | None]] = []
        for name, dimension in known.items():
            if values[name] == NEUTRAL and not dimension["neutral"]:
                raise Invalid(
                    _("“%(dimension)s” asks for left or right.")
                    % {"dimension": translate_ready_made(dimension["label"])}
                )
            code = to_canonical(values[name], flipped=flipped)
            choices.append((name, code, ORDINALS[code]))
        if settings.get(ON_PAGE):
            _check_seen(draft)
        return Values(choices=choices)

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Summarise a draft: how often each side is preferred."""
        sides = [
            draft.get(PREFIX + row["name"], "")
            for row in settings["dimensions"]
            if row["neutral"] or draft.get(PREFIX + row["name"]) != NEUTRAL
        ]
        counts = {side: sides.count(side) for side in (LEFT, NEUTRAL, RIGHT) if side in sides}
        total = len(settings["dimensions"])
        if not counts:
            return ""
        if total == 1:
            words = {
                LEFT: pgettext("choice", "left"),
                NEUTRAL: pgettext("choice", "neutral"),
                RIGHT: pgettext("choice", "right"),
            }
            return ", ".join(words[side] for side in counts)
        told = {
            LEFT: _("left on %(number)s"),
            NEUTRAL: _("neutral on %(number)s"),
            RIGHT: _("right on %(number)s"),
        }
        listed = ", ".join(told[side] % {"number": number} for side, number in counts.items())
        return _("%(listed)s of %(total)s dimensions") % {"listed": listed, "total": total}

    def new_line(self, name: str, label: str) -> dict[str, Any]:
        return {**super().new_line(name, label), "neutral": True}

    def template_lines(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The seven dimensions of CrowdRAG, as a start."""
        return list(TEMPLATE)

    def signature(self, task: Task, version: TaskVersion) -> str:
        return signature(task, version)

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        return missing_pairs(task, version, signature)

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        own = version.settings
        return pace.estimate_judging(version, items, per, len(own["dimensions"]))

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        return _("reading at %(read)s words a minute, %(seconds)s seconds a line") % {
            "read": pace.READ_A_MINUTE,
            "seconds": pace.SECONDS_A_LINE,
        }


def _check_seen(draft: Mapping[str, Any]) -> None:
    """Invalid unless both texts were in view: nobody judges a text that they never had open."""
    seen = str(draft.get(SEEN, "")).split()
    unseen = [side for side in (LEFT, RIGHT) if side not in seen]
    if len(unseen) == 1:
        raise Invalid(
            _("The %(unseen)s response has not been on your screen. Open it, then go on.")
            % {"unseen": unseen[0]},
            fields={SEEN: unseen[0]},
        )
    if unseen:
        raise Invalid(
            _("Neither response has been on your screen. Open both, then go on."),
            fields={SEEN: _("left, right")},
        )


def _dimensions(raw: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    taken: list[str] = []
    for number, row in enumerate(rows(raw, "dimensions"), 1):
        where = f"dimension {number}"
        found.append(
            {
                **parse_label(row, where, taken),
                "description": text(row, "description", where),
                "neutral": truth(row.get("neutral", True)),
            }
        )
    if not found:
        raise Invalid(_("There is nothing to judge."), fields={"dimensions": _("One at least.")})
    return found


def _design(raw: Any) -> dict[str, Any]:
    """Read how pairs are drawn from the texts (annotation.pair_design.model), for the version.

    ``pairs_per_topic``: where not all are asked; ``repeat_every``: one pair in so many is asked
    once more, the other way round (0: none); ``strata``: how assignments mix lengths and origins.
    """
    row: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    chosen = {}
    for name, values in (("kind", KINDS), ("strata", STRATA)):
        chosen[name] = row.get(name) or values[0]
        if chosen[name] not in values:
            raise Invalid(
                _("There is no %(name)s like this.") % {"name": name},
                fields={name: ", ".join(values)},
            )
    return {
        **chosen,
        "pairs_per_topic": whole_number(row, "pairs_per_topic", 6, 1, 500),
        "repeat_every": whole_number(row, "repeat_every", 3, 0, 100),
        "seed": whole_number(row, "seed", 1, 0, 10**6),
    }
