"""Tables that become tasks: what readers of all kinds share, and how a kind is recognised."""

from __future__ import annotations

import itertools
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import (
    CheckedRows,
    Importer,
    Reader,
    Row,
    missing,
    note_spelling,
    plain,
)
from annotation.files.reading.literals import read_value
from annotation.files.reading.recognise import LOOKED_AT, MOSTLY
from annotation.files.reading.rows import Problem
from annotation.files.reading.values import (
    NUMBER,
    ROUNDED,
    SPACES,
    TRUTHS,
    UNSEEN,
    as_text,
    composed,
    plain_value,
)
from annotation.formats.imports.labels import MAX_COLUMNS, MAX_META
from annotation.formats.imports.tables.composite import columns_of_item, joined_items
from annotation.formats.imports.tables.summaries import summary_filter
from crowdqc.files.json_input import Unreadable
from crowdqc.numbers import count, mid_sentence, plural
from crowdqc.web.terms import Words

NAMED = 5  # names that a page lists
MAX_OFFERS = 50
LEAST_REPLACED = 5  # votes
REPLACED = "replaced"  # how many votes a later one of the same worker and item replaced
# Columns that name which of several scores a row is.
SCORE_NAMES = {"name", "scorename", "metric", "criterion", "dimension", "aspect", "kriterium"}
VALUES_BESIDE = {"score", "value"}  # beside which a key is the name of one
MOST_SCORES = 20
MARKS_OF_NONE = {"*", "-", "--", "–", "—", "?", "."}
MISSING = MARKS_OF_NONE | {
    *("<no annotation>", "na", "<na>", "n/a", "nan", "none", "null", "nil", "missing", "unknown"),
    *("\\n", "k. a.", "k.a.", "n. a.", "n.a.", "s. o.", "n. d.", "n.d."),
}  # what stands in a cell in place of no vote, without case
# Fields of several kinds that mean the same.
SAME_FIELDS = (
    ("worker", "worker_id", "judge"),
    ("item", "item_id", "question_id"),
    ("label", "winner", "score", "answer"),
    ("time", "tstamp", "at"),
)
DESCRIBE = {"system", "topic", "text"}  # fields that may name an item beside its own column
Fixes = Mapping[str, Mapping[str, str]]  # column -> value -> what it is read as


@dataclass(frozen=True)
class Fit:
    """Whether a file is of a kind, and in words what it has of it."""

    fits: bool
    said: str


