"""Rows of experiments and surveys that are no votes: practice, instructions, previews and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.tables import Event, Table
from annotation.formats.imports.tables.nested import peek

IS_PRACTICE = {"practice", "ispractice", "practicetrial", "training", "istraining", "uebung"}
KINDS = {
    *("task", "phase", "block", "part", "stage", "section", "screenname", "screen", "trialtype"),
    *("trialpart", "testpart", "component", "zonename", "rowtype", "display", "sendername"),
    *("blocktype", "trialkind", "trialphase", "experimentphase", "display_name"),
}
NO_VOTES = re.compile(
    r"(?:practi[cs]e|training|warm[\W_]?up|demo|demonstration|übung\w*|probe(?:durchgang)?|"
    r"pr[áa]ctica|entrenamiento|essai|entra[iî]nement|prova|familiari[sz]ation|example|"
    r"fixation|fix|instructions?|instruktion\w*|instrucciones|consignes?|welcome|consent|debrief\w*|"
    r"preload|browser[\W_]?check|full[\W_]?screen|end|thanks?|thank[\W_]?you|break|pause|isi|iti|"
    r"demographics?|calibration|countdown)"
    r"(?:[\W_]*(?:trials?|block|phase|screen|text|items?|cross|page))?[\W_]*\d{0,3}",
    re.IGNORECASE,
)
PREVIEWS = {"status", "distributionchannel", "responsetype"}  # columns of Qualtrics
IS_PREVIEW = {"surveypreview", "preview", "surveytest", "test", "spam", "1"}  # 1: the code of it
PREVIEW_WORDS = IS_PREVIEW - {"1", "test", "spam"}
IS_TRUE = {"1", "1.0", "true", "yes", "y", "x", "ja", "si", "sí", "oui", "wahr", "vrai"}
IS_FALSE = {"0", "0.0", "false", "no", "n", "nein", "non", "falsch", "faux"}
LEAST_LEFT = 5  # rows that still may be votes


def leave_out_trials(table: Table) -> Table:
    """A table without rows of practice and the like, each of which is named; others stay as is."""
    table, rows = peek(table)
    named = {name: plain(name) for name in table.columns}
    told = [name for name in named if _tells(named[name], [row.get(name, "") for row in rows])]
    previews = [
        name
        for name, bare in named.items()
        if bare in PREVIEWS and any(plain(row.get(name, "")) in PREVIEW_WORDS for row in rows)
    ]
    left = sum(not _is_no_vote(row, told, previews) for row in rows)
    if not (told or previews) or left < min(LEAST_LEFT, len(rows)):
        return table
    return replace(table, events=_without(table.events, told, previews))


def _tells(bare: str, cells: Sequence[str]) -> bool:
    """Whether a column says which rows are practice and the like, and of the others that not."""
    given = {cell.strip() for cell in cells} - {""}
    if bare in IS_PRACTICE:
        return bool(given) and {one.casefold() for one in given} <= IS_TRUE | IS_FALSE
    return bare in KINDS and len(given) > 1 and any(map(NO_VOTES.fullmatch, given))


def _is_no_vote(values: Mapping[str, str], told: Sequence[str], previews: Sequence[str]) -> str:
    """The column that says that a row is no vote; "" where none does."""
    for name in told:
        said = values.get(name, "").strip()
        is_practice = plain(name) in IS_PRACTICE and said.casefold() in IS_TRUE
        if is_practice or (plain(name) in KINDS and NO_VOTES.fullmatch(said)):
            return name
    return next((name for name in previews if plain(values.get(name, "")) in IS_PREVIEW), "")


def _without(
    events: Iterator[Event], told: Sequence[str], previews: Sequence[str]
) -> Iterator[Event]:
    for event in events:
        name = _is_no_vote(event.values, told, previews) if isinstance(event, Row) else ""
        if not isinstance(event, Row) or not name:
            yield event
            continue
        wrong = _("This row is practice, a preview or an instruction")
        shown = event.values.get(name, "")[:MAX_SHOWN]
        yield Problem(event.line, name, shown, wrong, _("Left out."))
