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
from dataclasses import dataclass
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
from evaluation.methods.writing.presence import Change, Process

FIRED, QUIET, NOT_RECORDED, TOO_LITTLE = "fired", "quiet", "not_recorded", "too_little"
STATES = (FIRED, QUIET, NOT_RECORDED, TOO_LITTLE)
MOMENTS = 20  # told of one signal, the largest first


@dataclass(frozen=True)
class Signal:
    """A signal: its name, how it is calculated in a sentence, and what a log must record for it."""

    slug: str
    label: str
    sentence: str
    needs: frozenset[str]


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
    """A time to look at in the replay (ms since its start), and what happened there."""

    time_ms: int
    words: str


@dataclass(frozen=True)
class Finding:
    """What one signal says of one text; ``value`` is None where nothing could be calculated."""

    slug: str
    state: str
    value: float | None
    threshold: float
    moments: tuple[Moment, ...]
    sentence: str


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
            lacks = ", ".join(sorted(signal.needs - process.recorded))
            found.append(
                Finding(
                    signal.slug, NOT_RECORDED, None, 0.0, (), f"Not recorded in this log: {lacks}."
                )
            )
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
    sentence: str,
    moments: Iterable[Moment] = (),
    *,
    below: bool = False,
) -> Finding:
    fires = value < threshold if below else value >= threshold
    state = FIRED if fires else QUIET
    return Finding(slug, state, value, threshold, tuple(moments) if fires else (), sentence)


def _too_little(slug: str, threshold: float, sentence: str) -> Finding:
    return Finding(slug, TOO_LITTLE, None, threshold, (), sentence)


