"""Columns of a winner and a loser as comparisons; tables of best and worst are refused."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.recognise import LOOKED_AT
from annotation.files.reading.rows import Problem, Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import TRUTHS
from annotation.formats.imports.tables.comparisons import LEFTS
from crowdqc.errors import Invalid

WON = (
    "winner",
    "winner_id",
    "winner_name",
    "gewinner",
    "sieger",
    "ganador",
    "gagnant",
    "vainqueur",
)
LOST = ("loser", "loser_id", "loser_name", "verlierer", "perdedor", "perdant")
DRAWS = (
    *("draw", "tie", "is_draw", "is_tie", "drawn", "tied", "unentschieden", "remis"),
    *("empate", "égalité", "match_nul"),
)
IS_DRAW = {"true", "1", "t", "yes", "y", "x", "draw", "tie", "ja", "si", "oui"}
NO_DRAW = {"false", "0", "f", "no", "n", "", "na", "nein", "non"}
ENDS = ("", "item", "choice", "option", "word", "text", "term", "sentence", "tuple")
BEST = {f"{one}{end}" for one in ("best", "most", "beste", "mejor", "meilleur") for end in ENDS}
WORST = {
    f"{one}{end}"
    for one in ("worst", "least", "schlechteste", "schlechtester", "peor", "pire")
    for end in ENDS
}


COUNTED = re.compile(r"(?:n|num|count)?(?:wins?|won|victor(?:y|ies)|siege|victorias)([12ab])")


def fold(table: Table) -> Table:
    """A table of a winner and a loser as one of two sides; others stay as they are.

    Raises Invalid where the best and the worst of several are named, or wins are counted.
    """
    held = list(itertools.islice(table.events, LOOKED_AT))
    rows = [one.values for one in held if isinstance(one, Row)]
    table = replace(table, events=itertools.chain(held, table.events))
    names = table.columns  # of JSON, those that came up in the rows
    counts = [name for name in names if COUNTED.fullmatch(plain(name))]
    given = {row.get(name, "").strip() for row in rows for name in counts} - {""}
    if len(counts) > 1 and all(map(str.isdecimal, given)) and max(map(int, given), default=0) > 1:
        raise Invalid(
            _("%(columns)s count how often each one won.") % {"columns": ", ".join(counts)},
            fields={"file": _("Write a row for each comparison: left, right and winner.")},
        )
    best, worst = (_called(names, words) for words in (BEST, WORST))
    if best and worst:
        raise Invalid(
            _("%(best)s and %(worst)s choose from several: these are neither labels nor pairs.")
            % {"best": best, "worst": worst},
            fields={"file": _("Write a row for each pair: left, right and winner.")},
        )
    won, lost = (_called(names, {plain(one) for one in words}) for words in (WON, LOST))
    if not (won and lost) or _called(names, {plain(one) for one in LEFTS}):
        return table
    draw = _called(names, {plain(one) for one in DRAWS})
    note = _("%(won)s and %(lost)s are read as the two sides, in turn left and right.")
    table.notes.append(note % {"won": won, "lost": lost})
    if draw:
        table.notes.append(_("%(column)s says which are ties.") % {"column": draw})
    others = [name for name in names if name not in (won, lost, draw)]
    return replace(
        table,
        columns=["model_a", "model_b", "winner", *others],
        events=_events(table.events, won, lost, draw),
    )


def _called(names: Collection[str], words: Collection[str]) -> str:
    return next((name for name in names if plain(name) in words), "")


def _events(events: Iterator[Event], won: str, lost: str, draw: str) -> Iterator[Event]:
    for at, event in enumerate(events):
        if not isinstance(event, Row):
            yield event
            continue
        values = dict(event.values)
        sides = [values.pop(won, ""), values.pop(lost, "")]
        said = values.pop(draw, "") if draw else ""
        bare = said.strip().casefold()
        meant = TRUTHS.get(bare, bare)
        if meant not in IS_DRAW | NO_DRAW:
            wrong = _("This is neither true nor false.")
            yield Problem(event.line, draw, said, wrong, _("Left out."))
            continue
        winner = "tie" if meant in IS_DRAW else sides[0]
        left, right = sides if at % 2 == 0 else sides[::-1]
        yield Row(event.line, {"model_a": left, "model_b": right, "winner": winner, **values})
