"""Bundles: a run leaves the application with all that gives its numbers again, and a changed vote
shows."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
import uuid
import zipfile
from io import BytesIO, StringIO
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pypdf import PdfReader

from annotation.authoring.actions import tasks
from annotation.formats.actions import votes as vote_imports
from annotation.formats.actions.imports import import_content
from annotation.formats.imports.tools.crowdkit import Label
from annotation.models import Answer, Consent, ExportFile, Membership, Task, TextValue
from annotation.work.actions import answers, assignments, exclusions
from annotation.work.snapshots.other_fields import OtherField
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import percent
from evaluation.bundles import writing as bundle
from evaluation.bundles.checking import check_report, verify
from evaluation.bundles.kinds.base import Broken
from evaluation.bundles.kinds.choices import others_bytes, read_others
from evaluation.bundles.makers import live_file, report_of, written_as
from evaluation.bundles.manifest import FIGURES, NAMES, RECIPE, results_file
from evaluation.bundles.study import collection_lines, people_lines, study_of, unfinished
from evaluation.bundles.tables import Bundled
from evaluation.bundles.verdicts import first_ranked
from evaluation.bundles.words import COHEN, FLEISS, GWET
from evaluation.live import actions as live
from evaluation.models import ItemLabel, ItemScore, Run, RunState, SystemScore
from evaluation.runs import engine as runs
from evaluation.runs.study_state import read_slots
from tests.evaluation.bundles.files import changed, written
from tests.evaluation.corpora import checks as checks_corpus
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as corpus
from tests.support import factories as make
from tests.support.studies import live as live_study
from tests.support.studies.judging import make_ratings

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
# What pages say of boards by kind: the address, and words.
BY_KIND = {
    "labels": ("label_agreement", ("By kind of item", "Workers by kind")),
    "ratings": ("rating_results", ("By kind of text", "12 texts, 48 ratings")),
}


def test_who_is_first_is_said_of_the_largest_board_alone() -> None:
    """Two boards that do not compare have a first each; the report says what the page says."""
    spans = {1: (1, 1, 1), 2: (1, 2, 3), 3: (1, 2, 3), 4: (2, 1, 1), 5: (2, 2, 2)}
    rows = [
        {"system_id": pk, "dimension": "", "component": part, "n": 3}
        | {"rank_low": best, "rank_high": worst}
        for pk, (part, best, worst) in spans.items()
    ]
    names = {"systems": {str(pk): f"s{pk}" for pk in spans}, "workers": {}}
    contents = {
        results_file(SystemScore): "".join(json.dumps(row) + "\n" for row in rows),
        NAMES: json.dumps(names),
        RECIPE: json.dumps({"counts": {"answers": 9}}),
        FIGURES: "{}",
    }
    files = {name: text.encode() for name, text in contents.items()}
    assert first_ranked(Bundled(files, {})) == "s1 is first."


def by_parity(task: Task) -> Task:
    """The same with a column that says which items are odd."""
    for at, item in enumerate(task.items.order_by("pk")):
        item.settings["meta"] = {"parity": ("even", "odd")[at % 2]}
        item.save(update_fields=["settings"])
    return task


def run_of(method: str) -> Run:
    """A small finished run of the method."""
    params: dict[str, Any] = {"resamples": 100}
    if method in ("aqer", "aqer_joint"):
        task = corpus.make_answered()
        params["encoder"] = "char-svd"
    elif method == "pairwise":
        task = pair_corpus.make_judged(workers=8, topics=2)
        params |= {"restarts": 2, "draws": 100}
    elif method == "labels":
        task = by_parity(label_corpus.make_task(items=20, known=4))
        task = label_corpus.make_labelled(task=task, workers=6)
        params["restarts"] = 2
    elif method == "replacement_texts":
        task = corpus.make_answered()
        params = {"encoder": "char-svd", "draws": 100}
    elif method == "replacement of checklists":
        task = checks_corpus.make_study(topics=8, people=4, scored=False)
        label_corpus.add_copy(task)
        params, method = {"draws": 100}, "replacement"
    elif method == "replacement":
        task = label_corpus.make_labelled(items=60, known=0, workers=5, guessing=0)
        label_corpus.add_model(task, "Alder", right=0.9)
        params = {"draws": 100}
    else:
        task = by_parity(make_ratings(make.make_project(), n=24))
        keys = list(task.items.order_by("key").values_list("key", flat=True))
        labels = [
            Label(1, key, f"w-{person}", str(1 + (at * 2 + person) % 5))
            for person in range(4)
            for at, key in enumerate(keys)
        ]
        vote_imports.import_labels(by=task.project.owner, task=task, dimension="", labels=labels)
        task.refresh_from_db()
    run = runs.start(by=task.project.owner, task=task, method=method, params=params)
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return run


def one_vote(files: dict[str, bytes]) -> None:
    """One answer says something else: another one's words, or the other choice."""
    rows = [json.loads(line) for line in files["data/answers.jsonl"].decode().splitlines()]
    people = [row for row in rows if row["worker_id"] is not None]
    if "text" in rows[0]:
        people[0]["text"] = next(r["text"] for r in people if r["text"] != people[0]["text"])
    elif "code" in rows[0]:
        people[0]["code"] = next(r["code"] for r in people if r["code"] != people[0]["code"])
    else:
        name, value = next(iter(people[0]["votes"].items()))
        people[0]["votes"][name] = 1 if value == -1 else value - 1
    files["data/answers.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()


def told(path: Path) -> tuple[int, str]:
    """What the command says, where no database can be reached."""
    environment = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}
    environment["DJANGO_SETTINGS_MODULE"] = "crowdqc.settings"
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_bundle", str(path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "method",
    [
        "aqer",
        "aqer_joint",
        "pairwise",
        "ratings",
        "labels",
        "replacement",
        "replacement of checklists",
        "replacement_texts",
    ],
)
def test_a_bundle_gives_the_same_numbers_and_shows_one_changed_vote(
    method: str, tmp_path: Path
) -> None:
    run = run_of(method)
    path = written(run, tmp_path)
    if method == "aqer":  # the command itself, without a database; the others in this process
        code, text = told(path)
        assert code == 0, text
        assert "byte for byte the same" in text
    report = verify(path)
    assert report.good, report.lines
    assert "byte for byte the same" in report.lines[-1][1]

    report = verify(changed(path, one_vote, mend=False))
    assert next(text for good, text in report.lines if not good) == (
        "Files: data/answers.jsonl was changed."
    )
    report = verify(changed(path, one_vote, mend=True))
    wrong = " ".join(text for good, text in report.lines if not good)
    if method in BY_KIND:  # boards by kind are in it, and on the page
        address, said = BY_KIND[method]
        client = Client()
        client.force_login(run.project.owner)
        page = client.get(reverse(address, args=[run.project_id, run.task_id]))
        assert all(one in page.content.decode() for one in ("Parity", "even", *said))
        with zipfile.ZipFile(path) as archive:
            figures = json.loads(archive.read("results/figures.json"))
        table = figures["kind" if method == "labels" else "stratum"]
        assert {row["level"] for row in table if row["column"] == "parity"} == {0.975}
    assert "Files:" not in wrong
    assert "not those that the run saw" in wrong
    assert "Numbers:" in wrong
    assert " now, " in wrong


