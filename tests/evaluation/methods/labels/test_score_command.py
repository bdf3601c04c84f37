"""manage.py crowdqc_score on files as people have them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command


def votes(seed: int = 0) -> list[dict[str, str]]:
    """Six workers, the last of whom always says yes, on 40 items with known answers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 40)
    found = []
    for item, answer in enumerate(truth):
        for worker in range(6):
            said = 1 if worker == 5 else int(answer ^ (rng.random() < 0.1))
            found.append(
                {
                    "worker": f"w{worker}",
                    "item": f"i{item}",
                    "label": ("no", "yes")[said],
                    "gold": ("no", "yes")[answer] if item < 25 else "",
                }
            )
    return found


def score(path: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("crowdqc_score", str(path), *options, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def write(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_csv_tsv_json_lines_a_matrix_and_parquet_give_one_verdict(tmp_path: Path) -> None:
    rows = votes()
    lines = tmp_path / "votes.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    parquet = tmp_path / "votes.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), parquet)
    wide: dict[str, dict[str, str]] = {}
    for row in rows:
        line = wide.setdefault(row["item"], {"item": row["item"], "gold": row["gold"]})
        line[row["worker"]] = row["label"]
    said = [
        score(path)
        for path in (
            write(tmp_path / "votes.csv", rows),
            write(tmp_path / "votes.tsv", rows, "\t"),
            lines,
            write(tmp_path / "matrix.csv", list(wide.values())),
            parquet,
        )
    ]
    assert said[0] == said[1] == said[2] == said[3] == said[4]
    assert "5 of 6 workers label better than guessing (by the 95% interval)" in said[0]
    assert "1 always or nearly always gives one label." in said[0]
    assert "25 known answers" in said[0]


def test_workers_stand_by_group_and_the_not_scored_come_last(tmp_path: Path) -> None:
    alone = {"worker": "a0", "item": "only theirs", "label": "yes", "gold": ""}
    said = score(write(tmp_path / "votes.csv", [alone, *votes()]))
    lines = said.split("\nWorkers\n")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split()[0] for line in lines[-2:]] == ["w5", "a0"]
    assert all(line.endswith("better than guessing") for line in lines[:-2])
    assert lines[-1].endswith("not scored")
    assert "1 worker shares no item with others and has no score." in said
    assert "5 of 7 workers" in said


def test_tables_are_written_with_names(tmp_path: Path) -> None:
    score(write(tmp_path / "votes.csv", votes()), "--out", str(tmp_path / "out"))
    with (tmp_path / "out" / "worker.csv").open(encoding="utf-8", newline="") as handle:
        worker = list(csv.DictReader(handle))
    assert [row["worker"] for row in worker] == [f"w{k}" for k in range(6)]
    assert [row["same_label"] for row in worker] == [""] * 5 + ["yes"]
    with (tmp_path / "out" / "item.csv").open(encoding="utf-8", newline="") as handle:
        item = list(csv.DictReader(handle))
    assert {row["glad"] for row in item} == {"no", "yes"}
    assert {row["gold"] for row in item} == {"no", "yes", ""}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[7].update(label=""), "Line 9 has no label"),
        (lambda rows: rows.append(dict(rows[3])), "Line 242: worker 'w3' labelled item 'i0'"),
        (lambda rows: rows[1].update(gold="maybe"), "two known answers"),
    ],
    ids=["no label", "twice", "two answers"],
)
def test_a_bad_row_is_named_and_nothing_is_written(
    tmp_path: Path, change: object, said: str
) -> None:
    rows = votes()
    change(rows)  # type: ignore[operator]
    with pytest.raises(CommandError, match=said):
        score(write(tmp_path / "votes.csv", rows), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
