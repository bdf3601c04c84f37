"""What a platform tells of its own accord: signed, taken once, in the order it happened."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from annotation.models import PlatformEvent, Recruitment, Visit
from annotation.recruitment.platforms import webhook
from annotation.recruitment.platforms.entry_params import entry_token
from crowdqc.sealing import sealed
from tests.support import factories
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db
SECRET = "a-hook-secret"


@pytest.fixture
def study() -> Recruitment:
    return prolific.make_recruitment(
        factories.make_task(n=1), webhook_sealed=sealed.seal(SECRET, webhook.PURPOSE)
    )


def tell(
    study: Recruitment,
    status: str,
    *,
    session: str,
    event: str = "e1",
    secret: str = SECRET,
    ago: float = 0.0,
    sent: float | None = None,
    **more: Any,
) -> Any:
    """Send an event as Prolific does."""
    said = {"resource_id": session, "event_type": "submission.status.change", "status": status}
    body = json.dumps({**said, **more}).encode()
    stamp = str(int(time.time() if sent is None else sent))
    headers = {
        "X-Prolific-Request-Timestamp": stamp,
        "X-Event-ID": event,
        "X-Prolific-Request-Signature": webhook.sign(secret, stamp, body),
        "X-Timestamp": str(time.time() - ago),
    }
    client = Client(enforce_csrf_checks=True)
    at = f"/hooks/prolific/{study.pk}/"
    return client.post(at, body, content_type="application/json", headers=headers)


def make_lease(study: Recruitment) -> Visit:
    assignment = factories.claim(study.task, factories.make_worker(study.task.project))
    return prolific.make_visit(study, assignment)


def test_a_returned_submission_frees_its_slots_once(study: Recruitment) -> None:
    visit = make_lease(study)
    for _ in range(2):  # told again
        answer = tell(study, "RETURNED", session=visit.session, participant_id=visit.participant)
        assert answer.status_code == 200
    visit.refresh_from_db()
    assert (visit.status, visit.assignment.state) == ("RETURNED", "returned")
    assert study.task.items.get().held == 0 and PlatformEvent.objects.count() == 1


def test_what_was_handed_in_stays_when_its_time_runs_out_there(study: Recruitment) -> None:
    [visit] = prolific.make_visited(study)
    tell(study, "TIMED-OUT", session=visit.session)
    visit.refresh_from_db()
    assert (visit.status, visit.assignment.state) == ("TIMED-OUT", "submitted")


def test_an_older_event_that_comes_late_changes_nothing(study: Recruitment) -> None:
    visit = make_lease(study)
    tell(study, "AWAITING REVIEW", session=visit.session, event="new", ago=5)
    answer = tell(study, "RETURNED", session=visit.session, event="old", ago=60)
    visit.refresh_from_db()
    assert (visit.status, visit.assignment.state) == ("AWAITING REVIEW", "leased")
    assert "Older than what is known" in answer.json()["note"]


def test_an_event_before_its_person_is_applied_when_they_come(study: Recruitment) -> None:
    assert "Nobody came" in tell(study, "ACTIVE", session="s1").json()["note"]
    said = {"PROLIFIC_PID": "anna", "STUDY_ID": prolific.STUDY, "SESSION_ID": "s1"}
    Client().get(f"/enter/{entry_token(study)}/", said)
    assert Visit.objects.get().status == "ACTIVE"
    assert PlatformEvent.objects.get().applied_at is not None


@pytest.mark.parametrize("wrong", [{"secret": "x"}, {"sent": 1_700_000_000}])
def test_what_is_not_signed_or_old_is_refused_and_not_kept(
    study: Recruitment, wrong: dict[str, Any]
) -> None:
    visit = make_lease(study)
    assert tell(study, "RETURNED", session=visit.session, **wrong).status_code == 403
    visit.refresh_from_db()
    assert visit.assignment.state == "leased" and not PlatformEvent.objects.exists()


def test_another_participant_in_the_event_changes_nothing(study: Recruitment) -> None:
    visit = make_lease(study)
    tell(study, "RETURNED", session=visit.session, participant_id="somebody-else")
    visit.refresh_from_db()
    assert visit.status == ""


def test_nothing_is_told_where_nothing_is_expected() -> None:
    bare = prolific.make_recruitment(factories.make_task(n=1))
    assert tell(bare, "RETURNED", session="s1").status_code == 404
    assert Client().get(f"/hooks/prolific/{bare.pk}/").status_code == 405
