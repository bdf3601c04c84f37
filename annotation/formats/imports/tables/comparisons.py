"""A table of comparisons that is to become a task: who preferred which of two; arena battles."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import CheckedRows, Field, Reader, Row, guess, plain
from annotation.files.reading.keys import text_print
from annotation.files.reading.recognise import (
    ITEMS,
    LOOKED_AT,
    MOSTLY,
    NUMBERED,
    REPEATS,
    WORKERS,
    share_of_new,
)
from annotation.files.reading.spool import Spool
from annotation.files.reading.values import NUMBER
from annotation.formats.imports.tables.base import (
    Fit,
    Fixes,
    TableReader,
    offer,
    offer_cases,
)
from annotation.formats.imports.tools.arena import ALSO, OUTCOMES, TOPIC, UNNAMED, VERDICT, Battles
from annotation.formats.imports.winners import SAID, WINNERS, winner_of
from crowdqc.numbers import count, percent, plural

SYSTEMS = ("model", "system", "generator", "candidate", "option")
LEFTS = (
    "left",
    "links",
    "izquierda",
    "first",
    "left_id",
    "text_a",
    "item_a",
    *("modell_a", "modelo_a", "sistema_a"),
    *(f"{name}_{side}" for name in SYSTEMS for side in ("a", "1")),
)
RIGHTS = (
    "right",
    "rechts",
    "derecha",
    "second",
    "right_id",
    "text_b",
    "item_b",
    *("modell_b", "modelo_b", "sistema_b"),
    *(f"{name}_{side}" for name in SYSTEMS for side in ("b", "2")),
)
TOPICS = (
    "item",
    "item_id",
    "topic",
    "task",
    "task_id",
    "query_id",
    "prompt_id",
    *ALSO["question_id"],
)
# Of judges who prefer by the side, and as language models say it that judge A and B.
OFFERED_TIES = ("tieinconsistent", "c")
BOTH = ("bothgood", "tiebothgood", "bothbad", "tiebothbad")  # are ties, too
MOST_NUMBERED = 4  # different numbers in place of a winner
ANONYMOUS, LEFT_OUT = "anony", "left out"
SIDE_NUMBERS = (1, 2)  # as AlpacaEval numbers the sides
MOST_SIGNED = 10  # of preferences by sign
AGAIN = 0.1  # share of repeats from which the rows are about texts of their own
MOST_SYSTEMS = 2_000
MOST_OF_VERDICT = 40  # characters
_SIDES = {"model_a", "model_b"}


class ComparisonTable(TableReader, Battles):
    """Rows as those of ``Battles``; the winner may be a side or the name of one of the two.

    Where no column says what was compared, the names are the texts; but where judges compare the
    same two again as often as by chance, each row is about texts of its own.
    """

    slug = "comparison_table"
    title = gettext_lazy("Comparisons")
    unit = "comparison"
    vote = "winner"
    alike = (("model_a", "model_b"), ("winner",), ("judge",), ("question_id",))
    fields = (
        Field("judge", gettext_lazy("Judge"), False, (*WORKERS, *ALSO["judge"])),
        Field("model_a", gettext_lazy("Left"), True, LEFTS),
        Field("model_b", gettext_lazy("Right"), True, RIGHTS),
        Field("winner", gettext_lazy("Winner"), False, WINNERS, VERDICT),
        *(
            Field(name, said, False, (), VERDICT)
            for name, said in (
                ("winner_model_a", "Left won"),
                ("winner_model_b", "Right won"),
                ("winner_tie", "It was a tie"),
            )
        ),
        Field("winner_both_bad", gettext_lazy("Both were bad")),
        Field("question_id", gettext_lazy("Item"), False, TOPICS),
        Field("prompt", gettext_lazy("Prompt"), False, ALSO["prompt"]),
        Field("conversation_a", gettext_lazy("Conversation A")),
        Field("conversation_b", gettext_lazy("Conversation B")),
        Field("full_conversation", gettext_lazy("Both conversations")),
        Field("response_a", gettext_lazy("Text on the left"), False, ALSO["conversation_a"][1:]),
        Field("response_b", gettext_lazy("Text on the right"), False, ALSO["conversation_b"][1:]),
        Field("tstamp", gettext_lazy("Time"), False, ALSO["tstamp"]),
        Field("turn", gettext_lazy("Turn")),
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by name, and the item by its values where no name tells it."""
        named = guess(columns, self.fields)
        verdicts = verdicts_in(columns, rows, named)
        if len(verdicts) == 1:
            named["winner"] = verdicts[0]
        item = "" if _ABOUT & named.keys() else _item_by_values(columns, rows, named)
        return {**named, "question_id": item} if item else named

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Left and right are there, and the winner is one of them or a side."""
        mapping = self.guess(columns, rows)
        if not {"model_a", "model_b"} <= mapping.keys():
            return Fit(False, "no columns of a left and a right one")
        if mapping.keys() & OUTCOMES.keys():
            return Fit(True, "a column for each outcome")
        if "winner" not in mapping:
            said = reason_of_verdicts(columns, rows)
            return Fit(False, said or "no column with a winner")
        told = [
            self._winner(
                {name: row.values.get(column, "").strip() for name, column in mapping.items()}
            )
            for row in self.opened(mapping, rows)
        ]
        given = [row.values.get(mapping["winner"], "") for row in rows]
        if middle_of(given):
            return Fit(True, _("%(winner)s is a number") % {"winner": mapping["winner"]})
        if signed_range([row.values.get(mapping["winner"], "") for row in rows]):
            return Fit(True, _("%(winner)s prefers by sign") % {"winner": mapping["winner"]})
        named = sum(one in SAID.values() for one in told)
        said = _("%(winner)s names a side in %(named)s of %(rows)s") % {
            "winner": mapping["winner"],
            "named": count(named),
            "rows": plural(len(rows), "row"),
        }
        return Fit(2 * named > len(rows), said)

    @staticmethod
    def _winner(raw: Mapping[str, str]) -> str:
        """The winner as arenas write it, or as it stands where it is none."""
        said = raw.get("winner", "")
        if said and raw.get("model_a") != raw.get("model_b"):
            if said == raw.get("model_a"):
                return "model_a"
            if said == raw.get("model_b"):
                return "model_b"
        return winner_of(said)

    def raw(self, reader: Reader, row: Row) -> dict[str, str]:
        """Return a row's fields, with the winner as arena files write it."""
        found = super().raw(reader, row)
        return {**found, "winner": self._winner(found)} if "winner" in found else found

    def tell_apart(self, checked: CheckedRows, apart: str) -> None:
        """Take the sentence that some systems are never compared, as a warning."""
        head = _("Not all systems are ranked together.")
        checked.about["warnings"] = [{"level": "warn", "head": head, "text": apart}]

    def read(self, reader: Reader, rows: Iterable[Row], known: Fixes) -> None:
        """Comparisons as battles; those that say nothing of their texts share one topic."""
        rows = _by_sign(reader, _by_middle(reader, _anonymous(reader, list(rows)), known))
        rows = _without_repeats(reader, rows)
        _note_ties(reader, rows)
        _note_strength(reader, rows)
        super().read(reader, rows, {})
        checked, about = reader.checked, reader.checked.about
        for value in {one.value for one in checked.problems if plain(one.value) in OFFERED_TIES}:
            offer(reader, "winner", value, "tie", _("Count as a tie"))
        _offer_sides(reader, {one.value for one in checked.problems})
        apart = None
        if not {"question_id", "prompt"} & reader.mapping.keys():
            checked.good = _with_topics(checked.good)
            apart = next((one for one in checked.good if one["topic"] != TOPIC), None)
        elif is_told_by_values(column := reader.mapping.get("question_id", "")):
            note = _("%(column)s is read as the item that is compared: %(items)s.")
            items = plural(len({one["topic"] for one in checked.good}), "item")
            checked.notes.append(note % {"column": column, "items": items})
        battles = checked.good
        offer_cases(reader, "judge", Counter(one["judge"] for one in battles))
        met: Counter[Any] = Counter(
            (one["judge"], one["topic"], *sorted((one["left"], one["right"]))) for one in battles
        )
        facts = _table_facts(battles, sum(n - 1 for n in met.values()))
        if apart is not None and not (apart["left"][1] or apart["right"][1]):
            facts["warnings"].append(_no_item())
        about |= {**facts, "warnings": [*about.get("warnings", []), *facts["warnings"]]}


