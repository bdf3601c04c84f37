"""Calls to models: asked once, kept, and taken from there by every later run."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from crowdqc.errors import Conflict
from evaluation.llm import client, completion, engine, ledger
from evaluation.llm.ask import EndpointFails
from evaluation.llm.calls import fetch_replies
from evaluation.llm.estimate import preview
from evaluation.llm.schemas import TEXT, YES_NO, WrongForm
from evaluation.methods.core.base import Cancelled
from evaluation.models import CallState, Endpoint, LanguageModel, LLMAttempt, LLMCall, Run, RunState
from evaluation.runs.progress import Superseded
from tests.evaluation.corpora.llm_asks import GOOD, Said, ask, make_run, recorder, scripted
from tests.support.factories import make_project
from tests.support.servers.llm import Body, Chances, Fault, make_model, serving

pytestmark = [pytest.mark.db, pytest.mark.django_db]
COSTLY = "\N{GRINNING FACE}\0 cut"  # what the database does not hold must not stop a run


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BACKOFF", 0.01)
    monkeypatch.setattr(engine, "LATE", 0.5)
    monkeypatch.setattr(engine, "POLL", 0.1)


def impatient(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Give an answer so many seconds; an endpoint's own setting has whole ones."""
    usual = completion.link_of
    monkeypatch.setattr(
        completion, "link_of", lambda endpoint: replace(usual(endpoint), timeout=seconds)
    )


def outcomes(call_id: int) -> list[str]:
    return list(LLMAttempt.objects.filter(call=call_id).values_list("outcome", flat=True))


def answering(text: Said) -> Callable[[Body], Said]:
    return lambda body: text


def test_what_was_asked_once_is_not_asked_again() -> None:
    run = make_run()
    again = make_run(run.project, 2)
    with serving(answering(GOOD)) as stub:
        model = make_model(run.project, stub.base_url)
        asks = [ask(1), ask(2), ask(1, replicate=1)]
        first = fetch_replies(run, model, asks)
        second = fetch_replies(again, model, asks)
        third = fetch_replies(again, model, asks)
    assert [reply.value for reply in first] == [{"score": 70.0}] * 3
    assert [reply.cached for reply in first] == [False] * 3
    assert [reply.cached for reply in second] == [True] * 3
    assert [reply.call_id for reply in second] == [reply.call_id for reply in first]
    assert third == second
    assert len(stub.asked) == LLMCall.objects.count() == LLMAttempt.objects.count() == 3
    # The same subject with another replicate is another use.
    subjects = sorted(again.uses.values_list("subject", flat=True))
    assert subjects == ["item:1", "item:1#2", "item:2"]


def test_an_imported_result_is_taken_as_it_stands_without_any_endpoint() -> None:
    run = make_run()
    model = make_model(run.project, "http://127.0.0.1:9/v1")
    asked = ask(1)
    with pytest.raises(EndpointFails):
        fetch_replies(run, model, [ask(n) for n in range(1, 13)])
    LLMCall.objects.filter(uses__subject=asked.subject).update(
        state=CallState.DONE, source="import", value={"score": 12.0}, model=None
    )
    (reply,) = fetch_replies(run, model, [asked])
    assert (reply.value, reply.cached) == ({"score": 12.0}, True)


