"""Endpoints: their keys are kept from everybody, their addresses checked, their models probed."""

from __future__ import annotations

import io
import logging
import socket
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from annotation.models import AuditEntry, Project
from crowdqc.errors import Conflict, Invalid
from crowdqc.outbound import addresses
from evaluation.llm import engine
from evaluation.llm.ask import EndpointFails
from evaluation.llm.calls import fetch_replies
from evaluation.llm.endpoints import actions as endpoints
from evaluation.llm.endpoints import keys, probe
from evaluation.models import Endpoint, LLMAttempt, LLMCall
from tests.evaluation.corpora.llm_asks import GOOD, Said, ask, make_run
from tests.support.factories import make_project
from tests.support.servers.llm import Body, Chances, Fault, serving

pytestmark = pytest.mark.django_db
KEY = "sk-keep-this-to-yourself-4711"


def add(project: Project, base_url: str = "https://models.example/v1", **fields: Any) -> Endpoint:
    name = fields.pop("name", "Ours")
    return endpoints.add_endpoint(
        by=project.owner, owner=project, name=name, base_url=base_url, **fields
    )


def everything() -> str:
    """All rows of the database as text."""
    out = io.StringIO()
    call_command("dumpdata", stdout=out)
    return out.getvalue()


def test_a_sealed_key_is_sent_and_stands_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    run = make_run()

    def answer(body: Body) -> Said:
        return GOOD if len(stub.asked) == 1 else Fault(status=400, error=f"the key {KEY} is wrong")

    with serving(answer) as stub:
        endpoint = add(run.project, stub.base_url, key=f" {KEY}\n")
        endpoints.change_endpoint(by=run.project.owner, endpoint=endpoint, parallel=1)
        model = endpoints.add_model(by=run.project.owner, endpoint=endpoint, name="stub-1")
        replies = fetch_replies(run, model, [ask(1), ask(2)])
    assert stub.keys == [f"Bearer {KEY}"] * 2
    assert replies[1].reason == "HTTP 400: the key (key) is wrong"
    assert endpoint.key_sealed and KEY.encode() not in bytes(endpoint.key_sealed)
    assert LLMCall.objects.count() == LLMAttempt.objects.count() == 2
    assert KEY not in everything()
    assert KEY not in caplog.text
    assert KEY not in repr(keys.key_of) + repr(model) + keys.state_of(endpoint)
    told = AuditEntry.objects.get(action="endpoint.add").detail
    assert (told["key"], told["name"]) == ("sealed", "Ours")


def test_after_a_new_secret_the_key_has_to_be_entered_again() -> None:
    project = make_project()
    endpoint = add(project, key=KEY)
    assert keys.key_of(endpoint) == KEY
    with override_settings(SECRET_KEY="another one"):
        with pytest.raises(Conflict, match="Enter the key again"):
            keys.key_of(endpoint)
        endpoint = endpoints.set_key(by=project.owner, endpoint=endpoint, key="sk-new")
        assert keys.key_of(endpoint) == "sk-new"
    endpoint = endpoints.set_key(by=project.owner, endpoint=endpoint)
    assert (keys.key_of(endpoint), keys.state_of(endpoint)) == (keys.NO_KEY, "No key is set.")


def test_a_key_is_never_sent_to_an_address_it_was_not_entered_for() -> None:
    project = make_project()
    endpoint = add(project, key=KEY)
    same = endpoints.change_endpoint(
        by=project.owner, endpoint=endpoint, base_url="https://models.example/v2/"
    )
    assert (same.base_url, bool(same.key_sealed)) == ("https://models.example/v2", True)
    moved = endpoints.change_endpoint(
        by=project.owner, endpoint=endpoint, base_url="https://elsewhere.example/v2"
    )
    assert not moved.key_sealed
    with serving(lambda body: Fault(status=302, headers={"Location": "/v1/other"})) as stub:
        run = make_run(project)
        away = add(project, stub.base_url, name="Away", key=KEY)
        model = endpoints.add_model(by=project.owner, endpoint=away, name="stub-1")
        (reply,) = fetch_replies(run, model, [ask(1)])
    assert "HTTP 302" in reply.reason and len(stub.asked) == 1