class TableReader(Importer):
    """Reads a table of one kind. ``checked.about`` has what its page says, under these keys.

    ``facts``: [name, number] pairs; ``by``: the line beside the button; ``warnings``: {level, head,
    text}; ``cannot``: head and sentence where the rows cannot be scored; ``offers``: {column,
    value, use, text}, a value that can be read as another one with a click; ``label_columns`` of a
    matrix. Other columns that no field reads are kept (``meta``) with the item where they say the
    same in all of its rows, else with the answer.

    One rule for all kinds: a row with a problem is left out and named, and of a worker's rows on
    one item the last counts.
    """

    unit: str  # what a row is
    vote: str = ""  # the field that says what was given; its cells may hold it within JSON
    # What becomes of a column that no field reads.
    unread: Words = gettext_lazy("Keep as metadata")
    alike: tuple[tuple[str, ...], ...] = ()  # fields that name things, together where the same

    @abstractmethod
    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Rate how well the first rows of a file match this kind of table."""

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> CheckedRows:
        """Sort rows into good and bad; ``known`` are the fixes that a person chose."""
        checked = CheckedRows(about={"offers": []})
        worker, item = (
            next((mapping[name] for name in names if name in mapping), "")
            for names in SAME_FIELDS[:2]
        )
        rows = without_summaries(checked, rows, worker, item)
        self.read_spelled(Reader(mapping, checked), rows, known or {})
        return checked

    def read_spelled(self, reader: Reader, rows: Iterable[Row], fixes: Fixes) -> None:
        """Read rows after unifying spellings and applying the person's corrections."""
        rows, several = self._of_one_score(reader, rows, fixes)
        rows = self._with_whole_items(reader, rows, fixes)
        rows = self.opened(reader.mapping, rows, reader.checked.notes)
        spelled = Spellings(self.alike, reader, rows)
        self.read(reader, Repeated(partial(fixed, spelled, fixes)), fixes)
        spelled.note()
        reader.checked.about.setdefault("warnings", [])[:0] = spelled.warnings()
        if cannot := several or _reason_of_replaced(reader):
            reader.checked.about["cannot"] = cannot

    def opened(
        self, mapping: Mapping[str, str], rows: Iterable[Row], notes: list[str] | None = None
    ) -> Iterable[Row]:
        """Rows whose votes are taken out of JSON, as language models write it; it is noted."""
        column = mapping.get(self.vote, "")
        field = next((one for one in self.fields if one.name == self.vote), None)
        first = itertools.islice(rows, LOOKED_AT)
        if (
            not column
            or field is None
            or not any(HOLDS_JSON.match(row.values.get(column, "")) for row in first)
        ):
            return rows
        names = [plain(name) for name in (column, field.name, *field.also)]
        if notes is not None:
            note = _("%(column)s: what was given is read out of the JSON in its cells.")
            notes.append(note % {"column": column})
        return Repeated(partial(_without_json, rows, column, names))

    def _of_one_score(
        self, reader: Reader, rows: Iterable[Row], fixes: Fixes
    ) -> tuple[Iterable[Row], list[str]]:
        """Rows of one of several scores of an item, and why one has to be chosen if none is.

        A column called as names of scores are tells them apart where a worker's rows on one item
        differ in it.
        """
        names = ("worker", "item", self.vote)
        if not all(map(reader.mapping.get, names)):
            return rows, []
        columns = next(iter(rows), Row(0, {})).values
        read = set(reader.mapping.values())
        called = {plain(one) for one in columns}
        names_of = SCORE_NAMES | ({"key"} if called & VALUES_BESIDE else set())
        column = next((one for one in columns if plain(one) in names_of and one not in read), "")
        scores = _scores_of(reader, rows, column, names) if column else Counter[str]()
        if not scores:
            return rows, []
        chosen = fixes.get(column, {}).get(column, "")
        for score in scores:
            if score != chosen:
                text = _("Score only “%(score)s”") % {"score": score}
                one = {"column": column, "value": column, "use": score, "text": text}
                reader.checked.about["offers"].append(one)
        text = _("%(column)s holds %(scores)s. Choose which one to score.")
        told = {"column": column, "scores": plural(len(scores), "kind of score", "kinds of score")}
        use = chosen if chosen in scores else scores.most_common(1)[0][0]
        kept = Repeated(lambda: (row for row in rows if row.values.get(column, "").strip() == use))
        return kept, [] if chosen in scores else [_("Several scores"), text % told]

    def _with_whole_items(self, reader: Reader, rows: Iterable[Row], fixes: Fixes) -> Iterable[Row]:
        """Rows whose items have their whole name, where several columns hold it; it is noted."""
        worker, item, vote = (
            next((reader.mapping[name] for name in names if name in reader.mapping), "")
            for names in SAME_FIELDS[:3]
        )
        if not (worker and item and vote):
            return rows
        read = {column for name, column in reader.mapping.items() if name not in DESCRIBE}
        return self.whole_items(
            reader, rows, fixes, columns_of_item(rows, worker, item, vote, read)
        )

    def whole_items(
        self, reader: Reader, rows: Iterable[Row], fixes: Fixes, columns: list[str]
    ) -> Iterable[Row]:
        """Rows whose items are what ``columns`` name together, unless a person wants the first."""
        item = next((reader.mapping[name] for name in SAME_FIELDS[1] if name in reader.mapping), "")
        if not columns:
            return rows
        names = get_text_list(columns, _("and"))
        alone = fixes.get(item, {}).get(item) == item
        text = _("Read %(columns)s as the item") if alone else _("Read only %(item)s as the item")
        one = {"column": item, "value": item, "use": "" if alone else item}
        told = {"columns": names, "item": item}
        reader.checked.about["offers"].append({**one, "text": text % told})
        if alone:
            return rows
        reader.checked.notes.append(_("An item is what %(columns)s name together.") % told)
        return Repeated(partial(joined_items, rows, item, columns))

    def lacks(self, mapping: Mapping[str, str]) -> str:
        """Say which columns are missing, like ``no worker, item column``; "" if none."""
        names = ", ".join(mid_sentence(one.label) for one in missing(mapping, self.fields))
        return _("no %(names)s") % {"names": names} if names else ""


