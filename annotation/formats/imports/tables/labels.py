"""A table of labels that is to become a task: a label a row, or a matrix of items and workers."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from annotation.files.reading import limits
from annotation.files.reading.importer import (
    MAX_ID,
    CheckedRows,
    Field,
    Problems,
    Reader,
    Row,
    Times,
    guess,
    same_name,
)
from annotation.files.reading.recognise import (
    GOLD,
    ITEMS,
    LABELS,
    LONG,
    LOOKED_AT,
    NA,
    NAMELESS,
    NUMBERED,
    WIDE,
    WORKERS,
    Layout,
    is_constant,
    item_by_id,
    layout_of,
    named_column,
    told_by_rows,
)
from annotation.files.reading.rows import Problem
from annotation.files.reading.tables import UNNAMED
from annotation.files.reading.values import plain_value
from annotation.formats.imports.items import made_id
from annotation.formats.imports.tables.base import (
    DESCRIBE,
    MARKS_OF_NONE,
    MISSING,
    NAMED,
    Fit,
    Fixes,
    LastCounts,
    Repeated,
    TableReader,
    offer,
    offer_cases,
    unread,
    without_summaries,
)
from annotation.formats.imports.tables.composite import columns_of_item
from annotation.formats.imports.tables.people import (
    admin_columns,
    are_new,
    are_times,
    person_of_survey,
)
from annotation.formats.imports.tables.summaries import is_summary
from annotation.task_types.labels.fields import MAX_OPTIONS
from annotation.task_types.scales import MAX_LABEL
from crowdqc import numbers
from crowdqc.errors import Invalid
from crowdqc.numbers import plural

MIN_COUNTED = 5  # rows with one sum from which a matrix is one of counts
MANY = 10  # labels that a worker gave before "always the same one" says something
MAX_SPELLINGS = 10 * MAX_OPTIONS  # of labels, misspelled ones included
MOST_DIGITS = 9
WHOLE = re.compile(r"-?\d{1,9}")
DIGITS = re.compile(r"\d+")
COUNTED = re.compile(r"[VX]?\d+")  # a column that R or Python named
MAX_NAMED = 10  # columns that a note names
# What a spreadsheet makes of 1-2, by the month's first letters in three languages.
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *(("jan", "ene"), ("feb",), ("mar", "mär", "mrz"), ("apr", "abr"), ("may", "mai")),
            *(("jun",), ("jul",), ("aug", "ago"), ("sep",), ("oct", "okt"), ("nov",)),
            ("dec", "dez", "dic"),
        ),
        1,
    )
    for name in names
}
DATE = re.compile(
    rf"(?P<day>\d{{1,2}})[-. ]{{1,2}}(?P<month>{'|'.join(MONTHS)})\.?|"
    rf"(?P<month_first>{'|'.join(MONTHS)})\.?[- ](?P<year>\d{{2}})",
    re.IGNORECASE,
)
SHARED = 5  # items of two workers from which having no label in common says something
MOST_WORDINGS = 100  # sets of labels that are compared
RARE = 20  # a spelling is rare that is given so many times less often than its like
TIMES = (
    *("answered_at", "submitted_at", "timestamp", "created_at", "date", "datetime"),
    *("zeitstempel", "marca temporal", "horodateur"),
)
COMMENT = re.compile(
    r"comment|remark|feedback|anything else|kommentar|anmerkung|comentario|observaci|remarque|"
    r"reason|rationale|explanation",
    re.IGNORECASE,
)
# How often a row occurs, where each pattern of labels has one.
COUNTS = {
    *("n", "count", "counts", "freq", "frequency", "anzahl", "häufigkeit", "effectif", "nombre"),
    *("fréquence", "frecuencia", "conteo", "recuento"),
}
PEOPLE = re.compile(
    r"(?:(?:human|expert)[\s_-]*)?(?:coder|rater|annotator|observer|judge|worker|labell?er|reviewer|"
    r"jurad[oa]|juror(?:in)?|examiner|marker|korrektor(?:in)?|prüfer(?:in)?|gutachter(?:in)?|"
    r"kodierer(?:in)?|bewerter(?:in)?|annotateur|codeur|juge|anotador|codificador|evaluador|"
    r"annotatore|avaliador|аннотатор|разметчик|асессор|эксперт|оценщик|标注员|标注者|标注人|评审|评委|"
    r"評価者|アノテーター|작업자|평가자|주석자|라벨러)"
    r"[\W_]*(?:\d{1,4}|[a-z])?(?:\s*[(（\[][^)）\]]*[)）\]])?",
    re.IGNORECASE,
)
WORDS_OF_PERSON = 2  # behind the word for a rater in a name
LEAST_PEOPLE = 2  # columns of numbered raters, from which the other ones describe the items
FEW = 2  # times as many numbered columns as rows, from which the rows are workers
TEXTS = (
    "item_text",
    "displayed_text",
    "sentence",
    "instruction",
    *("satz", "kommentar", "texto", "frase", "comentario"),
    "content",
    "document",
    "message",
    "tweet",
    "claim",
)

WHAT = gettext_lazy("an item or its text")
TEXT = Field("text", gettext_lazy("Item text"), False, TEXTS)

NONE = {
    "worker": gettext_noop("No worker"),
    "item": gettext_noop("No item"),
    "label": gettext_noop("No label"),
}


class LabelTable(TableReader):
    """Rows {worker, item, label, gold, text, at, about_item, meta}; a worker labels an item once.

    Without a column of items, an item gets an id made of its text.
    ``about_item``, in an item's first row, and ``meta`` are the columns that no field reads.
    """

    slug = "label_table"
    title = gettext_lazy("Labels")
    unit = vote = "label"
    alike = (("label", "gold"), ("worker",), ("item",))
    fields: tuple[Field, ...] = (
        Field("worker", gettext_lazy("Worker"), True, WORKERS),
        Field("item", gettext_lazy("Item"), False, (*ITEMS, *NUMBERED), WHAT),
        Field("label", gettext_lazy("Label"), True, (*LABELS, "preference")),
        Field("gold", gettext_lazy("Known answer"), False, GOLD),
        Field("time", gettext_lazy("Time"), False, TIMES),
        replace(TEXT, either=WHAT),
    )
    limits = (
        ("worker", 120, gettext_noop("a worker id")),
        ("item", 80, gettext_noop("an item id")),
        ("label", MAX_LABEL, gettext_noop("a label")),
        ("gold", MAX_LABEL, gettext_noop("a label")),
        ("text", 20_000, gettext_noop("a text")),
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by name, or else by the contents of the first rows."""
        named = guess(columns, self.fields)
        if "text" in named and (item := named.get("item")) and is_constant(item, rows):
            del named["item"]  # what the same in all rows is no item
        others = {column for name, column in named.items() if name in ("time", "text")}
        found = layout_of(columns, rows, others)
        if found is None and "item" not in named and {"worker", "label"} <= named.keys():
            item = item_by_id(columns, rows, named, "worker")
            return {**named, "item": item} if item else named
        if found is None or found.kind != LONG:
            looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
            return told_by_rows(named, columns, looked)
        said = {"worker": found.worker, "item": found.item, "label": found.label}
        if found.gold or "gold" in named:
            said["gold"] = found.gold or named["gold"]
        taken = set(said.values())
        return said | {
            name: column
            for name, column in named.items()
            if name in ("time", "text") and column not in taken
        }

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Worker, item and label are there, and the label takes few values."""
        mapping = self.guess(columns, rows)
        if lacks := self.lacks(mapping):
            return Fit(False, lacks)
        opened = self.opened(mapping, rows)
        values = {row.values.get(mapping["label"], "").strip() for row in opened} - {""}
        said = _("%(label)s has %(differents)s") % {
            "label": mapping["label"],
            "differents": plural(len(values), "different value"),
        }
        return Fit(len(values) <= MAX_OPTIONS, said)

    def read(self, reader: Reader, rows: Iterable[Row], known: Fixes) -> None:
        """Labels by worker and item; a rare spelling of a usual label is left out until chosen."""
        last, gold = LastCounts(reader, ("worker", "item"), "label"), dict[str, tuple[int, str]]()
        kept, times = _Kept(), Times(reader, "time", rows)
        for row in rows:
            with reader:
                one = self._label(reader, row, gold, times)
                kept.take(one)
                last.take(row, (one["worker"], one["item"]), one)
        times.note()
        found = list(last.good())
        _sort_several(reader, [one for _, one in found])
        labels = Counter(one["label"] for _, one in found)
        _check_few_labels(
            reader, len(labels), MAX_SPELLINGS
        )  # before each is held against the usual ones
        usual = misspelled(labels, set(known.get(reader.column("label"), {}).values()))
        found = [
            (line, one) for line, one in found if not _refused(reader, line, one, usual, labels)
        ]
        labels = Counter(one["label"] for _, one in found)
        _offer_readings(reader, labels)
        self._meet(reader, found, labels, gold)
        options = len(labels.keys() | {answer for _, answer in gold.values()})
        _check_few_labels(reader, options, MAX_OPTIONS)
        for _line, one in found:
            one["about_item"], one["meta"] = kept.of_item(one["item"]), kept.of_row(one["meta"])
            reader.checked.good.append(one, len(one["text"]))
        self._count(reader.checked, found)
        for name in ("worker", "item"):
            offer_cases(reader, name, Counter(one[name] for _line, one in found))
        reader.checked.about |= _table_facts([one for _, one in found], labels, gold)

    def _label(
        self, reader: Reader, row: Row, gold: dict[str, tuple[int, str]], times: Times
    ) -> dict[str, Any]:
        """Read the label of a row. Raises Refused."""
        what = "item" if "item" in reader.mapping else "text"
        for name, wrong in NONE.items():
            field = what if name == "item" else name
            reader.needed(row, field, wrong, gettext_noop("Left out."))
        reader.limit(row, self.limits)
        item, known = reader.value(row, "item"), reader.value(row, "gold")
        item = item or made_id({"topic": "", "context": "", "question": reader.value(row, "text")})
        if known:
            line, first = gold.setdefault(item, (row.line, known))
            if first != known:
                wrong = _("This item has the known answer %(first)s on line %(line)s.") % {
                    "first": first,
                    "line": numbers.count(line),
                }
                reader.refuse(row, "gold", wrong, _("Left out. Give each item one known answer."))
        return {
            "worker": reader.value(row, "worker"),
            "item": item,
            "label": reader.value(row, "label"),
            "gold": known,
            "text": reader.value(row, "text"),
            "at": times.read(row),
            "meta": unread(reader, row),
        }

    @staticmethod
    def _meet(
        reader: Reader,
        found: Sequence[tuple[int, dict[str, Any]]],
        labels: Counter[str],
        gold: dict[str, tuple[int, str]],
    ) -> None:
        """Read a known answer as the label that differs from it by case alone."""
        by_case: dict[str, list[str]] = defaultdict(list)
        for label in labels:
            by_case[label.casefold()].append(label)
        used: dict[str, str] = {}
        for item, (line, known) in gold.items():
            near = by_case.get(known.casefold(), [])
            if known not in labels and len(near) == 1:
                used[known], gold[item] = near[0], (line, near[0])
        for _line, one in found:
            one["gold"] = used.get(one["gold"], one["gold"])
        for known, label in itertools.islice(used.items(), 1):
            reader.checked.notes.append(
                _("Known answers: “%(known)s” is read as the label “%(label)s”.")
                % {"known": known, "label": label}
            )

    @staticmethod
    def _count(checked: CheckedRows, found: Sequence[tuple[int, Any]]) -> None:
        """Note how many rows of the file are used, where that differs from the number of labels."""


class LabelMatrix(LabelTable):
    """A row an item and a column a worker, or, where a column names workers, the other way round.

    Every column that no field reads is one of them, but for those that hold no such labels, which
    are named; an empty cell is no label.
    """

    slug = "label_matrix"
    title = gettext_lazy("Labels as a matrix")
    unread = gettext_lazy("Labels")
    fields = (
        Field("item", gettext_lazy("Item"), False, (*ITEMS, *NUMBERED)),
        Field("worker", gettext_lazy("Worker"), False, WORKERS),
        Field("gold", gettext_lazy("Known answer"), False, GOLD),
        TEXT,
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Guess the columns that name the rows, hold their text, and their known answers."""
        looked = list(itertools.islice(rows, LOOKED_AT))
        if person := person_of_survey(columns, looked):
            return {"worker": person}
        found, turned = _matrix(columns, looked)
        named = guess(columns, self.fields)
        if found is None:
            return named
        said = {"worker" if turned else "item": found.item, "gold": found.gold}
        if not turned:
            texts = [name for name in columns if name != found.item and _is_text(name, looked)]
            text = named.get("text") or (texts[0] if len(texts) == 1 else "")
            said["text"] = "" if text == found.item else text
        return {name: column for name, column in said.items() if column}

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """A column names the rows, and the others share a few labels."""
        if person := person_of_survey(columns, rows):
            return Fit(True, _("a row for each %(column)s") % {"column": person})
        found, _kind = _matrix(columns, rows)
        # Numbers of all kinds may share values; a file without a header has no other columns.
        is_named = found is not None and (found.item or people_among(found.workers))
        if found is None or not (is_named or found.workers[:1] == (NAMELESS % 1,)):
            return Fit(False, "no columns that share labels")
        return Fit(
            True,
            _("%(columns)s with the same labels")
            % {"columns": plural(len(found.workers), "column")},
        )

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> CheckedRows:
        """Check the rows, as those of a table with one label a row."""
        checked = CheckedRows(about={"offers": []})
        own = mapping.get("item") or mapping.get("worker", "")
        rows = without_summaries(checked, rows, mapping.get("worker", ""), own)
        shared, left = _label_columns(rows, set(mapping.values()))
        rows, left = self._of_whole_items(Reader(mapping, checked), rows, known, shared, left)
        count = _count_column(rows, mapping, left)
        names = ("worker", "item", "label", "gold", "text")
        reader = Reader({name: name for name in names}, checked)
        said = (known or {}).get("label", {})
        marks = _marks_of_none(rows, shared)
        none = {value for value, use in said.items() if not use} or (NA | marks) - said.keys()
        turned = "worker" in mapping or _names_nothing(rows, mapping, shared)
        if turned and mapping.get("worker", UNNAMED) == UNNAMED:
            note = _("Rows are read as workers and columns as items, as there are fewer rows.")
            checked.notes.append(note)
        elif turned and not named_column([mapping["worker"]], WORKERS):
            note = _("Rows are read as workers, whom %(column)s tells apart, columns as items.")
            checked.notes.append(note % {"column": mapping["worker"]})
        sums = [name for name in left if is_summary(name)]
        if sums:
            note = _("Columns left out, as they sum up others: %(columns)s.")
            checked.notes.append(note % {"columns": ", ".join(sums)})
        if left := [name for name in left if name not in (*sums, count)]:
            checked.notes.append(_names_left_out(left))
        votes = rows
        if count:
            votes = Repeated(partial(_repeated_rows, rows, own, count))
            note = _("%(column)s counts how often a row occurs: %(rows)s stand for %(items)s.")
            many = plural(sum(int(row.values[count]) for row in rows), "item")
            told = {"rows": plural(sum(1 for _row in rows), "row"), "items": many}
            checked.notes.append(note % {"column": count, **told})
        long = Repeated(partial(_cells, votes, mapping, shared, none, turned))
        empty = Counter(
            value
            for row in rows
            for name in shared
            if (value := row.values.get(name, "").strip()) in none
        )
        if empty:
            checked.notes.append(
                ngettext(
                    "%(n)s cell “%(value)s” is no label.",
                    "%(n)s cells “%(value)s” are no labels.",
                    empty.total(),
                )
                % {"n": numbers.count(empty.total()), "value": "”, “".join(sorted(empty))}
            )
            for value in sorted(empty):
                text = _("Keep “%(value)s” as a label") % {"value": value}
                offer(reader, "label", value, value, text)
        for row in rows:
            if all(row.values.get(name, "").strip() in none | {""} for name in shared):
                left_out = Problem(row.line, "", "", _(NONE["label"]), _("Left out."))
                checked.problems.append(left_out)
        self.read_spelled(reader, long, known or {})
        checked.about["label_columns"] = sorted(shared)
        if _are_counts(rows, shared):
            text = _(
                "Each row adds up to the same number: it says how many workers gave each label, "
                "not who did. Bring a row for each worker and item."
            )
            checked.about["cannot"] = [_("Counts of labels"), text]
        return checked

    def _of_whole_items(
        self,
        reader: Reader,
        rows: Iterable[Row],
        fixes: Fixes | None,
        shared: set[str],
        left: Sequence[str],
    ) -> tuple[Iterable[Row], list[str]]:
        """Rows whose items have their whole name, and the columns that are still left."""
        own, columns = reader.mapping.get("item", ""), list[str]()
        if own and "worker" not in reader.mapping:
            read = {column for name, column in reader.mapping.items() if name not in DESCRIBE}
            columns = columns_of_item(rows, "", own, "", shared | read)
        whole = self.whole_items(reader, rows, fixes or {}, columns)
        return whole, [name for name in left if name not in columns]

    def _with_whole_items(self, reader: Reader, rows: Iterable[Row], fixes: Fixes) -> Iterable[Row]:
        """The rows: each had its whole item before it became several."""
        return rows

    @staticmethod
    def _count(checked: CheckedRows, found: Sequence[tuple[int, Any]]) -> None:
        """Count rows, not cells: a row is given twice where each of its labels is."""
        used = {line for line, _ in found} - checked.bad_lines
        whole = {one.line: one for one in checked.repeats if one.line not in checked.bad_lines}
        checked.rows = len(used)
        checked.repeats = Problems(one for line, one in whole.items() if line not in used)


