"""Tables of choices between systems as comparisons of two.

Columns of a winner and a loser, choices beside a reference, rankings, and matrices of wins. Tables
that only name the best and worst, or count something else, are refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import guess, plain
from annotation.files.reading.limits import check_rows, current
from annotation.files.reading.literals import read_value
from annotation.files.reading.recognise import (
    ITEMS,
    LOOKED_AT,
    MEND,
    MOSTLY,
    WORKERS,
    is_numbered,
    is_usual,
    named_column,
)
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import NUMBER, TRUTHS, as_text
from annotation.formats.imports.tables.comparisons import ComparisonTable
from annotation.formats.imports.tables.labels import COMMENT, COUNTS, MAX_NAMED, PEOPLE
from annotation.formats.imports.winners import winner_of
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable

Values = dict[str, str]
TIE = "tie"
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
# The choices of webMUSHRA, by which of reference and other sound was chosen.
REFERENCE, OTHER, ANSWER = "choice_reference", "choice_non_reference", "choice_answer"
SESSION, TRIAL = "session_test_id", "trial_id"
CHOICES: dict[str, int | str | None] = {
    "correct": 0,
    "incorrect": 1,
    "undecided": TIE,
    "unknown": None,
}
RANKINGS = {
    *("ranking", "rankings", "rank", "ranks", "ranked", "order", "ordering", "preferenceorder"),
    *("rangfolge", "reihenfolge", "rangliste", "orden", "clasificacion", "classement", "ordre"),
}
OF_RANK = "rank|place|position|choice|rang|platz|puesto|lugar"
RANK = re.compile(rf"(?:^|[\W_])(?:{OF_RANK})(?:$|[\W_])", re.IGNORECASE)
PLACE = re.compile(
    rf"(?:(?:{OF_RANK})[\W_]*(\d{{1,2}})\W*|(\d{{1,2}})(?:st|nd|rd|th|\.)?(?:[\W_]*(?:{OF_RANK}))?)",
    re.IGNORECASE,
)
BETTER = re.compile(">+|≻")
EQUAL = re.compile("[=~∼]")
GROUPED = re.compile(r"\{([^{}]*)\}|([^,{}]+)")  # as PrefLib lists equal ones: 1,{2,3}
LEAST_RANKED = 3  # names, from which an order says more than a verdict
LEAST_ORDERS = 5  # rows that are orders of 1 to their number, which labels then are not by chance
LEAST_REPEATS = 2  # times that a name is ranked, on average
MOST_RANKED = 50
# As judged pairs name their two texts.
FIRST_TEXT, SECOND_TEXT = (
    tuple(f"{noun}{end}" for noun in ("response", "answer", "output", "text") for end in ends)
    for ends in (("1", "a"), ("2", "b"))
)
OF_SIDES = {"winner_model_a", "winner_model_b"}  # a column for each outcome
OUTCOMES: dict[str, int | str] = {"model_a": 0, "model_b": 1, "tie": TIE, "both_bad": TIE}
# Keys of experiments: the left and right one of each usual pair, and of two numbers the first.
KEYS = {
    **{key: 0 for key in ("f", "q", "z", "s", "d", "arrowleft", "leftarrow", "1", "c1", "key1")},
    **{key: 1 for key in ("j", "p", "m", "k", "arrowright", "rightarrow", "2", "c2", "key2")},
}
MOST_LOOKED = 30  # columns in which two sides and a verdict are looked for
LEAST_SIDES, LEAST_SHARED = 6, 2  # rows of two sides; names that stand on both
NAME = re.compile(r"[^<>\n]{1,120}")
ON_DIAGONAL = {"", "0", "-", "–", "—", "x", "na", "nan"}


@dataclass(frozen=True)
class Choices:
    """Where a table holds choices: the columns that they take, and the pairs of a row.

    ``pairs`` raises ValueError, with the sentence that names it, for a row that says nothing.
    ``renamed``: other columns by the names that they get.
    """

    columns: Collection[str]
    pairs: Callable[[Mapping[str, str], int], Iterable[Values]]
    notes: list[str]
    renamed: Mapping[str, str] = field(default_factory=dict)
    adds: tuple[str, ...] = ()  # columns that the pairs have besides
    keeps_sides: bool = (
        False  # the file says what stood left; else sides are in turn left and right
    )


Finder = Callable[[Sequence[str], Sequence[Mapping[str, str]]], Choices | None]


def fold(table: Table, first: Sequence[Finder] = (), also: Sequence[Finder] = ()) -> Table:
    """A table of choices between systems as one of two sides; others stay as they are.

    Finders of ``first`` are tried before those of here, also where two sides are named; those of
    ``also`` before orders in words. Raises Invalid
    where a table says less than who preferred what.
    """
    held = list(itertools.islice(table.events, LOOKED_AT))
    rows = [one.values for one in held if isinstance(one, Row)]
    table = replace(table, events=itertools.chain(held, table.events))
    names = list(table.columns)  # of JSON, those that came up in the rows
    _refuse_counts(names, rows)
    _refuse_criteria(names)
    if not rows:
        return table
    finders = (
        *(_of_winners, _of_references, _of_numbered, _of_orders, *also, _of_spaced_orders),
        *(_of_places, _of_ranks, _of_wins, _of_sides),
    )
    named = guess(names, ComparisonTable.fields)
    if named.keys() >= {"model_a", "model_b", "winner"} or named.keys() & OF_SIDES:
        finders = ()
    found = next(filter(None, (find(names, rows) for find in (*first, *finders))), None)
    if found is None:
        return table
    table.notes.extend(found.notes)
    others = [found.renamed.get(name, name) for name in names if name not in found.columns]
    columns = dict.fromkeys(["model_a", "model_b", "winner", *found.adds, *others])
    return replace(table, columns=[*columns], events=_events(table.events, found))


def _events(events: Iterator[Event], found: Choices) -> Iterator[Event]:
    count, most = 0, current()
    for event in events:
        if not isinstance(event, Row):
            yield event
            continue
        others = {
            found.renamed.get(name, name): value
            for name, value in event.values.items()
            if name not in found.columns
        }
        try:
            pairs = [*found.pairs(event.values, event.line)]
        except Unsaid as unsaid:
            column, wrong = unsaid.args
            shown = event.values.get(column, "")
            yield Problem(event.line, column, shown[:MAX_SHOWN], wrong, _("Left out."))
            continue
        for one in pairs:
            check_rows(count + 1, most)
            is_turned = count % 2 and not found.keeps_sides
            sides = (one["model_a"], one["model_b"])[:: -1 if is_turned else 1]
            count += 1
            yield Row(
                event.line,
                {**others, **one, **dict(zip(("model_a", "model_b"), sides, strict=True))},
            )


class Unsaid(Exception):
    """A row names no winner: the column, and the sentence that says so."""


def pair(first: str, second: str, winner: str, **more: str) -> Values:
    """Make a comparison of two, whose winner is one of them or a tie."""
    return {"model_a": first, "model_b": second, "winner": winner, **more}


def called(names: Collection[str], words: Collection[str]) -> str:
    """Return the first column that is called by one of the plain words; "" without."""
    return next((name for name in names if plain(name) in words), "")


def _refuse_counts(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    counts = [name for name in names if COUNTED.fullmatch(plain(name))]
    given = {row.get(name, "").strip() for row in rows for name in counts} - {""}
    if len(counts) > 1 and all(map(str.isdecimal, given)) and max(map(int, given), default=0) > 1:
        raise Invalid(
            _("%(columns)s count how often each one won.") % {"columns": ", ".join(counts)},
            fields={"file": _("Write a row for each comparison: left, right and winner.")},
        )


def _refuse_criteria(names: Sequence[str]) -> None:
    """Refuse columns of reviewers that hold several criteria: ``kim.tone, kim.tone.reason, ...``"""
    split = {name: name.rpartition(".") for name in names if "." in name}
    people = list(dict.fromkeys(split[one][0] for one in split if f"{one}.reason" in names))
    own = [last for first, _dot, last in split.values() if first in people]
    criteria = [one for one in dict.fromkeys(own) if not COMMENT.search(one)]
    if min(len(people), len(criteria)) > 1:
        raise Invalid(
            _("Columns of %(people)s hold several criteria: %(criteria)s.")
            % {
                "people": ", ".join(people[:MAX_NAMED]),
                "criteria": ", ".join(criteria[:MAX_NAMED]),
            },
            fields={"file": _("Keep the columns of one criterion.")},
        )


def _of_winners(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """Columns of a winner and a loser."""
    won, lost = (called(names, {plain(one) for one in words}) for words in (WON, LOST))
    if not (won and lost):
        return None
    draw = called(names, {plain(one) for one in DRAWS})
    note = _("%(won)s and %(lost)s are read as the two sides, in turn left and right.")
    notes = [note % {"won": won, "lost": lost}]
    if draw:
        notes.append(_("%(column)s says which are ties.") % {"column": draw})

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        bare = row.get(draw, "").strip().casefold()
        meant = TRUTHS.get(bare, bare)
        if meant not in IS_DRAW | NO_DRAW:
            raise Unsaid(draw, _("This is neither true nor false."))
        first, second = row.get(won, ""), row.get(lost, "")
        yield pair(first, second, TIE if meant in IS_DRAW else first)

    return Choices((won, lost, draw), pairs, notes)


def _of_references(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """Choices between a reference and another sound, as webMUSHRA writes them."""
    if not {REFERENCE, OTHER, ANSWER} <= {*names}:
        return None
    notes = [
        _(
            "%(answer)s: “correct” is read as %(reference)s, “incorrect” as %(other)s, and "
            "“undecided” as a tie. The sides are in turn left and right."
        )
        % {"answer": ANSWER, "reference": REFERENCE, "other": OTHER}
    ]
    people = []
    if {SESSION, TRIAL} <= {*names}:
        people = list(names[names.index(SESSION) + 1 : names.index(TRIAL)])
    is_named = bool(named_column(names, WORKERS))
    adds = () if is_named or not people else ("judge",)
    if people and not is_named:
        note = _("No column names people: %(columns)s together tell them apart.")
        notes.append(note % {"columns": ", ".join(people)})

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        sides = (row.get(REFERENCE, "").strip(), row.get(OTHER, "").strip())
        said = row.get(ANSWER, "").strip()
        chosen = CHOICES.get(said.casefold(), sides.index(said) if said in sides else None)
        if chosen is None:
            raise Unsaid(ANSWER, _("Nothing was chosen."))
        judge = {"judge": ", ".join(row.get(name, "") for name in people)} if adds else {}
        yield pair(*sides, TIE if isinstance(chosen, str) else sides[chosen], **judge)

    return Choices((REFERENCE, OTHER, ANSWER), pairs, notes, {TRIAL: "item"}, adds)


def _of_sides(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """Two columns of the same few names, and one that in nearly every row is either or a tie."""
    looked = [name for name in names[:MOST_LOOKED] if not PEOPLE.fullmatch(name.strip())]
    for first, second in itertools.combinations(looked, 2):
        opponents = [(row.get(first, ""), row.get(second, "")) for row in rows]
        if not _are_sides(opponents, 1):
            continue
        are_shared = _are_sides(opponents, LEAST_SHARED)
        for verdict in (name for name in looked if name not in (first, second)):
            given = [row for row in rows if row.get(verdict, "").strip()]
            if not are_shared and not all(
                row[verdict].strip() in (row.get(first), row.get(second)) for row in given
            ):
                continue
            won = [_won_by(row, first, second, verdict) for row in given]
            said = sum(one in (0, 1, TIE) for one in won)
            if {0, 1} <= {*won} and said >= MOSTLY * len(given):
                return _as_sides(first, second, verdict)
    return None


def _are_sides(pairs: Sequence[tuple[str, str]], least_shared: int) -> bool:
    """Whether two columns name opponents: few names, each again, on both sides, never the same."""
    whole = [pair for pair in pairs if all(one.strip() for one in pair)]
    called = {name for pair in whole for name in pair}
    shared = {first for first, _ in whole} & {second for _, second in whole}
    return (
        len(whole) >= max(LEAST_SIDES, MOSTLY * len(pairs))
        and len(called) <= min(MOST_RANKED, len(whole) // LEAST_REPEATS)
        and len(shared) >= least_shared
        and all(first != second for first, second in whole)
        and not all(NUMBER.fullmatch(name) for name in called)
    )


def _won_by(row: Mapping[str, str], first: str, second: str, verdict: str) -> int | str | None:
    """Which side won a row, or that it is a tie; None where the verdict says neither."""
    said, sides = row.get(verdict, "").strip(), (row.get(first, ""), row.get(second, ""))
    if said in (sides[0].strip(), sides[1].strip()):
        return 0 if said == sides[0].strip() else 1
    headers = (plain(first), plain(second))
    if plain(said) in headers:
        return headers.index(plain(said))
    return OUTCOMES.get(winner_of(said), KEYS.get(plain(said)))


def _as_sides(first: str, second: str, verdict: str) -> Choices:
    said = _("%(first)s and %(second)s are read as the two sides, and %(verdict)s as the winner.")
    notes = [said % {"first": first, "second": second, "verdict": verdict}]

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        won = _won_by(row, first, second, verdict)
        if won is None:
            raise Unsaid(verdict, _("This names neither side and no tie."))
        sides = (row.get(first, ""), row.get(second, ""))
        yield pair(*sides, TIE if isinstance(won, str) else sides[won])

    return Choices((first, second, verdict), pairs, notes)


def _of_numbered(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """Two texts, and a column a person with the number of the better one, 0 for a tie."""
    sides = [called(names, {plain(one) for one in words}) for words in (FIRST_TEXT, SECOND_TEXT)]
    people = [name for name in names if PEOPLE.fullmatch(name.strip()) and name not in sides]
    given = {row.get(name, "").strip() for row in rows for name in people} - {"", "nan", "NaN"}
    if not all(sides) or not people or not {"1", "2"} <= given <= {"0", "1", "2"}:
        return None
    said = _("%(people)s choose between %(first)s (1) and %(second)s (2); 0 is read as a tie.")
    shown = ", ".join(people[:MAX_NAMED])
    notes = [said % {"people": shown, "first": sides[0], "second": sides[1]}]

    item = named_column(names, ITEMS)
    adds = ("judge",) if item else ("judge", "item")  # each row has texts of its own

    def pairs(row: Mapping[str, str], line: int) -> Iterator[Values]:
        more = {} if item else {"item": str(line)}
        for name in people:
            won = row.get(name, "").strip()
            if won in ("0", "1", "2"):
                winner = TIE if won == "0" else sides[int(won) - 1]
                yield pair(sides[0], sides[1], winner, judge=name, **more)

    return Choices((*sides, *people), pairs, notes, {}, adds)


# Rankings -----------------------------------------------------------------------------------


def _of_orders(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """A column whose cells each hold an order: ``a > b = c``, or a list of names."""
    for name in names:
        is_called = plain(name) in RANKINGS
        given = [said for row in rows if (said := row.get(name, "").strip())]
        if not given or not (is_called or any(map(BETTER.search, given))):
            continue
        orders = [order_of(said, is_called) for said in given]
        good = [one for one in orders if len(one) > 1]
        ranked = [name for one in good for group in one for name in group]
        longest = max((sum(map(len, one)) for one in good), default=0)
        if not is_called and LEAST_REPEATS * len(set(ranked)) > len(ranked):
            continue  # text with such signs, which ranks nothing
        if len(good) < (0.5 if is_called else MOSTLY) * len(given) or longest < (
            2 if is_called else LEAST_RANKED
        ):
            continue
        count = called(names, COUNTS) if not named_column(names, WORKERS) else ""
        return of_rankings(names, [name], partial(_order_in, name), count)
    return None


def _of_spaced_orders(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """Columns whose cells hold the same few names, in an order: ``gpt llama qwen``."""
    found = []
    for name in names:
        cells = [row.get(name, "").split() for row in rows]
        cells = [one for one in cells if one]
        usual = frozenset(cells[0]) if cells else frozenset()
        same = sum(frozenset(one) == usual and len(one) == len(usual) for one in cells)
        orders = len({*map(tuple, cells)})
        is_several = LEAST_RANKED <= len(usual) <= MOST_RANKED and orders > 1
        if is_several and same >= MOSTLY * len(cells):
            found.append(name)
    if not found:
        return None
    several = len(found) > 1 and "item" not in names
    each = [of_rankings(names, [name], partial(_words_in, name)) for name in found]

    def pairs(row: Mapping[str, str], line: int) -> Iterator[Values]:
        for name, one in zip(found, each, strict=True):
            if row.get(name, "").strip():
                more = {"item": name} if several else {}
                yield from ({**pair, **more} for pair in one.pairs(row, line))

    adds = (*each[0].adds, *(("item",) if several else ()))
    notes = of_rankings(names, found, partial(_words_in, found[0])).notes
    return Choices(found, pairs, notes, {} if several else each[0].renamed, adds)


def _words_in(name: str, row: Mapping[str, str]) -> list[list[str]]:
    return [[one] for one in row.get(name, "").split()]


def _order_in(name: str, row: Mapping[str, str]) -> list[list[str]]:
    return order_of(row.get(name, ""), is_list=True)


def order_of(said: str, is_list: bool = False) -> list[list[str]]:
    """The names of an order, equal ones together; [] where it is none.

    ``is_list``: names may be listed without a sign, the best first.
    """
    said = said.strip()
    groups: list[list[str]] = []
    if BETTER.search(said) and said[:1] not in ("[", "{"):
        groups = [EQUAL.split(group) for group in BETTER.split(said)]
    elif said[:1] in ("[", "{") and is_list:
        try:
            groups = groups_of(read_value(said))
        except Unreadable:
            groups = [list(map(str.strip, (a or b).split(","))) for a, b in GROUPED.findall(said)]
    elif is_list:
        groups = [list(map(str.strip, (a or b).split(","))) for a, b in GROUPED.findall(said)]
    listed = [name.strip() for group in groups for name in group]
    is_order = len(set(listed)) == len(listed) <= MOST_RANKED and all(map(NAME.fullmatch, listed))
    return [[name.strip() for name in group] for group in groups] if is_order else []


def groups_of(held: Any) -> list[list[str]]:
    """The names of an order in JSON: a list, ranks by name, or objects of rank and value."""
    if isinstance(held, list) and held and all(map(is_rank, held)):
        held = {as_text(one["value"]): one["rank"] for one in held}
    if isinstance(held, dict):
        return by_rank({name: as_text(rank) for name, rank in held.items()})
    if not isinstance(held, list):
        return []
    return [[as_text(name) for name in (one if isinstance(one, list) else [one])] for one in held]


def is_rank(held: Any) -> bool:
    """Whether a value is an object that gives a value a rank, as Argilla writes it."""
    return isinstance(held, dict) and {"rank", "value"} <= held.keys()


def by_rank(ranks: Mapping[str, str]) -> list[list[str]]:
    """Names by their rank, the best first; those without a rank are left out."""
    found: dict[float, list[str]] = {}
    for name, rank in ranks.items():
        if NUMBER.fullmatch(rank.strip()):
            found.setdefault(float(rank), []).append(name)
    return [found[rank] for rank in sorted(found)]


def _of_places(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """A column for each place, whose cells name what has it."""
    places = {
        int(match[1] or match[2]): name
        for name in names
        if (match := PLACE.fullmatch(name.strip()))
    }
    columns = [places[at] for at in sorted(places)]
    cells = [[row.get(name, "").strip() for name in columns] for row in rows]
    given = {cell for row in cells for cell in row} - {""}
    is_named = any(RANK.search(name) for name in columns) or "1st" in columns
    if (
        len(columns) < LEAST_RANKED
        or sorted(places) != [*range(1, len(places) + 1)]
        or not is_named
        or not given
        or any(map(NUMBER.fullmatch, given))
        or any(len({*filter(None, row)}) < len([*filter(None, row)]) for row in cells)
    ):
        return None

    def order(row: Mapping[str, str]) -> list[list[str]]:
        return [[said] for name in columns if (said := row.get(name, "").strip())]

    return of_rankings(names, columns, order)


def _of_ranks(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """A column for each system, whose cells hold its rank."""
    left = [name for name in names if not is_usual(name) and not is_numbered(name)]
    columns = [name for name in left if RANK.search(name)]
    is_called = len(columns) >= LEAST_RANKED
    columns = columns if is_called else left
    columns = [
        name for name in columns if _are_ranks((row.get(name, "") for row in rows), len(left))
    ]
    orders = [sorted(row.get(name, "").strip() for name in columns) for row in rows]
    whole = sorted(map(str, range(1, len(columns) + 1)))
    is_wide = len(columns) > LEAST_RANKED and named_column(names, WORKERS)
    is_sure = len(rows) >= (LEAST_RANKED if is_wide else LEAST_ORDERS)
    if len(columns) < LEAST_RANKED or not (
        (is_called and any(map(whole.__eq__, orders)))
        or (is_sure and all(map(whole.__eq__, orders)) and not any(map(PEOPLE.fullmatch, columns)))
    ):
        return None
    bare = {name: RANK.sub("", name).strip(" _-.:[]()") or name for name in columns}
    bare = bare if is_called and len(set(bare.values())) == len(bare) else {}

    def order(row: Mapping[str, str]) -> list[list[str]]:
        return by_rank({bare.get(name, name): row.get(name, "") for name in columns})

    return of_rankings(names, columns, order)


def _are_ranks(cells: Iterable[str], most: int) -> bool:
    given = {cell.strip() for cell in cells} - {""}
    return len(given) > 1 and all(one.isdecimal() and 0 < int(one[:4]) <= most for one in given)


def of_rankings(
    names: Sequence[str],
    columns: Sequence[str],
    order: Callable[[Mapping[str, str]], list[list[str]]],
    count: str = "",
) -> Choices:
    """Read each ranking as its pairs; one stands for each of ``count`` people."""
    notes = [
        _(
            "%(columns)s: each ranking is read as its pairs, in turn left and right, and equal "
            "ranks as ties. What has no rank is in no pair."
        )
        % {"columns": ", ".join(columns[:MAX_NAMED])}
    ]
    worker, item = named_column(names, WORKERS), named_column(names, ITEMS)
    if count:
        note = _("%(column)s says how many judges gave each ranking.")
        notes.append(note % {"column": count})
    elif not worker:
        notes.append(_("No column names judges: each row counts as one."))

    def pairs(row: Mapping[str, str], line: int) -> Iterator[Values]:
        found = order(row)
        if sum(map(len, found)) < 2:
            raise Unsaid(columns[0], _("This ranking has fewer than two names."))
        many = row.get(count, "").strip() if count else "1"
        if not many.isdecimal():
            raise Unsaid(count, _("This is not a whole number from 0."))
        for number in range(1, min(int(many[:9]), current().rows) + 1):
            judge = _("row %(place)s") % {"place": line} + (f"-{number}" if count else "")
            more = {} if worker else {"judge": judge}
            for one, better in enumerate(found):
                for name, other in itertools.combinations(better, 2):
                    yield pair(name, other, TIE, **more)
                for name, other in itertools.product(better, itertools.chain(*found[one + 1 :])):
                    yield pair(name, other, name, **more)

    renamed = {item: "item"} if item and "item" not in names else {}
    return Choices(
        [*columns, *filter(None, [count])], pairs, notes, renamed, () if worker else ("judge",)
    )


def _of_wins(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Choices | None:
    """A matrix of systems and systems with how often one won. Raises Invalid for other counts."""
    own, *systems = names or [""]
    mine = [row.get(own, "").strip() for row in rows]
    if len(mine) < LEAST_RANKED or sorted(mine) != sorted(systems):
        return None
    cells = {
        (name, other): row.get(other, "").strip()
        for name, row in zip(mine, rows, strict=True)
        for other in systems
    }
    beside = [cell for (name, other), cell in cells.items() if name != other]
    numbers = [cell for cell in beside if NUMBER.fullmatch(cell)]
    if len(numbers) < MOSTLY * len(beside):
        return None
    told = {"names": ", ".join(mine[:MAX_NAMED])}
    reason, mend = "", _("Write a row for each comparison: left, right and winner.")
    if not all(cells[name, name].casefold() in ON_DIAGONAL for name in systems):
        reason = _(
            "Rows and columns are both %(names)s: this counts pairs of labels, not who gave them."
        )
        mend = str(MEND)
    elif not all(map(str.isdecimal, numbers)):
        reason = _("%(names)s have shares or scores against each other, not counts of wins.")
    elif all(cells[name, other] == cells[other, name] for name, other in cells):
        reason = _("%(names)s have the same number both ways: this does not count wins.")
    if reason:
        raise Invalid(reason % told, fields={"file": mend})

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        name = row.get(own, "").strip()
        for other in systems:
            won = row.get(other, "").strip()
            for number in range(int(won[:9]) if won.isdecimal() and name != other else 0):
                yield pair(name, other, name, item=f"{name} / {other} {number + 1}")

    note = _("Each cell counts how often the system of its row beat that of its column.")
    return Choices([*names], pairs, [note], adds=("item",))
