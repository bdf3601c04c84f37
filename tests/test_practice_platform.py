"""The practice platform of docs/examples takes what crowdqc sends to Prolific."""

from __future__ import annotations

import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from annotation.payouts.statement_file import read_statement
from annotation.recruitment.platforms.prolific import Prolific, Refused, Study
from tests.support.manual import ROOT

ADDRESS = (
    "https://crowdqc.example/enter/x/?PROLIFIC_PID={{%PROLIFIC_PID%}}&SESSION_ID={{%SESSION_ID%}}"
)


@pytest.fixture
def practice(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    import practice_prolific

    return practice_prolific


@pytest.fixture
def url(practice: Any) -> Iterator[str]:
    server = practice.serve(0, 1.00, "EUR")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def page(url: str, **form: str) -> str:
    """A page, after a form was sent where there is one."""
    sent = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(url, sent) as answer:
        return str(answer.read().decode())


class Stay(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: the address of crowdqc is only looked at."""

    def redirect_request(self, *args: Any) -> None:
        return None


def take_part(url: str) -> str:
    """A participant is sent away; the id of their submission."""
    opener = urllib.request.build_opener(Stay)
    with pytest.raises(urllib.error.HTTPError) as sent:
        opener.open(f"{url}/take-part", b"")
    sent.value.close()
    values = urllib.parse.parse_qs(urllib.parse.urlsplit(sent.value.headers["Location"]).query)
    assert len(values["PROLIFIC_PID"][0]) == 24
    return values["SESSION_ID"][0]


@pytest.mark.django_db
def test_a_participant_is_approved_paid_and_in_the_statement(practice: Any, url: str) -> None:
    assert "practice-token" in page(url) and "Save the study address first." in page(url)
    page(f"{url}/address", address=ADDRESS)
    session = take_part(url)
    with Prolific(url, practice.TOKEN, lambda *args: None) as api:
        assert api.study(practice.STUDY) == Study(100, "EUR")
        with pytest.raises(Refused, match="ACTIVE cannot do this"):
            api.transition(session, "APPROVE")
        assert "AWAITING REVIEW" in page(f"{url}/complete", session=session, code="DONE01")
        assert api.transition(session, "APPROVE") == "APPROVED"
        reference, understood = api.set_up_bonus(practice.STUDY, session, Decimal("0.20"))
        assert understood == 20
        api.pay_bonus(reference)
        assert api.submission(session)["bonus_payments"] == [20]
        with pytest.raises(Refused):
            api.submission("none")
    assert "1.00, bonus 0.20" in page(url)
    rows = read_statement(page(f"{url}/statement.csv").encode(), "statement.csv", "EUR")
    assert [(row.kind, row.amount) for row in rows] == [
        ("base", Decimal("1.00")),
        ("bonus", Decimal("0.20")),
    ]


@pytest.mark.django_db
def test_another_token_is_refused(practice: Any, url: str) -> None:
    with (
        Prolific(url, "wrong", lambda *args: None) as api,
        pytest.raises(Refused, match="Invalid token"),
    ):
        api.study(practice.STUDY)
