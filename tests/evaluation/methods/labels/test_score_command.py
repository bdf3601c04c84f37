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
    assert "5 of 6 workers label better than guessing," in said[0]
    assert "1 always or nearly always gives one label." in said[0]
    assert "25 known answers" in said[0]


def test_workers_stand_by_group_and_the_not_scored_come_last(tmp_path: Path) -> None:
    alone = {"worker": "a0", "item": "only theirs", "label": "yes", "gold": ""}
    said = score(write(tmp_path / "votes.csv", [alone, *votes()]))
    lines = said.split("\nWorkers\n")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split()[0] for line in lines[-2:]] == ["w5", "a0"]
    assert all(line.endswith("better than guessing") for line in lines[:-2])
    assert lines[-1].endswith("not scored")
    assert "1 worker is not scored: competence needs 3 workers who share items." in said
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


def test_rows_with_a_problem_are_named_and_left_out_as_on_the_page(tmp_path: Path) -> None:
    rows = votes()
    rows[7].update(label="")
    rows.append({**rows[3], "label": "no" if rows[3]["label"] == "yes" else "yes"})
    rows[1].update(gold="maybe")
    out, said = io.StringIO(), io.StringIO()
    path = write(tmp_path / "votes.csv", rows)
    call_command("crowdqc_score", str(path), "--out", str(tmp_path), stdout=out, stderr=said)
    assert "3 rows left out" in said.getvalue()
    assert "Line 9, label empty: No label" in said.getvalue()
    assert "w3 has this item again on line 242. The last one counts." in said.getvalue()
    assert "known answer" in said.getvalue()
    with (tmp_path / "left-out.csv").open(encoding="utf-8", newline="") as handle:
        assert [row["line"] for row in csv.DictReader(handle)] == ["3", "5", "9"]


def test_a_file_without_a_row_to_be_scored_writes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", [{"worker": "w", "item": "i", "label": ""}])
    with pytest.raises(CommandError, match="No row can be used"):
        score(path, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_comparisons_answers_and_ratings_are_scored_too(tmp_path: Path) -> None:
    names = ("alder", "birch", "cedar")

    def say(judge: int, a: int, b: int) -> str:
        return "right" if (judge + a + b) % 6 == 0 else "left"

    pairs = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    compared = [
        {"judge": f"j{k}", "left": names[a], "right": names[b], "winner": say(k, a, b)}
        for k in range(30)
        for a, b in pairs
    ]
    said = score(write(tmp_path / "pairs.csv", compared))
    assert "alder ranks first of 3 systems (by 95% intervals)." in said
    assert "90 comparisons by 30 judges." in said
    answers = [
        {"worker": f"w{k}", "question": f"q{n}", "answer": f"The tide turns {n} times a day"}
        for n in range(8)
        for k in range(4)
    ]
    answers += [
        {"worker": "odd", "question": f"q{n}", "answer": "Bread with butter, please"}
        for n in range(8)
    ]
    said = score(write(tmp_path / "answers.csv", answers))
    assert "40 answers to 8 questions." in said
    assert said.rstrip().splitlines()[-1].split()[1] == "odd"
    rated = [
        {"worker": f"w{k}", "item": f"t{n}", "score": str(1 + n % 5)}
        for n in range(20)
        for k in range(3)
    ]
    said = score(write(tmp_path / "ratings.csv", rated))
    assert (
        "Krippendorff's alpha (ordinal) 1.000" in said
        and "60 ratings of 20 texts by 3 workers." in said
    )


def test_items_have_the_label_that_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", votes())
    score(path, "--out", str(tmp_path / "out"))
    with (tmp_path / "out" / "item.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 40
    assert {row["label"] for row in rows} == {"no", "yes"}
    assert all(row["label"] == row["dawid_skene"] for row in rows)


def test_the_whole_result_is_printed_as_json(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", votes())
    found = json.loads(score(path, "--json", "--out", str(tmp_path / "out")))
    assert found["kind"] == "label_table" and found["recipe"]["params"]["posterior"] == "averaged"
    assert {row["worker"] for row in found["tables"]["worker"]} == {f"w{k}" for k in range(6)}
    assert found["tables"]["item"][0]["label"] in ("no", "yes")
    assert "held_out" in found["diagnostics"] and found["lines"]
    assert (tmp_path / "out" / "item.csv").is_file()


def test_comparisons_are_printed_as_json_too(tmp_path: Path) -> None:
    rows = [
        {"judge": f"j{k % 4}", "left": "a", "right": "b", "winner": "left" if k % 3 else "right"}
        for k in range(24)
    ]
    found = json.loads(score(write(tmp_path / "pairs.csv", rows), "--json"))
    assert found["kind"] == "comparison_table" and found["tables"]