def test_further_fields_of_a_labels_task_come_back_as_they_were() -> None:
    ticked = {"1": {"4": frozenset({"b", "a"}), "5": frozenset[str]()}}
    marked = {"1": {"4": [(0, 3, "who"), (5, 9, "")], "5": []}}
    others = (
        OtherField("tags", "Tags", "choose_several", ticked, {}),
        OtherField("who", "Who", "spans", {}, marked),
    )
    assert read_others(others_bytes(others)) == others


def test_a_changed_result_or_a_missing_file_is_named(tmp_path: Path) -> None:
    path = written(run_of("ratings"), tmp_path)

    def better(files: dict[str, bytes]) -> None:
        name = "results/SystemScore.jsonl"
        rows = [json.loads(line) for line in files[name].splitlines()]
        rows[0]["estimate"] += 0.01
        files[name] = "".join(json.dumps(row) + "\n" for row in rows).encode()

    report = verify(changed(path, better, mend=True))
    assert not report.good
    assert any("SystemScore row 1, estimate" in text for good, text in report.lines if not good)
    report = verify(changed(path, lambda files: files.pop("data/items.jsonl"), mend=False))  # type: ignore[arg-type,return-value]
    assert report.lines[0] == (False, "Files: data/items.jsonl is missing.")
    assert not report.good
    nothing = tmp_path / "nothing.zip"
    nothing.write_bytes(b"PK")
    with pytest.raises(Broken, match="cannot be read as a ZIP"):
        verify(nothing)