def _matrix(columns: Sequence[str], rows: Iterable[Row]) -> tuple[Layout | None, bool]:
    """The layout of a matrix, and whether its rows are workers; None where it is none."""
    usual = {same_name(name) for name in WORKERS}
    worker = next((name for name in columns if same_name(name) in usual), "")
    named = guess(columns, (Field("item", gettext_lazy("Item"), True, ITEMS),))
    turned = bool(worker) and not named and len(people_among(columns)) < LEAST_PEOPLE
    if turned:  # the same matrix, whose rows are called items
        columns = ["item" if name == worker else name for name in columns]
        rows = (
            Row(row.line, {**row.values, "item": row.values.get(worker, "")})
            for row in itertools.islice(rows, LOOKED_AT)
        )
    looked = list(itertools.islice(rows, LOOKED_AT))
    fields = (Field("item", "", False, ITEMS), *(Field("time", "", False, TIMES), TEXT))
    aside = [column for name, column in guess(columns, fields).items() if name != "item"]
    texts = {name for name in columns[1:] if _is_text(name, looked)} | set(aside)
    known = named_column(columns, GOLD)
    cells = {name: {row.values.get(name, "").strip() for row in looked} for name in columns}
    beside = _beside(cells) - {known, *named.values()}
    texts |= beside
    found = layout_of(columns, looked, texts)
    if found is None or found.kind != WIDE:
        return None, False
    if turned:
        return replace(found, item=worker), True
    aside = [*(name for name in columns if name in beside and name not in aside), *aside]
    texts_of = [name for name in aside if are_new(row.values.get(name, "") for row in looked)]
    if not found.item and texts_of:  # a text names its row where nothing else does
        return replace(found, item=texts_of[0]), False
    return found, _counts_workers(found, looked)


