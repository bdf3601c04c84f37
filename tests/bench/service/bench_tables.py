"""A table of 50,000 labels from the drop to the board, step by step, with its memory.

The functions behind the pages, without a browser: the file is kept, read and checked by the job,
written as a task with its answers, scored by a run, and its board is drawn. The peer of the whole
is the method alone on the same labels, that of reading and writing PostgreSQL's own COPY of the
rows into a bare table, that of memory the file itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from tests.bench import harness
from tests.bench.harness import figure

ITEMS = 10_000  # with 5 labels each


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    with harness.scratch_database() as environment:
        plain = environment
        last = harness.python(plain, "-m", "tests.bench.service.bench_tables", str(ITEMS))
    told = json.loads(last.splitlines()[-1])
    rows, copied = told["rows"], ("COPY of the same rows", told["rows"] / told["copy"])
    steps = ("read", "write", "run", "board")
    whole = sum(told[step] for step in steps)
    note = f"{rows:,} labels, {told['size'] / 1e6:.1f} MB of CSV, by the job"
    said = ", ".join(f"{step} {told[step]:.1f} s" for step in steps)
    return [
        figure(
            f"a table of {rows:,} rows from drop to board",
            whole,
            "s",
            ("the method alone on the same labels", told["method"]),
            f"{note}: {said}",
        ),
        figure(
            f"a table of {rows:,} labels, read and checked",
            rows / told["read"],
            "rows/s",
            copied,
            note,
        ),
        figure(
            f"a table of {rows:,} labels, written as a task",
            rows / told["write"],
            "rows/s",
            copied,
            note,
        ),
        *(
            figure(
                f"a table of {rows:,} labels, growth of resident memory: {step}",
                told["grown"][step],
                "MB",
                ("the file itself", told["size"] / 1e6),
                note,
            )
            for step in steps[:3]
        ),
    ]


def _table(items: int) -> bytes:
    from tests.bench.methods.bench_labels import votes

    lines = zip(*votes(items), strict=True)
    return "\n".join(
        ["worker,item,label", *(f"w{w},i{i},class {label}" for w, i, label in lines), ""]
    ).encode()


def _measure(items: int) -> dict[str, Any]:
    from django.test import Client

    from annotation.formats.uploads import actions, process
    from evaluation.labels import dataset
    from evaluation.models import Run, RunState
    from evaluation.runs import engine
    from tests.bench.service.bench_import import peak, resident
    from tests.support import factories

    by = factories.make_user()
    content = _table(items)
    took: dict[str, float] = {"copy": _copy(content)}
    grown: dict[str, float] = {}

    def step(name: str, work: Any, wanted: Any) -> Any:
        before, began = resident(), time.perf_counter()
        found = work()
        took[name] = time.perf_counter() - began
        grown[name] = max(0.0, peak() - before)
        if found != wanted:
            raise SystemExit(f"{name} gave {found!r}, not {wanted!r}.")

    # A small table first: what a worker loads once is no growth by the size of a file.
    _score(by, _table(40))
    file = actions.keep_table(by=by, project=None, name="labels.csv", content=content)
    step("read", lambda: process.process(file.pk), "ready")
    actions.request_import(by=by, file=file, leave_out_bad=True)
    step("write", lambda: process.process(file.pk), "imported")
    run = Run.objects.latest("pk")
    step("run", lambda: engine.execute(run.pk), RunState.DONE)
    client = Client()
    client.force_login(by)
    board = f"/projects/{run.project_id}/tasks/{run.task_id}/labels/?run={run.number}"
    step("board", lambda: client.get(board, headers={"host": "localhost"}).status_code, 200)
    run.refresh_from_db()
    from annotation.work.snapshots import labels as collected
    from evaluation.methods.labels.method import METHOD

    data = dataset.load(run.snapshot, collected.field_of(run.task, run.params["field"])).data
    options = {name: value for name, value in run.params.items() if name != "field"}
    began = time.perf_counter()
    METHOD.fit(data, rng=np.random.default_rng(run.seed), **options)
    took["method"] = time.perf_counter() - began
    return {**took, "rows": 5 * items, "size": len(content), "grown": grown}


def _score(by: Any, content: bytes) -> None:
    from annotation.formats.uploads import actions, process
    from evaluation.models import Run
    from evaluation.runs import engine

    file = actions.keep_table(by=by, project=None, name="small.csv", content=content)
    process.process(file.pk)
    actions.request_import(by=by, file=file, leave_out_bad=True)
    process.process(file.pk)
    engine.execute(Run.objects.latest("pk").pk)


def _copy(content: bytes) -> float:
    from django.db import connection

    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE peer (a text, b text, c text)")
        with cursor.copy("COPY peer FROM STDIN WITH (FORMAT csv, HEADER)") as into:
            into.write(content)
    return time.perf_counter() - began


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    print(json.dumps(_measure(int(sys.argv[1]))))