def test_only_variables_that_the_server_allows_can_hold_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = make_project()
    for name in ("SECRET_KEY", "DATABASE_URL", "path", "A B"):
        with pytest.raises(Invalid) as refused:
            add(project, key_env=name)
        assert "key_env" in refused.value.fields
    endpoint = add(project, key_env="OURS_API_KEY")
    with pytest.raises(Conflict, match="OURS_API_KEY, which holds the key, is not set"):
        keys.key_of(endpoint)
    monkeypatch.setenv("OURS_API_KEY", KEY)
    assert keys.key_of(endpoint) == KEY
    with override_settings(CROWDQC_KEY_VARIABLES=["OURS_API_KEY@other.example"]):
        with pytest.raises(Conflict, match="may not be used"):
            keys.key_of(endpoint)
        other = add(project, "https://other.example", name="Other", key_env="OURS_API_KEY")
        assert keys.key_of(other) == KEY


@pytest.mark.parametrize(
    "address",
    [
        "ftp://models.example",
        "models.example/v1",
        "http://",
        "https://me:pw@models.example/v1",
        "https://models.example/v1?key=1",
        "http://[::1",
        f"https://models.example/{'a' * 300}",
    ],
)
def test_an_address_that_is_none_is_refused_by_name(address: str) -> None:
    with pytest.raises(Invalid) as refused:
        add(make_project(), address)
    assert set(refused.value.fields) == {"base_url"}


