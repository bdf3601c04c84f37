"""Labels as corpora for training: spans as CoNLL and for spaCy, tables as a data set for the Hub.

Each is an archive, as it takes several files to say whose labels these are. Only answers that
count, of workers who are not excluded; people appear under their pseudonyms alone.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.files.conll import (
    ABOUT,
    LEFT,
    Span,
    Tagged,
    biluo,
    conll_lines,
    tag_tokens,
)
from annotation.files.conll import SPANS as SPANS_FILE
from annotation.files.writing.tables import Table
from annotation.files.writing.zips import zip_with_manifest
from annotation.formats.exports import labels
from annotation.formats.exports.tools.frames import in_chunks
from annotation.models import Answer, ChoiceValue, SpanValue, Task
from annotation.task_types.labels.fields import NOTHING, SPANS
from crowdqc.errors import Invalid

ZIP = "zip"
AT_ONCE = 200  # answers
PIECE = 1 << 16
SOFT = ("item_id", "field", "label", "votes", "of", "share")
Row = dict[str, Any]
Features = dict[str, list[tuple[str, str]]]  # of each table: column and type
Files = Iterator[tuple[str, Iterator[Any]]]


@dataclass
class Archive(Table):
    """Several files in one; ``count`` grows by what they hold."""

    files: Callable[[Archive], Files] = field(default=lambda archive: iter(()))

    def parts(self, form: str) -> Iterator[Any]:
        """The archive, piece by piece; raises Invalid for another format, before the first."""
        if form != ZIP:
            raise Invalid(
                _("This is not written as %(format)s.") % {"format": form}, fields={"format": ZIP}
            )
        return zip_with_manifest(
            self.files(self),
            lambda digests: {"files": {name: {"sha256": one} for name, one in digests.items()}},
        )


# -- spans -----------------------------------------------------------------------------------------

SPANS_README = """# Marked spans

Task {task}, version {version}. Each answer to a field of spans is a document.

- `spans.conll`: a line a token, as word, start, end and BIO tag; documents begin with `-DOCSTART-`.
- `spacy.json`: the same in spaCy's JSON training format, for `spacy convert`. It is no DocBin.
- `documents.jsonl`: of each document its number, item, field, text, and who marked it.
- `not_expressible.jsonl`: the spans that BIO tags cannot hold, each with the reason.

A token is a run of letters, digits and underscores, or one other character that is no whitespace.
Offsets count code points, the end outside. Of spans that overlap, the one that starts first is
tagged, of one start the longest; the others are in `not_expressible.jsonl`.
"""


def span_archive(task: Task, form: str, dimension: str = "") -> Table:
    """Marked spans as BIO tags, for CoNLL readers and spaCy; what these cannot hold is listed."""
    return Archive((), [], files=lambda archive: _span_files(task, archive))


@dataclass(frozen=True)
class Document:
    """One answer to one field of spans."""

    number: int
    text: str
    about: Row
    tokens: list[Tagged]
    left: list[tuple[Span, str]]


def _span_files(task: Task, archive: Archive) -> Files:
    def conll() -> Iterator[str]:
        for one in _documents(task):
            archive.count += 1
            yield "".join(conll_lines(one.tokens))

    def spacy() -> Iterator[str]:
        before = "["
        for one in _documents(task):
            yield f"{before}\n{json.dumps(_spacy(one), ensure_ascii=False)}"
            before = ","
        yield "[]\n" if before == "[" else "\n]\n"

    version = task.current.number if task.current else 0
    yield "README.md", iter([SPANS_README.format(task=task.pk, version=version)])
    yield SPANS_FILE, conll()
    yield "spacy.json", spacy()
    yield (
        ABOUT,
        (
            _line({"document": one.number, **one.about, "text": one.text})
            for one in _documents(task)
        ),
    )
    yield (
        LEFT,
        (
            _line({"document": one.number, **span._asdict(), "reason": reason})
            for one in _documents(task)
            for span, reason in one.left
        ),
    )


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _spacy(one: Document) -> Row:
    """A document of spaCy's JSON: its text, and its tokens with BILUO tags."""
    tags = biluo([token.tag for token in one.tokens])
    tokens = [
        {"id": number, "orth": token.text, "ner": tag}
        for number, (token, tag) in enumerate(zip(one.tokens, tags, strict=True))
    ]
    sentences = [{"tokens": tokens, "brackets": []}]
    return {"id": one.number, "paragraphs": [{"raw": one.text, "sentences": sentences, "cats": []}]}


def _counting(task: Task) -> Any:
    """The answers that train: they count, and their workers are not excluded."""
    excluded = task.exclusions.in_force().values_list("worker_id", flat=True)
    rows = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN, counts=True)
    return rows.exclude(worker_id__in=list(excluded)).order_by("item__position", "item_id", "pk")


