"""The books of a project as a page and as a file that needs no program of ours."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from django.http import StreamingHttpResponse
from django.utils.translation import gettext_lazy

from annotation.installation.selectors import audit_rows
from annotation.models import AuditEntry, Project
from annotation.payouts.export import LEDGER, ledger_rows
from annotation.payouts.selectors.balance import Trial, account_names, trial_balances
from annotation.payouts.selectors.ledger import entries, parse_filter
from crowdqc.files.cells import csv_lines
from evaluation.deletion.tables import BARE, BOOKS, project_rows
from evaluation.moving.rows import columns, plain
from evaluation.moving.tables import Model
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import ResultTable, plain_table

PIECE = 1 << 16  # bytes
LEDGER_FILE, AUDIT_FILE = "ledger.csv", "audit-log.jsonl"
# What an account of the trial balance is, as a row of a table.
ACCOUNTS = (
    head_column("name", gettext_lazy("Account")),
    Column.number("debit", gettext_lazy("Debit"), digits=2),
    Column.number("credit", gettext_lazy("Credit"), digits=2),
    Column.number("balance", gettext_lazy("Balance"), digits=2),
)


def balance_table(trial: Trial) -> ResultTable:
    """Return the accounts of one currency, workers by themselves at the end."""
    rest = [one for one in trial.accounts if one.code.partition(":")[2]]
    return plain_table(trial.currency, ACCOUNTS, [*rest, *trial.workers])


def books_page(project: Project) -> dict[str, Any]:
    """Return what the page of a project's books shows."""
    return {
        "project_of": project,
        "deletion": getattr(project, "deletion", None),
        "tables": [balance_table(one) for one in trial_balances(project)],
        "entries": project.ledger.count(),
        "audit_entries": AuditEntry.objects.filter(project=project).count(),
    }


def write_books(project: Project, file: BinaryIO) -> None:
    """Write the books as a ZIP: the ledger, the audit log, and each table that is kept."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        codes = {
            code
            for pair in project.ledger.values_list("debit", "credit").distinct()
            for code in pair
        }
        ledger = ledger_rows(entries(project, parse_filter({})), account_names(project, codes))
        _add(out, LEDGER_FILE, csv_lines([LEDGER]), csv_lines(ledger))
        log = (json.dumps(one, ensure_ascii=False) + "\n" for one in audit_rows(None, project))
        _add(out, AUDIT_FILE, log)
        for model in (*BOOKS, *BARE):
            if model is not AuditEntry:
                name = f"tables/{model._meta.model_name}.csv"
                _add(out, name, csv_lines(_table(model, project)))


def books_response(project: Project) -> StreamingHttpResponse:
    """Return the ZIP as a download."""
    response = StreamingHttpResponse(_pieces(project), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="books-{project.pk}.zip"'
    return response


def _pieces(project: Project) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as file:
        write_books(project, file)
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


def _add(out: zipfile.ZipFile, name: str, *parts: Iterable[str]) -> None:
    with out.open(name, "w") as member:
        for lines in parts:
            for line in lines:
                member.write(line.encode())


def _table(model: Model, project: Project) -> Iterator[list[Any]]:
    """Yield the columns of a table and its rows, without what is sealed."""
    names = [name for name in columns(model) if "sealed" not in name]
    yield list(names)
    rows = project_rows(model, project.pk).values_list(*names)
    for row in rows.iterator(chunk_size=2_000):
        yield [plain(value) for value in row]
