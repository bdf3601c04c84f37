"""The worker's page of a pair or a rating: what it shows, what a plain form does, what it tells."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, Assignment
from annotation.task_types.pairwise import page as page_of
from annotation.task_types.pairwise.type import TEMPLATE
from annotation.work.actions import events
from annotation.work.selectors import log, speed
from crowdqc.errors import Invalid
from tests.annotation.work.test_worker_views import item_url, post_json, signed_in
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import judging

pytestmark = pytest.mark.django_db
JUDGE_QUERIES = 6
SEVEN = {"dimensions": list(TEMPLATE)}
LEFT = {f"d-{dimension['name']}": "left" for dimension in TEMPLATE}
SIDE = re.compile(r'data-side="(left|right)".*?</section>', re.DOTALL)


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


def sides(html: str) -> dict[str, str]:
    return {match[1]: match[0] for match in SIDE.finditer(html)}


def page(client: Client, held: Assignment, number: int = 1) -> str:
    answer = client.get(item_url(held, number))
    assert answer.status_code == 200
    return html_of(answer)


# What is shown -----------------------------------------------------------------------------------


def test_a_turned_pair_stands_the_other_way_round_and_says_nothing_of_it(
    world: factories.World,
) -> None:
    task = judging.make_pairs(world.project, 2, sides=(1, -1), settings=SEVEN)
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    straight, turned = page(client, held, 1), page(client, held, 2)
    for html, (left, right) in ((straight, (0, 1)), (turned, (1, 0))):
        assert ("Crossing the heliopause" in sides(html)["left"]) == (left == 0)
        assert ("farthest object" in sides(html)["right"]) == (right == 1)
        assert "flipped" not in html
        for entry in held.entries.select_related("item__first__system", "item__second__system"):
            for text in (entry.item.first, entry.item.second):
                assert text.key not in html
                assert text.system.name not in html
    assert not re.search(r"(?i)canonical|candidate", turned)


def test_an_attention_pair_looks_like_any_other(world: factories.World) -> None:
    task = judging.make_pairs(
        world.project, 2, sides=(1,), settings={"gold_per_assignment": 1}, attention=True
    )
    known = task.items.get(expected__isnull=False)
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    pages = [re.sub(r"\d+|[A-Za-z0-9]{64}", "0", page(client, held, number)) for number in (1, 2)]
    hidden = next(entry.position for entry in held.entries.all() if entry.item_id == known.pk)
    assert not re.search(r"(?i)attention|\bgold\b", pages[hidden])
    texts = [sides(html) for html in pages]
    assert texts[0] == texts[1]


def test_every_dimension_is_a_line_and_the_forced_one_has_two_ways(
    world: factories.World,
) -> None:
    held = factories.claim(judging.make_pairs(world.project, settings=SEVEN), world.worker)
    html = page(signed_in(world.worker), held)
    assert html.count('<fieldset class="judgment') == 7
    assert html.count('type="radio" name="d-') == 6 * 3 + 2
    assert 'name="d-quality_overall" value="neutral"' not in html
    assert "0 of 7 answered" in html
    assert "Next pair<span data-open>, 7 lines open</span>" in html
    for words in ("Pair 1 of 3", "3 sources", "2 sources", judging.QUERY):
        assert words in html
    assert "Question" not in html


def test_sources_stand_on_the_page_only_where_the_task_shows_them(world: factories.World) -> None:
    client = signed_in(world.worker)
    shown = factories.claim(judging.make_pairs(world.project), world.worker)
    html = page(client, shown)
    assert "Show the 3 sources" in html
    assert 'href="#source-1" data-cite="1"' in html
    assert "[4]" in html  # cited, but not among the sources: a mark without a link
    assert 'href="#source-4"' not in html
    hidden = factories.claim(
        judging.make_pairs(world.project, settings={"show_sources": False}), world.worker
    )
    html = page(client, hidden)
    assert "forty times denser within weeks.\n" not in html
    assert "launched in 1977 and passed" not in html
    assert "data-cite" not in html


def test_texts_cannot_harm_who_reads_them_and_keep_their_lines(world: factories.World) -> None:
    texts = (
        "One <script>alert(1)</script> [1] **bold**\nsecond line",
        "![x](https://example.com/pixel.png) [link](javascript:alert(1)) `[7]` [2,]",
    )
    held = factories.claim(judging.make_pairs(world.project, 1, texts=texts), world.worker)
    html = sides(page(signed_in(world.worker), held))
    assert "<script" not in html["left"]
    assert "<strong>bold</strong><br>" in html["left"]
    assert "<img" not in html["right"]
    assert 'href="javascript' not in html["right"]
    assert 'data-cite="2"' in html["right"]


def test_sources_are_told_apart_by_their_numbers() -> None:
    found = page_of.sources_of("About the topic.\n\n[0] First, as in [2].\n\n**[12]** Next\n\nmore")
    assert [source.number for source in found] == [None, 0, 12]
    assert "more" in found[2].html
    assert [source.number for source in page_of.sources_of("One passage, see [3].")] == [None]
    assert page_of.sources_of("  \n") == []


def test_a_break_is_suggested_after_so_many_pairs(world: factories.World) -> None:
    task = judging.make_pairs(world.project, 5, settings={"break_after": 2})
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    due = ["short break" in page(client, held, number) for number in range(1, 6)]
    assert due == [False, False, True, False, True]


def test_the_page_asks_as_much_of_the_database_for_many_pairs_as_for_few(
    world: factories.World,
) -> None:
    client = signed_in(world.worker)
    for number in (3, 12):
        held = factories.claim(judging.make_pairs(world.project, number), world.worker)
        page(client, held)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            page(client, held)
        assert len(asked) == JUDGE_QUERIES, [query["sql"][:120] for query in asked]


# What is done ------------------------------------------------------------------------------------


def test_pairs_are_judged_with_plain_forms_and_stored_as_they_are_stored(
    world: factories.World,
) -> None:
    task = judging.make_pairs(world.project, 2, sides=(1, -1), settings=SEVEN)
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    given = {**LEFT, "d-coverage_deep": "neutral", "d-quality_overall": "right"}
    for number in (1, 2):
        moved = client.post(item_url(held, number), {"go": "next", "seen": "left right", **given})
    assert moved.url == reverse("work_assignment", args=[held.pk])
    review = client.get(moved.url)
    html = review.content.decode()
    assert "Ready to submit" in html
    assert "2 of 2 judged" in html
    assert "left on 5, neutral on 1, right on 1 of 7 dimensions" in html
    assert "Submit 2 pairs" in html
    done = client.post(
        reverse("work_submit", args=[held.pk]), {"key": review.context["key"]}, follow=True
    )
    assert "2 pairs" in done.content.decode()
    straight, turned = judging.stored_votes(held)
    assert straight["correctness_topical"] == turned["quality_overall"] == "first"
    assert turned["correctness_topical"] == straight["quality_overall"] == "second"
    assert straight["coverage_deep"] == turned["coverage_deep"] == "neutral"
    assert list(held.answers.order_by("order_shown").values_list("flipped", flat=True)) == [
        False,
        True,
    ]


def test_what_is_half_judged_comes_back_and_is_named_before_the_submit(
    world: factories.World,
) -> None:
    task = judging.make_pairs(world.project, 2, settings=SEVEN)
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    half = {"d-correctness_topical": "right", "d-coverage_broad": "neutral"}
    client.post(item_url(held, 1), {"go": "next", **half})
    html = page(client, held, 1)
    assert re.search(r'name="d-correctness_topical" value="right"[^>]* checked', html)
    assert html.count(" checked") == 2 + 2  # and the switch of a phone, and the keys
    assert "2 of 7 answered" in html
    assert re.search(r'class="judgment current"[^>]*data-label="Logical coherence"', html)
    review = client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    assert "2 pairs still to judge" in review
    assert "“Logical coherence” and 4 more not judged yet." in review
    assert "Go to pair 1" in review
    assert "Pair 2, not answered yet" in review
    refused = post_json(client, "work_submit", held, {"key": str(uuid.uuid4()), "drafts": {}})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("Pair 1: ")
    assert list(refused.json()["fields"]) == ["1", "2"]


def test_neutral_on_a_forced_choice_and_words_that_are_no_side_are_refused(
    world: factories.World,
) -> None:
    task = judging.make_pairs(world.project, 1, settings=SEVEN)
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    forced = {**LEFT, "d-quality_overall": "neutral"}
    body = {"key": str(uuid.uuid4()), "drafts": {"1": {"draft": forced, "seq": 9}}}
    refused = post_json(client, "work_submit", held, body)
    assert refused.json()["fields"]["1"] == "“Overall quality” asks for left or right."
    wrong = {"item": 1, "draft": {"d-coverage_broad": "first"}, "seq": 10}
    refused = post_json(client, "work_draft", held, wrong)
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["d-coverage_broad"])


def test_a_pair_may_be_left_out_where_the_task_says_so(world: factories.World) -> None:
    client = signed_in(world.worker)
    strict = factories.claim(judging.make_pairs(world.project, 1), world.worker)
    assert 'value="skip"' not in page(client, strict)
    task = judging.make_pairs(world.project, 1, settings={"skippable": True})
    held = factories.claim(task, world.worker)
    assert 'value="skip"' in page(client, held)
    client.post(item_url(held, 1), {"go": "skip"})
    review = client.get(reverse("work_assignment", args=[held.pk]))
    assert "left out, which is permitted" in review.content.decode()


def test_a_text_is_rated_on_scales_whose_points_are_described(world: factories.World) -> None:
    task = judging.make_ratings(world.project, 2, min_seconds=600, instructions="Read first.")
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    start = client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    for words in ("2 texts", "at least 10", "Start with text 1", "Every choice is saved"):
        assert words in start
    html = page(client, held)
    assert "Text 1 of 2" in html
    assert "Crossing the heliopause" in html
    assert html.count('name="r-quality_overall"') == 5
    assert re.search(r'value="5"[^>]*data-key="5"[^>]*data-label="5, very good"', html)
    client.post(item_url(held, 1), {"go": "next", "r-quality_overall": "4"})
    review = client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    assert "Overall quality: good" in review
    assert "1 text still to judge" in review
    assert "you can submit in" in review
    body = {"item": 1, "draft": {"r-quality_overall": "poor"}, "seq": 2**50}
    assert post_json(client, "work_draft", held, body).status_code == 422


def test_an_answer_is_cleared_without_scripts_and_nothing_once_submitted(
    world: factories.World,
) -> None:
    task = judging.make_ratings(world.project, 2)
    held, client = factories.claim(task, world.worker), signed_in(world.worker)
    assert 'value="reset"' in page(client, held)
    for number in (1, 2):
        client.post(item_url(held, number), {"go": "next", "r-quality_overall": "4"})
    back = client.post(item_url(held, 1), {"go": "reset", "r-quality_overall": "4"})
    assert back.url == item_url(held, 1)
    first, second = held.entries.order_by("position")
    assert (first.draft, second.draft["r-quality_overall"]) == ({"skipped": False}, "4")
    client.post(item_url(held, 1), {"go": "next", "r-quality_overall": "5"})
    sent = client.post(reverse("work_submit", args=[held.pk]), {"key": str(uuid.uuid4())})
    assert sent.status_code == 302
    client.post(item_url(held, 1), {"go": "reset"})
    assert Answer.objects.filter(assignment=held, choices__code="5").count() == 1


def test_home_and_the_start_speak_of_pairs(world: factories.World) -> None:
    task = judging.make_pairs(world.project, 3, instructions="Read **both**.")
    client = signed_in(world.worker)
    assert "3 pairs" in client.get(reverse("work_home")).content.decode()
    started = client.post(reverse("work_claim", args=[task.pk]), follow=True).content.decode()
    assert "Start with pair 1" in started
    assert "how long the page and each response are on screen" in started


# What is recorded --------------------------------------------------------------------------------


def told(item: int, *rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Events of a pair from (time, method, name, comment)."""
    return [
        {"target": f"item-{item}", "time": time, "method": method, "name": name, "comment": comment}
        for time, method, name, comment in rows
    ]


