"""How far agreement can be trusted, in words made from the numbers; and its recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import MINUS, decimal, interval, listed, percent, plural, score
from crowdqc.web.terms import Words
from evaluation.pairwise.selectors.facts import apart_finding
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.runs.selectors.verdicts import why_not_exact

# Krippendorff's own limits for alpha (Content Analysis, 2004, ch. 11), and a lower one of ours.
TENTATIVE = 0.667
STRENGTHS = (
    (
        0.8,
        gettext_lazy("Judges agree strongly: %(value)s."),
    ),
    (
        TENTATIVE,
        gettext_lazy("Judges agree well enough for tentative conclusions: %(value)s."),
    ),
    (
        0.4,
        gettext_lazy("Judges agree in part: %(value)s."),
    ),
    (
        0.2,
        gettext_lazy("Judges agree only a little: %(value)s."),
    ),
)
WEAKEST = gettext_lazy("Judges hardly agree: %(value)s.")
NOISE = 0.05  # alpha of shuffled votes from which a correction is called circular outright
MOST_THIN = 0.5  # share of pairs with fewer than three votes that a cross-fit figure bears
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
    @property
    def no_interval(self) -> str: ...


def strength_of(alpha: float) -> Words:
    """Return the sentence on how strongly judges agree, by Krippendorff's limits."""
    return next((said for limit, said in STRENGTHS if alpha >= limit), WEAKEST)


def reads_crossfit(mean: Figures) -> bool:
    """Whether the cross-fit figure is the one to be read: it has an interval, and votes enough.

    Where most pairs have fewer than three votes left it says less than the raw one.
    """
    known = None not in (mean.crossfit, mean.corrected, mean.cross_low, mean.cross_high)
    return known and (mean.thin or 0.0) <= MOST_THIN


def agreement_in_words(mean: Figures | None) -> str:
    """The header's last sentence: how strong agreement is, by the figure to be read."""
    if mean is None or mean.raw is None:
        return _("No agreement can be computed.")
    known = reads_crossfit(mean)
    honest = mean.crossfit if known and mean.crossfit is not None else mean.raw
    low, high = (mean.cross_low, mean.cross_high) if known else (mean.low, mean.high)
    told = {"value": score(honest, 2)}
    if low is None or high is None:
        said = _("How far judges agree is not sure: %(value)s.")
        return said % told
    if strength_of(low) == strength_of(high):
        return str(strength_of(honest)) % told
    told["interval"] = interval(low, high, 2)
    return _("How far judges agree is not sure: %(value)s (95%% CI %(interval)s).") % told


def agrees_enough(mean: Figures | None) -> bool:
    """Whether the whole interval of the figure to be read allows tentative conclusions."""
    if mean is None:
        return False
    low = mean.cross_low if reads_crossfit(mean) else mean.low
    return low is not None and low >= TENTATIVE


def note_of(mean: Figures | None) -> str:
    """Why agreement has no interval, where it has none."""
    if mean is None:
        return ""
    return why_not_exact(mean.no_interval)


def trust_notes(mean: Figures, lines: Sequence[Figures]) -> list[Note]:
    """Explain what the corrected alpha is worth, and what to use instead."""
    if None in (mean.raw, mean.corrected, mean.null, mean.crossfit):
        return [Note("warn", _("Nothing can be said of a correction."), mean.why)]
    return [_use(mean, lines), _circular(mean), _cost(mean)]


def _circular(mean: Figures) -> Note:
    null, gain = mean.null or 0.0, (mean.corrected or 0.0) - (mean.raw or 0.0)
    if gain <= 0.005:
        return Note("", _("The correction changes nothing."), _("Corrected and raw α are alike."))
    told = {"null": score(null, 2)}
    if null >= NOISE:
        said = _(
            "It leaves out votes that disagree, then measures agreement. Shuffled votes, which "
            "share nothing, still give %(null)s that way."
        )
        return Note("bad", _("Do not use the corrected α."), said % told)
    said = _(
        "It leaves out votes that disagree, then measures agreement. Here that does little harm: "
        "shuffled votes give %(null)s that way."
    )
    return Note("warn", _("The corrected α is circular."), said % told)


