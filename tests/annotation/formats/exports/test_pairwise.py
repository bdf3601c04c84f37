"""Judgments out, in the formats of other tools and back again, under pseudonyms alone."""

from __future__ import annotations

import csv
import io
import itertools
import json
import uuid
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.formats.exports.answered import LEFT_OUT
from annotation.formats.exports.pairwise import PAIR_EXPORTS, count_left_out, exports_of
from annotation.models import Answer, Membership, Task
from annotation.work.actions import answers, exclusions
from crowdqc.errors import Invalid
from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.pairwise import dataset as judged
from tests.evaluation.methods.bradley_terry.battles import pairs_from_battles
from tests.support import factories as make
from tests.support.kept import kept
from tests.support.studies.crowdrag_study import make_folder
from tests.support.studies.judging import make_pairs, make_ratings

pytestmark = pytest.mark.django_db
SIDES = ("left", "right", "neutral")
TWO = {
    "dimensions": [
        {"name": "coverage_deep", "label": "Deep", "neutral": True},
        {"name": "quality_overall", "label": "Overall", "neutral": True},
    ]
}


def text_of(task: Task, slug: str, form: str = "", dimension: str = "") -> str:
    """The whole file."""
    export = PAIR_EXPORTS[slug]
    return "".join(export.lines(task, form or export.formats[0], dimension))  # type: ignore[arg-type]


def rows_of(task: Task, slug: str, dimension: str = "") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text_of(task, slug, "csv", dimension))))


def judge(task: Task, worker: Membership, votes: Iterator[str]) -> None:
    """One worker's assignment, judged by the sides in turn."""
    assignment = make.claim(task, worker)
    names = [one["name"] for one in assignment.version.settings["dimensions"]]
    drafts = {
        entry.item_id: {f"d-{name}": next(votes) for name in names}
        for entry in assignment.entries.order_by("position")
    }
    answers.submit_assignment(
        by=worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
    )


@pytest.fixture
@kept
def task() -> Task:
    """Five pairs, shown straight and turned, judged by four workers; one is then excluded."""
    project = make.make_project()
    task = make_pairs(project, n=5, sides=(1, -1), settings=TWO, redundancy=4, order="random")
    votes = itertools.cycle((*SIDES, "left", "left"))
    for _ in range(4):
        judge(task, make.make_worker(project), votes)
    return Task.objects.select_related("project", "current").get(pk=task.pk)


def imported(path: Path, form: str, *more: str) -> Task:
    """The task that a file makes in a project of its own."""
    user, out = make.make_user(), StringIO()
    call_command(
        "crowdqc_import",
        form,
        str(path),
        "--new-project",
        f"Of {user.username}",
        "--by",
        user.username,
        *more,
        stdout=out,
        stderr=StringIO(),
    )
    return Task.objects.select_related("project", "current").latest("pk")


@pytest.mark.parametrize(
    ("slug", "form", "name"),
    [("arena", "arena", "out.jsonl"), ("crowdkit-pairwise", "crowdkit", "out.csv")],
)
def test_what_goes_out_comes_in_and_goes_out_again_the_same(
    task: Task, tmp_path: Path, slug: str, form: str, name: str
) -> None:
    for dimension in ("coverage_deep", "quality_overall"):
        path = tmp_path / name
        first = text_of(task, slug, dimension=dimension)
        assert len(first.splitlines()) > 10
        path.write_text(first)
        again = imported(path, form, "--dimension", dimension)
        assert again.project_id != task.project_id
        assert text_of(again, slug) == first
        # Into the project that it came from, it adds nothing.
        before = Answer.objects.filter(item__task=task).count()
        call_command(
            "crowdqc_import",
            form,
            str(path),
            "--task",
            str(task.pk),
            "--dimension",
            dimension,
            "--by",
            task.project.owner.username,
            stdout=StringIO(),
        )
        assert Answer.objects.filter(item__task=task).count() == before


