"""The replay of a text: who may see it, that it is exact, and what is said beside it."""

from __future__ import annotations

import json
import re
import uuid
from itertools import pairwise
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, Assignment, Role, User
from annotation.payouts.actions import proposals as payouts
from annotation.work.selectors import log
from evaluation.charts.folded import Timeline
from evaluation.models import Run, RunFigure, RunState
from evaluation.writing.replay import selectors as reads
from tests.evaluation.corpora import replay as replay_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.replay import Session
from tests.support import factories
from tests.support.kept import kept

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def written() -> tuple[Answer, Session, Assignment]:
    cache.clear()
    return replay_corpus.submitted(replay_corpus.make_task())


def client(user: User | None) -> Client:
    found = Client()
    if user:
        found.force_login(user)
    return found


def address(answer: Answer, name: str = "replay") -> str:
    task = answer.item.task
    return reverse(name, args=[task.project_id, task.pk, answer.pk])


def page(answer: Answer, user: User | None = None) -> str:
    response = client(user or answer.item.task.project.owner).get(address(answer))
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode().replace("\xa0", " "))


def played(data: dict[str, Any], until: float = float("inf")) -> str:
    """The text as the player builds it, from what it loads."""
    units = b""
    for time, at, gone, put, parts, _, *ms in data["changes"]:
        if time > until:
            break
        new = put.encode("utf-16-le", "surrogatepass")
        assert sum(length for length, _, _ in parts) == len(new) // 2
        assert not ms or len(ms[0]) == max(gone, len(new) // 2)
        units = units[: 2 * at] + new + units[2 * (at + gone) :]
    return units.decode("utf-16-le")


def test_reviewers_and_the_writer_see_it_and_nobody_else(
    written: tuple[Answer, Session, Assignment],
) -> None:
    answer, _, lease = written
    project = answer.item.task.project
    manager = factories.make_member(project, Role.MANAGER).user
    other = factories.make_worker(project).user
    people = {None: 302, factories.make_user(): 404, other: 403, project.owner: 200, manager: 200}
    for user, status in people.items():
        for name in ("replay", "replay_data"):
            assert client(user).get(address(answer, name)).status_code == status
    for name in ("work_replay", "work_replay_data"):
        own = reverse(name, args=[answer.pk])
        assert client(lease.worker.user).get(own).status_code == 200
        for user in (other, project.owner, manager):
            assert client(user).get(own).status_code == 404


def test_the_player_is_given_exactly_the_submitted_text(
    written: tuple[Answer, Session, Assignment],
) -> None:
    answer, session, _ = written
    replay = reads.replay_of(answer)
    data = json.loads(json.dumps(reads.player_data(replay)))
    events = log.item_events(log.assignment_events(answer.assignment_id), answer.item_id)
    assert played(data) == log.replay_text(events) == session.text
    assert replay.exact
    assert "The last frame equals the submitted text" in page(answer)


def test_every_frame_is_the_one_of_the_log(written: tuple[Answer, Session, Assignment]) -> None:
    answer, _, _ = written
    data = reads.player_data(reads.replay_of(answer))
    events = log.item_events(log.assignment_events(answer.assignment_id), answer.item_id)
    for event, text in log.replay_steps(events):
        assert played(data, event["time"]) == text.decode("utf-16-le")


def test_a_text_that_is_not_the_logged_one_is_said_plainly() -> None:
    answer, session, _ = replay_corpus.submitted(
        replay_corpus.make_task(), text="Both probes were built for five years. [1]"
    )
    shown = page(answer)
    assert "The last frame is not the submitted text" in shown
    assert f"the log has {len(session.text) - len('Both probes were built for five years'):,}" in (
        shown
    )


def test_a_broken_log_is_played_to_where_it_breaks() -> None:
    cache.clear()
    answer, session, _ = replay_corpus.submitted(replay_corpus.make_task(), breaks=True)
    shown = page(answer)
    assert "Not all of it can be played." in shown
    assert "The log is broken at" in shown
    assert "The last frame is not the submitted text" in shown
    kept = played(reads.player_data(reads.replay_of(answer)))
    assert kept
    assert session.text.startswith(kept[:60])


def test_without_a_log_the_text_stands_there_with_the_reason() -> None:
    cache.clear()
    task = factories.make_task(None, 1)
    answer = factories.claim_and_submit(task).answers.get()
    shown = page(answer)
    assert "No log of it was recorded." in shown
    assert "They build nests on chimneys." in shown
    assert "data-replay" not in shown


def test_free_text_is_replayed_too() -> None:
    cache.clear()
    task = factories.make_task(None, 1)
    lease = factories.claim(task, factories.make_worker(task.project))
    session = Session(f"item-{lease.entries.get().item_id}").types("They nest on chimneys 🐦.")
    session.events[-1].pop("ms")
    factories.make_log(lease, session.events)
    answer = factories.submit(lease, session.text).answers.get()
    assert "The last frame equals the submitted text" in page(answer)
    assert played(reads.player_data(reads.replay_of(answer))) == session.text


def test_pauses_are_folded_and_said_with_their_real_length(
    written: tuple[Answer, Session, Assignment],
) -> None:
    replay = reads.replay_of(written[0])
    folds = replay.timeline.folds
    assert [round((f.end - f.start) / 1000) for f in folds] == [
        pytest.approx(n, abs=3) for n in (65, 94, 75)
    ]
    assert all(f.kept < f.end - f.start for f in folds)
    told = [words for _, words in reads.jumps(replay)["pause"]]
    assert all(re.match(r"1\smin \d\d\ss without a change", words) for words in told)
    strip = str(reads.strip(replay)).replace("\xa0", " ")
    assert "1 min 02 s" in strip
    assert "3 long pauses folded" in strip


def test_folded_time_goes_both_ways() -> None:
    line = Timeline.around([5, 12, 400, 90_000, 90_030], 90_100, 60)
    assert [(f.start, f.end) for f in line.folds] == [(12, 400), (400, 90_000), (90_030, 90_100)]
    assert line.total < 400
    for real in (0, 3, 12, 200, 400, 50_000, 90_000, 90_010, 90_100):
        assert line.real(line.fold(real)) == pytest.approx(real, abs=1e-6)
    assert line.inside(50_000)
    assert not line.inside(90_010)


def test_each_signal_comes_with_its_moment_and_its_base_rate(
    written: tuple[Answer, Session, Assignment],
) -> None:
    answer, session, _ = written
    first = page(answer)
    assert "Base rate: not counted yet." in first
    pasted = next(e for e in session.events if e.get("comment") == "outside")
    moments = [int(ms) for ms in re.findall(r'data-at="(\d+)"', first)]
    assert any(abs(ms - pasted["time"]) < 50 for ms in moments)
    task = answer.item.task
    run = Run.objects.create(
        project=task.project,
        task=task,
        number=1,
        method="writing",
        version="1",
        state=RunState.DONE,
    )
    rates = {"outside_paste": {"fired": 11, "judged": 60, "not_recorded": 0}}
    RunFigure.objects.create(run=run, name="signals", data=rates)
    make_official(run)
    then = page(answer)
    assert "Base rate: 11 of 60 responses here." in then
    for said in (
        "72% of 903 honest reference sessions",
        "evidence, never a verdict",
        "Cannot be concluded",
        "may still be paid",
    ):
        assert said in then
    assert not re.search(r"cheat|fraud", then)


def test_what_a_log_of_snapshots_lacks_is_said_not_guessed() -> None:
    cache.clear()
    task = replay_corpus.make_task()
    lease = factories.claim(task, factories.make_worker(task.project))
    target = f"item-{lease.entries.get().item_id}"
    texts = [
        "",
        "Both probes",
        "Both probes were built for five years [1].",
        "Both probes were built for five years [1]. They still answer.",
    ]
    events = [{"method": "show", "time": 0, "target": target, "delta": [0, 0, 0, ""]}]
    for n, (old, new) in enumerate(pairwise(texts), 1):
        ms = n * 86_400_000
        delta = [ms, len(old), 0, new[len(old) :]]
        events.append(
            {"method": "input", "time": ms, "target": target, "name": "snapshot", "delta": delta}
        )
    factories.make_log(lease, events)
    answer = factories.submit(lease, texts[-1]).answers.get()
    shown = page(answer)
    assert "not recorded" in shown
    assert "when they were open was not recorded" in shown
    assert "Key timing" not in shown.split("How each is calculated")[0] or "not recorded" in shown
    assert len(reads.replay_of(answer).timeline.folds) == 3
    assert played(reads.player_data(reads.replay_of(answer))) == texts[-1]


def test_the_passages_say_what_was_opened_and_what_of_them_was_used(
    written: tuple[Answer, Session, Assignment],
) -> None:
    shown = page(written[0])
    assert "<span data-opened>5</span> of 40 opened by this moment" in shown
    used = re.findall(r'class="from-passage" data-since="\d+">([^<]+)<', shown)
    assert "the cosmic ray detector kept counting at seventy degrees" in " ".join(used)
    assert "opened once, 5 s in view, not used" in shown
    assert "35 others, never opened and not used" in shown


def test_the_decision_stands_beside_it_and_reopens_the_slot(
    written: tuple[Answer, Session, Assignment],
) -> None:
    answer, _, _ = written
    project = answer.item.task.project
    held = answer.item.held
    client(project.owner).post(
        reverse("answer_counts", args=[project.pk, answer.pk]),
        {"counts": "no", "reason": "Most of it stands elsewhere.", "next": address(answer)},
    )
    answer.item.refresh_from_db()
    assert answer.item.held == held - 1
    assert "Most of it stands elsewhere." in page(answer)


def test_review_card_payout_and_record_lead_to_it_and_back(
    written: tuple[Answer, Session, Assignment],
) -> None:
    answer, _, lease = written
    task, owner = answer.item.task, answer.item.task.project.owner
    assert "Back to the review" in page(answer)
    where = [
        reverse("review", args=[task.project_id, task.pk]),
        reverse("review_answers", args=[task.project_id, task.pk, lease.pk]),
        reverse("worker_card", args=[task.project_id, lease.worker_id]),
    ]
    for url in where:
        assert address(answer) in client(owner).get(url).content.decode()
    batch = payouts.propose_payout(
        by=owner, task=task, key=uuid.uuid4(), lines=[payouts.ProposedLine(lease.pk)]
    )
    payout = reverse("payout", args=[task.project_id, batch.number])
    assert address(answer) in client(owner).get(payout).content.decode()
    assert f'href="{payout}">Back to the payout' in page(answer)
    record = client(lease.worker.user).get(reverse("work_record_assignment", args=[lease.pk]))
    assert reverse("work_replay", args=[answer.pk]) in record.content.decode()


def test_more_of_everything_asks_no_more_of_the_database() -> None:
    cache.clear()
    task = replay_corpus.make_task(responses=2)
    worker = factories.make_worker(task.project)
    counts = []
    for n in range(2):
        answer, _, _ = replay_corpus.submitted(task, worker, seed=n)
        viewer = client(task.project.owner)
        viewer.get(address(answer))
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert viewer.get(address(answer)).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]