def _cost(mean: Figures) -> Note:
    if not mean.removed:
        return Note("", _("The correction leaves no vote out."), _("No worker guesses that often."))
    told = {"removed": percent(mean.removed), "thin": percent(mean.thin)}
    rest = _("Every pair keeps three votes or more.")
    if mean.thin:
        rest = _("Then %(thin)s of the pairs have fewer than three votes.") % told
    level = "warn" if mean.thin or mean.removed > MUCH else ""
    return Note(level, _("The correction leaves out %(removed)s of the votes.") % told, rest)


def _use(mean: Figures, lines: Sequence[Figures]) -> Note:
    """Say which figure to read, and how it differs from the raw one, in plain words."""
    if not reads_crossfit(mean):
        why = _("Too few votes are left for a cross-fit one.")
        return Note("accent", _("Read the raw figure: %(raw)s.") % {"raw": score(mean.raw, 2)}, why)
    apart = (mean.crossfit or 0.0) - (mean.raw or 0.0)
    told = {
        "cross": score(mean.crossfit, 2),
        "raw": score(mean.raw, 2),
        "apart": score(abs(apart), 2),
    }
    said = [_("It leaves out workers who mostly guess, as judged by other pairs.")]
    if told["apart"] == ".00":
        said.append(_("The raw figure, from every vote, is the same.") % told)
    elif apart > 0:
        said.append(_("The raw figure, from every vote, is %(raw)s: lower by %(apart)s.") % told)
    else:
        said.append(_("The raw figure, from every vote, is %(raw)s: higher by %(apart)s.") % told)
    reaching = [line.label for line in lines if line.down_to_raw]
    if apart > 0 and reaching:
        if len(reaching) == len(lines):
            said.append(_("The intervals include the raw figures, so this may be chance."))
        else:
            told["where"] = listed(reaching)
            said.append(_("On these dimensions that may be chance: %(where)s.") % told)
    if mean.unknown and mean.unknown >= 0.005:
        told["unknown"] = percent(mean.unknown)
        said.append(
            _("Of %(unknown)s of the votes nobody knows how often the worker guesses; they stay.")
            % told
        )
    return Note("accent", _("Read the cross-fit figure: %(cross)s.") % told, " ".join(said))


@dataclass(frozen=True)
class Fact:
    """A small fact of the rail: what, its figure, and what belongs to it."""

    name: str
    value: str
    more: str = ""


def change_words(change: float, se: float | None) -> str:
    """``+ 5.2, se 0.7`` from shares."""
    sign = MINUS if change < 0 else "+"
    told = f"{sign} {decimal(abs(100 * change))}"
    named = _("se")
    return told if se is None else f"{told}, {named} {decimal(100 * se)}"


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
        facts.append(Fact(_("Right side wins"), percent(side["right"], 1), more))
    drift = next((r for r in core.get("drift", []) if not r["dimension"]), None)
    if drift and drift["early"] is not None and drift["late"] is not None:
        points = change_words(drift["late"] - drift["early"], None)
        more = _("change %(points)s points") % {"points": points}
        name = _("Neutral, first %(n)s pairs") % {"n": early}
        facts.append(Fact(name, percent(drift["early"], 1)))
        facts.append(Fact(_("Neutral, later"), percent(drift["late"], 1), more))
    straight = next(iter(core.get("straight", [])), None)
    if straight and straight["share"] is not None:
        name = _("One answer on all %(n)s dimensions") % {"n": size}
        facts.append(Fact(name, percent(straight["share"], 1), _("of judgments")))
    return facts


def graph_words(parts: Sequence[Row]) -> list[str]:
    """Say whether shared pairs connect all workers."""
    if not parts:
        return []
    if len(parts) == 1:
        said = [_("All workers are connected by shared pairs.")]
    else:
        said = [apart_finding(parts).text]
    link, side = parts[0].get("link"), parts[0].get("side")
    if link is not None and side is not None:
        told = {"link": plural(link, "shared pair"), "side": plural(side, "worker")}
        thin = _("Weakest link to the others: %(side)s, through %(link)s.")
        if len(parts) > 1:
            thin = _(
                "The weakest link in the largest group: %(link)s connect %(side)s to the rest."
            )
        said.append(thin % told)
    return said


def recipe(
    runs: ShownRun, core: Mapping[str, Any], checks: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """List method, parameters and data that reproduce the agreement, as (name, value)."""
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
        ("interval", f"bootstrap over {unit}, {resamples:,}"),
        ("seed", str(runs.core.seed)),
        ("snapshot", own["snapshot"][:8]),
    ]
    if runs.checks is not None:
        pairs.append(("result", runs.checks.result_hash[:8]))
    return pairs