def _beside(cells: Mapping[str, set[str]]) -> set[str]:
    """The columns that sum up others, or that count: called so, and of whole numbers."""
    initials = [name for name in cells if len(name) == 1]
    names = COUNTS if len(initials) < 2 else COUNTS - {"n"}  # which may be a worker
    return (
        {
            name
            for name, values in cells.items()
            if is_summary(name)
            or (name.strip().casefold() in names and all(map(WHOLE.fullmatch, values - {""})))
        }
        | _described(cells)
        | _comments(cells)
    )


def _comments(cells: Mapping[str, set[str]]) -> set[str]:
    """The columns that are called comments, and share nothing with the others."""
    called = {name for name in cells if COMMENT.search(name)}
    others = set[str]().union(*(cells[name] for name in cells.keys() - called)) - {""}
    return {name for name in called if cells[name].isdisjoint(others)}


def people_among(columns: Iterable[str]) -> list[str]:
    """Return the columns that are called as one of several raters: ``rater1``, ``Coder Anna``."""
    names = [name for name in columns if name and not named_column([name], WORKERS)]
    by_word: dict[str, list[str]] = defaultdict(list)
    for name in names:
        word, _space, rest = name.strip().partition(" ")
        if rest and len(rest.split()) <= WORDS_OF_PERSON and PEOPLE.fullmatch(word.strip(".:")):
            by_word[word.casefold()].append(name)
    alike = {
        name
        for group in by_word.values()
        if len(group) > 1 and not any(map(COMMENT.search, group))
        for name in group
    }
    return [name for name in names if PEOPLE.fullmatch(name) or name in alike]