def test_each_row_says_what_stood_left_and_who_won_there(task: Task) -> None:
    battles = [json.loads(line) for line in text_of(task, "arena").splitlines()]
    comparisons = rows_of(task, "crowdkit-pairwise")
    found = Answer.objects.order_by("pk").select_related(
        "item__first__system", "item__second__system", "worker"
    )
    assert {answer.flipped for answer in found} == {False, True}
    decided = iter(comparisons)
    for battle, answer in zip(battles, found, strict=True):
        left, right = answer.item.first, answer.item.second
        if answer.flipped:
            left, right = right, left
        code = answer.choices.get(field="quality_overall").code
        best = {"first": answer.item.first, "second": answer.item.second}.get(code)
        assert (battle["model_a"], battle["model_b"]) == (str(left.system), str(right.system))
        assert battle["conversation_a"][-1] == {"role": "assistant", "content": left.text}
        assert battle["judge"] == answer.worker.pseudonym
        assert battle["winner"] == {left: "model_a", right: "model_b", None: "tie"}[best]
        if best is not None:
            row = next(decided)
            assert (row["left"], row["right"], row["label"]) == (left.key, right.key, best.key)
    assert list(comparisons[0]) == ["worker", "left", "right", "label"]
    assert len(pairs_from_battles(battles)) == len(battles) == 20


def test_the_matrix_gives_the_same_alpha_as_the_arrays_that_evaluation_freezes(task: Task) -> None:
    matrix = rows_of(task, "reliability", "coverage_deep")
    cells = [[float(v) if v else np.nan for k, v in row.items() if k != "coder"] for row in matrix]
    theirs = krippendorff.alpha(
        np.array(cells), level_of_measurement="ordinal", value_domain=[-1, 0, 1]
    )
    ours = krippendorff_alpha(judged.current_judgments(task).data.votes.as_labels(0), "ordinal")
    assert theirs == pytest.approx(ours, abs=1e-12)
    labels = rows_of(task, "crowdkit-labels", "coverage_deep")
    assert list(labels[0]) == ["task", "worker", "label"] and len(labels) == 20
    assert {row["label"] for row in labels} == {"first", "neutral", "second"}


def test_why_a_worker_was_removed_stays_in_the_team(task: Task) -> None:
    worker = Membership.objects.filter(project=task.project, role="worker").latest("pk")
    exclusions.exclude(
        by=task.project.owner, task=task, worker=worker, reason="Just clicks", collect_again=True
    )
    gone = [row for row in rows_of(task, "judgments") if row["counts"] == "false"]
    assert {(row["worker"], row["reason"]) for row in gone} == {(worker.pseudonym, LEFT_OUT)}
    studio = text_of(task, "label-studio")
    assert "Just clicks" not in studio and studio.count(LEFT_OUT) == len(gone) > 0


def test_only_what_counts_goes_out_and_the_manifest_says_what_does_not(
    task: Task, tmp_path: Path
) -> None:
    by = task.project.owner
    workers = list(Membership.objects.filter(project=task.project, role="worker").order_by("pk"))
    exclusions.exclude(by=by, task=task, worker=workers[0], reason="spam")
    gone = Answer.objects.filter(worker=workers[1]).first()
    assert gone is not None
    answers.set_counts(by=by, answer=gone, counts=False, reason="a slip")
    for slug in ("arena", "crowdkit-pairwise", "crowdkit-labels", "reliability"):
        text = text_of(task, slug)
        assert workers[0].pseudonym not in text and workers[2].pseudonym in text
        assert {**count_left_out(task, slug)}.items() >= {"uncounted": 1, "excluded": 5}.items()
    every = rows_of(task, "judgments")
    assert len(every) == 20 and sum(row["excluded"] == "true" for row in every) == 5
    assert [row["reason"] for row in every if row["counts"] == "false"] == ["a slip"]
    path = tmp_path / "frame.csv"
    call_command(
        "crowdqc_export",
        "crowdkit",
        "--what",
        "labels",
        "--task",
        str(task.pk),
        "--dimension",
        "coverage_deep",
        "--out",
        str(path),
        stdout=StringIO(),
    )
    told = json.loads((tmp_path / "manifest.json").read_text())["files"]["frame.csv"]
    assert (told["rows"], told["dimension"], told["names"]) == (14, "coverage_deep", "pseudonyms")
    assert told["left_out"] == {"uncounted": 1, "excluded": 5, "other_fields": 0}
    assert len(path.read_text().splitlines()) == 15


