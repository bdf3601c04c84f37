"""Runs on traces: they start by themselves, and page, API, report and bundle say the same."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import zipfile
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Notice, Project, Task, Trace, TraceSource
from annotation.traces.actions.sources import change_settings
from crowdqc.errors import Conflict
from evaluation.bundles.checking import check_report, verify
from evaluation.bundles.makers import report_of
from evaluation.models import Run
from evaluation.runs import schedules
from evaluation.runs.sharing.actions import share
from evaluation.traces.dataset import read_traces, to_arrays
from tests.evaluation.bundles.files import changed, written
from tests.evaluation.traces.conftest import make_source
from tests.evaluation.traces.test_queue import (
    client_of,
    codes,
    judged,
    number_of,
    open_queue,
    receive,
    review,
    run_on,
)
from tests.support import factories

pytestmark = pytest.mark.django_db


def reviewed(source: TraceSource, n: int, *, workers: int = 4, first: int = 1) -> Task:
    """A queue with ``n`` more traces that have two reviews each; every fourth one fails."""
    for number in range(first, first + n):
        receive(source, *judged(number, 0.1 if number % 4 == 0 else 0.9))
    task = source.task if first > 1 else open_queue(source)
    assert task is not None
    people = [factories.make_worker(source.project) for _ in range(workers)]
    left = 2 * n
    for worker in itertools.cycle(people):
        with contextlib.suppress(Conflict):  # has reviewed all that is left
            review(task, worker, lambda one: "pass" if number_of(one) % 4 else "fail")
            left -= 1
        if not left:
            break
    return task


def start_due(task: Task) -> list[Run]:
    """Start what is due once nobody has answered for a minute."""
    moment = timezone.now() - dt.timedelta(minutes=1)
    Assignment.objects.filter(task=task).update(submitted_at=moment)
    return [run for run in schedules.start_due() if run.method == "trace_rates"]


def test_a_run_on_traces_starts_by_itself_when_enough_reviews_came(
    source: TraceSource, project: Project
) -> None:
    task = reviewed(source, 12)
    [first] = start_due(task)
    assert (first.trigger, first.started_by) == ("answers", None)
    Run.objects.filter(pk=first.pk).delete()
    run_on(task)
    assert start_due(task) == []  # nothing is new
    reviewed(source, 9, first=13)
    assert start_due(task) == []  # 18 reviews are not 20
    page = client_of(project.owner).get(reverse("trace_list", args=[project.pk]))
    assert page.context["screen"].action.code == "answers_since_run"
    reviewed(source, 1, first=22)
    assert len(start_due(task)) == 1


def test_staff_is_notified_once_where_the_whole_interval_is_above_the_limit(
    source: TraceSource, project: Project
) -> None:
    task = reviewed(source, 32)  # 8 fail: 25 %, 13.3 to 42.1 %
    for limit, notices in ((0.2, 0), (0.1, 1), (0.1, 1)):
        settings = {"failing_above": limit}
        change_settings(by=project.owner, source=source, settings=settings)
        run_on(task)
        assert Notice.objects.filter(kind="traces.failing").count() == notices
    text = Notice.objects.get(kind="traces.failing").text
    assert "about 25.0% of traces fail" in text and text.endswith("above your limit of 10.0%.")
    assert "traces_above" in codes(project)


def test_page_api_export_report_and_bundle_have_the_same_numbers(
    source: TraceSource, project: Project, tmp_path: Path
) -> None:
    task = reviewed(source, 40)
    run = run_on(task)
    client = client_of(project.owner)
    page = client.get(reverse("trace_list", args=[project.pk]))
    rates = {row.name: row for row in run.figures.all()}["rates"].data
    both = rates["both"]
    assert both["estimate"] == pytest.approx(0.25) and both["low"] < 0.25 < both["high"]
    said = f"({100 * both['low']:.1f}–{100 * both['high']:.1f})"
    verdict = page.context["screen"].verdict
    assert verdict.claim.low == both["low"] and said.strip("()") in verdict.text
    told = client.get(reverse("api_run", args=[run.pk])).json()
    assert told["verdict"]["code"] == verdict.code == "traces_fail_both"
    assert told["verdict"]["values"]["rate"] == "25.0%"
    assert told["verdict"]["text"] == verdict.text
    file = client.get(reverse("run_export", args=[project.pk, run.number]), {"table": "all"})
    (tmp_path / "export.zip").write_bytes(b"".join(file) if file.streaming else file.content)
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert json.loads(archive.read("figures.json"))["rates"]["both"] == both
    bundled, report = written(run, tmp_path), tmp_path / "report.html"
    report.write_text(report_of(run)[0])
    found = verify(bundled)
    check_report(found, bundled, report)
    assert found.good, found.lines
    assert "byte for byte the same" in " ".join(text for _, text in found.lines)
    with zipfile.ZipFile(bundled) as archive:
        assert json.loads(archive.read("results/figures.json"))["rates"]["both"] == both


def test_one_changed_review_in_a_bundle_shows(source: TraceSource, tmp_path: Path) -> None:
    run = run_on(reviewed(source, 40))

    def one_review(files: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in files["data/answers.jsonl"].splitlines()]
        rows[0]["code"] = {"pass": "fail", "fail": "pass"}[rows[0]["code"]]
        files["data/answers.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    found = verify(changed(written(run, tmp_path), one_review, mend=True))
    wrong = " ".join(text for good, text in found.lines if not good)
    assert "not those that the run saw" in wrong and "Numbers:" in wrong


def test_a_run_keeps_its_rate_when_more_traces_come(source: TraceSource, project: Project) -> None:
    run = run_on(reviewed(source, 40))
    receive(source, *judged(99, 0.1))
    client = client_of(project.owner)
    page = client.get(reverse("trace_list", args=[project.pk]), {"run": run.number})
    assert "of 40 traces fail" in page.context["screen"].verdict.text
    assert page.context["result"].size == 41
    assert client.get(reverse("trace_list", args=[project.pk]), {"run": 99}).status_code == 404


def test_each_queue_of_a_project_has_its_own_rate(source: TraceSource, project: Project) -> None:
    client, address = client_of(project.owner), reverse("trace_list", args=[project.pk])
    first = reviewed(source, 4)
    start = f"{reverse('run_start', args=[project.pk, first.pk])}?method=trace_rates"
    assert start in client.get(address).content.decode()
    one = run_on(first)
    other = make_source(project, "mail")
    two = run_on(reviewed(other, 4))
    page = client.get(address)
    assert page.context["result"].run.pk == two.pk
    [*_, link] = [row["url"] for row in page.context["queues"] if not row["current"]]
    assert client.get(link).context["result"].run.pk == one.pk
    assert two.task_id == other.task_id != first.pk


def test_a_link_shows_rates_and_no_trace(source: TraceSource, project: Project) -> None:
    run = run_on(reviewed(source, 40))
    link, secret = share(by=project.owner, run=run)
    page = client_of(project.owner).get(reverse("shared_results", args=[secret])).content.decode()
    assert "About 25.0% of 40 traces fail" in page and "Fail, from people alone" in page
    assert link.run_id == run.pk and ">Hi<" not in page


def test_what_a_run_freezes_is_what_its_arrays_are_made_of(source: TraceSource) -> None:
    task = reviewed(source, 8)
    Trace.objects.update(started_at=timezone.now())
    frozen = read_traces(task)
    assert frozen.size == len(frozen.drawn) == 8 and len(frozen.reviews) == 16
    data = to_arrays(frozen)
    assert data.population.size == 8 and list(data.draws.value) == [0, 0, 0, 1, 0, 0, 0, 1]
    assert [one.size for one in data.weeks] == [8] and not data.week.any()


def test_queries_of_the_page_do_not_grow_with_traces(source: TraceSource, project: Project) -> None:
    client, page = client_of(project.owner), reverse("trace_list", args=[project.pk])
    task = reviewed(source, 6)
    run_on(task)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            assert client.get(page).status_code == 200
        return len(found)

    queries()
    before = queries()
    reviewed(source, 12, first=7)
    run_on(task)
    assert queries() <= before
