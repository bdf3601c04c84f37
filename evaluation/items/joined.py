"""One table of a task: what each item is, who gave it what, and the label that it has in the end.

A row an item and question; of free text a row an answer. Each file has its columns explained: in
its manifest, in an archive as a table and, for Hugging Face, in a card.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.writing.tables import EVERY, Table
from annotation.files.writing.zips import zip_with_manifest
from annotation.formats.exports import manifest
from annotation.formats.exports.makers import PreparedFile, refuse_options
from annotation.lists.state import State, narrowed
from annotation.models import Answer, ChoiceValue, ExportFile, Item, Project, Task, TextValue
from annotation.task_types.known import as_cell
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Invalid
from crowdqc.numbers import count
from crowdqc.web.terms import Words
from evaluation.items.listing import item_listing
from evaluation.methods.rescaling.ratings import text_interval
from evaluation.models import AnswerScore, ItemLabel, LabelDecision, Run
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.runs.exports.dictionary import ABOUT_OWN_IDS
from evaluation.runs.exports.own_ids import NO_IDS, PSEUDONYMS, OwnIds, with_own_ids
from evaluation.runs.official.selectors import official_run

JOINED = "joined"
FORMS = (*EVERY, "hf")  # hf: a folder as Hugging Face reads it, as an archive
CHUNK = 500  # items that are read at a time
MOST_QUERY = 2_000  # characters of the filters
Row = dict[str, Any]


@dataclass(frozen=True)
class JoinedColumn:
    """A column, what it holds, and of which kind (text, number, JSON)."""

    name: str
    about: Words
    kind: str = "text"


ITEM = (
    JoinedColumn("item_id", gettext_lazy("Id of the item; the same in every file of the task.")),
    JoinedColumn("group", gettext_lazy("Text or topic that the item belongs to.")),
    JoinedColumn("text", gettext_lazy("What the item shows or asks.")),
    JoinedColumn("gold", gettext_lazy("Known answer; empty where there is none.")),
)
PAIR = (
    JoinedColumn("first_system", gettext_lazy("System that wrote the first text.")),
    JoinedColumn("first_text", gettext_lazy("First text of the pair.")),
    JoinedColumn("second_system", gettext_lazy("System that wrote the second text.")),
    JoinedColumn("second_text", gettext_lazy("Second text of the pair.")),
)
SINGLE = (JoinedColumn("text_system", gettext_lazy("System that wrote the text.")),)
VOTES = (
    JoinedColumn("field", gettext_lazy("Question, scale or dimension that was answered.")),
    JoinedColumn("answers", gettext_lazy("Answers that count."), "number"),
    JoinedColumn("votes", gettext_lazy("Worker or system -> what they gave, as JSON."), "JSON"),
    JoinedColumn("counts", gettext_lazy("Label -> how many gave it, as JSON."), "JSON"),
    JoinedColumn(
        "label",
        gettext_lazy(
            "Final label: decided by a person, else estimated, else of a majority or the only vote."
        ),
    ),
    JoinedColumn(
        "certainty",
        gettext_lazy("Probability of the label by the official run; else its share of the votes."),
        "number",
    ),
    JoinedColumn(
        "basis",
        gettext_lazy("Where the label is from: decision, run, majority, or the only vote."),
    ),
)
RATED = (
    JoinedColumn("field", gettext_lazy("Scale that was rated.")),
    JoinedColumn("ratings", gettext_lazy("Ratings of workers that count."), "number"),
    JoinedColumn("mean", gettext_lazy("Mean of these ratings."), "number"),
    JoinedColumn("low", gettext_lazy("Lower end of its 95% interval over raters."), "number"),
    JoinedColumn("high", gettext_lazy("Upper end of its 95% interval over raters."), "number"),
    JoinedColumn("no_interval", gettext_lazy("Why there is no interval.")),
    JoinedColumn("votes", gettext_lazy("Worker or system -> what they gave, as JSON."), "JSON"),
)
OF_POINT = gettext_lazy("Ratings of workers with this value.")
LEVEL = 0.95
ANSWER = (
    JoinedColumn("worker", gettext_lazy("Who answered, by pseudonym.")),
    JoinedColumn("system", gettext_lazy("Which system answered, where no person did.")),
    JoinedColumn("answer", gettext_lazy("The answer.")),
    JoinedColumn("answered_at", gettext_lazy("When it was submitted.")),
    JoinedColumn("score", gettext_lazy("Score of the answer by the official run."), "number"),
)
OWN_IDS = [JoinedColumn(name, ABOUT_OWN_IDS[name]) for name in ("worker", PSEUDONYMS["worker"])]
OWN = gettext_lazy("Column of the file that the items were imported from.")


class JoinedTable:
    """The rows of a task in one table; ``query`` are the filters of the list of items.

    ``ids`` are those that a scored table gave its workers.
    """

    def __init__(self, task: Task, query: str = "", ids: OwnIds = NO_IDS) -> None:
        self.task, self.query, self.ids = task, query, ids
        listing = item_listing(None, task)
        rows: QuerySet[Item] = narrowed(listing, State.of(listing, QueryDict(query)))
        self.items = Item.objects.filter(pk__in=rows.values("pk"))
        self.run = official_run(task)
        self.scales = {one.name: one for one in dimensions(task) if one.points}
        points = [point for one in self.scales.values() for point in _written(one).values()]
        self.points = [
            JoinedColumn(f"rated_{one}", OF_POINT, "number") for one in dict.fromkeys(points)
        ]
        self.is_text = not ChoiceValue.objects.filter(answer__item__task=task).exists()
        is_paired = self.items.filter(second__isnull=False).exists()
        is_judged = self.items.filter(first__isnull=False).exists()
        told = (*RATED, *self.points) if self.scales else VOTES
        taken = {one.name for one in (*ITEM, *PAIR, *SINGLE, *told, *ANSWER)}
        self.own = [name for name in _own_columns(self.items) if name not in taken]
        self.columns = (
            *ITEM,
            *(PAIR if is_paired else SINGLE if is_judged else ()),
            *(JoinedColumn(name, OWN) for name in self.own),
            *(ANSWER if self.is_text else told),
        )
        excluded = task.exclusions.in_force().values("worker")
        self.answers = Answer.objects.filter(counts=True, stage=Answer.Stage.MAIN).exclude(
            worker__in=excluded
        )

    def table(self) -> Table:
        """The rows, to be gone through once."""
        names = tuple(one.name for one in self.columns)
        rows = ({name: row.get(name, "") for name in names} for row in self.rows())
        return with_own_ids(Table(names, rows), self.ids)

    def dictionary(self) -> Table:
        """What each column holds, a row a column."""
        columns = list(self.columns)
        if self.ids and self.is_text:
            at = next(at for at, one in enumerate(columns) if one.name == "worker")
            columns[at : at + 1] = OWN_IDS
        rows = ((one.name, one.kind, str(one.about)) for one in columns)
        return Table(("column", "kind", "about"), rows)

    def rows(self) -> Iterator[Row]:
        """Rows in the order of the items."""
        wanted = self.items.select_related("group", "first__system", "second__system")
        ids = list(wanted.order_by("position", "pk").values_list("pk", flat=True))
        for at in range(0, len(ids), CHUNK):
            items = wanted.filter(pk__in=ids[at : at + CHUNK]).order_by("position", "pk")
            make = self._texts if self.is_text else self._ratings if self.scales else self._labels
            yield from make(list(items))

    def _about(self, item: Item) -> Row:
        meta = item.settings.get("meta") or {}
        gold = as_cell(next(iter((item.expected or {}).values()), ""))
        row = {
            "item_id": item.key,
            "group": (item.group.title or item.group.key) if item.group else "",
            "text": "" if item.question == item.key else item.question,
            "gold": gold,
            **{name: str(meta.get(name, "")) for name in self.own},
        }
        if item.first is not None and item.second is None:
            row |= {"text": item.first.text, "text_system": item.first.system.name}
        for side, shown in (("first", item.first), ("second", item.second)):
            if shown is not None:
                row |= {f"{side}_text": shown.text}
                row |= {f"{side}_system": shown.system.name if shown.system else ""}
        return row

    def _labels(self, items: Sequence[Item]) -> Iterator[Row]:
        votes = self._votes(items)
        decided = {
            (pk, field): label
            for pk, field, label in LabelDecision.objects.standing()
            .filter(item__in=items)
            .values_list("item", "field", "label")
        }
        estimated = _estimates(self.run, items)
        for item in items:
            fields = [field for pk, field in votes if pk == item.pk] or [""]
            for field in fields:
                key = (item.pk, field)
                mine = votes.get(key, {})
                row = {
                    **self._about(item),
                    "field": field,
                    "answers": len(mine),
                    "votes": json.dumps(mine, ensure_ascii=False),
                    "counts": json.dumps(dict(Counter(mine.values()).most_common())),
                    **_majority(mine),
                }
                if key in estimated:
                    label, certainty = estimated[key]
                    row |= {"label": label, "certainty": certainty, "basis": "run"}
                if key in decided:
                    row |= {"label": decided[key], "certainty": None, "basis": "decision"}
                yield row

    def _ratings(self, items: Sequence[Item]) -> Iterator[Row]:
        """A row an item and scale: mean with interval, and how many gave each point."""
        votes = self._votes(items)
        values = ChoiceValue.objects.filter(
            answer__in=self.answers.filter(item__in=items, worker__isnull=False),
        )
        given: dict[tuple[int, str], list[int]] = defaultdict(list)
        for pk, field, value in values.values_list("answer__item_id", "field", "ordinal"):
            if value is not None:
                given[pk, field].append(value)
        for item in items:
            for name, scale in self.scales.items():
                mine, written = given[item.pk, name], _written(scale)
                said = {who: written.get(code, code) for who, code in votes[item.pk, name].items()}
                counts = Counter(written[str(value)] for value in mine if str(value) in written)
                yield {
                    **self._about(item),
                    "field": name,
                    "ratings": len(mine),
                    "votes": json.dumps(said, ensure_ascii=False),
                    **{f"rated_{one}": counts[one] for one in written.values()},
                    **_mean(mine, scale),
                }

    def _votes(self, items: Sequence[Item]) -> dict[tuple[int, str], dict[str, str]]:
        """(item, field) -> author -> what they chose; several options are joined."""
        values = ChoiceValue.objects.filter(
            answer__in=self.answers.filter(item__in=items)
        ).order_by("answer__item_id", "field", "answer_id", "pk")
        found: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
        last = (0, "")
        for answer, item, field, worker, system, replicate, code in values.values_list(
            "answer_id",
            "answer__item_id",
            "field",
            "answer__worker__pseudonym",
            "answer__system__name",
            "answer__replicate",
            "code",
        ).iterator(CHUNK):
            who = self.ids.get(worker, worker) or (f"{system} {replicate}" if replicate else system)
            mine = found[item, field]
            more = last == (answer, field) and who in mine
            mine[who] = f"{mine[who]} + {code}" if more else code
            last = (answer, field)
        return found

    def _texts(self, items: Sequence[Item]) -> Iterator[Row]:
        scores: dict[int, float | None] = {}
        if self.run is not None:
            own = AnswerScore.objects.filter(run=self.run, answer__item__in=items, dimension="")
            scores = dict(own.values_list("answer_id", "estimate"))
        said: dict[int, list[Row]] = defaultdict(list)
        texts = TextValue.objects.filter(answer__in=self.answers.filter(item__in=items))
        for pk, answer, worker, system, at, text in texts.order_by("answer_id", "pk").values_list(
            "answer__item_id",
            "answer_id",
            "answer__worker__pseudonym",
            "answer__system__name",
            "answer__answered_at",
            "text",
        ):
            said[pk].append(
                {
                    "worker": worker or "",
                    "system": system or "",
                    "answer": text,
                    "answered_at": at.isoformat(),
                    "score": scores.get(answer),
                }
            )
        for item in items:
            for row in said[item.pk]:
                yield {**self._about(item), **row}


def _written(scale: AskedDimension) -> dict[str, str]:
    """Code of each point -> the point as files write it."""
    return {str(point): scale.written_codes.get(str(point), str(point)) for point in scale.points}


def _mean(values: Sequence[int], scale: AskedDimension) -> Row:
    """The mean of ratings with its interval, or why there is none."""
    if not values:
        return {"mean": None, "low": None, "high": None, "no_interval": ""}
    rated = np.array(values) / scale.factor
    low, high, why = text_interval(rated, [one / scale.factor for one in scale.points], LEVEL)
    ends = [None if one is None else round(one, 4) for one in (low, high)]
    mean = round(float(rated.mean()), 4)
    return {"mean": mean, "low": ends[0], "high": ends[1], "no_interval": str(why)}


def _own_columns(items: QuerySet[Item]) -> list[str]:
    """Names of the columns that were kept with items, in the order in which they came."""
    names: dict[str, None] = {}
    for meta in items.values_list("settings__meta", flat=True).iterator(CHUNK):
        names |= dict.fromkeys(meta or {})
    return list(names)


def _estimates(
    run: Run | None, items: Sequence[Item]
) -> dict[tuple[int, str], tuple[str, float | None]]:
    """(item, field) -> the label of the official run and its probability."""
    if run is None:
        return {}
    rows = ItemLabel.objects.filter(run=run, item__in=items)
    return {
        (item, field): (label, posterior.get(label))
        for item, field, label, posterior in rows.values_list(
            "item", "dimension", "label", "posterior"
        )
    }


def _majority(votes: Mapping[str, str]) -> Row:
    """The label most gave and its share of the votes; "" where several are given most.

    One vote has no share: it says nothing of how sure its label is.
    """
    most = Counter(votes.values()).most_common(2)
    if not most:
        return {"label": "", "certainty": None, "basis": ""}
    if len(votes) == 1:
        return {"label": most[0][0], "certainty": None, "basis": "vote"}
    if len(most) > 1 and most[0][1] == most[1][1]:
        return {"label": "", "certainty": None, "basis": "majority"}
    share = round(most[0][1] / len(votes), 4)
    return {"label": most[0][0], "certainty": share, "basis": "majority"}


class JoinedMaker:
    """The joined table of a task as a file."""

    task_export = (
        gettext_lazy("Joined table"),
        gettext_lazy("items with their texts, votes, final label and certainty"),
        FORMS,
    )

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        refuse_options(params, "query")
        if task is None or task.current_id is None:
            raise Invalid(_("Say of which task."), fields={"task": _("A task that was published.")})
        if form not in FORMS:
            raise Invalid(
                _("There is no format %(format)s.") % {"format": repr(form)},
                fields={"form": ", ".join(FORMS)},
            )
        query = params.get("query", "")
        if not isinstance(query, str) or len(query) > MOST_QUERY:
            raise Invalid(
                _("The filters cannot be read."),
                fields={"params.query": _("As in the address of the list of items.")},
            )

    def make(self, file: ExportFile) -> PreparedFile:
        if file.task is None:  # cannot be: ``check`` asks for one
            raise Invalid(_("Say of which task."))
        joined = JoinedTable(file.task, file.params.get("query", ""))
        table = joined.table()
        name = f"task-{file.task.pk}-joined"
        if file.form == "hf":
            return _folder(file.task, joined, table, name)
        name = f"{name}.{file.form}"

        def told(sha256: str) -> dict[str, Any]:
            about = {**describe_joined(joined, file.form), "rows": table.count}
            return {"kind": manifest.KIND, "files": {name: {"sha256": sha256, **about}}}

        return PreparedFile(name, table.parts(file.form), lambda: table.count, told)

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        filtered = _("Joined table, as filtered")
        return filtered if params.get("query") else str(self.task_export[0])


def describe_joined(joined: JoinedTable, form: str) -> dict[str, Any]:
    """Return what the manifest says of a joined table: its task, filters and columns."""
    columns = [
        {"name": one.name, "kind": one.kind, "about": str(one.about)} for one in joined.columns
    ]
    return {
        "format": form,
        **manifest.describe(joined.task, JOINED),
        "filters": joined.query,
        "columns": columns,
        "official_run": joined.run.number if joined.run else None,
    }


def _folder(task: Task, joined: JoinedTable, table: Table, name: str) -> PreparedFile:
    """A folder as Hugging Face reads it: the table as Parquet, its columns, and a card."""
    last: dict[str, Any] = {}
    data = "data/train-00000-of-00001.parquet"

    def files() -> Iterator[tuple[str, Iterator[Any]]]:
        yield data, table.parts("parquet")
        yield "columns.csv", joined.dictionary().parts("csv")
        yield "README.md", iter([_card(task, joined, table.count)])

    def told(hashes: Mapping[str, str]) -> dict[str, Any]:
        about = {**describe_joined(joined, "hf"), "rows": table.count}
        parts = {one: {"sha256": digest} for one, digest in hashes.items()}
        parts[data] |= about
        last.update({"kind": manifest.KIND, "files": parts})
        return last

    return PreparedFile(
        f"{name}-hf.zip",
        zip_with_manifest(files(), told),
        lambda: table.count,
        lambda sha256: last,
    )


def _card(task: Task, joined: JoinedTable, rows: int) -> str:
    """The card of a data set: what Hugging Face reads, and what people read."""
    title = task.version_or_draft().title.replace("\n", " ")
    lines = [
        "---",
        f"pretty_name: {json.dumps(title, ensure_ascii=False)}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*.parquet",
        "---",
        "",
        f"# {title}",
        "",
        _("%(rows)s rows. Workers appear under pseudonyms.") % {"rows": count(rows)},
        "",
        "| {} | {} | {} |".format(_("Column"), _("Kind"), _("What it holds")),
        "|---|---|---|",
        *(
            f"| `{one.name.replace('|', ' ').replace('`', ' ')}` | {one.kind} | {one.about} |"
            for one in joined.columns
        ),
        "",
        _("Choose a licence before you publish this folder."),
        "",
    ]
    return "\n".join(lines)
