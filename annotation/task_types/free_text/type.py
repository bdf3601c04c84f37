"""Free text: a question, an answer in the worker's own words, or an honest "I don't know"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import PayoutRule, Task, TaskVersion
from annotation.task_types.base import TaskType, Values, known_rules
from annotation.task_types.known import WORDS, KnownField
from annotation.task_types.scales import truth
from annotation.task_types.texts import check_words, drafted_text, word_limits
from crowdqc.errors import Invalid
from crowdqc.web.words import count_words

DONT_KNOW = "I don't know"


class FreeText(TaskType):
    """The task type AQER scores."""

    slug = "free_text"
    label = gettext_lazy("Free text")
    sentence = gettext_lazy(
        "Questions, perhaps about a text, answered in people’s own words. Workers and language "
        "models are scored by AQER."
    )
    shape = "texts"
    item_noun = "question"
    models_beside = True
    answer_template = "annotation/task_types/free_text_answer.html"
    item_template = "annotation/work/item.html"
    builder_template = "annotation/task_types/free_text_settings.html"
    # money and privacy
    bonus_bases = (PayoutRule.BonusBy.SCORE, PayoutRule.BonusBy.RANK)
    # work
    keeps_groups_together = True

    # files
    exports = (
        "items",
        "answers",
        "system_answers",
        "crowdkit-texts",
        "label-studio",
        *TaskType.exports,
    )
    imports = ("items", "known_answers", "answers", "system_answers", "candidates")
    unlisted = ("candidates",)

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        low, high = word_limits(raw, (1, 0, 2000), (120, 1, 5000))
        return {
            "min_words": low,
            "max_words": high,
            "dont_know": truth(raw.get("dont_know", True)),
            "skippable": truth(raw.get("skippable", False)),
            **known_rules(raw),
        }

    def known_fields(self, settings: Mapping[str, Any]) -> list[KnownField]:
        """Return the one field that can have a known answer: words, or a number with tolerance."""
        return [KnownField("answer", _("Answer"), WORDS)]

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "text": drafted_text(raw, "answer"),
            "declined": truth(raw.get("declined", False)),
            "skipped": truth(raw.get("skipped", False)),
        }

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(draft.get("declined") or str(draft.get("text", "")).strip())

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"passage"})

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        text = str(draft.get("text", "")).strip()
        if draft.get("declined"):
            if not settings["dont_know"]:
                raise Invalid(_("“I don’t know” is not offered here; write an answer."))
            return Values(
                texts=[("answer", 0, DONT_KNOW)], choices=[("declined", "dont_know", None)]
            )
        if not text:
            if settings["skippable"]:
                return None
            raise Invalid(_("There is no answer yet."))
        check_words(count_words(text), settings)
        return Values(texts=[("answer", 0, text)])

    def problems(self, task: Task, version: TaskVersion) -> list[str]:
        """List what must be fixed before publishing, naming questions by their ids."""
        items = list(task.items.in_version(version.number).values_list("key", "question"))
        empty = [key for key, question in items if not question.strip()]
        shown = ", ".join(empty[:3])
        asked = task.items.in_version(version.number).filter(expected__isnull=True)
        found = [] if asked.exists() else [_("The task has no question.")]
        if len(empty) > 3:
            found.append(_("Question %(keys)s and more has no text.") % {"keys": shown})
        elif empty:
            found.append(_("Question %(keys)s has no text.") % {"keys": shown})
        return found
