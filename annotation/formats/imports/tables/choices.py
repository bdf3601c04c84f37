"""Choices of one among several as comparisons of two: what experiments, judges and surveys write.

Keys and places, best and worst of a set, ranks beside the names of systems, games of language
models as judges, and questions that ask which is better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import plain
from annotation.files.reading.literals import read_value
from annotation.files.reading.recognise import ITEMS, MOSTLY, WORKERS, named_column
from annotation.files.reading.rows import Row
from annotation.files.reading.values import NUMBER, as_text
from annotation.formats.imports.tables.pairs import (
    BEST,
    LEAST_RANKED,
    MOST_RANKED,
    TIE,
    WORST,
    Choices,
    Unsaid,
    Values,
    by_rank,
    called,
    of_rankings,
    pair,
)
from annotation.formats.imports.tables.people import person_of_survey
from annotation.formats.imports.winners import MARKED, winner_of
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable

Rows = Sequence[Mapping[str, str]]
NUMBERED = re.compile(r"(\D*?)(\d{1,3})(\D*)")  # item3, system3Id, Input.text3
RANKED = re.compile(r"rank|rang|place|platz", re.IGNORECASE)
GAMES = "games"  # a judge's two looks at one pair, the sides exchanged between them
BASELINE = "baseline"  # what arena-hard files do not name
FIRST_GAME, SECOND_GAME = "g1winner", "g2winner"
FIRST_SIDES, SECOND_SIDES = ("model1", "modela"), ("model2", "modelb")
TEXTS_OF_JUDGES = {"judgment", "judgement", "judgeoutput", "judgeresponse", "rationale", "reply"}
LEFT_SIDES = {"assistanta", "modela", "systema", "answera", "responsea"}
RIGHT_SIDES = {"assistantb", "modelb", "systemb", "answerb", "responseb"}
ASKS_WHICH = re.compile(
    r"\b(?:better|best|prefer\w*|rather|favou?rite|nicer|winner|besser\w*|bevorzug\w*|lieber|"
    r"mejor|prefier\w*|préfér\w*|meilleur\w*|melhor|prefer\w*|migliore|preferis\w*|beter)\b|"
    r"更好|更喜欢|好ましい|良い方|лучше|предпочит",
    re.IGNORECASE,
)
NEITHER = {
    *("nopreference", "nodifference", "tie", "equal", "equallygood", "same", "bothequal", "both"),
    *("neither", "bothgood", "bothbad", "aboutthesame", "cantdecide", "unsure", "kein unterschied"),
    *("keinunterschied", "gleichgut", "unentschieden", "beide", "beidegleich", "egal"),
    *("igual", "iguales", "ninguno", "ambos", "sinpreferencia", "empate", "indiferente"),
    *("pareil", "aucunepréférence", "égalité", "égal", "lesdeux", "inguali", "nessuna"),
}
TWO = 2
TRUTHS = {"yes", "no", "ja", "nein", "true", "false", "si", "oui", "non"}
LEAST_ASKED = 2  # questions that ask which is better
WORDS_OF_ONE = 2  # more make the name of a single column a question


def of_best_worst(names: Sequence[str], rows: Rows) -> Choices | None:
    """A set of several with its best and worst: both against all others of the set."""
    best, worst = (called(names, words) for words in (BEST, WORST))
    if not (best and worst):
        return None
    columns = _members(names, rows, best, worst)
    if not columns:
        raise Invalid(
            _("%(best)s and %(worst)s choose from several: these are neither labels nor pairs.")
            % {"best": best, "worst": worst},
            fields={"file": _("Write a row for each pair: left, right and winner.")},
        )
    notes = [
        _(
            "%(best)s is read as better than all others of its row, and %(worst)s as worse than "
            "them: %(columns)s."
        )
        % {"best": best, "worst": worst, "columns": ", ".join(columns)}
    ]

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        own = [row.get(name, "").strip() for name in columns]
        top, bottom = (_member(row.get(name, ""), columns, own) for name in (best, worst))
        if top is None or bottom is None or top == bottom:
            raise Unsaid(best, _("Best and worst are not two of the row’s own."))
        for one in dict.fromkeys(own):
            if one and one != top:
                yield pair(top, one, top)
            if one and one not in (top, bottom):
                yield pair(one, bottom, one)

    return Choices((*columns, best, worst), pairs, notes)


def _members(names: Sequence[str], rows: Rows, best: str, worst: str) -> list[str]:
    """The numbered columns of which best and worst choose; [] where none are."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if (match := NUMBERED.fullmatch(name)) and name not in (best, worst):
            groups.setdefault((match[1], match[3]), []).append(name)
    for columns in groups.values():
        if len(columns) < LEAST_RANKED:
            continue
        given = [row for row in rows if row.get(best, "").strip() and row.get(worst, "").strip()]
        own = [[row.get(name, "").strip() for name in columns] for row in given]
        told = [
            _member(row.get(name, ""), columns, cells) is not None
            for row, cells in zip(given, own, strict=True)
            for name in (best, worst)
        ]
        if told and sum(told) >= MOSTLY * len(told):
            return columns
    return []