def test_a_bundle_of_before_a_figure_was_added_still_verifies(tmp_path: Path) -> None:
    def older(files: dict[str, bytes]) -> None:
        figures = json.loads(files["results/figures.json"])
        del figures["camps"]
        files["results/figures.json"] = json.dumps(figures).encode()

    path = changed(written(run_of("aqer"), tmp_path), older, mend=True)
    out = StringIO()
    call_command("verify_bundle", str(path), stdout=out)
    assert "Not in it, as it is older: camps." in out.getvalue()
    with pytest.raises(CommandError):
        call_command("verify_bundle", str(changed(path, one_vote, mend=True)), stdout=out)
    assert "NOT  Numbers:" in out.getvalue()


def test_a_bundle_of_before_a_column_was_added_still_verifies(tmp_path: Path) -> None:
    name = results_file(ItemScore)

    def older(files: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in files[name].splitlines()]
        for row in rows:
            assert row["extra"].pop("item_rest_correlation") is not None
        files[name] = b"\n".join(json.dumps(row).encode() for row in rows)

    def wrong(files: dict[str, bytes]) -> None:
        files[name] = files[name].replace(b'"spread"', b'"spred"')

    path = changed(written(run_of("aqer"), tmp_path), older, mend=True)
    call_command("verify_bundle", str(path), stdout=StringIO())
    with pytest.raises(CommandError):
        call_command("verify_bundle", str(changed(path, wrong, mend=True)), stdout=StringIO())


def test_a_bundle_names_people_by_pseudonym_alone_and_says_what_it_is_of(tmp_path: Path) -> None:
    run = run_of("ratings")
    where = ("--task", str(run.task_id), "--run", str(run.number))
    for family in ("bundle", "run"):
        out = str(tmp_path / f"{family}.zip")
        call_command("crowdqc_export", family, *where, "--out", out, stdout=StringIO())
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert set(archive.namelist()) >= {"workers.csv", "texts.csv", "figures.json"}
        rows = list(csv.DictReader(StringIO(archive.read("texts.csv").decode())))
        assert {row["n"] for row in rows} == {"4"}  # counts are whole numbers
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        text = b"".join(archive.read(name) for name in archive.namelist()).decode()
        manifest = json.loads(archive.read("manifest.json"))
        names = json.loads(archive.read("names.json"))
    for worker in Membership.objects.filter(project=run.project, role="worker"):
        # As a whole word: "w-0" also stands in the pseudonym yarrow-00.
        assert not re.search(rf"(?<![\w-]){re.escape(worker.external_id)}(?![\w-])", text)
        assert names["workers"][str(worker.pk)] == worker.pseudonym
    assert manifest["result_hash"] == run.result_hash
    assert manifest["seed"] == run.seed
    assert [one["number"] for one in manifest["task_versions"]] == [1]


def test_a_report_is_held_against_its_bundle_number_by_number(tmp_path: Path) -> None:
    run = run_of("ratings")
    where = ("--task", str(run.task_id), "--run", str(run.number))
    bundled, report = tmp_path / "bundle.zip", tmp_path / "report.html"
    for family, file in (("bundle", bundled), ("report", report)):
        call_command("crowdqc_export", family, *where, "--out", str(file), stdout=StringIO())
    html, out = report.read_text(), StringIO()
    assert "<script" not in html and "src=" not in html  # it needs nothing beside it
    version = run.task.current
    assert version is not None
    scale = version.settings["scales"][0]
    for told in (scale["label"], scale["question"], scale["points"][0]["label"]):
        assert escape(told) in html
    again = ("verify_bundle", str(bundled), "--report", str(report))
    call_command(*again, stdout=out, stderr=StringIO())
    assert "each as the bundle has it" in out.getvalue()
    report.write_text(html.replace("</data>", "9</data>", 1))
    with pytest.raises(CommandError):
        call_command(*again, stdout=out, stderr=StringIO())
    assert "in the report, " in out.getvalue()


