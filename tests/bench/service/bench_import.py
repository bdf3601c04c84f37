"""Files in and out: rows read, checked and imported by the job, and exported; hostile files.

``BENCH_ROWS`` says how many rows: 200,000 by default, and 1,000,000 where it is set so. The peer of
speed is PostgreSQL's own COPY of the same rows into a bare table, that of memory the file itself.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import harness
from tests.bench.harness import figure

ROWS = int(os.environ.get("BENCH_ROWS", "200000"))
QUESTIONS = 500
WORDS = "They build their nests on chimneys and poles, and come back each spring."
KINDS = ("answers", "labels", "judgments", "system_answers", "items")
OUT = ("answers", "labels", "judgments")  # which are exported again
FORMS = ("csv", "jsonl", "parquet")
DIMENSIONS = ("clarity", "overall")


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    found = []
    for kind in KINDS:
        with harness.scratch_database() as environment:
            more = {
                "CROWDQC_IMPORT_MAX_BYTES": str(2**30),
                "CROWDQC_IMPORT_MAX_ROWS": str(2 * ROWS),
            }
            plain = {**environment, **more}
            last = harness.python(plain, "-m", "tests.bench.service.bench_import", kind)
        found += _figures(kind, json.loads(last.splitlines()[-1]))
    for name in ("parquet", "columns"):
        last = harness.python(dict(os.environ), "-m", "tests.bench.service.bench_import", name)
        told = json.loads(last.splitlines()[-1])
        found += [
            figure(
                f"refusal of {told['what']}", told["seconds"], "s", ("the aim", 1.0), told["said"]
            ),
            figure(
                f"refusal of {told['what']}, growth of memory",
                told["grown"],
                "MB",
                ("the aim", 50.0),
                f"a file of {told['size']:,} bytes",
            ),
        ]
    return found


def _figures(kind: str, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Speed and growth of memory of each step."""
    rows, found = told["rows"], []
    for name, step in told["steps"].items():
        cost = f"{step['cpu']:.1f} s of computing, the database's included"
        note = f"{rows:,} rows of {kind}, {told['size'] / 1e6:.0f} MB of CSV, by the job; {cost}"
        aim = "15,000" if name in ("read and checked", "imported") else "40,000"
        copied = ("COPY of the same rows", rows / told["copy"])
        found += [
            figure(
                f"{kind} {name}", rows / step["seconds"], "rows/s", copied, f"{note}; aim {aim}"
            ),
            figure(
                f"{kind} {name}, growth of resident memory",
                step["grown"],
                "MB",
                ("the file itself", told["size"] / 1e6),
                f"{note}; aim under 100 MB",
            ),
        ]
    return found


def _lines(kind: str, keys: list[str]) -> Iterator[list[str]]:
    """The file, its first line first: so many rows, each question or item in turn."""
    if kind == "items":
        yield ["item_id", "question", "topic"]
        yield from ([f"n{n}", f"{n}: {WORDS}", f"t{n % 1000}"] for n in range(ROWS))
        return
    pairs = ((f"w{n // len(keys)}", keys[n % len(keys)], n) for n in range(ROWS))
    if kind == "labels":
        yield ["item", "worker", "label"]
        yield from ([key, who, ("spots", "holes", "none")[n % 3]] for who, key, n in pairs)
    elif kind == "judgments":
        yield ["item_id", "worker", *DIMENSIONS]
        sides = ("first", "second", "neutral")
        yield from ([key, who, sides[n % 3], sides[n % 2]] for who, key, n in pairs)
    else:
        yield ["item_id", "worker_id" if kind == "answers" else "system", "answer"]
        yield from ([key, who, f"{n} {key}: {WORDS}"] for who, key, n in pairs)


def _task(kind: str) -> Any:
    from tests.support import factories
    from tests.support.studies import labels

    if kind == "labels":
        texts = [f"{n}: {WORDS}" for n in range(QUESTIONS)]
        return labels.make_labels(factories.make_project(), texts)
    if kind == "judgments":
        from tests.bench.service import million

        return million.make_task(factories.make_project(), 1)
    return factories.make_task(n=QUESTIONS)


