"""Scores as files: CSV or JSONL with a manifest, pseudonymous, streamed row by row."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import QuerySet

from crowdqc.errors import Invalid
from evaluation.models import AnswerScore, ItemScore, Run, RunFigure, SystemScore, WorkerScore

BASE = ("dimension", "component", "estimate", "low", "high", "n")
RANKED = (*BASE, "rank_low", "rank_high", "group")
# Table: its first columns as (name in the file, path in the database), and the score's columns.
TABLES: dict[str, tuple[Any, tuple[tuple[str, str], ...], tuple[str, ...]]] = {
    "workers": (WorkerScore, (("worker", "worker__pseudonym"),), RANKED),
    "systems": (
        SystemScore,
        (("system", "system__name"), ("prompt_strategy", "system__prompt_strategy")),
        RANKED,
    ),
    "answers": (
        AnswerScore,
        (
            ("item_id", "answer__item__key"),
            ("worker", "answer__worker__pseudonym"),
            ("system", "answer__system__name"),
            ("prompt_strategy", "answer__system__prompt_strategy"),
            ("replicate", "answer__replicate"),
        ),
        BASE,
    ),
    "questions": (
        ItemScore,
        (("item_id", "item__key"), ("best_worker", "best_answer__worker__pseudonym")),
        BASE,
    ),
}
EXTRA = {
    "workers": ("raw", "adjusted", "uniterated", "normalised", "weight", "no_interval"),
    "systems": ("raw", "adjusted", "uniterated", "no_interval"),
    "answers": ("uniterated", "best", "best_trusted"),
    "questions": ("spread", "agreement", "effect", "declined"),
}
FORMATS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


def check(table: str, form: str) -> None:
    """Raise Invalid, naming the field, where there is no such table or format."""
    if table not in TABLES:
        raise Invalid(f"There is no table {table!r}.", fields={"table": ", ".join(TABLES)})
    if form not in FORMATS:
        raise Invalid(f"There is no format {form!r}.", fields={"format": ", ".join(FORMATS)})


def header(table: str) -> list[str]:
    """The columns of a table's file."""
    return [name for name, _ in TABLES[table][1]] + [*TABLES[table][2], *EXTRA[table]]


def rows(run: Run, table: str) -> Iterator[dict[str, Any]]:
    """Rows of a table in a fixed order, by column name; a missing figure is None."""
    model, names, columns = TABLES[table]
    paths = [path for _, path in names]
    found: QuerySet[Any] = model.objects.filter(run=run).order_by(*paths, "component", "pk")
    head = header(table)
    for values in found.values_list(*paths, *columns, "extra").iterator(chunk_size=2000):
        *plain, extra = values
        yield dict(zip(head, [*plain, *(extra.get(key) for key in EXTRA[table])], strict=True))


def lines(run: Run, table: str, form: str) -> Iterator[str]:
    """The file, line by line. Text that a spreadsheet would take for a formula is quoted."""
    check(table, form)
    if form == "jsonl":
        yield from (json.dumps(row, ensure_ascii=False) + "\n" for row in rows(run, table))
        return
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, header(table))
    writer.writeheader()
    yield _drain(buffer)
    for row in rows(run, table):
        writer.writerow({name: _cell(value) for name, value in row.items()})
        yield _drain(buffer)


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value


def _drain(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def manifest(run: Run, files: Mapping[str, str]) -> dict[str, Any]:
    """What the files hold and how to get them again; ``files`` maps names to SHA-256."""
    told = RunFigure.objects.filter(run=run, name="recipe").values_list("data", flat=True).first()
    versions = sorted(
        AnswerScore.objects.filter(run=run)
        .values_list("answer__version__number", flat=True)
        .distinct()
    )
    return {
        "project": run.project_id,
        "task": run.task_id,
        "task_versions": versions,
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
        "names": "pseudonyms",
        "files": dict(files),
    }


def archive(run: Run, form: str) -> bytes:
    """All tables and the manifest in one ZIP file."""
    check("workers", form)
    buffer, hashes = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for table in TABLES:
            name, digest = f"{table}.{form}", hashlib.sha256()
            with bundle.open(_entry(name), "w", force_zip64=True) as handle:
                for line in lines(run, table, form):
                    digest.update(line.encode())
                    handle.write(line.encode())
            hashes[name] = digest.hexdigest()
        told = json.dumps(manifest(run, hashes), ensure_ascii=False, indent=2, sort_keys=True)
        bundle.writestr(_entry("manifest.json"), told + "\n")
    return buffer.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """A fixed date, so that the same scores give the same bytes."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