def test_a_report_on_labels_has_raw_agreement_and_the_items_with_split_votes(
    tmp_path: Path,
) -> None:
    run = run_of("labels")
    where = ("--task", str(run.task_id), "--run", str(run.number))
    bundled, report = tmp_path / "bundle.zip", tmp_path / "report.html"
    for family, file in (("bundle", bundled), ("report", report)):
        call_command("crowdqc_export", family, *where, "--out", str(file), stdout=StringIO())
    votes = [row.extra["votes"] for row in ItemLabel.objects.filter(run=run)]
    split = sum(sum(n > 0 for n in one.values()) > 1 for one in votes)
    same = sum(n * (n - 1) for one in votes for n in one.values())
    pairs = sum(sum(one.values()) * (sum(one.values()) - 1) for one in votes)
    html = report.read_text()
    assert f"in {percent(same / pairs)} (95% CI " in html and f"of {pairs // 2:,} pairs" in html
    assert f"{split} of {len(votes)} with two labels or more" in html
    key = ItemLabel.objects.filter(run=run).values_list("item__key", flat=True)
    table = html.partition("<h3>Items with split votes</h3>")[2].partition("</table>")[0]
    heads = [escape(label) for _, label in run.figures.get(name="field").data["options"]]
    assert heads and all(f">{label}</th>" in table for label in heads)
    doubt = sum(
        n > 1 and (first == second or row.extra["posterior"] < 0.9)
        for row in ItemLabel.objects.filter(run=run)
        for n in [sum(n > 0 for n in row.extra["votes"].values())]
        for first, second in [[*sorted(row.extra["votes"].values(), reverse=True), 0][:2]]
    )
    assert 0 < doubt < split
    assert table.count("<tr>") == doubt + 1 and sum(f"{one}: " in table for one in key) == doubt
    assert f"And {split - doubt} more rows" in html
    assert "% CI" not in table  # a posterior is a probability: no interval is due
    prevalence = html.partition("<h3>Prevalence of labels</h3>")[2].partition("</table>")[0]
    assert heads and all(f">{label}</th>" in prevalence for label in heads)
    out = StringIO()
    call_command("verify_bundle", str(bundled), "--report", str(report), stdout=out)
    assert "each as the bundle has it" in out.getvalue()


def test_a_report_as_pdf_has_every_interval_that_its_html_draws() -> None:
    html, _ = report_of(run_of("labels"))
    drawn = html.count('class="interval"')
    assert drawn
    pages = PdfReader(BytesIO(written_as("pdf", html))).pages
    colour = [round(part / 255, 2) for part in (0x0B, 0x64, 0x70)]
    strokes = [
        [round(float(one), 2) for one in values]
        for page in pages
        for values, operator in page.get_contents().operations  # type: ignore[union-attr]
        if operator == b"RG"
    ]
    assert strokes.count(colour) == drawn


