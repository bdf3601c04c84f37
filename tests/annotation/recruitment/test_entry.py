"""Coming in from elsewhere: who is let in, who is not, and what the page says."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from annotation.models import Assignment, AuditEntry, Membership, Recruitment, Visit
from annotation.recruitment.actions import ways_in as actions
from annotation.recruitment.platforms.entry_params import entry_token, external_id
from annotation.work.actions import leases, visits
from annotation.work.selectors.work import load_home
from crowdqc import limits
from crowdqc.errors import Conflict
from evaluation.payouts.selectors.likeness import likenesses
from tests.support import factories
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(n=4, redundancy=5, items_per_assignment=2)


@pytest.fixture
def study(world: factories.World) -> Recruitment:
    return prolific.make_recruitment(world.task)


def come(
    recruitment: Recruitment,
    client: Client | None = None,
    pid: str = "anna",
    session: str = "s1",
    **more: str,
) -> Any:
    """Open the entry as the platform sends people there."""
    said = {"PROLIFIC_PID": pid, "STUDY_ID": prolific.STUDY, "SESSION_ID": session, **more}
    return (client or Client()).get(f"/enter/{entry_token(recruitment)}/", said)


def refused(answer: Any, status: int, why: str, todo: str = "") -> None:
    """The page says why and what to do; nothing was opened, and the audit log has it."""
    text = answer.content.decode()
    assert answer.status_code == status, text[-800:]
    assert "This entry opens nothing" in text and "What you can do" in text
    assert escape(why) in text and escape(todo) in text
    assert "_auth_user_id" not in answer.client.session
    assert AuditEntry.objects.filter(action="entry.refused", actor=None).exists()


def test_two_ids_in_one_browser_are_told_from_a_neighbour_on_the_network(
    world: factories.World, study: Recruitment
) -> None:
    shared, neighbour = Client(), Client()
    for client, pid in ((shared, "anna"), (shared, "bert"), (neighbour, "carl")):
        asked = come(study, client, pid=pid, session=f"of-{pid}")
        text = client.get(asked["Location"]).context["fingerprint"]
        agreed = {"text": text, "agreed": "on", "task": study.task_id}
        client.post(asked["Location"], agreed)
    workers = {one.participant: one.worker_id for one in Visit.objects.all()}
    alike = likenesses(world.project)
    kinds = {pid: {(one.worker, one.kind) for one in alike[pk]} for pid, pk in workers.items()}
    device = {(workers["bert"], "device")}
    assert {one for one in kinds["anna"] if one[1] == "device"} == device
    assert {kind for _, kind in kinds["carl"]} == {"network"}


def test_a_manager_finds_whoever_came_by_the_exact_id_of_the_platform(
    world: factories.World, study: Recruitment
) -> None:
    come(study)
    come(study, pid="annabel", session="s2")
    worker = Visit.objects.get(participant="anna").worker
    people = reverse("people", args=[world.project.pk])
    card = reverse("worker_card", args=[world.project.pk, worker.pk])
    search = reverse("project_search", args=[world.project.pk])
    found = {}
    for who in (world.manager, world.requester):
        client = Client()
        client.force_login(who)
        rows = client.get(people, {"q": "anna"}).context["list"].rows
        groups = client.get(search, {"q": "anna"}).context["found"]
        ids = client.get(card).context["platform_ids"]
        found[who.pk] = [pk for pk, *_ in rows], [hit[0] for g in groups for hit in g.hits], ids
    by_id = [worker.pk], [worker.pseudonym], [("Prolific", "anna")]
    assert found == {world.manager.pk: by_id, world.requester.pk: ([], [], [])}


def test_who_comes_is_asked_before_anything_is_recorded_and_goes_straight_to_work(
    study: Recruitment,
) -> None:
    client = Client()
    client.get("/login/")
    before = client.session.session_key
    answer = come(study, client)
    visit = Visit.objects.get()
    assert answer["Location"].startswith("/work/projects/") and "consent" in answer["Location"]
    assert client.session.session_key != before
    assert visit.worker.external_id == "prolific:anna" and visit.assignment is None
    assert "anna" not in visit.worker.pseudonym + visit.worker.user.username
    text = client.get(answer["Location"]).context["fingerprint"]
    agreed = client.post(answer["Location"], {"text": text, "agreed": "on", "task": study.task_id})
    assignment = Assignment.objects.get(worker=visit.worker)
    assert agreed["Location"] == f"/work/assignments/{assignment.pk}/"
    visit.refresh_from_db()
    assert visit.assignment == assignment
    again = come(study, client)  # a reload goes on where they were
    assert again["Location"] == f"/work/assignments/{assignment.pk}/"


def test_who_agrees_when_the_task_is_full_reads_what_to_do_on_the_platform() -> None:
    world, client = factories.make_world(1, redundancy=1), Client()
    study = prolific.make_recruitment(world.task)
    asked = come(study, client)["Location"]
    factories.claim_and_submit(world.task, world.worker)
    text = client.get(asked).context["fingerprint"]
    agreed = client.post(asked, {"text": text, "agreed": "on", "task": study.task_id})
    page = agreed.content.decode()
    assert agreed.status_code == 409 and "There is nothing left for you in this task." in page
    assert "Return the submission on the platform" in page
    assert AuditEntry.objects.filter(action="entry.refused").exists()


def test_who_has_handed_in_goes_back_with_the_code(study: Recruitment) -> None:
    client = Client()
    come(study, client)
    visit = Visit.objects.get()
    factories.make_consent(visit.worker)
    done = factories.claim_and_submit(study.task, visit.worker)
    page = client.get(f"/work/assignments/{done.pk}/done/").content.decode()
    assert "https://app.prolific.com/submissions/complete?cc=DONE1" in page
    assert "Take another" not in page
    assert come(study, client)["Location"].endswith("/done/")
    with pytest.raises(Exception, match="You came for one assignment"):
        factories.claim(study.task, visit.worker)
    # So their page offers no button for it.
    [offer] = load_home(visit.worker.user).offers
    assert offer.starts_there
    assert f"/work/tasks/{study.task_id}/claim/" not in client.get("/work/").content.decode()


def test_who_returned_the_assignment_may_start_on_their_work_page(study: Recruitment) -> None:
    come(study)
    visit = Visit.objects.get()
    factories.make_consent(visit.worker)
    [offer] = load_home(visit.worker.user).offers
    assert not offer.starts_there


def test_one_submission_there_is_one_piece_of_work_here_however_late(study: Recruitment) -> None:
    come(study)
    visit = Visit.objects.get()
    factories.make_consent(visit.worker)

    def lapsed() -> Assignment:
        late = factories.claim(study.task, visit.worker)
        past = timezone.now() - dt.timedelta(minutes=1)
        Assignment.objects.filter(pk=late.pk).update(expires_at=past)
        leases.release_expired()
        return late

    late = lapsed()
    later = factories.claim(study.task, visit.worker)
    assert Visit.objects.get().assignment == later
    factories.submit(late)
    assert Visit.objects.get().assignment == late  # and its code is theirs
    later.refresh_from_db()
    assert later.state == "returned"
    Visit.objects.update(assignment=None)
    second = lapsed()
    third = factories.claim(study.task, visit.worker)
    factories.submit(third)
    with pytest.raises(Conflict, match="handed in other work"):
        factories.submit(second)


def test_panels_whose_names_are_alike_do_not_share_people(world: factories.World) -> None:
    first, second = (make_panel(world, name=name) for name in ("Панель А", "Панель Б"))
    assert external_id(first, "1") != external_id(second, "1")
    assert external_id(make_panel(world, name="Prolific"), "anna") != "prolific:anna"


def test_who_declines_is_shown_the_way_back_and_nothing_is_recorded(study: Recruitment) -> None:
    client = Client()
    where = come(study, client)["Location"]
    answer = client.post(where, {"decline": "1"}, follow=True)
    page = answer.content.decode()
    assert "cc=NOPE1" in page and "Nothing is recorded of you" in page
    assert Visit.objects.get().outcome == "no_consent" and not Assignment.objects.exists()


def test_whoever_leaves_frees_their_slots(study: Recruitment) -> None:
    client = Client()
    come(study, client)
    visit = Visit.objects.get()
    factories.make_consent(visit.worker)
    come(study, client)
    held = study.task.items.order_by("-held").values_list("held", flat=True)
    assert list(held) == [1, 1, 0, 0]
    assert client.post("/leave/", {"outcome": ""}).status_code == 422
    page = client.post("/leave/", {"outcome": "incompatible_device"}, follow=True).content.decode()
    assert set(held.all()) == {0} and "No code is set" in page


def test_an_id_in_an_address_opens_nobody_elses_work(study: Recruitment) -> None:
    come(study)
    why = "was opened in another browser before"
    refused(come(study), 409, why, "Open it in the browser where you began")
    other = prolific.make_recruitment(study.task, study_id="study-2")
    refused(come(other, STUDY_ID="study-2", session="s2"), 409, why)
    assert Visit.objects.count() == 1


def test_a_second_person_at_one_computer_cannot_open_the_firsts_work(study: Recruitment) -> None:
    client = Client()
    come(study, client, "anna", "s1")
    come(study, client, "ben", "s2")
    client.logout()
    answer = come(study, client, "anna", "s1")
    refused(answer, 409, "was opened in another browser before")


def test_a_second_session_of_the_same_person_is_refused(study: Recruitment) -> None:
    come(study)
    answer = come(study, session="s2")
    refused(answer, 409, "You came before under another session", "return this one there")


@pytest.mark.parametrize(
    ("change", "said", "status", "why"),
    [
        ({"active": False}, {}, 410, "takes nobody any more"),
        ({}, {"STUDY_ID": "study-9"}, 403, "names another study"),
        ({}, {"pid": ""}, 403, "PROLIFIC_PID should stand in it"),
        ({}, {"session": "<b>"}, 403, "SESSION_ID should stand in it"),
    ],
)
def test_wrong_entries_say_why(
    study: Recruitment, change: dict[str, Any], said: dict[str, str], status: int, why: str
) -> None:
    Recruitment.objects.filter(pk=study.pk).update(**change)
    refused(come(study, **said), status, why)
    assert not Visit.objects.exists()


def test_someones_session_is_not_anothers(study: Recruitment) -> None:
    come(study)
    answer = come(study, pid="ben", session="s1")
    refused(answer, 409, "belongs to somebody else")


def test_staff_get_a_preview_and_no_visit(study: Recruitment, world: factories.World) -> None:
    client = Client()
    client.force_login(world.requester)
    assert "A preview" in come(study, client).content.decode()
    assert not Visit.objects.exists()


def test_whoever_lost_their_browser_is_let_in_again_by_a_requester(
    study: Recruitment, world: factories.World
) -> None:
    come(study)
    visits.release_visit(by=world.requester, recruitment=study, participant="anna")
    assert come(study).status_code == 302
    refused(come(study), 409, "was opened in another browser before")


def test_entries_are_limited_by_address(study: Recruitment, monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "ENTRIES", limits.Limit("entry-network", 2, 60))
    codes = [come(study, pid="").status_code for _ in range(3)]
    assert codes == [403, 403, 429]


# Signed by us, and other panels -------------------------------------------------------------------


def make_panel(world: factories.World, **fields: Any) -> Recruitment:
    start = {
        "name": "Our panel",
        "entry": "bound",
        "active": True,
        "parameter_participant": "workerId",
    }
    fields = {**start, **fields}
    return actions.add(by=world.requester, task=world.task, kind="panel", fields=fields)


def test_a_signed_link_is_one_persons_in_one_browser(world: factories.World) -> None:
    panel = make_panel(world, entry="signed")
    client = Client()
    client.force_login(world.requester)
    at = f"/projects/{world.project.pk}/tasks/{world.task.pk}/recruitment/{panel.pk}/links/"
    answer = client.post(at, {"people": "anna\nben", "count": "1"})
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["participant"] for row in rows][:2] == ["anna", "ben"] and len(rows) == 3
    link = rows[0]["link"].removeprefix("http://testserver")
    mine = Client()
    assert mine.get(link).status_code == 302 and mine.get(link).status_code == 302
    assert Visit.objects.get().participant == "anna"
    refused(Client().get(link), 409, "opened in another browser before")
    refused(Client().get(link[:-3]), 403, "not complete, or was changed", "up to its last")
    other = make_panel(world, entry="signed", name="Another")
    token, ours = entry_token(other), entry_token(panel)
    refused(Client().get(link.replace(ours, token)), 403, "not complete, or was changed")


def test_a_marketplace_is_shown_a_preview_and_handed_its_form_back(world: factories.World) -> None:
    site = "https://requester.example"
    panel = make_panel(
        world,
        parameter_session="assignmentId",
        parameter_submit_to="turkSubmitTo",
        return_url=site,
        code_completed="ok",
    )
    at = f"/enter/{entry_token(panel)}/"
    preview = Client().get(at, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "h1"})
    assert "A preview" in preview.content.decode() and not Visit.objects.exists()
    said = {"workerId": "w1", "assignmentId": "a1", "turkSubmitTo": "https://evil.example"}
    refused(Client().get(at, said), 403, "not one of this study")
    client = Client()
    assert client.get(at, {**said, "turkSubmitTo": site}).status_code == 302
    visit = Visit.objects.get()
    assert visit.worker.external_id.startswith("our-panel-")
    factories.make_consent(visit.worker)
    done = factories.claim_and_submit(world.task, visit.worker)
    page = client.get(f"/work/assignments/{done.pk}/done/")
    text = page.content.decode()
    assert f'action="{site}/mturk/externalSubmit"' in text and 'value="a1"' in text
    assert f"form-action 'self' {site}/mturk/externalSubmit" in page["Content-Security-Policy"]


def test_no_entry_is_made_twice_by_two_clicks_at_once(study: Recruitment) -> None:
    client = Client()
    for _ in range(2):
        come(study, client)
    assert Visit.objects.count() == Membership.objects.filter(external_id="prolific:anna").count()