def test_times_and_changes_of_every_answer_come_in_one_query(world: factories.World) -> None:
    task = judging.make_pairs(world.project, 2, sides=(-1, 1))
    held = factories.claim(task, world.worker)
    first = held.entries.get(position=0).item_id
    assert speed.pair_times(task) == {}
    factories.make_log(
        held,
        told(
            first,
            (1_000, "show", "", ""),
            (9_000, "change", "d-quality_overall", "left"),
            (10_000, "dwell", "page", "8500"),
            (10_000, "dwell", "left", "3000"),
            (12_000, "change", "d-quality_overall", "right"),
            (12_500, "dwell", "right", "900"),
        ),
    )
    factories.make_log(  # the page opened again
        held,
        told(
            first,
            (20_000, "show", "", ""),
            (26_000, "dwell", "page", "1500"),
            (26_000, "dwell", "left", "250"),
        ),
    )
    assert speed.pair_times(task) == {}  # nothing is answered yet
    client = signed_in(world.worker)
    drafts = {
        number: {"draft": {"d-quality_overall": "left", "seen": "left right"}, "seq": 1}
        for number in ("1", "2")
    }
    post_json(client, "work_submit", held, {"key": str(uuid.uuid4()), "drafts": drafts})
    with CaptureQueriesContext(connection) as asked:
        times = speed.pair_times(task)
    assert len(asked) == 1
    answer = held.answers.get(item_id=first).pk
    assert times == {answer: speed.PairTimes(10.0, 3250, 900, 8_000, 11_000, 2, 1)}