class _Steps:
    """What each step took: seconds, seconds of computing, and by how much memory grew."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}

    def take(self, name: str, work: Any, wanted: str) -> None:
        before, worked, began = resident(), _worked(), time.perf_counter()
        if (state := work()) != wanted:
            raise SystemExit(f"{name}: {state}, not {wanted}.")
        self.found[name] = {
            "seconds": time.perf_counter() - began,
            "cpu": _worked() - worked,
            "grown": max(0.0, peak() - before),
        }


def _import(kind: str) -> dict[str, Any]:
    from annotation.files.reading.sources import Source
    from annotation.formats.actions import export_files
    from annotation.formats.uploads import actions, process

    task, steps = _task(kind), _Steps()
    by, keys = task.project.owner, list(task.items.values_list("key", flat=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(_lines(kind, keys))
        size, copied = path.stat().st_size, _copy(path)
        _small(task, kind, keys)
        upload = actions.keep_file(
            by=by, task=task, kind=kind, name="a.csv", content=Source(size, lambda: _pieces(path))
        )
    steps.take("read and checked", lambda: process.process(upload.pk), "ready")
    actions.request_import(by=by, file=upload, leave_out_bad=True)
    steps.take("imported", lambda: process.process(upload.pk), "imported")
    upload.refresh_from_db()
    if upload.report["new"] < ROWS - 1:
        raise SystemExit(f"Rows are missing: {upload.report}.")
    for form in FORMS if kind in OUT else ():
        asked = export_files.request_export(
            by=by, project=task.project, task=task, what=kind, form=form
        )
        steps.take(f"exported as {form}", lambda pk=asked.pk: export_files.write(pk), "done")
        asked.refresh_from_db()
        if asked.rows < ROWS:
            raise SystemExit(f"The file holds {asked.rows} rows.")
    return {"copy": copied, "rows": ROWS, "size": size, "steps": steps.found}


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(2**20):
            yield piece


def _copy(path: Path) -> float:
    """Seconds of PostgreSQL's own COPY of the file."""
    from django.db import connection

    with path.open() as file:
        names = [f"c{k}" for k in range(len(file.readline().split(",")))]
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE peer ({', '.join(f'{name} text' for name in names)})")
        with cursor.copy("COPY peer FROM STDIN WITH (FORMAT csv, HEADER)") as into:
            for piece in _pieces(path):
                into.write(piece)
    return time.perf_counter() - began


def _small(task: Any, kind: str, keys: list[str]) -> None:
    """One row in, and out: what a worker loads once is no growth by the size of a file."""
    from annotation.formats.actions import export_files
    from annotation.formats.actions.imports import import_content

    by = task.project.owner
    lines = _lines(kind, keys)
    head, first = next(lines), next(lines)
    first = ["z" if cell in ("w0", "n0") else cell for cell in first]
    content = "\n".join([",".join(head), ",".join(cell.replace(",", "") for cell in first)])
    import_content(by=by, task=task, kind=kind, name="a.csv", content=content.encode())
    for form in FORMS if kind in OUT else ():
        asked = export_files.request_export(
            by=by, project=task.project, task=task, what=kind, form=form
        )
        export_files.write(asked.pk)
    task.refresh_from_db()


def _refuse(name: str) -> dict[str, Any]:
    from annotation.files.reading.sheet import read
    from crowdqc.errors import Invalid
    from tests.security.files.test_files import many_columns, parquet, repeated

    if name == "parquet":
        what = "a Parquet file of 1,000,000 rows"
        made = parquet(item_id=repeated("x", 10**6), question=repeated("y", 10**6))
    else:
        what, made = "a CSV of 100,000 columns", many_columns()
    before, began, said = peak(), time.perf_counter(), ""
    try:
        read(made, "a.csv")
    except Invalid as refused:
        said = refused.message
    return {
        "what": what,
        "said": said,
        "seconds": time.perf_counter() - began,
        "grown": peak() - before,
        "size": len(made),
    }


def _worked() -> float:
    """Seconds of computing so far, of this process and of its side of the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():  # a database elsewhere
        return time.process_time()
    fields = stat.read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def resident() -> float:
    """Resident memory now, in MB; the peak so far is set back to it."""
    Path("/proc/self/clear_refs").write_text("5")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak() -> float:
    """The highest resident memory since ``resident``, in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024 / 1e6


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    wanted = sys.argv[1]
    print(json.dumps(_import(wanted) if wanted in KINDS else _refuse(wanted)))