def _documents(task: Task) -> Iterator[Document]:
    """Every answer to a field of spans, also those in which nothing was marked."""
    fields = {
        row["name"]
        for version in task.versions.all()
        for row in version.settings.get("fields", [])
        if row["kind"] == SPANS
    }
    stored = _counting(task).values(
        "pk",
        "item__key",
        "item__question",
        "worker__pseudonym",
        "system__name",
        "replicate",
    )
    number = 0
    for part in in_chunks(stored.iterator(AT_ONCE), AT_ONCE):
        own = {"answer__in": [row["pk"] for row in part], "field__in": fields}
        marked: dict[tuple[int, str], list[Span]] = defaultdict(list)
        nothing = ChoiceValue.objects.filter(**own, code=NOTHING)
        for pk, name in nothing.values_list("answer_id", "field"):
            marked[pk, name] = []
        spans = SpanValue.objects.filter(**own).order_by("answer_id", "field", "index")
        stretches = spans.values_list("answer_id", "field", "start", "end", "target")
        for pk, name, start, end, label in stretches:
            marked[pk, name].append(Span(start, end, label))
        for row in part:
            for name in sorted(name for pk, name in marked if pk == row["pk"]):
                number += 1
                text = row["item__question"]
                about = {
                    "item_id": row["item__key"],
                    "field": name,
                    "worker": row["worker__pseudonym"] or "",
                    "system": row["system__name"] or "",
                    "replicate": row["replicate"],
                }
                yield Document(number, text, about, *tag_tokens(text, marked[row["pk"], name]))


def not_expressed(task: Task, dimension: str = "") -> dict[str, int]:
    """Count the spans that BIO tags cannot express, by reason."""
    found: dict[str, int] = defaultdict(int)
    for one in _documents(task):
        for _span, reason in one.left:
            found[reason] += 1
    return dict(found)


# -- a data set for the Hub ------------------------------------------------------------------------

CARD = """---
pretty_name: {title}
configs:
{configs}
dataset_info:
{infos}
---

# {name}

Labels collected with crowdqc: task {task}, version {version}.

- `items`: the items with their known answers, where there are some.
- `labels`: every value of every answer, a row each; `counts` and `excluded` say which count.
- `soft_labels`: of each item and field the share of people's counting votes for each label.
  These are shares of raw votes: no worker weighs more than another, and they carry no interval.

Workers are named by pseudonyms.
{left}"""


def hub_archive(task: Task, form: str, dimension: str = "") -> Table:
    """Items, labels and soft labels as parquet with a data set card, as ``datasets`` loads them."""
    return Archive((), [], files=lambda archive: _hub_files(task, archive))


def _hub_files(task: Task, archive: Archive) -> Files:
    features: Features = {}
    tables = {
        "labels": labels.label_table(task, "parquet"),
        "soft_labels": soft_label_table(task),
        "items": labels.item_table(task, "parquet"),
    }
    for name, table in tables.items():
        rows = iter(table.rows)
        first = next(rows, None)
        if first is None:  # ``datasets`` refuses a table without rows
            continue
        table.rows = itertools.chain([first], rows)
        yield f"{name}/train.parquet", _parquet(name, table, features)
        archive.count += table.count
    empty = [name for name in tables if name not in features]
    yield "README.md", iter([_card(task, features, empty)])


def _parquet(
    name: str, table: Table, features: dict[str, list[tuple[str, str]]]
) -> Iterator[bytes]:
    """The table as parquet; its columns with their types are put down for the card."""
    import pyarrow.parquet  # not above: it takes a while

    with tempfile.TemporaryFile() as held:
        for piece in table.parts("parquet"):
            held.write(piece)
        held.seek(0)
        schema = pyarrow.parquet.read_schema(held)
        features[name] = [(column.name, _dtype(str(column.type))) for column in schema]
        held.seek(0)
        while piece := held.read(PIECE):
            yield piece


def _dtype(arrow: str) -> str:
    """The type as the Hub names it."""
    return {"double": "float64"}.get(arrow, arrow)


def _card(task: Task, features: Features, empty: Sequence[str]) -> str:
    version = task.version_or_draft()
    configs, infos = [], []
    for name, columns in features.items():
        configs.append(f"- config_name: {name}")
        configs.append(f"  data_files:\n  - split: train\n    path: {name}/train.parquet")
        infos.append(f"- config_name: {name}\n  features:")
        infos += [f"  - name: {json.dumps(one)}\n    dtype: {dtype}" for one, dtype in columns]
    return CARD.format(
        title=json.dumps(version.title, ensure_ascii=False),
        name=" ".join(version.title.split()),
        configs="\n".join(configs),
        infos="\n".join(infos),
        task=task.pk,
        version=version.number,
        left=f"\nLeft out, as they hold no row: {', '.join(empty)}.\n" if empty else "",
    )


def soft_label_table(task: Task) -> Table:
    """Shares of people's counting votes: of each item and field, for each label that was given."""
    return Table(SOFT, _soft(task))


def _soft(task: Task) -> Iterator[Row]:
    people = _counting(task).filter(worker__isnull=False).order_by()
    found = (
        ChoiceValue.objects.filter(answer__in=people)
        .values("answer__item__key", "field", "code")
        .annotate(votes=Count("pk"))
        .order_by("answer__item__key", "field", "code")
    )
    of: dict[tuple[str, str], int] = defaultdict(int)
    rows = list(found)
    for row in rows:
        of[row["answer__item__key"], row["field"]] += row["votes"]
    for row in rows:
        total = of[row["answer__item__key"], row["field"]]
        yield {
            "item_id": row["answer__item__key"],
            "field": row["field"],
            "label": row["code"],
            "votes": row["votes"],
            "of": total,
            "share": row["votes"] / total,
        }