def verdicts_in(columns: Sequence[str], rows: Iterable[Row], named: Mapping[str, str]) -> list[str]:
    """The columns that say now that the left and now that the right one won; [] if one is named."""
    if not named.keys() >= _SIDES or named.keys() & {"winner", *OUTCOMES}:
        return []
    looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
    sides = [{name: row.get(named[name], "").strip() for name in _SIDES} for row in looked]
    found = []
    for column in columns:
        given = [row.get(column, "").strip() for row in looked]
        told = {
            ComparisonTable._winner({**names, "winner": said})
            for names, said in zip(sides, given, strict=True)
            if said
        }
        is_short = max(map(len, given), default=0) <= MOST_OF_VERDICT
        if (
            column not in named.values()
            and is_short
            and told >= _SIDES
            and told <= {*SAID.values()}
        ):
            found.append(column)
    return found


def reason_of_verdicts(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Say which columns may each hold the winner, where they are several."""
    named = guess(columns, ComparisonTable.fields)
    verdicts = verdicts_in(columns, rows, named)
    told = _("%(columns)s may each say who won: choose one as the winner.")
    return told % {"columns": ", ".join(verdicts)} if len(verdicts) > 1 else ""


def _note_strength(reader: Reader, rows: Iterable[Row]) -> None:
    """Say that it is not read how clearly a side won, where verdicts say so."""
    wordings: dict[str, str] = {}
    for said in sorted({reader.value(row, "winner") for row in rows}):
        first = wordings.setdefault(winner_of(said), said)
        if first != said and winner_of(said) in _SIDES:
            note = _("%(column)s: “%(one)s” and “%(other)s” count the same.")
            told = {"column": reader.column("winner"), "one": first, "other": said}
            reader.checked.notes.append(note % told)
            return


def _note_ties(reader: Reader, rows: Iterable[Row]) -> None:
    """Say which verdicts on both texts count as ties."""
    given = {reader.value(row, "winner") for row in rows}
    if ties := sorted(one for one in given if plain(one) in BOTH):
        note = _("%(column)s: read as a tie: “%(ties)s”.")
        told = {"column": reader.column("winner"), "ties": "”, “".join(ties)}
        reader.checked.notes.append(note % told)


def _offer_sides(reader: Reader, values: Iterable[str]) -> None:
    """Offer what each number in place of a winner may stand for, where they are few."""
    numbers = sorted(filter(NUMBER.fullmatch, values), key=float)
    for value in numbers if len(numbers) <= MOST_NUMBERED else ():
        for use, text in (
            ("model_a", _("Read “%(value)s” as: left won")),
            ("model_b", _("Read “%(value)s” as: right won")),
            ("tie", _("Read “%(value)s” as: tie")),
        ):
            offer(reader, "winner", value, use, text % {"value": value})


_USUAL = {plain(name) for name in ("question_id", *TOPICS)}
_ITEMS = {plain(name) for name in (*ITEMS, *NUMBERED)}
_ABOUT = {
    *("question_id", "prompt", "conversation_a", "conversation_b", "full_conversation"),
    *("response_a", "response_b"),
}


def is_told_by_values(column: str) -> bool:
    """Whether a column is read as the item though it is not called as items of pairs are."""
    return bool(column) and plain(column) not in _USUAL


def _item_by_values(columns: Sequence[str], rows: Iterable[Row], named: Mapping[str, str]) -> str:
    """The column whose values repeat as items do; "" where none surely does.

    A judge sees an item once with the same two systems. Unless the name says so, too, all
    comparisons of an item are of the same two systems.
    """
    if not {"model_a", "model_b"} <= named.keys():
        return ""
    looked = list(itertools.islice(rows, LOOKED_AT))
    cells = {name: [row.values.get(name, "").strip() for row in looked] for name in columns}
    sides = zip(cells[named["model_a"]], cells[named["model_b"]], strict=True)
    pairs = ["\0".join(sorted(pair)) for pair in sides]
    judges = cells[named["judge"]] if "judge" in named else None
    left = [name for name in columns if name and name not in named.values()]
    for name in sorted(left, key=lambda one: plain(one) not in _ITEMS):
        values = cells[name]
        kinds = len(set(values))
        if "" in values or kinds < 2 or REPEATS * kinds > len(values):
            continue
        is_usual = plain(name) in _ITEMS
        is_once = judges is not None and share_of_new(values, judges, pairs) >= MOSTLY
        is_one_pair = len(set(zip(values, pairs, strict=True))) * MOSTLY <= kinds
        if is_usual and (is_once or judges is None):
            return name
        if is_once and is_one_pair and kinds > len(set(pairs)):
            return name
    return ""


def _no_item() -> dict[str, str]:
    text = _(
        "Each comparison counts as an item of its own. If a column says which comparisons are "
        "about the same texts, choose it as Item."
    )
    return {"level": "warn", "head": _("No column is read as the item."), "text": text}


def signed_range(values: Iterable[str]) -> tuple[str, str] | None:
    """Return the lowest and highest preference; None unless they lie on both sides of 0."""
    given = {value.strip() for value in values} - {""}
    if not given or not all(NUMBER.fullmatch(value) for value in given):
        return None
    low, high = min(given, key=float), max(given, key=float)
    return (low, high) if -MOST_SIGNED <= float(low) < 0 < float(high) <= MOST_SIGNED else None


def _by_sign(reader: Reader, rows: list[Row]) -> list[Row]:
    """Rows whose preferences below 0 are for the left one, and above 0 for the right one."""
    column = reader.mapping.get("winner", "")
    found = signed_range(row.values.get(column, "") for row in rows)
    if found is None:
        return rows
    note = _("%(column)s from %(low)s to %(high)s: below 0 left wins, above 0 right, 0 is a tie.")
    reader.checked.notes.append(note % {"column": column, "low": found[0], "high": found[1]})
    return _sided(rows, column, 0.0, ("model_a", "tie", "model_b"))


def _sided(rows: list[Row], column: str, middle: float, sides: Sequence[str]) -> list[Row]:
    """Rows with the side below, at and above the middle; empty cells stay so."""
    signs = [float(row.values.get(column, "").strip() or "nan") - middle for row in rows]
    return [
        row
        if sign != sign  # noqa: PLR0124 (an empty cell is not a number)
        else Row(row.line, {**row.values, column: sides[(sign > 0) - (sign < 0) + 1]})
        for row, sign in zip(rows, signs, strict=True)
    ]


def middle_of(values: Iterable[str]) -> float | None:
    """The middle of preferences between the numbers of two; None where they are others, or few."""
    given = {value.strip() for value in values} - {""}
    if len(given) <= MOST_NUMBERED or not all(NUMBER.fullmatch(value) for value in given):
        return None
    numbers = list(map(float, given))
    middle = sum(SIDE_NUMBERS) / 2
    low, high = SIDE_NUMBERS
    return middle if low <= min(numbers) < middle < max(numbers) <= high else None


def _by_middle(reader: Reader, rows: list[Row], fixes: Fixes) -> list[Row]:
    """Rows whose preferences below and above the middle are for a side, as a person chose.

    Which side each is for is offered.
    """
    column = reader.mapping.get("winner", "")
    middle = middle_of(row.values.get(column, "") for row in rows)
    if middle is None:
        return rows
    chosen = fixes.get(column, {}).get(column, "")
    for side, text in (
        ("model_a", _("Below %(middle)s left won, above right")),
        ("model_b", _("Below %(middle)s right won, above left")),
    ):
        if side != chosen:
            offer(reader, "winner", column, side, text % {"middle": middle})
    if not chosen:
        return rows
    sides = ("model_a", "tie", "model_b") if chosen == "model_a" else ("model_b", "tie", "model_a")
    return _sided(rows, column, middle, sides)


def _anonymous(reader: Reader, rows: list[Row]) -> list[Row]:
    """Rows without those that a person left out as not anonymous, which is offered."""
    said = Counter(row.values.get(ANONYMOUS, "").strip() for row in rows)
    values = [value for value in said if value.casefold() == "false"]
    named = sum(said[value] for value in values)
    if 0 < named < len(rows):
        note = _("%(n)s were judged with the names of the systems in view.")
        reader.checked.notes.append(note % {"n": plural(named, "comparison")})
        one = {"column": ANONYMOUS, "use": LEFT_OUT, "text": _("Leave them out")}
        reader.checked.about["offers"] += [{**one, "value": value} for value in values]
    return [row for row in rows if row.values.get(ANONYMOUS) != LEFT_OUT]


def _without_repeats(reader: Reader, rows: list[Row]) -> list[Row]:
    """Rows without those that repeat a battle in all columns, its id and its time included."""
    if not {"question_id", "tstamp"} <= reader.mapping.keys():
        return rows
    first: dict[bytes, int] = {}
    found = []
    for row in rows:
        line = first.setdefault(text_print(repr(sorted(row.values.items()))), row.line)
        if line == row.line:
            found.append(row)
        else:
            reader.repeated(row, "question_id", line, _("columns"))
    return found


def _with_topics(battles: Iterable[dict[str, Any]]) -> Spool[dict[str, Any]]:
    """Battles without a topic under one, unless judges often compare the same two again."""
    bare = [one for one in battles if not (one["left"][1] or one["right"][1])]
    names = {one[side] for one in bare for side in ("left", "right")}
    if _compare_again(bare) or len(names) > MOST_SYSTEMS:
        return Spool(battles)
    return Spool(
        {**one, "topic": one["topic"] if one["left"][1] or one["right"][1] else TOPIC}
        for one in battles
    )


def _compare_again(battles: Sequence[Mapping[str, Any]]) -> bool:
    """Whether judges compare the same two again about as often as if two were drawn each time.

    Whoever gives every judge each pair once has few repeats; an arena draws two systems anew.
    """
    met = [(one["judge"], *sorted((one["left"], one["right"]))) for one in battles]
    again = len(met) - len(set(met))
    pairs = len({pair[1:] for pair in met})
    each = Counter(pair[0] for pair in met).values()
    drawn = sum(n - pairs * (1 - (1 - 1 / pairs) ** n) for n in each)
    return again > AGAIN * len(met) and 2 * again > drawn


def _table_facts(battles: Sequence[Mapping[str, Any]], again: int) -> dict[str, Any]:
    """The table in numbers."""
    judges, systems = Counter[str](), set[str]()
    ties = left = 0
    pairs = set[Any]()
    for one in battles:
        judges[one["judge"]] += 1
        systems |= {one["left"][0], one["right"][0]}
        ties += one["winner"] == "neutral"
        left += one["winner"] == "left"
        pairs.add((one["topic"], *sorted((one["left"], one["right"]))))
    warnings = []
    if list(judges) == [UNNAMED]:
        text = _("All comparisons count as one judge’s: intervals hold for this judge only.")
        warnings.append({"level": "warn", "head": _("No judge is named."), "text": text})
    if again:
        many = plural(again, "comparison")
        text = _("%(many)s of a pair that its judge compared before: the first counts.") % {
            "many": many
        }
        warnings.append({"level": "", "head": _("Some pairs are judged again."), "text": text})
    decided = len(battles) - ties
    return {
        "facts": [
            [_("Comparisons"), count(len(battles))],
            [_("Judges"), count(len(judges))],
            [_("Systems"), count(len(systems))],
            [_("Pairs"), count(len(pairs))],
            [_("Ties"), count(ties)],
            [_("Left wins"), percent(left / decided) if decided else "none"],
        ],
        "by": [plural(len(judges), "judge"), plural(len(systems), "system")],
        "warnings": warnings,
        "ties": ties,
        "counted": len(battles) - again,
        "cannot": []
        if decided
        else [_("Only ties"), _("No comparison was decided: nothing to rank.")],
    }