def test_every_fault_of_an_endpoint_is_survived_and_told_by_an_attempt() -> None:
    run = make_run()
    script: dict[int, list[Said]] = {
        1: [Fault(status=429, headers={"Retry-After": "0.1"}, error="slow down")],
        2: [Fault(status=500, error="out of order"), Fault(status=503)],
        4: [Fault(cut=True, text=GOOD)],
        5: [Fault(text='{"sco', finish="length")],
        6: ['{"score": 700}', '{"points": 3}'],
        8: [
            Fault(raw=b"<html>an error page</html>"),
            Fault(raw=b"[" * 100_000 + b"]" * 100_000),
            Fault(raw=b" " * (5 * 2**20)),
        ],
    }
    with serving(scripted(script)) as stub:
        model = make_model(run.project, stub.base_url, hard_budget=5, parallel=4)
        replies = fetch_replies(run, model, [ask(n) for n in range(1, 11)])
    assert [reply.value for reply in replies] == [{"score": 70.0}] * 10
    told = {n: outcomes(reply.call_id) for n, reply in enumerate(replies, 1)}
    assert told == {
        1: ["rate_limited", "ok"],
        2: ["server_error", "server_error", "ok"],
        3: ["ok"],
        4: ["connection", "ok"],
        5: ["truncated", "ok"],
        6: ["wrong_form", "wrong_form", "ok"],
        7: ["ok"],
        8: [*["server_error"] * 3, "ok"],
        9: ["ok"],
        10: ["ok"],
    }
    assert len(stub.asked) == LLMAttempt.objects.count()
    failed = LLMAttempt.objects.exclude(outcome="ok")
    assert all(one.reason and one.ended_at for one in failed)
    reasons = {one.call_id: one.reason for one in failed}
    assert "HTTP 429: slow down" in reasons[replies[0].call_id]
    assert "less than or equal to 100" in failed.filter(call=replies[5].call_id)[0].reason
    assert failed.get(call=replies[4].call_id).text == '{"sco'
    costs = {n: LLMCall.objects.get(pk=replies[n - 1].call_id).cost for n in (2, 6, 9)}
    one = Decimal("0.00002")  # 10 tokens in at 1 a million, 5 out at 2
    assert (costs[2], costs[6], costs[9]) == (one, 3 * one, one)
    check_money(model)


def check_money(model: LanguageModel) -> None:
    """What was spent is what the attempts came to, and nothing is reserved any more."""
    endpoint = Endpoint.objects.get(pk=model.endpoint_id)
    assert endpoint.spent == sum(row.cost or 0 for row in LLMAttempt.objects.all())
    assert endpoint.reserved == 0


def test_an_endpoint_that_hangs_or_drips_is_asked_again_and_may_have_billed_both() -> None:
    run = make_run()
    script: dict[int, list[Said]] = {
        1: [Fault(seconds=8, text=GOOD)],
        2: [Fault(drip=0.2, text=GOOD)],
    }
    with serving(scripted(script)) as stub:
        model = make_model(run.project, stub.base_url, timeout_seconds=1, hard_budget=5, parallel=4)
        replies = fetch_replies(run, model, [ask(1), ask(2)])
    assert [reply.value for reply in replies] == [{"score": 70.0}] * 2
    assert [outcomes(reply.call_id) for reply in replies] == [["timeout", "ok"]] * 2
    assert len(stub.asked) == LLMAttempt.objects.count()
    assert all(one.reason and one.ended_at for one in LLMAttempt.objects.filter(outcome="timeout"))
    cost = LLMCall.objects.get(pk=replies[0].call_id).cost
    assert cost is not None and cost > 5 * Decimal("0.00002")
    check_money(model)


def test_a_byte_now_and_then_cannot_hold_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 0.3)
    monkeypatch.setattr(engine, "FAULTS", 2)
    run = make_run()
    with serving(answering(Fault(drip=0.1, text=GOOD))) as stub:
        model = make_model(run.project, stub.base_url)
        began = time.monotonic()
        (reply,) = fetch_replies(run, model, [ask(1)])
    assert time.monotonic() - began < 15
    assert reply.value is None
    assert reply.reason == "No whole answer within 0.3 seconds."
    assert outcomes(reply.call_id) == ["timeout"] * engine.FAULTS


def test_what_cannot_heal_fails_at_once_with_the_endpoints_words() -> None:
    run = make_run()
    script: dict[int, list[Said]] = {
        1: [Fault(status=400, error="messages too long")],
        2: [Fault(refusal="I would rather not.")],
        3: ["no", "still no", "never"],
        4: [Fault(text="", finish="content_filter")],
    }
    with serving(scripted(script)) as stub:
        model = make_model(run.project, stub.base_url)
        replies = fetch_replies(run, model, [ask(n) for n in range(1, 6)])
        told = [reply.reason for reply in replies]
        assert told[:2] == [
            "HTTP 400: messages too long",
            "The model declined: I would rather not.",
        ]
        assert told[2] == "There is no number from 0 to 100 in the answer."
        assert (told[3], told[4]) == ("A filter kept the answer back.", "")
        assert [reply.value is None for reply in replies] == [True] * 4 + [False]
        assert [len(outcomes(reply.call_id)) for reply in replies] == [1, 1, 3, 1, 1]
        # A later run asks the failed ones again, under the next numbers, and nothing else.
        again = fetch_replies(make_run(run.project, 2), model, [ask(n) for n in range(1, 6)])
    assert all(reply.value for reply in again)
    assert [len(outcomes(reply.call_id)) for reply in again] == [2, 2, 4, 2, 1]
    assert len(stub.asked) == 11