def _described(cells: Mapping[str, set[str]]) -> set[str]:
    """The columns beside those of numbered raters that hold other values, or say who was rated."""
    people = people_among(cells)
    given = set[str]().union(*(cells[name] for name in people))
    return {
        name
        for name, values in cells.items()
        if len(people) >= LEAST_PEOPLE
        and name not in people
        and (named_column([name], WORKERS) or not values <= given)
    }


def _is_text(name: str, rows: Sequence[Row]) -> bool:
    """Whether a column describes the items: nearly each value is another one, of several words."""
    values = [value for row in rows if (value := row.values.get(name, "").strip())]
    worded = sum(" " in value for value in values)
    return worded > len(values) / 2 and len(set(values)) > 0.9 * len(values)


def _label_columns(rows: Iterable[Row], read: set[str]) -> tuple[set[str], list[str]]:
    """Columns that hold labels, and those that hold something else.

    They share a label with another column, are numbered like one that does, or hold whole numbers
    of its scale.
    """
    values: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for column, label in row.values.items():
            if column and column not in read and len(values[column]) <= MAX_OPTIONS:
                values[column].add(plain_value(label if label.strip() not in NA else ""))
    beside = _beside(values) | set(admin_columns(values))
    aside = [name for name in values if name in beside]
    unlabelled = {name for name, mine in values.items() if mine - {""} == {"*"}}
    values = {
        name: mine - {"", "*"}
        for name, mine in values.items()
        if mine - {"", "*"} and not are_times(mine) and name not in aside
    }
    held = Counter(label for mine in values.values() for label in mine)
    shared = {name for name, mine in values.items() if any(held[label] > 1 for label in mine)}
    labels = set[str]().union(*(values[name] for name in shared))
    numbers = list(map(int, labels)) if all(map(WHOLE.fullmatch, labels)) else []
    low, high = min(numbers, default=0) - 1, max(numbers, default=0) + 1
    scale = set(map(str, range(low, high + 1) if numbers and high - low <= MAX_OPTIONS else ()))
    numbered = {DIGITS.sub("", name) for name in shared if DIGITS.search(name)}
    for name in values.keys() - shared:
        is_label = len(values[name]) <= MAX_OPTIONS and len(max(values[name], key=len)) <= MAX_LABEL
        is_alike = DIGITS.search(name) and DIGITS.sub("", name) in numbered
        if is_label and (is_alike or values[name] <= scale):
            shared.add(name)
    return shared | unlabelled, [name for name in values if name not in shared] + aside


