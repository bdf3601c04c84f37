"""Figures of a settled trace, from its spans: title, errors, scores and feedback. Pure."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.chats.model import Chat, dump_chat
from annotation.traces.tree import StoredSpan, first_line

# Names of scores that are a user's feedback, not a judge's.
FEEDBACK = re.compile(r"(?i)(?:user[_ .-]?)?(?:feedback|thumbs?(?:[_ .-]?up)?|rating|csat)\Z")
WORDS = {
    "pass": 1.0, "passed": 1.0, "true": 1.0, "yes": 1.0, "good": 1.0, "correct": 1.0, "up": 1.0,
    "thumbs_up": 1.0, "positive": 1.0, "fail": 0.0, "failed": 0.0, "false": 0.0, "no": 0.0,
    "bad": 0.0, "incorrect": 0.0, "down": 0.0, "thumbs_down": 0.0, "negative": 0.0,
}  # fmt: skip
MOST_SCORES = 40


@dataclass(frozen=True)
class TraceFigures:
    """Figures of a trace; ``scores`` by name, ``feedback`` from -1 to 1."""

    digest: str
    title: str
    service: str
    start_ns: int | None
    seconds: float | None
    turns: int
    errors: int
    scores: dict[str, float]
    feedback: float | None


def figures_of(spans: Sequence[StoredSpan], chat: Chat) -> TraceFigures:
    """Compute the figures of a trace from its spans and the conversation that they made."""
    starts = [one.start_ns for one in spans if one.start_ns is not None]
    ends = [one.end_ns for one in spans if one.end_ns is not None]
    first, last = min(starts, default=None), max(ends, default=None)
    services = [
        str(one.attributes["service.name"]) for one in spans if "service.name" in one.attributes
    ]
    rated = dict(sorted(score for one in spans for score in scores_of(one)))
    judged, feedback = split_scores(rated)
    return TraceFigures(
        digest=hashlib.sha256(dump_chat(chat).encode()).hexdigest(),
        title=first_line(chat),
        service=(services or [""])[0][:120],
        start_ns=first,
        seconds=(last - first) / 1e9 if first and last and last >= first else None,
        turns=len(chat.turns),
        errors=sum(one.is_error for one in spans),
        scores=judged,
        feedback=feedback,
    )


def split_scores(rated: Mapping[str, float]) -> tuple[dict[str, float], float | None]:
    """Scores of judges by name, and the user's feedback from -1 to 1 (None: none)."""
    judged = {name: value for name, value in rated.items() if not FEEDBACK.match(name)}
    given = [value for name, value in rated.items() if FEEDBACK.match(name)]
    if not given:
        return judged, None
    return judged, max(-1.0, min(1.0, given[0] if given[0] < 0 else 2 * min(given[0], 1.0) - 1))


def scores_of(span: StoredSpan) -> Iterable[tuple[str, float]]:
    """Scores on a span: events of the GenAI conventions, annotations of OpenInference."""
    for event in span.events:
        if event.get("name") == "gen_ai.evaluation.result":
            about = event.get("attributes") or {}
            yield from _score(
                about.get("gen_ai.evaluation.name"),
                about.get("gen_ai.evaluation.score.value"),
                about.get("gen_ai.evaluation.score.label"),
            )
    rows: dict[str, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        match = re.match(r"((?:trace\.|session\.)?annotations\.\d+)\.annotation\.(\w+)\Z", key)
        if match:
            rows.setdefault(match[1], {})[match[2]] = value
    for row in rows.values():
        human = str(row.get("annotator_kind", "")).upper() == "HUMAN"
        name = "feedback" if human else row.get("name")
        yield from _score(name, row.get("score"), row.get("label"))
    if "gen_ai.evaluation.name" in span.attributes:
        yield from _score(
            span.attributes["gen_ai.evaluation.name"],
            span.attributes.get("gen_ai.evaluation.score.value"),
            span.attributes.get("gen_ai.evaluation.score.label"),
        )


def _score(name: Any, value: Any, label: Any) -> Iterable[tuple[str, float]]:
    number = score_value(value)
    if number is None:
        number = score_value(label)
    if isinstance(name, str) and name and number is not None:
        yield name[:80], number


def score_value(value: Any) -> float | None:
    """A score as a number: a number, true or false, or a word such as "pass"; None of others."""
    if isinstance(value, str):
        return WORDS.get(value.strip().lower().replace(" ", "_"))
    if isinstance(value, bool | int | float) and math.isfinite(value) and abs(value) < 1e9:
        return float(value)
    return None
