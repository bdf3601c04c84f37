"""Signs that a text may not have been written by the person at the keys: evidence, never a verdict.

Each signal is one calculation on one :class:`~evaluation.methods.writing.process.Process`. It fires
or stays quiet; or it says that the log lacks what it needs, or that there is too little to judge.
All of them happen in honest work: a signal is worth what its base rate among the workers of the
task says it is. The first four are those that CrowdRAG's reviewers watched for (Gienapp et al.
2025, section 3.1.4); how each is calculated, and its thresholds, are ours.

A base rate has an interval: texts of one worker are alike, so the interval is Wilson's on as many
texts as the clustering by worker leaves (``units.share``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, IntArray, check_within
from evaluation.methods.core.units import share
from evaluation.methods.writing.measures import (
    Pace,
    characters_at,
    corrections,
    part_text,
    rhythm,
    seconds_read,
    speed,
    time_of_words,
    word_count,
)
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Process

FIRED, QUIET, NOT_RECORDED, TOO_LITTLE = "fired", "quiet", "not_recorded", "too_little"
STATES = (FIRED, QUIET, NOT_RECORDED, TOO_LITTLE)
MOMENTS = 20  # told of one signal, the largest first


@dataclass(frozen=True)
class Signal:
    """A signal: its name, and what a log must record for it."""

    slug: str
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Parameter:
    """A threshold, what it is, and why its default is what it is."""

    default: float
    words: str
    reason: str


PARAMETERS: Mapping[str, Parameter] = {
    "outside_words": Parameter(
        10,
        "words pasted from outside, over all pastes, from which the signal fires",
        "a name or a term looked up is shorter",
    ),
    "jump_characters": Parameter(
        40,
        "characters that come at once, without paste or keys",
        "a suggestion of a phone's keyboard or of a browser puts in a word or two",
    ),
    "even_keys": Parameter(
        100,
        "keys in a row, breaks left out, whose intervals are compared",
        "the spread of fewer intervals is too uncertain",
    ),
    "even_spread": Parameter(
        0.2,
        "distance of the quartiles of the intervals over their median",
        "people's intervals differ by half of their median and more; a script's with a fixed delay "
        "hardly do; one with random delays is not found",
    ),
    "correction_keys": Parameter(
        300,
        "keys that changed the text, before their corrections are counted",
        "some fifty words; few people write so many without one correction",
    ),
    "correction_share": Parameter(
        0.01,
        "of these keys that take something away",
        "one key in a hundred is far below what people who compose a text need",
    ),
    "correction_changes": Parameter(
        100, "changes between snapshots, where no keys are recorded", "a change is several keys"
    ),
    "correction_changes_share": Parameter(
        0.05,
        "of these changes that take something away",
        "in the published logs of CrowdRAG, nineteen in twenty have .15 and more",
    ),
    "faster_characters": Parameter(
        200, "characters typed without a break, before their speed is compared", "some 35 words"
    ),
    "faster_ratio": Parameter(
        1.6,
        "speed over the median of the worker's other responses",
        "in the published logs of CrowdRAG, one response in twenty is faster than 1.53",
    ),
    "faster_responses": Parameter(
        2, "other responses of the worker that their usual speed needs", "one may be the exception"
    ),
    "reading_words": Parameter(
        50, "words that were there", "fewer may be a beginning from own knowledge"
    ),
    "reading_seconds": Parameter(
        10,
        "seconds that the passages were in view or open until then",
        "reading fifty words takes that long at 300 a minute",
    ),
}
DEFAULTS = {name: parameter.default for name, parameter in PARAMETERS.items()}


@dataclass(frozen=True)
class Usual:
    """How fast a worker types: median characters a second over ``responses`` others of theirs."""

    speed: float
    responses: int


@dataclass(frozen=True)
class Moment:
    """A time to look at in the replay (ms since its start), what happened there, how much."""

    time_ms: int
    code: str
    size: int = 0


@dataclass(frozen=True)
class Finding:
    """What one signal says of one text; ``value`` is None where nothing could be calculated.

    ``code`` names the sentence that describes it, ``values`` are its figures; times ("at") in ms.
    """

    slug: str
    state: str
    value: float | None
    threshold: float
    moments: tuple[Moment, ...]
    code: str
    values: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rate:
    """How often a signal fired among the texts it could judge, and how many it could not."""

    fired: int
    judged: int
    not_recorded: int
    too_little: int = 0

    @property
    def share(self) -> float | None:
        """Fired of judged, 0 to 1; None where none was judged."""
        return self.fired / self.judged if self.judged else None


def usual_speed(paces: Iterable[Pace | None]) -> Usual | None:
    """Return a person's usual typing speed in other texts; None if it is unknown."""
    speeds = [
        pace.speed
        for pace in paces
        if pace is not None and pace.characters >= DEFAULTS["faster_characters"]
    ]
    return Usual(float(np.median(speeds)), len(speeds)) if speeds else None


