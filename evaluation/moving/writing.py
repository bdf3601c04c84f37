"""Write a project into an archive: one view of the database from the first row to the last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, BinaryIO

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.stored.selectors import pieces
from annotation.models import (
    AuditEntry,
    LedgerEntry,
    Payment,
    Project,
    StoredFile,
    Task,
    TextValue,
    User,
)
from annotation.models.tasks import TaskState
from annotation.records.actions.bulk import split_rows
from crowdqc.deployment.installation import read_version
from crowdqc.errors import Conflict
from evaluation.embeddings.embeddings import text_hash
from evaluation.models import Embedding, RunFigure, Snapshot
from evaluation.moving import hashes, people
from evaluation.moving.archive import (
    PEOPLE,
    README,
    VECTORS,
    WORDS,
    ArchiveWriter,
    Manifest,
    applied_migrations,
    file_name,
    rows_name,
)
from evaluation.moving.rows import Row, columns, plain
from evaluation.moving.tables import (
    CLEARED,
    Model,
    field_label,
    kept_keys,
    label,
    lost_keys,
    ordered,
    paths,
    rows_of,
    user_keys,
)
from evaluation.runs.freezing.options import take_mark

COPY, MOVE = "copy", "move"
AT_ONCE = 2_000
Say = Callable[[str, int], None]  # what was done, and how many rows that were


@dataclass
class Export:
    """How one project is written.

    Parameters
    ----------
    held
        Of a move: payment -> [state, error] before it was held at the source.
    archived
        What the project's row says in the archive of when it was archived.
    """

    project: Project
    purpose: str
    consents: Collection[str] | None
    held: dict[str, list[str]] = field(default_factory=dict)
    archived: Any = None
    users: set[int] = field(default_factory=set)
    ids: dict[str, list[int]] = field(default_factory=dict)

    def write(self, file: BinaryIO, say: Say) -> Manifest:
        """Write the archive. Raises Conflict where rows point to another project's."""
        out = ArchiveWriter(file)
        out.add_pieces(README, [WORDS.encode()])
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            dropped = find_crossing(self.project)
            for model in ordered():
                count = out.add_rows(rows_name(label(model)), self._rows(model, dropped))
                if count:
                    say(f"{label(model)}: {count:,}", count)
            for stored in {one.sha256: one for one in rows_of(StoredFile, self.project)}.values():
                out.add_pieces(file_name(stored.sha256), pieces(stored))
            out.add_rows(VECTORS, find_vectors(self.project))
            described = people.describe_people(self.project, self.users, self.consents or ())
            out.add_rows(PEOPLE, described)
            intact = hashes.find_intact(self.project)
            manifest = Manifest(
                version=read_version(),
                made_at=timezone.now().isoformat(),
                purpose=self.purpose,
                people=people.PSEUDONYMS if self.consents is None else people.ACCOUNTS,
                project=self.project.pk,
                name=self.project.name,
                migrations=applied_migrations(),
                ids=self.ids,
                books=sum_books(self.project),
                snapshots={str(pk): list(one) for pk, one in intact.items()},
                fresh=find_fresh(self.project),
                dropped={name: len(ids) for name, ids in dropped.items()},
            )
        out.close(manifest)
        return manifest

    def _rows(self, model: Model, dropped: dict[str, set[int]]) -> Iterator[Row]:
        names, accounts = columns(model), [one.attname for one in user_keys(model)]
        key = model._meta.pk.attname
        lost = {one.attname for one in lost_keys(model)}
        away = {
            one.attname: dropped[field_label(one)]
            for one in kept_keys(model)
            if field_label(one) in dropped
        }
        for values in rows_of(model, self.project).values_list(*names).iterator(AT_ONCE):
            row = dict(zip(names, map(plain, values), strict=True))
            for name in lost:
                row[name] = None
            for name, ids in away.items():
                if row[key] in ids:
                    row[name] = None
            self.users |= {row[name] for name in accounts if row[name] is not None}
            if model is AuditEntry and row["object_type"] == User._meta.model_name:
                self.users.add(row["object_id"])
            self.ids.setdefault(label(model), [row[key], row[key]])[1] = row[key]
            yield self._prepare(model, row)

    def _prepare(self, model: Model, row: Row) -> Row:
        """Leave out secrets, and let one installation alone send what waits to be sent."""
        for name, empty in CLEARED.items():
            if name.startswith(f"{label(model)}."):
                row[name.rpartition(".")[2]] = plain(empty)
        if model is Project:
            row["archived_at"] = plain(self.archived)
        if model is Task and row["state"] in (TaskState.OPEN, TaskState.PAUSED):
            row["state"] = str(TaskState.CLOSED.value)
        if model is Payment:
            self._hold(row)
        return row

    def _hold(self, row: Row) -> None:
        state = Payment.State
        if self.purpose == MOVE and (before := self.held.get(str(row["id"]))):
            row["state"], row["error"] = before
            if row["state"] == state.PLANNED:
                row["state"], row["error"] = state.FAILED, _("Enter the token, then send it again.")
        elif self.purpose == COPY and row["state"] not in (state.DONE, state.UNCLEAR):
            row["state"] = state.UNCLEAR
            row["error"] = _("A copy. The installation it was copied from may pay this.")
            row["held_until"] = None


