"""100,000 answers out and in again: how fast, and how much memory it takes.

The peer of the memory is the size of the file, which an export that holds all of it would need; the
peer of the speed is PostgreSQL's own COPY of the same rows.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench import harness
from tests.bench.harness import figure

WORKERS, QUESTIONS = 200, 500  # 100,000 answers
WORDS = "They build their nests on chimneys and poles, and come back each spring. "
COPY = (
    "COPY (SELECT i.key, m.pseudonym, t.text, a.answered_at, a.counts FROM annotation_textvalue t "
    "JOIN annotation_answer a ON a.id = t.answer_id JOIN annotation_item i ON i.id = a.item_id "
    "JOIN annotation_membership m ON m.id = a.worker_id WHERE i.task_id = %s ORDER BY a.id) "
    "TO STDOUT WITH CSV"
)


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    with harness.scratch_database() as environment:
        plain = {**environment, "CROWDQC_POOL": "0"}
        told: dict[str, dict[str, Any]] = {}
        for step in ("fill", "copy", "export", "import"):
            last = harness.python(plain, "-m", "tests.bench.service.bench_export", step)
            told[step] = json.loads(last.splitlines()[-1])
    rows = WORKERS * QUESTIONS
    out, back, peer = told["export"], told["import"], told["copy"]
    note = f"{rows:,} answers of {out['size'] / 1e6:.0f} MB as JSONL, written as a background file"
    return [
        figure(
            "export of answers",
            rows / out["seconds"],
            "rows/s",
            ("COPY of the same rows", rows / peer["seconds"]),
            note,
        ),
        figure(
            "export, growth of resident memory",
            out["grown"],
            "MB",
            ("the file itself", out["size"] / 1e6),
            f"{note}; aim under 150 MB",
        ),
        figure(
            "import of these answers",
            rows / back["seconds"],
            "rows/s",
            ("the export", rows / out["seconds"]),
            f"the same {back['new']:,} answers again: {back['same']}",
        ),
        figure(
            "import, growth of resident memory",
            back["grown"],
            "MB",
            ("the file itself", out["size"] / 1e6),
            "all of it is checked before any is kept",
        ),
    ]


def _fill() -> dict[str, Any]:
    """A task whose answers are inserted by the database itself."""
    from django.db import connection

    from annotation.formats.actions import answers as answer_imports
    from tests.support import factories

    task = factories.make_task(n=QUESTIONS)
    workers = answer_imports.workers_by_id(task.project, {f"w{n}" for n in range(WORKERS)})
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_item SET redundancy = %s WHERE task_id = %s", [WORKERS, task.pk]
        )
        cursor.execute(
            "INSERT INTO annotation_assignment (task_id, version_id, worker_id, state, source, pay,"
            " leased_at, expires_at, extensions, submitted_at, settled_at) SELECT %s, %s, m, "
            "'submitted', 'import', 0, now(), now(), 0, now(), now() FROM unnest(%s::bigint[]) m",
            [task.pk, task.current_id, [one.pk for one in workers.values()]],
        )
        cursor.execute(
            "INSERT INTO annotation_answer (version_id, item_id, stage, assignment_id, worker_id, "
            "replicate, flipped, counts, uncounted_reason, answered_at) SELECT a.version_id, i.id, "
            "'main', a.id, a.worker_id, 0, false, true, '', now() FROM annotation_assignment a, "
            "annotation_item i WHERE a.task_id = %s AND i.task_id = %s",
            [task.pk, task.pk],
        )
        cursor.execute(
            "INSERT INTO annotation_textvalue (answer_id, field, index, text) SELECT id, 'answer', "
            "0, id || ': ' || %s || worker_id FROM annotation_answer",
            [WORDS],
        )
        cursor.execute("ANALYZE")
    return {"task": task.pk}


def _copy() -> dict[str, Any]:
    from django.db import connection

    from annotation.models import Task

    task, size = Task.objects.get(), 0
    began = time.perf_counter()
    with connection.cursor() as cursor, cursor.cursor.copy(COPY, [task.pk]) as copied:
        for piece in copied:
            size += len(piece)
    return {"seconds": time.perf_counter() - began, "size": size}


def _export() -> dict[str, Any]:
    from annotation.formats.actions import export_files
    from annotation.models import Task

    task = Task.objects.select_related("project").get()

    def asked(what: str) -> Any:
        return export_files.request_export(
            by=task.project.owner, project=task.project, task=task, what=what, form="jsonl"
        )

    # A small one first: what a worker loads once is no growth by the size of a file.
    export_files.write(asked("items").pk)
    file = asked("answers")
    before, began = _resident(), time.perf_counter()
    if export_files.write(file.pk) != "done":
        raise SystemExit("The file was not written.")
    seconds = time.perf_counter() - began
    grown = _peak() - before
    file.refresh_from_db()
    if file.rows != WORKERS * QUESTIONS:
        raise SystemExit(f"The file holds {file.rows} rows.")
    with _path().open("wb") as out:
        out.writelines(export_files.content(file))
    return {"seconds": seconds, "grown": grown, "size": file.size}


def _import() -> dict[str, Any]:
    from annotation.formats.actions.imports import import_content
    from annotation.models import Task, TextValue
    from tests.support import factories

    first = Task.objects.earliest("pk")
    task = factories.make_task(n=QUESTIONS)
    content = _path().read_bytes()
    before, began = _resident(), time.perf_counter()
    report = import_content(
        by=task.project.owner, task=task, kind="answers", content=content, name="a.jsonl"
    )
    seconds, grown = time.perf_counter() - began, _peak() - before

    def held(one: Task) -> Any:
        rows = TextValue.objects.filter(answer__item__task=one).order_by(
            "answer__item__key", "answer__worker__pseudonym"
        )
        columns = ("answer__item__key", "answer__worker__pseudonym", "text", "answer__answered_at")
        return hash(tuple(rows.values_list(*columns)))

    return {
        "seconds": seconds,
        "grown": grown,
        "new": report.new,
        "same": "equal" if held(first) == held(task) else "NOT equal",
    }


def _path() -> Path:
    return Path(os.environ["BENCH_EXPORT_FILE"])


def _resident() -> float:
    """Resident memory now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    import django

    os.environ.setdefault("BENCH_EXPORT_FILE", f"/tmp/crowdqc-bench-{os.getppid()}.jsonl")  # noqa: S108
    django.setup()
    print(
        json.dumps(
            {"fill": _fill, "copy": _copy, "export": _export, "import": _import}[sys.argv[1]]()
        )
    )
    if sys.argv[1] == "import":
        _path().unlink()