def _count_column(rows: Iterable[Row], mapping: Mapping[str, str], left: Sequence[str]) -> str:
    """The column that says how often a pattern of labels occurs; "" without.

    No pattern occurs in two rows, and these are numbered or have no names.
    """
    counts = [name for name in left if name.strip().casefold() in COUNTS]
    own = mapping.get("item", "")
    if len(counts) != 1 or "worker" in mapping:
        return ""
    patterns, number, most = set[tuple[str, ...]](), 0, 0
    for number, row in enumerate(rows, 1):
        said = row.values.get(counts[0], "").strip()
        is_numbered = not own or row.values.get(own, "").strip() in (str(number), str(number - 1))
        if not is_numbered or not said.isdecimal() or len(said) > MOST_DIGITS:
            return ""
        most = max(most, int(said))
        aside = (own, *left)
        patterns.add(tuple(label for name, label in row.values.items() if name not in aside))
    return counts[0] if most > 1 and len(patterns) == number else ""


def _repeated_rows(rows: Iterable[Row], own: str, count: str) -> Iterator[Row]:
    """Each row as often as it occurs, as items of their own."""
    for row in rows:
        for number in range(1, int(row.values[count]) + 1):
            name = {own: f"{row.values.get(own, '')}-{number}"} if own else {}
            yield Row(row.line, {**row.values, **name})


