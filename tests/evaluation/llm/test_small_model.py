"""The whole road to a real model: probed, held to forms, asked by probability, asked once.

A worker that is killed meanwhile is ``test_together.py``'s, with a model that answers at once.
"""

from __future__ import annotations

import pytest

from evaluation.llm.calls import fetch_replies
from evaluation.llm.endpoints import actions as endpoints
from evaluation.llm.endpoints import probe
from evaluation.llm.schemas import SCORE, YES_NO
from evaluation.models import LLMAttempt, LLMCall
from tests.evaluation.corpora.llm_asks import ask, make_run
from tests.support.servers.small_model import SmallModel


@pytest.mark.slow
@pytest.mark.django_db
def test_a_real_model_is_probed_and_always_answers_in_the_form_asked_for(
    small_model: SmallModel,
) -> None:
    run = make_run()
    by = run.project.owner
    endpoint = endpoints.add_endpoint(
        by=by,
        owner=run.project,
        name="Small",
        base_url=small_model.base_url,
        parallel=2,
        hard_budget=1,
    )
    assert probe.model_names(endpoint) == [small_model.name]
    model = endpoints.add_model(
        by=by, endpoint=endpoint, name=small_model.name, price_in=1, price_out=1
    )
    model = probe.probe_model(by=by, model=model)
    assert model.can == small_model.can
    room = {"temperature": 0, "max_tokens": 100}
    asks = [ask(0, SCORE, params=room), ask(1, YES_NO, params=room, by_chance=True)]
    scored, chosen = fetch_replies(run, model, asks)
    assert scored.value and 0 <= scored.value["score"] <= 100
    assert chosen.chances is not None and set(chosen.chances) == {"Yes", "No"}
    assert sum(chosen.chances.values()) == pytest.approx(1, abs=1e-5)
    likely = "Yes" if chosen.chances["Yes"] > chosen.chances["No"] else "No"
    assert chosen.value == YES_NO.words[likely]
    assert LLMAttempt.objects.filter(outcome="ok").count() == LLMAttempt.objects.count() == 2
    calls = LLMCall.objects.all()
    assert all(call.tokens_in and call.tokens_out and call.latency_ms for call in calls)
    told = endpoints.spent(endpoint)
    assert told.total == sum(call.cost or 0 for call in calls) > 0
    # What was reserved was enough: a token is a byte or more, a chat template adds some.
    assert all((call.tokens_in or 0) < 700 for call in calls)
    assert all(reply.cached for reply in fetch_replies(run, model, asks))
    assert LLMAttempt.objects.count() == 2
