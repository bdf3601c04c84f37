"""What pages show of the steps of a trace: a tree beside a time line. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_lazy

from annotation.chats.model import Chat, Span
from annotation.chats.text import pretty_json
from crowdqc.web.terms import Words

DEEPEST = 8  # levels that are shown apart
MANY = 60  # steps from which equal ones after each other share a row
LONGEST = 200  # characters of an error that are shown
NARROWEST = 1.5  # percent of the time line, so that a short step is seen
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
MODEL_NAMES = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name")


@dataclass(frozen=True)
class StepRow:
    """A step with its words, or several equal ones after each other (``times``).

    ``bar``: where it begins and how long it takes, in percent of the trace; None: not known.
    """

    span: Span
    name: str
    message: str
    times: int
    bar: tuple[str, str] | None
    is_first_shown: bool = False

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

    @property
    def attributes(self) -> str:
        """Its attributes as JSON with indents; not for workers."""
        return pretty_json(self.span.attributes)


@dataclass(frozen=True)
class StepsView:
    """The steps of a trace in the order of its tree."""

    rows: Sequence[StepRow] = ()
    number: int = 0
    errors: int = 0
    seconds: float = 0.0

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """The kinds that occur and have a sign of their own, with their words, for the legend."""
        shown = {row.span.kind for row in self.rows} - {"agent", "other"}
        return [(kind, str(words)) for kind, words in KINDS.items() if kind in shown]


def view_steps(chat: Chat, *, facts: bool = False) -> StepsView:
    """Return the steps of a trace as shown.

    ``facts``: with the names of models, which are left out for workers.
    """
    spans = chat.spans
    if not spans:
        return StepsView()
    total = max((span.offset or 0) + (span.seconds or 0) for span in spans)
    models = () if facts else _models(chat)
    first = _first_shown(spans)
    rows = [
        StepRow(
            span=run[0],
            name=_without_models(run[0].name, models) or str(KINDS[run[0].kind]),
            message=_without_models(run[0].message[:LONGEST], models),
            times=len(run),
            bar=_bar(run, total),
            is_first_shown=first in run,
        )
        for run in _runs(spans)
    ]
    return StepsView(rows, len(spans), sum(span.is_error for span in spans), total)


def _runs(spans: Sequence[Span]) -> list[list[Span]]:
    """Steps for each row: alone, or together where many equal ones follow each other."""
    runs: list[list[Span]] = []
    for span in spans:
        last = runs[-1][-1] if runs else None
        if len(spans) > MANY and last is not None and _alike(last, span):
            runs[-1].append(span)
        else:
            runs.append([span])
    return runs


def _alike(one: Span, other: Span) -> bool:
    same = (one.name, one.kind, one.depth, one.parent) == (
        other.name, other.kind, other.depth, other.parent,
    )  # fmt: skip
    return same and not (one.is_error or other.is_error or one.note or other.note)


def _bar(run: Sequence[Span], total: float) -> tuple[str, str] | None:
    known = [one for one in run if one.offset is not None and one.seconds is not None]
    if not known or total <= 0:
        return None
    begin = min(one.offset or 0 for one in known)
    end = max((one.offset or 0) + (one.seconds or 0) for one in known)
    width = max(NARROWEST, 100 * (end - begin) / total)
    left = max(0.0, min(100 * begin / total, 100 - width))
    return f"{left:.1f}", f"{width:.1f}"


def _first_shown(spans: Sequence[Span]) -> Span:
    """The first answer of a model after an error, else the last one, else the first step."""
    failed = next((at for at, span in enumerate(spans) if span.is_error), None)
    if failed is not None:
        for span in spans[failed + 1 :]:
            if span.kind == "model" and span.turn is not None:
                return span
        return spans[failed]
    answers = [span for span in spans if span.turn is not None]
    return answers[-1] if answers else spans[0]


def _models(chat: Chat) -> list[str]:
    """Names of models, longest first."""
    names = {turn.model for turn in chat.turns}
    for span in chat.spans:
        if span.kind == "model" and span.attributes:
            names |= set(_named_in(span.attributes))
    return sorted(filter(None, names), key=len, reverse=True)


def _named_in(attributes: str) -> Iterable[str]:
    read = json.loads(attributes)
    return (str(read[name]) for name in MODEL_NAMES if read.get(name))


def _without_models(text: str, models: Sequence[str]) -> str:
    """The text of a step without names of models."""
    for model in models:
        text = re.sub(re.escape(model), "", text, flags=re.IGNORECASE)
    return " ".join(text.split()).strip(" /:-")