def test_the_log_is_read_once_whatever_the_database_knows_of_its_tables(
    world: factories.World,
) -> None:
    task = judging.make_pairs(world.project, 1)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {speed.TIMES_SQL}", {"task": task.pk, "own": None})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    # What was summed up is kept; else a database that takes its tables for empty may plan to read
    # all batches again for every answer.
    assert "CTE Scan on summed" in plan


@pytest.mark.parametrize(
    ("method", "name", "comment", "field"),
    [
        ("change", "quality_overall", "left", "name"),
        ("change", "d-quality_overall", "first", "comment"),
        ("change", "d-quality_overall", "<b>left</b>", "comment"),
        ("dwell", "middle", "100", "name"),
        ("dwell", "left", "-100", "comment"),
        ("dwell", "left", "99999999", "comment"),
        ("sources", "opened", "", "name"),
        ("differences", "on", "all", "comment"),
    ],
)
def test_an_event_of_a_judgment_is_of_the_vocabulary_to_the_letter(
    method: str, name: str, comment: str, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        events.clean_event({"method": method, "time": 1, "name": name, "comment": comment}, 0)
    assert list(refused.value.fields) == [f"events.0.{field}"]


def test_all_that_is_recorded_of_a_judgment_can_be_read_in_words(world: factories.World) -> None:
    held = factories.claim(judging.make_pairs(world.project, 1), world.worker)
    client, item = signed_in(world.worker), held.entries.get().item_id
    client.post(item_url(held, 1), {"go": "next", "d-quality_overall": "right"})
    rows = told(
        item,
        (0, "show", "", ""),
        (2, "sources", "open", "2"),
        (3, "differences", "on", ""),
        (4, "change", "d-quality_overall", "right"),
        (5, "dwell", "left", "2500"),
    )
    factories.make_log(held, rows)
    html = client.get(reverse("work_record_assignment", args=[held.pk])).content.decode()
    for words in (
        "What you chose",
        ">right",
        "pair 1",
        "chose right for Overall",
        "the left text, 2.5 s",
        "opened the sources",
        "marked the differences",
    ):
        assert words in html
    assert log.replay_text(log.item_events(log.assignment_events(held.pk), item)) == ""
