"""Take a project in: rows in pieces that each stand for good, then what closes circles, then sums.

Every id becomes its id in the archive plus one number, the same in all tables. So the order of
ids stays, and an import that was killed goes on after the rows that are there.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from django.conf import settings
from django.core.files.storage import storages
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    AuditEntry,
    Correction,
    LedgerEntry,
    Project,
    Recruitment,
    StoredFile,
    TraceSource,
    User,
)
from annotation.records.actions.bulk import split_rows
from crowdqc.errors import Conflict
from crowdqc.files.storages import write_checked
from evaluation.models import Embedding, LiveEvaluation, ProjectMove, RunFigure, Snapshot
from evaluation.moving import hashes
from evaluation.moving.archive import (
    PEOPLE,
    VECTORS,
    ArchiveReader,
    BadArchive,
    file_name,
    rows_name,
)
from evaluation.moving.people import match_people
from evaluation.moving.references import Rewriter
from evaluation.moving.rows import Row, columns, insert_rows, plain, read_rows
from evaluation.moving.tables import (
    DEFERRED,
    LEFT_OUT,
    Model,
    all_models,
    kept_keys,
    label,
    ordered,
    rows_of,
    user_keys,
)
from evaluation.moving.writing import sum_books
from evaluation.runs.freezing.options import take_mark

AT_ONCE = 1_000  # rows of a transaction
MARGIN = 1_000
ROUND = 1_000_000  # shifts are round, so that an id shows what it was
MOST_ID = 2**31 - 1  # options of runs and locks hold ids of 4 bytes
Say = Callable[[str, int], None]  # what was done, and how many rows that were
# States that a job acts on, and what stands there until the rest of the project is there.
QUIET: dict[str, dict[str, str]] = {
    "annotation.Assignment.state": {"leased": "returned"},
}
# Values that no two rows of an installation share, whatever project they are of.
UNIQUE = (
    "annotation.Assignment.submit_key",
    "annotation.PayoutBatch.key",
    "annotation.Announcement.key",
    "annotation.EventStream.key",
    "annotation.LedgerEntry.key",
    "annotation.Correction.key",
    "annotation.Recruitment.study_id",
)
# Values that are made here: of files, and of tokens that stayed where they were.
OWN = ("annotation.StoredFile.name", "annotation.TraceSource.digest")


class ImportDiffers(Conflict):
    """What is here after an import is not what the archive holds; the message lists where."""

    code = "import-differs"


@dataclass
class Import:
    """One import of an archive, which may have been begun before."""

    reader: ArchiveReader
    move: ProjectMove
    say: Say = lambda text, rows: None
    hashes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def rewriter(self) -> Rewriter:
        """What rewrites the ids within JSON and texts."""
        return Rewriter(self.move.shift, self._find_user)

    @property
    def project_id(self) -> int:
        """The project's id here."""
        return self.reader.manifest.project + self.move.shift

    def load(self) -> None:
        """Write all rows that are not here yet, some at a time."""
        for model in ordered():
            name = label(model)
            done = self.move.progress.get(name, 0)
            for chunk in self._chunks(model, done):
                if model is StoredFile:
                    for row in chunk:
                        self._write_file(row)
                with transaction.atomic():
                    expected = [self.expect(model, row) for row in chunk]
                    self._rename_taken(model, expected)
                    insert_rows(model, [self._quiet(model, row) for row in expected])
                    done += len(chunk)
                    self.move.progress[name] = done
                    fields = ["progress", "renamed"]
                    if model is Project:
                        self.move.project_id = self.project_id
                        fields.append("project")
                    self.move.save(update_fields=fields)
            if done:
                self.say(f"{name}: {done:,}", done)

    def load_vectors(self) -> None:
        """Keep the vectors of texts that are not kept here yet."""
        for chunk in split_rows(self.reader.rows(VECTORS), AT_ONCE):
            Embedding.objects.bulk_create(
                [
                    Embedding(**{**row, "vector": base64.b64decode(row["vector"], validate=True)})
                    for row in chunk
                ],
                ignore_conflicts=True,
            )

    def _chunks(self, model: Model, skip: int) -> Iterator[list[Row]]:
        chunk: list[Row] = []
        for row in self.reader.rows(rows_name(label(model)), skip):
            if row.keys() != set(columns(model)):
                raise BadArchive(f"The rows of {label(model)} have other columns than here.")
            chunk.append(row)
            if len(chunk) == AT_ONCE:
                self._check_ids(model, chunk)
                yield chunk
                chunk = []
        if chunk:
            self._check_ids(model, chunk)
            yield chunk

    def _check_ids(self, model: Model, rows: list[Row]) -> None:
        """Refuse ids beyond those that were reserved: they would be of other projects here."""
        own = model._meta.pk.attname
        keys = {one.attname: label(one.remote_field.model) for one in kept_keys(model)}
        for column, name in {own: label(model), **keys}.items():
            lowest, highest = self.reader.manifest.ids.get(name, (1, 0))
            values = {row[column] for row in rows}
            if column in keys:
                values.discard(None)
            for value in values:
                if type(value) is not int or not lowest <= value <= highest:
                    raise BadArchive(f"A row of {label(model)} points to an id that is not there.")

    def _write_file(self, row: Row) -> None:
        name = self._file_name(row)
        storage: Any = storages[settings.CROWDQC_FILES]
        with transaction.atomic():
            content = self.reader.pieces(file_name(row["sha256"]))
            if not write_checked(storage, name, content, row["sha256"]):
                raise Conflict(_("A file could not be stored: %(name)s.") % {"name": name})

    def _file_name(self, row: Row) -> str:
        folder = str(row["name"]).partition("/")[0]
        token = hashlib.sha256(f"{self.move.pk}/{row['name']}".encode()).hexdigest()[:32]
        return f"{folder}/{token[:2]}/{token}"

    # What a row becomes --------------------------------------------------------------------------

    def expect(self, model: Model, row: Row) -> Row:
        """Return a row of the archive as it has to be here when all is done."""
        made = self.rewriter.rewrite_row(label(model), row)
        for column in id_columns(model):
            if made[column] is not None:
                made[column] += self.move.shift
        for column in user_columns(model):
            if made[column] is not None:
                made[column] = self._user(made[column])
        for column, name in named_columns(model, UNIQUE):
            renamed = self.move.renamed.get(name, {})
            made[column] = renamed.get(made[column], made[column])
        if model is StoredFile:
            made["storage"], made["name"] = settings.CROWDQC_FILES, self._file_name(row)
        if model is TraceSource:
            made["digest"] = f"moved-{self.move.pk}-{made['id']}"
        if model is AuditEntry:
            made["object_id"] = self._object(row)
        if model in (RunFigure, LiveEvaluation) and self.hashes:
            name = "data" if model is RunFigure else "result"
            made[name] = replace_texts(made[name], self.hashes)
        if model is Snapshot:
            made["content_hash"] = self.hashes.get(made["content_hash"], made["content_hash"])
        return made

    def _user(self, pk: int) -> int:
        found = self.move.people.get(str(pk))
        if found is None:
            raise BadArchive(f"The archive does not say who person {pk} is.")
        return int(found)

    def _find_user(self, pk: int) -> int | None:
        return self.move.people.get(str(pk))

    def _object(self, row: Row) -> int | None:
        """Return the id of what an entry of the audit log is about, None where that stayed."""
        if row["object_id"] is None or row["object_type"] in STAYED:
            return None
        if row["object_type"] == User._meta.model_name:
            return self.move.people.get(str(row["object_id"]))
        return int(row["object_id"]) + self.move.shift

    def _quiet(self, model: Model, row: Row) -> Row:
        made = dict(row)
        for column, name in named_columns(model, tuple(DEFERRED)):
            made[column] = DEFERRED[name]
        for column, name in named_columns(model, tuple(QUIET)):
            made[column] = QUIET[name].get(made[column], made[column])
        if model is Project:
            made["archived_at"] = plain(timezone.now())
        return made

    def _rename_taken(self, model: Model, rows: list[Row]) -> None:
        """Give another value to what must be unique and is taken here by another project."""
        for key, name in named_columns(model, UNIQUE):
            values = {row[key] for row in rows if row[key]}
            for value in self._taken(model, key, values):
                new = self._rename(model, value)
                self.move.renamed.setdefault(name, {})[value] = new
                for row in rows:
                    if row[key] == value:
                        row[key] = new

    def _taken(self, model: Model, key: str, values: set[str]) -> list[str]:
        if model not in (LedgerEntry, Correction):
            rows = model._base_manager.filter(**{f"{key}__in": values})
            return sorted(str(one) for one in rows.values_list(key, flat=True))
        taken: set[str] = set()
        for other in (LedgerEntry, Correction):
            rows = other._base_manager.filter(key__in=values).exclude(project=self.project_id)
            taken |= set(rows.values_list("key", flat=True))
        return sorted(taken)

    def _rename(self, model: Model, value: str) -> str:
        if model is Recruitment:
            return self._take_study(value)
        if model in (LedgerEntry, Correction):
            return f"{value[:100]}~{self.move.pk}"
        return str(uuid.uuid5(uuid.UUID(value), str(self.move.pk)))

    def _take_study(self, study: str) -> str:
        """Take a study over from a project that left this installation; else it stays there."""
        left = ProjectMove.objects.filter(direction=ProjectMove.Direction.OUT, purpose="move")
        holder = Recruitment.objects.filter(
            study_id=study, task__project__in=left.values("project")
        )
        return study if holder.update(study_id="") else ""

    # When all rows are there ---------------------------------------------------------------------

    def finish(self) -> list[str]:
        """Fill what closes circles, compare everything, and return what differs."""
        self._fill_deferred()
        self._adopt_hashes()
        return [*self._compare_rows(), *self._compare_books(), *self._compare_files()]

    def _fill_deferred(self) -> None:
        for model in ordered():
            late = named_columns(model, (*DEFERRED, *QUIET))
            names = [column for column, _ in late]
            if not names:
                continue
            for chunk in self._chunks(model, 0):
                expected = [self.expect(model, row) for row in chunk]
                changed = [
                    model(pk=row["id"], **{name: row[name] for name in names})
                    for row in expected
                    if any(self._quiet(model, row)[name] != row[name] for name in names)
                ]
                model._base_manager.bulk_update(changed, names, batch_size=AT_ONCE)

    def _adopt_hashes(self) -> None:
        """Compute the hashes of frozen answers anew: they are over ids."""
        shift = self.move.shift
        for pk, (reader, subject) in self.reader.manifest.snapshots.items():
            digest = hashes.read_hashes(reader, subject + shift).get(int(pk) + shift)
            snapshot = Snapshot.objects.get(pk=int(pk) + shift)
            if digest is None:
                raise ImportDiffers(
                    _("The answers of snapshot %(pk)s cannot be read.") % {"pk": pk}
                )
            self.hashes[snapshot.content_hash] = digest
            snapshot.content_hash = digest
            snapshot.save(update_fields=["content_hash"])
        for fresh in self.reader.manifest.fresh:
            snapshot = Snapshot.objects.select_related("task").get(pk=fresh + shift)
            snapshot.counts["mark"] = take_mark(snapshot.task)
            snapshot.save(update_fields=["counts"])
        for model, name in ((RunFigure, "data"), (LiveEvaluation, "result")):
            for row in rows_of(model, self.project_id).iterator(100):
                new = replace_texts(getattr(row, name), self.hashes)
                if new != getattr(row, name):
                    model._base_manager.filter(pk=row.pk).update(**{name: new})

    def _compare_rows(self) -> Iterator[str]:
        fresh = {pk + self.move.shift for pk in self.reader.manifest.fresh}
        for model in ordered():
            name, wrong, first = label(model), 0, ""
            told = self.reader.manifest.members[rows_name(name)].rows
            count = rows_of(model, self.project_id).count()
            if count != told:
                yield f"{name}: {count:,} rows, {told:,} in the archive"
            key = model._meta.pk.attname
            for chunk in self._chunks(model, 0):
                expected = {row[key]: row for row in (self.expect(model, one) for one in chunk)}
                there = read_rows(model, list(expected))
                for pk, row in expected.items():
                    found = there.get(pk)
                    if found is not None and model is Snapshot and pk in fresh:
                        row["counts"]["mark"] = found["counts"]["mark"]
                    if found is not None and model is Project:
                        row["archived_at"] = found["archived_at"]
                    if found != row:
                        wrong += 1
                        first = first or first_difference(row, found)
            if wrong:
                yield f"{name}: {wrong:,} rows differ, the first in {first}"

    def _compare_books(self) -> Iterator[str]:
        told = {
            f"{name[:3]} {self.rewriter.rewrite('annotation.LedgerEntry.debit', name[4:])}": sums
            for name, sums in self.reader.manifest.books.items()
        }
        here = sum_books(Project.objects.get(pk=self.project_id))
        for account in sorted(told.keys() | here.keys()):
            if told.get(account) != here.get(account):
                yield f"Books: {account}: {here.get(account)}, {told.get(account)} in the archive"

    def _compare_files(self) -> Iterator[str]:
        for stored in rows_of(StoredFile, self.project_id):
            storage: Any = storages[stored.storage]
            digest = hashlib.sha256()
            for piece in storage.pieces(stored.name):
                digest.update(piece)
            if digest.hexdigest() != stored.sha256:
                yield f"File {stored.name}: its content differs"