def test_an_endpoint_that_refuses_everything_is_not_asked_everything() -> None:
    run = make_run()
    with serving(answering(Fault(status=401, error="wrong key"))) as stub:
        model = make_model(run.project, stub.base_url)
        with pytest.raises(EndpointFails, match="HTTP 401: wrong key"):
            fetch_replies(run, model, [ask(n) for n in range(60)])
    assert len(stub.asked) < 20


def test_a_free_text_that_was_cut_off_is_taken_and_says_so() -> None:
    run = make_run()
    with serving(answering(Fault(text=f"Storks {COSTLY}", finish="length"))) as stub:
        model = make_model(run.project, stub.base_url)
        (reply,) = fetch_replies(run, model, [ask(1, TEXT)])
    assert reply.value == {"text": "Storks \N{GRINNING FACE} cut"}
    assert reply.reason == "Cut off at the limit of its tokens."
    assert outcomes(reply.call_id) == ["truncated"]


def test_a_word_is_chosen_by_its_probability_among_the_words_allowed() -> None:
    run = make_run()
    said = Chances("The", {"The": 0.6, "Yes": 0.1, " yes": 0.05, "No": 0.05, "Maybe": 0.1})
    with serving(answering(said)) as stub:
        model = make_model(run.project, stub.base_url, can={"logprobs": True, "top_logprobs": 5})
        (reply,) = fetch_replies(run, model, [ask(1, YES_NO, by_chance=True)])
    assert reply.value == {"answer": "yes"}
    assert reply.chances == {"Yes": 0.75, "No": 0.25}
    assert (stub.asked[0]["logprobs"], stub.asked[0]["top_logprobs"]) == (True, 5)


@pytest.mark.parametrize(
    ("form", "kind", "told"),
    [
        ("json_schema", "json_schema", False),
        ("json_object", "json_object", True),
        ("text", "", True),
    ],
)
def test_the_form_is_asked_for_as_well_as_the_endpoint_can(
    form: str, kind: str, told: bool
) -> None:
    run = make_run()
    with serving(answering(GOOD)) as stub:
        limit = {"limit": "max_completion_tokens", "seed": False}
        model = make_model(run.project, stub.base_url, form=form, can=limit)
        params = {"temperature": 0, "max_tokens": 9, "seed": 3}
        fetch_replies(run, model, [ask(1, params=params)])
    (body,) = stub.asked
    assert body.get("response_format", {}).get("type", "") == kind
    assert ("one JSON object" in body["messages"][-1]["content"]) == told
    assert body["max_completion_tokens"] == 9
    assert not {"max_tokens", "seed"} & set(body)


def test_progress_counts_calls_that_are_finished_the_cached_ones_included() -> None:
    run = make_run()
    with serving(answering(GOOD)) as stub:
        model = make_model(run.project, stub.base_url)
        fetch_replies(run, model, [ask(n) for n in range(5)])
        steps = recorder(run)
        seen: list[tuple[int, int]] = []
        told = steps.advance

        def watched(done: int, total: int | None = None) -> None:
            assert LLMCall.objects.filter(state="done").count() == done
            seen.append((done, total or 0))
            told(done, total)

        steps.advance = watched  # type: ignore[method-assign]
        fetch_replies(run, model, [ask(n) for n in range(30)], steps)
    assert seen[0] == (5, 30) and seen[-1] == (30, 30)
    assert len({done for done, _ in seen}) > 3