def _marks_of_none(rows: Iterable[Row], shared: set[str]) -> set[str]:
    """Marks that stand in cells of a matrix of whole numbers in place of one."""
    given = {row.values.get(name, "").strip() for row in rows for name in shared} - NA - {""}
    marks = given & MARKS_OF_NONE
    return marks if all(map(WHOLE.fullmatch, given - marks)) else set()


def _names_left_out(left: Sequence[str]) -> str:
    """Say which columns are not scored."""
    more = "" if len(left) <= MAX_NAMED else f" (+{len(left) - MAX_NAMED:,})"
    return _("Not read as labels, which they do not share with other columns: %(columns)s.") % {
        "columns": ", ".join(left[:MAX_NAMED]) + more
    }


def _names_nothing(rows: Iterable[Row], mapping: Mapping[str, str], shared: set[str]) -> bool:
    """Whether neither rows nor columns have names and rows are fewer, as reliability data are."""
    nameless = NAMELESS % 1 in shared and not mapping
    return nameless and len(list(itertools.islice(rows, len(shared)))) < len(shared)


def _counts_workers(found: Layout, rows: Sequence[Row]) -> bool:
    """Whether rows are workers: by their names, or as fewer than columns that are only numbered."""
    names = [row.values.get(found.item, "").strip() for row in rows]
    if all(map(PEOPLE.fullmatch, names)) and not any(map(PEOPLE.fullmatch, found.workers)):
        return True
    if not all(map(COUNTED.fullmatch, found.workers)):
        return False
    if all(map(str.isdecimal, names)):
        return found.item == UNNAMED and len(names) < len(found.workers)
    return bool(found.item) and FEW * len(names) <= len(found.workers)


def _are_counts(rows: Iterable[Row], shared: set[str]) -> bool:
    """Whether rows hold how often each label was given: whole numbers with one sum."""
    sums, most, number = set[int](), 0, 0
    for row in rows:
        number += 1
        cells = [row.values.get(name, "").strip() for name in shared]
        if not all(cell.isdecimal() and len(cell) < 10 for cell in cells):
            return False
        counts = list(map(int, cells))
        sums.add(sum(counts))
        most = max([most, *counts])
        if len(sums) > 1:
            return False
    return number >= MIN_COUNTED and most > 1


def _cells(
    rows: Iterable[Row],
    mapping: Mapping[str, str],
    shared: set[str],
    none: set[str],
    turned: bool,
) -> Iterator[Row]:
    """A row for each label of a matrix, with its line; no more of them than a file may have rows.

    Raises Invalid. 64 MB of matrix may hold 30 million labels, which no memory holds as rows.
    """
    labels, most = 0, limits.current().rows
    for place, row in enumerate(rows, 1):
        values = {name: said for name, said in row.values.items() if name not in shared}
        values |= {name: row.values.get(column, "") for name, column in mapping.items()}
        own = values.get("worker" if turned else "item", "") or _("row %(place)s") % {
            "place": place
        }
        for column, label in row.values.items():
            if column in shared and label.strip() not in none | {""}:
                worker, item = (own, column) if turned else (column, own)
                labels += 1
                if labels > most:
                    raise Invalid(
                        _("The matrix has more than %(most)s labels.")
                        % {"most": numbers.count(most)},
                        fields={"file": _("Split it into smaller files.")},
                    )
                told = {**values, "worker": worker, "item": item, "label": label}
                if turned and len(item) > MAX_ID:  # a question in full
                    told |= {"item": short_id(item), "text": item}
                yield Row(row.line, told)


def short_id(name: str) -> str:
    """Return the id of an item whose column is called by its text: its code, or one made of it."""
    code, dot, _text = name.partition(". ")
    if dot and len(code) <= MAX_ID and " " not in code:
        return code
    return made_id({"topic": "", "context": "", "question": name})


class _Kept:
    """Columns that no field reads: of an item where they say the same in all of its rows."""

    def __init__(self) -> None:
        self.told: dict[str, dict[str, str]] = {}
        self.varying: set[str] = set()

    def take(self, one: Mapping[str, Any]) -> None:
        """Note one row of an item."""
        mine = self.told.setdefault(one["item"], {})
        for name, said in one["meta"].items():
            if mine.setdefault(name, said) != said:
                self.varying.add(name)

    def of_item(self, item: str) -> dict[str, str]:
        """Return the values to keep for an item, and forget them."""
        mine = self.told.pop(item, {})
        return {name: said for name, said in mine.items() if name not in self.varying}

    def of_row(self, meta: Mapping[str, str]) -> dict[str, str]:
        """Return the values to keep for a row."""
        return {name: said for name, said in meta.items() if name in self.varying}


