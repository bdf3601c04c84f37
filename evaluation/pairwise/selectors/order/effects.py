"""Lean to a side and change over time: their rows, what they mean in words, what to do now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc.numbers import interval, listed, percent, plural
from evaluation.methods.pairwise.order.effects import NO_SIDES
from evaluation.models import Run
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.selectors.trust import change_words, within_shares
from evaluation.results.findings import Action, Finding
from evaluation.results.stored_texts import translate_stored


def points(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Convert an interval to percentage points; None if there is none."""
    return None if low is None or high is None else (100 * low, 100 * high)


def share_points(low: float | None, high: float | None) -> tuple[float, float] | None:
    """An interval of shares in per cent, cut where no share can lie."""
    return None if low is None or high is None else points(*within_shares(low, high))


@dataclass(frozen=True)
class Side:
    """The share of the right side among decisive votes on one dimension."""

    label: str
    right: float | None
    low: float | None
    high: float | None
    n: int
    reason: str
    plot: SafeString
    family: int  # intervals that hold all at once; 0: a run from before these

    @property
    def points(self) -> tuple[float, float] | None:
        return share_points(self.low, self.high)

    @property
    def excludes_half(self) -> bool:
        """Whether the interval leaves .5 out."""
        return self.low is not None and self.high is not None and not self.low <= 0.5 <= self.high


@dataclass(frozen=True)
class Drift:
    """The share of neutral answers early and late on one dimension."""

    label: str
    early: float | None
    late: float | None
    difference: float | None
    low: float | None
    high: float | None
    slope: float | None
    reason: str
    family: int

    @property
    def excludes_half(self) -> bool:
        """Whether the difference's interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @property
    def words(self) -> str:
        """The change in points as text, or why there is none."""
        return self.reason if self.difference is None else change_words(self.difference, None)

    @property
    def points(self) -> tuple[float, float] | None:
        """The interval of the change in points."""
        return points(self.low, self.high)


def order_findings(run: Run, sides: Sequence[Side], drifts: Sequence[Drift]) -> list[Finding]:
    """Whether sides and time matter, by the intervals over all dimensions."""
    if not sides or sides[0].low is None or sides[0].high is None:
        return []
    side = _by_direction(
        (sides[0].low - 0.5, sides[0].high - 0.5), "left_wins", "side_not_shown", "right_wins"
    )
    found = [MESSAGES.find(side)]
    if sides[0].excludes_half:
        url = f"{reverse('pair_results', args=[run.project_id, run.task_id])}?run={run.number}"
        action = Action(_("See the leaderboard"), url)
        found.append(MESSAGES.find("side_matters", action=action))
    if drifts and (drifts[0].low is None or drifts[0].high is None):
        found.append(MESSAGES.find("drift_unknown"))
    elif drifts:
        span = (drifts[0].low or 0.0, drifts[0].high or 0.0)
        time = MESSAGES.find(_by_direction(span, "neutral_falls", "no_drift", "neutral_rises"))
        # What is shown comes before what is not.
        found.insert(0 if drifts[0].excludes_half and not sides[0].excludes_half else 1, time)
    return found


def _by_direction(span: tuple[float, float], below: str, unknown: str, above: str) -> str:
    """Choose one of three codes by where the interval of a difference lies."""
    low, high = span
    return above if low > 0 else below if high < 0 else unknown


def sentence_of(sides: Sequence[Side], drifts: Sequence[Drift], split: int) -> str:
    """Summarise the preference for a side and the drift in a sentence."""
    parts = []
    if sides and sides[0].right is not None:
        told = {"share": percent(sides[0].right, 1)}
        if span := sides[0].points:
            told["interval"] = interval(*span, 1)
            parts.append(
                _(
                    "The right side wins %(share)s of the decisive votes (%(interval)s; 50%% is no "
                    "effect)."
                )
                % told
            )
        else:
            parts.append(_("The right side wins %(share)s of the decisive votes.") % told)
    if drifts and drifts[0].early is not None and drifts[0].late is not None:
        told = {
            "early": percent(drifts[0].early, 1),
            "late": percent(drifts[0].late, 1),
            "n": str(split),
        }
        parts.append(
            _("Neutral answers go from %(early)s in the first %(n)s pairs to %(late)s later.")
            % told
        )
    if not parts and sides and sides[0].reason == translate_stored(NO_SIDES):
        return _("Sides were not recorded.")
    return " ".join(parts) or _("No order effect can be seen in these judgments.")


def correction_in_words(rows: Sequence[Side] | Sequence[Drift]) -> str:
    """Say over how many intervals the dimensions are corrected; "" if not."""
    family = max((row.family for row in rows), default=0)
    if family < 2:
        return ""
    return _("Bonferroni over %(intervals)s") % {"intervals": plural(family, "interval")}


def _dimensions_words(rows: Sequence[Side] | Sequence[Drift]) -> str:
    """Say on which dimensions the effect is beyond chance, or that it is on none."""
    if len(rows) < 3:  # one dimension is the whole
        return ""
    found = [row.label for row in rows[1:] if row.excludes_half]
    told = {"how": correction_in_words(rows) or _("each interval on its own")}
    if not found:
        return _("No single dimension shows it (%(how)s).") % told
    told["dimensions"] = listed(found)
    return _("By dimension it shows on %(dimensions)s (%(how)s).") % told


def joined(*said: str) -> str:
    """Join sentences with spaces, leaving out empty ones."""
    return " ".join(one for one in said if one)


def side_note(sides: Sequence[Side]) -> str:
    """Summarise the preference for a side, over all dimensions and by dimension."""
    every = sides[0]
    told = {"why": every.reason}
    if every.reason == translate_stored(NO_SIDES):
        return _("Sides were not recorded.")
    if every.right is None:
        return _("Sides cannot be told from texts here: %(why)s.") % told
    if every.low is None:
        return _("No interval for a lean to a side: %(why)s.") % told
    if every.excludes_half:
        lean = _("Over all dimensions people lean to the left, whichever text is there.")
        if every.right > 0.5:
            lean = _("Over all dimensions people lean to the right, whichever text is there.")
        rest = _("Pairs shown both ways round cancel it; a pair shown one way carries it.")
        return joined(lean, _dimensions_words(sides), rest)
    if any(side.excludes_half for side in sides[1:]):
        said = _("Over all dimensions a lean to a side is not shown.")
        return joined(said, _dimensions_words(sides))
    return _("A lean to a side is not shown, over all dimensions or on any.")


def drift_note(drifts: Sequence[Drift]) -> str:
    """Summarise the change in neutral answers, over all dimensions and by dimension."""
    every = drifts[0]
    if every.low is None:
        told = {"why": every.reason}
        return _("No interval for the change of neutral answers: %(why)s.") % told
    if every.excludes_half:
        said = _("People give fewer neutral answers as they go on: a sign of tiring, or learning.")
        if (every.difference or 0) > 0:
            said = _(
                "People give more neutral answers as they go on: a sign of tiring, or learning."
            )
        rest = _(
            "Where pairs come in a random order for each worker, this falls on all systems alike, "
            "on average."
        )
        return joined(said, _dimensions_words(drifts), rest)
    if any(drift.excludes_half for drift in drifts[1:]):
        said = _("Over all dimensions a change of the share of neutral answers is not shown.")
        return joined(said, _dimensions_words(drifts))
    return _("A change of the share of neutral answers with the position is not shown.")