def check(params: Mapping[str, Any]) -> dict[str, float]:
    """The parameters with their defaults; BadParameter on an unknown name or one not above 0."""
    unknown = sorted(set(params) - set(DEFAULTS))
    if unknown:
        raise BadParameter(f"{unknown[0]} is no parameter of writing signals")
    full = {**DEFAULTS, **params}
    for name, value in full.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise BadParameter(f"{name} must be above 0")
    return full


def find(
    process: Process,
    *,
    usual: Usual | None = None,
    passages: Sequence[str] | Sources = (),
    params: Mapping[str, Any] | None = None,
) -> tuple[Finding, ...]:
    """Check a text for every signal, in the order of ``SIGNALS``. Raises BadParameter."""
    full = check(params or {})
    case = Case(process, usual, len(passages), full)
    found = []
    for signal, calculate in _CALCULATIONS:
        if signal.needs - process.recorded:
            lacks = {"lacks": ", ".join(sorted(signal.needs - process.recorded))}
            found.append(Finding(signal.slug, NOT_RECORDED, None, 0.0, (), "not_recorded", lacks))
        else:
            found.append(calculate(case))
    return tuple(found)


def base_rates(findings_by_response: Iterable[Sequence[Finding]]) -> dict[str, Rate]:
    """Count how often each signal fires over many texts."""
    counts = {signal.slug: dict.fromkeys(STATES, 0) for signal in SIGNALS}
    for findings in findings_by_response:
        for finding in findings:
            counts[finding.slug][finding.state] += 1
    return {
        slug: Rate(of[FIRED], of[FIRED] + of[QUIET], of[NOT_RECORDED], of[TOO_LITTLE])
        for slug, of in counts.items()
    }


@dataclass(frozen=True)
class Case:
    """What a calculation may look at."""

    process: Process
    usual: Usual | None
    passages: int
    params: Mapping[str, float]


def _finding(
    slug: str,
    value: float,
    threshold: float,
    code: str,
    *,
    values: Mapping[str, float | str] | None = None,
    moments: Iterable[Moment] = (),
    below: bool = False,
) -> Finding:
    fires = value < threshold if below else value >= threshold
    state = FIRED if fires else QUIET
    kept = tuple(moments) if fires else ()
    return Finding(slug, state, value, threshold, kept, code, values or {})


def _too_little(slug: str, threshold: float, code: str, **values: float) -> Finding:
    return Finding(slug, TOO_LITTLE, None, threshold, (), code, values)


def _largest(moments: Iterable[Moment]) -> list[Moment]:
    """The largest stretches, in the order of time."""
    chosen = sorted(moments, key=lambda one: -one.size)[:MOMENTS]
    return sorted(chosen, key=lambda one: one.time_ms)


def _outside_paste(case: Case) -> Finding:
    slug, least = "outside_paste", case.params["outside_words"]
    pasted = [
        Moment(change.time, "pasted", words)
        for change in case.process.changes
        if change.kind == "pasted" and (words := word_count(part_text(change, "outside")))
    ]
    if not pasted:
        return _finding(slug, 0, least, "nothing_pasted")
    most = max(pasted, key=lambda one: one.size)
    total = sum(one.size for one in pasted)
    code = "pasted_once" if len(pasted) == 1 else "pasted_often"
    values = {"words": total, "pastes": len(pasted), "at": most.time_ms, "passages": case.passages}
    return _finding(slug, total, least, code, values=values, moments=_largest(pasted))


def _unexplained_jump(case: Case) -> Finding:
    slug, least = "unexplained_jump", case.params["jump_characters"]
    codes = {"shown": "jump_shown", "pasted": "jump_pasted"}
    jumps = [
        Moment(change.time, codes.get(change.kind, "jump"), size)
        for change in case.process.changes
        if (size := len(part_text(change, "unexplained"))) >= least
    ]
    if not jumps:
        return _finding(slug, 0, least, "no_jump")
    most = max(jumps, key=lambda one: one.size)
    values = {"characters": most.size, "at": most.time_ms, "more": len(jumps) - 1}
    return _finding(slug, most.size, least, most.code, values=values, moments=_largest(jumps))


