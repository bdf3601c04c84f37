"""Leaderboards over tasks: what enters, what does not and why, and who may say what a task is."""

from __future__ import annotations

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.models import AuditEntry, Project, Task, User
from crowdqc.errors import Invalid
from evaluation.models import AnswerScore, Run, RunState
from evaluation.people.selectors import domains
from evaluation.people.selectors.domains import MEASURES, domain_page
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import text_of
from tests.support import factories
from tests.support.kept import kept
from tests.support.studies import judging

pytestmark = pytest.mark.django_db
QUALITY = {"ann": 0.9, "bea": 0.5, "cem": 0.4, "dag": 0.0}


def scored_task(project: Project, seed: int, level: float, people: tuple[str, ...]) -> Task:
    """A task of eight questions in the domain, with a run that scored these people's answers."""
    task = factories.make_task(project, 8, title=f"Storks {seed}", redundancy=10)
    tasks.set_domain(by=project.owner, task=task, domain="storks")
    keys = list(task.items.values_list("key", flat=True))
    answers = factories.make_answers(task, {who: dict.fromkeys(keys, "Frogs.") for who in people})
    run = Run.objects.create(
        project=project, task=task, number=seed, method="aqer", version="1", state=RunState.DONE
    )
    rng = np.random.default_rng(seed)
    AnswerScore.objects.bulk_create(
        AnswerScore(
            run=run,
            answer=answer,
            n=1,
            component=1,
            estimate=level + 0.1 * (QUALITY[answer.worker.external_id] + 0.3 * rng.normal()),
        )
        for answer in answers
    )
    make_official(run)
    return task


@pytest.fixture
@kept
def project() -> Project:
    cache.clear()
    made = factories.make_project()
    scored_task(made, 1, 0.8, ("ann", "bea", "cem"))
    scored_task(made, 2, 0.2, ("bea", "cem", "dag"))
    scored_task(made, 3, 0.5, ("ann", "bea", "dag"))
    return made


def read(user: User, *args: object) -> str:
    client = Client()
    client.force_login(user)
    response = client.get(reverse("domain_board", args=args))
    assert response.status_code == 200
    return text_of(response.content.decode().replace("\u00a0", " "))


def test_people_of_easy_and_hard_tasks_stand_where_their_differences_put_them(
    project: Project,
) -> None:
    shown = domain_page(project, "storks", MEASURES["answers"])
    [board] = shown.boards
    rows = [row for group in board.groups for row in group.rows]
    known = dict(project.memberships.filter(role="worker").values_list("pk", "external_id"))
    assert known[rows[0].id] == "ann"
    assert known[rows[-1].id] == "dag"  # whose mean score is not the lowest
    assert all(row.low is not None and row.low < row.estimate < row.high for row in rows)
    assert (shown.tasks, len(shown.left_out)) == (3, 0)
    told = {one.task.pk: one for one in shown.entries}
    assert {one.authors for one in told.values()} == {3}


def test_what_cannot_enter_is_listed_with_the_reason(project: Project) -> None:
    rated = judging.make_ratings(project, 1)
    unscored = factories.make_task(project, 2, title="Not run")
    lonely = scored_task(project, 4, 0.5, ("ann",))
    for task in (rated, unscored, lonely):
        tasks.set_domain(by=project.owner, task=task, domain="storks")
    text = read(project.owner, project.pk, "storks")
    assert "has no interval, so it cannot be weighed" in text
    assert "has no finished run" in text and "share too few questions" in text
    assert "Tasks included 3 of 6" in text
    assert "Cannot be concluded" in text and "Paule-Mandel" in text


def test_a_domain_too_large_to_pool_leaves_out_whole_tasks_and_says_which(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "MOST_ANSWERS", 50)  # two tasks of 24
    shown = domain_page(project, "storks", MEASURES["answers"])
    assert [one.task.current.title for one in shown.entering] == ["Storks 2", "Storks 3"]
    [out] = shown.left_out
    assert out.why == "its 24 answers are more than are pooled: 50 in all"


def test_more_tasks_take_no_more_queries(project: Project) -> None:
    counts = []
    for number in (5, 6, 7):
        cache.clear()
        with CaptureQueriesContext(connection) as seen:
            domain_page(project, "storks", MEASURES["answers"])
        counts.append(len(seen))
        scored_task(project, number, 0.4, ("ann", "cem", "dag"))
    assert len(set(counts)) == 1


def test_only_requesters_say_what_a_task_is_about_and_it_is_logged(project: Project) -> None:
    task = project.tasks.order_by("pk")[0]
    manager = factories.make_member(project).user
    address = reverse("task_domain", args=[project.pk, task.pk])
    for user, status in ((manager, 403), (project.owner, 302)):
        client = Client()
        client.force_login(user)
        assert client.post(address, {"domain": "  white   storks "}).status_code == status
    task.refresh_from_db()
    assert task.domain == "white storks"
    entry = AuditEntry.objects.filter(action="task.domain").latest("pk")
    assert entry.detail["before"] == "storks"
    with pytest.raises(Invalid):
        tasks.set_domain(by=project.owner, task=task, domain="x" * 81)
    client = Client()
    client.force_login(project.owner)
    listed = client.get(reverse("domain_list", args=[project.pk])).content.decode()
    assert "white storks" in listed and ">storks<" in listed