def test_the_result_of_a_live_evaluation_is_a_bundle_with_a_report(tmp_path: Path) -> None:
    evaluation = live_study.make_live(max_judgments=60, half_width=0.05)
    task, client = evaluation.task, Client()
    rows = live_study.outputs(60)
    live.add_outputs(by=task.project.owner, task=task, key="a", rows=rows)
    rng = random.Random(1)
    workers = [make.make_worker(task.project) for _ in range(12)]
    for worker in workers[:10]:
        assert live_study.judge(task, worker, rng)
    with pytest.raises(Conflict, match="still open"):
        live_file(task, "zip")
    task.refresh_from_db()
    late = assignments.claim_assignment(by=workers[10].user, task=task, worker=workers[10])
    evaluation = live.end(by=task.project.owner, task=task)
    assert evaluation.result is not None and evaluation.result["half_width"]
    # What comes in after the end is no part of the result, and changes nothing of the bundle.
    drafts = {
        pk: {"d-quality_overall": "left"} for pk in late.entries.values_list("item", flat=True)
    }
    answers.submit_assignment(by=workers[10].user, assignment=late, key=uuid.uuid4(), drafts=drafts)

    client.force_login(task.project.owner)
    page = client.get(reverse("live_evaluation", args=[task.project_id, task.pk]))
    assert "Get bundle" in page.content.decode()
    client.post(page.request["PATH_INFO"], {"do": "bundle"})
    assert ExportFile.objects.get().what == "live-bundle"
    bundled, report = tmp_path / "bundle.zip", tmp_path / "report.html"
    for family, file in (("live-bundle", bundled), ("live-report", report)):
        where = ("--task", str(task.pk), "--out", str(file))
        call_command("crowdqc_export", family, *where, stdout=StringIO())
    out = StringIO()
    verify_it = ("verify_bundle", str(bundled), "--report", str(report))
    call_command(*verify_it, stdout=out, stderr=StringIO())
    assert "byte for byte the same" in out.getvalue() and "Report: 1" in out.getvalue()
    with zipfile.ZipFile(bundled) as archive:
        board = json.loads(archive.read("results/figures.json"))["board"]
        assert board["systems"] == evaluation.result["systems"] and board["votes"] == 50
        names = json.loads(archive.read("names.json"))["workers"]
        assert names[str(workers[0].pk)] == workers[0].pseudonym
    found = verify(changed(bundled, one_vote, mend=True))
    wrong = " ".join(text for good, text in found.lines if not good)
    assert "not those that the run saw" in wrong and "figure board, " in wrong


def test_a_report_has_the_version_of_the_run_and_the_plan_of_the_tasks_page() -> None:
    task = label_corpus.make_labelled(items=8, known=2, workers=3)
    by = task.project.owner
    tasks.edit_draft(
        by=by, task=task, fields={"redundancy": 5, "instructions": "Read it to its **end**."}
    )
    tasks.publish(by=by, task=task)
    run = runs.start(by=by, task=task, method="labels", params={"resamples": 100, "restarts": 2})
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    task.refresh_from_db()
    study, current = study_of(run), task.current
    assert current is not None
    assert (study["version"]["number"], study["answers_per_item"]) == (current.number, 5)
    assert study["planned"]["answers"] == read_slots(task, current).planned == 5 * 6
    html, _ = report_of(run)
    assert "Read it to its <strong>end</strong>" in html and "no instructions" not in html
    assert "Versions that were answered</dt><dd>1</dd>" in html


def test_pay_and_design_are_of_the_newest_version_that_answers_were_given_to() -> None:
    """A version published after the run changes no fact of it."""
    run = run_of("labels")
    task, by = run.task, run.project.owner
    for minutes, done in zip((2, 6, 4), task.assignments.order_by("pk"), strict=False):
        make.took(done, minutes)
    old = task.current
    assert old is not None
    tasks.edit_draft(by=by, task=task, fields={"pay": old.pay + 3, "redundancy": 9})
    tasks.publish(by=by, task=task)
    run = Run.objects.get(pk=run.pk)
    study = study_of(run)
    assert run.task.current != old
    assert (study["pay"], study["answers_per_item"]) == (str(old.pay), old.redundancy)
    assert study["version"]["number"] == old.number
    times = [
        (one.submitted_at - one.opened_at).total_seconds() / 60
        for one in task.assignments.all()
        if one.submitted_at and one.opened_at
    ]
    assert study["assignments"] == len(times)
    assert study["median_minutes"] == pytest.approx(median(times), abs=0.06)


