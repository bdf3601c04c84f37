"""Calls of several processes at once, and of one that is killed: money, limits, no call twice."""

from __future__ import annotations

import threading
import time
from collections import Counter
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from evaluation.llm import engine
from evaluation.llm.ask import BudgetSpent
from evaluation.llm.calls import fetch_replies
from evaluation.models import CallState, Endpoint, LanguageModel, LLMAttempt, LLMCall, Run
from tests.evaluation.corpora.llm_asks import GOOD, Said, ask, make_run, number_of
from tests.support import jobs
from tests.support.processes import Worker, until
from tests.support.servers.llm import Body, Fault, make_model, serving

JOBS, EACH = 8, 30
ONE = Decimal("0.00002")  # what a call costs by the stub's usage


def in_parallel(runs: list[Run], model: LanguageModel, first: list[int]) -> list[str]:
    """Let every run ask its questions in a thread with a connection of its own; how each ended."""
    ended = [""] * len(runs)

    def work(at: int) -> None:
        try:
            own = LanguageModel.objects.select_related("endpoint__project").get(pk=model.pk)
            asks = [ask(n) for n in range(first[at], first[at] + EACH)]
            replies = fetch_replies(runs[at], own, asks)
            ended[at] = "all" if all(reply.value for reply in replies) else "some"
        except BudgetSpent as problem:
            ended[at] = problem.message
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ended


@pytest.mark.db
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_eight_jobs_at_once_never_overdraw_the_budget() -> None:
    run = make_run()
    runs = [run, *(make_run(run.project, n) for n in range(2, JOBS + 1))]
    highest: list[Decimal] = []

    def answer(body: Body) -> Said:
        return Fault(status=500) if number_of(body) % 7 == 0 and len(stub.asked) % 3 else GOOD

    with serving(answer) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "BACKOFF", 0.01)
        model = make_model(run.project, stub.base_url)
        budget = Decimal("0.01")  # some reservations at a time, and half of the calls in all
        model.price_in = model.price_out = Decimal(10)
        model.save()
        Endpoint.objects.filter(pk=model.endpoint_id).update(hard_budget=budget)
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                row = Endpoint.objects.get(pk=model.endpoint_id)
                highest.append(row.spent + row.reserved)
                time.sleep(0.01)
            connection.close()

        watching = threading.Thread(target=watch)
        watching.start()
        ended = in_parallel(runs, model, [1000 * at for at in range(JOBS)])
        done.set()
        watching.join()
    assert max(highest) <= budget
    endpoint = Endpoint.objects.get(pk=model.endpoint_id)
    assert endpoint.reserved == 0
    assert endpoint.spent == sum(row.cost or 0 for row in LLMAttempt.objects.all()) <= budget
    # Spent but for what one more call might have cost; the rest was refused, in words.
    assert endpoint.spent > budget * Decimal("0.3")
    assert "all" not in ended
    assert all(word.startswith("The budget of Endpoint") for word in ended)
    answered = LLMCall.objects.filter(state=CallState.DONE).count()
    assert 0 < answered == LLMAttempt.objects.filter(outcome="ok").count() < JOBS * EACH
    assert len(stub.asked) == LLMAttempt.objects.count()
    assert not LLMCall.objects.filter(state=CallState.SENT).exists()


@pytest.mark.db
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_eight_jobs_with_the_same_questions_ask_each_once() -> None:
    run = make_run()
    runs = [run, *(make_run(run.project, n) for n in range(2, JOBS + 1))]
    with serving(lambda body: Fault(text=GOOD, seconds=0.01)) as stub:
        model = make_model(run.project, stub.base_url, hard_budget=5)
        ended = in_parallel(runs, model, [7 * at for at in range(JOBS)])
    assert ended == ["all"] * JOBS
    different = 7 * (JOBS - 1) + EACH
    assert Counter(number_of(body) for body in stub.asked) == dict.fromkeys(range(different), 1)
    assert LLMCall.objects.count() == LLMAttempt.objects.count() == different
    assert Endpoint.objects.get(pk=model.endpoint_id).spent == different * ONE


@pytest.mark.db
@pytest.mark.slow
def test_a_run_whose_worker_was_killed_goes_on_and_asks_nothing_twice(worker: Worker) -> None:
    calls, parallel, some = 60, 4, 10
    run = make_run()
    with serving(lambda body: Fault(text=GOOD, seconds=0.1)) as stub:
        model = make_model(run.project, stub.base_url, hard_budget=5, parallel=parallel)
        jobs.ask_many.delay(run.pk, model.pk, calls)
        until(
            lambda: LLMCall.objects.filter(state=CallState.DONE).count() >= some, 60, "some answers"
        )
        worker.kill_with_pool()
        kept = set(LLMCall.objects.filter(state=CallState.DONE).values_list("pk", flat=True))
        in_flight = LLMCall.objects.filter(state=CallState.SENT)
        assert some <= len(kept) < calls and 0 < in_flight.count() <= parallel
        asked = len(stub.asked)
        assert asked <= len(kept) + parallel
        in_flight.update(lease_until=timezone.now())  # as though half a minute had passed
        worker.start()
        jobs.ask_many.delay(run.pk, model.pk, calls)
        until(
            lambda: LLMCall.objects.filter(state=CallState.DONE).count() == calls, 60, "all answers"
        )
    lost = LLMAttempt.objects.filter(outcome="lost")
    assert 0 < lost.count() <= parallel
    assert LLMAttempt.objects.filter(outcome="ok").count() == calls
    assert LLMAttempt.objects.count() == calls + lost.count()
    assert LLMAttempt.objects.filter(call__in=kept).count() == len(kept)
    twice = [n for n, count in Counter(number_of(body) for body in stub.asked).items() if count > 1]
    assert len(twice) <= lost.count()
    assert run.uses.count() == calls
    endpoint = Endpoint.objects.get(pk=model.endpoint_id)
    assert endpoint.reserved == 0
    assert endpoint.spent == calls * ONE + sum(row.cost or 0 for row in lost)
