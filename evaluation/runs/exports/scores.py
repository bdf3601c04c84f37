"""Scores as files: CSV or JSONL with a manifest, pseudonymous, streamed row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext

from annotation.files.writing import tables as files
from annotation.files.writing.tables import Table
from annotation.files.writing.zips import zip_with_manifest
from annotation.models import Answer, Candidate, Item, Membership, System
from crowdqc.errors import Invalid
from evaluation.models import AnswerScore, Run, RunFigure
from evaluation.results.files import StoredTable
from evaluation.runs.exports import dictionary
from evaluation.runs.exports.own_ids import NO_IDS, OwnIds, header_with_ids, with_own_ids
from evaluation.runs.exports.tables import found_tables
from evaluation.runs.run_types import type_of

FORMATS = files.FORMATS


def tables_of(run: Run) -> Mapping[str, StoredTable]:
    """Return the tables that the run can be exported as, by name."""
    return type_of(run.method).tables or found_tables(run)


def check(run: Run, table: str, form: str) -> None:
    """Raise Invalid, naming the field, where there is no such table or format."""
    known = (*tables_of(run), dictionary.TABLE)
    if table not in known:
        raise Invalid(
            gettext("There is no table %(table)s.") % {"table": f"{table!r}"},
            fields={"table": ", ".join(known)},
        )
    files.check_format(form)


def table(run: Run, name: str, ids: OwnIds = NO_IDS) -> Table:
    """Return a table of a run for export, with the workers' ids of the file where given."""
    if name == dictionary.TABLE:
        headers = {one: table.header for one, table in tables_of(run).items()}
        if not ids:
            return dictionary.dictionary(headers)
        named = {one: header_with_ids(header) for one, header in headers.items()}
        return dictionary.dictionary(named, about=dictionary.ABOUT_OWN_IDS)
    found = tables_of(run)[name]
    rows = found.records(found.model.objects.filter(run=run))
    return with_own_ids(Table(found.header, rows), ids)


def lines(run: Run, name: str, form: str, ids: OwnIds = NO_IDS) -> Iterator[Any]:
    """The file, piece by piece. Text that a spreadsheet would take for a formula is quoted."""
    check(run, name, form)
    return table(run, name, ids).parts(form)


def manifest(run: Run, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of an export; ``files`` maps names to SHA-256."""
    told = RunFigure.objects.filter(run=run, name="recipe").values_list("data", flat=True).first()
    return {
        "project": run.project_id,
        "task": run.task_id,
        "task_versions": _versions(run),
        "run": run.number,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "method": run.method,
        "method_version": run.version,
        "params": run.params,
        "seed": run.seed,
        "recipe": told,
        "snapshot": run.snapshot.content_hash if run.snapshot else None,
        "counts": run.snapshot.counts if run.snapshot else {},
        "result_hash": run.result_hash,
        "official": run.official.filter(until__isnull=True).exists(),
        "names": "pseudonyms",
        "files": dict(files),
    }


def _versions(run: Run) -> list[int]:
    """Numbers of the task's versions whose answers the run saw."""
    seen = Answer.objects.filter(scores__run=run)
    if not any(one.model is AnswerScore for one in type_of(run.method).tables.values()):
        ids = run.snapshot.answer_ids if run.snapshot else []
        seen = Answer.objects.filter(pk__in=ids)
    return sorted(seen.order_by().values_list("version__number", flat=True).distinct())


# Column of a figure's rows -> what its ids are.
COLUMNS = {
    "worker": "worker",
    "system": "system",
    "system_a": "system",
    "system_b": "system",
    "machine": "system",
    "machine_a": "system",
    "machine_b": "system",
    "candidate": "candidate",
    "pair": "pair",
}


def _names(run: Run) -> dict[str, dict[int, str]]:
    project = run.project_id
    return {
        "worker": dict(Membership.objects.filter(project=project).values_list("pk", "pseudonym")),
        "system": {one.pk: str(one) for one in System.objects.filter(project=project)},
        "candidate": dict(Candidate.objects.filter(project=project).values_list("pk", "key")),
        "pair": dict(Item.objects.filter(task=run.task_id).values_list("pk", "key")),
    }


def _named(row: Any, names: Mapping[str, Mapping[int, str]]) -> Any:
    if not isinstance(row, dict):
        return row
    return {
        column: names[COLUMNS[column]].get(value, value)
        if column in COLUMNS and isinstance(value, int)
        else value
        for column, value in row.items()
    }


def figures_text(run: Run) -> str:
    """Write all figures of a run as JSON, by name."""
    names = _names(run)
    told = RunFigure.objects.filter(run=run).order_by("name").values_list("name", "data")
    found = {
        name: [_named(row, names) for row in data] if isinstance(data, list) else data
        for name, data in told
    }
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


class Archive:
    """All tables and the manifest in one ZIP file, and the figures where pages draw them.

    ``rows`` and ``manifest`` are known when the parts have been gone through.
    """

    def __init__(self, run: Run, form: str, ids: OwnIds = NO_IDS) -> None:
        files.check_format(form)
        self.run, self.form, self.ids, self.rows = run, form, ids, 0
        self.manifest: dict[str, Any] = {}

    def parts(self) -> Iterator[bytes]:
        """Yield the ZIP file in pieces."""
        return zip_with_manifest(self._files(), self._make_manifest)

    def _files(self) -> Iterator[tuple[str, Iterable[Any]]]:
        for name in (*tables_of(self.run), dictionary.TABLE):
            yield f"{name}.{self.form}", self._table(name)
        if type_of(self.run.method).figures_exported:
            yield "figures.json", [figures_text(self.run)]

    def _table(self, name: str) -> Iterator[Any]:
        found = table(self.run, name, self.ids)
        yield from found.parts(self.form)
        self.rows += found.count

    def _make_manifest(self, hashes: Mapping[str, str]) -> dict[str, Any]:
        self.manifest = manifest(self.run, hashes)
        if self.ids:
            self.manifest["names"] = "ids of the file, with pseudonyms"
        return self.manifest


def archive(run: Run, form: str, ids: OwnIds = NO_IDS) -> bytes:
    """Return the ZIP file of a run's tables as bytes."""
    return b"".join(Archive(run, form, ids).parts())
