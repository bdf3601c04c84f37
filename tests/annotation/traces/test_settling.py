"""Quiet traces are settled, drawn with a known probability, and become items of a review queue."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import Item, Project, Task, Trace, TraceSource, TraceSpan
from annotation.traces.actions import settle
from annotation.traces.actions.queue import create_queue, set_queue
from annotation.traces.actions.sources import change_settings
from annotation.traces.drawing import Facts, base_inclusion, draw, matches
from annotation.traces.settings import Rule
from crowdqc.errors import Conflict, Invalid
from tests.annotation.traces.conftest import Send, chat_span, otlp_span
from tests.support import factories

Pair = tuple[TraceSource, str]
RULES = (
    Rule(kind="random", share=0.1),
    Rule(kind="error", share=0.5),
    Rule(kind="low_score", share=0.4, below=0.3),
    Rule(kind="attribute", share=1.0, key="tier", value="gold"),
)


def age(seconds: int = 3600) -> None:
    """Let all traces have come earlier."""
    Trace.objects.update(last_seen_at=timezone.now() - dt.timedelta(seconds=seconds))


def settle_all() -> int:
    age()
    return settle.settle_due()


def configure(source: TraceSource, **settings: Any) -> None:
    change_settings(by=source.created_by, source=source, settings=settings)
    source.refresh_from_db()


def queue_of(source: TraceSource, reviews: int = 3) -> Task:
    return create_queue(by=source.created_by, source=source, reviews=reviews)


# -- drawing, without rows -----------------------------------------------------------------------


def test_the_probability_of_a_draw_is_that_of_any_matching_rule() -> None:
    assert base_inclusion(RULES, Facts()) == pytest.approx(0.1)
    assert base_inclusion(RULES, Facts(errors=1, score=0.2)) == pytest.approx(1 - 0.9 * 0.5 * 0.6)
    gold = Facts(attributes={"tier": frozenset({"gold"})})
    assert base_inclusion(RULES, gold) == 1.0
    assert not matches(RULES[2], Facts(score=None))
    assert matches(Rule(kind="feedback", share=1, below=0), Facts(feedback=-1.0))


def test_draws_come_true_as_often_as_their_probability_says() -> None:
    facts = Facts(errors=1, score=0.2)
    drawn = [draw(RULES, facts, secret=b"k", name=str(n), factor=0.5) for n in range(4_000)]
    share = sum(bool(one.rule) for one in drawn) / len(drawn)
    assert share == pytest.approx(drawn[0].inclusion, abs=0.03)
    assert drawn[0].inclusion == pytest.approx(1 - 0.95 * 0.75 * 0.8)
    assert drawn[0].stratum == "random+error+low_score"
    again = draw(RULES, facts, secret=b"k", name="7", factor=0.5)
    assert again == drawn[7]


# -- with rows -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_trace_is_settled_once_it_is_quiet_not_when_its_root_came(
    send: Send, source_token: Pair
) -> None:
    send(chat_span(2, parent=1))
    send(otlp_span(1, error=True, service__name="shop"))
    assert settle.settle_due() == 0
    assert settle_all() == 1
    trace = Trace.objects.get()
    assert (trace.state, trace.title, trace.turns, trace.errors) == ("settled", "Hi", 2, 1)
    assert (trace.spans_kept, trace.service, trace.seconds) == (2, "shop", 1.5)
    assert settle_all() == 0


@pytest.mark.django_db
def test_disorder_copies_and_split_requests_give_the_same_digest(
    send: Send, source_token: Pair
) -> None:
    spans = [otlp_span(1), chat_span(2, parent=1), chat_span(3, parent=1, text="More")]
    send(*spans)
    settle_all()
    digest = Trace.objects.get().digest
    Trace.objects.all().delete()
    for one in (spans[2], spans[0], spans[2], spans[1]):
        send(one)
    settle_all()
    assert Trace.objects.get().digest == digest


@pytest.mark.django_db
def test_late_spans_are_counted_and_draw_nothing_twice(send: Send, source_token: Pair) -> None:
    source = source_token[0]
    task = queue_of(source)
    configure(source, rules=[{"kind": "random", "share": 1}])
    send(chat_span())
    settle_all()
    send(otlp_span(2, error=True))
    settle_all()
    trace = Trace.objects.get()
    assert (trace.late, trace.spans_kept, trace.errors, trace.state) == (1, 2, 1, "queued")
    assert task.items.count() == 1


@pytest.mark.django_db
def test_a_drawn_trace_is_an_item_for_so_many_blind_reviews(
    send: Send, source_token: Pair, project: Project
) -> None:
    source = source_token[0]
    task = queue_of(source, reviews=3)
    configure(source, rules=[{"kind": "error", "share": 1}, {"kind": "random", "share": 0}])
    send(chat_span(1, text="Where is my parcel?", error=True), chat_span(2, trace=2))
    settle_all()
    drawn, other = Trace.objects.order_by("trace_id")
    assert (drawn.drawn_by, drawn.inclusion, drawn.stratum) == ("error", 1.0, "error+random")
    assert (other.item, other.inclusion, other.state) == (None, 0.0, "settled")
    tasks.publish(by=project.owner, task=task)
    send(chat_span(5, trace=3, error=True))
    settle_all()
    task.refresh_from_db()
    items = task.items.in_version(task.current.number)
    assert [one.redundancy for one in items] == [3, 3]
    assert "Where is my parcel?" in drawn.item.question and "[1] User:" in drawn.item.question
    assert not {"trace", "shop", f"{1:032x}"} & set(drawn.item.question.split())


@pytest.mark.django_db
def test_traces_are_handed_out_by_how_much_a_review_tells(send: Send, source_token: Pair) -> None:
    source = source_token[0]
    task = queue_of(source)
    configure(source, rules=[{"kind": "attribute", "share": 1, "key": "tier"}], judge="quality")
    event = {"gen_ai__evaluation__name": "quality", "tier": "gold"}
    send(chat_span(1, trace=1, tier="gold"))
    send(otlp_span(1, 2, gen_ai__evaluation__score__value=0.45, **event), chat_span(9, trace=2))
    send(chat_span(1, trace=3, error=True, tier="gold"))
    send(
        otlp_span(1, 4, gen_ai__evaluation__score__value=0.9, **event),
        otlp_span(2, 4, gen_ai__evaluation__name="other", gen_ai__evaluation__score__value=0.1),
    )
    settle_all()
    order = Item.objects.filter(task=task).order_by("-priority").values_list("trace__trace_id")
    assert [int(name, 16) for (name,) in order] == [4, 2, 3, 1]


@pytest.mark.django_db
def test_random_draws_stand_among_the_next_reviews_as_often_as_among_all(
    send: Send, source_token: Pair
) -> None:
    """Half of the draws are random, and half of the reviews that come first are."""
    source = source_token[0]
    task = queue_of(source)
    rules = [{"kind": "error", "share": 1}, {"kind": "random", "share": 1}]
    configure(source, rules=rules, judge="quality", budget=0)
    event = {"gen_ai__evaluation__name": "quality", "gen_ai__evaluation__score__value": 0.45}
    for number in range(1, 161, 4):
        send(chat_span(1, trace=number), chat_span(1, trace=number + 1))
        send(chat_span(1, trace=number + 2, error=True))
        send(chat_span(1, trace=number + 3, error=True, **event))  # the judge is unsure: first
    settle_all()
    order = Item.objects.filter(task=task).order_by("-priority", "position")
    rules_of = list(order.values_list("trace__drawn_by", flat=True))
    assert rules_of.count("random") == 80
    assert 0.3 <= rules_of[:60].count("random") / 60 <= 0.7
    configure(source, rules=rules[1:])
    send(chat_span(1, trace=999))
    settle_all()
    assert task.items.get(trace__trace_id=f"{999:032x}").priority == 0  # nothing to stand among


@pytest.mark.django_db
def test_a_budget_lowers_all_shares_and_is_never_passed_twofold(
    send: Send, source_token: Pair
) -> None:
    source = source_token[0]
    task = queue_of(source)
    configure(source, rules=[{"kind": "random", "share": 1}], budget=5)
    for number in range(60):
        send(chat_span(1, trace=number + 1))
    settle_all()
    assert 5 <= task.items.count() <= 10
    chances = [one.inclusion for one in Trace.objects.order_by("settled_at", "pk")]
    assert chances[:5] == [1.0] * 5
    assert chances[5:9] == pytest.approx([5 / 6, 5 / 7, 5 / 8, 5 / 9])


@pytest.mark.django_db
def test_only_a_labels_task_with_the_outcome_is_a_queue(source_token: Pair) -> None:
    source = source_token[0]
    with pytest.raises(Invalid):
        set_queue(by=source.created_by, source=source, task=factories.make_task(source.project))
    queue_of(source)
    with pytest.raises(Conflict):
        queue_of(source)


@pytest.mark.django_db
def test_old_traces_go_and_reviewed_items_stay(send: Send, source_token: Pair) -> None:
    source = source_token[0]
    task = queue_of(source)
    configure(source, rules=[{"kind": "error", "share": 1}], retention_days=30)
    send(chat_span(1, trace=1), chat_span(1, trace=2, error=True))
    settle_all()
    assert settle.delete_expired() == 0
    age(31 * 86_400)
    assert settle.delete_expired() == 2
    assert task.items.count() == 1 and not TraceSpan.objects.exists()
    assert [one.trace_id for one in Trace.objects.all()] == [f"{2:032x}"]


@pytest.mark.django_db
def test_a_trace_that_cannot_be_settled_stops_no_other(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(chat_span(1, 1), chat_span(1, 2))
    first, second = Trace.objects.order_by("pk")
    build = settle.build_chat

    def fail_first(spans: Any, **more: Any) -> Any:
        if not done:
            done.append(1)
            raise AttributeError
        return build(spans, **more)

    done: list[int] = []
    monkeypatch.setattr(settle, "build_chat", fail_first)
    assert settle_all() == 1
    assert Trace.objects.filter(is_due=True).count() == 0
    send(chat_span(2, int(first.trace_id, 16)), chat_span(2, int(second.trace_id, 16)))
    assert settle_all() == 2
