"""Passages searched in a collection: BM25 by a second implementation, and topics that it fills."""

from __future__ import annotations

import csv
import io
import math
import random

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.authoring.actions.writing_topics import add_topics
from annotation.formats.actions.imports import import_content
from annotation.models import Task
from annotation.task_types.writing.ranking import rank_passages, words_of
from crowdqc.errors import Conflict, Invalid
from tests.support import factories
from tests.support.pages import html_of

MOON = {"key": "d1", "title": "Tides", "text": "The moon pulls the sea, and tides rise."}
SUN = {"key": "d2", "title": "", "text": "The sun pulls the sea less than the moon."}
BREAD = {"key": "d3", "title": "Bread", "text": "Knead the dough and let it rise."}
COLLECTION = [BREAD, SUN, MOON]


def plain_bm25(query: str, passages: list[str]) -> list[float]:
    """The formula, word by word and passage by passage."""
    texts = [words_of(one) for one in passages]
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for word in words_of(query):
            n = sum(word in other for other in texts)
            idf = math.log((len(texts) - n + 0.5) / (n + 0.5) + 1)
            f = text.count(word)
            score += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len(text) / mean))
        scores.append(score)
    return scores


def test_passages_are_ranked_as_by_the_plain_formula() -> None:
    rng = random.Random(3)
    words = [f"w{k}" for k in range(30)]
    weights = [1 / (k + 1) for k in range(30)]
    passages = [" ".join(rng.choices(words, weights, k=rng.randint(3, 40))) for _ in range(60)]
    queries = [" ".join(rng.choices(words, k=4)) for _ in range(20)]
    for query, places in zip(queries, rank_passages(queries, passages, most=60), strict=True):
        scores = plain_bm25(query, passages)
        best = sorted((k for k in range(60) if scores[k] > 0), key=lambda k: (-scores[k], k))
        assert [round(scores[k], 9) for k in places] == [round(scores[k], 9) for k in best]


def test_one_word_scores_as_worked_out_by_hand() -> None:
    # Of three passages of 2, 1 and 3 words one has "b": idf ln(1 + 2.5 / 1.5).
    assert rank_passages(["b", "z"], ["a b", "a", "a a c"], most=2) == [[0], []]
    assert plain_bm25("b", ["a b", "a", "a a c"])[0] == pytest.approx(math.log(8 / 3))


def csv_of(rows: list[dict[str, str]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["key", "title", "text"])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


@pytest.fixture
def task() -> Task:
    project = factories.make_project()
    by = project.owner
    made = tasks.create_task(by=by, project=project, type="writing", title="Tides")
    rows = [
        {"topic": "t1", "query": "Why does the moon make tides?", "passages": []},
        {"topic": "t2", "query": "What about bread?", "passages": [{**SUN, "key": "own"}]},
        {"topic": "t3", "query": "Zebras?", "passages": []},
    ]
    add_topics(by=by, task=made, rows=rows)
    return made


def passages(task: Task) -> dict[str, list[str]]:
    version = task.versions.latest("number")
    rows = task.groups.in_version(version.number)
    return {group.key: [one["key"] for one in group.passages] for group in rows}


@pytest.mark.django_db
def test_topics_without_passages_get_those_that_match_their_query(task: Task) -> None:
    by = task.project.owner
    done = import_content(
        by=by, task=task, kind="collection", name="all.csv", content=csv_of(COLLECTION)
    )
    assert done.new == 3
    assert passages(task) == {"t1": ["d1", "d2", "d3"], "t2": ["own"], "t3": []}
    # The items of the topic cite them.
    item = task.items.filter(group__key="t1").latest("pk")
    assert item.settings["passages"] == 3
    with pytest.raises(Conflict):  # no word of zebras is in it
        import_content(by=by, task=task, kind="collection", name="all.csv", content=csv_of([BREAD]))
    assert passages(task)["t1"] == ["d1", "d2", "d3"]


@pytest.mark.django_db
def test_a_collection_is_offered_beside_topics_and_refused_where_all_have_passages(
    task: Task,
) -> None:
    client = Client()
    client.force_login(task.project.owner)
    page = reverse("task_import", args=[task.project_id, task.pk, "collection"])
    built = reverse("task_build", args=[task.project_id, task.pk]) + "?part=topics"
    assert page in html_of(client.get(built))
    assert client.get(page).status_code == 200
    rows = [{"topic": "t3", "query": "Zebras?", "passages": []}]
    by = task.project.owner
    own = tasks.create_task(by=by, project=task.project, type="writing", title="None")
    with pytest.raises(Conflict):
        import_content(
            by=by,
            task=own,
            kind="collection",
            name="all.csv",
            content=csv_of(COLLECTION),
        )
    add_topics(by=by, task=own, rows=rows)
    twice = csv_of([MOON, {**MOON, "text": "Another."}])
    with pytest.raises(Invalid):
        import_content(by=by, task=own, kind="collection", name="a.csv", content=twice)
