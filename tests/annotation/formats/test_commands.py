"""crowdqc_import and crowdqc_export: the browser's checks at the command line."""

from __future__ import annotations

import hashlib
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Answer, Item, Task
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories as make

pytestmark = pytest.mark.django_db


def import_file(path: Path, task: Task, kind: str, *more: str, by: str = "") -> tuple[str, str]:
    """What the command printed: its output and its errors."""
    out, err = StringIO(), StringIO()
    call_command(
        "crowdqc_import",
        "free-text",
        str(path),
        "--task",
        str(task.pk),
        "--kind",
        kind,
        "--by",
        by or task.project.owner.username,
        *more,
        stdout=out,
        stderr=err,
    )
    return out.getvalue(), err.getvalue()


def export_file(path: Path, task: Task, what: str, *more: str) -> str:
    out = StringIO()
    call_command(
        "crowdqc_export",
        "free-text",
        "--task",
        str(task.pk),
        "--what",
        what,
        "--out",
        str(path),
        *more,
        stdout=out,
    )
    return out.getvalue()


@pytest.fixture
def task() -> Task:
    return make.make_task(n=2)


def test_a_file_is_imported_once_with_the_columns_that_were_named(
    task: Task, tmp_path: Path
) -> None:
    path = tmp_path / "given.csv"
    path.write_text("nr;who;said\nq-001;ann;On chimneys.\nq-002;ann;Frogs.\n")
    mapping = ("--map", "nr=item_id", "who=worker_id", "said=answer")
    out, _ = import_file(path, task, "answers", *mapping)
    assert out == "given.csv: 2 rows, 2 new, 0 there already.\n"
    out, _ = import_file(path, task, "answers", *mapping)
    assert out == "given.csv: 2 rows, 0 new, 2 there already.\n"
    assert Answer.objects.count() == 2


def test_every_bad_row_is_named_by_line_and_nothing_or_the_rest_is_imported(
    task: Task, tmp_path: Path
) -> None:
    path = tmp_path / "given.jsonl"
    rows: list[Any] = [
        {"item_id": "q-001", "system": "Owl", "answer": "On chimneys."},
        {"item_id": "q-009", "system": "Owl", "answer": "Where?"},
        {"item_id": "q-002", "system": "Owl", "answer": ""},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    with pytest.raises(CommandError) as refused:
        import_file(path, task, "system_answers")
    told = str(refused.value).splitlines()
    assert told[0].startswith("3 of 4 rows cannot be read. Nothing was imported.")
    assert [line.split(":")[0] for line in told[1:]] == [
        "line 2, item_id",
        "line 3, answer",
        "line 4",
    ]
    assert refused.value.returncode == 1 and not Answer.objects.exists()
    out, err = import_file(path, task, "system_answers", "--skip-bad")
    assert "1 new, 0 there already, 3 left out" in out and len(err.splitlines()) == 3
    assert Answer.objects.count() == 1


def test_only_a_requester_of_the_project_imports(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item_id,question\nq-9,Why?\n")
    manager = make.make_member(task.project).user
    for name, why in (
        (manager.username, "is not a requester"),
        (make.make_user().username, "is not a requester"),
        ("nobody-here", "There is no user"),
    ):
        with pytest.raises(CommandError, match=why):
            import_file(path, task, "items", by=name)
    for more, why in (
        (("--map", "item_id"), "COLUMN=FIELD"),
        (("--map", "nr=item_id"), "has no column 'nr'"),
        (("--map", "item_id=mood"), "item_id, question, context, topic"),
    ):
        with pytest.raises(CommandError, match=why):
            import_file(path, task, "items", *more)
    with pytest.raises(CommandError, match="cannot be read"):
        import_file(tmp_path / "none.csv", task, "items")
    assert Item.objects.count() == 2
    import_file(path, task, "items")
    assert Item.objects.count() == 3


def test_exports_carry_a_manifest_of_versions_counts_hashes_and_recipes(tmp_path: Path) -> None:
    task = corpus.make_answered()
    run = runs.start(
        by=task.project.owner, task=task, params={"encoder": "char-svd", "resamples": 200}
    )
    runs.execute(run.pk)
    run.refresh_from_db()
    with pytest.raises(CommandError, match="no official run"):
        export_file(tmp_path / "trial.csv", task, "scores")
    make_official(run)
    for what, rows in (("items", 8), ("answers", 90), ("system_answers", 24), ("scores", 12)):
        path = tmp_path / f"{what}.csv"
        out = export_file(path, task, what)
        assert "manifest.json says what they are" in out
        told = json.loads((tmp_path / "manifest.json").read_text())["files"][path.name]
        assert told["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert told["rows"] == rows
        assert [version["number"] for version in told["task_versions"]] == [1]
        recipe = told["run"] if what == "scores" else told["runs"][0]
        assert (recipe["method"], recipe["seed"]) == ("aqer", runs.DEFAULT_SEED)
        assert recipe["method_version"] and len(recipe["snapshot"]) == 64
    files = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert set(files) == {"items.csv", "answers.csv", "system_answers.csv", "scores.csv"}
    assert (tmp_path / "scores.csv").read_text().startswith("worker,dimension,")
    export_file(tmp_path / "answers.jsonl", task, "answers")
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert len(lines) == files["answers.csv"]["rows"] and json.loads(lines[0])["worker_id"]


def test_an_export_that_is_refused_writes_nothing(task: Task, tmp_path: Path) -> None:
    for path, what, why in (
        (tmp_path / "scores.csv", "scores", "no official run"),
        (tmp_path / "none" / "items.csv", "items", "cannot be written to"),
        (tmp_path / "manifest.json", "items", "another name"),
    ):
        with pytest.raises(CommandError, match=why):
            export_file(path, task, what)
    (tmp_path / "manifest.json").write_text('{"of": "somebody else"}')
    with pytest.raises(CommandError, match="not one of ours"):
        export_file(tmp_path / "items.csv", task, "items")
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_payouts_are_exported_as_the_ledger_says(tmp_path: Path) -> None:
    import uuid
    from decimal import Decimal

    from annotation.payouts.actions import proposals as payouts

    world = make.make_world()
    done = make.claim_and_submit(world.task, world.worker)
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[payouts.ProposedLine(done.pk, bonus=Decimal("0.50"))],
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("2.30"))
    export_file(tmp_path / "paid.jsonl", world.task, "payouts")
    rows = [json.loads(line) for line in (tmp_path / "paid.jsonl").read_text().splitlines()]
    assert [(row["kind"], row["amount"], row["currency"]) for row in rows] == [
        ("base", "1.80", "EUR"),
        ("bonus", "0.50", "EUR"),
    ]
    assert {row["worker"] for row in rows} == {world.worker.pseudonym}
