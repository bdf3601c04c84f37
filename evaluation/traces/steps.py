"""The steps of a trace as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy

from annotation.chats.model import Chat, Span
from crowdqc.web.terms import Words

DEEPEST = 8  # levels that are shown apart
KINDS: Mapping[str, Words] = {
    "agent": gettext_lazy("agent"),
    "model": gettext_lazy("model"),
    "tool": gettext_lazy("tool"),
    "retriever": gettext_lazy("retriever"),
    "other": gettext_lazy("step"),
}
NOTES: Mapping[str, Words] = {
    "no parent": gettext_lazy("its parent did not come"),
    "cycle": gettext_lazy("its parents form a cycle"),
    "ends before it begins": gettext_lazy("ends before it begins"),
    "open": gettext_lazy("not ended"),
}


@dataclass(frozen=True)
class StepRow:
    """A step with its words."""

    span: Span

    @property
    def name(self) -> str:
        return self.span.name

    @property
    def indent(self) -> int:
        return min(self.span.depth, DEEPEST)

    @property
    def kind_text(self) -> str:
        return str(KINDS[self.span.kind])

    @property
    def note(self) -> str:
        """What is odd about it, in words."""
        return str(NOTES.get(self.span.note, self.span.note))


def step_rows(chat: Chat) -> list[StepRow]:
    """The steps of a trace in the order of its tree."""
    return [StepRow(span) for span in chat.spans]