def test_a_report_says_what_was_planned_and_who_was_left_out_but_not_why(tmp_path: Path) -> None:
    task = label_corpus.make_labelled(items=20, known=4, workers=4)
    label_corpus.add_model(task, "Alder", right=0.9)
    by, worker = task.project.owner, task.assignments.order_by("-pk")[0].worker
    for minutes, done in zip((2, 6, 4), task.assignments.order_by("pk"), strict=False):
        make.took(done, minutes)
    exclusions.exclude(by=by, task=task, worker=worker, reason="Answered <at random>")
    other = task.assignments.order_by("pk")[0].worker  # who agreed to another text of version 1
    Consent.objects.filter(membership=other).update(task_types=["think_aloud"])
    run = runs.start(by=by, task=task, method="labels", params={"resamples": 100, "restarts": 2})
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    study = study_of(run)
    current = task.current
    assert current is not None
    wanted = task.items.filter(expected__isnull=True)
    assert study["planned"] == {
        "items": wanted.count(),
        "answers": sum(wanted.values_list("redundancy", flat=True)),
    }
    kept = Answer.objects.filter(worker__isnull=False, item__in=wanted).exclude(worker=worker)
    assert study["reached"] == {"items": wanted.count(), "answers": kept.count()}
    assert study["missing"] == study["planned"]["answers"] - kept.count()
    assert study["models"]["models"] == 1 and study["models"]["answers"]
    assert (study["workers"], study["elsewhere"], study["rejected"]) == (3, 3, 0)
    assert (study["of_files"], study["asked_version"]) == (0, current.number)
    assert [list(one) for one in study["consent"]] == [[1, 2]]
    [out] = study["exclusions"]
    given = Answer.objects.filter(worker=worker, stage=Answer.Stage.MAIN).count()
    assert (out["worker"], out["answers"]) == (worker.pk, given)
    html, manifest = report_of(run)
    question = current.settings["fields"][0]["question"]
    assert set(out) == {"worker", "date", "answers"}
    assert "at random" not in html + json.dumps(manifest)
    for told in (question, worker.pseudonym, *unfinished(manifest).split(", ")):
        assert escape(told) in html
    assert "Answers of models</dt><dd><data" not in html
    for reference in (FLEISS, GWET, COHEN):
        assert reference in html
    assert "Agreement with the workers left out by hand" in html
    lines = dict(people_lines(manifest))
    assert {
        "Workers whose answers count",
        "Consent",
        "Assignments",
        "Pay per assignment",
        "Pay per hour",
    } <= set(lines)
    bundled, report = written(run, tmp_path), tmp_path / "report.html"
    report.write_text(html)
    found = verify(bundled)
    check_report(found, bundled, report)
    assert found.good, found.lines
    tasks.edit_draft(by=by, task=task, fields={"redundancy": current.redundancy + 4})
    tasks.publish(by=by, task=task)
    then = study_of(Run.objects.get(pk=run.pk))
    assert then["planned"]["answers"] == wanted.count() * current.redundancy
    assert then["reached"] == study["reached"]


def test_answers_that_came_in_a_file_have_no_plan_pay_or_time() -> None:
    run = run_of("ratings")
    Task.objects.filter(pk=run.task_id).update(state="closed")
    _, manifest = report_of(Run.objects.get(pk=run.pk))
    labels = {label for label, _ in (*collection_lines(manifest), *people_lines(manifest))}
    assert not unfinished(manifest) and "Answers planned per item" not in labels
    assert "Time and pay" in labels and "Pay per assignment" not in labels


def test_what_cannot_be_run_again_is_refused_by_name() -> None:
    run = run_of("aqer")
    with pytest.raises(Invalid, match="cannot be bundled") as refused:
        bundle.parts(Run(method="aqer_study", number=3, state=RunState.DONE))
    assert "AQER" in refused.value.fields["method"]
    Run.objects.filter(pk=run.pk).update(spoiled="Answers it saw were erased.")
    run.refresh_from_db()
    with pytest.raises(Conflict, match="Answers it saw were erased"):
        bundle.parts(run)
    run.spoiled = ""
    answer = Answer.objects.filter(pk__in=run.snapshot.answer_ids).first()  # type: ignore[union-attr]
    TextValue.objects.filter(answer=answer).update(text="erased")
    with pytest.raises(Conflict, match="no longer what they were"):
        list(bundle.parts(run))


@pytest.mark.django_db
def test_a_study_tells_workers_of_a_file_from_those_who_were_asked() -> None:
    task = label_corpus.make_labelled(items=20, known=4, workers=3)
    keys = list(task.items.values_list("key", flat=True))
    label = task.current.settings["fields"][0]["options"][0]["value"]
    rows = "".join(f"from-a-file,{key},{label}\n" for key in keys)
    import_content(
        by=task.project.owner,
        task=task,
        kind="labels",
        name="labels.csv",
        content=f"worker,item,label\n{rows}".encode(),
    )
    run = runs.start(
        by=task.project.owner, task=task, method="labels", params={"resamples": 100, "restarts": 2}
    )
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    study = study_of(run)
    assert (study["workers"], study["elsewhere"], study["of_files"]) == (4, 4, 1)