def _member(said: str, columns: Sequence[str], own: Sequence[str]) -> str | None:
    """The one of the row's own that a cell names, by itself, its column or its place."""
    said = said.strip()
    if said in columns:
        return own[columns.index(said)]
    # Where the members are numbers, too, a place of 1 to their number says which place.
    is_place = said.isdecimal() and 1 <= int(said[:4]) <= len(columns)
    if is_place and (said not in own or all(map(str.isdecimal, filter(None, own)))):
        return own[int(said) - 1]
    return said if said in own else None


def of_ranked_systems(names: Sequence[str], rows: Rows) -> Choices | None:
    """Columns of a system's name and of its rank, numbered alike: system1Id, system1rank."""
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for name in names:
        if match := NUMBERED.fullmatch(name):
            groups.setdefault((match[1], match[3]), {})[int(match[2])] = name
    ranks = next((one for key, one in groups.items() if RANKED.search("".join(key))), {})
    systems = next(
        (
            one
            for key, one in groups.items()
            if one.keys() == ranks.keys()
            and not RANKED.search("".join(key))
            and _are_names(rows, one.values())
        ),
        {},
    )
    if len(systems) < 2:
        return None
    places = sorted(systems)

    def order(row: Mapping[str, str]) -> list[list[str]]:
        told = {row.get(systems[at], "").strip(): row.get(ranks[at], "") for at in places}
        return by_rank(
            {name: rank for name, rank in told.items() if name and rank.strip()[:1] != "-"}
        )

    columns = [group[at] for at in places for group in (systems, ranks)]
    return of_rankings(names, columns, order)


def _are_names(rows: Rows, columns: Iterable[str]) -> bool:
    """Whether columns hold a few names that come again, which are no numbers."""
    cells = [said for row in rows for name in columns if (said := row.get(name, "").strip())]
    kinds = set(cells)
    return 1 < len(kinds) <= min(MOST_RANKED, len(cells) // 2) and not all(
        map(NUMBER.fullmatch, kinds)
    )


def of_two_games(names: Sequence[str], _rows: Rows) -> Choices | None:
    """Two verdicts on a pair, the sides exchanged between them, as MT-bench writes them."""
    games = [called(names, {one}) for one in (FIRST_GAME, SECOND_GAME)]
    sides = [called(names, {*words}) for words in (FIRST_SIDES, SECOND_SIDES)]
    if not (all(games) and all(sides)):
        return None
    judge, item = named_column(names, WORKERS), named_column(names, ITEMS)
    notes = [
        _(
            "%(first)s and %(second)s are verdicts on %(left)s and %(right)s with their sides "
            "exchanged: where they differ the pair is a tie."
        )
        % dict(zip(("first", "second", "left", "right"), (*games, *sides), strict=True))
    ]

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        own = [row.get(name, "").strip() for name in sides]
        said = [winner_of(row.get(name, "").strip()) for name in games]
        words = {"model_a": own[0], "model1": own[0], "model_b": own[1], "model2": own[1]}
        words |= {TIE: TIE, "both_bad": TIE}
        won = [words.get(one, words.get(plain(one))) for one in said]
        if not any(won):
            raise Unsaid(games[0], _("This names neither side and no tie."))
        more = {"judge": _first(row.get(judge, ""))} if judge else {}
        yield pair(own[0], own[1], _agreed(won), **more)

    renamed = {item: "item"} if item and "item" not in names else {}
    adds = ("judge",) if judge else ()
    return Choices((*sides, *games, judge), pairs, notes, renamed, adds, keeps_sides=True)


def of_games(names: Sequence[str], rows: Rows) -> Choices | None:
    """Games of a model against a baseline that is not named, as Arena-Hard writes them."""
    games, model = called(names, {GAMES}), called(names, {"model", "modelid", "system"})
    held = [_list(row.get(games, "")) for row in rows] if games and model else []
    if not any(held) or not all("score" in game for one in held for game in one):
        return None
    judge, item = named_column(names, WORKERS), named_column(names, ITEMS)
    notes = [
        _(
            "%(games)s are of %(model)s and a side that the file does not name, called “baseline”. "
            "Where two games differ the pair is a tie."
        )
        % {"games": games, "model": model}
    ]

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        sides = (BASELINE, row.get(model, "").strip())  # the model is B first, and then A
        won = []
        for place, game in enumerate(_list(row.get(games, ""))):
            own = sides[:: -1 if place % 2 else 1]
            words = {"model_a": own[0], "model_b": own[1], TIE: TIE, "both_bad": TIE}
            won.append(words.get(winner_of(as_text(game.get("score")))))
        if not any(won):
            raise Unsaid(games, _("No game says who won."))
        more = {"judge": _first(row.get(judge, ""))} if judge else {}
        yield pair(sides[0], sides[1], _agreed(won), **more)

    renamed = {item: "item"} if item and "item" not in names else {}
    adds = ("judge",) if judge else ()
    return Choices((games, model, judge), pairs, notes, renamed, adds, keeps_sides=True)


