"""Scores as files: CSV or JSONL with a manifest, pseudonymous, streamed row by row."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotation.exports.files import Echo
from annotation.models import Answer
from crowdqc.cells import protected
from crowdqc.errors import Invalid
from evaluation.figure_names import figures_text
from evaluation.methods.writing import NAME as WRITING
from evaluation.methods.writing_signals import SIGNALS
from evaluation.models import (
    AnswerScore,
    CandidateScore,
    ItemLabel,
    ItemScore,
    Run,
    RunFigure,
    SystemScore,
    WorkerScore,
)

BASE = ("dimension", "component", "estimate", "low", "high", "n")
RANKED = (*BASE, "rank_low", "rank_high", "group")
SYSTEM = (("system", "system__name"), ("prompt_strategy", "system__prompt_strategy"))


@dataclass(frozen=True)
class Sheet:
    """A table of a run as a file.

    ``names`` are its first columns as (name in the file, path in the database), ``columns`` the
    model's own, ``extra`` keys of its JSON column ``source`` (in the file behind ``prefix``).
    """

    model: Any
    names: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    extra: tuple[str, ...]
    source: str = "extra"
    prefix: str = ""

    @property
    def header(self) -> list[str]:
        """The columns of the file."""
        own = [name for name, _ in self.names]
        more = (f"{self.prefix}{key.replace('.', '_')}" for key in self.extra)
        return [*own, *self.columns, *more]

    def told(self, source: Mapping[str, Any]) -> list[Any]:
        """The values of ``extra``; a dot leads into a nested one."""
        return [
            (source.get(part) or {}).get(rest) if rest else source.get(part)
            for part, _, rest in (key.partition(".") for key in self.extra)
        ]


TABLES: dict[str, Sheet] = {
    "workers": Sheet(
        WorkerScore,
        (("worker", "worker__pseudonym"),),
        RANKED,
        ("raw", "adjusted", "uniterated", "normalised", "weight", "no_interval"),
    ),
    "systems": Sheet(SystemScore, SYSTEM, RANKED, ("raw", "adjusted", "uniterated", "no_interval")),
    "answers": Sheet(
        AnswerScore,
        (
            ("item_id", "answer__item__key"),
            ("worker", "answer__worker__pseudonym"),
            ("system", "answer__system__name"),
            ("prompt_strategy", "answer__system__prompt_strategy"),
            ("replicate", "answer__replicate"),
        ),
        BASE,
        ("uniterated", "best", "best_trusted"),
    ),
    "questions": Sheet(
        ItemScore,
        (("item_id", "item__key"), ("best_worker", "best_answer__worker__pseudonym")),
        BASE,
        ("spread", "agreement", "effect", "declined"),
    ),
}
# Of runs on pairwise tasks; dimension "" is all of them together.
PAIR_TABLES: dict[str, Sheet] = {
    "workers": Sheet(
        WorkerScore,
        (("worker", "worker__pseudonym"),),
        BASE,
        ("spam", "guess_left", "guess_neutral", "guess_right", "with_others", "n_others"),
    ),
    "systems": Sheet(SystemScore, SYSTEM, RANKED, ("se", "rank")),
    "texts": Sheet(
        CandidateScore,
        (
            ("candidate", "candidate__key"),
            ("topic", "candidate__topic"),
            *((name, f"candidate__{path}") for name, path in SYSTEM),
            ("style", "candidate__style"),
            ("origin", "candidate__origin"),
        ),
        BASE,
        ("rank", "grade", "grade_low", "grade_high", "of", "pairs"),
    ),
    "labels": Sheet(
        ItemLabel,
        (
            ("item_id", "item__key"),
            ("first_candidate", "item__first__key"),
            ("second_candidate", "item__second__key"),
        ),
        ("dimension", "component", "label", "entropy", "n"),
        ("first", "neutral", "second"),
        "posterior",
        "p_",
    ),
}
SIGNAL_COLUMNS = tuple(
    f"{part}.{signal.slug}" for part in ("states", "values") for signal in SIGNALS
)
# Of runs on written responses; a signal's state is fired, quiet, not_recorded or too_little.
WRITING_TABLES: dict[str, Sheet] = {
    "responses": Sheet(
        AnswerScore,
        (
            ("item_id", "answer__item__key"),
            ("topic", "answer__item__group__key"),
            ("style", "answer__item__settings__style"),
            ("worker", "answer__worker__pseudonym"),
            ("system", "answer__system__name"),
            ("prompt_strategy", "answer__system__prompt_strategy"),
            ("replicate", "answer__replicate"),
            ("words", "estimate"),
        ),
        (),
        (
            "statements", "citations", "documents", "unknown", "order", "bleu", "heavy",
            "readability", "source_readability", "minutes", *SIGNAL_COLUMNS,
        ),
    )
}  # fmt: skip
OF_PAIRS = ("pairwise", "pairwise_checks", "published")
FORMATS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


def tables_of(run: Run) -> dict[str, Sheet]:
    """What a run of this method can be exported as."""
    if run.method in OF_PAIRS:
        return PAIR_TABLES
    return WRITING_TABLES if run.method == WRITING else TABLES


def check(run: Run, table: str, form: str) -> None:
    """Raise Invalid, naming the field, where there is no such table or format."""
    known = tables_of(run)
    if table not in known:
        raise Invalid(f"There is no table {table!r}.", fields={"table": ", ".join(known)})
    if form not in FORMATS:
        raise Invalid(f"There is no format {form!r}.", fields={"format": ", ".join(FORMATS)})


def rows(run: Run, table: str) -> Iterator[dict[str, Any]]:
    """Rows of a table in a fixed order, by column name; a missing figure is None."""
    sheet = tables_of(run)[table]
    paths = [path for _, path in sheet.names]
    found: QuerySet[Any] = sheet.model.objects.filter(run=run)
    found = found.order_by(*paths, "component", "pk")
    head = sheet.header
    for values in found.values_list(*paths, *sheet.columns, sheet.source).iterator(chunk_size=2000):
        *plain, extra = values
        yield dict(zip(head, [*plain, *sheet.told(extra)], strict=True))


def lines(run: Run, table: str, form: str) -> Iterator[str]:
    """The file, line by line. Text that a spreadsheet would take for a formula is quoted."""
    check(run, table, form)
    if form == "jsonl":
        yield from (json.dumps(row, ensure_ascii=False) + "\n" for row in rows(run, table))
        return
    writer = csv.writer(Echo())
    yield writer.writerow(tables_of(run)[table].header)
    for row in rows(run, table):
        yield writer.writerow([protected(value) for value in row.values()])


def manifest(run: Run, files: Mapping[str, str]) -> dict[str, Any]:
    """What the files hold and how to get them again; ``files`` maps names to SHA-256."""
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
        "names": "pseudonyms",
        "files": dict(files),
    }


def _versions(run: Run) -> list[int]:
    """Numbers of the task's versions whose answers the run saw."""
    seen = Answer.objects.filter(scores__run=run)
    if run.method in OF_PAIRS:
        ids = run.snapshot.answer_ids if run.snapshot else []
        seen = Answer.objects.filter(pk__in=ids)
    return sorted(seen.order_by().values_list("version__number", flat=True).distinct())


def archive(run: Run, form: str) -> bytes:
    """All tables and the manifest in one ZIP file, and the figures where pages draw them."""
    check(run, next(iter(tables_of(run))), form)
    buffer, hashes = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for table in tables_of(run):
            name, digest = f"{table}.{form}", hashlib.sha256()
            with bundle.open(_entry(name), "w", force_zip64=True) as handle:
                for line in lines(run, table, form):
                    digest.update(line.encode())
                    handle.write(line.encode())
            hashes[name] = digest.hexdigest()
        if run.method in (*OF_PAIRS, WRITING):
            text = figures_text(run)
            bundle.writestr(_entry("figures.json"), text)
            hashes["figures.json"] = hashlib.sha256(text.encode()).hexdigest()
        told = json.dumps(manifest(run, hashes), ensure_ascii=False, indent=2, sort_keys=True)
        bundle.writestr(_entry("manifest.json"), told + "\n")
    return buffer.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """A fixed date, so that the same scores give the same bytes."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
