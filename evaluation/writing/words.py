"""Words for the signals of a writing log, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import clock, count, decimal, percent, plural
from crowdqc.web.terms import Words
from evaluation.methods.writing.signals import Finding, Moment

LABELS: dict[str, Words] = {
    "outside_paste": gettext_lazy("Pasted from outside"),
    "unexplained_jump": gettext_lazy("Jump without a source"),
    "even_keys": gettext_lazy("Even key timing"),
    "no_corrections": gettext_lazy("No corrections"),
    "faster_than_own": gettext_lazy("Faster than usual"),
    "before_reading": gettext_lazy("Text before reading"),
}
# How each signal is calculated.
CALCULATIONS: dict[str, Words] = {
    "outside_paste": gettext_lazy(
        "Words pasted that stand neither in a passage nor in what was written here before."
    ),
    "unexplained_jump": gettext_lazy(
        "The most characters that came at once, without a paste and without keys, and that stand "
        "neither in a passage nor in what was written before. Between two snapshots, only what "
        "nobody types in the time between counts."
    ),
    "even_keys": gettext_lazy(
        "The smallest spread of the intervals of a row of keys: the distance of their quartiles "
        "over their median. Breaks and keys held down are left out."
    ),
    "no_corrections": gettext_lazy(
        "Keys that took something away, of all that changed the text; in a log of snapshots, "
        "changes."
    ),
    "faster_than_own": gettext_lazy(
        "Characters typed a second, breaks left out, over the median of the same worker’s other "
        "responses to this task."
    ),
    "before_reading": gettext_lazy(
        "Seconds that the passages can have been open or in view before so many words were there."
    ),
}
# What a log can lack (``Signal.needs``).
LACKS: dict[str, Words] = {
    "keys": gettext_lazy("keys"),
    "passages": gettext_lazy("passages"),
    "pastes": gettext_lazy("pastes"),
}
FINDINGS: dict[str, Words] = {
    "no_log": gettext_lazy("No log was kept."),
    "no_keys": gettext_lazy("No keys in this log."),
    "not_recorded": gettext_lazy("Not recorded in this log: %(lacks)s."),
    "nothing_pasted": gettext_lazy("Nothing was pasted from outside."),
    "pasted_once": gettext_lazy("%(words)s pasted at %(at)s; %(where)s."),
    "pasted_often": gettext_lazy("%(words)s in %(pastes)s, the largest at %(at)s; %(where)s."),
    "no_jump": gettext_lazy(
        "No text came at once that neither a passage nor the own text explains."
    ),
    "jump": gettext_lazy("%(characters)s at once at %(at)s, in no passage%(more)s."),
    "jump_shown": gettext_lazy(
        "%(characters)s there when the page opened at %(at)s, in no passage%(more)s."
    ),
    "jump_pasted": gettext_lazy(
        "%(characters)s pasted, the source not found, at %(at)s, in no passage%(more)s."
    ),
    "few_keys_in_a_row": gettext_lazy("Fewer than %(keys)s keys in a row."),
    "even_keys": gettext_lazy(
        "The most even %(keys)s keys, from %(at)s, came every %(every)s ms, half of them within "
        "%(within)s ms of each other."
    ),
    "few_keys": gettext_lazy("Only %(made)s keys."),
    "few_changes": gettext_lazy("Only %(made)s changes between snapshots."),
    "corrected_keys": gettext_lazy("%(back)s of %(made)s keys took something away (%(share)s)."),
    "corrected_changes": gettext_lazy(
        "%(back)s of %(made)s changes between snapshots took something away (%(share)s)."
    ),
    "little_typed": gettext_lazy("Too little was typed here."),
    "few_responses": gettext_lazy("Too few other responses of this worker."),
    "speed": gettext_lazy(
        "%(speed)s characters a second, against %(usual)s over %(responses)s of this worker."
    ),
    "few_words": gettext_lazy("Never %(words)s."),
    "text_at_start": gettext_lazy("A text was there when recording began."),
    "read": gettext_lazy(
        "%(words)s were there at %(at)s; the passages had been open or in view for %(seconds)s s "
        "at most."
    ),
}
MOMENTS: dict[str, Words] = {
    "pasted": gettext_lazy("%(words)s pasted from outside"),
    "jump": gettext_lazy("%(characters)s at once"),
    "jump_shown": gettext_lazy("%(characters)s there when the page opened"),
    "jump_pasted": gettext_lazy("%(characters)s pasted, the source not found"),
    "even_keys": gettext_lazy("%(count)s keys at even intervals"),
    "fastest": gettext_lazy("typed fastest here"),
    "words_there": gettext_lazy("%(words)s"),
}


COUNTS: dict[str, Callable[[int], str]] = {
    "words": lambda n: plural(n, "word"),
    "characters": lambda n: plural(n, "character"),
    "pastes": lambda n: plural(n, "paste"),
    "responses": lambda n: plural(n, "other response"),
}


def describe_finding(finding: Finding) -> str:
    """Describe what a signal says of a text, with its figures."""
    values = finding.values
    at, more, passages = (values.get(name, 0) for name in ("at", "more", "passages"))
    described = {
        name: _format_value(name, value) for name, value in values.items() if name != "more"
    }
    described["at"] = clock(float(at) / 1000)
    jumps = plural(int(more), "more jump")
    described["more"] = f"; {jumps}" if more else ""
    described["where"] = _("from outside")
    if passages:
        told = plural(int(passages), "passage")
        described["where"] = _("in none of the %(passages)s") % {"passages": told}
    return str(FINDINGS[finding.code]) % described


def _format_value(name: str, value: float | str) -> str:
    if name == "lacks":  # codes, as a run has stored them
        return ", ".join(str(LACKS.get(one, one)) for one in str(value).split(", "))
    if isinstance(value, str):
        return value
    if name in COUNTS:
        return COUNTS[name](int(value))
    if name == "share":
        return percent(value, 1)
    return decimal(value) if name in ("speed", "usual") else count(round(value))


def describe_moment(moment: Moment) -> str:
    """Describe what happened at a moment of a replay."""
    size = moment.size
    return str(MOMENTS[moment.code]) % {
        "words": plural(size, "word"),
        "characters": plural(size, "character"),
        "count": count(size),
    }