def _even_keys(case: Case) -> Finding:
    slug, keys, least = "even_keys", int(case.params["even_keys"]), case.params["even_spread"]
    found = rhythm(case.process, keys)
    if found is None:
        return _too_little(slug, least, "few_keys_in_a_row", keys=keys)
    values = {
        "keys": keys,
        "at": found.time,
        "every": found.median,
        "within": found.spread * found.median,
    }
    moment = Moment(found.time, "even_keys", keys)
    return _finding(
        slug, found.spread, least, "even_keys", values=values, moments=[moment], below=True
    )


def _no_corrections(case: Case) -> Finding:
    slug, snapshots = "no_corrections", case.process.snapshots
    name = "correction_changes" if snapshots else "correction_keys"
    share = case.params["correction_changes_share" if snapshots else "correction_share"]
    if not snapshots and "keys" not in case.process.recorded:
        return Finding(slug, NOT_RECORDED, None, share, (), "no_keys")
    made, back = corrections(case.process)
    if made < case.params[name]:
        return _too_little(slug, share, "few_changes" if snapshots else "few_keys", made=made)
    code = "corrected_changes" if snapshots else "corrected_keys"
    values = {"back": back, "made": made, "share": back / made}
    return _finding(slug, back / made, share, code, values=values, below=True)


def _faster_than_own(case: Case) -> Finding:
    slug, ratio = "faster_than_own", case.params["faster_ratio"]
    own, pace = case.usual, speed(case.process)
    if not case.process.snapshots and "keys" not in case.process.recorded:
        return Finding(slug, NOT_RECORDED, None, ratio, (), "no_keys")
    if pace is None or pace.characters < case.params["faster_characters"]:
        return _too_little(slug, ratio, "little_typed")
    if own is None or own.responses < case.params["faster_responses"]:
        return _too_little(slug, ratio, "few_responses")
    values = {"speed": pace.speed, "usual": own.speed, "responses": own.responses}
    moment = Moment(pace.time, "fastest")
    return _finding(slug, pace.speed / own.speed, ratio, "speed", values=values, moments=[moment])


def _before_reading(case: Case) -> Finding:
    slug = "before_reading"
    words, least = int(case.params["reading_words"]), case.params["reading_seconds"]
    reached = time_of_words(case.process, words)
    if reached is None:
        return _too_little(slug, least, "few_words", words=words)
    if characters_at(case.process, "shown", reached):
        return _too_little(slug, least, "text_at_start")
    seconds = seconds_read(case.process, reached)
    values = {"words": words, "at": reached, "seconds": seconds}
    moment = Moment(reached, "words_there", words)
    return _finding(slug, seconds, least, "read", values=values, moments=[moment], below=True)


# Labels, and how each is calculated in a sentence, are in ``evaluation.writing.words``.
_CALCULATIONS: tuple[tuple[Signal, Callable[[Case], Finding]], ...] = (
    (Signal("outside_paste", frozenset({"pastes"})), _outside_paste),
    (Signal("unexplained_jump"), _unexplained_jump),
    (Signal("even_keys", frozenset({"keys"})), _even_keys),
    (Signal("no_corrections"), _no_corrections),
    (Signal("faster_than_own"), _faster_than_own),
    (Signal("before_reading", frozenset({"passages"})), _before_reading),
)
SIGNALS: tuple[Signal, ...] = tuple(signal for signal, _ in _CALCULATIONS)


@dataclass(frozen=True)
class BaseRate:
    """``seen`` of ``n`` texts of ``workers``; bounds are None with a ``reason``."""

    seen: int
    n: int
    workers: int
    share: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def base_rate(seen: NDArray[np.bool_], worker: IntArray, confidence: float = 0.95) -> BaseRate:
    """The share of texts (n,) that show it; ``worker`` (n,) are any integers from 0."""
    check_within("confidence", confidence)
    n, workers = len(seen), len(np.unique(worker))
    if not n:
        return BaseRate(0, 0, 0, None, reason="no text could be judged")
    found = share(seen.astype(float), np.ones(n), worker, confidence)
    if found.reason:
        return BaseRate(int(seen.sum()), n, workers, found.estimate, reason=found.reason)
    return BaseRate(int(seen.sum()), n, workers, found.estimate, found.low, found.high)