def test_no_export_names_a_person_otherwise_than_by_pseudonym(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    task = imported(folder, "crowdrag", "--no-runs").project.tasks.get(type="pairwise", source=None)
    ids = set(Membership.objects.exclude(external_id="").values_list("external_id", flat=True))
    for slug in exports_of(task):
        text = text_of(task, slug)
        assert not [one for one in ids if f"{one}" in text], slug
    raw = [json.loads(line) for line in text_of(task, "crowdrag-raw").splitlines()]
    given = (folder / "raw/study2_responses.jsonl.gz").exists() and len(raw)
    assert given == 350 and list(raw[0])[:7] == [
        "submission_id",
        "worker",
        "item_index",
        "query_id",
        "response_a",
        "response_b",
        "validity",
    ]


def test_crowdrags_own_formats_come_out_as_they_went_in(tmp_path: Path) -> None:
    import gzip

    folder = make_folder(tmp_path)
    task = imported(folder, "crowdrag", "--no-runs").project.tasks.get(type="pairwise", source=None)
    with gzip.open(folder / "raw/study2_responses.jsonl.gz", "rt") as lines:
        given = [json.loads(line) for line in lines]
    raw = [json.loads(line) for line in text_of(task, "crowdrag-raw").splitlines()]
    assert [list(row) for row in raw] == [list(row) for row in given]
    for out, into in zip(raw, given, strict=True):
        hidden = {"worker", "submission_id"}
        assert {k: v for k, v in out.items() if k not in hidden} == {
            k: v for k, v in into.items() if k not in hidden
        }
    with gzip.open(folder / "llm_judgments.csv.gz", "rt", newline="") as handle:
        models = list(csv.DictReader(handle))
    assert rows_of(task, "crowdrag-llm") == models
    path = tmp_path / "raw.jsonl"
    path.write_text(text_of(task, "crowdrag-raw"))
    call_command(
        "crowdqc_import",
        "crowdrag-raw",
        str(path),
        "--project",
        str(task.project_id),
        "--by",
        task.project.owner.username,
        "--title",
        "Again",
        stdout=StringIO(),
        stderr=StringIO(),
    )
    again = Task.objects.latest("pk")
    assert text_of(again, "crowdrag-raw") == path.read_text()


def test_the_texts_go_into_another_project_as_they_are(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text(text_of(task, "candidates"), newline="")
    out, user = StringIO(), make.make_user()
    call_command(
        "crowdqc_import",
        "candidates",
        str(path),
        "--new-project",
        "Other",
        "--by",
        user.username,
        stdout=out,
    )
    assert "10 rows, 10 new" in out.getvalue()


def test_the_api_gives_the_same_files_to_the_team_alone(task: Task, client: Client) -> None:
    base = f"/api/tasks/{task.pk}/export"
    client.force_login(task.project.owner)
    response = client.get(f"{base}/arena.jsonl?dimension=coverage_deep")
    assert response["Content-Type"] == "application/x-ndjson"
    body = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    assert body == text_of(task, "arena", dimension="coverage_deep")
    assert client.get(f"{base}/arena.csv").status_code == 404
    assert client.get(f"{base}/crowdkit-labels.csv?dimension=mood").status_code == 422
    assert client.get(f"{base}/crowdkit-labels.parquet").status_code == 200
    client.force_login(make.make_user())
    assert client.get(f"{base}/arena.jsonl").status_code == 404
    worker = Membership.objects.filter(project=task.project, role="worker").first()
    client.force_login(worker.user)  # type: ignore[union-attr,arg-type]
    assert client.get(f"{base}/arena.jsonl").status_code == 403


def test_an_export_that_cannot_be_made_says_so_and_writes_nothing(
    task: Task, tmp_path: Path
) -> None:
    ratings = make_ratings(task.project)
    assert set(exports_of(ratings)) == {
        "judgments",
        "candidates",
        "crowdkit-labels",
        "reliability",
        "label-studio",
        "assignments",
        "events",
    }
    with pytest.raises(Invalid, match="does not ask for mood"):
        text_of(task, "arena", dimension="mood")
    for wanted, why in (
        (("arena", "--task", str(ratings.pk)), "has no arena"),
        (("arena", "--what", "leaderboard", "--task", str(task.pk)), "no official run"),
        (("arena", "--task", str(task.pk), "--format", "parquet"), "not written as parquet"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("crowdqc_export", *wanted, "--out", str(tmp_path / "out"))
    assert not list(tmp_path.iterdir())
