"""How far agreement can be trusted, in words made from the numbers; and its recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from crowdqc.numbers import MINUS, count, interval, percent, plural, score
from evaluation.pairwise.selectors.facts import apart_words
from evaluation.pairwise.selectors.runs import ShownRun

# Krippendorff's own limits for alpha (Content Analysis, 2004, ch. 11), and a lower one of ours.
TENTATIVE = 0.667
STRENGTHS = (
    (0.8, "Judges agree strongly"),
    (TENTATIVE, "Judges agree well enough for tentative conclusions"),
    (0.4, "Judges agree in part"),
    (0.2, "Judges agree only a little"),
)
WEAKEST = "Judges hardly agree"
NOISE = 0.05  # alpha of shuffled votes from which a correction is called circular outright
MUCH = 0.1  # share of votes removed that is worth a warning
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Note:
    """One warning of the rail."""

    level: str
    head: str
    text: str


class Figures(Protocol):
    """What is said of a dimension or of their mean; None where it is not known."""

    @property
    def label(self) -> str: ...
    @property
    def raw(self) -> float | None: ...
    @property
    def corrected(self) -> float | None: ...
    @property
    def null(self) -> float | None: ...
    @property
    def crossfit(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def cross_low(self) -> float | None: ...
    @property
    def cross_high(self) -> float | None: ...
    @property
    def removed(self) -> float | None: ...
    @property
    def thin(self) -> float | None: ...
    @property
    def unknown(self) -> float | None: ...
    @property
    def down_to_raw(self) -> bool: ...
    @property
    def why(self) -> str: ...


def strength_of(alpha: float) -> str:
    """How far judges agree in words, by Krippendorff's limits."""
    return next((word for limit, word in STRENGTHS if alpha >= limit), WEAKEST)


def agreement_in_words(mean: Figures | None) -> str:
    """The header's last sentence: how strong agreement is, by the figure to be read."""
    if mean is None or mean.raw is None:
        return "No agreement can be computed."
    known = mean.crossfit is not None and mean.corrected is not None
    honest = mean.crossfit if known and mean.crossfit is not None else mean.raw
    low, high = (mean.cross_low, mean.cross_high) if known else (mean.low, mean.high)
    scale = "where 0 is chance and 1 is full agreement"
    if low is None or high is None or strength_of(low) == strength_of(high):
        return f"{strength_of(honest)}: {score(honest, 2)}, {scale}."
    told = f"{score(honest, 2)} (95% CI {interval(low, high, 2)}), {scale}"
    return f"How far judges agree is not sure: {told}."


def trust_notes(mean: Figures, lines: Sequence[Figures]) -> list[Note]:
    """What the corrected alpha is worth, what it costs, and what to use instead."""
    if None in (mean.raw, mean.corrected, mean.null, mean.crossfit):
        return [Note("warn", "Nothing can be said of a correction.", mean.why)]
    return [_circular(mean), _cost(mean), _use(mean, lines)]


def _circular(mean: Figures) -> Note:
    null, gain = mean.null or 0.0, (mean.corrected or 0.0) - (mean.raw or 0.0)
    if gain <= 0.005:
        return Note("", "The correction changes nothing.", "Corrected and raw α are alike.")
    text = "It drops the votes that disagree and then measures agreement. "
    if null >= NOISE:
        text += "On shuffled votes, where nothing is shared, the same recipe still gives "
        return Note("bad", "The corrected α is circular.", f"{text}{score(null, 2)}.")
    text += f"Here that does little harm: on shuffled votes the same recipe gives {score(null, 2)}."
    return Note("warn", "The corrected α is circular by its making.", text)


def _cost(mean: Figures) -> Note:
    if not mean.removed:
        return Note("", "It removes no vote.", "Nobody is under the limit of competence.")
    rest = "and leaves every pair with three or more."
    if mean.thin:
        rest = f"and leaves {percent(mean.thin)} of the pairs with fewer than three."
    level = "warn" if mean.thin or mean.removed > MUCH else ""
    return Note(level, f"It removes {percent(mean.removed)} of the votes", rest)


