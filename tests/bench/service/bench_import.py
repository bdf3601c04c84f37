"""Files in: 100,000 rows read, checked and imported by the job, and hostile files refused.

The peer of speed is PostgreSQL's own COPY of the same rows into a bare table, that of memory is the
file itself.
"""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench import harness
from tests.bench.harness import figure

WORKERS, QUESTIONS = 200, 500  # 100,000 rows
WORDS = "They build their nests on chimneys and poles, and come back each spring."
KINDS = ("answers", "system_answers", "items")


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    rows = WORKERS * QUESTIONS
    found = []
    for kind in KINDS:
        with harness.scratch_database() as environment:
            plain = {**environment, "CROWDQC_POOL": "0"}
            last = harness.python(plain, "-m", "tests.bench.service.bench_import", kind)
        told = json.loads(last.splitlines()[-1])
        note = f"{rows:,} rows of {kind}, {told['size'] / 1e6:.0f} MB of CSV, by the job"
        cost = f"{told['worked']:.1f} s of computing, the database's included"
        found += [
            figure(
                f"upload of {kind}, read and checked",
                rows / told["read"],
                "rows/s",
                ("COPY of the same rows", rows / told["copy"]),
                note,
            ),
            figure(
                f"import of {kind}",
                rows / told["import"],
                "rows/s",
                ("COPY of the same rows", rows / told["copy"]),
                f"{note}; aim 10,000; {cost}",
            ),
            figure(
                f"import of {kind}, growth of resident memory",
                told["grown"],
                "MB",
                ("the file itself", told["size"] / 1e6),
                f"{note}; aim under 60 MB",
            ),
        ]
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


def _lines(kind: str, keys: list[str]) -> list[list[str]]:
    if kind == "items":
        head = ["item_id", "question", "topic"]
        return [
            head,
            *([f"n{n}", f"{n}: {WORDS}", f"t{n % 1000}"] for n in range(WORKERS * QUESTIONS)),
        ]
    who = "worker_id" if kind == "answers" else "system"
    said = ([key, f"w{n}", f"{n} {key}: {WORDS}"] for n in range(WORKERS) for key in keys)
    return [["item_id", who, "answer"], *said]


def _import(kind: str) -> dict[str, Any]:
    from django.db import connection

    from annotation.formats.actions.imports import import_content
    from annotation.formats.uploads import actions, process
    from tests.support import factories

    task = factories.make_task(n=QUESTIONS)
    by, keys = task.project.owner, list(task.items.values_list("key", flat=True))
    lines = _lines(kind, keys)
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    content = out.getvalue().encode()
    # One row first: what a worker loads once is no growth by the size of a file.
    small = "\n".join(",".join(line) for line in [lines[0], [*lines[1][:1], "z", "z"]])
    import_content(by=by, task=task, kind=kind, name="a.csv", content=small.encode())
    task.refresh_from_db()
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE peer (a text, b text, c text)")
        with cursor.copy("COPY peer FROM STDIN WITH (FORMAT csv, HEADER)") as into:
            into.write(content)
    copied = time.perf_counter() - began
    file = actions.keep_file(by=by, task=task, kind=kind, name="a.csv", content=content)
    size = len(content)
    del content, out, lines
    before, began = _resident(), time.perf_counter()
    if process.process(file.pk) != "ready":
        raise SystemExit("The file was not read.")
    read, worked = time.perf_counter() - began, _worked()
    actions.request_import(by=by, file=file, leave_out_bad=True)
    began = time.perf_counter()
    if process.process(file.pk) != "imported":
        raise SystemExit("The file was not imported.")
    took, worked = time.perf_counter() - began, _worked() - worked
    file.refresh_from_db()
    if file.report["new"] < WORKERS * QUESTIONS - 1:
        raise SystemExit(f"Rows are missing: {file.report}.")
    return {
        "copy": copied,
        "read": read,
        "import": took,
        "size": size,
        "worked": worked,
        "grown": max(0.0, _peak() - before),
    }


def _refuse(name: str) -> dict[str, Any]:
    from annotation.files.reading.sheet import read
    from crowdqc.errors import Invalid
    from tests.security.files.test_files import many_columns, parquet, repeated

    if name == "parquet":
        what = "a Parquet file of 1,000,000 rows"
        made = parquet(item_id=repeated("x", 10**6), question=repeated("y", 10**6))
    else:
        what, made = "a CSV of 100,000 columns", many_columns()
    before, began, said = _peak(), time.perf_counter(), ""
    try:
        read(made, "a.csv")
    except Invalid as refused:
        said = refused.message
    return {
        "what": what,
        "said": said,
        "seconds": time.perf_counter() - began,
        "grown": _peak() - before,
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


def _resident() -> float:
    """Resident memory now, in MB; the peak so far is set back to it."""
    Path("/proc/self/clear_refs").write_text("5")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _peak() -> float:
    """The highest resident memory since ``_resident``, in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024 / 1e6


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    wanted = sys.argv[1]
    print(json.dumps(_import(wanted) if wanted in KINDS else _refuse(wanted)))