def _agreed(won: Iterable[str | None]) -> str:
    """The winner of all games that say one; a tie where they differ."""
    said = {one for one in won if one}
    return said.pop() if len(said) == 1 else TIE


def of_written_verdicts(names: Sequence[str], rows: Rows) -> Choices | None:
    """Replies of judges that end in [[A]], [[B]] or [[C]], beside the names of the two sides."""
    left, right = called(names, LEFT_SIDES), called(names, RIGHT_SIDES)
    said = called(names, TEXTS_OF_JUDGES)
    if not (left and right and said):
        return None
    marked = [MARKED.search(row.get(said, "")) for row in rows]
    if 2 * sum(map(bool, marked)) < len(rows) or not _are_names(rows, (left, right)):
        return None
    note = _("%(column)s: the last [[…]] of a reply is its verdict, and C is a tie.")

    def pairs(row: Mapping[str, str], _line: int) -> Iterator[Values]:
        found = MARKED.findall(row.get(said, ""))
        sides = (row.get(left, "").strip(), row.get(right, "").strip())
        words = {"a": sides[0], "b": sides[1], "c": TIE, "tie": TIE}
        won = words.get(found[-1].strip().casefold()) if found else None
        if won is None:
            raise Unsaid(said, _("It ends without a verdict."))
        yield pair(sides[0], sides[1], won)

    item = named_column(names, ITEMS) or called(names, {"promptid", "queryid", "topicid"})
    renamed = {item: "item"} if item and "item" not in names else {}
    return Choices((left, right, said), pairs, [note % {"column": said}], renamed, keeps_sides=True)


def of_preferences(names: Sequence[str], rows: Rows) -> Choices | None:
    """Questions with the same two answers, and perhaps none of both, that ask which is better."""
    cells = {name: [said for row in rows if (said := row.get(name, "").strip())] for name in names}
    sides_of = {
        name: {one for one in given if plain(one) not in NEITHER} for name, given in cells.items()
    }
    which = [name for name in names if cells[name] and ASKS_WHICH.search(name)]
    asks_once = len(which) == 1 and len(which[0].split()) > WORDS_OF_ONE
    sides = set[str]().union(*(sides_of[name] for name in which))
    if len(sides) != TWO or not (len(which) >= LEAST_ASKED or asks_once):
        which, sides = _told_by_ties(names, cells, sides_of)
    if not which or any(plain(one) in TRUTHS for one in sides):
        return None
    person = (
        ""
        if named_column(names, WORKERS)
        else person_of_survey(names, [Row(at, row) for at, row in enumerate(rows, 1)])
    )
    return _as_preferences(names, which, sorted(sides), person)


def _told_by_ties(
    names: Sequence[str], cells: Mapping[str, Sequence[str]], sides_of: Mapping[str, set[str]]
) -> tuple[list[str], set[str]]:
    """Numbered parts of one question with the same two answers, beside which a tie is given."""
    for sides in sides_of.values():
        columns = [name for name in names if cells[name] and sides_of[name] <= sides]
        given = {one for name in columns for one in cells[name]}
        if len(sides) == TWO and given > sides and _ask_again(columns):
            return columns, sides
    return [], set()


def _ask_again(columns: Sequence[str]) -> bool:
    """Whether columns are numbered parts of one question."""
    stems = {re.sub(r"\d+", "#", name) for name in columns}
    return len(columns) > LEAST_ASKED and len(stems) == 1


def _as_preferences(
    names: Sequence[str], columns: Sequence[str], sides: Sequence[str], person: str
) -> Choices:
    first, second = sides
    note = _("Answers are read as comparisons of %(first)s and %(second)s, each question an item.")
    notes = [note % {"first": first, "second": second}]
    worker = named_column(names, WORKERS)
    if not (worker or person):
        notes.append(_("No column names judges: each row counts as one."))

    def pairs(row: Mapping[str, str], line: int) -> Iterator[Values]:
        judge = row.get(person, "").strip() or _("row %(place)s") % {"place": line}
        more = {} if worker else {"judge": judge}
        found = False
        for name in columns:
            said = row.get(name, "").strip()
            if said:
                found = True
                won = TIE if plain(said) in NEITHER else said
                yield pair(first, second, won, item=_topic(name), **more)
        if not found:
            raise Unsaid(columns[0], _("Nothing was chosen."))

    return Choices(columns, pairs, notes, {}, ("item", *(() if worker else ("judge",))))


def _topic(name: str) -> str:
    """What a question is about: what stands in its brackets, else all of it."""
    inner = re.search(r"\[([^\]]+)\]\s*$", name)
    return inner[1] if inner else name


def _list(cell: str) -> list[dict[str, Any]]:
    try:
        held = read_value(cell) if cell[:1] == "[" else []
    except Unreadable:
        return []
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def _first(cell: str) -> str:
    """The first name of a list in a cell, or the cell."""
    try:
        held = read_value(cell) if cell[:1] == "[" else cell
    except Unreadable:
        return cell
    return as_text(held[0]) if isinstance(held, list) and held else as_text(held)


FINDERS = (of_best_worst, of_two_games, of_games, of_written_verdicts, of_ranked_systems)
