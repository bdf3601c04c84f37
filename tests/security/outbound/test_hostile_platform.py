"""A platform whose address a project entered answers nonsense: others are paid all the same."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from annotation.models import KeySet, Payment
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import sending as payment_sending
from annotation.recruitment.actions import key_sets as recruitment
from annotation.recruitment.platforms import prolific as platform_api
from crowdqc import outbound
from tests.support import factories
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "body",
    [
        b'{"reward": NaN}',
        b'{"reward": 1e999}',
        b"[" * 100_000,
        b'{"presentment_currency_code": "\\u0000\\ud800x"}',
        b'{"bonus_payments": ["x"], "presentment_currency_code": "EUR"}',
        b'{"bonus_payments": [1e400], "presentment_currency_code": "EUR"}',
        b'{"bonus_payments": 7, "presentment_currency_code": "EUR"}',
        b'{"id": "' + b"x" * 5000 + b'", "presentment_currency_code": "EUR"}',
        b'{"id": "\\u0000", "presentment_currency_code": "EUR"}',
    ],
)
def test_no_answer_of_one_platform_ends_the_job_for_all(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = factories.make_world(n=1, redundancy=9)
    with prolific.serving() as platform:
        study = prolific.make_recruitment(world.task, platform)
        [visit] = prolific.make_visited(study, platform)
    line = payouts.ProposedLine(visit.assignment_id, bonus=Decimal("0.50"))
    batch = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=[line])
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))

    def send(*_: Any, **__: Any) -> outbound.Answer:
        return outbound.Answer(200, body)

    monkeypatch.setattr(outbound.Client, "send", send)
    for _ in range(3):
        payment_sending.send_due(seconds=2)
    assert not Payment.objects.filter(state="done").exists()


@pytest.mark.parametrize("body", [b"", b"<html>Back soon</html>", b"[]", b'{"reward": NaN}'])
def test_what_stands_there_is_unknown_where_the_answer_cannot_be_read(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read as "no bonus yet", it would have the same bonus paid a second time."""
    monkeypatch.setattr(outbound.Client, "send", lambda *_, **__: outbound.Answer(200, body))
    with (
        platform_api.Prolific("https://api.prolific.com", "token", lambda *_: None) as api,
        pytest.raises(platform_api.NoAnswer),
    ):
        api.submission("s1")


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\u0000"', '"\\ud800"', "[" * 9_000])
def test_a_key_set_that_cannot_be_stored_is_a_failure_that_is_noted(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be asked for again each minute, without the pauses that grow."""
    url = "https://keys.example.org/jwks"
    KeySet.objects.create(url=url)
    body = b'{"keys": [{"kid": ' + value.encode() + b"}]}"
    monkeypatch.setattr(outbound.Client, "send", lambda *_, **__: outbound.Answer(200, body))
    assert recruitment.fetch_key_set(url=url) is False
    assert KeySet.objects.get(url=url).failures == 1
