"""The queue of traces: blind reviews, the rate with its doubt, and who may see what."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.chats.model import Chat
from annotation.models import (
    AssignmentItem,
    AuditEntry,
    Membership,
    Project,
    Role,
    Task,
    Trace,
    TraceSource,
    TraceView,
)
from annotation.traces.tree import StoredSpan, build_chat
from annotation.work.actions import answers
from annotation.work.actions.exclusions import exclude
from evaluation.methods.traces.method import Traces
from evaluation.models import Run, RunState
from evaluation.results.findings import arrange
from evaluation.runs import engine
from evaluation.traces.dataset import FrozenTraces, read_traces, to_arrays
from evaluation.traces.listing import trace_listing
from evaluation.traces.results import findings_of, read_result
from evaluation.traces.selectors import TraceRates
from tests.annotation.traces.conftest import chat_span, otlp_span, review_draft
from tests.annotation.traces.test_settling import settle_all
from tests.support import factories

pytestmark = pytest.mark.django_db


def receive(source: TraceSource, *spans: Mapping[str, object]) -> None:
    response = Client().post(
        "/otel/v1/traces",
        {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]},
        "application/json",
        headers={"Authorization": f"Bearer {source.token}"},  # type: ignore[attr-defined]
    )
    assert response.status_code == 200
    settle_all()


def judged(trace: int, score: float, text: str = "Hi") -> list[Mapping[str, object]]:
    about = {"gen_ai__evaluation__name": "quality", "gen_ai__evaluation__score__value": score}
    return [chat_span(1, trace, text), otlp_span(2, trace, 1, **about)]


def open_queue(source: TraceSource) -> Task:
    task = source.task
    assert task is not None
    tasks.publish(by=source.created_by, task=task)
    task.refresh_from_db()
    return task


def review(task: Task, worker: Membership, outcome: str | Callable[[Trace], str]) -> Trace:
    """One review by a worker of whatever they are given."""
    assignment = factories.claim(task, worker)
    [entry] = AssignmentItem.objects.filter(assignment=assignment)
    trace = Trace.objects.get(item=entry.item)
    given = outcome if isinstance(outcome, str) else outcome(trace)
    answers.submit_assignment(
        by=worker.user,
        assignment=assignment,
        key=uuid.uuid4(),
        drafts={entry.item_id: review_draft(entry.item, given)},
    )
    return trace


def number_of(trace: Trace) -> int:
    return int(trace.trace_id, 16)


def client_of(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def study_of(task: Task) -> tuple[FrozenTraces, Traces]:
    """What a run would freeze now, and its arrays."""
    frozen = read_traces(Task.objects.get(pk=task.pk))
    return frozen, to_arrays(frozen)


def run_on(task: Task) -> Run:
    """A finished run on the traces of a queue."""
    run = engine.start(by=task.project.owner, task=task, method="trace_rates")
    engine.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    return run


def rates_of(project: Project) -> TraceRates:
    """What the newest run of the project says."""
    found = read_result(project).estimates
    assert found is not None
    return found


def codes(project: Project) -> list[str]:
    found = arrange(findings_of(read_result(project), project))
    return [one.code for one in found.findings]


def test_a_trace_is_reviewed_by_two_people_and_the_majority_counts(
    source: TraceSource, project: Project
) -> None:
    receive(source, *judged(1, 0.1), *judged(2, 0.9))
    assert codes(project)[:2] == ["traces_unreviewed", "traces_draft_queue"]
    task = open_queue(source)
    workers = [factories.make_worker(project) for _ in range(2)]
    for worker in (*workers, *workers):
        review(task, worker, lambda trace: "fail" if number_of(trace) == 1 else "pass")
    result = read_result(project)
    assert (result.size, result.drawn, result.reviewed) == (2, 2, 2)
    _frozen, data = study_of(task)
    assert sorted(data.draws.reviewed.value) == [0.0, 1.0]
    assert sorted(zip(data.draws.reviewed.verdict, data.draws.reviewed.inclusion, strict=True)) == [
        (0, 1.0),
        (1, 1.0),
    ]
    assert codes(project) == ["traces_no_run"]
    run_on(task)
    assert codes(project)[0] == "traces_few"
    people = rates_of(project).rates.people
    assert people.estimate == 0.5 and not people.has_interval


def test_enough_reviews_give_the_rate_with_people_alone_beside(
    source: TraceSource, project: Project
) -> None:
    for number in range(1, 41):
        receive(source, *judged(number, 0.1 if number % 4 == 0 else 0.9))
    task = open_queue(source)
    workers = [factories.make_worker(project) for _ in range(2)]
    for worker in workers * 40:
        review(task, worker, lambda trace: "pass" if number_of(trace) % 4 else "fail")
    run_on(task)
    result = rates_of(project)
    assert result.rate.estimate == pytest.approx(0.25)
    assert result.uses_judge and result.rates.agreement.estimate == 1.0
    assert result.agreement is not None and result.agreement["value"] == 1.0
    assert codes(project)[0] == "traces_fail_both_few"
    page = client_of(project.owner).get(reverse("trace_list", args=[project.pk])).content.decode()
    assert "About 25.0% of 40 traces fail as judged by 2 reviewers (95% CI" in page
    assert "From the judge on 100% of them" in page and "From people alone: 25.0%" in page


def test_unsure_and_split_reviews_are_counted_as_what_they_are(
    source: TraceSource, project: Project
) -> None:
    receive(source, *judged(1, 0.45), *judged(2, 0.9))
    task = open_queue(source)
    one, two = (factories.make_worker(project) for _ in range(2))
    given = {1: iter(["fail", "pass"]), 2: iter(["unsure", "unsure"])}
    for worker in (one, one, two, two):
        review(task, worker, lambda trace: next(given[number_of(trace)]))
    _frozen, data = study_of(task)
    assert list(data.draws.reviewed.value) == [0.5]
    assert list(data.draws.priority) == [0, 0] and np.isnan(data.draws.value[1])
    votes = data.draws.votes
    run_on(task)
    assert rates_of(project).unsure == 1
    assert sorted(zip(votes.reviewer, votes.value, strict=True)) == [(one.pk, 1.0), (two.pk, 0.0)]
    assert "traces_unsure" in codes(project)


def test_whoever_saw_the_judge_first_is_left_out(source: TraceSource, project: Project) -> None:
    receive(source, *judged(1, 0.1))
    task = open_queue(source)
    manager = factories.make_member(project, Role.MANAGER)
    page = reverse("trace", args=[project.pk, Trace.objects.get().pk])
    shown = client_of(manager.user).get(page).content.decode()
    assert "quality" in shown
    assert TraceView.objects.filter(user=manager.user).count() == 1
    seeing = factories.make_worker(project, manager.user)
    review(task, seeing, "fail")
    review(task, factories.make_worker(project), "pass")
    frozen, data = study_of(task)
    assert frozen.left_out == 1 and list(data.draws.reviewed.value) == [0.0]
    assert len(data.votes or ()) == 1
    run_on(task)
    assert "traces_saw" in codes(project)


@pytest.mark.parametrize(("collects_again", "values"), [(False, [0.0]), (True, [])])
def test_trace_is_complete_by_the_reviews_that_were_given(
    source: TraceSource, project: Project, collects_again: bool, values: list[float]
) -> None:
    """One whose reviewer is left out later keeps its other review, unless more are collected."""
    receive(source, *judged(1, 0.9))
    task = open_queue(source)
    left_out, other = (factories.make_worker(project) for _ in range(2))
    review(task, left_out, "fail")
    review(task, other, "pass")
    exclude(
        by=project.owner,
        task=task,
        worker=left_out,
        reason="Guesses.",
        collect_again=collects_again,
    )
    assert list(study_of(task)[1].draws.reviewed.value) == values


def test_who_has_to_review_a_trace_sees_neither_judge_nor_reviews(
    source: TraceSource, project: Project
) -> None:
    receive(source, *judged(1, 0.123))
    task = open_queue(source)
    manager = factories.make_member(project, Role.MANAGER)
    worker = factories.make_worker(project, manager.user)
    client = client_of(manager.user)
    addresses = (
        reverse("trace_list", args=[project.pk]),
        reverse("trace", args=[project.pk, Trace.objects.get().pk]),
    )
    for url in addresses:
        assert ".12" not in client.get(url).content.decode()
    assert not TraceView.objects.filter(user=manager.user).exists()
    review(task, worker, "fail")
    for url in addresses:
        assert ".12" in client.get(url).content.decode()
    review(task, factories.make_worker(project), "pass")
    assert study_of(task)[0].left_out == 0


def test_trace_that_was_queued_with_its_judge_shows_reviewers_no_verdict(
    source: TraceSource, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_all(spans: Iterable[StoredSpan], **options: bool) -> Chat:
        return build_chat(spans)

    monkeypatch.setattr("annotation.traces.actions.queue.build_chat", build_all)
    judge = chat_span(2, 1, "Rate it", gen_ai__evaluation__name="quality")
    receive(source, chat_span(1, 1, "Hi"), {**judge, "parentSpanId": f"{1:016x}"})
    task = open_queue(source)
    assert "Answer to Rate it" in task.items.get().question
    worker = factories.make_worker(project)
    assignment = factories.claim(task, worker)
    client = client_of(worker.user)
    token = factories.api_token(worker.user, ["work"])
    shown = [
        client.get(reverse("work_item", args=[assignment.pk, 1])),
        Client().get(
            reverse("api_assignment", args=[assignment.pk]),
            headers={"Authorization": f"Token {token}"},
        ),
    ]
    for one in shown:
        assert "Answer to Hi" in one.content.decode()
        assert "Answer to Rate it" not in one.content.decode()


def test_no_tab_or_order_tells_who_has_to_review_what_others_said(
    source: TraceSource, project: Project
) -> None:
    receive(source, *judged(1, 0.9, "One"))
    task = open_queue(source)
    for outcome in ("fail", "fail"):
        review(task, factories.make_worker(project), outcome)
    manager = factories.make_member(project, Role.MANAGER)

    def shown(user: object, query: str) -> list[str]:
        page = client_of(user).get(reverse("trace_list", args=[project.pk]) + query)
        return [str(name) for _pk, name, _row in page.context["list"].rows]

    def sorts(user: object) -> bool:
        access = type("A", (), {"project": project, "user": user})()
        return any(one.name == "judge" and one.sort for one in trace_listing(access).columns)

    assert shown(manager.user, "?view=fail") == shown(manager.user, "?view=judge") == ["One"]
    assert sorts(manager.user)
    factories.make_worker(project, manager.user)
    for view in ("fail", "judge", "differ"):
        assert shown(manager.user, f"?view={view}") == []
    assert shown(manager.user, "") == ["One"] and not sorts(manager.user)


def test_the_queue_is_listed_by_what_people_and_judge_say(
    source: TraceSource, project: Project
) -> None:
    receive(
        source, *judged(1, 0.9, "Agreed"), *judged(2, 0.9, "Judge wrong"), chat_span(1, 3, "New")
    )
    task = open_queue(source)
    one, two = (factories.make_worker(project) for _ in range(2))
    for worker in (one, one, two, two):
        review(task, worker, lambda trace: "fail" if trace.title == "Judge wrong" else "pass")
    client = client_of(project.owner)

    def titles(query: str) -> list[str]:
        page = client.get(reverse("trace_list", args=[project.pk]) + query)
        return [str(name) for _pk, name, _row in page.context["list"].rows]

    waiting = titles("?view=waiting")
    assert titles("")[: len(waiting)] == waiting and len(titles("")) == 3
    assert titles("?view=judge") in ([], ["Judge wrong"])
    assert set(titles("?view=fail")) <= {"Judge wrong"}
    assert titles("?q=wrong") == ["Judge wrong"]


def test_a_trace_is_shown_as_a_tree_with_what_is_odd_about_it(
    source: TraceSource, project: Project
) -> None:
    receive(
        source,
        {**chat_span(2, 1, "<b>Hi</b>", error=True), "parentSpanId": f"{9:016x}"},
        {**otlp_span(3, 1, 4), "droppedAttributesCount": 7},
        otlp_span(4, 1, 3),
    )
    page = client_of(project.owner).get(
        reverse("trace", args=[project.pk, Trace.objects.get().pk])
    ).content.decode()  # fmt: skip
    for text in ("its parent did not come", "its parents form a cycle", "7 attributes left out"):
        assert text in page
    assert "<b>Hi</b>" not in page.replace("<bdi>", "")


def test_sources_are_connected_changed_and_ended_on_pages(project: Project) -> None:
    client = client_of(project.owner)
    assert "Traces" not in client.get(reverse("project", args=[project.pk])).content.decode()
    made = client.post(
        reverse("trace_source_new", args=[project.pk]), {"name": "shop", "kind": "otlp"}
    )
    source = TraceSource.objects.get()
    token = made.context["token"]
    assert token in made.content.decode() and token not in str(TraceSource.objects.values().get())
    page = reverse("trace_source", args=[project.pk, source.pk])
    shown = client.get(page)
    assert token not in shown.content.decode()
    form = shown.context["form"].initial
    tried = client.post(page, {"do": "try", "text": "mail a@example.org"})
    assert "mail [EMAIL]" in tried.content.decode()
    fields = {**form, "random": "5", "attributes": "tier=gold 50%", "budget": "7",
              "own_masks": "ORDER sb-\\d{4}", "do": "settings", "failing_above": "2.5",
              "phone_countries": "de, FR"}  # fmt: skip
    assert client.post(page, {**fields, "own_masks": "BAD (a+)+"}).status_code == 422
    assert client.post(page, {**fields, "attributes": "what"}).status_code == 422
    assert client.post(page, {**fields, "phone_countries": "XX"}).status_code == 422
    assert client.post(page, fields).status_code == 302
    source.refresh_from_db()
    assert source.settings["failing_above"] == 0.025
    assert source.settings["phone_countries"] == ["DE", "FR"]
    kinds = {one["kind"]: one["share"] for one in source.settings["rules"]}
    assert kinds == {"random": 0.05, "error": 0.2, "low_score": 0.2, "attribute": 0.5}
    assert client.post(page, {"do": "queue", "reviews": "3"}).status_code == 302
    source.refresh_from_db()
    assert source.task is not None and source.task.versions.get().redundancy == 3
    renewed = client.post(page, {"do": "token"}).context["token"]
    assert renewed != token
    assert client.post(page, {"do": "end"}).status_code == 302
    source.refresh_from_db()
    assert source.ended_at and not source.digest
    done = set(AuditEntry.objects.filter(project=project).values_list("action", flat=True))
    assert {
        "traces.source",
        "traces.settings",
        "traces.queue",
        "traces.token",
        "traces.end",
    } <= done
    assert "Traces" in client.get(reverse("project", args=[project.pk])).content.decode()


def test_the_list_knows_all_its_columns(source: TraceSource, project: Project) -> None:
    receive(source, *judged(1, 0.9))
    client = client_of(project.owner)
    every = "&".join(
        f"col={one.name}"
        for one in trace_listing(
            type("A", (), {"project": project, "user": project.owner})()  # type: ignore[arg-type]
        ).columns
    )
    page = client.get(reverse("trace_list", args=[project.pk]) + f"?{every}&sort=-seconds")
    assert page.status_code == 200 and "1.5" in page.content.decode()
