"""Which traces are drawn for review, with the probability that each had before its draw. Pure.

Every rule that a trace matches draws by itself, at random with its share: the trace is drawn if
one does, with probability 1 - prod(1 - share). Where rules would draw more than the budget of a
day, all shares shrink by one factor, so that no trace has probability 0 and weights stay right.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.traces.settings import Rule

OVER = 2.0  # times the budget of a day, at which no more is drawn
RANDOM = "random"  # the rule that every trace matches
DISAGREE, UNSURE, FAILED, OTHER = 40, 30, 20, 10  # priorities of draws by other rules


@dataclass(frozen=True)
class Facts:
    """What rules look at; ``attributes``: every value of a key in any span, as texts."""

    errors: int = 0
    score: float | None = None
    feedback: float | None = None
    attributes: Mapping[str, frozenset[str]] = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Draw:
    """The outcome: ``rule`` drew it, "" where none did. ``stratum``: the rules that matched."""

    base: float
    inclusion: float
    stratum: str
    rule: str = ""


def matches(rule: Rule, facts: Facts) -> bool:
    """Whether a rule draws from traces like this."""
    if rule.kind == RANDOM:
        return True
    if rule.kind == "error":
        return facts.errors > 0
    if rule.kind == "low_score":
        return facts.score is not None and facts.score < rule.below
    if rule.kind == "feedback":
        return facts.feedback is not None and facts.feedback < rule.below
    values = (facts.attributes or {}).get(rule.key, frozenset())
    return bool(values) and (not rule.value or rule.value in values)


def base_inclusion(rules: Sequence[Rule], facts: Facts, factor: float = 1.0) -> float:
    """Probability that one of the matching rules draws; shares times ``factor``."""
    left = 1.0
    for rule in rules:
        if matches(rule, facts):
            left *= 1 - rule.share * factor
    return 1 - left


def day_factor(expected: float, budget: int) -> float:
    """Factor of all shares, from the draws that rules expect in 24 hours, this trace included."""
    return 1.0 if not budget or expected <= budget else budget / expected


def draw(
    rules: Sequence[Rule], facts: Facts, *, secret: bytes, name: str, factor: float = 1.0
) -> Draw:
    """Draw a trace of this ``name``; the same name under the same secret gives the same draw."""
    matching = [rule for rule in rules if matches(rule, facts)]
    hit = next(
        (
            rule
            for number, rule in enumerate(rules)
            if rule in matching and uniform(secret, f"{name}/{number}") < rule.share * factor
        ),
        None,
    )
    return Draw(
        base_inclusion(rules, facts),
        base_inclusion(rules, facts, factor),
        "+".join(dict.fromkeys(rule.name for rule in matching))[:120],
        hit.name if hit else "",
    )


def uniform(secret: bytes, text: str) -> float:
    """A number from 0 to 1 that only who has the secret can foresee."""
    digest = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def priority_of(facts: Facts, scores: Mapping[str, float], *, fails_below: float) -> int:
    """How early a trace that a rule flagged is handed out: judges disagree, unsure, errors."""
    sides = {value < fails_below for value in scores.values() if 0 <= value <= 1}
    if len(sides) > 1:
        return DISAGREE
    if facts.score is not None and abs(facts.score - fails_below) <= 0.15:
        return UNSURE
    return FAILED if facts.errors else OTHER


def mixed_priority(flagged: Sequence[int], at: float) -> int:
    """How early a random draw is handed out: as one of the traces that rules flagged.

    ``flagged``: their priorities; ``at`` is uniform on [0, 1). At every priority the share of
    random draws is then their share of all draws, whatever the backlog.
    """
    mixed = flagged or (DISAGREE, UNSURE, FAILED, OTHER)
    return mixed[int(at * len(mixed))]


def attribute_values(spans: Sequence[Any], rules: Sequence[Rule]) -> dict[str, frozenset[str]]:
    """Values of the attributes that rules name, as texts, over all spans."""
    keys = {rule.key for rule in rules if rule.kind == "attribute"}
    return {
        key: frozenset(_as_text(one.attributes[key]) for one in spans if key in one.attributes)
        for key in keys
    }


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