def _sort_several(reader: Reader, rows: Sequence[dict[str, Any]]) -> None:
    """Read several labels of an item alike in any order, where a table has them in two orders."""
    for mark in "#|;,":
        orders: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for label in dict.fromkeys(one["label"] for one in rows if mark in one["label"]):
            orders[tuple(sorted(part.strip() for part in label.split(mark)))].add(label)
        use = {
            label: mark.join(parts)
            for parts, labels in orders.items()
            if len(labels) > 1
            for label in sorted(labels)
        }
        for one in rows if use else ():
            one["label"] = use.get(one["label"], one["label"])
        for label, said in itertools.islice(((a, b) for a, b in use.items() if a != b), 1):
            reader.checked.notes.append(
                _("Several labels an item: “%(label)s” is read as “%(said)s”, in any order.")
                % {"label": label, "said": said}
            )


def _offer_readings(reader: Reader, labels: Counter[str]) -> None:
    """Offer to read words for "missing" as no label, and labels that differ by case as one."""
    by_case: dict[str, list[str]] = defaultdict(list)
    for label, _n in labels.most_common():
        by_case[label.casefold()].append(label)
        if label.casefold() in MISSING:
            text = _("Read “%(label)s” as no label") % {"label": label}
            offer(reader, "label", label, "", text)
    for first, *others in by_case.values():
        for label in others:
            _offer_label(reader, label, first)
    for label in labels:
        for meant in _meant_by_date(label) & labels.keys():
            _offer_label(reader, label, meant)
    if all(map(WHOLE.fullmatch, labels)) and len(labels) > 2:
        below = [label for label in labels if label.startswith("-")]
        if len(below) == 1:  # an abstention, as labelling functions write it
            text = _("Read “%(label)s” as no label") % {"label": below[0]}
            offer(reader, "label", below[0], "", text)


def _offer_label(reader: Reader, label: str, use: str) -> None:
    text = _("Read “%(label)s” as “%(first)s”") % {"label": label, "first": use}
    offer(reader, "label", label, use, text)


def _meant_by_date(label: str) -> set[str]:
    """What a spreadsheet may have made this date of; empty where it is none."""
    date = DATE.fullmatch(label)
    if date is None:
        return set()
    month = MONTHS[(date["month"] or date["month_first"]).casefold()]
    number = int(date["day"] or date["year"])
    return {
        mark.join(f"{one:0{width}}" for one in pair)
        for pair in ((month, number), (number, month))
        for mark in ("-", "/", ".")
        for width in (1, 2)
    }


def _check_few_labels(reader: Reader, options: int, most: int) -> None:
    """Raise Invalid where the label column has more different values than a task can offer."""
    if options > most:
        raise Invalid(
            _(
                "The column %(column)s has %(options)s different values; %(max_options)s "
                "is the most."
            )
            % {
                "column": reader.column("label"),
                "options": numbers.count(options),
                "max_options": MAX_OPTIONS,
            },
            fields={"file": _("Choose a file whose label column names classes.")},
        )


def misspelled(labels: Counter[str], kept: set[str]) -> dict[str, str]:
    """Map rare labels to the common label that they misspell.

    ``kept`` are labels that a person said to be right. Letters of short labels and digits tell
    classes apart, so that they are no misspellings.
    """
    usual, often = dict[str, str](), labels.most_common(MAX_OPTIONS)
    for label, n in labels.items():
        if label in kept:
            continue
        for other, many in often:
            if many < RARE * n:
                break
            if same_name(label) == same_name(other) or _one_letter(label, other):
                usual[label] = other
                break
    return usual


