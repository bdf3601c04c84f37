"""The worker's pages of labels: an item beside its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from annotation.chats.messages import as_messages
from annotation.chats.storage import MAX_QUESTION, TRACE_KEY, chat_for_workers
from annotation.chats.text import plain_text
from annotation.models import AssignmentItem
from annotation.task_types.labels import page as labeling
from annotation.task_types.labels.content import AUDIO, IMAGE
from annotation.task_types.labels.fields import TEXTS
from annotation.task_types.pairwise import page as judging
from annotation.work.views.parts import OpenItem, WorkerPages


class LabelPages(WorkerPages):
    """One item."""

    verb, go_on = pgettext_lazy("action", "label"), pgettext_lazy("action", "Label")
    progress = gettext_lazy("%(answered)s of %(steps)s labeled")
    submitted_noun = recorded_noun = "item"

    def context(self, opened: OpenItem) -> dict[str, Any]:
        entry = opened.entry
        drawn = opened.assignment.seed
        seed = str(opened.assignment.worker_id if drawn is None else drawn)
        own = labeling.page(entry.item, opened.settings, entry.draft, seed=seed, named=opened.named)
        own["break_due"] = judging.break_is_due(opened.settings, entry.position, opened.total)
        return own

    def materials(self, entry: AssignmentItem, settings: Mapping[str, Any]) -> dict[str, Any]:
        if entry.item.chat is None:
            return {}
        hides = bool(settings.get("hide_system"))
        chat = chat_for_workers(entry.item)
        shown = [turn for turn in chat.turns if not (hides and turn.role == "system")]
        own: dict[str, Any] = {"conversation": as_messages(shown)}
        if entry.item.key.startswith(TRACE_KEY):
            own["question"] = plain_text(chat, most=MAX_QUESTION)
        return own

    def recorded(self, settings: Mapping[str, Any]) -> str:
        content = settings["content"]
        typed = any(row["kind"] in TEXTS for row in settings["fields"])
        told = [
            gettext(
                "your choices and marks, when you make them, and how long each item is on screen; "
                "when you press keys, click, copy, scroll and leave this page"
            )
        ]
        if content == IMAGE:
            told.append(gettext("when you zoom"))
        if content == AUDIO:
            told.append(gettext("when you play and pause"))
        if typed:
            told.append(gettext("and the text that you write"))
        return "; ".join(told) + "."


PAGES = LabelPages()
