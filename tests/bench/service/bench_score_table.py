"""Tables that become tasks: rows read and checked a second, and the memory that this takes.

``BENCH_ROWS`` says how many rows: 100,000 by default. The peer of speed is the ``csv`` module alone
over the same rows; of a workbook it is the aim.
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
from tests.bench.service.bench_import import WORDS, peak, resident

ROWS = int(os.environ.get("BENCH_ROWS", "100000"))
KINDS = ("labels", "answers", "judgments", "ratings", "workbook")
SYSTEMS = 7


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    found = []
    for kind in KINDS:
        last = harness.python(dict(os.environ), "-m", "tests.bench.service.bench_score_table", kind)
        told = json.loads(last.splitlines()[-1])
        cost = f"{told['cpu']:.1f} s of computing"
        note = f"{ROWS:,} rows, {told['size'] / 1e6:.1f} MB; {cost}; aim 15,000"
        peer = (
            ("the aim", ROWS / 60)
            if kind == "workbook"
            else ("the csv module", ROWS / told["plain"])
        )
        aim = 300.0 if kind == "workbook" else 100.0
        found += [
            figure(f"table of {kind}, read", ROWS / told["seconds"], "rows/s", peer, note),
            figure(
                f"table of {kind}, growth of memory", told["grown"], "MB", ("the aim", aim), note
            ),
        ]
    return found


def _rows(kind: str) -> Iterator[list[str]]:
    """The table, its names first: five votes an item, by 97 workers in turn."""
    people = ((f"w{n % 97}", f"i{n // 5}", n) for n in range(ROWS))
    if kind == "answers":
        yield ["worker", "question", "answer"]
        yield from ([who, item, f"{n} {WORDS}"] for who, item, n in people)
    elif kind == "judgments":
        yield ["judge", "left", "right", "winner", "item"]
        for who, item, n in people:
            left, right = n % SYSTEMS, (n + 1 + n % (SYSTEMS - 2)) % SYSTEMS
            yield [who, f"s{left}", f"s{right}", ("left", "right", "tie")[n % 3], f"{item}-{n}"]
    elif kind == "ratings":
        yield ["worker", "item", "score"]
        yield from ([who, item, str(n % 5)] for who, item, n in people)
    else:
        yield ["worker", "item", "label"]
        yield from ([who, item, ("spots", "holes", "none")[n % 3]] for who, item, n in people)


def _write(kind: str, folder: str) -> Path:
    path = Path(folder) / ("votes.xlsx" if kind == "workbook" else "votes.csv")
    if kind == "workbook":
        import xlsxwriter

        with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
            sheet = book.add_worksheet()
            for at, row in enumerate(_rows(kind)):
                sheet.write_row(at, 0, row)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(_rows(kind))
    return path


def _measure(kind: str) -> dict[str, float]:
    from evaluation.management.commands.crowdqc_score import open_file

    with tempfile.TemporaryDirectory() as folder:
        path = _write(kind, folder)
        began = time.perf_counter()
        if kind != "workbook":
            with path.open(newline="") as file:
                assert sum(1 for _ in csv.reader(file)) == ROWS + 1
        plain = time.perf_counter() - began
        before, worked, began = resident(), time.process_time(), time.perf_counter()
        _, found = open_file(path)
        seconds = time.perf_counter() - began
        if len(found.checked.good) != ROWS:
            raise SystemExit(f"{len(found.checked.good):,} of {ROWS:,} rows were read.")
        child = resource.getrusage(resource.RUSAGE_CHILDREN)
        apart = child.ru_maxrss * 1024 / 1e6
        return {
            "seconds": seconds,
            "cpu": time.process_time() - worked + child.ru_utime + child.ru_stime,
            "plain": plain,
            "grown": peak() - before + apart,
            "size": path.stat().st_size,
        }


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    print(json.dumps(_measure(sys.argv[1])))
