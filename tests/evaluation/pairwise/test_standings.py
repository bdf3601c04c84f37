"""The ranking of the moment: right after a judgment, without a run, from counts alone."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, Item
from annotation.task_types.pairwise.sides import STORED
from annotation.work.actions.answers import set_counts
from annotation.work.snapshots.judgments import count_leases, counted_votes
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.core.votes import Pairs
from evaluation.pairwise.selectors.live import collected_counts
from evaluation.pairwise.selectors.standings import standings
from tests.evaluation.corpora import pairs as corpus
from tests.support import factories
from tests.support.pages import html_of

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def test_the_ranking_of_the_moment_is_that_of_all_votes_read_one_by_one() -> None:
    task = corpus.make_judged()
    votes = list(
        counted_votes(task).values_list(
            "item__first__system", "item__second__system", "choices__code", "flipped"
        )
    )
    systems = sorted({pk for a, b, *_ in votes for pk in (a, b)})
    read = Pairs.build(
        [systems.index(a) for a, *_ in votes],
        [systems.index(b) for _, b, *_ in votes],
        [STORED.index(code) for _, _, code, _ in votes],
        players=[str(pk) for pk in systems],
        left=[-1 if flipped else 1 for *_, flipped in votes],
    )
    fitted = bradley_terry.fit(read, rng=np.random.default_rng(0), side=True, resamples=0)
    expected = dict(zip(systems, fitted.estimates["player"]["estimate"], strict=True))
    found = {row.system: row.merit for row in standings(task)}
    assert found == pytest.approx(expected, abs=1e-9)


def reads_of_answers(asked: CaptureQueriesContext) -> list[str]:
    return [row["sql"] for row in asked if 'FROM "annotation_answer"' in row["sql"]]


def test_it_follows_a_judgment_at_once_and_reads_no_answers() -> None:
    task = corpus.make_judged()
    before = {row.system: row.n for row in standings(task, "overall")}
    answer = Answer.objects.filter(item__task=task, worker__isnull=False)[0]
    set_counts(by=task.project.owner, answer=answer, counts=False, reason="Asked to.")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        after = {row.system: row.n for row in standings(task, "overall")}
    assert sum(before.values()) - sum(after.values()) == 2
    assert not reads_of_answers(asked)


def test_the_page_shows_it_before_the_first_run_and_says_that_intervals_come_later() -> None:
    task = corpus.make_judged()
    client = Client()
    client.force_login(task.project.owner)
    text = html_of(client.get(reverse("pair_results", args=[task.project_id, task.pk])))
    assert "Ranking so far" in text
    assert "Intervals come with a run." in text


def test_the_strip_counts_judgments_pairs_and_workers_without_reading_an_answer() -> None:
    task = corpus.make_judged()
    worker = factories.make_worker(task.project)
    Item.objects.filter(task=task).update(redundancy=F("redundancy") + 1)
    factories.claim(task, worker)
    client = Client()
    client.force_login(task.project.owner)
    path = reverse("pair_live", args=[task.project_id, task.pk])
    with CaptureQueriesContext(connection) as asked:
        text = html_of(client.get(path))
    assert not reads_of_answers(asked)
    given = Answer.objects.filter(item__task=task, counts=True, worker__isnull=False).count()
    came = collected_counts(task)
    assert (came.given, came.complete) == (given, 0)
    assert f"<b>{given}</b>" in text and count_leases(task)


def test_without_a_vote_there_is_no_ranking() -> None:
    assert standings(corpus.make_task()) == []
