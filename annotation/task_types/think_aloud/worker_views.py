"""The worker's pages of a think-aloud: rubric and samples beside the attributes so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from annotation.models import AssignmentItem
from annotation.task_types.think_aloud import page as think_aloud
from annotation.task_types.think_aloud.type import MAX_ATTRIBUTES, ThinkAloud
from annotation.work.selectors.recordings import recording_addresses
from annotation.work.selectors.transcripts import transcripts_of
from annotation.work.views.parts import OpenItem, WorkerPages


class ThinkAloudPages(WorkerPages):
    """One dimension."""

    tells_all = False
    own_words = True
    submitted_noun = recorded_noun = "dimension"
    targets = {
        f"attribute-{n}": format_lazy("{} {}", gettext_lazy("attribute"), n + 1)
        for n in range(MAX_ATTRIBUTES)
    }

    def context(self, opened: OpenItem) -> dict[str, Any]:
        entry = opened.entry
        shown = think_aloud.page(entry.item.group, opened.settings, entry.draft)
        kept, written = "", None
        if ThinkAloud().records_speech(opened.settings):
            kept = recording_addresses(opened.assignment.pk).get(entry.item_id, "")
        if kept:
            written = transcripts_of(opened.assignment.pk).get(entry.item_id)
        return shown | {"recorder": think_aloud.recorder(opened.settings, kept, written)}

    def materials(self, entry: AssignmentItem, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"samples": think_aloud.samples(entry.item.group)}

    def features(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return ("microphone",) if ThinkAloud().records_speech(settings) else ()

    def recorded(self, settings: Mapping[str, Any]) -> str:
        voice = ""
        if ThinkAloud().records_speech(settings):
            voice = " " + gettext("Where you press Record: your voice, until you press Stop.")
        return (
            gettext(
                "when you type, delete, paste, copy, scroll and leave this page, what you write as "
                "attributes and as a transcript, and when you mark a stretch of it."
            )
            + voice
        )

    def not_recorded(self, settings: Mapping[str, Any]) -> str:
        if not ThinkAloud().records_speech(settings):
            return super().not_recorded(settings)
        return gettext("other tabs, your screen, your camera, or your voice at any other time.")


PAGES = ThinkAloudPages()
