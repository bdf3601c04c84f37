"""Results that are shared by a link: what it shows, for how long, and how it ends."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from annotation.models import Answer, AuditEntry, Membership, Role
from annotation.work.actions import exclusions
from crowdqc import limits
from crowdqc.errors import Conflict
from evaluation.labels.selectors.study import FIGURES, alpha_of
from evaluation.models import Run, RunShare
from evaluation.runs.results import everybody
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.sharing import actions
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of, text_of
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.kept import kept
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def run() -> Run:
    return scored(corpus.make_labelled(items=30, known=6, workers=6, guessing=1))


def shared(run: Run) -> tuple[RunShare, str]:
    share, secret = actions.share(by=run.project.owner, run=run)
    return share, reverse("shared_results", args=[secret])


def test_agreement_without_a_worker_is_shown_with_what_it_is_with_everybody(run: Run) -> None:
    """Answers that stop counting with an exclusion are left out by hand, and named so."""
    before = alpha_of(figures_of(run, "agreement"))
    worker = run.task.assignments.order_by("-pk")[0].worker
    given = Answer.objects.filter(worker=worker, item__task=run.task).count()
    exclusions.exclude(by=run.project.owner, task=run.task, worker=worker, reason="guessed")
    stopped = Answer.objects.filter(worker=worker, item__task=run.task, counts=True)
    stopped.update(counts=False, uncounted_reason="guessed")  # as where others are asked
    after = scored(run.task)
    told = figures_of(after, *FIGURES)
    assert told["votes"]["left_out"] == {"excluded": given}
    found = told[everybody.FIGURE]
    assert (found["left_out"], found["workers"]) == (1, 6)
    assert before is not None and found["agreement"][0]["alpha"] == pytest.approx(before["value"])
    said = escape(everybody.words(told))
    _, address = shared(after)
    page = client_of(run.task).get(reverse("label_results", args=[after.project_id, after.task_id]))
    for html in (html_of(Client().get(address)), html_of(page)):
        assert said and said in html


def test_a_link_shows_the_results_and_no_name_item_or_way_into_the_application(run: Run) -> None:
    _, address = shared(run)
    response = Client().get(address)
    html, text = html_of(response), text_of(html_of(response))
    assert "do better than guessing" in text
    assert "Krippendorff’s α" in text
    assert "Worker 1" in text and "Worker 6" in text and "Worker 7" not in text
    assert "Dawid-Skene" in text and "method" in text and f"Run {run.number} finished" in text
    for member in Membership.objects.filter(project=run.project):
        assert str(member.user) not in html
        assert not member.pseudonym or member.pseudonym not in html
    for item in run.task.items.all():
        assert item.question not in html and item.key not in text.split()
    assert "<a " not in html.replace('<a class="skip" href="#main">', "")
    assert "<form" not in html and "csrf" not in html.lower()
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies


def test_items_on_a_link_have_their_label_and_how_many_gave_each(run: Run) -> None:
    share, secret = actions.share(by=run.project.owner, run=run, items=True)
    assert share.lists_items
    shown = Client().get(reverse("shared_results", args=[secret])).context["items"]
    [group] = shown.table.groups
    questions = run.task.items.filter(expected__isnull=True).order_by("position")
    assert [row.text for row in group.rows] == list(questions.values_list("question", flat=True))
    assert all(row.label for row in group.rows) and any(row.votes for row in group.rows)


def test_whoever_is_signed_in_sees_the_same_page(run: Run) -> None:
    _, address = shared(run)
    assert client_of(run.task).get(address).content == Client().get(address).content


def test_a_link_that_is_wrong_expired_or_stopped_gives_one_answer(run: Run) -> None:
    share, address = shared(run)
    expired, late = shared(run)
    RunShare.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - dt.timedelta(1))
    actions.stop_sharing(by=run.project.owner, run=run, share_id=share.pk)
    answers = [Client().get(one) for one in (reverse("shared_results", args=["x"]), late, address)]
    assert {one.status_code for one in answers} == {404}
    assert len({text_of(html_of(one)) for one in answers}) == 1


def test_a_link_keeps_to_its_run_and_lasts_90_days(run: Run) -> None:
    share, address = shared(run)
    before = Client().get(address).content
    scored(run.task, resamples=120)
    assert Client().get(address).content == before
    assert (share.expires_at - timezone.now()).days in (89, 90)


def test_the_secret_is_shown_once_and_kept_nowhere(run: Run) -> None:
    client, page = client_of(run.task), reverse("run_share", args=[run.project_id, run.number])
    html = html_of(client.post(page))
    [address] = [part for part in html.split('"') if "/shared/" in part]
    assert Client().get(address).status_code == 200
    secret = address.rstrip("/").rpartition("/")[2]
    assert secret not in html_of(client.get(page))
    assert secret not in str(list(RunShare.objects.values()))
    assert secret not in str(list(AuditEntry.objects.values()))


def test_the_results_page_lists_who_shares_and_staff_can_stop_it(run: Run) -> None:
    share, address = shared(run)
    results = reverse("label_results", args=[run.project_id, run.task_id])
    text = text_of(html_of(client_of(run.task).get(results)))
    assert f"Created by {run.project.owner}" in text and "Stop sharing" in text
    manager = Client()
    manager.force_login(factories.make_member(run.project, Role.MANAGER).user)
    assert "Create link" not in html_of(manager.get(results))
    manager.post(reverse("run_stop_sharing", args=[run.project_id, run.number, share.pk]))
    assert Client().get(address).status_code == 404
    done = AuditEntry.objects.filter(project=run.project, object_type="runshare")
    assert [one.action for one in done.order_by("pk")] == ["run.share", "run.stop_sharing"]


def test_a_stranger_can_ask_only_so_often(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, address = shared(run)
    monkeypatch.setattr(limits, "SHARED", limits.Limit("shared-test", 2, limits.MINUTE))
    assert [Client().get(address).status_code for _ in range(3)] == [200, 200, 429]


def test_a_run_has_only_so_many_links(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MOST", 1)
    shared(run)
    with pytest.raises(Conflict, match="1 links"):
        shared(run)


def test_the_page_asks_the_database_as_often_for_many_workers(run: Run) -> None:
    _, address = shared(run)
    other = scored(corpus.make_labelled(items=30, known=6, workers=12, guessing=1))
    _, larger = shared(other)
    with CaptureQueriesContext(
        connection,
    ) as few:
        Client().get(address)
    with CaptureQueriesContext(connection) as many:
        Client().get(larger)
    assert len(many) == len(few)