class Repeated(Iterable[Row]):
    """Rows that are made anew each time they are gone through."""

    def __init__(self, make: Callable[[], Iterator[Row]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Row]:
        return self._make()


def without_summaries(
    checked: CheckedRows, rows: Iterable[Row], worker: str, item: str
) -> Iterable[Row]:
    """Rows without totals below them, and without a consensus in place of a worker."""
    is_vote = summary_filter(rows, worker, item, checked.problems)
    return rows if is_vote is None else Repeated(lambda: filter(is_vote, rows))


def fixed(rows: Iterable[Row], fixes: Fixes) -> Iterator[Row]:
    """Yield the rows with the person's corrections of values applied."""
    for row in rows:
        changed = {
            column: told[row.values[column].strip()]
            for column, told in fixes.items()
            if row.values.get(column, "").strip() in told
        }
        yield Row(row.line, {**row.values, **changed}) if changed else row


def _reason_of_replaced(reader: Reader) -> list[str]:
    """Why rows cannot be scored most of which an item's later row replaces; [] if they can."""
    replaced = reader.checked.about.pop(REPLACED, 0)
    if replaced < max(LEAST_REPLACED, len(reader.checked.good)):
        return []
    worker, item = (
        next((reader.mapping[name] for name in names if name in reader.mapping), "")
        for names in SAME_FIELDS[:2]
    )
    text = _("%(worker)s and %(item)s are the same in %(rows)s with other votes.")
    told = {"worker": worker, "item": item, "rows": plural(replaced, "row")}
    mend = _("Choose the column that names items.")
    return [_("Votes replace each other"), f"{text % told} {mend}"]


def _scores_of(
    reader: Reader, rows: Iterable[Row], column: str, names: Sequence[str]
) -> Counter[str]:
    """Count rows by the score that a column names; empty where it tells no scores apart."""
    scores, keys, named = Counter[str](), set[tuple[str, str]](), set[tuple[str, str, str]]()
    for row in rows:
        worker, item, vote = (reader.value(row, name) for name in names)
        score = row.values.get(column, "").strip()
        if worker and item and vote and score:
            scores[score] += 1
            keys.add((worker, item))
            named.add((worker, item, score))
            if len(scores) > MOST_SCORES:
                return Counter()
    is_told = len(named) > len(keys) and len(named) >= MOSTLY * scores.total()
    return scores if is_told else Counter()


FENCE = re.compile(r"```\w*\s*(\{.*\})\s*```", re.DOTALL)
HOLDS_JSON = re.compile(r"\s*(?:```|\{)")


def _without_json(rows: Iterable[Row], column: str, names: Sequence[str]) -> Iterator[Row]:
    for row in rows:
        said = row.values.get(column, "")
        found = answer_in_json(said, names) if HOLDS_JSON.match(said) else said
        yield row if found == said else Row(row.line, {**row.values, column: found})


def answer_in_json(cell: str, names: Sequence[str]) -> str:
    """The value of the first of ``names`` in a cell's JSON object, fenced or not, or its only one.

    The cell where there is none.
    """
    fenced = FENCE.search(cell)
    try:
        held = read_value(fenced[1] if fenced else cell)
    except Unreadable:
        return cell
    by_name = {plain(name): value for name, value in held.items()} if isinstance(held, dict) else {}
    found = next((by_name[name] for name in names if name in by_name), None)
    if len(by_name) == 1:
        (found,) = by_name.values()
    return cell if found is None or isinstance(found, dict | list) else as_text(found)


class Spellings(Iterable[Row]):
    """Rows in which a name or label has one spelling; what is changed is said once a field.

    Names are ``composed``. 1.0 and 1 are one where a field holds only numbers, TRUE, true and WAHR
    where it holds only truth values: the form is used that the file writes most often, or first.
    """

    def __init__(
        self, groups: Iterable[Sequence[str]], reader: Reader, rows: Iterable[Row]
    ) -> None:
        self.reader, self.rows = reader, rows
        kinds: dict[str, _Kind] = {}
        for group in groups:
            kinds |= dict.fromkeys(filter(None, map(reader.mapping.get, group)), _Kind())
        for row in rows if kinds else ():
            for column, kind in kinds.items():
                kind.look(row.values.get(column, "").strip())
        self.kinds = kinds
        self.changed: dict[str, list[Any]] = {}

    def __iter__(self) -> Iterator[Row]:
        self.changed = {}
        for row in self.rows:
            told: dict[str, str] = {}
            for column, kind in self.kinds.items():
                said = row.values.get(column, "").strip()
                use = kind.spell(said)
                if use != said:
                    told[column] = use
                    self.changed.setdefault(column, [0, said, use])[0] += 1
            yield Row(row.line, {**row.values, **told}) if told else row

    def note(self) -> None:
        """Add a note for each value that was read as another spelling."""
        for column, (n, said, use) in self.changed.items():
            if use == composed(said) and (UNSEEN.search(said) or SPACES.search(said)):
                wrong = _("%(column)s: spaces and signs that nobody sees are read as in “%(use)s”.")
            elif use == composed(said):
                wrong = _("%(column)s: accents encoded in two ways are read as one (“%(use)s”).")
            else:
                self.reader.checked.notes.append(note_spelling(column, n, said, use))
                continue
            self.reader.checked.notes.append(wrong % {"column": column, "use": use})

    def warnings(self) -> list[dict[str, str]]:
        """Return a warning for each column whose long numbers a spreadsheet has rounded."""
        head = _("A spreadsheet has rounded numbers.")
        wrong = _(
            "%(column)s holds “%(value)s”: different numbers may look the same. Export the file "
            "again with this column as text."
        )
        return [
            {
                "level": "warn",
                "head": head,
                "text": wrong % {"column": column, "value": kind.rounded},
            }
            for column, kind in self.kinds.items()
            if kind.rounded
        ]


class _Kind:
    """What the values of a field are: numbers, truth values, or names."""

    def __init__(self) -> None:
        self.numbers = self.truths = True
        self.rounded = ""  # the first number of which a spreadsheet left a few digits
        self.written: Counter[str] = Counter()  # while they are numbers or truth values

    def look(self, said: str) -> None:
        """Take one more value into account."""
        if not said:
            return
        if not self.rounded and ROUNDED.fullmatch(said):
            self.rounded = said
        if self.numbers or self.truths:
            self.numbers = self.numbers and NUMBER.fullmatch(said) is not None
            self.truths = self.truths and said.casefold() in TRUTHS
            self.written[said] += 1

    @cached_property
    def forms(self) -> dict[str, str]:
        """The usual form of each number or truth value that is written in another one, too."""
        usual: dict[str, str] = {}
        found: dict[str, str] = {}
        for said, _n in self.written.most_common() if self.numbers or self.truths else ():
            meant = TRUTHS.get(said.casefold(), "") if self.truths else plain_value(said)
            if (use := usual.setdefault(meant, said)) != said:
                found[said] = use
        self.written.clear()
        return found

    def spell(self, said: str) -> str:
        """The one spelling of a value."""
        return self.forms.get(said) or composed(said)


def unread(reader: Reader, row: Row) -> dict[str, str]:
    """Return a row's columns that no field reads, which are stored with its item or answer."""
    read = set(reader.mapping.values())
    return {
        name: value.strip()[:MAX_META]
        for name, value in itertools.islice(row.values.items(), MAX_COLUMNS)
        if name and name not in read and value.strip()
    }


def offer(reader: Reader, name: str, value: str, use: str, text: str) -> None:
    """Offer a person to read ``value`` of a field as ``use``."""
    one = {"column": reader.column(name), "value": value, "use": use, "text": text}
    offers = reader.checked.about["offers"]
    if one not in offers and len(offers) < MAX_OFFERS:
        offers.append(one)


def offer_cases(reader: Reader, field: str, given: Mapping[str, int]) -> None:
    """Offer to read names that differ by case alone as the one that is given most often."""
    first: dict[str, str] = {}
    for name in sorted(given, key=lambda one: -given[one]):
        use = first.setdefault(name.casefold(), name)
        if use != name and field in reader.mapping:
            text = _("Read “%(label)s” as “%(first)s”") % {"label": name, "first": use}
            offer(reader, field, name, use, text)


class LastCounts:
    """Rows by worker and item, of which the last counts; the earlier ones are named."""

    def __init__(self, reader: Reader, names: Sequence[str], said: str) -> None:
        self.reader, self.names, self.said = reader, list(names), said
        self.found: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
        self.written: dict[tuple[str, ...], str] = {}  # by the file, of numbers

    def take(self, row: Row, key: tuple[str, ...], one: dict[str, Any]) -> None:
        """Take in a row; it replaces an earlier one of the same worker and item."""
        line, before = self.found.get(key, (row.line, one))
        if line != row.line and before[self.said] == one[self.said]:
            self.reader.repeated(row, self.names, line, self.said)
            return
        if line != row.line:
            wrong = _("%(key)s has this item again on line %(line)s.") % {
                "key": key[0],
                "line": count(row.line),
            }
            where, value = self.reader.column(self.said), self.written.get(key, before[self.said])
            self.reader.checked.problems.append(
                Problem(line, where, value, wrong, _("The last one counts."))
            )
            about = self.reader.checked.about
            about[REPLACED] = about.get(REPLACED, 0) + 1
        self.found[key] = (row.line, one)
        if not isinstance(one[self.said], str):
            self.written[key] = self.reader.value(row, self.said)

    def good(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield line and row of each answer that counts."""
        return iter(self.found.values())