@pytest.mark.parametrize("how", ["cancelled", "taken over"])
def test_a_run_that_is_stopped_stops_promptly_and_keeps_what_came(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "STOP", 0.5)
    run = make_run()
    steps = recorder(run)

    def answer(body: Body) -> Said:
        return Fault(text=GOOD, seconds=0.1 if len(stub.asked) < 9 else 20)

    with serving(answer) as stub:
        model = make_model(run.project, stub.base_url, hard_budget=5)
        stop = {"cancel_requested": True} if how == "cancelled" else {"state": RunState.CANCELLED}
        tick = steps.advance

        def advance(done: int, total: int | None = None) -> None:
            if done >= 8:
                Run.objects.filter(pk=run.pk).update(**stop)
            tick(done, total)

        steps.advance = advance  # type: ignore[method-assign]
        began = time.monotonic()
        with pytest.raises(Cancelled if how == "cancelled" else Superseded):
            fetch_replies(run, model, [ask(n) for n in range(60)], steps)
    assert time.monotonic() - began < 10
    assert LLMCall.objects.filter(state="done").count() == 8
    assert not LLMCall.objects.filter(state="sent").exists()
    lost = LLMAttempt.objects.filter(outcome="lost")
    assert lost.count() == 4 == len(stub.asked) - 8
    endpoint = Endpoint.objects.get(pk=model.endpoint_id)
    assert (endpoint.reserved, endpoint.spent > 0) == (0, True)


def test_a_call_that_another_run_has_in_flight_is_waited_for_and_not_asked_twice() -> None:
    run, other = make_run(), None
    with serving(answering(GOOD)) as stub:
        model = make_model(run.project, stub.base_url)
        other = make_model(make_project(), stub.base_url)  # the same address, another project
        fetch_replies(make_run(other.endpoint.project), other, [ask(1)])
        (call_id,) = [reply.call_id for reply in fetch_replies(run, model, [ask(1)])]
        assert len(stub.asked) == 2  # projects share nothing
        # As if a worker had been killed with the call in flight a moment ago.
        soon = timezone.now() + dt.timedelta(seconds=0.5)
        LLMCall.objects.filter(pk=call_id).update(
            state="sent", lease=uuid.uuid4(), lease_until=soon, value=None, reserved=Decimal("0.5")
        )
        LLMAttempt.objects.filter(call=call_id).delete()
        LLMAttempt.objects.create(call_id=call_id, number=1, sent_at=timezone.now())
        Endpoint.objects.filter(pk=model.endpoint_id).update(reserved=Decimal("0.5"), spent=0)
        began = timezone.now()
        (reply,) = fetch_replies(make_run(run.project, 2), model, [ask(1)])
        assert timezone.now() >= soon > began
    assert reply.value == {"score": 70.0}
    assert outcomes(call_id) == ["lost", "ok"]
    assert LLMAttempt.objects.get(call=call_id, number=1).cost == Decimal("0.5")
    endpoint = Endpoint.objects.get(pk=model.endpoint_id)
    assert (endpoint.reserved, endpoint.spent) == (0, Decimal("0.50002"))


def test_an_answer_that_comes_after_its_lease_does_not_count_twice() -> None:
    run = make_run()
    steps = recorder(run)
    with serving(answering(Fault(text=GOOD, seconds=0.6))) as stub:
        model = make_model(run.project, stub.base_url, hard_budget=5)
        tick = steps.advance

        def stall(done: int, total: int | None = None) -> None:
            # As though this process had slept: another one finds the lease run out.
            if LLMCall.objects.filter(state="sent", attempts=1).exists():
                LLMCall.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
                assert ledger.sweep(model.endpoint_id) == 1
            tick(done, total)

        steps.advance = stall  # type: ignore[method-assign]
        (reply,) = fetch_replies(run, model, [ask(1)], steps)
    assert reply.value == {"score": 70.0}
    assert outcomes(reply.call_id) == ["lost", "ok"]
    assert Endpoint.objects.get(pk=model.endpoint_id).reserved == 0


def test_an_endpoint_that_is_archived_meanwhile_is_asked_nothing_more() -> None:
    run = make_run()

    def answer(body: Body) -> Said:
        return Fault(text=GOOD, seconds=0.1)

    with serving(answer) as stub:
        model = make_model(run.project, stub.base_url, hard_budget=5, parallel=2)
        steps = recorder(run)
        tick = steps.advance

        def advance(done: int, total: int | None = None) -> None:
            if done >= 4:
                Endpoint.objects.update(archived_at=timezone.now())
            tick(done, total)

        steps.advance = advance  # type: ignore[method-assign]
        with pytest.raises(Conflict, match="was archived"):
            fetch_replies(run, model, [ask(n) for n in range(40)], steps)
    done = LLMCall.objects.filter(state="done").count()
    assert 4 <= done == len(stub.asked) <= 8
    assert not LLMCall.objects.filter(state="sent").exists()


