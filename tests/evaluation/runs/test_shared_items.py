"""Items on links to runs: the same for every kind of run, and nobody is named by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, AuditEntry, Candidate, ChoiceValue, Membership, TextValue
from evaluation.labels.selectors.shared import ITEMS
from evaluation.models import Run
from evaluation.results.shared_items import NOT_SHOWN, SharedItems, can_show_votes
from evaluation.runs.sharing import actions
from tests.evaluation.bundles.test_bundles import run_of
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora.pair_study import client_of
from tests.evaluation.labels.test_runs import scored
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db

# Method -> what each line of its items is: columns with their heads, by key.
SHOWN = {
    "labels": ["text", "votes", "label", "certainty"],
    "pairwise": ["label", "letter", "posterior", "tally", "tally.top_share"],
    "ratings": ["name", "estimate", "interval", "n"],
    "aqer": ["question", "score.agreement", "score.n"],
}
NAMES = tuple(SHOWN)


@pytest.fixture(scope="module")
def made(shared_rows: None) -> Callable[[str], Run]:
    runs = {method: run_of(method).pk for method in NAMES}

    def of(method: str) -> Run:
        rows = Run.objects.select_related("project__owner", "task__project")
        return rows.get(pk=runs[method])

    return of


def link_of(run: Run, *, items: bool = True) -> str:
    _, secret = actions.share(by=run.project.owner, run=run, items=items)
    return reverse("shared_results", args=[secret])


def items_of(address: str) -> SharedItems:
    found: SharedItems = Client().get(address).context["items"]
    return found


def rows_of(items: SharedItems) -> list[Any]:
    assert items.table is not None
    return [row for group in items.table.groups for row in group.rows]


def keys(items: SharedItems) -> list[str]:
    table = items.public_table
    assert table is not None
    return [column.key for column in table.columns]


@pytest.mark.parametrize("method", NAMES)
def test_a_link_lists_the_items_where_the_requester_allows_it(
    made: Callable[[str], Run], method: str
) -> None:
    run = made(method)
    client, page = client_of(run.task), reverse("run_share", args=[run.project_id, run.number])
    assert 'name="items"' in html_of(client.get(page))
    html = html_of(client.post(page, {"items": "1"}))
    [address] = [part for part in html.split('"') if "/shared/" in part]
    assert AuditEntry.objects.filter(action="run.share").latest("pk").detail["items"] is True
    items = items_of(address)
    open_items = run.task.items.filter(expected__isnull=True, repeat=False)
    assert items.page.paginator.count == open_items.count() > 0
    assert set(SHOWN[method]) <= set(keys(items))
    assert Client().get(link_of(run, items=False)).context["items"] is None


@pytest.mark.parametrize("method", NAMES)
def test_items_name_nobody_quote_no_answer_and_lead_nowhere(
    made: Callable[[str], Run], method: str
) -> None:
    run = made(method)
    html = html_of(Client().get(link_of(run)))
    people = Membership.objects.filter(project=run.project).select_related("user")
    secret = {one.pseudonym for one in people} | {one.external_id for one in people}
    for user in [run.project.owner, *(one.user for one in people if one.user)]:
        secret |= {user.username, user.email}
    answers = Answer.objects.filter(item__task=run.task)
    secret |= set(TextValue.objects.filter(answer__in=answers).values_list("text", flat=True))
    assert [one for one in secret - {""} if one in html] == []
    assert f"/projects/{run.project_id}/" not in html and "<form" not in html


def test_items_with_a_known_answer_stay_off_a_link(made: Callable[[str], Run]) -> None:
    """Whoever read there what the checks are labelled would pass them."""
    run = made("labels")
    known = run.task.items.filter(expected__isnull=False).values_list("question", flat=True)
    html = html_of(Client().get(link_of(run)))
    assert len(known) == 4 and not [one for one in known if one in html]


def test_a_text_that_a_worker_wrote_is_named_by_its_id(made: Callable[[str], Run]) -> None:
    run = made("ratings")
    text = Candidate.objects.filter(pk__in=run.task.items.values("first")).latest("pk")
    worker = Membership.objects.filter(project=run.project).exclude(pseudonym="").latest("pk")

    def names() -> Counter[str]:
        table = items_of(link_of(run)).public_table
        assert table is not None
        return Counter(row.name for group in table.groups for row in group.rows)

    before = names()
    Candidate.objects.filter(pk=text.pk).update(author=worker)
    [added] = names() - before
    [gone] = before - names()
    assert text.text.startswith(gone[:60]) and added not in text.text


def test_a_link_to_pairs_shows_the_dimension_that_is_chosen(made: Callable[[str], Run]) -> None:
    run = made("pairwise")
    address = link_of(run)
    items = items_of(address)
    assert len(items.dimensions) > 1
    other = next(name for name, _ in items.dimensions if name != items.dimension)
    shown = items_of(f"{address}?dimension={other}")
    assert shown.dimension == other
    votes = ChoiceValue.objects.filter(
        answer__item__task=run.task, answer__counts=True, field=other
    ).exclude(answer__worker=None)
    table = shown.table
    assert table is not None
    tallied = sum(row.tally.n for row in table.groups[0].rows if row.tally)
    assert 0 < tallied <= votes.count()
    assert items_of(f"{address}?dimension=nothing").dimension == items.dimension


@pytest.mark.parametrize("method", NAMES)
def test_pages_of_items_and_of_workers_do_not_depend_on_each_other(
    made: Callable[[str], Run], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made(method)
    address = link_of(run)
    first = items_of(address)
    monkeypatch.setattr(type(first.page.paginator), "num_pages", 3)
    html = html_of(Client().get(f"{address}?page=1&items=2"))
    assert "items=3#items" in html and "page=1&amp;items=3" in html


@pytest.mark.parametrize("method", NAMES)
def test_items_cost_a_few_queries_more(made: Callable[[str], Run], method: str) -> None:
    run = made(method)
    addresses = [link_of(run, items=False), link_of(run)]
    counts = []
    for address in addresses:
        with CaptureQueriesContext(connection) as asked:
            Client().get(address)
        counts.append(len(asked))
    assert 0 < counts[1] - counts[0] <= 10


@pytest.mark.parametrize(
    ("votes", "shown"),
    [((1,), False), ((1, 1), False), ((3,), False), ((2, 1), True), ((1, 0, 2), True), ((), False)],
)
def test_votes_are_counted_where_three_people_differ(votes: tuple[int, ...], shown: bool) -> None:
    assert can_show_votes(votes) is shown


def test_a_link_counts_no_votes_that_tell_what_one_worker_answered(
    made: Callable[[str], Run],
) -> None:
    labels = rows_of(items_of(link_of(made("labels"))))
    for row in labels:
        assert row.label and bool(row.votes) is (", " in row.votes)
        shown = str(ITEMS[-1].html(row)) if ITEMS[-1].html else ""
        assert bool(row.votes) is (shown[0] in ".>"), shown  # a bound where votes are hidden
    assert {bool(row.votes) for row in labels} == {True, False}
    pairs = rows_of(items_of(link_of(made("pairwise"))))
    for row in pairs:
        assert row.tally is None or can_show_votes(row.tally.parts)
        assert row.letter and (row.posterior is None) is (row.tally is None) is (row.bar == "")
    assert {row.tally is None for row in pairs} == {True, False}
    run = made("ratings")
    same = ChoiceValue.objects.filter(answer__item=run.task.items.order_by("pk")[0])
    same.update(ordinal=same[0].ordinal)
    texts = rows_of(items_of(link_of(run)))
    for row in texts:
        assert row.estimate is not None and (row.n is None) is (row.why == NOT_SHOWN)
        assert row.n is None or row.n >= 3
    assert [row.n for row in texts].count(None) == 1


def test_workers_of_a_link_have_no_counts_where_fewer_than_three_worked() -> None:
    task = label_corpus.make_labelled(items=8, known=2, workers=2)
    table = Client().get(link_of(scored(task))).context["table"].public()
    lines = [line for _, lines in table.body() for line in lines]
    assert [line.cells[-1].html for line in lines] == [NOT_SHOWN, NOT_SHOWN]