def _use(mean: Figures, lines: Sequence[Figures]) -> Note:
    apart = (mean.crossfit or 0.0) - (mean.raw or 0.0)
    text = "Competence comes from other pairs than those it is applied to. "
    if score(abs(apart), 2) == ".00":
        text += "It is the same as raw: leaving votes out gains nothing."
        return Note("accent", "Use cross-fit.", text)
    text += f"It lies {score(abs(apart), 2)} {'above' if apart > 0 else 'below'} raw"
    reaching = [line.label.lower() for line in lines if line.down_to_raw]
    if apart > 0 and reaching:
        where = "everywhere" if len(reaching) == len(lines) else f"on {join_words(reaching)}"
        text += f"; {where} the interval reaches down to raw"
    if mean.unknown and mean.unknown >= 0.005:
        text += (
            f". Of {percent(mean.unknown)} of the votes nobody could say how competent the worker "
            "is; they stay"
        )
    return Note("accent", "Use cross-fit.", f"{text}.")


def join_words(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


@dataclass(frozen=True)
class Fact:
    """A small fact of the rail: what, its figure, and what belongs to it."""

    name: str
    value: str
    more: str = ""


def change_words(change: float, se: float | None) -> str:
    """``+ 5.2, se 0.7`` from shares."""
    sign = MINUS if change < 0 else "+"
    told = f"{sign} {abs(100 * change):.1f}"
    return told if se is None else f"{told}, se {100 * se:.1f}"


def within_shares(low: float, high: float) -> tuple[float, float]:
    """An interval of a share, cut at 0 and 1: few workers make a t interval reach beyond."""
    return max(0.0, low), min(1.0, high)


def order_facts(core: Mapping[str, Any], early: int, size: int) -> list[Fact]:
    """The order effects in four lines; what is not known has none."""
    facts = []
    side = next((r for r in core.get("side", []) if not r["dimension"]), None)
    if side and side["right"] is not None:
        more = ""
        if side["low"] is not None and side["high"] is not None:
            low, high = within_shares(side["low"], side["high"])
            more = interval(100 * low, 100 * high, 1)
        facts.append(Fact("Right side wins", percent(side["right"], 1), more))
    drift = next((r for r in core.get("drift", []) if not r["dimension"]), None)
    if drift and drift["early"] is not None and drift["late"] is not None:
        more = change_words(drift["late"] - drift["early"], drift["se"])
        facts.append(Fact(f"Neutral, first {early} pairs", percent(drift["early"], 1)))
        facts.append(Fact("Neutral, later", percent(drift["late"], 1), more))
    straight = next(iter(core.get("straight", [])), None)
    if straight and straight["share"] is not None:
        name = f"One answer on all {size}"
        facts.append(Fact(name, percent(straight["share"], 1), "of judgments"))
    return facts


def graph_words(parts: Sequence[Row]) -> list[str]:
    """What holds the workers together, or that nothing does."""
    if not parts:
        return []
    if len(parts) == 1:
        said = ["All workers are connected by shared pairs."]
    else:
        said = [apart_words(parts)]
    link, side = parts[0].get("link"), parts[0].get("side")
    if link is not None and side is not None:
        where = " in the largest" if len(parts) > 1 else ""
        hang = "hangs" if side == 1 else "hang"
        said.append(
            f"The thinnest link{where} is {plural(link, 'shared pair')}, on which "
            f"{plural(side, 'worker')} {hang}."
        )
    return said


def recipe(
    runs: ShownRun, core: Mapping[str, Any], checks: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """What gives the same numbers again."""
    if runs.core is None:
        return []
    told, own = checks.get("recipe"), core["recipe"]
    pairs = [("method", f"α ordinal {runs.core.version}")]
    unit = next((row.get("unit", "pairs") for row in core["agreement"]), "pairs")
    resamples = own["params"]["resamples"]
    if told:
        params, resamples = told["params"], told["params"]["resamples"]
        fits = "all dimensions together" if params["pooled"] else "per dimension"
        limit = f"spam ≤ {score(params['threshold'], 1)}"
        pairs += [
            ("correction", f"MACE {params['algorithm']}, {limit}, {fits}"),
            ("null", f"{plural(params['shuffles'], 'shuffle')} within dimension"),
            ("cross-fit", f"{params['folds']} folds by pair"),
        ]
    pairs += [
        ("interval", f"bootstrap over {unit}, {count(resamples)}"),
        ("seed", str(runs.core.seed)),
        ("snapshot", own["snapshot"][:8]),
    ]
    if runs.checks is not None:
        pairs.append(("result", runs.checks.result_hash[:8]))
    return pairs