def test_the_limits_of_a_minute_are_kept_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MINUTE", dt.timedelta(seconds=0.5))
    run = make_run()
    with serving(answering(GOOD)) as stub:
        model = make_model(run.project, stub.base_url, requests_per_minute=4, parallel=8)
        began = time.monotonic()
        fetch_replies(run, model, [ask(n) for n in range(10)])
    assert time.monotonic() - began > 1
    sent = sorted(row.sent_at for row in LLMAttempt.objects.all())
    for at in range(len(sent) - 4):
        assert (sent[at + 4] - sent[at]).total_seconds() > 0.25
    asks = [ask(n) for n in range(10, 18)]
    assert preview(model, asks, run.project_id).minutes == 2


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("1.2", 1.2),
        ("inf", 3600),
        ("1e99", 3600),
        ("-5", 0),
        ("nan", None),
        ("soon", None),
        ("Mon, 99 Foo 99999 00:00:00 GMT", None),
    ],
)
def test_no_endpoint_has_a_run_wait_for_more_than_an_hour(told: str, seconds: float | None) -> None:
    assert client.asked_wait({"retry-after": told}) == seconds


def test_a_pause_that_an_endpoint_asks_for_holds_for_all() -> None:
    run = make_run()
    fault = Fault(status=429, headers={"Retry-After": "0.4"})
    with serving(scripted({0: [fault]})) as stub:
        model = make_model(run.project, stub.base_url, parallel=1)
        fetch_replies(run, model, [ask(n) for n in range(3)])
    first, *rest = sorted(row.sent_at for row in LLMAttempt.objects.all())
    assert all((moment - first).total_seconds() >= 0.4 for moment in rest)


def test_a_preview_says_what_it_will_cost_and_what_stands_in_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run()
    with serving(answering(GOOD)) as stub:
        model = make_model(run.project, stub.base_url)
        fetch_replies(run, model, [ask(1)])
        asks = [ask(n) for n in range(1, 11)]
        told = preview(model, asks, run.project_id)
        assert (told.calls, told.cached, told.minutes) == (10, 1, None)
        assert told.cost is not None and told.at_most is not None
        assert 0 < told.cost < told.at_most
        assert not told.problems and not told.warnings
        spent = Endpoint.objects.get(pk=model.endpoint_id).spent
        fetch_replies(run, model, asks)
        assert told.at_most > Endpoint.objects.get(pk=model.endpoint_id).spent - spent
        assert preview(model, asks, run.project_id).cached == 10
    asks = [ask(n) for n in range(20, 3000)]
    endpoint = model.endpoint
    endpoint.hard_budget, endpoint.soft_budget, endpoint.key_env = Decimal("0.1"), 0, "NO_API_KEY"
    endpoint.save()
    model.can = {}
    told = preview(model, asks, run.project_id)
    assert told.problems[0] == "The variable NO_API_KEY, which holds the key, is not set."
    assert "€0.10 is left" in told.problems[1]
    assert "soft budget" in told.warnings[0] and "never probed" in told.warnings[1]
    model.price_out = None
    told = preview(model, asks, run.project_id)
    assert told.cost is None
    assert "The price of stub-1 is not known" in told.problems[0]
    monkeypatch.setenv("NO_API_KEY", "x")
    with pytest.raises(Conflict, match="price of stub-1 is not known"):
        fetch_replies(run, model, asks)


def test_what_an_attempt_came_to_cannot_be_rewritten() -> None:
    run = make_run()
    with serving(answering(GOOD)) as stub:
        fetch_replies(run, make_model(run.project, stub.base_url), [ask(1)])
    with pytest.raises(IntegrityError, match="is settled"), transaction.atomic():
        LLMAttempt.objects.update(outcome="ok", cost=0)


def test_a_reply_may_say_more_than_was_asked_but_not_less() -> None:
    assert YES_NO.parse('{"answer": "no", "because": "it is short"}') == {"answer": "no"}
    assert YES_NO.json_schema()["additionalProperties"] is False
    with pytest.raises(WrongForm, match="reply lacks 'answer'"):
        YES_NO.parse('{"because": "it is short"}')