@pytest.mark.parametrize(
    "led_to",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "192.168.1.1",
        "::1",
        "fd00::1",
        "::ffff:10.0.0.1",
        "100.64.0.1",
        "fe80::1",
    ],
)
def test_in_production_no_address_leads_into_the_private_network(
    led_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (led_to if host == "inside.example" else "93.184.216.34", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    run = make_run()
    number = f"[{led_to}]" if ":" in led_to else led_to
    with override_settings(CROWDQC_LOCAL_ENDPOINTS=False):
        with pytest.raises(Invalid) as refused:
            add(run.project, f"https://{number}/v1")
        assert refused.value.fields == {"base_url": "This address lies in a private network."}
        # What a name leads to is seen when a job connects: no page waits for a resolver.
        endpoint = add(run.project, "https://inside.example/v1")
        model = endpoints.add_model(by=run.project.owner, endpoint=endpoint, name="m")
        (reply,) = fetch_replies(run, model, [ask(1)])
        assert reply.value is None and "private network" in reply.reason
        assert LLMAttempt.objects.count() == 1
    addresses.check("https://inside.example/v1")  # allowed outside production


@pytest.mark.parametrize(
    ("fields", "bad"),
    [
        ({"name": " "}, "name"),
        ({"parallel": 0}, "parallel"),
        ({"timeout_seconds": "x"}, "timeout_seconds"),
        ({"hard_budget": -1}, "hard_budget"),
        ({"hard_budget": "NaN"}, "hard_budget"),
        ({"soft_budget": 3, "hard_budget": 2}, "soft_budget"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"key": "a b"}, "key"),
        ({"key": "a", "key_env": "B_API_KEY"}, "key"),
        ({"name": "Taken"}, "name"),
    ],
)
def test_a_wrong_field_is_refused_by_name(fields: dict[str, Any], bad: str) -> None:
    project = make_project()
    add(project, name="Taken")
    with pytest.raises(Invalid) as refused:
        add(project, **fields)
    assert bad in refused.value.fields
    assert Endpoint.objects.count() == 1


def test_every_change_is_in_the_audit_log_and_an_archived_endpoint_is_closed() -> None:
    project = make_project()
    endpoint = add(project, key=KEY, hard_budget="2.5")
    by = project.owner
    endpoints.change_endpoint(by=by, endpoint=endpoint, hard_budget=None, name="Theirs")
    model = endpoints.add_model(by=by, endpoint=endpoint, name="m", price_in="0.15")
    with pytest.raises(Conflict):
        endpoints.add_model(by=by, endpoint=endpoint, name="m")
    model = endpoints.change_model(by=by, model=model, price_in=Decimal("0.2"), price_out="0.6")
    assert (model.price_in, model.price_out) == (Decimal("0.2"), Decimal("0.6"))
    with pytest.raises(Invalid) as refused:
        endpoints.change_model(by=by, model=model, price_in="much", price_out=None)
    assert set(refused.value.fields) == {"price_in"}
    endpoints.archive_model(by=by, model=model)
    assert endpoints.add_model(by=by, endpoint=endpoint, name="m").pk == model.pk
    archived = endpoints.archive_endpoint(by=by, endpoint=endpoint)
    assert archived.archived_at and not archived.key_sealed
    with pytest.raises(Conflict, match="archived"):
        endpoints.set_key(by=by, endpoint=endpoint, key=KEY)
    add(project, name="Theirs")  # the name is free again
    told = list(AuditEntry.objects.filter(project=project).order_by("pk").values_list("action"))
    assert [action for (action,) in told if action.split(".")[0] in ("endpoint", "model")] == [
        "endpoint.add",
        "endpoint.change",
        "model.add",
        "model.change",
        "model.archive",
        "model.add",
        "endpoint.archive",
        "endpoint.add",
    ]


def test_a_probe_finds_what_a_model_can() -> None:
    project = make_project()

    def able(body: Body) -> Said:
        kind = body.get("response_format", {}).get("type")
        if "max_tokens" in body:
            return Fault(status=400, error="use max_completion_tokens")
        if body.get("top_logprobs", 0) > 5:
            return Fault(status=400, error="5 at most")
        if body.get("logprobs"):
            return Chances("Yes", {"Yes": 0.8, "No": 0.2})
        return '{"shade": "vermilion", "parts": 2}' if kind == "json_schema" else "Yes."

    with serving(able) as stub:
        endpoint = add(project, stub.base_url, name="Able")
        model = endpoints.add_model(by=project.owner, endpoint=endpoint, name="stub-1")
        model = probe.probe_model(by=project.owner, model=model)
        assert probe.model_names(endpoint) == ["stub-1"]
        assert len(stub.asked) <= 8
        vectors = endpoints.add_model(
            by=project.owner, endpoint=endpoint, name="stub-1", use="embedding"
        )
        assert probe.probe_model(by=project.owner, model=vectors).can == {"dim": 16}
    assert model.can == {
        "format": "json_schema",
        "limit": "max_completion_tokens",
        "logprobs": True,
        "top_logprobs": 5,
        "seed": True,
    }
    assert model.probed_at and model.probe_note == ""


def test_a_probe_of_a_plain_model_and_of_one_that_is_not_there() -> None:
    project = make_project()

    def plain(body: Body) -> Said:
        return Fault(status=400, error="unknown field") if "seed" in body else "A stork."

    with serving(plain, usage=False) as stub:
        endpoint = add(project, stub.base_url)
        model = endpoints.add_model(by=project.owner, endpoint=endpoint, name="stub-1")
        model = probe.probe_model(by=project.owner, model=model)
    assert (model.can["format"], model.can["logprobs"], model.can["seed"]) == ("text", False, False)
    assert "no usage" in model.probe_note
    again = probe.probe_model(by=project.owner, model=model)  # the server is gone
    assert again.probe_note == "The endpoint cannot be reached."
    assert again.can == model.can
    with pytest.raises(Conflict, match="cannot be reached"):
        probe.model_names(endpoint)


def test_what_was_spent_is_told_in_all_today_and_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BACKOFF", 0.01)
    monkeypatch.setattr(engine, "FAULTS", 2)
    run = make_run()
    with serving(lambda body: GOOD) as stub:
        endpoint = add(run.project, stub.base_url, soft_budget="0.00", hard_budget="1.00")
        model = endpoints.add_model(
            by=run.project.owner, endpoint=endpoint, name="m", price_in=1, price_out=2
        )
        fetch_replies(run, model, [ask(1), ask(2)])
        later = make_run(run.project, 2)
        fetch_replies(later, model, [ask(2), ask(3)])
    told = endpoints.spent(endpoint)
    assert (told.total, told.today, told.reserved) == (Decimal("0.00006"),) * 2 + (0,)
    assert (told.left, told.over_soft) == (Decimal("0.99994"), True)
    assert endpoints.spent_by(run) == Decimal("0.00004")
    assert endpoints.spent_by(later) == Decimal("0.00002")
    with pytest.raises(EndpointFails):
        fetch_replies(later, model, [ask(n) for n in range(50, 70)])