STAYED = {
    one._meta.model_name for one in all_models() if label(one) in LEFT_OUT and one is not User
}


@cache
def named_columns(model: Model, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table among fields that are named with their model."""
    found = []
    for name in names:
        owner, _, own = name.rpartition(".")
        if owner == label(model):
            field: Any = model._meta.get_field(own)
            found.append((str(field.attname), name))
    return tuple(found)


@cache
def id_columns(model: Model) -> tuple[str, ...]:
    """Return the columns of a table that hold an id of the project: its own, and keys."""
    keys = [one.attname for one in kept_keys(model)]
    return tuple(dict.fromkeys([model._meta.pk.attname, *keys]))


@cache
def user_columns(model: Model) -> tuple[str, ...]:
    """Return the columns of a table that hold an account."""
    return tuple(one.attname for one in user_keys(model))


def replace_texts(value: Any, texts: Mapping[str, str]) -> Any:
    """Return JSON with these texts replaced wherever they stand."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, list):
        return [replace_texts(one, texts) for one in value]
    if isinstance(value, dict):
        return {key: replace_texts(one, texts) for key, one in value.items()}
    return value


def first_difference(row: Row, found: Row | None) -> str:
    """Name the row and column in which two rows differ."""
    if found is None:
        return "a row that is missing"
    names = [name for name in row if row[name] != found.get(name)]
    return f"row {row.get('id')}, {', '.join(names)}"


def reserve_ids(ids: Mapping[str, Sequence[int]]) -> int:
    """Reserve ids for a project in every table; return the number that is added to each.

    0 where the ids of the archive are free here.

    Raises
    ------
    Conflict
        Ids would grow beyond what options of runs hold, or others write so much at the moment
        that no lock can be had.
    """
    ranges: list[tuple[str, int, int]] = []
    for model in ordered():
        if _counts(model, ids):
            lowest, highest = ids[label(model)]
            ranges.append((_sequence(model), lowest, highest))
    need = max(_last_value(name) + MARGIN - lowest for name, lowest, _ in ranges)
    shift = max(0, -(-need // ROUND)) * ROUND
    if max(highest for *_, highest in ranges) + shift > MOST_ID:
        raise Conflict(_("The ids of this project would grow beyond %(most)s.") % {"most": MOST_ID})
    for name, lowest, highest in ranges:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '20s'")
            # Changes nothing, and waits for whoever took a number and has not committed yet.
            cursor.execute(f"ALTER SEQUENCE {name} CACHE 1")
            last = _last_value(name)
            if last >= lowest + shift:
                raise Conflict(_("Others wrote too many rows meanwhile. Start it again."))
            cursor.execute("SELECT setval(%s::regclass, %s)", [name, highest + shift])
    return shift


def _counts(model: Model, ids: Mapping[str, Sequence[int]]) -> bool:
    """Whether a table counts its own ids and has rows in the archive."""
    return label(model) in ids and model._meta.pk.get_internal_type() == "BigAutoField"


def _sequence(model: Model) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_serial_sequence(%s, %s)",
            [model._meta.db_table, model._meta.pk.column],
        )
        (name,) = cursor.fetchone()
    return str(name)


def _last_value(sequence: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT last_value FROM {sequence}")  # noqa: S608
        (value,) = cursor.fetchone()
    return int(value)


def check_tables(reader: ArchiveReader) -> None:
    """Refuse an archive that lacks a table, or a file that its rows name."""
    names = {rows_name(label(model)) for model in ordered()} | {PEOPLE, VECTORS}
    names |= {file_name(str(row["sha256"])) for row in reader.rows(rows_name(label(StoredFile)))}
    if missing := sorted(names - reader.manifest.members.keys()):
        raise BadArchive(f"{reader.path.name} is not whole: {missing[0]} is missing.")


def begin_move(reader: ArchiveReader, archive: str) -> ProjectMove:
    """Make or find the move of this archive. Raises Conflict where it is finished."""
    move = ProjectMove.objects.filter(direction=ProjectMove.Direction.IN, archive=archive).first()
    if move is not None and move.state == ProjectMove.State.DONE:
        raise Conflict(
            _("This archive was imported as project %(project)s.") % {"project": move.project_id},
            code="imported-already",
        )
    if move is not None:
        return move
    manifest = reader.manifest
    shift = reserve_ids(manifest.ids)
    with transaction.atomic():
        move = ProjectMove.objects.create(
            direction=ProjectMove.Direction.IN,
            purpose=manifest.purpose,
            archive=archive,
            shift=shift,
        )
        move.people = match_people(reader.rows(PEOPLE), move=move.pk)
        move.save(update_fields=["people"])
    return move