def _clock(time: int) -> str:
    minutes, seconds = divmod(time // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _largest(rows: Iterable[tuple[int, Change, str]]) -> list[Moment]:
    """The largest stretches, in the order of time."""
    chosen = sorted(rows, key=lambda row: -row[0])[:MOMENTS]
    return [Moment(c.time, words) for _, c, words in sorted(chosen, key=lambda row: row[1].time)]


def _outside_paste(case: Case) -> Finding:
    least = case.params["outside_words"]
    rows = []
    for change in case.process.changes:
        words = word_count(part_text(change, "outside")) if change.kind == "pasted" else 0
        if words:
            rows.append((words, change, f"{_plural(words, 'word')} pasted from outside"))
    total = sum(words for words, _, _ in rows)
    where = f"in none of the {case.passages} passages" if case.passages else "from outside"
    if not rows:
        sentence = "Nothing was pasted from outside."
    elif len(rows) == 1:
        sentence = f"{_plural(total, 'word')} pasted at {_clock(rows[0][1].time)}; {where}."
    else:
        times = (
            f"{len(rows)} pastes, the largest at {_clock(max(rows, key=lambda r: r[0])[1].time)}"
        )
        sentence = f"{_plural(total, 'word')} in {times}; {where}."
    return _finding("outside_paste", total, least, sentence, _largest(rows))


def _unexplained_jump(case: Case) -> Finding:
    least = case.params["jump_characters"]
    how = {"shown": "there when the page opened", "pasted": "pasted, the source not found"}
    rows = []
    for change in case.process.changes:
        size = len(part_text(change, "unexplained"))
        if size >= least:
            words = f"{size:,} characters {how.get(change.kind, 'at once')}"
            rows.append((size, change, words))
    most = max((size for size, _, _ in rows), default=0)
    if not rows:
        sentence = "No text came at once that neither a passage nor the own text explains."
    else:
        first = max(rows, key=lambda row: row[0])
        more = f"; {_plural(len(rows) - 1, 'more jump')}" if len(rows) > 1 else ""
        sentence = f"{first[2]} at {_clock(first[1].time)}, in no passage{more}."
    return _finding("unexplained_jump", most, least, sentence, _largest(rows))


def _even_keys(case: Case) -> Finding:
    keys, least = int(case.params["even_keys"]), case.params["even_spread"]
    found = rhythm(case.process, keys)
    if found is None:
        return _too_little("even_keys", least, f"Fewer than {keys} keys in a row.")
    sentence = (
        f"The most even {keys} keys, from {_clock(found.time)}, came every {found.median:.0f} ms, "
        f"half of them within {found.spread * found.median:.0f} ms of each other."
    )
    moment = Moment(found.time, f"{keys} keys at even intervals")
    return _finding("even_keys", found.spread, least, sentence, [moment], below=True)


def _no_corrections(case: Case) -> Finding:
    snapshots = case.process.snapshots
    name = "correction_changes" if snapshots else "correction_keys"
    share = case.params["correction_changes_share" if snapshots else "correction_share"]
    what = "changes between snapshots" if snapshots else "keys"
    if not snapshots and "keys" not in case.process.recorded:
        return Finding("no_corrections", NOT_RECORDED, None, share, (), "No keys in this log.")
    made, back = corrections(case.process)
    if made < case.params[name]:
        return _too_little("no_corrections", share, f"Only {made:,} {what}.")
    sentence = f"{back:,} of {made:,} {what} took something away ({100 * back / made:.1f}\u00a0%)."
    return _finding("no_corrections", back / made, share, sentence, below=True)


def _faster_than_own(case: Case) -> Finding:
    ratio, own, pace = case.params["faster_ratio"], case.usual, speed(case.process)
    if not case.process.snapshots and "keys" not in case.process.recorded:
        return Finding("faster_than_own", NOT_RECORDED, None, ratio, (), "No keys in this log.")
    if pace is None or pace.characters < case.params["faster_characters"]:
        return _too_little("faster_than_own", ratio, "Too little was typed here.")
    if own is None or own.responses < case.params["faster_responses"]:
        return _too_little("faster_than_own", ratio, "Too few other responses of this worker.")
    sentence = (
        f"{pace.speed:.1f} characters a second, against {own.speed:.1f} over "
        f"{_plural(own.responses, 'other response')} of this worker."
    )
    moment = Moment(pace.time, "typed fastest here")
    return _finding("faster_than_own", pace.speed / own.speed, ratio, sentence, [moment])


def _before_reading(case: Case) -> Finding:
    words, least = int(case.params["reading_words"]), case.params["reading_seconds"]
    reached = time_of_words(case.process, words)
    if reached is None:
        return _too_little("before_reading", least, f"Never {words} words.")
    if characters_at(case.process, "shown", reached):
        return _too_little("before_reading", least, "A text was there when recording began.")
    seconds = seconds_read(case.process, reached)
    sentence = (
        f"{words} words were there at {_clock(reached)}; the passages had been open or in view for "
        f"{seconds:.0f} s at most."
    )
    return _finding(
        "before_reading", seconds, least, sentence, [Moment(reached, f"{words} words")], below=True
    )


def _signal(slug: str, label: str, sentence: str, *needs: str) -> Signal:
    return Signal(slug, label, sentence, frozenset(needs))


_CALCULATIONS: tuple[tuple[Signal, Callable[[Case], Finding]], ...] = (
    (
        _signal(
            "outside_paste",
            "Pasted from outside",
            "Words pasted that stand neither in a passage nor in what was written here before.",
            "pastes",
        ),
        _outside_paste,
    ),
    (
        _signal(
            "unexplained_jump",
            "Jump without a source",
            "The most characters that came at once, without a paste and without keys, and "
            "that stand "
            "neither in a passage nor in what was written before. Between two snapshots, only what "
            "nobody types in the time between counts.",
        ),
        _unexplained_jump,
    ),
    (
        _signal(
            "even_keys",
            "Even key timing",
            "The smallest spread of the intervals of a row of keys: the distance of their "
            "quartiles "
            "over their median. Breaks and keys held down are left out.",
            "keys",
        ),
        _even_keys,
    ),
    (
        _signal(
            "no_corrections",
            "No corrections",
            "Keys that took something away, of all that changed the text; in a log of snapshots, "
            "changes.",
        ),
        _no_corrections,
    ),
    (
        _signal(
            "faster_than_own",
            "Faster than usual",
            "Characters typed a second, breaks left out, over the median of the same "
            "worker's other "
            "responses to this task.",
        ),
        _faster_than_own,
    ),
    (
        _signal(
            "before_reading",
            "Text before reading",
            "Seconds that the passages can have been open or in view before so many words were "
            "there.",
            "passages",
        ),
        _before_reading,
    ),
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
