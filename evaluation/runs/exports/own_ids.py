"""The ids that a scored table gave its workers, in files for the project's requesters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from annotation.access import Access
from annotation.files.writing.tables import Row, Table
from annotation.formats.registry import TABLES
from annotation.models import ImportFile, Role, Task

# Column that names a worker -> the one of the pseudonym beside it.
PSEUDONYMS = {"worker": "pseudonym", "best_worker": "best_pseudonym"}
OwnIds = Mapping[str, str]  # pseudonym -> id in the file
NO_IDS: OwnIds = MappingProxyType({})


def own_ids(access: Access, task: Task) -> OwnIds:
    """Map pseudonyms to the ids of the scored table; {} of other tasks, and for other roles."""
    if not access.is_requester:
        return {}
    if not ImportFile.objects.filter(task=task, kind__in=TABLES).exists():
        return {}
    workers = access.project.memberships.filter(role=Role.WORKER, user=None, erased_at=None)
    return dict(workers.exclude(external_id="").values_list("pseudonym", "external_id"))


def header_with_ids(columns: Sequence[str]) -> list[str]:
    """Name the columns of a table with a pseudonym beside each worker."""
    return [out for name in columns for out in (name, *filter(None, [PSEUDONYMS.get(name)]))]


def with_own_ids(table: Table, ids: OwnIds) -> Table:
    """Put the id of the file beside each worker's pseudonym, where the table names workers."""
    named = [name for name in table.columns if name in PSEUDONYMS]
    if not ids or not named:
        return table

    def rows() -> Iterator[Row]:
        for row in table.rows:
            values = (
                dict(zip(table.columns, row, strict=True)) if isinstance(row, tuple) else dict(row)
            )
            for name in named:
                pseudonym = values[name]
                values |= {name: ids.get(pseudonym, pseudonym), PSEUDONYMS[name]: pseudonym}
            yield values

    return Table(header_with_ids(table.columns), rows())