def _one_letter(one: str, other: str) -> bool:
    """Whether one letter was added, left out, swapped or changed in a word of five or more."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    if len(short) < 5 or len(long) - len(short) > 1 or any(map(str.isdigit, long)):
        return False
    at = next((k for k, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) != len(long):
        return short[at:] == long[at + 1 :]
    swapped = long[at : at + 2][::-1] + long[at + 2 :]
    return short[at:] == swapped or short[at + 1 :] == long[at + 1 :]


def _refused(
    reader: Reader, line: int, one: Mapping[str, Any], usual: Mapping[str, str], n: Counter[str]
) -> bool:
    """Whether a label is left out as a misspelling; it is named, with what can be done."""
    said = one["label"]
    if said not in usual:
        return False
    right = usual[said]
    wrong = _("Close to “%(right)s”, which is given %(n)s times") % {
        "right": right,
        "n": numbers.count(n[right]),
    }
    reader.checked.problems.append(
        Problem(line, reader.column("label"), said, wrong, _("Left out."))
    )
    offer(reader, "label", said, right, _("Use “%(right)s”") % {"right": right})
    offer(reader, "label", said, said, _("Keep as a label"))
    return True


def _table_facts(
    good: Sequence[Mapping[str, Any]], labels: Counter[str], gold: Mapping[str, tuple[int, str]]
) -> dict[str, Any]:
    """The table in numbers, and who always gives the same label."""
    by_worker: dict[str, Counter[str]] = defaultdict(Counter)
    for one in good:
        by_worker[one["worker"]][one["label"]] += 1
    per_item = Counter(one["item"] for one in good)
    same = [worker for worker, said in by_worker.items() if len(said) == 1 and said.total() >= MANY]
    low, high = min(per_item.values(), default=0), max(per_item.values(), default=0)
    warnings = []
    for worker in sorted(same)[:NAMED]:
        ((label, n),) = by_worker[worker].items()
        text = _("%(worker)s chose “%(label)s” %(n)s times out of %(n)s.") % {
            "worker": worker,
            "label": label,
            "n": numbers.count(n),
        }
        head = _("One worker always gives the same label.")
        warnings.append({"level": "warn", "head": head, "text": text})
    if dates := [label for label in labels if DATE.fullmatch(label)][:NAMED]:
        text = _("A spreadsheet may have written %(value)s: 1-2 becomes 2-Jan.") % {
            "value": ", ".join(f"“{label}”" for label in dates)
        }
        warnings.append({"level": "warn", "head": _("Labels look like dates."), "text": text})
    if apart := _without_common_label(good, by_worker):
        text = _("%(first)s and %(second)s label the same items and have no label in common.")
        told = {"first": apart[0], "second": apart[1]}
        head = _("Workers use different labels.")
        warnings.append({"level": "warn", "head": head, "text": text % told})
    if unused := sorted({known for _, known in gold.values()} - labels.keys())[:NAMED]:
        text = _("No worker gave %(value)s.") % {
            "value": ", ".join(f"“{label}”" for label in unused)
        }
        head = _("Known answers that nobody gave.")
        warnings.append({"level": "warn", "head": head, "text": text})
    if rare := [label for label, n in labels.items() if n == 1][:NAMED]:
        text = _("Given once: %(value)s.") % {"value": ", ".join(f"“{label}”" for label in rare)}
        warnings.append({"level": "warn", "head": _("Rare labels."), "text": text})
    if low != high:
        text = _("From %(low)s to %(high)s.") % {
            "low": numbers.count(low),
            "high": numbers.count(high),
        }
        warnings.append({"level": "", "head": _("Labels per item vary."), "text": text})
    return {
        "labels": labels.most_common(MAX_OPTIONS),
        "low": low,
        "workers": len(by_worker),
        "facts": [
            [_("Labels"), numbers.count(len(good))],
            [_("Workers"), numbers.count(len(by_worker))],
            [_("Items"), numbers.count(len(per_item))],
            [_("Classes"), numbers.count(len(labels))],
            [_("Items with a known answer"), numbers.count(len(gold))],
            [
                _("Labels per item"),
                numbers.count(low)
                if low == high
                else _("%(low)s to %(high)s")
                % {"low": numbers.count(low), "high": numbers.count(high)},
            ],
        ],
        "by": [
            plural(len(by_worker), "worker"),
            plural(len(per_item), "item"),
            plural(len(labels), "class", "classes"),
        ],
        "warnings": warnings,
        "cannot": _reason_against(len(labels), len(by_worker), max(per_item.values(), default=0)),
    }


def _reason_against(labels: int, workers: int, most: int) -> list[str]:
    """Head and sentence on why labels cannot be scored; ``most`` is that of an item. [] if none."""
    if labels == 1:
        return [_("Only one label"), _("Every row has the same label: nothing to compare.")]
    if workers == 1:
        return [_("Only one worker"), _("There is nobody to compare this worker with.")]
    if most == 1:
        return [_("No item has two labels"), _("Each item has one worker: nothing to compare.")]
    return []


def _without_common_label(
    good: Sequence[Mapping[str, Any]], by_worker: Mapping[str, Counter[str]]
) -> tuple[str, str] | None:
    """Two workers who label the same items and have no label in common, both using several."""
    wordings: dict[frozenset[str], list[str]] = defaultdict(list)
    for worker, said in by_worker.items():
        if len(said) > 1:
            wordings[frozenset(said)].append(worker)
    if not 1 < len(wordings) <= MOST_WORDINGS:
        return None
    apart = [pair for pair in itertools.combinations(wordings, 2) if pair[0].isdisjoint(pair[1])]
    items: dict[str, set[str]] = defaultdict(set)
    for one in good if apart else ():
        items[one["worker"]].add(one["item"])
    for first, second in apart:
        for pair in itertools.product(wordings[first][:NAMED], wordings[second][:NAMED]):
            if len(items[pair[0]] & items[pair[1]]) >= SHARED:
                return pair
    return None