def find_crossing(project: Project) -> dict[str, set[int]]:
    """Map each key that may be empty to the rows where it points to another project's row.

    Raises Conflict where such a key may not be empty.
    """
    found: dict[str, set[int]] = {}
    for model in ordered():
        for key in kept_keys(model):
            target = key.remote_field.model
            if target is StoredFile or key.name in _first_keys(model):
                continue
            inside = Q()
            for path in paths()[target]:
                inside |= Q(**{f"{key.name}__{path}": project.pk})
            rows = rows_of(model, project).filter(**{f"{key.name}__isnull": False})
            ids = set(rows.exclude(inside).values_list("pk", flat=True))
            if ids and not key.null:
                raise Conflict(
                    _("%(count)s rows of %(field)s point to another project.")
                    % {"count": len(ids), "field": field_label(key)}
                )
            if ids:
                found[field_label(key)] = ids
    return found


def _first_keys(model: Model) -> set[str]:
    """Return the key by which a table's rows are chosen, which never points elsewhere."""
    chains = paths().get(model, ())
    return {chains[0].partition("__")[0]} if len(chains) == 1 else set()


def sum_books(project: Project) -> dict[str, list[str]]:
    """Return the debit and credit of each account, as "EUR work:12": ["4.00", "0.00"]."""
    sums: dict[str, list[Decimal]] = {}
    rows = LedgerEntry.objects.filter(project=project).values_list(
        "currency", "debit", "credit", "amount"
    )
    for currency, debit, credit, amount in rows.iterator(AT_ONCE):
        for side, account in enumerate((debit, credit)):
            sums.setdefault(f"{currency} {account}", [Decimal("0.00"), Decimal("0.00")])
            sums[f"{currency} {account}"][side] += amount
    return {name: [str(one) for one in both] for name, both in sorted(sums.items())}


def find_vectors(project: Project) -> Iterator[Row]:
    """Yield the stored vectors that the project's runs saw: what a bundle cannot make again."""
    recipes = RunFigure.objects.filter(run__project=project, name="recipe")
    encoders = {str(one) for one in recipes.values_list("data__encoder", flat=True) if one}
    if not encoders:
        return
    hashes: set[str] = set()
    texts = rows_of(TextValue, project).values_list("text", flat=True)
    for chunk in split_rows(texts.iterator(AT_ONCE), AT_ONCE):
        new = {text_hash(text) for text in chunk} - hashes
        hashes |= new
        found = Embedding.objects.filter(encoder__in=encoders, text_hash__in=new).order_by("pk")
        names = ("encoder", "text_hash", "vector")
        for row in found.values_list(*names):
            yield dict(zip(names, map(plain, row), strict=True))


def find_fresh(project: Project) -> list[int]:
    """Return the snapshots since which no answer of their task came, changed or went."""
    fresh = []
    for snapshot in Snapshot.objects.filter(project=project).select_related("task"):
        mark = snapshot.counts.get("mark")
        if mark and take_mark(snapshot.task) == mark:
            fresh.append(snapshot.pk)
    return fresh
